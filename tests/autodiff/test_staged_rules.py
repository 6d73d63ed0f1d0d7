"""Every derivative rule in a staged gradient: the same as on the tape, in float32, float64 and complex128."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

from runtime.api import as_it_stands
from runtime.autodiff import transforms
from runtime.autodiff.dispatch import call_row
from runtime.autodiff.staged.callables import Derivative, Flat, GradientFunction
from runtime.autodiff.staged.kinds import inexact
from runtime.ir.opdef import OpDef
from runtime.trace.byhand import apply, opened
from runtime.trace.core import active
from runtime.trace.values import Object, Traced
from tests.autodiff.points import flat, is_float
from tests.autodiff.test_rules import PHASE, ROWS, Case, cases

pytestmark = pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning", "ignore::RuntimeWarning")
TOLERANCE = {"f4": 2e-4, "f8": 1e-11, "c16": 1e-11}
# Rows of Python's operators.
OPERATORS = {
    name: getattr(operator, name)
    for name in "add sub mul truediv floordiv mod pow matmul neg pos abs getitem".split()
}


def weighted(made: Any, phase: bool) -> Any:
    """One real number that depends on every float in a result."""
    total = 0.0
    for k, x in enumerate(flat(made)):
        if isinstance(x, Object):
            raise TypeError("what the op gives is known only when it runs")
        if inexact(x._facts.type) if isinstance(x, Traced) else is_float(x):
            x = np.absolute(x) if phase else x
            total = total + np.sum(np.real(x * (1.0 + 0.1 * k)) * 0.7) + np.sum(np.imag(x) * 0.3)
    return total


def applied(row: OpDef, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """The row as users call it while tracing: an operator, a method or a function of NumPy's."""
    if row.name in OPERATORS:
        return OPERATORS[row.name](*args)
    if row.name.startswith("nd."):
        return getattr(args[0], row.name[3:])(*args[1:], **kwargs)
    return apply(row.captures[0] if row.captures else row.run, *args, **kwargs)


class Program:
    """The call of a case as a function of its followed operands, of one real result."""

    runs_on_trace_values = True
    __name__ = "program"

    def __init__(self, case: Case) -> None:
        self.case = case

    @property
    def others(self) -> list[int]:
        """The positions of arrays that are not followed: they are arguments, too."""
        args = enumerate(self.case.args)
        return [k for k, x in args if k not in self.case.live and type(x) is np.ndarray]

    def __call__(self, *operands: Any) -> Any:
        case, args = self.case, list(self.case.args)
        for k, x in zip([*case.live, *self.others], operands, strict=True):
            args[k] = x
        if active() is None:
            made = call_row(case.row, tuple(args), dict(case.kwargs))
        else:
            made = applied(case.row, args, dict(case.kwargs))
        return weighted(opened(made), case.row.name in PHASE)


def staged(program: Program, count: int) -> Derivative:
    """Its gradient by all operands; runs on the tape, too, as `.eager`."""
    numbers = tuple(range(count))
    eager = transforms.grad(lambda *x: program(*x), numbers)

    def compiler(derivative: Derivative, flat: Flat) -> GradientFunction:
        return GradientFunction(flat, as_it_stands(flat))

    return Derivative(program, eager, numbers, False, False, compiler)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_same_as_on_the_tape(row: OpDef, dtype: str) -> None:
    for case in cases(row, dtype)[: 2 if dtype == "f8" else 1]:
        program = Program(case)
        gradient = staged(program, len(case.operands))
        operands = (*case.operands, *[case.args[k] for k in program.others])
        want = gradient.eager(*operands)
        got = gradient(*operands)
        for a, b in zip(flat(got), flat(want), strict=True):
            assert type(a) is type(b), row.name
            if b is not None:
                assert np.asarray(a).dtype == np.asarray(b).dtype
                scale = max(1.0, np.max(np.abs(b), initial=0))
                np.testing.assert_allclose(a, b, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype] * scale)
        ON_TAPE.update({row.name: gradient.traces[-1].plain for _ in "x" if gradient.traces[-1].plain})


ON_TAPE: dict[str, str] = {}  # filled by the tests above: rows that were left to the tape in some case


def test_most_are_staged() -> None:
    """Rows stay on the tape only where what they give is known when they run."""
    assert len(ON_TAPE) <= 50, sorted(ON_TAPE)
