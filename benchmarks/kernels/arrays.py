"""Whole-array programs: statistics, models, optimisation, small linear algebra."""

from __future__ import annotations

from typing import Any

import numpy as np


def lorenz_rk4(state: Any, steps: Any) -> Any:
    dt = 0.01
    for _ in range(steps):
        k1 = np.array(
            [
                10 * (state[1] - state[0]),
                state[0] * (28 - state[2]) - state[1],
                state[0] * state[1] - 8 / 3 * state[2],
            ]
        )
        s = state + 0.5 * dt * k1
        k2 = np.array([10 * (s[1] - s[0]), s[0] * (28 - s[2]) - s[1], s[0] * s[1] - 8 / 3 * s[2]])
        state = state + dt * k2
    return state


def oscillators_rk4(theta: Any, omega: Any, steps: Any) -> Any:
    dt = 0.05
    for _ in range(steps):
        k1 = omega + np.sin(theta)
        k2 = omega + np.sin(theta + 0.5 * dt * k1)
        k3 = omega + np.sin(theta + 0.5 * dt * k2)
        k4 = omega + np.sin(theta + dt * k3)
        theta = theta + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return theta


def bodies_broadcast(pos: Any, vel: Any, mass: Any, steps: Any) -> Any:
    for _ in range(steps):
        d = pos[None, :, :] - pos[:, None, :]
        r2 = (d * d).sum(axis=2) + 0.01
        acc = (d * (mass[None, :] / (r2 * np.sqrt(r2)))[:, :, None]).sum(axis=1)
        vel = vel + 0.01 * acc
        pos = pos + 0.01 * vel
    return pos


def power_iteration(a: Any, v: Any, rounds: Any) -> Any:
    for _ in range(rounds):
        w = a @ v
        v = w / np.sqrt((w * w).sum())
    return v, v @ (a @ v)


def page_rank(links: Any, rounds: Any) -> Any:
    n = links.shape[0]
    rank = np.full(n, 1.0 / n)
    for _ in range(rounds):
        new = 0.15 / n + 0.85 * (links @ rank)
        if np.abs(new - rank).sum() < 1e-10:
            break
        rank = new
    return rank


def sinkhorn(kernel: Any, a: Any, b: Any, rounds: Any) -> Any:
    u, v = np.ones_like(a), np.ones_like(b)
    for _ in range(rounds):
        u = a / (kernel @ v)
        v = b / (kernel.T @ u)
    return u[:, None] * kernel * v[None, :]


def kmeans_arrays(points: Any, centres: Any, rounds: Any) -> Any:
    for _ in range(rounds):
        d = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
        label = np.argmin(d, axis=1)
        for c in range(len(centres)):
            mine = points[label == c]
            if len(mine) > 0:
                centres[c] = mine.mean(axis=0)
    return centres


def conjugate_gradients(a: Any, b: Any, rounds: Any) -> Any:
    x = np.zeros_like(b)
    r = b - a @ x
    p = r.copy()
    rr = r @ r
    for _ in range(rounds):
        ap = a @ p
        alpha = rr / (p @ ap)
        x = x + alpha * p
        r = r - alpha * ap
        new = r @ r
        if np.sqrt(new) < 1e-10:
            break
        p = r + (new / rr) * p
        rr = new
    return x


def kalman(z: Any, rounds: Any) -> Any:
    f = np.array([[1.0, 0.1], [0.0, 1.0]])
    q, r = 0.01 * np.eye(2), 0.5
    x, p = np.zeros(2), np.eye(2)
    out = np.zeros((rounds, 2))
    for k in range(rounds):
        x = f @ x
        p = f @ p @ f.T + q
        gain = p[:, 0] / (p[0, 0] + r)
        x = x + gain * (z[k] - x[0])
        p = p - np.outer(gain, p[0])
        out[k] = x
    return out


def adam_regression(x: Any, y: Any, rounds: Any) -> Any:
    w = np.zeros(x.shape[1])
    m, v = np.zeros_like(w), np.zeros_like(w)
    for t in range(1, rounds + 1):
        g = x.T @ (x @ w - y) / len(y)
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g * g
        w = w - 0.05 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    return w


def logistic_regression(x: Any, y: Any, rounds: Any) -> Any:
    w = np.zeros(x.shape[1])
    for _ in range(rounds):
        p = 1.0 / (1.0 + np.exp(-(x @ w)))
        w -= 0.5 * (x.T @ (p - y)) / len(y)
    return w


def layer_norm(x: Any, scale: Any, shift: Any) -> Any:
    mean = x.mean(axis=-1, keepdims=True)
    var = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    return scale * (x - mean) / np.sqrt(var + 1e-5) + shift


def attention(q: Any, k: Any, v: Any) -> Any:
    s = q @ k.T / np.sqrt(q.shape[-1])
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return (e / e.sum(axis=-1, keepdims=True)) @ v


def gelu(x: Any) -> Any:
    return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))


def price_paths(normals: Any, s0: Any, sigma: Any) -> Any:
    n, m = normals.shape
    dt = 1.0 / m
    s = np.full(n, s0)
    low = s.copy()
    for k in range(m):
        s = s * np.exp(-0.5 * sigma**2 * dt + sigma * np.sqrt(dt) * normals[:, k])
        low = np.minimum(low, s)
    return np.where(low > 0.8 * s0, np.maximum(s - s0, 0.0), 0.0).mean()


def mandelbrot_masks(c: Any, limit: Any) -> Any:
    z = np.zeros_like(c)
    count = np.zeros(c.shape, np.int64)
    for _ in range(limit):
        live = np.abs(z) <= 2.0
        z = np.where(live, z * z + c, z)
        count = count + live
    return count


def bollinger(x: Any, n: Any) -> Any:
    total = np.concatenate((np.zeros(1), np.cumsum(x)))
    square = np.concatenate((np.zeros(1), np.cumsum(x * x)))
    mean = (total[n:] - total[:-n]) / n
    var = (square[n:] - square[:-n]) / n - mean * mean
    width = 2.0 * np.sqrt(np.maximum(var, 0.0))
    return mean - width, mean + width


def equalised(image: Any) -> Any:
    counts = np.bincount(image.ravel(), minlength=256)
    levels = np.cumsum(counts)
    table = (levels - levels[0]) * 255 // (image.size - levels[0])
    return table[image]


def ray_sphere(origins: Any, directions: Any, centre: Any, radius: Any) -> Any:
    oc = origins - centre
    b = (oc * directions).sum(axis=1)
    c = (oc * oc).sum(axis=1) - radius * radius
    disc = b * b - c
    t = -b - np.sqrt(np.maximum(disc, 0.0))
    return np.where((disc > 0) & (t > 0), t, np.inf)


def haversine(lat: Any, lon: Any, lat0: Any, lon0: Any) -> Any:
    a = np.sin((lat - lat0) / 2) ** 2 + np.cos(lat) * np.cos(lat0) * np.sin((lon - lon0) / 2) ** 2
    return 6371.0 * 2 * np.arctan2(np.sqrt(a), np.sqrt(1 - a))


def correlations(x: Any) -> Any:
    x = x - x.mean(axis=0)
    x = x / np.sqrt((x * x).sum(axis=0))
    return x.T @ x


def trend_filter(x: Any, alpha: Any) -> Any:
    level, slope = x[0], 0.0
    out = np.zeros(len(x))
    for i in range(len(x)):
        before = level
        level = alpha * x[i] + (1 - alpha) * (level + slope)
        slope = 0.1 * (level - before) + 0.9 * slope
        out[i] = level
    return out


def pairwise_energy(pos: Any) -> Any:
    total = 0.0
    for i in range(len(pos) - 1):
        d = pos[i + 1 :] - pos[i]
        r2 = (d * d).sum(axis=1)
        total += (1.0 / r2**6 - 1.0 / r2**3).sum()
    return total


def gram_schmidt(a: Any) -> Any:
    n = a.shape[1]
    q = a.copy()
    for j in range(n):
        for k in range(j):
            q[:, j] -= (q[:, k] @ q[:, j]) * q[:, k]
        q[:, j] /= np.sqrt((q[:, j] ** 2).sum())
    return q


def mlp(x: Any, w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
    h = np.maximum(x @ w1 + b1, 0.0)
    z = h @ w2 + b2
    return np.argmax(z, axis=1)


def elo(games: Any, results: Any, n: Any) -> Any:
    rating = np.full(n, 1500.0)
    for g in range(len(games)):
        a, b = games[g]
        expected = 1.0 / (1.0 + 10.0 ** ((rating[b] - rating[a]) / 400.0))
        rating[a] += 32.0 * (results[g] - expected)
        rating[b] -= 32.0 * (results[g] - expected)
    return rating


def scaled_sum(x: Any, y: Any, a: Any) -> Any:
    y += a * x
    return y


def grey_levels(image: Any) -> Any:
    grey = 0.299 * image[..., 0] + 0.587 * image[..., 1] + 0.114 * image[..., 2]
    return grey.astype(np.uint8)


def brightened(image: Any, gamma: Any) -> Any:
    table = (255 * (np.arange(256) / 255.0) ** gamma).astype(np.uint8)
    return table[image]


def drawdown(prices: Any) -> Any:
    peak = np.maximum.accumulate(prices)
    return ((peak - prices) / peak).max()


def causal_weights(scores: Any) -> Any:
    allowed = np.tril(np.ones(scores.shape, dtype=np.bool_))
    masked = np.where(allowed, scores, -1e9)
    e = np.exp(masked - masked.max(axis=1)[:, None])
    return e / e.sum(axis=1)[:, None]


def lengths(points: Any) -> Any:
    return np.sqrt((points * points).sum(axis=1))


def nearest_centre(points: Any, centres: Any) -> Any:
    away = points[:, None] - centres[None, :]
    return np.abs(away).argmin(axis=1)


def total_variation(x: Any) -> Any:
    return np.abs(np.diff(x)).sum()


def _grid(n: int) -> Any:
    return np.linspace(-2, 1, n)[None, :] + 1j * np.linspace(-1.5, 1.5, n)[:, None]


def _definite(rng: Any, n: int) -> Any:
    a = rng.random((n, n))
    return a @ a.T + n * np.eye(n)


KERNELS = [
    (lorenz_rk4, lambda rng: (rng.random(3), 2_000)),
    (oscillators_rk4, lambda rng: (rng.random(1_000), rng.random(1_000), 50)),
    (bodies_broadcast, lambda rng: (rng.random((60, 3)), np.zeros((60, 3)), rng.random(60), 10)),
    (power_iteration, lambda rng: (rng.random((200, 200)), rng.random(200), 50)),
    (page_rank, lambda rng: ((lambda a: a / a.sum(axis=0))(rng.random((150, 150))), 50)),
    (sinkhorn, lambda rng: (rng.random((100, 100)) + 0.1, np.full(100, 0.01), np.full(100, 0.01), 50)),
    (kmeans_arrays, lambda rng: (rng.random((2_000, 3)), rng.random((6, 3)), 5)),
    (conjugate_gradients, lambda rng: (_definite(rng, 150), rng.random(150), 100)),
    (kalman, lambda rng: (rng.random(1_000), 1_000)),
    (adam_regression, lambda rng: (rng.random((300, 10)), rng.random(300), 200)),
    (logistic_regression, lambda rng: (rng.random((500, 10)), (rng.random(500) > 0.5) * 1.0, 200)),
    (layer_norm, lambda rng: (rng.random((200, 256)), rng.random(256), rng.random(256))),
    (attention, lambda rng: (rng.random((128, 64)), rng.random((128, 64)), rng.random((128, 64)))),
    (gelu, lambda rng: (rng.standard_normal(50_000).astype(np.float32),)),
    (price_paths, lambda rng: (rng.standard_normal((2_000, 50)), 100.0, 0.2)),
    (mandelbrot_masks, lambda rng: (_grid(80), 50)),
    (bollinger, lambda rng: (100 + rng.standard_normal(20_000), 20)),
    (equalised, lambda rng: (rng.integers(0, 256, (200, 200)).astype(np.uint8),)),
    (
        ray_sphere,
        lambda rng: (rng.random((20_000, 3)), rng.random((20_000, 3)), np.array([0.5, 0.5, 3.0]), 1.0),
    ),
    (haversine, lambda rng: (rng.random(20_000), rng.random(20_000), 0.8, 0.1)),
    (correlations, lambda rng: (rng.random((2_000, 20)),)),
    (trend_filter, lambda rng: (rng.random(20_000), 0.3)),
    (pairwise_energy, lambda rng: (rng.random((200, 3)),)),
    (gram_schmidt, lambda rng: (rng.random((60, 30)),)),
    (
        mlp,
        lambda rng: (
            rng.random((64, 30)),
            rng.random((30, 40)),
            rng.random(40),
            rng.random((40, 10)),
            rng.random(10),
        ),
    ),
    (scaled_sum, lambda rng: (rng.random(10_000), rng.random(10_000), 0.5)),
    (grey_levels, lambda rng: (rng.integers(0, 256, (200, 200, 3)).astype(np.uint8),)),
    (brightened, lambda rng: (rng.integers(0, 256, (200, 200)).astype(np.uint8), 0.45)),
    (drawdown, lambda rng: (100 + rng.standard_normal(20_000).cumsum(),)),
    (causal_weights, lambda rng: (rng.random((200, 200)),)),
    (lengths, lambda rng: (rng.random((20_000, 3)),)),
    (nearest_centre, lambda rng: (rng.random(2_000), rng.random(40))),
    (total_variation, lambda rng: (rng.random(20_000),)),
    (elo, lambda rng: (rng.integers(0, 50, (3_000, 2)), rng.random(3_000).round(), 50)),
]
