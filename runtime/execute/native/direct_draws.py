"""Random numbers drawn without Python: by the C functions that NumPy's own methods call.

In: the class of a stream, the name of a method, its arguments.  Out: the number; None where the method is
to be called.  What always holds: a function is used only where it gave, when it was tried, what the method
gives, and left the stream as the method does; arguments that the method might refuse are left to the plan.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from runtime.dataclass import dataclass
from runtime.execute.native.emit import Emitter
from runtime.execute.native.floats import to_float
from runtime.execute.native.kinds import FLOAT64, INT64, PYTHON_FLOAT, PYTHON_INT
from runtime.execute.native.state import State
from runtime.execute.native.streams import pointer
from runtime.execute.native.values import Num, Val, extended, lift, one

ANY, POSITIVE, LIMITED = "any", "positive", "limited"  # what a parameter may be here
_MOST = 1e15  # of what is limited
_FILL = "random_bounded_uint64_fill"


@dataclass(frozen=True)
class Way:
    """function: of C, of the stream and so many floats; parameters: what each may be and its default, None
    where it must be given.  whole: whether it gives a whole number.  spread: whether the second of two is
    given as its distance from the first."""

    function: str
    parameters: tuple[tuple[str, float | None], ...] = ()
    whole: bool = False
    spread: bool = False


_UNIFORM = Way("random_uniform", ((ANY, 0.0), (POSITIVE, 1.0)), spread=True)
_RANDOM = Way("random_standard_uniform")
GENERATOR: dict[str, Way] = {
    "random": _RANDOM,
    "uniform": _UNIFORM,
    "standard_normal": Way("random_standard_normal"),
    "standard_exponential": Way("random_standard_exponential"),
    "normal": Way("random_normal", ((ANY, 0.0), (POSITIVE, 1.0))),
    "lognormal": Way("random_lognormal", ((ANY, 0.0), (POSITIVE, 1.0))),
    "laplace": Way("random_laplace", ((ANY, 0.0), (POSITIVE, 1.0))),
    "logistic": Way("random_logistic", ((ANY, 0.0), (POSITIVE, 1.0))),
    "gumbel": Way("random_gumbel", ((ANY, 0.0), (POSITIVE, 1.0))),
    "exponential": Way("random_exponential", ((POSITIVE, 1.0),)),
    "gamma": Way("random_gamma", ((POSITIVE, None), (POSITIVE, 1.0))),
    "beta": Way("random_beta", ((POSITIVE, None), (POSITIVE, None))),
    "poisson": Way("random_poisson", ((LIMITED, 1.0),), whole=True),
}
STATE: dict[str, Way] = {"random": _RANDOM, "random_sample": _RANDOM, "rand": _RANDOM, "uniform": _UNIFORM}
WAYS = {"Generator": GENERATOR, "RandomState": STATE}  # by class: who has a stream has loaded the module


@functools.cache
def _library() -> ctypes.CDLL | None:
    """NumPy's own library of distributions."""
    try:
        return ctypes.CDLL(str(np.random._generator.__file__))
    except (AttributeError, OSError):
        return None


def _function(name: str, whole: bool, count: int) -> Any:
    """A function of the library, to be called from Python."""
    made = getattr(_library(), name)
    made.restype = ctypes.c_int64 if whole else ctypes.c_double
    made.argtypes = [ctypes.c_void_p, *[ctypes.c_double] * count]
    return made


@functools.cache
def _address(cls: type, name: str) -> int:
    """Where the function is that draws what the method draws; 0 where there is none."""
    try:
        return _tried_integers() if name == "integers" else _tried(cls, name)
    except (AttributeError, OSError, TypeError, ValueError):
        return 0


def _streams(cls: type) -> tuple[Any, Any]:
    """Two streams that will give the same."""
    make: Any = np.random.default_rng if cls is np.random.Generator else np.random.RandomState
    return make(77), make(77)


def _tried(cls: type, name: str) -> int:
    """The address of the function behind a method, after a few draws by both."""
    way = WAYS[cls.__name__][name]
    function = _function(way.function, way.whole, len(way.parameters))
    ours, theirs = _streams(cls)
    at = pointer(ours)
    for first, second in ((0.5, 1.5), (2.0, 3.25), (17.5, 90.0)):
        given = (first, second)[: len(way.parameters)]
        shown = (first, second - first) if way.spread else given
        for _ in range(40):
            if function(at, *shown) != getattr(theirs, name)(*given):
                return 0
    if ours.random() != theirs.random():
        return 0
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _tried_integers() -> int:
    """The same of whole numbers of a range."""
    fill = getattr(_library(), _FILL)
    fill.restype = None
    u, cell = ctypes.c_uint64, ctypes.c_uint64()
    fill.argtypes = [ctypes.c_void_p, u, u, ctypes.c_ssize_t, ctypes.c_bool, ctypes.c_void_p]
    ours, theirs = _streams(np.random.Generator)
    at = pointer(ours)
    for low, high in ((0, 1), (0, 6), (-5, 1000), (0, 2**32), (1, 2**40), (-(2**63), 2**63 - 1), (3, 10)):
        for _ in range(20):
            fill(at, low % 2**64, high - 1 - low, 1, False, ctypes.addressof(cell))
            got = theirs.integers(low, high)
            if type(got) is not np.int64 or cell.value != int(got) % 2**64:
                return 0
    if ours.random() != theirs.random() or ours.integers(9) != theirs.integers(9):
        return 0
    return ctypes.cast(fill, ctypes.c_void_p).value or 0


def drawn(state: State, cls: type, name: str, stream: str, args: Sequence[Val]) -> Num | None:
    """The number that a method gives; None where it must be called."""
    numbers = [x for x in args if isinstance(x, Num) and len(x.members) == 1 and x.scalar.kind in "biuf"]
    way = WAYS.get(cls.__name__, {}).get(name)
    whole = name == "integers" and cls is np.random.Generator
    if len(numbers) != len(args) or _library() is None or (way is None and not whole):
        return None
    if whole:
        return _integer(state, stream, numbers) if _address(cls, name) else None
    assert way is not None
    required = sum(default is None for _, default in way.parameters)
    if not required <= len(args) <= len(way.parameters) or not _address(cls, name):
        return None
    e = state.e
    numbers += [lift(default) for _, default in way.parameters[len(args) :]]  # type: ignore[misc]
    values = [to_float(e, x, FLOAT64).text for x in numbers]
    if way.spread:
        values[1] = e.op(f"fsub double {values[1]}, {values[0]}")
    for (limits, _), text in zip(way.parameters, values, strict=True):
        _check(e, limits, text)
    llvm = "i64" if way.whole else "double"
    given = "".join(f", double {text}" for text in values)
    place = state.address(way.function, _address(cls, name))
    made = e.effect(f"call {llvm} {place}(ptr {_bits(state, stream)}{given})")
    return one(PYTHON_INT if way.whole else PYTHON_FLOAT, made)


def _check(e: Emitter, limits: str, text: str) -> None:
    """Leave to the plan what the method might refuse."""
    if limits != ANY:
        e.bail_if(e.negated(e.op(f"fcmp ogt double {text}, 0.0")))
        most = "0x7FEFFFFFFFFFFFFF" if limits == POSITIVE else f"{_MOST:e}"
        e.bail_if(e.negated(e.op(f"fcmp ole double {text}, {most}")))


def _bits(state: State, stream: str) -> str:
    """The address of what the functions of C draw from."""
    at = state.e.op(f"getelementptr ptr, ptr %bits, i64 {state.stream(stream)}")
    return state.e.effect(f"load ptr, ptr {at}")


def _integer(state: State, stream: str, numbers: Sequence[Num]) -> Num | None:
    """A whole number of a range."""
    unfit = any(x.scalar.kind not in "iu" or x.scalar.kind == "u" and x.scalar.bits == 64 for x in numbers)
    if unfit or not 1 <= len(numbers) <= 2:
        return None
    e = state.e
    low, high = ["0", *(extended(e, x) for x in numbers)][-2:]
    e.bail_if(e.op(f"icmp sge i64 {low}, {high}"))
    distance = e.op(f"sub i64 {high}, {low}")
    distance = e.op(f"sub i64 {distance}, 1")
    cell = e.slot("i64")
    place = state.address(_FILL, _address(np.random.Generator, "integers"))
    bits = _bits(state, stream)
    e.line(f"call void {place}(ptr {bits}, i64 {low}, i64 {distance}, i64 1, i1 zeroext false, ptr {cell})")
    return one(INT64, e.effect(f"load i64, ptr {cell}"))
