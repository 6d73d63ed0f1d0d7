"""The op table: every op that a node can name, and how calls find their op.

In: the rows of the families.  Out: `OPS` by name, `BY_CALLABLE` by the NumPy callable that records the
op, `BY_METHOD` by ndarray method, `row` for a checked look-up, `out_named` for the arguments of calls.  What
always holds: names, captured callables and methods are unique; the table is complete when this module is
imported.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from runtime.errors import GraphError
from runtime.ir.opdef import OpDef
from runtime.lazy import Lazy
from runtime.ops import (
    create,
    indexing,
    joining,
    linalg,
    methods,
    misc,
    operators,
    python,
    reduce,
    shape,
    sorting,
    strings,
    ufuncs,
)

if TYPE_CHECKING:
    from runtime.ops import derivatives
else:
    derivatives = Lazy("runtime.ops.derivatives")

FAMILIES = (
    python,
    operators,
    ufuncs,
    reduce,
    create,
    shape,
    indexing,
    joining,
    sorting,
    linalg,
    methods,
    misc,
    strings,
)


def _collect() -> tuple[dict[str, OpDef], dict[Callable[..., Any], OpDef], dict[str, OpDef]]:
    """The three indexes over all rows; a name that two rows claim is a mistake in the table."""
    ops: dict[str, OpDef] = {}
    callables: dict[Callable[..., Any], OpDef] = {}
    methods: dict[str, OpDef] = {}
    for family in FAMILIES:
        for op in family.ROWS:
            keys: list[tuple[dict[Any, OpDef], Any]] = [(ops, op.name)]
            keys += [(callables, fn) for fn in op.captures]
            keys += [(methods, op.method)] if op.method else []
            for index, key in keys:
                if key in index:
                    raise GraphError(f"the op table claims {key!r} twice: {index[key].name} and {op.name}")
                index[key] = op
    return ops, callables, methods


OPS, BY_CALLABLE, BY_METHOD = _collect()
OpDef.told = lambda name: derivatives.rules_of(name)


def row(name: str) -> OpDef:
    """The row of the op `name`."""
    try:
        return OPS[name]
    except KeyError:
        raise GraphError(
            f"no op is named {name!r}", fix="use a name of the op table (runtime/ops/table.py)"
        ) from None


def as_function(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """What a method of an array is given, as the function of its name takes it; None where that takes it
    otherwise, or does not know it."""
    if name == "choose" and len(args) > 1:
        return (args,)  # one by one
    if name in ("any", "all") and len(args) > 1:
        return None  # the dtype
    return None if name in ("std", "var") and "correction" in kwargs else args


# Functions to which a list is no array of its items: they take none, give back one, or go through it.
NO_LIST = frozenset(
    f"np.{name}"
    for name in (
        "block trim_zeros split hsplit vsplit dsplit array_split unstack rollaxis copyto put place putmask "
        "fill_diagonal take_along_axis put_along_axis diag_indices_from tril_indices_from triu_indices_from"
    ).split()
)
# Those, and whose first argument is a shape, or which cast the numbers of a list as they do not those of an
# array.
NO_ARRAY = NO_LIST | {
    f"np.{name}"
    for name in (
        "arange bincount diag_indices empty eye full ones result_type tri tril_indices triu_indices zeros"
    ).split()
}
BY_OPTION = {"np.diff": "n", "np.nan_to_num": "copy"}  # those where the second argument is false


def takes_list(row: OpDef, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether a function does with a list, its first argument, what it does with the array of it."""
    option = BY_OPTION.get(row.name)
    if option is None:
        return row.name not in NO_ARRAY
    given = kwargs.get(option, args[1] if len(args) > 1 else True)
    return isinstance(given, int) and given > 0


# Functions written in C, whose parameters not every version of NumPy tells.
_IN_C = {
    "accumulate": ("array", "axis", "dtype", "out"),
    "concatenate": ("arrays", "axis", "out"),
    "dot": ("a", "b", "out"),
    "reduce": ("array", "axis", "dtype", "out", "keepdims", "initial", "where"),
    "reduceat": ("array", "indices", "axis", "dtype", "out"),
}


@functools.cache
def parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of what a function takes by position, where they are known; none of a ufunc."""
    if isinstance(function, np.ufunc):
        return ()
    try:
        given = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return _IN_C.get(getattr(function, "__name__", ""), ())
    return tuple(p.name for p in given if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD))


def out_named(
    row: OpDef, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call in which the array that is written to, and what follows it, have names."""
    # `inspect` takes texts of functions in C apart by means of Python's tokenizer, which is slow to begin.
    if "out" not in (getattr(row.run, "__text_signature__", None) or "out"):
        return args, dict(kwargs)
    names = parameters(row.run)
    if "out" not in names[: len(args)] or len(args) > len(names):
        return args, dict(kwargs)
    at = names.index("out")
    given = dict(zip(names[at:], args[at:], strict=False))
    if not given.keys().isdisjoint(kwargs):
        return args, dict(kwargs)
    if given["out"] is None:
        del given["out"]
    return args[:at], {**given, **kwargs}
