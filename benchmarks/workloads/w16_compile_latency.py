"""First-call time of a generated function: 200 elementwise/reduction operations, three ifs and
one while whose conditions depend on the data.  The first call is the figure of interest."""

from __future__ import annotations

import numpy as np

from benchmarks.workloads import generated

TITLE = "compile_latency 200 ops, 3 if, 1 while"
RTOL, ATOL = 1e-6, 1e-9
KW = {"n": 200, "seed": 5, "nconds": 3, "nwhiles": 1}
TIMEOUT_S = 400


def inputs(seed):
    r = np.random.default_rng(seed)
    return (r.standard_normal(256), r.standard_normal(256))


plain = generated.load("np", **KW)


def make_jax():
    return generated.load("jnp", **KW)


def make_tf():
    return generated.load("tf", **KW)


def make_torch():
    return generated.load("torch", **KW)


def make_numba():
    import numba

    return numba.njit(generated.load("np", **KW))
