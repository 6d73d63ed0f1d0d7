"""Chains as calls: a function for one block stands before the plan, the plan calls it for all blocks.

In: a `blocks` node.  Out: lines of the plan, lines of the function.  What always holds: the plain expressions
stand in the plan as well, and run where the call gives None.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from runtime.execute.blocks import Line, Scope
from runtime.execute.chains import BLOCKS, Chain, steps_of
from runtime.execute.expression import variable
from runtime.execute.guarded import Guarded
from runtime.execute.in_blocks import Room, in_blocks
from runtime.execute.regions import known_pairs
from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.pattern import pattern
from runtime.types import ArrayType

_WORD = pattern(r"(?<![.\w])[A-Za-z_]\w*")


class Chained(Guarded):
    """Prints chains besides what `Guarded` prints.

    functions: the lines of the functions for one block; made: their names.  rooms: the names of what is kept
    from trip to trip.
    """

    functions: list[Line]
    rooms: list[str]
    made: list[str]
    depth: int

    def region_node(self, scope: Scope, node: Node) -> None:
        """Print one region node."""
        if node.op == BLOCKS:
            self.blocks(scope, node)
        elif node.op in ("while", "for"):
            self.depth += 1
            super().region_node(scope, node)
            self.depth -= 1
        else:
            super().region_node(scope, node)

    def blocks(self, scope: Scope, node: Node) -> None:
        """Print the call, and the plain expressions for where it gives None."""
        chain: Chain = node.attr("chain")
        count = len(node.inputs)
        found = self.consume(scope, dict(enumerate(node.inputs)), range(count), named=range(count))
        self.settle(scope)
        held = set(scope.busy(after=True)).union(*(expr.reads for expr in found.values()))
        targets = self._targets(scope, node, frozenset(held))
        keeps = bool(self.depth) and "new" not in chain.outputs
        function = self._function(node, chain, keeps)
        arguments = [found[k].text for k in range(count)]
        if keeps:
            self.rooms.append(self.names.local("room_1", {*self.rooms, *held, *filter(None, targets)}))
            arguments.append(f"room={self.rooms[-1]}")
        call = f"{function}({', '.join(arguments)})"
        if chain.asks is not None:
            asked, least = chain.asks
            call += f" if {found[asked].text}.size >= {least} else None"
        if len(targets) == 1 and targets[0] is not None and chain.store is None:
            done = targets[0]
        else:
            done = self.names.local("done", held | {name for name in targets if name is not None})
        self.emit([f"{done} = {call}"], node.span)
        self.emit([f"if {done} is None:"], node.span)
        (region,) = node.regions
        pairs = known_pairs(zip(region.params, (found[k] for k in range(count)), strict=True))
        arm = self.enter(region, pairs, frozenset(held), targets)
        self.nest(self.finish(arm, targets, node.span))
        if chain.store is not None:
            self.emit(["else:"])
            self.nest([Line(0, f"{found[chain.store].text}[...] = {done}", node.span)])
        elif len(targets) > 1 or targets[0] is None:
            self.emit(["else:"])
            text = ", ".join(name or "_" for name in targets)
            self.nest([Line(0, f"{text}{',' if len(targets) == 1 else ''} = {done}", node.span)])
        for out, target in zip(node.outputs, targets, strict=True):
            if target is not None:
                scope.env[out] = variable(target)

    def _function(self, node: Node, chain: Chain, keeps: bool) -> str:
        """Write the function that does one block; its name."""
        (region,) = node.regions
        finals = region.results if chain.store is None else region.nodes[-1].outputs
        writer = _Writer(self, region, [x for x in finals if isinstance(x, Value)])
        writer.write()
        if keeps:
            writer.save()
        decorator = self.constants.bind(in_blocks, "in_blocks")
        if keeps:
            self.constants.bind(Room, "Room")
        name = self.names.constant(f"blocks_{len(self.made) + 1}")
        self.made.append(name)
        results = tuple(
            (_dtype(out).name, kind if keeps else "new")
            for out, kind in zip(writer.final, chain.outputs, strict=True)
        )
        scratch = tuple(dtype.name for dtype in writer.scratch)
        facts = f"arrays={chain.arrays}, results={results}, scratch={scratch}, steps={len(writer.lines)}"
        facts += "" if chain.store is None else f", store={chain.store}"
        head = f"@{decorator}({facts})"
        parameters = ", ".join((*writer.params, *writer.results, *writer.buffers))
        self.functions += [Line(0, head, node.span), Line(0, f"def {name}({parameters}):", node.span)]
        self.functions += [Line(1, text.text, text.span) for text in writer.lines]
        return name


class _Writer:
    """Writes what is done to one block: ufuncs with `out`, in as few pieces of scratch memory as possible."""

    def __init__(self, printer: Chained, region: Graph, final: Sequence[Value]) -> None:
        self.printer, self.region = printer, region
        self.names: dict[Value, str] = {}
        self.taken: set[str] = set()
        self.lines: list[Line] = []
        self.buffers: list[str] = []
        self.scratch: list[np.dtype[np.generic]] = []
        self.free: list[str] = []
        self.steps = steps_of(region, printer.flow.table)
        self.last: dict[Value, int] = {}
        for index, (_, node) in enumerate(self.steps):
            self.last.update((x, index) for x in node.inputs if isinstance(x, Value))
        self.params = [self._name(value, value.name or "x") for value in region.params]
        self.final = final
        self.results = [self._name(x, "out") for x in final]

    def _name(self, value: Value, hint: str) -> str:
        name = self.printer.names.local(hint, self.taken)
        self.taken.add(name)
        self.names[value] = name
        return name

    def write(self) -> None:
        """Write all steps."""
        self.printer.constants.module("numpy")
        for index, (ufunc, node) in enumerate(self.steps):
            dying = [
                x
                for x in dict.fromkeys(node.inputs)
                if isinstance(x, Value) and self.last[x] == index and self._is_scratch(x)
            ]
            if ufunc is None:
                self._pick(node, dying)
            else:
                self._step(ufunc, node, dying)
            target = self.names[node.outputs[0]]
            if node.outputs[0] not in self.last and self._is_scratch(node.outputs[0]):
                self.free.append(target)  # it is computed for its warnings only
            self.free += [self.names[x] for x in dying if self.names[x] != target]

    def save(self) -> None:
        """Let results be the scratch memory that they were computed in last."""
        for out in self.results:
            at = next((k for k, line in enumerate(self.lines) if line.text.endswith(f", out={out})")), None)
            if at is None:  # it is picked from two operands, not computed by a ufunc
                continue
            before = self.lines[at].text.partition("(")[2][: -len(f", out={out})")].split(", ")
            later = {word for line in self.lines[at + 1 :] for word in _WORD.findall(line.text)}
            for name in before:
                if name in self.buffers and name not in later and self._fits(name, out):
                    word = re.compile(rf"(?<![.\w]){name}\b")
                    self.lines[: at + 1] = [
                        Line(0, word.sub(out, line.text), line.span) for line in self.lines[: at + 1]
                    ]
                    del self.scratch[self.buffers.index(name)]
                    self.buffers.remove(name)
                    break

    def _fits(self, name: str, out: str) -> bool:
        value = next(x for x, known in self.names.items() if known == out)
        return self.scratch[self.buffers.index(name)] == _dtype(value)

    def _is_scratch(self, value: Value) -> bool:
        return value not in self.final and self.names[value] in self.buffers

    def _step(self, ufunc: np.ufunc, node: Node, dying: Sequence[Value]) -> None:
        target = self._target(node.outputs[0], dying)
        operands = ", ".join(map(self._text, node.inputs[: ufunc.nin]))  # `x ** 2` is `np.square(x)`
        self.lines.append(Line(0, f"{self._callable(ufunc)}({operands}, out={target})", node.span))

    def _pick(self, node: Node, dying: Sequence[Value]) -> None:
        """`np.where`: the third operand, then the second where the first is true."""
        (out,), (mask, yes, no) = node.outputs, node.inputs
        over = [no] if isinstance(no, Value) and no in dying and no is not yes and no is not mask else []
        target = self._target(out, over)
        if self._text(no) != target:
            self.lines.append(Line(0, f"np.copyto({target}, {self._text(no)})", node.span))
        text = f"np.copyto({target}, {self._text(yes)}, where={self._text(mask)})"
        self.lines.append(Line(0, text, node.span))

    def _target(self, out: Value, dying: Sequence[Value]) -> str:
        """Where the result goes: an array of the caller's, an operand nobody needs now, scratch memory."""
        if out in self.names:
            return self.names[out]
        dtype = _dtype(out)
        same = [self.names[x] for x in dying if _dtype(x) == dtype]
        free = [name for name in self.free if self.scratch[self.buffers.index(name)] == dtype]
        if same:
            found = same[0]
        elif free:
            found = free[-1]
            self.free.remove(found)
        else:
            found = self.printer.names.local(f"b{len(self.buffers) + 1}", self.taken)
            self.taken.add(found)
            self.buffers.append(found)
            self.scratch.append(dtype)
        self.names[out] = found
        return found

    def _text(self, operand: Operand) -> str:
        if isinstance(operand, Const):
            return self.printer.constants.expression(operand).text
        return self.names[operand]

    def _callable(self, ufunc: np.ufunc) -> str:
        return self.printer.constants.expression(Const(ufunc)).text


def _dtype(value: Value) -> np.dtype[np.generic]:
    assert isinstance(value.type, ArrayType)
    return value.type.dtype
