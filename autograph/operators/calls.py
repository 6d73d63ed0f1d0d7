"""Calls in converted code, and how the trace gets a traceable twin of a Python function.

A twin is the converted function with its outside world exchanged: its globals are a mapping that hands
out trace values (and leaves guards), its captured variables and defaults are trace values too.
"""

from __future__ import annotations

import builtins
import dataclasses
import functools
import inspect
import os.path
import sys
import types
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from autograph.convert import Converted, converted, converted_carefully
from autograph.operators.containers import dict_, list_, refused
from autograph.operators.registry import is_left_alone
from autograph.origin import (
    GENERATED,
    in_users_file,
    is_generated_file,
    span_of_frame,
    span_of_traceback,
)
from runtime import pyops
from runtime.boxes import Cell
from runtime.errors import AutographError, SourceNotFound, Span
from runtime.execute.traceback import is_part
from runtime.function.polymorphic import PolymorphicFunction
from runtime.lazy import Lazy
from runtime.places import is_users, same_function, span_of, tell_module
from runtime.recording import recording
from runtime.trace import outside
from runtime.trace.api import Hooks
from runtime.trace.core import Trace, active
from runtime.trace.heap import NOTHING, UNKNOWN, Namespace
from runtime.trace.items import global_at_run_time
from runtime.trace.record import BUILTINS, Path
from runtime.trace.values import Star
from runtime.types import OBJECT, StaticType

if TYPE_CHECKING:
    from runtime.autodiff import calls as followed
else:
    followed = Lazy("runtime.autodiff.calls")

# Library code that is not traced into when a user's function calls it: it may keep state of its own.
_LIBRARIES = frozenset(sys.stdlib_module_names) - {"colorsys", "bisect", "heapq", "__main__"}
_PACKAGES = frozenset(
    {"numpy", "scipy", "cupy", "cupyx", "autograph", "runtime", "tqdm", "pandas", "matplotlib"}
)


_Cache: Any = type(functools.lru_cache(len))


def call(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """`function(*args, **kwargs)`; while tracing, decided by what is called and with what."""
    trace = active()
    if trace is not None:
        return trace.protocol.call(function, args, kwargs)
    if kwargs and Star in map(type, kwargs.values()):
        named = ({k: v} if not isinstance(v, Star) else v.value for k, v in kwargs.items())
        given = args[0].value if len(args) == 1 and isinstance(args[0], Star) else args
        return pyops.call_with(function, given, *named)
    if Star in map(type, args):
        return function(*args[0].value, **kwargs) if len(args) == 1 else refused(args)
    return on_tape(function, args, kwargs) if recording() else function(*args, **kwargs)


def call_with(function: Any, args: tuple[Any, ...], *named: dict[str, Any]) -> Any:
    """`function(*args, **named[0], **named[1], ...)`; a name that comes twice is refused as by Python."""
    given: dict[str, Any] = {}
    for part in named:
        for name, value in part.items():
            if isinstance(value, Star):
                name = f"**{len(given)}"
            elif name in given:
                listed = list_(*args) if Star in map(type, args) else args
                return call(pyops.call_with, function, listed, *map(dict_, named))
            given[name] = value
    return call(function, *args, **given)


def on_tape(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call while derivatives are recorded: the user's functions in their converted form, on boxes."""
    while isinstance(function, (PolymorphicFunction, functools.partial, types.MethodType)):
        if isinstance(function, PolymorphicFunction):
            function = function.python_function
        elif isinstance(function, types.MethodType):
            if not isinstance(function.__func__, (types.FunctionType, PolymorphicFunction)):
                break
            args, function = (function.__self__, *args), function.__func__
        else:
            args, kwargs, function = (*function.args, *args), {**function.keywords, **kwargs}, function.func
    while isinstance(function, _Cache) and followed.takes_boxes(args, kwargs):
        function = function.__wrapped__  # what it keeps for an equal number depends on nothing
    inner = _python_code(function)
    if inner is not None:
        return on_tape(inner, (function, *args), kwargs)
    if isinstance(function, type) and _made_by_init(function):
        made: Any = object.__new__(function)
        on_tape(function.__init__, (made, *args), kwargs)  # type: ignore[misc]
        return made
    if not isinstance(function, types.FunctionType) or _top_module(function) in _LIBRARIES | _PACKAGES:
        return followed.intercept(function, args, kwargs)
    if not is_left_alone(function) and not is_generated_file(function.__code__.co_filename):
        try:
            function = converted(function).function
        except AutographError:
            pass  # it runs as it stands; what would lose a derivative says so
    return function(*args, **kwargs)


def _python_code(function: Any) -> types.FunctionType | None:
    """What a call of an object runs, where that is a Python function."""
    if isinstance(function, (types.FunctionType, types.BuiltinFunctionType, type)):
        return None
    found = inspect.getattr_static(type(function), "__call__", None)
    return found if isinstance(found, types.FunctionType) else None


def _made_by_init(cls: Any) -> bool:
    """Whether making an instance is no more than running a Python `__init__`."""
    new: Any = cls.__new__
    plain = type(cls) is type and new is object.__new__ and not issubclass(cls, BaseException)
    return plain and isinstance(cls.__init__, types.FunctionType)


def _top_module(function: types.FunctionType) -> str:
    """The top-level package of the code; a wrapper may bear the name of what it wraps."""
    return str(function.__globals__.get("__name__") or "").partition(".")[0]


def python(function: Callable[[], Any], why: str = "") -> Any:
    """Call a function without arguments that stays as it is written: at run time, when tracing.

    why: the reason, where it is a statement that can't be converted."""
    trace = active()
    return function() if trace is None else trace.protocol.run(function, why)


def attribute(x: Any, name: str) -> Any:
    """`x.name` for a name like `__class__`, which a handle itself has, or for a dict of a constant."""
    trace = active()
    return getattr(x, name) if trace is None else trace.protocol.call(getattr, (x, name), {})


def settable(x: Any) -> Any:
    """`x` in `x.name = value`, where x may be a function: while tracing, one made here stands for others."""
    trace = active()
    if trace is not None and isinstance(x, types.FunctionType):
        trace.doom("an attribute of a function made here is set")
    return x


def _has_value(cell: types.CellType) -> bool:
    try:
        return bool([cell.cell_contents])
    except ValueError:
        return False


class TracedGlobals(dict[str, Any]):
    """A module's globals as traced code sees them: reading gives trace values and leaves guards.

    A global read of a function whose globals aren't an exact dict goes through `__getitem__`."""

    def __init__(self, trace: Trace, real: dict[str, Any]) -> None:
        # what making a function looks up by itself
        super().__init__({k: real[k] for k in ("__name__", "__builtins__") if k in real})
        self.setdefault("__builtins__", __builtins__)
        self.trace, self.real = trace, real
        # a dict that the program writes to is not taken for a module's globals
        self.handle = trace.constant(real, Path((real,), (), "global "), kind=Namespace)

    def __getitem__(self, name: str) -> Any:
        path = Path((self.real,), (), "global ")
        if name in self.real or self.trace.heap.get(self.handle._facts.identity, "item", name) is not NOTHING:
            place = path / ("item", name)
            if name in self.real and {place.key, ("any", place.key)} & self.trace.volatile:
                self.trace.guard(place, OBJECT, place.text)  # it is read at run time, if it is there
            return self.handle[name]
        heap, written = self.trace.heap, (Namespace, "item", name, None)
        if written in heap.stale:  # on one of the paths
            return global_at_run_time(self.trace, self.handle, name)
        usual = any(self.get("__builtins__") is space for space in (BUILTINS, builtins))
        if name in BUILTINS and usual:
            place, value = path / ("global", name), BUILTINS[name]
            if not isinstance(value, (types.BuiltinFunctionType, type)):  # somebody put it there for a while
                return self.trace.lift(value, Path((builtins,), (), "builtins") / ("attr", name))
            self.trace.guard(place, StaticType(value), place.text)
        elif heap.trust == UNKNOWN or heap.is_stale(self.handle._facts.identity, "item", name):
            return global_at_run_time(self.trace, self.handle, name)  # code that ran may have made it
        raise KeyError(name)

    def __setitem__(self, name: str, value: Any) -> None:
        self.handle[name] = value

    def __delitem__(self, name: str) -> None:
        del self.handle[name]


_RESUMED = (
    inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
)  # by anybody, in one place


class Stack:
    """The user's places of frames of generated code, which are asked for at each node.

    What was found is kept for as long as the frame is on the stack, where those around it can't have gone on:
    with calls fifty deep, walking through all of them took most of the time of a trace."""

    def __init__(self) -> None:
        # From the outermost frame on: where it was, the place inside of it, and its place with those around.
        self.known: list[tuple[types.FrameType, int, Span | None, Span | None]] = []
        self.index: dict[types.FrameType, int] = {}

    def span(self, frame: types.FrameType | None) -> Span | None:
        """The place of a frame, with the places that it was called from."""
        inner: Span | None = None  # in a function whose own frame is still to come
        passed: list[tuple[types.FrameType, Span | None, Span | None]] = []
        result: Span | None = None
        kept = 0
        while frame is not None:
            if frame.f_code.co_filename.startswith(GENERATED):
                at = None if frame.f_code.co_flags & _RESUMED else self.index.get(frame)
                if at is not None and self.known[at][1:3] == (frame.f_lasti, inner):
                    kept, result = at + 1, self.known[at][3]
                    break
                found = span_of_frame(frame)
                found = None if found is None or same_function(inner, found) else found
                passed.append((frame, inner, found))
                inner = found or inner if is_part(frame.f_code) else None
            frame = frame.f_back
        for gone, *_ in self.known[kept:]:
            del self.index[gone]
        del self.known[kept:]
        for frame, before, found in reversed(passed):
            if found is not None:
                result = Span(found.file, found.line, found.col, found.function, result)
            self.index[frame] = len(self.known)
            self.known.append((frame, frame.f_lasti, before, result))
        return result


class SourceHooks(Hooks):
    """The hooks of one trace (see `runtime.trace.api.Hooks`)."""

    converts = True

    def __init__(self, root: Any = None, careful: bool = False) -> None:
        self.careful = careful
        self.root, self.root_module = root, getattr(root, "__module__", "") or ""
        self.trace: Trace | None = None
        self.originals: dict[types.CodeType, types.CodeType] = {}
        self.globals: dict[int, TracedGlobals] = {}
        self.spaces: dict[int, str] = {}
        self.boxes: dict[int, Cell] = {}
        self.stack = Stack()

    # ------------------------------------------------------------------ places
    def frame(self) -> types.FrameType | None:
        """The innermost frame of generated code."""
        frame: types.FrameType | None = sys._getframe(1)
        while frame is not None and not frame.f_code.co_filename.startswith(GENERATED):
            frame = frame.f_back
        return frame

    def span(self) -> Span | None:
        """The user's line being traced, with the lines it was called from."""
        return self.stack.span(self.frame())

    def ended(self) -> None:
        """The trace is over: what was kept of its stack is let go."""
        self.stack = Stack()

    def span_of_error(self, error: BaseException) -> Span | None:
        """The user's line that an error comes from."""
        found, entry = None, error.__traceback__
        while entry is not None:
            if is_generated_file(entry.tb_frame.f_code.co_filename):
                found = span_of_traceback(entry) or found
            elif is_users(entry.tb_frame.f_code.co_filename):
                found = span_of(entry.tb_frame.f_code, entry.tb_lasti, entry.tb_lineno)
            entry = entry.tb_next
        return found

    def place(self, function: Callable[..., Any]) -> Span | None:
        """Where the user's function begins."""
        return super().place(self.root)

    # ------------------------------------------------------------------ functions
    def is_generated(self, function: types.FunctionType) -> bool:
        """Whether the function was made by generated code (so it runs on trace values as it is)."""
        return is_generated_file(function.__code__.co_filename)

    def unconvert(self, code: types.CodeType) -> types.CodeType:
        """The user's code object for a generated one, where there is one."""
        return self.originals.get(code, code)

    def in_users_file(self, code: types.CodeType) -> types.CodeType:
        """Generated code that does what the user wrote, as if it stood in the user's file."""
        return in_users_file(code)

    def inline(self, function: types.FunctionType, found: Any = None) -> Callable[..., Any] | None:
        """The traceable twin of a function, or None where it is to be called at run time.

        found: the handle of a function that is another one in each call, of which this is one."""
        if is_left_alone(function) or self._library(function):
            return None
        try:
            return self.twin(function) if found is None else self.twin_of_any(function, found)
        except AutographError as error:
            assert self.trace is not None
            if self.trace.strict and not isinstance(error, SourceNotFound):
                raise
            where = "" if error.span is None else f" ({os.path.basename(error.span.file)}:{error.span.line})"
            self.trace.note("python", f"{function.__qualname__} is called as it is: {error.what}{where}")
            return None

    def _library(self, function: types.FunctionType) -> bool:
        top = _top_module(function)
        return top in _LIBRARIES | _PACKAGES and top != self.root_module.partition(".")[0]

    def outermost(self, function: types.FunctionType, *args: Any, **kwargs: Any) -> Any:
        """Call the twin of the function that is traced: a call of itself on the way is seen as what it is."""
        trace = self.trace
        assert trace is not None
        signature = function.__code__, [trace.type_of(a) for a in (*args, *kwargs.values())]
        trace.calls.append((signature, trace.regions))
        return self.twin(function, len(args), kwargs)(*args, **kwargs)

    def twin(
        self, function: types.FunctionType, given: int = 0, named: Collection[str] = ()
    ) -> Callable[..., Any]:
        """The converted function over trace values.

        given, named: how many arguments come by position, and which by name; their defaults are not read.
        """
        trace = self.trace
        assert trace is not None
        form, space = self._form(function)
        code = Path((function,), (("attr", "__code__"),), f"the code of {function.__qualname__}")
        trace.guard(code, StaticType(function.__code__), code.text)
        where = Path((function,), (), f"{function.__name__}'s default ")
        defaults = self._defaults(function, where, given, named)
        kwdefaults = {
            k: None if k in named else trace.lift(v, where / ("attr", "__kwdefaults__") / ("item", k))
            for k, v in (function.__kwdefaults__ or {}).items()
        }
        return form.bind(space, self._cells(form, function), defaults, kwdefaults or None)

    def twin_of_any(self, function: types.FunctionType, found: Any) -> Callable[..., Any] | None:
        """The converted function where all that a function is but its code is read from the handle `found`.

        None where what it has captured has no value yet."""
        trace = self.trace
        assert trace is not None
        form, space = self._form(function)
        names, cells = function.__code__.co_freevars, function.__closure__ or ()
        if not all(map(_has_value, cells)):
            return None

        def inside(path: Path, text: str) -> Any:
            return outside.read_inside(trace, found, Path(path.root, path.steps, text))

        here, defaults, kwdefaults = found._facts.path, function.__defaults__, function.__kwdefaults__
        what = f"{function.__name__}'s default "
        for name, value in (("__defaults__", defaults), ("__kwdefaults__", kwdefaults)):
            place = here / ("attr", name)
            if value is not None:
                place = place / ("len", None)
            trace.guard(place, StaticType(None if value is None else len(value)), f"{what}{name}")
        captured = {
            name: types.CellType(
                outside.box_inside(trace, found, here.captured(i), name)
                if name in form.boxed_free
                else inside(here.captured(i), f"captured {name!r}")
            )
            for i, name in enumerate(names)
        }
        given = tuple(inside(here.default(i), f"{what}{i}") for i in range(len(defaults or ())))
        named = {
            k: inside(here / ("attr", "__kwdefaults__") / ("item", k), f"{what}{k}") for k in kwdefaults or {}
        }
        return form.bind(space, captured, None if defaults is None else given, named or None)

    def _form(self, function: types.FunctionType) -> tuple[Converted, TracedGlobals]:
        """The converted function, and the globals that it sees."""
        assert self.trace is not None
        form = converted_carefully(function) if self.careful else converted(function)
        tell_module(function)
        self.originals.update(form.originals)
        space = self.globals.get(id(function.__globals__))
        if space is None:
            space = self.globals[id(function.__globals__)] = TracedGlobals(self.trace, function.__globals__)
        return form, space

    def _defaults(
        self, function: types.FunctionType, where: Path, given: int, named: Collection[str]
    ) -> tuple[Any, ...] | None:
        assert self.trace is not None
        if function.__defaults__ is None:
            return None
        path = where / ("attr", "__defaults__")
        code, count = function.__code__, len(function.__defaults__)
        names = code.co_varnames[code.co_argcount - count : code.co_argcount]
        passed = [at < given or name in named for at, name in enumerate(names, code.co_argcount - count)]
        said = f"the default of {function.__qualname__}'s "
        return tuple(
            None
            if passed[i]
            else self.trace.lift(v, dataclasses.replace(path / ("item", i), text=said + name))
            for i, (v, name) in enumerate(zip(function.__defaults__, names, strict=True))
        )

    def _cells(self, form: Converted, function: types.FunctionType) -> dict[str, types.CellType]:
        """Captured variables of the outside world as cells that hold trace values."""
        trace = self.trace
        assert trace is not None
        out = {}
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            if name in form.boxed_free:
                box = self.boxes.setdefault(id(cell), Cell(name, cell=cell))
                out[name] = types.CellType(trace.constant(box, Path((box,), (), f"captured {name!r}")))
                continue
            path = Path((cell,), (), f"captured {name!r}")
            try:
                value = cell.cell_contents
            except ValueError:
                out[name] = types.CellType()
                continue
            out[name] = types.CellType(trace.lift(value, path / ("attr", "cell_contents")))
        return out
