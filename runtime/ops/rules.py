"""What type rules are made of: shapes, dtypes asked of NumPy, and the one guard around every rule.

In: operand types.  Out: the type of the result.  What always holds: a rule made here either claims
exactly what NumPy returns or returns `OBJECT`; it never raises (`exact` sees to that).

Scalar or array: NumPy turns 0-d results of ufuncs and reductions into scalars, so a rule must know
whether the rank is 0; where the rank is unknown the honest answer is mostly `OBJECT`.
"""

from __future__ import annotations

import functools
import operator
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Union, cast

import numpy as np

from runtime.ir.opdef import OpDef
from runtime.mistakes import survived
from runtime.types import (
    OBJECT,
    TEXTS,
    WEAK_INT,
    ArrayType,
    NumberType,
    ObjectType,
    StaticType,
    TupleType,
    Type,
    WeakType,
    holds_objects,
    join,
    type_of,
)

Shape = Union[tuple[Union[int, None], ...], None]
Rule = Callable[..., Type]

PYTHON_KINDS: dict[str, type] = {"bool": bool, "int": int, "float": float, "complex": complex}
WEAK_DTYPE = {
    "bool": np.dtype(bool),
    "int": np.dtype(int),
    "float": np.dtype(float),
    "complex": np.dtype(complex),
}
INTP = np.dtype(np.intp)
BOOL = np.dtype(bool)
NUMERIC_KINDS = "biufc"
KINDS = NUMERIC_KINDS + "UST"  # texts, too


KEPT = 256  # results of a rule that are kept
_COMPLETE = (ArrayType, WeakType)  # they hold nothing of the user's


class Unknown(Exception):
    """Inside a rule: nothing exact can be said of the result."""


# What NumPy raises of operands that it does not take.
REFUSALS = (Unknown, TypeError, ValueError, ArithmeticError, IndexError, MemoryError, Warning)


def exact(rule: Rule) -> Rule:
    """The rule, made total: what NumPy refuses in it means "any value".

    A rule asks NumPy by running it on tiny operands; what that raises, the run-time call raises too, and
    a call that matches no signature likewise, so such an exception means just that no type is known.
    A number of several kinds gives what any of them gives.
    """
    if rule is any_value:
        return rule
    known: Callable[..., Type] | None = None

    def asked(*operands: Type, **keywords: Type) -> Type:
        try:
            return rule(*operands, **keywords)
        except REFUSALS:
            return OBJECT
        except Exception as problem:  # a mistake of ours: with any value all goes on, only slower
            survived("a type rule failed", problem)
            return OBJECT

    def total(*operands: Type, **keywords: Type) -> Type:
        nonlocal known
        if not keywords and all(type(t) in _COMPLETE for t in operands):
            if known is None:  # most rules are never asked
                known = functools.lru_cache(maxsize=KEPT)(asked)
            return known(*operands)
        for k, t in enumerate(operands):
            if isinstance(t, NumberType):
                rest = operands[k + 1 :]
                return join_all([total(*operands[:k], kind, *rest, **keywords) for kind in t.kinds])
        for name, t in keywords.items():
            if isinstance(t, NumberType):
                return join_all([total(*operands, **{**keywords, name: kind}) for kind in t.kinds])
        return asked(*operands, **keywords)

    return total


def join_all(types: Sequence[Type]) -> Type:
    """The least type that describes values of all of them."""
    return functools.reduce(join, types)


def any_value(*_: Type, **__: Type) -> Type:
    """The rule of ops whose result type depends on values: any Python value."""
    return OBJECT


def bare(t: Type) -> Type:
    """The type with static knowledge dropped."""
    return type_of(t.value) if isinstance(t, StaticType) else t


def static(t: Type) -> Any:
    """The value of a static operand (tuples of static operands included)."""
    if isinstance(t, StaticType):
        return t.value
    if isinstance(t, TupleType) and t.cls is tuple:
        return tuple(map(static, t.items))
    raise Unknown


def static_int(t: Type) -> int | None:
    """The value of a static index-like operand; None when it is an integer not known yet."""
    if isinstance(t, StaticType):
        return operator.index(t.value)
    if t == WEAK_INT or (isinstance(t, ArrayType) and t.scalar and t.dtype.kind in "iu"):
        return None
    raise Unknown


def is_none(t: Type | None) -> bool:
    """Whether the operand is absent or the constant None."""
    return t is None or (isinstance(t, StaticType) and t.value is None)


def given_dtype(t: Type | None) -> np.dtype[Any] | None:
    """The dtype a `dtype=` operand asks for, None when it asks for none."""
    if t is None or is_none(t):
        return None
    found: np.dtype[Any] = np.dtype(static(t))
    return found


# -- results -------------------------------------------------------------------------------------


def ndarray(dtype: Any, shape: Shape, device: str = "cpu") -> ArrayType:
    """An array that stays one even when 0-d."""
    dtype = np.dtype(dtype)
    if holds_objects(dtype):
        raise Unknown
    return ArrayType(dtype, shape, False, device)


def scalar(dtype: Any, device: str = "cpu") -> Type:
    """One element: a NumPy scalar, on the GPU a 0-d array."""
    dtype = np.dtype(dtype)
    if device != "cpu":
        return ndarray(dtype, (), device)
    if dtype.kind in TEXTS:
        return ObjectType(TEXTS[dtype.kind])
    if dtype.kind not in "biufcmM":  # void and object are no arrays
        raise Unknown
    return ArrayType(dtype.newbyteorder("="), (), True)


def result(dtype: Any, shape: Shape, device: str = "cpu", *, positive_rank: bool = False) -> Type:
    """What ufuncs and reductions return: a scalar where the shape is ()."""
    if shape == ():
        return scalar(dtype, device)
    if shape is None and not positive_rank and device == "cpu":
        raise Unknown
    return ndarray(dtype, shape, device)


def tuple_of(*items: Type) -> TupleType:
    """An exact tuple of the given item types."""
    return TupleType(tuple(items))


# -- operands ------------------------------------------------------------------------------------


def as_array(t: Type) -> ArrayType:
    """The type of `np.asarray(operand)`."""
    if isinstance(t, StaticType):
        if isinstance(t.value, (list, dict, set)):
            raise Unknown
        got = type_of(np.asarray(t.value))
        if not isinstance(got, ArrayType):
            raise Unknown
        return got
    if isinstance(t, ArrayType):
        if not t.dtype.isnative:  # functions differ in whether they keep a foreign byte order
            raise Unknown
        return ArrayType(t.dtype, t.shape, False, t.device) if t.scalar else t
    if isinstance(t, WeakType):
        if t.kind == "int":  # a large one becomes uint64 or an object array
            raise Unknown
        return ArrayType(WEAK_DTYPE[t.kind], ())
    if isinstance(t, TupleType):
        return stack_of([as_array(item) for item in t.items])
    raise Unknown


def stack_of(items: Sequence[ArrayType]) -> ArrayType:
    """The type of an array made of a sequence of equally shaped arrays."""
    if not items:
        return ArrayType(np.dtype(float), (0,))
    if any(item.dtype.kind not in NUMERIC_KINDS for item in items) or any(i.device != "cpu" for i in items):
        raise Unknown
    shape: Shape = items[0].shape
    for item in items:
        shape = same_shape(shape, item.shape)
    if shape is None:
        raise Unknown
    return ArrayType(np.result_type(*(item.dtype for item in items)), (len(items), *shape))


def same_shape(a: Shape, b: Shape) -> Shape:
    """The shape of both, given that they are equal at run time."""
    if a is None or b is None:
        return b if a is None else a
    if len(a) != len(b):
        raise Unknown
    return tuple(same_size(n, m) for n, m in zip(a, b, strict=True))


def same_size(n: int | None, m: int | None) -> int | None:
    """The size of both, given that they are equal at run time."""
    if n is not None and m is not None and n != m:
        raise Unknown
    return m if n is None else n


def numeric_array(t: Type) -> ArrayType:
    """`as_array` for operands of numeric dtype."""
    got = as_array(t)
    if got.dtype.kind not in NUMERIC_KINDS:
        raise Unknown
    return got


def known_array(t: Type) -> ArrayType:
    """`as_array` for operands of numeric dtype and of texts."""
    got = as_array(t)
    if got.dtype.kind not in KINDS:
        raise Unknown
    return got


def rank(a: ArrayType) -> int:
    """The number of axes."""
    return len(dims(a))


def dims(a: ArrayType) -> tuple[int | None, ...]:
    """The shape of an array of known rank."""
    if a.shape is None:
        raise Unknown
    return a.shape


def device_of(types: Iterable[Type]) -> str:
    """Where an op on these operands runs; CPU arrays do not mix with GPU arrays."""
    arrays = [t for t in types if isinstance(t, ArrayType)]
    if all(t.device == "cpu" for t in arrays):
        return "cpu"
    if any(t.device == "cpu" and not t.scalar for t in arrays):
        raise Unknown
    return next(t.device for t in arrays if t.device != "cpu")


# -- shapes --------------------------------------------------------------------------------------


def broadcast_sizes(n: int | None, m: int | None) -> int | None:
    """The size of an axis after broadcasting, given that it works at run time."""
    if n == 1 or n == m:
        return m
    if m == 1:
        return n
    if n is None or m is None:
        return m if n is None else n
    raise Unknown


def broadcast(shapes: Iterable[Shape]) -> Shape:
    """The broadcast shape, None when the rank is unknown."""
    out: tuple[int | None, ...] = ()
    unknown = False
    for shape in shapes:
        if shape is None:
            unknown = True
            continue
        width = max(len(out), len(shape))
        pairs = zip((1,) * (width - len(out)) + out, (1,) * (width - len(shape)) + shape, strict=True)
        out = tuple(broadcast_sizes(n, m) for n, m in pairs)
    return None if unknown else out


def normal_axis(axis: int, ndim: int) -> int:
    """The axis counted from the front."""
    if not -ndim <= axis < ndim:
        raise Unknown
    return axis % ndim


def normal_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Axes as a tuple counted from the front; None means all."""
    if axis is None:
        return tuple(range(ndim))
    axes = axis if isinstance(axis, tuple) else (axis,)
    out = tuple(normal_axis(operator.index(a), ndim) for a in axes)
    if len(set(out)) != len(out):
        raise Unknown
    return out


def product(sizes: Iterable[int | None]) -> int | None:
    """The number of elements, None when unknown."""
    total, unknown = 1, False
    for n in sizes:
        if n is None:
            unknown = True
        else:
            total *= n
    return None if unknown and total else total


def size_of(a: ArrayType) -> int | None:
    """The number of elements of an array, None when unknown."""
    return None if a.shape is None else product(a.shape)


# -- asking NumPy --------------------------------------------------------------------------------


def quietly(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Run `fn` for its type only: no warnings, no floating-point errors."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return fn(*args, **kwargs)


@functools.lru_cache(maxsize=4096)
def probe_dtype(
    fn: Callable[..., Any],
    dtypes: tuple[tuple[np.dtype[Any], int], ...],
    options: tuple[tuple[str, type, Any], ...],
) -> Any:
    """The dtype (or tuple of dtypes) of `fn` on arrays of one element of the given dtypes and ranks.

    The options carry their types because the cache takes 1, 1.0 and True for the same key.
    """
    samples = [np.ones((1,) * ndim, dtype) for dtype, ndim in dtypes]
    got = quietly(fn, *samples, **{name: value for name, _, value in options})
    if isinstance(got, tuple):
        return tuple(np.asarray(item).dtype for item in got)
    return np.asarray(got).dtype


def asked_dtype(fn: Callable[..., Any], *operands: ArrayType, ndim: int | None = None, **options: Any) -> Any:
    """`probe_dtype` for operand types (`ndim`: rank to use instead of the operands' own)."""
    if any(a.dtype.kind not in KINDS for a in operands):
        raise Unknown
    dtypes = tuple((a.dtype, rank(a) if ndim is None else ndim) for a in operands)
    return probe_dtype(fn, dtypes, tuple((name, type(value), value) for name, value in options.items()))


@functools.lru_cache(maxsize=4096)
def probe_type(
    fn: Callable[..., Any],
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
    options: tuple[tuple[str, type, Any], ...],
) -> Type:
    """The type of what `fn` returns for an array of ones; for results that may be Python numbers."""
    return type_of(quietly(fn, np.ones(shape, dtype), **{name: value for name, _, value in options}))


def asked_type(fn: Callable[..., Any], a: ArrayType, shape: tuple[int, ...], **options: Any) -> Type:
    """`probe_type` for an operand type."""
    return probe_type(
        fn, a.dtype, shape, tuple((name, type(value), value) for name, value in options.items())
    )


# -- calls ---------------------------------------------------------------------------------------


_DTYPE_SECOND = ("np.array", "np.asarray", "np.asanyarray", "np.ascontiguousarray")


class Given(dict[str, Type]):
    """Operands by parameter name; of one that a call lacks nothing is known: the call raises."""

    def __missing__(self, name: str) -> Type:
        raise Unknown


def bind(order: str, operands: Sequence[Type], keywords: dict[str, Type]) -> Given:
    """The operands by parameter name; `order` names the parameters."""
    names = order.split()
    if len(operands) > len(names) or not set(keywords) <= set(names[len(operands) :]):
        raise Unknown
    return Given(zip(names, operands, strict=False), **keywords)


_WEAK: dict[str, Any] = {"int": 0, "float": 0.0, "complex": 0j}


def flat_dtype(items: Sequence[Type]) -> np.dtype[Any]:
    """The dtype of items that are laid end to end whatever axes they have: numbers of Python's take part in
    that as they do in arithmetic."""
    kinds = [(bare(item), as_array(item).dtype) for item in items]
    return np.result_type(*(_WEAK.get(t.kind, d) if isinstance(t, WeakType) else d for t, d in kinds))


def takes_tuples_for_lists(row: OpDef, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether a function that reads sequences reads tuples as it does lists.

    To a dtype of objects or of records it is not the same: it keeps them, and a tuple is one record.
    """
    dtype = kwargs.get("dtype", args[1] if row.name in _DTYPE_SECOND and len(args) > 1 else None)
    if not isinstance(dtype, (np.dtype, str, type)):
        return dtype is None
    try:
        return np.dtype(dtype).kind not in "OV"
    except TypeError:
        return False


def static_or(t: Type | None, default: Any) -> Any:
    """The static value of an operand, `default` where it is absent or NumPy's "no value" marker."""
    return default if t is None else static(t)


def shape_of(t: Type) -> Shape:
    """The shape of the operand as an array, whatever its dtype will be."""
    if isinstance(t, WeakType):
        return ()
    if isinstance(t, TupleType):
        inner: Shape = None
        for item in t.items:
            shape = shape_of(item)
            if shape is None:
                raise Unknown
            inner = same_shape(inner, shape)
        return (len(t.items), *(inner or ()))
    return as_array(t).shape


def without_sequences(rule: Rule) -> Rule:
    """The rule of an op that never raises: a tuple to be made an array may be ragged, so none is accepted."""

    @functools.wraps(rule)
    def strict(*operands: Type, **keywords: Type) -> Type:
        if any(isinstance(t, TupleType) for t in (*operands, *keywords.values())):
            raise Unknown
        return rule(*operands, **keywords)

    return strict


def check_order(order: Type | None) -> None:
    """Whether `order=` is one that NumPy knows."""
    if order is not None and not is_none(order) and static(order) not in ("C", "F", "A", "K"):
        raise Unknown


def twin(
    name: str, doc: str, rule: Rule | None, *, method: str | None = None, cupy: bool = True, **facts: Any
) -> OpDef:
    """The row of a NumPy function, `name` being its path below `numpy`."""
    fn = functools.reduce(getattr, name.split("."), np)
    if rule is not None and not facts.get("raises", True):
        rule = without_sequences(rule)
    return OpDef(
        name=f"np.{name}",
        doc=doc,
        rule=None if rule is None else exact(rule),
        run=cast(Callable[..., Any], fn),
        path=f"numpy.{name}",
        captures=(cast(Callable[..., Any], fn),),
        method=method,
        cupy=f"cupy.{name}" if cupy else None,
        **facts,
    )
