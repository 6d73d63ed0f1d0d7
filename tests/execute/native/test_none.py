"""Values that are None or a number, in loops and as results: native code against plain Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from runtime.execute.native.executor import unavailable
from tests.execute.native.harness import both

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
X = np.array([3.0, -1.0, 4.0, 1.0, -5.0, 9.0, 2.0, -6.0])


def found(x, v):  # type: ignore[no-untyped-def]
    for i in range(len(x)):
        if x[i] == v:
            return i


def least_above(x, v):  # type: ignore[no-untyped-def]
    best = None
    for i in range(len(x)):
        if x[i] > v and (best is None or x[i] < best):
            best = x[i]
    return best


def last_two(x, v):  # type: ignore[no-untyped-def]
    before, last = None, None
    for i in range(len(x)):
        if x[i] > v:
            before, last = last, i
    return before, last, last is not None


def forgotten(x, v):  # type: ignore[no-untyped-def]
    kept, count = None, 0
    for k in range(len(x)):
        if kept is None:
            kept = x[k] * 2
        elif x[k] > v:
            kept = None
            count += 1
    return kept, count


def two_kinds(x, v):  # type: ignore[no-untyped-def]
    r = None
    for k in range(len(x)):
        if x[k] > v:
            r = k if x[k] > 3 else x[k] * 0.5
    return r


def truths(x, v):  # type: ignore[no-untyped-def]
    seen = None
    for k in range(len(x)):
        if x[k] < v:
            seen = bool(x[k] > 0)
    return seen


def of_conditions(x, v):  # type: ignore[no-untyped-def]
    n = 0
    for k in range(len(x)):
        n += k
    return None if v > n else (n, None if v < 0 else v * 2)


def unbound_or_none(x, v):  # type: ignore[no-untyped-def]
    for k in range(len(x)):
        if x[k] > v:
            r = None if k % 2 else k
    return r


def computed_with(x, v):  # type: ignore[no-untyped-def]
    r = None
    for k in range(len(x)):
        if x[k] > v:
            r = k
    total = 0.0
    for k in range(3):
        total += r + k  # TypeError where it is None
    return total


def asked(x, v):  # type: ignore[no-untyped-def]
    r, n = None, 0
    for k in range(len(x)):
        if r:
            n += 1
        if r == k - 1 or r != 3:
            n += 10
        if x[k] > v:
            r = k
    return r or n, n


def as_an_option(x, v):  # type: ignore[no-untyped-def]
    axis, s = None, 0.0
    for k in range(3):
        s += np.sum(x.reshape(2, 4), axis=axis).sum()
        if x[k] > v:
            axis = 0
    return s, axis


def arrays(x, v):  # type: ignore[no-untyped-def]
    kept = None
    for k in range(len(x)):
        if x[k] > v:
            kept = x[k:] * 2
    return kept


def listed(x, v):  # type: ignore[no-untyped-def]
    out, r = [], None
    for k in range(len(x)):
        if x[k] > v:
            r = x[k]
        out.append(r)
    return out


def written(x, v):  # type: ignore[no-untyped-def]
    y, r = np.zeros(len(x)), None
    for k in range(len(x)):
        if x[k] > v:
            r = k
        y[k] = -1 if r is None else r
    y[0] = r  # numpy makes NaN of None
    return y, r


def texts(x, v):  # type: ignore[no-untyped-def]
    how = None
    for k in range(len(x)):
        if x[k] > v:
            how = "above"
    return how


def texts_no_more(x, v):  # type: ignore[no-untyped-def]
    how, n = "start", 0
    for k in range(len(x)):
        if x[k] > v:
            how = None
        n += k
    return n if how is None else -n


def texts_or_numbers(x, v):  # type: ignore[no-untyped-def]
    r, n = None, 0
    for k in range(len(x)):
        if x[k] > 4:
            r = "above"
        elif x[k] > v:
            r = k
        n += r is None
    return n


def unbound_texts(x, v):  # type: ignore[no-untyped-def]
    n = 0
    for k in range(len(x)):
        if x[k] > v:
            how = "above"
        n += k
    return how, n


def divided_by(x, v):  # type: ignore[no-untyped-def]
    r = None
    for k in range(len(x)):
        if x[k] > v:
            r = k + 1
    share, total = 100 // r, 0.0  # TypeError where it is None
    for k in range(len(x)):
        total += x[k] * share
    return total


def divided_by_unbound(x, v):  # type: ignore[no-untyped-def]
    for k in range(len(x)):
        if x[k] > v:
            r = k + 1
    return x * (100 % r)


def carried_in_two_loops(x, v):  # type: ignore[no-untyped-def]
    best = None
    for i in range(4):
        inner = None
        for j in range(i, len(x)):
            if x[j] > v and inner is None:
                inner = x[j]
        if inner is not None and (best is None or inner > best):
            best = inner
    return best


NATIVE = [
    found,
    least_above,
    last_two,
    forgotten,
    two_kinds,
    truths,
    carried_in_two_loops,
]
OTHERS = [of_conditions, unbound_or_none, computed_with, asked, as_an_option, arrays, listed, written]
TEXTS = [texts, texts_no_more, texts_or_numbers, unbound_texts]
DIVISORS = [divided_by, divided_by_unbound]


@pytest.mark.parametrize("function", NATIVE)
def test_numbers_or_none_are_native(function: Callable[..., Any]) -> None:
    converted = both(function, [(X, v) for v in (1.0, 100.0, -100.0, 4.0, 3.0)])
    assert not converted.traces[-1].concrete.native.bails
    for dtype in ("f4", "i8", "u1"):
        both(function, [(np.abs(X).astype(dtype), v) for v in (1, 100, 4)], lowered=False)
    both(function, [(X[:0], 1.0), (X[:1], 1.0), (X[:1], 5.0)], lowered=False)


@pytest.mark.parametrize("function", OTHERS + TEXTS)
def test_what_else_none_is_used_for(function: Callable[..., Any]) -> None:
    both(function, [(X, v) for v in (1.0, 100.0, -100.0, 4.0)], lowered=False)
    both(function, [(X, v) for v in (100.0, 100.0, 100.0, 1.0, 1.0)], lowered=False)
    both(function, [(X[:0], 1.0), (X[:1], 1.0), (X[:1], 5.0)], lowered=False)


@pytest.mark.parametrize("function", DIVISORS)
def test_what_is_known_of_numbers_is_not_asked_of_none(function: Callable[..., Any]) -> None:
    x = np.tile(X, 3)  # no loop is unrolled
    both(function, [(x, v) for v in (1.0, 100.0, 100.0, 4.0)])
    both(function, [(x[:n], v) for n in (20, 21) for v in (1.0, 100.0)])
