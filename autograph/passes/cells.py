"""Names that inner functions share and that are bound again become boxes: `ag.Cell`.

In: the user's functions.  Out: the same meaning without `nonlocal` and without rebinding of captured
names: `total = ag.Cell('total')` at the start, `total.value` for each read and write.  Names bound by
a walrus where it may not run at once (in a comprehension, behind `and`), deleted names, and names
declared `global` and rebound are boxes too.  Free names of the whole function that it rebinds are
reported in `work.boxed_free`: their cells must hold boxes.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import gast

from autograph.analysis.captures import Captures
from autograph.analysis.scopes import (
    CAPTURES,
    COMPREHENSIONS,
    FUNCTIONS,
    SCOPES,
    Scope,
    captured,
    import_names,
    inner_parts,
    outer_parts,
    parameter_nodes,
    scopes,
)
from autograph.passes.context import Work
from autograph.passes.desugar import after_docstring
from autograph.passes.walk import Rewriter
from autograph.template import (
    Opaque,
    assign,
    attribute,
    call,
    constant,
    expression,
    lambda_,
    load,
    locate,
    store,
)
from autograph.trees import children, walk

CONSUMERS = {sum, any, all, min, max, list, tuple, set, dict, frozenset, sorted, len, next}
STREAMS = {map, filter, zip, enumerate, reversed, iter}
Boxes = dict[tuple[Scope, str], str]


def cells(root: gast.FunctionDef, work: Work) -> gast.FunctionDef:
    """Box the shared names of every scope in the tree."""
    table = scopes(root, work.islands)
    captures = Captures(table, used_up(root, work) | work.islands.keys(), work.islands)
    boxes: Boxes = {}
    free: set[str] = set(work.ctx.rebound)
    wanted: dict[Scope, set[str]] = {scope: set() for scope in table.values() if not is_closed(scope)}
    for scope in table.values():
        if is_closed(scope):
            for name in scope.rebound & scope.shared:
                owner = scope.parent.owner(name) if scope.parent is not None else None
                if owner is None:
                    free.add(name)
                elif owner in wanted:
                    wanted[owner].add(name)
            continue
        if scope.is_comprehension:
            _check_targets(scope, captures, work)
        else:
            wanted[scope] |= captures.boxed(scope)
        for name in scope.rebound:
            owner = scope.parent.owner(name) if name in scope.shared and scope.parent is not None else None
            if name in scope.outside:
                wanted[scope].add(name)
            elif owner is None:
                free.add(name)
            else:
                wanted[owner].add(name)
    for scope, name in late_walruses(root, table):
        owner = scope.owner(name)
        if owner is not None and owner in wanted:
            wanted[owner].add(name)
    kept = {name for scope in table.values() for name in scope.defs} | imported(root)
    for scope, names in wanted.items():
        for name in sorted(names):
            boxes[scope, name] = work.fresh(f"{name}_cell") if name in kept else name
    work.boxes |= set(boxes.values()) | free
    work.boxed_free = frozenset(free)
    work.direct = direct_functions(table, boxes)
    boxer = Boxer(work, table, boxes, work.boxed_free)
    boxer.inside(root)
    return root


def is_closed(scope: Scope) -> bool:
    """Whether the scope is that of an opaque function, or inside one."""
    at: Scope | None = scope
    while at is not None:
        if isinstance(at.node, Opaque):
            return True
        at = at.parent
    return False


def used_up(root: gast.AST, work: Work) -> set[gast.AST]:
    """Generator expressions and lambdas that are used and forgotten by the call they are handed to."""
    found: set[gast.AST] = set()

    def consumed(arg: gast.AST) -> None:
        if isinstance(arg, (gast.GeneratorExp, gast.Lambda)):
            found.add(arg)
        elif (
            isinstance(arg, gast.Call)
            and isinstance(arg.func, gast.Name)
            and work.builtin(arg.func.id) in STREAMS
        ):
            for part in arg.args:
                consumed(part)

    for node in walk(root):
        if not isinstance(node, gast.Call):
            continue
        func = node.func
        if isinstance(func, gast.Lambda):
            found.add(func)
        joins = isinstance(func, gast.Attribute) and func.attr == "join"
        sorts = isinstance(func, gast.Attribute) and func.attr == "sort"
        if joins or isinstance(func, gast.Name) and work.builtin(func.id) in CONSUMERS:
            for arg in node.args:
                if not isinstance(arg, gast.Lambda):
                    consumed(arg)
        if sorts or isinstance(func, gast.Name) and work.builtin(func.id) in (sorted, min, max):
            for keyword in node.keywords:
                consumed(keyword.value)
        if isinstance(func, gast.Attribute) and work.resolved(func) is functools.reduce and node.args:
            consumed(node.args[0])
    return found


def direct_functions(table: dict[gast.AST, Scope], boxes: Boxes) -> frozenset[str]:
    """The inner functions that may be called as written: their names are bound once in the whole tree.

    None that may end up in itself: recursion is seen where calls go through `ag.call`, and only there.
    """
    bindings: dict[str, int] = {}
    for scope in table.values():
        for name, count in scope.bound.items():
            bindings[name] = bindings.get(name, 0) + count
        for name in scope.rebound:
            bindings[name] = bindings.get(name, 0) + 2
    found = {
        name
        for scope in table.values()
        for name, defs in scope.defs.items()
        if bindings.get(name) == 1 and not any(isinstance(d, Opaque) for d in defs)
    }
    mentioned = {
        name: {
            part.id
            for scope in table.values()
            for inner in scope.defs.get(name, ())
            for part in walk(inner)
            if isinstance(part, gast.Name) and part.id in found
        }
        for name in found
    }
    for middle in found:  # what is mentioned by what is mentioned
        for names in mentioned.values():
            if middle in names:
                names |= mentioned[middle]
    recursive = {name for name in found if name in mentioned[name]}
    return frozenset(found - recursive - {name for _, name in boxes})


def late_walruses(root: gast.AST, table: dict[gast.AST, Scope]) -> list[tuple[Scope, str]]:
    """The walruses that stand where generated code makes a function of the expression."""
    found: list[tuple[Scope, str]] = []
    if not any(isinstance(node, gast.NamedExpr) for node in walk(root)):
        return found

    def visit(node: gast.AST, scope: Scope, late: bool) -> None:
        if isinstance(node, gast.NamedExpr) and late:
            found.append((scope.function(), node.target.id))
        if isinstance(node, SCOPES):
            for part in outer_parts(node) if node is not root else ():
                visit(part, scope, late)
            for part in inner_parts(node):
                visit(part, table[node], isinstance(node, COMPREHENSIONS))
            return
        late_parts: list[gast.AST] = []
        if isinstance(node, gast.BoolOp):
            late_parts = node.values[1:]
        elif isinstance(node, gast.IfExp):
            late_parts = [node.body, node.orelse]
        elif isinstance(node, gast.Compare):
            late_parts = node.comparators if len(node.ops) > 1 else []
        elif isinstance(node, gast.While):
            late_parts = [node.test]
        elif isinstance(node, gast.ExceptHandler):
            late_parts = [] if node.type is None else [node.type]
        for part in children(node):
            visit(part, scope, late or part in late_parts)

    visit(root, table[root], False)
    return found


def _inlined(scope: Scope) -> bool:
    """Whether Python runs the comprehension as a part of the function that it stands in."""
    return sys.version_info >= (3, 12) and isinstance(
        scope.node, (gast.ListComp, gast.SetComp, gast.DictComp)
    )


def _check_targets(scope: Scope, captures: Captures, work: Work) -> None:
    shared = sorted(captures.inner(scope) & scope.bound.keys())
    if shared:
        work.refuse(
            scope.node,
            f"the comprehension's {shared[0]!r} is captured by a function made in its element",
            "all these functions would share one variable, which then changes",
            "hand it in as a default: lambda x=x: ...",
        )


def imported(root: gast.AST) -> set[str]:
    """The names that imports, type statements and classes in the tree bind."""
    found: set[str] = set()
    for node in walk(root):
        if isinstance(node, gast.ClassDef):
            found.add(node.name)
        if isinstance(node, (gast.Import, gast.ImportFrom)):
            found.update(import_names(node))
        elif type(node).__name__ == "TypeAlias":
            found.add(node.name.id)
    return found


def class_names(node: gast.ClassDef) -> set[str]:
    """The names that the body of a class binds."""
    found: set[str] = set()
    for stmt in node.body:
        for part in [stmt] if isinstance(stmt, (*FUNCTIONS, gast.ClassDef)) else walk(stmt):
            if isinstance(part, gast.Name) and not isinstance(part.ctx, gast.Load):
                found.add(part.id)
            elif isinstance(part, (gast.FunctionDef, gast.AsyncFunctionDef, gast.ClassDef)):
                found.add(part.name)
            elif isinstance(part, (gast.Import, gast.ImportFrom)):
                found.update(import_names(part))
            elif isinstance(part, CAPTURES):
                found.update(captured(part))
    return found


class Boxer(Rewriter):
    """Rewrites every use of a boxed name; `scope` is where the walk is."""

    opens_opaque = True

    def __init__(
        self,
        work: Work,
        table: dict[gast.AST, Scope],
        boxes: Boxes,
        free: frozenset[str] = frozenset(),
    ) -> None:
        self.work, self.table, self.boxes, self.free = work, table, boxes, free
        self.scope: Scope = table[work.root]
        self.in_class = self.in_place = False  # in the body of a class; at the target of `x += 1`
        self.of_scope: dict[Scope, list[tuple[str, str]]] = {}
        for (scope, name), box in boxes.items():
            self.of_scope.setdefault(scope, []).append((name, box))

    def box(self, name: str, scope: Scope | None = None) -> str | None:
        """The box that the name stands for here, if any."""
        at: Scope | None = scope if scope is not None else self.scope
        while at is not None:
            if (at, name) in self.boxes:
                return self.boxes[at, name]
            if name in at.bound or name in at.outside:
                return None
            at = at.parent
        return name if name in self.free else None

    def value(self, box: str, node: gast.AST, ctx: gast.AST, name: str = "value") -> gast.AST:
        return locate(attribute(load(box), name, ctx), node)

    def read(self, box: str, node: gast.Name) -> gast.AST:
        """A use of the name other than an assignment: an inner function's own name for it is `free`."""
        owner = self.scope.owner(node.id)
        free = owner is not None and (self.in_class or self.own_variables(self.scope) is not owner)
        return self.value(box, node, node.ctx, "free" if free else "value")

    def own_variables(self, scope: Scope) -> Scope:
        """The scope of the function of the user's in whose frame code of this scope runs."""
        made = (self.work.islands, self.work.makers)
        while scope.parent is not None and (
            _inlined(scope) or self.is_made(scope.node) or any(scope.node in part for part in made)
        ):
            scope = scope.parent
        return scope

    def is_made(self, node: gast.AST) -> bool:
        """Whether a function is made by an earlier pass, of a part of the user's function."""
        return isinstance(node, FUNCTIONS) and node not in self.work.inner

    def inside(self, node: Any) -> None:
        """Rewrite the inner parts of a function-like node."""
        before, self.scope = self.scope, self.table[node]
        in_class, self.in_class = self.in_class, False
        if isinstance(node, COMPREHENSIONS):
            first = node.generators[0].iter
            node.generators[0].iter = constant(None)
            self.generic(node)
            node.generators[0].iter = first
        elif isinstance(node, gast.Lambda):
            node.body = self.visit(node.body)
            made = self.new_boxes(node)
            if made:
                call_ = call(lambda_([box for box, _ in made], node.body), *(value for _, value in made))
                node.body = locate(call_, node.body)
        else:
            body = self.all(node.body)
            start = [locate(assign(box, value), node) for box, value in self.new_boxes(node)]
            place = after_docstring(body)
            node.body = [*body[:place], *start, *body[place:]] or [locate(gast.Pass(), node)]
        self.scope, self.in_class = before, in_class

    def new_boxes(self, node: gast.AST) -> list[tuple[str, gast.AST]]:
        scope = self.table[node]
        made = []
        for name, box in self.of_scope.get(scope, ()):
            if name in scope.outside:
                made.append((box, self.work.ag("global_cell", constant(name))))
            else:
                initial = [load(name)] if name in scope.params else []
                made.append((box, self.work.ag("Cell", constant(name), *initial)))
        return made

    def visit_FunctionDef(self, node: Any) -> Any:
        self.outside(node.args)
        for param in parameter_nodes(node.args):
            param.annotation = param.annotation and self.visit(param.annotation)
        node.returns = node.returns and self.visit(node.returns)
        self.inside(node)
        return self.defined(node)

    def defined(self, node: Any) -> Any:
        """A definition, and behind it what puts it into the name's box."""
        box = self.box(node.name)
        if box is None:
            return node
        return [node, locate(assign(self.value(box, node, gast.Store()), load(node.name)), node)]

    visit_Opaque = visit_FunctionDef

    def visit_TypeAlias(self, node: Any) -> Any:
        node.type_params, node.value = list(map(self.visit, node.type_params)), self.visit(node.value)
        box, name = self.box(node.name.id), node.name.id
        if box is None:
            return node
        return [node, locate(assign(self.value(box, node, gast.Store()), load(name)), node)]

    def visit_ClassDef(self, node: Any) -> Any:
        for name in sorted(class_names(node)):
            if self.box(name) is not None:
                what = f"the class body binds {name!r}, which is shared outside it"
                self.work.refuse(node, what, "both would be one box")
        outer = ("decorator_list", "bases", "keywords")
        parts = {name: [self.visit(part) for part in getattr(node, name)] for name in outer}
        node.__dict__.update(dict.fromkeys(outer, []))
        self.in_class, before = True, self.in_class
        self.generic(node)
        self.in_class = before
        node.__dict__.update(parts)
        return self.defined(node)

    def visit_ExceptHandler(self, node: Any) -> Any:
        """Left are those in opaque functions: an exception in a box leaves it at the end, too."""
        box = self.box(node.name.id) if node.name is not None else None
        if box is None:
            return self.generic(node)
        name, node.name = node.name, store(self.work.fresh("error"))
        node.type, body = node.type and self.visit(node.type), self.all(node.body)
        start = assign(self.value(box, name, gast.Store()), load(node.name.id))
        gone = gast.Delete(targets=[self.value(box, name, gast.Del())])
        end = [assign(self.value(box, name, gast.Store()), constant(None)), gone]
        node.body = [start, gast.Try(body=body, handlers=[], orelse=[], finalbody=end)]
        return locate(node, name)

    def visit_match_case(self, node: Any) -> Any:
        """What a pattern captures goes into its boxes before the guard is asked."""
        taken: list[Any] = []
        for part in walk(node.pattern):
            for name in captured(part) if isinstance(part, CAPTURES) else ():
                box = self.box(name)
                if box is None:
                    continue
                fresh = self.work.fresh(f"{name}_captured")
                setattr(part, "rest" if isinstance(part, gast.MatchMapping) else "name", fresh)
                taken.append(call(attribute(load(box), "set"), load(fresh)))
        self.generic(node)
        if taken and node.guard is not None:
            boxed = gast.List(elts=taken, ctx=gast.Load())  # true, whatever is in it
            node.guard = gast.BoolOp(op=gast.And(), values=[boxed, node.guard])
        elif taken:
            node.body = [*map(expression, taken), *node.body]
        return locate(node, node.pattern)

    def all(self, stmts: list[Any]) -> list[Any]:
        """Statements rewritten."""
        made = map(self.visit, stmts)
        return [part for result in made for part in (result if isinstance(result, list) else [result])]

    def visit_Lambda(self, node: Any) -> Any:
        self.outside(node.args)
        self.inside(node)
        return node

    def outside(self, args: Any) -> None:
        """Rewrite the defaults of parameters."""
        args.defaults = [self.visit(part) for part in args.defaults]
        args.kw_defaults = [part and self.visit(part) for part in args.kw_defaults]

    def _comprehension(self, node: Any) -> Any:
        node.generators[0].iter = self.visit(node.generators[0].iter)
        self.inside(node)
        return node

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def visit_Name(self, node: Any) -> Any:
        box = self.box(node.id)
        if box is None:
            return node
        stored = isinstance(node.ctx, gast.Store) and not self.in_place
        return self.value(box, node, node.ctx) if stored else self.read(box, node)

    def visit_AugAssign(self, node: Any) -> Any:
        node.value = self.visit(node.value)
        self.in_place, before = True, self.in_place
        node.target = self.visit(node.target)
        self.in_place = before
        return node

    def visit_NamedExpr(self, node: Any) -> Any:
        node.value = self.visit(node.value)
        box = self.box(node.target.id, self.scope.function())
        return node if box is None else locate(call(attribute(load(box), "set"), node.value), node)

    def visit_Import(self, node: Any) -> Any:
        after = []
        for alias in node.names:
            name = alias.asname or alias.name.split(".")[0]
            box = self.box(name)
            if box is not None:
                after.append(locate(assign(self.value(box, node, gast.Store()), load(name)), node))
        return [node, *after]

    visit_ImportFrom = visit_Import

    def visit_Nonlocal(self, node: Any) -> Any:
        # Left are variables inside an opaque function that its own inner functions rebind.
        node.names = [name for name in node.names if name in self.scope.rebound and self.box(name) is None]
        return node if node.names else []

    def visit_Global(self, node: Any) -> Any:
        node.names = [name for name in node.names if (self.scope, name) not in self.boxes]
        return node if node.names else []
