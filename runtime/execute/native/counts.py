"""`np.bincount`: how often each small integer occurs, or what weighs in with it.

In: the node's arguments.  Out: a new array, as long as the largest integer needs.  What always holds: weights
are added in the order of the elements; what NumPy refuses (negative integers, weights of another size) leaves
to the plan.
"""

from __future__ import annotations

from runtime.execute.native.arrays import create, load, store
from runtime.execute.native.calls import by_name
from runtime.execute.native.elementwise import as_lazy, is_array, kind_of, materialized
from runtime.execute.native.kinds import FLOAT64, INT64, PYTHON_INT, Unlowered
from runtime.execute.native.lines import begin, line
from runtime.execute.native.makers import Handler
from runtime.execute.native.reductions import reduce
from runtime.execute.native.scalars import index, smaller
from runtime.execute.native.state import State
from runtime.execute.native.values import Lazy, Num, Static, Val, lift, one


def bincount(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    """`np.bincount(x, weights=None, minlength=0)`."""
    e, given = state.e, by_name(args, keywords, "x", "weights", "minlength")
    least = given.get("minlength", lift(0))
    if not is_array(given["x"]) or not isinstance(least, Num) or least.members != (PYTHON_INT,):
        raise Unlowered("np.bincount of something else than an array")
    x = as_lazy(e, materialized(state, given["x"]))
    if len(x.dims) != 1 or x.kind.kind not in "iu" or (x.kind.kind == "u" and x.kind.bits == 64):
        raise Unlowered("np.bincount of an array of this kind")
    weights = given.get("weights", Static(None))
    plain = isinstance(weights, Static) and weights.value is None
    added = None if plain else _weights(state, x, weights)
    largest = reduce(state, "max", [x], {}, False)
    assert isinstance(largest, Num)
    e.bail_if(e.op(f"icmp slt i64 {index(e, least)}, 0"))
    needed = one(INT64, e.op(f"add i64 {index(e, largest)}, 1"))
    size = smaller(e, "gt", [needed, one(INT64, index(e, least))]).text
    kind = INT64 if added is None else FLOAT64
    out = create(state, (size,), kind.dtype, True)

    def count(at: list[str], value: Num) -> None:
        place = index(e, value)
        e.bail_if(e.op(f"icmp uge i64 {place}, {size}"))  # it is negative
        data = e.op(f"getelementptr {kind.llvm}, ptr {out.data}, i64 {place}")
        before = load(e, kind, data)
        more = "add i64 {}, 1" if added is None else f"fadd double {{}}, {added.element(at).text}"
        store(e, kind, data, one(kind, e.op(more.format(before.text))))

    begin(e)
    line(state, x, [], x.dims[0], count, 1)
    e.version += 1
    return out


def _weights(state: State, x: Lazy, weights: Val) -> Lazy:
    """What is added for each element, as floats."""
    if not is_array(weights) or kind_of(weights).kind not in "biuf":
        raise Unlowered("np.bincount with weights of this kind")
    added = as_lazy(state.e, materialized(state, weights), FLOAT64)
    if len(added.dims) != 1:
        raise Unlowered("np.bincount with weights of another rank")
    if added.dims != x.dims:
        state.e.bail_if(state.e.op(f"icmp ne i64 {added.dims[0]}, {x.dims[0]}"))
    return added


HANDLERS: dict[str, Handler] = {"np.bincount": bincount}
