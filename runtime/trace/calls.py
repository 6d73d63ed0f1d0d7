"""Calls while tracing: which are traced into, become ops, are done now, or are left to run time.

In order: methods of handles; built-in functions with a rule of their own (`builtins.py`); NumPy
functions with a row in the op table; calls of pure functions on static values, done now; Python
functions, traced into; classes; and everything else, recorded as a call of the plain thing.
"""

from __future__ import annotations

import functools
import inspect
import math
import time
import types
import warnings
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from runtime import pyops
from runtime.boxes import Cell
from runtime.ir.effects import plain_exception
from runtime.ir.graph import Const
from runtime.ir.opdef import OpDef
from runtime.ops.draws import made_stream, result_type
from runtime.ops.rules import takes_tuples_for_lists
from runtime.ops.table import as_function, out_named, takes_list
from runtime.trace import callees, dicts, growing, items, outside, records
from runtime.trace.attributes import Method, guard_special, set_attr, special_method
from runtime.trace.builtins import BUILTINS
from runtime.trace.core import Diverged, Trace, is_static
from runtime.trace.doubts import called, doubt_inside
from runtime.trace.heap import ANY, CLEAN
from runtime.trace.pending import at_once
from runtime.trace.record import Path
from runtime.trace.trust import calls_python, looks_at_frame, trusted
from runtime.trace.values import Object, Star, Tensor, Traced, defines, known_class
from runtime.trace.variables import value_of, write, written
from runtime.types import (
    OBJECT,
    WEAK_BOOL,
    WEAK_FLOAT,
    WEAK_INT,
    ArrayType,
    NumberType,
    ObjectType,
    StaticType,
    TupleType,
    Type,
    WeakType,
    is_namedtuple,
)
from runtime.variable import WRITERS, Variable
from runtime.warned import warn

_READERS = frozenset(
    {len, float, int, bool, complex, abs, sum, min, max, list, tuple, enumerate, zip, sorted, round}
)
MAX_DEPTH, MAX_INLINED = 50, 3000
_RESIZED = "the shape of an array is exchanged"
MAX_FORKS = 3  # calls of a function in branches of itself that depend on the data
_SEQUENCES = frozenset(
    "np." + n
    for n in (
        "array asarray concatenate stack vstack hstack dstack column_stack meshgrid "
        "broadcast_arrays linalg.multi_dot ix_ asanyarray ascontiguousarray lexsort"
    ).split()
)
_MATH_INT = {getattr(math, n) for n in "floor ceil trunc gcd comb perm isqrt factorial lcm".split()}
_MATH_OTHER: dict[str, Type] = {
    "modf": TupleType((WEAK_FLOAT, WEAK_FLOAT)),
    "frexp": TupleType((WEAK_FLOAT, WEAK_INT)),
    **dict.fromkeys(("prod", "fsum", "sumprod", "dist"), OBJECT),
}
_MATH_BOOL = {math.isnan, math.isinf, math.isfinite, math.isclose}
_CLOCKS: dict[Any, Type] = {
    getattr(time, clock + end): kind
    for clock in ("time", "perf_counter", "monotonic", "process_time", "thread_time")
    for end, kind in (("", WEAK_FLOAT), ("_ns", WEAK_INT))
    if hasattr(time, clock + end)
}
_NOT_PLAIN = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_IMPURE = frozenset(
    "print input open id next iter exec eval compile setattr delattr breakpoint __import__".split()
)
_PURE_SELF = (str, bytes, int, float, complex, bool, tuple, frozenset, range, slice, type(None))


def call(trace: Trace, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`f(*args, **kwargs)`."""
    if any(isinstance(a, Star) for a in kwargs.values()):
        return _call_with(trace, f, args, kwargs)
    if any(isinstance(a, Star) for a in args):
        return _starred_call(trace, f, args, kwargs)
    if isinstance(f, Method):
        return call_method(trace, f, args, kwargs)
    if not isinstance(f, Traced):
        return call_known(trace, f, f, args, kwargs)
    example = f._facts.example
    if not isinstance(f, Object) or known_class(f) is None:
        return run_time_call(trace, f, args, kwargs)
    if not isinstance(f._facts.operand, Const):
        return call_instance(trace, f, args, kwargs)
    return call_known(trace, f, example, args, kwargs)


def call_known(trace: Trace, handle: Any, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call of a callable that is known while tracing; `handle` is its trace value."""
    done = records.called(trace, target, args, kwargs)
    if done is not NotImplemented:
        return done
    if isinstance(target, types.MethodType) and _is_trace_value(target.__self__):
        return call(trace, target.__func__, (target.__self__, *args), kwargs)
    if _is_ours(target):
        return target(*args, **kwargs)
    if len(args) == 1 and _lists_first(target):
        args = (at_once(trace, args[0]),)
    if looks_at_frame(target, len(args)):
        trace.doom("it looks at the frame that calls it")
    special = BUILTINS.get(target) if isinstance(target, (types.BuiltinFunctionType, type)) else None
    if special is not None:
        done = special(trace, _values(trace, args) if target in _READERS else args, kwargs)
        if done is not NotImplemented:
            return done
    row = numpy_row(trace, target)
    if row is not None:
        return call_numpy(trace, row, target, args, kwargs)
    given = (*args, *kwargs.values())
    if pure(target) and all(map(is_static, given)) and not _asks_settings(target, given):
        result = _computed(target, args, kwargs)
        if is_static(result):
            return result
    if isinstance(target, type):
        return instantiate(trace, handle, target, args, kwargs)
    if isinstance(target, types.FunctionType):
        return call_function(trace, handle, target, args, kwargs)
    if target is np.ndarray.resize:
        trace.doom(_RESIZED)
    inner = _traceable(target)
    if inner is not None:
        return call_function(trace, trace.constant(inner), inner, args, kwargs)
    return run_time_call(trace, handle, args, kwargs)


def _lists_first(target: Any) -> bool:
    """Whether a function makes a list of all its one argument gives, before it does anything else."""
    if target is list or target is tuple or target is sorted:
        return True
    method = type(target) is types.BuiltinMethodType and target.__name__ == "join"
    return method and type(target.__self__) is str


def _is_ours(target: Any) -> bool:
    """Whether a callable is made for trace values: an object, class, method or function of ours."""
    if isinstance(target, (types.FunctionType, type)):
        return "runs_on_trace_values" in target.__dict__
    owner = target.__self__ if isinstance(target, types.MethodType) else target
    return getattr(type(owner), "runs_on_trace_values", False) is True


def _starred_call(trace: Trace, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call with `*x`, where how many items x has is known only at run time."""
    spread = tuple(i for i, a in enumerate(args, 1) if isinstance(a, Star))
    plain = [a.value if isinstance(a, Star) else a for a in args]
    result = trace.record("py.call", [f, *plain], kwargs, attrs={"starred": spread})
    trace.heap.unknown_call()
    return result


def _call_with(trace: Trace, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call with `**d`, where the keys of d are known only at run time."""
    parts: list[Any] = []
    named: dict[str, Any] = {}
    for name, value in kwargs.items():
        if not isinstance(value, Star):
            named[name] = value
            continue
        parts += [items.new_dict(trace, list(named.items()))] if named else []
        parts.append(value.value)
        named = {}
    parts += [items.new_dict(trace, list(named.items()))] if named else []
    given: Any = args
    if len(args) == 1 and isinstance(args[0], Star):
        given = args[0].value  # Python looks at the mappings first
    elif any(isinstance(a, Star) for a in args):
        given = items.starred_list(trace, args)
    result = trace.record("py.call", [pyops.call_with, f, given, *parts])
    trace.heap.unknown_call()
    return result


def numpy_row(trace: Trace, target: Any) -> OpDef | None:
    """The row that a NumPy callable is recorded as, or None."""
    try:
        return trace.by_callable.get(target)
    except TypeError:
        return None


def _asks_settings(f: Any, args: Iterable[Any]) -> bool:
    """Whether a call makes a text of NumPy scalars, which goes by the print options of the moment."""
    texts = f in (str, repr, ascii, format) or isinstance(getattr(f, "__self__", None), str)
    return texts and any(isinstance(a, (np.generic, tuple, frozenset, slice)) for a in args)


def pure(f: Any) -> bool:
    """Whether a call of `f` on static values may be done while tracing: no effects, same result always."""
    if isinstance(f, types.BuiltinFunctionType):
        owner = f.__self__
        if isinstance(owner, types.ModuleType):
            return owner.__name__ in ("math", "cmath", "builtins", "_operator") and f.__name__ not in _IMPURE
        return isinstance(owner, _PURE_SELF) or (
            isinstance(owner, type) and owner in (int, float, str, bytes, dict)
        )
    if isinstance(f, np.ufunc):
        return not calls_python(f)
    if isinstance(f, type):
        if issubclass(f, np.datetime64):  # np.datetime64("now")
            return False
        return f in (*_PURE_SELF[:-1], np.dtype) or issubclass(f, np.generic)
    return isinstance(f, (types.MethodDescriptorType, types.WrapperDescriptorType)) or f in (
        np.issubdtype,
        np.result_type,
        np.promote_types,
        np.can_cast,
        np.isscalar,
        np.ndim,
        np.shape,
        np.broadcast_shapes,
        np.size,
    )


_WARNS = object()


def _computed(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of a call while tracing; `_WARNS`, which is no static value, where each call has to warn."""
    if not isinstance(f, np.ufunc) and any(isinstance(x, np.complexfloating) for x in args):
        return _WARNS  # it does where only the real part is taken: `float(x)`, `math.exp(x)`
    try:
        return f(*args, **kwargs)
    except FloatingPointError:  # NumPy raises while tracing what it would warn of
        return _WARNS


# ------------------------------------------------------------------------------------------- NumPy
def call_numpy(trace: Trace, row: OpDef, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A NumPy function that is a row of the op table."""
    args, kwargs = out_named(row, args, kwargs)
    given = getattr(target, "nin", len(args))  # what follows the operands of a ufunc is written to
    args = (*[_values(trace, a) for a in args[:given]], *args[given:])
    kwargs = {name: a if name == "out" else _values(trace, a) for name, a in kwargs.items()}
    if pure(target) and all(map(is_static, (*args, *kwargs.values()))):
        result = _computed(target, args, kwargs)
        if is_static(result):
            return result
    claim: Type | None = None
    if row.name in _SEQUENCES:
        if takes_tuples_for_lists(row, args, kwargs):
            args = tuple(_sequence(trace, a) for a in args)
        if args and growing.known(trace, args[0]) is not None:
            claim = growing.joined_type(trace, row, args[0], args[1:], kwargs)
            args = (trace.receiver(args[0]), *args[1:])  # it is read, and nobody keeps it
    elif args and known_class(args[0]) is list and takes_list(row, args, kwargs):
        args = (_as_array(trace, args[0]), *args[1:])
    result = trace.record(row.name, args, kwargs, type=None if claim == OBJECT else claim)
    called(trace, target, (*args, *kwargs.values()))
    out = kwargs.get("out")
    if out is None and len(args) > given:
        out = args[given] if len(args) == given + 1 else tuple(args[given:])
    for place in out if isinstance(out, tuple) else (out,):
        if isinstance(place, Object) and known_class(place) is Variable:
            written(trace, place)
    if isinstance(out, tuple):  # of several results some may have no array
        pairs = zip(result, out, strict=True) if isinstance(result, tuple) else ()
        return tuple(made if place is None else place for made, place in pairs) or result
    return result if out is None else out


def _values(trace: Trace, x: Any) -> Any:
    """An argument of a NumPy function with values in place of Variables."""
    return tuple(_values(trace, i) for i in x) if type(x) is tuple else value_of(trace, x)


def _as_array(trace: Trace, x: Any) -> Any:
    """A list of floats and arrays whose items are known as the array that NumPy makes of it."""
    found = _sequence(trace, x)
    listed = type(found) is tuple and any(isinstance(i, (Tensor, float)) for i in found)
    return call_numpy(trace, trace.by_callable[np.array], np.array, (x,), {}) if listed else x


def _sequence(trace: Trace, x: Any) -> Any:
    """A list of arrays and numbers whose items are known, as a tuple of them (NumPy reads both alike)."""
    found = (
        items.known_items(trace, x) if isinstance(x, (list, Object)) and known_class(x) in (list,) else None
    )
    if found is None:
        return x
    inner = [_sequence(trace, value_of(trace, i)) for i in found]
    numbers = all(isinstance(i, (Tensor, tuple, bool, int, float, complex, np.generic)) for i in inner)
    return tuple(inner) if numbers else x


# ----------------------------------------------------------------------------------------- methods
def call_method(trace: Trace, m: Method, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A method of a handle whose class is built in."""
    x, name = m.handle, m.name
    if isinstance(x, Tensor) and isinstance(x._facts.type, ArrayType):
        if name == "resize":
            trace.doom(_RESIZED)
        row = trace.by_method.get(name)
        given = as_function(name, args, kwargs)
        if row is not None and given is not None:
            (x, *rest), kwargs = out_named(row, (x, *given), kwargs)
            result = trace.record(row.name, [x, *rest], kwargs, attrs={"form": "method"})
            return result if kwargs.get("out") is None else kwargs["out"]
        return _plain_method(trace, x, name, args, kwargs, OBJECT)
    cls = known_class(x)
    if cls is list and isinstance(x, Object):
        return items.list_method(trace, x, name, args, kwargs)
    if cls is dict and isinstance(x, Object):
        return dicts.method(trace, x, name, args, kwargs)
    if cls is Cell:  # its only method is what a walrus calls
        set_attr(trace, x, "value", args[0])
        return args[0]
    claim: Type = (
        ObjectType(str)
        if cls is str
        and not name.startswith(("is", "starts", "ends", "split"))
        and name not in ("split", "rsplit", "partition", "encode", "index", "find", "count")
        else items.PAIRS
        if cls is defaultdict and name == "items"
        else OBJECT
    )
    drawn = _drawn(trace, cls, name, args, kwargs)
    result = _plain_method(trace, x, name, args, kwargs, claim if drawn is None else drawn)
    if isinstance(x, Object):
        trace.heap.written(x._facts.identity, "item", ANY)
        trace.heap.written(x._facts.identity, "attr", ANY)
        items.called_method(trace, x, name, args, kwargs)
    return result


def _plain_method(
    trace: Trace, x: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], claim: Type
) -> Any:
    receiver = trace.receiver(x) if isinstance(x, Traced) else x
    method = trace.emit("py.getattr", [receiver, name])
    return trace.record("py.call", [method, *args], kwargs, type=claim)


# --------------------------------------------------------------------------------------- functions
def call_function(
    trace: Trace,
    handle: Any,
    f: types.FunctionType,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    found: Object | None = None,
) -> Any:
    """A Python function: traced into where it can be, else called at run time.

    found: the handle of one that is another function of the same code in each call."""
    if f in WRITERS and args and isinstance(args[0], Object) and known_class(args[0]) is Variable:
        return write(trace, f, args[0], args[1:], kwargs)
    if f.__code__.co_flags & _NOT_PLAIN:
        trace.leave(f"{f.__qualname__} is a generator or coroutine function: its body runs as plain Python")
        return run_time_call(trace, handle, args, kwargs)
    asked = None
    if trace.is_generated(f):
        bound: Callable[..., Any] | None = f
    else:
        asked = callees.asked(trace, f if found is None else found._facts, f.__code__, args, kwargs)
        known = callees.again(trace, asked) if asked is not None else None
        if known is not None:
            return known[0]
        bound = trace.inline(f, found) if trace.inlined < MAX_INLINED else None
    signature = (f.__code__, [trace.type_of(a) for a in (*args, *kwargs.values())])
    recurs = recurs_on_data(trace, signature)
    if bound is None or len(trace.calls) > MAX_DEPTH or recurs:
        if recurs or bound is not None or trace.inlined >= MAX_INLINED:
            why = "calls itself as the data says" if recurs else "is called too deep or too often"
            trace.leave(f"{f.__qualname__} {why}: this call runs as plain Python")
        return run_time_call(trace, handle, args, kwargs)
    trace.inlined += 1
    mark = trace.mark()
    trace.calls.append((signature, trace.regions))
    try:
        if asked is None:
            return bound(*args, **kwargs)
        with trace.heap.watched() as log:
            result = bound(*args, **kwargs)
        callees.remember(trace, asked, mark[2], log, result)
        return result
    except Diverged:
        raise
    except Exception as error:
        if trace.strict or isinstance(error, RecursionError) or trace.is_generated(f) and not trace.regions:
            raise
        trace.rollback(mark)
        trace.note("python", f"{f.__qualname__} runs as plain Python: {trace.raised(error)}")
        return run_time_call(trace, handle, args, kwargs)
    finally:
        trace.calls.pop()


def recurs_on_data(trace: Trace, signature: tuple[Any, list[Type]]) -> bool:
    """Whether the same call is being traced outside the current branch or loop: it would never end.

    Calls with other static arguments might end, but as often as not they fork: only so many are followed.
    """
    outside = [seen for seen, regions in trace.calls if seen[0] is signature[0] and regions < trace.regions]
    return signature in outside or len(outside) >= MAX_FORKS


def call_instance(trace: Trace, f: Object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A callable object that was passed in."""
    cls, example = known_class(f), f._facts.example
    if cls is functools.partial and example is not None and f._facts.path is not None:
        return _call_partial(trace, f, f._facts.path, args, kwargs)
    inner = _traceable(example)
    if inner is not None:
        if f._facts.path is not None:
            trace.guard(f._facts.path, StaticType(example), f._facts.path.text)
        return call_function(trace, trace.constant(inner), inner, args, kwargs)
    method = special_method(trace, cls, "__call__") if cls is not None else None
    if method is not None:
        return call(trace, method, (f, *args), kwargs)
    if cls is types.FunctionType and example is not None and f._facts.path is not None:
        return call_function(trace, f, example, args, kwargs, found=f)
    if isinstance(example, types.MethodType) and f._facts.path is not None:
        function = outside.read_inside(trace, f, f._facts.path / ("attr", "__func__"))
        owner = outside.read_inside(trace, f, f._facts.path / ("attr", "__self__"))
        return call(trace, function, (owner, *args), kwargs)
    return run_time_call(trace, f, args, kwargs)


def _call_partial(trace: Trace, f: Object, path: Path, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call of a partial that was passed in."""
    if trace.heap.trust != CLEAN:
        return run_time_call(trace, f, args, kwargs)
    held, named = f._facts.example, path / ("attr", "keywords")
    for place, what in ((path / ("attr", "args"), held.args), (named, held.keywords)):
        trace.guard(place / ("len", None), StaticType(len(what)), f"{place.text}'s length")
    function, first = outside.read_inside(trace, f, path / ("attr", "func")), path / ("attr", "args")
    more = [outside.read_inside(trace, f, first / ("item", i)) for i in range(len(held.args))]
    names = outside.read_inside(trace, f, named)
    keywords = {name: trace.protocol.get_item(names, name) for name in held.keywords}
    return call(trace, function, (*more, *args), {**keywords, **kwargs})


# ----------------------------------------------------------------------------------------- classes
def instantiate(trace: Trace, handle: Any, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`cls(*args, **kwargs)`: a user class's `__init__` is traced into, a C class is called at run time."""
    if is_namedtuple(cls):
        return records.named_tuple(trace, cls, args, kwargs)
    if issubclass(cls, weakref.ReferenceType) or cls is weakref.finalize or defines(cls, "__del__"):
        trace.doom("when objects die is for Python to say")
    if cls is types.SimpleNamespace and not args:
        made = _made(trace, trace.emit("py.call", [handle, *args], kwargs, type=ObjectType(cls)))
        for name, value in kwargs.items():
            trace.heap.put(made._facts.identity, "attr", name, value)
        trace.heap.complete.add(made._facts.identity)
        return made
    init = cls.__init__  # type: ignore[misc]
    ordinary = (
        type(cls) is type
        and _inherits(cls, "__new__")
        and (_inherits(cls, "__setattr__") or records.frozen(cls, init))
        and cls.__flags__ & (1 << 9)
        and not issubclass(cls, BaseException)
        and not trusted(cls)
    )
    if not ordinary or not isinstance(init, (types.FunctionType, types.WrapperDescriptorType)):
        if plain_exception(cls):
            guard_special(trace, cls, "__new__", "__init__")
        claim = ObjectType(cls) if not cls.__flags__ & (1 << 9) or issubclass(cls, BaseException) else OBJECT
        return run_time_call(trace, handle, args, kwargs, claim=claim)
    guard_special(trace, cls, "__new__", "__init__")
    if init is object.__init__ and (args or kwargs):
        return run_time_call(trace, handle, args, kwargs)
    if isinstance(init, types.FunctionType) and special_method(trace, cls, "__init__") is None:
        return run_time_call(trace, handle, args, kwargs)
    mark = trace.mark()
    try:
        made = _made(trace, trace.emit("py.call", [object.__new__, handle], type=ObjectType(cls), name=""))
        trace.heap.complete.add(made._facts.identity)
        if isinstance(init, types.FunctionType):
            _initialise(trace, cls, init, made, args, kwargs)
        return made
    except Diverged:
        raise
    except Exception as error:
        if trace.strict or isinstance(error, RecursionError):
            raise
        trace.rollback(mark)
        trace.note("python", f"{cls.__qualname__}(...) runs as plain Python: {trace.raised(error)}")
        return run_time_call(trace, handle, args, kwargs)


def _is_trace_value(x: Any) -> bool:
    """Whether `x` belongs to the trace; if not, it is of the outside world, a random stream for one."""
    return isinstance(x, (Traced, tuple)) or is_static(x)


def _traceable(x: Any) -> types.FunctionType | None:
    """The function inside one of our own callables.

    Asked of its class: an object of the user's may make up attributes."""
    inner = x.python_function if hasattr(type(x), "python_function") else None
    return inner if isinstance(inner, types.FunctionType) else None


def _inherits(cls: type, name: str) -> bool:
    """Whether the class has the special method as `object` has it."""
    return getattr(cls, name) is getattr(object, name)


def _made(trace: Trace, value: Any) -> Any:
    assert value is not None
    return trace.wrap(value, fresh=True)


def _initialise(
    trace: Trace,
    cls: type,
    init: types.FunctionType,
    made: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> None:
    if records.generated(cls, init):
        records.initialise(trace, cls, init, made, args, kwargs)
        return
    bound = trace.inline(init)
    if bound is None:
        raise TypeError(f"{cls.__qualname__}.__init__ can't be traced into")
    bound(made, *args, **dict(kwargs))


# ---------------------------------------------------------------------------------------- run time
def run_time_call(
    trace: Trace, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], *, claim: Type | None = None
) -> Any:
    """Record a call of the plain thing with run-time values."""
    target = f._facts.example if isinstance(f, Object) and isinstance(f._facts.operand, Const) else f
    owner = target.__self__ if isinstance(target, types.BuiltinFunctionType) else None
    if isinstance(target, types.BuiltinFunctionType) and isinstance(owner, (str, bytes)):
        claims: Type = (
            ObjectType(str)
            if isinstance(owner, str)
            and target.__name__ in ("format", "join", "replace", "upper", "lower", "strip")
            else OBJECT
        )
        result = _plain_method(trace, owner, target.__name__, args, kwargs, claims)
        doubt_inside(trace, *args, *kwargs.values())
        return result
    if isinstance(target, types.BuiltinFunctionType) and getattr(target, "__module__", None) == "math":
        if all(isinstance(trace.type_of(a), (WeakType, ArrayType, NumberType)) or is_static(a) for a in args):
            claim = WEAK_INT if target in _MATH_INT else WEAK_BOOL if target in _MATH_BOOL else WEAK_FLOAT
            claim = _MATH_OTHER.get(target.__name__, claim)
    if isinstance(target, types.BuiltinFunctionType) and not args and not kwargs and claim is None:
        claim = _CLOCKS.get(target)
    called_there = warn if target is warnings.warn else f
    result = trace.record(
        "py.call", [called_there, *args], kwargs, type=claim or _stream_claim(trace, target, args, kwargs)
    )
    called(trace, target, (*args, *kwargs.values()))
    return result


def _drawn(trace: Trace, cls: type | None, name: str, args: Any, kwargs: dict[str, Any]) -> Type | None:
    """What a method of a random stream gives."""
    types_of = {key: trace.type_of(x) for key, x in kwargs.items()}
    return result_type(cls, name, [trace.type_of(x) for x in args], types_of)


def _stream_claim(trace: Trace, target: Any, args: Any, kwargs: dict[str, Any]) -> Type | None:
    """What a call gives of a random stream's method, or of what makes one."""
    if isinstance(target, (types.MethodType, types.BuiltinFunctionType)):
        cls, name = type(target.__self__), target.__name__
        own = isinstance(target, types.BuiltinFunctionType) or target.__func__ is getattr(cls, name, None)
        claim = _drawn(trace, cls, name, args, kwargs) if own else None
        if claim is not None and cls.__name__ == "RandomState" and getattr(np.random, name, None) is target:
            outside.guard_draws(trace, [name])
        return claim
    types_of = {key: trace.type_of(x) for key, x in kwargs.items()}
    return made_stream(target, [trace.type_of(x) for x in args], types_of)
