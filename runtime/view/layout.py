"""Where the boxes and lines of a drawn graph go: layers from top to bottom.

In: boxes with sizes, and edges between them.  Out: a place for each box and a line of points for each edge.
What always holds: every edge goes down; boxes do not overlap; the outcome depends on the input alone.

A box's layer is one below the lowest box it depends on.  An edge that crosses layers gets a narrow
stand-in in each, so that lines run between boxes and not through them; a few sweeps order each layer by
the mean place of its neighbours; then boxes are moved towards that mean as far as their neighbours let them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from runtime.dataclass import dataclass

_SWEEPS = 6
_GAP_X, _GAP_Y = 22.0, 34.0
_LANE = 10.0


@dataclass
class Slot:
    """A box, or a stand-in for a long edge (`box` is None), and where it was put.

    room: the height of its layer.
    """

    box: int | None
    width: float
    height: float
    layer: int = 0
    room: float = 0.0
    x: float = 0.0
    y: float = 0.0
    above: list[int] = dataclasses.field(default_factory=list)
    below: list[int] = dataclasses.field(default_factory=list)

    @property
    def middle(self) -> float:
        """The horizontal middle."""
        return self.x + self.width / 2


@dataclass(frozen=True)
class Layout:
    """places: left and top of each box.  lines: points of each edge, in the order given.  And the size."""

    places: tuple[tuple[float, float], ...]
    lines: tuple[tuple[tuple[float, float], ...], ...]
    width: float
    height: float


def arrange(sizes: Sequence[tuple[float, float]], edges: Sequence[tuple[int, int]]) -> Layout:
    """Lay out boxes of the given (width, height); an edge (a, b) has a < b.  The last box goes lowest."""
    if not sizes:
        return Layout((), (), 0.0, 0.0)
    layers = _layers(len(sizes), edges)
    layers[-1] = max(layers[:-1], default=-1) + 1
    slots = [Slot(k, width, height, layers[k]) for k, (width, height) in enumerate(sizes)]
    chains = [_chain(slots, a, b) for a, b in edges]
    rows: list[list[int]] = [[] for _ in range(max(layers) + 1)]
    for k, slot in enumerate(slots):
        rows[slot.layer].append(k)
    _order(slots, rows)
    _place(slots, rows)
    y = 0.0
    for row in rows:
        tallest = max(slots[k].height for k in row)
        for k in row:
            slots[k].y, slots[k].room = y, tallest
        y += tallest + _GAP_Y
    left = min(slot.x for slot in slots)
    for slot in slots:
        slot.x -= left
    places = tuple((slot.x, slot.y) for slot in slots if slot.box is not None)
    lines = tuple(_line(slots, chain) for chain in chains)
    return Layout(places, lines, max(slot.x + slot.width for slot in slots), y - _GAP_Y)


def _layers(count: int, edges: Iterable[tuple[int, int]]) -> list[int]:
    layers = [0] * count
    for a, b in sorted(edges, key=lambda edge: edge[1]):
        layers[b] = max(layers[b], layers[a] + 1)
    return layers


def _chain(slots: list[Slot], a: int, b: int) -> list[int]:
    """The slots that an edge goes through; makes the stand-ins."""
    chain = [a]
    for layer in range(slots[a].layer + 1, slots[b].layer):
        slots.append(Slot(None, _LANE, 0.0, layer))
        chain.append(len(slots) - 1)
    chain.append(b)
    for upper, lower in zip(chain, chain[1:], strict=False):
        slots[upper].below.append(lower)
        slots[lower].above.append(upper)
    return chain


def _order(slots: list[Slot], rows: list[list[int]]) -> None:
    """Sort every layer by the mean rank of its neighbours, going down and up in turn."""
    rank = {k: float(place) for row in rows for place, k in enumerate(row)}
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        for row in rows if down else reversed(rows):

            def weight(k: int, down: bool = down) -> float:
                near = slots[k].above if down else slots[k].below
                return sum(rank[n] for n in near) / len(near) if near else rank[k]

            row.sort(key=weight)  # a stable sort: equal weights keep their order
            rank.update((k, float(place)) for place, k in enumerate(row))


def _place(slots: list[Slot], rows: list[list[int]]) -> None:
    """Give each slot its x: near the mean of its neighbours, in order, without overlap."""
    for row in rows:
        x = 0.0
        for k in row:
            slots[k].x = x
            x += slots[k].width + _GAP_X
    for sweep in range(2 * _SWEEPS):
        down = sweep % 2 == 0
        for row in rows if down else reversed(rows):
            wanted = []
            for k in row:
                near = slots[k].above if down else slots[k].below
                middle = sum(slots[n].middle for n in near) / len(near) if near else slots[k].middle
                wanted.append(middle - slots[k].width / 2)
            for k, x in zip(row, _spread(wanted, [slots[k].width for k in row]), strict=True):
                slots[k].x = x


def _spread(wanted: Sequence[float], widths: Sequence[float]) -> list[float]:
    """The places nearest to the wanted ones (least squares) that keep order and gaps."""
    # In coordinates from which the widths are taken out, the condition is just "not decreasing": boxes
    # that would collide form a block, which sits at the mean of what its members want.
    offsets = [0.0]
    for width in widths[:-1]:
        offsets.append(offsets[-1] + width + _GAP_X)
    blocks: list[tuple[float, int]] = []
    for want, offset in zip(wanted, offsets, strict=True):
        total, count = want - offset, 1
        while blocks and blocks[-1][0] / blocks[-1][1] > total / count:
            more, members = blocks.pop()
            total, count = total + more, count + members
        blocks.append((total, count))
    levels = [total / count for total, count in blocks for _ in range(count)]
    return [level + offset for level, offset in zip(levels, offsets, strict=True)]


def _line(slots: list[Slot], chain: list[int]) -> tuple[tuple[float, float], ...]:
    """From the bottom of the first box, through the stand-ins, to the top of the last.

    Segments are straight and bent in turn."""
    first, last = slots[chain[0]], slots[chain[-1]]
    start = (first.x + first.width * _share(first.below, chain[1], slots), first.y + first.height)
    end = (last.x + last.width * _share(last.above, chain[-2], slots), last.y)
    # Straight down beside higher boxes of its own layer first, then from lane to lane.
    points = [start, (start[0], first.y + first.room)]
    for k in chain[1:-1]:
        points += [(slots[k].middle, slots[k].y), (slots[k].middle, slots[k].y + slots[k].room)]
    return (*points, end)


def _share(neighbours: Sequence[int], one: int, slots: list[Slot]) -> float:
    """At which part of a box's width an edge is attached: edges leave in the order of their other ends."""
    order = sorted(neighbours, key=lambda k: slots[k].middle)
    return (order.index(one) + 1) / (len(order) + 1)
