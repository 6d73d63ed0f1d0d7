"""From a function to its converted form: `converted` finds, converts, loads and remembers.

In: a Python function.  Out: a `Converted`.
What always holds: the user's function is left as it is; what was converted once is converted again only
when its code changed, or when a name that the conversion looked at means something else now; nothing of
the user's is kept alive by the memory.
"""

from __future__ import annotations

import sys
import types
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from runtime.boxes import Cell
from runtime.collecting import rarely
from runtime.computed import computed
from runtime.dataclass import dataclass
from runtime.errors import ConversionRefused, Span
from runtime.forking import ForkLock
from runtime.lazy import Lazy

if TYPE_CHECKING:
    import gast

    from autograph import codes, load, names, source
    from autograph.load import Generated
    from autograph.passes import context
    from autograph.passes import pipeline as passes
    from autograph.source import Source

    Pipeline = Callable[[gast.AST, context.Context], context.Conversion]
else:
    codes, load, names = Lazy("autograph.codes"), Lazy("autograph.load"), Lazy("autograph.names")
    source, context = Lazy("autograph.source"), Lazy("autograph.passes.context")
    passes = Lazy("autograph.passes.pipeline")

MISSING = object()
# The same code can need several conversions, for instance closures over np.sin and over a user's function.
_KEPT = 8


def namespace() -> object:
    """What generated code calls `ag`: the package that this file is in.

    It is looked up when it is needed, not imported: the package's `__init__` lies above this file, and it
    has all its names only after this file was imported.
    """
    return sys.modules[__package__ or ""]


@dataclass(frozen=True, eq=False)
class Converted:
    """A function in its converted form.

    original: the user's function.
    generated: its code, text and origins, shared by all functions of that code.
    """

    original: types.FunctionType
    generated: Generated

    @property
    def source(self) -> str:
        """The generated text."""
        return self.generated.source

    @property
    def tree(self) -> gast.FunctionDef:
        """The generated tree; its nodes carry the positions of the user's file."""
        return self.generated.tree

    @property
    def code(self) -> types.CodeType:
        """The generated code object."""
        return self.generated.code

    @property
    def freevars(self) -> tuple[str, ...]:
        """The free variables that `bind` wants cells for (the namespace of the operators is none of them)."""
        return self.generated.freevars

    @property
    def boxed_free(self) -> frozenset[str]:
        """Free variables that the function rebinds: their cells hold a `Cell` over the real cell."""
        return self.generated.boxed_free

    @property
    def origin(self) -> Mapping[int, Span]:
        """Generated line -> the user's place."""
        return self.generated.origin.lines

    @property
    def originals(self) -> Mapping[types.CodeType, types.CodeType]:
        """Generated code object of each nested function of the user's -> the original code object."""
        return self.generated.originals

    def bind(
        self,
        globals_: dict[str, Any],
        cells: Mapping[str, types.CellType],
        defaults: tuple[Any, ...] | None,
        kwdefaults: dict[str, Any] | None,
    ) -> types.FunctionType:
        """A fresh function over the generated code; cells of `boxed_free` names must hold the box."""
        return load.bind(self.generated, self.original, namespace(), globals_, cells, defaults, kwdefaults)

    @computed
    def cells(self) -> dict[str, types.CellType]:
        """The original's own cells, ready for `bind`: those of `boxed_free` names stand in a box."""
        cells = dict(zip(self.original.__code__.co_freevars, self.original.__closure__ or (), strict=True))
        for name in self.boxed_free & cells.keys():
            cells[name] = types.CellType(Cell(name, cell=cells[name]))
        return cells

    @computed
    def function(self) -> types.FunctionType:
        """The converted function with the original's globals, cells and defaults."""
        kwdefaults = self.original.__kwdefaults__
        return self.bind(
            self.original.__globals__,
            self.cells,
            self.original.__defaults__,
            None if kwdefaults is None else dict(kwdefaults),
        )


def converted(function: types.FunctionType, *, pipeline: Pipeline | None = None) -> Converted:
    """The converted form of a function.

    Raises SourceNotFound, GeneratorError or ConversionRefused where it can't be converted.
    """
    with _lock:
        live = _live.get(id(function))
        generated = _generated(function, pipeline or passes.convert_function)
        if live is None or live.generated is not generated:
            live = _live[id(function)] = Converted(function, generated)
        return live


def converted_carefully(function: types.FunctionType) -> Converted:
    """The converted form in which items of tuples and texts may have indices known only at run time."""
    return converted(function, pipeline=passes.convert_carefully)


def to_code(function: Callable[..., Any]) -> str:
    """The text that a function or method is converted to."""
    plain = function.__func__ if isinstance(function, types.MethodType) else function
    return converted(plain).source  # type: ignore[arg-type]  # source_of says so if it is none


# -- the memory -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Entry:
    """One conversion of a code object: what names stood for then, and the result or refusal."""

    pipeline: Pipeline
    seen: Mapping[str, _Meaning]
    result: Generated | ConversionRefused

    def holds(self, function: types.FunctionType, pipeline: Pipeline) -> bool:
        return self.pipeline is pipeline and all(
            meaning.holds(resolve(function, name)) for name, meaning in self.seen.items()
        )


_lock = ForkLock()
# By identity: equal code objects may come from different files.  An entry leaves when its code does.
_entries: dict[int, tuple[weakref.ref[types.CodeType], list[_Entry]]] = {}
# A function's record lives as long as somebody uses it; it keeps the function alive, so the id stays its own.
_live: weakref.WeakValueDictionary[int, Converted] = weakref.WeakValueDictionary()


def _generated(function: types.FunctionType, pipeline: Pipeline) -> Generated:
    code = getattr(function, "__code__", None)
    known = [] if code is None else _entries_of(code)
    for entry in known:
        if entry.holds(function, pipeline):
            if isinstance(entry.result, ConversionRefused):
                raise _again(entry.result)
            return entry.result
    seen: dict[str, _Meaning] = {}
    try:
        with rarely():
            result = _convert(source.source_of(function), pipeline, seen)
    except ConversionRefused as refusal:
        known[:] = [*known[1 - _KEPT :], _Entry(pipeline, seen, _again(refusal))]
        raise
    known[:] = [*known[1 - _KEPT :], _Entry(pipeline, seen, result)]
    return result


def _again(refusal: ConversionRefused) -> ConversionRefused:
    """The same refusal without a traceback, which would keep the frames that it went through alive."""
    return type(refusal)(refusal.what, span=refusal.span, why=refusal.why, fix=refusal.fix)


def _entries_of(code: types.CodeType) -> list[_Entry]:
    key = id(code)
    if key not in _entries:
        _entries[key] = weakref.ref(code, lambda _: _entries.pop(key, None)), []
    return _entries[key][1]


def _convert(found: Source, pipeline: Pipeline, seen: dict[str, _Meaning]) -> Generated:
    def look_up(name: str) -> object:
        value = resolve(found.function, name)
        seen[name] = _Meaning(value)
        return value

    used = names.names_in(found.definition)
    fresh = names.Names(used)
    ag = "ag"
    bound = any(ag in (*code.co_varnames, *code.co_cellvars) for code in codes.walk(found.function.__code__))
    if ag in used and (bound or look_up(ag) is not namespace()):
        ag = fresh.fresh("ag__")
    rebound = found.rebound & frozenset(found.function.__code__.co_freevars)
    around = context.Context(look_up, MISSING, found.file, ag, fresh, rebound)
    result = pipeline(found.node, around)
    return load.load(result.node, found, ag=ag, boxed_free=result.boxed_free, islands=result.islands)


def resolve(function: types.FunctionType, name: str) -> object:
    """What a free, global or builtin name of the function stands for at present; MISSING if for nothing."""
    free = function.__code__.co_freevars
    if name in free:
        try:
            return (function.__closure__ or ())[free.index(name)].cell_contents
        except ValueError:
            return MISSING
    for scope in (function.__globals__, getattr(function, "__builtins__")):  # noqa: B009  typeshed lacks it
        try:
            return scope[name]
        except KeyError:
            continue
    return MISSING


class _Meaning:
    """What a name stood for when a function was converted, without keeping it alive.

    Conversion asks only whether a name is a known module, class or function; so of a user's function its
    code counts (each run of a factory makes a new function of it), of a module, class or builtin which it
    is, and of data only the type.
    """

    __slots__ = ("kind", "known")

    def __init__(self, value: object) -> None:
        self.kind, identity = _identity(value)
        try:
            self.known: Callable[[], object] = weakref.ref(identity)
        except TypeError:
            self.known = lambda: identity

    def holds(self, value: object) -> bool:
        """Whether a value means the same to the conversion."""
        kind, identity = _identity(value)
        return kind == self.kind and self.known() is identity


def _identity(value: object) -> tuple[str, object]:
    if isinstance(value, types.FunctionType):
        return "code", value.__code__
    if value is MISSING or isinstance(value, types.ModuleType) or callable(value):
        return "object", value
    return "type", type(value)
