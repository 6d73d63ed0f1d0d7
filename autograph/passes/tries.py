"""`try` becomes `ag.try_` and `with` becomes `ag.with_`: small functions, one for each part, and one call.

`shared` (before names are looked at): a name that a `try` may leave half changed, because its body binds it
and a handler, the final part or what follows an exception may read it, becomes a box, so that its value is
what the program last gave it.  `tries` (after loops): all other names that the parts bind and that are
live after are results of the parts, as those of a branch are.  Flags that jumps have put in need no box:
where an exception was raised, no jump was made.
"""

from __future__ import annotations

from typing import Any

import gast

from autograph.analysis.liveness import Liveness
from autograph.analysis.scopes import scopes
from autograph.passes.branches import Arm, arm, closed
from autograph.passes.cells import Boxer, Boxes, imported
from autograph.passes.context import Work
from autograph.passes.walk import functions, map_suites, statements
from autograph.template import (
    Keeping,
    assign,
    constant,
    expression,
    lambda_,
    load,
    locate,
    targets,
    tuple_of,
)
from autograph.trees import walk

GUARDS = (gast.Try, gast.With)


def shared(root: gast.FunctionDef, work: Work) -> gast.FunctionDef:
    """Box the names that the `try`s and `with`s of every function share with what follows an exception."""
    if not any(isinstance(stmt, GUARDS) for part in functions(root) for stmt in statements(part.body)):
        return root
    drop_unasked(root, work)
    table = scopes(root)
    boxes: Boxes = {}
    kept = {name for scope in table.values() for name in scope.defs} | imported(root)
    for function in functions(root):
        live = Liveness(function, table, work.loop_tests)
        found = 0
        for stmt in statements(function.body):
            if isinstance(stmt, GUARDS):
                found |= half_changed(stmt, live)
        for name in live.index.listed(found & ~live.index.bits(work.flags)):
            boxes[table[function], name] = work.fresh(f"{name}_cell") if name in kept else name
    if boxes:
        work.boxes |= set(boxes.values())
        work.direct -= {name for _, name in boxes}
        boxer = Boxer(work, table, boxes)
        boxer.inside(root)
        for loop, test in work.loop_tests.items():
            work.loop_tests[loop] = boxer.visit(test)
    return root


def half_changed(stmt: Any, live: Liveness) -> int:
    """The names that the statement binds and whose value after an exception may be needed.

    What a body binds last of all is not changed yet when an exception is raised."""
    last, earlier = bound_last(stmt.body, live)
    if isinstance(stmt, gast.With):
        earlier |= live.part(stmt.items[0].optional_vars).binds
        return 0 if isinstance(stmt, Keeping) else earlier & live.after[stmt]
    end, body = live.ends[stmt], last | earlier
    found = body & live.before(stmt.orelse, end) if stmt.orelse else 0
    bound = body | live.binds(stmt.orelse)
    for handler in stmt.handlers:
        found |= earlier & live.into(handler, end)
        bound |= live.flow[handler].binds
    final, after = live.binds(stmt.finalbody), live.after[stmt]
    return found | (live.before(stmt.finalbody, 0) & (bound | final)) | (final & after)


def bound_last(stmts: list[Any], live: Liveness) -> tuple[int, int]:
    """The names that a suite binds where nothing is left to do that may raise; and those bound before."""
    last = earlier = 0
    number = len(stmts)
    while number:
        number -= 1
        stmt = stmts[number]
        if isinstance(stmt, gast.If):
            arms = [bound_last(stmt.body, live), bound_last(stmt.orelse, live)]
            last |= arms[0][0] | arms[1][0]
            earlier |= arms[0][1] | arms[1][1] | live.part(stmt.test).binds
            break
        if not isinstance(stmt, (gast.Assign, gast.AugAssign, gast.Pass)):
            number += 1
            break
        named = sum(live.index.bit.get(name, 0) for name in _plain_targets(stmt))
        last |= named
        earlier |= live.flow[stmt].binds & ~named
        if not isinstance(getattr(stmt, "value", None), gast.Constant) or isinstance(stmt, gast.AugAssign):
            break
    for stmt in stmts[:number]:
        earlier |= live.flow[stmt].binds
    return last & ~earlier, earlier


def _plain_targets(stmt: Any) -> set[str]:
    """The names that the statement binds once its value is there."""
    if isinstance(stmt, gast.Pass):
        return set()
    found = [stmt.target] if isinstance(stmt, gast.AugAssign) else stmt.targets
    parts: list[Any] = []
    for target in found:
        parts += target.elts if isinstance(target, gast.Tuple) else [target]
    return {part.id for part in parts} if all(isinstance(part, gast.Name) for part in parts) else set()


def drop_unasked(root: gast.FunctionDef, work: Work) -> None:
    """Take out the flags that nobody asks."""
    asked = {
        node.id
        for tree in (root, *work.loop_tests.values())
        for node in walk(tree)
        if isinstance(node, gast.Name) and isinstance(node.ctx, gast.Load)
    }
    dead = work.flags - asked

    def kept(stmts: list[Any]) -> list[Any]:
        left = [stmt for stmt in stmts if not _sets(stmt, dead)]
        return left or [locate(gast.Pass(), stmts[0])] if stmts else []

    if dead:
        map_suites(root, kept)


def _sets(stmt: Any, names: set[str]) -> bool:
    """Whether the statement only sets one of these flags."""
    if not isinstance(stmt, gast.Assign) or not isinstance(stmt.value, gast.Constant):
        return False
    return isinstance(stmt.targets[0], gast.Name) and stmt.targets[0].id in names


def tries(root: gast.FunctionDef, work: Work) -> gast.FunctionDef:
    """Rewrite every `try` and `with` of the tree."""
    inners = list(functions(root))
    guarded = [inner for inner in inners if any(isinstance(stmt, GUARDS) for stmt in statements(inner.body))]
    table = scopes(root) if guarded else {}
    for inner in guarded:
        inner.body = _Tries(work, Liveness(inner, table, work.loop_tests)).suite(inner.body)
    for inner in inners:
        inner.body = ended(inner.body, work)
    return root


def ended(stmts: list[gast.AST], work: Work) -> list[gast.AST]:
    """The suite, with the value of a return that is computed last returned as it is."""
    if len(stmts) < 2 or not isinstance(stmts[-1], gast.Return) or not isinstance(stmts[-2], gast.Assign):
        return stmts
    value, target = stmts[-1].value, stmts[-2].targets[0]
    made = isinstance(value, gast.Name) and isinstance(target, gast.Name) and value.id == target.id
    if not made or not is_value(value.id, work):
        return stmts
    return [*stmts[:-2], locate(gast.Return(value=stmts[-2].value), stmts[-2])]


def is_value(flag: str, work: Work) -> bool:
    """Whether the name holds the value of a return and is no flag itself."""
    return any(flag == value for _, value in work.return_flags.values())


class _Tries:
    def __init__(self, work: Work, live: Liveness) -> None:
        self.work, self.live = work, live

    def suite(self, stmts: list[gast.AST]) -> list[gast.AST]:
        done: list[gast.AST] = []
        for stmt in stmts:
            if isinstance(stmt, gast.Try):
                done += locate(self.try_(stmt), stmt)
            elif isinstance(stmt, gast.With):
                done += locate(self.with_(stmt), stmt)
            else:
                done.append(stmt)
        return ended(done, self.work)

    def try_(self, stmt: Any) -> list[gast.AST]:
        live = self.live
        bound = live.binds(stmt.body) | live.binds(stmt.orelse)
        for handler in stmt.handlers:
            bound |= live.flow[handler].binds
        operands = live.index.listed(bound & live.arms[stmt])
        results = live.index.listed(bound & live.ends[stmt])
        names = [self.work.nested("try_body")]
        names += [self.work.nested("handler") for _ in stmt.handlers]
        names += [self.work.nested(base) for base in ("try_else", "finally_")]
        made = [self.part(names[0], operands, self.suite(stmt.body), [] if stmt.orelse else results)]
        pairs: list[gast.AST] = []
        for name, handler in zip(names[1:], stmt.handlers, strict=False):
            param = handler.name.id if handler.name is not None else self.work.nested("error")
            part = self.part(name, [param, *operands], self.suite(handler.body), results)
            self.work.leave(handler.name is None)
            classes = constant(None) if handler.type is None else lambda_([], handler.type)
            pairs.append(locate(tuple_of([classes, part[1]]), handler))
            made.append(part)
        call = self.work.ag("try_", made[0][1], tuple_of(pairs))
        if stmt.orelse:
            made.append(self.part(names[-2], operands, self.suite(stmt.orelse), results))
            call.keywords.append(gast.keyword(arg="orelse", value=made[-1][1]))
        if stmt.finalbody:
            made.append(self.part(names[-1], [], self.suite(stmt.finalbody), []))
            call.keywords.append(gast.keyword(arg="final", value=made[-1][1]))
        if operands:
            call.keywords.append(gast.keyword(arg="operands", value=tuple_of(map(load, operands))))
        self.work.leave(len(names))
        before = [part for defined, _ in made for part in defined]
        return [*before, assign(targets(results), call) if results else expression(call)]

    def with_(self, stmt: Any) -> list[gast.AST]:
        live, item = self.live, stmt.items[0]
        target = item.optional_vars
        entered = live.part(target).binds
        bound = entered | live.binds(stmt.body)
        operands = live.index.listed(bound & live.arms[stmt] & ~entered)
        results = live.index.listed(bound & live.after[stmt])
        name = self.work.nested("with_body")
        param = target.id if isinstance(target, gast.Name) else self.work.nested("entered")
        start = [] if target is None or entered else [locate(assign(target, load(param)), target)]
        defined, body = self.part(name, [param, *operands], [*start, *self.suite(stmt.body)], results)
        self.work.leave(1 + (not entered))
        call = self.work.ag("with_", item.context_expr, body)
        if operands:
            call.keywords.append(gast.keyword(arg="operands", value=tuple_of(map(load, operands))))
        if results and not isinstance(stmt, Keeping):
            values = [self.unchanged(name) for name in results]
            value = values[0] if len(values) == 1 else tuple_of(values)
            call.keywords.append(gast.keyword(arg="suppressed", value=value))
        return [*defined, assign(targets(results), call) if results else expression(call)]

    def unchanged(self, name: str) -> gast.AST:
        """What the name holds after a swallowed exception: what it held before; no jump was made."""
        if name in self.work.flags:
            return constant(None if is_value(name, self.work) else False)
        return load(name)

    def part(self, name: str, params: list[str], stmts: list[gast.AST], results: list[str]) -> Arm:
        """One part as a function; where it only returns a value, that is written as a lambda."""
        if len(stmts) == 1 and len(results) == 1 and is_value(results[0], self.work):
            made = closed(stmts, results)
            if len(made) == 1 and isinstance(made[0], gast.Return):
                return [], lambda_(params, made[0].value)
        return arm(name, params, stmts, results)
