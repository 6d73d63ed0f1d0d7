# ruff: noqa: E501
"""Random straight-line programs of views and writes: reverse, forward and finite differences agree."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from runtime.autodiff.transforms import grad, jvp

N = 4
VIEWS = (
    "{a}[1:]", "{a}[::-1]", "{a}[::2]", "{a}.reshape(2, -1)", "{a}.T", "{a}.ravel()", "{a}[None]", "{a}[..., 1:]",
    "np.flip({a})", "{a}[-1:]", "{a}.swapaxes(0, -1)", "np.split({a}, [1])[1]", "np.atleast_2d({a})", "{a}.squeeze()",
    "np.expand_dims({a}, 0)", "{a}.reshape(-1, order='F')",
)  # fmt: skip
VALUES = (
    "{a} * {b}.sum()", "np.sin({a}) + 1", "np.tanh({a} * {b}.mean())", "{a} * {a}", "np.cumsum({a}, axis=0)",
    "np.sort({a}.copy(), axis=None)", "np.outer({a}, {b}) / 4", "np.concatenate([{a}.ravel(), {b}.ravel()])",
    "np.where({a} > 0, {a}, 0.5 * {a})", "{a}.copy()", "{a} + 0.1", "np.outer({a}, {a}).copy(order='F')",
)  # fmt: skip
WRITES = (
    "{a}[0] = {b}.sum()", "{a}[...] *= 0.9", "{a} += {b}.mean()", "{a}[-1] = {a}[0]", "{a}[{a} > 0.3] = {b}.min()",
    "{a}[[0, 0]] = {b}.max()", "{a}[1:] = {a}[:-1] * 2", "{a} *= {a}", "{a}[::2] -= {b}.ravel()[0]", "{a}.fill({b}.sum())",
    "{a} /= 2", "np.copyto({a}, {a}[::-1] * 1.5)", "{a}[[-1, 0]] = {a}[[0, -1]]", "{a}.sort(axis=0)",
    "np.multiply({a}, 1.1, out={a})", "{a}[..., 0] = {b}.mean()", "np.add.at({a}, [0], {b}.mean())",
)  # fmt: skip


def program(seed: int) -> tuple[Any, str]:
    """A function of one vector, and its text; statements that NumPy refuses are left out."""
    rng = random.Random(seed)
    space: dict[str, Any] = {"np": np}
    names = ["x"]
    live: dict[str, Any] = {"x": start(seed)}
    lines = []
    for k in range(rng.randint(5, 14)):
        kind = rng.choice((VIEWS, VALUES, WRITES, WRITES))
        a, b = rng.choice(names), rng.choice(names)
        text = rng.choice(kind).format(a=a, b=b)
        if kind is not WRITES:
            text = f"v{k} = {text}"
        trial = {"np": np, **live}
        keep = {name: value.copy() for name, value in live.items()}
        try:
            with np.errstate(all="raise"):
                exec(text, trial)
        except Exception:
            for name, value in keep.items():
                live[name][...] = value
            continue
        if kind is not WRITES:
            made = trial[f"v{k}"]
            if not isinstance(made, np.ndarray) or made.size == 0 or made.size > 40 or made.ndim == 0:
                continue
            live[f"v{k}"] = made
            names.append(f"v{k}")
        lines.append(text)
    total = " + ".join(f"(np.tanh({name}) * {i + 1}).sum()" for i, name in enumerate(names))
    source = "def f(x):\n" + "".join(f"    {line}\n" for line in lines) + f"    return {total}\n"
    exec(source, space)
    return space["f"], source


def start(seed: int) -> Any:
    return np.random.default_rng(seed).uniform(-1.0, 1.0, N)


@pytest.mark.parametrize("block", range(25))
def test_random_writes(block: int) -> None:
    for seed in range(block * 16, block * 16 + 16):
        f, source = program(seed)
        x = start(seed)
        with np.errstate(all="ignore"):
            value = f(x.copy())
        if not np.isfinite(value):
            continue
        g = grad(f)(x)
        direction = np.random.default_rng(seed + 1).standard_normal(N)
        got, change = jvp(f, (x,), (direction,))
        assert got == value, source
        np.testing.assert_allclose(change, g @ direction, rtol=1e-9, atol=1e-9, err_msg=source)
        slopes = [(f(x + h * direction) - f(x - h * direction)) / (2 * h) for h in (1e-5, 5e-6)]
        if abs(slopes[0] - slopes[1]) > 1e-5 * (1 + abs(slopes[1])):
            continue  # a kink or a very steep place
        np.testing.assert_allclose(g @ direction, slopes[1], rtol=1e-5, atol=1e-6, err_msg=source)


def test_programs_write_and_view() -> None:
    """The generator makes what it is meant for."""
    texts = [program(seed)[1] for seed in range(40)]
    assert sum("[1:] =" in t or "*=" in t for t in texts) > 15
    assert sum("reshape" in t for t in texts) > 8
