"""`try_` and `with_` while tracing: what is caught, what handlers may believe, what goes on."""

from __future__ import annotations

import contextlib
import types
from typing import Any

import numpy as np
import pytest

import autograph as ag
from autograph.operators.calls import call
from autograph.operators.variables import Cell, raise_
from runtime.boxes import Cell as PlainCell
from runtime.config import settings
from runtime.functional import cond, try_, with_
from runtime.trace.heap import NOTHING, Heap, Identity, Loaded
from runtime.types import WEAK_FLOAT, WEAK_INT, join
from tests.trace.harness import check, traced


def test_a_handler_runs_instead() -> None:
    def f(d: Any, key: Any, x: Any) -> Any:
        return try_(lambda: d[key] + x, ((lambda: KeyError, lambda error: x * 2),))

    check(f, ({1: 2}, 1, 1.5), ({1: 2}, 2, 1.5))


def test_the_first_handler_that_catches() -> None:
    def f(x: Any, v: Any) -> Any:
        handlers = (
            (lambda: ZeroDivisionError, lambda error: -1),
            (lambda: (IndexError, ValueError), lambda error: error.args[0]),
            (None, lambda error: raise_()),
        )
        return try_(lambda: v[1 // x], handlers)

    check(f, (1, [1, 2]), (0, [1, 2]), (1, [1]))


def test_else_and_finally() -> None:
    def f(x: Any, log: Any) -> Any:
        return try_(
            lambda: log.append(1 // x),
            ((lambda: ZeroDivisionError, lambda error: log.append("zero")),),
            lambda: log.append(1 // (x - 1)),
            lambda: log.append("end"),
        )

    check(f, (2, [0]), (0, [0]), (1, [0]))


def test_a_handler_sees_what_the_body_wrote_so_far() -> None:
    def f(x: Any) -> Any:
        seen = Cell("seen", 0)

        def body() -> Any:
            seen.value = 1
            1 // x
            seen.value = 2
            1 // (x - 1)
            seen.value = 3

        try_(body, ((lambda: ZeroDivisionError, lambda error: None),))
        return seen.value

    result = check(f, (5,), (0,), (1,))
    assert "float" not in str(result.graph.results[0].type)


def test_a_write_in_an_arm_that_raises_is_seen() -> None:
    def f(x: Any, o: Any) -> Any:
        def body() -> Any:
            def arm() -> None:
                o.count = 5
                raise_(ValueError("no"))

            cond(x > 0, arm, lambda: None)

        o.count = 1
        try_(body, ((lambda: ValueError, lambda error: None),))
        return o.count + 1

    check(f, (1, types.SimpleNamespace(count=0)), (-1, types.SimpleNamespace(count=0)))


def test_finally_sees_all_parts() -> None:
    def f(x: Any, log: Any) -> Any:
        state = Cell("state", "start")

        def body() -> None:
            state.value = "body"
            1 // x
            state.value = "done"

        def handler(error: Any) -> None:
            state.value = "handler"
            1 // (x + 1)

        try_(
            lambda: try_(
                body, ((lambda: ZeroDivisionError, handler),), None, lambda: log.append(state.value)
            ),
            ((lambda: ArithmeticError, lambda error: log.append("outer")),),
        )
        log.append(state.value)
        return state.value

    check(f, (1, []), (0, []), (-1, []))


def test_what_always_raises() -> None:
    def f(x: Any) -> Any:
        def body() -> None:
            raise_(KeyError(1))

        try_(body, ((lambda: IndexError, lambda error: 1),), None, lambda: None)
        return x

    check(f, (1,))


def test_numpy_errors_are_caught_at_run_time() -> None:
    def f(m: Any) -> Any:
        return try_(lambda: np.linalg.inv(m), ((lambda: np.linalg.LinAlgError, lambda error: m * 0),))

    check(f, (np.eye(2),), (np.zeros((2, 2)),))


def test_errstate_raises() -> None:
    def f(x: Any) -> Any:
        def body() -> Any:
            return with_(call(np.errstate, all="raise"), lambda _: 1.0 / x)

        return try_(body, ((lambda: FloatingPointError, lambda error: x + 1),))

    check(f, (np.float64(2.0),), (np.float64(0.0),))


def test_with_yields_what_the_body_yields() -> None:
    def f(x: Any) -> Any:
        y = with_(call(contextlib.nullcontext, x), lambda value: value + 1)
        return y * 2

    result = check(f, (1.5,), (2.5,))
    assert [n.op for n in result.graph.nodes] == ["py.call", "with", "mul"]


def test_with_that_swallows() -> None:
    class Quiet:
        def __init__(self, log: Any) -> None:
            self.log = log

        def __enter__(self) -> str:
            self.log.append("in")
            return "entered"

        def __exit__(self, *error: Any) -> bool:
            self.log.append(error[0])
            return True

    def f(x: Any, log: Any) -> Any:
        def body(value: Any) -> Any:
            log.append(value)
            return True, 1 // x

        done, y = with_(call(Quiet, log), body, (), (False, None))
        return done, y

    check(f, (1, []), (0, []))


def test_suppress() -> None:
    def f(x: Any, log: Any) -> Any:
        count = Cell("count", 0)

        def body(_: Any) -> None:
            count.value = 1
            log.append(1 // x)
            count.value = 2

        with_(call(contextlib.suppress, ZeroDivisionError), body)
        return count.value + 1

    check(f, (1, []), (0, []))


def test_a_body_that_records_nothing_is_done_now() -> None:
    def f(x: Any) -> Any:
        y = try_(lambda: int("3"), ((lambda: ValueError, lambda error: 4),), None, lambda: None)
        return x + y

    assert [n.op for n in check(f, (1,)).graph.nodes] == ["add"]


def test_an_error_while_tracing_leaves_the_statement_to_python() -> None:
    def f(x: Any) -> Any:
        return try_(lambda: x + int("no"), ((lambda: ValueError, lambda error: x),))

    result = check(f, (1,))
    assert [n.kind for n in result.notes] == ["python"]


def test_classes_known_at_run_time_only_leave_it_to_python() -> None:
    def f(x: Any, classes: Any) -> Any:
        return try_(lambda: 1 // x, ((lambda: classes[0], lambda error: x),))

    result = traced(f, 1, [ZeroDivisionError])
    assert [n.kind for n in result.notes] in (["python"], [])


def test_three_ends_that_differ_in_the_middle() -> None:
    def f(x: Any, done: Any) -> Any:
        handlers = ((lambda: ZeroDivisionError, lambda error: True), (None, lambda error: done))
        return try_(lambda: [done, 1 // x][0], handlers)

    check(f, (1, False), (0, False))


def test_what_holds_at_every_moment_of_a_stretch() -> None:
    one, other, outer = Identity(PlainCell, True), Identity(PlainCell, True), Identity(list)
    heap = Heap()
    for who in (one, other):
        heap.put(who, "attr", "value", Loaded(WEAK_INT))
    heap.put(outer, "item", 0, Loaded(WEAK_INT))
    with heap.watched() as log:
        inner = heap.copy()  # what happens to a copy, as in an arm, is seen
        inner.written(one, "attr", "value")
        inner.put(one, "attr", "value", Loaded(WEAK_FLOAT))
        inner.written(Identity(list), "item", 0)
    heap.written(other, "attr", "value")  # not in the stretch

    def merge(a: Any, b: Any, *heaps: Any) -> Any:
        return Loaded(join(a.type, b.type))

    after = heap.throughout(log, merge)
    assert after.get(one, "attr", "value") == Loaded(join(WEAK_INT, WEAK_FLOAT))
    assert after.get(outer, "item", 0) is NOTHING  # another list may be the same one
    assert after.is_stale(outer, "item", 0) and not heap.is_stale(outer, "item", 0)
    with heap.watched() as log:
        heap.escape(one)
        heap.unknown_call()
    assert not heap.throughout(log, merge).entries and not heap.logs


class Plain:
    x = 7


def no_longer_there(n: Any) -> Any:
    thing, data = Plain(), {"x": 1, "y": 2}
    thing.x = thing.z = 1  # type: ignore[attr-defined]
    for i in range(n):
        try:
            del thing.x, thing.z, data["x"]  # type: ignore[attr-defined]
            if i == 3:
                raise ValueError
            thing.x = thing.z = data["x"] = 1  # type: ignore[attr-defined]
        except ValueError:
            return thing.x, getattr(thing, "z", -1), data.get("x", -1), len(data), sorted(vars(thing))
    return thing.x, 0, 0, 0, []


@pytest.mark.parametrize("executor", ["auto", "numpy", "native"])
def test_a_handler_does_not_find_what_was_deleted_for_a_while(executor: str) -> None:
    """What was written anew later in the body was taken to be there all the time."""
    with settings.override(executor=executor, compile="now"):
        f = ag.function(no_longer_there)
        assert [f(10) for _ in range(4)] == [no_longer_there(10)] * 4 == [(7, -1, -1, 1, [])] * 4
