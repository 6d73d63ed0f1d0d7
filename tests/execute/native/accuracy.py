"""How far native math is from the true values: `python -m tests.execute.native.accuracy` prints the table.

In: how many arguments per range.  Out: for each function and dtype the largest error in units in the last
place, ours and NumPy's.  What always holds: the true value is computed in a wider type, and rounded once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import autograph as ag
from runtime.config import settings

PI = np.pi
RANGES: dict[str, tuple[tuple[float, float], ...]] = {
    "exp": ((-700, 700), (-87, 88), (-1, 1), (-1e-3, 1e-3), (-745, -700)),
    "exp2": ((-1000, 1000), (-125, 126), (-1, 1), (-1074, -1020)),
    "expm1": ((-40, 700), (-1, 1), (-1e-3, 1e-3), (-80, 80)),
    "log": ((1e-3, 10), (0.5, 2), (0.99, 1.01), (1, 1e30)),
    "log2": ((1e-3, 10), (0.5, 2), (0.99, 1.01), (1, 1e30)),
    "log10": ((1e-3, 10), (0.5, 2), (0.99, 1.01), (1, 1e30)),
    "log1p": ((-0.999, 10), (-0.5, 0.5), (-1e-3, 1e-3), (1, 1e30)),
    "sin": ((-PI, PI), (-100, 100), (-4000, 4000), (-1e6, 1e6), (-1e-3, 1e-3)),
    "cos": ((-PI, PI), (-100, 100), (-4000, 4000), (-1e6, 1e6), (1.5707, 1.5709)),
    "tanh": ((-3, 3), (-0.1, 0.1), (-1e-3, 1e-3), (-30, 30)),
    "hypot": ((-3, 3), (1e-3, 1e3), (-1e9, 1e9)),
}
DTYPES = (np.float64, np.float32)


def _exp(x: Any) -> Any:
    return np.exp(x)


def _exp2(x: Any) -> Any:
    return np.exp2(x)


def _expm1(x: Any) -> Any:
    return np.expm1(x)


def _log(x: Any) -> Any:
    return np.log(x)


def _log2(x: Any) -> Any:
    return np.log2(x)


def _log10(x: Any) -> Any:
    return np.log10(x)


def _log1p(x: Any) -> Any:
    return np.log1p(x)


def _sin(x: Any) -> Any:
    return np.sin(x)


def _cos(x: Any) -> Any:
    return np.cos(x)


def _tanh(x: Any) -> Any:
    return np.tanh(x)


def _hypot(x: Any) -> Any:
    return np.hypot(x, x[::-1])


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    f.__name__[1:]: f for f in (_exp, _exp2, _expm1, _log, _log2, _log10, _log1p, _sin, _cos, _tanh, _hypot)
}


def arguments(name: str, dtype: Any, count: int) -> Any:
    """Arguments from all ranges of a function, and numbers of every size that it is defined for."""
    rng = np.random.default_rng(7)
    parts = [rng.uniform(low, high, count) for low, high in RANGES[name]]
    sizes = 10.0 ** rng.uniform(-30, 30, count)
    if name.startswith("log"):
        parts.append(sizes)
    elif name in ("sin", "cos", "tanh"):
        parts.append(sizes * rng.choice([-1, 1], count))
        quarters = np.arange(1, count + 1) * (PI / 2)
        parts.append(quarters.astype(dtype))
    if name in ("exp", "exp2", "expm1") and dtype == np.float32:
        parts = [np.clip(p, -87 if name != "exp2" else -125, 88) for p in parts]
    return np.concatenate([np.asarray(p, dtype) for p in parts])


def errors(found: Any, x: Any, name: str) -> Any:
    """The distance from the true values, in units in the last place of these."""
    wide = np.longdouble if x.dtype == np.float64 else np.float64
    true = FUNCTIONS[name](x.astype(wide))
    unit = np.spacing(np.abs(true).astype(x.dtype)).astype(wide)
    return (np.abs(found.astype(wide) - true) / unit).astype(float)


def measured(name: str, dtype: Any, count: int) -> tuple[float, float]:
    """The largest error, ours and NumPy's."""
    x = arguments(name, dtype, count)
    with settings.override(executor="native", math="fast", compile="now"), np.errstate(all="ignore"):
        converted = ag.function(FUNCTIONS[name])
        ours = converted(x)
        assert converted.traces[-1].concrete.executor == "native"
        return float(errors(ours, x, name).max()), float(errors(FUNCTIONS[name](x), x, name).max())


def table(count: int) -> str:
    """The table as Markdown."""
    lines = ["| function | float64 | NumPy | float32 | NumPy |", "|---|---|---|---|---|"]
    for name in FUNCTIONS:
        cells = [f"{error:.2f}" for dtype in DTYPES for error in measured(name, dtype, count)]
        lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(int(sys.argv[1]) if len(sys.argv) > 1 else 1 << 18))
