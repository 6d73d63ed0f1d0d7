"""Items, iteration, lengths and containers: lists and dicts while tracing.

A list or dict lives at run time; the trace knows the items of those that it made itself (and, with
guards, of those passed in) as long as nobody else can have changed them.
"""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from runtime import pyops
from runtime.errors import ConcreteValueError
from runtime.trace import flags, growing, outside, variables
from runtime.trace.attributes import special_method
from runtime.trace.core import Trace, is_static
from runtime.trace.doubts import doubt, doubt_inside, is_callback
from runtime.trace.heap import ANY, CLEAN, NO_NAME, NOTHING, Loaded, Namespace, may_be_text
from runtime.trace.pending import taken
from runtime.trace.sizes import guarded_keys, known_size, readable, told_apart
from runtime.trace.values import Object, Star, Tensor, Traced, describe, known_class
from runtime.types import (
    OBJECT,
    TEXTS,
    WEAK_INT,
    ArrayType,
    ObjectType,
    StaticType,
    TupleType,
    Type,
    join,
    static_or_weak,
)
from runtime.variable import Variable

_ABSENT = object()
PAIRS = ObjectType(type({}.items()), TupleType((OBJECT, OBJECT)))  # what `d.items()` gives
_KEEPERS = ("append", "insert", "appendleft", "setdefault", "add")  # what they are handed is kept, not called


# ---------------------------------------------------------------------------------------- new ones
def new_list(trace: Trace, items: Sequence[Any]) -> Any:
    """A new list holding the trace values `items`."""
    value = trace.emit("py.list", items)
    assert value is not None
    made = trace.wrap(value, fresh=True)
    know_list(trace, made, items)
    return made


def starred_list(trace: Trace, items: Sequence[Any]) -> Any:
    """A new list of the items, some of which are spread at run time."""
    spread = tuple(i for i, item in enumerate(items) if isinstance(item, Star))
    plain = [item.value if isinstance(item, Star) else item for item in items]
    value = trace.emit("py.call", [pyops.list_of, spread, *plain], type=ObjectType(list))
    assert value is not None
    doubt(trace, *(item.value for item in items if isinstance(item, Star)))
    return trace.wrap(value, fresh=True)


def know_list(trace: Trace, handle: Traced, items: Sequence[Any]) -> None:
    """Remember that the (new) list holds exactly these items."""
    who = handle._facts.identity
    growing.know(trace, handle, items)
    trace.heap.sizes[who] = len(items)
    for i, item in enumerate(items):
        trace.heap.put(who, "item", i, item)


def repeated(trace: Trace, x: Any, count: Any) -> Any:
    """`x * count`, a list whose items are known and are more than numbers."""
    if isinstance(count, Traced) and known_class(count) is list:
        x, count = count, x
    if type(count) is not int or not isinstance(x, Object) or known_class(x) is not list:
        return None
    found = known_items(trace, x)
    if found is None or count * len(found) > 4 * trace.unroll_limit:
        return None
    held = any(isinstance(i, Object) or isinstance(trace.type_of(i), ArrayType) for i in found)
    return new_list(trace, found * max(count, 0)) if held else None


def merged(trace: Trace, parts: Sequence[Any]) -> Any:
    """A new dict of everything in the mappings."""
    value = trace.emit("py.call", [pyops.merged, *parts], type=ObjectType(dict))
    assert value is not None
    doubt(trace, *parts)
    doubt_inside(trace, *parts)
    return trace.wrap(value, fresh=True)


def new_dict(trace: Trace, pairs: Sequence[tuple[Any, Any]]) -> Any:
    """A new dict of the key and value pairs, in order."""
    value = trace.emit("py.dict", [y for pair in pairs for y in pair])
    assert value is not None
    doubt_inside(trace, *(k for k, _ in pairs))  # keys are hashed and compared
    made = trace.wrap(value, fresh=True)
    who = made._facts.identity
    if all(is_static(k) for k, _ in pairs):
        trace.heap.complete.add(who)
        trace.heap.sizes[who] = tuple(dict.fromkeys(k for k, _ in pairs))
        for k, v in pairs:
            trace.heap.put(who, "item", k, v)
    return made


# --------------------------------------------------------------------------------- what is known
def known_items(trace: Trace, x: Any) -> list[Any] | None:
    """The trace values of all items of a list, tuple or range, in order; None where they aren't known."""
    if isinstance(x, (tuple, range, str, list)):
        return list(x)
    if not isinstance(x, Object):
        return None
    if known_class(x) is dict:
        return _viewed(trace, x, "keys")
    view = trace.views.get(x._facts.identity)
    if view is not None:
        return _viewed(trace, *view)
    if known_class(x) is not list or _long(trace, x):
        return None
    size = known_size(trace, x)
    return None if size is None else told_apart(trace, x, [get_item(trace, x, i) for i in range(size)])


def sequence_of(trace: Trace, x: Any) -> Sequence[Any] | None:
    """What going through the value once gives: items of lists, tuples and rows of arrays, of iterators over
    them that were just made (whose nodes are removed); None where that isn't known."""
    if isinstance(x, Tensor):
        t = x._facts.type
        shape = t.shape if isinstance(t, ArrayType) else None
        count = shape[0] if shape is not None and len(shape) > 1 else None  # numbers may be written meanwhile
        return None if count is None or count > 4 * trace.unroll_limit else [x[i] for i in range(count)]
    waiting = taken(trace, x)
    if waiting is not None:
        return None if waiting.items is None else waiting.items()
    return known_items(trace, x)


def known_pairs(trace: Trace, x: Traced) -> dict[Any, Any] | None:
    """The keys of a dict with the trace values of its items; None where they aren't all known."""
    pairs = _viewed(trace, x, "items") if known_class(x) is dict else None
    return None if pairs is None else dict(pairs)


def _long(trace: Trace, x: Object) -> bool:
    """Whether a list from outside has more items than the trace wants to guard one by one."""
    held = x._facts.example
    return x._facts.identity not in trace.heap.sizes and type(held) is list and len(held) > trace.unroll_limit


def holds_numbers(trace: Trace, x: Object) -> bool:
    """Whether a list from outside holds only Python numbers at present; nothing is guarded."""
    held = x._facts.example
    numbers = (bool, int, float, complex)
    known = type(held) is list and x._facts.identity not in trace.heap.sizes
    return known and bool(held) and all(type(i) in numbers for i in held)


def _viewed(trace: Trace, of: Traced, kind: str) -> list[Any] | None:
    """What iterating `of.items()` (keys, values) would give now, where the dict is known."""
    who, held = of._facts.identity, of._facts.example
    keys = trace.heap.sizes.get(who)
    if type(held) is dict and 0 < len(held) <= trace.unroll_limit and _any_array(held):
        keys = guarded_keys(trace, of)
    elif keys is None or who not in trace.heap.complete:
        return None
    if keys is None:
        return None
    if kind == "keys":
        return list(keys)
    values = [_known_item(trace, of, k) for k in keys]
    return values if kind == "values" else list(zip(keys, values, strict=True))


def _any_array(held: dict[Any, Any]) -> bool:
    """Whether a dict holds what is trained or simulated: others are data, and have other keys next time."""
    return any(type(x) is np.ndarray for x in held.values())


# ------------------------------------------------------------------------------------------- reads
def get_item(trace: Trace, x: Traced, key: Any) -> Any:
    """`x[key]`."""
    x = variables.value_of(trace, x)
    if isinstance(x, Tensor):  # a dict may have a Variable itself for a key
        key = variables.value_of(trace, key)
    if isinstance(x, Tensor):
        return trace.record("getitem", [x, key], type=_picked_by_lists(trace, x, key))
    cls = known_class(x)
    if is_static(key) and cls in (list, dict) and not isinstance(key, slice):
        found = _known_item(trace, x, key)
        if found is not _ABSENT:
            return found
    if cls is not None and not _builtin(cls):
        getter = special_method(trace, cls, "__getitem__")
        if getter is not None:
            return trace.protocol.call(getter, (x, key), {})
    if cls is list and isinstance(key, slice):
        items = known_items(trace, x) if is_static(key) else None
        value = trace.emit("getitem", [trace.receiver(x), key], type=ObjectType(list))
        assert value is not None
        part = trace.wrap(value, fresh=True)
        if items is not None:
            know_list(trace, part, items[key])
        elif (known := growing.known(trace, x)) is not None:
            trace.heap.kinds[part._facts.identity] = known[0], 0
        return part
    if x._facts.identity.cls is Namespace:
        return global_at_run_time(trace, x, key)
    claim = growing.item_type(trace, x) if cls is list and known_class(key) in (int, bool) else None
    value = trace.emit("getitem", [trace.receiver(x), key], type=None if claim == OBJECT else claim)
    assert value is not None
    doubt(trace, x)
    doubt_inside(trace, key)
    return trace.wrap(value)


def global_at_run_time(trace: Trace, space: Traced, name: str) -> Any:
    """What a global name means when the graph runs: a builtin, or NameError, where it is gone by then."""
    facts, op = space._facts, "py.global"
    if trace.heap.trust == CLEAN and facts.path is not None and name in facts.example:
        place = facts.path / ("item", name)
        trace.guard(place, OBJECT, place.text)
        op = "getitem"  # it is there when the call begins, and nothing that is left to the graph deletes it
    value = trace.emit(op, [trace.receiver(space), name])
    assert value is not None
    return trace.wrap(value)


def _picked_by_lists(trace: Trace, x: Tensor, key: Any) -> Type | None:
    """The type of what a key with lists of ints picks: what arrays of them would; None for other keys."""
    parts = key if type(key) is tuple else (key,)
    if not any(known_class(p) is list for p in parts):
        return None
    types: list[Type] = []
    for p in parts:
        types.append(trace.type_of(p))
        if known_class(p) is list:
            found = known_items(trace, p)
            if not found or not all(_is_int(trace.type_of(item)) for item in found):
                return None
            types[-1] = ArrayType(np.dtype(np.intp), (len(found),))
    rule = trace.table["getitem"].rule
    assert rule is not None
    picked: Type = rule(trace.type_of(x), types[0] if len(types) == 1 else TupleType(tuple(types)))
    return picked


def _is_int(t: Type) -> bool:
    if isinstance(t, ArrayType):
        return t.scalar and t.dtype.kind in "iu"
    return t == WEAK_INT or (isinstance(t, StaticType) and type(t.value) is int)


def static_item(trace: Trace, x: Any, index: Any) -> Any:
    """`x[index]` of a value that is no handle: at run time, if the index is one or is bounded by one."""
    bounds = (index.start, index.stop, index.step) if isinstance(index, slice) else (index,)
    if not any(isinstance(bound, Traced) for bound in bounds):
        return x[index]
    claim: Type = OBJECT
    if isinstance(index, slice):
        claim = ObjectType(type(x)) if type(x) in (tuple, str, bytes) else OBJECT
    elif known_class(index) in (int, bool):
        claim = item_type(trace, x)
    value = trace.emit("getitem", [x, index], type=claim)
    assert value is not None
    doubt(trace, *bounds)
    return trace.wrap(value)


def _known_item(trace: Trace, x: Traced, key: Any) -> Any:
    """The item at a static key, from what is known; _ABSENT where it must be read at run time."""
    who, facts = x._facts.identity, x._facts
    if known_class(x) is list and not isinstance(key, int):
        return _ABSENT  # 1.0 is the same key as 1, but no index
    if known_class(x) is list and key < 0:
        size = known_size(trace, x) if isinstance(x, Object) else None
        if size is None:
            return _ABSENT
        key += size
    entry = trace.heap.get(who, "item", key)
    if (
        entry is NOTHING
        and facts.example is not None
        and not trace.heap.is_stale(who, "item", key)
        and type(facts.example) in (list, dict)
    ):
        try:
            held = facts.example[key]
        except (LookupError, TypeError):
            return _ABSENT
        entry = outside.read(trace, x, "item", key, held)
        trace.heap.put(who, "item", key, entry)
    if entry is NOTHING:
        return _ABSENT
    if flags.anew(trace, who, "item", key, entry):
        if who.cls is Namespace:
            return global_at_run_time(trace, x, key)
        entry = Loaded(OBJECT)
    if isinstance(entry, Loaded):
        return trace.record("getitem", [trace.receiver(x), key], type=entry.type)
    return entry


def _builtin(cls: type) -> bool:
    return cls.__module__ in ("builtins", "collections", "numpy")


# ------------------------------------------------------------------------------------------ writes
def set_item(trace: Trace, x: Traced, key: Any, value: Any) -> None:
    """`x[key] = value`."""
    cls = known_class(x)
    if cls is Variable and isinstance(x, Object):
        variables.write(trace, Variable.__setitem__, x, (key, value), {})
        return
    if isinstance(x, Tensor):
        key, value = variables.value_of(trace, key), variables.value_of(trace, value)
    if isinstance(x, Object) and cls is not None and not _builtin(cls):
        setter = special_method(trace, cls, "__setitem__")
        if setter is not None:
            trace.protocol.call(setter, (x, key, value), {})
            return
    trace.emit("setitem", [trace.receiver(x), key, value])
    if isinstance(x, Tensor):
        return
    who = x._facts.identity
    if cls is not list and cls is not dict:
        trace.heap.written(who, "item", ANY if may_be_text(trace.type_of(key)) else NO_NAME)
        doubt(trace, x)
        doubt_inside(trace, key)
        return
    known = trace.heap.sizes.get(who)
    if isinstance(key, slice):
        growing.forget(trace, x)
    elif cls is list:
        growing.put(trace, x, [value], 0)
    if not is_static(key) or isinstance(key, slice) or (cls is list and not isinstance(key, int)):
        trace.heap.written(who, "item", ANY)
        return
    if cls is list and key < 0:
        if known is None:
            trace.heap.written(who, "item", ANY)
            return
        key += known
    trace.heap.written(who, "item", key)
    if cls is dict and known is not None:
        trace.heap.sizes[who] = tuple(dict.fromkeys((*known, key)))
    trace.heap.put(who, "item", key, value)


def del_item(trace: Trace, x: Traced, key: Any) -> None:
    """`del x[key]`."""
    if x._facts.identity.cls is Namespace:
        trace.doom("a global is deleted: what it means afterwards is for Python to say")
    trace.emit("py.delitem", [trace.receiver(x), key])
    trace.heap.written(x._facts.identity, "item", ANY)
    growing.shortened(trace, x)
    doubt(trace, x)
    doubt_inside(trace, key)


# ----------------------------------------------------------------------------- lengths, iteration
def length(trace: Trace, x: Any) -> Any:
    """`len(x)`: static where known."""
    x = variables.value_of(trace, x)
    if isinstance(x, Tensor):
        t = x._facts.type
        if isinstance(t, ArrayType) and t.shape and t.shape[0] is not None:
            return t.shape[0]
    elif isinstance(x, Object):
        if known_class(x) is list and (size := known_size(trace, x)) is not None:
            return size
        who = x._facts.identity
        if who in trace.heap.complete and who in trace.heap.sizes and known_class(x) is dict:
            return len(trace.heap.sizes[who])
    size = trace.record("py.call", [len, growing.looked_into(trace, x)], type=WEAK_INT)
    doubt(trace, x)
    return size


def iterate(trace: Trace, x: Traced) -> Iterator[Any]:
    """Python-level iteration over a handle: only where the number of items is known."""
    x = variables.value_of(trace, x)
    t = x._facts.type
    if isinstance(t, ArrayType) and t.shape and t.shape[0] is not None:
        return iter([x[i] for i in range(t.shape[0])])
    items = known_items(trace, x)
    if items is not None:
        return iter(items)
    raise ConcreteValueError(
        f"the items of {describe(x)} are needed while tracing",
        span=trace.span(),
        why="how many there are is known only when the graph runs, and the code that asks was not converted",
        fix="let autograph convert this function (ag.function), or loop with ag.for_loop",
    )


def item_type(trace: Trace, x: Any) -> Type:
    """The type of what iterating the value yields."""
    t = trace.type_of(x)
    if isinstance(t, ArrayType):
        if not t.shape:
            return OBJECT
        rest = t.shape[1:]
        if not rest and t.dtype.kind in TEXTS:
            return ObjectType(TEXTS[t.dtype.kind])
        return ArrayType(t.dtype, rest, not rest and t.device == "cpu", t.device)
    if isinstance(t, ObjectType):
        if t.cls is range:
            return WEAK_INT
        if t.cls is list and t.item is None:
            return growing.item_type(trace, x)
        return t.item or (ObjectType(str) if t.cls is str else _typed_elements(trace, x))
    if isinstance(t, StaticType) and isinstance(t.value, (tuple, range, str, bytes)):
        if isinstance(t.value, range):
            return WEAK_INT
        return _joined([StaticType(v) for v in t.value[:1000]]) if len(t.value) <= 1000 else OBJECT
    return _joined(list(t.items)) if isinstance(t, TupleType) else OBJECT


def _typed_elements(trace: Trace, x: Any) -> Type:
    """The type of the elements of a dataset, with a guard."""
    if not isinstance(x, Object) or x._facts.example is None or x._facts.path is None:
        return OBJECT
    if not getattr(known_class(x), "elements_are_typed", False):
        return OBJECT
    found: Type = x._facts.example.element_type
    path = x._facts.path / ("attr", "element_type")
    if outside.changes(trace, path):
        return OBJECT
    trace.guard(path, StaticType(found), path.text)
    return found


def _joined(types: list[Type]) -> Type:
    if not types:
        return OBJECT
    out = static_or_weak(types[0])
    for t in types[1:]:
        out = join(out, t)
    return out


def unpack(trace: Trace, value: Any, before: int, after: int | None) -> Any:
    """The items of an unpacking assignment: tuple of `before` (and a list and `after`) trace values."""
    value = variables.value_of(trace, value)
    if isinstance(value, (tuple, list)) and any(isinstance(i, Star) for i in value):
        value = starred_list(trace, value)
    if not isinstance(value, Traced):
        items = list(value) if isinstance(value, (tuple, list, range, str)) else None
    else:
        t = value._facts.type
        few = isinstance(t, ArrayType) and bool(t.shape) and t.shape is not None and t.shape[0] is not None
        size = t.shape[0] if few and isinstance(t, ArrayType) and t.shape else None
        items = (
            [value[i] for i in range(size)]
            if size is not None and (after is not None or size == before) and size <= 64
            else None
        )
        if items is None and isinstance(value, Object):
            items = known_items(trace, value)
    if items is None:
        if not isinstance(value, Traced):
            return None
        unpacked = trace.record("py.unpack", [value, before] if after is None else [value, before, after])
        doubt(trace, value)
        return unpacked
    if after is None:
        if len(items) != before:
            return trace.record("py.unpack", [value, before])  # raises at run time, as Python does
        return tuple(items)
    if len(items) < before + after:
        return trace.record("py.unpack", [value, before, after])
    stop = len(items) - after
    return (*items[:before], new_list(trace, items[before:stop]), *items[stop:])


# ----------------------------------------------------------------------- methods of list and dict
def list_method(trace: Trace, x: Object, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A method call on a list, keeping up with what is known of its items."""
    who, heap = x._facts.identity, trace.heap
    items = known_items(trace, x) if who in heap.sizes or (name == "copy" and readable(trace, x)) else None
    result = _call_method(trace, x, name, args, kwargs)
    called_method(trace, x, name, args, kwargs)
    if name in ("copy", "index", "count"):
        if name == "copy" and items is not None:
            know_list(trace, result, items)
        return result
    answer: Any = result
    after: list[Any] | None = None
    static = all(map(is_static, args)) and not kwargs
    if items is not None:
        if name == "append":
            after = [*items, *args]
        elif name == "clear":
            after = []
        elif name == "reverse":
            after = items[::-1]
        elif name == "insert" and len(args) == 2 and type(args[0]) is int and not kwargs:
            after = items.copy()
            after.insert(*args)
        elif (
            name == "pop"
            and static
            and items
            and (not args or (type(args[0]) is int and -len(items) <= args[0] < len(items)))
        ):
            after = items.copy()
            answer = after.pop(*args)
        elif name == "extend" and len(args) == 1 and (more := known_items(trace, args[0])) is not None:
            after = [*items, *more]
    heap.written(who, "item", ANY)
    _grown(trace, x, name, args)
    if after is not None:
        know_list(trace, x, after)
    return None if name in ("append", "clear", "reverse", "insert", "extend", "remove", "sort") else answer


def _grown(trace: Trace, x: Object, name: str, args: tuple[Any, ...]) -> None:
    """Keep up with the types of a list's items."""
    if name in ("append", "insert") and args:
        growing.put(trace, x, args[-1:])
    elif name in ("pop", "clear", "remove"):
        growing.shortened(trace, x)
    elif name == "extend" and args:
        growing.extended(trace, x, known_items(trace, args[0]))
    elif name not in ("reverse", "sort"):
        growing.forget(trace, x)


def dict_method(trace: Trace, x: Object, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A method call on a dict."""
    if name == "get" and args and is_static(args[0]) and not kwargs:
        found = _known_item(trace, x, args[0])
        if found is not _ABSENT:
            return found
        if x._facts.identity in trace.heap.complete:
            return args[1] if len(args) > 1 else None
    result = _call_method(trace, x, name, args, kwargs)
    called_method(trace, x, name, args, kwargs)
    if name in ("items", "keys", "values"):
        trace.views[result._facts.identity] = (x, name)
    if name not in ("get", "items", "keys", "values", "copy"):
        trace.heap.written(x._facts.identity, "item", ANY)
    return None if name in ("update", "clear") else result


def called_method(
    trace: Trace, x: Traced, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> None:
    """A method of a built-in container was called: what code of its items and arguments may have run."""
    values = (*args, *kwargs.values())
    if any(map(is_callback, values)):
        if name not in _KEEPERS:
            trace.heap.unknown_call()
    elif name in ("sort", "remove", "index", "count"):
        doubt_inside(trace, x, *values)
    elif name in ("extend", "insert", "update", "difference_update", "union", "extendleft"):
        doubt(trace, *values)
        if known_class(x) is not list:
            doubt_inside(trace, *values)
    elif known_class(x) not in (list, deque):
        doubt_inside(trace, *values)  # hashed and compared, or formatted


def _call_method(trace: Trace, x: Object, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    method = trace.emit("py.getattr", [trace.receiver(x), name])
    assert method is not None
    claims: dict[str, Type] = {"copy": ObjectType(known_class(x)), "index": WEAK_INT, "count": WEAK_INT}
    if known_class(x) is list and name == "pop" and not kwargs:
        claims["pop"] = growing.item_type(trace, x)
    if known_class(x) is dict and name == "items":
        claims = {"items": PAIRS}
    value = trace.emit("py.call", [method, *args], kwargs, type=claims.get(name))
    assert value is not None
    return trace.wrap(value, fresh=name == "copy")


def contains(trace: Trace, item: Any, container: Any) -> Any:
    """`item in container`."""
    container = variables.value_of(trace, container)
    if isinstance(container, Tensor):
        item = variables.value_of(trace, item)
    if not isinstance(container, Traced):
        if is_static(container) and is_static(item):
            return operator.contains(container, item)
    elif isinstance(container, Object) and is_static(item) and known_class(container) is dict:
        who = container._facts.identity
        if trace.heap.get(who, "item", item) is not NOTHING:
            return True
        if who in trace.heap.complete:
            return False
    found = trace.record("py.contains", [item, container])
    doubt_inside(trace, container, item)
    return found
