"""Levels of differentiation, and the one way to apply an op to values that a level follows.

In: a row of the op table and operands, some of them `Active`.  Out: the result, active again where it
depends on them.  Values here are never written to: an `Active` is (level, value, link), where the value
may itself be active on an outer level, which is what gives derivatives of any order.

A `Reverse` level links a value to the node that made it; `backward` walks the nodes in reverse.  A
`Forward` level links a value to its tangent.
"""

from __future__ import annotations

import functools
import heapq
import inspect
import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from runtime.autodiff.places import memory_order, part_of, update
from runtime.errors import GradientError, Span
from runtime.execute.traceback import place_of
from runtime.ir.opdef import OpDef
from runtime.ops.adjoint import EACH, LINEAR, ZERO, Composite, Rule, fit, is_basic
from runtime.places import frames, span_of

Place = tuple[Any, ...]  # the way to an operand: position or keyword, then indices into nested sequences
_depth = itertools.count()


class _State(threading.local):
    """open: how many levels are open in this thread; asked by every call, so it always has a value."""

    open = 0


_state = _State()


class Active:
    """A value that a level follows.  link: its node and output number (reverse), or its tangent (forward)."""

    __slots__ = ("level", "link", "value")

    def __init__(self, level: Level, value: Any, link: Any) -> None:
        self.level, self.value, self.link = level, value, link


def bare(x: Any) -> Any:
    """The value without any level."""
    while type(x) is Active:
        x = x.value
    return x


def opened(x: Any) -> Any:
    """The value without levels that are over."""
    while type(x) is Active and x.level.closed:
        x = x.value
    return x


def at_level(x: Any, level: Level) -> Active | None:
    """What a level knows of a value: levels inside it are over and stripped; None if it doesn't follow it."""
    while type(x) is Active and x.level is not level:
        x = x.value
    return x if type(x) is Active else None


def snapshot(x: Any) -> Any:
    """A copy of a plain array that may be written to later; the last one, while it still tells the truth."""
    known = _state.__dict__.setdefault("snapshots", {})
    pair = known.get(id(x))
    if pair is not None and pair[0] is x and _same_bits(pair[1], x):
        return pair[1]
    known[id(x)] = x, x.copy(order="K")
    return known[id(x)][1]


def _same_bits(a: Any, b: Any) -> bool:
    if a.dtype != b.dtype or a.shape != b.shape or a.dtype.hasobject:
        return False
    return np.array_equal(a.ravel(order="K").view(np.uint8), b.ravel(order="K").view(np.uint8))


def recording() -> bool:
    """Whether a level is open in this thread."""
    return _state.open > 0


class Level:
    """What both kinds share.  surface: makes boxes of values for rules, and values of boxes."""

    def __init__(self, surface: Any) -> None:
        self.depth = next(_depth)
        self.surface = surface
        self.closed = False

    def __enter__(self) -> Level:
        if not _state.open:
            self.surface.begin()
        _state.open += 1
        return self

    def __exit__(self, *_: object) -> None:
        _state.open -= 1
        if not _state.open:
            self.surface.end()
            _state.__dict__.pop("snapshots", None)
        self.closed = True

    def record(
        self,
        row: OpDef,
        result: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        found: list[tuple[Place, Active]],
    ) -> Any:
        """The result with its link, given operands without this level and those that had it."""
        raise NotImplementedError

    def call(self, rule: Rule, ct: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A rule on values: directly where they are bare, else on boxes."""
        try:
            if not any(has_active(x) for x in (ct, result, args, kwargs)):
                with np.errstate(all="ignore"):
                    return rule(ct, result, *args, **kwargs)
            with np.errstate(all="ignore"):
                wrap = self.surface.wrap_tree
                made = rule(wrap(ct), wrap(result), *wrap(args), **wrap(kwargs))
                return self.surface.unwrap_tree(made)
        except NotImplementedError as error:
            raise unsupported(error) from error


def unsupported(error: Exception) -> GradientError:
    """The error that an op has a derivative, but not with these options."""
    return GradientError(
        f"{error} is not there",
        why="the op is known, but not with these options",
        fix="write the derivative with ag.custom_gradient, or use ag.stop_gradient",
    )


# -- trees of operands -------------------------------------------------------------------------------


def has_active(x: Any) -> bool:
    """Whether something in nested lists, tuples and dicts is followed."""
    if type(x) is Active:
        return True
    if isinstance(x, (tuple, list)):
        return any(map(has_active, x))
    return isinstance(x, dict) and any(map(has_active, x.values()))


def _leaves(x: Any, place: Place) -> Iterator[tuple[Place, Active]]:
    if type(x) is Active:
        yield place, x
    elif isinstance(x, (tuple, list)):
        for i, item in enumerate(x):
            yield from _leaves(item, (*place, i))


def map_tree(function: Callable[[Any], Any], x: Any) -> Any:
    """The function on every leaf of nested tuples, lists and dicts, in the same containers."""
    if isinstance(x, tuple):
        made = [map_tree(function, item) for item in x]
        return type(x)(*made) if hasattr(x, "_fields") else tuple(made)
    if isinstance(x, list):
        return [map_tree(function, item) for item in x]
    if type(x) is dict:
        return {key: map_tree(function, item) for key, item in x.items()}
    return function(x)


def pick(tree: Any, place: Place) -> Any:
    """What stands at a place of a nested sequence."""
    for i in place:
        tree = tree[i]
    return tree


def is_inexact(x: Any) -> bool:
    """Whether the value is of a kind that has derivatives."""
    x = bare(x)
    if isinstance(x, (np.ndarray, np.generic)):
        return x.dtype.kind in "fc"
    return type(x) in (float, complex)


def zeros_like(x: Any) -> Any:
    """Zeros of the shape and kind of a value; no memory is needed for an array's."""
    x = bare(x)
    return _zeros(x.shape, x.dtype) if isinstance(x, np.ndarray) else type(x)(0)


@functools.lru_cache(maxsize=256)
def _zeros(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    return np.broadcast_to(np.zeros((), dtype), shape)


# -- applying ops ------------------------------------------------------------------------------------


def apply(row: OpDef, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The op on values of any levels, recorded on each of these."""
    args, kwargs = map_tree(opened, args), map_tree(opened, kwargs)
    found = [leaf for i, arg in enumerate(args) for leaf in _leaves(arg, (i,))]
    found += [leaf for key, arg in kwargs.items() for leaf in _leaves(arg, (key,))]
    if not found:
        return row.run(*args, **kwargs)
    level = max((x.level for _, x in found), key=lambda each: each.depth)
    if isinstance(row.vjp, Composite):
        return _compose(row, level, args, kwargs)
    mine = [(place, x) for place, x in found if x.level is level]

    def strip(x: Any) -> Any:
        return x.value if type(x) is Active and x.level is level else x

    args, kwargs = map_tree(strip, args), map_tree(strip, kwargs)
    result = apply(row, args, kwargs)
    return level.record(row, result, args, kwargs, mine)


def _compose(row: OpDef, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """An op by way of others."""
    wrap, unwrap = level.surface.wrap_tree, level.surface.unwrap_tree
    try:
        inspect.signature(row.vjp.run).bind(*args, **kwargs)
    except TypeError as error:
        raise unsupported(
            NotImplementedError(f"the derivative of {row.name} with these arguments")
        ) from error
    try:
        return unwrap(row.vjp.run(*wrap(args), **wrap(kwargs)))
    except NotImplementedError as error:
        raise unsupported(error) from error


def apply_flat(row: OpDef, values: tuple[Any, ...]) -> Any:
    """`apply` without keywords and nested sequences: what most calls of a loop are."""
    level: Any = None
    for x in values:
        if type(x) is Active:
            if x.level.closed:
                return apply(row, values, {})
            if level is None or x.level.depth > level.depth:
                level = x.level
    if level is None:
        return row.run(*values)
    if type(row.vjp) is Composite:
        return apply(row, values, {})
    found = [((i,), x) for i, x in enumerate(values) if type(x) is Active and x.level is level]
    below = tuple([x.value if type(x) is Active and x.level is level else x for x in values])
    return level.record(row, apply_flat(row, below), below, {}, found)


def find_rule(rules: Any, key: Any) -> Any:
    """The rule of one operand in a row's table."""
    if rules is None:
        return None
    if key in rules:
        return rules[key]
    return rules[EACH](key) if EACH in rules else None


def _here() -> Span | None:
    """The user's line that is running."""
    for frame in frames():
        return place_of(frame) or span_of(frame.f_code, frame.f_lasti, frame.f_lineno)
    return None


def no_rule(row: OpDef, key: Any, span: Span | None) -> GradientError:
    """The error that an op has no derivative in one of its operands."""
    which = f"operand {key}" if isinstance(key, int) else f"{key}="
    return GradientError(
        f"{row.name} has no derivative in {which}",
        span=span,
        why="the op table has no rule for it",
        fix="write the derivative with ag.custom_gradient, or cut it off with ag.stop_gradient",
    )


# -- reverse -----------------------------------------------------------------------------------------


class Node:
    """One op that was applied.  count: outputs, None for a single one that isn't in a sequence."""

    __slots__ = ("args", "bare", "inputs", "kwargs", "number", "result", "row", "span")
    numbers = itertools.count()

    def __init__(
        self, row: OpDef | None, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any], inputs: Any
    ) -> None:
        self.number = next(Node.numbers)
        self.span: Span | None = None
        self.row, self.result, self.args, self.kwargs, self.inputs = row, result, args, kwargs, inputs
        # Whether no level follows what the rules look at, so that they can be called directly.
        self.bare = not has_active(args) and not has_active(result) and not has_active(kwargs)

    def __lt__(self, other: Node) -> bool:
        return self.number > other.number  # the latest comes out of a heap first


class Reverse(Level):
    """A tape."""

    def input(self, value: Any) -> Active:
        """A value with respect to which derivatives will be asked."""
        return Active(self, value, (Node(None, None, (), {}, ()), 0))

    def record(
        self,
        row: OpDef,
        result: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        found: list[tuple[Place, Active]],
    ) -> Any:
        """The result linked to a new node, as far as it is of a kind that has derivatives."""
        inputs = [(place, x.link) for place, x in found]
        if type(row.run) is np.ufunc:
            kwargs = {}  # casts and the like are no business of the rules
        kept = result
        if row.name in LIGHT:  # their rules look at shapes only, so the arrays needn't be kept
            args = (_ghost(args[0]), *args[1:]) if row.name in LIGHT_FIRST else tuple(map(_ghost, args))
            kept = _ghost(result)
        node = Node(row, kept, args, kwargs, inputs)
        if row.vjp is None:
            node.span = _here()
        if isinstance(result, (tuple, list)):
            made: list[Any] = [
                Active(self, x, (node, i)) if is_inexact(x) else x for i, x in enumerate(result)
            ]
            if isinstance(result, tuple):
                return type(result)(*made) if hasattr(result, "_fields") else tuple(made)
            return made
        return Active(self, result, (node, 0)) if is_inexact(result) else result


LIGHT = frozenset(
    {"getitem", "ad.update", "add", "sub", "np.add", "np.subtract", "neg", "np.negative", "np.sum"}
)
LIGHT_FIRST = frozenset({"getitem", "np.sum"})


def _ghost(x: Any) -> Any:
    """A stand-in of the shape and kind of an array."""
    x = bare(x)
    return zeros_like(x) if isinstance(x, np.ndarray) and x.dtype.kind in "fc" else x


class Slot:
    """A cotangent under construction.  owned: nobody else holds the array, so it may be added to in place."""

    __slots__ = ("ct", "owned")

    def __init__(self) -> None:
        self.ct: Any = None
        self.owned = False

    def add(self, ct: Any, owned: bool, add: Callable[[Any, Any], Any]) -> None:
        """Add a contribution."""
        if self.ct is None:
            self.ct, self.owned = ct, owned
        elif self.owned and type(self.ct) is type(ct) is np.ndarray and self.ct.dtype == ct.dtype:
            self.ct += ct
        else:
            self.ct, self.owned = add(self.ct, ct), type(bare(ct)) is np.ndarray and np.ndim(bare(ct)) > 0


def backward(
    level: Reverse,
    seeds: Sequence[tuple[Active, Any]],
    inputs: Sequence[Active],
    add: Callable[[Any, Any], Any],
) -> list[Any]:
    """The cotangents of inputs (None where nothing depends on them), given those of some results."""
    slots: dict[tuple[Node, int], Slot] = {}
    heap: list[Node] = []
    queued: set[Node] = set()

    def give(link: tuple[Node, int], ct: Any, owned: bool = False) -> Slot:
        slot = slots.get(link)
        if slot is None:
            slot = slots[link] = Slot()
            if link[0] not in queued:
                queued.add(link[0])
                heapq.heappush(heap, link[0])
        if ct is not None:
            slot.add(ct, owned, add)
        return slot

    for result, ct in seeds:
        give(result.link, ct)
    wanted = {x.link for x in inputs}
    with np.errstate(all="ignore"):
        _walk(level, slots, heap, wanted, give)
    return [slots[x.link].ct if x.link in slots else None for x in inputs]


def _walk(
    level: Reverse,
    slots: dict[tuple[Node, int], Slot],
    heap: list[Node],
    wanted: set[Any],
    give: Callable[..., Slot],
) -> None:
    """Take the nodes from the latest to the earliest."""
    while heap:
        node = heapq.heappop(heap)
        if node.row is None:
            continue
        if isinstance(node.result, (tuple, list)):
            parts = [_taken(slots, (node, i), wanted) for i in range(len(node.result))]
            parts = [
                zeros_like(r) if part is None and is_inexact(r) else part.ct if part else None
                for part, r in zip(parts, node.result, strict=True)
            ]
            _step(level, node, tuple(parts), False, give)
        else:
            slot = _taken(slots, (node, 0), wanted)
            assert slot is not None
            _step(level, node, slot.ct, slot.owned and (node, 0) not in wanted, give)


def _taken(slots: dict[tuple[Node, int], Slot], link: tuple[Node, int], wanted: set[Any]) -> Slot | None:
    """The slot of a result, which isn't needed any more unless it was asked for."""
    return slots.get(link) if link in wanted else slots.pop(link, None)


def _step(level: Reverse, node: Node, ct: Any, owned: bool, give: Callable[..., Slot]) -> None:
    """Hand the cotangent of one node on to its operands."""
    row = node.row
    assert row is not None
    shortcut = SHORTCUTS.get(row.name)
    if shortcut is not None and isinstance(ct, (np.ndarray, np.generic)) and shortcut(node, ct, owned, give):
        return
    done: dict[Any, Any] = {}
    for place, link in node.inputs:
        key = place[0]
        if key not in done:
            rule = find_rule(row.vjp, key)
            if rule is None:
                raise no_rule(row, key, node.span)
            if rule is ZERO:
                done[key] = ZERO
            elif node.bare and type(ct) is not Active and type(ct) is not tuple:
                done[key] = _direct(rule, ct, node)
            else:
                done[key] = level.call(rule, ct, node.result, node.args, node.kwargs)
        operand = pick(node.args[key] if isinstance(key, int) else node.kwargs[key], place[1:])
        if done[key] is ZERO:
            give(link, zeros_like(operand))
            continue
        part = pick(done[key], place[1:])
        give(link, fitted(level, part, operand))


def _direct(rule: Rule, ct: Any, node: Node) -> Any:
    try:
        return rule(ct, node.result, *node.args, **node.kwargs)
    except NotImplementedError as error:
        raise unsupported(error) from error


def fitted(level: Level, ct: Any, operand: Any) -> Any:
    """`adjoint.fit` on values of any level."""
    kind = type(operand)
    if kind is type(ct) is np.float64 or kind is type(ct) is float:
        return ct
    if kind is float and type(ct) is np.float64:
        return float(ct)
    if (
        type(ct) is np.ndarray
        and type(operand) is np.ndarray
        and ct.shape == operand.shape
        and ct.dtype == operand.dtype
    ):
        return ct
    return level.call(lambda ct, y, operand: fit(ct, operand), ct, None, (operand,), {})


def _getitem_shortcut(node: Node, ct: Any, owned: bool, give: Callable[..., Slot]) -> bool:
    """Add into the operand's cotangent in place, instead of making zeros around the part that was read."""
    x, key = node.args
    ((place, link),) = node.inputs
    slot = give(link, None)
    if slot.ct is None:
        slot.ct, slot.owned = np.zeros(x.shape, x.dtype), True
    elif not (slot.owned and type(slot.ct) is np.ndarray and slot.ct.dtype == ct.dtype):
        return False
    if is_basic(key):
        slot.ct[key] += ct
    else:
        np.add.at(slot.ct, key, ct)
    return True


def _update_shortcut(node: Node, ct: Any, owned: bool, give: Callable[..., Slot]) -> bool:
    """Clear the part that was written in place, after a copy if others hold the cotangent."""
    place = node.args[2]
    if type(ct) is not np.ndarray or has_active(node.args[1]):
        return False
    links = {where[0]: link for where, link in node.inputs}
    if 1 in links:
        give(links[1], fit(part_of(ct, place), node.args[1]))
    if 0 in links:
        if not owned or memory_order(ct) != place.axes:
            ct = place.buffer(ct)
        give(links[0], update(ct, 0, place.now()), True)
    return True


SHORTCUTS: dict[str, Callable[[Node, Any, bool, Callable[..., Slot]], bool]] = {
    "getitem": _getitem_shortcut,
    "ad.update": _update_shortcut,
}


# -- forward -----------------------------------------------------------------------------------------


class Forward(Level):
    """Tangents beside values."""

    def input(self, value: Any, tangent: Any) -> Active:
        """A value and the direction in which it moves."""
        return Active(self, value, tangent)

    def record(
        self,
        row: OpDef,
        result: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        found: list[tuple[Place, Active]],
    ) -> Any:
        """The result with its tangent: the sum of what each operand's tangent does to it."""
        if type(row.run) is np.ufunc:
            kwargs = {}
        total: Any = None
        groups: dict[Any, list[tuple[Place, Active]]] = {}
        for place, x in found:
            groups.setdefault(place[0], []).append((place[1:], x))
        for key, leaves in groups.items():
            operand = args[key] if isinstance(key, int) else kwargs[key]
            tangent = _tangents(operand, dict(leaves))
            part = self._part(row, key, tangent, result, args, kwargs)
            if part is not None:
                part = self._fit(part, result)
                total = part if total is None else self._sum(total, part)
        if isinstance(result, (tuple, list)):
            made: list[Any] = [
                Active(self, x, total[i] if total is not None else zeros_like(x)) if is_inexact(x) else x
                for i, x in enumerate(result)
            ]
            if isinstance(result, tuple):
                return type(result)(*made) if hasattr(result, "_fields") else tuple(made)
            return made
        if not is_inexact(result):
            return result
        return Active(self, result, zeros_like(result) if total is None else total)

    def _part(
        self, row: OpDef, key: Any, tangent: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """What one operand's tangent does to the result; None for nothing."""
        rule = find_rule(row.jvp, key)
        if rule is LINEAR:
            if isinstance(key, int):
                return apply(row, (*args[:key], tangent, *args[key + 1 :]), kwargs)
            return apply(row, args, {**kwargs, key: tangent})
        if rule is ZERO:
            return None
        if rule is not None:
            return self.call(rule, tangent, result, args, kwargs)
        reverse = find_rule(row.vjp, key)
        if reverse is ZERO:
            return None
        if reverse is None:
            if not any(map(is_inexact, result if isinstance(result, (tuple, list)) else (result,))):
                return None
            raise no_rule(row, key, _here())
        return self._transposed(row, reverse, key, tangent, result, args, kwargs)

    def _transposed(
        self,
        row: OpDef,
        rule: Rule,
        key: Any,
        tangent: Any,
        result: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """The reverse rule is linear in the cotangent; its transpose is the forward rule."""
        tape = Reverse(self.surface)
        with tape:
            cts = map_tree(lambda x: tape.input(_full_zeros(x)) if is_inexact(x) else x, result)
            made = tape.call(rule, cts, result, args, kwargs)
            operand = args[key] if isinstance(key, int) else kwargs[key]
            seeds = []
            for place, t in _flat(tangent, ()):
                part = fitted(tape, pick(made, place), pick(operand, place))
                if type(part) is Active and part.level is tape:
                    seeds.append((part, t))
        outputs = list(cts) if isinstance(cts, (tuple, list)) else [cts]
        asked = [x for x in outputs if type(x) is Active]
        back = iter(backward(tape, seeds, asked, self._sum))
        done = []
        for x in outputs:
            if type(x) is Active and x.level is tape:
                ct = next(back)
                done.append(zeros_like(x) if ct is None else ct)
            else:
                done.append(None)
        return tuple(done) if isinstance(cts, (tuple, list)) else done[0]

    def _fit(self, part: Any, result: Any) -> Any:
        if isinstance(result, (tuple, list)):
            return [fitted(self, p, r) if is_inexact(r) else None for p, r in zip(part, result, strict=True)]
        return fitted(self, part, result) if is_inexact(result) else part

    def _sum(self, a: Any, b: Any) -> Any:
        if isinstance(a, list):
            return [None if x is None else self._sum(x, y) for x, y in zip(a, b, strict=True)]
        return self.surface.add(a, b)


def _full_zeros(x: Any) -> Any:
    made = zeros_like(x)
    return np.array(made) if isinstance(made, np.ndarray) else made


def _tangents(operand: Any, tangents: dict[Place, Active], place: Place = ()) -> Any:
    """The tangents of an operand, with zeros where a sequence has items that aren't followed."""
    if isinstance(operand, (tuple, list)):
        made = [_tangents(item, tangents, (*place, i)) for i, item in enumerate(operand)]
        return tuple(made) if isinstance(operand, tuple) else made
    return tangents[place].link if place in tangents else np.multiply(bare(operand), 0)


def _flat(tree: Any, place: Place) -> Iterator[tuple[Place, Any]]:
    if isinstance(tree, (tuple, list)):
        for i, item in enumerate(tree):
            yield from _flat(item, (*place, i))
    else:
        yield place, tree
