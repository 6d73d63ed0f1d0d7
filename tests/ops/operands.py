"""Sample operands for every row of the op table: what a rule is held against.

In: a row's name and a seeded generator.  Out: calls `(args, kwargs)`.  What always holds: a row that is
neither in `MAKERS` nor of a family with a maker has no samples, which a test refuses.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import numpy as np


def copied(x: Any) -> Any:
    """A deep copy; NumPy 2.0 ends the process over one of an array of `StringDType`."""
    if isinstance(x, (tuple, list)) and type(x) in (tuple, list):
        return type(x)(map(copied, x))
    if isinstance(x, dict):
        return {key: copied(value) for key, value in x.items()}
    return x.copy() if isinstance(x, np.ndarray) and x.dtype.kind == "T" else copy.deepcopy(x)


Call = tuple[tuple[Any, ...], dict[str, Any]]
Maker = Callable[[random.Random], Call]

DTYPES = "? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split()
SHAPES: tuple[tuple[int, ...], ...] = ((), (3,), (0,), (1,), (2, 3), (1, 3), (2, 1), (2, 3, 3), (0, 3))
WEAK: tuple[Any, ...] = (
    True,
    False,
    0,
    1,
    2,
    3,
    -1,
    -2,
    300,
    2**63,
    -(2**63),
    2**70,
    0.5,
    2.0,
    -1.5,
    0.0,
    1j,
    2 + 0j,
)
SMALL: tuple[Any, ...] = (True, 1, 2, 3, -1, 0.5, 2.0)


TEXTS = ("", "a", "b", "Ab", "abc", "1", " x ", "a b", "éß")


def texts(rng: random.Random, shape: tuple[int, ...] | None = None, kind: str = "U") -> Any:
    """A small array of texts: str, bytes, or texts of any length where NumPy has these."""
    dims = rng.choice(SHAPES) if shape is None else shape
    made = np.array(rng.choices(TEXTS[: 8 if kind == "S" else 9], k=int(np.prod(dims)))).reshape(dims)
    return made.astype(np.dtypes.StringDType() if kind == "T" else kind)


def of_texts(name: str) -> Maker:
    """Calls of a function on texts."""

    def make(rng: random.Random) -> Call:
        kind = {"encode": "U", "decode": "S"}.get(name) or rng.choice(
            "UST" if hasattr(np.dtypes, "StringDType") else "US"
        )
        x = texts(rng, rng.choice(((3,), (2, 3), (0,), (3,))), kind)
        other = texts(rng, rng.choice(((3,), (1,), ())), kind)
        part = rng.choice((other, b"a" if kind == "S" else "a"))
        if name in ("multiply", "center", "ljust", "rjust", "zfill"):
            return (x, rng.choice((2, np.array([1, 2, 4]), 5))), {}
        if name == "replace":
            return (x, part, b"zz" if kind == "S" else "zz"), {}
        if name == "translate":
            return (x, bytes(range(256)) if kind == "S" else str.maketrans("a", "z")), {}
        if name == "slice":
            return (x, rng.choice((1, 2))), {}
        if name == "mod":
            return (np.array(["%d"] if kind == "U" else [b"%d"]), np.arange(3)), {}
        two = ("add", "find", "rfind", "index", "rindex", "count", "startswith", "endswith")
        two += ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
        return (x, part) if name in two else (x,), {}

    return make


# Set by a test to draw all arrays from other dtypes than those a maker asks for.
INSTEAD: list[str] = []


def array(rng: random.Random, shape: tuple[int, ...] | None = None, dtypes: list[str] | None = None) -> Any:
    """A small array with a few repeated, negative and zero elements."""
    dims = rng.choice(SHAPES) if shape is None else shape
    dtype = np.dtype(rng.choice(INSTEAD or dtypes or DTYPES))
    if dtype.kind == "V":
        return np.zeros(dims, dtype)
    low = 0 if dtype.kind in "?bu" else -3
    values = [rng.randint(low, 4) for _ in range(int(np.prod(dims)))]
    made = np.array(values).reshape(dims).astype(dtype)
    if dtype.kind in "fc" and made.size:
        made += dtype.type(rng.choice((0, 0.5, 0.25)))
    return made


def scalar(rng: random.Random, dtypes: list[str] | None = None) -> Any:
    """A NumPy scalar."""
    return array(rng, (), dtypes)[()]


def value(rng: random.Random) -> Any:
    """An array, a NumPy scalar or a Python number."""
    kind = rng.randrange(6)
    if kind == 0:
        return scalar(rng)
    return rng.choice(WEAK) if kind == 1 else array(rng)


def real(rng: random.Random, shape: tuple[int, ...] | None = None) -> Any:
    """An array of a real floating dtype."""
    return array(rng, shape, ["f4", "f8"])


def options(rng: random.Random, **choices: tuple[Any, ...]) -> dict[str, Any]:
    """Some of the keywords, each with one of its values."""
    return {name: rng.choice(values) for name, values in choices.items() if rng.random() < 0.4}


def axis_for(rng: random.Random, a: Any) -> Any:
    """An axis that may fit."""
    return rng.choice((None, 0, -1, 1, (0, 1), (-1,), ())) if np.ndim(a) else rng.choice((None, 0, ()))


def unary(rng: random.Random) -> Call:
    return (value(rng),), {}


def binary(rng: random.Random) -> Call:
    return (value(rng), value(rng)), {}


def ufunc(nin: int) -> Maker:
    def make(rng: random.Random) -> Call:
        args = tuple(value(rng) for _ in range(nin))
        if rng.random() < 0.25:
            shape = np.broadcast_shapes(*map(np.shape, args)) if nin else ()
            extra: dict[str, Any] = options(
                rng, dtype=("f8", np.float32, np.dtype("c16"), int), casting=("unsafe", "same_kind")
            )
            if rng.random() < 0.3:
                extra["out"] = np.zeros(shape, rng.choice(("f8", "c16", "?")))
            # NumPy 2.4 crashes when it compares unsigned integers to -1 under a mask.
            if rng.random() < 0.3 and not any(type(a) is int for a in args):
                extra["where"] = rng.choice((True, np.ones(shape, bool), np.ones((2, 3), bool)))
            return args, extra
        return args, {}

    def guarded(rng: random.Random) -> Call:
        while True:
            try:
                return make(rng)
            except ValueError:  # shapes that do not broadcast, where `out=` needs them to
                continue

    return guarded


def reducing(rng: random.Random) -> Call:
    a = value(rng)
    return (a,), ({"axis": axis_for(rng, a)} if rng.random() < 0.7 else {}) | options(
        rng, keepdims=(True, False)
    )


def summing(rng: random.Random) -> Call:
    args, kwargs = reducing(rng)
    return args, kwargs | (options(rng, dtype=(None, "f4", np.int64)) if rng.random() < 0.5 else {})


def with_initial(rng: random.Random) -> Call:
    args, kwargs = summing(rng)
    kwargs |= options(rng, initial=(0, 1.5), where=(True, np.True_)) if rng.random() < 0.4 else {}
    return args, kwargs


def extremes(rng: random.Random) -> Call:
    args, kwargs = reducing(rng)
    return args, kwargs | (options(rng, initial=(0, 1.5)) if rng.random() < 0.4 else {})


def running(rng: random.Random) -> Call:
    a = value(rng)
    return (a,), options(rng, axis=(None, 0, -1, 1), dtype=("f8", None))


def sorting(rng: random.Random) -> Call:
    return (value(rng),), options(rng, axis=(None, 0, -1, 1), kind=("stable",))


def partitioning(rng: random.Random) -> Call:
    return (array(rng), rng.choice((0, 1))), options(rng, axis=(None, 0, -1))


def of_shape(rng: random.Random) -> Call:
    shape = rng.choice((3, 0, (2, 3), (), (0,), np.int64(2), -1))
    return (shape,), options(rng, dtype=(None, "f4", int, bool), order=("C", "F"))


def like(rng: random.Random) -> Call:
    return (value(rng),), options(rng, dtype=(None, "f4"), shape=(None, (2,), 3))


def converting(rng: random.Random) -> Call:
    source = rng.choice(
        (
            value(rng),
            (1, 2),
            (1.5, 2),
            (np.float32(1), True),
            ((1, 2), (3, 4)),
            (array(rng), 1),
            (),
            (2**70, 1.0),
        )
    )
    return (source,), options(rng, dtype=(None, "f4", complex))


def shape_of_key(rng: random.Random, n: int) -> Any:
    """One item of a key for an axis of size `n`."""
    choices = (
        0,
        -1,
        None,
        Ellipsis,
        slice(None),
        slice(1, None),
        slice(None, None, -1),
        slice(-2, 5),
        np.int64(0),
        np.array(0),
        np.array([0, 0]),
        np.zeros((2, 1), int),
        np.array([], int),
        (0, 0),
        True,
        np.False_,
        np.ones(n, bool),
        slice(0, 0),
        np.array(True),
        slice(0, None),
        slice(None, None, 2),
        np.uint8(0),
    )
    return rng.choice(choices)


def getting(rng: random.Random) -> Call:
    if rng.random() < 0.1:
        return (
            rng.choice(((1, 2.0, 3), (np.float32(1), 2, 3), range(5), "abc")),
            rng.choice((0, -1, 1, slice(1, None))),
        ), {}
    a = array(rng, rng.choice(((), (3,), (2, 3), (1, 3), (2, 3, 4), (2, 2, 2, 2), (0, 3))), ["f4", "i8", "?"])
    count = rng.randint(0, a.ndim + 1)
    items = tuple(shape_of_key(rng, a.shape[min(i, a.ndim - 1)] if a.ndim else 1) for i in range(count))
    if a.ndim > 1 and rng.random() < 0.1:
        items = (np.ones(a.shape[:2], bool), *items[:-2])
    return (a, items[0] if len(items) == 1 and rng.random() < 0.7 else items), {}


def setting(rng: random.Random) -> Call:
    (a, key), _ = getting(rng)
    return (a, key, rng.choice((1, 0.5, np.int8(1)))), {}


def joining(rng: random.Random) -> Call:
    shape = rng.choice(SHAPES)
    items = tuple(array(rng, shape) for _ in range(rng.randint(1, 3)))
    if rng.random() < 0.2:
        items = (*items, array(rng))
    return (items if rng.random() < 0.9 else array(rng),), {}


def joining_axis(rng: random.Random) -> Call:
    args, _ = joining(rng)
    return args, options(rng, axis=(0, -1, 1, None), dtype=("f8", None))


def splitting(rng: random.Random) -> Call:
    a = array(rng, rng.choice(((4,), (4, 6), (2, 4, 6))))
    return (a, rng.choice((1, 2, 3, (1, 3), (2,)))), {}


def splitting_axis(rng: random.Random) -> Call:
    args, _ = splitting(rng)
    return args, options(rng, axis=(0, -1))


def matrix(rng: random.Random) -> Any:
    """A stack of well-conditioned square matrices."""
    n = rng.choice((1, 2, 3))
    dtype = rng.choice(("f4", "f8", "c8", "c16", "i4"))
    base = np.eye(n) * 4 + np.ones((n, n))
    return np.broadcast_to(base, (*rng.choice(((), (), (2,), (2, 1))), n, n)).astype(dtype)


def matrices(rng: random.Random) -> Call:
    return (matrix(rng),), {}


def rectangle(rng: random.Random) -> Any:
    return array(
        rng, rng.choice(((2, 3), (3, 2), (2, 2), (1, 2), (2, 2, 3))), ["f4", "f8", "c8", "c16", "i4"]
    )


def calls(*makers: Any, **choices: tuple[Any, ...]) -> Maker:
    """A maker of positional operands, each made by a function or chosen from a tuple, plus keywords."""

    def make(rng: random.Random) -> Call:
        return tuple(m(rng) if callable(m) else rng.choice(m) for m in makers), options(rng, **choices)

    return make


def vectors(rng: random.Random) -> Any:
    return array(rng, rng.choice(((1,), (3,), (2,), (), (2, 3))))


def ints(rng: random.Random) -> Any:
    return array(rng, (3,), ["u1", "i4", "i8", "?"]) % 3


def linear(rng: random.Random) -> Call:
    a = matrix(rng)
    n = a.shape[-1]
    b = array(rng, rng.choice(((n,), (n, 2), (2, n, 1))), ["f4", "f8", "c16", "i2"])
    return (a, b), {}


def single(rng: random.Random) -> Any:
    """An array or a NumPy scalar, never a Python number."""
    return scalar(rng) if rng.random() < 0.2 else array(rng)


def einsum(rng: random.Random) -> Call:
    text, shapes = rng.choice(
        (
            ("ij,jk->ik", ((2, 3), (3, 2))),
            ("ij,jk", ((2, 3), (3, 2))),
            ("i,i", ((3,), (3,))),
            ("ii->i", ((3, 3),)),
            ("ij->", ((2, 3),)),
            ("i,j->ij", ((2,), (3,))),
            ("ji", ((2, 3),)),
            ("bij,bjk->bik", ((2, 2, 3), (2, 3, 1))),
            ("ii", ((3, 3),)),
            ("i,i->i", ((1,), (3,))),
            ("...i->i", ((2, 3),)),
        )
    )
    return (text, *(array(rng, s) for s in shapes)), {}


def histogram(rng: random.Random) -> Call:
    return (array(rng, rng.choice(((5,), (2, 3))), ["f4", "f8", "i4", "u1"]),), options(
        rng, bins=(3, 10, "auto")
    )


def reshaping(rng: random.Random) -> Call:
    shape = rng.choice((-1, (3, -1), (2, 3), (3, 2), (1, -1), (), (-1, 2), 6, (0, -1), (1, 1), (1,)))
    return (value(rng), shape), {}


def reshaping_method(rng: random.Random) -> Call:
    shape = rng.choice(((-1,), (3, -1), (2, 3), ((3, 2),), (1, -1), ((),), (6,), (1, 1)))
    return (single(rng), *shape), {}
