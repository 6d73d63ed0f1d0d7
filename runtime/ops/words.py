"""Ops as a user would say them: messages speak of the source, not of the graph."""

from __future__ import annotations

from typing import Any

from runtime.boxes import Cell
from runtime.ops.operators import BINARY, IN_PLACE, UNARY

_SYMBOLS = {
    **{name: symbol for name, symbol, _, _ in BINARY},
    **{f"i{name.rstrip('_')}": f"{symbol}=" for name, symbol, _, _ in BINARY if name in IN_PLACE},
    **{name: symbol.replace("{0}", "") for name, symbol, _, _ in UNARY},
}
_WORDS = {
    "call": "a call of a function of yours",
    "cond": "a branch",
    "for": "a loop",
    "getitem": "an item",
    "py.call": "a call of a Python function",
    "py.check": "a value that is checked when it is read",
    "py.contains": "in",
    "py.delattr": "del of an attribute",
    "py.delitem": "del of an item",
    "py.dict": "a dict that is made here",
    "py.expect": "a value that is checked when it is read",
    "py.function": "a function, class or generator that is left to Python",
    "py.getattr": "an attribute",
    "py.global": "a global name that other code may have changed",
    "py.is": "is",
    "py.list": "a list that is made here",
    "py.not": "not",
    "py.set": "a set that is made here",
    "py.setattr": "an assignment to an attribute",
    "py.setown": "an assignment to an attribute",
    "py.slice": "a slice object",
    "py.truth": "the truth of a value",
    "py.tuple": "a tuple that is made here",
    "py.unpack": "a value that is taken apart",
    "raise": "a raise statement",
    "setitem": "an assignment to an item",
    "try": "a try statement",
    "while": "a loop",
    "with": "a with statement",
}


def said(op: str) -> str:
    """What the user wrote that became an op: `+`, `np.sort`, `a try statement`."""
    if op in _WORDS:
        return _WORDS[op]
    if op in _SYMBOLS:
        return _SYMBOLS[op]
    kind, _, name = op.partition(".")
    return f"the method {name}" if kind == "nd" and name else op


def called(target: Any) -> str:
    """What a call of a Python callable is to the user."""
    if target is Cell:
        return "a variable that a handler or an inner function (nonlocal) shares"
    if (getattr(target, "__module__", None) or "").startswith("runtime.autodiff."):
        return "a step of a derivative that Python does"
    return f"a call of {getattr(target, '__name__', f'a {type(target).__name__}')}"
