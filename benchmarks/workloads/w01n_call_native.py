"""As W01, but with the framework's own arrays on both sides."""

from __future__ import annotations

from benchmarks.workloads.w01_call_overhead import (  # noqa: F401
    ATOL,
    RTOL,
    inputs,
    make_jax,
    make_numba,
    make_tf,
    make_torch,
    plain,
)

TITLE = "call_overhead (native in/out)"
DIRECT = False
