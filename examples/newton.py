"""Newton's method for a root of a polynomial, until the step is small: `break`, `else` and a raised error."""

from __future__ import annotations

import numpy as np

import autograph as ag


def horner(coefficients, x):
    """The polynomial's value and slope at x; the highest power comes first."""
    value = slope = 0.0
    for c in coefficients:
        slope = slope * x + value
        value = value * x + c
    return value, slope


def newton(coefficients, x, tolerance):
    """A root near x, and the number of steps taken."""
    for steps in range(50):
        value, slope = horner(coefficients, x)
        if slope == 0.0:
            raise ZeroDivisionError(f"the slope is 0 at x = {x}")
        step = value / slope
        x = x - step
        if abs(step) < tolerance:
            break
    else:
        steps = -1
    return x, steps


def main() -> None:
    converted = ag.function(newton)
    cubic = np.array([1.0, 0.0, -2.0, -5.0])
    for start in (2.0, 10.0, -3.0):
        args = cubic, np.float64(start), 1e-12
        got, want = converted(*args), newton(*args)
        assert got == want, (start, got, want)
        print(f"from {start:5.1f}: root {got[0]:.12f} after {got[1]} steps")
    try:
        converted(np.array([1.0, 0.0, 1.0]), np.float64(0.0), 1e-12)
    except ZeroDivisionError as error:
        print("as in plain Python:", error)
    else:
        raise AssertionError("expected ZeroDivisionError")


if __name__ == "__main__":
    main()
