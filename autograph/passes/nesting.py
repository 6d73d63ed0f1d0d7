"""How a statement that leaves a suite early becomes structure: nest the rest, or guard it by a flag.

In: a suite and a table of its *exits*: the statements that leave it, each with its flag and the code
that stands for it.  Out: a suite without exits that runs to its end.  What follows an `if` with an arm
that always leaves moves into the other arm; only where an arm may or may not leave is a flag asked.
"""

from __future__ import annotations

from collections.abc import Collection

import gast

from autograph.template import branch, load, locate, negation
from runtime.dataclass import dataclass


@dataclass(frozen=True)
class Exit:
    """One leaving statement: the flag that says it was taken, and the code that replaces it."""

    flag: str
    code: tuple[gast.AST, ...]


LONGEST, PIECE = 50, 25

NO_FLAGS: frozenset[str] = frozenset()


class Nesting:
    """Lowers suites with the given exits; `asked` collects the flags that some guard reads.

    flags: names of other flags, whose questions may be left out when nothing depends on the answer.

    Loops inside the suite have no exits of it any more: whoever made the table has seen to that.
    """

    def __init__(self, exits: dict[gast.AST, Exit], flags: Collection[str] = ()) -> None:
        self.exits = exits
        self.names = {exit.flag for exit in exits.values()} | set(flags)
        self.asked: set[str] = set()
        self._flags: dict[gast.AST, frozenset[str]] = {}
        self._always: dict[gast.AST, bool] = {}

    def flags(self, stmt: gast.AST) -> frozenset[str]:
        """The flags that the statement may set."""
        if stmt in self.exits:
            return frozenset([self.exits[stmt].flag])
        if not isinstance(stmt, gast.If):
            return NO_FLAGS
        if stmt not in self._flags:
            self._flags[stmt] = NO_FLAGS.union(*(self.flags(s) for s in (*stmt.body, *stmt.orelse)))
        return self._flags[stmt]

    def leaves(self, stmts: list[gast.AST]) -> bool:
        """Whether control never reaches the end of the suite."""
        return any(self._leaves(stmt) for stmt in stmts)

    def _leaves(self, stmt: gast.AST) -> bool:
        if stmt in self.exits or isinstance(stmt, gast.Raise):
            return True
        if not isinstance(stmt, gast.If):
            return False
        if stmt not in self._always:
            self._always[stmt] = bool(stmt.orelse) and self.leaves(stmt.body) and self.leaves(stmt.orelse)
        return self._always[stmt]

    def chain(self, stmts: list[gast.AST]) -> int:
        """How many statements to lower on their own, because too many that may leave follow one another.

        Each nests what follows it one level deeper, and Python takes some 90 levels; so a long chain is
        cut into pieces with a question for the flags between them.  0: no need.
        """
        places = [number for number, stmt in enumerate(stmts) if self.flags(stmt)]
        return places[PIECE] if len(places) > LONGEST else 0

    def lower(self, stmts: list[gast.AST]) -> list[gast.AST]:
        """The suite without exits."""
        done: list[gast.AST] = []
        piece = self.chain(stmts)
        if piece:
            first, rest = stmts[:piece], stmts[piece:]
            flags = NO_FLAGS.union(*map(self.flags, first))
            return self.lower(first) + self.guard(flags, self.lower(rest), first[-1])
        for number, stmt in enumerate(stmts):
            if stmt in self.exits:
                return done + list(self.exits[stmt].code)
            flags = self.flags(stmt)
            if not flags:
                done.append(stmt)
                if isinstance(stmt, gast.Raise):
                    return done
                continue
            rest = stmts[number + 1 :]
            if self.leaves(stmt.body):
                return done + self.split(stmt, self.lower(stmt.body), self.lower(stmt.orelse + rest))
            elif self.leaves(stmt.orelse):
                return done + self.split(stmt, self.lower(stmt.body + rest), self.lower(stmt.orelse))
            else:
                done += self.split(stmt, self.lower(stmt.body), self.lower(stmt.orelse))
                if rest:
                    return done + self.guard(flags, self.lower(rest), stmt)
        return done

    def split(self, stmt: gast.If, body: list[gast.AST], orelse: list[gast.AST]) -> list[gast.AST]:
        """The `if` with new arms; nothing when it only asked for a flag."""
        if not body and not orelse and self.is_flag(stmt.test):
            return []
        if not body and isinstance(stmt.test, gast.UnaryOp) and isinstance(stmt.test.op, gast.Not):
            return [locate(branch(stmt.test.operand, orelse), stmt)]
        return [locate(branch(stmt.test, body, orelse), stmt)]

    def is_flag(self, test: gast.AST) -> bool:
        """Whether the test is nothing but a flag, which can be left out without a trace."""
        return isinstance(test, gast.Name) and test.id in self.names

    def guard(self, flags: frozenset[str], stmts: list[gast.AST], like: gast.AST) -> list[gast.AST]:
        """The statements, run only where none of the flags is set."""
        if not stmts:
            return []
        self.asked |= flags
        return [locate(branch(negation(any_of(sorted(flags))), stmts), like)]


def any_of(flags: list[str]) -> gast.AST:
    """Whether one of the flags is set."""
    values = [load(flag) for flag in flags]
    return values[0] if len(values) == 1 else gast.BoolOp(op=gast.Or(), values=values)
