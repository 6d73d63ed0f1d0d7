"""`Protocol`: what happens to handles, gathered in one object that the handles can reach.

Handles (`values.py`) know nothing of the modules that carry things out; they call the trace's protocol.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from runtime.boxes import UnboundMarker
from runtime.errors import Untraceable
from runtime.ir.effects import plain_exception
from runtime.ir.graph import Const
from runtime.trace import attributes, calls, dicts, dunders, growing, hints, items, outside, sizes
from runtime.trace.core import Trace, is_static, is_unique
from runtime.trace.doubts import doubt, doubt_inside
from runtime.trace.heap import ANY, NO_NAME
from runtime.trace.record import Path
from runtime.trace.values import PYTHON_OPERATORS, Object, Tensor, Traced, defines, known_class
from runtime.trace.variables import value_of, write
from runtime.types import ArrayType, MaybeUnbound, ObjectType, UnboundType, same_static
from runtime.variable import IN_PLACE, Variable

_MIRRORED = {"lt": ">", "le": ">=", "gt": "<", "ge": "<="}
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", "or_", "and_", "xor", "sub", "mod")  # of items, too


_OPERATOR_OF = {
    np.add: "add",
    np.subtract: "sub",
    np.multiply: "mul",
    np.true_divide: "truediv",
    np.floor_divide: "floordiv",
    np.remainder: "mod",
    np.power: "pow",
    np.matmul: "matmul",
    np.left_shift: "lshift",
    np.right_shift: "rshift",
    np.bitwise_and: "and_",
    np.bitwise_or: "or_",
    np.bitwise_xor: "xor",
    np.equal: "eq",
    np.not_equal: "ne",
    np.less: "lt",
    np.less_equal: "le",
    np.greater: "gt",
    np.greater_equal: "ge",
}


def _plain(op: str) -> str:
    """The operator without `=`."""
    return op[1:] + "_" if op in ("iand", "ior") else op[1:]


def stays(op: str, cls: type | None, other: type | None) -> bool:
    """Whether `x op= y` leaves x bound to the same list, set or dict, for a y of class `other`."""
    if cls is dict:
        return op == "ior"
    if cls is list and op == "iadd":  # an array on the right adds itself, item by item, and gives a new array
        return other is not None and not defines(other, "__radd__")
    if cls is list and op == "imul":
        return other in (int, bool)
    return cls is set and op in ("iand", "ior", "isub", "ixor") and other in (set, frozenset)


class Protocol:
    """Carries out, for one trace, what Python code does to handles."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    def get_attr(self, x: Traced, name: str) -> Any:
        """`x.name`."""
        return attributes.get_attr(self.trace, x, name)

    def set_attr(self, x: Traced, name: str, value: Any) -> None:
        """`x.name = value`."""
        attributes.set_attr(self.trace, x, name, value)

    def del_attr(self, x: Traced, name: str) -> None:
        """`del x.name`."""
        attributes.del_attr(self.trace, x, name)

    def get_item(self, x: Traced, key: Any) -> Any:
        """`x[key]`."""
        return items.get_item(self.trace, x, key)

    def set_item(self, x: Traced, key: Any, value: Any) -> None:
        """`x[key] = value`."""
        items.set_item(self.trace, x, key, value)

    def del_item(self, x: Traced, key: Any) -> None:
        """`del x[key]`."""
        if not dicts.delete(self.trace, x, key):
            items.del_item(self.trace, x, key)

    def iterate(self, x: Traced) -> Iterator[Any]:
        """`iter(x)` in code that needs the items now."""
        return items.iterate(self.trace, x)

    def length(self, x: Traced) -> Any:
        """`len(x)`."""
        return items.length(self.trace, x)

    def call(self, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """`f(*args, **kwargs)`."""
        return calls.call(self.trace, f, args, kwargs)

    def run(self, function: Any, why: str) -> Any:
        """A call of the function that is not traced into."""
        if why:
            self.trace.leave(f"the statement runs as plain Python: {why}")
        return calls.run_time_call(self.trace, function, (), {})

    def operator(self, op: str, *operands: Any) -> Any:
        """A Python operator, by its name in the op table."""
        if all(map(is_static, operands)):
            return PYTHON_OPERATORS[op](*operands)
        operands = tuple(value_of(self.trace, x) for x in operands)
        if op == "or_" and (made := dicts.united(self.trace, operands)) is not None:
            return made
        if op == "mul" and (repeated := items.repeated(self.trace, *operands)) is not None:
            return repeated
        if (known := dunders.operator(self.trace, op, operands)) is not NotImplemented:
            return known
        result = self.trace.record(op, operands)
        (doubt_inside if op in _COMPARISONS else doubt)(self.trace, *operands)
        return result

    def item(self, x: Any, index: Any) -> Any:
        """`x[index]`, where x may be a tuple or text and the index traced."""
        return x[index] if isinstance(x, Traced) else items.static_item(self.trace, x, index)

    def percent(self, text: Any, values: Any) -> Any:
        """`text % values`; numbers, too, where the left side may be a text."""
        if not isinstance(text, (str, bytes)):
            scalar = isinstance(text, np.generic) and isinstance(values, Tensor)  # whose % is a ufunc's
            return self.operator("mod", text, values) if scalar else text % values
        one = values if isinstance(values, tuple) else (values,)
        simple = not any(isinstance(v, (np.generic, tuple)) for v in one)  # NumPy asks its print options
        if is_static(text) and is_static(values) and simple:
            return text % values
        sure = isinstance(values, (tuple, Tensor))  # a class of texts may have a % of its own
        result = self.trace.record("mod", [text, values], type=ObjectType(type(text)) if sure else None)
        doubt_inside(self.trace, values)
        return result

    def scalar_operator(self, ufunc: Any, operands: tuple[Any, ...]) -> Any:
        """`scalar + x` for a static NumPy scalar, which NumPy hands over as a ufunc call."""
        op = _OPERATOR_OF.get(ufunc)
        if op is None or not hints.in_operator(self.trace.generated_frame()):
            return NotImplemented
        return self.operator(op, *operands)

    def in_place(self, op: str, x: Traced, other: Any) -> Any:
        """An augmented assignment: what the target is bound to afterwards."""
        trace, t, other = self.trace, x._facts.type, value_of(self.trace, other)
        if isinstance(x, Object) and known_class(x) is Variable:
            return write(trace, IN_PLACE[f"__{op.rstrip('_')}__"], x, (other,), {})
        if op == "ior" and isinstance(x, Object) and known_class(x) is dict:
            if dicts.updated(trace, x, other, {}):
                return x
        if (known := dunders.in_place(trace, op, x, other)) is not NotImplemented:
            return known
        number = isinstance(x, Tensor) and not (isinstance(t, ArrayType) and not t.scalar)
        if number and self._never_fails(op, x, other):
            return self.operator(_plain(op), x, other)
        value = trace.emit(op, [x, other])
        assert value is not None
        doubt(trace, x, other)
        if isinstance(x, Tensor):
            return x if not number and isinstance(value.type, ArrayType) else trace.wrap(value)
        trace.heap.written(x._facts.identity, "item", ANY if op == "ior" else NO_NAME)
        growing.extended(trace, x, None if op != "iadd" else items.known_items(trace, other))
        if known_class(x) is not list:
            doubt_inside(trace, x, other)
        return x if stays(op, known_class(x), known_class(other)) else trace.wrap(value)

    def _never_fails(self, op: str, *operands: Any) -> bool:
        """Whether the operands are numbers that have the operator: then it is as good as without `=`."""
        rule = self.trace.table[_plain(op)].rule
        assert rule is not None
        return not isinstance(rule(*map(self.trace.type_of, operands)), ObjectType)

    def reflected(self, op: str, left: Any, x: Traced) -> Any:
        """`left op x` where left is static."""
        augmented = hints.operator_in_progress(self.trace.generated_frame()).endswith("=")
        name = f"i{op.rstrip('_')}"
        if not augmented or self._never_fails(name, left, x):
            return self.operator(op, left, x)
        value = self.trace.emit(name, [left, x])  # the error of `1 += x` is not that of `1 + x`
        assert value is not None
        doubt(self.trace, x)
        return self.trace.wrap(value)

    def compare(self, op: str, x: Traced, other: Any) -> Any:
        """`x op other`, or `other op x` where Python asked x because other didn't know."""
        asked = hints.operator_in_progress(self.trace.generated_frame())
        if asked and asked == _MIRRORED.get(op):
            return self.operator({"<": "lt", "<=": "le", ">": "gt", ">=": "ge"}[asked], other, x)
        return self.operator(op, x, other)

    def lift(self, value: Any, path: Path) -> Any:
        """The trace value of a concrete object found at `path` (a global, a default, a captured value)."""
        return outside.lift_path(self.trace, value, path)

    def truth(self, x: Any) -> bool | None:
        """Python's truth of a trace value where it is known while tracing, else None."""
        if not isinstance(x, Traced):
            return bool(x)
        if not isinstance(x, Object):
            return None
        cls, who = known_class(x), x._facts.identity
        if cls is None:
            return None
        if cls is list or (cls is dict and who in self.trace.heap.complete):
            size = items.length(self.trace, x) if cls is dict else sizes.known_size(self.trace, x)
            return bool(size) if isinstance(size, int) else None
        if cls in (type, types.FunctionType, types.ModuleType):
            return True
        plain = cls.__flags__ & (1 << 9) and not defines(cls, "__bool__") and not defines(cls, "__len__")
        attributes.guard_special(self.trace, cls, "__bool__", "__len__")
        return True if plain else None

    def raise_(self, parts: tuple[Any, ...]) -> None:
        """`raise error` or `raise error from cause`; in a handler `raise`."""
        for part in parts:
            made = part._facts.example if isinstance(part, Traced) else part
            if isinstance(made, type) and plain_exception(made):  # and stays one
                attributes.guard_special(self.trace, made, "__new__", "__init__")
        self.trace.emit("raise", parts)

    def bound(self, value: Any, name: str, free: bool = False) -> Any:
        """The value of a name that may be unbound."""
        unsure = isinstance(value, Object) and isinstance(value._facts.type, (MaybeUnbound, UnboundType))
        if unsure or isinstance(value, UnboundMarker):
            return self.trace.record("py.bound", [value, name, *([True] if free else [])])
        return value

    def same(self, a: Any, b: Any) -> Any:
        """`a is b`."""
        if not isinstance(a, Traced) and not isinstance(b, Traced) and is_static(a) and is_static(b):
            if not same_static(a, b) or is_unique(a):
                return a is b
            # another call with equal values is served by this trace, whichever objects they are
            raise Untraceable(
                "whether equal values are one object is known only when the function runs",
                span=self.trace.span(),
            )
        if isinstance(a, Traced) and isinstance(b, Traced):
            if a._facts is b._facts or a._facts.operand is b._facts.operand:
                return True
            if (
                a._facts.identity.fresh
                and b._facts.identity.fresh
                or a._facts.identity.apart(b._facts.identity)
            ):
                return False
            if isinstance(a._facts.operand, Const) and isinstance(b._facts.operand, Const):
                return a._facts.operand.value is b._facts.operand.value
        for x, y in ((a, b), (b, a)):
            if isinstance(x, Traced) and not isinstance(y, Traced):
                cls = known_class(x)
                if cls is not None and is_static(y) and cls is not type(y):
                    return False
        return self.trace.record("py.is", [a, b])

    def contains(self, item: Any, container: Any) -> Any:
        """`item in container`."""
        return items.contains(self.trace, item, container)

    def unpack(self, value: Any, before: int, after: int | None) -> Any:
        """The items of an unpacking assignment; None where Python should do it itself."""
        return items.unpack(self.trace, value, before, after)

    def truth_not(self, x: Any) -> Any:
        """`not x`."""
        known = self.truth(x)
        if known is not None:
            return not known
        answer = self.trace.record("py.not", [x])
        doubt(self.trace, x)
        return answer
