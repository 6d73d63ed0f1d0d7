"""Calls with boxes: ops of the table, NumPy's dispatch protocols, Python's operators, methods of arrays.

In: callables and arguments among which are boxes.  Out: their results, in boxes where they are followed.
What always holds: a result is of the kind that plain NumPy gives, a view where that is one.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from runtime.autodiff import variables
from runtime.autodiff.box import (
    BOXES,
    ArrayBox,
    Box,
    FlatBox,
    any_box,
    any_followed,
    as_one,
    kept_followed,
    lost,
    plain_array,
    unwrap,
    unwrap_bare,
    unwrap_tree,
    wrap,
    wrap_tree,
)
from runtime.autodiff.levels import Active, apply, apply_flat, bare, map_tree, opened, snapshot
from runtime.autodiff.looks import LOOKS
from runtime.autodiff.places import Step
from runtime.autodiff.rows import FUNCTIONS, OVERWRITING, PART_WRITES, REDUCE, UNSURE, VIEWS, by_name, row_of
from runtime.autodiff.rows import SEQUENCES as SEQUENCE_ROWS
from runtime.errors import GradientError
from runtime.ir.opdef import PURE, OpDef
from runtime.ops.adjoint import scatter
from runtime.ops.table import BY_METHOD, parameters
from runtime.variable import Variable

# -- calls ---------------------------------------------------------------------------------------------


SEQUENCES = frozenset({tuple, list, dict})


def _operand(x: Any, followed: bool) -> Any:
    """The value of an operand; a plain array is copied if a rule may look at it later."""
    if type(x) in BOXES:
        return x.read()
    if not followed:
        return x
    x = plain_array(x)
    return snapshot(x) if type(x) is np.ndarray and x.flags.writeable else x


def call_row(row: OpDef, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """An op of the table on boxes."""
    looks = row.name in VIEWS
    if row.name in OVERWRITING:  # what stands in the operand afterwards is not defined: it stays as it is
        names = parameters(row.run)
        count = min(len(args), names.index("axis"))
        kwargs = {**dict(zip(names[count:], args[count:], strict=False)), **kwargs}
        kwargs.pop("overwrite_input", None)
        args = args[:count]
    if not kwargs and not looks and (len(args) < 3 or _without_out(row, args, None)[0] is args):
        result = _simply(row, args)
        if result is not NotImplemented:
            return result
    args, kwargs = map_tree(_opened, args), map_tree(_opened, kwargs)
    out = kwargs.pop("out", None)
    if isinstance(out, tuple) and len(out) == 1:
        out = out[0]
    args, out = _without_out(row, args, out)
    if row.name not in SEQUENCE_ROWS:
        args = tuple(_as_array(x) if isinstance(x, (list, tuple)) and _any_number(x) else x for x in args)
    if looks and type(args[0]) in BOXES and not any_box(args[1:]):
        return _view(row, args, kwargs)
    followed = any_followed(args) or any_followed(kwargs)
    if out is not None:
        _check_out(row, args, kwargs, out)
    given = map_tree(lambda x: _operand(x, followed), args)
    named = map_tree(lambda x: _operand(x, followed), kwargs)
    result = apply(row, given, named)
    if followed:
        kept_followed(result)
    if out is None:
        seen = _seen_through(row, args, kwargs, given, result)
        return _fresh(wrap_tree(result)) if seen is None else seen
    results, outs = (result, out) if isinstance(out, tuple) else ((result,), (out,))
    for value, target in zip(results, outs, strict=True):
        if target is not None:
            write_into(target, value)
    if isinstance(out, tuple):  # some results may have no array
        pairs = zip(_fresh(wrap_tree(result)), out, strict=True)
        return tuple(made if target is None else target for made, target in pairs)
    return out


def _check_out(row: OpDef, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> None:
    """Let NumPy itself refuse an `out=` that can't take the result."""
    outs = map_tree(lambda x: x if x is None else unwrap_bare(x), out)
    if any(
        isinstance(x, np.ndarray) and x.dtype.kind not in "fc"
        for x in (outs if isinstance(outs, tuple) else (outs,))
    ):
        spare = map_tree(lambda x: x.copy() if isinstance(x, np.ndarray) else x, outs)
        with np.errstate(all="ignore"):
            row.run(*map_tree(unwrap_bare, args), **map_tree(unwrap_bare, kwargs), out=spare)


def _without_out(row: OpDef, args: tuple[Any, ...], out: Any) -> tuple[tuple[Any, ...], Any]:
    """The operands without an `out` that was given by position."""
    names = parameters(row.run)[: len(args)]
    if "out" not in names:
        return args, out
    at = names.index("out")
    rest = args[at + 1 :]
    return (*args[:at], None, *rest) if rest else args[:at], args[at]


def _any_number(x: Any) -> bool:
    """Whether a nested sequence has a box or a float in it, so that it stands for an array."""
    if isinstance(x, (list, tuple)):
        return any(map(_any_number, x))
    return type(x) in BOXES or isinstance(x, (float, complex, np.inexact))


def _opened(x: Any) -> Any:
    return x.value if isinstance(x, Variable) else x


def _as_array(x: Any) -> Any:
    """The array that NumPy makes of nested sequences of numbers and arrays."""
    return call_row(by_name("np.array"), (x,), {})


def _simply(row: OpDef, args: tuple[Any, ...]) -> Any:
    """The op where no operand is a sequence, which needs fewer questions; NotImplemented where one is."""
    followed, arrays = False, False
    given = []
    for x in args:
        kind = type(x)
        if kind in BOXES:
            value = x._store.value if kind is Box else x.read()
            followed = followed or type(value) is Active
            given.append(value)
        elif kind in SEQUENCES or isinstance(x, (tuple, list, Variable)):
            return NotImplemented
        else:
            arrays = arrays or isinstance(x, np.ndarray)
            given.append(x)
    if arrays and followed:
        given = [_operand(x, True) if x is a else x for x, a in zip(given, args, strict=True)]
    result = apply_flat(row, tuple(given))
    kind = type(result)
    if followed and kind is np.ndarray:
        kept_followed(result)
    seen = _seen_through(row, args, {}, given, result)
    if seen is not None:
        return seen
    if kind is Active:
        return Box(result)
    return _fresh(wrap_tree(result)) if kind is np.ndarray or isinstance(result, (tuple, list)) else result


def _fresh(x: Any) -> Any:
    """A new array of a kind that may come to hold followed values is put into a box, too."""
    return map_tree(_boxed, x)


def _boxed(x: Any) -> Any:
    return Box(x) if type(x) is np.ndarray and x.dtype.kind in "fc" else x


def _view(row: OpDef, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of an op that may give a view of its operand."""
    base: Box = args[0] if type(args[0]) is not FlatBox else Box(args[0].read())
    rest = map_tree(unwrap_bare, args[1:])
    value = base.bare
    made = row.run(value, *rest, **kwargs)
    if isinstance(made, (list, tuple)):
        parts = [Box.of_view(base, Step(row, rest, kwargs, i)) for i in range(len(made))]
        return parts if isinstance(made, list) else tuple(parts)
    if made is value:
        return base
    if isinstance(made, np.ndarray) and isinstance(value, np.ndarray) and np.may_share_memory(made, value):
        return Box.of_view(base, Step(row, rest, kwargs))
    return _fresh(wrap(apply(row, (base.read(), *rest), kwargs)))


def _seen_through(
    row: OpDef, args: tuple[Any, ...], kwargs: dict[str, Any], given: Sequence[Any], result: Any
) -> Any:
    """A box that looks at the array of an operand, where the result turned out to be that array or a part of
    it; else None."""
    if row.name not in UNSURE:
        return None
    made = bare(result)
    for k, (x, value) in enumerate(zip(args, map(bare, given), strict=True)):
        if type(x) is ArrayBox and type(made) is type(value) is np.ndarray:
            if made is value:
                return x
            if np.may_share_memory(made, value):
                rest = (*args[:k], *args[k + 1 :])
                step = Step(row, map_tree(unwrap_bare, rest), map_tree(unwrap_bare, kwargs), place=k)
                return Box.of_view(x, step)
    return None


def write_into(target: Any, value: Any) -> None:
    """Write a result into `out=`."""
    if type(target) in BOXES:
        concrete, given = target.bare, bare(value)
        if not np.can_cast(np.asarray(given).dtype, concrete.dtype, "same_kind"):
            have = np.asarray(given).dtype
            raise TypeError(
                f"Cannot cast output from {have!r} to {concrete.dtype!r} with casting rule 'same_kind'"
            )
        target.write(Ellipsis, wrap(value))
        return
    if type(opened(value)) is Active:
        raise lost(Box(value), "it is written into a plain array (out=)")
    target[...] = bare(value)


def call_function(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A NumPy function on boxes."""
    special = FUNCTIONS.get(function)
    if special == "write":
        return _write_part(function, args, kwargs)
    row = row_of(function)
    if function is np.nan_to_num and kwargs.get("copy") is False:
        args[0][...] = np.nan_to_num(args[0], **{**kwargs, "copy": True})
        return args[0]
    if function in LOOKS and (any_box(args) or any_box(kwargs)):
        made = LOOKS[function](*args, **kwargs)
        if made is not NotImplemented:
            return made
    if row is None or special == "plain":
        if any_followed(args) or any_followed(kwargs):
            if special != "plain":
                raise GradientError(
                    f"{getattr(function, '__name__', function)} has no derivative rule",
                    why="it is not in the op table",
                    fix="write it with other functions, or give its derivative with ag.custom_gradient",
                )
        return _fresh(function(*map_tree(unwrap_bare, args), **map_tree(unwrap_bare, kwargs)))
    return call_row(row, tuple(args), dict(kwargs))


def _write_part(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """np.put and its like: where elements go is found out by running it on element numbers."""
    target, where, values = PART_WRITES[function](*args, **kwargs)
    values = as_one(values)
    if type(target) not in BOXES:
        if any_followed(values):
            raise lost(Box(unwrap(values)), f"it is written into a plain array (np.{function.__name__})")
        function(*map_tree(unwrap_bare, args), **map_tree(unwrap_bare, kwargs))
        return
    shape = target.bare.shape
    numbers = np.arange(1, int(np.prod(shape)) + 1).reshape(shape)
    count, inner = np.size(unwrap_bare(values)), np.shape(unwrap_bare(values))
    marks = -np.arange(1, count + 1).reshape(inner)
    where(numbers, marks)
    at = numbers < 0
    flat = np.ravel(values) if np.ndim(values) else np.reshape(values, (1,))
    target[at] = flat[-numbers[at] - 1]


def call_ufunc(ufunc: Any, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A ufunc, or one of its methods, on boxes."""
    if method == "at":
        return _ufunc_at(ufunc, args)
    if method == "outer":
        a, b = args
        left = np.reshape(a, np.shape(unwrap_bare(a)) + (1,) * np.ndim(unwrap_bare(b)))
        return ufunc(left, b, **kwargs)
    if method in ("reduce", "accumulate"):
        function = REDUCE.get((ufunc, method))
        if function is None:
            return _plainly(getattr(ufunc, method), args, kwargs)
        named = dict(zip(("axis", "dtype", "out", "keepdims", "initial", "where"), args[1:], strict=False))
        given = {k: x for k, x in {"axis": 0, **named, **kwargs}.items() if k == "axis" or x is not None}
        return function(args[0], **given)
    if method != "__call__":
        return _plainly(getattr(ufunc, method), args, kwargs)
    row = row_of(ufunc)
    if row is None:
        return _plainly(ufunc, args, kwargs)
    if len(args) > ufunc.nin:
        args, out = args[: ufunc.nin], args[ufunc.nin :]
        kwargs = {**kwargs, "out": out}
    if kwargs.keys() & {"axes", "axis", "keepdims", "signature"}:
        raise GradientError(
            f"the derivative of np.{ufunc.__name__} with {', '.join(kwargs)} is not there",
            fix="move the axes with np.moveaxis",
        )
    where = kwargs.get("where", True)
    if where is not True:
        return _masked(row, args, kwargs)
    return call_row(row, args, kwargs)


def _masked(row: OpDef, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A ufunc with `where=`: what the mask leaves out keeps what `out=` held."""
    out, where = kwargs.pop("out", None), unwrap_bare(kwargs.pop("where"))
    out = out[0] if isinstance(out, tuple) else out
    with np.errstate(all="ignore"):
        made = call_row(row, args, dict(kwargs))
    if out is None:
        return np.where(where, made, 0)
    write_into(out, unwrap(np.where(where, made, out)))
    return out


def _plainly(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    result = function(*map_tree(unwrap_bare, args), **map_tree(unwrap_bare, kwargs))
    if np.asarray(result).dtype.kind in "fc" and (any_followed(args) or any_followed(kwargs)):
        raise GradientError(
            f"{function} has no derivative rule", fix="write it with other functions, or use ag.stop_gradient"
        )
    return result


def _ufunc_at(ufunc: Any, args: tuple[Any, ...]) -> None:
    """`np.add.at` and `np.subtract.at`."""
    target, key, *values = args
    if ufunc not in (np.add, np.subtract) or type(target) not in BOXES:
        raise GradientError(
            f"{ufunc.__name__}.at can't be followed", fix="use np.add.at on an array made inside"
        )
    shape = np.shape(target.bare[key])
    added = scatter(np.broadcast_to(as_one(values[0]), shape), key, target.bare.shape)
    target[...] = ufunc(target, added)


# -- operators -----------------------------------------------------------------------------------------


def _comparison(name: str) -> Callable[[Any, Any], Any]:
    function = getattr(operator, name)

    def method(self: Box, other: Any) -> Any:
        return function(self.bare, unwrap_bare(other))

    return method


def _binary(name: str, reflected: bool) -> Callable[[Any, Any], Any]:
    row = by_name(name)

    def method(self: Box, other: Any) -> Any:
        if type(other) in (list, tuple) and not isinstance(self.bare, (np.ndarray, np.generic)):
            return NotImplemented
        return call_row(row, (other, self) if reflected else (self, other), {})

    return method


def _unary(name: str) -> Callable[[Any], Any]:
    row = by_name(name)
    return lambda self: call_row(row, (self,), {})


def _in_place(name: str) -> Callable[[Any, Any], Any]:
    function = getattr(operator, name)

    def method(self: Box, other: Any) -> Any:
        made = function(self, other)
        if not isinstance(self.bare, np.ndarray):
            return made
        if np.shape(unwrap_bare(made)) != self.bare.shape:
            raise ValueError(
                f"non-broadcastable output operand with shape {self.bare.shape} "
                f"doesn't match the broadcast shape {np.shape(unwrap_bare(made))}"
            )
        write_into(self, unwrap(made))
        return self

    return method


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Box, f"__{_name}__", _comparison(_name))
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"):
    setattr(Box, f"__{_name}__", _binary(_name, False))
    setattr(Box, f"__r{_name}__", _binary(_name, True))
    setattr(Box, f"__i{_name}__", _in_place(_name))
for _name in ("neg", "pos", "abs"):
    setattr(Box, f"__{_name}__", _unary(_name))


# -- methods that write, or that the table has in another form -------------------------------------------


def _sort(self: Box, axis: int = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> None:
    self[...] = np.sort(self, axis=axis)


def _partition(self: Box, kth: Any, axis: int = -1, kind: str = "introselect", order: Any = None) -> None:
    self[...] = np.partition(self, kth, axis=axis)


def _fill(self: Box, value: Any) -> None:
    self[...] = value


def _put(self: Box, indices: Any, values: Any, mode: str = "raise") -> None:
    _write_part(np.put, (self, indices, values), {"mode": mode})


def _tolist(self: ArrayBox) -> Any:
    if np.ndim(self.bare) == 0:
        return self.item()
    return [self[i].tolist() for i in range(len(self))]


METHODS: dict[str, Any] = {
    "sort": _sort,
    "partition": _partition,
    "fill": _fill,
    "put": _put,
    "tolist": _tolist,
}


class Surface:
    """What levels need of boxes."""

    begin = staticmethod(variables.begin)
    end = staticmethod(variables.end)

    wrap_tree = staticmethod(wrap_tree)
    unwrap_tree = staticmethod(unwrap_tree)

    @staticmethod
    def add(a: Any, b: Any) -> Any:
        """The sum of two values."""
        return apply(by_name("np.add"), (a, b), {})


class Protocol:
    """What boxes ask for; see `Box.protocol`."""

    call_row = staticmethod(call_row)
    call_ufunc = staticmethod(call_ufunc)
    call_function = staticmethod(call_function)

    @staticmethod
    def method(box: Box, name: str) -> Any:
        """The bound method of this name, None where it only looks at values."""
        if name in METHODS:
            return METHODS[name].__get__(box)
        row = BY_METHOD.get(name)
        if row is not None and row.effect != PURE:
            raise GradientError(
                f"the method {name} of a followed array can't be followed", fix="make a new array"
            )
        return None if row is None else lambda *args, **kwargs: call_row(row, (box, *args), kwargs)


Box.protocol = Protocol
