"""The graph of a function of one item, done for many items at once.

In: the nodes that a function of one item records, and which of the values they use differ from item to item.
Out: the nodes for all items, in the trace that is running: each op once, for arrays with a first axis more.
What no item changes is computed once.  What always holds: an op without a rule is done item by item; where
what an item does depends on its own values, or on more than values (an effect, an object), NotPushed is
raised, and nothing is said of what was recorded so far.  Writes are done together only into arrays that each
item makes for itself, of which no other look is taken than one that is a look at all of them, too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from runtime.autodiff.staged.calls import is_errstate
from runtime.autodiff.staged.kinds import elementwise
from runtime.functional import cond, for_loop, while_loop
from runtime.ir.calls import all_nodes, callee
from runtime.ir.effects import effect_of
from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.ir.opdef import PURE, OpDef
from runtime.ir.walk import walk_nodes
from runtime.ops.batch import LOOKS, STRAIGHT, TURNING, VIEWS, Item, in_order, rule_of
from runtime.passes.aliases import OUTSIDE, Aliases
from runtime.passes.facts import SMALL_FLOATS, makes_new, mutable
from runtime.trace.byhand import at_run_time
from runtime.trace.core import Trace
from runtime.trace.regions import close_regions
from runtime.types import OBJECT, ArrayType, StaticType, TupleType, Type, WeakType, static_or_weak

Entry = Any  # Item, or a tuple or list of entries
_CONTAINERS = ("py.tuple", "py.list", "py.dict")
_LOOPS = ("while", "for")


class NotPushed(BaseException):
    """The function is not one program for all items; the text says why.  No error: nobody may handle it."""


class Pusher:
    """Records nodes for all items.  graph: what one item does.  count: how many items there are."""

    def __init__(self, trace: Trace, graph: Graph, count: Any) -> None:
        self.trace, self.graph, self.count = trace, graph, count
        self.written: frozenset[Value] = frozenset()  # classes of memory that items write to
        self.managers: list[Any] = []  # contexts that only say what becomes of floating-point warnings
        self.quiet = False  # whether such warnings are silent here

    def results(self, entries: Mapping[Value, Entry], types: Sequence[Type]) -> list[Any]:
        """The results of all items, given the entries of the parameters: arrays that nobody else has.

        types: of what each result is for one item."""
        self._look_for_writes()
        made, out = self.run(self.graph.nodes, self.graph.results, entries), []
        seen: set[int] = set()
        for operand, x, t in zip(self.graph.results, made, types, strict=True):
            value = self.spread(x, True, t)
            if x.batched and (not x.own or id(value) in seen):
                value = self.trace.record("nd.copy", [value], {})
            elif x.batched and not x.in_order:
                record = self.copying if self.is_written(operand) else self.trace.record
                value = record("np.ascontiguousarray", [value], {})
            seen.add(id(x.value))
            out.append(value)
        return out

    def _look_for_writes(self) -> None:
        """Find what items write to; NotPushed where another item, or code outside, could see it."""
        inner = [n for n in all_nodes(self.graph) if n.op == "setitem"]
        if not inner:
            return
        writes = [n for n in walk_nodes(self.graph) if n.op == "setitem"]
        self.aliases = Aliases(self.graph, self.trace.table)
        self.written = frozenset(self.aliases.of(n.inputs[0]) for n in writes)
        if OUTSIDE in self.written or len(writes) < len(inner):
            raise NotPushed("a write into memory of others")

    def is_written(self, x: Operand) -> bool:
        """Whether items write to the memory of an array, or of what may share it."""
        return bool(self.written) and mutable(x.type) and self.aliases.of(x) in self.written

    # ------------------------------------------------------------------ graphs
    def run(
        self, nodes: Sequence[Node], results: Sequence[Operand], entries: Mapping[Value, Entry]
    ) -> list[Entry]:
        """The results for all items, given the entries of all values from outside."""
        env: dict[Value, Entry] = dict(entries)
        for node in _needed(nodes, results):
            made = self.node(node, [self.entry(x, env) for x in node.inputs])
            if makes_new(node, self.trace.table) and self.is_written(node.outputs[0]):
                value = self.spread(made[0], True, node.outputs[0].type)
                made = [dataclasses.replace(made[0], value=value, batched=True)]
            env.update(zip(node.outputs, made, strict=True))
        return [self.entry(x, env) for x in results]

    def entry(self, x: Operand, env: Mapping[Value, Entry]) -> Entry:
        """What an operand stands for."""
        if isinstance(x, Value):
            return env[x]
        if isinstance(x.value, (np.ndarray, np.generic)):
            return Item(x.value, x.value.shape, kind=x.value.dtype.kind)
        return Item(x.value)

    def node(self, node: Node, inputs: list[Entry]) -> Sequence[Entry]:
        """The outputs of a node for all items."""
        if node.op == "py.tuple" and not node.attr("starred"):
            return [tuple(inputs)]
        if node.op == "py.list":
            return [list(inputs)]
        if node.op == "getitem" and isinstance(inputs[0], tuple) and type(inputs[1].value) is int:
            return [inputs[0][inputs[1].value]]
        inner = callee(node)
        if inner is not None:
            entries = dict(zip(inner.params, inputs[1:], strict=True))
            return self.run(inner.nodes, inner.results, entries)
        if node.op == "setitem":
            return self.write(node, inputs)
        if is_errstate(node):
            return self.manager(node, inputs)
        if node.op == "with":
            return self.silently(node, inputs)
        if not any(map(batched, inputs)):
            return self.shared(node, inputs)
        if node.op == "py.call" and inputs[0].value in (float, complex) and len(inputs) == 2:
            return [self.number(inputs[1], inputs[0].value)]
        if node.op == "cond":
            return self.cond(node, inputs)
        if node.op in _LOOPS:
            return self.loop(node, inputs)
        if node.regions or effect_of(node, self.trace.table) != PURE or len(node.outputs) != 1:
            raise NotPushed(f"{node.op} may do more than compute")
        return [self.op(node, inputs)]

    def write(self, node: Node, inputs: list[Entry]) -> Sequence[Entry]:
        """A write at the same place of an array that each item has for itself."""
        array, key, value = inputs
        t = node.inputs[0].type
        rule = self.trace.table["getitem"].rule
        part = None if rule is None else rule(t, node.inputs[1].type)
        if not isinstance(part, ArrayType) or part.shape is None or not isinstance(value, Item):
            raise NotPushed("a write of what is no array")
        if not isinstance(array, Item) or not array.batched or batched(key):
            raise NotPushed("a write at a place that depends on the item")
        at = value_of(key)
        at = (slice(None), *(at if isinstance(at, tuple) else (at,)))
        if not all(type(k) in (int, slice) or k is None or k is Ellipsis for k in at):
            raise NotPushed("a write at places that are numbers in arrays")
        given, missing = value.value, len(part.shape) - value.rank
        if missing < 0 and (not part.shape or any(n != 1 for n in value.shape[:-missing])):
            raise NotPushed("a write of a value with more axes than there are")
        if missing < 0:  # NumPy drops leading axes of one element
            first = (slice(None),) * value.batched + (0,) * -missing
            given = given[first]
        elif value.batched and missing:
            spread = (slice(None), *(None,) * missing)
            given = given[spread]
        self.trace.emit("setitem", [array.value, at, given])
        return []

    # ------------------------------------------------------------------ silence
    def manager(self, node: Node, inputs: list[Entry]) -> Sequence[Entry]:
        """A context that says what becomes of floating-point warnings, for all items."""
        silent = node.keywords == ("all",) and inputs[1].value == "ignore"
        if not silent:
            raise NotPushed("floating-point warnings of each item may be told of")
        made = self.trace.record("py.call", [np.errstate], {"all": "ignore"})
        self.managers.append(made)
        return [Item(made)]

    def silently(self, node: Node, inputs: list[Entry]) -> Sequence[Entry]:
        """Nodes that run without floating-point warnings."""
        manager, (region,) = inputs[0], node.regions
        if not any(manager.value is x for x in self.managers) or region.diverges:
            raise NotPushed("a with statement")
        before, self.quiet = self.quiet, True
        with self.trace.region(region.name) as builder:
            entered = Item(self.trace.wrap(builder.param(OBJECT, "entered")))
            entries = dict(zip(region.params, [entered, *inputs[1:]], strict=True))
            found = self.run(region.nodes, region.results, entries)
            results = [self.trace.operand(value_of(x)) for x in found]
        self.quiet = before
        captured, regions = close_regions([builder], [results])
        outputs = self.trace.builder.add(
            "with",
            [self.trace.operand(manager.value), *captured],
            [x.type for x in regions[0].results],
            attrs={"swallows": False},
            regions=tuple(regions),
            span=node.span,
        )
        pairs = zip(found, outputs, strict=True)
        return [dataclasses.replace(x, value=self.trace.wrap(out)) for x, out in pairs]

    # ------------------------------------------------------------------ nodes without regions
    def shared(self, node: Node, inputs: list[Entry]) -> Sequence[Entry]:
        """A node that is the same for all items, recorded once."""
        if not _pure(node, self.trace):
            raise NotPushed(f"{node.op} may do more than compute")
        operands = [
            x if isinstance(x, Const) else self.trace.operand(value_of(y))
            for x, y in zip(node.inputs, inputs, strict=True)
        ]
        made = self.trace.builder.add(
            node.op,
            operands,
            [v.type for v in node.outputs],
            keywords=node.keywords,
            attrs=dict(node.attrs),
            regions=node.regions,
            names=[v.name for v in node.outputs],
            span=node.span,
        )
        return [Item(self.trace.wrap(v), *facts(v.type)) for v in made]

    def number(self, x: Entry, kind: type) -> Item:
        """A Python number made of an item: what stands for it is the element of an array."""
        if not isinstance(x, Item) or x.shape or x.kind not in ("biuf" if kind is float else "biufc"):
            raise NotPushed(f"{kind.__name__} of this")
        dtype = np.dtype(kind)
        return Item(self.trace.record("nd.astype", [x.value, dtype], {}), (), True, False, dtype.kind, True)

    def op(self, node: Node, inputs: list[Entry]) -> Item:
        """An op on arrays."""
        t = node.outputs[0].type
        if not isinstance(t, ArrayType) or t.shape is None or t.device != "cpu":
            raise NotPushed(f"{node.op} gives {t}")
        count = len(inputs) - len(node.keywords)
        row, keywords = self.trace.table[node.op], dict(zip(node.keywords, inputs[count:], strict=True))
        for x in inputs:
            if isinstance(x, Item) and x.batched and not x.kind:
                raise NotPushed(f"{node.op} takes an object")
        if _adapts(node, inputs):
            raise NotPushed(f"{node.op} of a Python number of each item, which takes the dtype of the other")
        made = None
        if not any(map(batched, keywords.values())):
            named = {name: value_of(x) for name, x in keywords.items()}
            made = self.by_rule(row, inputs[:count], named, any(map(self.is_written, node.inputs)))
        if self.is_written(node.outputs[0]) and not makes_new(node, self.trace.table):
            if made is None or node.op not in VIEWS or any(map(batched, inputs[1:])):
                raise NotPushed(f"{node.op} of memory that is written to")
        by_each = made is None
        own = by_each or node.op not in LOOKS
        if by_each:
            made = self.each(node, row, inputs, t)
        elif not (own or t.shape) and self.is_written(node.inputs[0]):  # a number stays what it was
            made, own = self.trace.record("nd.copy", [made], {}), True
        turned = _turned(node, t.shape, inputs)
        straight = own and not turned and (not t.shape or by_each or in_order(row, inputs))
        return Item(made, t.shape, True, turned, t.dtype.kind, own, straight)

    def by_rule(self, row: OpDef, items: list[Entry], keywords: dict[str, Any], written: bool) -> Any:
        """What the rule of the op gives; None where there is none, or it does not apply.

        written: whether it works on memory that is written to."""
        rule = rule_of(row)
        record = self.copying if written else self.trace.record
        return None if rule is None else rule(row, record, items, keywords)

    def copying(self, op: str, operands: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        """Record an op on memory that is written to: for a derivative, what may be a look at it is a copy."""
        if op == "np.ascontiguousarray" and self.trace.following:
            op = "nd.copy"
        return self.trace.record(op, operands, keywords)

    def each(self, node: Node, row: OpDef, inputs: list[Entry], t: ArrayType) -> Any:
        """The op item by item."""
        flags = tuple(isinstance(x, Item) and x.batched for x in inputs)
        if any(batched(x) and not isinstance(x, Item) for x in inputs):
            raise NotPushed(f"{node.op} of several arrays has no rule")
        assert t.shape is not None
        if None in t.shape and _sized_by_values(node, row, inputs):
            raise NotPushed(f"{node.op} gives each item what may be of another size")
        n = self.count if isinstance(self.count, int) else None
        claim = ArrayType(t.dtype, (n, *t.shape))
        facts = [Const(x) for x in (row.run, flags, node.keywords, t.dtype, t.shape)]
        return at_run_time(item_by_item, [*facts, self.count, *map(value_of, inputs)], claim)

    # ------------------------------------------------------------------ regions
    def cond(self, node: Node, inputs: list[Entry]) -> Sequence[Entry]:
        """A branch that all items take; or, where it only chooses between numbers, both of its ways."""
        if any(region.diverges for region in node.regions):
            raise NotPushed("a branch that depends on the item")
        if batched(inputs[0]):
            return self.choice(node, inputs)
        flags = [self.batched_results(region, inputs[1:]) for region in node.regions]
        wanted = [any(pair) for pair in zip(*flags, strict=True)]

        def arm(region: Graph) -> Any:
            found = self.run(region.nodes, region.results, dict(zip(region.params, inputs[1:], strict=True)))
            outs = [
                self.spread(x, flag, v.type) for x, flag, v in zip(found, wanted, node.outputs, strict=True)
            ]
            return tuple(outs)

        made = cond(inputs[0].value, lambda: arm(node.regions[0]), lambda: arm(node.regions[1]))
        return self.outputs(made, wanted, node)

    def choice(self, node: Node, inputs: list[Entry]) -> Sequence[Entry]:
        """A branch that depends on the item, whose ways neither raise nor warn: both are gone, and one is
        taken for each item."""
        if not self.quiet or not all(_harmless(n, self.trace) for r in node.regions for n in r.nodes):
            raise NotPushed("a branch that depends on the item")
        ways = [
            self.run(r.nodes, r.results, dict(zip(r.params, inputs[1:], strict=True))) for r in node.regions
        ]
        made = []
        for a, b, out in zip(*ways, node.outputs, strict=True):
            t = out.type
            if not isinstance(t, ArrayType) or t.shape is None or not isinstance(a, Item):
                raise NotPushed("a branch that depends on the item")
            if self.is_written(out) or inputs[0].shape:
                raise NotPushed("a branch that depends on the item")
            asked = inputs[0].value
            if t.shape:
                spread = (slice(None), *(None,) * len(t.shape))
                asked = asked[spread]
            chosen = self.trace.record("np.where", [asked, self.spread(a, True, t), self.spread(b, True, t)])
            made.append(Item(chosen, t.shape, True, a.turned or b.turned, t.dtype.kind, True))
        return made

    def loop(self, node: Node, inputs: list[Entry]) -> Sequence[Entry]:
        """A loop whose trips all items make together."""
        first = 0 if node.op == "while" else 1
        count = node.attr("carries")
        start, captures = inputs[first : first + count], inputs[first + count :]
        flags = [batched(x) for x in start]
        body = node.regions[1] if node.op == "while" else node.regions[0]
        test = node.regions[0] if node.op == "while" else (*node.regions, None)[1]
        rows = first and batched(inputs[0])
        if any(region.diverges for region in node.regions) or rows:
            raise NotPushed("a loop over what differs from item to item")
        item = [Item(None, *facts(body.params[0].type))] * first
        while True:  # until it is known which carried values differ from item to item
            assumed = [Item(None, batched=flag) for flag in flags]
            after = self.batched_results(body, [*item, *assumed, *captures])
            if [a or b for a, b in zip(flags, after, strict=True)] == flags:
                break
            flags = [a or b for a, b in zip(flags, after, strict=True)]
        if test is not None and any(self.batched_results(test, [*assumed, *captures])):
            raise NotPushed("a loop whose end depends on the item")

        def entries(carry: Sequence[Any]) -> list[Entry]:
            pairs = zip(carry, flags, node.outputs, strict=True)
            return [
                *[Item(x, facts(v.type)[0], flag, False, facts(v.type)[3]) for x, flag, v in pairs],
                *captures,
            ]

        def trip(*args: Any) -> Any:
            given = [Item(x, *facts(v.type)) for x, v in zip(args[:first], body.params, strict=False)]
            given += entries(args[first:])
            found = self.run(body.nodes, body.results, dict(zip(body.params, given, strict=True)))
            after = [
                self.spread(x, flag, v.type) for x, flag, v in zip(found, flags, node.outputs, strict=True)
            ]
            return after[0] if count == 1 else tuple(after)

        def asked(*carry: Any) -> Any:
            assert test is not None
            (answer,) = self.run(
                test.nodes, test.results, dict(zip(test.params, entries(carry), strict=True))
            )
            return answer.value

        carry = tuple(
            self.spread(x, flag, v.type) for x, flag, v in zip(start, flags, node.outputs, strict=True)
        )
        if node.op == "while":
            made = while_loop(asked, trip, carry)
        else:
            made = for_loop(inputs[0].value, trip, carry, asked if test is not None else None)
        return self.outputs((made,) if count == 1 else made, flags, node)

    def batched_results(self, graph: Graph, inputs: Sequence[Entry]) -> list[bool]:
        """Which results of a region differ from item to item: what is made of what does, or is written to."""
        known: dict[Value, bool] = dict(zip(graph.params, map(batched, inputs), strict=True))
        for node in graph.nodes:
            flag = any(known.get(x, False) for x in node.inputs if isinstance(x, Value))
            flag = flag or (makes_new(node, self.trace.table) and self.is_written(node.outputs[0]))
            known.update(dict.fromkeys(node.outputs, flag))
        return [known.get(x, False) if isinstance(x, Value) else False for x in graph.results]

    def outputs(self, made: Sequence[Any], flags: Sequence[bool], node: Node) -> list[Entry]:
        """The outputs of a node with regions."""
        found = []
        for x, flag, v in zip(made, flags, node.outputs, strict=True):
            shape, _, turned, kind = facts(v.type)
            found.append(Item(x, shape, flag, turned or len(shape) > 1, kind))
        return found

    def spread(self, x: Entry, wanted: bool, t: Type) -> Any:
        """The value of an entry; the same for each item, where a value for each is wanted."""
        if wanted and (not isinstance(t, ArrayType) or t.shape is None or not isinstance(x, Item)):
            raise NotPushed(f"a value of type {t} that differs from item to item")
        if not wanted and batched(x):
            raise NotPushed("a value that differs from item to item, as was not foreseen")
        if not wanted or x.batched:
            return value_of(x)
        n = self.count if isinstance(self.count, int) else None
        assert isinstance(t, ArrayType) and t.shape is not None
        return at_run_time(repeated, [x.value, self.count], ArrayType(t.dtype, (n, *t.shape)))


def _needed(nodes: Sequence[Node], results: Sequence[Operand]) -> list[Node]:
    """The nodes without containers that nobody looks at any more."""
    used, kept = set(results), []
    for node in reversed(nodes):
        if node.op not in _CONTAINERS or any(v in used for v in node.outputs):
            kept.append(node)
            used.update(node.inputs)
    return kept[::-1]


def repeated(x: Any, count: int) -> Any:
    """An array with `x` for each item."""
    return np.repeat(np.asarray(x)[None], count, axis=0)


def item_by_item(
    run: Any,
    flags: tuple[bool, ...],
    names: tuple[str, ...],
    dtype: np.dtype[Any],
    shape: tuple[int | None, ...],
    count: int,
    *operands: Any,
) -> Any:
    """`run` of each item of the operands that have one each, stacked.  dtype, shape: of one item's result."""
    if not count:
        if None in shape:
            raise ValueError("there are no items, so it is not known what the results look like")
        return np.empty((0, *shape), dtype)
    made = []
    for k in range(count):
        each = [x[k] if flag else x for x, flag in zip(operands, flags, strict=True)]
        made.append(
            run(
                *each[: len(each) - len(names)],
                **dict(zip(names, each[len(each) - len(names) :], strict=True)),
            )
        )
    return np.stack(made)


def batched(x: Entry) -> bool:
    """Whether there is a value for each item in an entry."""
    return any(map(batched, x)) if isinstance(x, (tuple, list)) else x.batched


def value_of(x: Entry) -> Any:
    """The value of an entry that all items share, or of one item's array."""
    if isinstance(x, Item):
        return x.value
    return tuple(map(value_of, x)) if type(x) is tuple else list(map(value_of, x))


def _items(entries: Sequence[Entry]) -> list[Item]:
    return [y for x in entries for y in (_items(x) if isinstance(x, (tuple, list)) else [x])]


def _sized_by_values(node: Node, row: OpDef, inputs: Sequence[Entry]) -> bool:
    """Whether it may depend on values that differ from item to item how large the result of an op is: its
    sizes are not known even where those of all operands are."""
    if node.op == "getitem" and not batched(inputs[1]):
        return False
    types = list(map(_with_sizes, (x.type for x in node.inputs)))
    count = len(types) - len(node.keywords)
    named = dict(zip(node.keywords, types[count:], strict=True))
    try:
        found = None if row.rule is None else row.rule(*types[:count], **named)
    except Exception:  # it is not for arrays of these sizes
        return True
    return not isinstance(found, ArrayType) or found.shape is None or None in found.shape


def _with_sizes(t: Type) -> Type:
    if isinstance(t, TupleType):
        return dataclasses.replace(t, items=tuple(map(_with_sizes, t.items)))
    if not isinstance(t, ArrayType) or t.shape is None:
        return t
    return dataclasses.replace(t, shape=tuple(4 if n is None else n for n in t.shape))


def _adapts(node: Node, inputs: Sequence[Entry]) -> bool:
    """Whether a Python number of each item takes the dtype of another operand, as no array does."""
    pairs = zip(node.inputs, inputs, strict=True)
    if not any(isinstance(x.type, WeakType) and batched(y) for x, y in pairs):
        return False
    return any(getattr(static_or_weak(x.type), "dtype", None) in SMALL_FLOATS for x in node.inputs)


def _turned(node: Node, shape: Sequence[int | None], inputs: Sequence[Entry]) -> bool:
    """Whether the elements of a result may lie in memory in another way than in C order."""
    plain = len(inputs) == 1
    if len(shape) < 2 or (plain and node.op in STRAIGHT):
        return False
    turns = node.op in TURNING or "order" in node.keywords or (not plain and node.op in STRAIGHT)
    return turns or any(x.turned for x in _items(inputs))


def facts(t: Type) -> tuple[tuple[int | None, ...], bool, bool, str]:
    """The shape of one item, batched, turned, and the kind, as `Item` takes them."""
    if isinstance(t, ArrayType) and t.shape is not None:
        return t.shape, False, len(t.shape) > 1, t.dtype.kind
    return (), False, False, "f" if isinstance(t, WeakType) else ""


def _pure(node: Node, trace: Trace) -> bool:
    """Whether a node does nothing but compute, in its regions too."""
    if any(region.diverges for region in node.regions):
        return False
    if node.op in (*_LOOPS, "cond"):
        known = node.op == "while" or isinstance(node.inputs[0].type, (ArrayType, WeakType, StaticType))
        known = known or getattr(node.inputs[0].type, "cls", None) is range
        return known and all(_pure(n, trace) for region in node.regions for n in region.nodes)
    if node.attr("pure") or getattr(node.outputs[0].type if node.outputs else None, "cls", None) is range:
        return True
    return effect_of(node, trace.table) == PURE


def _harmless(node: Node, trace: Trace) -> bool:
    """Whether a node can't raise, and has no effect but floating-point warnings."""
    row = trace.table.get(node.op)
    return not node.regions and row is not None and elementwise(row) and _pure(node, trace)


__all__ = ["NotPushed", "Pusher", "facts"]
