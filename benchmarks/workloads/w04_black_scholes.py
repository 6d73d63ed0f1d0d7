"""Elementwise chain: Black-Scholes call price of 1e6 options; the normal distribution
function by the polynomial of Abramowitz and Stegun 26.2.17, since NumPy has no erf."""

from __future__ import annotations

import math

import numpy as np

TITLE = "black_scholes 1e6 f64 (polynomial cdf)"
RTOL, ATOL = 1e-9, 1e-9
N = 1_000_000
HELPERS = ["cdf"]
R, SIGMA = 0.03, 0.25
A1, A2, A3, A4, A5 = 0.319381530, -0.356563782, 1.781477937, -1.821255978, 1.330274429
C = 1.0 / math.sqrt(2.0 * math.pi)
P = 0.2316419


def inputs(seed):
    r = np.random.default_rng(seed)
    return (r.uniform(10, 200, N), r.uniform(10, 200, N), r.uniform(0.1, 3.0, N))


def cdf(d):
    k = 1.0 / (1.0 + P * np.abs(d))
    w = 1.0 - C * np.exp(-0.5 * d * d) * (k * (A1 + k * (A2 + k * (A3 + k * (A4 + k * A5)))))
    return np.where(d < 0.0, 1.0 - w, w)


def plain(s, x, t):
    v = SIGMA * np.sqrt(t)
    d1 = (np.log(s / x) + (R + 0.5 * SIGMA * SIGMA) * t) / v
    d2 = d1 - v
    return s * cdf(d1) - x * np.exp(-R * t) * cdf(d2)


def _generic(xp, absolute):
    def cdf(d):
        k = 1.0 / (1.0 + P * absolute(d))
        w = 1.0 - C * xp.exp(-0.5 * d * d) * (k * (A1 + k * (A2 + k * (A3 + k * (A4 + k * A5)))))
        return xp.where(d < 0.0, 1.0 - w, w)

    def f(s, x, t):
        v = SIGMA * xp.sqrt(t)
        d1 = (xp.log(s / x) + (R + 0.5 * SIGMA * SIGMA) * t) / v
        d2 = d1 - v
        return s * cdf(d1) - x * xp.exp(-R * t) * cdf(d2)

    return f


def make_numpy_chunked():
    """The expert's NumPy: blocks that stay in cache."""

    def f(s, x, t):
        out = np.empty_like(s)
        for i in range(0, s.size, 8192):
            j = slice(i, i + 8192)
            out[j] = plain(s[j], x[j], t[j])
        return out

    return f


def make_jax():
    import jax.numpy as jnp

    return _generic(jnp, jnp.abs)


def make_tf():
    import tensorflow as tf

    def cdf(d):
        k = 1.0 / (1.0 + P * tf.abs(d))
        w = 1.0 - C * tf.exp(-0.5 * d * d) * (k * (A1 + k * (A2 + k * (A3 + k * (A4 + k * A5)))))
        return tf.where(d < 0.0, 1.0 - w, w)

    def f(s, x, t):
        v = SIGMA * tf.sqrt(t)
        d1 = (tf.math.log(s / x) + (R + 0.5 * SIGMA * SIGMA) * t) / v
        d2 = d1 - v
        return s * cdf(d1) - x * tf.exp(-R * t) * cdf(d2)

    return f


def make_torch():
    import torch

    return _generic(torch, torch.abs)


def _numba(parallel):
    import numba

    rng = numba.prange if parallel else range

    @numba.njit(fastmath=True, error_model="numpy")
    def cdf1(d):
        k = 1.0 / (1.0 + P * abs(d))
        w = 1.0 - C * math.exp(-0.5 * d * d) * (k * (A1 + k * (A2 + k * (A3 + k * (A4 + k * A5)))))
        return 1.0 - w if d < 0.0 else w

    def f(s, x, t):
        out = np.empty_like(s)
        for i in rng(s.size):
            v = SIGMA * math.sqrt(t[i])
            d1 = (math.log(s[i] / x[i]) + (R + 0.5 * SIGMA * SIGMA) * t[i]) / v
            d2 = d1 - v
            out[i] = s[i] * cdf1(d1) - x[i] * math.exp(-R * t[i]) * cdf1(d2)
        return out

    return numba.njit(fastmath=True, error_model="numpy", parallel=parallel)(f)


def make_numba():
    return _numba(False)


def make_numba_par():
    return _numba(True)


def make_numexpr():
    import numexpr as ne

    poly = "({k}*(A1+{k}*(A2+{k}*(A3+{k}*(A4+{k}*A5)))))"
    con = {"A1": A1, "A2": A2, "A3": A3, "A4": A4, "A5": A5, "C": C, "P": P}

    def sub(e):
        for name, val in con.items():
            e = e.replace(name, repr(val))
        return e

    e_d1 = f"(log(s/x) + {R + 0.5 * SIGMA * SIGMA!r}*t) / ({SIGMA!r}*sqrt(t))"
    k = "(1.0/(1.0+P*abs(d)))"
    w = sub("C*exp(-0.5*d*d)*" + poly.format(k=k))
    cdf_e = f"where(d < 0.0, {w}, 1.0-{w})"
    full = "s*{} - x*exp({!r}*t)*{}".format(
        cdf_e.replace("d", "d1_").replace("d1_", "d1"), -R, cdf_e.replace("d", "d2")
    )
    f64 = np.float64
    ex1 = ne.NumExpr(e_d1, [("s", f64), ("x", f64), ("t", f64)])
    ex2 = ne.NumExpr(full, [("s", f64), ("x", f64), ("t", f64), ("d1", f64), ("d2", f64)])
    exd = ne.NumExpr(f"d1 - {SIGMA!r}*sqrt(t)", [("d1", f64), ("t", f64)])

    def f(s, x, t):
        d1 = ex1(s, x, t)
        return ex2(s, x, t, d1, exd(d1, t))

    return f
