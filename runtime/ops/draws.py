"""Random streams: what their methods give, where that follows from the arguments.

In: the class of a stream, the name of a method, the types of the arguments.  Out: the type of the result;
None where it is not known for sure.  What always holds: the method is called as it is; only its result's
type is foretold.  Classes of C code can't be changed, so what holds of a class holds of all its instances.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from runtime.dataclass import dataclass
from runtime.types import (
    WEAK_FLOAT,
    WEAK_INT,
    ArrayType,
    NumberType,
    ObjectType,
    StaticType,
    TupleType,
    Type,
    WeakType,
    static_or_weak,
)

FLOAT, INT = np.dtype(np.float64), np.dtype(np.int64)
_NONE = StaticType(None)
_LONG_IS_INT = np.dtype("l") == INT  # of which the older streams make arrays of whole numbers


@dataclass(frozen=True)
class Draw:
    """What one method gives.

    takes: the names of its parameters, in order; those before `size` are broadcast against each other.
    number: the type of one result where neither sizes nor arrays are given.
    dtype: of arrays of them, unless the call says another.
    result: instead of all these, what gives the type from the arguments by name.
    """

    takes: tuple[str, ...]
    number: Type = WEAK_FLOAT
    dtype: np.dtype[Any] = FLOAT
    result: Callable[[Mapping[str, Type]], Type | None] | None = None


def _draws(number: Type, dtype: np.dtype[Any], text: str) -> dict[str, Draw]:
    """Rows of methods that take these parameters and then a size, one line each."""
    lines = (line.split() for line in text.strip().splitlines())
    return {name: Draw((*takes, "size"), number, dtype) for name, *takes in lines}


_FLOATS = """
    beta a b
    chisquare df
    exponential scale
    f dfnum dfden
    gamma shape scale
    gumbel loc scale
    laplace loc scale
    logistic loc scale
    lognormal mean sigma
    noncentral_chisquare df nonc
    noncentral_f dfnum dfden nonc
    normal loc scale
    pareto a
    power a
    rayleigh scale
    standard_cauchy
    standard_t df
    triangular left mode right
    uniform low high
    vonmises mu kappa
    wald mean scale
    weibull a
"""
_INTS = """
    binomial n p
    geometric p
    hypergeometric ngood nbad nsample
    logseries p
    negative_binomial n p
    poisson lam
    zipf a
"""


def _integers(default: Any) -> Callable[[Mapping[str, Type]], Type | None]:
    """What whole numbers from a range are, of this dtype where none is given."""

    def result(given: Mapping[str, Type]) -> Type | None:
        said = given.get("dtype", StaticType(default))
        wanted = said.value if isinstance(said, StaticType) else None
        try:
            dtype = np.dtype(wanted)
        except TypeError:
            return None
        if wanted is None or dtype.kind not in "biu":
            return None
        number = {int: WEAK_INT, bool: WeakType("bool")}.get(wanted) if isinstance(wanted, type) else None
        scalar = number or ArrayType(dtype, (), scalar=True)
        return _filled(given, ("low", "high"), scalar, dtype)

    return result


def _permuted(given: Mapping[str, Type]) -> Type | None:
    """An array in another order; the whole numbers below a number."""
    x = static_or_weak(given.get("x", _NONE))
    if isinstance(x, ArrayType) and not x.scalar and x.shape and x.dtype.kind in "biufc":
        return x if x.device == "cpu" else None
    plain = x == WEAK_INT or isinstance(x, ArrayType) and x.scalar and x.dtype == INT
    return ArrayType(INT, (_size(given["x"]),)) if plain else None


def _chosen(given: Mapping[str, Type]) -> Type | None:
    """Rows of an array, or whole numbers below a number."""
    a, size = given.get("a", _NONE), _sizes(given.get("size", _NONE))
    if size is None or "axis" in given:
        return None
    if _whole(a):
        return WEAK_INT if size == "one" else ArrayType(INT, size)
    if not isinstance(a, ArrayType) or a.scalar or not a.shape or a.device != "cpu":
        return None
    if a.dtype.kind not in "biufc" or not a.dtype.isnative:
        return None
    shape = (*(() if size == "one" else size), *a.shape[1:])
    return ArrayType(a.dtype, shape, scalar=not shape and size == "one")


def _by_sizes(given: Mapping[str, Type]) -> Type | None:
    """Floats in an array whose sizes are the arguments."""
    sizes = [_size(t) for t in given.values() if _whole(t)]
    if len(sizes) != len(given):
        return None
    return ArrayType(FLOAT, tuple(sizes)) if sizes else WEAK_FLOAT


def _nothing(given: Mapping[str, Type]) -> Type | None:
    return _NONE


def _python_int(given: Mapping[str, Type]) -> Type | None:
    """A Python int, of Python ints."""
    return WEAK_INT if given and all(static_or_weak(t) == WEAK_INT for t in given.values()) else None


def _python_float(given: Mapping[str, Type]) -> Type | None:
    """A Python float, which arithmetic of Python numbers with one gives."""
    numbers = (WEAK_INT, WEAK_FLOAT)
    return WEAK_FLOAT if all(static_or_weak(t) in numbers for t in given.values()) else None


_PYTHON_FLOATS: dict[str, tuple[str, ...]] = {
    "uniform": ("a", "b"),
    "gauss": ("mu", "sigma"),
    "normalvariate": ("mu", "sigma"),
    "lognormvariate": ("mu", "sigma"),
    "expovariate": ("lambd",),
    "vonmisesvariate": ("mu", "kappa"),
    "gammavariate": ("alpha", "beta"),
    "betavariate": ("alpha", "beta"),
    "paretovariate": ("alpha",),
    "weibullvariate": ("alpha", "beta"),
}
_BOTH: dict[str, Draw] = {
    **_draws(WEAK_FLOAT, FLOAT, _FLOATS),
    **_draws(WEAK_INT, INT, _INTS),
    "random": Draw(("size", "dtype", "out")),
    "shuffle": Draw(("x", "axis"), result=_nothing),
    "permutation": Draw(("x", "axis"), result=_permuted),
}
GENERATOR: dict[str, Draw] = {
    **_BOTH,
    "standard_normal": Draw(("size", "dtype", "out")),
    "standard_exponential": Draw(("size", "dtype", "method", "out")),
    "standard_gamma": Draw(("shape", "size", "dtype", "out")),
    "integers": Draw(("low", "high", "size", "dtype", "endpoint"), result=_integers(np.int64)),
    "choice": Draw(("a", "size", "replace", "p", "axis", "shuffle"), result=_chosen),
}
STATE: dict[str, Draw] = {
    **_BOTH,
    "random": Draw(("size",)),
    "random_sample": Draw(("size",)),
    "standard_normal": Draw(("size",)),
    "standard_exponential": Draw(("size",)),
    "standard_gamma": Draw(("shape", "size")),
    "rand": Draw((), result=_by_sizes),
    "randn": Draw((), result=_by_sizes),
    "randint": Draw(("low", "high", "size", "dtype"), result=_integers(int)),
    "choice": Draw(("a", "size", "replace", "p"), result=_chosen),
}
PYTHON: dict[str, Draw] = {
    "random": Draw(()),
    "getrandbits": Draw(("k",), result=_python_int),
    "randint": Draw(("a", "b"), result=_python_int),
    "randrange": Draw(("start", "stop", "step"), result=_python_int),
    "shuffle": Draw(("x",), result=_nothing),
    **{name: Draw(takes, result=_python_float) for name, takes in _PYTHON_FLOATS.items()},
}
# By module and name: who never loaded these modules, which load half a dozen libraries, has no such stream.
STREAMS: tuple[tuple[str, str, dict[str, Draw]], ...] = (
    ("numpy.random", "Generator", GENERATOR),
    ("numpy.random", "RandomState", STATE if _LONG_IS_INT else {}),
    ("random", "Random", PYTHON),
)
_VARIADIC = ("rand", "randn")


def methods_of(cls: type | None) -> dict[str, Draw] | None:
    """The rows of a class of random streams; None for all other classes."""
    known = () if cls is None else STREAMS
    return next((rows for module, name, rows in known if cls is _loaded(module, name)), None)


def result_type(
    stream: type | None, name: str, args: Sequence[Type], kwargs: Mapping[str, Type]
) -> Type | None:
    """The type of what the method of a stream of exactly this class gives."""
    row = (methods_of(stream) or {}).get(name)
    if row is None:
        return None
    if name in _VARIADIC:
        return None if kwargs else row.result and row.result({str(k): t for k, t in enumerate(args)})
    if len(args) > len(row.takes) or any(x not in row.takes for x in kwargs):
        return None
    given = {**dict(zip(row.takes, args, strict=False)), **kwargs}
    if row.result is not None:
        return row.result(given)
    if given.get("out", _NONE) != _NONE:
        return None
    dtype = row.dtype
    if "dtype" in given:
        said = given["dtype"]
        if not isinstance(said, StaticType) or said.value is None:
            return None
        try:
            dtype = np.dtype(said.value)
        except TypeError:
            return None
        if dtype not in (np.float32, np.float64):
            return None
    count = row.takes.index("size") if "size" in row.takes else 0
    return _filled(given, row.takes[:count], row.number, dtype)


def made_stream(target: Any, args: Sequence[Type], kwargs: Mapping[str, Type]) -> Type | None:
    """The type of what `np.random.default_rng` gives; of a stream it may be that stream."""
    if target is None or target is not _loaded("numpy.random", "default_rng"):
        return None
    plain = all(
        isinstance(t, (StaticType, WeakType, ArrayType, TupleType)) for t in (*args, *kwargs.values())
    )
    return ObjectType(_loaded("numpy.random", "Generator")) if plain else None


def exchanged() -> list[str]:
    """The functions of `np.random` in whose place there is something else at present."""
    module, cls = sys.modules.get("numpy.random"), _loaded("numpy.random", "RandomState")
    held = {} if module is None else vars(module)
    return [
        name
        for name in (STATE if cls is not None else ())
        if name in held and getattr(held[name], "__func__", None) is not getattr(cls, name, None)
    ]


def _loaded(module: str, name: str) -> Any:
    """What a module calls so; None where it is not loaded."""
    return getattr(sys.modules.get(module), name, None)


def _filled(
    given: Mapping[str, Type], parameters: Sequence[str], number: Type, dtype: np.dtype[Any]
) -> Type | None:
    """One number, or an array of the sizes that are given, or of those of the parameters."""
    size = _sizes(given.get("size", _NONE))
    shapes = [_shape(given[name]) for name in parameters if name in given and given[name] != _NONE]
    if size is None or any(shape is None for shape in shapes):
        return None
    if size != "one":
        return ArrayType(dtype, size)
    if not any(shapes):
        return number
    rank = max(len(shape) for shape in shapes if shape is not None)
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes if shape is not None]
    return ArrayType(dtype, tuple(map(_broadcast, zip(*padded, strict=True))))


def _broadcast(sizes: tuple[int | None, ...]) -> int | None:
    """The size of an axis along which these are broadcast."""
    known = {n for n in sizes if n is not None and n != 1}
    if known:
        return known.pop()
    return None if None in sizes else 1


def _shape(t: Type) -> tuple[int | None, ...] | None:
    """The shape of a parameter; None where it is not known."""
    t = static_or_weak(t)
    if isinstance(t, (WeakType, NumberType)):
        return ()
    return t.shape if isinstance(t, ArrayType) and t.device == "cpu" and t.dtype.kind in "biuf" else None


def _sizes(t: Type) -> Any:
    """The shape that a size asks for; "one" where none is given, None where it is not known."""
    if t == _NONE:
        return "one"
    if _whole(t):
        return (_size(t),)
    items: Sequence[Type] | None = t.items if isinstance(t, TupleType) and t.cls is tuple else None
    if isinstance(t, StaticType) and type(t.value) is tuple:
        items = tuple(map(StaticType, t.value))
    if items is None or not all(map(_whole, items)):
        return None
    return tuple(map(_size, items))


def _whole(t: Type) -> bool:
    """Whether a value of this type is one whole number (and no truth)."""
    t = static_or_weak(t)
    return t == WEAK_INT or isinstance(t, ArrayType) and t.scalar and t.dtype.kind in "iu"


def _size(t: Type) -> int | None:
    return int(t.value) if isinstance(t, StaticType) and t.value >= 0 else None
