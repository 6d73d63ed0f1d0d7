"""What tracing knows of the contents of mutable objects; a cache that may always be dropped.

The program's objects live at run time.  This table only remembers what was last seen or written, so
that a read can be answered without a run-time read.  Keys are (handle, kind, key) with kind "attr" or
"item"; entries are traced values, or `Loaded(type)`: the place is known to hold a value of that type.

Always holds: an entry is right at the current point of the trace.  Whatever could make it wrong
(a write through another handle that may be the same object, a call of unknown code) removes it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from runtime.dataclass import dataclass
from runtime.types import ArrayType, NumberType, ObjectType, StaticType, TupleType, Type, WeakType, join

CLEAN, CHECK, UNKNOWN = 0, 1, 2  # how far the outside world can be trusted to be as it was at the call
ANY = "<any key>"
NO_NAME = "<any key but a text>"
NOTHING: Any = object()  # no entry
_EPOCHS = itertools.count(1)


class Namespace:
    """Stands for the class of a module's globals: a dict that the program writes to is taken for none."""


@dataclass(frozen=True)
class Held:
    """What an object holds: these fields and no others.  origins: the facts of those from outside that it
    may be."""

    fields: tuple[tuple[str, Loaded], ...]
    origins: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Loaded:
    """The place holds some value of this type; reading it takes a run-time read.  held: what is known of the
    fields of an object."""

    type: Type
    held: Held | None = None


@dataclass(eq=False)
class Identity:
    """What is known of which object a handle stands for.

    cls: its exact class, or None.  fresh: made by this trace, at one node, so two different fresh
    handles are different objects.  group: those that a guard says are all different objects.
    """

    cls: type | None = None
    fresh: bool = False
    group: Any = None

    def apart(self, other: Identity | None) -> bool:
        """Whether a guard says that two handles stand for different objects."""
        if other is None or self.group is None:
            return False
        return self is not other and self.group is other.group


Place = tuple[Identity, str, Any]
# (a, b, the heap where a place holds a, the one where it holds b): the entry that describes both
Merge = Callable[[Any, Any, Any, Any], Any]


def meets(written: Any, key: Any) -> bool:
    """Whether a write at `written`, a key or one of several, may be one at this key."""
    return written is ANY or (not isinstance(key, str) if written is NO_NAME else same_key(key, written))


def may_be_text(t: Type) -> bool:
    """Whether a key may be a text, as the names in a module are."""
    if isinstance(t, StaticType):
        return isinstance(t.value, str)
    known = isinstance(t, ObjectType) and t.cls in (slice, list, tuple)
    return not (known or isinstance(t, (WeakType, NumberType, ArrayType, TupleType)))


def same_key(a: Any, b: Any) -> bool:
    """Whether two keys are one for a dict: NaN is itself, though it equals nothing."""
    return a is b or bool(a == b)


@dataclass(eq=False)
class Flags:
    """Bools that the test of a `while` found where others may write.  anew: those that each trip reads."""

    seen: dict[Place, None] = dataclasses.field(default_factory=dict)
    anew: set[Place] = dataclasses.field(default_factory=set)


class Log:
    """What happened to the heap while it was watched: writes, entries, calls of unknown code, in order."""

    def __init__(self) -> None:
        self.events: list[tuple[str, Any]] = []
        self.escaped: set[Identity] = set()


class Heap:
    """Entries, which handles have escaped, and how much of the outside world may have changed."""

    def __init__(self) -> None:
        self.entries: dict[Place, Any] = {}
        # lists whose every item has an entry: their length; dicts likewise: their keys in order
        self.sizes: dict[Identity, Any] = {}
        self.complete: set[Identity] = set()  # objects in which what has no entry isn't there
        self.kinds: dict[Identity, Any] = {}  # of lists made here: the type of all items, the least length
        self.escaped: set[Identity] = set()
        # (class, kind, key, one of a group or None) written to objects of the outside world
        self.stale: set[tuple[Any, str, Any, Identity | None]] = set()
        self.trust = CLEAN
        self.epoch = 0  # another one whenever what this trace did not make itself may have changed
        self.logs: list[Log] = []  # who watches; the same list for all copies

    def copy(self) -> Heap:
        """An independent copy (entries are shared, they never change)."""
        new = Heap()
        new.logs = self.logs
        new.entries, new.sizes, new.complete = dict(self.entries), dict(self.sizes), set(self.complete)
        new.escaped, new.stale, new.trust = set(self.escaped), set(self.stale), self.trust
        new.epoch = self.epoch
        new.kinds = dict(self.kinds)
        return new

    def restore(self, saved: Heap) -> None:
        """Become what `saved` is."""
        copy = saved.copy()
        self.__dict__.update(copy.__dict__)

    @contextlib.contextmanager
    def as_at_the_call(self) -> Iterator[None]:
        """Read what nobody can have changed since the call began."""
        before, self.trust = self.trust, CLEAN
        try:
            yield
        finally:
            self.trust = before

    # ---------------------------------------------------------------- reading
    def get(self, who: Identity, kind: str, key: Any) -> Any:
        """The entry, or `NOTHING`: None is a value like others."""
        return self.entries.get((who, kind, key), NOTHING)

    def is_stale(self, who: Identity, kind: str, key: Any) -> bool:
        """Whether an object from outside that may be this one was written at this key since the call."""
        if not self.stale:
            return False
        keys = (key, ANY) if isinstance(key, str) else (key, ANY, NO_NAME)
        return any(
            k == kind
            and written in keys
            and (who.cls is None or cls in (who.cls, None))
            and not who.apart(one)
            for cls, k, written, one in self.stale
        )

    def stale_keys(self, who: Identity, kind: str) -> set[Any]:
        """The keys at which an object from outside that may be this one was written since the call."""
        return {
            key
            for cls, k, key, one in self.stale
            if k == kind and (cls is None or who.cls in (None, cls)) and not who.apart(one)
        }

    # ---------------------------------------------------------------- writing
    def put(self, who: Identity, kind: str, key: Any, entry: Any) -> None:
        """Remember what the place holds (after a read; writes go through `written` first)."""
        self.entries[who, kind, key] = entry
        self._happened("put", ((who, kind, key), entry))

    def escape(self, who: Identity) -> None:
        """Others may reach the object from now on."""
        self.escaped.add(who)
        for log in self.logs:
            log.escaped.add(who)

    def private(self, who: Identity) -> bool:
        """Whether nobody else can reach the object: it was made here, and was not handed on."""
        return who.fresh and who not in self.escaped

    def _happened(self, what: str, how: Any = None) -> None:
        for log in self.logs:
            log.events.append((what, how))

    def written(self, who: Identity, kind: str, key: Any) -> None:
        """A write at `key` (ANY, NO_NAME: some key): forget it in every object that may be the same one."""
        if self.private(who):  # the common case: no other handle stands for it
            for place in [p for p in self.entries if p[0] is who and p[1] == kind]:
                if meets(key, place[2]):
                    del self.entries[place]
            if key in (ANY, NO_NAME):
                self.sizes.pop(who, None)
                self.complete.discard(who)
        else:
            self.epoch = next(_EPOCHS)
            self._written_anywhere(who, kind, key)
        if not who.fresh:
            self.stale.add((who.cls, kind, key, who if who.group is not None else None))
        self._happened("written", (who, kind, key))
        if kind == "attr" and who.cls in (types.ModuleType, None) and not who.fresh:
            self._other_name(Identity(Namespace), "item", key)
        elif kind == "item" and who.cls is Namespace:
            self._other_name(Identity(types.ModuleType), "attr", key)
        if not who.fresh and isinstance(key, str) and key not in (ANY, NO_NAME):  # an object, and its dict
            if kind == "attr" and who.cls not in (dict, types.ModuleType):
                self._other_name(Identity(dict), "item", key)
            elif kind == "item" and who.cls in (dict, None):
                self._other_name(Identity(), "attr", key)

    def gone(self, who: Identity, kind: str, key: Any) -> None:
        """A deletion at `key`: for a while, nothing is there, whatever is written there later."""
        self.written(who, kind, key)
        self._happened("gone", (who, kind, key))

    def _written_anywhere(self, who: Identity, kind: str, key: Any) -> None:
        """Forget the place in all objects that may be this one."""
        for place in [p for p in self.entries if p[1] == kind and meets(key, p[2])]:
            if place[0] is who or self.may_alias(place[0], who):
                del self.entries[place]
        touched = {
            o
            for o in (*self.sizes, *self.complete)
            if self.may_alias(o, who) and (key in (ANY, NO_NAME) or o is not who)
        }
        self.sizes = {o: n for o, n in self.sizes.items() if o not in touched}
        self.complete -= touched

    def _other_name(self, who: Identity, kind: str, key: Any) -> None:
        """Attributes are the items of a module's globals or an object's dict: one write is to both."""
        for place in [p for p in self.entries if p[1] == kind and key in (ANY, p[2])]:
            if place[0].cls is who.cls or who.cls is None and self.may_alias(place[0], who):
                del self.entries[place]
        self.stale.add((who.cls, kind, key, None))

    def may_alias(self, a: Identity, b: Identity) -> bool:
        """Whether two handles may stand for the same object."""
        if a is b:
            return True
        if a.apart(b):
            return False
        if a.fresh and b.fresh or a.cls is not None and b.cls is not None and a.cls is not b.cls:
            return False
        hidden = a if a.fresh else b if b.fresh else None
        return hidden is None or hidden in self.escaped

    def unknown_call(self) -> None:
        """Code that isn't known has run: keep only what it can't have reached."""
        self.trust, self.epoch = UNKNOWN, next(_EPOCHS)
        self._happened("unknown")
        self._keep(self.private)

    def doubtful(self) -> None:
        """An operator on a value of unknown class has run: most likely nothing changed outside, but check."""
        self.trust, self.epoch = max(self.trust, CHECK), next(_EPOCHS)
        self._happened("doubtful")
        self._keep(self.private)

    def _keep(self, wanted: Callable[[Identity], bool]) -> None:
        self.entries = {p: e for p, e in self.entries.items() if wanted(p[0])}
        self.sizes = {w: n for w, n in self.sizes.items() if wanted(w)}
        self.complete = set(filter(wanted, self.complete))

    # ---------------------------------------------------------------- where paths meet
    def meet(self, others: Iterable[Heap], merge: Merge) -> bool:
        """Keep what holds here and in all `others`; whether anything had to go."""
        changed = False
        for other in others:
            here = self  # what is known of objects is asked of all of it
            uneven = {place[0] for place in self.entries.keys() ^ other.entries.keys()}
            for place, entry in list(self.entries.items()):
                found = other.entries.get(place, NOTHING)
                merged = NOTHING if found is NOTHING else merge(entry, found, here, other)
                if merged is NOTHING:
                    here = self.copy() if here is self else here
                    del self.entries[place]
                elif merged is not entry:
                    self.entries[place] = merged
                changed |= merged is not entry
            sizes = {w: n for w, n in self.sizes.items() if other.sizes.get(w) == n}
            complete = self.complete & other.complete - uneven
            escaped, stale = self.escaped | other.escaped, self.stale | other.stale
            trust = max(self.trust, other.trust)
            if other.epoch != self.epoch:
                self.epoch = next(_EPOCHS)
            changed |= (sizes, complete, stale, trust) != (self.sizes, self.complete, self.stale, self.trust)
            known = {place[0] for place in self.entries} | set(self.sizes) | self.complete
            changed |= bool((escaped - self.escaped) & known)
            kinds = {w: _kind_of_both(k, other.kinds[w]) for w, k in self.kinds.items() if w in other.kinds}
            changed |= kinds != self.kinds
            self.kinds = kinds
            self.sizes, self.complete, self.escaped, self.stale, self.trust = (
                sizes,
                complete,
                escaped,
                stale,
                trust,
            )
        return changed

    # ------------------------------------------------------- where control may come from many points
    @contextlib.contextmanager
    def watched(self) -> Iterator[Log]:
        """Log what happens to this heap and its copies meanwhile."""
        log = Log()
        self.logs.append(log)
        try:
            yield log
        finally:
            self.logs.remove(log)

    def throughout(self, log: Log, merge: Merge) -> Heap:
        """What holds from now on at every moment of the stretch that was logged."""
        new = self.copy()
        new.logs = []
        new.escaped |= log.escaped
        unknown: set[Place] = set()  # written, and not yet known what with
        for what, how in log.events:
            if what == "put":
                place, entry = how
                unknown.discard(place)
                if place in new.entries:
                    new.entries[place] = merge(new.entries[place], entry, None, None)
            elif what == "written":
                known = new.entries.get(how, NOTHING)
                # An object that has the attribute all the time; of a dict, the order of keys goes with them.
                same = how[0] if known is not NOTHING and how[1] == "attr" else None
                new.complete = {o for o in new.complete if o is same or not new.may_alias(o, how[0])}
                new.sizes = {o: n for o, n in new.sizes.items() if not new.may_alias(o, how[0])}
                new.kinds = {o: k for o, k in new.kinds.items() if not new.may_alias(o, how[0])}
                new.written(*how)
                if known is not NOTHING:
                    new.entries[how] = known
                    unknown.add(how)
            elif what == "gone":
                new.entries.pop(how, None)
                new.complete.discard(how[0])
                unknown.discard(how)
            elif what == "unknown":
                new.unknown_call()
            else:
                new.doubtful()
        for place in unknown:
            new.entries.pop(place, None)
            new.complete.discard(place[0])
        new.logs = self.logs
        return new


def _kind_of_both(a: Any, b: Any) -> Any:
    """What is known of a list that is as `a` says on one way and as `b` says on another."""
    types = [t for t, _ in (a, b) if t is not None]
    return (None if not types else types[0] if len(types) == 1 else join(*types)), min(a[1], b[1])
