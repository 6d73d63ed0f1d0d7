"""Graphs of numbers, run for sets of elements: each step once, for those elements that come to it.

In: regions that only compute numbers, arrays of numbers for what comes in.  Out: arrays of results.  What
always holds: each element has what Python and NumPy would have given it alone, to the bit; where that can't
be sure, `Left` is raised (or what NumPy raises, where it is told to).
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from runtime.boxes import UnboundMarker
from runtime.dataclass import dataclass
from runtime.elements import EXACT, WEAK_CLASSES
from runtime.execute.loader import load
from runtime.execute.python_source import plan_source
from runtime.ir.graph import Const, Graph, Node, Operand, Value
from runtime.types import ArrayType, MaybeUnbound, NumberType, TupleType, Type, WeakType

FEW = 64  # elements: for so many the steps cost more than a loop
LONGEST = 1000  # trips of a loop over a range: it is gone through to its end, also for few elements
_BITS = {"bool": 1, "int": 2, "float": 4}  # kinds of Python numbers in tags; 0: unbound
_DTYPES = {"bool": np.dtype(bool), "int": np.dtype(np.int64), "float": np.dtype(float)}
_STRONG = 8  # a NumPy scalar
CLASSES = {bit: WEAK_CLASSES[kind] for kind, bit in _BITS.items()}
_COMPARISONS = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})
_ARITHMETIC: Mapping[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.true_divide,
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}
_LOGIC: Mapping[str, Callable[..., Any]] = {
    "and_": np.bitwise_and,
    "or_": np.bitwise_or,
    "xor": np.bitwise_xor,
}
_UFUNCS: Mapping[str, Callable[..., Any]] = {
    f"np.{name}": getattr(np, name)
    for name in ("sqrt", "absolute", "floor", "ceil", "trunc", "rint", "maximum", "minimum", "square")
}
_UNARY = frozenset({"abs", "neg", "pos", "py.not"})


class Unfit(Exception):
    """The body does something that is not done for all elements at once."""


Step = Callable[..., Any]


class Left(Exception):
    """Something may not be as the loop has it: the loop does it."""


@dataclass
class Tagged:
    """Numbers of several kinds, or perhaps unbound: tags has the bit of each one's kind, or 0."""

    values: Any
    tags: Any


# ------------------------------------------------------------------------------------ what fits
def check_type(t: Type) -> None:
    """Unfit for a type whose values are not done for all elements at once."""
    inner = t.type if isinstance(t, MaybeUnbound) else t
    kinds = inner.kinds if isinstance(inner, NumberType) else (inner,)
    if not all(map(_fits, kinds)) or sum(isinstance(kind, ArrayType) for kind in kinds) > 1:
        raise Unfit(f"a value of type {t}")


def _fits(t: Type) -> bool:
    """Whether it is a number of a kind that arrays compute as single numbers are computed."""
    if isinstance(t, WeakType):
        return t.kind in _BITS
    if not isinstance(t, ArrayType) or not t.scalar or t.device != "cpu" or not t.dtype.isnative:
        return False
    return t.dtype.char in "?bBhHiIfd" or t.dtype.char in "lL" and t.dtype.itemsize == 4


def _check(graph: Graph) -> None:
    """Unfit where a region does more than compute numbers."""
    if graph.diverges:
        return  # whoever gets there is left to the loop
    for value in (*graph.params, *(v for node in graph.nodes for v in node.outputs)):
        check_type(value.type)
    for node in graph.nodes:
        check_node(node)


def check_node(node: Node) -> None:
    for x in node.inputs:
        if isinstance(x, Const) and type(x.value) not in (bool, int, float, str, range):
            if not isinstance(x.value, (UnboundMarker, np.number, np.bool_)):
                raise Unfit(f"a constant of class {type(x.value).__name__}")
    if node.op in ("cond", "while"):
        pass
    elif node.op == "for":
        items = node.inputs[0]
        if not isinstance(items, Const) or type(items.value) is not range or len(items.value) > LONGEST:
            raise Unfit("a loop over something else than a short range")
    elif node.keywords or node.op not in {*_ARITHMETIC, *_LOGIC, *_UFUNCS, *_UNARY, "py.bound"}:
        raise Unfit(f"the op {node.op}")
    elif node.op not in ("py.bound", "py.not"):
        _check_operands(node)
    for region in node.regions:
        _check(region)


def _strong(node: Node) -> set[np.dtype[Any]]:
    """The dtypes of the NumPy scalars among the operands."""
    kinds = [number_type(x) for x in node.inputs]
    return {t.dtype for t in kinds if isinstance(t, ArrayType)}


def number_type(x: Operand) -> Type:
    if isinstance(x, Const):
        if isinstance(x.value, (bool, int, float)) and not isinstance(x.value, np.generic):
            return WeakType(type(x.value).__name__)
        if isinstance(x.value, np.generic):
            return ArrayType(x.value.dtype, (), scalar=True)
    return x.type


def _check_operands(node: Node) -> None:
    """Unfit where single numbers and arrays go by other rules, or several kinds meet."""
    kinds = [number_type(x) for x in node.inputs]
    if not all(isinstance(t, (WeakType, ArrayType)) for t in kinds):
        raise Unfit("arithmetic with numbers of several kinds")
    strong = _strong(node)
    if len(strong) > 1:
        raise Unfit("operands of several dtypes")
    out = node.outputs[0].type
    if node.op in _UFUNCS:
        dtype = next(iter(strong), np.dtype(float))
        if dtype.kind != "f" or any(isinstance(t, WeakType) and t.kind != "float" for t in kinds):
            raise Unfit(f"{node.op} of integers")
    elif strong:
        (dtype,) = strong
        if any(isinstance(t, WeakType) and t.kind == "float" for t in kinds) and dtype.kind != "f":
            raise Unfit("an integer with a float")
        if dtype.kind == "f" and node.op in ("floordiv", "mod") or dtype.kind == "b":
            raise Unfit(f"{node.op} of {dtype}")
        if dtype.kind == "u" and node.op == "neg":
            raise Unfit(f"{node.op} of {dtype}")
        if node.op in _ARITHMETIC and node.op not in _COMPARISONS and node.op != "truediv":
            if out != ArrayType(dtype, (), scalar=True):
                raise Unfit("a result of another dtype")
    elif node.op in ("floordiv", "mod") and any(t.kind == "float" for t in kinds if isinstance(t, WeakType)):
        raise Unfit("a remainder of floats")
    if node.op in _LOGIC and any(isinstance(t, ArrayType) or t.kind == "float" for t in kinds):  # type: ignore[union-attr]
        raise Unfit("logic of NumPy scalars")


# ------------------------------------------------------------------------------------ steps
def _take(x: Any, where: Any) -> Any:
    """The value for some of the elements."""
    if isinstance(x, Tagged):
        return Tagged(x.values[where], x.tags[where])
    return x[where] if isinstance(x, np.ndarray) else x


def _exact(x: Any) -> Any:
    """The value, which as an integer must be one that a float holds."""
    if isinstance(x, np.ndarray):
        if x.dtype.kind in "iu" and x.size and max(int(x.max()), -int(x.min())) > EXACT:
            raise Left
    elif isinstance(x, int) and abs(x) > EXACT:
        raise Left
    return x


def _truth(x: Any, count: int) -> Any:
    """For each element whether the number is true."""
    if isinstance(x, Tagged):
        if not np.all(x.tags):
            raise Left
        x = x.values
    if not isinstance(x, np.ndarray):
        return np.full(count, bool(x))
    return x if x.dtype.kind == "b" else x != 0


@functools.cache
def _range(dtype: np.dtype[Any]) -> tuple[int, int]:
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def _within(x: Any, dtype: np.dtype[Any]) -> Any:
    """Integers as ones of a dtype, which must hold them."""
    (least, most), (low, high) = _range(dtype), _bounds(x)
    if low < least or high > most:
        raise Left
    return x.astype(dtype, copy=False) if isinstance(x, np.ndarray) else dtype.type(x)


def _bounds(x: Any) -> tuple[int, int]:
    """The least and the largest of the integers."""
    if isinstance(x, np.ndarray):
        return int(x.min()), int(x.max())
    return int(x), int(x)


def _integers(name: str, a: Any, b: Any) -> Any:
    """Arithmetic of Python's integers, as long as 64 bits hold them."""
    a, b = (x.astype(np.int64, copy=False) if isinstance(x, np.ndarray) else int(x) for x in (a, b))
    if name == "truediv":
        return np.true_divide(_exact(a), _exact(b))
    if name in _COMPARISONS:
        return _ARITHMETIC[name](a, b)
    (low, high), (least, most) = _bounds(a), _bounds(b)
    if name in ("floordiv", "mod"):
        if least <= 0 <= most or least <= -1 <= most:
            raise Left
    elif name == "mul":
        if max(abs(low), abs(high)) * max(abs(least), abs(most)) >= 1 << 63:
            raise Left
    elif max(abs(low), abs(high)) + max(abs(least), abs(most)) >= 1 << 63:
        raise Left
    return _ARITHMETIC[name](a, b)


def _arithmetic(node: Node) -> Step:
    """One operator on numbers."""
    name, strong, operate = node.op, _strong(node), _ARITHMETIC[node.op]
    weak = [isinstance(number_type(x), WeakType) for x in node.inputs]
    if not strong:
        if any(isinstance(t := number_type(x), WeakType) and t.kind == "float" for x in node.inputs):
            return lambda a, b: operate(_exact(a), _exact(b))
        return functools.partial(_integers, name)
    (dtype,) = strong

    def step(a: Any, b: Any) -> Any:
        a, b = (_as_dtype(x, dtype) if w else x for x, w in zip((a, b), weak, strict=True))
        if dtype.kind == "f" or name in _COMPARISONS or name == "truediv":
            return operate(a, b)
        if name in ("floordiv", "mod") and not isinstance(b, np.ndarray) and b > 0:
            return operate(a, b)
        return _within(_integers(name, a, b), dtype)

    return step


def _as_dtype(x: Any, dtype: np.dtype[Any]) -> Any:
    """Python's numbers as NumPy takes them beside a scalar of this dtype."""
    return _within(x, dtype) if dtype.kind in "iu" else np.asarray(_exact(x)).astype(dtype)


def _unary(node: Node) -> Step:
    """An operator on one number."""
    name = node.op

    def step(x: Any) -> Any:
        if x.dtype.kind == "b" or x.dtype.kind in "iu" and np.any(x == _range(x.dtype)[0]):
            raise Left
        return x if name == "pos" else np.abs(x) if name == "abs" else np.negative(x)

    return step


def _step(node: Node) -> Step:
    """What a node without regions does to numbers, one of which at least is an array."""
    if node.op in _UNARY:
        return _unary(node)
    return _LOGIC.get(node.op) or _UFUNCS.get(node.op) or _arithmetic(node)


def dtype_of(t: Type) -> np.dtype[Any]:
    """The dtype of an array for values of this type."""
    if isinstance(t, MaybeUnbound):
        return dtype_of(t.type)
    if isinstance(t, NumberType):
        return np.dtype(float)
    return t.dtype if isinstance(t, ArrayType) else _DTYPES[t.kind]  # type: ignore[union-attr]


class _Room:
    """Where the values of one name are collected, element by element."""

    def __init__(self, t: Type, count: int) -> None:
        self.values = np.zeros(count, dtype_of(t))
        tagged = isinstance(t, (NumberType, MaybeUnbound))
        self.tags = np.zeros(count, np.uint8) if tagged else None

    def put(self, where: Any, x: Any, t: Type) -> None:
        """Some elements have this value, which is of this type."""
        if self.tags is None:
            if isinstance(x, np.ndarray) and x.dtype != self.values.dtype:
                raise Left
            self.values[where] = x
            return
        if isinstance(x, UnboundMarker):
            self.tags[where] = 0
            return
        if isinstance(x, Tagged):
            self.tags[where], x = x.tags, x.values
        else:
            self.tags[where] = tag_of(t)
        self.values[where] = _exact(x) if self.values.dtype.kind == "f" else x

    def value(self) -> Any:
        """All of them."""
        return self.values if self.tags is None else Tagged(self.values, self.tags)


def tag_of(t: Type) -> int:
    """The bit of the kind of a value of one kind."""
    if isinstance(t, MaybeUnbound):
        t = t.type
    if isinstance(t, NumberType):
        raise Left
    return _BITS[t.kind] if isinstance(t, WeakType) else _STRONG


def _tagged(types: Sequence[Type], values: list[Any], operands: Sequence[Operand], count: int) -> list[Any]:
    """The values of these operands as values of these types: with tags, where those tell kinds apart."""
    made = []
    for t, x, operand in zip(types, values, operands, strict=True):
        if isinstance(t, (NumberType, MaybeUnbound)) and not isinstance(x, Tagged):
            room = _Room(t, count)
            room.put(slice(None), x, number_type(operand))
            x = room.value()
        made.append(x)
    return made


def classes_of(t: Type) -> dict[int, type]:
    """The class of number for each tag."""
    inner = t.type if isinstance(t, MaybeUnbound) else t
    kinds = inner.kinds if isinstance(inner, NumberType) else (inner,)
    strong = [kind.dtype.type for kind in kinds if isinstance(kind, ArrayType)]
    return {**CLASSES, _STRONG: strong[0]} if strong else CLASSES


class Steps:
    """Runs regions for sets of elements."""

    def __init__(self) -> None:
        self.loops: dict[Node, Callable[..., Any]] = {}
        self.steps: dict[Node, tuple[Step, np.dtype[Any]]] = {}

    def run(self, graph: Graph, args: Sequence[Any], count: int) -> list[Any]:
        """The results of a region for `count` elements."""
        if graph.diverges:
            raise Left
        env: dict[Value, Any] = dict(zip(graph.params, args, strict=True))
        self.nodes(graph.nodes, env, count)
        return [found_in(x, env) for x in graph.results]

    def nodes(self, nodes: Sequence[Node], env: dict[Value, Any], count: int) -> None:
        """Run nodes one after the other."""
        for node in nodes:
            inputs = [found_in(x, env) for x in node.inputs]
            if node.op == "cond":
                outputs = self.cond(node, inputs, count)
            elif node.op == "while":
                outputs = self.while_(node, inputs, count)
            elif node.op == "for":
                outputs = self.for_(node, inputs, count)
            else:
                outputs = [self.step(node, inputs, count)]
            env.update(zip(node.outputs, outputs, strict=True))

    def step(self, node: Node, inputs: list[Any], count: int) -> Any:
        """A node without regions."""
        if node.op == "py.bound":
            return _bound(inputs[0], node.outputs[0].type)
        if node.op == "py.not":
            return ~_truth(inputs[0], count)
        known = self.steps.get(node)
        if known is None:
            known = self.steps[node] = _step(node), dtype_of(node.outputs[0].type)
        if not any(isinstance(x, np.ndarray) for x in inputs):  # the same for all elements
            inputs[0] = np.full(count, inputs[0], dtype_of(number_type(node.inputs[0])))
        made = known[0](*inputs)
        if made.dtype != known[1]:
            raise Left
        return made

    def cond(self, node: Node, inputs: list[Any], count: int) -> list[Any]:
        """Each arm for those elements that choose it."""
        chosen, captures = _truth(inputs[0], count), inputs[1:]
        true, false = node.regions
        some = np.flatnonzero(chosen)
        if len(some) in (0, count):
            region = true if len(some) else false
            found = self.run(region, captures, count)
            return _tagged([v.type for v in node.outputs], found, region.results, count)
        rooms = [_Room(v.type, count) for v in node.outputs]
        for region, where in ((true, some), (false, np.flatnonzero(~chosen))):
            found = self.run(region, [_take(x, where) for x in captures], len(where))
            for room, x, result in zip(rooms, found, region.results, strict=True):
                room.put(where, x, number_type(result))
        return [room.value() for room in rooms]

    def while_(self, node: Node, inputs: list[Any], count: int) -> list[Any]:
        """Trips for those elements that go on."""
        test, body = node.regions
        carries = len(node.outputs)
        going = _Going(node, body, inputs[:carries], inputs[carries:], count)
        while going.count:
            (answer,) = self.run(test, [*going.state, *going.captures], going.count)
            going.keep(answer)
            if 0 < going.count < FEW:
                self.one_by_one(node, going)
            elif going.count:
                going.after(self.run(body, [*going.state, *going.captures], going.count))
        return going.values()

    def for_(self, node: Node, inputs: list[Any], count: int) -> list[Any]:
        """The same, over a range."""
        body, carries = node.regions[0], len(node.outputs)
        going = _Going(node, body, inputs[1 : 1 + carries], inputs[1 + carries :], count)
        for item in inputs[0]:
            going.after(self.run(body, [item, *going.state, *going.captures], going.count))
            if len(node.regions) == 2:
                (answer,) = self.run(node.regions[1], [*going.state, *going.captures], going.count)
                going.keep(answer)
                if not going.count:
                    break
        going.keep(False)
        return going.values()

    def one_by_one(self, node: Node, going: _Going) -> None:
        """The loop to its end for a few elements, as Python runs it."""
        kinds = [p.type for p in node.regions[1].params]
        if node not in self.loops:
            self.loops[node] = _alone(node, kinds)
        loop, values = self.loops[node], [*going.state, *going.captures]
        rows = [
            loop(*(_single(x, t, k) for x, t in zip(values, kinds, strict=True))) for k in range(going.count)
        ]
        for room, column in zip(going.rooms, zip(*rows, strict=True), strict=True):
            for at, x in zip(going.active, column, strict=True):
                room.put(at, x, number_type(Const(x)))
        going.count = 0


def _alone(node: Node, kinds: Sequence[Type]) -> Callable[..., Any]:
    """A function that runs a `while`, given all that comes in; it returns a tuple."""
    params = tuple(Value(t) for t in kinds)
    outputs = tuple(Value(v.type, v.name) for v in node.outputs)
    whole = Value(TupleType(tuple(v.type for v in outputs)))
    made = Node("py.tuple", outputs, (whole,), span=node.span)
    loop = dataclasses.replace(node, inputs=params, outputs=outputs)
    return load(plan_source(Graph("rest", params, (loop, made), (whole,))))


def _single(x: Any, t: Type, k: int) -> Any:
    """The value for one element."""
    if isinstance(x, Tagged):
        if not x.tags[k]:
            raise Left
        return classes_of(t)[int(x.tags[k])](x.values[k])
    if not isinstance(x, np.ndarray):
        return x
    return x[k].item() if isinstance(t, WeakType) else x[k]


class _Going:
    """The elements that are in a loop: what they carry, and what those that have left it carried."""

    def __init__(self, node: Node, body: Graph, state: list[Any], captures: list[Any], count: int) -> None:
        first = 1 if node.op == "for" else 0
        self.types = [v.type for v in body.params[first : first + len(state)]]
        self.results, self.count = body.results, count
        self.state = _tagged(self.types, state, node.inputs[first : first + len(state)], count)
        self.captures = captures
        self.rooms = [_Room(v.type, count) for v in node.outputs]
        self.active = np.arange(count)

    def after(self, state: list[Any]) -> None:
        """A trip was done."""
        self.state = _tagged(self.types, state, self.results, self.count)

    def keep(self, answer: Any) -> None:
        """Those go on for whom the test says so."""
        answer = _truth(answer, self.count)
        if answer.all():
            return
        out = ~answer
        for room, x, t in zip(self.rooms, self.state, self.types, strict=True):
            room.put(self.active[out], _take(x, out), t)
        self.active = self.active[answer]
        self.state = [_take(x, answer) for x in self.state]
        self.captures = [_take(x, answer) for x in self.captures]
        self.count = len(self.active)

    def values(self) -> list[Any]:
        """What all carried at last."""
        return [room.value() for room in self.rooms]


def found_in(x: Operand, env: Mapping[Value, Any]) -> Any:
    return x.value if isinstance(x, Const) else env[x]


def _bound(x: Any, t: Type) -> Any:
    """Values that must be there."""
    if not isinstance(x, Tagged):
        if isinstance(x, UnboundMarker):
            raise Left
        return x
    if not np.all(x.tags):
        raise Left
    return x if isinstance(t, NumberType) else x.values
