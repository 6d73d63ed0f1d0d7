"""`try` and `with` in plans: the text, the value, and what is caught where."""

from __future__ import annotations

from typing import Any

from runtime.execute.loader import load
from runtime.execute.python_source import plan_source
from runtime.execute.reference import interpret
from runtime.ir.text import parse_graph, print_graph
from runtime.ir.verify import verify
from runtime.ops.table import OPS
from tests.property.graphs import outcome
from tests.property.guarded import Noting


def check(text: str, expected: str, *calls: tuple[Any, ...], objects: tuple[Any, ...] = ()) -> None:
    """The plan's text; and that it does what the reference does."""
    graph = parse_graph(text.lstrip("\n"), objects)
    verify(graph, OPS)
    assert print_graph(parse_graph(print_graph(graph, []), objects), []) == print_graph(graph, [])
    plan = plan_source(graph)
    assert plan.text == expected.lstrip("\n")
    run = load(plan)
    for args in calls:
        want = outcome(lambda *values: interpret(graph, values), list(args))
        assert outcome(lambda *values: (run(*values),), list(args)) == want


def test_try_except_else_finally() -> None:
    text = """
graph f(d: object, key: object, x: float, log: object):
    y: object = try{handlers=2, orelse=True, final=True}(@obj0, None, d, key, x, log)
        body(d: object, key: object, x: float, log: object):
            t1: object = getitem(d, key)
            setitem(log, 0, t1)
            return
        handler1(error: object, d: object, key: object, x: float, log: object):
            t1: object = py.getattr(error, 'args')
            return t1
        handler2(error: object, d: object, key: object, x: float, log: object):
            return 0
        orelse(d: object, key: object, x: float, log: object):
            t1: object = getitem(log, 0)
            return t1
        final(d: object, key: object, x: float, log: object):
            t1: object = py.getattr(log, 'append')
            t2: object = py.call(t1, x)
            return
    return y
"""
    expected = """
def f(d, key, x, log):
    try:
        log[0] = d[key]
    except KeyError as error:
        y = error.args
    except:
        y = 0
    else:
        y = log[0]
    finally:
        log.append(x)
    return y
"""
    calls: list[tuple[Any, ...]] = [({"a": 1}, "a", 1.5, [7]), ({}, "a", 2.5, [7]), ({"a": 1}, [], 1.5, [])]
    check(text, expected, *calls, objects=(KeyError,))


def test_a_handler_sees_what_was_before_the_body() -> None:
    text = """
graph f(x: float, y: float):
    x_1: float, z: float = try{handlers=1, orelse=False, final=False}(@obj0, x, y)
        body(x: float, y: float):
            x_1: float = add(x, 1)
            t1: float = truediv(x_1, y)
            return x_1, t1
        handler1(error: object, x: float, y: float):
            return x, y
    t: float = mul(x_1, z)
    return t
"""
    expected = """
def f(x, y):
    try:
        x_1 = x + 1
        z = x_1 / y
    except ZeroDivisionError:
        x_1 = x
        z = y
    return x_1 * z
"""
    check(text, expected, (1.5, 2.0), (1.5, 0.0), objects=(ZeroDivisionError,))


def test_what_stands_before_is_not_caught() -> None:
    text = """
graph f(x: float, y: float):
    t: float = truediv(x, y)
    z: float = try{handlers=1, orelse=False, final=False}(@obj0, t)
        body(t: float):
            z: float = truediv(1.0, t)
            return z
        handler1(error: object, t: float):
            raise()
            diverges
    return z
"""
    expected = """
def f(x, y):
    t = x / y
    try:
        z = 1.0 / t
    except ZeroDivisionError:
        raise
    return z
"""
    check(text, expected, (1.5, 2.0), (1.5, 0.0), (0.0, 1.0), objects=(ZeroDivisionError,))


def test_with() -> None:
    text = """
graph f(log: object, x: float, y: float):
    t1: object = py.getattr(log, 'append')
    m: object = py.call(@obj0, t1, True)
    done: object, z: object = with{swallows=True}(m, False, None, x, y)
        body(entered: object, x: float, y: float):
            z: float = truediv(x, y)
            return True, z
    t2: (object, object) = py.tuple(done, z)
    return t2
"""
    expected = """
def f(log, x, y):
    done = False
    z = None
    with Noting(log.append, True):
        z = x / y
        done = True
    return done, z
"""

    class Log(list[Any]):
        def append(self, *values: Any) -> int:  # type: ignore[override]
            super().append(values)
            return len(self)

    graph = parse_graph(text.lstrip("\n"), (Noting,))
    assert plan_source(graph).text == expected.lstrip("\n")
    for args in ((1.0, 2.0), (1.0, 0.0)):
        logs = [Log(), Log()]
        want = interpret(graph, (logs[0], *args), check_types=False)[0]
        assert load(plan_source(graph))(logs[1], *args) == want
        assert logs[0] == logs[1] and len(logs[0]) == 2


def test_a_target_that_a_handler_reads_is_assigned_last() -> None:
    text = """
graph f(x: float, n: int):
    total: float, count: int = try{handlers=1, orelse=False, final=False}(@obj0, x, n)
        body(x: float, n: int):
            t1: float = truediv(1.0, n)
            t2: float = add(x, t1)
            return t2, n
        handler1(error: object, x: float, n: int):
            t1: int = add(n, 1)
            return x, t1
    t: (float, int) = py.tuple(total, count)
    return t
"""
    expected = """
def f(x, n):
    try:
        total = x + 1.0 / n
        count = n
    except ZeroDivisionError:
        total = x
        count = n + 1
    return total, count
"""
    check(text, expected, (1.5, 2), (1.5, 0), objects=(ZeroDivisionError,))
