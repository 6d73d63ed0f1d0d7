"""Loops over elements that are done for all of them at once: the same as one by one, to the bit."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings
from runtime.execute import at_once


@pytest.fixture(autouse=True)
def plans_only() -> Any:
    with settings.override(executor="numpy"):
        yield


def half_up(x):
    if x < 0:
        return 0
    return x / 2


def sign(x):
    if x > 0:
        return 1
    if x < 0:
        return -1
    return 0


def newton(x):
    if x <= 0:
        return 0.0
    g = x
    for _ in range(20):
        n = 0.5 * (g + x / g)
        if abs(n - g) < 1e-12:
            return n
        g = n
    return g


def collatz(n):
    count = 0
    while n != 1 and count < 300:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        count += 1
    return count


def escape(a, b):
    x = y = 0.0
    k = 0
    while k < 40:
        x, y = x * x - y * y + a, 2.0 * x * y + b
        if x * x + y * y > 4.0:
            break
        k += 1
    return k


def two(x, y):
    return (x + y, x * y) if x > y else (y - x, 1.0)


def nested(x):
    total = 0
    for k in range(4):
        j = 0
        while j < k:
            if x > j:
                total += 1
            elif x == j:
                total += k
            j += 1
    return total, x


def roots(x):
    return np.sqrt(x) if x > 1 else np.floor(x)


def kinds(x):
    if x > 1:
        return True
    return x if x > 0 else 3


def divides(x):
    return 1 / x


def grows(n):
    k = 0
    while k < 70:
        n = n * 3 + 1
        k += 1
    return n


def perhaps(x):
    if x > 0:
        y = x
    return y


def remainders(n):
    return n // 3 - n % 7 + abs(-n)


def logic(x):
    inside = x > 0 and x < 2
    return not inside, inside


def halves(x):
    while 1 < x < 1e305:
        x = x / 2
    return x


PROGRAMS = (
    half_up,
    sign,
    newton,
    collatz,
    nested,
    roots,
    kinds,
    divides,
    grows,
    perhaps,
    remainders,
    logic,
    halves,
)
RANDOM = np.random.default_rng(0)
NORMAL = RANDOM.normal(size=1000) * 3
DATA = {
    "floats": NORMAL,
    "positive": np.abs(NORMAL) + 0.5,
    "with zeros": np.where(NORMAL > 0, NORMAL, 0.0),
    "special": np.concatenate([NORMAL, [np.nan, np.inf, -np.inf, -0.0, 1e308, 5e-324]]),
    "float32": NORMAL.astype(np.float32),
    "int64": np.arange(1, 700),
    "large": np.arange(1, 700) + 2**61,
    "int32": np.arange(1, 700, dtype=np.int32),
    "int8": np.arange(-120, 127, dtype=np.int8),
    "uint8": np.arange(250, dtype=np.uint8),
    "bool": NORMAL > 0,
    "float16": np.abs(NORMAL).astype(np.float16),
    "matrix": NORMAL[:900].reshape(30, 30).T,
    "few": NORMAL[:5],
    "skewed": np.where(np.arange(600) < 3, 1e300, 1.5),
}


def outcome(f: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a call gives, with its bits, or raises, and what it warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = f(*args)
            parts = found if isinstance(found, tuple) else (found,)
            result: Any = [(p.dtype, p.shape, p.tobytes()) for p in parts]
        except Exception as error:
            result = type(error), str(error)
    return result, [str(w.message) for w in caught]


def both(program: Any, args: tuple[Any, ...], monkeypatch: Any) -> None:
    """One call with all elements at once, and one element by element."""
    found = outcome(ag.vectorize(program), args)
    with monkeypatch.context() as patch:
        patch.setattr(at_once, "FEW", 1 << 40)
        assert found == outcome(ag.vectorize(program), args)


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_as_element_by_element(program: Any, data: str, monkeypatch: Any) -> None:
    both(program, (DATA[data],), monkeypatch)


@pytest.mark.parametrize("program", [escape, two])
def test_several_arguments(program: Any, monkeypatch: Any) -> None:
    a, b = RANDOM.uniform(-2, 1, size=(2, 40, 30))
    for args in ((a, b), (a, 0.25), (a[:, :1], b), (a.astype(np.float32), b.astype(np.float32))):
        both(program, args, monkeypatch)


def test_errors_and_warnings_are_those_of_the_first_element(monkeypatch: Any) -> None:
    x = np.ones(500)
    x[[200, 300]] = 0.0
    with pytest.raises(ZeroDivisionError):
        ag.vectorize(divides)(x)
    assert outcome(ag.vectorize(roots), (np.array([*NORMAL, np.inf]),))[1] == []

    def told(x):
        return np.float32(1) / np.float32(x - 1)

    both(told, (np.arange(400.0),), monkeypatch)
    with np.errstate(under="raise"):
        both(halves, (np.full(300, 5e-324),), monkeypatch)


def done(program: Any, *args: Any) -> list[bool]:
    """For each loop over elements in a plan, whether all of them were done at once."""
    calls: list[bool] = []

    class Watched(at_once.AtOnce):
        def __call__(self, count: int, *given: Any) -> tuple[Any, ...]:
            left = super().__call__(count, *given)
            rest = list(left[0])
            calls.append(not rest)
            return iter(rest), *left[1:]

    real, at_once.AtOnce = at_once.AtOnce, Watched  # type: ignore[misc]
    try:
        ag.vectorize(program)(*args)
    finally:
        at_once.AtOnce = real  # type: ignore[misc]
    return calls


@pytest.mark.parametrize(
    ("program", "data"),
    [
        (half_up, "floats"), (half_up, "float32"), (half_up, "int8"), (sign, "special"), (newton, "positive"),
        (collatz, "int64"), (collatz, "int32"), (nested, "floats"), (kinds, "floats"), (remainders, "int64"),
        (logic, "floats"), (halves, "positive"), (halves, "skewed"), (roots, "positive"),
    ],
)  # fmt: skip
def test_what_is_done_at_once(program: Any, data: str) -> None:
    assert done(program, DATA[data]) == [True]


def test_what_is_left_to_the_loop() -> None:
    with pytest.raises(ZeroDivisionError):
        done(divides, DATA["with zeros"])
    with pytest.raises(OverflowError):
        done(grows, DATA["int64"])
    assert done(half_up, DATA["few"]) == [False]

    def looks_up(x):
        return [1, 2, 3][int(x) % 3]

    assert done(looks_up, DATA["int64"]) == []
    text = ag.vectorize(sign)
    text(DATA["floats"])
    assert re.search(r"for .* in at_once\(.*\)\[0\]:", text.plan_source)
