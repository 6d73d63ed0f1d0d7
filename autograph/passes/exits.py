"""`return`, `break` and `continue` that leave a loop, a `try` or a `with` from inside become flags.

In: the user's statements.  Out: no `return` in a loop, and nothing that leaves a `try` or `with`: a jump
becomes a flag and a way to the end of what it stands in (a `break` in `work.loop_exits`, or in a `try` a
`break` in `work.guard_exits`); behind that the flag is asked, and the way goes on from there (behind a
loop in `work.loop_ends`).  A `finally` that returns is done twice: in a handler of everything, which
raises again unless it returned, and after the statement.
"""

from __future__ import annotations

from typing import Any

import gast

from autograph.passes.context import Work
from autograph.passes.walk import functions, statements, suites
from autograph.template import Keeping, assign, branch, constant, load, locate, negation

LOOPS = (gast.While, gast.For)
GUARDS = (gast.Try, gast.With)
JUMPS = (gast.Return, gast.Break, gast.Continue)
Around = tuple[gast.AST, ...]  # the loops, `try`s and `with`s that stand round a statement, outer ones first


def exits(root: gast.FunctionDef, work: Work) -> gast.FunctionDef:
    """Lower the exits of every function in the tree."""
    for function in functions(root):
        if any(isinstance(stmt, (*LOOPS, *GUARDS)) for stmt in statements(function.body)):
            function.body = _Exits(work, function).suite(function.body, ())
    return root


class _Exits:
    """through: for each `try`, the flags that leave it, with the kind of their jumps.
    left: for a `try`, a flag to be set when it is left."""

    def __init__(self, work: Work, function: gast.FunctionDef) -> None:
        self.work, self.function = work, function
        self.through: dict[gast.AST, dict[str, type]] = {}
        self.left: dict[gast.AST, str] = {}
        self.skips: dict[gast.AST, str] = {}

    def suite(self, stmts: list[gast.AST], around: Around) -> list[gast.AST]:
        done: list[gast.AST] = []
        for stmt in stmts:
            if isinstance(stmt, gast.Return) and around:
                flag, value = self.return_names()
                done += [*flagged(stmt, flag, value), *self.leave(around, flag, stmt)]
            elif isinstance(stmt, (gast.Break, gast.Continue)) and not isinstance(around[-1], LOOPS):
                flag = self.jump_flag(stmt, around)
                done += [locate(assign(flag, constant(True)), stmt), *self.leave(around, flag, stmt)]
            elif isinstance(stmt, LOOPS):
                done += self.loop(stmt, around)
            elif isinstance(stmt, GUARDS):
                done += self.guard(stmt, around)
            elif isinstance(stmt, gast.If):
                stmt.body, stmt.orelse = self.suite(stmt.body, around), self.suite(stmt.orelse, around)
                done.append(stmt)
            else:
                done.append(stmt)
        return done

    def return_names(self) -> tuple[str, str]:
        """The flag of the function's returns and the name of their value."""
        found = self.work.return_flags.get(self.function)
        if found is None:
            found = self.work.return_flags[self.function] = (
                self.work.fresh("did_return"),
                self.work.fresh("return_value"),
            )
            self.work.flags.update(found)
        return found

    def jump_flag(self, jump: gast.AST, around: Around) -> str:
        """The flag of a `break` or `continue` that stands in a `try` in its loop."""
        loop = next(node for node in reversed(around) if isinstance(node, LOOPS))
        table, name = (
            (self.work.break_flags, "did_break")
            if isinstance(jump, gast.Break)
            else (self.skips, "did_continue")
        )
        if loop not in table:
            table[loop] = self.work.fresh(name)
            self.work.flags.add(table[loop])
        return table[loop]

    def leave(self, around: Around, flag: str, like: gast.AST, kind: type | None = None) -> list[gast.AST]:
        """Go to the end of the innermost loop or `try`."""
        exit = locate(gast.Break(), like)
        if isinstance(around[-1], LOOPS):
            self.work.loop_exits[exit] = flag
            return [exit]
        self.work.guard_exits[exit] = flag
        self.through.setdefault(around[-1], {})[flag] = kind or type(like)
        if around[-1] in self.left:
            return [locate(assign(self.left[around[-1]], constant(True)), like), exit]
        return [exit]

    def loop(self, loop: Any, around: Around) -> list[gast.AST]:
        returns = any(isinstance(stmt, gast.Return) for stmt in statements(loop.body))
        loop.body, loop.orelse = self.suite(loop.body, (*around, loop)), self.suite(loop.orelse, around)
        before = []
        if loop in self.work.break_flags:
            before.append(locate(assign(self.work.break_flags[loop], constant(False)), loop))
        if returns:
            flag, value = self.return_names()
            self.work.loop_ends[loop] = locate(
                branch(load(flag), self.go_on(around, flag, gast.Return, loop)), loop
            )
            if not around:
                before.append(locate(assign(flag, constant(False)), loop))
        return [*before, loop]

    def go_on(self, around: Around, flag: str, kind: type, like: gast.AST) -> list[gast.AST]:
        """Where the flag is set behind a loop or `try`: the rest of the way."""
        if kind is gast.Return and not around:
            return [locate(gast.Return(value=load(self.return_names()[1])), like)]
        if kind is gast.Continue and isinstance(around[-1], LOOPS):
            return [locate(gast.Continue(), like)]
        return self.leave(around, flag, like, kind)

    def guard(self, stmt: Any, around: Around) -> list[gast.AST]:
        """A `try` or `with`, what is set up before it and what asks for its flags."""
        final = getattr(stmt, "finalbody", [])
        if leaving(final):
            return self.final_that_leaves(stmt, around)
        orelse = getattr(stmt, "orelse", [])
        if orelse and leaving(stmt.body):
            return self.suite(self.without_else(stmt), around)
        always, inner = leaves(stmt), (*around, stmt)
        stmt.body = self.suite(stmt.body, inner)
        if orelse:
            stmt.orelse = self.suite(orelse, inner)
        for handler in getattr(stmt, "handlers", []):
            handler.body = self.suite(handler.body, inner)
        if final:
            stmt.finalbody = self.suite(final, inner)
        return self.asked(stmt, around, always)

    def without_else(self, stmt: Any) -> list[gast.AST]:
        """A `try` whose body may be left, its `else` part behind it under a flag, inside the final part."""
        done = self.work.fresh("did_complete")
        self.work.flags.add(done)
        body = [*stmt.body, locate(assign(done, constant(True)), stmt.orelse[0])]
        inner = locate(gast.Try(body=body, handlers=stmt.handlers, orelse=[], finalbody=[]), stmt)
        start = locate(assign(done, constant(False)), stmt)
        stmts = [start, inner, locate(branch(load(done), stmt.orelse), stmt.orelse[0])]
        if not stmt.finalbody:
            return stmts
        return [locate(gast.Try(body=stmts, handlers=[], orelse=[], finalbody=stmt.finalbody), stmt)]

    def asked(self, stmt: Any, around: Around, always: bool, between: Any = ()) -> list[gast.AST]:
        """The statement between the setting of its flags and the questions for them."""
        flags = self.through.pop(stmt, {})
        before, after = [], []
        for flag, kind in flags.items():
            outermost = not around if kind is gast.Return else isinstance(around[-1], LOOPS)
            if outermost and kind is not gast.Break:  # that of a loop is set before the loop
                before.append(locate(assign(flag, constant(False)), stmt))
            rest = self.go_on(around, flag, kind, stmt)
            after += rest if always and len(flags) == 1 else [locate(branch(load(flag), rest), stmt)]
        return [*before, stmt, *between, *after]

    def final_that_leaves(self, stmt: Any, around: Around) -> list[gast.AST]:
        """A `try` whose `finally` returns."""
        final, stmt.finalbody = stmt.finalbody, []
        inner = [stmt] if stmt.handlers or stmt.orelse else stmt.body
        handler = locate(gast.ExceptHandler(type=None, name=None, body=[]), stmt)
        whole = locate(gast.Try(body=inner, handlers=[handler], orelse=[], finalbody=[]), stmt)
        done = self.work.fresh("did_finally")
        self.work.flags.add(done)
        self.work.pending_returns.add(self.function)
        returned = any(isinstance(jump, gast.Return) for jump in leaving(whole.body))
        whole.body = self.suite(whole.body, (*around, whole))
        self.left[whole] = done
        again = locate(gast.Raise(exc=None, cause=None), final[-1])
        handler.body = self.suite([*map(self.work.clone, final), again], (*around, whole))
        del self.left[whole]
        before: list[gast.AST] = [assign(done, constant(False))]
        start, end = self.kept(final, before) if returned else ([], [])
        rest = branch(negation(load(done)), [*start, *self.suite(final, around), *end])
        after = self.asked(whole, around, False, [locate(rest, final[0])])
        return [*(locate(part, stmt) for part in before), *after]

    def kept(self, final: list[Any], before: list[gast.AST]) -> tuple[list[gast.AST], list[gast.AST]]:
        """What keeps a return that is still to be taken while a final part asks for returns of its own."""
        if not any(isinstance(part, (*LOOPS, *GUARDS)) and leaving([part]) for part in statements(final)):
            return [], []
        flag, value = self.return_names()
        pending, result = self.work.fresh("is_pending"), self.work.fresh("pending_value")
        before.append(assign(value, constant(None)))
        start = [assign(pending, load(flag)), assign(result, load(value)), assign(flag, constant(False))]
        end = [assign(flag, load(pending)), assign(value, load(result))]
        return [locate(part, final[0]) for part in start], [locate(part, final[-1]) for part in end]


def flagged(stmt: Any, flag: str, name: str) -> list[gast.AST]:
    """What stands for a `return` that can't be taken at once; computing the value may raise."""
    value = stmt.value if stmt.value is not None else constant(None)
    return [locate(assign(name, value), stmt), locate(assign(flag, constant(True)), stmt)]


def leaving(stmts: list[gast.AST]) -> list[gast.AST]:
    """The jumps in a suite that leave it."""
    found: list[gast.AST] = []
    for stmt in stmts:
        if isinstance(stmt, JUMPS):
            found.append(stmt)
        elif not isinstance(stmt, gast.FunctionDef):
            inner = [jump for node, field in suites(stmt) for jump in leaving(getattr(node, field))]
            if isinstance(stmt, LOOPS):
                inner = [jump for jump in inner if isinstance(jump, gast.Return)] + leaving(stmt.orelse)
            found += inner
    return list(dict.fromkeys(found))


def leaves(stmt: Any) -> bool:
    """Whether control never gets past the statement."""
    if isinstance(stmt, (*JUMPS, gast.Raise)):
        return True
    if isinstance(stmt, gast.If):
        return bool(stmt.orelse) and any(map(leaves, stmt.body)) and any(map(leaves, stmt.orelse))
    if isinstance(stmt, Keeping):
        return any(map(leaves, stmt.body))
    if isinstance(stmt, gast.Try):
        straight = any(map(leaves, (*stmt.body, *stmt.orelse)))
        return straight and all(any(map(leaves, handler.body)) for handler in stmt.handlers)
    return False
