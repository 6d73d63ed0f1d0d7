"""Functions that bring their own derivative.

In: a function that gives its value and a function from cotangents of the value to those of its arguments.
Out: a function that gives the value.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from runtime import tree
from runtime.autodiff.box import BOXES, ArrayBox, any_followed, unwrap, unwrap_bare, wrap
from runtime.autodiff.levels import Active, at_level, bare, is_inexact, map_tree, opened, same_bits
from runtime.autodiff.staged import custom as staged
from runtime.autodiff.staged.calls import keeps
from runtime.autodiff.staged.gradient import pulled_back
from runtime.autodiff.staged.kinds import NotStaged
from runtime.autodiff.transforms import conjugate, vjp
from runtime.errors import GradientError
from runtime.ir.graph import Node
from runtime.ir.opdef import OpDef
from runtime.ops.adjoint import EACH
from runtime.ops.rules import any_value
from runtime.trace.core import Trace, active

Function = Callable[..., Any]


def custom_gradient(function: Function) -> Function:
    """`function(*args)` gives `(value, pull_back)`; `pull_back(ct)` gives the cotangents of the arguments."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        trace = active()
        if trace is not None:
            return _staged(trace, function, args, kwargs)
        if not any_followed(args):
            return _pair(function, args, kwargs)[0]
        holder: dict[str, Any] = {}

        def run(*given: Any) -> Any:
            inside = map_tree(wrap, given)
            before = [_own(x) for x in _bare_leaves(given)]
            value, holder["back"] = _pair(function, inside, kwargs)
            if any(_written(args, before, inside)):
                raise GradientError(
                    f"{function.__name__} writes to an argument",
                    why="it has a derivative of its own, which is that of what it returns",
                    fix="write to a copy",
                )
            leaves, holder["structure"] = tree.flatten_data(value)
            parts = [unwrap(x) for x in leaves]
            return parts[0] if len(parts) == 1 else tuple(parts)

        def back(position: int) -> Function:
            def rule(ct: Any, y: Any, *operands: Any) -> Any:
                if holder.get("ct") is not ct:
                    cts = [_own(_turned(x)) for x in (ct if isinstance(ct, tuple) else (ct,))]
                    holder["made"] = holder["back"](tree.unflatten(holder["structure"], cts))
                    holder["ct"] = ct
                made = holder["made"]
                made = made if isinstance(made, tuple) else (made,)
                if len(made) != len(operands):
                    raise GradientError(
                        f"the derivative of {function.__name__} gave {len(made)} cotangents, "
                        f"but there are {len(operands)} arguments",
                        fix="return a tuple with one cotangent per argument, None where there is none",
                    )
                part = made[position]
                if part is None:
                    return tree.map_data(lambda x: np.zeros(np.shape(x)), operands[position])
                return tree.map_data(_turned, part)

            return rule

        row = OpDef(
            name=f"function {function.__name__}",
            doc="",
            rule=any_value,
            run=run,
            rules=({EACH: back}, None),
        )
        result = _apply_below(row, map_tree(unwrap, args))
        parts = [wrap(x) for x in (result if isinstance(result, tuple) else (result,))]
        _note_shared(parts, args, _bare_leaves(args))
        return tree.unflatten(holder["structure"], parts)

    call.runs_on_trace_values = True  # type: ignore[attr-defined]
    return call


def _leaves(x: Any) -> list[Any]:
    found: list[Any] = []
    map_tree(found.append, x)
    return found


def _bare_leaves(x: Any) -> list[Any]:
    return [bare(unwrap_bare(leaf)) for leaf in _leaves(x)]


def _written(args: Any, before: list[Any], after: Any) -> list[bool]:
    """For each leaf of the arguments, whether it is an array that is followed, or may be, and has changed."""
    return [
        type(x) is ArrayBox and not same_bits(a, b)
        for x, a, b in zip(_leaves(args), before, _bare_leaves(after), strict=True)
    ]


def _own(x: Any) -> Any:
    """The same, of an array one that may be written to."""
    return np.array(x) if type(x) is np.ndarray else x


def _note_shared(results: Sequence[Any], args: Any, inside: Sequence[Any]) -> None:
    """Note which results are arguments, or parts of them.  inside: what the function saw of the arguments."""
    for x, array in zip(_leaves(args), inside, strict=True):
        for result in results if type(x) is ArrayBox else ():
            if type(result) is ArrayBox and np.may_share_memory(bare(unwrap(result)), array):
                result.share_with(x)


def _staged(trace: Trace, function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The call in a trace."""

    def run() -> tuple[Any, Function]:
        value, pull_back = _pair(function, args, kwargs)
        return value, lambda ct: trace.protocol.call(pull_back, (ct,), {})

    return staged.marked(trace, _name(function), run, args)


def checkpoint(function: Function) -> Function:
    """The same function, which keeps nothing for its derivative but its arguments: it runs again for that."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        trace = active()
        if trace is not None:
            return _staged_checkpoint(trace, function, args, kwargs)

        if not any_followed(args):
            return function(*args, **kwargs)
        seen: list[Any] = []
        written: list[bool] = []

        def remembering(*given: Any) -> Any:
            boxed = [type(x) is ArrayBox for x in _leaves(args)]
            left = iter(boxed)
            inside = map_tree(lambda x: _own(wrap(unwrap(x))) if next(left) else x, given)
            value = function(*inside, **kwargs)
            seen[:], written[:] = _bare_leaves(inside), _written(args, _bare_leaves(given), inside)
            first = [bare(unwrap(x)) if type(x) in BOXES else _own(x) for x in tree.flatten_data(value)[0]]
            return value, functools.partial(_run_again, function, given, kwargs, first)

        remembering.__name__ = getattr(function, "__name__", "function")
        made = custom_gradient(remembering)(*args)
        _note_shared(tree.flatten_data(made)[0], args, seen)
        for x, changed in zip(_leaves(args), written, strict=True):
            if changed:  # what was written there is known inside the function only
                x.spoil()
        return made

    call.runs_on_trace_values = True  # type: ignore[attr-defined]
    return call


def _staged_checkpoint(
    trace: Trace, function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """The call in a trace: its way back runs the function again."""

    def run() -> tuple[Any, Function]:
        start, builder = len(trace.builder.nodes), trace.builder
        value = function(*args, **kwargs)
        if trace.following and any(map(_may_differ, builder.nodes[start:])):
            raise NotStaged(f"{_name(function)}, which is run again, may give something else then")
        return value, lambda ct: pulled_back(trace, function, args, kwargs, ct)

    return staged.marked(trace, _name(function), run, args)


def _may_differ(node: Node) -> bool:
    """Whether a node has a part in something that another run may find changed."""
    return keeps(node) or any(map(_may_differ, (n for r in node.regions for n in r.nodes)))


def _name(function: Function) -> str:
    return getattr(function, "__name__", "a function")


def _run_again(
    function: Function, args: tuple[Any, ...], kwargs: dict[str, Any], first: list[Any], cts: Any
) -> Any:
    """The cotangents of the arguments by a second run, which must give what the first one gave."""
    live = [
        k for k, x in enumerate(args) if any(is_inexact(unwrap(leaf)) for leaf in tree.flatten_data(x)[0])
    ]

    def of_live(*given: Any) -> Any:
        full = list(args)
        for k, x in zip(live, given, strict=True):
            full[k] = x
        return function(*full, **kwargs)

    value, pull_back = vjp(of_live, *(args[k] for k in live))
    if not all(map(_about, first, tree.flatten_data(value)[0])):
        raise GradientError(
            f"{_name(function)} gave something else when it ran again for its derivative",
            why="it is under ag.checkpoint, and draws random numbers, or keeps something from call to call",
            fix="draw the numbers outside, and pass them as an argument",
        )
    found = dict(zip(live, pull_back(cts), strict=True))
    return tuple(found.get(k) for k in range(len(args)))


def _about(a: Any, b: Any) -> bool:
    """Whether two results are the same, but for the order in which sums were taken."""
    if not is_inexact(a):
        return True
    b = unwrap_bare(b)
    return np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=1e-3, atol=1e-6, equal_nan=True)


def _apply_below(row: OpDef, args: tuple[Any, ...]) -> Any:
    """The function run on what the innermost level follows, recorded there; outer levels see inside it."""
    level = max((x.level for x in _actives(args)), key=lambda each: each.depth)

    def strip(x: Any) -> Any:
        return x.value if type(x) is Active and x.level is level else x

    found = [((i, *place), x) for i, arg in enumerate(args) for place, x in _placed(arg) if x.level is level]
    below = map_tree(strip, args)
    result = row.run(*below)
    if any(at_level(x, level) is not None for x in (result if isinstance(result, tuple) else (result,))):
        raise GradientError(
            f"the result of the {row.name} depends on a followed value that is no argument",
            why="its derivative is known with respect to its arguments only",
            fix="pass the value as an argument, or cut it off with ag.stop_gradient",
        )
    return level.record(row, result, below, {}, found)


def _placed(x: Any, place: tuple[Any, ...] = ()) -> Any:
    x = opened(x)
    if type(x) is Active:
        yield place, x
    elif isinstance(x, (tuple, list)):
        for i, item in enumerate(x):
            yield from _placed(item, (*place, i))
    elif isinstance(x, dict):
        for key, item in x.items():
            yield from _placed(item, (*place, key))


def _actives(x: Any) -> list[Active]:
    return [active for _, active in _placed(x)]


def _turned(x: Any) -> Any:
    return wrap(conjugate(unwrap(x))) if type(x) in BOXES else conjugate(x)


def _pair(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Function]:
    made = function(*args, **kwargs)
    if not isinstance(made, tuple) or len(made) != 2 or not callable(made[1]):
        raise GradientError(
            f"{function.__name__} must give a pair (value, function), not {type(made).__name__}",
            why="ag.custom_gradient takes the derivative from it",
            fix="return the value, and a function from its cotangents to those of the arguments",
        )
    return made
