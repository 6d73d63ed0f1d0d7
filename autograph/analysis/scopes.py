"""Who owns a name: the functions, lambdas and comprehensions of a tree as Python's scopes.

In: the tree of one function.  Out: a table from each function-like node to its `Scope`.  A
comprehension is a scope of its own whose first iterable belongs to the scope around it; a walrus in
one binds in the function around it, as in Python.  The tree is not changed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator

import gast

from autograph.trees import children
from runtime.dataclass import dataclass

COMPREHENSIONS = (gast.ListComp, gast.SetComp, gast.DictComp, gast.GeneratorExp)
FUNCTIONS = (gast.FunctionDef, gast.AsyncFunctionDef, gast.Lambda)
SCOPES = (*FUNCTIONS, *COMPREHENSIONS)
CAPTURES: tuple[type, ...] = (gast.MatchAs, gast.MatchStar, gast.MatchMapping)
# Kinds of nodes that are no more than their parts, whatever is asked of names: most nodes are of these.
PLAIN = frozenset(
    (
        gast.Attribute,
        gast.BinOp,
        gast.Call,
        gast.Constant,
        gast.Expr,
        gast.Subscript,
        gast.Tuple,
        gast.UnaryOp,
    )
)


@dataclass(eq=False)
class Scope:
    """One function-like node.

    params, bound: its parameters, and all names it binds (in order of first binding).
    reads: names read in it directly.  outside: names declared global; shared: declared nonlocal.
    rebound: names that a nonlocal or global declaration makes it bind somewhere else.
    defs: name -> the `def` statements that bind it here.
    """

    node: gast.AST
    parent: Scope | None
    params: list[str] = dataclasses.field(default_factory=list)
    bound: dict[str, int] = dataclasses.field(default_factory=dict)
    reads: set[str] = dataclasses.field(default_factory=set)
    outside: set[str] = dataclasses.field(default_factory=set)
    shared: set[str] = dataclasses.field(default_factory=set)
    rebound: set[str] = dataclasses.field(default_factory=set)
    deleted: set[str] = dataclasses.field(default_factory=set)
    defs: dict[str, list[gast.AST]] = dataclasses.field(default_factory=dict)
    children: list[Scope] = dataclasses.field(default_factory=list)
    free: frozenset[str] = frozenset()

    @property
    def is_comprehension(self) -> bool:
        """Whether the scope is a comprehension's, not a function's."""
        return isinstance(self.node, COMPREHENSIONS)

    def function(self) -> Scope:
        """The function-like scope that a walrus written here binds in."""
        scope = self
        while scope.is_comprehension and scope.parent is not None:
            scope = scope.parent
        return scope

    def owner(self, name: str) -> Scope | None:
        """The scope whose variable the name is, used here; None when it comes from outside the tree."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.outside:
                return None
            if name in scope.bound:
                return scope
            scope = scope.parent
        return None

    def walk(self) -> Iterator[Scope]:
        """This scope and all inside it, outer ones first."""
        todo = [self]
        while todo:
            scope = todo.pop()
            yield scope
            todo.extend(reversed(scope.children))


def scopes(root: gast.AST, islands: Collection[gast.AST] = ()) -> dict[gast.AST, Scope]:
    """Every function-like node in `root` (itself one) with its scope.

    islands: functions whose `nonlocal` names are bound in the function around them, if nowhere else."""
    builder = _Builder(islands)
    builder.function(root, None)
    for scope in reversed(list(builder.table[root].walk())):
        used = set(scope.reads) | scope.rebound
        for child in scope.children:
            used |= child.free
        scope.free = frozenset(used - scope.bound.keys())
    return builder.table


def first_iterable(node: gast.AST) -> gast.AST:
    """The part of a comprehension that is evaluated in the scope around it."""
    return node.generators[0].iter


def outer_parts(node: gast.AST) -> list[gast.AST]:
    """What of a function-like node is evaluated where it stands.

    Decorators, defaults and annotations, or the first iterable."""
    if isinstance(node, COMPREHENSIONS):
        return [first_iterable(node)]
    args = node.args
    parts = [*getattr(node, "decorator_list", ()), *args.defaults, *args.kw_defaults]
    if not isinstance(node, gast.Lambda):
        parts += [*(param.annotation for param in parameter_nodes(args)), node.returns]
    return [part for part in parts if part is not None]


def inner_parts(node: gast.AST) -> list[gast.AST]:
    """What of a function-like node belongs to its own scope."""
    if not isinstance(node, COMPREHENSIONS):
        return list(node.body) if isinstance(node.body, list) else [node.body]
    parts: list[gast.AST] = []
    for number, clause in enumerate(node.generators):
        parts += [clause.target, *([clause.iter] if number else []), *clause.ifs]
    return [*parts, node.key, node.value] if isinstance(node, gast.DictComp) else [*parts, node.elt]


def parameter_nodes(args: gast.arguments) -> list[gast.Name]:
    """The parameters in the order of a signature."""
    found = [*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg]
    return [param for param in found if param is not None]


def captured(pattern: gast.AST) -> tuple[str, ...]:
    """The name, if any, that a pattern of a `match` binds by itself."""
    name = getattr(pattern, "rest" if isinstance(pattern, gast.MatchMapping) else "name")
    return () if name is None else (name,)


def import_names(node: gast.AST) -> list[str]:
    """The local names that an import statement binds."""
    return [alias.asname or alias.name.split(".")[0] for alias in node.names]


class _Builder:
    """One walk over the tree; `table` is the result."""

    def __init__(self, islands: Collection[gast.AST]) -> None:
        self.table: dict[gast.AST, Scope] = {}
        self.islands = islands

    def function(self, node: gast.AST, parent: Scope | None) -> None:
        scope = self.table[node] = Scope(node, parent)
        if parent is not None:
            parent.children.append(scope)
            for part in outer_parts(node):
                self.visit(part, parent)
        if not scope.is_comprehension:
            scope.params = [param.id for param in parameter_nodes(node.args)]
            scope.bound = dict.fromkeys(scope.params, 1)
        for part in inner_parts(node):
            self.visit(part, scope)
        for name in scope.outside | scope.shared:
            if scope.bound.pop(name, None) is not None:
                scope.rebound.add(name)
        if node in self.islands and parent is not None:
            for name in sorted(scope.rebound & scope.shared - parent.shared):
                parent.bound.setdefault(name, 1)

    def bind(self, name: str, scope: Scope) -> None:
        scope.bound[name] = scope.bound.get(name, 0) + 1

    def visit(self, node: gast.AST, scope: Scope) -> None:
        kind = type(node)
        if kind is gast.Name:
            self.name(node, scope)
            return
        if kind in PLAIN:
            for child in children(node):
                self.visit(child, scope)
            return
        if isinstance(node, SCOPES):
            self.function(node, scope)
            if not isinstance(node, (gast.Lambda, *COMPREHENSIONS)):
                self.bind(node.name, scope)
                scope.defs.setdefault(node.name, []).append(node)
            return
        if isinstance(node, gast.ClassDef):
            self.class_(node, scope)
        elif isinstance(node, (gast.Import, gast.ImportFrom)):
            for name in import_names(node):
                self.bind(name, scope)
        elif isinstance(node, gast.Global):
            scope.outside.update(node.names)
        elif isinstance(node, gast.Nonlocal):
            scope.shared.update(node.names)
        elif isinstance(node, gast.NamedExpr):
            self.visit(node.value, scope)
            self.bind(node.target.id, scope.function())
        else:
            if isinstance(node, gast.AugAssign) and isinstance(node.target, gast.Name):
                scope.reads.add(node.target.id)
            for name in captured(node) if kind in CAPTURES else ():
                self.bind(name, scope)
            for child in children(node):
                self.visit(child, scope)

    def class_(self, node: gast.ClassDef, scope: Scope) -> None:
        """A class statement: its body binds nothing that functions in it could see."""
        for part in (*node.decorator_list, *node.bases, *(k.value for k in node.keywords)):
            self.visit(part, scope)
        self.bind(node.name, scope)
        todo: list[gast.AST] = list(node.body)
        while todo:
            part = todo.pop()
            if isinstance(part, SCOPES):
                self.function(part, scope)
            elif isinstance(part, gast.Name):
                scope.reads.add(part.id)
            else:
                todo += children(part)

    def name(self, node: gast.Name, scope: Scope) -> None:
        if isinstance(node.ctx, gast.Load):
            scope.reads.add(node.id)
        else:
            self.bind(node.id, scope)
            if isinstance(node.ctx, gast.Del):
                scope.deleted.add(node.id)
