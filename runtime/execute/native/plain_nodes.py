"""Nodes without regions as instructions: operators, calls, items.

In: a node and the values of its inputs.  Out: the value of its output.  What always holds: what is not known
here raises Unlowered.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeGuard

import numpy as np

from runtime.boxes import UnboundMarker
from runtime.dataclass import dataclass
from runtime.execute.native import (
    complexes,
    containers,
    elementwise,
    gathers,
    iterables,
    list_calls,
    list_methods,
    lists,
    reductions,
)
from runtime.execute.native.arrays import get_item as item_of
from runtime.execute.native.arrays import located
from runtime.execute.native.arrays import set_item as put_item
from runtime.execute.native.calls import Handler, attribute, call, numpy_call
from runtime.execute.native.containers import CONTAINERS
from runtime.execute.native.emit import FALSE, FLAGS, TRUE
from runtime.execute.native.handlers import display, handler, taken
from runtime.execute.native.kinds import FLOAT64, PYTHON_BOOL, PYTHON_INT, Unlowered, numpy_scalar
from runtime.execute.native.scalars import UFUNCS, binary, lowest, truth, unary
from runtime.execute.native.state import State
from runtime.execute.native.values import (
    LISTS,
    Arr,
    Backwards,
    Cut,
    Drawing,
    Entries,
    Keyed,
    Lazy,
    Listing,
    Lists,
    Maybe,
    Method,
    Num,
    Queue,
    Rng,
    Shared,
    Shown,
    Static,
    Stream,
    Tup,
    Val,
    lift,
    one,
)
from runtime.execute.native.waiting import IN_PLACE, UNARY, along_lines
from runtime.execute.native.waiting import elementwise as is_elementwise
from runtime.execute.native.waiting import reduction as is_reduction
from runtime.ir.graph import Node
from runtime.lazy import Lazy as LazyModule
from runtime.ops.table import BY_METHOD, as_function
from runtime.ops.words import said
from runtime.types import ArrayType

if TYPE_CHECKING:
    from runtime.execute.native import dict_calls, dicts, heaps
else:  # few programs have these
    _IN = "runtime.execute.native."
    dict_calls, dicts = LazyModule(f"{_IN}dict_calls"), LazyModule(f"{_IN}dicts")
    heaps = LazyModule(f"{_IN}heaps")

MAKERS = {"shape", "N", "start", "stop"}  # what functions that make arrays may be told by name
BOUNDS = {"min", "max"} & inspect.signature(np.clip).parameters.keys()  # names since NumPy 2.1
_KINDS = {"invalid": 1, "divide": 4, "over": 8, "under": 16, "all": FLAGS}


@dataclass(frozen=True)
class Quiet:
    """What `np.errstate` gives that ignores flags of some kinds, and leaves the others as they are."""

    kinds: int


def quiet(node: Node) -> Quiet | None:
    """The context that a node makes, if it is one in which some floating-point warnings are not given."""
    if node.op != "py.call" or getattr(node.inputs[0], "value", None) is not np.errstate:
        return None
    given = dict(zip(node.keywords, node.inputs[1:], strict=False))
    silent = all(getattr(x, "value", None) == "ignore" for x in given.values())
    if len(given) != len(node.inputs) - 1 or not given or not silent or not set(given) <= set(_KINDS):
        return None
    return Quiet(functools.reduce(operator.or_, (_KINDS[name] for name in given)))


def value(state: State, node: Node, args: list[Val]) -> Val:
    """The result of a node without regions."""
    if (context := quiet(node)) is not None:
        return Static(context)
    e, op = state.e, node.op
    args = args if op in ("py.tuple", "py.is") else read_again(state, args)
    count, keywords = by_name(node, args)
    if op in IN_PLACE and isinstance(args[0], (Arr, *LISTS)):
        return in_place(state, op, args[0], args[1])
    if len(args) == 2 and isinstance(args[0], Keyed) and (op in IN_PLACE or op in UFUNCS):
        return dict_calls.operator(state, node.outputs[0], op, args[0], args[1])
    op = IN_PLACE.get(op, op)
    if op.startswith("np.") and op != "np.array" and any(isinstance(x, (Queue, *LISTS)) for x in args):
        found = list_calls.with_arrays(state, op, args[:count], keywords)
        if not isinstance(found, list):
            return found
        args = [*found, *keywords.values()]
    own = own_handler(node, op, count)
    if own is not None:
        return own(state, args[:count], keywords)
    if node.op == "mul" and any(isinstance(x, LISTS) for x in args):
        return repeated(state, node, args)
    if op == "add" and all(isinstance(x, LISTS) for x in args):
        return list_methods.joined(state, node.outputs[0], args)
    if op in UFUNCS and len(args) == 2:
        a, b = args
        if isinstance(a, Num) and isinstance(b, Num):
            low = bool(node.outputs) and node.outputs[0] in state.low
            return (lowest if low else binary)(e, op, a, b)
        return elementwise.operator(state, op, *(beside(a, b) if op != "pow" else (a, b)))
    if op in UNARY:
        x = args[0]
        return unary(e, op, x) if isinstance(x, Num) else elementwise.unary(state, op, x)
    if op in ("py.not", "py.truth", "py.is"):
        return is_none(state, *args) if op == "py.is" else truth_value(state, op, args[0])
    if op == "getitem":
        if isinstance(args[0], CONTAINERS):
            return containers.get_item(state, args[0], args[1], node.outputs[0])
        return get_item(state, args[0], args[1])
    return function(state, node, op, args[:count], keywords)


def by_name(node: Node, args: list[Val]) -> tuple[int, dict[str, Val]]:
    """How many arguments of a node come by position, and the others."""
    count = len(args) - len(node.keywords)
    keywords = dict(zip(node.keywords, args[count:], strict=True))
    alone = count or MAKERS & keywords.keys() or node.op.endswith(".accumulate")
    if node.op.startswith("np.") and not alone:
        raise Unlowered(f"{node.op} without an argument by position")
    return count, keywords


def in_place(state: State, op: str, x: Arr | Lists, other: Val) -> Val:
    """`x += other` or its like."""
    if isinstance(x, Arr):
        return elementwise.in_place(state, IN_PLACE[op], x, beside(x, other)[1])
    return list_methods.in_place(state, op, x, other)


def own_handler(node: Node, op: str, count: int) -> Handler | None:
    """What lowers a node as a whole, if anything does.  count: of arguments by position."""
    if op.startswith("np.") and not node.attrs and not taken(op, count, node.keywords):
        raise Unlowered(f"arguments that {op} does not take")
    return None if is_reduction(node) and node.keywords else handler(op)


def beside(a: Val, b: Val) -> tuple[Val, Val]:
    """The operands of an operator; a number that is one of two kinds is of float64 beside an array of that,
    where both come to the same."""
    for x, y in ((a, b), (b, a)):
        if isinstance(x, Num) and len(x.members) == 2 and elementwise.is_array(y) and x.llvm == "double":
            if elementwise.kind_of(y) == FLOAT64 and all(m.bits == 64 or m.kind == "b" for m in x.members):
                number = one(FLOAT64, x.text)
                return (number, b) if x is a else (a, number)
    return a, b


def repeated(state: State, node: Node, args: list[Val]) -> Val:
    """A list times a Python int, on either side."""
    x, n = args if isinstance(args[0], LISTS) else args[::-1]
    if not isinstance(x, LISTS) or not isinstance(n, Num) or n.members != (PYTHON_INT,):
        raise Unlowered("a list times something else than a Python int")
    return list_methods.repeated(state, node.outputs[0], x, n)


def truth_value(state: State, op: str, x: Val) -> Num:
    """`not x`, or the truth of x."""
    if isinstance(x, CONTAINERS):
        x = containers.length(state.e, x)
    if not isinstance(x, Num):
        raise Unlowered(f"{said(op)} of an array")
    known = truth(state.e, x)
    answer = state.e.negated(known) if op == "py.not" else known
    return one(PYTHON_BOOL, answer, answer == TRUE if answer in (TRUE, FALSE) else None)


def method_of_array(
    state: State, node: Node, x: Arr, name: str, args: list[Val], keywords: dict[str, Val]
) -> Val:
    """A call of a method of an array whose type the graph does not know: the op that it is."""
    row = BY_METHOD[name]
    if node.attr("starred") or as_function(name, tuple(args), keywords) != tuple(args):
        raise Unlowered(f"a call of {name} with these arguments")
    same = dataclasses.replace(node, op=row.name)
    count = len(args) + 1
    given = [x, *args, *keywords.values()]
    assert count + len(keywords) == len(given)
    return value(state, same, given)


def backwards(state: State, x: Rng) -> Rng:
    """`reversed` of a range; leaves to the plan where no number comes before the first one."""
    e, step = state.e, x.step_const
    assert step is not None
    span = e.op(f"mul i64 {iterables.range_count(e, x)}, {step}")
    first = one(PYTHON_INT, x.start, int(x.start) if x.start.lstrip("-").isdigit() else None)
    before = binary(e, "sub", first, one(PYTHON_INT, str(step), step)).text
    return Rng(e.op(f"add i64 {before}, {span}"), before, str(-step), -step, x.span)


def of_items(state: State, node: Node, target: object, x: Val) -> Val | None:
    """What Python's `sum`, `reversed` or `list` gives for what has items; None for what is not known."""
    e = state.e
    if target is bool and isinstance(x, CONTAINERS):
        return truth_value(state, "py.truth", x)
    if target is set:
        if isinstance(x, Rng):
            x = list_methods.of_range(state, (node.outputs[0], "items"), x, iterables.count(e, x))
        elif isinstance(x, Arr) and len(x.dims) == 1:
            x = list_methods.joined(state, (node.outputs[0], "items"), [x])
    if containers.is_class(target):
        return containers.made_by(state, node.outputs[0], target, [x], {})
    if target is sum or target is list:
        x = containers.listed(state, x, target) or x
    if target is sum:
        return list_calls.total(state, x)
    if target is reversed and isinstance(x, Rng) and x.step_const is not None:
        return backwards(state, x)
    if target is reversed and isinstance(x, (*LISTS, Arr)):
        return Backwards(x, iterables.count(e, x))
    if target is sorted:
        return dict_calls.ordered(state, node.outputs[0], x)
    if target is list and isinstance(x, Rng):
        return list_methods.of_range(state, node.outputs[0], x, iterables.count(e, x))
    if target is list and (isinstance(x, LISTS) or isinstance(x, Arr) and len(x.dims) == 1):
        return list_methods.joined(state, node.outputs[0], [x])
    if target is list and isinstance(x, Backwards) and isinstance(x.of, LISTS):
        return list_methods.backwards(state, node.outputs[0], x.of, x.count)
    return None


def is_complex(x: Val) -> TypeGuard[Num]:
    """Whether it is a complex number."""
    return isinstance(x, Num) and len(x.members) == 1 and x.scalar.kind == "c"


def function(state: State, node: Node, op: str, args: list[Val], keywords: dict[str, Val]) -> Val:
    """The result of a function of NumPy's or of a call."""
    if op == "np.conjugate" and len(args) == 1 and not keywords and is_complex(args[0]):
        return one(numpy_scalar(args[0].scalar.dtype), complexes.conjugate(state.e, args[0]).text)
    if op == "np.clip" and len(args) == 1 and keywords and keywords.keys() <= BOUNDS:
        return elementwise.clip(state, args[0], *(keywords.get(b, Static(None)) for b in ("min", "max")))
    if is_elementwise(node) and any(map(elementwise.is_array, args)):
        if op == "nd.astype":
            return reductions.cast(state, args, keywords)
        return elementwise.function(state, op[3:], args)
    if is_reduction(node) and elementwise.is_array(args[0]):
        return reductions.reduce(state, op[3:], args, keywords, along_lines(node))
    pairs = isinstance(args[0], Arr) and args[0].element.kind == "c" if args else False
    if op == "nd.copy" and len(args) == 1 and not keywords and not pairs and elementwise.is_array(args[0]):
        return elementwise.copy_of(state, args[0])
    if op.startswith("np.") or (op == "nd.copy" and not keywords):
        return numpy_call(state, op[3:], _of_integers(node, args), keywords)
    if op == "py.call" and isinstance(args[0], Method) and isinstance(args[0].of, Arr):
        return method_of_array(state, node, args[0].of, args[0].name, args[1:], keywords)
    if op == "py.call" and isinstance(args[0], Method) and not keywords and not node.attr("starred"):
        if isinstance(args[0].of, Num) and len(args) == 1:
            return complexes.conjugate(state.e, args[0].of)
        if isinstance(args[0].of, Keyed) and args[0].name in dicts.OF_TWO_SETS:
            return dict_calls.method(state, node.outputs[0], args[0].name, args[0].of, args[1:])
        return containers.called(state, node.outputs[0], args[0], args[1:])
    if op == "py.call" and isinstance(args[0], Static) and not node.attr("starred"):
        return called(state, node, args[0].value, args[1:], keywords)
    return python_value(state, node, args)


def called(state: State, node: Node, target: object, args: list[Val], keywords: dict[str, Val]) -> Val:
    """The result of a call of something that is known."""
    if (target is min or target is max) and len(args) == 1 and keywords.keys() == {"key"}:
        return dict_calls.extreme(state, target, args[0], keywords["key"])
    if len(args) == 1 and not keywords:
        made_of = of_items(state, node, target, args[0])
        if made_of is not None:
            return made_of
    if containers.is_class(target):
        return containers.made_by(state, node.outputs[0], target, args, keywords)
    ordered = getattr(target, "__module__", "") == "_heapq" and not keywords
    if ordered and (heap := heaps.function(target, args)) is not None:
        return heap(state)
    ufunc = getattr(target, "__self__", None)
    if isinstance(ufunc, np.ufunc) and target == ufunc.at and not keywords:
        return gathers.at(state, ufunc, args)
    return call(state, target, args, keywords)


def _of_integers(node: Node, args: list[Val]) -> list[Val]:
    """The arguments of a function of NumPy's.  Where it makes a table of Python's integers, that is one of
    int64: none is larger here."""
    t = node.outputs[0].type if node.op == "np.empty" and len(args) == 2 else None
    by_dtype = isinstance(args[-1], Static) and args[-1].value is object if t is not None else False
    return [args[0], Static(t.dtype)] if by_dtype and isinstance(t, ArrayType) else args


def python_value(state: State, node: Node, args: list[Val]) -> Val:
    """The result of a node that makes or reads Python values."""
    op = node.op
    if op == "py.list" and not node.attr("starred"):
        return lists.shown(state, node.outputs[0], args)
    if op == "py.dict":
        return containers.dict_of(state, node.outputs[0], args)
    if op == "py.tuple" and not node.attr("starred"):
        return Tup(tuple(args))
    if op == "py.slice":
        parts = [None if isinstance(x, Static) and x.value is None else x for x in args]
        if all(p is None or isinstance(p, Num) for p in parts):
            return Cut(*parts)  # type: ignore[arg-type]
    if op == "py.bound":
        return bound(state, args[0])
    if op == "py.contains" and isinstance(args[1], (Entries, *CONTAINERS)):
        return containers.contains(state, args[1], args[0])
    if op == "py.delitem" and isinstance(args[0], CONTAINERS):
        return containers.take_away(state, args[0], args[1])
    if op == "py.unpack" and len(args) == 2 and isinstance(args[0], (Tup, *LISTS)):
        return unpacked(state, args[0], args[1])
    if op == "py.getattr" and isinstance(args[1], Static):
        return attribute_of(state, args[0], str(args[1].value))
    raise Unlowered(said(op))


def unpacked(state: State, x: Tup | Lists, count: Val) -> Tup:
    """The items of a tuple or list that has so many."""
    if not isinstance(x, Tup):
        return list_methods.unpacked(state, x, count)
    if not isinstance(count, Num) or count.const != len(x.items):
        raise Unlowered(said("py.unpack"))
    return x


def attribute_of(state: State, x: Val, name: str) -> Val:
    """`x.name`."""
    if isinstance(x, CONTAINERS):
        return containers.method(x, name)
    if isinstance(x, Stream):
        return Drawing(x, name)
    if isinstance(x, Arr) and name in BY_METHOD:
        return Method(x, name)
    if is_complex(x) and name == "conjugate":
        return Method(x, name)
    return attribute(state, x, name)


def bound(state: State, x: Val) -> Val:
    """The value of what may be an unbound name, or None; where it is, the plan goes on, which raises."""
    if isinstance(x, Maybe):
        (state.e.defer_if if isinstance(x.number, Num) else state.e.bail_if)(state.e.negated(x.valid))
        return x.number
    if isinstance(x, Static) and isinstance(x.value, UnboundMarker):
        state.e.bail_if(TRUE)
    return x


def is_none(state: State, x: Val, other: Val) -> Val:
    """`x is None`."""
    if not isinstance(other, Static) or other.value is not None:
        raise Unlowered("is")
    if isinstance(x, Maybe) and x.none:
        return one(PYTHON_BOOL, state.e.negated(x.valid))
    if isinstance(x, Maybe):
        x = bound(state, x)
    return lift(isinstance(x, Static) and x.value is None)


def read_again(state: State, args: Sequence[Val]) -> list[Val]:
    """The values of names that may have been unbound: one is asked for once, and may be read after that."""
    return [bound(state, x) if isinstance(x, Maybe) else x for x in args]


def set_item(state: State, array: Val, key: Val, value: Val) -> None:
    """`array[key] = value`."""
    array, key, value = read_again(state, (array, key, value))
    if isinstance(array, CONTAINERS):
        if isinstance(value, Lazy):
            value = elementwise.materialized(state, value)
        return containers.set_item(state, array, key, value)
    if not isinstance(array, Arr):
        raise Unlowered("an assignment to an item of something else than an array or a list")
    key = as_key(state, key)
    if isinstance(value, Tup):
        value = display(state, value)
    if gathers.by_arrays(key):
        gathers.put(state, array, key, value)
    elif elementwise.is_array(value):
        elementwise.assigned(state, located(state.e, array, key), value)
    else:
        put_item(state, array, key, value)


def as_key(state: State, key: Val) -> Val:
    """The key of an array with arrays in place of its lists."""
    if isinstance(key, Tup):
        return Tup(tuple(as_key(state, part) for part in key.items))
    if isinstance(key, (Listing, Shared)):
        return lists.view(state, key)
    if isinstance(key, Shown):
        return display(state, Tup(key.items))
    return key


def get_item(state: State, container: Val, key: Val) -> Val:
    """`container[key]`."""
    if isinstance(container, Arr):
        key = as_key(state, key)
        return (gathers.get if gathers.by_arrays(key) else item_of)(state, container, key)
    if isinstance(container, CONTAINERS):
        return containers.get_item(state, container, key)
    if isinstance(container, Tup) and isinstance(key, Num) and type(key.const) is int:
        if -len(container.items) <= key.const < len(container.items):
            return container.items[key.const]
    held = container.value if isinstance(container, Static) else None
    if isinstance(held, dict) and isinstance(key, Static):  # those of a module
        raise Unlowered(f"the global {key.value!r}, which is read on each call")
    text = isinstance(held, (str, bytes))
    raise Unlowered(f"an item of {'a text' if text else 'something else than an array'}")
