"""Calls in native code: Python's built-ins, `math`, NumPy's functions on numbers, array makers.

In: the callee (or the op's name) and its arguments.  Out: the result.  What always holds: what is not in
these tables, or is called in a way that they don't expect, is not lowered.
"""

from __future__ import annotations

import builtins
import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from runtime import elements
from runtime.elements import as_python
from runtime.execute.native import complexes, containers, float_parts, vector_math
from runtime.execute.native.arrays import (
    address,
    copied,
    create,
    dimension,
    fill,
    size,
    sizes,
    turned,
)
from runtime.execute.native.containers import CONTAINERS
from runtime.execute.native.emit import Emitter
from runtime.execute.native.floats import cast, finite, float_power, to_float
from runtime.execute.native.host import vector_bytes
from runtime.execute.native.kinds import (
    FLOAT64,
    PYTHON_BOOL,
    PYTHON_FLOAT,
    PYTHON_INT,
    Scalar,
    Unlowered,
    numpy_scalar,
    supported,
)
from runtime.execute.native.scalars import (
    UFUNCS,
    apply,
    binary,
    by_ufunc,
    index,
    loop_kinds,
    smaller,
    stored,
    to_python,
    truncated,
    truth,
    unary,
)
from runtime.execute.native.state import Named, State
from runtime.execute.native.ufunc_loops import call_on_gang, inner_loop
from runtime.execute.native.values import (
    Arr,
    Count,
    Elements,
    Entries,
    Lazy,
    Listed,
    Num,
    Rng,
    Static,
    Tup,
    Val,
    Zip,
    lift,
    one,
    opaque,
    span_of,
)
from runtime.ops.words import called

CLASSES: dict[str, type] = {"b": bool, "i": int, "u": int, "f": float}
Handler = Callable[[State, list[Val], dict[str, Val]], Val]


def nums(args: list[Val], keywords: dict[str, Val], count: int | None = None) -> list[Num]:
    """The arguments, which must be numbers given by position."""
    found = [a for a in args if isinstance(a, Num)]
    if keywords or len(found) != len(args) or (count is not None and len(found) != count):
        raise Unlowered("a call with other arguments than numbers")
    return found


# ------------------------------------------------------------------------------------------ built-ins
def _converted(cls: type) -> Handler:
    def handler(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
        return to_python(state.e, nums(args, keywords, 1)[0], cls)

    return handler


def _extreme(op: str) -> Handler:
    def handler(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
        found = nums(args, keywords)
        if len(found) < 2:
            raise Unlowered("min or max of one argument")
        return smaller(state.e, op, found)

    return handler


def _abs(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    return unary(state.e, "abs", nums(args, keywords, 1)[0])


def _divmod(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    a, b = nums(args, keywords, 2)
    return Tup((binary(state.e, "floordiv", a, b), binary(state.e, "mod", a, b)))


def _round(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    (x,) = nums(args, keywords, 1)
    if x.members == (PYTHON_INT,):
        return x
    if x.members != (PYTHON_FLOAT,):
        raise Unlowered("round of a NumPy scalar")
    nearest = state.e.call("double", "llvm.roundeven.f64", ("double", x.text))
    return one(PYTHON_INT, truncated(state.e, one(PYTHON_FLOAT, nearest)))


def _complex(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    found = nums(args, keywords)
    if not 1 <= len(found) <= 2:
        raise Unlowered("complex with these arguments")
    second = found[1] if len(found) == 2 else one(PYTHON_INT, "0", 0)
    return apply(state.e, (found[0], second), complexes.made)


def _range(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    found = nums(args, keywords)
    texts = [index(state.e, x) for x in found]
    span = _items_span(found)
    if len(texts) == 1:
        return Rng("0", texts[0], "1", 1, span)
    if len(texts) == 2:
        return Rng(texts[0], texts[1], "1", 1, span)
    if len(texts) == 3:
        step = found[2].const
        if step == 0:
            raise Unlowered("a range of step 0")
        if step is None:
            state.e.bail_if(state.e.op(f"icmp eq i64 {texts[2]}, 0"))
        return Rng(texts[0], texts[1], texts[2], None if step is None else int(step), span)
    raise Unlowered("range with these arguments")


def _items_span(found: list[Num]) -> tuple[int, int] | None:
    """What the items of a range lie in."""
    if any(len(x.members) != 1 for x in found):
        return None
    spans = [span_of(x) for x in found]
    start, stop = ((0, 0), spans[0]) if len(spans) == 1 else spans[:2]
    up = len(spans) < 3 or spans[2][0] > 0
    if not up and spans[2][1] >= 0:
        return None
    low, high = (start[0], stop[1] - 1) if up else (stop[0] + 1, start[1])
    return (low, high) if -(1 << 63) <= low <= high < 1 << 63 else None


def _len(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    x = args[0] if len(args) == 1 and not keywords else None
    if isinstance(x, Arr) and x.dims:
        return dimension(x.dims[0])
    if isinstance(x, (Entries, *CONTAINERS)):
        return containers.length(state.e, x)
    if isinstance(x, Tup):
        return lift(len(x.items))
    raise Unlowered("len of this")


def _enumerate(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    args = [*args, *([keywords["start"]] if keywords.keys() == {"start"} else [])]
    if not 1 <= len(args) <= 2 or (keywords and len(args) != 2) or keywords.keys() - {"start"}:
        raise Unlowered("enumerate with these arguments")
    start = args[1] if len(args) == 2 else lift(0)
    if not isinstance(start, Num):
        raise Unlowered("enumerate with this start")
    return Zip((Count(index(state.e, start)), args[0]))


def _zip(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    strict = keywords.pop("strict", lift(False))
    if not args or keywords or not isinstance(strict, Num) or strict.const is not False:
        raise Unlowered("zip with these arguments")
    return Zip(tuple(args))


def _elements(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    """What `vectorize` goes over: the number of each element, and the elements."""
    parts: list[Val] = [_range(state, args[:1], {})]
    for a in args[1:]:
        if not isinstance(a, Arr) or len(a.dims) != 1:
            raise Unlowered("elements of something else than arrays with one axis")
        parts.append(Listed(a) if as_python(a.dtype) else a)
    return Elements(tuple(parts))


def _kind_of(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    """A bit for which kind of number it is; a Python int that a double can't hold never gets here."""
    x, bits = args
    if not isinstance(x, Num) or not isinstance(bits, Static):
        raise Unlowered("the kind of something else than a number")
    found = [str(bits.value[CLASSES[m.kind] if m.weak else m.dtype.type]) for m in x.members]
    return one(PYTHON_INT, found[0] if len(found) == 1 else state.e.select(x.tag, "i64", *found))


# -------------------------------------------------------------------------------------------- math
LIBM = (
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "expm1", "log1p", "sin",
    "sinh", "tan", "tanh", "log", "log2", "log10", "erf", "erfc",
    *(name for name in ("cbrt", "exp2") if hasattr(math, name)),
)  # fmt: skip


def _libm_of_two(name: str) -> Handler:
    """The same of two numbers."""

    def handler(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
        return apply(state.e, tuple(nums(args, keywords, 2)), of_both)

    def of_both(e: Emitter, x: Num, y: Num) -> Num:
        a, b = (to_float(e, v, PYTHON_FLOAT) for v in (x, y))
        if name == "pow":
            return float_power(e, a, b, PYTHON_FLOAT)
        for v in (a, b):
            e.defer_if(e.negated(finite(e, PYTHON_FLOAT, v.text)))
        return one(PYTHON_FLOAT, e.library("double", name, a.text, b.text))

    return handler


def _libm(name: str) -> Handler:
    """A function of the C library that Python's `math` calls; unusual arguments and results are left."""

    def handler(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
        (x,) = nums(args, keywords, 1)
        return apply(state.e, (x,), one_number)

    def one_number(e: Emitter, x: Num) -> Num:
        number = to_float(e, x, PYTHON_FLOAT)
        if name in ("log", "log2", "log10"):
            e.defer_if(e.negated(e.op(f"fcmp ogt double {number.text}, 0.0")))
        e.defer_if(e.negated(finite(e, PYTHON_FLOAT, number.text)))
        value = e.library("double", name, number.text)
        e.defer_if(e.negated(finite(e, PYTHON_FLOAT, value)))
        return one(PYTHON_FLOAT, value)

    return handler


def _math_sqrt(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    def root(e: Emitter, x: Num) -> Num:
        number = to_float(e, x, PYTHON_FLOAT)
        e.defer_if(e.op(f"fcmp olt double {number.text}, 0.0"))
        return one(PYTHON_FLOAT, e.call("double", "llvm.sqrt.f64", ("double", number.text)))

    return apply(state.e, (nums(args, keywords, 1)[0],), root)


def _math_plain(function: str) -> Handler:
    """What is an instruction of its own, on Python's floats."""

    def handler(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
        return apply(state.e, tuple(nums(args, keywords, 2 if function == "copysign" else 1)), of_floats)

    def of_floats(e: Emitter, *xs: Num) -> Num:
        given = [("double", to_float(e, x, PYTHON_FLOAT).text) for x in xs]
        return one(PYTHON_FLOAT, e.call("double", f"llvm.{function}.f64", *given))

    return handler


def _math_round(function: str) -> Handler:
    def whole(e: Emitter, x: Num) -> Num:
        if x.scalar.weak and x.scalar.kind in "bi":  # NumPy's go by way of a float
            return cast(e, x, PYTHON_INT)
        if x.scalar.kind != "f":
            raise Unlowered(f"math.{function} of an integer")
        if function == "trunc" and x.scalar.bits == 32:
            raise Unlowered("math.trunc of what has none")
        number = to_float(e, x, PYTHON_FLOAT)
        down = e.call("double", f"llvm.{function}.f64", ("double", number.text))
        return one(PYTHON_INT, truncated(e, one(PYTHON_FLOAT, down)))

    def handler(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
        return apply(state.e, (nums(args, keywords, 1)[0],), whole)

    return handler


def _test(ask: Callable[[Emitter, Num], str], out: Scalar) -> Handler:
    def handler(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
        def answer(e: Emitter, x: Num) -> Num:
            if out is not PYTHON_BOOL and x.scalar.kind not in "biuf":
                raise Unlowered("isnan and its like of this")
            return one(out, ask(e, to_float(e, x, x.scalar if x.llvm == "float" else PYTHON_FLOAT)))

        return apply(state.e, (nums(args, keywords, 1)[0],), answer)

    return handler


def is_nan(e: Emitter, x: Num) -> str:
    """Whether a float is NaN."""
    return e.op(f"fcmp uno {x.llvm} {x.text}, {x.text}")


def is_finite(e: Emitter, x: Num) -> str:
    """Whether a float is finite."""
    return finite(e, x.scalar, x.text)


def is_inf(e: Emitter, x: Num) -> str:
    """Whether a float is infinite."""
    return e.negated(e.either(is_nan(e, x), is_finite(e, x)))


CALLABLES: dict[Any, Handler] = {
    builtins.complex: _complex,
    builtins.int: _converted(int),
    builtins.float: _converted(float),
    builtins.bool: _converted(bool),
    builtins.min: _extreme("lt"),
    builtins.max: _extreme("gt"),
    builtins.abs: _abs,
    builtins.divmod: _divmod,
    builtins.round: _round,
    builtins.range: _range,
    builtins.len: _len,
    builtins.enumerate: _enumerate,
    builtins.zip: _zip,
    elements.elements: _elements,
    elements.kind_of: _kind_of,
    math.sqrt: _math_sqrt,
    math.floor: _math_round("floor"),
    math.ceil: _math_round("ceil"),
    math.trunc: _math_round("trunc"),
    math.isnan: _test(is_nan, PYTHON_BOOL),
    math.isinf: _test(is_inf, PYTHON_BOOL),
    math.isfinite: _test(is_finite, PYTHON_BOOL),
    math.fabs: _math_plain("fabs"),
    math.copysign: _math_plain("copysign"),
    math.atan2: _libm_of_two("atan2"),
    math.pow: _libm_of_two("pow"),
    **{getattr(math, name): _libm(name) for name in LIBM},
    **float_parts.CALLABLES,
}


def call(state: State, target: Any, args: list[Val], keywords: dict[str, Val]) -> Val:
    """A call of a Python callable."""
    if isinstance(target, type) and issubclass(target, np.generic) and len(args) == 1 and not keywords:
        dtype = np.dtype(target)
        x = args[0]
        if not supported(dtype) or dtype.type is not target or not isinstance(x, Num):
            raise Unlowered(f"a call of {target.__name__}")
        made = stored(state.e, x, numpy_scalar(dtype))
        return one(numpy_scalar(dtype), made.text, None)
    try:
        handler = CALLABLES.get(target)
    except TypeError:
        handler = None
    if handler is None:
        raise Unlowered(called(target))
    return handler(state, args, keywords)


# -------------------------------------------------------------------------------- NumPy's functions
OPERATORS = {UFUNCS[op].__name__: op for op in UFUNCS if op != "pow"} | {"divide": "truediv"}
LLVM_UNARY = {
    "sqrt": "sqrt",
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "rint": "rint",
    "fabs": "fabs",
}
INNER_LOOPS = (
    "exp", "log", "sin", "cos", "tan", "tanh", "exp2", "log2", "log10", "log1p", "expm1", "arcsin",
    "arccos", "arctan", "sinh", "cosh", "arcsinh", "arccosh", "arctanh", "cbrt", "arctan2", "hypot",
    "power", "copysign", "fmod", "sign", "maximum", "minimum", "fmax", "fmin", "square", "logaddexp",
    "reciprocal",
)  # fmt: skip


def numpy_call(state: State, name: str, args: list[Val], keywords: dict[str, Val]) -> Val:
    """A function of NumPy, by its path below `numpy`."""
    if name in MAKERS:
        return MAKERS[name](state, args, keywords)
    if name in OPERATORS:
        a, b = nums(args, keywords, 2)
        return apply(state.e, (a, b), lambda e, a, b: by_ufunc(e, OPERATORS[name], a, b))
    if name in ("isnan", "isinf", "isfinite"):
        ask = {"isnan": is_nan, "isinf": is_inf, "isfinite": is_finite}[name]
        return _test(ask, numpy_scalar(np.dtype(bool)))(state, args, keywords)
    if name in LLVM_UNARY:
        return apply(state.e, (nums(args, keywords, 1)[0],), lambda e, x: _llvm_unary(e, name, x))
    if name in ("absolute", "negative"):
        (x,) = nums(args, keywords, 1)
        if any(m.weak for m in x.members):
            raise Unlowered(f"np.{name} of a Python number")
        own = name == "absolute" and complexes.own_modulus(x)
        return _by_loop(state, np.absolute, (x,)) if own else unary(state.e, name[:3], x)
    if name in ("logical_not", "logical_and", "logical_or"):
        truths = [truth(state.e, x) for x in nums(args, keywords)]
        made = state.e.negated(truths[0]) if len(truths) == 1 else (
            state.e.both(*truths) if name == "logical_and" else state.e.either(*truths))  # fmt: skip
        return one(numpy_scalar(np.dtype(bool)), made)
    if name in INNER_LOOPS:
        ufunc = getattr(np, name)
        return apply(state.e, tuple(nums(args, keywords, ufunc.nin)), lambda e, *x: _by_loop(state, ufunc, x))
    raise Unlowered(f"np.{name}")


def _llvm_unary(e: Emitter, name: str, x: Num) -> Num:
    kind, out = loop_kinds(getattr(np, name), x.scalar)
    if kind.kind != "f" or kind != out:
        raise Unlowered(f"np.{name} of {x.scalar.type}")
    number = cast(e, x, kind)
    text = e.opaque(kind.llvm, number.text) if number.const is not None else number.text
    value = e.call(kind.llvm, f"llvm.{LLVM_UNARY[name]}.f{kind.bits}", (kind.llvm, text))
    return one(out, e.keep(kind.llvm, value) if name == "sqrt" else value)


def _by_loop(state: State, ufunc: np.ufunc, xs: tuple[Num, ...]) -> Num:
    """One element through the ufunc's own inner loop."""
    e = state.e
    kinds = loop_kinds(ufunc, *(x.scalar for x in xs))
    if kinds[-1].kind != "f" or (e.gang is not None and kinds[0].kind == "c"):
        raise Unlowered(f"np.{ufunc.__name__} of these numbers")
    found = inner_loop(ufunc, kinds)
    if found is None:
        raise Unlowered(f"np.{ufunc.__name__}: its inner loop is not known")
    if e.gang is not None:
        texts = [cast(e, x, kind).text for x, kind in zip(xs, kinds, strict=False)]
        return one(kinds[-1], call_on_gang(state, e.gang, ufunc, kinds, found, texts))
    if e.lanes == 1 and all(k == kinds[0] for k in kinds) and vector_math.known(ufunc.__name__, kinds[0]):
        texts = [cast(e, x, kinds[0]).text for x in xs]
        return one(kinds[-1], _by_vector(state, ufunc.__name__, kinds[0], texts))
    pointers, ones, steps = (e.slot(f"[{len(kinds)} x i64]") for _ in range(3))
    cells = [e.slot(k.llvm) for k in kinds]
    for k, (cell, kind) in enumerate(zip(cells, kinds, strict=True)):
        if k < len(xs):
            held = complexes.cast(e, xs[k], kind) if kind.kind == "c" else cast(e, xs[k], kind)
            e.line(f"store {kind.llvm} {held.text}, ptr {cell}, align 8")
        e.line(f"store ptr {cell}, ptr {e.op(f'getelementptr i64, ptr {pointers}, i64 {k}')}")
        e.line(f"store i64 {kind.dtype.itemsize}, ptr {e.op(f'getelementptr i64, ptr {steps}, i64 {k}')}")
    e.line(f"store i64 1, ptr {ones}")
    e.leaving()
    loop, data = state.loop(ufunc, [kind.dtype for kind in kinds], found)
    e.line(f"call void {loop}(ptr {pointers}, ptr {ones}, ptr {steps}, ptr {data})")
    return one(kinds[-1], e.effect(f"load {kinds[-1].llvm}, ptr {cells[-1]}"))


def _by_vector(state: State, name: str, kind: Scalar, xs: Sequence[str]) -> str:
    """One element as a vector of equal ones."""
    e = state.e
    e.lanes = vector_bytes() // kind.dtype.itemsize
    once = dataclasses.replace(state, often=state.often | {name})  # the code is long: a function of its own
    vector = vector_math.compute(once, name, kind, *(e.splat(kind.llvm, x) for x in xs))
    text = e.op(f"extractelement {e.wide(kind.llvm)} {vector}, i32 0")
    e.lanes = 1
    return text


# --------------------------------------------------------------------------------------- array makers
def wanted_dtype(value: Val | None, default: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype that was asked for."""
    if value is None or (isinstance(value, Static) and value.value is None):
        return default
    if not isinstance(value, Static):
        raise Unlowered("a dtype that is not constant")
    found: np.dtype[Any] = np.dtype(value.value)
    if not supported(found):
        raise Unlowered(f"arrays of dtype {found}")
    return found


def by_name(args: list[Val], keywords: dict[str, Val], *names: str) -> dict[str, Val]:
    """The arguments by name."""
    found = Named(zip(names, args, strict=False), **keywords)
    if len(found) < len(args) + len(keywords) or not set(found) <= set(names):
        raise Unlowered(f"other arguments than {', '.join(names)}")
    return found


def _filled(number: int | None) -> Handler:
    """`np.zeros`, `np.ones`, `np.empty`."""

    def handler(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
        given = by_name(args, keywords, "shape", "dtype")
        dtype = wanted_dtype(given.get("dtype"), np.dtype(float))
        value = None if number is None else lift(number)
        return _alike(state, sizes(state, given["shape"]), dtype, value)

    return handler


def _alike(state: State, dims: Sequence[str], dtype: np.dtype[Any], value: Val | None) -> Val:
    """An array whose elements are all the same (None: whatever is there), in memory if it has to be."""
    if not isinstance(value, Num):
        return create(state, dims, dtype, zeros=False)
    held = stored(state.e, value, numpy_scalar(dtype))
    if state.lazily and dims and dtype.kind != "c":
        e, held = state.e, opaque(state.e, held)
        return Lazy(held.scalar, tuple(dims), lambda _: one(held.scalar, e.splat(held.llvm, held.text)), ())
    zeros = type(value.const) is int and value.const == 0
    made = create(state, dims, dtype, zeros)
    if not zeros:
        fill(state, made, held)
    return made


def _full(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    given = by_name(args, keywords, "shape", "fill_value", "dtype")
    value = given["fill_value"]
    if not isinstance(value, Num) or len(value.members) != 1:
        raise Unlowered("np.full of this value")
    dtype = wanted_dtype(given.get("dtype"), value.scalar.dtype)
    if value.scalar.kind == "f" and dtype.kind in "iu":
        raise Unlowered("np.full of a float into integers")
    return _alike(state, sizes(state, given["shape"]), dtype, value)


def _like(number: int | None) -> Handler:
    """`np.zeros_like` and its like."""

    def handler(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
        given = by_name(args, keywords, "a", "dtype")
        source = given["a"]
        new_like(source)
        assert isinstance(source, Arr)
        dtype = wanted_dtype(given.get("dtype"), source.dtype)
        return _alike(state, source.dims, dtype, None if number is None else lift(number))

    return handler


def new_like(x: Val) -> None:
    """A new array has its axes in memory as its model has them: only C order is made here."""
    if not isinstance(x, Arr) or x.turned:
        raise Unlowered("a copy of an array whose axes lie in another order than C's")


def np_copy(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
    if len(args) != 1 or keywords:
        raise Unlowered("a copy with options")
    new_like(args[0])
    assert isinstance(args[0], Arr)
    return copied(state, args[0])


MAKERS: dict[str, Handler] = {
    "zeros": _filled(0),
    "ones": _filled(1),
    "empty": _filled(None),
    "full": _full,
    "zeros_like": _like(0),
    "ones_like": _like(1),
    "empty_like": _like(None),
    "copy": np_copy,
}


def attribute(state: State, x: Val, name: str) -> Val:
    """`x.name` of an array, or of a complex number."""
    if isinstance(x, Num) and name in ("real", "imag") and all(m.kind == "c" for m in x.members):

        def part(e: Emitter, x: Num) -> Num:
            return one(complexes.part_kind(x.scalar), complexes.parts(e, x)[name == "imag"])

        return apply(state.e, (x,), part)
    if not isinstance(x, Arr):
        text = isinstance(x, Static) and isinstance(x.value, (str, bytes))
        raise Unlowered("a text that is made here" if text else f"the attribute {name}")
    if name == "shape":
        return Tup(tuple(map(dimension, x.dims)))
    if name == "ndim":
        return lift(len(x.dims))
    if name == "size":
        return size(state.e, x)
    if name in ("real", "imag") and x.element.kind == "c":
        dtype = complexes.part_kind(x.element).dtype
        at = address(state.e, x, str(dtype.itemsize) if name == "imag" else "0")
        return Arr(dtype, at, x.dims, x.strides, None, x.roots, x.depth, x.site, x.age, turned=x.turned)
    if name == "T":
        return turned(x, range(len(x.dims))[::-1])
    raise Unlowered(f"the attribute {name}")


__all__ = ["FLOAT64", "attribute", "call", "numpy_call"]
