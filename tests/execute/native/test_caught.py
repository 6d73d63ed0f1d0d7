"""`try` statements whose handlers are reached by `raise` statements alone are branches of native code."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings
from runtime.execute.native.caught import without_tries
from runtime.ir.walk import all_values, walk_nodes

NUMBERS = np.random.default_rng(3).random(60)


class Empty(Exception):
    pass


class Told(Exception):
    def __init__(self, x: Any) -> None:
        self.x = x


class Queue:
    def __init__(self) -> None:
        self.items: list[Any] = []
        self.total = 0.0

    def push(self, x: Any) -> None:
        self.items.append(x)
        self.total += x

    def pop(self) -> Any:
        if not self.items:
            raise Empty("nothing is left")
        return self.items.pop(0)


def queue(xs: Any) -> Any:
    q, served, missed = Queue(), [], 0
    for i, x in enumerate(xs):
        if i % 5 < 3:
            q.push(x)
        if i % 3 == 2:
            try:
                served.append(q.pop() + q.pop())
            except Empty:
                missed += 1
    return np.array(served), q.total, len(q.items), missed


def the_first_that_fits(xs: Any) -> Any:
    found = 0.0
    for x in xs:
        try:
            if x < 0.3:
                raise KeyError("a")
            if x < 0.6:
                raise IndexError("b")
            found += x
        except LookupError:
            found += 1
        except KeyError:
            found += 1000
    return found


def with_else(xs: Any) -> Any:
    found = 0.0
    for x in xs:
        try:
            if x < 0.5:
                raise ValueError("small")
        except ValueError:
            found -= 1
        else:
            found += x
    return found


def one_in_another(xs: Any) -> Any:
    found = 0.0
    for x in xs:
        try:
            try:
                if x < 0.5:
                    raise ValueError("small")
                found += x
            except KeyError:
                found += 1000
            found += 1
        except ValueError:
            found += 0.25
    return found


def raised_in_a_handler(xs: Any) -> Any:
    found = 0.0
    for x in xs:
        try:
            if x < 0.5:
                raise ValueError("small")
            found += x
        except ValueError:
            if x > 0.97:
                raise KeyError("large") from None
            found += 0.25
    return found


def in_a_loop(xs: Any) -> Any:
    found = 0.0
    for x in xs:
        try:
            for k in range(4):
                if x * k > 2:
                    raise ValueError("large")
                found += k
        except ValueError:
            found += 0.25
    return found


def looked_at(xs: Any) -> Any:
    found = 0.0
    for x in xs:
        try:
            if x < 0.5:
                raise Told(float(x))
            found += x
        except Told as problem:
            found += problem.x
    return found


def with_final(xs: Any) -> Any:
    found = 0.0
    for x in xs:
        try:
            if x < 0.5:
                raise ValueError("small")
            found += x
        except ValueError:
            found += 0.25
        finally:
            found += 2
    return found


def not_caught(xs: Any) -> Any:
    found = 0.0
    for x in xs:
        try:
            if x > 0.9:
                raise ValueError("large")
            found += x
        except KeyError:
            found += 0.25
    return found


def raised_by_python(xs: Any) -> Any:
    found, items = 0.0, [1.0]
    for i, x in enumerate(xs):
        try:
            if x > 0.9:
                raise IndexError("large")
            found += items[i % 2]
        except IndexError:
            found += 0.25
    return found


class AllOf(type):
    def __subclasscheck__(cls, other: Any) -> bool:
        return True


class Never(Exception, metaclass=AllOf):
    pass


def others_are_raised(xs: Any) -> Any:
    found = []
    for x in xs:
        try:
            if x < 0.2:
                raise UnicodeDecodeError
            if x < 0.4:
                raise OSError(2, "x")
            if x < 0.6:
                raise ValueError("x", key=1)  # type: ignore[call-arg]
            found.append(0)
        except UnicodeDecodeError:
            found.append(1)
        except FileNotFoundError:
            found.append(2)
        except (OSError, ValueError):
            found.append(3)
        except TypeError:
            found.append(4)
    return found


def classes_of_classes(xs: Any) -> Any:
    found = 0
    for x in xs:
        try:
            if x < 0.5:
                raise ValueError(x)
        except Never:
            found += 100
        except (KeyError, (TypeError, ArithmeticError)):
            found += 1000
        except LookupError:
            found += 10000
        except ValueError:
            found += 1
    return found


class Account:
    def __init__(self, balance: float) -> None:
        self.balance, self.moves = balance, 0

    def deposit(self, amount: float) -> None:
        if amount <= 0.1:
            raise ValueError("an amount must be positive")
        self.balance += amount
        self.moves += 1

    def withdraw(self, amount: float) -> None:
        if amount > self.balance:
            raise LookupError("there is not so much")
        self.balance -= amount
        self.moves += 1


def bank(xs: Any) -> Any:
    """Methods of an object in both arms, each of which may raise."""
    account, failed, done = Account(0.5), 0, 0
    for i, x in enumerate(xs):
        try:
            if i % 3:
                account.withdraw(x)
            else:
                account.deposit(x)
            if x > 0.25:
                done += account.moves
                account.balance += 0.001
            else:
                done += 1
            if x > 0.5:
                account.deposit(x - 0.45)
            else:
                account.withdraw(0.05)
        except (ValueError, LookupError):
            failed += 1
    return account.balance, account.moves, failed, done


PROGRAMS = [
    bank,
    queue,
    the_first_that_fits,
    with_else,
    one_in_another,
    raised_in_a_handler,
    in_a_loop,
    looked_at,
]
PROGRAMS += [with_final, not_caught, raised_by_python, others_are_raised, classes_of_classes]


def seen(f: Callable[..., Any], xs: Any) -> str:
    try:
        return repr(f(xs))
    except Exception as problem:
        return repr(problem)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_as_python_has_it(f: Callable[..., Any]) -> None:
    converted = ag.function(f)
    for xs in (NUMBERS, NUMBERS[:1], NUMBERS, NUMBERS[::-1].copy(), NUMBERS):
        assert seen(converted, xs) == seen(f, xs)


@pytest.mark.parametrize("f", [bank, queue, the_first_that_fits, with_else], ids=lambda f: f.__name__)
def test_they_are_native(f: Callable[..., Any]) -> None:
    with settings.override(executor="native"):
        converted = ag.function(f)
        for _ in range(3):
            converted(NUMBERS)
        native = converted.traces[-1].concrete
        assert native.executor == "native", ag.explain(converted)
        assert native.native is not None and not native.native.bails


class Changing(Exception):
    pass


def test_a_class_that_changes() -> None:
    def found(n: Any) -> Any:
        total = 0.0
        for i in range(n):
            try:
                if i % 3 == 0:
                    raise Changing
                total += i
            except Changing:
                total += 0.5
            except TypeError:
                total += 1000.0
        return total

    def init(self: Any) -> None:
        raise TypeError("not now")

    converted = ag.function(found)
    assert converted(7) == converted(7) == found(7)
    Changing.__init__ = init  # type: ignore[method-assign]
    try:
        assert converted(7) == found(7)
    finally:
        del Changing.__init__
    assert converted(7) == found(7)


def all_of_it(x: Any, n: int) -> Any:
    try:
        for i in range(n):
            x[i % 5] += 1.0
    except TimeoutError as problem:
        return str(problem)
    return x[0]


def each_trip(x: Any, n: int) -> Any:
    told = 0
    for _ in range(2):
        try:
            if n < 0:
                raise ValueError("small")
            for i in range(n):
                x[i % 5] += 1.0
        except Exception:
            told += 1
            n = 3
    return told


def by_a_call(x: Any, n: int) -> Any:
    told = 0
    for k in range(n):
        try:
            if x[6] > 0.0:
                raise ValueError("large")
            x[k % 5] += np.partition(x, k % 3)[0] + 1.0
        except ValueError:
            told += 1
    return told


@contextlib.contextmanager
def stopped_soon() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TimeoutError("stopped")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(("f", "told"), [(all_of_it, "stopped"), (each_trip, 1)])
def test_what_a_signal_handler_raises_is_caught(f: Callable[..., Any], told: Any) -> None:
    with settings.override(executor="native", compile="now"):
        converted, x = ag.function(f), np.zeros(8)
        for n in (5, 6, 7):
            assert converted(x.copy(), n) == f(x.copy(), n)
        with stopped_soon():
            assert converted(x, 10**12) == told
        if f is all_of_it:  # the loop is native, the statement around it is not
            assert converted.traces[-1].concrete.executor == "native", ag.explain(converted)


def test_what_calls_python_within_is_left_to_the_plan() -> None:
    with settings.override(executor="native", compile="now"):
        converted, x = ag.function(by_a_call), np.zeros(8)
        for n in (5, 6, 7):
            assert converted(x.copy(), n) == by_a_call(x.copy(), n)
        assert "a try statement" in str(ag.explain(converted))


def test_what_is_there_twice_shares_nothing() -> None:
    """Analyses go by which node and which value it is."""
    with settings.override(executor="native", compile="now"):
        converted = ag.function(bank)
        converted(NUMBERS)
    graph = without_tries(converted.traces[-1].concrete.optimised)
    assert not [node for node in walk_nodes(graph) if node.op == "try"]
    nodes, values = list(walk_nodes(graph)), list(all_values(graph))
    assert len(nodes) == len(set(nodes)) and len(values) == len(set(values))
