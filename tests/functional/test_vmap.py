"""`ag.vmap` beside the results of the items one by one, stacked: bit for bit, together or not."""

from __future__ import annotations

import math

import numpy as np
import pytest

import autograph as ag

RNG = np.random.default_rng(0)
ROWS, CUBES, W = RNG.normal(size=(7, 4)), RNG.normal(size=(7, 4, 3)), RNG.normal(size=(4, 5))
F32, INTS, SCALARS = ROWS.astype(np.float32), RNG.integers(1, 9, (7, 4)), RNG.normal(size=7)
SQUARES = RNG.normal(size=(7, 3, 3)) + 3 * np.eye(3)
INDEX, SHARED = np.arange(7) % 4, np.arange(4.0)
scale = 2.0


def arithmetic(x):
    return (x * 2 + 1) / (x - 0.5), -x, abs(x), x > 0, x**2, x**2.5


def of_scalars(x):
    return x * 2 + 1, x**3, np.exp(x), np.maximum(x, 0)


def of_ints(x):
    return x // 2, x % 3, x << 1, ~x, x & 3, x / 2, x**2, x * np.int8(2)


def broadcasting(x, w):
    return x + w[:, None], x[:, None] * x, w - x.sum(), (x * w[0]).astype(np.float32)


def reductions(x):
    return x.sum(), x.mean(), x.std(), x.max(), x.argmin(), x.prod(), (x > 0).any(), x.sum(keepdims=True)


def reductions_of_matrices(x):
    return x.sum(), x.sum(axis=0), x.sum(axis=-1), x.mean(axis=(0, 1)), x.max(axis=1, keepdims=True), x.var()


def of_turned(x):
    y = x.T + 1
    return y.sum(), y.sum(axis=0), y.reshape(-1), y[:, 1:].sum(), y.mean(axis=1), np.transpose(y).max()


def products(x, w):
    return x @ w, x @ x, w.T @ x, np.matmul(x, w), np.dot(x, w), np.outer(x, x)


def matrices(x, w):
    return x.T @ w, x.T @ x, x @ x[0], w[:3].T @ x[0], x[0] @ x.T, np.einsum("ij,ij->i", x, x)


def items(x):
    return x[0], x[-1], x[1:3], x[::-1], x[..., 0], x[None]


def picked(x, i):
    return x[i], x[i - 1], SHARED[i]


def shapes(x):
    flat = x.reshape(-1)
    return (
        flat,
        x.reshape(2, 6),
        x.ravel(),
        x.flatten(),
        x.T,
        np.transpose(x, (1, 0)),
        x.shape,
        x.size,
        x.ndim,
    )


def joins(x, w):
    return (
        np.concatenate([x, w]),
        np.stack((x, w), axis=1),
        np.array([x[0], x[1]]),
        np.concatenate((x[None], x[None]), 1),
    )


def ordered(x):
    return np.sort(x), np.argsort(x), np.cumsum(x), np.flip(x), np.where(x > 0, x, 0.0), np.clip(x, -1, 1)


def linear_algebra(m):
    return np.linalg.inv(m), np.linalg.det(m), np.linalg.solve(m, m[0]), np.linalg.norm(m), np.trace(m)


def unrolled(x):
    for _ in range(3):
        x = x * 0.5 + scale
    return x


def staged(x, w):
    h = np.zeros(4)
    for k in range(40):
        h = np.tanh(h + x * 0.1) + w[k % 4]
    return h, h.sum()


def counted(x, n):
    while n > 0:
        x = x * 0.5
        n = n - 1
    return x


def shared_branch(x, flag):
    if flag:
        y = x + 1
    else:
        y = np.zeros(4)
    return y


def tree(data):
    return {"sum": data["a"] + data["b"][0], "pair": (data["b"][1], [data["a"]])}


def constant(x):
    return 1, 2.5, np.ones(3), x


def writes(x):
    y = x.copy()
    y[0] = 7
    return y


TOGETHER = [
    (writes, (ROWS,), 0),
    (lambda x: x[[0, 2]], (ROWS,), 0),
    (arithmetic, (ROWS,), 0),
    (arithmetic, (F32,), 0),
    (of_scalars, (SCALARS,), 0),
    (of_scalars, (SCALARS.astype(np.float32),), 0),
    (of_ints, (INTS,), 0),
    (broadcasting, (ROWS, SHARED), (0, None)),
    (broadcasting, (ROWS, ROWS), 0),
    (reductions, (ROWS,), 0),
    (reductions, (F32,), 0),
    (reductions, (CUBES[:, :, 0],), 0),
    (reductions, (ROWS.T,), 1),
    (reductions_of_matrices, (CUBES,), 0),
    (of_turned, (CUBES,), 0),
    (reductions_of_matrices, (CUBES,), 1),
    (products, (ROWS, W), (0, None)),
    (matrices, (CUBES, W), (0, None)),
    (matrices, (CUBES, RNG.normal(size=(7, 4, 5))), 0),
    (items, (ROWS,), 0),
    (picked, (ROWS, INDEX), 0),
    (picked, (SHARED, INDEX), (None, 0)),
    (shapes, (CUBES,), 0),
    (joins, (ROWS, ROWS + 1), 0),
    (joins, (ROWS, SHARED), (0, None)),
    (ordered, (ROWS,), 0),
    (linear_algebra, (SQUARES,), 0),
    (unrolled, (ROWS,), 0),
    (staged, (ROWS, SHARED), (0, None)),
    (counted, (ROWS, np.int64(5)), (0, None)),
    (shared_branch, (ROWS, np.bool_(True)), (0, None)),
    (shared_branch, (ROWS, np.bool_(False)), (0, None)),
    (tree, ({"a": ROWS, "b": (ROWS, INTS)},), 0),
    (constant, (ROWS,), 0),
    (lambda x: x + SHARED, (ROWS[:0],), 0),
]


def own_branch(x):
    if x.sum() > 0:
        return x * 2
    return -x


def own_trips(n):
    count = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        count += 1
    return count


def written_in_a_loop(x):
    y = x.copy()
    for i in range(x.size * 10):
        if y[i % x.size] < 0:
            y[i % x.size] = i
    return y


def loop_with_an_effect(x):
    log = []
    for i in range(40):
        log.append(i)
        x = x * 0.5 + len(log)
    return x


def loop_of_objects(x):
    total = x * 0
    for word in "a few words of text, as many as are needed".split():
        total = total + len(word) * x
    return total


def running(x):
    total = 0.0
    for v in x:
        total = total + v
    return total


def python_floats(x):
    return math.sqrt(abs(float(x[0])))


def of_another_size_each(x):
    return x[x > 0].sum()


def up_to(n):
    return np.arange(n).sum()


ONE_BY_ONE = [
    (of_another_size_each, (ROWS,), 0),
    (up_to, (np.arange(1, 20),), 0),
    (own_branch, (ROWS,), 0),
    (own_trips, (np.arange(1, 20),), 0),
    (running, (ROWS,), 0),
    (written_in_a_loop, (ROWS,), 0),
    (loop_with_an_effect, (ROWS,), 0),
    (loop_of_objects, (ROWS,), 0),
    (python_floats, (ROWS,), 0),
]


def one_by_one(f, args, in_axes):
    axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
    first = next(x for x, a in zip(args, axes, strict=True) if a is not None)
    leaf, axis = first["a"] if isinstance(first, dict) else first, next(a for a in axes if a is not None)

    def row(x, k, a):
        if a is None:
            return x
        if isinstance(x, dict):
            return {name: row(v, k, a) for name, v in x.items()}
        if isinstance(x, tuple):
            return tuple(row(v, k, a) for v in x)
        return np.moveaxis(x, a, 0)[k]

    return [f(*(row(x, k, a) for x, a in zip(args, axes, strict=True))) for k in range(leaf.shape[axis])]


def stacked(results):
    first = results[0]
    if isinstance(first, (tuple, list)):
        return type(first)(stacked([r[k] for r in results]) for k in range(len(first)))
    if isinstance(first, dict):
        return {k: stacked([r[k] for r in results]) for k in first}
    return np.stack(results)


def same(got, expected):
    if isinstance(expected, (tuple, list)):
        return type(got) is type(expected) and len(got) == len(expected) and all(map(same, got, expected))
    if isinstance(expected, dict):
        return list(got) == list(expected) and all(same(got[k], expected[k]) for k in expected)
    return (
        got.dtype == expected.dtype
        and got.shape == expected.shape
        and np.array_equal(got, expected, equal_nan=True)
    )


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("f,args,axes", TOGETHER, ids=lambda x: getattr(x, "__name__", None))
def test_together(f, args, axes):
    v = ag.vmap(f, in_axes=axes)
    rows = one_by_one(f, args, axes)
    for call in (v, v, ag.function(lambda *a: v(*a))):
        got = call(*args)
        assert same(got, stacked(rows)) if rows else got.shape == (0, 4)
        assert v.not_together == ""
    assert v._compiled.traces[0].plain is None, v._compiled.traces[0].plain


@pytest.mark.parametrize("executor", ["numpy", "auto"])
@pytest.mark.parametrize("f,args,axes", ONE_BY_ONE, ids=lambda x: getattr(x, "__name__", None))
def test_one_by_one(f, args, axes, executor):
    before, ag.settings.executor = ag.settings.executor, executor
    try:
        v = ag.vmap(f, in_axes=axes)
        for call in (v, ag.function(lambda *a: v(*a))):
            assert same(call(*args), stacked(one_by_one(f, args, axes)))
        assert v.not_together or v._compiled.traces[0].plain or f is loop_of_objects
        wide = tuple(np.concatenate([x] * 6, axis=axes) for x in args)  # too many to unroll
        assert same(v(*wide), stacked(one_by_one(f, wide, axes)))
    finally:
        ag.settings.executor = before


def test_axes_of_trees_and_results():
    def f(data, k):
        return data["x"] * k, data["y"].sum()

    data = {"x": ROWS, "y": CUBES.transpose(1, 0, 2)}
    v = ag.vmap(f, in_axes=({"x": 0, "y": 1}, None), out_axes=(1, 0))
    scaled, sums = v(data, 2.0)
    assert np.array_equal(scaled, ROWS.T * 2) and np.array_equal(sums, [CUBES[k].sum() for k in range(7)])
    only = ag.vmap(f, in_axes=({"x": 0, "y": None}, None))({"x": ROWS, "y": SHARED}, 3.0)
    assert np.array_equal(only[1], np.full(7, SHARED.sum()))


def test_nested():
    pairs = ag.vmap(ag.vmap(lambda a, b: a @ b, in_axes=(None, 0)), in_axes=(0, None))
    expected = np.array([[a @ b for b in ROWS] for a in ROWS])
    assert np.array_equal(pairs(ROWS, ROWS), expected)
    inside = ag.function(lambda a, b: pairs(a, b))
    assert np.array_equal(inside(ROWS, ROWS), expected) and "for " not in inside.plan_source
    deep = ag.vmap(ag.vmap(ag.vmap(lambda v: v * 2 if v > 0 else v)))
    assert np.array_equal(deep(CUBES), np.where(CUBES > 0, CUBES * 2, CUBES))


def test_axes_are_those_that_were_given():
    axes, parts = [0, None], {"a": 0}
    v, of_dict = ag.vmap(lambda x, w: x * w, axes), ag.vmap(lambda d: d["a"].sum(), (parts,))
    axes[1] = parts["a"] = 1
    square = np.arange(16.0).reshape(4, 4)
    for x in (square, square.astype(np.float32)):
        assert v(x, square).shape == (4, 4, 4)
        assert np.array_equal(of_dict({"a": x}), square.sum(axis=1))


def test_sizes_may_change():
    v = ag.vmap(lambda row: row / row.sum())
    for n in range(1, 6):
        x = RNG.normal(size=(n, 4))
        assert np.array_equal(v(x), np.stack([row / row.sum() for row in x]))
    assert len(v._compiled.traces) <= 2
    some, many = ag.vmap(of_another_size_each), ag.vmap(lambda x: (np.outer(x, x), np.tile(x, 2), x[[0, 0]]))
    for n in range(2, 6):
        x = RNG.normal(size=(n, n))
        assert same(some(x), stacked([of_another_size_each(row) for row in x])) and some.not_together
        assert same(many(x), stacked([many.f(row) for row in x])) and not many.not_together
    assert ag.vmap(many.f)(x[:0])[0].shape == (0, 5, 5)
    with pytest.raises(ValueError, match="there are no items"):
        many(x[:0])  # of any sizes


def test_keywords_and_refusals():
    assert np.array_equal(ag.vmap(lambda row, k: row * k)(ROWS, k=SCALARS), ROWS * SCALARS[:, None])
    for bad, text in [
        (lambda: ag.vmap(own_branch, in_axes=(0, 0))(ROWS), "in_axes has 2 entries for 1 arguments"),
        (lambda: ag.vmap(own_branch)(2.5), "put None into in_axes"),
        (lambda: ag.vmap(broadcasting)(ROWS, ROWS[:3]), "different lengths"),
        (
            lambda: ag.vmap(tree, in_axes=({"a": 0},))({"a": ROWS, "b": (ROWS, ROWS)}),
            "axes {'a': value}",
        ),
    ]:
        with pytest.raises(ValueError, match=text):
            bad()


def test_gradients_through():
    def loss(x, w):
        return (ag.vmap(lambda row, v: np.tanh(row @ v), in_axes=(0, None))(x, w) ** 2).sum()

    def plain(x, w):
        return (np.stack([np.tanh(row @ w) for row in x]) ** 2).sum()

    expected = ag.grad(plain, argnums=1)(ROWS, W)
    for f in (loss, ag.function(loss)):
        assert np.allclose(ag.grad(f, argnums=1)(ROWS, W), expected, rtol=1e-13)
    per_example = ag.vmap(ag.grad(lambda row: (row**2).sum()))(ROWS)
    assert np.array_equal(per_example, 2 * ROWS)


COMPLEX = np.array([1.3 - 0.7j, 0.1 + 2.3j, 0.7179014421475086 - 0.06657848442724743j, 5j, np.nan - 1j] * 7)
POWERS, HALVES = np.array([-0.0, 4.0, -np.inf, np.inf, 2.0]), np.full(5, 0.5)
KINDS = [
    (lambda i: float(i), (INTS[:, 0],)),
    (lambda i: float(i) // 2, (INTS[:, 0],)),
    (lambda i: complex(i), (INTS[:, 0],)),
    (lambda x, y: y * float(x), (SCALARS, F32)),
    (lambda x: float(x) * np.float32(1.1), (SCALARS,)),
    (lambda x, y: y == float(x), (F32[:, 0] + 1e-12, F32)),
    (lambda z: (abs(z), z * z, np.square(z), z * (1 + 2j)), (COMPLEX,)),
    (lambda z, w: (z < w, z >= w), (COMPLEX, COMPLEX[::-1])),
    (lambda x, p: (x**p, np.power(x, p)), (POWERS, HALVES)),
    (lambda x, p: (x**p, np.power(x, p)), (np.stack([POWERS] * 5), HALVES)),
    (lambda x, p: np.power(x, p), (POWERS[:, None], HALVES[:, None])),
    (lambda x: np.outer(x, x).copy(order="F").sum(), (RNG.normal(size=(7, 40)),)),
]


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("f,args", KINDS)
def test_kinds_of_numbers_and_their_bits(f, args):
    expected = stacked(one_by_one(f, args, 0))
    for call in (ag.vmap(f), ag.function(lambda *a: ag.vmap(f)(*a))):
        got = call(*args)
        assert same(got, expected) and signs(got) == signs(expected)


def signs(found):
    """Which numbers are negative, zeros as well."""
    if isinstance(found, tuple):
        return tuple(map(signs, found))
    return np.signbit(np.nan_to_num(found.real)).tolist()


def test_a_branch_on_an_array_of_one_number():
    def f(x):
        with np.errstate(all="ignore"):
            y = np.sqrt(x[0]) if x > 0 else x[0]
        return y * 2

    assert same(ag.vmap(f)(ROWS[:, :1]), stacked([f(x) for x in ROWS[:, :1]]))


@pytest.mark.parametrize("f", [lambda x, w: w @ (x**2.0), lambda x, w: (x * 2) @ w, lambda x, w: x @ w])
@pytest.mark.parametrize("n", [1, 2, 9])
def test_products_of_columns(f, n):
    x, w = RNG.normal(size=(40, n)) * 3, RNG.normal(size=40)
    v = ag.vmap(f, in_axes=(-1, None))
    for _ in range(2):
        assert same(v(x, w), stacked(one_by_one(f, (x, w), (-1, None)))) and not v.not_together
