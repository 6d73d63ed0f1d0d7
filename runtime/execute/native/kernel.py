"""A lowered graph: the record that the lowering makes and the entry takes.

In: nothing.  Out: `Kernel`.  What always holds: it is never changed after it is made.
"""

from __future__ import annotations

from runtime.dataclass import dataclass
from runtime.execute.native.values import Val


@dataclass(frozen=True)
class Kernel:
    """The lowered graph.

    text: the definition of `@kernel`.  declarations: what it needs declared.  params: one value for each
    parameter of the graph.  result: what it returns; its holes are stored to `%out`, 16 bytes for each.
    written: indexes of the parameters whose memory it writes; saves: those of them that it copies
    itself, where they must be put back, and `%saves` says to where.  owned: how many arrays it may make.
    watch: whether flags matter; outside: also those of the x87 unit, and what C functions may have cleared
    is in `%raised`.  objects: Python objects by symbol.  addresses: of other places outside, by symbol.
    wraps: whether code that notes where integers wrap would be other code.
    gain: about how many times faster it is than the plan.  streams: the random streams that it draws from:
    names of arguments, or symbols.
    """

    text: str
    declarations: tuple[str, ...]
    params: tuple[Val, ...]
    result: Val
    written: frozenset[int]
    saves: tuple[int, ...]
    owned: int
    watch: bool
    outside: bool
    bails: bool
    wraps: bool
    objects: dict[str, object]
    addresses: dict[str, int]
    gain: int
    streams: tuple[str, ...]
