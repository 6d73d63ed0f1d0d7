"""The names that generated code may use, in one tuple; `autograph/__init__.py` exports them all."""

from __future__ import annotations

from autograph.operators.calls import call
from autograph.operators.containers import (
    dict_,
    dict_comp,
    dict_merge,
    generator,
    list_,
    list_comp,
    set_,
    set_comp,
    unpack,
)
from autograph.operators.logic import and_, in_, is_, is_not, not_, not_in, or_
from autograph.operators.variables import Cell, bound, global_cell, raise_, unbound
from runtime.functional import cond, for_loop, while_loop

NAMESPACE = {
    f.__name__: f
    for f in (
        cond, while_loop, for_loop, and_, or_, not_, is_, is_not, in_, not_in, call, list_, dict_, dict_merge, set_, list_comp,
        set_comp, dict_comp, generator, unpack, Cell, global_cell, unbound, bound, raise_,
    )
}  # fmt: skip
