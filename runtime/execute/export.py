"""A plan as a file that stands alone: NumPy is all it needs.

In: a graph.  Out: Python source.  What always holds: the function in the file computes what the plan does;
arrays that the graph captured are written as they are now; what can't be written is an `ExportError` that
names the object and the user's line.
"""

from __future__ import annotations

import ast
import dataclasses
import enum
import inspect
import math
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from runtime import pyops
from runtime.boxes import Cell, UnboundMarker
from runtime.errors import ExportError, Span
from runtime.execute.constants import importable
from runtime.execute.python_source import plan_source
from runtime.ir.calls import all_nodes
from runtime.ir.graph import Const, Graph
from runtime.ir.opdef import OpDef
from runtime.ops.table import OPS
from runtime.types import ArrayType, Type, WeakType
from runtime.warned import warn

LARGEST = 1000  # elements of an array that is written out

_MARKER = '''class UnboundMarker:
    """Stands for "this name has no value"."""

    def __init__(self, name):
        self.name = name
'''
_BOUND = '''def bound(value, name):
    """`value`, unless the name has none."""
    if isinstance(value, UnboundMarker):
        raise UnboundLocalError(f"cannot access local variable '{name}' where it is not "
                                "associated with a value")
    return value
'''


_EXPECT = '''def _expect(name, value, wanted, kind, dtype=None, shape=None):
    """Refuse an argument of another type, dtype or shape than those that this file was made for."""
    fits = type(value) is kind and (dtype is None or value.dtype == dtype)
    if fits and shape is not None:
        fits = len(shape) == value.ndim and all(n in (None, m) for n, m in zip(shape, value.shape))
    if not fits:
        found = f"{value.dtype}{list(value.shape)}" if isinstance(value, np.ndarray) else type(value).__name__
        raise TypeError(f"{name}: this file was made for {wanted}, not for {found}; "
                        "export the function again for other arguments")
'''


def export(
    graph: Graph, name: str | None = None, *, signature: str = "", table: Mapping[str, OpDef] = OPS
) -> str:
    """The source of a file that defines the graph's function and needs NumPy only.

    name: the function's name, the graph's own when None.  signature: the arguments that it was traced for, as
    text: those that were static are part of the code and no parameters of it.
    The function refuses arguments of other types, dtypes and shapes (TypeError).
    """
    if name is not None:
        graph = dataclasses.replace(graph, name=name)
    plan = plan_source(graph, table=table)
    writer = _Writer(graph)
    for constant, value in plan.constants.items():
        writer.define(constant, value)
    made_for = f"\n\nMade for {signature}\n" if signature else ""
    head = f'"""{plan.name}: generated; stands alone with NumPy.{made_for}"""'
    checked = writer.checked(plan.name, plan.whole)
    imports = sorted(writer.imports | {"import numpy as np"})
    lines = "\n".join(writer.lines)
    blocks = [head, "\n".join(imports), *writer.support.values(), lines, plan.whole, checked]
    return "\n\n".join(block.strip("\n") for block in blocks if block.strip("\n")) + "\n"


class _Writer:
    """Collects imports, helper code and definitions of constants."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.imports: set[str] = set()
        self.support: dict[str, str] = {}
        self.lines: list[str] = []

    def define(self, name: str, value: Any) -> None:
        """Make the name stand for the value in the file."""
        if isinstance(value, types.ModuleType):
            self._import_module(name, value)
        elif value is pyops.unpack:
            self.imports |= {"import itertools", "from typing import Any"}
            self.support["counts"] = inspect.getsource(pyops._counts_in_message)
            self._support(name, "unpack", inspect.getsource(pyops.unpack))
        elif value is warn:
            self.imports.add("import warnings")
            self.lines.append(f"{name} = warnings.warn")
        elif value is pyops.bound:
            self.support["marker"] = _MARKER
            self._support(name, "bound", _BOUND)
        else:
            text = self.text(value)
            if text is None:
                raise self._refusal(name, value)
            if text != name:
                self.lines.append(f"{name} = {text}")

    def checked(self, name: str, text: str) -> str:
        """The function that checks its arguments before the plan gets them; empty if none is checked."""
        found = next(x for x in ast.parse(text).body if isinstance(x, ast.FunctionDef) and x.name == name)
        names = [a.arg for a in (*found.args.posonlyargs, *found.args.args)]
        checks = [
            f"    _expect({given!r}, {given}, {wanted})"
            for given, value in zip(names, self.graph.params, strict=True)
            if (wanted := self._wanted(value.type))
        ]
        if not checks:
            return ""
        self.support["expect"] = _EXPECT
        given = ", ".join(names)
        body = "\n".join([*checks, f"    return _{name}_plan({given})"])
        return f"_{name}_plan = {name}\n\n\ndef {name}({given}):\n{body}"

    def _wanted(self, t: Type) -> str:
        """What an argument of a type is checked for."""
        if isinstance(t, WeakType):
            return f"{str(t)!r}, {t.kind}"
        if not isinstance(t, ArrayType) or t.device != "cpu":
            return ""
        if t.scalar:
            scalar = self.text(t.dtype.type)
            return f"{str(t)!r}, {scalar}" if scalar else ""
        dtype = "None" if t.dtype.kind in "US" else self.text(t.dtype)
        return f"{str(t)!r}, np.ndarray, {dtype}, {t.shape!r}" if dtype else ""

    def _support(self, name: str, own: str, source: str) -> None:
        self.support[own] = source
        if name != own:
            self.lines.append(f"{name} = {own}")

    def _import_module(self, name: str, module: types.ModuleType) -> None:
        full = module.__name__
        if not standard(full):
            raise self._refusal(name, module)
        self.imports.add(f"import {full}" if full == name else f"import {full} as {name}")

    def _refusal(self, name: str, value: Any) -> ExportError:
        what = f"{self._said(name, value)} can't be written to a file"
        why = "the file may need NumPy and the standard library only"
        if isinstance(value, np.ndarray) and value.size > LARGEST and not value.dtype.hasobject:
            why = f"it has {value.size} elements; at most {LARGEST} are written out"
        fix = "pass it, or what is needed of it, as an argument of the function"
        return ExportError(what, span=find_span(self.graph, value), why=why, fix=fix)

    def _said(self, name: str, value: Any) -> str:
        """What an object is to the user."""
        if isinstance(
            value, dict
        ):  # of globals, as often as not, with names that may mean something else later
            for node in all_nodes(self.graph):
                read, *key = node.inputs or (None,)
                if isinstance(read, Const) and read.value is value and key and isinstance(key[0], Const):
                    return f"the global {key[0].value!r}"
        if value is Cell:
            return "a variable that another part, which is left to Python, may bind again"
        kind = type(value)
        if isinstance(value, (types.FunctionType, type)):
            return f"the {'class' if isinstance(value, type) else 'function'} {value.__qualname__!r}"
        return f"{name} ({kind.__module__}.{kind.__qualname__})"

    def text(self, value: Any) -> str | None:
        """An expression that gives the value; None if there is none."""
        for kinds, write in self._writers():
            if type(value) in kinds:
                return write(value)
        if isinstance(value, UnboundMarker):
            self.support["marker"] = _MARKER
            return f"UnboundMarker({value.name!r})"
        if isinstance(value, np.generic):
            return self._scalar(value)
        if isinstance(value, enum.Enum):
            owner = self._imported(type(value))
            return owner and f"{owner}.{value.name}"
        if isinstance(value, np.dtype):
            return self._dtype(value)
        return self._imported(value) if callable(value) else None

    def _writers(self) -> tuple[tuple[tuple[type, ...], Callable[[Any], str | None]], ...]:
        return (
            ((bool, int, str, bytes, type(None), type(...), range), repr),
            ((float,), self._float),
            ((complex,), lambda z: f"complex({self._float(z.real)}, {self._float(z.imag)})"),
            ((tuple,), lambda items: self._items(items, "(", ",)" if len(items) == 1 else ")")),
            ((list,), lambda items: self._items(items, "[", "]")),
            ((set,), lambda items: self._items(items, "set([", "])")),
            ((frozenset,), lambda items: self._items(items, "frozenset([", "])")),
            ((dict,), self._dict),
            ((slice,), lambda s: self._items((s.start, s.stop, s.step), "slice(", ")")),
            ((np.ndarray,), self._array),
        )

    @staticmethod
    def _float(value: float) -> str:
        return repr(value) if math.isfinite(value) else f'float("{value!r}")'

    def _items(self, items: Any, before: str, after: str) -> str | None:
        texts = [self.text(item) for item in items]
        return None if None in texts else before + ", ".join(map(str, texts)) + after

    def _dict(self, value: dict[Any, Any]) -> str | None:
        pairs = [(self.text(key), self.text(item)) for key, item in value.items()]
        if any(None in pair for pair in pairs):
            return None
        return "{" + ", ".join(f"{key}: {item}" for key, item in pairs) + "}"

    @staticmethod
    def _dtype(dtype: np.dtype[Any]) -> str | None:
        if dtype.hasobject or dtype.kind == "T":
            return None
        return f"np.dtype({dtype.descr!r})" if dtype.names is not None else f"np.dtype({dtype.str!r})"

    def _scalar(self, value: np.generic) -> str | None:
        dtype = self._dtype(value.dtype)
        if dtype is None:
            return None
        if type(value) is np.bool_ or isinstance(value, np.integer) and value.dtype.kind in "iu":
            return f"np.{type(value).__name__}({value.item()!r})"
        if isinstance(value, np.floating) and value.dtype.itemsize <= 8 and np.isfinite(value):
            return f"np.{type(value).__name__}({float(value)!r})"
        return f"np.frombuffer({value.tobytes()!r}, {dtype})[0]"

    def _array(self, value: np.ndarray[Any, Any]) -> str | None:
        dtype = self._dtype(value.dtype)
        if dtype is None or value.size > LARGEST:
            return None
        finite = value.dtype.kind in "iub" or (value.dtype.kind == "f" and bool(np.isfinite(value).all()))
        if finite and value.dtype.itemsize <= 8 and value.size:
            text = f"np.array({value.tolist()!r}, dtype={dtype})"
        else:
            text = f"np.frombuffer({value.tobytes()!r}, dtype={dtype}).reshape({value.shape!r}).copy()"
        if not value.size:
            text = f"np.empty({value.shape!r}, dtype={dtype})"
        if value.ndim > 1 and value.flags.f_contiguous and not value.flags.c_contiguous:
            text = f"np.asfortranarray({text})"
        return text

    def _imported(self, value: Any) -> str | None:
        """The imported name of a function or class of the standard library or NumPy."""
        owner = getattr(value, "__objclass__", None)  # a method of a built-in class
        name = getattr(value, "__name__", "")
        if isinstance(owner, type) and owner.__dict__.get(name) is value:
            base = self._imported(owner)
            return base and f"{base}.{name}"
        place = importable(value)
        if place is None or not standard(place[0]):
            return None
        module, name = place
        if module == "builtins":
            return name
        self.imports.add(f"import {module}")
        return f"{module}.{name}"


def standard(module: str) -> bool:
    """Whether the module is NumPy's or Python's own."""
    return module.partition(".")[0] in {"numpy", *sys.stdlib_module_names} - {"__main__"}


def find_span(graph: Graph, value: Any) -> Span | None:
    """The user's line of the first node that refers to the object."""
    for node in all_nodes(graph):
        if any(isinstance(operand, Const) and operand.value is value for operand in node.inputs):
            return node.span
    return None
