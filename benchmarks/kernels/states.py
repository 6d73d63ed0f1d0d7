"""Programs with a state in objects, dicts and lists, and with random streams."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


class Spring:
    def __init__(self, count: int) -> None:
        self.x, self.v, self.time = np.linspace(0.0, 1.0, count), np.zeros(count), 0.0

    def step(self, dt: float) -> None:
        self.v = self.v - self.x * dt
        self.x = self.x + self.v * dt
        self.time += dt

    def run(self, steps: int) -> Any:
        for _ in range(steps):
            self.step(0.01)
        return self.x, self.time


class Kalman:
    def __init__(self, dt: float) -> None:
        self.f, self.h = np.array([[1.0, dt], [0.0, 1.0]]), np.array([[1.0, 0.0]])
        self.x, self.p = np.zeros(2), np.eye(2)

    def update(self, z: Any) -> None:
        self.x = self.f @ self.x
        self.p = self.f @ self.p @ self.f.T + 0.01 * np.eye(2)
        s = self.h @ self.p @ self.h.T + 0.1
        gain = self.p @ self.h.T / s
        self.x = self.x + gain @ (z - self.h @ self.x)
        self.p = (np.eye(2) - gain @ self.h) @ self.p


class Queue:
    def __init__(self, seed: int) -> None:
        self.time, self.served, self.waits = 0.0, 0, []  # type: ignore[var-annotated]
        self.rng = np.random.default_rng(seed)

    def run(self, until: float) -> Any:
        free = 0.0
        while self.time < until:
            self.time += self.rng.random()
            start = max(self.time, free)
            free = start + 0.9 * self.rng.random()
            if self.served % 10 == 0:
                self.waits.append(start - self.time)
            self.served += 1
        return self.served, np.array(self.waits)


def springs(count: Any, steps: Any) -> Any:
    return Spring(count).run(steps)


def springs_given(spring: Any, steps: Any) -> Any:
    return spring.run(steps)


def tracked(zs: Any) -> Any:
    filtered, out = Kalman(0.1), []
    for z in zs:
        filtered.update(z)
        out.append(filtered.x.copy())
    return np.array(out)


def queue(served: Any, until: Any) -> Any:
    return served.run(until)


def descent_by_dict(x: Any, y: Any, params: Any, steps: Any) -> Any:
    for _ in range(steps):
        error = x @ params["w"] + params["b"] - y
        params["w"] = params["w"] - 0.1 * (x.T @ error) / len(y)
        params["b"] = params["b"] - 0.1 * error.mean()
    return params["w"], params["b"]


def adam_by_dicts(params: Any, slopes: Any, steps: Any) -> Any:
    m = {k: np.zeros_like(p) for k, p in params.items()}
    v = {k: np.zeros_like(p) for k, p in params.items()}
    norms = []
    for t in range(1, steps + 1):
        for k in params:
            g = slopes[k] * params[k]
            m[k] = 0.9 * m[k] + 0.1 * g
            v[k] = 0.999 * v[k] + 0.001 * g * g
            params[k] = params[k] - 0.01 * (m[k] / (1 - 0.9**t)) / (np.sqrt(v[k] / (1 - 0.999**t)) + 1e-8)
        norms.append(np.abs(params["w"]).sum())
    return np.array(norms)


def counted(n: Any) -> Any:
    counts = {"fizz": 0, "buzz": 0, "other": 0}
    for i in range(n):
        if i % 3 == 0:
            counts["fizz"] += 1
        elif i % 5 == 0:
            counts["buzz"] += i
        else:
            counts["other"] += 1
    return counts["fizz"], counts["buzz"], counts["other"]


def adaptive_steps(y: Any, end: Any, tolerance: Any) -> Any:
    t, h = 0.0, 0.1
    ts, ys = [t], [y]
    while t < end:
        h = min(h, end - t)
        k1 = np.array([y[1], 5 * (1 - y[0] ** 2) * y[1] - y[0]])
        z = y + h * k1
        k2 = np.array([z[1], 5 * (1 - z[0] ** 2) * z[1] - z[0]])
        error = 0.5 * h * np.abs(k2 - k1).max()
        if error <= tolerance:
            t, y = t + h, y + 0.5 * h * (k1 + k2)
            ts.append(t)
            ys.append(y)
        h *= min(2.0, max(0.2, 0.9 * math.sqrt(tolerance / max(error, 1e-16))))
    return np.array(ts), np.array(ys)


def metropolis(rng: Any, count: Any) -> Any:
    x, density, out = 0.0, 0.0, np.empty(count)
    for i in range(count):
        proposed = x + 0.5 * rng.normal()
        other = -0.5 * proposed * proposed
        if math.log(rng.random()) < other - density:
            x, density = proposed, other
        out[i] = x
    return out


def ising(spins: Any, rng: Any, sweeps: Any) -> Any:
    n, magnetised = len(spins), []
    for _ in range(sweeps):
        draws = rng.random((n, n))
        for i in range(n):
            for j in range(n):
                near = spins[(i + 1) % n, j] + spins[i - 1, j] + spins[i, (j + 1) % n] + spins[i, j - 1]
                cost = 2 * spins[i, j] * near
                if cost <= 0 or draws[i, j] < math.exp(-0.44 * cost):
                    spins[i, j] *= -1
        magnetised.append(spins.mean())
    return np.array(magnetised)


def pascal(n: Any) -> Any:
    rows = [[1]]
    for _ in range(n):
        last = rows[-1]
        rows.append([1] + [last[i] + last[i + 1] for i in range(len(last) - 1)] + [1])
    return np.array(rows[-1])


KERNELS = [
    (springs, lambda rng: (50, 1_000)),
    (springs_given, lambda rng: (Spring(50), 1_000)),
    (tracked, lambda rng: (np.sin(0.1 * np.arange(300)) + 0.1 * rng.standard_normal(300),)),
    (queue, lambda rng: (Queue(3), 1_000.0)),
    (
        descent_by_dict,
        lambda rng: (rng.random((100, 5)), rng.random(100), {"w": np.zeros(5), "b": np.float64(0)}, 300),
    ),
    (
        adam_by_dicts,
        lambda rng: (
            {"w": rng.random(40), "b": rng.random(5)},
            {"w": rng.random(40), "b": rng.random(5)},
            200,
        ),
    ),
    (counted, lambda rng: (20_000,)),
    (adaptive_steps, lambda rng: (np.array([2.0, 0.0]), 20.0, 1e-4)),
    (metropolis, lambda rng: (np.random.default_rng(3), 3_000)),
    (ising, lambda rng: (rng.choice([-1, 1], (32, 32)), np.random.default_rng(1), 10)),
    (pascal, lambda rng: (40,)),
]
