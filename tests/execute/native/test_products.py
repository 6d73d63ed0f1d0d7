"""Products of matrices by code of our own: the library's bits, or the library itself."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from runtime.execute.native import products
from runtime.execute.native.executor import unavailable
from runtime.execute.native.kinds import numpy_scalar
from tests.execute.native.harness import both, same
from tests.sharing import sharing

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
RNG = np.random.default_rng(3)
needs_own = pytest.mark.skipif(
    not products.threads_address() or "fma" not in products.host.flags(), reason="no library that is known"
)


def matrix(*shape, dtype=np.float32, special=False):
    made = RNG.standard_normal(shape).astype(dtype)
    if special:
        flat = made.reshape(-1)
        for k, x in enumerate((np.nan, np.inf, -np.inf, -0.0, 1e-42, 3e38)):
            flat[(k * 37 + 5) % flat.size] = x
    return made


S, T = matrix(3, 14, 9), matrix(3, 9, 21)


def product(a, b):
    return a @ b


def turned(a, b):
    return a.T @ b


def against_itself(a):
    return a @ a.T, a.T @ a


def rows_and_columns(a, b):
    return a[1:, 2:] @ b[2:, ::2], a[::2] @ b[:, 3:], a[::-1] @ b


def onto(a, b):
    y = a @ b
    y = y + a @ b
    y = y - a @ b
    y = (a @ b) + y
    return (a @ b) - y


def onto_stack(x, w):
    out = np.zeros((3, x.shape[1], w.shape[2]), x.dtype)
    for k in range(3):
        out = out + x @ w[k]
    return out - x @ w[0]


def into_negative_zeros(a, b):
    y = np.zeros((a.shape[0], b.shape[1]), a.dtype) * a.dtype.type(-1)
    for _ in range(3):
        y = y + a @ b
    return y


def by_batches(x, w, size):
    total = np.zeros((w.shape[1],), x.dtype)
    for j in range(0, x.shape[0], size):
        total = total + np.sum(x[j : j + size] @ w, axis=0)
    return total


def numbered_batches(x, w):
    total = np.zeros((w.shape[1],), x.dtype)
    for i in range(7):
        total += np.sum(x[i * 8 : (i + 1) * 8] @ w, axis=0)
        total += np.sum(x[i * 8 + 3 : i * 8 + 11].T @ x[i * 8 : i * 8 + 8], axis=0)[: len(total)]
    return total


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("m", "k", "n"),
    [(2, 2, 2), (3, 5, 7), (16, 16, 16), (13, 1, 13), (8, 33, 50), (31, 100, 65), (40, 784, 10),
     (2, 500, 300), (1, 9, 4), (9, 4, 1), (0, 3, 3), (3, 0, 3)],
)  # fmt: skip
def test_products_are_numpys(dtype, m, k, n):
    calls = [
        (matrix(m, k, dtype=dtype), matrix(k, n, dtype=dtype)),
        (matrix(m, k, dtype=dtype, special=m * k > 9), matrix(k, n, dtype=dtype)),
    ]
    both(product, calls)
    both(turned, [(np.ascontiguousarray(a.T), b) for a, b in calls])


@pytest.mark.parametrize(
    ("function", "calls"),
    [
        (against_itself, [(matrix(6, 9),), (matrix(8, 8),)]),
        (rows_and_columns, [(matrix(12, 20), matrix(20, 18))]),
        (onto, [(matrix(12, 20), matrix(20, 18)), (matrix(12, 20, special=True), matrix(20, 18))]),
        (onto_stack, [(S, T), (S * 1e-30, T * 1e-30)]),
        (into_negative_zeros, [(abs(matrix(4, 6)) * 1e-30, -abs(matrix(6, 16)) * 1e-30)]),
        (by_batches, [(matrix(40, 30), matrix(30, 16), 8), (matrix(43, 30), matrix(30, 16), 8)]),
        (numbered_batches, [(matrix(64, 32), matrix(32, 16)), (matrix(60, 32), matrix(32, 16))]),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)  # fmt: skip
def test_results_are_those_of_numpy(function, calls):
    both(function, calls)


def found(m, k, n, dtype=np.float32, **options):
    item = np.dtype(dtype).itemsize
    strides = [(width * item, item) for width in (k, n, n)]
    return products.find(numpy_scalar(np.dtype(dtype)), (m, k, n), *strides, **options)


@needs_own
def test_some_products_are_our_own():
    assert found(32, 64, 48) is not None and found(32, 64, 48, onto="fadd") is not None
    assert found(64, 64, 48, np.float64) is not None


@needs_own
@pytest.mark.parametrize("wrong", [(2, 46), (24, 24), (47, 1)])
def test_another_order_is_refused(monkeypatch, wrong):
    """Sums that end in other bits than the library's are never handed out."""
    products._tried.cache_clear()
    monkeypatch.setattr(products, "_candidates", lambda k: [wrong])
    assert found(33, 48, 17) is None
    products._tried.cache_clear()


@needs_own
def test_zeros_of_the_other_sign_are_refused(monkeypatch):
    """Products too small to be told from zero have the sign that they have in the library."""
    right = found(32, 64, 48)
    assert right is not None
    products._tried.cache_clear()
    monkeypatch.setattr(products.itertools, "product", lambda _, chains: [(-right.zero, x) for x in chains])
    assert found(32, 64, 48) is None
    products._tried.cache_clear()


@needs_own
def test_the_library_may_get_other_threads():
    """With another number of threads it may add up in another order; then it is asked itself."""
    name = next(
        (f"{p}openblas_set_num_threads{s}" for p in ("scipy_", "") for s in ("64_", "")
         if hasattr(ctypes.CDLL(str(products.library_path())), f"{p}openblas_set_num_threads{s}")), None
    )  # fmt: skip
    if name is None:
        pytest.skip("its threads can't be set")
    change, before = getattr(ctypes.CDLL(str(products.library_path())), name), products.threads()
    a, b = matrix(200, 784), matrix(784, 10)
    try:
        change(1)
        made = both(product, [(a, b)])
        change(2)
        assert (made(a, b) == a @ b).all()
    finally:
        change(before)


# ------------------------------------------------------------------------------------------- by threads
def cell(x, h, w, u, b):
    for t in range(len(x)):
        new = np.maximum(x[t] @ w + h @ u + b, 0.0)
        h = np.where(new > 0.5, new, h)
    return h


def stack(x, w):
    return x @ w, x[:, :5] @ w


def stack_onto(x, w):
    out = np.zeros((2, 3, x.shape[2], w.shape[2]), x.dtype)
    for k in range(2):
        out = out + x @ w[k]
    return out - x @ w[0]


def times_product(y, a, b):
    return y * (a @ b)


@needs_own
@pytest.mark.parametrize(
    ("function", "args"),
    [
        (product, (matrix(50, 150, special=True), matrix(150, 90))),  # by rows
        (product, (matrix(49, 150), matrix(150, 128))),
        (product, (matrix(600, 100), matrix(100, 10))),
        (product, (matrix(8, 300), matrix(300, 600, special=True))),  # by columns
        (product, (matrix(8, 300, dtype=np.float64), matrix(300, 603, dtype=np.float64))),
        (turned, (matrix(300, 600), matrix(300, 9))),
        (onto, (matrix(64, 100), matrix(100, 90))),
        (onto, (matrix(8, 300, special=True), matrix(300, 600))),
        (cell, (matrix(5, 32, 80), matrix(32, 220), matrix(80, 220), matrix(220, 220), matrix(220))),
        (stack, (matrix(30, 9, 12), matrix(12, 14))),
        (stack, (matrix(2, 2, 9, 12, special=True), matrix(2, 1, 12, 14))),
        (stack_onto, (matrix(2, 3, 14, 9), matrix(2, 9, 21))),
        (times_product, (matrix(7, 14, 21), matrix(7, 14, 9), matrix(9, 21))),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)  # fmt: skip
def test_threads_share_products(function, args):
    """Cut anywhere, done by any number of threads: the bits, and the warnings, of one."""
    with sharing():
        same(function, *args, all="warn")


def test_np_dot_asks_the_library_for_products_of_columns_and_rows() -> None:
    def outer(a, b):  # type: ignore[no-untyped-def]
        return np.dot(a, b) + 1

    column, row = np.array([[1.0], [2.0]]), np.full((1, 8), np.inf)
    both(outer, [(column, row), (column[:, :0], row[:0]), (np.ones((2, 3)), np.ones((3, 8)))], lowered=False)
