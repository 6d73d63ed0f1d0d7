"""`return` moves to the end of what it ends.

`loop_returns` (before the jumps are lowered): a `return` inside a loop becomes two assignments and a
`break`; behind the loop the flag is asked (in the table `work.loop_ends`).  `returns` (after): each
function with an early `return` gets a body in which a `return` stands only at the very end of the
function or of the arms of an `if` that itself stands there.  The rest of the function moves into the
other arm; flags are used only where an arm may or may not return.
"""

from __future__ import annotations

import gast

from autograph.passes.context import Work
from autograph.passes.nesting import Exit, Nesting
from autograph.passes.walk import functions, statements
from autograph.template import assign, branch, clone, constant, load, locate


def loop_returns(root: gast.FunctionDef, work: Work) -> gast.FunctionDef:
    """Turn every `return` in a loop into a flag and a `break`."""
    for function in functions(root):
        loops = [stmt for stmt in statements(function.body) if isinstance(stmt, (gast.While, gast.For))]
        if any(isinstance(stmt, gast.Return) for loop in loops for stmt in statements(loop.body)):
            work.return_flags[function] = (work.fresh("did_return"), work.fresh("return_value"))
            function.body = _LoopReturns(work, function).suite(function.body, inside=False)
    return root


class _LoopReturns:
    def __init__(self, work: Work, function: gast.FunctionDef) -> None:
        self.work = work
        self.flag, self.value = work.return_flags[function]

    def suite(self, stmts: list[gast.AST], inside: bool) -> list[gast.AST]:
        done: list[gast.AST] = []
        for stmt in stmts:
            if isinstance(stmt, gast.Return) and inside:
                done += [*flagged(stmt, self.flag, self.value), self.leave(stmt)]
            elif isinstance(stmt, gast.If):
                stmt.body, stmt.orelse = self.suite(stmt.body, inside), self.suite(stmt.orelse, inside)
                done.append(stmt)
            elif isinstance(stmt, (gast.While, gast.For)):
                done += self.loop(stmt, inside)
            else:
                done.append(stmt)
        return done

    def loop(self, loop: gast.AST, inside: bool) -> list[gast.AST]:
        returns = any(isinstance(stmt, gast.Return) for stmt in statements(loop.body))
        loop.body, loop.orelse = self.suite(loop.body, True), self.suite(loop.orelse, inside)
        if not returns:
            return [loop]
        asked = branch(load(self.flag), [self.leave(loop) if inside else gast.Return(value=load(self.value))])
        self.work.loop_ends[loop] = locate(asked, loop)
        return [loop] if inside else [locate(assign(self.flag, constant(False)), loop), loop]

    def leave(self, like: gast.AST) -> gast.Break:
        exit = locate(gast.Break(), like)
        self.work.loop_exits[exit] = self.flag
        return exit


def flagged(stmt: gast.Return, flag: str, name: str) -> list[gast.AST]:
    """What stands for a `return` that can't be taken at once."""
    value = stmt.value if stmt.value is not None else constant(None)
    return [locate(assign(flag, constant(True)), stmt), locate(assign(name, value), stmt)]


def returns(root: gast.FunctionDef, work: Work) -> gast.FunctionDef:
    """Bring the returns of every function to its end."""
    for function in functions(root):
        body = function.body
        direct = set(body)
        if any(isinstance(stmt, gast.Return) and stmt not in direct for stmt in statements(body)):
            function.body = _Returns(work, function).tail(body, function)
        else:
            ends = [number for number, stmt in enumerate(body) if isinstance(stmt, (gast.Return, gast.Raise))]
            del body[ends[0] + 1 if ends else len(body) :]
    return root


class _Returns:
    def __init__(self, work: Work, function: gast.FunctionDef) -> None:
        self.work, self.function = work, function
        found = [stmt for stmt in statements(function.body) if isinstance(stmt, gast.Return)]
        self.nesting = Nesting({stmt: Exit("return", ()) for stmt in found})

    def tail(self, stmts: list[gast.AST], like: gast.AST) -> list[gast.AST]:
        """The suite, every way through which ends in a `return` or `raise`."""
        done: list[gast.AST] = []
        nesting = self.nesting
        for number, stmt in enumerate(stmts):
            if isinstance(stmt, (gast.Return, gast.Raise)):
                return [*done, stmt]
            if not nesting.flags(stmt):
                done.append(stmt)
                continue
            body, orelse, rest = stmt.body, stmt.orelse, stmts[number + 1 :]
            if not nesting.leaves(body) and not nesting.leaves(orelse) and rest and not _is_plain(rest):
                return done + self.ask(stmt, rest)
            if not nesting.leaves(body):
                body = body + rest
            if not nesting.leaves(orelse):
                orelse = orelse + ([clone(part) for part in rest] if body is not stmt.body else rest)
            return done + nesting.split(stmt, self.tail(body, stmt), self.tail(orelse, stmt))
        return [*done, locate(gast.Return(value=constant(None)), like)]

    def ask(self, stmt: gast.If, rest: list[gast.AST]) -> list[gast.AST]:
        """An `if` that may or may not return, then the rest under its flag."""
        if self.function not in self.work.return_flags:
            self.work.return_flags[self.function] = (
                self.work.fresh("did_return"),
                self.work.fresh("return_value"),
            )
        flag, value = self.work.return_flags[self.function]
        exits = {}
        for part in statements([stmt]):
            if isinstance(part, gast.Return):
                exits[part] = Exit(flag, tuple(flagged(part, flag, value)))
        start = locate(assign(flag, constant(False)), stmt)
        lowered = Nesting(exits).lower([stmt])
        end = branch(load(flag), [gast.Return(value=load(value))], self.tail(rest, stmt))
        return [start, *lowered, locate(end, stmt)]


def _is_plain(rest: list[gast.AST]) -> bool:
    """Whether the rest is a `return` so short that it may stand in both arms."""
    if len(rest) != 1 or not isinstance(rest[0], gast.Return):
        return False
    return rest[0].value is None or isinstance(rest[0].value, (gast.Name, gast.Constant))
