"""Printable names for the values of a graph.

In: a graph.  Out: a name for each of its values.  What always holds: names are Python identifiers and
no keywords; they depend on the graph alone, so they are the same in every run; a value whose hint is
an identifier that nothing else in its scope asks for gets exactly that hint.
"""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Iterable, Iterator

from runtime.ir.graph import Graph, Value


def identifier(hint: str) -> str:
    """The hint as an identifier that Python reads back unchanged; empty when nothing is left of it."""
    name = re.sub(r"\W+", "_", unicodedata.normalize("NFKC", hint))
    if not name.strip("_") and not hint.isidentifier():
        return ""  # nothing but punctuation
    if not name.isidentifier():
        name = f"v{name}"
    if not name.isidentifier():
        return ""
    return f"{name}_" if keyword.iskeyword(name) else name


class NameGiver:
    """Gives each asker another name.

    reserved: names that must not be given.
    wanted: hints that will be asked for; a made-up name never takes one of them.
    """

    def __init__(self, reserved: Iterable[str] = (), wanted: Iterable[str] = ()) -> None:
        self.taken = set(reserved)
        self.wanted = {identifier(hint) for hint in wanted}
        self._next: dict[str, int] = {}

    def give(self, hint: str = "", short: str = "t") -> str:
        """A new name: the hint if it is free, else the hint with a number; `t1`, `t2`, ... without one."""
        base = identifier(hint)
        if base and base not in self.taken:
            self.taken.add(base)
            return base
        stem = f"{base}_" if base else short
        number = self._next.get(stem, 0) + 1
        while f"{stem}{number}" in self.taken or f"{stem}{number}" in self.wanted:
            number += 1
        self._next[stem] = number
        self.taken.add(f"{stem}{number}")
        return f"{stem}{number}"


def values_of(graph: Graph) -> Iterator[Value]:
    """The values that the graph itself defines (not its regions), in order of definition."""
    yield from graph.params
    for node in graph.nodes:
        yield from node.outputs


def give_names(graph: Graph, reserved: Iterable[str] = (), scoped: bool = True) -> dict[Value, str]:
    """A name for every value of the graph and its regions.

    reserved: names that no value gets (what else the printed text uses).
    scoped: each region is a scope of its own (it is closed, so it reads like an inner function);
        False: no name occurs twice in the whole graph.
    """
    reserved = frozenset(reserved)
    names: dict[Value, str] = {}
    scopes = [graph]
    for scope in scopes:
        scopes.extend(region for node in scope.nodes for region in node.regions)
    if scoped:
        for scope in scopes:
            giver = NameGiver(reserved, (value.name for value in values_of(scope)))
            for value in values_of(scope):
                names[value] = giver.give(value.name)
        return names
    giver = NameGiver(reserved, (value.name for scope in scopes for value in values_of(scope)))
    _name_nested(graph, giver, names)
    return names


def _name_nested(graph: Graph, giver: NameGiver, names: dict[Value, str]) -> None:
    for value in graph.params:
        if value not in names:
            names[value] = giver.give(value.name)
    for node in graph.nodes:
        for value in node.outputs:
            if value not in names:
                names[value] = giver.give(value.name)
        for region in node.regions:
            _name_nested(region, giver, names)
