"""Derivatives of functions: gradients, products with Jacobians, Jacobians, Hessians.

In: a Python function of arrays and numbers in nested containers.  Out: functions that give derivatives,
in the same containers.  What always holds: the function runs as plain Python does; the arguments that
are differentiated are copies, so that the caller's stay as they are; a gradient has the shape, dtype
and kind of its argument.

Complex numbers: the gradient of a real function of `z = x + iy` is `df/dx + i df/dy`, the direction of
steepest ascent; a cotangent pairs with a change as `Re(sum(conj(ct) * dy))`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from runtime import tree
from runtime.autodiff.box import BOXES, Box, plain_array, settled, unwrap, unwrap_bare, wrap
from runtime.autodiff.dispatch import Surface, call_row
from runtime.autodiff.forward import Forward
from runtime.autodiff.levels import Active, at_level, bare, is_inexact, opened
from runtime.autodiff.reverse import Reverse, backward
from runtime.autodiff.rows import by_name
from runtime.autodiff.staged.kinds import inexact, positions
from runtime.errors import GradientError
from runtime.ops.adjoint import cast, kind_of
from runtime.trace.byhand import closed
from runtime.trace.byhand import opened as opened_here
from runtime.trace.core import active
from runtime.trace.values import Tensor
from runtime.variable import Variable

Function = Callable[..., Any]
ArgNums = int | Sequence[int]


def conjugate(x: Any) -> Any:
    """The conjugate of a value of any level; a real one as it is."""
    return unwrap(call_row(by_name("np.conjugate"), (wrap(x),), {})) if np.iscomplexobj(bare(x)) else x


def zeros(x: Any) -> Any:
    """Zeros like a value."""
    x = bare(x)
    return np.zeros_like(x) if isinstance(x, np.ndarray) else type(x)(0)


def ones(x: Any) -> Any:
    """Ones like a value."""
    x = bare(x)
    return np.ones_like(x) if isinstance(x, np.ndarray) else type(x)(1)


def out(ct: Any, like: Any) -> Any:
    """A derivative as the caller gets it: of the kind of the value that it belongs to, for it alone."""
    like = bare(like)
    if type(ct) is Active:
        return wrap(ct)
    if isinstance(like, np.ndarray):
        return np.array(ct, like.dtype)
    return type(like)(ct)


def given(value: Any, like: Any, what: str) -> Any:
    """A cotangent or tangent from the caller as a value, checked against what it belongs to; of an array a
    copy, since the caller may write to it later."""
    value, like = unwrap(value), bare(like)
    if np.shape(bare(value)) != np.shape(like):
        have, want = np.shape(bare(value)), np.shape(like)
        raise GradientError(
            f"the {what} has shape {have}, but what it belongs to has shape {want}",
            fix=f"give a {what} of the same structure and shapes",
        )
    kind = kind_of(like)
    if kind_of(bare(value)) != kind:
        return unwrap(cast(wrap(value), kind))
    return value.copy() if type(value) is np.ndarray else value


class Inputs:
    """The arguments of a call, with those that are differentiated followed by a level."""

    def __init__(self, args: tuple[Any, ...], argnums: ArgNums, name: str, *, each: bool = True) -> None:
        self.single, self.numbers = positions(argnums, len(args))
        self.args = [
            Box(x, x) if _may_be_written(x) and k not in self.numbers else x for k, x in enumerate(args)
        ]
        self.leaves: list[Any] = []
        self.structures = []
        # The arrays that the caller gave, and the boxes that stand for them, in the same order.
        self.arrays = [x for x, box in zip(args, self.args, strict=True) if box is not x]
        self.made = [box for x, box in zip(args, self.args, strict=True) if box is not x]
        for k in self.numbers:
            leaves, structure = tree.flatten_data(args[k])
            values = [self._value(x) for x in leaves]
            if each and not any(is_inexact(v) for v in values):
                raise GradientError(
                    f"argument {k} of {name} has nothing to differentiate by: {_kinds(values)}",
                    why="derivatives are with respect to floats and complex numbers",
                    fix=_how(values),
                )
            self.leaves.append(values)
            self.structures.append(structure)
            self.arrays += [unwrap_bare(x) for x, v in zip(leaves, values, strict=True) if is_inexact(v)]

    @staticmethod
    def _value(x: Any) -> Any:
        """The value of a leaf; an array that is differentiated is copied."""
        if isinstance(x, np.ndarray) and type(x) not in BOXES and x.dtype.kind not in "fc":
            return x
        value = unwrap(plain_array(x.value if isinstance(x, Variable) else x))
        return value.copy(order="K") if isinstance(value, np.ndarray) else value

    def start(self, follow: Callable[[Any], Any]) -> list[Any]:
        """Follow the leaves; the arguments for the call."""
        self.followed = [[follow(v) if is_inexact(v) else None for v in values] for values in self.leaves]
        as_given = len(self.made)  # these see writes, the others are copies
        for k, values, actives, structure in zip(
            self.numbers, self.leaves, self.followed, self.structures, strict=True
        ):
            parts = [v if a is None else Box(a) for v, a in zip(values, actives, strict=True)]
            self.made += [x for x in parts if type(x) in BOXES]
            self.args[k] = tree.unflatten(structure, parts)
        for k, array in enumerate(self.arrays):
            others = [j for j, x in enumerate(self.arrays) if j != k and np.may_share_memory(array, x)]
            if others:
                self.made[k].share(max(others) >= as_given)
        return self.args

    def flat(self) -> list[Active]:
        """All followed leaves."""
        return [a for actives in self.followed for a in actives if a is not None]

    def back(self, values: Sequence[Any], none_is_zero: bool = True) -> Any:
        """One derivative per followed leaf, as trees like the arguments; None at leaves of other kinds."""
        rest = iter(values)
        trees = []
        for leaves, actives, structure in zip(self.leaves, self.followed, self.structures, strict=True):
            parts: list[Any] = []
            for leaf, live in zip(leaves, actives, strict=True):
                if live is None:
                    parts.append(None)
                    continue
                ct = next(rest)
                if ct is None:
                    parts.append(zeros(leaf) if none_is_zero else None)
                else:
                    parts.append(out(conjugate(ct), leaf))
            trees.append(tree.unflatten(structure, parts))
        return trees[0] if self.single else tuple(trees)


def _may_be_written(x: Any) -> bool:
    return type(x) is np.ndarray and x.dtype.kind in "fc" and x.flags.writeable


def _how(values: Sequence[Any]) -> str:
    """What to do where there is nothing to differentiate by."""
    plain = (np.ndarray, np.generic, bool, int, str, bytes, type(None))
    if all(isinstance(value, plain) for value in map(bare, values)):
        return "pass floats (2.0 instead of 2), or name other arguments with argnums"
    return (
        "pass the arrays in a dict, list, tuple or dataclass (which holds its fields and nothing else),"
        " or name other arguments with argnums"
    )


def _kinds(values: Sequence[Any]) -> str:
    found = dict.fromkeys(
        f"an array of {v.dtype}" if isinstance(v, np.ndarray) else type(v).__name__ for v in map(bare, values)
    )
    return ", ".join(found) or "nothing"


def _name(function: Function) -> str:
    return getattr(function, "__name__", repr(function))


def settle(x: Any) -> Any:
    """A result for the caller, without levels that are over."""
    return tree.map_data(settled, x)


def scalar(result: Any, name: str) -> Any:
    """The value of a result that must be one real number."""
    value = unwrap(result)
    shown = bare(value)
    if not is_inexact(value) or np.shape(shown) != () or np.iscomplexobj(shown):
        kind = f"an array of shape {shown.shape}" if np.ndim(shown) else f"{type(shown).__name__} {shown!r}"
        raise GradientError(
            f"{name} gave {kind}, but a gradient is that of one real number",
            fix="reduce the result, for instance with .sum(), or use ag.jacobian or ag.vjp",
        )
    return value


def value_and_grad(
    function: Function, argnums: ArgNums = 0, has_aux: bool = False, unconnected: str = "zero"
) -> Function:
    """A function that gives the value and the gradient.  unconnected: what stands for what the value does not
    depend on, "zero" or "none"."""

    @functools.wraps(function, updated=())
    def both(*args: Any, **kwargs: Any) -> Any:
        inputs = Inputs(args, argnums, _name(function))
        level = Reverse(Surface)
        with level:
            result = function(*inputs.start(level.input), **kwargs)
            aux = None
            if has_aux:
                result, aux = _two(result, _name(function))
            value = scalar(result, _name(function))
        live = at_level(value, level)
        seeds = [] if live is None else [(live, ones(value))]
        grads = inputs.back(backward(level, seeds, inputs.flat(), Surface.add), unconnected == "zero")
        shown = wrap(opened(value))
        return ((shown, settle(aux)), grads) if has_aux else (shown, grads)

    return both


def _two(result: Any, name: str) -> Any:
    if not isinstance(result, tuple) or len(result) != 2:
        kind = type(unwrap_bare(result)).__name__
        raise GradientError(
            f"{name} must give a pair (value, aux) under has_aux=True, not {kind}",
            fix="return the value and whatever else you need, or leave has_aux out",
        )
    return result


def grad(
    function: Function, argnums: ArgNums = 0, has_aux: bool = False, unconnected: str = "zero"
) -> Function:
    """A function that gives the gradient."""
    both = value_and_grad(function, argnums, has_aux, unconnected)

    @functools.wraps(function, updated=())
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, grads = both(*args, **kwargs)
        return (grads, value[1]) if has_aux else grads

    return gradient


def vjp(function: Function, *primals: Any, has_aux: bool = False, unconnected: str = "zero") -> Any:
    """The value, and the function from cotangents of the value to those of the arguments."""
    inputs = Inputs(primals, range(len(primals)), _name(function), each=False)
    level = Reverse(Surface)
    with level:
        result = function(*inputs.start(level.input))
        aux = None
        if has_aux:
            result, aux = _two(result, _name(function))
        leaves, structure = tree.flatten_data(result)
        values = [unwrap(x) for x in leaves]

    def pull_back(cotangents: Any) -> Any:
        """The cotangents of the arguments, a tuple with one entry each."""
        parts, shape = tree.flatten_data(cotangents)
        if len(parts) != len(values):
            raise GradientError(
                f"the cotangent has {len(parts)} leaves, the result of {_name(function)} has {len(values)}",
                fix="give a cotangent of the structure of the result",
            )
        seeds = []
        for value, part in zip(values, parts, strict=True):
            live = at_level(value, level)
            if live is not None and part is not None:
                seeds.append((live, conjugate(given(part, value, "cotangent"))))
        return inputs.back(backward(level, seeds, inputs.flat(), Surface.add), unconnected == "zero")

    shown = tree.unflatten(structure, [settled(x) for x in leaves])
    return (shown, pull_back, settle(aux)) if has_aux else (shown, pull_back)


def jvp(function: Function, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """The value, and how it changes when the arguments move along the tangents."""
    primals, tangents = tuple(primals), tuple(tangents)
    inputs = Inputs(primals, range(len(primals)), _name(function), each=False)
    directions, _ = tree.flatten_data(tangents)
    values = [v for leaves in inputs.leaves for v in leaves]
    if len(directions) != len(values):
        raise GradientError(
            f"there are {len(directions)} tangents for {len(values)} arrays",
            fix="give one of the same structure",
        )
    level = Forward(Surface)
    moves = iter(
        [given(t, v, "tangent") if is_inexact(v) else None for t, v in zip(directions, values, strict=True)]
    )
    with level:
        inputs.followed = []
        followed = iter([None if (t := next(moves)) is None else level.input(v, t) for v in values])
        result = function(*inputs.start(lambda v: _next(followed)))
        leaves, structure = tree.flatten_data(result)
        found = [unwrap(x) for x in leaves]
    changes = []
    for value in found:
        live = at_level(value, level)
        if live is not None:
            changes.append(out(live.link, value))
        else:
            changes.append(zeros(value) if is_inexact(value) else None)
    return tree.unflatten(structure, [settled(x) for x in leaves]), tree.unflatten(structure, changes)


def _next(items: Any) -> Any:
    for item in items:
        if item is not None:
            return item
    raise AssertionError


def jacobian(function: Function, argnums: ArgNums = 0) -> Function:
    """A function that gives all derivatives of its result: shape of the result, then of the argument."""

    @functools.wraps(function, updated=())
    def all_derivatives(*args: Any, **kwargs: Any) -> Any:
        inputs = Inputs(args, argnums, _name(function))
        level = Reverse(Surface)
        with level:
            result = function(*inputs.start(level.input), **kwargs)
            leaves, structure = tree.flatten_data(result)
            values = [unwrap(x) for x in leaves]
        made: list[Any] = []
        for value in values:
            if value is None:  # the derivative by an integer, of a gradient
                made.append(None)
                continue
            rows = [[] for _ in inputs.flat()]  # type: ignore[var-annotated]
            shape = np.shape(bare(value))
            for index in np.ndindex(shape):
                unit = zeros(value) if shape else ones(value)
                if shape:
                    unit[index] = 1
                live = at_level(value, level)
                cts = backward(level, [] if live is None else [(live, unit)], inputs.flat(), Surface.add)
                for row, ct, x in zip(rows, cts, inputs.flat(), strict=True):
                    row.append(zeros(x) if ct is None else ct)
            parts = [_stacked(row, shape, x) for row, x in zip(rows, inputs.flat(), strict=True)]
            made.append(_as_arguments(inputs, parts))
        return tree.unflatten(structure, made)

    return all_derivatives


def _stacked(rows: list[Any], shape: tuple[int, ...], x: Any) -> Any:
    """The derivatives of every element of the result, in one array."""
    inner = np.shape(bare(x))
    if not shape:
        return out(conjugate(rows[0]), x)
    if not rows:
        return np.zeros((*shape, *inner), kind_of(bare(x)))
    made = call_row(by_name("np.stack"), ([wrap(row) for row in rows],), {})
    return wrap(conjugate(unwrap(np.reshape(made, (*shape, *inner)))))


def _as_arguments(inputs: Inputs, parts: list[Any]) -> Any:
    rest = iter(parts)
    trees = [
        tree.unflatten(structure, [None if a is None else next(rest) for a in actives])
        for actives, structure in zip(inputs.followed, inputs.structures, strict=True)
    ]
    return trees[0] if inputs.single else tuple(trees)


def hessian(function: Function, argnums: ArgNums = 0) -> Function:
    """A function that gives the second derivatives of its real result."""
    return jacobian(grad(function, argnums), argnums)


def stop_gradient(x: Any) -> Any:
    """The same values, which no derivative goes through: a tree of arrays and numbers."""

    def stop(leaf: Any) -> Any:
        if isinstance(leaf, Tensor) and inexact(leaf._facts.type):
            return leaf._facts.trace.record("pos", [leaf], type=leaf._facts.type, attrs={"stop": True})
        if type(leaf) not in BOXES:
            return leaf
        value = leaf.bare
        return Box(value.copy()) if isinstance(value, np.ndarray) else value

    if active() is not None:
        return closed(tree.map_leaves(stop, opened_here(x, data=True)))
    return tree.map_data(stop, x)
