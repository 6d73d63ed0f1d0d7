"""`ConcreteFunction`: one traced graph with its signature, and the plan that runs it.

In: what the tracer returned and the signature it was made for.  Out: a callable that takes the
arguments the graph takes (all that are not static) and runs the plan; graph, plan text and notes to
look at.  The plan is printed and loaded when first needed, once; where native code can do the work, it is
what runs, and the plan does the calls that native code hands back.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from runtime.config import settings
from runtime.errors import SignatureError
from runtime.execute.cupy_executor import load_cupy
from runtime.execute.loader import load
from runtime.execute.native.executor import NativeFunction, worthwhile
from runtime.execute.native.kinds import Unlowered
from runtime.execute.plan import PlanSource
from runtime.execute.python_source import plan_source
from runtime.function.signature import Signature, show
from runtime.function.spec import TensorSpec
from runtime.ir.graph import Graph
from runtime.ir.text import print_graph
from runtime.trace.record import Guard, Note, TraceResult
from runtime.types import ArrayType, StaticType, TupleType, Type, describes

MISTAKE = "lowering it failed"


class PrintedGraph(Graph):
    """A graph that prints as its text form."""

    def __str__(self) -> str:
        return print_graph(self)


class ConcreteFunction:
    """One trace of a function.

    signature: names and trace types of the arguments.  graph: the residual program.  guards: what it
    relies on besides the arguments' types.  notes: what was left to Python, and why.
    """

    def __init__(self, signature: Signature, traced: TraceResult) -> None:
        self.signature = signature
        graph = traced.graph
        self.graph = PrintedGraph(graph.name, graph.params, graph.nodes, graph.results, graph.diverges)
        self.guards: tuple[Guard, ...] = traced.guards
        self.notes: tuple[Note, ...] = traced.notes
        self.device = "cuda" if any(map(_on_gpu, signature.types)) else "cpu"
        self.not_native = ""

    @functools.cached_property
    def plan(self) -> PlanSource:
        """The plan: the graph as one Python function, with its constants and lines."""
        return plan_source(self.graph, device=self.device)

    @functools.cached_property
    def run_plan(self) -> Callable[..., Any]:
        """The loaded plan; it takes the graph's parameters and checks nothing."""
        return load_cupy(self.plan) if self.device == "cuda" else load(self.plan)

    @functools.cached_property
    def native(self) -> NativeFunction | None:
        """The graph as machine code; None where it isn't, and then `not_native` says why."""
        if self.device != "cpu" or settings.executor == "numpy":
            self.not_native = "the setting executor" if self.device == "cpu" else "it runs on the GPU"
        elif settings.executor == "auto" and not worthwhile(self.graph):
            self.not_native = "there is no loop in it"
        else:
            try:
                return NativeFunction(self.graph, lambda: self.run_plan)
            except Unlowered as reason:
                self.not_native = str(reason)
            except Exception as problem:  # a mistake of ours: the plan does it right, only slower
                self.not_native = f"{MISTAKE}: {type(problem).__name__}: {problem}"
        return None

    @functools.cached_property
    def executable(self) -> Callable[..., Any]:
        """What runs calls: native code or the loaded plan; it takes the graph's parameters."""
        return self.run_plan if self.native is None else self.native.entry

    @property
    def executor(self) -> str:
        """What `executable` is: "native", "cupy" or "numpy"."""
        if self.native is not None:
            return "native"
        return "numpy" if self.device == "cpu" else "cupy"

    @property
    def native_ir(self) -> str:
        """The LLVM IR of the native code; empty where there is none."""
        return "" if self.native is None else self.native.text

    @property
    def plan_source(self) -> str:
        """The text of the plan."""
        return self.plan.text

    @property
    def parameters(self) -> tuple[tuple[str, Type], ...]:
        """Name and type of each argument that the graph takes; static ones are part of the graph."""
        pairs = (*self.signature.positional, *self.signature.keywords)
        return tuple((name, t) for name, t in pairs if not isinstance(t, StaticType))

    @property
    def structured_input_signature(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """What each argument must be: a `TensorSpec` for arrays, the value of a static one, else its type."""
        return (tuple(_spec(name, t) for name, t in self.signature.positional),
                {name: _spec(name, t) for name, t in self.signature.keywords})

    def __call__(self, *values: Any) -> Any:
        """Run the graph on the arguments that are not static, in order; guards are not looked at.

        Raises SignatureError when a value is not what the signature says.
        """
        parameters = self.parameters
        if len(values) != len(parameters):
            raise SignatureError(
                f"{self.signature.function!r} was traced for {len(parameters)} arguments, not {len(values)}",
                why=f"the signature is {self.signature}",
                fix="give all arguments but the static ones, which are part of the trace")
        for (name, t), value in zip(parameters, values, strict=True):
            if not describes(t, value):
                raise SignatureError(f"the argument {name!r} is not {show(t)}",
                                     why=f"the signature is {self.signature}",
                                     fix="call the function itself: it traces again for other arguments")
        return self.executable(*values)

    def __str__(self) -> str:
        lines = [f"{self.signature}"]
        lines += [f"  guard: {guard.text}" for guard in self.guards]
        lines += [f"  {note.kind}: {note.reason}" + (f" ({note.span})" if note.span else "")
                  for note in self.notes]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<ConcreteFunction {self.signature}>"


def _spec(name: str, t: Type) -> Any:
    if isinstance(t, ArrayType):
        return TensorSpec(t.shape, t.dtype, name)
    return t.value if isinstance(t, StaticType) else t


def _on_gpu(t: Type) -> bool:
    if isinstance(t, TupleType):
        return any(map(_on_gpu, t.items))
    return isinstance(t, ArrayType) and t.device == "cuda"
