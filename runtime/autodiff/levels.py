"""Levels of differentiation, and the one way to apply an op to values that a level follows.

In: a row of the op table and operands, some of them `Active`.  Out: the result, active again where it
depends on them.  Values here are never written to: an `Active` is (level, value, link), where the value
may itself be active on an outer level, which is what gives derivatives of any order.

The two kinds of level say what a link is (see `reverse` and `forward`).
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from runtime.errors import GradientError, Span
from runtime.execute.traceback import place_of
from runtime.gate import GATE
from runtime.ir.opdef import OpDef
from runtime.ops.adjoint import EACH, Composite, Rule, fit
from runtime.places import frames, span_of
from runtime.recording import STATE

Place = tuple[Any, ...]  # the way to an operand: position or keyword, then indices into nested sequences
_depth = itertools.count()


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
    known = STATE.__dict__.setdefault("snapshots", {})
    pair = known.get(id(x))
    if pair is not None and pair[0] is x and same_bits(pair[1], x):
        return pair[1]
    known[id(x)] = x, x.copy(order="K")
    return known[id(x)][1]


def same_bits(a: Any, b: Any) -> bool:
    """Whether two arrays are the same, NaN and all."""
    if a.dtype != b.dtype or a.shape != b.shape or a.dtype.hasobject:
        return False
    return np.array_equal(a.ravel(order="K").view(np.uint8), b.ravel(order="K").view(np.uint8))


class Level:
    """What both kinds share.  surface: makes boxes of values for rules, and values of boxes."""

    def __init__(self, surface: Any) -> None:
        self.depth = next(_depth)
        self.surface = surface
        self.closed = False

    def __enter__(self) -> Level:
        if not STATE.open:
            self.surface.begin()
            GATE.shut()
        STATE.open += 1
        return self

    def __exit__(self, *_: object) -> None:
        STATE.open -= 1
        if not STATE.open:
            GATE.open()
            self.surface.end()
            STATE.__dict__.pop("snapshots", None)
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
        return _tuple_like(x, [map_tree(function, item) for item in x])
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
    """An op by way of others: the value is what the op itself gives, the derivative is theirs."""
    operands = map_tree(bare, args)
    value = row.run(*operands, **map_tree(bare, kwargs))  # raises and warns as it does
    wrap, unwrap = level.surface.wrap_tree, level.surface.unwrap_tree
    try:
        with np.errstate(all="ignore"):
            made = unwrap(row.vjp.run(*wrap(args), **wrap(kwargs)))
    except GradientError:
        raise
    except NotImplementedError as error:
        raise unsupported(error) from error
    except Exception as error:  # not the user's: the op itself takes these arguments
        reason = NotImplementedError(f"the derivative of {row.name} with these arguments")
        raise unsupported(reason) from error
    return _valued(row, made, value)


def _valued(row: OpDef, made: Any, value: Any) -> Any:
    """What is followed with another value of the same shape, which is followed likewise."""
    if isinstance(value, (tuple, list)) and isinstance(made, (tuple, list)) and len(made) == len(value):
        items = [_valued(row, a, b) for a, b in zip(made, value, strict=True)]
        return items if type(value) is list else _tuple_like(value, items)
    if type(made) is not Active or not is_inexact(value):
        return value
    if np.shape(bare(made)) != np.shape(value):
        raise unsupported(NotImplementedError(f"the derivative of {row.name} with these arguments"))
    inside = value if type(made.value) is not Active else _valued(row, made.value, value)
    return Active(made.level, inside, made.link)


def _tuple_like(model: Any, items: list[Any]) -> Any:
    return type(model)(*items) if hasattr(model, "_fields") else tuple(items)


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


def here() -> Span | None:
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
