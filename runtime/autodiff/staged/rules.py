"""The derivative rules of the op table on trace values: what they compute is recorded.

In: a rule, the cotangent of a result, operands as trace values.  Out: cotangents, of the operands' types.
What always holds: a rule is written once, for arrays; here it runs on handles, with the few functions that
ask for shapes or choose by values replaced.  A rule that needs values is called when the graph runs.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from runtime.autodiff.levels import find_rule
from runtime.autodiff.staged.calls import Mark
from runtime.autodiff.staged.kinds import NotStaged, cotangent_type, known_shape, rank
from runtime.autodiff.staged.pulls import fit_now, pull_now
from runtime.errors import Span, TraceError
from runtime.functional import cond
from runtime.ir.graph import Const
from runtime.ir.opdef import OpDef
from runtime.ops import adjoint
from runtime.ops.adjoint import ZERO, Composite
from runtime.ops.words import said
from runtime.trace.core import Trace, is_static
from runtime.trace.heap import Identity
from runtime.trace.joins import in_words
from runtime.trace.protocol import Protocol
from runtime.trace.values import Facts, Tensor, Traced
from runtime.types import (
    WEAK_FLOAT,
    ArrayType,
    MaybeUnbound,
    NumberType,
    StaticType,
    TupleType,
    Type,
    WeakType,
    type_of,
)


def tensor_type(trace: Trace, x: Any) -> Type:
    """The type of a trace value, which must be an array or a number."""
    if type(x) is np.ndarray:
        return type_of(x)
    t = trace.type_of(x)
    if not isinstance(t, (ArrayType, WeakType, NumberType, StaticType)):
        raise NotStaged(f"a derivative rule gave {in_words(t)}")
    return t


def is_number(t: Type) -> bool:
    """Whether values of the type are Python numbers or NumPy scalars."""
    return not isinstance(t, (ArrayType, StaticType)) or isinstance(t, ArrayType) and t.scalar


def dtype_of(t: Type) -> np.dtype[Any]:
    """The dtype that values of a type have as arrays."""
    if isinstance(t, StaticType):
        found: np.dtype[Any] = np.asarray(t.value).dtype
        return found
    if isinstance(t, MaybeUnbound):
        return dtype_of(t.type)
    if isinstance(t, WeakType):
        return np.dtype(
            {"bool": bool, "int": np.int64, "float": np.float64, "complex": np.complex128}[t.kind]
        )
    return t.dtype if isinstance(t, ArrayType) else cotangent_type(t).dtype


# -- the functions that rules are written with, on trace values ----------------------------------------


def _shape(trace: Trace, x: Any) -> Any:
    t = tensor_type(trace, x)
    known = known_shape(t)
    if known is not None:
        return known
    assert isinstance(t, ArrayType)
    if t.shape is None:
        raise NotStaged("how many axes an array has is known only at run time")
    sizes = x.shape
    return tuple(sizes[i] if n is None else n for i, n in enumerate(t.shape))


def _size(trace: Trace, x: Any, axis: Any = None) -> Any:
    shape = _shape(trace, x)
    sizes: Any = 1
    for n in shape if axis is None else (shape[axis],):
        sizes = sizes * n
    return sizes


PRODUCT = Mark("a product", 1, 2, (0, 1), 0, None)


def _scale(trace: Trace, ct: Any, factor: Any) -> Any:
    """As `adjoint.scale`.  To whoever takes its derivative it is a product, also where the cotangent is 0."""
    made = scaled(trace, ct, factor)
    if not trace.following or is_static(ct) or is_static(factor) and np.isfinite(factor):
        return made
    trace.marked = True
    t = trace.type_of(made)
    return trace.record("py.call", [Const(PRODUCT), made, ct, factor], type=t, attrs={"pure": True})


def scaled(trace: Trace, ct: Any, factor: Any) -> Any:
    """As `adjoint.scale`: where the cotangent is 0 the product is 0, whatever the factor is."""
    if is_static(factor) and np.isfinite(factor):
        if factor in (1, -1) and not isinstance(factor, complex):
            return ct if factor == 1 else np.negative(ct)
        return np.multiply(ct, factor)
    if is_static(ct):
        if not np.isfinite(ct) or ct == 0:
            raise NotStaged("a derivative that is a constant")
        return (
            factor if ct == 1 and not isinstance(trace.type_of(factor), WeakType) else np.multiply(ct, factor)
        )
    t, other = tensor_type(trace, ct), tensor_type(trace, factor)
    if is_number(t) and is_number(other):
        zero = np.result_type(dtype_of(t), dtype_of(other)).type(0)
        return cond(ct == 0, lambda: zero, lambda: np.multiply(ct, factor))
    product = np.multiply(ct, factor)
    return np.where(np.equal(ct, 0), dtype_of(tensor_type(trace, product)).type(0), product)


def _cast(trace: Trace, values: Any, kind: Any) -> Any:
    return cast_to(trace, values, np.dtype(kind))


def _basic(key: Any) -> bool:
    parts = key if type(key) is tuple else (key,)
    return all(
        part is None
        or part is Ellipsis
        or isinstance(part, slice)
        or (is_static(part) and adjoint.is_basic(part))
        or (isinstance(part, Tensor) and _is_integer(part._facts.type))
        for part in parts
    )


def _is_integer(t: Type) -> bool:
    if isinstance(t, WeakType):
        return t.kind == "int"
    return isinstance(t, ArrayType) and t.scalar and t.dtype.kind in "iu"


def _scatter(trace: Trace, values: Any, key: Any, shape: Any) -> Any:
    """As `adjoint.scatter`."""
    out = trace.protocol.call(np.zeros, (shape, dtype_of(tensor_type(trace, values))), {})
    add_at(trace, out, key, values, fresh=True)
    return out


def add_at(trace: Trace, array: Any, key: Any, values: Any, fresh: bool = False, once: bool = False) -> None:
    """Add the values into the array at the key, in place.  fresh: there are only zeros in it.
    once: the key names no place twice."""
    if once and not _basic(key):
        array[key] = values if fresh else array[key] + values
        return
    if _basic(key) or (isinstance(key, Tensor) and dtype_of(key._facts.type) == np.bool_):
        if fresh or isinstance(key, Tensor) and not _is_integer(key._facts.type):
            array[key] = values if fresh else array[key] + values
            return
        part = array[key]
        if isinstance(part._facts.type, ArrayType) and not part._facts.type.scalar:
            part += values
        else:
            array[key] = part + values
        return
    trace.emit("py.call", [Const(np.add.at), array, _known(trace, key), values], type=StaticType(None))


def _expanded(trace: Trace, x: Any, axis: Any) -> Any:
    """As `np.expand_dims`, by reading with new axes."""
    if is_static(x):
        return np.expand_dims(x, axis)
    axes = axis if isinstance(axis, tuple) else (axis,)
    wide = rank(tensor_type(trace, x)) + len(axes)
    gone = {i % wide for i in axes}
    return x[tuple(None if i in gone else slice(None) for i in range(wide))]


SPECIAL: dict[Any, Callable[..., Any]] = {
    np.shape: _shape,
    np.ndim: lambda trace, x: rank(tensor_type(trace, x)),
    np.size: _size,
    np.iscomplexobj: lambda trace, x: dtype_of(tensor_type(trace, x)).kind == "c",
    np.expand_dims: _expanded,
    adjoint.scale: _scale,
    adjoint.cast: _cast,
    adjoint.scatter: _scatter,
}


OPERATORS: dict[Any, str] = {
    np.add: "add", np.subtract: "sub", np.multiply: "mul", np.divide: "truediv", np.negative: "neg",
    np.equal: "eq",
}  # fmt: skip
DEFAULTS = (("order", "C"), ("keepdims", False))  # said for nothing: what is left out is simpler to lower


class RuleProtocol(Protocol):
    """The trace's protocol while a rule runs."""

    def call(self, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """`f(*args, **kwargs)`; what asks for shapes is answered from the types."""
        if isinstance(f, np.ufunc):
            args = tuple(x.item() if type(x) is np.ndarray and x.size == 1 else x for x in args)
        args = tuple(_known(self.trace, x) for x in args)
        kwargs = {k: x for k, x in kwargs.items() if (k, x) not in DEFAULTS}
        if f in OPERATORS and not kwargs and all(map(_is_real, args)) and any(map(_is_numpys, args)):
            return self.operator(OPERATORS[f], *args)  # of numbers a tenth of the ufunc's time
        special = SPECIAL.get(f) if isinstance(f, Callable) else None  # type: ignore[arg-type]
        return super().call(f, args, kwargs) if special is None else special(self.trace, *args, **kwargs)

    def get_item(self, x: Traced, key: Any) -> Any:
        """`x[key]`."""
        return super().get_item(x, _known(self.trace, key))

    def set_item(self, x: Traced, key: Any, value: Any) -> None:
        """`x[key] = value`."""
        super().set_item(x, _known(self.trace, key), value)


def _is_real(x: Any) -> bool:
    """Whether it is a number that stands beside floats: a Python float or int or a NumPy scalar of floats."""
    if isinstance(x, Tensor):
        t = x._facts.type
        return t == WEAK_FLOAT or isinstance(t, ArrayType) and t.scalar and t.dtype.kind == "f"
    return isinstance(x, (float, int, np.floating)) and type(x) is not bool


def _is_numpys(x: Any) -> bool:
    return isinstance(x, Tensor) and isinstance(x._facts.type, ArrayType)


def _known(trace: Trace, x: Any) -> Any:
    """An array that a rule made of shapes alone, as a handle of a constant."""
    if type(x) is tuple:
        return tuple(_known(trace, i) for i in x)
    if type(x) is list:
        return [_known(trace, i) for i in x]
    if type(x) is not np.ndarray:
        return x
    return Tensor(Facts(trace, Const(x), type_of(x), Identity(np.ndarray)))


@contextlib.contextmanager
def rule_running(trace: Trace, span: Span | None) -> Iterator[None]:
    """Let rules run on handles; nodes are said to come from the user's line `span`."""
    protocol, span_of = trace.protocol, trace.span
    trace.protocol, trace.span = RuleProtocol(trace), lambda: span
    try:
        yield
    finally:
        trace.protocol, trace.span = protocol, span_of


# -- cotangents of the right type -----------------------------------------------------------------------


def cast_to(trace: Trace, x: Any, dtype: np.dtype[Any]) -> Any:
    """The value in a dtype; complex to real keeps the real part."""
    t = tensor_type(trace, x)
    have = dtype_of(t)
    if is_static(x):
        return dtype.type(x.real if have.kind == "c" and dtype.kind != "c" else x)
    if have.kind == "c" and dtype.kind != "c":
        x = np.real(x)
        t = tensor_type(trace, x)
        have = dtype_of(t)
    if isinstance(t, (WeakType, NumberType)):
        x = np.positive(x) if have.kind in "fc" else np.add(x, np.float64(0))
        t = tensor_type(trace, x)
        have = dtype_of(t)
    return x if have == dtype else x.astype(dtype)


def fit(trace: Trace, ct: Any, like: Any, t: Type, aligned: Sequence[bool] = (), small: bool = False) -> Any:
    """As `adjoint.fit`: the cotangent in shape and dtype of an operand of type t.

    aligned: for each axis, whether the cotangent is surely as long or has size 1.  small: what is the same
    along an axis may stay of size 1 there, or without it."""
    if type(ct) is np.ndarray:
        ct = ct.flat[0] if ct.size == 1 else _known(trace, ct)
    want, have = cotangent_type(t), tensor_type(trace, ct)
    if have == want and known_shape(want) is not None:
        return ct
    shape = want.shape
    dims = have.shape if isinstance(have, ArrayType) else ()
    if shape is None or dims is None:
        return fit_at_run_time(trace, ct, like, want)
    if len(dims) > len(shape):
        ct = np.sum(ct, axis=tuple(range(len(dims) - len(shape)))) if shape else np.sum(ct)
        dims = dims[len(dims) - len(shape) :]
    ct, is_small = _summed(trace, ct, like, dims, shape, aligned)
    ct = cast_to(trace, ct, want.dtype)
    if want.scalar or not shape:
        return settle(trace, ct, want)
    if not is_small or small:
        return ct
    return fit_at_run_time(trace, ct, like, want) if known_shape(want) is None else _wide(trace, ct, want)


def _summed(
    trace: Trace, ct: Any, like: Any, dims: Sequence[Any], shape: Sequence[Any], aligned: Sequence[bool]
) -> tuple[Any, bool]:
    """The cotangent summed along the axes that were broadcast; whether it is the same along others."""
    less = len(shape) - len(dims)
    is_small, axes, unsure = less > 0, [], []
    for i, m in enumerate(dims, less):
        n = shape[i]
        if m == n and (n is not None or (i < len(aligned) and aligned[i])):
            continue
        if m == 1:
            is_small = True
        elif n == 1:
            axes.append(i - less)
        elif n is None or m is None:
            if not (i < len(aligned) and aligned[i]):
                unsure.append(i)
        else:
            raise NotStaged(f"a cotangent of shape {dims} for an operand of shape {shape}")
    if axes:
        ct = np.sum(ct, axis=tuple(axes), keepdims=True)
    for i in unsure:
        ct = _perhaps_summed(trace, ct, i - less, _shape(trace, like)[i])
    return ct, is_small


def _perhaps_summed(trace: Trace, ct: Any, axis: int, size: Any) -> Any:
    """The cotangent summed along an axis, unless that is as long as the operand's."""
    given = ct
    return cond(
        _shape(trace, ct)[axis] == size, lambda: given, lambda: np.sum(given, axis=axis, keepdims=True)
    )


def settle(trace: Trace, ct: Any, want: ArrayType) -> Any:
    """A number as 0-d array or NumPy scalar, whichever is wanted."""
    t = tensor_type(trace, ct)
    if want.scalar and isinstance(t, ArrayType) and not t.scalar:
        return ct[()]
    if not want.scalar and (not isinstance(t, ArrayType) or t.scalar):
        return trace.record("np.asarray", [ct]) if not is_static(ct) else _full(trace, ct, want)
    return ct


def _full(trace: Trace, value: Any, want: ArrayType) -> Any:
    return trace.protocol.call(np.full, (known_shape(want), value, want.dtype), {})


def _wide(trace: Trace, ct: Any, want: ArrayType) -> Any:
    """A cotangent that is smaller than what it belongs to, broadcast."""
    shape = known_shape(want)
    assert shape is not None
    ct = cast_to(trace, ct, want.dtype)
    if is_static(ct):
        return _full(trace, ct, want)
    if any(n is None for n in getattr(trace.type_of(ct), "shape", ()) or ()):
        return fit_at_run_time(trace, ct, None, want)
    return trace.protocol.call(np.broadcast_to, (ct, shape), {})


def fit_at_run_time(trace: Trace, ct: Any, like: Any, want: ArrayType) -> Any:
    """The cotangent fitted when the graph runs, where shapes aren't known before."""
    shape = known_shape(want)
    value = trace.emit(
        "py.call",
        [Const(fit_now), ct, like if shape is None else Const(shape), Const(want.dtype)],
        type=want,
        attrs={"pure": True},
    )
    assert value is not None
    return trace.wrap(value)


def zeros(trace: Trace, like: Any, t: Type) -> Any:
    """Zeros for a value of type t."""
    want = cotangent_type(t)
    if want.scalar:
        return want.dtype.type(0)
    shape = known_shape(want)
    if shape is not None:
        return trace.protocol.call(np.zeros, (shape, want.dtype), {})
    return np.zeros_like(like)


def ones(t: Type) -> Any:
    """The cotangent of a value with respect to itself: a number."""
    want = cotangent_type(t)
    return want.dtype.type(1)


def turned(trace: Trace, ct: Any) -> Any:
    """Conjugated, where it is complex: between cotangents and gradients."""
    return np.conjugate(ct) if dtype_of(trace.type_of(ct)).kind == "c" else ct


# -- applying the rule of a node ------------------------------------------------------------------------


def pull(
    trace: Trace,
    row: OpDef,
    wanted: Sequence[Any],
    ct: Any,
    result: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> list[Any]:
    """The cotangents of the wanted operands, as the rules give them (a list for a sequence of arrays)."""
    if row.vjp is None:
        raise NotStaged(f"{said(row.name)} has no derivative rule")
    mark = trace.mark()
    try:
        if isinstance(row.vjp, Composite):
            raise NotStaged("told by other ops")
        found = []
        for key in wanted:
            rule = find_rule(row.vjp, key)
            if rule is None:
                raise _NoRule(f"{row.name} has no derivative in operand {key}")
            found.append(None if rule is ZERO else rule(ct, result, *args, **kwargs))
            _check(trace, found[-1])
        return found
    except _NoRule:
        raise
    except TraceError:
        trace.rollback(mark)
        return _pull_at_run_time(trace, row, wanted, ct, result, args, kwargs)


class _NoRule(NotStaged):
    pass


def _check(trace: Trace, made: Any) -> None:
    if isinstance(made, (list, tuple)):
        for part in made:
            _check(trace, part)
    elif made is not None:
        tensor_type(trace, made)


def _pull_at_run_time(
    trace: Trace,
    row: OpDef,
    wanted: Sequence[Any],
    ct: Any,
    result: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> list[Any]:
    """The rules called when the graph runs, on arrays."""
    kinds, parts = [], []
    for key in wanted:
        operand = args[key] if isinstance(key, int) else kwargs[key]
        parts.append(operand)
        kinds.append(_kind(trace, operand))
    claim = TupleType(tuple(kinds))
    value = trace.emit(
        "py.call",
        [Const(pull_now), Const(row.name), Const(tuple(wanted)), ct, result, tuple(args), kwargs],
        type=claim,
        attrs={"pure": True},
    )
    assert value is not None
    return list(trace.wrap(value))


def _kind(trace: Trace, operand: Any) -> Type:
    if isinstance(operand, (list, tuple)):
        return TupleType(tuple(_kind(trace, x) for x in operand))
    return cotangent_type(trace.type_of(operand)) if not _exact(trace, operand) else StaticType(None)


def _exact(trace: Trace, operand: Any) -> bool:
    t = trace.type_of(operand)
    return not isinstance(operand, Traced) and not is_static(operand) or dtype_of(t).kind not in "fc"
