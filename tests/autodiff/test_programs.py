"""Derivatives of whole programs: writes, views, containers, control flow; finite differences judge."""

from __future__ import annotations

import copy
import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograph as ag

A = np.array([0.5, -1.25, 2.0])
M = np.array([[0.5, 1.5, -0.25], [2.0, -1.0, 0.75]])
SCALE = np.array([1.0, 2.0, 3.0])


def difference(f: Callable[..., Any], x: Any, eps: float = 1e-4) -> Any:
    x = np.asarray(x, dtype=float)
    out = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        found = []
        for step in (eps, eps / 2):
            up, down = x.copy(), x.copy()
            up[at] += step
            down[at] -= step
            found.append((float(f(up)) - float(f(down))) / (2 * step))
        out[at] = (4 * found[1] - found[0]) / 3
    return out


def write_scalar(x: Any) -> Any:
    s = np.zeros((3, 3))
    for i in range(3):
        s[i, 1] = x[0] * i
        s[i, i] += x[i] * x[2]
    return (s * s).sum()


def overwrite_after_use(x: Any) -> Any:
    y = x * x
    x[:] = 100.0
    z = y * 3.0
    y[0] = 0.0
    return z.sum() + (y * y).sum() + x.sum()


def write_by_position(x: Any) -> Any:
    y, z = np.zeros(3), np.zeros(3)
    np.dot(SCALE * np.ones((3, 3)), x, y)
    parts = np.modf(x * 0.3, None, z)
    np.cumsum(y * x, 0, None, y)
    return (y * x).sum() + (parts[0] * x).sum() + z.sum()


def write_what_lists_hold(x: Any) -> Any:
    y, held, total = x * 1.0, [], 0.0
    for k in range(20):
        held.append(y)
        if k % 2:
            held.append(y[::-1])
    y[1:] *= 3.0
    for item in held:
        total += (item * x).sum()
    return total


def write_under_wider_view(x: Any) -> Any:
    y = np.zeros(4)
    y[1:] = x * 2
    wide = np.broadcast_to(y, (3, 4))
    y[0] = x[1]
    y[1:3] *= np.outer(y, x).sum(0)[1]
    return (wide * wide * np.arange(12.0).reshape(3, 4)).sum() + np.broadcast_to(y[:, None], (4, 2))[1, 1]


def write_under_diagonal(x: Any) -> Any:
    m = np.zeros((3, 3))
    m[0] = x * x
    d = np.diagonal(m)
    m[1, 1] = x[2] * x[0]
    return (d * d * SCALE).sum() + m.diagonal(1)[0]


def write_through_looks_of_functions(x: Any) -> Any:
    m = np.ones((3, 3)) * x
    np.einsum("ij->ji", m)[0] = x * 2
    v = np.array(m, copy=None)
    v[1] *= x
    w = np.trim_zeros(m[2])
    w += np.diff(m[0], 0) * 0.5
    np.diff(m[0], n=0)[1] = x[2]
    np.real_if_close(m)[2, 2] *= 3.0
    m.astype(float, copy=False)[0, 0] = x[1]
    wide, _ = np.broadcast_arrays(m[0], m)
    m[0, 2] = x[0]
    spread = np.einsum("ii->i", m)
    m[1, 1] = x[0]
    m[1:].flat = x
    return (m * np.arange(9.0).reshape(3, 3)).sum() + (wide * m).sum() + (spread * spread).sum()


def ufuncs_reduce_and_accumulate(x: Any) -> Any:
    m = np.outer(x, x + 2)
    found = np.maximum.reduce(m, 0, None, None, True).sum() + np.add.reduce(m, 1, None, None, True)[0, 0]
    return found + (np.add.accumulate(m, 1) * np.multiply.accumulate(m)).sum()


def write_through_view(x: Any) -> Any:
    y = x * 2
    v = y[1:]
    v *= y[:-1]
    return (y * y).sum() + v.sum()


def view_sees_base(x: Any) -> Any:
    y = x * 1.0
    v = y[::2]
    y[0] = y[1] * 3
    return (v * v).sum()


def view_of_view(x: Any) -> Any:
    y = (x * x).copy()
    v = y[::-1][1:]
    v[0] = x[0] * 5
    v += 1.0
    return (y * np.arange(1.0, 4.0)).sum()


def transposed_view(x: Any) -> Any:
    m = np.outer(x, x + 1)
    t = m.T
    t[0] = x * 2
    t[:, 1] *= m[2]
    return (m * np.arange(9.0).reshape(3, 3)).sum()


def reshaped_view(x: Any) -> Any:
    m = np.zeros((3, 2))
    flat = m.reshape(-1)
    flat[1::2] = x
    flat[0] = x[0] * x[1]
    return (m**2 * np.arange(6.0).reshape(3, 2)).sum()


def reshaped_fortran(x: Any) -> Any:
    m = np.outer(x, x).T
    flat = m.reshape(-1, order="F")
    flat[2:5] *= 3.0
    return (m * np.arange(9.0).reshape(3, 3)).sum()


def rows_as_views(x: Any) -> Any:
    m = np.ones((3, 3))
    for i, row in enumerate(m):
        row[:] = x * (i + 1)
        row[i] *= x[0]
    return (m * m).sum()


def mask_write(x: Any) -> Any:
    y = x * x
    y[y > 1.0] = x[0]
    y[x < 0] += 2.0 * x[2]
    return (y * SCALE).sum()


def repeated_index_write(x: Any) -> Any:
    y = np.zeros(3)
    y[[0, 0, 1]] = x
    y[[1, 1]] += x[0]
    return (y * SCALE).sum()


def add_at(x: Any) -> Any:
    y = np.zeros(2)
    np.add.at(y, [0, 0, 1], x)
    return (y * y).sum()


def broadcast_write(x: Any) -> Any:
    m = np.zeros((2, 3))
    m[...] = x
    m[:, 1] = x[0]
    m[1] /= 1 + x * x
    return (m**3).sum()


def out_argument(x: Any) -> Any:
    y = np.empty(3)
    np.multiply(x, x, out=y)
    np.add(y, x, out=y)
    np.exp(y, out=y, where=y < 1)
    return y.sum()


def part_writes(x: Any) -> Any:
    y = np.zeros(3)
    np.copyto(y, x * 2, where=np.array([True, False, True]))
    np.put(y, [1], x[0] * 3)
    m = np.zeros((3, 3))
    np.fill_diagonal(m, y)
    np.put_along_axis(m, np.array([[1], [2], [0]]), x[:, None], 1)
    return (m * m).sum()


def sorted_in_place(x: Any) -> Any:
    y = x * x
    y.sort()
    z = x.copy()
    z.fill(x[1])
    return (y * SCALE).sum() + (z * x).sum()


def write_real_part(x: Any) -> Any:
    z = x * (1 + 2j)
    z.real = x * x
    return np.abs(z).sum()


def append_and_stack(x: Any) -> Any:
    parts = []
    for v in x:
        if v > 0:
            parts.append(v * v)
        else:
            parts.append(v)
    return (np.array(parts) * np.stack(parts)).sum()


def nested_displays(x: Any) -> Any:
    m = np.array([[x[0], 1.0], [x[1] * 2, x[2]]])
    return np.linalg.det(m + np.eye(2) * 3)


def dictionary(x: Any) -> Any:
    d = {"a": x[0], "b": x[1:]}
    d["a"] = d["a"] * 3
    d["c"] = d["b"].sum()
    return sum(np.sum(v * v) for v in d.values())


@dataclasses.dataclass
class Layer:
    w: Any
    b: Any

    def __call__(self, x: Any) -> Any:
        return np.tanh(self.w * x + self.b)

    def scale(self, k: Any) -> None:
        self.w = self.w * k


def objects(x: Any) -> Any:
    layer = Layer(x[:2], x[2])
    layer.scale(x[0])
    return layer(np.array([1.0, 2.0])).sum()


def python_numbers(x: Any) -> Any:
    a, b, c = float(x[0]), x[1].item(), x.tolist()[2]
    return math.sin(a) * math.exp(b) + math.hypot(a, c) + math.log(c, 3) + abs(b) ** 1.5 + math.atan2(a, c)


def newton(x: Any) -> Any:
    y = 1.0
    while abs(y * y - x[2]) > 1e-12:
        y = y - (y * y - x[2]) / (2 * y)
    return y


def early_exit(x: Any) -> Any:
    total = 0.0
    for i in range(100):
        if i == 4:
            continue
        total += x[i % 3] ** 2 / (i + 1)
        if total > 5.0:
            return total * x[0]
    else:
        total = total * x[1]
    return total


def exceptions(x: Any) -> Any:
    total = x[0]
    for i in range(5):
        try:
            total = total + x[i] * x[i]
        except IndexError:
            total = total * 2
    return total


def closure(x: Any) -> Any:
    k = x[0]

    def bump(v: Any) -> Any:
        nonlocal k
        k = k * v
        return k

    return bump(x[1]) + bump(x[2]) * k


def recursion(x: Any) -> Any:
    def power(v: Any, n: int) -> Any:
        return 1.0 if n == 0 else v * power(v, n - 1)

    return power(x[0], 3) + power(x[1], 2)


def higher_functions(x: Any) -> Any:
    return functools.reduce(lambda a, b: a * b + 1, x, 1.0) + sum(map(lambda v: v * v, x)) + max(x) * min(x)


def comprehension(x: Any) -> Any:
    return sum([v * w for v in x for w in x if v > w])


def lists_of_numbers(x: Any) -> Any:
    out = []
    for v in x:
        out.append(v * v)
    parts = [v * 2 for v in x]
    assert type(parts) is list
    mixed = np.sum([x[0], x[1] * 2]) + np.exp([x[1], 0.0]).sum() + np.max([x[0], x[2]])
    return np.mean(out) + np.sum(parts) * mixed + (SCALE * out).sum() + np.dot(parts, [1.0, 2.0, 3.0])


def least_squares(x: Any) -> Any:
    a = np.vander(np.arange(4.0), 2) * x[0] + np.outer(np.arange(4.0), x[1:])
    solution, residuals, _, _ = np.linalg.lstsq(a, np.array([1.0, 2.0, 0.5, 3.0]), rcond=None)
    return (solution**2).sum() + residuals[0] + np.polyfit(np.arange(3.0), x * x, 1)[0]


def adaptive_ode(x: Any) -> Any:
    y, t, h = np.array([1.0, 0.5]), 0.0, 0.2
    while t < 1.0:
        h = min(h, 1.0 - t)
        k1 = np.array([y[1], -(x[2] ** 2) * y[0] - 0.3 * x[0] * y[1]])
        mid = y + h * k1
        k2 = np.array([mid[1], -(x[2] ** 2) * mid[0] - 0.3 * x[0] * mid[1]])
        step = y + h / 2 * (k1 + k2)
        err = ag.stop_gradient(np.abs(step - mid).max())
        if err > 0.05:
            h = h / 2
            continue
        y, t = step, t + h
        if err < 0.01:
            h = h * 2
    return y[0] * y[1]


def copies(x: Any) -> Any:
    y = x * x
    a, b = copy.copy(y), copy.deepcopy({"y": y})
    y[0] = 0.0
    b["y"][1] = 0.0
    return (a * SCALE).sum() + b["y"].sum() + y.sum()


def helper(buffer: Any, value: Any) -> Any:
    buffer[0] = value
    buffer[1:] += value
    return buffer


def helpers(x: Any) -> Any:
    buffer = np.ones(3)
    return (helper(buffer, x[0] * x[1]) * x).sum() + buffer[0]


def text(x: Any) -> Any:
    s = f"{x[0]:.2f} {x[1:].round(1)!s:>20}"
    return x[0] * len(s)


def swap(x: Any) -> Any:
    y = x.copy()
    y[0], y[1] = y[1], y[0]
    y[[0, 2]] = y[[2, 0]]
    return (y * y * SCALE).sum()


def imported_ode(x: Any) -> Any:
    y, t, h = np.array([1.0, 0.5]), 0.0, 0.1
    while t < 1.0:
        k1 = np.array([-x[0] * y[0], x[0] * y[0] - x[2] * y[1]])
        mid = y + h * k1
        k2 = np.array([-x[0] * mid[0], x[0] * mid[0] - x[2] * mid[1]])
        err = np.abs(k2 - k1).max() * h
        y = y + h / 2 * (k1 + k2)
        t = t + h
        h = 0.05 if err > 0.01 else 0.1
    return y[1]


PROGRAMS = [
    value
    for name, value in list(globals().items())
    if callable(value)
    and getattr(value, "__module__", "") == __name__
    and name not in ("Layer", "difference", "helper", "Any", "Callable")
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_gradient(program: Callable[..., Any]) -> None:
    expected = difference(lambda x: program(x.copy()), A)
    before = A.copy()
    np.testing.assert_allclose(ag.grad(program)(A), expected, rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(A, before)
    np.testing.assert_allclose(ag.grad(ag.function(program))(A), expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_forward_agrees(program: Callable[..., Any]) -> None:
    direction = np.array([0.3, -0.2, 0.9])
    value, change = ag.jvp(program, (A,), (direction,))
    np.testing.assert_allclose(value, program(A.copy()), rtol=1e-12)
    np.testing.assert_allclose(change, ag.grad(program)(A) @ direction, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_second_order(program: Callable[..., Any]) -> None:
    first = ag.grad(program)
    expected = np.stack([difference(lambda x, k=k: first(x)[k], A) for k in range(3)])
    np.testing.assert_allclose(ag.hessian(program)(A), expected, rtol=1e-4, atol=1e-6)
    along = ag.jvp(first, (A,), (np.array([0.3, -0.2, 0.9]),))[1]  # forward over reverse
    np.testing.assert_allclose(along, expected @ [0.3, -0.2, 0.9], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_value_is_plain_pythons(program: Callable[..., Any]) -> None:
    value, _ = ag.value_and_grad(program)(A)
    want = program(A.copy())
    assert type(value) is type(want)
    np.testing.assert_allclose(value, want, rtol=1e-13)
