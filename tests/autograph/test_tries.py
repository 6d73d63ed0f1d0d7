"""`try`, `except`, `else`, `finally`, `raise` and `with`: converted functions do what they say, staged."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograph as ag
from tests.property.oracle import first_difference

LOCK = threading.Lock()
LIMIT = 3


class Problem(Exception):
    """An exception of the user's."""


class Resource:
    """A manager that notes what happens in a list."""

    def __init__(self, log: list[Any], swallow: type[Exception] | None = None) -> None:
        self.log, self.swallow = log, swallow

    def __enter__(self) -> list[Any]:
        self.log.append("enter")
        return self.log

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> bool:
        self.log.append("exit" if kind is None else kind.__name__)
        return self.swallow is not None and isinstance(error, self.swallow)


@contextlib.contextmanager
def section(log: list[Any], name: str) -> Any:
    log.append("+" + name)
    try:
        yield len(log)
    finally:
        log.append("-" + name)


def staged(fn: Callable[..., Any], *calls: tuple[Any, ...]) -> Any:
    """The converted function, checked: same as plain Python, and no part of it left to Python."""
    made: list[Any] = []

    def decorate(f: Callable[..., Any]) -> Any:
        made.append(ag.function(f))
        return made[0]

    assert first_difference(fn, decorate, calls) is None
    for record in made[0].traces:
        assert record.plain is None, record.plain
        assert [n.reason for n in record.concrete.notes if n.kind == "python"] == []
    return made[0]


def lookup(d, key, x):
    seen = []
    try:
        y = d[key]
    except KeyError as error:
        y = x * 0
        seen.append(error.args)
    else:
        y = y + x
        seen.append("hit")
    finally:
        seen.append("end")
    return y, seen


def first_that_works(v, n):
    for k in range(5):
        try:
            found = v[n - k]
        except IndexError:
            continue
        else:
            if found > LIMIT:
                break
        finally:
            n = n - 1
    else:
        return "none", n
    return found, k, n


def nested_returns(x, log):
    try:
        try:
            if x > 2:
                return "inner"
            return 1 // x
        finally:
            log.append("first")
            1 // (x - 3)
    except ZeroDivisionError as error:
        log.append(type(error).__name__)
    finally:
        log.append("last")
    return "after"


def return_taken_back(x):
    try:
        return x
    finally:
        if x > 1:
            return -x
        x = 100


def finally_in_loop(v):
    total = 0
    for e in v:
        try:
            if e < 0:
                break
            if e == 0:
                continue
            if e > 10:
                return "big", total
        finally:
            total += 1
    return total


def reraised(x, log):
    try:
        try:
            if x > 0:
                raise Problem(x)
            return "fine"
        except Problem as error:
            log.append(str(error))
            if x > 1:
                raise
            raise ValueError("small") from error
    except Problem:
        return "problem"


def name_of_the_error_is_gone(x):
    try:
        text = str(1 // int(x))
    except ZeroDivisionError as e:
        text = str(e)
    try:
        return text, e
    except NameError:
        return "gone", x


def name_of_the_error_elsewhere(v):
    e = 5
    for e in v:
        try:
            v = v[e]
        except TypeError as e:
            v = len(e.args)
    return v


def kept_error(x):
    found = None
    try:
        raise Problem(x, 2)
    except Problem as e:
        found = e
    return found.args, found.args[0] + 1


def handlers_in_order(x, v):
    try:
        v[x] = 1 / x
        np.linalg.inv(np.full((2, 2), x))
    except (IndexError, KeyError) as e:
        return type(e).__name__
    except ArithmeticError:
        return "arithmetic"
    except np.linalg.LinAlgError:
        return "singular"
    except:  # noqa: E722
        return "other"


def accumulated(v):
    total, failures = 0.0, 0
    for e in v:
        try:
            total = total + 1.0 / int(e)
        except ZeroDivisionError:
            failures += 1
    return total, failures


def half_done(x, o):
    try:
        a = 1
        o[0] = a
        b = 6 // x
        o[1] = b
        a = 6 // (x - 1)
    except ZeroDivisionError:
        return a, o, x
    return a, b


def unbound_in_handler(x):
    try:
        1 // x
        y = 3
    except ZeroDivisionError:
        pass
    return y


def while_with_try(n):
    tries = 0
    while True:
        tries += 1
        try:
            if n % 2 == 0:
                raise Problem(n)
            n = 3 * n + 1
        except Problem:
            n = n // 2
        if n == 1:
            break
    return tries, n


def with_resource(x, log):
    with Resource(log) as entered:
        entered.append(x)
        if x > 2:
            return "early"
        y = 10 // x
    return y


def swallowing(x, log):
    y = 0
    with Resource(log, ZeroDivisionError):
        y = 1
        y = 10 // x
        if y > 5:
            return "big", y
    return y, len(log)


def swallowed_return(x, log):
    with Resource(log, ZeroDivisionError):
        try:
            return x
        finally:
            1 // x
    return "after"


def sections(x, log):
    with section(log, "a") as n, section(log, "b") as (m):
        if x > 1:
            x = x * n + m
    return x


def with_unpacking(x):
    with contextlib.nullcontext((x, x + 1)) as (a, b):
        c = a * b
    return c, a


def under_errstate(x, y):
    try:
        with np.errstate(all="raise"):
            z = x / y
    except FloatingPointError:
        z = x * 0
    with np.errstate(divide="ignore", invalid="ignore"):
        w = x / y
    return z, w


def locked(x, log):
    with LOCK:
        log.append(LOCK.locked())
        x = x + 1
    return x, LOCK.locked()


def suppressed(v):
    count = 0
    for e in v:
        with contextlib.suppress(ZeroDivisionError):
            count += 1
            count += 6 // e
    return count


def loop_in_try(v, t):
    try:
        for e in v:
            if e > t:
                return e
            if e < 0:
                raise Problem(e)
    except Problem as p:
        return p.args[0] - 1
    return None


def else_after_break(v):
    for e in v:
        try:
            if e > 3:
                break
        except ValueError:
            pass
    else:
        return "all"
    return e


def closures(x):
    calls = []

    def risky(y):
        calls.append(y)
        if y > 1:
            raise Problem(y)
        return y

    try:
        a = risky(x)
        a = risky(x + 1)
    except Problem as e:

        def later():
            return len(calls)

        return a, later(), e.args
    return a


def in_a_comprehension(v):
    def safe(e):
        try:
            return 6 // e
        except ZeroDivisionError:
            return None

    return [safe(e) for e in v]


def asserting(x):
    try:
        assert x > 1
    except AssertionError as e:
        return type(e).__name__
    return x


def errors_in_handlers(x, log):
    try:
        try:
            1 // x
        except ZeroDivisionError:
            log.append("first")
            log[x + 5]
        finally:
            log.append("final")
    except LookupError as e:
        log.append(type(e.__context__).__name__)
    return log


A = np.array
CASES: list[tuple[Callable[..., Any], list[tuple[Any, ...]]]] = [
    (lookup, [({"a": 1.5}, "a", 2.0), ({}, "a", 2.0), ({}, [], 1.0)]),
    (first_that_works, [([1, 5, 2], 4), ([1, 2], 6), ([], 0)]),
    (nested_returns, [(1, []), (0, []), (3, []), (4, [])]),
    (return_taken_back, [(np.int64(1),), (np.int64(2),)]),
    (finally_in_loop, [([1, 0, 2],), ([1, -1, 2],), ([0, 11],), ([],)]),
    (reraised, [(0, []), (1, []), (2, [])]),
    (name_of_the_error_is_gone, [(np.array([0]),), (1,)]),
    (name_of_the_error_elsewhere, [(A([0, 1]),), ([[1, 2]],)]),
    (kept_error, [(np.float64(3.0),), (1,)]),
    (handlers_in_order, [(1, [1, 2]), (2, [1, 2, 3]), (0, [1]), (3, {}), (5, [1])]),
    (accumulated, [(A([1.0, 0.0, 2.0]),), ([1, 0, 0],)]),
    (half_done, [(2, [0, 0]), (1, [0, 0]), (0, [0, 0])]),
    (unbound_in_handler, [(1,), (0,)]),
    (while_with_try, [(np.int64(6),), (7,)]),
    (with_resource, [(1, []), (3, []), (0, [])]),
    (swallowing, [(1, []), (5, []), (0, [])]),
    (swallowed_return, [(1, []), (0, [])]),
    (sections, [(np.int64(2), []), (np.int64(1), [])]),
    (with_unpacking, [(np.float64(2.0),)]),
    (under_errstate, [(np.float64(1.0), np.float64(2.0)), (np.float64(1.0), np.float64(0.0))]),
    (locked, [(1, [])]),
    (suppressed, [([1, 0, 2],), (A([0, 3]),)]),
    (loop_in_try, [(A([1, 5, 2]), 3), (A([1, -5]), 3), (A([1]), 3)]),
    (else_after_break, [(A([1, 5]),), (A([1, 2]),)]),
    (closures, [(0,), (1,), (2,)]),
    (in_a_comprehension, [([1, 0, 3],)]),
    (asserting, [(1,), (2,)]),
    (errors_in_handlers, [(2, []), (1, []), (0, [])]),
]


@pytest.mark.parametrize(("fn", "calls"), CASES, ids=lambda x: x.__name__ if callable(x) else "")
def test_same_as_python(fn: Callable[..., Any], calls: list[tuple[Any, ...]]) -> None:
    staged(fn, *calls)
