"""Random streams: what is foretold must describe what is drawn, for every row and kind of argument."""

import random
import subprocess
import sys

import numpy as np
import pytest

import autograph as ag
from runtime.ops.draws import STREAMS, made_stream, result_type
from runtime.types import ObjectType, StaticType, describes, type_of

PARAMETERS = {
    "a": 2.0, "b": 1.5, "df": 4.0, "scale": 0.5, "dfnum": 3.0, "dfden": 4.0, "shape": 2.0, "loc": 0.5,
    "mean": 1.0, "sigma": 0.5, "nonc": 1.0, "left": 0.0, "mode": 1.0, "right": 3.0, "low": 1.0, "high": 4.0,
    "mu": 0.1, "kappa": 2.0, "n": 5, "p": 0.4, "ngood": 5, "nbad": 4, "nsample": 3, "lam": 2.0,
}  # fmt: skip
SIZES = (None, 3, (), (2, 3), (np.int64(2), 1), np.int32(2), 0)
MAKE = {
    np.random.Generator: lambda: np.random.default_rng(3),
    np.random.RandomState: lambda: np.random.RandomState(3),
    random.Random: lambda: random.Random(3),
}
CLASSES = {getattr(sys.modules[module], name): rows for module, name, rows in STREAMS}
ROWS = [(cls, name) for cls, rows in CLASSES.items() for name in rows]


def stated(value, static):
    return StaticType(value) if static and not isinstance(value, np.ndarray) else type_of(value)


def holds(cls, name, args=(), **kwargs):
    """Check the claim with static and with unknown values; whether there was one."""
    got = getattr(MAKE[cls](), name)(*args, **kwargs)
    known = False
    for static in (True, False):
        claim = result_type(
            cls,
            name,
            [stated(x, static) for x in args],
            {k: stated(x, static or x is None or isinstance(x, (type, str))) for k, x in kwargs.items()},
        )
        assert claim is None or describes(claim, got), (cls, name, args, kwargs, str(claim), type_of(got))
        known |= claim is not None
    return known


@pytest.mark.parametrize("cls,name", ROWS, ids=lambda x: getattr(x, "__name__", x))
def test_the_claim_describes_what_is_drawn(cls, name):
    row = CLASSES[cls][name]
    if row.result is not None:
        pytest.skip("has cases of its own")
    takes = [x for x in row.takes if x in PARAMETERS]
    numbers = [PARAMETERS[x] for x in takes]
    assert holds(cls, name, numbers)
    if "size" not in row.takes:
        return
    for size in SIZES:
        assert holds(cls, name, numbers, size=size)
    for change in (np.float64, np.array, lambda x: np.full(3, x), lambda x: np.full((2, 1), x)):
        changed = [change(numbers[0]), *numbers[1:]] if numbers else []
        assert holds(cls, name, changed)
        if numbers and np.ndim(changed[0]) == 0:
            holds(cls, name, changed, size=2)
    if len(numbers) > 1:
        holds(cls, name, [np.full((2, 1), numbers[0]), np.full(3, numbers[1]), *numbers[2:]])
    for dtype in (np.float32, np.float64, "f4", float) if "dtype" in row.takes else ():
        holds(cls, name, numbers, dtype=dtype)
        holds(cls, name, numbers, size=2, dtype=dtype)


GEN, OLD = np.random.Generator, np.random.RandomState
CASES = [
    *[(GEN, "integers", (5,), {"dtype": t}) for t in (int, np.int64, np.int8, np.uint64, "u2")],
    *[(GEN, "integers", (0, 2), {"dtype": t, "size": s}) for t in (int, bool, np.int8) for s in SIZES],
    *[(GEN, "integers", (5,), {"size": s}) for s in SIZES],
    (GEN, "integers", (np.arange(1, 4),), {}),
    (GEN, "integers", (np.arange(1, 4), np.array([[9], [8]])), {}),
    (GEN, "integers", (np.array(4),), {}),
    (GEN, "integers", (np.int32(4), None), {}),
    (GEN, "integers", (0, 1), {"endpoint": True}),
    *[(OLD, "randint", (5,), {"dtype": t}) for t in (int, np.int64, np.int8, np.uint16)],
    *[(OLD, "randint", (0, 2), {"dtype": t, "size": s}) for t in (int, bool, np.int8) for s in SIZES],
    (OLD, "randint", (np.arange(1, 4),), {}),
    *[(cls, "choice", (5,), {"size": s}) for cls in (GEN, OLD) for s in SIZES],
    *[(cls, "choice", (np.arange(4.0),), {"size": s}) for cls in (GEN, OLD) for s in SIZES],
    *[(cls, "choice", (np.arange(4.0),), {"p": np.full(4, 0.25)}) for cls in (GEN, OLD)],
    *[(GEN, "choice", (np.ones((3, 2)),), {"size": s}) for s in SIZES],
    (GEN, "choice", (np.ones((3, 2)),), {"axis": 1}),
    (GEN, "choice", (np.arange(3, dtype=">f8"),), {}),
    (GEN, "choice", (np.array(["a", "b"]),), {}),
    (GEN, "choice", (np.int16(4),), {}),
    *[(cls, "permutation", (x,), {}) for cls in (GEN, OLD)
      for x in (5, np.int64(5), np.int8(5), np.uint64(5), np.arange(3.0), np.ones((3, 2)))],
    *[(cls, "shuffle", (np.arange(4),), {}) for cls in (GEN, OLD)],
    (OLD, "rand", (), {}), (OLD, "rand", (2,), {}), (OLD, "rand", (2, np.int64(3)), {}),
    (OLD, "randn", (), {}), (OLD, "randn", (2, 0), {}),
    *[(random.Random, name, args, {}) for name in ("uniform", "gauss", "normalvariate", "lognormvariate",
      "gammavariate", "betavariate", "weibullvariate", "vonmisesvariate")
      for args in ((1, 2), (0.5, 2.5), (True, 1.5), (np.float64(1.0), 2.0), (np.float32(1.0), 2))],
    *[(random.Random, name, (x,), {}) for name in ("expovariate", "paretovariate")
      for x in (2, 0.5, np.float64(2.0))],
    (random.Random, "randint", (1, 6), {}), (random.Random, "randint", (np.int64(1), 6), {}),
    (random.Random, "randrange", (7,), {}), (random.Random, "randrange", (1, 9, 2), {}),
    (random.Random, "getrandbits", (9,), {}), (random.Random, "shuffle", ([1, 2],), {}),
    (GEN, "random", (), {"out": np.empty(3)}), (GEN, "standard_normal", (), {"out": np.empty(3)}),
]  # fmt: skip


@pytest.mark.parametrize("cls,name,args,kwargs", CASES)
def test_the_claim_of_a_special_case(cls, name, args, kwargs):
    holds(cls, name, args, **kwargs)


def test_what_is_not_known_for_sure_is_not_claimed():
    assert result_type(object, "random", (), {}) is None
    assert result_type(np.random.Generator, "bytes", (), {}) is None
    assert result_type(np.random.Generator, "normal", (ObjectType(),), {}) is None
    assert result_type(np.random.Generator, "random", (), {"size": ObjectType(list)}) is None
    assert result_type(np.random.Generator, "random", (), {"other": StaticType(1)}) is None
    assert made_stream(np.random.default_rng, (ObjectType(),), {}) is None
    assert made_stream(np.random.default_rng, (StaticType(3),), {}) == ObjectType(np.random.Generator)


def drawn(seed, n):
    rng = np.random.default_rng(seed)
    u = rng.random((n, 2))
    total = 0.0
    for i in range(n):
        total += u[i, 0] * rng.normal(i, 0.5) + rng.integers(3)
    order = rng.permutation(n)
    rng.shuffle(order)
    return u, total, order, rng.choice(u[:, 0], 3), rng.random()


class Sub(np.random.Generator):
    def random(self, *args, **kwargs):
        return "mine"


def given(rng, n):
    return rng.random(), rng.random(n)


def globally(n):
    np.random.seed(4)
    x = np.random.random(n)
    y = np.random.normal(0.0, 1.0, size=(n, 2))
    return x, y, np.random.rand(), np.random.randint(9), random.random() < 2.0


def same(a, b):
    assert type(a) is type(b)
    if isinstance(a, tuple):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same(x, y)
    elif isinstance(a, np.ndarray):
        assert a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a, b)
    else:
        assert a == b


def test_draws_come_in_their_order():
    g = ag.function(drawn)
    for seed, n in ((1, 5), (1, 5), (2, 40), (3, 7)):
        same(g(seed, n), drawn(seed, n))


def test_draws_of_streams_that_are_given():
    g = ag.function(given)
    makers = (np.random.default_rng, np.random.RandomState, lambda s: Sub(np.random.PCG64(s)))
    for make in (*makers, *makers):
        same(g(make(3), 4), given(make(3), 4))


def test_draws_from_the_module():
    g = ag.function(globally)
    for n in (3, 5, 6):
        same(g(n), globally(n))


def test_an_array_that_is_drawn_is_known():
    g = ag.function(drawn)
    g(1, 5)
    claims = [str(v.type) for node in g.get_concrete_function(1, 5).graph.nodes for v in node.outputs]
    assert "float64[5, 2]" in claims, claims


def test_programs_without_streams_do_not_load_them():
    code = "import sys; import runtime.ops.draws; sys.exit('numpy.random' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
