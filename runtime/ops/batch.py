"""How an op on one item becomes an op on many: one rule per op or family of ops.

In: the row of an op, its operands for all items at once (`Item`), and `emit`, which records or runs an op.
Out: the result for all items, which lie along its first axis; None where the op should be done item by item.
What always holds: each item of the result has the bits that the op gives for that item alone, so products
stay one product per item, and sums go over the elements of an item in the order that they lie in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from runtime.dataclass import dataclass
from runtime.ir.opdef import OpDef

Emit = Callable[[str, Sequence[Any], Mapping[str, Any]], Any]
Rule = Callable[[OpDef, Emit, "Items", dict[str, Any]], Any]


@dataclass(frozen=True)
class Item:
    """An operand: its value, and the axes that it has for one item.

    batched: whether the value has a first axis more, along which the items lie; else all share it.
    turned: whether the elements of an item may lie in memory in another way than in C order.
    kind: the kind of its dtype, empty for what is no array.
    own: whether the memory of the value is nobody else's.
    in_order: whether the elements of the value are known to lie in C order, items one after the other.
    """

    value: Any
    shape: tuple[int | None, ...] = ()
    batched: bool = False
    turned: bool = False
    kind: str = ""
    own: bool = False
    in_order: bool = False

    @property
    def rank(self) -> int:
        """The number of axes of one item."""
        return len(self.shape)


Items = Sequence[Any]  # Item, or a tuple or list of these where the op takes several arrays as one operand


def aligned(x: Item, rank: int) -> Any:
    """The value, so that it broadcasts against others whose items have this rank."""
    if not x.batched or x.rank == rank:
        return x.value
    key = (slice(None), *[None] * (rank - x.rank))
    return x.value[key]


def elementwise(row: OpDef, emit: Emit, items: Items, keywords: dict[str, Any]) -> Any:
    """An op that broadcasts its operands."""
    if keywords or not all(isinstance(x, Item) for x in items):
        return None
    rank = max(x.rank for x in items)
    if rank == 0 and row.name in _OTHERWISE and any(x.kind == "c" for x in items):
        return None
    return emit(row.name, [aligned(x, rank) for x in items], {})


def power(row: OpDef, emit: Emit, items: Items, keywords: dict[str, Any]) -> Any:
    """`**`: of scalars it is another function than of arrays, with other last bits."""
    return None if max(x.rank for x in items) == 0 else to_a_power(row, emit, items, keywords)


def to_a_power(row: OpDef, emit: Emit, items: Items, keywords: dict[str, Any]) -> Any:
    """`np.power`: where all elements are raised to one power, that is by multiplying or a square root."""
    if len(items) == 2 and (items[1].batched or items[1].rank):
        base, exponent = items
        several = None not in exponent.shape and np.prod(exponent.shape, dtype=np.int64) > 1
        if exponent.shape != base.shape or not several:
            return None
    return elementwise(row, emit, items, keywords)


def same_op(row: OpDef, emit: Emit, items: Items, keywords: dict[str, Any]) -> Any:
    """An op of one array that does the same to the leading axes of many, or does not see the axes."""
    if not items[0].batched or any(x.batched for x in items[1:]) or ordered(row, items, keywords):
        return None
    return emit(row.name, [x.value for x in items], keywords)


def ordered(row: OpDef, items: Items, keywords: Mapping[str, Any]) -> bool:
    """Whether an order of elements in memory is asked for."""
    return "order" in keywords or (row.name in ("nd.copy", "np.copy") and len(items) > 1) or len(items) > 2


def stacks(row: OpDef, emit: Emit, items: Items, keywords: dict[str, Any]) -> Any:
    """An op of linear algebra of one matrix."""
    return emit(row.name, [items[0].value], {}) if len(items) == 1 and not keywords else None


def product(row: OpDef, emit: Emit, items: Items, keywords: dict[str, Any]) -> Any:
    """`a @ b`, one product per item."""
    a, b = items
    if keywords or not a.rank or not b.rank or max(a.rank, b.rank) > 2:
        return None
    # an item that was computed lies in order, and how a product adds up depends on that
    left, right = (ordered_value(emit, x) if x.own else x.value for x in items)
    if a.rank == 1:
        left = left[(slice(None), None) if a.batched else (None,)]
    if b.rank == 1:
        right = right[..., None]
    made = emit("matmul", [left, right], {})
    if b.rank == 1:
        made = made[..., 0]
    return made[:, 0] if a.rank == 1 else made


def reduction(row: OpDef, emit: Emit, items: Items, keywords: dict[str, Any]) -> Any:
    """An op over some axes of an item, or over all of them."""
    x, *more = items
    if len(more) > 1 or any(y.batched for y in more) or not x.rank or x.turned and x.rank > 1:
        return None
    named = dict(keywords)
    axis = more[0].value if more else named.pop("axis", None)
    if not set(named) <= {"keepdims", "ddof"} or named.get("keepdims", False) not in (False, True):
        return None
    value = emit("np.ascontiguousarray", [x.value], {})
    if axis is None:
        if x.rank > 1 and (named.get("keepdims") or None in x.shape):
            return None
        if x.rank > 1:
            value = value.reshape(len_of(value), int(np.prod(x.shape)))
        return emit(row.name, [value], {"axis": 1, **named})
    moved = shifted(axis, x.rank)
    return None if moved is None else emit(row.name, [value], {"axis": moved, **named})


def ordered_value(emit: Emit, x: Item) -> Any:
    """The value, its elements in C order."""
    return x.value if x.in_order else emit("np.ascontiguousarray", [x.value], {})


def len_of(value: Any) -> Any:
    """The number of items."""
    return value.shape[0]


def shifted(axis: Any, rank: int) -> Any:
    """The axes, counted with the one of the items; None for what is no axis of an item."""
    if type(axis) is tuple:
        parts = tuple(shifted(a, rank) for a in axis)
        return None if None in parts else parts
    if type(axis) is not int or not -rank <= axis < rank:
        return None
    return axis + 1 if axis >= 0 else axis


def along(default: Any) -> Rule:
    """An op along one axis of an item."""

    def rule(row: OpDef, emit: Emit, items: Items, keywords: dict[str, Any]) -> Any:
        x, *more = items
        named = dict(keywords)
        axis = more[0].value if len(more) == 1 else named.pop("axis", default)
        if more[1:] or named or not x.rank:
            return None
        if axis is None:
            if x.rank > 1:
                return None
            axis = 0
        moved = shifted(axis, x.rank)
        return None if moved is None else emit(row.name, [x.value], {"axis": moved})

    return rule


_PARTS = (int, slice, type(None), type(Ellipsis))


def get_item(row: OpDef, emit: Emit, items: Items, keywords: dict[str, Any]) -> Any:
    """`x[key]`: slices and integers for all items, or an index of each."""
    x, key = items
    if not isinstance(x, Item) or not isinstance(key, Item):
        return None
    if key.batched:
        if key.rank or x.rank < 1 or key.kind not in "iu":
            return None
        if not x.batched:
            return emit("getitem", [x.value, key.value], {})
        return emit("getitem", [x.value, (emit("np.arange", [len_of(x.value)], {}), key.value)], {})
    parts = key.value if type(key.value) is tuple else (key.value,)
    if not all(type(part) in _PARTS for part in parts):
        return None
    return emit("getitem", [x.value, (slice(None), *parts)], {})


def reshape(row: OpDef, emit: Emit, items: Items, keywords: dict[str, Any]) -> Any:
    """`x.reshape(sizes)` and its like, where the sizes are known."""
    x, *sizes = items
    if keywords or x.turned and x.rank > 1 or None in x.shape or not all(isinstance(n, Item) for n in sizes):
        return None
    shape = sizes[0].value if len(sizes) == 1 else tuple(n.value for n in sizes)
    shape = shape if type(shape) is tuple else (shape,)
    if not all(type(n) is int for n in shape):
        return None
    whole = np.empty(x.shape, np.bool_).reshape(shape).shape
    return x.value.reshape((len_of(x.value), *whole))


def flat(row: OpDef, emit: Emit, items: Items, keywords: dict[str, Any]) -> Any:
    """`x.ravel()`."""
    (x, *more) = items
    return None if more else reshape(row, emit, [x, Item(-1)], keywords)


def flattened(row: OpDef, emit: Emit, items: Items, keywords: dict[str, Any]) -> Any:
    """`x.flatten()`, which is a copy even of what is flat."""
    made = flat(row, emit, items, keywords)
    return None if made is None else emit("nd.copy", [made], {})


def straight(row: OpDef, emit: Emit, items: Items, keywords: dict[str, Any]) -> Any:
    """`np.ascontiguousarray(x)`, which gives numbers an axis."""
    return same_op(row, emit, items, keywords) if items[0].rank else None


def transposed(row: OpDef, emit: Emit, items: Items, keywords: dict[str, Any]) -> Any:
    """`x.T`, `np.transpose(x, axes)`."""
    x, *more = items
    axes = tuple(range(x.rank))[::-1]
    if keywords or len(more) > 1:
        return None
    if more and row.name != "py.getattr":
        axes = more[0].value
        if type(axes) is not tuple or not all(type(a) is int and -x.rank <= a < x.rank for a in axes):
            return None
    return np.transpose(x.value, (0, *(a % x.rank + 1 for a in axes)))


def attribute(row: OpDef, emit: Emit, items: Items, keywords: dict[str, Any]) -> Any:
    """`x.T`, `x.real`, `x.imag`."""
    if items[1].value == "T":
        return transposed(row, emit, items, keywords)
    return emit(row.name, [x.value for x in items], {}) if items[1].value in ("real", "imag") else None


def joined(row: OpDef, emit: Emit, items: Items, keywords: dict[str, Any]) -> Any:
    """`np.concatenate`, `np.stack` of arrays."""
    parts, *more = items
    axis = more[0].value if len(more) == 1 else keywords.get("axis", 0)
    if more[1:] or not set(keywords) <= {"axis"} or not isinstance(parts, (tuple, list)):
        return None
    if not all(isinstance(x, Item) for x in parts) or len({x.rank for x in parts}) != 1:
        return None
    rank = parts[0].rank + (row.name != "np.concatenate")
    moved = shifted(axis, rank)
    count = next(len_of(x.value) for x in parts if x.batched)
    if moved is None or any(None in x.shape for x in parts if not x.batched):
        return None
    whole = tuple(x.value if x.batched else np.broadcast_to(x.value, (count, *x.shape)) for x in parts)
    name = "np.stack" if row.name == "np.array" else row.name
    return emit(name, [whole], {"axis": moved})


def array_of(row: OpDef, emit: Emit, items: Items, keywords: dict[str, Any]) -> Any:
    """`np.array([a, b])` of arrays of one dtype."""
    return joined(row, emit, items, {}) if len(items) == 1 and not keywords else None


_OPERATORS = (
    "add sub mul truediv floordiv mod lshift rshift and_ or_ xor neg pos invert abs eq ne lt le gt ge"
)
_REDUCTIONS = "sum prod max min mean std var any all argmax argmin"
RULES: dict[str, Rule] = {
    **dict.fromkeys(_OPERATORS.split(), elementwise),
    **dict.fromkeys([f"np.{name}" for name in _REDUCTIONS.split()], reduction),
    **dict.fromkeys(["np.where", "np.clip"], elementwise),
    **dict.fromkeys(["nd.astype", "nd.copy", "np.copy", "np.zeros_like", "np.ones_like"], same_op),
    **dict.fromkeys(["np.linalg.inv", "np.linalg.det", "np.linalg.cholesky"], stacks),
    **dict.fromkeys(["np.cumsum", "np.cumprod", "np.flip"], along(None)),
    **dict.fromkeys(["np.sort", "np.argsort"], along(-1)),
    **dict.fromkeys(["np.reshape", "nd.reshape"], reshape),
    "np.ravel": flat,
    "nd.flatten": flattened,
    "np.ascontiguousarray": straight,
    "np.concatenate": joined,
    "np.stack": joined,
    "np.array": array_of,
    "np.transpose": transposed,
    "py.getattr": attribute,
    "getitem": get_item,
    "matmul": product,
    "np.matmul": product,
    "pow": power,
    **dict.fromkeys(["np.power", "np.pow", "np.float_power"], to_a_power),
}
# Of single complex numbers these have other bits than of arrays of them.
_OTHERWISE = frozenset({"abs", "mul", "lt", "le", "gt", "ge", "np.square"})
TURNING = frozenset(
    "np.transpose py.getattr np.swapaxes np.moveaxis np.rollaxis getitem np.asfortranarray np.einsum".split()
)
# After these the elements of an item lie in C order, unless another order is asked for.
STRAIGHT = frozenset({"np.ascontiguousarray", "nd.copy"})
# Rules for these give a view of the value of their first operand exactly where the op gives one of an item.
VIEWS = frozenset({"np.transpose", "py.getattr", "np.flip", "getitem"})
# Rules for these may give memory of their operand; all others give memory of its own.
LOOKS = VIEWS | {"np.reshape", "nd.reshape", "np.ravel", "nd.astype", "np.ascontiguousarray"}


def rule_of(row: OpDef) -> Rule | None:
    """The rule of an op; None where there is none."""
    found = RULES.get(row.name)
    if found is None and any(_is_elementwise(f) for f in row.captures):
        return elementwise
    return found


def in_order(row: OpDef, items: Items) -> bool:
    """Whether what the rule of an op makes is new and in C order, if no operand is turned."""
    rule = rule_of(row)
    if rule in (elementwise, power, to_a_power):
        return all(x.in_order for x in items if x.batched)
    return rule is product


def _is_elementwise(f: Any) -> bool:
    return isinstance(f, np.ufunc) and f.signature is None and f.nout == 1
