"""Every claim of every type rule holds for what the op really returns.

Operands are drawn from `samples`; each call is described in several ways, from exactly known (static
values, all sizes) to barely (unknown sizes, unknown rank, weak numbers), and the rule's answer for each
must describe the actual result.
"""

from __future__ import annotations

import os
import random
import warnings
from typing import Any

import numpy as np
import pytest

from runtime.ir.opdef import OpDef
from runtime.ops import python, table
from runtime.ops.rules import Unknown, any_value
from runtime.types import (
    OBJECT,
    WEAK_OF,
    ArrayType,
    ObjectType,
    StaticType,
    TupleType,
    Type,
    describes,
    type_of,
)
from tests.ops import operands
from tests.ops.samples import maker

NUMPY_ROWS = [op for family in table.FAMILIES if family is not python for op in family.ROWS]
RARE = [">f8", ">i4", "g", "G", "U3", "S2", "M8[s]", "m8[s]", "V4", "i4,f4", "f8", "O"]
TRIES = int(os.environ.get("OP_SAMPLES", "100"))


def ids(op: OpDef) -> str:
    return op.name


def immutable(value: Any) -> bool:
    """Whether the value can be a constant of a trace."""
    if isinstance(value, tuple):
        return all(map(immutable, value))
    return not isinstance(value, (np.ndarray, np.generic, list))


def views(value: Any) -> list[Type]:
    """Types that describe a value, most precise first."""
    found: list[Type] = [StaticType(value)] if immutable(value) else []
    if type(value) in (bool, int, float, complex):
        found.append(type_of(value))
    elif isinstance(value, slice):
        found.append(ObjectType(slice))
    elif type(value) is tuple:
        found += [TupleType(items) for items in zip(*map(views, value), strict=False)]
        found += [TupleType(tuple(views(v)[-1] for v in value)), type_of(value)]
    elif isinstance(value, (np.ndarray, np.generic)):
        t = type_of(value)
        found.append(t)
        if isinstance(t, ArrayType) and not t.scalar and t.shape:
            found.append(ArrayType(t.dtype, (None,) * len(t.shape)))
            found.append(ArrayType(t.dtype, (None, *t.shape[1:])))
        if isinstance(t, ArrayType) and not t.scalar:
            found.append(ArrayType(t.dtype, None))
    elif not found:
        found.append(type_of(value))
    return found


def described(
    rng: random.Random, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[tuple[list[Type], dict[str, Type]]]:
    """The call in types: as known as can be, as little, and some mixtures."""
    choices = [views(v) for v in (*args, *kwargs.values())]
    mixed = [[c[0] for c in choices], [c[-1] for c in choices]]
    mixed += [[rng.choice(c) for c in choices] for _ in range(4)]
    n = len(args)
    return [(m[:n], dict(zip(kwargs, m[n:], strict=True))) for m in mixed]


def attempt(op: OpDef, args: tuple[Any, ...], kwargs: dict[str, Any], **errors: Any) -> Any:
    """The result of running the op on copies of the operands, or the exception it raises."""
    with warnings.catch_warnings(), np.errstate(**(errors or {"all": "ignore"})):
        warnings.simplefilter("ignore")
        try:
            return op.run(*operands.copied(args), **operands.copied(kwargs))
        except Exception as problem:
            return problem


@pytest.mark.parametrize("op", NUMPY_ROWS, ids=ids)
def test_every_claim_holds(op: OpDef) -> None:
    rng = random.Random(op.name)
    make = maker(op)
    ran = precise = 0
    for _ in range(TRIES):
        args, kwargs = make(rng)
        actual = attempt(op, args, kwargs)
        if isinstance(actual, Exception):
            continue
        ran += 1
        if op.rule is None:
            assert actual is None
            continue
        for types, keywords in described(rng, args, kwargs):
            claim = op.rule(*types, **keywords)
            precise += claim != OBJECT
            said = f"{op.name}({types}, {keywords}) -> {claim}"
            assert describes(claim, actual), f"{said}, got {actual!r} for {args} {kwargs}"
    assert ran >= 10, f"only {ran} samples ran"
    assert precise or getattr(op.rule, "__wrapped__", op.rule) in (None, any_value), (
        "the rule never says anything"
    )


@pytest.mark.parametrize("op", [op for op in NUMPY_ROWS if op.rule is not None], ids=ids)
def test_claims_hold_for_rare_dtypes(op: OpDef, monkeypatch: pytest.MonkeyPatch) -> None:
    """Foreign byte order, extended precision, text, times, records and objects."""
    monkeypatch.setattr(operands, "INSTEAD", RARE)
    rng = random.Random(op.name + " rare")
    make = maker(op)
    for _ in range(TRIES // 3):
        try:
            args, kwargs = make(rng)
        except (TypeError, ValueError):  # some makers compute with what they draw
            continue
        actual = attempt(op, args, kwargs)
        if isinstance(actual, Exception):
            continue
        for types, keywords in described(rng, args, kwargs):
            assert op.rule is not None
            claim = op.rule(*types, **keywords)
            assert describes(claim, actual), f"{op.name}({types}, {keywords}) -> {claim}, got {actual!r}"


@pytest.mark.parametrize("op", [op for op in NUMPY_ROWS if not op.raises], ids=ids)
def test_rows_that_say_so_never_raise(op: OpDef) -> None:
    rng = random.Random(op.name + " raises")
    make = maker(op)
    assert op.rule is not None
    for _ in range(TRIES):
        args, kwargs = make(rng)
        kwargs.pop("out", None)  # a call with `out=` is a write, which is kept anyway
        actual = attempt(op, args, kwargs, all="raise")
        if isinstance(actual, Exception):
            for types, keywords in described(rng, args, kwargs):
                assert op.rule(*types, **keywords) == OBJECT, (
                    f"{op.name}{types} {keywords}: {actual!r} for {args}"
                )


def rows_with_methods() -> list[OpDef]:
    return [op for op in NUMPY_ROWS if op.method]


@pytest.mark.parametrize("op", rows_with_methods(), ids=ids)
def test_methods_give_what_the_row_claims(op: OpDef) -> None:
    """`x.sum(...)` is the row's op as well, for arrays and for NumPy scalars."""
    rng = random.Random(op.name + " method")
    make = maker(op)
    assert op.method is not None
    if op.rule is None:
        return
    for _ in range(TRIES):
        args, kwargs = make(rng)
        if not isinstance(args[0], (np.ndarray, np.generic)):
            continue
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                x, *rest = operands.copied(args)
                actual = getattr(x, op.method)(*rest, **kwargs)
            except Exception:  # as the function, on operands that do not fit
                continue
        for types, keywords in described(rng, args, kwargs):
            claim = op.rule(*types, **keywords)
            assert describes(claim, actual), (
                f"{op.method}({[*map(str, types)]}, {keywords}) -> {claim}, got {actual!r}"
            )


@pytest.mark.parametrize("number", [0, 300, 2.5, 1j, True, np.int16(1), np.float64(1)], ids=repr)
@pytest.mark.parametrize("dtype", ["i1", "u2", "f4", "f8", "?", "c8"])
def test_numbers_of_pythons_that_are_laid_end_to_end_with_arrays(dtype: str, number: Any) -> None:
    x = np.ones(3, dtype)
    weak = WEAK_OF.get(type(number), type_of(number))
    both = np.concatenate((x, number, number), axis=None)
    for n in (weak, StaticType(number)):
        claim = table.OPS["np.concatenate"].rule(TupleType((type_of(x), n, n)), StaticType(None))
        assert describes(claim, both), (claim, both)
        for claim, made in (
            (table.OPS["np.union1d"].rule(type_of(x), n), np.union1d(x, number)),
            (table.OPS["np.union1d"].rule(n, type_of(x)), np.union1d(number, x)),
            (table.OPS["np.setxor1d"].rule(type_of(x), n), np.setxor1d(x, number)),
        ):
            assert describes(claim, made), (claim, made)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("np.diag_indices", (np.uint64(3),)),
        ("np.diag_indices", (np.int32(3),)),
        ("np.diag_indices", (3,)),
        ("np.indices", ((1, 2), None)),
        ("np.indices", ((1, 2),)),
        ("np.diff", ((np.arange(3.0), np.arange(3)), 0)),
        ("np.diff", ((np.arange(3.0), np.arange(3)), 1)),
    ],
)
def test_claims_for_calls_that_hardly_anybody_writes(name: str, args: tuple[Any, ...]) -> None:
    rule, run = table.OPS[name].rule, table.OPS[name].run
    assert rule is not None and run is not None
    try:
        claim = rule(*(StaticType(x) if immutable(x) else type_of(x) for x in args))
    except Unknown:
        claim = OBJECT
    assert describes(claim, run(*args)), claim
