"""Functions whose generated source is kept as it is (tests/autograph/snapshots/cases.txt)."""

from __future__ import annotations

import numpy as np


def early_return(x):
    if x < 0:
        return -1
    if x == 0:
        return 0
    return 1


def loop_with_break(values, limit):
    total = 0
    for value in values:
        if value < 0:
            continue
        total += value
        if total > limit:
            break
    else:
        total = -total
    return total


def nested_loops(grid):
    found = None
    for i, row in enumerate(grid):
        for j, value in enumerate(row):
            if value > 3:
                return i, j
        found = i
    return found


def unbound_on_one_path(x):
    if x > 0:
        sign = 1
    return sign


def logic(a, b):
    return a > 0 and b > 0 or not a < b <= 3


def comprehension(values):
    return [2 * v for v in values if v > 0], {k: v for k, v in enumerate(values)}


def closure(x):
    count = 0

    def add(by):
        nonlocal count
        count += by
        return count

    for value in x:
        add(value)
    return count


def numpy_calls(x):
    y = np.exp(-x) + np.zeros(3)
    y[0] = x.sum()
    return np.where(y > 0, y, x.mean(axis=0))


def messages(x, name="x"):
    assert x > 0, f"{name} is {x!r:>10}"
    print("ok", x, end="")
    return f"{name}={x:.3f}"


def walrus_and_ternary(values):
    n = 0
    while (n := n + 1) < 10:
        values = values * 2 if n % 2 else values
    return values


def unpacking(pairs):
    total = 0
    for (a, b), *rest in pairs:
        total += a * b + len(rest)
    return total


def fallible(x):
    try:
        return 1 / x
    except ZeroDivisionError:
        return None
    finally:
        print("done")


def matching(command):
    match command:
        case ("go", n) if n > 0:
            return n
        case {"stop": _}:
            return 0
        case _:
            return None
