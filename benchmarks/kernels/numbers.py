"""Loops over numbers: what is computed is a number, nothing is written."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def bisection(a: Any, b: Any) -> Any:
    low, high = a, b
    while high - low > 1e-13:
        middle = 0.5 * (low + high)
        if middle * middle * middle - 2.0 * middle - 5.0 > 0:
            high = middle
        else:
            low = middle
    return 0.5 * (low + high)


def rosenbrock_descent(x: Any, y: Any) -> Any:
    for _ in range(20000):
        dx = -2.0 * (1.0 - x) - 400.0 * x * (y - x * x)
        dy = 200.0 * (y - x * x)
        x = x - 0.0005 * dx
        y = y - 0.0005 * dy
    return x, y


def gcd_total(n: Any) -> Any:
    total = 0
    for i in range(1, n):
        for j in range(1, n):
            a, b = i, j
            while b:
                a, b = b, a % b
            total += a
    return total


def xorshift_total(n: Any) -> Any:
    state = 88172645463325252
    total = 0
    for _ in range(n):
        state ^= (state << 13) & 0xFFFFFFFF
        state ^= state >> 7
        state ^= (state << 17) & 0xFFFFFFFF
        total += state & 1023
    return total


def monte_carlo_pi(n: Any) -> Any:
    state, inside = 12345, 0
    for _ in range(n):
        state = (1103515245 * state + 12345) % 2147483648
        x = state / 2147483648.0
        state = (1103515245 * state + 12345) % 2147483648
        y = state / 2147483648.0
        if x * x + y * y < 1.0:
            inside += 1
    return 4.0 * inside / n


def simpson_sine(n: Any) -> Any:
    h = 1.0 / n
    total = math.sin(0.0) + math.sin(1.0)
    for i in range(1, n):
        total += (4.0 if i % 2 else 2.0) * math.sin(i * h)
    return total * h / 3.0


def lotka_volterra(steps: Any) -> Any:
    x, y, dt = 10.0, 5.0, 0.001
    for _ in range(steps):
        k1x, k1y = 1.1 * x - 0.4 * x * y, 0.1 * x * y - 0.4 * y
        mx, my = x + 0.5 * dt * k1x, y + 0.5 * dt * k1y
        k2x, k2y = 1.1 * mx - 0.4 * mx * my, 0.1 * mx * my - 0.4 * my
        x, y = x + dt * k2x, y + dt * k2y
    return x, y


def trial_primes(n: Any) -> Any:
    count = 0
    for i in range(2, n):
        prime = True
        j = 2
        while j * j <= i:
            if i % j == 0:
                prime = False
                break
            j += 1
        if prime:
            count += 1
    return count


def queens(n: Any) -> Any:
    columns = np.zeros(n + 1, np.int64)
    row, found = 0, 0
    columns[0] = -1
    while row >= 0:
        columns[row] += 1
        while columns[row] < n:
            free = True
            for k in range(row):
                apart = columns[row] - columns[k]
                if apart == 0 or apart == row - k or apart == k - row:
                    free = False
                    break
            if free:
                break
            columns[row] += 1
        if columns[row] >= n:
            row -= 1
        elif row == n - 1:
            found += 1
        else:
            row += 1
            columns[row] = -1
    return found


def digit_sums(n: Any) -> Any:
    total = 0
    for i in range(n):
        k = i
        while k > 0:
            total += k % 10
            k //= 10
    return total


def logistic_exponent(r: Any, n: Any) -> Any:
    x, total = 0.4, 0.0
    for _ in range(n):
        x = r * x * (1.0 - x)
        total += math.log(abs(r * (1.0 - 2.0 * x)))
    return total / n


def newton_system(n: Any) -> Any:
    moved = 0.0
    for i in range(n):
        x, y = 1.0 + i / n, 2.0
        for _ in range(20):
            f, g = x * x + y * y - 4.0, x * y - 1.0
            det = 2.0 * x * x - 2.0 * y * y
            dx, dy = (x * f - 2.0 * y * g) / det, (2.0 * x * g - y * f) / det
            x, y = x - dx, y - dy
            if abs(dx) + abs(dy) < 1e-12:
                break
        moved += x + y
    return moved


def arithmetic_geometric_mean(n: Any) -> Any:
    total = 0.0
    for i in range(1, n):
        a, b = 1.0, 1.0 / i
        while abs(a - b) > 1e-14 * a:
            a, b = 0.5 * (a + b), math.sqrt(a * b)
        total += a
    return total


def congruential_walk(n: Any) -> Any:
    x, place, far = 12345, 0, 0
    for _ in range(n):
        x = (x * 1103515245 + 12345) % 2147483648
        place += 1 if x & 65536 else -1
        far = max(far, abs(place))
    return far


def power_residues(n: Any, modulus: Any) -> Any:
    total = 0
    for base in range(n):
        power, square, exponent = 1, base % modulus, 65537
        while exponent > 0:
            if exponent & 1:
                power = power * square % modulus
            square = square * square % modulus
            exponent >>= 1
        total += power
    return total


def set_bits(n: Any) -> Any:
    total = 0
    for x in range(n):
        while x > 0:
            total += x & 1
            x >>= 1
    return total


KERNELS = [
    (bisection, lambda rng: (0.0, 100.0)),
    (rosenbrock_descent, lambda rng: (-1.2, 1.0)),
    (gcd_total, lambda rng: (150,)),
    (xorshift_total, lambda rng: (50_000,)),
    (monte_carlo_pi, lambda rng: (50_000,)),
    (simpson_sine, lambda rng: (50_000,)),
    (lotka_volterra, lambda rng: (20_000,)),
    (trial_primes, lambda rng: (5_000,)),
    (queens, lambda rng: (7,)),
    (digit_sums, lambda rng: (20_000,)),
    (logistic_exponent, lambda rng: (3.9, 30_000)),
    (newton_system, lambda rng: (2_000,)),
    (arithmetic_geometric_mean, lambda rng: (5_000,)),
    (congruential_walk, lambda rng: (20_000,)),
    (power_residues, lambda rng: (500, 1_000_003)),
    (set_bits, lambda rng: (10_000,)),
]
