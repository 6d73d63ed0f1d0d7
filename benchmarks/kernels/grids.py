"""Steps of time and sweeps over grids, written with slices and shifts of whole arrays."""

from __future__ import annotations

from typing import Any

import numpy as np


def heat_new(u: Any, steps: Any) -> Any:
    for _ in range(steps):
        v = u.copy()
        v[1:-1, 1:-1] = u[1:-1, 1:-1] + 0.1 * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
        )
        u = v
    return u


def wave(u: Any, steps: Any) -> Any:
    before = u.copy()
    for _ in range(steps):
        after = np.zeros_like(u)
        lap = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
        after[1:-1, 1:-1] = 2.0 * u[1:-1, 1:-1] - before[1:-1, 1:-1] + 0.2 * lap
        before, u = u, after
    return u


def upwind(u: Any, c: Any, steps: Any) -> Any:
    for _ in range(steps):
        u[1:] = u[1:] - c * (u[1:] - u[:-1])
        u[0] = u[-1]
    return u


def burgers(u: Any, steps: Any) -> Any:
    dt, dx, nu = 0.001, 0.1, 0.05
    for _ in range(steps):
        right, left = np.roll(u, -1), np.roll(u, 1)
        u = u - dt * u * (right - left) / (2 * dx) + nu * dt * (right - 2.0 * u + left) / dx**2
    return u


def gray_scott(u: Any, v: Any, steps: Any) -> Any:
    for _ in range(steps):
        lu = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
        lv = v[2:, 1:-1] + v[:-2, 1:-1] + v[1:-1, 2:] + v[1:-1, :-2] - 4.0 * v[1:-1, 1:-1]
        uc, vc = u[1:-1, 1:-1], v[1:-1, 1:-1]
        uvv = uc * vc * vc
        uc += 0.16 * lu - uvv + 0.04 * (1.0 - uc)
        vc += 0.08 * lv + uvv - 0.1 * vc
    return u, v


def jacobi_until(u: Any, f: Any, tolerance: Any) -> Any:
    change, count = 1.0, 0
    while change > tolerance and count < 500:
        new = u.copy()
        new[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - f[1:-1, 1:-1])
        change = np.max(np.abs(new - u))
        u = new
        count += 1
    return u, count


def diffusion_3d(u: Any, steps: Any) -> Any:
    for _ in range(steps):
        inner = u[1:-1, 1:-1, 1:-1]
        u[1:-1, 1:-1, 1:-1] = inner + 0.1 * (
            u[2:, 1:-1, 1:-1] + u[:-2, 1:-1, 1:-1] + u[1:-1, 2:, 1:-1] + u[1:-1, :-2, 1:-1]
            + u[1:-1, 1:-1, 2:] + u[1:-1, 1:-1, :-2] - 6.0 * inner
        )  # fmt: skip
    return u


def life_shifts(board: Any, steps: Any) -> Any:
    for _ in range(steps):
        near = (
            board[:-2, :-2] + board[:-2, 1:-1] + board[:-2, 2:] + board[1:-1, :-2]
            + board[1:-1, 2:] + board[2:, :-2] + board[2:, 1:-1] + board[2:, 2:]
        )  # fmt: skip
        inner = board[1:-1, 1:-1]
        board[1:-1, 1:-1] = (near == 3) | ((near == 2) & (inner == 1))
    return board


def life_rolls(board: Any, steps: Any) -> Any:
    for _ in range(steps):
        near = np.zeros_like(board)
        for a in (-1, 0, 1):
            for b in (-1, 0, 1):
                if a != 0 or b != 0:
                    near = near + np.roll(np.roll(board, a, 0), b, 1)
        board = ((near == 3) | ((near == 2) & (board == 1))).astype(board.dtype)
    return board


def sobel(image: Any) -> Any:
    gx = (
        image[:-2, 2:]
        + 2.0 * image[1:-1, 2:]
        + image[2:, 2:]
        - image[:-2, :-2]
        - 2.0 * image[1:-1, :-2]
        - image[2:, :-2]
    )
    gy = (
        image[2:, :-2]
        + 2.0 * image[2:, 1:-1]
        + image[2:, 2:]
        - image[:-2, :-2]
        - 2.0 * image[:-2, 1:-1]
        - image[:-2, 2:]
    )
    return np.sqrt(gx * gx + gy * gy)


def box_blur_slices(image: Any, rounds: Any) -> Any:
    for _ in range(rounds):
        out = image.copy()
        out[1:-1, 1:-1] = (
            image[:-2, :-2] + image[:-2, 1:-1] + image[:-2, 2:]
            + image[1:-1, :-2] + image[1:-1, 1:-1] + image[1:-1, 2:]
            + image[2:, :-2] + image[2:, 1:-1] + image[2:, 2:]
        ) / 9.0  # fmt: skip
        image = out
    return image


def shallow_water(h: Any, u: Any, steps: Any) -> Any:
    dt, dx, g = 0.001, 0.1, 9.81
    for _ in range(steps):
        flux = h * u
        h[1:-1] -= dt / (2 * dx) * (flux[2:] - flux[:-2])
        u[1:-1] -= dt / (2 * dx) * (u[1:-1] * (u[2:] - u[:-2]) + g * (h[2:] - h[:-2]))
    return h, u


def rule_110(cells: Any, steps: Any) -> Any:
    for _ in range(steps):
        left, right = np.roll(cells, 1), np.roll(cells, -1)
        cells = (cells | right) & ~(left & cells & right) & 1
    return cells


def lattice_boltzmann(f: Any, steps: Any) -> Any:
    for _ in range(steps):
        right, left, still = np.roll(f[0], 1), np.roll(f[1], -1), f[2]
        rho = right + left + still
        speed = (right - left) / rho
        f = np.stack([
            right + 0.6 * (rho * (1 + 3 * speed + 3 * speed * speed) / 6 - right),
            left + 0.6 * (rho * (1 - 3 * speed + 3 * speed * speed) / 6 - left),
            still + 0.6 * (rho * (4 - 6 * speed * speed) / 6 - still),
        ])  # fmt: skip
    return f


def crank_periodic(u: Any, steps: Any) -> Any:
    for _ in range(steps):
        u[1:-1] = u[1:-1] + 0.2 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        u[0] = u[-2]
        u[-1] = u[1]
    return u


def laplacian(u: Any) -> Any:
    out = np.zeros_like(u)
    out[1:-1, 1:-1] = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
    return out


def heat_helper(u: Any, steps: Any) -> Any:
    for _ in range(steps):
        u = u + 0.1 * laplacian(u)
    return u


def padded_mean(x: Any, rounds: Any) -> Any:
    for _ in range(rounds):
        p = np.pad(x, 1, mode="edge")
        x = (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]) / 4.0
    return x


def _bits(rng: Any, *shape: int, dtype: Any = np.int64) -> Any:
    return rng.integers(0, 2, shape).astype(dtype)


KERNELS = [
    (heat_new, lambda rng: (rng.random((128, 128)), 50)),
    (wave, lambda rng: (rng.random((128, 128)), 50)),
    (upwind, lambda rng: (rng.random(2_000), 0.3, 200)),
    (burgers, lambda rng: (rng.random(1_000), 100)),
    (gray_scott, lambda rng: (rng.random((100, 100)), rng.random((100, 100)), 50)),
    (jacobi_until, lambda rng: (rng.random((64, 64)), rng.random((64, 64)) * 0.01, 1e-3)),
    (diffusion_3d, lambda rng: (rng.random((40, 40, 40)), 20)),
    (life_shifts, lambda rng: (_bits(rng, 200, 200), 20)),
    (life_rolls, lambda rng: (_bits(rng, 100, 100, dtype=np.uint8), 10)),
    (sobel, lambda rng: (rng.random((300, 300)),)),
    (box_blur_slices, lambda rng: (rng.random((200, 200)), 10)),
    (shallow_water, lambda rng: (rng.random(1_000) + 1, np.zeros(1_000), 100)),
    (rule_110, lambda rng: (_bits(rng, 1_000), 200)),
    (lattice_boltzmann, lambda rng: (rng.random((3, 1_000)) + 1, 50)),
    (crank_periodic, lambda rng: (rng.random(300), 300)),
    (heat_helper, lambda rng: (rng.random((100, 100)), 30)),
    (padded_mean, lambda rng: (rng.random((100, 100)), 20)),
]
