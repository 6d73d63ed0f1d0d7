"""Handles: Python objects that stand for run-time values while a function is traced.

`Tensor` stands for an array, a NumPy scalar or a Python number; `Object` for any other Python value.
What is done to them is handed to the trace's *protocol* (see `protocol.py`), which records it.
Always holds: a handle never gives up a concrete value; code that needs one gets an error that says so.
"""

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from runtime.dataclass import dataclass
from runtime.errors import ConcreteValueError, TensorBoolError, TraceError
from runtime.ir.graph import Operand
from runtime.lazy import Lazy
from runtime.ops.operators import IN_PLACE
from runtime.places import frames, is_users
from runtime.trace.heap import Identity
from runtime.trace.record import Path
from runtime.types import ArrayType, ObjectType, Type, WeakType

if TYPE_CHECKING:
    import sysconfig
else:
    sysconfig = Lazy("sysconfig")


@dataclass(eq=False)
class Facts:
    """What the trace keeps about a handle: its value in the graph and where it came from.

    trace: the `Trace` it belongs to (which stands above this module).
    example: the concrete object, for one that existed before the call; path: where it was found."""

    trace: Any
    operand: Operand
    type: Type
    identity: Identity
    example: Any = None
    path: Path | None = None


@functools.cache
def _libraries() -> tuple[str, ...]:
    """The folders of Python's and other libraries."""
    return tuple({sysconfig.get_paths()[name] for name in ("stdlib", "purelib", "platlib")})


NOT_KNOWN = "its value is known only when the graph runs, and the code that asks was not converted"


class Traced:
    """Common to both kinds of handle: operators, which are recorded."""

    __slots__ = ("_facts",)
    _facts: Facts
    __array_priority__ = 1000

    def __init__(self, facts: Facts) -> None:
        object.__setattr__(self, "_facts", facts)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__array_") and name not in ("__array_ufunc__", "__array_function__"):
            raise AttributeError(name)  # NumPy must not take a handle for an exporter of memory
        facts = self._facts
        return facts.trace.protocol.get_attr(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._facts.trace.protocol.set_attr(self, name, value)

    def __delattr__(self, name: str) -> None:
        self._facts.trace.protocol.del_attr(self, name)

    def __getitem__(self, key: Any) -> Any:
        return self._facts.trace.protocol.get_item(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._facts.trace.protocol.set_item(self, key, value)

    def __delitem__(self, key: Any) -> None:
        self._facts.trace.protocol.del_item(self, key)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._facts.trace.protocol.call(self, args, kwargs)

    def __iter__(self) -> Iterator[Any]:
        return self._facts.trace.protocol.iterate(self)  # type: ignore[no-any-return]

    def __len__(self) -> int:
        size = self._facts.trace.protocol.length(self)
        if isinstance(size, int):
            return size
        fix = "give the size as a Python number, or call len() in converted code"
        raise _concrete(self, "as a length", fix)

    def __bool__(self) -> bool:
        fix = "let autograph convert this function (ag.function), or write it with ag.cond and ag.while_loop"
        what = f"the truth of {describe(self)} is asked for while tracing"
        raise refusal(self, TensorBoolError(what, span=self._facts.trace.span(), why=NOT_KNOWN, fix=fix))

    def __index__(self) -> int:
        self._facts.trace.careless = True
        fix = "pass a Python int as the argument, or call int() in converted code"
        raise _concrete(self, "as a Python int", fix)

    __int__ = __index__

    def __float__(self) -> float:
        fix = "use NumPy's function on it, or call float() in converted code"
        raise _concrete(self, "as a Python float", fix)

    def __complex__(self) -> complex:
        raise _concrete(self, "as a Python complex", "call complex() in converted code")

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise _concrete(self, "as a NumPy array", "leave np.asarray out, or call it in converted code")

    def __format__(self, spec: str) -> str:
        raise _concrete(self, "as text", "format it in converted code")

    def __contains__(self, item: Any) -> bool:
        fix = "let autograph convert this function (ag.function), or use ag.in_"
        what = f"whether something is in {describe(self)} is asked while tracing"
        raise refusal(self, TensorBoolError(what, span=self._facts.trace.span(), why=NOT_KNOWN, fix=fix))

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        protocol = self._facts.trace.protocol
        # a NumPy scalar on the left of an operator comes here as a 0-d array
        args = tuple(a[()] if isinstance(a, np.ndarray) and a.ndim == 0 else a for a in args)
        if method == "__call__" and not kwargs and isinstance(args[0], np.generic):
            done = protocol.scalar_operator(ufunc, args)
            if done is not NotImplemented:
                return done
        out = kwargs.get("out")
        if isinstance(out, tuple) and len(out) == 1:
            kwargs["out"] = out[0]
        return protocol.call(ufunc if method == "__call__" else getattr(ufunc, method), args, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return self._facts.trace.protocol.call(function, args, kwargs)

    def __hash__(self) -> int:
        raise _concrete(self, "as a key", "use a Python number as the key, or do it in converted code")

    def __repr__(self) -> str:
        facts = self._facts
        asking = sys._getframe(1).f_code.co_filename
        if not facts.trace.closed and is_users(asking) and not asking.startswith(_libraries()):
            raise _concrete(self, "as text", "format it in converted code")  # `text % x` asks for it unseen
        name = getattr(facts.operand, "name", "") or "without a name"
        return f"<{type(self).__name__} {name}: {facts.type}>"

    def __divmod__(self, other: Any) -> Any:
        return self._facts.trace.protocol.call(divmod, (self, other), {})

    def __rdivmod__(self, other: Any) -> Any:
        return self._facts.trace.protocol.call(divmod, (other, self), {})

    def __round__(self, *digits: Any) -> Any:
        return self._facts.trace.protocol.call(round, (self, *digits), {})


class Tensor(Traced):
    """A traced array, NumPy scalar or Python number."""

    __slots__ = ()


class Object(Traced):
    """A traced Python value of any other kind."""

    __slots__ = ()


class Star:
    """`*value` in a call or display, where the number of items is known only at run time."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def _binary(op: str) -> Callable[[Any, Any], Any]:
    def method(self: Traced, other: Any) -> Any:
        return self._facts.trace.protocol.operator(op, self, other)

    return method


def _reflected(op: str) -> Callable[[Any, Any], Any]:
    def method(self: Traced, other: Any) -> Any:
        return self._facts.trace.protocol.reflected(op, other, self)

    return method


def _comparison(op: str) -> Callable[[Any, Any], Any]:
    def method(self: Traced, other: Any) -> Any:
        return self._facts.trace.protocol.compare(op, self, other)

    return method


def _unary(op: str) -> Callable[[Any], Any]:
    def method(self: Traced) -> Any:
        return self._facts.trace.protocol.operator(op, self)

    return method


def _in_place(op: str) -> Callable[[Any, Any], Any]:
    def method(self: Traced, other: Any) -> Any:
        return self._facts.trace.protocol.in_place(op, self, other)

    return method


for _op in IN_PLACE:  # the operator methods are the same thirteen lines but for the name
    _dunder = _op.rstrip("_")
    setattr(Traced, f"__{_dunder}__", _binary(_op))
    setattr(Traced, f"__r{_dunder}__", _reflected(_op))
    setattr(Traced, f"__i{_dunder}__", _in_place("i" + _dunder))
for _op in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Traced, f"__{_op}__", _comparison(_op))
for _op in ("neg", "pos", "invert", "abs"):
    setattr(Traced, f"__{_op}__", _unary(_op))
PYTHON_OPERATORS = {
    op: getattr(operator, op)
    for op in (*IN_PLACE, "eq", "ne", "lt", "le", "gt", "ge", "neg", "pos", "invert", "abs")
}


def describe(x: Traced) -> str:
    """A handle in the user's words: the variable that holds it, or those that it was computed from."""
    facts = x._facts
    mine = _variables()
    name = mine.get(id(facts.operand)) or getattr(facts.operand, "name", "")
    if name:
        return f"{name!r} (traced, {facts.type})"
    node = facts.trace.node_of(facts.operand)
    inputs = () if node is None else node.inputs
    used = dict.fromkeys(mine.get(id(i)) or getattr(i, "name", "") for i in inputs)
    names = " and ".join(repr(name) for name in used if name)
    if not names:
        return f"a traced value ({facts.type})"
    return f"a value computed from {names} (traced, {facts.type})"


def _variables() -> dict[int, str]:
    """The user's local variables that hold handles: identity of the handle's operand -> name."""
    frame = next(frames(), None)
    held = {} if frame is None else frame.f_locals
    return {id(v._facts.operand): name for name, v in held.items() if isinstance(v, Traced)}


def refusal(x: Traced, error: TraceError) -> TraceError:
    """The error, which the trace remembers: the code that asked may catch it, which it would not in a run."""
    x._facts.trace.refused.append(error)
    return error


def _concrete(x: Traced, use: str, fix: str) -> TraceError:
    what = f"{describe(x)} is needed {use} while tracing"
    return refusal(x, ConcreteValueError(what, span=x._facts.trace.span(), why=NOT_KNOWN, fix=fix))


def defines(cls: type, name: str) -> bool:
    """Whether instances of the class have the attribute from it (`hasattr` asks the metaclass as well)."""
    return any(name in vars(base) for base in cls.__mro__)


def known_class(x: Any) -> type | None:
    """The exact class of the run-time value that a trace value stands for, where it is known."""
    if not isinstance(x, Traced):
        return type(x)
    t = x._facts.type
    if isinstance(t, WeakType):
        return {"bool": bool, "int": int, "float": float, "complex": complex}[t.kind]
    if isinstance(t, ArrayType):
        return _array_class(t)
    return t.cls if isinstance(t, ObjectType) else None


def _array_class(t: ArrayType) -> type | None:
    if t.device != "cpu":
        return None
    return t.dtype.type if t.scalar else np.ndarray
