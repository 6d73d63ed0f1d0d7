"""Staged control flow by hand: what is traced once does what Python does, on every path."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pytest

from runtime import boxes
from runtime.api import function
from runtime.errors import ConcreteValueError
from runtime.functional import cond, for_loop, while_loop
from runtime.trace.core import active
from runtime.trace.items import new_dict, new_list
from tests.trace.harness import check, traced

f64, i64, A = np.float64, np.int64, np.array


def list_(*values: Any) -> Any:
    trace = active()
    return list(values) if trace is None else new_list(trace, values)


def dict_(**values: Any) -> Any:
    trace = active()
    return dict(values) if trace is None else new_dict(trace, list(values.items()))


def call(f: Any, *args: Any, **kwargs: Any) -> Any:
    trace = active()
    return f(*args, **kwargs) if trace is None else trace.protocol.call(f, args, kwargs)


def bound(x: Any, name: str) -> Any:
    trace = active()
    return boxes.bound(x, name) if trace is None else trace.protocol.bound(x, name)


def arms_of_different_kinds(x: Any) -> Any:
    return cond(x > 0, lambda: x, lambda: None)


def arms_of_different_structure(x: Any) -> Any:
    return cond(x > 0, lambda: (x, 1), lambda: (x, (2.5, "no")))


def weak_numbers_join(x: Any) -> Any:
    return cond(x > 0, lambda: 1, lambda: 0.5) * x


def shapes_differ(v: Any) -> Any:
    return (
        cond(v.sum() > 0, lambda: v[:1], lambda: v).sum() + cond(v[0] > 0, lambda: v, lambda: v[None]).sum()
    )


def loop_changes_type(n: Any) -> Any:
    return while_loop(lambda n, x: n > 0, lambda n, x: (n - 1, x / 2), (n, 1))


def loop_changes_structure(v: Any) -> Any:
    return for_loop(v, lambda e, state: (state, e), ((),))


def list_grows_in_loop(v: Any) -> Any:
    out = list_()
    for_loop(v, lambda e: cond(e > 1, lambda: out.append(e), lambda: None))
    return out, call(len, out)


def list_mutated_in_one_arm(x: Any) -> Any:
    a = list_(x, x * 2)
    b = a
    cond(x > 0, lambda: a.append(x), lambda: a.pop())
    return b, b[0], call(len, b)


def dict_updated_in_loop(v: Any) -> Any:
    d = dict_(total=0.0, n=0)

    def body(e: Any) -> None:
        d["total"] += e
        d["n"] += 1

    for_loop(v, body)
    return d, d["total"] / (d["n"] + 1)


def attributes_in_loop(v: Any) -> Any:
    s = call(types.SimpleNamespace, total=0.0, n=0)

    def body(e: Any) -> None:
        s.total += e
        s.n += 1

    for_loop(v, body)
    return s, s.total


def aliases_stay_aliases(v: Any) -> Any:
    w = v[1:]
    w += 1
    v[0] = w.sum()
    cond(v[0] > 3, lambda: w.sort(), lambda: None)
    return v, w, v.reshape(-1)[0]


def writes_to_argument_in_loop(v: Any) -> Any:
    def body(k: Any) -> None:
        v[k] += v[k - 1]

    for_loop(call(range, 1, call(len, v)), body)
    return v


def unbound_on_one_path(x: Any) -> Any:
    y = cond(x > 0, lambda: x + 1, lambda: boxes.unbound("y"))
    return bound(y, "y") * 2


def unbound_after_no_trip(v: Any) -> Any:
    last = for_loop(v, lambda e, last: e, (boxes.unbound("last"),))
    return bound(last, "last")


def static_loop_with_traced_stop(x: Any) -> Any:
    def body(w: Any, s: Any, stop: Any) -> Any:
        s = s + w * x
        return s, s > 3

    return for_loop(
        (1.0, 2.0, 3.0),
        body,
        (0.0, False),
        lambda s, stop: call(bool, stop) is False if active() is None else _not(stop),
    )


def _not(x: Any) -> Any:
    trace = active()
    assert trace is not None
    return trace.protocol.truth_not(x)


def loop_over_growing_list(x: Any) -> Any:
    todo = list_(x)

    def body(e: Any, n: Any) -> Any:
        cond(e > 1, lambda: todo.append(e // 2), lambda: None)
        return n + 1

    return for_loop(todo, body, (0,)), todo


CASES = [
    (arms_of_different_kinds, [(f64(1),), (f64(-1),)]),
    (arms_of_different_structure, [(f64(1),), (f64(-1),)]),
    (weak_numbers_join, [(f64(1),), (f64(-1),)]),
    (shapes_differ, [(A([1.0, 2]),), (A([-1.0, 0]),), (A([-1.0, 4]),)]),
    (loop_changes_type, [(i64(3),), (i64(0),)]),
    (loop_changes_structure, [(A([1.0, 2, 3]),)]),
    (list_grows_in_loop, [(A([1.0, 2, 3]),), (A([0.0, 0, 0]),)]),
    (list_mutated_in_one_arm, [(f64(1),), (f64(-1),)]),
    (dict_updated_in_loop, [(A([1.0, 2]),), (A([3.0, -2.0]),)]),
    (attributes_in_loop, [(A([1.0, 2]),), (A([3.0, -2.0]),)]),
    (aliases_stay_aliases, [(A([1.0, 9, 2]),), (A([-1.0, -2, -3]),)]),
    (writes_to_argument_in_loop, [(A([1, 2, 3]),)]),
    (unbound_on_one_path, [(f64(1),), (f64(-1),)]),
    (unbound_after_no_trip, [(np.zeros(2),)]),
    (static_loop_with_traced_stop, [(f64(1),), (f64(5),), (f64(0),)]),
    (loop_over_growing_list, [(i64(9),), (i64(1),)]),
]


@pytest.mark.parametrize(("f", "calls"), CASES, ids=[f.__name__ for f, _ in CASES])
def test_traced_once_does_what_python_does(f: Any, calls: list[tuple[Any, ...]]) -> None:
    result = check(f, *calls)
    assert not [n for n in result.notes if n.kind == "python"], "nothing here may be left to Python"


def failing_arm(x: Any) -> Any:
    return cond(x > 0, lambda: x + 1, lambda: x + 1 // 0)


def test_a_static_error_in_an_arm_waits_for_run_time() -> None:
    result = check(failing_arm, (f64(1),), (f64(-1),))
    assert [n.kind for n in result.notes] == ["python"]


def long_static_loop(x: Any) -> Any:
    return for_loop(range(1000), lambda k, s: s + k, (x,))


def short_static_loop(x: Any) -> Any:
    return for_loop(range(3), lambda k, s: s + k, (x,))


def test_long_static_loops_are_staged_and_short_ones_unrolled() -> None:
    assert [n.op for n in check(long_static_loop, (f64(1),)).graph.nodes] == ["for"]
    assert [n.op for n in check(short_static_loop, (f64(1),)).graph.nodes] == ["add"] * 3


def test_code_that_catches_what_tracing_raises_is_left_to_python() -> None:
    def guarded(x: Any) -> Any:
        try:
            return float(x) + 1
        except TypeError:
            return 0.0

    with pytest.raises(ConcreteValueError):
        traced(guarded, np.float64(2.0))
    assert function(guarded)(np.float64(2.0)) == 3.0


@pytest.mark.parametrize(
    ("test", "body", "carry", "staged", "most"),
    [
        (
            lambda t, x: t < 50.0,
            lambda t, x: (t + 0.1, x + t),
            0.0,
            True,
            6,
        ),  # seen to be long after two trips
        (lambda t, x: t < 0.95, lambda t, x: (t + 0.1, x + t), 0.0, False, 10),
        (lambda i, x: i < 1000, lambda i, x: (i * 2, x + i), 1, False, 10),  # its steps grow
        (lambda i, x: i != 9, lambda i, x: (i + 1, x + i), 0, False, 9),
        (lambda i, x: i != 99, lambda i, x: (i + 1, x + i), 0, True, 6),
        (
            lambda i, x: (1, 1, 1, 1, 0)[i],
            lambda i, x: (i + 1, x + i),
            0,
            False,
            4,
        ),  # fails for other numbers
        (lambda s, x: len(s) < 7, lambda s, x: (s + "a", x * 2), "", False, 7),
    ],
)
def test_long_loops_are_not_unrolled_to_find_that_they_are_long(test, body, carry, staged, most):
    runs = []

    def counted(*values):
        runs.append(values)
        return body(*values)

    def whole(x):
        return while_loop(test, counted, (carry, x))

    result = traced(whole, A([1.0, 2.0]))
    assert any(node.op == "while" for node in result.graph.nodes) == staged
    assert len(runs) <= most
    check(lambda x: while_loop(test, body, (carry, x)), (A([1.0, 2.0]),))
