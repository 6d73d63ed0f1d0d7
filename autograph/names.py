"""Fresh names: what generated code calls its helpers, so that nothing of the user's is shadowed.

In: the names that are taken.  Out: names that are not, the same ones in every run.
"""

from __future__ import annotations

import ast
import builtins
import keyword
from collections.abc import Iterable

from autograph.trees import walk

_NAMING = frozenset(["id", "arg", "name", "asname", "rest", "names"])
_RESERVED = frozenset(keyword.kwlist) | frozenset(dir(builtins))


class _Named(dict[type, tuple[str, ...]]):
    """For each kind of node the fields in which identifiers stand."""

    def __missing__(self, kind: type) -> tuple[str, ...]:
        found = self[kind] = tuple(field for field in getattr(kind, "_fields", ()) if field in _NAMING)
        return found


_NAMED = _Named()


class Names:
    """Gives out names that are neither taken, nor keywords, nor builtins; remembers what it gave."""

    def __init__(self, used: Iterable[str] = ()) -> None:
        self._used = set(used)
        self._next: dict[str, int] = {}

    def fresh(self, stem: str) -> str:
        """`stem` where it is free, else `stem_1`, `stem_2`, ...; the name is taken from then on."""
        name, number = stem, self._next.get(stem, 0)
        while name in self._used or name in _RESERVED:
            number += 1
            name = f"{stem}_{number}"
        self._next[stem] = number
        self._used.add(name)
        return name

    def add(self, *names: str) -> None:
        """Take names without asking for them."""
        self._used.update(names)

    def __contains__(self, name: object) -> bool:
        return name in self._used


def names_in(tree: ast.AST) -> set[str]:
    """Every identifier of a tree that a new variable could collide with: names, parameters, defs, imports."""
    found: set[str] = set()
    for node in walk(tree):
        held = node.__dict__
        for field in _NAMED[type(node)]:
            value = held.get(field)
            if isinstance(value, str):
                found.add(value.partition(".")[0])
            elif field == "names":  # of a global or nonlocal statement
                found.update(name for name in value if isinstance(name, str))
    return found
