"""Picked items, matrix products, displays, other shapes, searches: native code against Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.execute.native.executor import unavailable
from runtime.types import ArrayType
from tests.execute.native.harness import both, one_node, pair

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
R = np.random.default_rng(3)
X, M, W = R.random(9), R.random((5, 4)), R.random((4, 5))
T = R.random((3, 5, 4))
I, J = np.array([0, 3, -1, 2, 2]), np.array([1, 0, 3, -4, 1])
FAR = np.array([0, 9])
B = X > 0.5


def put_twice(x: Any, i: Any, v: Any) -> Any:
    for _ in range(2):
        x[i] = v
        x[i] += 1.0
    return x


def looped(f: Callable[..., Any]) -> Callable[..., Any]:
    """The function done twice in a loop, so that there is native code for it."""

    def function(*args: Any) -> Any:
        out = f(*args)
        for k in range(2):
            if k:
                out = f(*args)
        return out

    return function


GET: list[tuple[str, Callable[..., Any], tuple[Any, ...]]] = [
    ("1d", lambda x, i: x[i] + 0.0, (X, I)),
    ("out of range", lambda x, i: x[i] + 0.0, (X, FAR)),
    ("rows", lambda x, i: x[i] + 0.0, (M, I)),
    ("pairs", lambda x, i, j: x[i, j] + 0.0, (M, I, J)),
    ("columns", lambda x, i: x[:, i] + 0.0, (M, np.array([3, 0]))),
    ("sliced", lambda x, i: x[1:4, i] + 0.0, (M, np.array([3, 0]))),
    ("number and array", lambda x, i: x[2, i] + 0.0, (M, np.array([3, 0]))),
    ("number too large, no others", lambda x, i: x[2, i] + 0.0, (M[:2].copy(), np.array([], int))),
    ("2d of indices", lambda x, i: x[i] + 0.0, (X, np.array([[0, 1], [5, -2]]))),
    ("small ints", lambda x, i: x[i] + 0.0, (X, I.astype(np.int8))),
    ("unsigned", lambda x, i: x[i] + 0.0, (X, np.array([3, 0, 8], np.uint8))),
    ("unsigned too large", lambda x, i: x[i] + 0.0, (X, np.array([3, 200], np.uint8))),
    ("unsigned of all bits", lambda x, i: x[i] + 0.0, (X, np.array([3, 2**64 - 1], np.uint64))),
    ("crossed", lambda x, i, j: x[i[:, None], j] + 0.0, (M, I, J[:3])),
    ("crossed below", lambda x, i, j: x[1:, i, j[:, None]] + 0.0, (T, I[:2], J[:3])),
    ("one for all", lambda x, i, j: x[i, j] + 0.0, (M, I, J[:1])),
    ("of other sizes", lambda x, i, j: x[i, j] + 0.0, (M, I, J[:2])),
    ("mask", lambda x, b: x[b] + 0.0, (X, B)),
    ("mask of rows", lambda x, b: x[b] + 0.0, (M, B[:5])),
    ("full mask", lambda x: x[x > 0.3] + 0.0, (M,)),
    ("no mask", lambda x: x[x > 3.0] + 0.0, (M,)),
    ("mask of another size", lambda x, b: x[b] + 0.0, (X, B[:3])),
    ("matmul", lambda a, b: a @ b, (M, W)),
    ("matmul vectors", lambda a, b: a @ b, (X, X)),
    ("matrix vector", lambda a, b: a @ b, (M, M[0])),
    ("vector matrix", lambda a, b: a @ b, (M[:, 0].copy(), M)),
    ("transposed", lambda a: a.T @ a, (M,)),
    ("transposed right", lambda a: a @ a.T, (M,)),
    ("stack of matrices", lambda a, b: a @ b, (T, W)),
    ("both stacks", lambda a: a @ a.transpose(0, 2, 1), (T,)),
    ("strided", lambda a: a[::2] @ a[::2].T, (M,)),
    ("ints", lambda a: a @ a.T, (np.arange(12).reshape(3, 4),)),
    ("mixed", lambda a, b: a @ b, (M, np.arange(4))),
    ("does not fit", lambda a: a @ a, (M,)),
    ("empty", lambda a: a[:, :0] @ a[:0], (M[:4, :4].copy(),)),
    ("dot", lambda a, b: np.dot(a, b), (M, W)),
    ("dot vectors", lambda a: a.dot(a), (X,)),
    ("single", lambda a: a @ a.T, (M.astype("f"),)),
    ("outer", lambda a, b: np.outer(a, b) + 0.0, (X, M[0])),
    ("array", lambda x: np.array([x[0], 1, 2.5]), (X,)),
    ("array of rows", lambda x: np.array([[x[0], 1], [2, x[1]]]), (X,)),
    ("array of arrays", lambda x: np.array([x + 1.0, x]), (X,)),
    ("arange", lambda n: np.arange(n) * 2, (7,)),
    ("arange from", lambda n: np.arange(2, n, 3) + 0, (12,)),
    ("arange of nothing", lambda n: np.arange(n) * 2, (-7,)),
    ("arange float", lambda n: np.arange(n, dtype=float) / 2, (7,)),
    ("eye", lambda n: np.eye(n) * 3.0, (4,)),
    ("reshape", lambda x: x.reshape(2, 10) + 0.0, (M,)),
    ("reshape open", lambda x, n: x.reshape((-1, n)) + 0.0, (M, 2)),
    ("reshape wrong", lambda x, n: x.reshape((-1, n)) + 0.0, (M, 3)),
    ("ravel", lambda x: x.ravel() * 2.0, (M,)),
    ("transpose axes", lambda x: x.transpose(1, 0, 2) * 2.0, (T,)),
    ("concatenate", lambda x, y: np.concatenate((x, y, x)), (X, M[0])),
    ("norm", lambda x: np.linalg.norm(x) * 2.0, (X,)),
    ("norm of a matrix", lambda x: np.linalg.norm(x) * 2, (M.astype("f"),)),
    ("norm of a view", lambda x: np.linalg.norm(x[:, 0]) + np.linalg.norm(x[1]), (M,)),
    ("contiguous", lambda x: np.ascontiguousarray(x.T) + np.ascontiguousarray(x).T, (M,)),
    ("stack", lambda x: np.stack((x, x + 1.0)), (X,)),
]
COUNTED = np.array([3, 0, 3, 5, 1])
for _name, _args in (
    ("counts", (COUNTED,)), ("at least", (COUNTED, None, 9)), ("weights", (COUNTED, X[:5])),
    ("weights of ints", (COUNTED, COUNTED, 2)), ("too few weights", (COUNTED, X[:4])),
    ("bytes", (COUNTED.astype(np.uint8),)), ("negative", (COUNTED - 1,)), ("nothing", (COUNTED[:0], None, 3)),
    ("less than nothing", (COUNTED, None, -1)), ("backwards", (COUNTED[::-1], X[:5])), ("floats", (X,)),
    ("long unsigned", (COUNTED.astype(np.uint64),)),
):  # fmt: skip
    GET.append((f"bincount {_name}", lambda *args: np.bincount(*args) + 0, _args))
SORTED = np.sort(R.random(12))
for _name, _at in (("below", -1.0), ("inside", 0.5), ("equal", SORTED[4]), ("above", 2.0), ("nan", np.nan)):
    for _side in ("left", "right"):
        GET.append((f"search {_name} {_side}", lambda a, v, s: np.searchsorted(a, v[0], side=s) * 2,
                    (SORTED, np.array([_at]), _side)))  # fmt: skip
GET.append(("search ints", lambda a, v: np.searchsorted(a, v[0]) + a.searchsorted(v[1]), (
    np.arange(0, 20, 3), np.array([9, 100]))))  # fmt: skip
GET.append(("search with nan", lambda a, v: np.searchsorted(a, v[0]) + np.searchsorted(a, v[1]), (
    np.array([0.5, 1.0, np.nan]), np.array([np.nan, 3.0]))))  # fmt: skip
PUT: list[tuple[str, tuple[Any, ...]]] = [
    ("1d number", (X, I, 3.0)),
    ("1d array", (X, I, R.random(5))),
    ("broadcast", (M, I, R.random(4))),
    ("rows", (M, I, R.random((5, 4)))),
    ("itself", (X, np.array([3, 2, 1]), X[:3])),
    ("mask number", (X, B, 1.0)),
    ("mask array", (X, B, R.random(int(B.sum())))),
    ("mask wrong", (X, B, R.random(2))),
    ("mask of rows", (M, B[:5], 2.0)),
    ("out of range", (X, FAR, 1.0)),
    ("ints", (np.arange(9), I, 7)),
    ("floats into ints", (np.arange(9), I, 7.9)),
]


@pytest.mark.parametrize(("function", "args"), [g[1:] for g in GET], ids=[g[0] for g in GET])
def test_get(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    both(looped(function), [args, args], lowered=False)


@pytest.mark.parametrize("args", [p[1] for p in PUT], ids=[p[0] for p in PUT])
def test_put(args: tuple[Any, ...]) -> None:
    both(put_twice, [args, args], lowered=False)


def test_a_product_of_two_numbers_may_be_negative_zero() -> None:
    two = pair(one_node("np.dot", [ArrayType(np.dtype(float), (None,))] * 2))
    two.check((np.array([-1.0]), np.array([0.0])))
    assert two.handed_back == 1
    two.check((np.array([-1.0, -1.0]), np.array([0.0, 0.0])))
    assert two.handed_back == 1


def test_running_sums_of_arrays_without_axes() -> None:
    both(looped(lambda x: np.cumsum(x) + 0.0), [(np.array(3.0),)], lowered=False)


def through_itself(x: Any, value: Any) -> Any:
    for _ in range(2):
        x[x] = value
    return x


def behind_itself(b: Any, value: Any) -> Any:
    behind = b[1:]
    for _ in range(2):
        behind[b[:-1]] = value
    return b


ITSELF = (
    (through_itself, (np.array([2, 0, 3, 1]), 3)),
    (through_itself, (np.array([2, 0, 3, 1]), np.array([1, 2, 0, 3]))),
    (through_itself, (np.array([True, False, True]), False)),
    (behind_itself, (np.array([True, False, False, True, False]), True)),
    # a view: NumPy reads the mask as it is overwritten here, and then what lies behind the values
    (behind_itself, (np.array([True, False, False, True, False]), np.array([True, False, False])[:2])),
)


@pytest.mark.parametrize(("function", "args"), ITSELF)
def test_the_key_lies_in_what_is_written(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    """NumPy takes the key as it was; 2.0 goes on reading it (docs/differences.md, point 3)."""
    x = np.array([2, 0, 3, 1])
    x[x] = 3
    if x.tolist() != [3, 3, 3, 3]:
        pytest.skip("this NumPy reads keys that it has overwritten")
    both(function, [args, args])


def add_at(h: Any, i: Any, w: Any) -> Any:
    np.add.at(h, i, w)
    return h.sum()


def several_at(h: Any, i: Any, w: Any) -> Any:
    np.add.at(h, i, 1)
    np.subtract.at(h, (i,), w * 2)
    np.maximum.at(h, i, w)
    return h


def through_its_own_items(h: Any, i: Any, w: Any) -> Any:
    np.add.at(h, i, h[i])
    np.multiply.at(h, i % 2, w)
    return h


def by_two_keys(h: Any, i: Any, w: Any) -> Any:
    out = np.zeros((5, 5), h.dtype)
    for k in range(20):
        np.add.at(out, (i % 5, (i + k) % 5), w)
    return out


@pytest.mark.parametrize("function", (add_at, several_at, through_its_own_items, by_two_keys))
@pytest.mark.parametrize("dtype", ("f8", "f4", "i8", "i1"))
def test_at(function: Callable[..., Any], dtype: str) -> None:
    """Items picked several times are changed as often; indices out of range, read-only arrays, overflow."""
    i, (h, w) = R.integers(-7, 7, 30), ((R.random(n) * 9).astype(dtype) for n in (7, 30))
    with np.errstate(over="ignore"):
        large = h * h.dtype.type(100)
    calls = [(h, i, w), (h, i[:0], w[:0]), (large, i, w), (h.copy(), i + 1, w), (h[::-1], i, w)]
    both(function, calls[:3])
    both(
        function, [*calls, (h, i, w.astype(np.float32)), (h, i, 1), (h, i.astype(np.uint8), w)], lowered=False
    )
    h.flags.writeable = False
    both(function, [(h, i, w)], lowered=False)


@pytest.mark.parametrize("dtype", ("f8", "f4"))
def test_at_warns_of_nan(dtype: str) -> None:
    i, h, w = R.integers(-7, 7, 30), R.random(7).astype(dtype), R.random(30).astype(dtype)
    w[3] = np.nan
    for ufunc in (np.maximum, np.minimum, np.add):
        both(lambda h, i, w, ufunc=ufunc: ufunc.at(h, i, w), [(h, i, w), (h, i, w[::-1])], lowered=False)


def multiplied_at(h: Any, i: Any, w: Any) -> Any:
    np.multiply.at(h, i, w)
    return h.sum()


@pytest.mark.parametrize("function", (add_at, multiplied_at))
@pytest.mark.parametrize("dtype", ("u8", "u4", "i8", "i1", "f8", "f4"))
@pytest.mark.parametrize("number", (3, -2, 0.5, 0.1, True))
def test_a_number_at_items_of_another_dtype(function: Callable[..., Any], dtype: str, number: Any) -> None:
    """NumPy takes it as an array of its own dtype: items are changed in the common one, then cast."""
    h = np.arange(-30, 30).astype(dtype)
    h[::3] //= h.dtype.type(2 if dtype != "u8" else 1)  # large numbers that float64 does not hold
    both(function, [(h, np.arange(60), number)], lowered=False)
    both(lambda h, i: function(h, i, number), [(h, np.arange(60))], lowered=False)


def swapped(a: Any, n: int) -> Any:
    for i in range(n):
        p = i % 3 + np.argmax(a[i % 3 :, 0])
        if p != i:
            a[[i % 4, p]] = a[[p, i % 4]]
    return a


def by_displays(a: Any, n: int) -> Any:
    return a[[0, 2]] * 2, a[[1, 0, n], [0, 1, 2]], a[1:, [0, n]].copy(), a[[n]]


def by_a_list_that_changes(a: Any, n: int) -> Any:
    held = [0, 1]
    for _ in range(n):
        held[0] = (held[0] + 1) % 3
        a[held] += 1
    return a[held], held


def by_a_list_that_grew(a: Any, n: int) -> Any:
    held = []
    for k in range(n):
        held.append(k % 4)
    return a[held] + 1.0


def by_flags(a: Any, n: int) -> Any:
    return a[[True, False, True, n > 1]] + 1.0


def by_a_huge_int(a: Any, n: int) -> Any:
    return a[[n, 10**20]]


def by_unsigned_and_signed(a: Any, n: int) -> Any:
    return a[[np.uint64(1), n]]


@pytest.mark.parametrize(
    ("function", "lowered"),
    [(swapped, True), (by_displays, True), (by_a_list_that_changes, True), (by_a_list_that_grew, True),
     (by_flags, True), (by_a_huge_int, False), (by_unsigned_and_signed, False)],
)  # fmt: skip
def test_lists_as_keys(function: Callable[..., Any], lowered: bool) -> None:
    both(function, [(R.random((4, 4)), n) for n in (0, 1, 2, 3, 20, -1)], lowered=lowered)


def test_what_a_list_of_ints_picks_has_a_type() -> None:
    f = ag.function(by_displays)
    f(R.random((4, 4)), 1)
    f(R.random((4, 4)), 2)
    concrete = f.traces[-1].concrete
    assert concrete is not None
    assert str(concrete.graph.results[0].type) == "(float64[2, 4], float64[3], float64[3, 2], float64[1, 4])"


def spaced(a: Any, b: Any, s: Any) -> Any:
    total = np.arange(a, b, s) * 1.0
    for k in range(20):
        down, up, by_two = np.arange(k, b, -0.5), np.arange(b, k, s), np.arange(a, k, 2)
    return total, down, up, by_two, np.arange(b) + 0.5, np.arange(a, b) * 2.0


SPACES: list[tuple[float, ...]] = [
    (0.0, 1.0, 0.1), (1.0, 0.0, -0.3), (0.0, 0.0, 1.0), (-0.0, 2.0, 1.0), (5.0, 1.0, 1.0), (1e-20, 1.0, 0.25),
    (0.0, 1.0, float("nan")), (0.0, float("inf"), 1.0), (0.0, 1.0, 0.0), (1.0, 1.0, 0.0), (0.1, 0.7, 0.2),
    (0.0, 5e-324, 1e300), (0.0, -5e-324, 1e300), (1e300, -1e300, -1e299), (1e17, 1e17 + 50, 3.0),
]  # fmt: skip


def test_ranges_of_floats() -> None:
    """Also where there is nothing, where NumPy refuses, where floats lie far apart, of ints and floats."""
    mixed: list[tuple[Any, ...]] = [(0, 1.5, 1), (3, 7, 0.5), (0.5, 7, 2), (0, 10, 2.5), (-3, 3, 0.7)]
    far = [(2**53, 2.0**53 + 9, 3)]
    for calls in (SPACES, [tuple(map(np.float64, c)) for c in SPACES], mixed, far):
        both(spaced, calls, all="warn")
