"""Values on the tape: each op gives what NumPy gives, of its class and dtype, and raises what it raises."""

from __future__ import annotations

import random
import warnings
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.autodiff.box import Box, unwrap_bare
from runtime.autodiff.dispatch import Surface, call_row
from runtime.autodiff.levels import map_tree
from runtime.autodiff.reverse import Reverse
from runtime.ir.opdef import PURE, OpDef
from runtime.ops.table import OPS
from tests.ops.samples import maker

DRAWS = 24
ODD = (np.nan, np.inf, -np.inf, -0.0)


def is_followed(x: Any) -> bool:
    return (isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "fc") or type(x) in (float, complex)


def with_odd_numbers(x: Any, rng: random.Random) -> Any:
    if isinstance(x, np.ndarray) and x.dtype.kind in "fc" and x.size and rng.random() < 0.5:
        x = x.copy()
        x.flat[rng.randrange(x.size)] = rng.choice(ODD)
    return x


def on_tape(row: OpDef, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    level = Reverse(Surface)
    with level:
        boxes = tuple(Box(level.input(x)) if is_followed(x) else x for x in args)
        return map_tree(unwrap_bare, call_row(row, boxes, dict(kwargs)))


def outcome(run: Any, *given: Any) -> Any:
    try:
        return run(*given)
    except ag.GradientError:
        return ag.GradientError
    except Exception as error:
        return type(error)


def check_same(found: Any, want: Any) -> None:
    if isinstance(want, (tuple, list)):
        assert len(found) == len(want)
        for a, b in zip(found, want, strict=True):
            check_same(a, b)
        return
    assert type(found) is type(want)
    if isinstance(want, (np.ndarray, np.generic)):
        assert found.dtype == want.dtype
        size = want.dtype.itemsize // (2 if want.dtype.kind == "c" else 1)
        tolerance = {2: 1e-2, 4: 1e-5}.get(size, 1e-10)
        np.testing.assert_allclose(found, want, rtol=tolerance, atol=tolerance)


def is_sampled(row: OpDef) -> bool:
    try:
        maker(row)
    except KeyError:
        return False
    return row.run is not None and row.vjp is not None and row.effect == PURE


@pytest.mark.parametrize("name", [row.name for row in OPS.values() if is_sampled(row)])
def test_each_row(name: str) -> None:
    row, rng = OPS[name], random.Random(name)
    make = maker(row)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for draw in range(DRAWS):
            args, kwargs = make(rng)
            if "linalg" not in name and draw % 2:  # LAPACK prints what it thinks of NaN
                args = map_tree(lambda x: with_odd_numbers(x, rng), args)
            if "out" in kwargs or not any(map(is_followed, args)):
                continue
            want, found = outcome(lambda: row.run(*args, **kwargs)), outcome(on_tape, row, args, kwargs)
            if found is not ag.GradientError and found is not want:
                check_same(found, want)
