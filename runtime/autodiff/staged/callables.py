"""`Derivative`: what `ag.grad` and `ag.value_and_grad` return, staged where that can be, else on the tape.

In: a function, how it runs on the tape, and what compiles.  Out: a callable.  What always holds: staged and
on the tape it gives the same; what can't be staged, or is being followed by an outer derivative, runs on the
tape as if there were nothing else.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import re
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from runtime import tree
from runtime.autodiff.staged import products
from runtime.autodiff.staged.gradient import value_and_grad
from runtime.autodiff.staged.kinds import NotStaged, known_shape, positions
from runtime.autodiff.staged.products import fitting
from runtime.autodiff.transforms import ArgNums, given
from runtime.errors import AutographError, GradientError, Untraceable
from runtime.execute.traceback import cleaned
from runtime.function.polymorphic import PolymorphicFunction
from runtime.function.signature import Binder, Bound, Signature
from runtime.ir.graph import Const, Graph, Operand
from runtime.recording import recording
from runtime.trace.byhand import closed, opened
from runtime.trace.core import Diverged, Trace, active
from runtime.trace.record import Path
from runtime.trace.values import Traced
from runtime.types import WEAK_OF, ArrayType, StaticType, TupleType, Type

Compiler = Callable[["Derivative", "Flat"], PolymorphicFunction[..., Any]]
PLAIN = frozenset({np.ndarray, float, complex, int, bool, str, type(None), np.float64, np.float32})


class Derivative:
    """A function that gives gradients.  with_value: the value, too.

    f: what is differentiated.  eager: the same on the tape.  compiler: makes functions with graphs."""

    runs_on_trace_values = True
    what = "gradient"
    generalises = True  # whether one trace may serve several sizes
    again: Callable[[Any], Any] | None = None  # the same of a function that is known when a graph runs
    explainer: Callable[[Derivative], Any] | None = None  # tells what became of the latest form of call

    def __init__(
        self,
        f: Callable[..., Any],
        eager: Callable[..., Any],
        argnums: ArgNums,
        has_aux: bool,
        with_value: bool,
        compiler: Compiler | None,
        checkpoint_every: Any = None,
        unconnected: str = "zero",
    ) -> None:
        self.checkpoint_every, self.unconnected = checkpoint_every, unconnected
        self.f, self.eager, self.argnums, self.has_aux, self.with_value = (
            f,
            eager,
            argnums,
            has_aux,
            with_value,
        )
        self.compiler = compiler
        self.compiled: dict[Any, PolymorphicFunction[..., Any]] = {}
        self.latest: PolymorphicFunction[..., Any] | None = None
        self.__wrapped__ = f
        for name in functools.WRAPPER_ASSIGNMENTS:
            if hasattr(f, name):
                setattr(self, name, getattr(f, name))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The gradient at these arguments."""
        trace = active()
        if trace is not None:
            return self.here(trace, args, kwargs)
        try:
            return self.outside(args, kwargs)
        except BaseException as error:
            if sys.version_info < (3, 11):  # a bare raise would restore the old traceback
                raise error.with_traceback(cleaned(error))  # noqa: B904  it is the error that is being handled
            else:  # a bare raise adds no entry for this frame
                error.__traceback__ = cleaned(error)
                raise

    def outside(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The call, by a function with a graph or on the tape."""
        if self.compiler is None or recording():
            return self.eager(*args, **kwargs)
        flat, structure = self._flat(args)
        made = self.compiled.get(structure)
        if made is None:
            made = self.compiled[structure] = self.compiler(self, Flat(self, structure))
        self.latest = made
        return made(*flat, **kwargs)

    def _flat(self, args: tuple[Any, ...]) -> tuple[Sequence[Any], Any]:
        """The arguments with the leaves of those that are followed in their places, and how these were."""
        _, numbers = positions(self.argnums, len(args))
        found: list[Any] = []
        structures: list[Any] = [None] * len(args)
        for k, x in enumerate(args):
            if k in numbers and type(x) not in PLAIN:
                leaves, structures[k] = tree.flatten_data(x)
                found += leaves
            else:
                found.append(x)
        return found, tuple(structures)

    # ------------------------------------------------------------------ in a trace
    def here(self, trace: Trace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The call, recorded in the trace: staged, or as a call of the tape."""
        mark = trace.mark()
        try:
            return self.staged(trace, args, kwargs)
        except Diverged:
            raise
        except Exception as reason:
            trace.rollback(mark)
            what = f"the {self.what} of {_name(self.f)} is taken outside this graph"
            try:
                trace.leave(f"{what}: {first_line(reason)}")
            except Untraceable as refused:
                raise refused from reason
            value = trace.emit("py.call", [self.left(), *args], kwargs)
            trace.heap.unknown_call()
            assert value is not None
            return trace.wrap(value)

    def left(self) -> Operand:
        """What a graph calls where this can't be a part of it: what the function itself would call there."""
        if not self.plain:
            return self._operand()
        return Const(self.eager if self.compiler is None else self)  # `self` is what plain Python would call

    @property
    def plain(self) -> bool:
        """Whether the function is one of the outside world."""
        trace = active()
        made = isinstance(self.f, types.FunctionType) and trace is not None and trace.is_generated(self.f)
        return not isinstance(self.f, Traced) and not made

    def staged(self, trace: Trace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The call as nodes of the trace; raises where that can't be."""
        f = self.traceable(trace)
        value, aux, grads = value_and_grad(
            trace, f, self.argnums, self.has_aux, args, kwargs, self.checkpoint_every, self.unconnected
        )
        if self.with_value:
            return ((value, aux), grads) if self.has_aux else (value, grads)
        return (grads, aux) if self.has_aux else grads

    def traceable(self, trace: Trace) -> Any:
        """The function, in a form that is traced into when it is called."""
        f: Any = self.f
        if isinstance(f, types.FunctionType) and not trace.is_generated(f):
            f = trace.constant(f)
        elif isinstance(f, types.MethodType):
            inside = f.__func__
            inside = inside.python_function if isinstance(inside, PolymorphicFunction) else inside
            if isinstance(inside, types.FunctionType):
                f = OfObject(trace, f.__self__, inside)
        return f

    def _operand(self) -> Operand:
        """What stands for it in a graph: made when the graph runs, if its function is."""
        trace = active()
        if self.plain or trace is None:
            return Const(self)
        assert self.again is not None
        made = trace.emit("py.call", [Const(self.again), self.f])
        assert made is not None
        return made

    # ------------------------------------------------------------------ looking
    @property
    def unseen(self) -> str:
        """What is known of a derivative of which no call has made a trace, in words."""
        if self.compiler is None:
            return f"the {self.what} of {_name(self.f)!r} runs on the tape: it is made anew again and again"
        first = f"{_name(self.f)!r} was not called yet"
        return f"{first}: whether its {self.what} is a graph or runs on the tape, the first call shows"

    def _last(self) -> PolymorphicFunction[..., Any]:
        if self.latest is None:
            what = f"the {self.what} of {_name(self.f)!r} has no trace"
            raise AutographError(what, why="it was not called yet", fix="call it")
        return self.latest

    @property
    def graph(self) -> Graph:
        """The graph of the latest call: forward and backward."""
        return self._last().graph

    @property
    def plan_source(self) -> str:
        """The text of the plan of the latest call."""
        return self._last().plan_source

    @property
    def traces(self) -> tuple[Any, ...]:
        """Every trace of the latest form of call: signature, reason, or why the tape runs it."""
        return () if self.latest is None else self.latest.traces

    def explain(self) -> str:
        """What became of the calls, statement by statement: staged, or on the tape and why."""
        told = self._last().explain() if self.explainer is None else str(self.explainer(self))
        return told.replace("runs as plain Python: ", "runs on the tape: ")

    def __get__(self, instance: Any, owner: type | None = None, /) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "compiled": {}, "latest": None}

    def __repr__(self) -> str:
        return f"<{'value and ' if self.with_value else ''}{self.what} of {_name(self.f)}>"


class Jacobian(Derivative):
    """A function that gives all derivatives of an array."""

    what = "Jacobian"
    generalises = False

    def staged(self, trace: Trace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The call as nodes of the trace; raises where that can't be."""
        return products.jacobian(trace, self.traceable(trace), self.argnums, args, kwargs)


class Hessian(Jacobian):
    """A function that gives the second derivatives of a number."""

    what = "Hessian"

    def traceable(self, trace: Trace) -> Any:
        """The gradient, whose Jacobian it is."""
        return Derivative(self.f, self.eager, self.argnums, False, False, None)


class Push(Derivative):
    """`jvp` as a function of the primals and the tangents."""

    what = "derivative along a direction"
    generalises = False

    def staged(self, trace: Trace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The call as nodes of the trace; raises where that can't be."""
        primals, tangents = map(_as_tuple, args)
        return products.jvp(trace, self.traceable(trace), primals, tangents)


class Pull(Derivative):
    """`vjp` as a function of the primals."""

    what = "pull-back"
    generalises = False

    def staged(self, trace: Trace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The value, what comes with it, the way back and what it takes; raises where that can't be."""
        if self.unconnected == "none":
            raise NotStaged("whether the result depends on an argument is known only at run time")
        value, aux, back, kept = products.vjp(trace, self.traceable(trace), args, kwargs, self.has_aux)
        return value, aux, trace.constant(back), *kept

    def here(self, trace: Trace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The value and the function that pulls back, in a trace."""
        made = super().here(trace, args, kwargs)
        return self.result(made) if type(made) is tuple else made

    def result(self, made: Any) -> Any:
        """What the caller gets of what a trace, or the tape, gave."""
        back = made[2] if len(made) > 2 else None
        back = back._facts.example if isinstance(back, Traced) else back
        if not isinstance(back, products.Back):
            return made
        if back.run is None and self.compiler is not None:
            back.f = self.f
            back.run = self.compiler(self, back)  # type: ignore[arg-type]
        pull_back = PullBack(back, made[3:], _name(self.f))
        return (made[0], pull_back, made[1]) if self.has_aux else (made[0], pull_back)


class PullBack:
    """A function from cotangents of a result to a tuple of those of the arguments."""

    runs_on_trace_values = True

    def __init__(self, back: products.Back, kept: tuple[Any, ...], name: str) -> None:
        self.back, self.kept, self.name = back, kept, name

    def __call__(self, cotangents: Any) -> tuple[Any, ...]:
        """The cotangents of the arguments, a tuple with one entry each."""
        back, trace = self.back, active()
        parts, _ = tree.flatten_data(opened(cotangents, data=True))
        if len(parts) != len(back.kinds):
            raise GradientError(
                f"the cotangent has {len(parts)} leaves, the result of {self.name} has {len(back.kinds)}",
                fix="give a cotangent of the structure of the result",
            )
        pairs = [(x, t) for x, t in zip(parts, back.kinds, strict=True) if t is not None]
        if trace is not None:
            given = [fitting(trace, zero(t) if x is None else x, t, "cotangent") for x, t in pairs]
            return tuple(map(closed, back.trees(back(*given, *self.kept))))
        assert back.run is not None
        cts = [zero(t) if x is None else _checked(x, zero(t)) for x, t in pairs]
        return back.trees(back.run(*cts, *self.kept))


def _checked(ct: Any, like: Any) -> Any:
    made = given(ct, like, "cotangent")
    return np.asarray(made) if isinstance(like, np.ndarray) else np.asarray(made)[()]


def zero(t: ArrayType) -> Any:
    """A cotangent of zeros."""
    shape = known_shape(t)
    assert shape is not None
    return t.dtype.type(0) if t.scalar else np.zeros(shape, t.dtype)


def _as_tuple(x: Any) -> tuple[Any, ...]:
    x = opened(x)
    if not isinstance(x, (tuple, list)):
        raise NotStaged("primals and tangents that are no tuples")
    return tuple(x)


class OfObject:
    """A method of an object from outside, as a function of its other arguments; `runs_on_trace_values`."""

    runs_on_trace_values = True

    def __init__(self, trace: Trace, owner: Any, function: types.FunctionType) -> None:
        self.trace, self.function = trace, trace.constant(function)
        self.owner = owner if isinstance(owner, Traced) else trace.lift(owner, Path((owner,), (), "self"))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The call, traced into."""
        return self.trace.protocol.call(self.function, (self.owner, *args), kwargs)


class Flat:
    """A derivative as a function of the leaves of its arguments."""

    runs_on_trace_values = True

    def __init__(self, derivative: Derivative, structure: Any) -> None:
        self.derivative, self.structure, self.f = derivative, structure, derivative.f
        self.__name__ = getattr(derivative.f, "__name__", "gradient")
        self.__signature__ = _signature(derivative.f, structure)

    def arguments(self, flat: tuple[Any, ...]) -> Iterator[Any]:
        """The arguments that the leaves make up; containers as the trace, if any, has them."""
        left = iter(flat)
        for structure in self.structure:
            if structure is None:
                yield next(left)
            else:
                yield closed(tree.unflatten(structure, itertools.islice(left, structure.num_leaves)))

    def __call__(self, *flat: Any, **kwargs: Any) -> Any:
        """The derivative; in a trace staged, or an error."""
        args = tuple(self.arguments(flat))
        trace = active()
        if trace is None:
            return self.derivative.eager(*args, **kwargs)
        return self.derivative.staged(trace, args, kwargs)


class FloatBinder(Binder):
    """A binder for which floats are never part of a signature: they are what derivatives are taken by."""

    def signature_of(self, bound: Bound) -> Signature:
        """The most precise signature in which floats have no values."""
        made = super().signature_of(bound)
        return made.with_types([_open(t) for t in made.types])


def _open(t: Type) -> Type:
    if isinstance(t, StaticType) and type(t.value) in (float, complex):
        return WEAK_OF[type(t.value)]
    if isinstance(t, TupleType):
        return TupleType(tuple(map(_open, t.items)), t.cls)
    return t


class GradientFunction(PolymorphicFunction[..., Any]):
    """The polymorphic function of a derivative."""

    def __init__(self, flat: Any, trace: Any, **options: Any) -> None:
        super().__init__(flat, trace, **options)
        self._binder = FloatBinder(flat, self._name)


def _signature(f: Any, structure: tuple[Any, ...]) -> inspect.Signature:
    """The signature of the flat function: the names of the arguments, of leaves `w_0` or `net_bias`."""
    kind = inspect.Parameter.POSITIONAL_ONLY
    try:
        known = [p.name for p in inspect.signature(f).parameters.values() if p.kind < 2]
    except (TypeError, ValueError):
        known = []
    names: list[str] = []
    for k, each in enumerate(structure):
        name = known[k] if k < len(known) else f"x{k}"
        names += (
            [name]
            if each is None
            else [re.sub(r"\W+", "_", path).strip("_") for path in tree.paths(each, name)]
        )
    if len(set(names)) < len(names):
        names = [f"x{k}" for k in range(len(names))]
    rest = inspect.Parameter("keywords", inspect.Parameter.VAR_KEYWORD)
    return inspect.Signature([*[inspect.Parameter(name, kind) for name in names], rest])


def first_line(error: BaseException) -> str:
    """The reason in one line."""
    if isinstance(error, NotStaged):
        where = f" ({error.span})" if error.span is not None else ""
        return f"{error.reason}{where}"
    text = str(error).partition("\n")[0]
    return f"{type(error).__name__}: {text}"


def _name(f: Any) -> str:
    if isinstance(f, Traced):
        f = f._facts.example
    return str(getattr(f, "__name__", None) or "a function")
