"""The processor of this machine, as far as compiled code depends on it.

In: what Linux tells about it.  Out: its feature words, and one short text that is equal only where code for
this processor runs.  What always holds: nothing here imports the compiler.
"""

from __future__ import annotations

import functools
import platform

_FILE = "/proc/cpuinfo"
_ENOUGH = 1 << 14  # characters that the description of one processor surely fits into


@functools.cache
def description() -> dict[str, str]:
    """What the system says about the first processor; empty where it says nothing."""
    try:
        with open(_FILE, encoding="utf-8", errors="replace") as file:
            text = file.read(_ENOUGH)
    except OSError:
        return {}
    first = text.strip().partition("\n\n")[0]
    pairs = (line.partition(":") for line in first.splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}


@functools.cache
def flags() -> frozenset[str]:
    """The features that the processor has and the system lets programs use, in Linux's words ("avx2")."""
    return frozenset(description().get("flags", "").split())


@functools.cache
def identity() -> str:
    """The processor's kind and features in one line."""
    said = description()
    kind = [said.get(name, "") for name in ("vendor_id", "cpu family", "model", "model name", "stepping")]
    return " ".join([platform.machine(), *kind, *sorted(flags())])


@functools.cache
def vector_bytes() -> int:
    """How many bytes this processor works on at once."""
    have = flags()
    if {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= have:
        return 64
    return 32 if "avx2" in have else 16
