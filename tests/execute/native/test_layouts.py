"""In which order of axes new arrays lie in memory, which sums of them go by: as NumPy makes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings
from runtime.execute.native.executor import unavailable
from tests.execute.native.harness import both

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
R = np.random.default_rng(8)
X, T, I = R.random((37, 41)), R.random((5, 6, 7)), R.integers(0, 37, 50)
PAIRS = R.integers(0, 5, (3, 4))


def summed(f: Callable[..., Any]) -> Callable[..., Any]:
    """The function, and sums of what it makes, which is kept in memory."""

    def function(*args: Any) -> Any:
        y = f(*args)
        return y, y.sum(), y.mean(), y.std(), y.sum(axis=0), y.sum(axis=-1)

    return function


CASES: tuple[tuple[Callable[..., Any], tuple[Any, ...]], ...] = (
    (lambda x: x.T * 1.1, (X,)),
    (lambda x: x.T * x.T + x.T, (X,)),
    (lambda x: x[:37, :37] + x[:37, :37].T, (X,)),
    (lambda x: x[:37, :37].T + x[:37, :37], (X,)),
    (lambda x, r: x.T + r, (X, X[:, 0].copy())),
    (lambda x: np.where(x.T > 0.5, x.T, 0.1), (X,)),
    (lambda x: x.T.astype(np.float32), (X,)),
    (lambda x: np.sqrt(x.T[1:, ::2]), (X,)),
    (lambda x: np.concatenate((x.T, x.T)) * 1.0, (X,)),
    (lambda x: np.stack((x.T, x.T)) * 1.0, (X,)),
    (lambda t: t.transpose(2, 0, 1) * 1.1, (T,)),
    (lambda t: t.transpose(0, 1, 2) * 1.1, (T,)),
    (lambda t: np.sqrt(t.transpose(0, 2, 1))[1] * 1.1, (T,)),
    (lambda x: np.swapaxes(x, 0, 1) * 1.1, (X,)),
    (lambda x: np.moveaxis(x, 0, -1) * 1.1, (X,)),
    (lambda t: np.swapaxes(t, 1, 2) * 1.1, (T,)),
    (lambda t: np.moveaxis(t, (0, 1), (1, 2)) * 1.1, (T,)),
    (lambda x: np.expand_dims(x.T, 1) * 1.1, (X,)),
    (lambda x: np.expand_dims(x, (0, -1)) * 1.1, (X,)),
    (lambda t: np.squeeze(np.swapaxes(t[:1], 1, 2)) * 1.1, (T,)),
    (lambda t: np.squeeze(t[:, :1].transpose(2, 1, 0), 1) * 1.1, (T,)),
    (lambda x: np.flip(x) * 1.1, (X,)),
    (lambda x: np.flipud(x.T) * 1.1, (X,)),
    (lambda x: np.sort(x.T, axis=0) * 1.1, (X,)),
    (lambda x: np.cumsum(x.T, axis=0) * 1.1, (X,)),
    (lambda x: np.cumprod(x.T, axis=1), (X,)),
    (lambda t: np.argmax(t.transpose(2, 0, 1), axis=0) * 1.1, (T,)),
    (lambda t: np.argmin(t.transpose(0, 2, 1), axis=1) * 1.1, (T,)),
    (lambda x, i: x[:, i], (X, I)),
    (lambda x, i: x[1:, i] * 1.1, (X, I)),
    (lambda x, i: x.T[i] * 1.1, (X, I)),
    (lambda x, i: x[i] * 1.1, (X, I % 37)),
    (lambda t, i: t[:, i], (T, PAIRS)),
    (lambda t, i: t[i.T], (T, PAIRS)),
    (lambda t, i: t[i], (T, np.asfortranarray(PAIRS))),
    (lambda x, m: x.T[m] * 1.1, (X, R.random(41) > 0.5)),
)


@pytest.mark.parametrize(("function", "args"), CASES)
def test_layouts(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    for f in (function, summed(function)):
        with settings.override(executor="native"):
            converted = ag.function(f)
            wanted, found = f(*args), converted(*args)
        both = ((x if isinstance(x, tuple) else (x,)) for x in (wanted, found))
        for one, other in zip(*both, strict=True):
            assert np.asarray(one).tobytes() == np.asarray(other).tobytes()
            assert np.asarray(one).strides == np.asarray(other).strides


def test_what_has_no_known_type_is_laid_out_likewise() -> None:
    def bounded(x: Any) -> Any:
        return np.clip(x, [0.2, 0.4, 0.6], 0.9)

    for x in (np.asfortranarray(R.random((50, 3))), R.random((50, 3)), R.random((3, 50)).T):
        with settings.override(executor="native", compile="now"):
            found, wanted = ag.function(bounded)(x), bounded(x)
        assert (found.strides, found.tobytes()) == (wanted.strides, wanted.tobytes())


def norms(x):  # type: ignore[no-untyped-def]
    return np.linalg.norm(x), np.linalg.norm(x[1:]), np.linalg.norm(x[:, 1])


def test_norms_go_through_memory_in_its_order() -> None:
    both(norms, [(X,)])
    for x in (X.T, np.asfortranarray(X), X[::2, ::3], X[::-1], X[:, ::-1]):
        for k in range(9):
            both(norms, [(x * (k + 1),)], lowered=False)


@pytest.mark.parametrize("step", [2, 3, -1, 1])
def test_overlapping_rows(step: int) -> None:
    """Windows: every second element of their rows lies as far apart as the rows do."""
    windows = np.lib.stride_tricks.sliding_window_view(R.random(3000), 60)

    def every(v):  # type: ignore[no-untyped-def]
        return v[:, ::step] * 1.1, np.zeros_like(v[:, ::step]), np.copy(v[::step])

    with settings.override(executor="native", compile="now"):
        found = ag.function(every)(windows)
    for one, other in zip(every(windows), found, strict=True):
        assert one.tobytes() == other.tobytes() and one.strides == other.strides


def test_sums_of_elements_that_are_not_aligned() -> None:
    def added(x):  # type: ignore[no-untyped-def]
        return x.sum(), x.mean(), (x * 2).sum(), x.reshape(200, -1).sum(axis=1)

    lines = np.random.default_rng(3).standard_normal(20000)
    odd = np.zeros(lines.nbytes + 1, np.uint8)[1:].view(float)
    odd[:] = lines
    assert not odd.flags.aligned
    both(added, [(lines,), (odd,), (odd[::2],)], lowered=False)
