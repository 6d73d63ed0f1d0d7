"""Linear algebra of single matrices by the inner loops that NumPy's functions have below them.

In: arrays.  Out: a new array or a number.  What always holds: the loop is the one that NumPy takes, on
doubles, so the result is NumPy's bit by bit; where it reports that there is no result, the plan does the
call, and raises.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from runtime.execute.native.arrays import create, load
from runtime.execute.native.elementwise import as_lazy, is_array, materialized
from runtime.execute.native.kinds import FLOAT64, Unlowered
from runtime.execute.native.linear import fits, stored_words
from runtime.execute.native.shares import Serial
from runtime.execute.native.state import State
from runtime.execute.native.ufunc_loops import forget, inner_loop, put_away
from runtime.execute.native.values import Arr, Val

Handler = Callable[[State, list[Val], dict[str, Val]], Val]
INVALID = 1  # the flag by which a loop says that it failed


def _operands(state: State, args: Sequence[Val], keywords: dict[str, Val], count: int) -> list[Arr]:
    """Arrays of doubles, of which the first is a square matrix."""
    if len(args) != count or keywords or not all(map(is_array, args)):
        raise Unlowered("linear algebra with options")
    found = []
    for x in args:
        lazy = as_lazy(state.e, x)
        if lazy.kind != FLOAT64 and lazy.kind.kind not in "iub":  # results of float32 are rounded
            raise Unlowered("linear algebra of this dtype")
        if not isinstance(x, Arr) or x.element != FLOAT64:
            x = materialized(state, as_lazy(state.e, lazy, FLOAT64), True)
        found.append(x)
    if len(found[0].dims) != 2:
        raise Unlowered("linear algebra of stacks of matrices")
    fits(state.e, *found[0].dims)
    return found


def _loop(state: State, name: str, arrays: Sequence[Arr], out: str, sizes: Sequence[str]) -> None:
    """Call the loop for one set of matrices.  arrays: the operands, and the result where it is an array."""
    e = state.e
    if e.part is not None:
        raise Serial
    ufunc: Any = getattr(getattr(np.linalg, "_umath_linalg", None), name, None)
    kinds = [FLOAT64] * (ufunc.nargs if isinstance(ufunc, np.ufunc) else 0)
    found = inner_loop(ufunc, kinds) if kinds else None
    if found is None:
        raise Unlowered(f"np.linalg.{name}: its inner loop is not known")
    e.flush()
    places = [*(a.data for a in arrays), *([out] if out else [])]
    steps = [*["0"] * len(places), *(s for a in arrays for s in a.strides)]
    given = (("ptr", places), ("i64", ["1", *sizes]), ("i64", steps))
    cells = [stored_words(e, *words) for words in given]
    put_away(e)
    loop, data = state.loop(ufunc, [kind.dtype for kind in kinds], found)
    e.line(f"call void {loop}(ptr {cells[0]}, ptr {cells[1]}, ptr {cells[2]}, ptr {data})")
    e.version += 1


def _checked(state: State) -> None:
    """Leave to the plan where the loop said that it failed; NumPy hears nothing else from it."""
    e = state.e
    failed = e.effect(f"call i32 @autograph_fetestexcept(i32 {INVALID})")
    forget(e)
    e.bail_if(e.effect(f"icmp ne i32 {failed}, 0"))


def _solve(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    """`np.linalg.solve(a, b)` of a matrix and a vector or matrix."""
    a, b = _operands(state, args, keywords, 2)
    if not 1 <= len(b.dims) <= 2:
        raise Unlowered("np.linalg.solve of stacks of matrices")
    fits(state.e, a.dims[0], b.dims[0])
    out = create(state, b.dims, FLOAT64.dtype, False)
    _loop(state, "solve1" if len(b.dims) == 1 else "solve", (a, b, out), "", (a.dims[0], *b.dims[1:]))
    _checked(state)
    return out


def _of_matrix(name: str, axes: int) -> Handler:
    """A function of one matrix whose result has so many axes of its size."""

    def handler(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
        (a,) = _operands(state, args, keywords, 1)
        out = create(state, a.dims[:axes], FLOAT64.dtype, False)
        _loop(state, name, (a, out), "", a.dims[:1])
        _checked(state)
        return out

    return handler


def _det(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    """`np.linalg.det(a)`: a number; NumPy hears of flags that its loop raises."""
    (a,) = _operands(state, args, keywords, 1)
    cell = state.e.slot("double")
    _loop(state, "det", (a,), cell, a.dims[:1])
    return load(state.e, FLOAT64, cell)


HANDLERS: dict[str, Handler] = {
    "np.linalg.solve": _solve,
    "np.linalg.inv": _of_matrix("inv", 2),
    "np.linalg.cholesky": _of_matrix("cholesky_lo", 2),
    "np.linalg.eigvalsh": _of_matrix("eigvalsh_lo", 1),
    "np.linalg.det": _det,
}
