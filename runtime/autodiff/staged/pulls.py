"""What graphs of derivatives call when they run: rules that need values, and fitting of unknown shapes.

In: arrays and numbers.  Out: the same.  What always holds: floating-point warnings of rules are silent, as on
the tape; results are of the types that the graph says.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from runtime.autodiff.box import unwrap, wrap
from runtime.autodiff.dispatch import Surface, call_row
from runtime.autodiff.levels import at_level, find_rule, is_inexact, map_tree, unsupported
from runtime.autodiff.places import Place, part_of
from runtime.autodiff.reverse import Reverse, backward
from runtime.autodiff.rows import by_name
from runtime.ir.opdef import OpDef
from runtime.ops.adjoint import ZERO, Composite, fit


def fit_now(ct: Any, like: Any, dtype: Any) -> Any:
    """The cotangent in the shape of `like` (or of this shape) and a dtype."""
    shape = like if type(like) is tuple else np.shape(like)
    scalar = type(like) is not tuple and not isinstance(like, np.ndarray)
    model = dtype.type(0) if scalar else np.broadcast_to(dtype.type(0), shape)
    with np.errstate(all="ignore"):
        return fit(ct, model)


def pull_now(name: str, wanted: tuple[Any, ...], ct: Any, result: Any, args: Any, kwargs: Any) -> Any:
    """The cotangents of the wanted operands, fitted to them."""
    row = by_name(name)
    if type(row.run) is np.ufunc:
        kwargs = {}
    try:
        return _pulled(row, wanted, ct, result, args, kwargs)
    except NotImplementedError as error:
        raise unsupported(error) from error


def _pulled(row: OpDef, wanted: tuple[Any, ...], ct: Any, result: Any, args: Any, kwargs: Any) -> Any:
    with np.errstate(all="ignore"):
        if isinstance(row.vjp, Composite):
            return _through(row.name, wanted, ct, args, kwargs)
        found = []
        for key in wanted:
            rule = find_rule(row.vjp, key)
            operand = args[key] if isinstance(key, int) else kwargs[key]
            made = _nothing(operand) if rule is ZERO else rule(ct, result, *args, **kwargs)
            found.append(_fitted(made, operand))
    return tuple(found)


def _nothing(operand: Any) -> Any:
    return map_tree(lambda x: np.zeros(np.shape(x)), operand)


def _fitted(made: Any, operand: Any) -> Any:
    if isinstance(operand, (list, tuple)):
        if not isinstance(made, (list, tuple)):  # it was taken for an array
            made = fit(made, np.broadcast_to(np.asarray(made).dtype.type(0), np.shape(operand)))
        return tuple(_fitted(a, b) for a, b in zip(made, operand, strict=True))
    if not is_inexact(operand):
        return None
    made = fit(made, operand)
    return made if isinstance(operand, np.ndarray) else np.asarray(made)[()]


def _through(name: str, wanted: tuple[Any, ...], ct: Any, args: Any, kwargs: Any) -> Any:
    """The cotangents of an op that is told by others, by a tape."""
    level = Reverse(Surface)
    followed: dict[Any, Any] = {}
    given = {**dict(enumerate(args)), **kwargs}
    for key in wanted:
        followed[key] = map_tree(lambda x: level.input(x) if is_inexact(x) else x, given[key])
    with level:
        boxed = {k: map_tree(wrap, followed[k]) if k in followed else x for k, x in given.items()}
        made = call_row(
            by_name(name), tuple(boxed[k] for k in range(len(args))), {k: boxed[k] for k in kwargs}
        )
        several = isinstance(made, (list, tuple))
        parts = [unwrap(x) for x in made] if several else [unwrap(made)]
    cts = ct if several else (ct,)
    seeds = []
    for part, each in zip(parts, cts, strict=True):
        live = at_level(part, level)
        if live is not None and each is not None:
            seeds.append((live, each))
    flat: list[Any] = []
    map_tree(lambda x: flat.append(x) if hasattr(x, "level") else None, [followed[k] for k in wanted])
    found = iter(backward(level, seeds, flat, Surface.add))

    def taken(x: Any) -> Any:
        if not hasattr(x, "level"):
            return None
        made = next(found)
        value = x.value
        made = np.zeros(np.shape(value)) if made is None else made
        return _fitted(made, value)

    def filled(x: Any) -> Any:
        return tuple(map(filled, x)) if isinstance(x, (list, tuple)) else taken(x)

    return tuple(filled(followed[k]) for k in wanted)


def part_now(array: Any, key: Any) -> Any:
    """What stands at a key of arrays; where a place is named several times, only the last counts."""
    return part_of(array, Place((), key, ()))


def own_copy(x: Any) -> Any:
    """Lists and tuples with copies of the arrays in them, which nobody else has."""
    return map_tree(lambda leaf: leaf.copy() if isinstance(leaf, np.ndarray) else leaf, x)
