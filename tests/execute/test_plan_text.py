"""What plans look like: one text per construct, and the value it computes."""

from __future__ import annotations

import dataclasses
import sys

import numpy as np
import pytest

from runtime.errors import DeviceError, GraphError, Span
from runtime.execute.python_source import plan_source
from runtime.ir.graph import Const, Graph, Node, Value
from runtime.ops.table import OPS
from tests.execute.build import (
    FLOAT64,
    OBJECT,
    VECTOR,
    WEAK_BOOL,
    WEAK_FLOAT,
    WEAK_INT,
    Region,
    named,
    same,
    text,
)


def check(graph: Graph, expected: str, *calls: tuple[object, ...]) -> None:
    assert text(graph) == expected.lstrip("\n")
    for args in calls:
        same(graph, *args)


def test_collatz() -> None:
    r = Region(n=WEAK_INT)

    def body(r, n, steps):
        even = r.add("eq", r.add("mod", n, 2), 0)
        n = r.cond(
            even,
            (n,),
            lambda r, n: r.add("floordiv", n, 2, name="n"),
            lambda r, n: r.add("add", r.add("mul", 3, n), 1, name="n"),
            (WEAK_INT, "n"),
        )
        return n, r.add("iadd", steps, 1, name="steps")

    n, steps = r.loop(
        "while", (r.params[0], named(0, "steps")), (), lambda r, n, steps: r.add("ne", n, 1), body
    )
    check(
        r.graph(steps, name="collatz"),
        """
def collatz(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps
""",
        (27,),
        (1,),
    )


def test_straight_line_with_precedence() -> None:
    r = Region(a=VECTOR, b=VECTOR)
    a, b = r.params
    total = r.add("add", a, b)
    power = r.add("pow", r.add("neg", b), 2.0)
    product = r.add("mul", total, r.add("sub", power, r.add("sub", a, b)))
    check(
        r.graph(r.add("neg", r.add("pow", product, -1.0)), name="f"),
        """
def f(a, b):
    return -((a + b) * ((-b) ** 2.0 - (a - b))) ** -1.0
""",
        (np.array([1.0, 2.5]), np.array([3.0, 0.5])),
    )


def test_a_value_used_twice_gets_its_name() -> None:
    r = Region(a=VECTOR)
    y = r.add("mul", r.params[0], 2.0, name="y")
    check(
        r.graph(r.add("add", y, y), name="f"),
        """
def f(a):
    y = a * 2.0
    return y + y
""",
        (np.arange(3.0),),
    )


def test_a_write_between_keeps_a_value_out_of_its_reader() -> None:
    r = Region(a=VECTOR)
    (a,) = r.params
    first = r.add("getitem", a, 0)
    r.add("setitem", a, 0, 9.0)
    check(
        r.graph(r.add("add", first, r.add("getitem", a, 0)), name="f"),
        """
def f(a):
    t1 = a[0]
    a[0] = 9.0
    return t1 + a[0]
""",
        (np.arange(3.0),),
    )


def test_operands_in_the_wrong_order_are_not_inlined() -> None:
    r = Region(a=OBJECT, b=OBJECT)
    a, b = r.params
    first = r.add("getitem", a, 0)
    second = r.add("getitem", b, 0)
    check(
        r.graph(r.add("sub", second, first), name="f"),
        """
def f(a, b):
    t1 = a[0]
    return b[0] - t1
""",
        ([1], [2]),
        ([], []),
    )


def test_the_right_side_of_an_assignment_is_evaluated_first() -> None:
    r = Region(a=OBJECT, b=OBJECT)
    a, b = r.params
    key = r.add("getitem", b, 0)
    value = r.add("getitem", b, 1)
    r.add("setitem", a, key, value)
    check(
        r.graph(a, name="f"),
        """
def f(a, b):
    t1 = b[0]
    a[t1] = b[1]
    return a
""",
        ([1, 2], [0, 5]),
        ([1, 2], []),
    )


def test_a_guard_does_not_indent_the_rest() -> None:
    r = Region(x=WEAK_FLOAT)
    (x,) = r.params

    def negative(r, x):
        r.add("raise", r.add("py.call", ValueError, "negative"))

    y = r.cond(
        r.add("lt", x, 0.0), (x,), negative, lambda r, x: r.add("mul", x, 0.5, name="y"), (WEAK_FLOAT, "y")
    )
    graph = r.graph(r.add("add", y, 1.0), name="half")
    check(
        graph,
        """
def half(x):
    if x < 0.0:
        raise ValueError('negative')
    y = x * 0.5
    return y + 1.0
""",
        (4.0,),
    )


def test_elif_chain_and_a_branch_that_changes_nothing() -> None:
    r = Region(x=WEAK_INT)

    def rest(r, x):
        return r.cond(
            r.add("eq", x, 2), (x,), lambda r, x: r.add("mul", x, 10), lambda r, x: x, (WEAK_INT, "x")
        )

    x = r.cond(
        r.add("eq", r.params[0], 1), (r.params[0],), lambda r, x: r.add("neg", x), rest, (WEAK_INT, "x")
    )
    check(
        r.graph(x, name="f"),
        """
def f(x):
    if x == 1:
        x = -x
    elif x == 2:
        x = x * 10
    return x
""",
        (1,),
        (2,),
        (3,),
    )


def test_a_value_still_needed_is_not_overwritten() -> None:
    r = Region(x=WEAK_INT)
    (x,) = r.params
    y = r.cond(r.add("gt", x, 0), (x,), lambda r, x: r.add("neg", x), lambda r, x: x, (WEAK_INT, "x"))
    check(
        r.graph(r.add("sub", y, x), name="f"),
        """
def f(x):
    if x > 0:
        x_1 = -x
    else:
        x_1 = x
    return x_1 - x
""",
        (1,),
        (-2,),
    )


def test_conditional_expression() -> None:
    r = Region(p=WEAK_BOOL, a=VECTOR, b=VECTOR)
    p, a, b = r.params
    y = r.cond(p, (a, b), lambda r, a, b: a, lambda r, a, b: b, (VECTOR, ""))
    check(
        r.graph(r.add("mul", y, 2.0), name="f"),
        """
def f(p, a, b):
    return (a if p else b) * 2.0
""",
        (True, np.ones(2), np.zeros(2)),
        (False, np.ones(2), np.zeros(2)),
    )


def test_and_in_a_loop_test() -> None:
    r = Region(x=VECTOR, n=WEAK_INT)

    def loop_test(r, i, x, n):
        p = r.add("lt", i, n)
        return r.cond(
            p,
            (p, x, i),
            lambda r, p, x, i: r.add("gt", r.add("getitem", x, i), 0.0),
            lambda r, p, x, i: p,
            (OBJECT, ""),
        )

    i = r.loop(
        "while", (named(0, "i"),), r.params, loop_test, lambda r, i, x, n: r.add("iadd", i, 1, name="i")
    )
    check(
        r.graph(i, name="first"),
        """
def first(x, n):
    i = 0
    while i < n and x[i] > 0.0:
        i += 1
    return i
""",
        (np.array([1.0, 2.0, -1.0]), 3),
        (np.ones(2), 2),
    )


def test_or_whose_second_operand_needs_statements() -> None:
    r = Region(x=OBJECT, y=OBJECT)
    x, y = r.params
    p = r.add("getitem", x, 0)

    def second(r, p, y):
        r.add("setitem", y, 0, 1)
        return r.add("getitem", y, 1)

    v = r.cond(p, (p, y), lambda r, p, y: p, second, (OBJECT, "v"))
    check(
        r.graph(v, name="f"),
        """
def f(x, y):
    v = x[0]
    if not v:
        y[0] = 1
        v = y[1]
    return v
""",
        ([0], [5, 6]),
        ([3], [5, 6]),
    )


def test_swapping_carries_are_assigned_together() -> None:
    r = Region(n=WEAK_INT)
    a, b, i = r.loop(
        "while",
        (named(0, "a"), named(1, "b"), named(0, "i")),
        r.params,
        lambda r, a, b, i, n: r.add("lt", i, n),
        lambda r, a, b, i, n: (b, r.add("add", a, b), r.add("add", i, 1)),
    )
    check(
        r.graph(a, name="fib"),
        """
def fib(n):
    a = 0
    b = 1
    i = 0
    while i < n:
        a, b = b, a + b
        i = i + 1
    return a
""",
        (10,),
        (0,),
    )


def test_a_carry_that_stays_is_no_variable() -> None:
    r = Region(n=WEAK_INT)
    (n,) = r.params
    i, m = r.loop(
        "while",
        (named(0, "i"), n),
        (),
        lambda r, i, m: r.add("lt", i, m),
        lambda r, i, m: (r.add("add", i, 1), m),
    )
    check(
        r.graph(r.add("add", i, m), name="f"),
        """
def f(n):
    i = 0
    while i < n:
        i = i + 1
    return i + n
""",
        (3,),
    )


def test_a_test_with_statements() -> None:
    r = Region(x=OBJECT)

    def loop_test(r, i, x):
        r.add("setitem", x, 0, i)
        return r.add("lt", i, r.add("getitem", x, 1))

    i = r.loop("while", (named(0, "i"),), r.params, loop_test, lambda r, i, x: r.add("iadd", i, 2, name="i"))
    check(
        r.graph(i, name="f"),
        """
def f(x):
    i = 0
    while True:
        x[0] = i
        if not i < x[1]:
            break
        i += 2
    return i
""",
        ([0, 5],),
    )


def test_for_with_a_test_after_each_trip() -> None:
    r = Region(xs=OBJECT, limit=WEAK_INT)
    xs, limit = r.params
    total = r.loop(
        "for",
        (named(0, "total"),),
        (limit,),
        lambda r, x, total, limit: r.add("iadd", total, x, name="total"),
        lambda r, total, limit: r.add("py.not", r.add("gt", total, limit)),
        iterable=xs,
        item=(OBJECT, "x"),
    )
    check(
        r.graph(total, name="upto"),
        """
def upto(xs, limit):
    total = 0
    for x in xs:
        total += x
        if total > limit:
            break
    return total
""",
        ([1, 2, 3, 4], 4),
        ([], 4),
    )


def test_for_over_a_call_without_its_item() -> None:
    r = Region(x=VECTOR)
    (x,) = r.params
    n = r.add("py.call", len, x)
    steps = r.add("py.call", range, n)
    x = r.loop("for", (x,), (), lambda r, item, x: r.add("mul", x, 2.0), iterable=steps, item=(WEAK_INT, "k"))
    check(
        r.graph(x, name="double"),
        """
def double(x):
    for _ in range(len(x)):
        x = x * 2.0
    return x
""",
        (np.arange(3.0),),
    )


def test_calls_methods_keywords_and_slices() -> None:
    r = Region(x=VECTOR, s=OBJECT)
    x, s = r.params
    method = r.add("py.getattr", s, "format")
    total = r.add("np.sum", x, keywords={"axis": 0}, form="method")
    tail = r.add("getitem", x, r.add("py.tuple", r.add("py.slice", 1, None, None)))
    called = r.add("py.call", method, total, keywords={"k": tail})
    check(
        r.graph(called, name="show"),
        """
def show(x, s):
    return s.format(x.sum(axis=0), k=x[1:,])
""",
        (np.arange(3.0), "{} {k}"),
    )


def test_stars() -> None:
    r = Region(f=OBJECT, a=OBJECT, k=OBJECT)
    f, a, k = r.params
    y = r.add("py.call", f, 1, a, keywords={"**": k}, starred=(2,))
    assert text(r.graph(y, name="g")) == "def g(f, a, k):\n    return f(1, *a, **k)\n"


def test_in_place_on_arrays_keeps_the_object_and_on_numbers_does_not() -> None:
    r = Region(x=VECTOR, n=WEAK_INT)
    x, n = r.params
    y = r.add("iadd", x, 1.0, name="y")
    m = r.add("iadd", n, 1, name="m")
    check(
        r.graph(x, y, m, n, name="f"),
        """
def f(x, n):
    x += 1.0
    m = n
    m += 1
    return x, x, m, n
""",
        (np.arange(2.0), 3),
    )


def test_displays() -> None:
    r = Region(x=WEAK_INT)
    (x,) = r.params
    parts = [
        r.add("py.tuple", x),
        r.add("py.list", x, 2),
        r.add("py.dict", "a", x),
        r.add("py.tuple"),
        r.add("py.list"),
    ]
    check(
        r.graph(r.add("py.tuple", *parts), name="f"),
        """
def f(x):
    return (x,), [x, 2], {'a': x}, (), []
""",
        (3,),
    )


def test_long_expressions_are_cut() -> None:
    r = Region(x=VECTOR)
    (x,) = r.params
    y = x
    for k in range(60):
        y = r.add("add", y, float(k))
    graph = r.graph(y, name="f")
    assert max(map(len, text(graph).splitlines())) <= 110
    same(graph, np.arange(3.0))


def test_comments_name_the_users_line(tmp_path) -> None:
    file = tmp_path / "user.py"
    file.write_text("def f(x):\n    y = x * 2.0 ; z = 1\n    return y + y\n")

    r = Region(x=VECTOR)
    y = r.add("mul", r.params[0], 2, name="y", span=Span(str(file), 2, 4, "f"))
    plan = plan_source(r.graph(r.add("add", y, y, span=Span(str(file), 3, 4, "f")), name="f"))
    assert plan.text == (
        "def f(x):\n    y = x * 2.0  # user.py:2: y = x * 2.0 ; z = 1\n    return y + y  # user.py:3\n"
    )
    assert plan.lines[2].line == 2 and plan.lines[3].line == 3


def test_cuda_calls_cupy_and_names_what_it_lacks() -> None:
    r = Region(x=dataclasses.replace(VECTOR, device="cuda"))
    graph = r.graph(r.add("np.exp", r.params[0]), name="f")
    assert plan_source(graph, device="cuda").text == "def f(x):\n    return cp.exp(x)\n"

    missing = next(name for name, row in OPS.items() if row.cupy is None)
    node = Node(missing, (r.params[0],), (Value(OBJECT),))
    with pytest.raises(DeviceError, match=missing):
        plan_source(Graph("f", r.params, (node,), (node.outputs[0],)), device="cuda")


def test_unknown_ops_are_errors() -> None:
    node = Node("no such op", (Const(1),), (Value(OBJECT),))
    with pytest.raises(GraphError, match="no such op"):
        plan_source(Graph("f", (), (node,), (node.outputs[0],)))


def test_scalars_that_cannot_raise_may_move() -> None:
    r = Region(a=FLOAT64, xs=OBJECT)
    a, xs = r.params
    same_object = r.add("py.is", a, xs)
    first = r.add("getitem", xs, 0)
    r.add("setitem", xs, 0, first)
    check(
        r.graph(same_object, name="f"),
        """
def f(a, xs):
    xs[0] = xs[0]
    return a is xs
""",
        (np.float64(1), [1]),
    )


def test_array_methods() -> None:
    r = Region(x=VECTOR)
    (x,) = r.params
    r.add("nd.sort", x)
    y = r.add("nd.astype", x, np.float32, keywords={"copy": False})
    check(
        r.graph(y, name="f"),
        """
def f(x):
    x.sort()
    return x.astype(np.float32, copy=False)
""",
        (np.array([3.0, 1.0]),),
    )


def test_four_times_as_many_nodes_are_four_times_the_work() -> None:
    def calls(count: int) -> int:
        r, seen = Region(x=VECTOR), []
        values = list(r.params)
        for _ in range(count):
            values.append(r.add("add", values[-1], values[max(0, len(values) - 3)], type=VECTOR))
        graph = r.graph(values[-1], name="f")
        sys.setprofile(lambda frame, event, arg: seen.append(event))
        try:
            text(graph)
        finally:
            sys.setprofile(None)
        return len(seen)

    assert calls(2000) < 5 * calls(500)
