"""`Trace`: one graph under construction, and the traffic between trace values and graph operands.

*Trace values* are what traced code handles: static Python values, handles (`Tensor`, `Object`), tuples
of these, functions defined while tracing, and the marker of an unbound name.  `wrap` makes a trace
value of a graph value, `operand` the reverse: it says how the value is had at run time.
"""

from __future__ import annotations

import contextlib
import enum
import threading
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from runtime.boxes import Cell, UnboundMarker
from runtime.errors import AutographError, LeakedTensorError, Span, TraceError, Untraceable
from runtime.gate import GATE
from runtime.ir.builder import Builder, Mark
from runtime.ir.graph import Const, Node, Operand, Value
from runtime.ir.opdef import OpDef
from runtime.trace.heap import Flags, Heap, Identity
from runtime.trace.record import Guard, Note, Path
from runtime.trace.trust import trusted
from runtime.trace.values import Facts, Object, Tensor, Traced, describe
from runtime.types import (
    UNBOUND,
    ArrayType,
    MaybeUnbound,
    NumberType,
    ObjectType,
    StaticType,
    TupleType,
    Type,
    WeakType,
    is_namedtuple,
)


class _State(threading.local):
    trace: Trace | None = None


_state = _State()
_IMMUTABLE = (
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    type(None),
    range,
    type(Ellipsis),
    type(NotImplemented),
    np.generic,
    np.dtype,
    np.ufunc,
    UnboundMarker,
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.CodeType,
    enum.Enum,
)
_UNIQUE = (
    bool,
    type,
    type(Ellipsis),
    type(NotImplemented),
    np.dtype,
    np.ufunc,
    types.BuiltinFunctionType,
    enum.Enum,
)
SpanFinder = Callable[[], Span | None]


def active() -> Trace | None:
    """The trace that is running in this thread, or None."""
    return _state.trace


class suspended:
    """A context manager: in it no trace is active in this thread."""

    def __enter__(self) -> None:
        self.before = _state.trace
        _state.trace = None

    def __exit__(self, *error: object) -> None:
        _state.trace = self.before


class Diverged(BaseException):
    """Control does not go on from here in the traced program: it has raised.  Never leaves the trace."""


def is_static(x: Any) -> bool:
    """Whether the value is deeply immutable, so that it may be a constant of the trace."""
    if isinstance(x, (tuple, frozenset)):
        return (type(x) in (tuple, frozenset) or is_namedtuple(type(x))) and all(map(is_static, x))
    if isinstance(x, slice):
        return is_static((x.start, x.stop, x.step))
    if isinstance(x, type):
        return not x.__flags__ & (1 << 9) or is_namedtuple(
            x
        )  # classes of C code can't be changed (no Py_TPFLAGS_HEAPTYPE)
    return isinstance(x, _IMMUTABLE) and not isinstance(x, Traced)


def is_unique(x: Any) -> bool:
    """Whether there is no other object that is equal to this static value and of its class."""
    if type(x) is int:
        return -5 <= x <= 256  # CPython keeps one object for each of these
    return x is None or x == () or isinstance(x, _UNIQUE)


def _holds_traced(
    function: types.FunctionType,
    is_generated: Callable[[types.FunctionType], bool],
    seen: tuple[Any, ...] = (),
) -> bool:
    """Whether a function that was made while tracing, by code that wasn't converted, captured a handle.

    What it captured may be a function again, or a method of a handle.
    """
    held = [*(function.__defaults__ or ())]
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):
            held.append(cell.cell_contents)
    inner = [x for x in held if isinstance(x, types.FunctionType) and not any(x is f for f in seen)]
    return any(
        isinstance(x, Traced) or hasattr(type(x), "_operand") or isinstance(x, tuple) and not is_static(x)
        for x in held
    ) or any(is_generated(f) or _holds_traced(f, is_generated, (*seen, function)) for f in inner)


def _title(value: Any) -> str:
    """What messages call a module, class or function."""
    if isinstance(value, types.ModuleType):
        return value.__name__
    return str(getattr(value, "__qualname__", ""))


class Trace:
    """One graph under construction.

    protocol: carries out what is done to handles (injected: it stands above this module).
    table: the op table.  span_of: finds the user's line that is being traced.
    unconvert: code of a function defined while tracing -> the code it has in the user's program.
    """

    def __init__(
        self,
        name: str,
        table: Mapping[str, OpDef],
        *,
        span_of: SpanFinder = lambda: None,
        unconvert: Callable[[types.CodeType], types.CodeType] = lambda code: code,
        strict: bool = False,
        volatile: frozenset[Any] = frozenset(),
        unroll_limit: int = 16,
    ) -> None:
        self.table, self.span, self.unconvert, self.strict = table, span_of, unconvert, strict
        self.volatile, self.unroll_limit = volatile, unroll_limit
        self.free_trips = 1000  # of loops that record nothing, all loops together: then they are staged
        self.builder = self.root = Builder(name)
        self.heap = Heap()
        self.protocol: Any = None
        self.by_callable: Mapping[Any, OpDef] = {}
        self.by_method: Mapping[str, OpDef] = {}
        self.guards: dict[Any, Guard] = {}
        self.notes: list[Note] = []
        self.refused: list[TraceError] = []  # code asked for a value that isn't known, and was told so
        self.closed = False
        self.doomed: TraceError | None = None  # why the whole trace is worth nothing
        self.careless = False  # whether more could be traced if the source were converted carefully
        self.calls: list[tuple[Any, int]] = []  # the calls being traced into, with the region depth of each
        self.inlined = self.regions = 0
        self.callees: dict[Any, Any] = {}  # what calls of functions recorded, for the next call of the kind
        self.inside: dict[Any, Any] = {}  # what passed functions have captured, and the values that read it
        self.members: dict[int, tuple[enum.Enum, dict[str, Any]]] = {}  # of enumerations, and what they held
        self.ordinary: set[tuple[Any, ...]] = set()  # classes and their special methods that are guarded
        self.origins: dict[
            Identity, tuple[Facts, ...]
        ] = {}  # objects from outside that a handed on one may be
        self.identities: dict[Any, Identity] = {}  # of what was found outside, by the keys of paths
        self.wild: set[Identity] = set()  # iterators over which Python may run any code
        self.views: dict[Identity, tuple[Traced, str]] = {}  # what `d.items()` and the like look at
        self.pending: dict[Identity, Any] = {}  # iterators that were just made, see `pending`
        self.asking: Flags | None = None  # of the `while` whose test is being traced
        self.marked = False  # whether something in it has a derivative of its own
        self.following = 0  # how many derivatives are taken of what is being traced
        self._tuples: dict[int, tuple[Any, Operand]] = {}
        self._functions: dict[int, tuple[Any, Operand]] = {}
        self._making: dict[int, Operand | None] = {}
        self._handles: dict[int, tuple[Any, Object]] = {}
        self.loop_attrs: dict[str, Any] = {}  # what is said of the loop by hand that is being recorded

    def attach(
        self, protocol: Any, by_callable: Mapping[Any, OpDef], by_method: Mapping[str, OpDef], hooks: Any
    ) -> None:
        """Give the trace what stands above it: the protocol, the look-up tables, the source side's hooks."""
        self.protocol, self.by_callable, self.by_method = protocol, by_callable, by_method
        self.inline, self.is_generated, self.generated_frame = hooks.inline, hooks.is_generated, hooks.frame
        self.in_users_file, self.span_of_error, hooks.trace = hooks.in_users_file, hooks.span_of_error, self
        self.lift: Callable[[Any, Path], Any] = protocol.lift

    # ------------------------------------------------------------------ entering and leaving
    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Make this the thread's active trace."""
        before = active()
        _state.trace = self
        GATE.shut()
        try:
            yield
        finally:
            GATE.open()
            _state.trace = before

    @contextlib.contextmanager
    def region(self, name: str) -> Iterator[Builder]:
        """Record into a new region inside the current one."""
        outer = self.builder
        self.builder = Builder(name, outer)
        self.regions += 1
        try:
            yield self.builder
        finally:
            self.builder = outer
            self.regions -= 1

    @contextlib.contextmanager
    def at_the_root(self, operand: Operand) -> Iterator[None]:
        """Record into the outermost region in which a value is there."""
        builder = self.builder
        while builder.parent is not None and builder.parent.visible(operand):
            builder = builder.parent
        before, self.builder = self.builder, builder
        try:
            yield
        finally:
            self.builder = before

    @contextlib.contextmanager
    def asked(self, flags: Flags | None = None) -> Iterator[None]:
        """Trace the test of a `while`: what it finds outside may be what ends the loop."""
        before, self.asking = self.asking, flags or Flags()
        try:
            yield
        finally:
            self.asking = before

    def mark(self) -> tuple[Builder, Mark, Heap, int, int]:
        """Where the trace is now, for `rollback`."""
        return self.builder, self.builder.mark(), self.heap.copy(), len(self.notes), len(self.refused)

    def rollback(self, mark: tuple[Builder, Mark, Heap, int, int]) -> None:
        """Forget everything since `mark`, which must have been made in the current region."""
        builder, at, heap, notes, refused = mark
        assert builder is self.builder
        builder.rollback(at)
        self.heap.restore(heap)
        del self.notes[notes:]
        del self.refused[refused:]

    # ------------------------------------------------------------------ recording
    def emit(
        self,
        op: str,
        args: Sequence[Any],
        kwargs: Mapping[str, Any] | None = None,
        *,
        type: Type | None = None,
        attrs: dict[str, Any] | None = None,
        name: str = "",
    ) -> Value | None:
        """Record one node of a row of the op table; its output, or None for an op without result.

        type: a claim narrower than the rule's, from knowledge that the rule doesn't have."""
        kwargs = kwargs or {}
        inputs = [self.operand(a) for a in (*args, *kwargs.values())]
        row = self.table[op]
        out: tuple[Type, ...] = ()
        if row.rule is not None:
            if type is None:
                n = len(args)
                named = dict(zip(kwargs, (i.type for i in inputs[n:]), strict=True))
                type = row.rule(*(i.type for i in inputs[:n]), **named)
            out = (type,)
        values = self.builder.add(
            op,
            inputs,
            out,
            keywords=tuple(kwargs),
            attrs=attrs,
            names=(name,) if name else (),
            span=self.span(),
        )
        return values[0] if values else None

    def record(
        self, op: str, args: Sequence[Any], kwargs: Mapping[str, Any] | None = None, **how: Any
    ) -> Any:
        """`emit`, and the trace value of the result."""
        value = self.emit(op, args, kwargs, **how)
        return None if value is None else self.wrap(value)

    # ------------------------------------------------------------------ graph value -> trace value
    def wrap(
        self, value: Operand, *, fresh: bool = False, example: Any = None, path: Path | None = None
    ) -> Any:
        """The trace value that stands for a graph value (static values stand for themselves)."""
        t = value.type
        if isinstance(t, StaticType) and example is None:
            return t.value
        if isinstance(t, TupleType):
            items = tuple(
                self.wrap(self.builder.add("getitem", (value, Const(i)), (item,), span=self.span())[0])
                for i, item in enumerate(t.items)
            )
            result = items if t.cls is tuple else tuple.__new__(t.cls, items)
            self._tuples[id(result)] = (result, value)
            return result
        cls = t.cls if isinstance(t, ObjectType) else None
        facts = Facts(self, value, t, Identity(cls, fresh), example, path)
        return Tensor(facts) if isinstance(t, (ArrayType, WeakType, NumberType)) else Object(facts)

    def constant(self, value: Any, path: Path | None = None, kind: type | None = None) -> Object:
        """The handle of a Python object that is itself a constant of the graph (a class, a function).

        kind: what else than its class tells it from objects that it can't be."""
        known = self._handles.get(id(value))
        if known is None:
            who = Identity(kind or type(value))
            facts = Facts(
                self,
                Const(value),
                ObjectType(type(value)),
                who,
                value,
                path or Path((value,), (), _title(value)),
            )
            known = self._handles[id(value)] = (value, Object(facts))
        return known[1]

    # ------------------------------------------------------------------ trace value -> operand
    def operand(self, x: Any) -> Operand:
        """How the value is had at run time, from the current region.  Objects so used have escaped."""
        if isinstance(x, (Value, Const)):
            return self.builder.use(x)
        if isinstance(x, Traced):
            operand = self._used(x)
            self.heap.escape(x._facts.identity)
            return operand
        if is_static(x):
            return Const(x)
        if isinstance(x, tuple) and (type(x) is tuple or is_namedtuple(type(x))):
            return self._tuple_operand(x)
        if isinstance(x, slice):
            return self._node("py.slice", [x.start, x.stop, x.step])
        if isinstance(x, types.FunctionType):
            return self._function_operand(x) if self._is_made(x) else Const(x)
        if isinstance(x, types.MethodType):
            if not isinstance(x.__self__, (Traced, tuple)) and not is_static(x.__self__):
                return Const(x)  # a method of an object of the outside world, a random stream for one
            return self._node(
                "py.call", [types.MethodType, x.__func__, x.__self__], ObjectType(types.MethodType)
            )
        if type(x) is list:
            return self._node("py.list", x)
        if type(x) is dict:
            return self._node("py.dict", [y for pair in x.items() for y in pair])
        held = getattr(type(x), "_operand", None)
        if callable(held):  # a method of a handle: before `trusted`, which takes our own classes for granted
            return held(x)  # type: ignore[no-any-return]
        if isinstance(x, (types.ModuleType, type)) or trusted(x):
            return Const(x)
        raise Untraceable(
            f"a {type(x).__qualname__} object made while tracing can't be carried into the graph",
            span=self.span(),
            why="it can be changed, and all calls would share it",
            fix="let autograph convert the function (ag.function), or return tuples and arrays",
        )

    def _is_made(self, f: types.FunctionType) -> bool:
        """Whether a function is made anew by each call of the traced program."""
        return self.is_generated(f) or _holds_traced(f, self.is_generated)

    def _used(self, x: Traced) -> Operand:
        """The operand of a handle, which must be one of this trace and still be in reach."""
        facts = x._facts
        if facts.trace is not self or self.closed:
            raise self._leaked(x, "in another trace" if active() else "after its trace had ended")
        try:
            operand: Operand = self.builder.use(facts.operand)
            return operand
        except LeakedTensorError:
            raise self._leaked(x, "outside the branch or loop body that computes it") from None

    def _leaked(self, x: Traced, where: str) -> LeakedTensorError:
        """The error that a handle is used where its value can't be."""
        facts = x._facts
        node = facts.trace.node_of(facts.operand)
        made = (
            ""
            if node is None or node.span is None
            else f"; it was computed at {node.span}: {node.span.text().strip()}"
        )
        return LeakedTensorError(
            f"{describe(x)} is used {where}",
            span=self.span(),
            why=f"it was kept in something that tracing can't see (a list, a global, an attribute){made}",
            fix="return it from the function, or let autograph convert the function (ag.function)",
        )

    def node_of(self, operand: Operand) -> Node | None:
        """The node that computes an operand, as far as it is in the graph already; for messages."""
        builder: Builder | None = self.builder
        while builder is not None:
            for node in reversed(builder.nodes):
                if any(operand is output for output in node.outputs):
                    return node
            builder = builder.parent
        return None

    def receiver(self, x: Traced) -> Operand:
        """The operand of a handle whose own contents are read or written: it does not escape by that."""
        return self._used(x)

    def _node(self, op: str, args: Sequence[Any], type: Type | None = None) -> Operand:
        value = self.emit(op, args, type=type)
        assert value is not None
        return value

    def _tuple_operand(self, x: tuple[Any, ...]) -> Operand:
        known = self._tuples.get(id(x))
        if known is not None and self.builder.visible(known[1]):
            return self.builder.use(known[1])
        if type(x) is tuple:
            operand = self._node("py.tuple", x)
        else:
            items = [self.operand(i).type for i in x]
            operand = self._node("py.call", [type(x), *x], TupleType(tuple(items), type(x)))
        self._tuples[id(x)] = (x, operand)
        return operand

    def remember_tuple(self, value: tuple[Any, ...], operand: Operand) -> None:
        """The tuple of trace values is, at run time, this operand."""
        self._tuples[id(value)] = (value, operand)

    def _function_operand(self, f: types.FunctionType) -> Operand:
        known = self._functions.get(id(f))
        if known is not None and self.builder.visible(known[1]):
            return self.builder.use(known[1])
        self._making[id(f)] = None
        try:
            return self._make_function(f)
        finally:
            self._making.pop(id(f), None)

    def _make_function(self, f: types.FunctionType) -> Operand:
        code = self.unconvert(f.__code__)
        cells = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
        free, shared = [], set()
        for name in code.co_freevars:
            try:
                content = cells[name].cell_contents
            except (KeyError, ValueError):
                raise Untraceable(
                    f"the inner function {f.__name__!r} is handed to code that isn't traced"
                    f" before {name!r} has a value",
                    span=self.span(),
                ) from None
            # the user's code has the variable itself where converted code has its box
            boxed = isinstance(content, Object) and content._facts.type == ObjectType(Cell)
            if boxed and code is not f.__code__:
                shared.add(name)
            if id(content) in self._making:  # a function that calls itself, or one that calls the other
                shared.add(name)
                content = self._box_of(content)
            free.append(content)
        space = getattr(f.__globals__, "real", f.__globals__)
        facts = (f.__name__, f.__qualname__, f.__doc__, f.__module__, frozenset(shared))
        inputs: list[Operand] = [
            Const(self.in_users_file(code) if code is f.__code__ else code),
            Const(space, "globals"),
            Const(facts),
            self.operand(f.__defaults__),
        ]
        kwdefaults = f.__kwdefaults__
        inputs.append(
            self._node("py.dict", [y for p in kwdefaults.items() for y in p]) if kwdefaults else Const(None)
        )
        inputs += [self.operand(x) for x in free]
        operand = self.builder.add(
            "py.function", inputs, (ObjectType(types.FunctionType),), names=(f.__name__,), span=self.span()
        )[0]
        self._functions[id(f)] = (f, operand)
        box = self._making.pop(id(f))
        if box is not None:
            self.emit("py.setattr", [box, "value", operand])
        if f.__annotations__:
            said = self._node("py.dict", [part for pair in f.__annotations__.items() for part in pair])
            self.emit("py.setattr", [operand, "__annotations__", said])
        return operand

    def _box_of(self, f: types.FunctionType) -> Operand:
        """The box of a variable that will hold a function which is still being made."""
        box = self._making[id(f)]
        if box is None:
            box = self._making[id(f)] = self._node("py.call", [Cell, f.__name__], ObjectType(Cell))
        return box

    # ------------------------------------------------------------------ types of trace values
    def type_of(self, x: Any) -> Type:
        """The type of a trace value: what is known of its run-time value."""
        if isinstance(x, Traced):
            return x._facts.type
        if isinstance(x, UnboundMarker):
            return UNBOUND
        if is_static(x):
            return StaticType(x)
        if isinstance(x, tuple) and (type(x) is tuple or is_namedtuple(type(x))):
            return TupleType(tuple(map(self.type_of, x)), type(x))
        return ObjectType(type(x)) if isinstance(x, (list, dict, slice, types.FunctionType)) else ObjectType()

    # ------------------------------------------------------------------ guards and notes
    def guard(self, path: Path, expect: Type, text: str) -> None:
        """The trace is valid only while the value at `path` is as expected."""
        self.guards.setdefault((path.key, str(type(expect))), Guard(path, expect, text))

    def remember_members(self, value: Any) -> None:
        """What the members of enumerations in a static value hold: code being traced may write to them."""
        if isinstance(value, (tuple, frozenset)):
            for item in value:
                self.remember_members(item)
        elif isinstance(value, enum.Enum):
            self.members.setdefault(id(value), (value, dict(vars(value))))

    def restore_members(self) -> bool:
        """Take back what tracing wrote to members of enumerations; whether there was anything."""
        changed = False
        for member, held in self.members.values():
            now = vars(member)
            if now.keys() != held.keys() or any(now[name] is not held[name] for name in held):
                now.clear()
                now.update(held)
                changed = True
        return changed

    def note(self, kind: str, reason: str) -> None:
        """Remember that the current line was left to Python, or lost precision."""
        self.notes.append(Note(kind, reason, self.span()))

    def leave(self, reason: str) -> None:
        """Remember that something at the current line is left to Python; an error under strict=True."""
        if self.strict:
            raise Untraceable(
                reason,
                span=self.span(),
                why="strict=True rules out what is left to plain Python",
                fix="write it so that it can be traced, or mark the function with ag.do_not_convert",
            )
        self.note("python", reason)

    def raised(self, error: Exception) -> str:
        """What kept a part from being traced, in one line: an error of ours, or one that the code raised."""
        self.careless |= isinstance(error, FloatingPointError)
        if isinstance(error, AutographError):
            place, what = error.span, error.what
        else:
            place, what = self.span_of_error(error), f"tracing it raised {type(error).__name__}: {error}"
        here = self.span()
        where = f", line {place.line}" if place and here and place.line != here.line else ""
        return what.partition("\n")[0] + where

    def doom(self, reason: str) -> None:
        """Only plain Python does what this call asks for; raised here, and again at the end of the trace."""
        self.doomed = Untraceable(reason, span=self.span())
        raise self.doomed

    def maybe_unbound(self, x: Any) -> bool:
        """Whether a trace value may turn out to be the marker of an unbound name."""
        return isinstance(x, UnboundMarker) or isinstance(self.type_of(x), MaybeUnbound)
