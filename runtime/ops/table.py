"""The op table: every op that a node can name, and how calls find their op.

In: the rows of the families.  Out: `OPS` by name, `BY_CALLABLE` by the NumPy callable that records the
op, `BY_METHOD` by ndarray method, `row` for a checked look-up.  What always holds: names, captured
callables and methods are unique; the table is complete when this module is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

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
