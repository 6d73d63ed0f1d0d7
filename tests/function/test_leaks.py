"""Nothing leaks: objects are counted over thousands of retraces."""

from __future__ import annotations

import gc
import linecache

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings


def held():
    gc.collect()
    return len(gc.get_objects())


@pytest.mark.slow
def test_ten_thousand_retraces(make):
    with settings.override(cache_size=8):
        f, tracer = make(lambda x, n: n, reduce_retracing=False, strict=True)
        counts = []
        for part in (range(2000), range(2000, 6000), range(6000, 10000)):
            for n in part:
                f(1.0, n)
            tracer.calls.clear()
            tracer.volatile.clear()
            counts.append(held())
    assert len(f.traces) == 8
    assert abs(counts[2] - counts[1]) < 200, counts


def test_real_traces_go_with_all_that_belongs_to_them():
    def body(x, n):
        total = x
        while total.sum() < n:
            total = total + 1
        return total

    with settings.override(cache_size=4):
        f = ag.function(body, reduce_retracing=False, strict=True)
        counts, files = [], []
        for part in range(3):
            for n in range(part * 25, (part + 1) * 25):  # each is compiled anew
                f(np.ones(2), n)
            counts.append(held())
            files.append(len(linecache.cache))
    assert counts[2] - counts[1] < 100, counts
    assert files[2] - files[1] < 5, files
