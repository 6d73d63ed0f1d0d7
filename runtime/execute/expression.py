"""Python expressions as text that knows its precedence, what it reads and where it comes from.

In: pieces of text, operands, templates such as `{0} + {1}`.  Out: `Expr`, `Template`.  What always holds: a
composed expression evaluates its operands in the order of `Template.order`, and has parentheses exactly
where Python needs them, because the template itself is parsed to find out.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import re
from collections.abc import Iterable, Mapping
from typing import Any, Union

import numpy as np

from runtime.dataclass import dataclass
from runtime.errors import Span
from runtime.ir.graph import Const
from runtime.syntax import parse

# Levels of precedence, loosest first, as in Python's grammar.
(
    CONDITIONAL,
    OR,
    AND,
    NOT,
    COMPARE,
    BIT_OR,
    BIT_XOR,
    BIT_AND,
    SHIFT,
    SUM,
    PRODUCT,
    UNARY,
    POWER,
    AWAIT,
    ATOM,
) = range(1, 16)
ANY = 1

_BINARY: dict[type[ast.operator], int] = {
    ast.BitOr: BIT_OR,
    ast.BitXor: BIT_XOR,
    ast.BitAnd: BIT_AND,
    ast.LShift: SHIFT,
    ast.RShift: SHIFT,
    ast.Add: SUM,
    ast.Sub: SUM,
    ast.Mult: PRODUCT,
    ast.Div: PRODUCT,
    ast.FloorDiv: PRODUCT,
    ast.Mod: PRODUCT,
    ast.MatMult: PRODUCT,
    ast.Pow: POWER,
}


@dataclass(frozen=True)
class Number:
    """A number that may be an array of this dtype, of no axes, where it stands."""

    value: Union[int, float]
    dtype: np.dtype[Any]


Mark = tuple[int, int, Union[Span, Number]]


@dataclass(frozen=True)
class Expr:
    """One Python expression.

    level: its precedence.  reads: the local variables in it.  marks: (start, end, span) of the parts
    that may raise, inner ones after outer ones, and (start, end, number) of literals beside arrays.
    ordered: evaluating it can be observed (it may raise, read memory that changes, have effects), so it
    keeps its place among others of the kind.
    subscript: how it is written between brackets, where that differs (`1:2` for a slice).
    literal: the constant that the text is a literal of.
    """

    text: str
    level: int = ATOM
    reads: frozenset[str] = frozenset()
    marks: tuple[Mark, ...] = ()
    ordered: bool = False
    span: Span | None = None
    subscript: str = ""
    literal: Const | None = None

    def at_least(self, level: int) -> Expr:
        """The expression, in parentheses if it binds looser than `level`."""
        number = level == ATOM and self.text[:1].isdigit()
        if self.level >= level and not number:
            return self
        shifted = tuple((start + 1, end + 1, span) for start, end, span in self.marks)
        return dataclasses.replace(self, text=f"({self.text})", level=ATOM, marks=shifted, subscript="")

    @property
    def among_others(self) -> str:
        """How it is written between brackets as one of several: a tuple there stays one."""
        return self.text if self.text[:1] == "(" else self.subscript or self.text


def variable(name: str) -> Expr:
    """A read of the local variable."""
    return Expr(name, reads=frozenset((name,)))


def compose(
    pieces: Iterable[str | Expr], level: int = ATOM, span: Span | None = None, ordered: bool = False
) -> Expr:
    """The pieces, joined: text as it is, expressions as they are (already in parentheses where needed)."""
    text, reads, marks = "", frozenset[str](), list[Mark]()
    for piece in pieces:
        if isinstance(piece, Expr):
            marks += [(start + len(text), end + len(text), mark) for start, end, mark in piece.marks]
            reads |= piece.reads
            ordered = ordered or piece.ordered
            text += piece.text
        else:
            text += piece
    if span is not None:
        marks.insert(0, (0, len(text), span))
    return Expr(text, level, reads, tuple(marks), ordered, span)


@dataclass(frozen=True)
class Slot:
    """The place of operand `index` in a template.  brackets: it stands alone between `[` and `]`."""

    index: int
    level: int = ANY
    brackets: bool = False


@dataclass(frozen=True)
class Template:
    """How an op is written.

    kind: "expression", "statement" or "in place" (`{0} += {1}`).
    order: operand indexes as Python evaluates them.  named: operands that must be plain names, because they
    stand in more than one place or may not be evaluated at all.
    """

    pieces: tuple[Union[str, Slot], ...]
    level: int = ATOM
    kind: str = "expression"
    order: tuple[int, ...] = ()
    named: frozenset[int] = frozenset()

    def fill(self, operands: Mapping[int, Expr], span: Span | None, ordered: bool) -> Expr:
        """The text with the operands in their places."""
        parts: list[str | Expr] = []
        for piece in self.pieces:
            if isinstance(piece, str):
                parts.append(piece)
                continue
            operand = operands[piece.index]
            if piece.brackets and operand.subscript:
                parts.append(dataclasses.replace(operand, text=operand.subscript, marks=()))
            else:
                parts.append(operand.at_least(piece.level))
        return compose(parts, self.level, span, ordered)


def call_template(
    head: Iterable[str | Slot], arguments: Iterable[tuple[str, int]], tail: str = ")"
) -> Template:
    """`head(arguments)`; each argument is a prefix (`axis=`, `*`) and an operand index."""
    pieces: list[str | Slot] = list(head)
    for k, (prefix, index) in enumerate(arguments):
        pieces += [(", " if k else "") + prefix, Slot(index)]
    pieces.append(tail)
    return Template(tuple(pieces), order=slots_in_order(pieces))


def slots_in_order(pieces: Iterable[str | Slot]) -> tuple[int, ...]:
    """The operand indexes in the order of the text, each once."""
    return tuple(dict.fromkeys(piece.index for piece in pieces if isinstance(piece, Slot)))


@functools.cache
def parse_template(source: str) -> Template:
    """The template of an op row's `source`; precedences are read off its own syntax tree."""
    text = re.sub(r"\{(\d+)\}", r"_slot\1_", source).replace("{{", "{").replace("}}", "}")
    statement = parse(text).body[0]
    slots: list[tuple[int, int, Slot]] = []
    _find_slots(statement, ANY, False, slots)
    slots.sort(key=lambda found: found[0])
    pieces: list[str | Slot] = []
    position = 0
    for start, end, slot in slots:
        pieces += [text[position:start], slot]
        position = end
    pieces.append(text[position:])
    order = slots_in_order(pieces)
    kind = "expression" if isinstance(statement, ast.Expr) else "statement"
    level = _level(statement.value) if isinstance(statement, ast.Expr) else ANY
    if isinstance(statement, ast.Assign):  # Python evaluates the right side first
        split = text.index(" = ")
        right = [slot.index for start, _, slot in slots if start > split]
        order = tuple(dict.fromkeys([*right, *order]))
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        kind = "in place"
    seen = [slot.index for _, _, slot in slots]
    named = {index for index in seen if seen.count(index) > 1}
    lazy = (ast.BoolOp, ast.IfExp, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    if any(isinstance(part, lazy) for part in ast.walk(statement)):
        named = set(seen)
    return Template(tuple(piece for piece in pieces if piece != ""), level, kind, order, frozenset(named))


def _find_slots(node: ast.AST, level: int, brackets: bool, found: list[tuple[int, int, Slot]]) -> None:
    """Collect the slots under `node`, which itself stands where `level` is needed."""
    if isinstance(node, ast.Name) and node.id.startswith("_slot"):
        assert node.end_col_offset is not None
        found.append((node.col_offset, node.end_col_offset, Slot(int(node.id[5:-1]), level, brackets)))
        return
    for name, child in ast.iter_fields(node):
        for part in child if isinstance(child, list) else [child]:
            if isinstance(part, ast.AST):
                inside = isinstance(node, ast.Subscript) and name == "slice"
                _find_slots(part, _needed(node, name), inside, found)


def _needed(parent: ast.AST, field: str) -> int:
    """The level that a child expression needs at this place of its parent."""
    if isinstance(parent, ast.BinOp):
        level = _BINARY[type(parent.op)]
        if level == POWER:
            return AWAIT if field == "left" else UNARY
        return level if field == "left" else level + 1
    if isinstance(parent, ast.UnaryOp):
        return NOT if isinstance(parent.op, ast.Not) else UNARY
    if isinstance(parent, ast.Compare):
        return COMPARE + 1
    if isinstance(parent, ast.BoolOp):
        return AND if isinstance(parent.op, ast.Or) else NOT
    if isinstance(parent, ast.IfExp):
        return CONDITIONAL if field == "orelse" else OR
    if isinstance(parent, (ast.Attribute, ast.Subscript)) and field == "value":
        return ATOM
    if isinstance(parent, ast.Call) and field == "func":
        return ATOM
    return ANY


def _level(node: ast.AST) -> int:
    """The precedence of an expression."""
    if isinstance(node, ast.BinOp):
        return _BINARY[type(node.op)]
    if isinstance(node, ast.UnaryOp):
        return NOT if isinstance(node.op, ast.Not) else UNARY
    if isinstance(node, ast.Compare):
        return COMPARE
    if isinstance(node, ast.BoolOp):
        return OR if isinstance(node.op, ast.Or) else AND
    if isinstance(node, (ast.IfExp, ast.Lambda)):
        return CONDITIONAL
    return ATOM
