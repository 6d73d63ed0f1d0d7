"""`break` and `continue` become flags, or nothing where the rest of the body fits into the other arm.

In: a function whose loops jump.  Out: loops that run their bodies to the end; a loop that could be
left early asks `not did_break` in its test (a for-loop: in the table `work.loop_tests`), and its `else`
stands behind it, under the same flag.
"""

from __future__ import annotations

import gast

from autograph.passes.context import Work
from autograph.passes.nesting import Exit, Nesting, any_of
from autograph.passes.walk import map_suites, suites
from autograph.template import assign, branch, constant, locate, negation


def jumps(root: gast.FunctionDef, work: Work) -> gast.FunctionDef:
    """Lower the jumps of all loops in the tree, inner loops first."""
    lowering = _Jumps(work)
    lowering.name_flags(root.body)
    return map_suites(root, lowering.suite)


class _Jumps:
    def __init__(self, work: Work) -> None:
        self.work = work
        self.names: dict[gast.AST, dict[type, str]] = {}

    def name_flags(self, stmts: list[gast.AST]) -> None:
        """Name the flags of every loop, so that loops inside one another have different ones."""
        for stmt in stmts:
            kinds: list[type] = []
            if isinstance(stmt, (gast.While, gast.For)):
                kinds = sorted(
                    {type(jump) for jump in jumps_of(stmt.body) if jump not in self.work.loop_exits},
                    key=lambda kind: kind.__name__,
                )
                named = {kind: self.work.nested(f"did_{kind.__name__.lower()}") for kind in kinds}
                self.names[stmt] = named
            for node, field in suites(stmt):
                self.name_flags(getattr(node, field))
            self.work.leave(len(kinds))

    def suite(self, stmts: list[gast.AST]) -> list[gast.AST]:
        """Called with each suite after all suites inside it."""
        done: list[gast.AST] = []
        for stmt in stmts:
            if isinstance(stmt, (gast.Try, gast.With)):
                self.guard(stmt)
            done += self.loop(stmt) if isinstance(stmt, (gast.While, gast.For)) else [stmt]
        return done

    def guard(self, stmt: gast.AST) -> None:
        """The parts of a `try` or `with`, brought to their ends."""
        for node, field in suites(stmt):
            part = getattr(node, field)
            found = {jump: Exit(self.work.guard_exits[jump], ()) for jump in jumps_of(part)}
            if found:
                lowered = Nesting(found, self.work.flags).lower(part)
                setattr(node, field, lowered or [locate(gast.Pass(), part[0])])

    def loop(self, loop: gast.AST) -> list[gast.AST]:
        found = jumps_of(loop.body)
        orelse, loop.orelse = loop.orelse, []
        if not found:
            return [loop, *orelse]
        names = self.names[loop]
        exits = {}
        for jump in found:
            done = self.work.loop_exits.get(jump)
            flag = done or names[type(jump)]
            exits[jump] = Exit(flag, () if done else (locate(assign(flag, constant(True)), jump),))
        nesting = Nesting(exits, self.work.flags)
        body = nesting.lower(loop.body)
        skip = names.get(gast.Continue)
        if skip in nesting.asked:
            body.insert(0, locate(assign(skip, constant(False)), loop))
        else:
            dead = {stmt for exit in exits.values() if exit.flag == skip for stmt in exit.code}
            body = without(body, dead, self.work.flags)
        loop.body = body or [locate(gast.Pass(), loop)]
        breaks = sorted({exits[jump].flag for jump in found if isinstance(jump, gast.Break)})
        return self.tested(loop, breaks, names.get(gast.Break), orelse)

    def tested(
        self, loop: gast.AST, breaks: list[str], own: str | None, orelse: list[gast.AST]
    ) -> list[gast.AST]:
        """The loop with its flags in the test, what sets them up before and the `else` after it."""
        before = [locate(assign(own, constant(False)), loop)] if own in breaks else []
        if not breaks:
            return [loop, *orelse]
        going_on = negation(any_of(breaks))
        if isinstance(loop, gast.For):
            self.work.loop_tests[loop] = locate(going_on, loop)
        elif isinstance(loop.test, gast.Constant) and loop.test.value:
            loop.test = locate(going_on, loop.test)
        else:
            loop.test = locate(gast.BoolOp(op=gast.And(), values=[going_on, loop.test]), loop.test)
        end = self.work.loop_ends.get(loop)
        left = [flag for flag in (own, self.work.break_flags.get(loop)) if flag in breaks]
        if orelse and left:
            orelse = [locate(branch(negation(any_of(left)), orelse), orelse[0])]
        return [*before, loop, *([] if end is None else [end]), *orelse]


def jumps_of(stmts: list[gast.AST]) -> list[gast.AST]:
    """The `break`s and `continue`s that belong to the loop with this body."""
    found: list[gast.AST] = []
    todo = list(stmts)
    while todo:
        stmt = todo.pop()
        if isinstance(stmt, (gast.Break, gast.Continue)):
            found.append(stmt)
        elif isinstance(stmt, gast.If):
            todo += stmt.body + stmt.orelse
        elif isinstance(stmt, (gast.While, gast.For)):
            todo += stmt.orelse
    return found


def without(stmts: list[gast.AST], dead: set[gast.AST], flags: set[str]) -> list[gast.AST]:
    """The suite without these statements, also in its `if`s, and without questions for flags then idle."""
    kept = []
    for stmt in stmts:
        if stmt in dead:
            continue
        if isinstance(stmt, gast.If):
            stmt.body, stmt.orelse = without(stmt.body, dead, flags), without(stmt.orelse, dead, flags)
            if isinstance(stmt.test, gast.Name) and stmt.test.id in flags and not stmt.body + stmt.orelse:
                continue
        kept.append(stmt)
    return kept
