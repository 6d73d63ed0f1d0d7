"""`ag.TensorArray`: in functions as outside, beside a list; typed where it can be; with derivatives."""

from __future__ import annotations

import numpy as np
import pytest

import autograph as ag
from autograph import TensorArray

X = np.linspace(0.5, 2, 6)
M = np.arange(12.0).reshape(4, 3)


def squares(n):
    ta = ag.TensorArray(np.float64, size=n)
    for i in range(n):
        ta = ta.write(i, i * 0.5)
    return ta.stack()


def packed(x):
    ta = ag.TensorArray(x.dtype, size=x.size, element_shape=())
    ta.write(0, x[0])
    for i in range(1, x.size):
        ta.write(i, ta.read(i - 1) * x[i])
    return ta.stack(), ta.read(2), ta.size()


def rows(m):
    ta = TensorArray(np.float64, m.shape[0], element_shape=(3,))
    for i in range(len(m)):
        if m[i].sum() > 10:
            ta = ta.write(i, m[i] * 2)
    first = ta.read(3)
    ta.write(3, first * 0)
    return ta.stack(), first, ta.concat(), ta.gather([3, 1])


def growing(n):
    ta = ag.TensorArray(dynamic_size=True)
    k = 0
    while n != 1:
        ta = ta.write(k, n)
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        k += 1
    return ta.stack(), ta.size()


def ragged(m):
    ta = ag.TensorArray(size=3)
    for i in range(3):
        ta.write(i, m[0, : i + 1])
    return ta.concat(), ta.read(2)


def unstacked(m):
    ta = ag.TensorArray(size=4).unstack(m)
    back = ag.TensorArray(size=3).scatter([2, 0, 1], m[:3])
    cut = ag.TensorArray(size=2).split(m, [1, 3])
    return ta.read(1), ta.stack(), back.stack(), cut.read(1), cut.concat()


def converted(x):
    ta = ag.TensorArray(np.float32, 3, element_shape=())
    return ta.write(0, 1).write(1, 2.5).write(2, x[0]).stack()


def of_branches(flag, x):
    ta = ag.TensorArray(size=1)
    if flag:
        ta = ta.write(0, x)
    else:
        ta = ag.TensorArray(size=2).write(0, x).write(1, x)
    return ta.stack()


def none_at_all():
    return ag.TensorArray(np.int32).stack(), ag.TensorArray(np.int32, element_shape=(2, 3)).stack()


PROGRAMS = [
    (squares, (5,)),
    (squares, (np.int64(50),)),
    (packed, (X,)),
    (packed, (X.astype(np.float32),)),
    (packed, (np.arange(1, 20),)),
    (rows, (M,)),
    (growing, (np.int64(27),)),
    (growing, (7,)),
    (ragged, (M,)),
    (unstacked, (M,)),
    (converted, (X,)),
    (of_branches, (True, X)),
    (of_branches, (np.bool_(True), X)),
    (of_branches, (np.bool_(False), X)),
    (none_at_all, ()),
]


@pytest.mark.parametrize("executor", ["numpy", "auto"])
@pytest.mark.parametrize("program,args", PROGRAMS, ids=lambda x: getattr(x, "__name__", None))
def test_same_in_functions_as_outside(program, args, executor):
    before, ag.settings.executor = ag.settings.executor, executor
    try:
        expected = repr(program(*args))
        f = ag.function(program)
        assert [repr(f(*args)), repr(f(*args))] == [expected, expected]
        assert f.traces[0].plain is None, f.traces[0].plain
    finally:
        ag.settings.executor = before


def test_values():
    assert squares(4).tolist() == [0.0, 0.5, 1.0, 1.5]
    assert np.array_equal(packed(X)[0], np.cumprod(X)) and packed(X)[2] == 6
    stack, first, joined, picked = rows(M)
    assert stack.tolist() == [[0, 0, 0], [6, 8, 10], [12, 14, 16], [0, 0, 0]] and first.tolist() == [
        18,
        20,
        22,
    ]
    assert joined.shape == (12,) and picked.tolist() == [[0, 0, 0], [6, 8, 10]]
    assert growing(6)[0].tolist() == [6, 3, 10, 5, 16, 8, 4, 2]
    assert converted(X).dtype == np.float32 and none_at_all()[1].shape == (0, 2, 3)


def test_types_are_known():
    f = ag.function(packed)
    f(X)
    assert f.traces[0].concrete.structured_outputs[0] == ag.TensorSpec((6,), np.float64)
    assert "runtime.tensor_array" not in str(f.graph)


BAD = [
    (lambda: ag.TensorArray(size=2).write(2, 1), IndexError, "of 2 elements has none with number 2; dynamic"),
    (lambda: ag.TensorArray(size=2).write(-1, 1), IndexError, "none with number -1"),
    (lambda: ag.TensorArray(np.float64, 2, ()).write(-1, 1), IndexError, "at 0 and above"),
    (lambda: ag.TensorArray(np.float64, 2, ()).write(2, 1), IndexError, "out of bounds"),
    (lambda: ag.TensorArray(size=2).read(1), IndexError, "element 1 of the TensorArray was not written"),
    (
        lambda: ag.TensorArray(size=2).write(0, 1).stack(),
        IndexError,
        "elements [1] of the TensorArray were not",
    ),
    (lambda: ag.TensorArray(np.int64, 2).write(0, 1.5), TypeError, "are int64, not float64"),
    (lambda: ag.TensorArray(np.int64, 2).write(0, X), TypeError, "are int64, not float64"),
    (lambda: ag.TensorArray(np.int8, 2).write(0, 300), OverflowError, "300 out of bounds for int8"),
    (lambda: ag.TensorArray(np.uint8, 2, ()).write(0, -1), OverflowError, "-1 out of bounds for uint8"),
    (lambda: ag.TensorArray(np.float64, 2, (3,)).write(0, X), ValueError, "have shape (3,), not (6,)"),
    (lambda: ag.TensorArray(size=2).unstack(M), IndexError, "has none with number 2"),
    (lambda: ag.TensorArray(size=9).split(M, [1, 1]), ValueError, "2 items in all, but there are 4"),
    (lambda: ag.TensorArray(size=2).write(0, X).write(1, 1.0).stack(), ValueError, "result 1 has shape ()"),
]


@pytest.mark.parametrize("bad,kind,text", BAD, ids=[row[2] for row in BAD])
def test_what_is_refused(bad, kind, text):
    for call in (bad, ag.function(bad)):
        with pytest.raises(kind) as caught:
            call()
        assert text in str(caught.value)


def test_elements_are_copies():
    for ta in (ag.TensorArray(size=1), ag.TensorArray(np.float64, 1, (6,))):
        x = X.copy()
        ta.write(0, x)
        x[0] = 99
        found = ta.read(0)
        found[1] = 77
        assert np.array_equal(ta.read(0), X) and np.array_equal(ta.stack()[0], X)


def test_passed_and_returned():
    @ag.function
    def fill(ta, x):
        for i in range(3):
            ta = ta.write(i, x[i])
        return ta

    ta = ag.TensorArray(size=3)
    assert fill(ta, X) is ta and ta.stack().tolist() == X[:3].tolist()
    made = ag.function(lambda x: ag.TensorArray(size=2).write(0, x).write(1, x * 2))(X)
    assert type(made) is TensorArray and np.array_equal(made.stack(), [X, X * 2])
    assert repr(made) == "<TensorArray of 2 elements, any dtype, any shape>" and len(made) == 2


@pytest.mark.parametrize("options", [{}, {"dtype": np.float64}, {"dtype": np.float64, "element_shape": ()}])
def test_differentiable(options):
    def loss(x):
        ta = ag.TensorArray(size=4, **options)
        ta.write(0, x[0])
        for i in range(1, 4):
            ta.write(i, ta.read(i - 1) * x[i])
        return (ta.stack() ** 2).sum() + ta.gather([1, 1]).sum()

    x = X[:4]
    expected = [(loss(x + h) - loss(x - h)) / 2e-6 for h in np.eye(4) * 1e-6]
    for f in (loss, ag.function(loss)):
        assert np.allclose(ag.grad(f)(x), expected, rtol=1e-5)
