"""Products of stacks of matrices with the operator after them: matrix by matrix, bit for bit NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.execute.native import linear
from runtime.execute.native.executor import NativeFunction, unavailable
from tests.execute.native.harness import both

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
RNG = np.random.default_rng(11)


def convolution(x, w):
    out = np.zeros((1, 6, 5, 3), dtype=np.float32)
    for i in range(2):
        for j in range(2):
            out = out + x[:, i : i + 6, j : j + 5, :] @ w[i, j]
    return out


def large_sums(x, w):
    out = np.zeros((2, 40, 40), dtype=np.float32)
    for i in range(2):
        out = out + x @ w[i]
    return out


def in_between(x, w):
    a = x * 2
    b = a - x @ w
    c = x @ w - b
    return a, b * 2, c


def of_itself(x, w):
    a = x + 1
    a = a + a @ w
    a = a * (a[::-1] @ w)
    return a[:1] @ w - 1, a


def seen_again(x, w):
    a = x * 3
    v = a[1:]
    b = a + x @ w
    return v + 1, b


def with_bias(x, w, b):
    y = x @ w + b
    return np.maximum(y, 0) @ w + 2, (x @ w) * b[0]


def column(x, w, b):
    return x @ w + b[:, None]


def in_loop(x, w, n):
    y = x * 0.5
    for _ in range(n):
        y = y + x @ w
        y = y * 0.5 + y @ w
    return y


def written(x, w):
    y = x + x @ w
    x[0] = 1
    y = y + x @ w
    return y


def integers(x, w):
    return x + x @ w - (x @ w)


def mixed(x, w):
    return x + x @ w, 1.5 + x @ w


def stacks(x, w):
    a = x @ w
    b = x + w @ x
    return a + b - w[:1] @ x


def refused(x, w):
    return x + x @ w[:2]


def waiting(x, w):
    a = x @ w
    b = np.tanh(a) + a
    c = w @ x
    return b + c + x[0] @ w


def stack(*shape, dtype=np.float64):
    return (RNG.standard_normal(shape) * 4).astype(dtype)


S, W = stack(4, 3, 3), stack(3, 3)
CASES: tuple[tuple[Any, list[tuple[Any, ...]], bool], ...] = (
    (convolution, [(stack(1, 7, 6, 4, dtype=np.float32), stack(2, 2, 4, 3, dtype=np.float32))], True),
    (in_between, [(S, W), (stack(2, 2, 3, 3), W)], True),
    (of_itself, [(S, W)], True),
    (seen_again, [(S, W)], True),
    (with_bias, [(S, W, W[0]), (S * np.inf, W, W[0])], True),
    (column, [(S, W, W[1])], True),
    (in_loop, [(S, W * 0.1, 4), (S, W, 0)], True),
    (written, [(S, W)], True),
    (integers, [(S.astype(int), W.astype(int)), (S.astype(np.int8), W.astype(np.int8))], True),
    (mixed, [(S.astype(np.float32), W), (S.astype(np.int32), W.astype(np.int32))], True),
    (stacks, [(S, stack(4, 3, 3)), (S, stack(2, 1, 3, 3)), (S[:1], stack(4, 3, 3))], True),
    (refused, [(S, W)], False),
    (waiting, [(S[0], W), (S, stack(4, 3, 3))], True),
)


@pytest.mark.parametrize(("function", "calls", "lowered"), CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_results_are_those_of_numpy(function, calls, lowered):
    both(function, calls, lowered=lowered)


def test_sums_of_products_take_one_array():
    made = ag.function(convolution)
    args = stack(1, 7, 6, 4, dtype=np.float32), stack(2, 2, 4, 3, dtype=np.float32)
    native = made.get_concrete_function(*args).native
    assert isinstance(native, NativeFunction)
    arrays = [native.text.count(f"call ptr @autograph_PyArray_{how}(") for how in ("Zeros", "Empty")]
    assert arrays == [1, 1]  # the sum, and room for one product


def test_what_waits_keeps_no_more_arrays_than_numpy():
    def function(x, w):
        out = np.zeros((4, 4))
        for _ in range(6):
            out = out + x @ w
        return out

    made = ag.function(function)
    native = made.get_concrete_function(stack(4, 4), stack(4, 4)).native
    assert isinstance(native, NativeFunction)
    assert native.text.count("call ptr @autograph_PyArray_Empty") <= 2


def test_a_sum_of_products_has_one_code_of_ours(monkeypatch):
    """Where the library has other threads, the product alone is the library's: ours is not tried for it."""
    found = []
    find = linear.products.find

    def noted(*args: Any, onto: str = "") -> Any:
        own = find(*args, onto=onto)
        found.append((onto, own is not None))
        return own

    monkeypatch.setattr(linear.products, "find", noted)
    x, w = RNG.normal(size=(2, 40, 30)).astype("f4"), RNG.normal(size=(2, 30, 40)).astype("f4")
    native = ag.function(large_sums).get_concrete_function(x, w).native
    assert isinstance(native, NativeFunction)
    if not any(own for _, own in found):
        pytest.skip("no code of our own here")
    assert {onto for onto, _ in found} == {"fadd"}
    assert "llvm.loop.unroll.disable" in native.text  # what is seldom run is compiled as it is
