"""Everyday NumPy functions, each converted and as it is: nothing should be slower for being converted.

    python -m benchmarks.everyday [--only softmax,kmeans] [--json FILE]

In: nothing but the options.  Out: for each function the processor time of a plain call, how many times
faster the converted one is, and what runs it.  What always holds: results agree before anything is timed
(exactly, but for floats: 4 ulp of the largest value); both take turns in this process; the code is compiled
before the clock starts.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import autograph as ag
from benchmarks.peers import flat

BUDGET, ROUNDS = 0.2, 3
Case = tuple[Callable[..., Any], tuple[Any, ...]]


def add(x: Any) -> Any:
    return x + 1


def relu(x: Any) -> Any:
    return np.maximum(x, 0)


def standardised(x: Any) -> Any:
    return (x - x.mean()) / x.std()


def standardised_columns(x: Any) -> Any:
    return (x - x.mean(axis=0)) / x.std(axis=0)


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def logsumexp(x: Any) -> Any:
    top = x.max()
    return top + np.log(np.exp(x - top).sum())


def gelu(x: Any) -> Any:
    return 0.5 * x * (1 + np.tanh(0.79788456 * (x + 0.044715 * x**3)))


def polynomial(x: Any) -> Any:
    return 1 + x * (2 + x * (3 + x * (4 + x * 5)))


def pieces(x: Any) -> Any:
    return np.where(x > 0, np.log1p(np.abs(x)), np.sin(x))


def squared_error(a: Any, b: Any) -> Any:
    return np.mean((a - b) ** 2)


def distances(x: Any) -> Any:
    d = x[:, None, :] - x[None, :, :]
    return np.sqrt((d**2).sum(-1))


def blur(x: Any) -> Any:
    out = x.copy()
    out[1:-1, 1:-1] = (
        x[:-2, :-2] + x[:-2, 1:-1] + x[:-2, 2:]
        + x[1:-1, :-2] + x[1:-1, 1:-1] + x[1:-1, 2:]
        + x[2:, :-2] + x[2:, 1:-1] + x[2:, 2:]
    ) / 9  # fmt: skip
    return out


def power_iteration(a: Any, v: Any) -> Any:
    for _ in range(50):
        v = a @ v
        v = v / np.linalg.norm(v)
    return v


def solve(a: Any, b: Any) -> Any:
    return np.linalg.solve(a + 200 * np.eye(200), b)


def descending(x: Any) -> Any:
    return np.sort(x)[::-1] + 1.0


def interval(x: Any) -> Any:
    return np.percentile(x, [5, 50, 95])


def runge_kutta(y: Any) -> Any:
    for _ in range(100):
        k1 = np.sin(y) * 0.1
        k2 = np.sin(y + 0.05 * k1) * 0.1
        k3 = np.sin(y + 0.05 * k2) * 0.1
        k4 = np.sin(y + 0.1 * k3) * 0.1
        y = y + (k1 + 2 * k2 + 2 * k3 + k4) / 6
    return y


def histogram(x: Any) -> Any:
    counts = np.zeros(100, dtype=np.int64)
    for i in x:
        counts[i] += 1
    return counts


def running_sum(x: Any) -> Any:
    y = np.empty_like(x)
    total = 0.0
    for i in range(len(x)):
        total += x[i]
        y[i] = total
    return y


def life(cells: Any) -> Any:
    for _ in range(10):
        near = sum(
            np.roll(np.roll(cells, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)
        )
        cells = ((near == 3) | ((cells == 1) & (near == 2))).astype(cells.dtype)
    return cells


def k_means(x: Any) -> Any:
    centres = x[:4].copy()
    for _ in range(5):
        labels = ((x[:, None, :] - centres[None]) ** 2).sum(-1).argmin(1)
        for k in range(4):
            mine = labels == k
            if mine.any():
                centres[k] = x[mine].mean(0)
    return centres, labels


def shifted_text(words: Any) -> Any:
    return " ".join(word[1:] + word[0] if word else word for word in words)


def parsed(text: Any) -> Any:
    found = {}
    for part in text.split(";"):
        key, _, value = part.partition("=")
        found[key.strip()] = value.strip()
    return found


def flattened(items: Any) -> Any:
    found = []
    for item in items:
        if isinstance(item, list):
            found.extend(flattened(item))
        else:
            found.append(item)
    return found


def sorted_by(x: Any) -> Any:
    return sorted(x, key=lambda v: -v)


def clipped_mean(x: Any) -> Any:
    return np.clip(x, -1, 1).mean()


def difference(x: Any) -> Any:
    y = np.zeros_like(x)
    y[1:] = x[1:] - x[:-1]
    return y


def newton(a: Any) -> Any:
    x = a
    while abs(x * x - a) > 1e-12 * a:
        x = 0.5 * (x + a / x)
    return x


def cases() -> dict[str, Case]:
    """The functions and their arguments, by name."""
    rng = np.random.default_rng(0)
    big, matrix, vector = rng.normal(size=1_000_000), rng.normal(size=(200, 200)), rng.normal(size=200)
    points, image = rng.normal(size=(500, 3)), rng.normal(size=(300, 300))
    few = vector[:4].copy()
    return {
        "add 4": (add, (few,)),
        "add 1e6": (add, (big,)),
        "relu 1e6": (relu, (big,)),
        "standardised 4": (standardised, (few,)),
        "standardised 1e6": (standardised, (big,)),
        "standardised 1e6 float32": (standardised, (big.astype(np.float32),)),
        "standardised columns": (standardised_columns, (matrix,)),
        "softmax 4": (softmax, (few,)),
        "softmax 200x200": (softmax, (matrix,)),
        "logsumexp 1e6": (logsumexp, (big,)),
        "gelu 1e6 float32": (gelu, (big.astype(np.float32),)),
        "polynomial 4": (polynomial, (few,)),
        "polynomial 1e6": (polynomial, (big,)),
        "pieces 1e6": (pieces, (big,)),
        "squared error 1e6": (squared_error, (big, big[::-1])),
        "distances 500x3": (distances, (points,)),
        "blur 300x300": (blur, (image,)),
        "power iteration": (power_iteration, (matrix, vector)),
        "solve 200": (solve, (matrix, vector)),
        "descending 1e6": (descending, (big,)),
        "interval 1e6": (interval, (big,)),
        "runge_kutta 3": (runge_kutta, (vector[:3].copy(),)),
        "runge_kutta 200": (runge_kutta, (vector,)),
        "histogram 1e5": (histogram, (rng.integers(0, 100, size=100_000),)),
        "running sum": (running_sum, (vector,)),
        "life 300x300": (life, ((image > 0).astype(np.int64),)),
        "k_means 500x3": (k_means, (points,)),
        "text from a generator": (shifted_text, (["some", "words", "of", "a", "line"],)),
        "text parsed": (parsed, ("name = some; size = 3; colour = blue",)),
        "lists flattened": (flattened, ([1, [2, [3, 4]], 5],)),
        "sorted by a lambda": (sorted_by, ([3, 1, 2],)),
        "clipped mean 100": (clipped_mean, (vector[:100].copy(),)),
        "difference 100": (difference, (vector[:100].copy(),)),
        "newton": (newton, (np.float64(7.3),)),
    }


def agree(found: Any, wanted: Any) -> bool:
    """Whether two results are the same but for the last bits of floats."""
    pairs = list(zip(flat(found), flat(wanted), strict=True))
    same = all(a.dtype == b.dtype and a.shape == b.shape for a, b in pairs)
    return same and all(
        np.allclose(a, b, rtol=4 * np.finfo(b.dtype).eps, atol=4 * np.finfo(b.dtype).eps * np.max(np.abs(b)))
        if b.dtype.kind == "f"
        else np.array_equal(a, b)
        for a, b in pairs
    )


def least(call: Callable[..., Any], args: tuple[Any, ...]) -> float:
    """The least processor time of a call, in seconds."""
    start = time.perf_counter()
    call(*args)
    number = max(1, int(2e-3 / max(time.perf_counter() - start, 1e-7)))
    found = float("inf")
    end = time.perf_counter() + BUDGET
    while True:
        start = time.process_time()
        for _ in range(number):
            call(*args)
        found = min(found, (time.process_time() - start) / number)
        if time.perf_counter() > end:
            return found


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="beginnings of names, separated by commas")
    parser.add_argument("--json", default="", help="write the rows to this file as well")
    options = parser.parse_args()
    ag.settings.compile = "now"
    starts = tuple(options.only.split(","))
    rows = []
    for name, (plain, args) in cases().items():
        if not name.startswith(starts):
            continue
        ours = ag.function(plain)
        for _ in range(2):
            if not agree(ours(*args), plain(*args)):
                raise SystemExit(f"{name}: the results differ")
        times = [(least(plain, args), least(ours, args)) for _ in range(ROUNDS)]
        before, after = min(t for t, _ in times), min(t for _, t in times)
        concrete = ours.traces[-1].concrete
        rows.append({"name": name, "plain": before, "ratio": before / after, "executor": concrete.executor})
        print(
            f"{name:<26} {before * 1e6:11.2f} us {before / after:9.2f}x  {concrete.executor:<7}"
            f" {concrete.not_native[:70]}",
            flush=True,
        )
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
