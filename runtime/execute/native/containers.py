"""What native code makes that holds items: lists, dicts, sets and deques, each by what belongs to its kind.

In: a container, or the class that makes one.  Out: what is asked of it.  What always holds: what a kind of
container has no code for raises Unlowered.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeGuard

from runtime.execute.native import list_methods, lists
from runtime.execute.native.emit import Emitter
from runtime.execute.native.kinds import Unlowered
from runtime.execute.native.state import State
from runtime.execute.native.values import LISTS, Cut, Entries, Keyed, Lists, Method, Num, Queue, Static, Val
from runtime.lazy import Lazy

if TYPE_CHECKING:
    from runtime.execute.native import dicts, queues, searches
else:  # most programs have lists only
    _IN = "runtime.execute.native."
    dicts, queues, searches = Lazy(f"{_IN}dicts"), Lazy(f"{_IN}queues"), Lazy(f"{_IN}searches")

_CLASSES = (dict, set, Counter, defaultdict, deque)
Container = Keyed | Queue | Lists
CONTAINERS = (Keyed, Queue, *LISTS)


def is_class(x: object) -> TypeGuard[type]:
    """Whether a call of it makes a container of another one's items, or an empty one."""
    return any(x is cls for cls in _CLASSES)


def dict_of(state: State, maker: Hashable, items: Sequence[Val]) -> Keyed:
    """A dict display: keys and values in turn."""
    return dicts.made(state, maker, items)


def made_by(
    state: State, maker: Hashable, cls: object, args: Sequence[Val], keywords: Mapping[str, Val]
) -> Val:
    """A call of such a class."""
    given = [_given(state, x, cls) for x in args]
    if cls is deque:
        return queues.made(state, maker, given, keywords)
    if not is_class(cls) or keywords:
        raise Unlowered("a container that is made with keywords")
    return dicts.made_by(state, maker, cls, given)


def _given(state: State, x: Val, target: object) -> Val:
    """What is put into a container: the items of another one as a list, unless it matters which it was."""
    if target in (dict, set, "update") and isinstance(x, (Keyed, Entries)):
        return x
    return listed(state, x, target) or x


def length(e: Emitter, x: Container | Entries) -> Num:
    """`len(x)`."""
    if isinstance(x, LISTS):
        return lists.length(e, x)
    return queues.length(e, x) if isinstance(x, Queue) else dicts.length(e, x)


def contains(state: State, x: Container | Entries, item: Val) -> Num:
    """`item in x`."""
    if isinstance(x, Entries) and x.name == "keys":
        x = x.of
    if isinstance(x, Keyed):
        return dicts.contains(state, x, item)
    items = listed(state, x, None) if isinstance(x, (Queue, Entries)) else x
    assert items is not None
    return searches.contains(state, items, item)


def get_item(state: State, x: Container, key: Val, maker: Hashable = None) -> Val:
    """`x[key]`.  maker: what a part of a list is remembered under."""
    if isinstance(x, Keyed):
        return dicts.get_item(state, x, key)
    if isinstance(x, Queue):
        return queues.get_item(state, x, key)
    if isinstance(key, Cut) and maker is not None:
        return list_methods.sliced(state, maker, x, key)
    return lists.get_item(state, x, key)


def set_item(state: State, x: Container, key: Val, value: Val) -> None:
    """`x[key] = value`."""
    if isinstance(x, Keyed):
        dicts.set_item(state, x, key, value)
    elif isinstance(x, Queue):
        queues.set_item(state, x, key, value)
    else:
        lists.set_item(state, x, key, value)


def take_away(state: State, x: Container, key: Val) -> Val:
    """`del x[key]`."""
    if isinstance(x, Queue):
        raise Unlowered("del of an item of a deque")
    if isinstance(x, Keyed):
        dicts.remove(state, x, key)
    else:
        lists.pop(state, x, key)
    return Static(None)


def method(x: Container, name: str) -> Method:
    """`x.name`."""
    if isinstance(x, Queue):
        return queues.method(x, name)
    return dicts.method(x, name) if isinstance(x, Keyed) else list_methods.method(x, name)


def called(state: State, maker: Hashable, m: Method, args: Sequence[Val]) -> Val:
    """A call of a method.  maker: what a new container is remembered under."""
    given = [_given(state, x, m.name) for x in args] if m.name in ("extend", "update") else args
    by = queues if isinstance(m.of, Queue) else dicts if isinstance(m.of, Keyed) else list_methods
    made: Val | None = by.called(state, maker, m, given)
    return Static(None) if made is None else made


def listed(state: State, x: Val, target: object) -> Lists | None:
    """The items of a dict, a view of one, a set or a deque as a list, for what takes all of them."""
    if isinstance(x, Queue):
        return queues.settled(state, x)
    return dicts.listed(state, x, target) if isinstance(x, (Keyed, Entries)) else None


def gone_over(state: State, x: Val) -> tuple[Callable[[], str], Lists] | None:
    """How a loop goes over a dict, a view of one, or a deque: what is asked before each trip, which is how
    many items there are, and these as a list."""
    if isinstance(x, Queue):
        return queues.steps(state, x), x.items
    if not isinstance(x, (Keyed, Entries)):
        return None
    found = dicts.gone_over(x)
    items = dicts.as_list(x)
    return None if found is None or items is None else (dicts.steps(state, found), items)
