"""When an array that native code made is read for the last time, so that its memory can be taken again.

In: the nodes of a region and what their values are.  Out: arrays whose memory is free.  What always holds: an
array is free only when no value that may be it, or a part of it, is read later; what goes into a branch or a
loop, or is a result, is never free in this region.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from runtime.execute.native.arrays import disjoint
from runtime.execute.native.values import Arr, Backwards, Lazy, Listed, Maybe, Method, Tup, Val, Zip
from runtime.ir.graph import Graph, Node, Value

FOREVER = 1 << 60


class Liveness:
    """The arrays that one region makes.

    last: for each value, the number of the last node that reads it.  since: the places numbered higher are
    in this region.  held: places whose arrays are in lists, and so never free.
    """

    def __init__(self, graph: Graph, since: int, held: set[int]) -> None:
        self.since, self.held = since, held
        self.last: dict[Value, int] = {}
        self.made: dict[int, Arr] = {}
        for k, node in enumerate(graph.nodes):
            for x in node.inputs:
                if isinstance(x, Value):
                    self.last[x] = FOREVER if node.regions else max(k, self.last.get(x, 0))
        self.last.update((x, FOREVER) for x in graph.results if isinstance(x, Value))

    def born(self, x: Val) -> None:
        """A node has this result."""
        if not isinstance(x, Arr) or x.handle is None or x.site is None or x.site in self.held:
            return
        if x.site > self.since:
            self.made.setdefault(x.site, x)

    def forget(self, env: dict[Value, Val], node: Node, k: int) -> None:
        """Drop what node number k read for the last time: what is left is looked through again and again."""
        for x in node.inputs:
            if isinstance(x, Value) and self.last[x] == k:
                env.pop(x, None)

    def held_on(self) -> None:
        """Arrays may have been put into lists."""
        for site in self.held.intersection(self.made):
            del self.made[site]

    def freed(self, env: Mapping[Value, Val], k: int) -> list[Arr]:
        """The arrays that no node after number `k` reads."""
        if not self.made:
            return []
        alive = self.alive(env, k)
        if alive is None:
            return []
        found = [a for site, a in self.made.items() if site not in alive]
        for a in found:
            assert a.site is not None
            del self.made[a.site]
        return found

    def dying(self, x: Lazy, env: Mapping[Value, Val], k: int) -> Arr | None:
        """An array of the same form that nothing but the lazy one reads any more, element by element."""
        if x.parts or not self.made:
            return None
        for leaf in x.leaves:
            fits = leaf.site in self.made and leaf.handle is not None and leaf.dtype.num == x.kind.dtype.num
            if not fits or leaf.dims != x.dims or not all(a is leaf or disjoint(a, leaf) for a in x.leaves):
                continue
            alive = self.alive(env, k)
            if alive is not None and leaf.site not in alive:
                return leaf
        return None

    def saving(self, x: Lazy, others: Mapping[Value, Val], k: int) -> Arr | None:
        """The array to store a lazy one in, if it is one of several that nothing else reads after node k."""
        alive = self.alive(others, k)
        if alive is None or len({a.site for a in x.leaves if a.site in self.made} - alive) < 2:
            return None
        return self.dying(x, others, k)

    def alive(self, env: Mapping[Value, Val], k: int) -> set[int] | None:
        """The places whose arrays are read after node number k; None where that is not known."""
        alive: set[int] = set()
        last = self.last
        for value, x in env.items():
            if last.get(value, -1) > k:
                if type(x) is Arr:  # most of them
                    if x.site is not None:
                        alive.add(x.site)
                    continue
                for part in _parts(x):
                    if isinstance(part, Lazy) and part.parts:
                        return None  # it has memory of its own, prepared from who knows what
                    if isinstance(part, Arr) and part.site is not None:
                        alive.add(part.site)
        return alive


def _parts(x: Val) -> Iterator[Val]:
    """The arrays that a value holds or reads."""
    yield x
    if isinstance(x, (Tup, Zip)):
        for item in x.items if isinstance(x, Tup) else x.parts:
            yield from _parts(item)
    elif isinstance(x, Maybe):
        yield from _parts(x.number)
    elif isinstance(x, Listed):
        yield from _parts(x.array)
    elif isinstance(x, (Backwards, Method)):
        yield from _parts(x.of)
    elif isinstance(x, Lazy):
        yield from x.leaves
