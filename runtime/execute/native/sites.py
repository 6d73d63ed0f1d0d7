"""Sites: parts of a plan whose inputs have types that are known only when they are reached.

In: the graph of a part, what its plan is, and what compiles graphs.  Out: `Site`, a callable that does the
part.  What always holds: it does what the plan of the part does; only values of exact types that trace types
describe get code of their own, for a bounded number of kinds; where nothing comes of that, the plan does all.
"""

from __future__ import annotations

import os.path
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from runtime.errors import AutographError
from runtime.execute import traceback
from runtime.execute.native import streams
from runtime.execute.native.kinds import Unlowered, supported
from runtime.execute.native.lifted import lifted
from runtime.execute.native.opened import (
    APPENDED,
    Holder,
    appended,
    given_up,
    holder,
    may_hold,
    opened,
    packed,
)
from runtime.ir.graph import Const, Graph, Node, Value
from runtime.mistakes import survived
from runtime.passes.pipeline import optimise
from runtime.passes.rewrite import users
from runtime.retyping import retyped
from runtime.trace.record import BUILTINS, Guard
from runtime.types import WEAK_FLOAT, WEAK_OF, ArrayType, ObjectType, StaticType, Type

KINDS = 6  # of inputs that get code of their own
MANY = 1 << 40  # items, for a list that is not seen yet
TRIES = 3  # times in vain, where there is no code yet: then the plan does it for good
_MISSING = object()
_GROWS = Holder(list, APPENDED)
traceback.register_hidden(__file__)  # between a plan and that of a part
Run = Callable[..., Any]
Kind = Any  # of a value, hashable; None where there is no code for values like it
Others = Callable[[tuple[Any, ...]], Run | None]
Compile = Callable[[Graph, Callable[[], Run], Others], Run]


class Site:
    """One part.

    node: what it stands for, to be put back.  made: the types that there is code for; reason: why there is
    none for others.  run: what to call: code for the kinds that came last, where there is some.
    """

    def __init__(
        self,
        graph: Graph,
        node: Node,
        plan: Callable[[], Run],
        compile_graph: Compile,
        given_up: Callable[[], None],
    ) -> None:
        self.graph, self.node, self.plan = graph, node, plan
        self.compile, self.given_up = compile_graph, given_up
        self.open = tuple(k for k, p in enumerate(graph.params) if open_type(p.type))
        self.appended = appended(graph)
        self.by_keys = opened(graph, _holders(graph)) is None  # fields that can't be told from the graph
        self.reads_outside = bool(lifted(graph).begin.nodes)
        self.found: dict[Kind, Any] = {}
        self.inner: dict[Kind, Site] = {}  # on the fields of objects
        self.made: list[str] = []
        self.reason, self.vain = "", 0
        self.run: Run = self.look
        self.shut = False

    def __call__(self, *args: Any) -> Any:
        return self.run(*args)

    @property
    def told(self) -> str:
        """What there is code for, and why there is none for other values; empty before one was seen."""
        span = self.node.span
        where = f"{os.path.basename(span.file)}:{span.line}" if span else "a loop"
        known = " and ".join(filter(None, dict.fromkeys(self.all_made)))  # empty: of types known before
        code = f"native code for {known}, which came" if known else "native code"
        if not self.all_made:
            code = "no native code for what came"
        if not self.all_made and not self.reason and not self.inner:
            return ""
        reason = self.reason or next((one.reason for one in self.inner.values() if one.reason), "")
        return f"{where} has {code}{f': {reason}' if reason else ''}"

    @property
    def all_made(self) -> list[str]:
        """The types that there is code for, those of fields of objects included."""
        return [*self.made, *(made for one in self.inner.values() for made in one.all_made)]

    def kinds(self, args: Sequence[Any]) -> tuple[Kind, ...]:
        """What kinds of values those inputs are of which nothing is known."""
        by_keys, lists = self.by_keys, self.appended
        return tuple(
            [_GROWS if k in lists and type(args[k]) is list else kind(args[k], by_keys) for k in self.open]
        )

    def look(self, *args: Any) -> Any:
        """Do the part, by the code for these kinds of inputs."""
        kinds = self.kinds(args)
        found = self.found.get(kinds, _MISSING)
        if found is _MISSING:
            found = self.added(kinds, args)
        if found is None:
            self.vain += 1
            if self.vain >= TRIES and not self.all_made:
                self.close()
            return self.plan()(*args)
        self.run = found
        return found(*args)

    def added(self, kinds: tuple[Kind, ...], args: Sequence[Any]) -> Run | None:
        """Code for inputs of kinds that had none yet; None where the plan does them."""
        if len(self.found) >= KINDS:
            return None
        found = None
        held = {k: one for k, one in zip(self.open, kinds, strict=True) if isinstance(one, Holder)}
        if None in kinds:
            k = self.open[kinds.index(None)]
            odd = f"{self.named(k)} is {_in_words(args[k])}"
            self.reason = self.reason or odd
        elif held or self.reads_outside:
            found = self.by_fields(kinds, held)
        else:
            found = self.tried(kinds, args)
        self.found[kinds] = found
        return found

    def tried(self, kinds: tuple[Kind, ...], args: Sequence[Any]) -> Run | None:
        """Code for inputs like these, if there can be any."""
        known = [p.type for p in self.graph.params]
        for k in self.open:
            known[k] = shown_type(args[k])
        try:
            graph, guards = retyped(self.graph, known)
            checks = [check(guard) for guard in guards]
            graph = optimise(graph).graph
            native = self.compile(graph, self.plan, lambda again: self.other(kinds, again))
        except Unlowered as reason:
            self.reason = reason.text()
        except AutographError as reason:
            self.reason = str(reason.what)
        except Exception as problem:  # a mistake of ours: the plan does it right, only slower
            self.reason = survived("code for the types of a part failed", problem)
        else:
            self.made.append(", ".join(str(known[k]) for k in self.open))
            return self.checked(native, checks) if checks else native
        return None

    def by_fields(self, kinds: tuple[Kind, ...], held: dict[int, Holder]) -> Run | None:
        """Code on what the objects among the inputs hold; None where the part does more with them."""
        inside = packed(self.graph, held) if self.by_keys else opened(self.graph, held)
        if inside is None:
            of = [self.graph.params[k].name for k in held]
            names = [f"a {one.cls.__name__}" for one in held.values()]
            named = " or ".join(f"{name!r}, {a}," if name else a for name, a in zip(of, names, strict=True))
            what = "more than reading and writing what it holds"
            self.reason = self.reason or f"{named or 'what is read outside'} is used for {what}"
            return None

        def left() -> None:
            self.found[kinds], self.run = None, self.look

        part = self.inner[kinds] = Site(inside.graph, self.node, lambda: given_up, self.compile, left)
        return inside.around(part, self.plan, self.look, bool(part.open))

    def named(self, k: int) -> str:
        """An input, in the user's words."""
        name = self.graph.params[k].name
        return repr(name) if name else "a value"

    def other(self, kinds: tuple[Kind, ...], args: Sequence[Any]) -> Run | None:
        """What does a part with inputs that the code for these kinds does not take, if they are of others."""
        return None if self.kinds(args) == kinds else self.look

    def checked(self, native: Run, checks: Sequence[tuple[Any, Any, Any, Any]]) -> Run:
        """The code, after a look whether names still mean what it takes them for."""

        def run(*args: Any) -> Any:
            for read, of, name, value in checks:
                if read(of, name) is not value:
                    return self.plan()(*args)
            return native(*args)

        return run

    def close(self) -> None:
        """Leave it to the plan for good."""
        self.shut = True
        self.run = self.plan()
        self.given_up()


def promising(graph: Graph) -> bool:
    """Whether a part may become native, once types are known of which nothing is known yet."""
    if not any(open_type(p.type) for p in lifted(graph).graph.params):  # names are read before it
        return False
    held = _holders(graph)
    inside = opened(graph, held)
    if inside is None and any(one.cls is not dict and one is not _GROWS for one in held.values()):
        return False
    if not all(open_type(p.type) or not isinstance(p.type, ObjectType) for p in graph.params):
        return False
    while inside is not None:
        graph = inside.graph
        held = _holders(graph)  # objects that lists and other objects hold
        inside = opened(graph, held) if held else None
    return all(map(_possible, _reached(graph)))


def _holders(graph: Graph) -> dict[int, Holder]:
    """The inputs that are known to be objects, dicts or lists."""
    lists = appended(graph)
    return {
        k: _GROWS if k in lists else Holder(p.type.cls, MANY)
        for k, p in enumerate(graph.params)
        if isinstance(p.type, ObjectType) and p.type.cls is not None and may_hold(p.type.cls)
    }


def numeric(graph: Graph) -> bool:
    """Whether a part computes with floats, or does with values of which nothing is known what is hardly ever
    done but with numbers."""
    return any(
        (node.op in _ARITHMETIC and any(open_type(x.type) or x.type == WEAK_FLOAT for x in node.inputs))
        or (node.op in ("add", "iadd") and any(x.type == WEAK_FLOAT for x in node.inputs))
        for node in _reached(graph)
    )


def _reached(graph: Graph) -> Iterator[Node]:
    """The nodes of a graph and its regions that do not lead to an error alone; not those that make dicts of
    which nothing is left once it is known what they hold."""
    for node in graph.nodes:
        if not (node.op == "py.dict" and _looked_into(graph, node.outputs[0])):
            yield node
        for region in node.regions:
            if not region.diverges:
                yield from _reached(region)


def _looked_into(graph: Graph, x: Value) -> bool:
    """Whether a value is not put into others, nor given away."""
    holding = ("py.tuple", "py.list", "py.call")
    return x not in graph.results and not any(
        n.op in holding or (n.op == "setitem" and k == 2) for n, k in users(graph, x)
    )


def _possible(node: Node) -> bool:
    """Whether native code might do a node, if it knew the types."""
    if node.op in _NEVER or node.attr("starred"):
        return False
    target = node.inputs[0] if node.op == "py.call" else None
    if not isinstance(target, Const):
        return True
    called = target.value
    if isinstance(called, type):
        return called in _CLASSES or issubclass(called, BaseException)
    if streams.owner(called) is not None:
        return True
    return isinstance(called, (types.BuiltinFunctionType, np.ufunc)) and called not in (print, input, open)


_NEVER = frozenset("py.setattr py.delattr py.delitem py.dict py.set py.function py.check try call".split())
_ARITHMETIC = frozenset("sub mul truediv pow neg abs isub imul itruediv ipow matmul".split())
_CLASSES = frozenset(
    {range, enumerate, zip, reversed, slice, bool, int, float, complex, list, tuple, np.errstate}
)


def open_type(t: Type) -> bool:
    """Whether nothing is known of values of a type, or that they are streams, or objects to be opened."""
    known = t.cls if isinstance(t, ObjectType) else None
    return t == ObjectType() or known is not None and (may_hold(known) or streams.fixed(known))


def kind(x: Any, by_keys: bool = False) -> Kind:
    """What code is made for: the class of a value, of an array what its elements and axes are, of an object
    what holds its fields (by_keys: with the keys of a dict); None for what can't have any."""
    cls = type(x)
    if cls is np.ndarray:
        return (x.dtype.num, x.ndim) if supported(x.dtype) else None
    if cls is float or cls is int or cls is bool or cls is complex:
        return cls
    if streams.fixed(cls):
        return cls
    if issubclass(cls, np.generic):
        return cls if cls.__module__ == "numpy" and supported(x.dtype) else None
    return holder(x, by_keys)


def _in_words(x: Any) -> str:
    """What a value is of which there is no kind, in the user's words."""
    if isinstance(x, (types.FunctionType, types.MethodType, types.BuiltinFunctionType)):
        return f"a {'function' if isinstance(x, types.FunctionType) else 'method'} that Python calls"
    what = "None" if x is None else f"a {type(x).__name__}"
    what = f"an array of dtype {x.dtype}" if type(x) is np.ndarray else what
    return f"{what}, no number or array of numbers"


def shown_type(x: Any) -> Type:
    """The type of a value of which the kind is known; sizes of arrays are not."""
    if type(x) is np.ndarray:
        return ArrayType(x.dtype, (None,) * x.ndim)
    if streams.fixed(type(x)):
        return ObjectType(type(x))
    return ArrayType(x.dtype, (), scalar=True) if isinstance(x, np.generic) else WEAK_OF[type(x)]


def _global(space: dict[str, Any], name: str) -> Any:
    return space[name] if name in space else BUILTINS.get(name)


def check(guard: Guard) -> tuple[Callable[[Any, str], Any], Any, str, Any]:
    """How to see whether a name means what it did: what reads it, of what, the name, what it must be."""
    root, steps = guard.path.root, guard.path.steps
    if isinstance(root, int) or len(steps) != 1 or not isinstance(guard.expect, StaticType):
        raise Unlowered(f"it relies on {guard.text}")
    ((how, name),) = steps
    if how not in ("global", "attr"):
        raise Unlowered(f"it relies on {guard.text}")
    return _global if how == "global" else _attribute, root[0], name, guard.expect.value


def _attribute(holder: Any, name: str) -> Any:
    return getattr(holder, name, None)
