"""`switch_case`, `scan`, `map_fn`: more control flow as functions, on plain values and on traced ones.

In: functions and (trees of) values.  Out: what plain loops and branches would give; outputs of the trips are
stacked along a new first axis, leaf by leaf.  Raises ValueError where the outputs don't stack.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from runtime import tree
from runtime.elements import stack_rows
from runtime.errors import StructureError, check_function
from runtime.functional import cond, for_loop
from runtime.trace.byhand import (
    apply,
    at_run_time,
    closed,
    fail,
    leaves_of,
    new_list,
    opened,
    stacked_type,
    tuple_of,
    types_of,
)
from runtime.trace.core import active
from runtime.trace.structures import (
    as_values,
    check_index,
    nothing_to_go_through,
    wrong_lengths,
    wrong_pair,
    wrong_trips,
)
from runtime.types import ArrayType, NumberType, Type, WeakType, type_of


def switch_case(
    index: Any,
    branches: Sequence[Callable[..., Any]],
    operands: tuple[Any, ...] = (),
    default: Callable[..., Any] | None = None,
) -> Any:
    """What `branches[index](*operands)` returns.

    index: an integer, from 0 (none counts from the end).  branches: a list or tuple of functions, which may
        return values of different types.  operands: a tuple.
    default: called with the operands where there is no branch of that index; without it an IndexError is
        raised.

    >>> switch_case(1, [lambda x: x, lambda x: x * 10], (5,))
    50
    """
    given = opened(branches)
    if not isinstance(given, (list, tuple)):
        raise TypeError("the branches of switch_case are a list or tuple of functions")
    branches = tuple(given)
    for k, branch in enumerate(branches):
        check_function(branch, f"branch {k} of switch_case")
    if type(operands) is not tuple:
        operands = as_values("switch_case", "operands", opened(operands))
    check_index(index)

    def outside() -> Any:
        if default is not None:
            return apply(default, *operands)
        return fail(IndexError, f"switch_case has no branch of this index; it has {len(branches)}")

    def chosen(low: int, high: int) -> Any:
        if high - low == 1:
            return apply(branches[low], *operands)
        middle = (low + high) // 2
        return cond(index < middle, lambda: chosen(low, middle), lambda: chosen(middle, high))

    if not branches:
        return outside()
    below = index < 0
    return cond(
        below, outside, lambda: cond(index < len(branches), lambda: chosen(0, len(branches)), outside)
    )


def scan(f: Callable[..., Any], init: Any, xs: Any, reverse: bool = False) -> tuple[Any, Any]:
    """`carry, y = f(carry, x)` for each item x of xs: the last carry, and the ys stacked.

    xs: an array, or a tree of arrays with equally long first axes; f then gets trees of items.
    init, carry, y: arrays, numbers or trees of them; the ys are alike in structure and shapes.
    Raises StructureError for what is not so, ValueError where there are no items.
    reverse: go from the last item to the first; the ys stand at the places of their items.

    >>> import numpy as np
    >>> scan(lambda total, x: (total + x, total), 0, np.array([1, 2, 3]))
    (np.int64(6), array([0, 1, 3]))
    """
    check_function(f, "scan")
    leaves, structure = leaves_of(xs)
    count = length(leaves, paths_of(xs))
    rows, made = new_list(), _Made()

    def body(i: Any, *carry: Any) -> Any:
        item = closed(tree.unflatten(structure, [leaf[i] for leaf in leaves]))
        after, y = _pair(f, apply(f, carry[0], item))
        rows.append(made.row(y))
        return after

    carry = loop(_trips(count, reverse), body, (init,))
    return carry, made.stack(rows, count, reverse)


def map_fn(f: Callable[..., Any], xs: Any) -> Any:
    """`f(x)` for each item x of xs, the results stacked; xs as in `scan`.

    >>> import numpy as np
    >>> map_fn(lambda x: x * 2, np.array([1, 2]))
    array([2, 4])
    """
    check_function(f, "map_fn")
    leaves, structure = leaves_of(xs)
    count = length(leaves, paths_of(xs))
    rows, made = new_list(), _Made()

    def body(i: Any) -> None:
        rows.append(made.row(apply(f, closed(tree.unflatten(structure, [leaf[i] for leaf in leaves])))))

    loop(_trips(count, False), body)
    return made.stack(rows, count, False)


def paths_of(xs: Any) -> list[str]:
    """What the arrays of a tree are called: `xs`, `xs[0]`, `xs['a']`."""
    return [path for path, _ in tree.flatten_with_paths(opened(xs), "xs")[0]]


class _Abandoned(BaseException):
    """The body of a loop of ours can't be traced.  No error: the loop must not be left to Python, which would
    get trace values to work on."""

    def __init__(self, problem: Exception) -> None:
        self.problem = problem


def loop(
    iterable: Any,
    body: Callable[..., Any],
    carry: tuple[Any, ...] = (),
    test: Callable[..., Any] | None = None,
) -> Any:
    """`for_loop` with a body written by hand, which uses trace values of the code around it."""
    if active() is None:
        return for_loop(iterable, body, carry, test)

    def trip(*args: Any) -> Any:
        try:
            return body(*args)
        except Exception as problem:
            raise _Abandoned(problem) from problem

    try:
        return for_loop(iterable, trip, carry, test)
    except _Abandoned as stop:
        problem = stop.problem
    raise problem


class _Made:
    """What the trips make: one tuple of leaves per trip; in a trace, what is known of them."""

    def __init__(self) -> None:
        self.structure: tree.Structure | None = None
        self.types: list[Type] = []

    def row(self, y: Any) -> tuple[Any, ...]:
        """The leaves of one trip's output."""
        leaves, structure = leaves_of(y)
        if self.structure is not None and self.structure != structure:
            raise wrong_trips(self.structure, structure)
        self.structure, self.types = structure, types_of(leaves)
        return tuple(leaves)

    def stack(self, rows: Any, count: Any, reverse: bool) -> Any:
        """The tree of stacked leaves."""
        if self.structure is None:
            return fail(ValueError, "there are no items, so it is not known what the results look like")
        length = count if isinstance(count, int) else None
        claim = tuple_of([stacked_type(t, length) for t in self.types])
        return closed(tree.unflatten(self.structure, at_run_time(stack_rows, [rows, reverse], claim)))


def length(leaves: Sequence[Any], paths: Sequence[str] = ()) -> Any:
    """The common length of the first axes, or an error; paths: what the leaves are called."""
    if not leaves:
        raise StructureError("there is no array to go through")
    paths = paths or [f"array {k}" for k in range(len(leaves))]
    for leaf, path in zip(leaves, paths, strict=True):
        if not _has_axes(leaf):
            raise nothing_to_go_through(path, leaf)
    sizes = [apply(len, leaf) for leaf in leaves]
    known = [size for size in sizes if isinstance(size, int)]
    if len(set(known)) > 1:
        raise wrong_lengths([p for p, size in zip(paths, sizes, strict=True) if isinstance(size, int)], known)
    return known[0] if known else at_run_time(same_length, sizes)


def _has_axes(x: Any) -> bool:
    """Whether a value may have a first axis, as far as that is known."""
    t = types_of([x])[0] if active() is not None else type_of(x)
    return not isinstance(t, (WeakType, NumberType)) and not (isinstance(t, ArrayType) and t.shape == ())


def same_length(*sizes: int) -> int:
    """The one length that all have; ValueError else."""
    if len(set(sizes)) > 1:
        raise ValueError(f"the first axes are of different lengths: {list(sizes)}")
    return sizes[0]


def _trips(count: Any, reverse: bool) -> Any:
    return apply(range, count - 1, -1, -1) if reverse else apply(range, count)


def _pair(f: Any, made: Any) -> tuple[Any, Any]:
    """The two parts of what the function of a scan returns."""
    if not isinstance(made, tuple):
        made = opened(made)
    if not isinstance(made, (tuple, list)) or len(made) != 2:
        raise wrong_pair(f, made)
    return made[0], made[1]
