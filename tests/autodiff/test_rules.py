"""Every derivative rule of the op table: against finite differences, forward against reverse, twice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from runtime.autodiff.box import unwrap_bare
from runtime.autodiff.check import check_grads
from runtime.autodiff.dispatch import call_row
from runtime.autodiff.levels import map_tree
from runtime.autodiff.transforms import vjp
from runtime.ir.opdef import OpDef
from runtime.ops.table import OPS
from tests.autodiff.points import calls, flat, has_rule, is_float, plain

pytestmark = pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
ROWS = [row for row in OPS.values() if row.vjp]
# Rows without points in a dtype, with the reason.
WITHOUT = {
    "np.trim_zeros": "finite differences move zeros; see test_transforms",
    "np.intersect1d": "finite differences end equality; see test_transforms",
    "nd.view": "its only float view is that of the same dtype",
}
# Eigenvectors have a free phase, which finite differences don't fix.
PHASE = {"np.linalg.eigh", "np.linalg.svd", "np.linalg.eig"}
# Rows with operands that are floats but nothing to differentiate by.
ONLY = {
    "np.quantile": (0,),
    "np.percentile": (0,),
    "np.nanquantile": (0,),
    "np.nanpercentile": (0,),
    "np.intersect1d": (0,),
    "np.setdiff1d": (0,),
    "np.logspace": (0, 1),
}


class Case:
    """One call as a function of its float operands alone."""

    def __init__(self, row: OpDef, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.row, self.args, self.kwargs = row, args, kwargs
        self.live = [
            k
            for k in ONLY.get(row.name, range(len(args)))
            if has_rule(row, k) and any(map(is_float, flat(args[k])))
        ]
        self.operands = tuple(args[k] for k in self.live)

    def __call__(self, *operands: Any) -> Any:
        args = list(self.args)
        for k, x in zip(self.live, operands, strict=True):
            args[k] = x
        made = call_row(self.row, tuple(args), dict(self.kwargs))
        kept = [x for x in flat(made) if is_float(x)]
        if self.row.name in PHASE:
            kept = [np.absolute(x) if np.ndim(x) > 1 else x for x in kept]
        return tuple(kept)


def widened(x: Any) -> Any:
    if not is_float(x):
        return x
    made = np.asarray(x).astype("c16" if np.iscomplexobj(x) else "f8")
    return made if np.ndim(x) else made[()]


def cases(row: OpDef, dtype: str) -> list[Case]:
    found = [Case(row, *call) for call in calls(row, np.dtype(dtype))]
    if not found and dtype == "f8" and row.name not in WITHOUT:
        pytest.fail(f"no points for {row.name}")
    return found


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_float64(row: OpDef) -> None:
    for case in cases(row, "f8"):
        check_grads(case, case.operands, order=2)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_complex128(row: OpDef) -> None:
    for case in cases(row, "c16"):
        check_grads(case, case.operands, order=2)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_float32_as_float64(row: OpDef) -> None:
    """In single precision: the dtypes of the operands, and the double precision values."""
    for case in cases(row, "f4"):
        wide = map_tree(widened, case.operands)
        result, back = vjp(case, *case.operands)
        _, wide_back = vjp(case, *wide)
        cts = map_tree(lambda x: np.ones_like(x), result)
        found = back(cts)
        expected = wide_back(map_tree(lambda x: np.ones(np.shape(x)), result))
        for got, want, x in zip(flat(found), flat(expected), flat(case.operands), strict=True):
            if got is None:
                continue
            assert np.asarray(got).dtype == np.asarray(x).dtype and np.shape(got) == np.shape(x)
            np.testing.assert_allclose(
                got, want, rtol=3e-3, atol=3e-3 * max(1.0, np.max(np.abs(want), initial=0))
            )


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_values_are_those_of_the_op(row: OpDef) -> None:
    """A followed call gives the values, shapes and kinds that the op gives."""
    for case in cases(row, "f8"):
        seen: list[Any] = []

        def run(*operands: Any, case: Case = case, seen: list[Any] = seen) -> Any:
            args = list(case.args)
            for k, x in zip(case.live, operands, strict=True):
                args[k] = x
            made = call_row(case.row, tuple(args), dict(case.kwargs))
            seen.append(map_tree(unwrap_bare, made))
            return tuple(x for x in flat(made) if is_float(x))

        vjp(run, *case.operands)
        want = plain(row, case.args, case.kwargs)
        for got, expected in zip(flat(seen[0]), flat(want), strict=True):
            assert type(got) is type(expected), row.name
            assert np.asarray(got).dtype == np.asarray(expected).dtype
            np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)
