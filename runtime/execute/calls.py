"""How one node that has no regions is written: its template.

In: a node and its op row.  Out: a `Template` over the node's operand indexes.  What always holds: the
template names every operand of the node; an op that the device lacks raises DeviceError here.
"""

from __future__ import annotations

import dataclasses
import operator
import re
import types
from typing import Any

import numpy as np

from runtime.elements import kind_of
from runtime.errors import DeviceError
from runtime.execute.constants import Constants
from runtime.execute.direct import direct
from runtime.execute.expression import ATOM, Slot, Template, call_template, parse_template, slots_in_order
from runtime.ir.graph import Const, Node
from runtime.ir.opdef import OpDef
from runtime.syntax import is_name
from runtime.types import ArrayType, TupleType, Type

DISPLAYS = {"py.tuple": "()", "py.list": "[]", "py.set": "{}", "py.dict": "{}"}


def template_of(node: Node, row: OpDef, constants: Constants, device: str = "cpu") -> Template:
    """The template that prints the node."""
    device = "cuda" if device == "cuda" and goes_to_cupy(node, row) else "cpu"
    check_device(node, row, device)
    if node.op == "py.call" and isinstance(node.inputs[0], Const) and node.inputs[0].value is kind_of:
        return Template((Slot(2, ATOM), "[type(", Slot(1), ")]"), order=(2, 1))  # without a call per element
    if node.op == "py.call" and len(node.inputs) == 3 and not node.keywords and not node.attr("starred"):
        function = node.inputs[0]
        if isinstance(function, Const) and function.value is operator.getitem:
            return Template((Slot(1, ATOM), "[", Slot(2, brackets=True), "]"), order=(1, 2))
    if node.op == "py.call":
        return call_template([Slot(0, ATOM), "("], _arguments(node, 1))
    if node.op in ("py.getattr", "py.setattr", "py.delattr"):
        return _attribute(node)
    found = direct(node)
    if found is not None:
        constants.module("numpy")
        return found
    if node.op == "raise":
        return _raise(node)
    if node.op == "py.function" and is_bare(node):
        return _function(node, constants)
    if node.op in DISPLAYS and (node.inputs or node.op != "py.set"):
        return _display(node)
    if node.attr("form") == "method" or (row.method and row.source is None and row.path is None):
        name = row.method or (row.path or row.name).rpartition(".")[2]
        return call_template([Slot(0, ATOM), f".{name}("], _arguments(node, 1))
    if row.source is not None:
        return _extended(parse_template(on_device(row.source, device)), node)
    if row.path is not None:
        return call_template([_callable(row, constants, device), "("], _arguments(node, 0))
    name = constants.bind(row.run, getattr(row.run, "__name__", "").strip("_<>"))
    return call_template([name, "("], _arguments(node, 0))


def goes_to_cupy(node: Node, row: OpDef) -> bool:
    """Whether the plain call would reach CuPy: NumPy's function asks its arguments, one a device array.

    All else stays NumPy's own: `np.sqrt` of a host number, `np.zeros`, and `np.asarray`, which refuses.
    """
    asks = row.path is None or isinstance(row.run, (np.ufunc, type(np.sum)))
    return asks and any(_on_cuda(operand.type) for operand in node.inputs)


def _on_cuda(t: Type) -> bool:
    """Whether values of the type are, or hold, device arrays."""
    if isinstance(t, TupleType):
        return any(map(_on_cuda, t.items))
    return isinstance(t, ArrayType) and t.device == "cuda"


def check_device(node: Node, row: OpDef, device: str) -> None:
    """DeviceError when the row says that CuPy has no twin."""
    if device == "cuda" and row.cupy is None:
        what = f"the op {node.op} can't run on a CUDA device"
        raise DeviceError(
            what,
            span=node.span,
            why="CuPy has no such function",
            fix="move the arrays to the CPU for this step",
        )


def on_device(source: str, device: str) -> str:
    """The template with CuPy's functions for NumPy's."""
    return re.sub(r"\bnp\.", "cp.", source) if device == "cuda" else source


def _callable(row: OpDef, constants: Constants, device: str) -> str:
    """The dotted name of the function behind a row."""
    path = row.path or ""
    if device == "cuda":
        path = row.cupy or re.sub(r"^numpy\b", "cupy", path)
        head, _, rest = path.partition(".")
        return f"{'cp' if head == 'cupy' else head}.{rest}"
    head, _, rest = path.partition(".")
    return f"{constants.module(head)}.{rest}"


def _arguments(node: Node, first: int) -> list[tuple[str, int]]:
    """Prefix and index of each argument from operand `first` on."""
    starred = node.attr("starred", ())
    positional = len(node.inputs) - len(node.keywords)
    arguments = [("*" if k in starred else "", k) for k in range(first, positional)]
    for k, name in enumerate(node.keywords):
        arguments.append(("**" if name == "**" else f"{name}=", positional + k))
    return arguments


def _attribute(node: Node) -> Template:
    """Attribute access, spelled with a dot where the name allows."""
    name = node.inputs[1]
    known = isinstance(name, Const) and isinstance(name.value, str) and is_name(name.value)
    if not known or not isinstance(name, Const):
        function = node.op.removeprefix("py.")
        kind = "expression" if function == "getattr" else "statement"
        return dataclasses.replace(
            call_template([f"{function}("], [("", k) for k in range(len(node.inputs))]), kind=kind
        )
    owner = Slot(0, ATOM)
    if node.op == "py.getattr":
        return Template((owner, f".{name.value}"), order=(0,))
    if node.op == "py.delattr":
        return Template(("del ", owner, f".{name.value}"), kind="statement", order=(0,))
    return Template((owner, f".{name.value} = ", Slot(2)), kind="statement", order=(2, 0))


def is_bare(node: Node) -> bool:
    """Whether Python's own class of functions makes this one of its code, with nothing to be set after."""
    given: list[Any] = [x.value if isinstance(x, Const) else x for x in node.inputs[:5]]
    code, space, facts, defaults, kwdefaults = given
    if defaults is not None or kwdefaults is not None or facts[-1]:
        return False
    made = types.FunctionType(code, space, None, None, tuple(types.CellType() for _ in node.inputs[5:]))
    return (made.__name__, made.__qualname__, made.__doc__, made.__module__) == tuple(facts[:4])


def _function(node: Node, constants: Constants) -> Template:
    """A function over its code, its globals and cells with what it captured."""
    pieces: list[str | Slot] = [constants.bind(types.FunctionType, "function"), "(", Slot(0), ", ", Slot(1)]
    if len(node.inputs) > 5:
        cell = constants.bind(types.CellType, "cell")
        for k in range(5, len(node.inputs)):
            pieces += [f"{', None, None, (' if k == 5 else ', '}{cell}(", Slot(k), ")"]
        pieces.append(",)" if len(node.inputs) == 6 else ")")
    pieces.append(")")
    return Template(tuple(pieces), order=slots_in_order(pieces))


def _raise(node: Node) -> Template:
    if not node.inputs:
        return Template(("raise",), kind="statement")
    if len(node.inputs) == 1:
        return Template(("raise ", Slot(0)), kind="statement", order=(0,))
    return Template(("raise ", Slot(0), " from ", Slot(1)), kind="statement", order=(0, 1))


def _display(node: Node) -> Template:
    """A tuple, list, set or dict display."""
    brackets = DISPLAYS[node.op]
    starred = node.attr("starred", ())
    pieces: list[str | Slot] = [brackets[0]]
    for k in range(len(node.inputs)):
        separator = ": " if node.op == "py.dict" and k % 2 else ", "
        pieces += [(separator if k else "") + ("*" if k in starred else ""), Slot(k)]
    pieces.append(("," if node.op == "py.tuple" and len(node.inputs) == 1 else "") + brackets[1])
    return Template(tuple(pieces), order=slots_in_order(pieces))


def _extended(template: Template, node: Node) -> Template:
    """The template of a call with the operands that it doesn't mention added as further arguments."""
    missing = [(prefix, k) for prefix, k in _arguments(node, 0) if k not in template.order]
    if not missing or not isinstance(template.pieces[-1], str) or not template.pieces[-1].endswith(")"):
        return template
    head = [*template.pieces[:-1], template.pieces[-1][:-1]]
    empty = isinstance(head[-1], str) and head[-1].endswith("(")
    for k, (prefix, index) in enumerate(missing):
        head += [("" if empty and k == 0 else ", ") + prefix, Slot(index)]
    pieces = [*head, ")"]
    return dataclasses.replace(template, pieces=tuple(pieces), order=slots_in_order(pieces))
