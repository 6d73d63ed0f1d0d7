"""What tracing knows of the contents of mutable objects; a cache that may always be dropped.

The program's objects live at run time.  This table only remembers what was last seen or written, so
that a read can be answered without a run-time read.  Keys are (handle, kind, key) with kind "attr" or
"item"; entries are traced values, or `Loaded(type)`: the place is known to hold a value of that type.

Always holds: an entry is right at the current point of the trace.  Whatever could make it wrong
(a write through another handle that may be the same object, a call of unknown code) removes it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

from runtime.types import Type

CLEAN, CHECK, UNKNOWN = 0, 1, 2  # how far the outside world can be trusted to be as it was at the call
ANY = "<any key>"


@dataclasses.dataclass(frozen=True)
class Loaded:
    """The place holds some value of this type; reading it takes a run-time read."""

    type: Type


@dataclasses.dataclass(eq=False)
class Identity:
    """What is known of which object a handle stands for.

    cls: its exact class, or None.  fresh: made by this trace, at one node, so two different fresh
    handles are different objects.  complete: everything in it has an entry (what has none isn't there).
    """

    cls: type | None = None
    fresh: bool = False


Place = tuple[Identity, str, Any]


class Heap:
    """Entries, which handles have escaped, and how much of the outside world may have changed."""

    def __init__(self) -> None:
        self.entries: dict[Place, Any] = {}
        # lists whose every item has an entry: their length; dicts likewise: their keys in order
        self.sizes: dict[Identity, Any] = {}
        self.complete: set[Identity] = set()  # objects in which what has no entry isn't there
        self.escaped: set[Identity] = set()
        self.stale: set[tuple[Any, str, Any]] = set()  # (kind, key) written to objects of the outside world
        self.trust = CLEAN

    def copy(self) -> Heap:
        """An independent copy (entries are shared, they never change)."""
        new = Heap()
        new.entries, new.sizes, new.complete = dict(self.entries), dict(self.sizes), set(self.complete)
        new.escaped, new.stale, new.trust = set(self.escaped), set(self.stale), self.trust
        return new

    def restore(self, saved: Heap) -> None:
        """Become what `saved` is."""
        copy = saved.copy()
        self.__dict__.update(copy.__dict__)

    # ---------------------------------------------------------------- reading
    def get(self, who: Identity, kind: str, key: Any) -> Any:
        """The entry, or None."""
        return self.entries.get((who, kind, key))

    def is_stale(self, who: Identity, kind: str, key: Any) -> bool:
        """Whether an object from outside that may be this one was written at this key since the call began."""
        if not self.stale:
            return False
        classes = (who.cls, None) if who.cls is not None else {cls for cls, _, _ in self.stale}
        return any((cls, kind, k) in self.stale for cls in classes for k in (key, ANY))

    def any_stale(self, who: Identity, kind: str) -> bool:
        """Whether an object from outside that may be this one was written at any key."""
        return any(k == kind and (cls is None or who.cls in (None, cls)) for cls, k, _ in self.stale)

    # ---------------------------------------------------------------- writing
    def put(self, who: Identity, kind: str, key: Any, entry: Any) -> None:
        """Remember what the place holds (after a read; writes go through `written` first)."""
        self.entries[who, kind, key] = entry

    def written(self, who: Identity, kind: str, key: Any) -> None:
        """A write at `key` (ANY: some key): forget it in every object that may be the same one."""
        for place in [p for p in self.entries if p[1] == kind and (key is ANY or p[2] == key)]:
            if place[0] is who or self.may_alias(place[0], who):
                del self.entries[place]
        touched = {
            o
            for o in (*self.sizes, *self.complete)
            if self.may_alias(o, who) and (key is ANY or o is not who)
        }
        self.sizes = {o: n for o, n in self.sizes.items() if o not in touched}
        self.complete -= touched
        if not who.fresh:
            self.stale.add((who.cls, kind, key))

    def may_alias(self, a: Identity, b: Identity) -> bool:
        """Whether two handles may stand for the same object."""
        if a is b:
            return True
        if a.fresh and b.fresh or a.cls is not None and b.cls is not None and a.cls is not b.cls:
            return False
        hidden = a if a.fresh else b if b.fresh else None
        return hidden is None or hidden in self.escaped

    def unknown_call(self) -> None:
        """Code that isn't known has run: keep only what it can't have reached."""
        self.trust = UNKNOWN
        self._keep(lambda who: who.fresh and who not in self.escaped)

    def doubtful(self) -> None:
        """An operator on a value of unknown class has run: most likely nothing changed outside, but check."""
        self.trust = max(self.trust, CHECK)
        self._keep(lambda who: who.fresh and who not in self.escaped)

    def _keep(self, wanted: Callable[[Identity], bool]) -> None:
        self.entries = {p: e for p, e in self.entries.items() if wanted(p[0])}
        self.sizes = {w: n for w, n in self.sizes.items() if wanted(w)}
        self.complete = set(filter(wanted, self.complete))

    # ---------------------------------------------------------------- where paths meet
    def meet(self, others: Iterable[Heap], merge: Callable[[Any, Any], Any]) -> bool:
        """Keep what holds here and in all `others`; whether anything had to go.

        merge(a, b): the entry that describes both, or None when there is none."""
        changed = False
        for other in others:
            for place, entry in list(self.entries.items()):
                merged = merge(entry, other.entries.get(place)) if place in other.entries else None
                if merged is None:
                    del self.entries[place]
                elif merged is not entry:
                    self.entries[place] = merged
                changed |= merged is not entry
            sizes = {w: n for w, n in self.sizes.items() if other.sizes.get(w) == n}
            complete = self.complete & other.complete
            escaped, stale = self.escaped | other.escaped, self.stale | other.stale
            trust = max(self.trust, other.trust)
            changed |= (sizes, complete, stale, trust) != (self.sizes, self.complete, self.stale, self.trust)
            known = {place[0] for place in self.entries} | set(self.sizes) | self.complete
            changed |= bool((escaped - self.escaped) & known)
            self.sizes, self.complete, self.escaped, self.stale, self.trust = (
                sizes,
                complete,
                escaped,
                stale,
                trust,
            )
        return changed
