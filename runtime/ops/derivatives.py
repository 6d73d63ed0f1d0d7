"""All derivative rules, by op name; the table puts them into its rows.

In: the families' tables.  Out: `with_derivatives(row)`.  What always holds: an op has its rules in one
family only, and an op without any keeps None, so a derivative through it is an error, not a zero.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from runtime.ir.opdef import OpDef
from runtime.ops import (
    derivatives_arrays,
    derivatives_linalg,
    derivatives_misc,
    derivatives_reduce,
    derivatives_ufuncs,
)

FAMILIES = (
    derivatives_ufuncs,
    derivatives_reduce,
    derivatives_arrays,
    derivatives_linalg,
    derivatives_misc,
)

VJP: dict[str, Any] = {name: rules for family in FAMILIES for name, rules in family.VJP.items()}
JVP: dict[str, Any] = {name: rules for family in FAMILIES for name, rules in family.JVP.items()}


def with_derivatives(op: OpDef) -> OpDef:
    """The row with its derivative rules, where it has any."""
    vjp, jvp = VJP.get(op.name), JVP.get(op.name)
    return op if vjp is None and jvp is None else dataclasses.replace(op, vjp=vjp, jvp=jvp)
