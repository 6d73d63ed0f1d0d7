"""Options that native code does not know are never dropped: such calls are NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from runtime.execute.native.executor import unavailable
from tests.execute.native.harness import both

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
X = np.random.default_rng(0).random((4, 4))
CALLS: tuple[Callable[[Any], Any], ...] = (
    lambda x: np.sort(x, kind="stable"),
    lambda x: np.sort(x, axis=None),
    lambda x: np.median(x, axis=0)[0] + np.median(x, axis=(0, 1)) + np.median(x, keepdims=True)[0, 0],
    lambda x: np.linalg.norm(x, 1) + np.linalg.norm(x, ord=2) + np.linalg.norm(x, np.inf, axis=1)[0],
    lambda x: np.sum(x, axis=(0, 1), initial=2.0) + x.max(axis=(0, 1), where=x > 0, initial=-1),
    lambda x: np.sum(x, axis=(0, 1), dtype=np.float32),
    lambda x: x.ravel("F")[1] + x.reshape((2, -1), order="F")[0, 1] + x.flatten("F")[2],
    lambda x: np.linalg.eigvalsh(x.T @ x, "U")[0],
    lambda x: np.linalg.inv(np.stack((x, x))) + np.linalg.solve(np.stack((x, x)), np.stack((x, x))),
    lambda x: np.concatenate((x, x), axis=None)[3] + np.stack((x, x), -1)[0, 0, 1],
    lambda x: np.concatenate((x, x), dtype=np.float32)[0, 0] + np.vstack((x, x), dtype=np.float32)[0, 0],
    lambda x: np.linspace(0, 1, 5, retstep=True)[1] + np.linspace(0, 1, 5, dtype=int)[4],
    lambda x: sorted(x[0], reverse=True)[0] + sorted([3.0, 1.0, 2.0], key=lambda v: -v)[0],
    lambda x: np.interp(0.3, x[0], x[1], left=9),
    lambda x: (np.linalg.inv(x * 1j), np.median(x * 1j), np.sort(x * 1j), np.concatenate((x * 1j, x))),
)


@pytest.mark.parametrize("function", CALLS)
def test_options(function: Callable[[Any], Any]) -> None:
    def repeated(x):  # type: ignore[no-untyped-def]
        found = [function(x)]
        for k in range(2):
            found.append(function(x[:, ::-1] + k))
        return found

    both(function, [(X,)], lowered=False)
    both(repeated, [(X,)], lowered=False)
