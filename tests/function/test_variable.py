"""Variables: arrays with a place of their own, eagerly and in functions, in order with other effects."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import autograph as ag

V = ag.Variable(np.zeros(3))
N = ag.Variable(0)


def reset():
    V.assign(np.zeros(3))
    N.assign(0)


def accumulate(x):
    V.assign(V.value + x)
    return V + 1, np.sin(V), V.value.sum()


def in_order(x):
    before = V.value
    V.assign_add(x)
    print("after", V[0])
    V.assign_sub(x / 2)
    V[1] = 7
    return before, V.value, V[1]


def operators(x):
    return (
        V + x,
        x - V,
        V @ x,
        -V,
        V**2,
        V > x,
        V == x,
        abs(V),
        V[0] // 2,
        V.sum(),
        V.shape,
        V.dtype,
        len(V),
        np.stack([V, x]),
        np.concatenate((V, V)),
        np.dot(V, x),
        np.where(V > 0, V, x),
        list(V),
        float(V[0]),
        V.T.shape,
        np.asarray(V) + 1,
        np.sum(V),
        1.0 in V,
        V.mean(axis=0),
        np.maximum(V, x),
        sum(V),
    )


def loops(n):
    i = 0
    while i < n:
        if V[0] > 3:
            V[0] = 0
        V.assign_add(np.ones(3))
        N.assign_add(i)
        i += 1
    for v in V:
        N.assign_add(int(v))
    return i


def augmented(x):
    global V
    V += x
    V *= 2
    V -= 1
    V /= 2
    return V.value


def conditions(x):
    if N:
        N.assign(0)
        return "was"
    N.assign(1)
    return x + N


def passed(v, x):
    v.assign_add(x)
    w = v
    w[0] = 5
    v.assign(v * 2)
    return w.value, v is w


PROGRAMS = [
    (accumulate, (np.ones(3),)),
    (in_order, (np.arange(3.0),)),
    (operators, (np.arange(3.0),)),
    (loops, (np.int64(6),)),
    (loops, (4,)),
    (augmented, (np.ones(3),)),
    (conditions, (np.float64(2.0),)),
]


@pytest.mark.parametrize("program,args", PROGRAMS, ids=[f"{p.__name__}-{type(a[0])}" for p, a in PROGRAMS])
def test_same_in_functions_as_eagerly(program, args, capsys):
    outcomes = []
    for f in (program, ag.function(program)):
        reset()
        V.assign(np.array([1.0, 2.0, 3.0]))
        got = [f(*args) for _ in range(3)]
        outcomes.append((repr(got), repr(V), repr(N), capsys.readouterr().out))
        if f is not program:
            assert f.traces[0].plain is None, f.traces[0].plain
    assert outcomes[0] == outcomes[1]


def test_types_stay_known():
    f = ag.function(accumulate)
    reset()
    f(np.ones(3))
    f(np.ones(3))
    concrete = f.traces[0].concrete
    assert len(f.traces) == 1 and not concrete.notes
    assert concrete.structured_outputs == (
        ag.TensorSpec((3,), np.float64),
        ag.TensorSpec((3,), np.float64),
        ag.TensorSpec((), np.float64),
    )
    assert "Variable" not in str(concrete.notes)


def test_as_argument_and_captured():
    def closure():
        inner = ag.Variable(np.ones(2))
        return inner, ag.function(lambda x: inner.assign_add(x).value * 1)

    v = ag.Variable(np.ones(3))
    f = ag.function(passed)
    for _ in range(2):
        value, same = f(v, np.ones(3))
        assert same
    assert list(v.value) == [10, 10, 10]
    inner, g = closure()
    assert list(g(np.ones(2))) == [2, 2] and list(g(np.ones(2))) == [3, 3] and list(inner.value) == [3, 3]


def test_changes_are_seen_by_calls_and_concrete_functions():
    v = ag.Variable(2.0)
    f = ag.function(lambda x: x * v)
    concrete = f.get_concrete_function(np.float64(1.0))
    assert f(np.float64(3.0)) == 6 and concrete(np.float64(3.0)) == 6
    v.assign(5)
    assert f(np.float64(3.0)) == 15 and concrete(np.float64(3.0)) == 15 and len(f.traces) == 1


def test_what_was_read_stays():
    v = ag.Variable([1, 2])
    old = v.value
    v.assign([3, 4])
    v += 1
    assert list(old) == [1, 2] and list(v) == [4, 5]
    v[0] = 9  # into the array that is there, as for any array
    assert v.value[0] == 9
    source = np.array([7, 7])
    v.assign(source)
    source[0] = 0
    assert list(v) == [7, 7]


BAD = [
    (lambda: ag.Variable([1.0, 2]).assign([1, 2, 3]), "holds arrays of shape (2,), not (3,)"),
    (lambda: ag.Variable([1, 2]).assign([0.5, 1]), "holds int64, not float64"),
    (lambda: ag.Variable(1, name="n").assign(0.5), "the Variable 'n' holds int64, not a Python float"),
    (lambda: ag.Variable([1, 2]).assign_add(0.5), "holds int64, not float64"),
    (
        lambda: ag.Variable(np.zeros((2, 3)), shape=(None, 3)).assign(np.zeros((2, 4))),
        "(None, 3), not (2, 4)",
    ),
    (lambda: ag.Variable(np.zeros(2), shape=(3,)), "of shape (3,), not (2,)"),
]


@pytest.mark.parametrize("bad,text", BAD, ids=[row[1] for row in BAD])
def test_what_does_not_fit(bad, text):
    with pytest.raises(ag.VariableError) as caught:
        bad()
    assert text in caught.value.what and caught.value.fix and isinstance(caught.value, ValueError)


def test_shape_and_dtype_as_fixed():
    v = ag.Variable(np.zeros((2, 3)), shape=(None, 3), dtype="f4")
    assert v.assign(np.zeros((5, 3))).shape == (5, 3) and v.dtype == np.float32
    w = ag.Variable(1, shape=None)
    f = ag.function(lambda: w.value + 1)
    for new in (1, [1, 2], [[1]], 5):
        w.assign(new)
        assert np.array_equal(f(), np.array(new) + 1)
    assert ag.Variable(np.uint8(200)).assign(255).value == 255


class Counter:
    def __init__(self):
        self.v = None

    @ag.function
    def step(self, x):
        if self.v is None:
            self.v = ag.Variable(x)
        self.v.assign_add(1)
        return self.v.value


def test_made_on_the_first_call_only():
    a, b = Counter(), Counter()
    assert [float(a.step(np.float64(0.0))) for _ in range(3)] == [1, 2, 3]
    assert [float(b.step(np.float64(5.0))) for _ in range(2)] == [6, 7]


def test_made_again():
    def helper(x):
        return ag.Variable(x)

    def at_once(x):
        return ag.Variable(x).assign_add(1).value

    def inside(x):
        return helper(x).value

    for make in (at_once, inside):
        f = ag.function(make)
        assert list(f(np.ones(2))) == list(make(np.ones(2)))
        with pytest.raises(ag.VariableError, match="in another trace than its first") as caught:
            f(np.ones(2, int))
        assert "__init__" in caught.value.fix and caught.value.span.file == __file__


def test_copies_and_pickles():
    v = ag.Variable(np.arange(3.0), name="w")
    for made in (copy.deepcopy(v), pickle.loads(pickle.dumps(v))):
        made.assign_add(1)
        assert list(made) == [1, 2, 3] and made.name == "w"
    assert list(v) == [0, 1, 2]
    assert repr(v) == "Variable([0., 1., 2.], dtype=float64, name='w')"
    assert len({v, v}) == 1 and f"{ag.Variable(2.5):.2f}" == "2.50"
