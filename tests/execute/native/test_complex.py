"""Complex numbers in loops: native code against Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from runtime.execute.native.executor import unavailable
from tests.execute.native.harness import both

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
R = np.random.default_rng(5)
SPECIAL = np.array([0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 1e300, 1e-310])
Z = np.array([complex(a, b) for a in SPECIAL for b in SPECIAL])
MILD = R.random(20) + 1j * R.random(20)
OPS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "real": lambda a, b: a * 2.0 + 1,
    "left": lambda a, b: 2.0 - a * 3,
    "square": lambda a, b: a**2,
    "neg": lambda a, b: -a,
    "eq": lambda a, b: (a == b) + 2 * (a != b),
    "parts": lambda a, b: complex(b.imag, a.real),
}


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_the_modulus_is_that_of_numpy(dtype: Any) -> None:
    """abs() of a number and np.absolute of it differ in their last bits."""

    def by_python(x: Any, y: Any) -> Any:
        for k in range(len(x)):
            y[k] = abs(x[k])
        return y

    def by_numpy(x: Any, y: Any) -> Any:
        for k in range(len(x)):
            y[k] = np.absolute(x[k]) + np.abs(x[k] * 2)
        return y

    x = (R.standard_normal(400) + 1j * R.standard_normal(400)).astype(dtype)
    with np.errstate(all="ignore"):
        odd = Z.astype(dtype)
    for values in (x, odd, x[:0]):
        both(by_numpy, [(values, np.zeros(len(values)))])
        both(by_python, [(values, np.zeros(len(values)))], lowered=False)


def test_the_modulus_of_numbers_of_two_kinds() -> None:
    def alternating(x: Any, n: Any) -> Any:
        y, total = x[0], 0.0
        for k in range(n):
            y = x[k] if k % 2 else n
            total += np.absolute(y)
        return total

    both(alternating, [(R.standard_normal(9), np.int64(n)) for n in (9, 4, 0)], lowered=False)


def of_items(op: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def function(x: Any, y: Any, out: Any) -> Any:
        for i in range(len(x)):
            out[i] = op(x[i], y[i])
        return out

    return function


def of_python(op: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def function(x: Any, y: Any, out: Any) -> Any:
        for i in range(len(x)):
            a = complex(x[i].real, x[i].imag)
            b = complex(y[i].real, y[i].imag)
            out[i] = op(a, b)
        return out

    return function


@pytest.mark.parametrize("way", [of_items, of_python], ids=["items", "python"])
@pytest.mark.parametrize("name", OPS)
def test_operators(name: str, way: Callable[..., Any]) -> None:
    function = way(OPS[name])
    pairs = [(MILD, MILD[::-1].copy())]
    if way is of_items or name not in ("div", "square"):
        pairs += [(Z[k : k + 9], np.roll(Z, k + 3)[:9].copy()) for k in range(0, 81, 9)]
    else:
        pairs += [(Z[k : k + 1], np.roll(Z, 7)[k : k + 1].copy()) for k in range(81)]
    calls = [(x, y, np.zeros(len(x), dtype=complex)) for x, y in pairs]
    both(function, calls, lowered=name not in ("div", "square") or way is of_python, all="ignore")
    both(function, calls[:1], lowered=False)


def test_items_of_complex64() -> None:
    def scaled(x):  # type: ignore[no-untyped-def]
        for i in range(len(x)):
            x[i] = x[i] * 200 + 1
        return x

    def halves(x):  # type: ignore[no-untyped-def]
        for i in range(len(x)):
            x[i] -= x[-1] * x[i]
        return x

    x = MILD.astype(np.complex64)
    both(scaled, [(x,), (x[::2],), (x * np.complex64(1e36),)], all="ignore")
    both(halves, [(x,)], all="ignore")


def test_modulus() -> None:
    def longest(x):  # type: ignore[no-untyped-def]
        best = 0.0
        for z in x:
            if abs(z) > best:
                best = abs(z)
        return best

    both(longest, [(MILD,), (Z[:3],), (Z,)])
    both(longest, [(MILD.astype(np.complex64),)], lowered=False)


def test_accumulated() -> None:
    def horner(c, z, n):  # type: ignore[no-untyped-def]
        total = 0j
        w = complex(z, -z)
        for k in range(n):
            total = total * w + c[k]
            if total.real > 1e3:
                break
        c[0] = total
        return total.real, total.imag, total == w

    both(horner, [(MILD, 0.3, 20), (MILD, 3.0, 20), (MILD, 0.3, 0)])


def steps(z: Any, c: Any, n: Any) -> Any:
    k = 0
    while abs(z) <= 2 and k < n:
        z = z * z + c
        k += 1
    return z, k, c


def root(z: Any, n: Any) -> Any:
    for _ in range(n):
        z = z - (z * z * z - 1) / (3 * z * z)
    return z, -z, z.conjugate(), np.conj(z), abs(z)


def spread(x: Any, c: Any) -> Any:
    return x * c + c, (x * c).imag, c


def turned(c: Any, x: Any) -> Any:
    if c.imag > 0:
        return c * 2, x
    return c.conjugate(), x + 1


@pytest.mark.parametrize("kind", [complex, np.complex128, np.complex64])
def test_complex_numbers_come_in_and_go_out(kind: Any) -> None:
    numbers = [kind(0.3 - 0.4j), kind(1 + 2j), kind(0), kind(complex(-0.0, 0.0)), kind(-1.5)]
    x = np.arange(4.0)
    both(steps, [(0j * z, z, 40) for z in numbers], lowered=kind is not np.complex64)
    both(root, [(z, 5) for z in numbers if z], lowered=kind is complex)
    both(spread, [(x, z) for z in numbers])
    both(turned, [(z, x) for z in numbers], lowered=False)


def test_left_complex_takes_numpys_float_for_its_own() -> None:
    both(steps, [(0j, np.float64(x), 40) for x in (0.2, -1.9, 2.0)])
    both(lambda z, x, n: [z * x + k - x for k in range(n)], [(1 + 1j, np.float64(2.5), 3)], lowered=False)
