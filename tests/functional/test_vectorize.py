"""`ag.vectorize` beside `np.vectorize` and a plain loop over the elements: values, dtypes, structure."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

import autograph as ag
from runtime.execute.native.executor import unavailable

I8, I64, F32, F64 = (np.arange(-3, 5, dtype=d) for d in (np.int8, np.int64, np.float32, np.float64))
C128, B, TEXT = F64 + 1j * F64[::-1], I64 > 0, np.array(["a", "bc", "", "xyz"])
GRID = np.linspace(-2, 2, 12).reshape(3, 4)


def double(x):
    return x * 2


def sign(x):
    if x > 0:
        return 1.0
    if x < 0:
        return -1.0
    return 0.0


def steps(n):
    count = 0
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        count += 1
    return count


def collatz_top(n):
    top = n
    while True:
        if n <= 1:
            return top
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        if n > top:
            top = n


def newton(x, tol):
    guess = x
    for _ in range(60):
        following = 0.5 * (guess + x / guess)
        if abs(following - guess) < tol:
            return following
        guess = following
    return guess


def soft(x, y):
    if x < 0:
        return 0
    return x * y if y > 1 else x + y


def larger(a, b):
    return a if a > b else -b


def both(x):
    return x + 1, x > 0


def escape(c):
    z = 0j
    for k in range(30):
        if abs(z) > 2:
            return k
        z = z * z + c
    return 30


def whole_or_half(x):
    return x / 2 if x % 2 else x // 2


def length(s):
    return len(s)


def shout(s):
    return s.upper() + "!" if s else "nothing"


def power(x, n=2, *, scale=1):
    return x**n * scale


def table_item(i, table):
    return table[i % len(table)]


def root(x):
    return math.sqrt(x) if x >= 0 else math.nan


# function, arguments, keywords; what np.vectorize gives is right where its first element tells the dtype
SAME_AS_NUMPY = [
    (double, (I64,), {}),
    (double, (F64,), {}),
    (double, (F32,), {}),
    (double, (C128,), {}),
    (double, (GRID,), {}),
    (double, (GRID.T,), {}),
    (double, (GRID[:, ::-2],), {}),
    (double, (np.arange(6.0).astype(">f8"),), {}),
    (double, (np.float64(3.0),), {}),
    (double, (3,), {}),
    (double, (np.array(2.5),), {}),
    (double, ([1, 2, 3],), {}),
    (double, ([[1.0], [2.0]],), {}),
    (sign, (F64,), {}),
    (sign, (I64,), {}),
    (sign, (GRID,), {}),
    (steps, (np.arange(1, 40),), {}),
    (collatz_top, (np.arange(1, 40),), {}),
    (newton, (np.linspace(0.5, 9, 20), 1e-9), {}),
    (newton, (np.linspace(0.5, 9, 20)[:, None], np.array([1e-3, 1e-9])), {}),
    (larger, (I64[:, None], np.arange(3)), {}),
    (larger, (GRID, np.float64(0.5)), {}),
    (both, (F64,), {}),
    (both, (GRID,), {}),
    (escape, (GRID[:, :1] + 1j * GRID[0],), {}),
    (length, (TEXT,), {}),
    (shout, (TEXT,), {}),
    (power, (F64,), {"n": 3}),
    (power, (F64, 3), {"scale": np.array([[1.0], [2.0]])}),
    (root, (GRID,), {}),
    (np.hypot, (GRID, 1.0), {}),
    (math.gcd, (np.arange(1, 9), 12), {}),
]
EXECUTORS = ["numpy", "auto"]


@pytest.fixture(params=EXECUTORS)
def executor(request):
    before = ag.settings.executor
    ag.settings.executor = request.param
    yield request.param
    ag.settings.executor = before


def same(got, expected):
    if isinstance(expected, tuple):
        return type(got) is tuple and len(got) == len(expected) and all(map(same, got, expected))
    equal = np.array_equal(got, expected, equal_nan=expected.dtype.kind in "fc")
    return type(got) is np.ndarray and (got.dtype, got.shape) == (expected.dtype, expected.shape) and equal


@pytest.mark.parametrize("f,args,kwargs", SAME_AS_NUMPY, ids=lambda x: getattr(x, "__name__", None))
def test_same_as_numpy(f, args, kwargs, executor):
    expected = np.vectorize(f)(*args, **kwargs)
    v = ag.vectorize(f)
    assert same(v(*args, **kwargs), expected) and same(v(*args, **kwargs), expected)
    inside = ag.function(lambda *a, **k: v(*a, **k))
    assert same(inside(*args, **kwargs), expected)


def stacked(f, *args):
    wide = np.broadcast_arrays(*args)
    made = np.array([f(*each) for each in zip(*(x.ravel().tolist() for x in wide), strict=True)])
    return made.reshape(wide[0].shape)


# where np.vectorize rounds to the dtype of the first result
OF_SEVERAL_KINDS = [
    (soft, (np.array([-1.0, 2.0, 0.5]), np.array([0.5, 3.0, 0.5]))),
    (soft, (np.array([-1.0, -2.0]), 1.0)),
    (soft, (np.array([1.0, 2.0]), 1.0)),
    (whole_or_half, (np.arange(6),)),
    (whole_or_half, (np.arange(0, 6, 2),)),
    (whole_or_half, (np.arange(1, 6, 2),)),
    (lambda x: x > 0 if x > 1 else 7, (I64,)),
    (lambda x: x > 0 if x > 1 else 7, (I64[-2:],)),
]


@pytest.mark.parametrize("f,args", OF_SEVERAL_KINDS)
def test_the_dtype_holds_all_results(f, args, executor):
    expected = stacked(f, *args)
    assert same(ag.vectorize(f)(*args), expected)
    assert same(ag.function(lambda *a: ag.vectorize(f)(*a))(*args), expected)


@pytest.mark.parametrize("x", [I8, F32, np.arange(5, dtype=np.uint16)])
def test_small_dtypes_keep_their_rules(x, executor):
    got = ag.vectorize(lambda v: v * v if v > 0 else v)(x)
    assert same(got, np.array([v * v if v > 0 else v for v in x]))


EMPTY = [
    (double, F64[:0], None, np.zeros(0)),
    (steps, np.zeros((0, 3), int), None, np.zeros((0, 3), int)),
    (both, F64[:0], None, (np.zeros(0), np.zeros(0, bool))),
    (soft, np.zeros((2, 0)), None, np.zeros((2, 0))),
    (double, F64[:0], [np.float32], np.zeros(0, np.float32)),
]


@pytest.mark.parametrize("f,x,otypes,expected", EMPTY)
def test_no_elements(f, x, otypes, expected, executor):
    args = (x, 1.0) if f is soft else (x,)
    assert same(ag.vectorize(f, otypes)(*args), expected)


OTYPES = [
    (double, I64, "d"),
    (double, I64, [float]),
    (double, F64, "i"),
    (double, F64, np.float32),
    (both, F64, [np.float32, int]),
    (both, F64, "fd"),
    (length, TEXT, "O"),
    (shout, TEXT, ["U3"]),
    (double, F64, "U"),
    (double, I64, ["S"]),
    (double, F64[:0], "U"),
    (both, F64, [np.float32, "U"]),
]


@pytest.mark.parametrize("f,x,otypes", OTYPES)
def test_otypes(f, x, otypes, executor):
    wanted = [otypes] if isinstance(otypes, type) else otypes
    expected = np.vectorize(f, otypes=wanted)(x)
    assert same(ag.vectorize(f, otypes=otypes)(x), expected)


def test_excluded(executor):
    table = [3, 1, 4, 1, 5]
    for excluded, args, kwargs in [({1}, (I64, table), {}), ({"table"}, (I64,), {"table": table})]:
        expected = np.vectorize(table_item, excluded=excluded)(*args, **kwargs)
        v = ag.vectorize(table_item, excluded=excluded)
        assert same(v(*args, **kwargs), expected)
        assert same(ag.function(lambda *a, v=v, **k: v(*a, **k))(*args, **kwargs), expected)


def pair_or_number(x):
    if x > 2:
        return x
    return x, x + 1


def test_structures_that_depend_on_the_element(executor):
    for call in (ag.vectorize(pair_or_number), ag.function(lambda x: ag.vectorize(pair_or_number)(x))):
        assert same(call(F64[F64 <= 2]), (F64[F64 <= 2], F64[F64 <= 2] + 1))
        assert same(call(F64[F64 > 2]), F64[F64 > 2])
        with pytest.raises(ValueError, match="one element gives .*value"):
            call(F64)


def raising(x):
    if x > 2:
        raise ValueError(f"too large: {x}")
    return x


BAD = [
    (lambda: ag.vectorize(double)(np.ma.array([1, 2], mask=[0, 1])), TypeError, "pass np.asarray(x), or"),
    (lambda: ag.vectorize(double)(np.matrix([1, 2])), TypeError, "this is a matrix: pass np.asarray(x)"),
    (lambda: ag.vectorize(larger)(np.ones(2), np.ones(3)), ValueError, "broadcast"),
    (lambda: ag.vectorize(lambda x: None)(I64), ValueError, "results of type NoneType can't be stacked"),
    (lambda: ag.vectorize(lambda x: "a")(I64[:0]), ValueError, "pass otypes"),
    (lambda: ag.vectorize(both, otypes="d")(I64), ValueError, "otypes has 1 entries, the function returns 2"),
    (lambda: ag.vectorize(raising)(F64), ValueError, "too large: 3.0"),
    (lambda: ag.vectorize(lambda x: 1 / x)(F64), ZeroDivisionError, "division by zero"),
]


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize("bad,kind,text", BAD, ids=[row[2] for row in BAD])
def test_what_is_refused(bad, kind, text, executor):
    for call in (bad, ag.function(bad)):
        with pytest.raises(kind) as caught:
            call()
        assert text in str(caught.value)


def test_state_of_the_function_is_real(executor):
    log = []

    def noting(x):
        log.append(x)
        return len(log)

    assert ag.vectorize(noting)(I64[:3]).tolist() == [1, 2, 3] and log == [-3, -2, -1]


TABLE = np.zeros(12)


def writes_at_the_end(x):
    TABLE[11] = TABLE[11] + x
    TABLE[5] = 100.0
    return x


def writes_at(x):
    TABLE[int(x) % 12] = -1.0
    return x


def writes_through_a_look(x):
    last = TABLE[6:]
    last[int(x) % 3] = -x
    return x


@pytest.mark.parametrize("f", [writes_at_the_end, writes_at, writes_through_a_look])
def test_all_elements_are_there_before_the_first_call(f, executor):
    def fresh():
        TABLE[:] = np.arange(12.0)
        return TABLE[::-1] if f is writes_at else TABLE

    expected, after = np.vectorize(f, otypes="d")(fresh()), TABLE.copy()  # calls f no time more
    for call in (ag.vectorize(f), ag.function(lambda x: ag.vectorize(f)(x))):
        for _ in range(3):
            assert same(call(fresh()), expected) and np.array_equal(TABLE, after)


@pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
def test_one_graph_with_a_loop_that_is_native():
    before, ag.settings.executor = ag.settings.executor, "auto"
    try:
        v = ag.vectorize(steps)
        v(np.arange(1, 50))
        concrete = v._compiled.traces[0].concrete
        assert concrete.notes == () and "while" in str(concrete.graph)
        assert concrete.executor == "native", concrete.not_native
        assert concrete.native.calls == 1 and concrete.native.bails == 0
    finally:
        ag.settings.executor = before


def test_gradients():
    def loss(x, w):
        return ag.vectorize(lambda v, u: v * v * u if v > 0 else u)(x, w).sum()

    x, w = np.array([1.0, -2.0, 3.0]), np.array([[1.0], [2.0]])
    for f in (loss, ag.function(loss)):
        dx, dw = ag.grad(f, argnums=(0, 1))(x, w)
        assert np.array_equal(dx, [6.0, 0.0, 18.0]) and np.array_equal(dw, [[11.0], [11.0]])
    ag.check_grads(loss, (x, w), order=2)


def test_is_pickled_without_what_was_compiled():
    v = ag.vectorize(steps)
    v(np.arange(1, 9))
    again = pickle.loads(pickle.dumps(v))
    assert again._compiled is None and same(again(np.arange(1, 9)), v(np.arange(1, 9)))
    assert repr(v) == "<vectorized of steps>" and v.__name__ == "steps"


def test_traces_stay_few():
    v = ag.vectorize(newton)
    for n in range(2, 9):
        v(np.linspace(1, 2, n), 10.0**-n)
    assert len(v._compiled.traces) <= 3


def bent(v):
    return v * v if v > 0 else -v


def test_derivatives_of_one_argument():
    x = np.array([[1.0, -2.0, 3.0]])
    total = lambda x: ag.vectorize(bent)(x).sum()
    assert np.array_equal(ag.grad(total)(x), [[2.0, -1.0, 6.0]])
    assert ag.grad(total)(2.0) == 4.0
    assert np.array_equal(ag.hessian(total)(x[0]), np.diag([2.0, 0.0, 2.0]))


def power_of_a_number(x, n):
    return x * 2**n if isinstance(n, int) else x


def bits(x, n):
    return x * n.bit_length() + n // 2


def of_math(x, n):
    return math.sin(x) * n + float(x)


def written(x, n):
    a = np.zeros(3)
    a[n % 3] = x * n
    return a.sum()


@pytest.mark.parametrize("f", [power_of_a_number, bits, of_math, written, lambda x, n: newton(x * n, 1e-9)])
def test_what_is_followed_is_what_is_computed(f):
    x, n = np.linspace(0.5, 3.0, 6), np.arange(1, 7)
    plain = lambda x: sum(f(a, b) for a, b in zip(x, n.tolist(), strict=True))
    expected = plain(x.tolist()), ag.grad(plain)(list(x))
    total = lambda x: ag.vectorize(f)(x, n).sum()
    for call in (ag.value_and_grad(total), ag.function(lambda x: ag.value_and_grad(total)(x))):
        value, slope = call(x)
        assert np.isclose(value, expected[0], rtol=1e-13) and np.allclose(slope, expected[1], rtol=1e-12)
    v = ag.Variable(x)
    with ag.GradientTape() as tape:
        y = total(v)
    assert np.allclose(tape.gradient(y, v), expected[1], rtol=1e-12)
