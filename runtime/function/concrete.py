"""`ConcreteFunction`: one traced graph with its signature, and the plan that runs it.

In: what the tracer returned and the signature it was made for.  Out: a callable that takes the
arguments the graph takes (all that are not static) and runs the plan; graph, plan text and notes to
look at.  The plan is printed and loaded when first needed, once; where native code can do the work, it is
what runs, and the plan does the calls that native code hands back.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from runtime import background, tree
from runtime.computed import computed
from runtime.config import settings
from runtime.errors import GuardError, SignatureError, Span
from runtime.function import plainly, reasons
from runtime.function.accounts import guard_changes, holds
from runtime.function.signature import Signature, argument_type, show
from runtime.function.spec import TensorSpec
from runtime.ir.graph import Graph
from runtime.ir.walk import walk_nodes
from runtime.lazy import Lazy
from runtime.mistakes import survived
from runtime.trace.record import Guard, Note, TraceResult
from runtime.types import (
    ArrayType,
    MaybeUnbound,
    ObjectType,
    StaticType,
    TupleType,
    Type,
    UnboundType,
    WeakType,
    describes,
)

if TYPE_CHECKING:
    from runtime.execute import at_once, cupy_executor, loader, python_source
    from runtime.execute.native import executor, kinds, partly
    from runtime.execute.plan import PlanSource
    from runtime.ir import text
    from runtime.passes import pipeline

    Native = executor.NativeFunction | partly.NativeLoops
else:
    cupy_executor, loader = Lazy("runtime.execute.cupy_executor"), Lazy("runtime.execute.loader")
    at_once, python_source = Lazy("runtime.execute.at_once"), Lazy("runtime.execute.python_source")
    pipeline, text = Lazy("runtime.passes.pipeline"), Lazy("runtime.ir.text")
    executor, kinds = Lazy("runtime.execute.native.executor"), Lazy("runtime.execute.native.kinds")
    partly = Lazy("runtime.execute.native.partly")

NO_GAIN_ON_ARRAYS = "it computes with no array as a whole, and is not native"
CALLS = ("a call of ", "a function, class or generator")  # what stands in a graph for what is left to Python
COMPILING = "it is being compiled"
MISTAKE = "lowering it failed"
_TYPES = (ArrayType, WeakType, TupleType, ObjectType, StaticType, UnboundType, MaybeUnbound)


class PrintedGraph(Graph):
    """A graph that prints as its text form."""

    def __str__(self) -> str:
        return text.print_graph(self)


def _leave(concrete: weakref.ref[ConcreteFunction]) -> None:
    alive = concrete()
    if alive is not None:
        alive.leave(alive.no_gain)


class ConcreteFunction:
    """One trace of a function.

    signature: names and trace types of the arguments.  graph: the residual program.  guards: what it
    relies on besides the arguments' types.  notes: what was left to Python, and why.
    """

    def __init__(self, signature: Signature, traced: TraceResult, may_be_plain: bool = False) -> None:
        self.signature, self._may_be_plain = signature, may_be_plain
        graph = traced.graph
        self.graph = PrintedGraph(graph.name, graph.params, graph.nodes, graph.results, graph.diverges)
        self.guards: tuple[Guard, ...] = traced.guards
        self.notes: tuple[Note, ...] = traced.notes
        results = self.graph.results
        self._outputs = results[0].type if traced.outputs is None and results else traced.outputs
        self.device = "cuda" if any(map(_on_gpu, signature.types)) else "cpu"
        self._not_native = self.plan_problem = ""
        self.weighed = ""  # what was found when it was weighed and kept
        self._native: Native | None = None
        self._job: background.Job | None = None
        self._puts: list[Callable[[Callable[..., Any]], object]] = []
        self.when_left: Callable[[], object] | None = None  # called when `by_python` becomes true after all

    @computed
    def passes(self) -> pipeline.Optimised:
        """The graph after all passes, and what each of them did."""
        try:
            return pipeline.optimise(self.graph)
        except Exception as problem:  # a mistake of ours: the graph does it right as it is, only slower
            return pipeline.Optimised(self.graph, (), survived("given up", problem))

    @computed
    def optimised(self) -> Graph:
        """What the plan and native code are made from: the graph after all passes."""
        graph = self.passes.graph
        return PrintedGraph(graph.name, graph.params, graph.nodes, graph.results, graph.diverges)

    @computed
    def plan(self) -> PlanSource:
        """The plan: the graph as one Python function, with its constants and lines."""
        try:
            graph: Graph = self.optimised
            if self.device == "cpu" and any(node.op == "for" for node in walk_nodes(graph)):
                graph = at_once.with_sets(graph)
            return python_source.plan_source(graph, device=self.device, blocks=True)
        except Exception as problem:  # a mistake of ours: the traced graph does it right, only slower
            self.plan_problem = survived("its plan is that of the graph as it was traced", problem)
            return python_source.plan_source(self.graph, device=self.device)

    @computed
    def run_plan(self) -> Callable[..., Any]:
        """The loaded plan; it takes the graph's parameters and checks nothing."""
        if self.device == "cuda":
            return cupy_executor.load_cupy(self.plan)
        return loader.load(self.plan)

    @property
    def native(self) -> Native | None:
        """The graph, or its loops, as machine code; None where nothing is (see `not_native`).

        Asking waits for what is compiled in the background.
        """
        self._begin().finish()
        return self._native

    def _begin(self) -> background.Job:
        """The job of making native code, begun now if it has not been."""
        if self._job is None:
            reason = self._why_not()
            job = background.Job(lambda: None if reason else self._compile(), self._tell)
            if self.__dict__.setdefault("_begun", job) is job:
                self._not_native = reason or COMPILING
                self._job = job
                if reason or executor.waits(self.optimised):
                    job.finish()
                else:
                    executor.prepare(self.optimised)
                    if executor.holds_objects(self.optimised):
                        partly.prepare()
                    job.submit()
        return self.__dict__["_begun"]  # type: ignore[no-any-return]

    def _why_not(self) -> str:
        """Why there is to be no native code; empty where there is to be some."""
        if self.device != "cpu":
            return "it runs on the GPU"
        if settings.executor == "numpy":
            return "the setting executor says so"
        why = executor.not_worthwhile(self.optimised) if settings.executor == "auto" else ""
        return (reasons.unknown_types(self.optimised) or why) if why == executor.NOTHING else why

    def _compile(self) -> None:
        try:
            self._native, why = self._lowered()
        except kinds.Unlowered as reason:
            why = self._told(reason)
        except Exception as problem:  # a mistake of ours: the plan does it right, only slower
            why = survived(MISTAKE, problem)
        self._not_native = why

    def _tell(self) -> None:
        """Tell everybody who wants to know that native code is ready."""
        if self._native is not None:
            for put in list(self._puts):
                put(self._native.entry)
        self._puts.clear()

    @computed
    def by_python(self) -> bool:
        """Whether the calls of the function are done by the function itself, which a plan can't beat."""
        if not self._may_be_plain or self.device != "cpu" or settings.executor != "auto":
            return False
        if not plainly.nothing_to_gain(self.optimised, self.guards):
            return False
        if self.native is not None and (self.native.certain or self.native.hopeful):
            if not isinstance(self.native, executor.NativeFunction) and not self.native.certain:
                self.native.when_idle = functools.partial(_leave, weakref.ref(self))
            return False
        self._not_native = self.no_gain
        self._native = None  # loops that it had would never run
        return True

    @property
    def no_gain(self) -> str:
        """Why a plan is no quicker than the function itself, and there is no native code."""
        told = () if self._native is None else self._native.told
        if plainly.has_arrays(self.optimised):
            why = f"{NO_GAIN_ON_ARRAYS}: {self._not_native}"
        else:
            left = any(note.kind == "python" for note in self.notes)
            why = reasons.no_gain(self.optimised, "; ".join(told) or self._not_native, left)
        return "; ".join([why, *(one for one in told if one not in why)])

    def leave(self, why: str) -> None:
        """Hand the calls to the function itself: the hope for native code has come to nothing, or it was
        found to be quicker."""
        self._not_native, self.__dict__["by_python"] = why, True
        if self.when_left is not None:
            self.when_left()

    @property
    def open_to_doubt(self) -> bool:
        """Whether the Python function may be quicker, and may do the calls."""
        if not self._may_be_plain or self.device != "cpu" or settings.executor != "auto" or self.by_python:
            return False
        return self.pending or self.doubtful

    @property
    def doubtful(self) -> bool:
        """Whether it is not certain that calls take less time than those of the Python function."""
        return self._native is None or self._native.doubtful

    @property
    def undecided(self) -> bool:
        """Whether there are parts of which the types were not seen yet."""
        return self._native is not None and self._native.undecided

    @property
    def native_calls(self) -> int:
        """How many times native code was called."""
        return 0 if self._native is None else self._native.calls

    @property
    def of_objects(self) -> bool:
        """Whether there is neither native code nor anything on arrays."""
        return self.executor != "native" and not plainly.has_arrays(self.optimised)

    @property
    def pending(self) -> bool:
        """Whether native code is being made and not there yet."""
        return not self._begin().done

    def when_native(self, put: Callable[[Callable[..., Any]], object]) -> None:
        """Call `put` with what `executable` is then as soon as native code is ready, in any thread.

        It may be called twice, and must not raise.
        """
        if self._begin().done and self._native is None:
            return
        self._puts.append(put)
        if self._native is not None:
            put(self._native.entry)

    def _lowered(self) -> tuple[Native, str]:
        """Native code, and why it is not the whole graph."""
        try:
            return executor.NativeFunction(self.optimised, lambda: self.run_plan), ""
        except kinds.Unlowered as whole:  # no name may outlive this: tracebacks hold the frames of the call
            try:
                return partly.NativeLoops(self.optimised), self._told(whole)
            except kinds.Unlowered as parts:
                raise (parts if parts.span else whole) from None

    def _told(self, reason: kinds.Unlowered) -> str:
        """Why something is not native; where it was left to Python while tracing, why that was."""
        if str(reason).startswith(CALLS) and reason.span is not None:
            for note in self.notes:
                if note.kind == "python" and note.span is not None and _one_line(note.span, reason.span):
                    return kinds.Unlowered(note.reason, reason.span).text()
        return reason.text()

    @property
    def executable(self) -> Callable[..., Any]:
        """What runs calls at present: native code or the loaded plan; it takes the graph's parameters."""
        self._begin()
        return self.run_plan if self._native is None else self._native.entry

    @property
    def executor(self) -> str:
        """What `executable` is at present: "native", "cupy" or "numpy" (the plan).

        "python" where the calls of the function go to the Python function itself, and only this concrete
        function runs the plan.
        """
        self._begin()
        if self.by_python:
            return "python"
        if self._native is not None and not self._native.idle:
            return "native"
        return "numpy" if self.device == "cpu" else "cupy"

    @property
    def not_native(self) -> str:
        """Why something is not native; empty where everything is."""
        idle = self._native is not None and self._native.idle and not self.__dict__.get("by_python")
        told = self._native.told if self._native is not None and idle else ()
        return "; ".join([*[self._not_native] * bool(self._not_native), *told])

    @property
    def native_ir(self) -> str:
        """The LLVM IR of the native code; empty where there is none."""
        return "" if self.native is None else self.native.text

    @property
    def plan_source(self) -> str:
        """The text of the plan."""
        return self.plan.whole

    @property
    def parameters(self) -> tuple[tuple[str, Type], ...]:
        """Name and type of each argument that the graph takes; static ones are part of the graph."""
        pairs = (*self.signature.positional, *self.signature.keywords)
        return tuple((name, t) for name, t in pairs if not isinstance(t, StaticType))

    @property
    def structured_input_signature(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """What each argument must be: positional ones, then those by name.

        A `TensorSpec` for arrays, the value of a static one, a tuple for a tuple, else the trace type.
        """
        return (
            tuple(_spec(name, t) for name, t in self.signature.positional),
            {name: _spec(name, t) for name, t in self.signature.keywords},
        )

    @property
    def structured_outputs(self) -> Any:
        """What the graph returns, in the structure in which it does: as in `structured_input_signature`.

        A list or dict whose contents are not known while tracing is its trace type.  None, too, where the
        graph never returns.
        """
        return tree.map_leaves(lambda t: _spec(None, t) if isinstance(t, _TYPES) else t, self._outputs)

    @property
    def printed_outputs(self) -> str:
        """The tree of the result as it stands in a printed signature."""
        return "never returns" if self.graph.diverges else _show_tree(self._outputs)

    def __call__(self, *values: Any, **named: Any) -> Any:
        """Run the graph on these arguments; static ones, which are part of the trace, may be left out.

        Raises SignatureError when a value is not what the signature says, and GuardError when something
        outside the call that the trace relies on is no longer so.
        """
        every = self._bind(values, named)
        for name, t, value in zip(self.signature.names, self.signature.types, every, strict=True):
            if not describes(t, value):
                raise self._mismatch(values, named, f"the argument {name!r} is not {show(t)}")
        failed = [guard for guard in self.guards if not holds(guard, every)]
        if failed:
            raise GuardError(
                f"{self.signature} relies on what is no longer so",
                why="; ".join(map(str, guard_changes(failed, every))),
                fix="call the function itself: it traces again",
            )
        free = [v for v, t in zip(every, self.signature.types, strict=True) if not isinstance(t, StaticType)]
        return self.executable(*free)

    def _bind(self, values: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        """All arguments in order, static ones filled in; SignatureError where they don't fit."""
        names = self.signature.names
        types = dict(zip(names, self.signature.types, strict=True))
        open_names = [name for name in names if not isinstance(types[name], StaticType)]
        unknown = [name for name in named if name not in types]
        for order in (open_names, list(names)):  # without the static arguments, or with them
            left = [name for name in order if name not in named]
            taken = dict(zip(left, values, strict=False))
            if len(values) <= len(left) and not unknown and set(open_names) <= {*named, *taken}:
                given = {**named, **taken}
                return tuple(given[name] if name in given else _value(types[name]) for name in names)
        why = (
            f"there is no argument {unknown[0]!r}"
            if unknown
            else (f"it takes {len(open_names)} arguments ({', '.join(open_names)}); static ones may be given")
        )
        raise self._mismatch(values, named, why)

    def _mismatch(self, values: tuple[Any, ...], named: dict[str, Any], why: str) -> SignatureError:
        given = [show(argument_type(v)) for v in values]
        given += [f"{name}={show(argument_type(v)).removeprefix('=')}" for name, v in named.items()]
        return SignatureError(
            f"the arguments do not match a trace of {self.signature.function!r}\n"
            f"  given:    {self.signature.function}({', '.join(given)})\n"
            f"  traced:   {self.signature}",
            why=why,
            fix="call the function itself: it traces again for other arguments",
        )

    def __str__(self) -> str:
        lines = [f"{self.signature}", *(f"  guard: {guard.text}" for guard in self.guards)]
        noted = (f"  {n.kind}: {n.reason}" + (f" ({n.span})" if n.span else "") for n in self.notes)
        return "\n".join([*lines, *dict.fromkeys(noted)])

    def __repr__(self) -> str:
        return f"<ConcreteFunction {self.signature}>"


def _spec(name: str | None, t: Type) -> Any:
    if isinstance(t, ArrayType):
        return TensorSpec(t.shape, t.dtype, name)
    if isinstance(t, TupleType):
        items = [_spec(None if name is None else f"{name}[{i}]", item) for i, item in enumerate(t.items)]
        return tuple(items) if t.cls is tuple else tuple.__new__(t.cls, items)
    return t.value if isinstance(t, StaticType) else t


def _value(t: Type) -> Any:
    assert isinstance(t, StaticType)
    return t.value


def _show_tree(outputs: Any) -> str:
    """A tree of trace types, in one line."""
    if isinstance(outputs, StaticType):
        return repr(outputs.value)
    if isinstance(outputs, _TYPES):
        return show(outputs)
    if isinstance(outputs, dict):
        return "{" + ", ".join(f"{key!r}: {_show_tree(item)}" for key, item in outputs.items()) + "}"
    inner = ", ".join(map(_show_tree, outputs))
    if isinstance(outputs, list):
        return f"[{inner}]"
    name = "" if type(outputs) is tuple else type(outputs).__name__
    return f"{name}({inner}{',' if len(outputs) == 1 and not name else ''})"


def _one_line(one: Span, other: Span) -> bool:
    return (one.file, one.line) == (other.file, other.line)


def _on_gpu(t: Type) -> bool:
    if isinstance(t, TupleType):
        return any(map(_on_gpu, t.items))
    return isinstance(t, ArrayType) and t.device == "cuda"
