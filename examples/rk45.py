"""Adaptive Runge-Kutta 4(5), Fehlberg's coefficients: steps are rejected, the step size follows the error."""

from __future__ import annotations

import numpy as np

import autograph as ag


def pendulum(t, y):
    """Angle and speed of a damped pendulum."""
    return np.array([y[1], -np.sin(y[0]) - 0.1 * y[1]])


def rk45(f, t, end, y, h, tolerance):
    """Integrate y' = f(t, y) to `end`; returns y, the accepted times and the number of rejected steps."""
    times = [t]
    rejected = 0
    while t < end:
        if t + h > end:
            h = end - t
        k1 = f(t, y)
        k2 = f(t + h / 4, y + h / 4 * k1)
        k3 = f(t + 3 * h / 8, y + h * (3 * k1 + 9 * k2) / 32)
        k4 = f(t + 12 * h / 13, y + h * (1932 * k1 - 7200 * k2 + 7296 * k3) / 2197)
        k5 = f(t + h, y + h * (439 / 216 * k1 - 8 * k2 + 3680 / 513 * k3 - 845 / 4104 * k4))
        k6 = f(
            t + h / 2, y + h * (-8 / 27 * k1 + 2 * k2 - 3544 / 2565 * k3 + 1859 / 4104 * k4 - 11 / 40 * k5)
        )
        error = h * np.abs(k1 / 360 - 128 / 4275 * k3 - 2197 / 75240 * k4 + k5 / 50 + 2 / 55 * k6).max()
        if error <= tolerance:
            t = t + h
            y = y + h * (25 / 216 * k1 + 1408 / 2565 * k3 + 2197 / 4104 * k4 - k5 / 5)
            times.append(t)
        else:
            rejected += 1
        if error == 0.0:
            h = 2 * h
        else:
            h = h * min(2.0, max(0.2, 0.9 * (tolerance / error) ** 0.2))
    return y, np.array(times), rejected


def main() -> None:
    converted = ag.function(rk45)
    for tolerance in (1e-4, 1e-8):
        args = pendulum, np.float64(0.0), np.float64(10.0), np.array([1.0, 0.0]), np.float64(1.0), tolerance
        got, want = converted(*args), rk45(*args)
        np.testing.assert_allclose(got[0], want[0], rtol=1e-9)  # sines may differ in the last bits
        np.testing.assert_allclose(got[1], want[1], rtol=1e-9)
        assert got[2] == want[2]
        print(f"tolerance {tolerance:g}: y = {got[0]}, {len(got[1]) - 1} steps, {got[2]} rejected")


if __name__ == "__main__":
    main()
