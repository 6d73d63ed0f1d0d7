"""The order in which a statement reads and binds names, and bit sets of names.

In: one expression or simple statement.  Out: its events in evaluation order.  What an inner function
or comprehension uses is an event where that function is made: a capture.  `Index` numbers the local
names of a function, so that a set of names is one int and the analyses stay linear.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import gast

from autograph.analysis.scopes import (
    FUNCTIONS,
    PLAIN,
    SCOPES,
    Scope,
    import_names,
    outer_parts,
    parameter_nodes,
)
from autograph.trees import children

EVERYTHING = -1  # the set of all names: what holds where control never comes


class Event(NamedTuple):
    """kind: "read", "bind", "capture" (by an inner function, whose node is `node`) or "delete".

    late: whether it may not happen at all, because it stands behind `and`, in an arm of a ternary, ...
    """

    kind: str
    name: str
    node: gast.AST
    late: bool = False


class Index:
    """Numbers names in order of first binding; a set of names is an int with their bits."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = list(dict.fromkeys(names))
        self.bit = {name: 1 << number for number, name in enumerate(self.names)}

    def bits(self, names: Iterable[str]) -> int:
        """The set of those of the names that are numbered."""
        result = 0
        for name in names:
            result |= self.bit.get(name, 0)
        return result

    def listed(self, bits: int) -> list[str]:
        """The names of a set, in order of first binding."""
        found = []
        bits &= (1 << len(self.names)) - 1
        while bits:
            low = bits & -bits
            found.append(self.names[low.bit_length() - 1])
            bits ^= low
        return found


def events(node: gast.AST | None, table: Mapping[gast.AST, Scope], late: bool = False) -> list[Event]:
    """What the expression or simple statement does to names, in the order of evaluation."""
    found: list[Event] = []
    if node is not None:
        _collect(node, table, late, found)
    return found


_KINDS = {gast.Load: "read", gast.Del: "delete"}


def _collect(node: gast.AST, table: Mapping[gast.AST, Scope], late: bool, found: list[Event]) -> None:
    kind = type(node)
    if kind is gast.Name:
        found.append(Event(_KINDS.get(type(node.ctx), "bind"), node.id, node, late))
    elif kind in PLAIN:
        for part in children(node):
            _collect(part, table, late, found)
    elif isinstance(node, SCOPES):
        for part in outer_parts(node):
            _collect(part, table, late, found)
        found += [Event("capture", name, node, late) for name in sorted(table[node].free)]
        if isinstance(node, FUNCTIONS) and not isinstance(node, gast.Lambda):
            found.append(Event("bind", node.name, node, late))
    elif isinstance(node, (gast.Import, gast.ImportFrom)):
        found += [Event("bind", name, node) for name in import_names(node)]
    elif isinstance(node, gast.AugAssign):
        named = isinstance(node.target, gast.Name)
        if named:
            found.append(Event("read", node.target.id, node))
        else:
            _collect(node.target, table, False, found)
        _collect(node.value, table, False, found)
        if named:
            found.append(Event("bind", node.target.id, node.target))
    elif type(node) in _LATE:
        sure = sure_parts(node)
        for number, part in enumerate(_ordered(node)):
            _collect(part, table, late or number >= sure, found)
    else:
        for part in _ordered(node):
            _collect(part, table, late, found)


def neighbours(stmts: Sequence[gast.AST]) -> dict[gast.AST, frozenset[str]]:
    """The `def`s of a suite, each with the names of the run of `def`s it stands in.

    They may refer to one another: what one captures of another is read only when it is called, so a run
    counts as binding all its names at once.
    """
    found: dict[gast.AST, frozenset[str]] = {}
    start = 0
    while start < len(stmts):
        end = start
        while end < len(stmts) and isinstance(stmts[end], gast.FunctionDef):
            end += 1
        run = stmts[start:end]
        found.update(dict.fromkeys(run, frozenset(stmt.name for stmt in run)))
        start = end + 1
    return found


_LATE = (gast.BoolOp, gast.IfExp, gast.Compare)  # the kinds with parts that may not be evaluated


def sure_parts(node: gast.AST) -> int:
    """How many of a node's parts, in the order of evaluation, are evaluated in any case."""
    if isinstance(node, gast.BoolOp):
        return 1
    if isinstance(node, gast.IfExp):
        return 1
    if isinstance(node, gast.Compare) and len(node.ops) > 1:
        return 2
    return sys.maxsize


def _ordered(node: gast.AST) -> list[gast.AST]:
    """The parts of a node in the order in which Python evaluates them."""
    if isinstance(node, gast.Assign):
        return [node.value, *node.targets]
    if isinstance(node, gast.NamedExpr):
        return [node.value, node.target]
    if isinstance(node, gast.IfExp):
        return [node.test, node.body, node.orelse]
    if isinstance(node, gast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return [part for pair in pairs for part in pair if part is not None]
    return children(node)


def local_names(node: gast.AST, extra: Iterable[str] = ()) -> Index:
    """The numbered names of a function-like node: parameters first, then as they are bound."""
    names = [param.id for param in parameter_nodes(node.args)]
    todo = list(reversed(node.body)) if isinstance(node.body, list) else [node.body]
    while todo:
        part = todo.pop()
        kind = type(part)
        if kind is gast.Name:
            if type(part.ctx) is not gast.Load:
                names.append(part.id)
        elif kind in PLAIN:
            todo.extend(reversed(children(part)))
        elif isinstance(part, SCOPES):
            if isinstance(part, FUNCTIONS) and not isinstance(part, gast.Lambda):
                names.append(part.name)
            todo.extend(reversed(outer_parts(part)))
        elif isinstance(part, (gast.Import, gast.ImportFrom)):
            names.extend(import_names(part))
        else:
            todo.extend(reversed(_ordered(part)))
    return Index([*names, *extra])
