"""Constants and types as text, and back.

In: an immutable value, a reference to a Python object, or a trace type.  Out: one line of text that reads
back as an equal value.  What always holds: what has no such text (a user's object, a nested function, a
NumPy value whose text would lose something) is written `@objK`, the K-th entry of a table of objects that
the reader is given; what is written `@module:name` was found there under that name.

    literal   = "None" | "True" | "False" | "..." | "NotImplemented" | number | string
              | "inf" | "-inf" | "nan" | "complex(" re "," im ")" | "(" literals ")"
              | "frozenset(" literal ")" | "slice(" literals ")" | "range(" literals ")"
              | "np.NAME(" literals ")"            a NumPy scalar
              | "dtype(" literal ")" | "type(" type ")" | "unbound(" string ")"
              | "@module:name" | "@module:" (the module itself) | "@objK"
    type      = DTYPE | DTYPE "[" size, ... "]" | DTYPE "[...]"   NumPy scalar (bool_ for NumPy's bool), array
                (with "@device" after it unless that is the cpu)
              | "int" | "float" | "complex" | "bool"              weak Python scalars
              | "(" types ")" | class "(" types ")"               tuples and named tuples
              | "object" ["<" class ">"] ["of" type] | "=" literal | "unbound" ["|" type]
"""

from __future__ import annotations

import ast
import builtins
import enum
import importlib
import re
import sys
import types
from collections.abc import Sequence
from typing import Any

import numpy as np

from runtime.boxes import UnboundMarker
from runtime.errors import GraphError
from runtime.ir.graph import Graph
from runtime.ir.scan import Scanner
from runtime.types import (
    OBJECT,
    UNBOUND,
    WEAK_BOOL,
    ArrayType,
    MaybeUnbound,
    NumberType,
    ObjectType,
    StaticType,
    TupleType,
    Type,
    UnboundType,
    WeakType,
    same_static,
)

_NAMED_CLASSES = (
    types.FunctionType,
    type,
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.ClassMethodDescriptorType,
    np.ufunc,
    type(np.sum),
)
_MADE: dict[str, Any] = {
    "complex": complex,
    "frozenset": frozenset,
    "slice": slice,
    "range": range,
    "unbound": UnboundMarker,
}
_TEXTS = {np.dtype(str): "str", np.dtype(bytes): "bytes"}  # of any length
_SINGLETONS = {"None": None, "True": True, "False": False, "NotImplemented": NotImplemented}
_TYPE_CLASSES = (
    ArrayType,
    WeakType,
    NumberType,
    TupleType,
    ObjectType,
    StaticType,
    UnboundType,
    MaybeUnbound,
)
# Words with a meaning of their own where an operand may stand; no value is given one of these names.
RESERVED = frozenset(
    {
        *_SINGLETONS,
        "inf",
        "nan",
        "complex",
        "frozenset",
        "slice",
        "range",
        "np",
        "dtype",
        "type",
        "unbound",
        "return",
        "diverges",
        "graph",
        "as",
    }
)


class LiteralWriter:
    """Writes constants and types; collects the objects that have no text of their own.

    graphs: what `@graphK` is for, the K-th of them."""

    def __init__(self, objects: list[Any] | None = None, graphs: Sequence[Graph] = ()) -> None:
        self.objects = [] if objects is None else objects
        self.graphs = graphs

    def literal(self, value: Any) -> str:
        """The text of any constant."""
        text = self._plain(value)
        if text is None:
            text = reference(value)
        return self._object(value) if text is None else text

    def _object(self, value: Any) -> str:
        for number, graph in enumerate(self.graphs, 1):
            if graph is value:
                return f"@graph{number}"
        for index, known in enumerate(self.objects):
            if known is value:
                return f"@obj{index}"
        self.objects.append(value)
        return f"@obj{len(self.objects) - 1}"

    def _plain(self, value: Any) -> str | None:
        cls = type(value)
        if value is None or cls is bool or value is NotImplemented or cls in (str, bytes):
            return repr(value)
        if value is ...:
            return "..."
        if cls is int:
            return repr(value) if abs(value) < 10**18 else hex(value)
        if cls is float:
            return repr(value)
        if cls is complex:
            return f"complex({value.real!r}, {value.imag!r})"
        if cls is tuple:
            return f"({self._list(value)}{',' if len(value) == 1 else ''})"
        if cls is frozenset:
            items = sorted(map(self.literal, value))
            return f"frozenset(({', '.join(items)}{',' if len(items) == 1 else ''}))"
        if cls is slice or cls is range:
            return f"{cls.__name__}({self._list((value.start, value.stop, value.step))})"
        if isinstance(value, np.dtype):
            return self._dtype(value)
        if isinstance(value, np.generic) and cls.__module__ == "numpy":
            return _numpy_scalar(value)
        if cls is UnboundMarker:
            return f"unbound({value.name!r})"
        return f"type({self.type_text(value)})" if isinstance(value, _TYPE_CLASSES) else None

    def _list(self, values: Sequence[Any]) -> str:
        return ", ".join(map(self.literal, values))

    def _dtype(self, dtype: np.dtype[Any]) -> str | None:
        argument = repr(dtype)[len("dtype(") : -1]
        try:
            back = np.dtype(ast.literal_eval(argument))
        except (ValueError, SyntaxError, TypeError):
            return None
        if back != dtype or back.isalignedstruct != dtype.isalignedstruct or dtype.metadata is not None:
            return None
        if np.dtype(dtype.str) == dtype:
            return f"dtype({self.literal(dtype.str)})"
        return self._structured(argument)

    def _structured(self, argument: str) -> str | None:
        fields = ast.literal_eval(argument)
        if not isinstance(fields, list) or re.search(r"[\[{]", argument[1:]):
            return None  # nested or spaced-out records: rare enough to be passed by reference
        return f"dtype({self.literal(tuple(fields))})"

    def type_text(self, t: Type) -> str:
        """The text of a trace type."""
        if isinstance(t, ArrayType):
            return self._array_type(t)
        if isinstance(t, TupleType):
            inner = ", ".join(map(self.type_text, t.items)) + ("," if len(t.items) == 1 else "")
            return f"({inner})" if t.cls is tuple else f"{self.literal(t.cls)}({inner})"
        if isinstance(t, ObjectType):
            text = "object" if t.cls is None else f"object<{self._class(t.cls)}>"
            return text if t.item is None else f"{text} of {self.type_text(t.item)}"
        if isinstance(t, StaticType):
            return f"={self.literal(t.value)}"
        if isinstance(t, NumberType):
            return "|".join(map(self.type_text, t.kinds))
        if isinstance(t, MaybeUnbound):
            return f"unbound|{self.type_text(t.type)}"
        return "unbound" if isinstance(t, UnboundType) else t.kind

    def _class(self, cls: type) -> str:
        text = self.literal(cls)
        return re.sub(r"^@builtins:(?=\w+$)", "", text)

    def _array_type(self, t: ArrayType) -> str:
        name = _TEXTS.get(t.dtype, t.dtype.name)
        if t.dtype not in _TEXTS and (t.dtype.kind not in "biufc" or not t.dtype.isnative):
            name = self._dtype(t.dtype) or f"dtype({self._object(t.dtype)})"
        place = "" if t.device == "cpu" else f"@{t.device}"
        if t.scalar and t.shape == ():
            return ("bool_" if name == "bool" else name) + place
        dims = "..." if t.shape is None else ", ".join("?" if n is None else str(n) for n in t.shape)
        return f"{'scalar ' if t.scalar else ''}{name}[{dims}]{place}"


def _numpy_scalar(value: np.generic) -> str | None:
    kind = value.dtype.kind
    name = "bool_" if kind == "b" else type(value).__name__  # NumPy 1 has no np.bool
    texts = []
    if kind in "biu":
        texts = [f"np.{name}({value.item()!r})"]
    elif kind == "f":
        texts = [f"np.{name}({value!s})", f"np.{name}({str(value)!r})", f"np.{name}({value.item()!r})"]
    elif kind == "c":
        real, imag = value.real, value.imag
        parts = [f"{real!s}, {imag!s}", f"{real.item()!r}, {imag.item()!r}"]
        texts = [f"np.{name}(complex({part}))" for part in parts]
    elif kind in "mM":
        unit, count = np.datetime_data(value.dtype)
        number = str(value) if kind == "M" else value.astype(np.int64).item()
        texts = [f"np.{name}({number!r}, {f'{count}{unit}'!r})"]
    elif kind in "US":
        texts = [f"np.{name}({value.item()!r})"]
    for text in texts:
        back = _read_back(text)
        if type(back) is type(value) and back.dtype == value.dtype and same_static(back, value):
            return text
    return None


def _read_back(text: str) -> Any:
    try:
        return LiteralReader(()).literal(Scanner(text, 1))
    except (GraphError, ValueError, OverflowError):  # this text does not stand for the value
        return None


def reference(value: Any) -> str | None:
    """`@module:name` of a function, class, ufunc, enum member or module that is found there; else None."""
    if isinstance(value, types.ModuleType):
        name = getattr(value, "__name__", None)
        fits = isinstance(name, str) and re.fullmatch(r"[\w.]+", name) and sys.modules.get(name) is value
        return f"@{name}:" if fits else None
    if isinstance(value, enum.Enum):
        owner = reference(type(value))
        text = f"{owner}.{value.name}" if owner is not None else ""
        return text if text and _resolved(text) is value else None
    if not isinstance(value, _NAMED_CLASSES):
        return None
    owner = getattr(value, "__objclass__", None)
    module = getattr(owner, "__module__", None) or getattr(value, "__module__", None)
    names = [getattr(value, "__qualname__", None), getattr(value, "__name__", None)]
    for home in (module, "numpy"):
        for name in names:
            text = f"@{home}:{name}"
            if home and name and re.fullmatch(r"@[\w.]+:[\w.]+", text) and _resolved(text) is value:
                return text
    return None


def _resolved(text: str) -> Any:
    """What the reference stands for among the modules that are loaded; None if nothing."""
    module, _, path = text[1:].partition(":")
    found: Any = sys.modules.get(module)
    try:
        for part in path.split("."):
            found = getattr(found, part)
    except Exception:  # a user's __getattr__ may do anything
        return None
    return found


class LiteralReader:
    """Reads constants and types from a scanner.  objects: the table that `@objK` points into; graphs: those
    that were read before, for `@graphK`."""

    def __init__(self, objects: Sequence[Any]) -> None:
        self.objects = objects
        self.graphs: list[Graph] = []

    def at_literal(self, scan: Scanner) -> bool:
        """Whether a constant (and not the name of a value) stands at this place."""
        if scan.kind == "name":
            return scan.text in RESERVED or scan.text.startswith("np.")
        return scan.kind in ("string", "number", "object", "graph", "reference", "dots") or scan.at("(")

    def literal(self, scan: Scanner) -> Any:
        """The constant that stands here."""
        if scan.kind == "string":
            return ast.literal_eval(scan.advance())
        if scan.kind == "number":
            text = scan.advance()
            plain = re.fullmatch(r"-?(\d+|0x[0-9a-f]+)", text)
            return int(text, 0 if "x" in text else 10) if plain else float(text)
        if scan.kind == "object":
            return self._object(scan)
        if scan.kind == "graph":
            return self._graph(scan)
        if scan.kind == "reference":
            return self._reference(scan)
        if scan.take("..."):
            return ...
        if scan.at("("):
            return tuple(self._arguments(scan))
        if scan.kind == "name" and scan.text in ("inf", "nan"):
            return float(scan.advance())
        if scan.kind == "name" and scan.text in _SINGLETONS:
            return _SINGLETONS[scan.advance()]
        return self._call(scan)

    def _call(self, scan: Scanner) -> Any:
        name = scan.text
        if scan.kind != "name" or not (name in _MADE or name in ("dtype", "type") or name.startswith("np.")):
            scan.expected("a constant")
        scan.advance()
        if name == "type":
            scan.expect("(")
            t = self.trace_type(scan)
            scan.expect(")")
            return t
        args = self._arguments(scan)
        try:
            if name == "dtype":
                return self._dtype(args)
            make: Any = _MADE.get(name) or getattr(np, name[len("np.") :])
            return make(*args)
        except (TypeError, ValueError, AttributeError, OverflowError) as error:
            scan.fail(f"{name}(...) can't be made: {error}")

    def _dtype(self, args: list[Any]) -> np.dtype[Any]:
        return np.dtype(list(args[0]) if isinstance(args[0], tuple) else args[0])

    def _arguments(self, scan: Scanner) -> list[Any]:
        scan.expect("(")
        values = []
        while not scan.at(")"):
            values.append(self.literal(scan))
            if not scan.take(","):
                break
        scan.expect(")")
        return values

    def _object(self, scan: Scanner) -> Any:
        index = int(scan.text[len("@obj") :])
        if index >= len(self.objects):
            scan.fail(f"the table of objects has {len(self.objects)} entries, {scan.text} is not among them")
        scan.advance()
        return self.objects[index]

    def _graph(self, scan: Scanner) -> Graph:
        number = int(scan.text[len("@graph") :])
        if not 1 <= number <= len(self.graphs):
            scan.fail(f"{scan.text} is not among the {len(self.graphs)} graphs before this one")
        scan.advance()
        return self.graphs[number - 1]

    def _reference(self, scan: Scanner) -> Any:
        module, _, path = scan.text[1:].partition(":")
        try:
            found: Any = importlib.import_module(module)
            for part in filter(None, path.split(".")):
                found = getattr(found, part)
        except (ImportError, AttributeError) as error:
            scan.fail(f"{scan.text} is not found: {error}")
        scan.advance()
        return found

    def trace_type(self, scan: Scanner) -> Type:
        """The trace type that stands here."""
        found = self._one_type(scan)
        if not isinstance(found, (WeakType, ArrayType)) or not scan.take("|"):
            return found
        kinds = [found]
        while True:
            kind = self._one_type(scan)
            if not isinstance(kind, (WeakType, ArrayType)):
                scan.fail("only numbers can be of several kinds")
            kinds.append(kind)
            if not scan.take("|"):
                return NumberType(tuple(kinds))

    def _one_type(self, scan: Scanner) -> Type:
        if scan.take("="):
            return StaticType(self.literal(scan))
        if scan.at("("):
            return TupleType(self._types(scan))
        if scan.kind in ("reference", "object"):
            cls = self._class(scan)
            return TupleType(self._types(scan), cls)
        if scan.take("unbound"):
            return MaybeUnbound(self.trace_type(scan)) if scan.take("|") else UNBOUND
        if scan.take("object"):
            return self._object_type(scan)
        if scan.kind == "name" and scan.text in ("int", "float", "complex"):
            return WeakType(scan.advance())
        if scan.at("bool") and not scan.looks_at("["):
            scan.advance()
            return WEAK_BOOL
        return self._array_type(scan)

    def _types(self, scan: Scanner) -> tuple[Type, ...]:
        scan.expect("(")
        items = []
        while not scan.at(")"):
            items.append(self.trace_type(scan))
            if not scan.take(","):
                break
        scan.expect(")")
        return tuple(items)

    def _class(self, scan: Scanner) -> Any:
        start = (scan.start, scan.text)
        found = self.literal(scan)
        if not isinstance(found, type):
            scan.start, scan.text = start
            scan.fail(f"{scan.text} is no class")
        return found

    def _object_type(self, scan: Scanner) -> Type:
        cls = item = None
        if scan.take("<"):
            builtin = vars(builtins).get(scan.text) if scan.kind == "name" else None
            if isinstance(builtin, type):
                scan.advance()
                cls = builtin
            else:
                cls = self._class(scan)
            scan.expect(">")
        if scan.take("of"):
            item = self.trace_type(scan)
        return OBJECT if cls is None and item is None else ObjectType(cls, item)

    def _array_type(self, scan: Scanner) -> Type:
        scalar = scan.take("scalar")
        dtype = self._array_dtype(scan)
        shape: tuple[int | None, ...] | None = ()
        if scan.take("["):
            shape = None if scan.take("...") else self._sizes(scan)
            scan.expect("]")
        else:
            scalar = True
        device = scan.advance()[1:] if scan.kind == "device" else "cpu"
        return ArrayType(dtype, shape, scalar, device)

    def _array_dtype(self, scan: Scanner) -> np.dtype[Any]:
        if scan.at("dtype"):
            found = self.literal(scan)
            assert isinstance(found, np.dtype)
            return found
        name = "bool" if scan.at("bool_") else scan.text
        try:
            dtype = np.dtype(name) if scan.kind == "name" else None
        except TypeError:
            dtype = None
        if dtype is None or (dtype.kind not in "biufc" and dtype not in _TEXTS):
            scan.expected("a type")
        scan.advance()
        return dtype

    def _sizes(self, scan: Scanner) -> tuple[int | None, ...]:
        sizes: list[int | None] = []
        while not scan.at("]"):
            if scan.take("?"):
                sizes.append(None)
            elif scan.kind == "number" and scan.text.isdigit():
                sizes.append(int(scan.advance()))
            else:
                scan.fail(f"expected a size, found {scan.text!r}")
            if not scan.take(","):
                break
        return tuple(sizes)
