"""switch_case, scan, map_fn, vmap, vectorize, unroll, py_function, init_scope: in functions as eagerly."""

from __future__ import annotations

import collections

import numpy as np
import pytest

import autograph as ag
import runtime

X, Y, M = np.arange(5.0), np.arange(5, 10), np.arange(12.0).reshape(4, 3)
BIG = np.arange(40.0)
Pair = collections.namedtuple("Pair", "a b")


def double(x):
    return x * 2


def halved(x):
    return x / 2


def steps(n):
    count = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        count += 1
    return count


def sign(x):
    if x > 0:
        return 1.0
    if x < 0:
        return -1.0
    return 0.0


def switch(i, x):
    return ag.switch_case(i, [double, halved, lambda v: v - 1], (x,))


def switch_with_default(i, x):
    return ag.switch_case(i, (double, halved), (x,), default=lambda v: v + 100)


def running(xs):
    return ag.scan(lambda total, x: (total + x, total * x), 0.0, xs)


def backwards(xs):
    return ag.scan(lambda total, x: (total + x, (total, {"twice": 2 * x})), 0.0, xs, reverse=True)


def of_trees(a, b):
    def step(carry, item):
        left, right = item["pair"]
        if left > 1:
            carry = carry + right
        return carry, [left + right, carry]

    return ag.scan(step, 0, {"pair": (a, b)})


def mapped(xs):
    return ag.map_fn(steps, xs)


def mapped_pairs(a, b):
    return ag.map_fn(lambda p: Pair(p[0] + p[1], p[0] > 1), (a, b))


def rows(m, w):
    return ag.vmap(lambda row, v: (row @ v, row.sum()), in_axes=(0, None))(m, w)


def columns(m):
    return ag.vmap(lambda column: column * 2, in_axes=1, out_axes=1)(m)


def nested(m):
    return ag.vmap(ag.vmap(sign))(m - 5)


def named(m, w):
    return ag.vmap(lambda row, scale: row * scale)(m, scale=w)


SIGNS = ag.vectorize(sign)


def elementwise(x):
    return SIGNS(x - 2), ag.vectorize(lambda a, b: a if a > b else -b)(x[:, None], x)


def unrolled(x):
    for i in ag.unroll(range(30)):
        x = x + i
    return x


def unrolled_rows(m):
    total = 0.0
    for row in ag.unroll(m):
        total = total + row
    return total


def unrolled_until(x, limit):
    for i in ag.unroll(range(30)):
        if x.sum() > limit:
            break
        x = x + i
    return x


def called(x):
    log = []
    y = ag.py_function(sorted, [3, 1, 2], reverse=True)
    ag.py_function(log.append, 1)
    return y, log, ag.py_function(lambda v: v.tolist(), x)


def scoped(x):
    with ag.init_scope():
        y = x + 1
        eager = True
    return y, eager


PROGRAMS = [
    (switch, (0, X)),
    (switch, (np.int64(1), X)),
    (switch, (np.int64(2), X)),
    (switch, (np.int64(3), X)),
    (switch, (np.int64(-1), X)),
    (switch_with_default, (np.int64(7), X)),
    (switch_with_default, (np.int64(-7), X)),
    (running, (X,)),
    (running, (BIG,)),
    (running, (Y,)),
    (running, (X[:0],)),
    (backwards, (X,)),
    (backwards, (BIG,)),
    (of_trees, (X, Y)),
    (of_trees, (BIG, BIG)),
    (of_trees, (X, BIG)),
    (mapped, (Y,)),
    (mapped, (np.arange(1, 40),)),
    (mapped_pairs, (X, Y)),
    (mapped_pairs, (BIG, BIG)),
    (rows, (M, M[0])),
    (columns, (M,)),
    (nested, (M,)),
    (named, (M, X[:4])),
    (named, (M, X)),
    (elementwise, (X,)),
    (elementwise, (BIG,)),
    (unrolled, (X,)),
    (unrolled_rows, (M,)),
    (unrolled_until, (X, np.float64(200.0))),
    (called, (X,)),
    (scoped, (X,)),
]


def outcome(f, args):
    try:
        return repr(f(*args))
    except Exception as error:
        return type(error).__name__


NAMES = [f"{p.__name__}-{k}" for k, (p, _) in enumerate(PROGRAMS)]


@pytest.mark.parametrize("program,args", PROGRAMS, ids=NAMES)
def test_same_in_functions_as_eagerly(program, args):
    expected = outcome(program, args)
    f = ag.function(program)
    assert [outcome(f, args), outcome(f, args)] == [expected, expected]


TRACED = [row for row in PROGRAMS if row[0] is not called and "Error" not in outcome(*row)]


@pytest.mark.parametrize("program,args", TRACED, ids=[f"{p.__name__}-{k}" for k, (p, _) in enumerate(TRACED)])
def test_traced_not_left_to_python(program, args):
    f = ag.function(program)
    f(*args)
    record = f.traces[0]
    assert record.plain is None, record.plain
    assert not [n for n in record.concrete.notes if n.kind == "python"], record


def test_types_are_known():
    f = ag.function(mapped_pairs)
    f(BIG, BIG)
    out = f.traces[0].concrete.structured_outputs
    assert out == Pair(ag.TensorSpec((40,), np.float64), ag.TensorSpec((40,), np.bool_))


def test_values():
    assert np.array_equal(ag.vmap(double)(M), M * 2) and np.array_equal(columns(M), M * 2)
    assert list(ag.map_fn(steps, np.arange(1, 5))) == [0, 1, 7, 2]
    total, products = running(X)
    assert total == 10 and list(products) == [0, 0, 2, 9, 24]
    _, (before, twice) = backwards(X)
    assert list(before) == [10, 9, 7, 4, 0] and list(twice["twice"]) == [0, 2, 4, 6, 8]
    got = ag.vectorize(lambda a, b: a if a > b else -b)(np.array([[1], [5]]), np.array([2, 3]))
    assert got.tolist() == [[-2, -3], [5, 5]] and ag.vectorize(sign)(3) == 1.0


BAD = [
    (
        lambda: ag.map_fn(lambda x: np.zeros(int(x)), X),
        ValueError,
        "result 1 has shape (1,), the ones before it (0,)",
    ),
    (lambda: ag.map_fn(lambda x: x, X[:0]), ValueError, "no items"),
    (lambda: ag.map_fn(lambda p: p[0], (X, BIG)), ValueError, "different lengths: [5, 40]"),
    (lambda: ag.map_fn(lambda x: None, X), ValueError, "NoneType can't be stacked"),
    (lambda: ag.scan(lambda c, x: c, 0, X), TypeError, "returns a pair"),
    (lambda: ag.vmap(double, in_axes=None)(X), ValueError, "nothing to go through"),
    (lambda: ag.vmap(double, in_axes=(0, 0))(X), ValueError, "2 entries for 1 arguments"),
    (lambda: ag.switch_case(5, [double], (1,)), IndexError, "no branch of this index; it has 1"),
]


@pytest.mark.parametrize("bad,kind,text", BAD, ids=[row[2] for row in BAD])
def test_what_is_refused(bad, kind, text):
    with pytest.raises(kind) as caught:
        bad()
    assert text in str(caught.value)


def test_structures_that_depend_on_the_item():
    def pair_or_number(x):
        return x if x > 2 else (x, x + 1)

    for program in (lambda x: ag.map_fn(pair_or_number, x), lambda x: ag.vmap(pair_or_number)(x)):
        for x in (X[:3], X[3:], BIG[3:], X):
            assert outcome(ag.function(program), (x,)) == outcome(program, (x,))


def test_unrolled_is_unrolled():
    f = ag.function(unrolled)
    f(X)
    assert "for " not in f.plan_source and all(f" + {k}" in f.plan_source for k in range(30))


def test_init_scope_suspends_a_trace():
    seen = []

    def library(x):
        with ag.init_scope():
            seen.append(ag.executing_eagerly())
        return x

    f = runtime.function(library)
    f(X)
    assert seen == [True] and ag.executing_eagerly()


def product(x):
    return ag.scan(lambda c, v: (c * v, c + v), 1.0, x)[0]


def scanned(x):
    return (ag.scan(lambda c, v: (c * v, c + v), 1.0, x)[1] ** 2).sum()


def chosen(x):
    return ag.map_fn(lambda v: v * v if v > 1 else v, x).sum()


def squares(x):
    return ag.vmap(lambda row: (row**2).sum())(np.outer(x, x)).sum()


def cases(x):
    return ag.switch_case(1, [lambda v: v.sum(), lambda v: (v**3).sum()], (x,))


def pieces(x):
    return ag.vectorize(lambda v, w: v * w if v > w else v)(x, 1.0).sum()


@pytest.mark.parametrize("program", [product, scanned, chosen, squares, cases, pieces])
def test_differentiable(program):
    x = np.linspace(0.5, 1.6, 4)
    steps = np.eye(4) * 1e-6
    expected = [(program(x + h) - program(x - h)) / 2e-6 for h in steps]
    for f in (program, ag.function(program)):
        assert np.allclose(ag.grad(f)(x), expected, atol=1e-5)


@ag.function
def squared(x):
    if x > 1:
        return x * x
    return x


@pytest.mark.parametrize("make", [ag.vmap, ag.vectorize])
def test_of_functions_and_as_functions(make):
    x = np.linspace(0, 2, 5)
    batched = make(squared)
    f = ag.function(batched)
    g = ag.function(lambda x: batched(x))
    assert np.array_equal(f(x), batched(x)) and np.array_equal(g(x), batched(x))
    for each in (f, g):
        assert each.traces[0].plain is None and not each.traces[0].concrete.notes
        assert "cond" in str(each.graph)


WRONG = [
    (
        lambda x: ag.while_loop(lambda i: i < 3, lambda i: (i + 1,), (x,)),
        ["the loop body returned a tuple of 1 value", "in no tuple"],
    ),
    (
        lambda x: ag.while_loop(lambda i, j: i < 3, lambda i, j: (i + 1,), (x, x)),
        ["the loop body returned a tuple of 1 value", "carry[1] is not there"],
    ),
    (
        lambda x: ag.for_loop(np.arange(3), lambda k, i, j: (i, j, k), (x, x)),
        ["the loop body returned a tuple of 3 values", "nothing for item 2"],
    ),
    (
        lambda x: ag.while_loop(lambda i: i < 3, lambda i, j: (i + 1, j), (x, x)),
        ["the test of while_loop is called with 2 values", "too many positional arguments"],
    ),
    (
        lambda x: ag.while_loop(lambda i: i < 3, lambda i: i + 1, x),
        ["the carry of while_loop must be a tuple of values", "(x,)"],
    ),
    (lambda x: ag.for_loop(3, lambda k, i: i + k, (x,)), ["goes over what can be iterated over"]),
    (lambda x: ag.cond(x > 0, x, x), ["the true function of cond must be a function"]),
    (lambda x: ag.cond(x > 0, lambda a, b: a, lambda a: a, (x,)), ["with 1 value", "argument: 'b'"]),
    (lambda x: ag.switch_case(x * 1.5, [lambda: 1, lambda: 2]), ["must be an integer, it is float64"]),
    (lambda x: ag.scan(lambda c, v: c + v, x, np.arange(3)), ["the function of scan returned", "a pair"]),
    (
        lambda x: ag.scan(lambda c, v: (c, v[0]), x, (np.arange(3), np.arange(4))),
        ["xs[0] has 3, xs[1] has 4"],
    ),
    (lambda x: ag.map_fn(lambda v: v, x), ["xs is", "without a first axis"]),
    (
        lambda x: ag.map_fn(lambda v: (v, v) if v > 1 else v, np.arange(3)),
        ["an item gives (value, value), those before it value"],
    ),
]


@pytest.mark.parametrize(("program", "texts"), WRONG)
@pytest.mark.parametrize("wrap", [lambda f: f, ag.function], ids=["plain", "function"])
def test_wrong_structures_are_told_with_their_place_and_line(program, texts, wrap):
    with pytest.raises(ag.StructureError) as caught:
        wrap(program)(np.int64(1))
    message = str(caught.value)
    assert all(text in message for text in texts), message
    assert "test_by_hand.py:" in message and "^" in message, message


def test_converted_loops_may_make_tuples_of_one():
    def nested(x):
        while not isinstance(x, tuple) or len(x) < 1:
            x = (x,)
        return x

    assert ag.function(nested)(3) == nested(3) == (3,)
    assert ag.convert(nested)(3) == (3,)


@pytest.mark.parametrize("executor", ["auto", "numpy"])
def test_converted_loops_over_nothing_raise_what_python_raises(executor):
    def over(x):
        for item in x:
            return item

    for run in (ag.function(over), ag.convert(over), over):
        with (
            ag.settings.override(executor=executor),
            pytest.raises(TypeError, match="^'int' object is not iterable$") as caught,
        ):
            run(3)
        assert type(caught.value) is TypeError
