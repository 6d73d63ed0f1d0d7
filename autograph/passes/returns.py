"""`return` moves to the end of what it ends.

In: functions without a `return` in a loop, `try` or `with`.  Out: a `return` stands only at the very end of
the function or of the arms of an `if` that itself stands there.  The rest of the function moves into the
other arm; flags are used only where an arm may or may not return.
"""

from __future__ import annotations

import gast

from autograph.passes.context import Work
from autograph.passes.exits import flagged
from autograph.passes.nesting import Exit, Nesting
from autograph.passes.walk import functions, statements
from autograph.template import assign, branch, clone, constant, load, locate


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
        piece = nesting.chain(stmts)
        if piece:
            return self.ask(stmts[:piece], stmts[piece:])
        for number, stmt in enumerate(stmts):
            if isinstance(stmt, (gast.Return, gast.Raise)):
                return [*done, stmt]
            if not nesting.flags(stmt):
                done.append(stmt)
                continue
            body, orelse, rest = stmt.body, stmt.orelse, stmts[number + 1 :]
            if not nesting.leaves(body) and not nesting.leaves(orelse) and rest and not _is_plain(rest):
                return done + self.ask([stmt], rest)
            if not nesting.leaves(body):
                body = body + rest
            if not nesting.leaves(orelse):
                orelse = orelse + ([clone(part) for part in rest] if body is not stmt.body else rest)
            return done + nesting.split(stmt, self.tail(body, stmt), self.tail(orelse, stmt))
        return [*done, locate(gast.Return(value=constant(None)), like)]

    def ask(self, stmts: list[gast.AST], rest: list[gast.AST]) -> list[gast.AST]:
        """Statements that may or may not return, then the rest under their flag."""
        flag, value = self.names()
        exits = {}
        for part in statements(stmts):
            if isinstance(part, gast.Return):
                exits[part] = Exit(flag, tuple(flagged(part, flag, value)))
        start = locate(assign(flag, constant(False)), stmts[0])
        lowered = Nesting(exits).lower(stmts)
        end = branch(load(flag), [gast.Return(value=load(value))], self.tail(rest, stmts[-1]))
        return [start, *lowered, locate(end, stmts[-1])]

    def names(self) -> tuple[str, str]:
        """The flag and the value of a return; others than those of a return that is still to be taken."""
        table, key = self.work.return_flags, self.function
        if self.function in self.work.pending_returns:
            key = self.nesting
        if key not in table:
            table[key] = (self.work.fresh("did_return"), self.work.fresh("return_value"))
            self.work.flags.update(table[key])
        return table[key]


def _is_plain(rest: list[gast.AST]) -> bool:
    """Whether the rest is a `return` so short that it may stand in both arms."""
    if len(rest) != 1 or not isinstance(rest[0], gast.Return):
        return False
    return rest[0].value is None or isinstance(rest[0].value, (gast.Name, gast.Constant))
