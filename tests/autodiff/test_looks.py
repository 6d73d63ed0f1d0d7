"""Functions that may hand back their operand or a look at it: what is written through it reaches the operand,
in derivatives as well; and no table takes what they give for a new array."""

from __future__ import annotations

import math
import operator
import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from runtime.autodiff.rows import UNSURE, VIEWS
from runtime.autodiff.staged.aliases import SURE_VIEWS, may_look
from runtime.autodiff.staged.calls import WRITING
from runtime.ir.graph import Const, Node, Value
from runtime.ir.opdef import PURE
from runtime.ops.table import OPS
from runtime.passes.facts import makes_new
from runtime.types import OBJECT, type_of
from tests.autodiff.test_programs import difference
from tests.autodiff.test_reads import gradients
from tests.ops.samples import maker

X = np.array([0.5, -1.25, 2.0])
M = np.array([[0.5, 1.5], [2.0, -1.0]])
BY = np.array([[1.0, 2.0], [3.0, 4.0]])


def written_through_a_power(m: Any) -> Any:
    z = m * 1.0
    w = np.linalg.matrix_power(z, 1)
    w[0, 1] = 7 * w[0, 0]
    return np.sum(z * BY)


def written_through_einsum_with_lists(m: Any) -> Any:
    z = m * 1.0
    w = np.einsum(z, [0, 1], [1, 0])
    w[0, 1] = 7 * w[0, 0]
    return np.sum(z * BY) + np.einsum(m, [0, 1], m, [1, 0])


def written_through_looks_at_zeros(m: Any) -> Any:
    z = np.zeros((2, 2))
    np.einsum("ij->ji", z)[0, 1] = m[0, 0] ** 2
    np.linalg.matrix_power(z, 1)[1, 1] = m[0, 0]
    a, _ = np.broadcast_arrays(z, m)
    a[0, 0] = m[1, 1]
    return np.sum(z * BY)


def written_through_a_cast(m: Any) -> Any:
    z = m * 1.0
    w = np.astype(z, np.float64, copy=False) if hasattr(np, "astype") else z
    w[0] = 5 * w[1]
    v = z.astype(np.float64, "K", "unsafe", True, False)
    v[1] *= v[0]
    return np.sum(z * BY)


def written_into_a_reshaped_copy(x: Any) -> Any:
    y = np.linspace(np.zeros(3), np.ones(3), 4, axis=1)
    z = y.reshape(-1)
    z[0] = x[0]
    z[5] = x[1]
    return np.sum(y * np.arange(12.0).reshape(3, 4)) + np.sum(z * np.arange(12.0))


def capital_letter_after_dots(m: Any) -> Any:
    return np.sum(np.einsum("...A", m) * BY)


def zeros_trimmed_of_one_number(x: Any) -> Any:
    return np.sum(np.trim_zeros(np.broadcast_to(x[:1], (3,))))


def an_item_got_by_function(m: Any) -> Any:
    z = m * 1.0
    operator.getitem(z, 0)[1] = 3 * z[1, 0]
    return np.sum(z * BY)


def lengths(x: Any) -> Any:
    flat = math.hypot(x[0]) + math.hypot(x[0], 2.0) + math.hypot(x[1], 2.0, x[2])
    return flat * math.dist((x[0], 1.0), (2.0, x[1])) + math.hypot(1e200 * x[0], 1e200, 1e200) / 1e200


PROGRAMS: list[tuple[Callable[..., Any], Any]] = [
    (written_through_a_power, M),
    (written_through_einsum_with_lists, M),
    (written_through_looks_at_zeros, M),
    (written_through_a_cast, M),
    (written_into_a_reshaped_copy, X),
    (capital_letter_after_dots, M),
    (zeros_trimmed_of_one_number, X),
    (an_item_got_by_function, M),
    (lengths, X),
]


@pytest.mark.parametrize(("f", "x"), PROGRAMS, ids=[f.__name__ for f, _ in PROGRAMS])
def test_programs(f: Callable[..., Any], x: Any) -> None:
    want = difference(f, x)
    for found in gradients(f, x):
        np.testing.assert_allclose(found, want, rtol=1e-6, atol=1e-8)


# Calls that may give a look where the samples of their rows don't.
CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("np.linalg.matrix_power", (M, 1), {}),
    ("np.array", (M,), {"copy": None}),
    ("np.asarray", (M,), {}),
    ("nd.astype", (M, float, "K", "unsafe", True, False), {}),
    ("np.einsum", (M, [0, 1], [1, 0]), {}),
    ("np.einsum", ("ii->i", M), {"optimize": True}),
    ("np.diff", (X, 0), {}),
    ("np.nan_to_num", (M,), {"copy": False}),
    ("np.around", (np.arange(3),), {}),
    ("np.meshgrid", (X, X), {"copy": False, "sparse": True}),
    *([("np.astype", (M, float), {"copy": False})] if "np.astype" in OPS else []),
]


def arrays(x: Any) -> Iterator[Any]:
    if isinstance(x, np.ndarray):
        yield x
    for item in x.values() if isinstance(x, dict) else x if isinstance(x, (tuple, list)) else ():
        yield from arrays(item)


def gives_a_look(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    try:
        made = list(arrays(OPS[name].run(*args, **kwargs)))
    except Exception:  # samples are also of calls that raise
        return False
    return any(np.may_share_memory(x, y) for x in made for y in arrays((args, kwargs)))


def check_tables(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Nobody takes the result of the call for a new array."""
    made = OPS[name].run(*args, **kwargs)
    out = Value(type_of(made) if isinstance(made, np.ndarray) else OBJECT)
    node = Node(name, tuple(map(Const, (*args, *kwargs.values()))), (out,), tuple(kwargs))
    assert not makes_new(node, OPS), node
    if isinstance(made, np.ndarray) and name != "getitem":
        assert name in SURE_VIEWS or may_look(node), node
        assert name in VIEWS | UNSURE, name


def test_tables_know_functions_that_give_looks() -> None:
    found = set()
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for row in OPS.values():
            if row.run is None or row.effect != PURE or row.name in WRITING:
                continue
            try:
                make = maker(row)
            except KeyError:  # no function of NumPy
                continue
            rng = random.Random(0)
            for _ in range(60):
                args, kwargs = make(rng)
                if "out" not in kwargs and gives_a_look(row.name, args, kwargs):
                    check_tables(row.name, args, kwargs)
                    found.add(row.name)
    assert len(found) > 40
    for name, args, kwargs in CALLS:
        if gives_a_look(name, args, kwargs):
            check_tables(name, args, kwargs)
