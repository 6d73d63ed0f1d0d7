"""What the passes share while they convert one function: `Context` comes in, `Work` lives meanwhile.

`Context` says how the function's outer names resolve and what the namespace of the operators is
called.  `Work` holds the tables that one pass leaves for a later one, always keyed by node; nothing is
ever written on a node.  `Conversion` is the result.
"""

from __future__ import annotations

import builtins
import dataclasses
import types
from collections.abc import Callable
from typing import NoReturn

import gast
import numpy as np

from autograph.analysis.scopes import FUNCTIONS, PLAIN
from autograph.names import Names, names_in
from autograph.template import attribute, call, clone, load
from autograph.trees import walk
from runtime.dataclass import dataclass
from runtime.errors import ConversionRefused, Span
from runtime.trace.trust import calls_python


@dataclass(frozen=True)
class Context:
    """What conversion may know of the function's surroundings.

    resolve: the present value of a global, free or builtin name; `missing` when it has none.
    missing: the object that `resolve` returns for a name without a value.
    file: the user's file, for messages.
    ag: the name under which the operators are reached in generated code.
    names: gives out the names of helpers; it learns the names that occur in the function.
    rebound: captured names that other functions may rebind while this one runs.
    careful: whether items may be read of tuples and texts by traced indices, `%` taken of any text, and
        NumPy's functions called with known values of which they warn.
    """

    resolve: Callable[[str], object]
    missing: object
    file: str
    ag: str = "ag"
    names: Names = dataclasses.field(default_factory=Names)
    rebound: frozenset[str] = frozenset()
    careful: bool = False


@dataclass(frozen=True)
class Conversion:
    """A converted function: its tree, and the free names whose cells must hold a `Cell`-like box."""

    node: gast.FunctionDef
    boxed_free: frozenset[str]
    islands: tuple[Island, ...] = ()


@dataclass(frozen=True)
class Island:
    """Lines that stay as they are written, and why."""

    first: int
    last: int
    why: str


class Work:
    """The state of one conversion.

    loop_tests: for-loop -> expression that must hold before the next item is pulled.
    loop_exits: `break` that was made for a `return` -> the flag that is set already.
    tests: expressions of which only the truth matters.
    loop_ends: loop with a `return` -> the `if` that must follow it.
    break_flags: loop with a `break` inside a `try` -> the flag that says it was taken.
    guard_exits: `break` that ends a part of a `try` or `with` -> the flag that is set already.
    pending_returns: functions in which code runs between a `return` and its end.
    flags: names that jumps have put in; after an exception they hold what they held before the `try`.
    declared: function -> names local to it in the user's text, even where all their bindings are gone.
    return_flags: function -> the names of its flag and of the value to be returned.
    inner: the user's inner functions and lambdas, and comprehensions that are functions of their own.
    kinds: of nodes that the user's function has inside, by name.
    islands: opaque functions that are called once, where they stand.
    makers: opaque functions that make what is defined in them, called where the definition stood.
    deepest: how many statements may stand in one another before the inner ones become an island.
    boxes: names of boxes; direct: inner functions that may be called as written.
    """

    def __init__(self, ctx: Context, root: gast.FunctionDef) -> None:
        self.ctx = ctx
        self.root = root
        ctx.names.add(ctx.ag, *names_in(root))
        self.loop_tests: dict[gast.AST, gast.AST] = {}
        self.loop_exits: dict[gast.AST, str] = {}
        self.tests: set[gast.AST] = set()
        self.loop_ends: dict[gast.AST, gast.AST] = {}
        self.break_flags: dict[gast.AST, str] = {}
        self.guard_exits: dict[gast.AST, str] = {}
        self.flags: set[str] = set()
        self.pending_returns: set[gast.AST] = set()
        self.return_flags: dict[gast.AST, tuple[str, str]] = {}
        self.declared: dict[gast.AST, frozenset[str]] = {}
        self.boxes: set[str] = set()
        self.direct: frozenset[str] = frozenset()
        self.boxed_free: frozenset[str] = frozenset()
        self.in_use: list[str] = []
        self.islands: dict[gast.AST, Island] = {}
        self.makers: set[gast.AST] = set()
        self.deepest = 1000
        self.bound_names = bound_names(root)
        inside = [part for part in walk(root) if part is not root]
        self.inner = {part for part in inside if isinstance(part, FUNCTIONS)}
        self.kinds = frozenset(kind.__name__ for kind in set(map(type, inside)))

    def clone(self, node: gast.AST) -> gast.AST:
        """A copy of a tree; functions in it are the user's where those copied are."""
        made: gast.AST = clone(node)
        if not self.inner.isdisjoint(walk(node)):
            self.inner.update(
                two for one, two in zip(walk(node), walk(made), strict=True) if one in self.inner
            )
        return made

    def ag(self, operator: str, *args: gast.AST, **keywords: gast.AST) -> gast.Call:
        """A call of an operator."""
        return call(attribute(load(self.ctx.ag), operator), *args, **keywords)

    def is_operator(self, node: gast.AST, operator: str) -> bool:
        """Whether the node is a call of this operator, made by an earlier pass."""
        func = getattr(node, "func", None)
        if not isinstance(func, gast.Attribute) or not isinstance(func.value, gast.Name):
            return False
        mine = func.attr == operator and func.value.id == self.ctx.ag
        return mine and self.ctx.ag not in self.bound_names

    def spreads(self, parts: list[gast.AST]) -> bool:
        """Whether a star among the parts may stand for a number of items that is known only at run time."""
        stars = [part.value for part in parts if isinstance(part, gast.Starred)]
        return any(self.is_operator(value, name) for value in stars for name in ("unpack", "spread"))

    def fresh(self, base: str) -> str:
        """A name that occurs nowhere in the function yet; it stays taken."""
        return self.ctx.names.fresh(base)

    def nested(self, base: str) -> str:
        """A name no user name and no enclosing helper has; siblings share it.  Undone by `leave`."""
        name, number = base, 1
        while name in self.ctx.names or name in self.in_use:
            number += 1
            name = f"{base}_{number}"
        self.in_use.append(name)
        return name

    def leave(self, count: int = 1) -> None:
        """The construct that took its last `count` nested names is over."""
        del self.in_use[len(self.in_use) - count :]

    def builtin(self, name: str) -> object:
        """The builtin that the name stands for here, or None."""
        value = None if name in self.bound_names else self.ctx.resolve(name)
        return value if value is not None and value is getattr(builtins, name, None) else None

    def resolved(self, node: gast.AST) -> object:
        """The present value of a global name or of what a module holds; `ctx.missing` for all else.

        No code of the module is run: what it makes when it is asked is made when the function runs."""
        if isinstance(node, gast.Name):
            return self.ctx.missing if node.id in self.bound_names else self.ctx.resolve(node.id)
        if isinstance(node, gast.Attribute):
            base = self.resolved(node.value)
            if type(base) is types.ModuleType:
                return vars(base).get(node.attr, self.ctx.missing)
        return self.ctx.missing

    def is_numpy(self, node: gast.AST) -> bool:
        """Whether the callee is a function of NumPy by its present value."""
        value = self.resolved(node)
        if isinstance(value, np.ufunc):
            return not calls_python(value)
        module = getattr(value, "__module__", None) if callable(value) else None
        return isinstance(module, str) and module.partition(".")[0] == "numpy"

    def span(self, node: gast.AST) -> Span:
        """Where the node stands in the user's file."""
        return Span(self.ctx.file, getattr(node, "lineno", 1), getattr(node, "col_offset", 0), self.root.name)

    def refuse(self, node: gast.AST, what: str, why: str, fix: str = "") -> NoReturn:
        """Give up on the whole function because of this node."""
        raise ConversionRefused(what, span=self.span(node), why=why, fix=fix)


def bound_names(root: gast.AST) -> set[str]:
    """All names that are bound anywhere in the tree, parameters of inner functions too."""
    found: set[str] = set()
    for node in walk(root):
        kind = type(node)
        if kind is gast.Name:
            if type(node.ctx) is not gast.Load:
                found.add(node.id)
        elif kind in PLAIN:
            continue
        elif isinstance(node, (gast.FunctionDef, gast.ClassDef)) and node is not root:
            found.add(node.name)
        elif isinstance(node, (gast.MatchAs, gast.MatchStar)) and node.name is not None:
            found.add(node.name)
        elif isinstance(node, gast.MatchMapping) and node.rest is not None:
            found.add(node.rest)
        elif isinstance(node, gast.alias):
            found.add((node.asname or node.name).split(".")[0])
    return found
