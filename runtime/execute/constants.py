"""Constants of a plan: literals where Python has them, dotted NumPy names, bound names for all else.

In: `Const` operands.  Out: expressions, and the names that must be bound to run them.  What always holds:
evaluating the expression gives that very object, or an equal one of the same type where objects of the type
are immutable and interchangeable.
"""

from __future__ import annotations

import builtins
import dataclasses
import functools
import math
import re
import sys
import types
from typing import Any

import numpy as np

from runtime.boxes import UnboundMarker
from runtime.execute.expression import ATOM, SUM, UNARY, Expr
from runtime.execute.names import PlanNames
from runtime.ir.graph import Const

_LONGEST = 60
_NUMPY_MODULES = (
    "numpy",
    "numpy.linalg",
    "numpy.fft",
    "numpy.random",
    "numpy.ma",
    "numpy.strings",
    "numpy.polynomial",
    "numpy.lib",
)


def _numpy_path(value: Any) -> str | None:
    """The dotted name of a public function, class or module of NumPy, by identity."""
    return _numpy_paths(tuple(name for name in _NUMPY_MODULES if name in sys.modules)).get(id(value))


@functools.lru_cache(maxsize=1)
def _numpy_paths(loaded: tuple[str, ...]) -> dict[int, str]:
    """The names in the modules that are loaded: NumPy loads others when asked for them, and `dir` asks."""
    paths: dict[int, str] = {}
    for module_name in loaded:
        module = vars(sys.modules[module_name])
        for name in sorted(module.get("__all__", ())):
            value = module.get(name)
            if callable(value) or isinstance(value, types.ModuleType):
                paths.setdefault(id(value), f"{module_name}.{name}")
    # The name that says what it is wins over an alias.
    for kind in set(np.sctypeDict.values()):
        if vars(np).get(kind.__name__) is kind:
            paths[id(kind)] = f"numpy.{kind.__name__}"
    for name, value in vars(np).items():
        if isinstance(value, np.ufunc) and value.__name__ == name:
            paths[id(value)] = f"numpy.{name}"
    return paths


def importable(value: Any) -> tuple[str, str] | None:
    """(module, dotted name) from which the function or class can be imported, if it can."""
    module_name, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not isinstance(module_name, str) or not isinstance(name, str) or "<" in name:
        return None
    found: Any = sys.modules.get(module_name)
    for part in name.split("."):
        found = getattr(found, part, None)
    return (module_name, name) if found is value else None


class Constants:
    """The constants of one plan.  bound: what its names must be bound to."""

    def __init__(self, names: PlanNames) -> None:
        self.names = names
        self.bound: dict[str, Any] = {}
        self._named: dict[object, str] = {}

    def bind(self, value: Any, hint: str = "") -> str:
        """The name that the plan reads the object by."""
        key = _key(value)
        if key not in self._named:
            self._named[key] = self.names.constant(hint)
            self.bound[self._named[key]] = value
        return self._named[key]

    def module(self, name: str) -> str:
        """The name of an imported module: `np` for NumPy."""
        if name == "numpy":
            self.bound["np"] = np
            return "np"
        return self.bind(sys.modules[name], name.rpartition(".")[2])

    def expression(self, const: Const) -> Expr:
        """How the constant is written."""
        value = const.value
        literal = self._literal(value)
        if literal is not None:
            return dataclasses.replace(literal, literal=const)
        dotted = self._dotted(value)
        return Expr(dotted if dotted else self.bind(value, const.name or _hint(value)))

    def reference(self, const: Const, compared: bool) -> Expr:
        """A name for the very object, where a literal would make another, or a warning unless compared."""
        if compared and (const.value is None or isinstance(const.value, bool)):
            return self.expression(const)
        return Expr(self.bind(const.value, const.name or _hint(const.value)))

    def _dotted(self, value: Any) -> str | None:
        """A builtin or an attribute of NumPy or `math`."""
        if value is np:
            return self.module("numpy")
        if not callable(value) and not isinstance(value, types.ModuleType):
            return None
        path = _numpy_path(value)
        if path is not None:
            return f"{self.module('numpy')}{path.removeprefix('numpy')}"
        name = getattr(value, "__name__", None)
        if not isinstance(name, str):
            return None
        if getattr(builtins, name, None) is value:
            return name
        if isinstance(value, types.BuiltinFunctionType) and getattr(math, name, None) is value:
            return f"{self.module('math')}.{name}"
        return None

    def _literal(self, value: Any) -> Expr | None:
        """Numbers, text, None, tuples, slices and ranges of such; None for what has no short literal."""
        kind = type(value)
        if value is None or value is Ellipsis or kind is bool:
            return Expr("..." if value is Ellipsis else repr(value))
        if kind is int and abs(value) < 10**_LONGEST:
            return Expr(repr(value), ATOM if value >= 0 else UNARY)
        if kind is float and math.isfinite(value) and not (value == 0 and math.copysign(1, value) < 0):
            return Expr(repr(value), ATOM if value >= 0 else UNARY)
        if kind in (str, bytes) and len(value) <= _LONGEST:
            return Expr(repr(value))
        if kind is complex and value.real == 0 and math.copysign(1, value.real) > 0 and value.imag > 0:
            return Expr(repr(value)) if math.isfinite(value.imag) else None
        if kind is tuple:
            return self._tuple(value)
        if kind is slice:
            return self._slice(value)
        if kind is range:
            shown = (value.stop,) if value.start == 0 and value.step == 1 else (value.start, value.stop)
            return Expr(
                f"range{shown if value.step == 1 else (value.start, value.stop, value.step)}".replace(
                    ",)", ")"
                )
            )
        return None

    def _tuple(self, value: tuple[Any, ...]) -> Expr | None:
        items = [self._literal(item) or self._numpy_item(item) for item in value]
        known = [item for item in items if item is not None]
        text = ", ".join(item.text for item in known)
        if len(known) < len(items) or len(text) > _LONGEST:
            return None
        comma = "," if len(items) == 1 else ""
        inside = ", ".join(item.among_others for item in known)
        return Expr(f"({text}{comma})", subscript=f"{inside}{comma}")

    def _numpy_item(self, value: Any) -> Expr | None:
        dotted = self._dotted(value)
        return Expr(dotted) if dotted else None

    def _slice(self, value: slice) -> Expr | None:
        parts = [self._literal(part) for part in (value.start, value.stop, value.step)]
        known = [part for part in parts if part is not None]
        if len(known) < 3:
            return None
        return slice_expression(known[0], known[1], known[2])


def slice_expression(start: Expr, stop: Expr, step: Expr) -> Expr:
    """A slice object, and its short form between brackets."""
    shown = ["" if part.text == "None" else part.at_least(SUM).text for part in (start, stop, step)]
    short = f"{shown[0]}:{shown[1]}" + (f":{shown[2]}" if shown[2] else "")
    return Expr(f"slice({start.text}, {stop.text}, {step.text})", subscript=short)


def _key(value: Any) -> object:
    """Equal for objects that one name can stand for: the same object, or the same number."""
    if type(value) in (float, complex):
        return type(value), repr(value)
    if isinstance(value, (np.number, np.bool_)):
        return type(value), value.dtype.str, value.tobytes()  # timedelta64: the unit is in the dtype
    return id(value)


def _hint(value: Any) -> str:
    """What to call an object."""
    if isinstance(value, UnboundMarker):
        return f"unbound_{value.name}"
    if isinstance(value, np.dtype):
        return f"dtype_{value.name}"
    if type(value) in (float, complex) or isinstance(value, (np.number, np.bool_)):
        kind = "" if type(value) in (float, complex) else f"{value.dtype.name}_"
        text = str(value).replace("-", "minus_")
        return f"{kind}{re.sub(r'[^0-9a-z_]+', '_', text).strip('_')}" if len(text) < 20 else ""
    if isinstance(value, (types.FunctionType, types.BuiltinFunctionType, types.ModuleType, type)):
        name = value.__name__.rpartition(".")[2]
        return "function" if name == "<lambda>" else name
    if type(value) in (str, bytes, tuple, frozenset, int):
        return {str: "text", bytes: "data", tuple: "items", frozenset: "items", int: "number"}[type(value)]
    return type(value).__name__.lower()
