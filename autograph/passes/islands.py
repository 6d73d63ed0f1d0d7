"""Statements that can't be converted stay as they are written, in a function of their own: an island.

In: the user's tree.  Out: each statement that holds such a construct, or that stands too deep, is the body
of an `Opaque` function, called by `ag.python` where it stood.  Names that it binds are `nonlocal` there.
A jump that leaves the statement is a return of what kind of jump it is, which is taken behind the call.
"""

from __future__ import annotations

from typing import Any

import gast

from autograph.analysis.captures import Captures
from autograph.analysis.scopes import (
    CAPTURES,
    COMPREHENSIONS,
    FUNCTIONS,
    captured,
    import_names,
    outer_parts,
    scopes,
)
from autograph.passes.cells import used_up
from autograph.passes.context import Island, Work
from autograph.passes.exits import JUMPS, LOOPS, leaves, leaving
from autograph.passes.opaque import is_generator
from autograph.passes.walk import functions, suites
from autograph.template import Opaque, assign, branch, constant, function, load, locate, tuple_of
from autograph.trees import children, walk
from runtime.computed import computed

# What `reason` may have to say something of.
DOUBTFUL = frozenset("Try TryStar TypeAlias comprehension FunctionDef AsyncFunctionDef Lambda".split())
KINDS: dict[type, str] = {gast.Return: "return", gast.Break: "break", gast.Continue: "continue"}


def islands(root: gast.FunctionDef, work: Work) -> gast.FunctionDef:
    """Make islands of what can't be converted, in every function of the tree."""
    capturing = capturing_comprehensions(root, work)
    doubtful = not work.kinds.isdisjoint(DOUBTFUL)
    yields = not work.kinds.isdisjoint(["Yield", "YieldFrom"])
    for inner in list(functions(root)):
        if not (yields and is_generator(inner)):
            maker = _Islands(work, inner, capturing, doubtful)
            inner.body = maker.suite(inner.body, 1)
    return root


def capturing_comprehensions(root: gast.FunctionDef, work: Work) -> set[gast.AST]:
    """The comprehensions whose targets are captured by functions that may live on."""
    if "Lambda" not in work.kinds:
        return set()
    if not any(isinstance(part, gast.Lambda) for node in walk(root) if isinstance(node, COMPREHENSIONS)
               for part in walk(node)):  # fmt: skip
        return set()
    table = scopes(root)
    captures = Captures(table, used_up(root, work))
    made = [scope for scope in table.values() if scope.is_comprehension]
    return {scope.node for scope in made if captures.inner(scope) & scope.bound.keys()}


def reason(node: Any) -> str:
    """Why a node can't be converted; an empty text for all others."""
    kind = type(node).__name__
    if kind == "TryStar":
        return "except* is not converted"
    if kind == "TypeAlias":
        return "a type statement is not converted"
    if kind == "Try":
        jumps = [jump for jump in leaving(node.finalbody) if not isinstance(jump, gast.Return)]
        return f"a {KINDS[type(jumps[0])]} that leaves a finally is not converted" if jumps else ""
    if isinstance(node, FUNCTIONS) and getattr(node, "type_params", None):
        return "type parameters of an inner function are not converted"
    if isinstance(node, gast.comprehension):
        parts = any(isinstance(part, (gast.Attribute, gast.Subscript)) for part in walk(node.target))
        return "a comprehension over an attribute or item is not converted" if parts else ""
    return ""


class _Islands:
    """Works on the suites of one function.  doubtful: whether there is anything that may have to stay."""

    def __init__(self, work: Work, owner: gast.FunctionDef, capturing: set[gast.AST], doubtful: bool) -> None:
        self.work, self.owner, self.capturing, self.doubtful = work, owner, capturing, doubtful

    @computed
    def declared(self) -> dict[type, set[str]]:
        """The names that the function declares global or nonlocal."""
        every = own_nodes(self.owner.body)
        return {
            kind: {name for node in every if isinstance(node, kind) for name in node.names}
            for kind in (gast.Global, gast.Nonlocal)
        }

    def suite(self, stmts: list[Any], level: int) -> list[Any]:
        done: list[Any] = []
        for number, stmt in enumerate(stmts):
            if level >= self.work.deepest and not isinstance(stmt, gast.FunctionDef):
                why = "the function is nested too deeply to be converted whole"
                return [*done, *self.island(stmts[number:], why)]
            why = self.why(stmt)
            if why:
                done += self.island([stmt], why)
                continue
            if not isinstance(stmt, (*FUNCTIONS, gast.ClassDef)):
                for node, field in suites(stmt):
                    setattr(node, field, self.suite(getattr(node, field), level + 1))
            done.append(stmt)
            if isinstance(stmt, gast.If) and leaving([stmt]):
                level += 1  # what follows will stand in the other branch
        return done

    def why(self, stmt: Any) -> str:
        """Why the statement itself must stay as it is, whatever its suites hold."""
        if not self.doubtful:
            return ""
        found = reason(stmt)
        inner = {id(part) for node, field in suites(stmt) for part in getattr(node, field)}
        todo = [] if isinstance(stmt, (*FUNCTIONS, gast.ClassDef)) else children(stmt)
        while todo and not found:
            node = todo.pop()
            if id(node) not in inner:
                found = reason(node)
                if node in self.capturing:
                    found = "a comprehension whose target is captured by functions is not converted"
                todo += children(node)
        return found

    def island(self, stmts: list[Any], why: str) -> list[Any]:
        """The function, its call, and the jumps that it asks for."""
        name = self.work.fresh("island")
        jumps = list(dict.fromkeys(type(jump) for jump in leaving(stmts)))
        bound = self.bound(stmts)
        ends = jumps == [gast.Return] and any(map(leaves, stmts))
        copied = ends or not jumps
        body = list(map(self.work.clone, stmts)) if copied else _Jumps(self.work).suite(stmts, 0)
        start: list[gast.AST] = []
        for kind, names in ((gast.Global, bound & self.declared[gast.Global]),
                            (gast.Nonlocal, bound - self.declared[gast.Global])):  # fmt: skip
            if names:
                start.append(kind(names=sorted(names)))
        made = function(name, (), [*start, *body])
        made.__class__ = Opaque
        last = getattr(stmts[-1], "end_lineno", None) or stmts[-1].lineno
        self.work.islands[made] = Island(stmts[0].lineno, last, why)
        called = self.work.ag("python", load(name), constant(why))
        if ends or not jumps:
            kind = gast.Return if ends else gast.Expr
            return [locate(made, stmts[0]), locate(kind(value=called), stmts[0])]
        left = self.work.fresh("island_left")
        after: list[gast.AST] = []
        for jump in reversed(jumps):
            taken = gast.Return(value=_item(left, 1)) if jump is gast.Return else jump()
            test = gast.Compare(left=_item(left, 0), ops=[gast.Eq()], comparators=[constant(KINDS[jump])])
            after = [taken] if not after and len(jumps) == 1 else [branch(test, [taken], after)]
        asked = gast.Compare(left=load(left), ops=[gast.IsNot()], comparators=[constant(None)])
        return [locate(part, stmts[0]) for part in (made, assign(left, called), branch(asked, after))]

    def bound(self, stmts: list[Any]) -> set[str]:
        """The names of the function that the statements bind, but for exceptions that only they name."""
        found: set[str] = set()
        for node in own_nodes(stmts):
            if isinstance(node, gast.Name) and not isinstance(node.ctx, gast.Load):
                found.add(node.id)
            elif isinstance(node, (*FUNCTIONS, gast.ClassDef)) and not isinstance(node, gast.Lambda):
                found.add(node.name)
            elif isinstance(node, CAPTURES):
                found.update(captured(node))
            elif isinstance(node, (gast.Import, gast.ImportFrom)):
                found.update(import_names(node))
        return found - self.of_handlers(stmts)

    def of_handlers(self, stmts: list[Any]) -> set[str]:
        """Names that occur in the whole tree only where a handler in the statements has bound them."""
        names: dict[str, int] = {}
        for stmt in stmts:
            for node in walk(stmt):
                if isinstance(node, gast.ExceptHandler) and node.name is not None:
                    inside = sum(_uses(part, node.name.id) for part in node.body)
                    names[node.name.id] = names.get(node.name.id, 0) + 1 + inside
        return {name for name, count in names.items() if _uses(self.work.root, name) == count}


def own_nodes(stmts: list[Any]) -> list[Any]:
    """The nodes of a function's own scope; of a comprehension only its walruses are."""
    found: list[Any] = []
    todo: list[tuple[Any, bool]] = [(stmt, False) for stmt in reversed(stmts)]
    while todo:
        node, compared = todo.pop()
        if isinstance(node, gast.NamedExpr) and compared:
            found.append(node.target)
        if not compared:
            found.append(node)
        if isinstance(node, FUNCTIONS):
            todo += [(part, compared) for part in outer_parts(node)]
            continue
        if isinstance(node, gast.ClassDef):
            outside = (*node.decorator_list, *node.bases, *node.keywords)
            todo += [(part, compared) for part in outside]
            continue
        compared = compared or isinstance(node, COMPREHENSIONS)
        todo += [(part, compared) for part in reversed(children(node))]
    return found


def _uses(node: gast.AST, name: str) -> int:
    return sum(isinstance(part, gast.Name) and part.id == name for part in walk(node))


def _item(name: str, index: int) -> gast.Subscript:
    return gast.Subscript(value=load(name), slice=constant(index), ctx=gast.Load())


class _Jumps:
    """Copies statements with the jumps that leave them as returns of their kind."""

    def __init__(self, work: Work) -> None:
        self.work = work

    def suite(self, stmts: list[Any], loops: int) -> list[Any]:
        done = []
        for stmt in stmts:
            made = self.work.clone(stmt) if not isinstance(stmt, JUMPS) else self.jump(stmt, loops)
            if not isinstance(stmt, (*FUNCTIONS, gast.ClassDef)):
                for (node, field), (copy, _) in zip(suites(stmt), suites(made), strict=False):
                    deeper = loops + (isinstance(stmt, LOOPS) and field == "body")
                    setattr(copy, field, self.suite(getattr(node, field), deeper))
            done.append(made)
        return done

    def jump(self, stmt: Any, loops: int) -> Any:
        if not isinstance(stmt, gast.Return) and loops:
            return self.work.clone(stmt)
        value = self.work.clone(stmt.value) if getattr(stmt, "value", None) is not None else constant(None)
        return locate(gast.Return(value=tuple_of([constant(KINDS[type(stmt)]), value])), stmt)
