"""Plans in part as machine code: loops and runs of array operators that can be native, where not all can be.

In: a graph.  Out: `NativeLoops`, or `Unlowered` with the reason.  What always holds: each part is handed back
to its own plan as a whole graph is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from runtime import background
from runtime.computed import computed
from runtime.errors import Span
from runtime.execute import traceback
from runtime.execute.loader import bare, load
from runtime.execute.native import opened, sites
from runtime.execute.native.caught import without_tries
from runtime.execute.native.executor import NativeFunction, has_loop, unavailable
from runtime.execute.native.kinds import Unlowered
from runtime.execute.native.split import put_back, split
from runtime.execute.python_source import plan_source
from runtime.ir.graph import Graph, Node

traceback.register_hidden(__file__)  # between a plan and the code that handed the call to it


def prepare() -> None:
    """Nothing: who calls this loads the module, so that another thread need not."""


class NativeLoops:
    """A plan whose loops and chains of array operators are machine code, as far as they can be.

    entry: what to call.  parts: the native parts.  text: their LLVM IR, one after the other.
    later: the parts of which the types are found when they are reached.  loops: why a loop is left to the
    plan, by its place.
    The plan is loaded by the first call where a background thread made the parts: it parses nothing.
    """

    def __init__(self, graph: Graph) -> None:
        reason = unavailable()
        if reason:
            raise Unlowered(reason)
        self.parts: list[NativeFunction] = []
        self.later: list[sites.Site] = []
        self.loops: dict[Span, str] = {}
        self.when_idle: Callable[[], object] | None = None  # called when the last part is given up
        self.entry: Callable[..., Any]
        whole = self._on_fields(graph)
        self._whole = whole is not None
        if whole is not None:
            self._changed, self.certain, self.hopeful, self.entry = graph, True, True, whole
            return
        changed = split(graph, self._compile, self._at_run_time, self._left)
        if changed is None:
            raise Unlowered("no part of it can be native")
        self._changed = changed
        self.certain = bool(self.parts)
        self.hopeful = any(sites.numeric(site.graph) for site in self.later)
        changes = background.here() or self.later
        self.entry = self._call if changes else self._loaded

    def _on_fields(self, graph: Graph) -> Callable[..., Any] | None:
        """The whole graph as native code on what the objects among its parameters hold."""
        inside = opened.whole(without_tries(graph))
        if inside is None:
            return None
        try:
            part = NativeFunction(inside.graph, lambda: opened.given_up)
        except Unlowered:
            return None
        self.parts.append(part)
        plan = functools.cache(lambda: load(plan_source(graph)))
        return inside.around(part.entry, plan, lambda *args: plan()(*args))

    @property
    def idle(self) -> bool:
        """Whether the plan does all there is."""
        return all(part.idle for part in self.parts) and all(site.shut for site in self.later)

    @property
    def doubtful(self) -> bool:
        """Whether the plan does loops, or may do them all the same, or Python's functions take part."""
        slow = self.idle or self.undecided or any(part.doubtful for part in self.parts)
        return slow or (has_loop(self._changed) and not self._whole)

    @property
    def undecided(self) -> bool:
        """Whether there are parts that were not reached yet."""
        return any(not (site.shut or site.all_made) for site in self.later)

    @property
    def told(self) -> tuple[str, ...]:
        """What was found of the parts whose types are found when they are reached, and what parts did not do,
        in words."""
        found = [site.told for site in self.later if site.told]
        for part in self.parts:
            found += [told if self._whole else f"{part.place}: {told}" for told in part.told]
        return tuple(dict.fromkeys(found))

    @property
    def text(self) -> str:
        """The LLVM IR of the parts."""
        return "\n".join(part.text for part in self.parts)

    @computed
    def _loaded(self) -> Callable[..., Any]:
        return load(plan_source(self._changed, blocks=not self.certain))

    def _call(self, *args: Any) -> Any:
        return self._loaded(*args)

    def _compile(self, graph: Graph) -> Callable[..., Any]:
        part = NativeFunction(graph, functools.cache(lambda: bare(load(plan_source(graph), part=True))))
        self.parts.append(part)
        return part.entry

    def _left(self, node: Node, why: Unlowered) -> None:
        """Remember why a loop is left to the plan."""
        if node.span is not None:
            self.loops.setdefault(node.span, why.text())

    def _at_run_time(self, graph: Graph, plan: Graph, node: Node) -> sites.Site | None:
        """What does a part by the types that are found when it is reached."""
        graph = without_tries(graph)
        if not sites.promising(graph):
            return None
        run = functools.cache(lambda: bare(load(plan_source(plan), part=True)))
        site = sites.Site(graph, node, run, self._compiled, self._put_back)
        self.later.append(site)
        return site

    def _compiled(
        self, graph: Graph, plan: Callable[[], Callable[..., Any]], others: sites.Others
    ) -> Callable[..., Any]:
        part = NativeFunction(graph, plan, others)
        self.parts.append(part)
        return part.entry

    def _put_back(self) -> None:
        """Let the plan do the parts that were given up: from the next call on they stand in their places."""
        for one in reversed(self.later):  # outer ones first: they bring those in them
            if one.shut:
                self._changed = put_back(self._changed, one, one.node)
        self.__dict__.pop("_loaded", None)
        if self.idle and self.when_idle is not None:
            self.when_idle()

    @property
    def calls(self) -> int:
        """How many calls native code has taken on."""
        return sum(part.calls for part in self.parts)

    @property
    def bails(self) -> int:
        """How many of them it has handed back to the plan."""
        return sum(part.bails for part in self.parts)
