"""Functions called with CuPy arrays: results as NumPy's, nothing transferred behind the user's back.

Plain Python on NumPy arrays is the oracle.  The number of host waits must not exceed that of the plain
function on CuPy arrays.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.errors import DeviceError
from tests.gpu.conftest import Machine
from tests.standin import device

X = np.array([0.5, -1.0, 2.0, -3.0, 0.25])
POINTS = np.array([[0.0, 0.1], [0.2, 0.0], [5.0, 5.1], [5.2, 4.9], [0.1, 0.1]])


def collatz(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


def stencil(x, trips):
    for _ in range(trips):
        x[1:-1] = 0.5 * (x[:-2] + x[2:])
    return x.sum()


def kmeans(points, centres, trips):
    for _ in range(trips):
        distances = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
        label = np.argmin(distances, axis=1)
        centres = np.stack([np.mean(points * (label == k)[:, None], axis=0) for k in range(2)])
    return label, centres


def choose(x):
    kept = np.where(x > 0, x, 0.0)
    return np.cumsum(np.clip(kept, 0.1, 1.0)), x.max()


def first_negative(x):
    for i in range(len(x)):
        if x[i] < 0:
            return i, x[i]
    return None


def newton(x):
    guess = x
    while np.abs(guess * guess - x).max() > 1e-12:
        guess = 0.5 * (guess + x / guess)
    return guess


def collect(x):
    parts = []
    for k in range(3):
        parts.append(x * k)
    return np.concatenate(parts)


def update(x, y):
    x += y
    view = x[1:3]
    view *= 2
    x[0] = y[0]
    return view


def both_places(x, n):
    return x * np.sqrt(n), np.sqrt(n), np.zeros(2), float(x.sum())


@dataclasses.dataclass(frozen=True)
class Case:
    """A function and its arguments on the host."""

    function: Callable[..., Any]
    args: tuple[Any, ...]


CASES = (
    Case(collatz, (np.array(27),)),
    Case(stencil, (X, 4)),
    Case(kmeans, (POINTS, POINTS[:2], 3)),
    Case(choose, (X,)),
    Case(first_negative, (X,)),
    Case(newton, (np.abs(X),)),
    Case(collect, (X,)),
    Case(update, (X, X + 1)),
)


def copies(args: tuple[Any, ...]) -> list[Any]:
    return [a.copy() if isinstance(a, np.ndarray) else a for a in args]


def waits(machine: Machine, function: Callable[..., Any], args: list[Any]) -> tuple[Any, int]:
    if machine.real:
        return function(*args), 0
    with device.counting_syncs() as seen:
        result = function(*args)
    return result, len(seen)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.function.__name__)
def test_as_numpy(machine: Machine, case: Case) -> None:
    host = copies(case.args)
    expected = case.function(*host)
    _, plain = waits(machine, case.function, [machine.upload(a) for a in copies(case.args)])
    converted = ag.function(case.function)
    for _ in range(2):  # traced, then from the cache
        uploaded = [machine.upload(a) for a in copies(case.args)]
        result, staged = waits(machine, converted, uploaded)
        same(machine, result, expected)
        assert staged <= plain
        for before, after in zip(host, uploaded, strict=True):
            same(machine, after, before)
    traced = converted.get_concrete_function(*map(machine.upload, case.args))
    assert traced.device == "cuda" and not traced.notes  # nothing was left to Python


def same(machine: Machine, got: Any, expected: Any) -> None:
    """Equal values; where NumPy gives an array or a scalar, CuPy gives an array."""
    if isinstance(expected, tuple):
        assert isinstance(got, tuple)
        for g, e in zip(got, expected, strict=True):
            same(machine, g, e)
    elif isinstance(expected, (np.ndarray, np.generic)):
        assert isinstance(got, machine.cupy.ndarray)
        assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
        np.testing.assert_allclose(got.get(), expected, rtol=1e-13 if machine.real else 0)
    else:
        assert type(got) is type(expected)
        assert got == expected


def test_a_numpy_array_beside_device_arrays_is_named(machine: Machine) -> None:
    with pytest.raises(DeviceError, match="argument 'y' is a NumPy array"):
        ag.function(update)(machine.upload(X), X)


def test_one_function_serves_both(machine: Machine) -> None:
    converted = ag.function(choose)
    on_host, on_device = converted(X), converted(machine.upload(X))
    same(machine, on_device, on_host)


def test_what_is_made_on_the_host_stays_there(machine: Machine) -> None:
    converted = ag.function(both_places)
    for _ in range(2):
        scaled, root, zeros, total = converted(machine.upload(X), 4)
        same(machine, scaled, X * 2.0)
        assert type(root) is np.float64 and type(zeros) is np.ndarray and type(total) is float


def test_functions_of_cupy_itself(machine: Machine) -> None:
    cp = machine.cupy

    def program(x):
        y = cp.zeros(5)
        y[1] = 3
        return cp.where(x > 0, cp.sin(x), y)

    converted = ag.function(program)
    for _ in range(2):
        same(machine, converted(machine.upload(X)), program(machine.upload(X)).get())


def test_nothing_is_fetched_for_a_numpy_function_that_needs_the_host(machine: Machine) -> None:
    def program(x):
        return np.asarray(x)

    for called in (program, ag.function(program)):
        with pytest.raises(TypeError, match="Implicit conversion"):
            called(machine.upload(X))
