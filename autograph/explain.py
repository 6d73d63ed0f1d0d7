"""What became of a function, statement by statement: staged, static or Python, with the reason and the line.

In: a polymorphic function and the traces it has, or a plain function, of which conversion alone is asked.
Out: an `Explanation`: records to work with, and their text.
What always holds: nothing is called and nothing is traced here.  A statement is *staged* if nodes of the
graph stand for it, *python* if a note says that it was left to Python, *static* otherwise: done while
tracing, or never reached.
"""

from __future__ import annotations

import ast
import dataclasses
import sys
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

from autograph.convert import MISSING, converted, resolve
from runtime.dataclass import dataclass
from runtime.errors import AutographError, ConversionRefused, GeneratorError, Span
from runtime.function.concrete import ConcreteFunction
from runtime.function.polymorphic import PolymorphicFunction
from runtime.function.records import TraceRecord
from runtime.function.signature import show
from runtime.ir.calls import expanded
from runtime.ir.graph import Const, Graph, Node, Value
from runtime.ir.walk import walk_nodes
from runtime.lazy import Lazy
from runtime.trace.record import Note
from runtime.types import ObjectType

if TYPE_CHECKING:
    import gast

    from autograph import names, source
    from autograph.passes import context, pipeline
else:
    gast, names, source = Lazy("gast"), Lazy("autograph.names"), Lazy("autograph.source")
    context, pipeline = Lazy("autograph.passes.context"), Lazy("autograph.passes.pipeline")

STAGED, STATIC, PYTHON = "staged", "static", "python"
_REGIONS = {
    "cond": "both ways recorded",
    "while": "a loop in the graph",
    "for": "a loop in the graph",
    "try": "recorded with its handlers",
    "with": "entered and left at run time",
}
_MOST_REFUSALS = 50


@dataclass(frozen=True)
class Statement:
    """One statement: its lines, its text, how it is done, and why.

    function: where it stands in a function that was traced into, which, and in which file.
    """

    line: int
    end: int
    text: str
    how: str
    reason: str = ""
    function: str = ""

    def __str__(self) -> str:
        shown = f"{self.line:>6}  {self.how:<7} {self.text}"
        return f"{shown}  # {self.reason}" if self.reason else shown


@dataclass(frozen=True)
class TraceExplanation:
    """One trace, or one signature that is left to Python.

    signature, reason, seconds: what it serves, why it was made, what that took.
    plain: why Python runs it, or None; otherwise: how it runs then.  parameters: (name, type) of each.
    guards: what it relies on.  notes: what became less precise or was left to Python.
    inlined: functions that were traced into.  inside: what these leave to Python, or call as plain Python.
    passes: what the graph passes did, one text for each that did anything.  executor: what runs its calls at
    present, and why not native code.  weighed: what was found, or is being found, of which is quicker, the
    trace or the Python function; empty where that is certain.
    """

    signature: str
    reason: str
    seconds: float
    plain: str | None
    parameters: tuple[tuple[str, str], ...]
    guards: tuple[str, ...]
    notes: tuple[Note, ...]
    inlined: tuple[str, ...]
    statements: tuple[Statement, ...]
    passes: tuple[str, ...] = ()
    executor: str = ""
    weighed: str = ""
    otherwise: str = "as plain Python"
    inside: tuple[Statement, ...] = ()

    def __str__(self) -> str:
        lines = [self.signature, f"  traced in {self.seconds * 1e3:.1f} ms: {self.reason}"]
        if self.plain is not None:
            lines.append(f"  runs {self.otherwise}: {self.plain}")
        if self.executor:
            lines.append(f"  runs {self.executor}")
        if self.weighed:
            lines.append(f"  weighed: {self.weighed}")
        noted = (f"  {n.kind}: {n.reason}" + (f" ({_short(n.span)})" if n.span else "") for n in self.notes)
        lines += dict.fromkeys(noted)  # two calls in a line may be told of in the same words
        if self.executor.startswith("as plain Python"):
            lines.append("  its trace, which calls do not run:")
        lines += map(str, self.statements)
        for function in dict.fromkeys(s.function for s in self.inside):
            lines += [f"  in {function}:", *(str(s) for s in self.inside if s.function == function)]
        lines += [f"  traced into {name}" for name in self.inlined]
        lines += [f"  relies on {', '.join(self.guards)}"] * bool(self.guards)
        lines += [f"  pass {step}" for step in self.passes]
        return "\n".join(lines)


@dataclass(frozen=True)
class Explanation:
    """What became of a function.

    name, file, line: the function.  summary: in one sentence, where there is no trace or besides the traces.
    traces: one record each.  statements: what conversion says of them, where there is no trace.
    """

    name: str
    file: str
    line: int
    summary: str
    traces: tuple[TraceExplanation, ...] = ()
    statements: tuple[Statement, ...] = ()

    @property
    def left_to_python(self) -> tuple[Statement, ...]:
        """The statements that Python runs, of all traces, with what they trace into, or of the conversion."""
        every = [s for t in self.traces for s in (*t.statements, *t.inside)] or list(self.statements)
        return tuple(dict.fromkeys(s for s in every if s.how == PYTHON))

    def __str__(self) -> str:
        head = [self.summary] if self.summary else []
        return "\n".join([*map(str, self.traces), *head, *map(str, self.statements)])

    __repr__ = __str__


def explanation(
    function: PolymorphicFunction[..., object],
    python: types.FunctionType,
    otherwise: str = "as plain Python",
) -> Explanation:
    """What became of a polymorphic function.

    python: the function that the user wrote.  otherwise: how calls run for which there is no trace.
    """
    name = getattr(python, "__qualname__", repr(python))
    code = python.__code__
    if not function.traces:
        told = explanation_of_conversion(python)
        return dataclasses.replace(told, summary=f"{name!r} was not called yet")
    found = _Statements(python)
    made = (_trace(record, found) for record in function.traces)
    traces = tuple(dataclasses.replace(trace, otherwise=otherwise) for trace in made)
    return Explanation(name, code.co_filename, code.co_firstlineno, function.remainder, traces)


def explanation_of_conversion(python: types.FunctionType) -> Explanation:
    """What conversion makes of a plain function; it is not called.

    Statements that are converted are called staged: whether they are is known when they are traced.
    """
    code = python.__code__
    try:
        refused = refusals(python)
    except AutographError as error:  # no source, a generator
        whole = Statement(code.co_firstlineno, code.co_firstlineno, python.__qualname__, PYTHON, error.what)
        return Explanation(
            python.__qualname__,
            code.co_filename,
            code.co_firstlineno,
            f"{python.__qualname__!r} runs as plain Python: {error.what}",
            (),
            (whole,),
        )
    found = _Statements(python)
    told = (
        tuple(found.refused(refused))
        if refused
        else tuple(found.converted(converted(python).generated.islands))
    )
    summary = (
        f"{python.__qualname__!r} runs as plain Python: {refused[0].what} ({_short(refused[0].span)})"
        if refused
        else f"{python.__qualname__!r} is converted"
    )
    return Explanation(python.__qualname__, code.co_filename, code.co_firstlineno, summary, (), told)


def refusals(python: types.FunctionType) -> list[ConversionRefused]:
    """All places because of which a function can't be converted; none if it can.

    Raises SourceNotFound or GeneratorError where conversion can't even begin.
    """
    try:
        converted(python)
        return []
    except GeneratorError:
        raise
    except ConversionRefused as refusal:
        first = refusal
    found = [first]
    of_user = source.source_of(python)
    tree = of_user.node
    fresh = names.Names(names.names_in(of_user.definition))
    around = context.Context(lambda name: resolve(python, name), MISSING, of_user.file, "ag", fresh)
    while len(found) < _MOST_REFUSALS and found[-1].span is not None and _without(tree, found[-1].span):
        try:
            pipeline.convert_function(tree, around)
            break
        except ConversionRefused as refusal:
            if refusal.span == found[-1].span:
                break
            found.append(refusal)
    return sorted(found, key=lambda r: r.span.line if r.span is not None else 0)


def _without(tree: gast.AST, span: Span) -> bool:
    """Take the innermost statement at a place out of the tree, not those in it; whether there was one."""
    best: tuple[list[gast.AST], int] | None = None
    for node in gast.walk(tree):
        for suite in _suites(node):
            for at, stmt in enumerate(suite):
                if stmt.lineno <= span.line <= (stmt.end_lineno or stmt.lineno):
                    best = suite, at  # walk goes from the outside in
    if best is None:
        return False
    suite, at = best
    inner = [s for part in _suites(suite[at]) for s in part]
    if isinstance(suite[at], gast.ClassDef):
        inner = []
    suite[at : at + 1] = inner or [gast.copy_location(gast.Pass(), suite[at])]
    return True


def _suites(node: gast.AST) -> Iterator[list[gast.AST]]:
    for field in ("body", "orelse", "handlers", "finalbody", "cases"):
        suite = getattr(node, field, None)
        if isinstance(suite, list) and suite:
            if isinstance(suite[0], (gast.ExceptHandler, gast.match_case)):
                for part in suite:
                    yield part.body
            else:
                yield suite


# -------------------------------------------------------------------------------------- statements
class _Statements:
    """The statements of a function, with the lines that belong to each alone."""

    def __init__(self, python: types.FunctionType) -> None:
        found = source.source_of(python)
        self.file, self.name, self.lines = found.file, python.__code__.co_name, found.text.split("\n")
        self.first = found.line
        definition = found.definition
        body = definition.body if isinstance(definition.body, list) else [definition.body]
        self.all: list[tuple[ast.AST, int, int]] = []
        for stmt, line, end in _flat(body):
            if self.all and self.all[-1][1] == line:  # several on a line are told of once
                stmt, _, before = self.all.pop()
                end = max(before, end)
            self.all.append((stmt, line, end))
        self.last = definition.end_lineno or definition.lineno
        self.kept = [
            node
            for node, _, _ in self.all
            if isinstance(node, ast.ClassDef) or (isinstance(node, ast.FunctionDef) and _yields(node))
        ]

    def text(self, line: int) -> str:
        """A line of the function, as it is written."""
        at = line - self.first
        return self.lines[at].rstrip() if 0 <= at < len(self.lines) else ""

    def here(self, span: Span | None) -> Iterator[int]:
        """The lines of this function that a place belongs to: its own, or those that it was called from."""
        while span is not None:
            if self.is_here(span):
                yield span.line
            span = span.caller

    def converted(self, islands: Sequence[Any]) -> Iterator[Statement]:
        """All are converted, but for what is never rewritten."""
        for node, line, end in self.all:
            why = self._kept(node, line)
            for island in islands:
                if island.first <= line <= island.last and why is None:
                    why = island.why if line == island.first else ""
            yield Statement(line, end, self.text(line), STAGED if why is None else PYTHON, why or "")

    def _kept(self, node: ast.AST, line: int) -> str | None:
        """Why a statement is never rewritten, or None: it is, or stands in, a class or an inner generator."""
        for around in self.kept:
            if around is node:
                return "classes and generators stay as they are written"
            if around.lineno < line <= (around.end_lineno or 0):
                return ""
        return None

    def refused(self, refusals: Sequence[ConversionRefused]) -> Iterator[Statement]:
        """The whole function is Python; the reason stands at the lines that are to blame."""
        for _, line, end in self.all:
            whys = [r.what for r in refusals if r.span is not None and line <= r.span.line <= end]
            yield Statement(line, end, self.text(line), PYTHON, "; ".join(whys))

    def plain(self, record: TraceRecord) -> Iterator[Statement]:
        """The signature is left to Python; the reason stands at its line."""
        blamed = set(self.here(record.place))
        for _, line, end in self.all:
            why = record.plain or "" if blamed & set(range(line, end + 1)) else ""
            yield Statement(line, end, self.text(line), PYTHON, why)

    def traced(self, graph: Graph, notes: Sequence[Note], loops: Mapping[Span, str]) -> Iterator[Statement]:
        """What a trace made of each.  loops: why those are not native that are not, where others are."""
        nodes: dict[int, list[Node]] = {}
        for node in walk_nodes(expanded(graph)):
            for line in self.here(node.span):
                nodes.setdefault(line, []).append(node)
        noted = [(note.span.line, note) for note in notes if note.kind == PYTHON and self.is_here(note.span)]
        called = _calls(graph)
        until = 0
        for stmt, line, end in self.all:
            own = range(line, end + 1)
            whys = list(dict.fromkeys(note.reason for at, note in noted if at in own))
            kept = self._kept(stmt, line)
            if kept is not None:
                yield Statement(line, end, self.text(line), PYTHON, kept)
            elif line <= until:
                yield Statement(line, end, self.text(line), PYTHON)
            elif whys and self._whole(whys):
                until = getattr(stmt, "end_lineno", end)
                yield Statement(line, end, self.text(line), PYTHON, "; ".join(whys))
            else:
                found = [node for at in own for node in nodes.get(at, ())]
                calls = [called[node] for node in found if node in called]
                inside = [place for at in own for place in self._inside(notes, at)]
                left = [
                    f"not native: {why}" for at, why in loops.items() if self.is_here(at) and at.line in own
                ]
                yield self._one(stmt, line, end, found, whys, dict.fromkeys([*left, *calls, *inside]))

    def inside(self, graph: Graph, notes: Sequence[Note]) -> Iterator[Statement]:
        """What functions that were traced into leave to Python, or call as plain Python."""
        left = [(note.span, PYTHON, note.reason) for note in notes if note.kind == PYTHON]
        left += [(node.span, STAGED, reason) for node, reason in _calls(graph).items()]
        found: dict[tuple[str, int], tuple[str, list[str], list[str]]] = {}
        for span, how, reason in left:
            if span is not None and not self.is_here(span):
                place = _function(span), span.line
                _, ways, whys = found.setdefault(place, (span.text(), [], []))
                ways.append(how)
                whys += [reason] * (reason not in whys)
        for (function, line), (text, ways, whys) in sorted(found.items()):
            how = PYTHON if PYTHON in ways else STAGED
            yield Statement(line, line, text, how, "; ".join(whys), function)

    def is_here(self, span: Span | None) -> TypeGuard[Span]:
        """Whether a place is in this function itself."""
        return span is not None and span.file == self.file and self.first <= span.line <= self.last

    def _inside(self, notes: Sequence[Note], line: int) -> Iterator[str]:
        """Which functions that were traced into from a line leave statements to Python."""
        for note in notes:
            if note.kind == PYTHON and not self.is_here(note.span) and line in self.here(note.span):
                assert note.span is not None
                yield f"{note.span.function} leaves {_short(note.span)} to Python"

    def _whole(self, whys: Sequence[str]) -> bool:
        """Whether a note means the statement, and not a function that it calls."""
        return any(why.startswith("the statement runs") for why in whys)

    def _one(
        self,
        stmt: ast.AST,
        line: int,
        end: int,
        nodes: Sequence[Node],
        whys: Sequence[str],
        calls: Iterable[str],
    ) -> Statement:
        reasons = list(whys)
        if isinstance(stmt, (ast.If, ast.While, ast.For, ast.Try, ast.With)):
            reasons += [_REGIONS[n.op] for n in nodes if n.op in _REGIONS and _is_at(n, self.file, line)][:1]
        reasons += calls
        if nodes:
            return Statement(line, end, self.text(line), PYTHON if whys else STAGED, "; ".join(reasons))
        if whys:
            return Statement(line, end, self.text(line), PYTHON, "; ".join(reasons))
        why = "unrolled" if isinstance(stmt, (ast.For, ast.While)) else ""
        return Statement(line, end, self.text(line), STATIC, why)


def _flat(body: Sequence[ast.AST]) -> Iterator[tuple[ast.AST, int, int]]:
    """Each statement with its own lines, without those of the statements in it; docstrings are left out."""
    for stmt in body:
        inner = [
            s
            for field in ("body", "handlers", "orelse", "finalbody", "cases")
            if isinstance(part := getattr(stmt, field, None), list)  # the one of a lambda may have others
            for s in part
        ]
        line, last = stmt.lineno, stmt.end_lineno or stmt.lineno  # type: ignore[attr-defined]
        first_inner = min((_first_line(s) for s in inner), default=last + 1)
        documents = isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant)
        if not documents and not isinstance(stmt, (ast.Global, ast.Nonlocal)):
            yield stmt, line, max(line, min(last, first_inner - 1))
        for part in inner:
            yield from _flat(part.body if isinstance(part, (ast.ExceptHandler, ast.match_case)) else [part])


def _first_line(node: ast.AST) -> int:
    if isinstance(node, ast.match_case):
        return node.pattern.lineno
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(d.lineno for d in decorators)])  # type: ignore[attr-defined,no-any-return]


def _yields(function: ast.FunctionDef) -> bool:
    return any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in ast.walk(function))


def _is_at(node: Node, file: str, line: int) -> bool:
    return node.span is not None and node.span.file == file and node.span.line == line


def _calls(graph: Graph) -> dict[Node, str]:
    """The nodes that call functions or classes of the user's as they are, in words."""
    nodes = list(walk_nodes(expanded(graph)))
    makers = {x: node for node in nodes for x in node.outputs}
    named = {node: _called(node, makers) for node in nodes if node.op == "py.call" and node.inputs}
    return {node: f"calls {name} as plain Python" for node, name in named.items() if name}


def _called(node: Node, makers: Mapping[Value, Node]) -> str:
    """The user's function or class that a node calls as it is, or nothing."""
    target = node.inputs[0]
    if isinstance(target, Value):  # a method of an object, the class of which is known
        maker = makers.get(target)
        of = maker.inputs[0].type if maker is not None and maker.op == "py.getattr" else None
        known = of.cls if isinstance(of, ObjectType) else None
        if maker is None or known is None or _of_library(known) or not isinstance(maker.inputs[1], Const):
            return ""
        return f"{known.__qualname__}.{maker.inputs[1].value}"
    target = target.value
    if (
        not isinstance(target, (types.FunctionType, type))
        or isinstance(target, type)
        and issubclass(target, BaseException)
    ):
        return ""
    return "" if _of_library(target) else target.__qualname__


def _of_library(x: Any) -> bool:
    return (x.__module__ or "").partition(".")[0] in _LIBRARIES


_LIBRARIES = {"runtime", "autograph", "numpy", "scipy", "cupy", *sys.stdlib_module_names} - {"__main__"}


# ------------------------------------------------------------------------------------------ traces
def _loops(concrete: ConcreteFunction) -> Mapping[Span, str]:
    """Why loops are not native, as far as that is known now: nothing waits for the compiler."""
    native = None if concrete.pending else concrete.native
    return native.loops if native else {}


def _executor(concrete: ConcreteFunction) -> str:
    """What runs the calls of a trace at present."""
    now = concrete.executor
    if now == "python":
        return f"as plain Python: {concrete.not_native}"
    if now == "cupy":
        return "on CuPy"
    problem = f"; {concrete.plan_problem}" if concrete.plan_problem else ""
    if now == "native":
        rest = f" but for what can't: {concrete.not_native}" if concrete.not_native else ""
        later = "".join(f"; {found}" for found in concrete.native.told) if concrete.native else ""
        return f"as native code{rest}{later}{problem}"
    return f"on NumPy, not as native code: {concrete.not_native}{problem}"


def _weighed(record: TraceRecord, concrete: ConcreteFunction) -> str:
    """What is known of which is quicker, the trace or the Python function, where the trace is not left."""
    if record.weighing is None or record.by_python:
        return concrete.weighed
    return f"its next calls show whether the Python function is quicker; {record.weighing.timed} were timed"


def _trace(record: TraceRecord, found: _Statements) -> TraceExplanation:
    signature = record.signature
    parameters = tuple((name, show(t)) for name, t in zip(signature.names, signature.types, strict=True))
    concrete = record.concrete
    if concrete is None:
        where = "" if record.place is None else f" ({_short(record.place)})"
        return TraceExplanation(
            str(signature),
            record.reason,
            record.seconds,
            f"{record.plain}{where}",
            parameters,
            (),
            (),
            (),
            tuple(found.plain(record)),
        )
    guards = tuple(dict.fromkeys(guard.text for guard in concrete.guards))
    inlined = {
        _function(node.span)
        for node in walk_nodes(expanded(concrete.graph))
        if node.span is not None and node.span.caller is not None
    }
    return TraceExplanation(
        str(signature),
        record.reason,
        record.seconds,
        None,
        parameters,
        guards,
        concrete.notes,
        tuple(sorted(inlined)),
        tuple(found.traced(concrete.graph, concrete.notes, _loops(concrete))),
        tuple(str(concrete.passes).splitlines()),
        _executor(concrete),
        _weighed(record, concrete),
        inside=tuple(found.inside(concrete.graph, concrete.notes)),
    )


def _function(span: Span) -> str:
    return f"{span.function} ({span.file.rpartition('/')[2]})"


def _short(span: Span | None) -> str:
    return "" if span is None else f"{span.file.rpartition('/')[2]}:{span.line}"
