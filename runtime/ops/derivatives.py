"""All derivative rules, by op name; rows of the table look here when they are asked.

In: the families' tables.  Out: `rules_of(name)`.  What always holds: an op has its rules in one
family only, and an op without any keeps None, so a derivative through it is an error, not a zero.
"""

from __future__ import annotations

from typing import Any

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


def rules_of(name: str) -> tuple[Any, Any]:
    """The reverse and the forward rules of an op, None where it has none."""
    return VJP.get(name), JVP.get(name)
