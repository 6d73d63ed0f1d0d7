"""Views of arrays by NumPy's functions: native code against Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from runtime.execute.native.executor import unavailable
from tests.execute.native.harness import both

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
R = np.random.default_rng(5)
LOOKS: list[tuple[str, Callable[[Any], Any]]] = [
    ("flip", lambda x: np.flip(x)),
    ("flip along one", lambda x: np.flip(x, 1)),
    ("flip along two", lambda x: np.flip(x, axis=(0, -1))),
    ("flipud", lambda x: np.flipud(x)),
    ("fliplr", lambda x: np.fliplr(x)),
    ("swapaxes", lambda x: np.swapaxes(x, 0, -1)),
    ("swapaxes method", lambda x: x.swapaxes(1, 0)),
    ("moveaxis", lambda x: np.moveaxis(x, 0, -1)),
    ("moveaxis of two", lambda x: np.moveaxis(x, (0, 1), (1, 0))),
    ("expand_dims", lambda x: np.expand_dims(x, 1)),
    ("expand_dims of two", lambda x: np.expand_dims(x, (0, -1))),
    ("squeeze", lambda x: np.squeeze(x[:, :1])),
    ("squeeze along one", lambda x: np.expand_dims(x, 0).squeeze(0)),
    ("squeeze of none", lambda x: np.squeeze(x)),
]


@pytest.mark.parametrize("look", [look for _, look in LOOKS], ids=[name for name, _ in LOOKS])
def test_looks(look: Callable[[Any], Any]) -> None:
    """Read, in a loop and beside the array itself; and written through."""

    def function(x, n):  # type: ignore[no-untyped-def]
        total = 0.0
        for k in range(n):
            y = look(x)
            total += (y * 2.0).sum() + y[0].max()
            y[:1] += k
        return total, look(x) + 1.0, x

    calls = [(R.random(shape), n) for shape in ((3, 4), (2, 3, 4)) for n in (20, 3, 30)]
    for some in (calls[:3], calls[3:]):
        both(function, some)
        both(function, [(x.astype(np.int32)[::-1], n) for x, n in some], lowered=False)
