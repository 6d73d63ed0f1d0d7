"""A plan compiled as if it stood in the user's file: its lines are the user's lines.

In: `PlanSource`.  Out: code whose file and lines are those of the user's function, and the exact place of
each instruction.  What always holds: what the code does is what the text does; only its positions differ.
So warnings name the user's line, and a debugger steps through the user's file.
"""

from __future__ import annotations

import ast
import collections
import contextlib
import itertools
import types
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from runtime.errors import Span
from runtime.execute.expression import Number
from runtime.execute.plan import PlanSource
from runtime.syntax import parse

# Line, first and last column, as instructions keep them; the last one tells places apart that share the rest.
Position = tuple[int, int, int]


@contextlib.contextmanager
def no_syntax_warnings() -> Iterator[None]:
    """Python has warned of the user's text once, when it was imported."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


def users_file(plan: PlanSource) -> str | None:
    """The file in which the plan's function stands, or None where no line of the plan comes from a file."""
    files = collections.Counter(outermost(span).file for span in _places(plan).values())
    return max(files, key=files.__getitem__) if files else None


def _places(plan: PlanSource) -> dict[int, Span]:
    """A place of each line that has one: its own, or that of the first expression written into it."""
    return {line: marks[0][2] for line, marks in plan.marks.items()} | dict(plan.lines)


def outermost(span: Span) -> Span:
    """The place in the function that was not inlined."""
    while span.caller is not None:
        span = span.caller
    return span


def compile_in_place(plan: PlanSource, file: str) -> tuple[types.CodeType, Mapping[Position, Span]]:
    """The plan's code with the user's positions, and the whole place that each position stands for."""
    tree = parsed(plan)
    lines = plan.text.encode().splitlines()
    nearest = _nearest(plan, len(lines))
    positions: dict[Span, Position] = {}
    taken: collections.Counter[tuple[int, int]] = collections.Counter()
    plain: dict[int, Position] = {}  # lines all of which is one place
    for node in _placed(tree):
        line = node.lineno
        if line in plain:
            node.lineno, node.col_offset, node.end_col_offset = plain[line]
            node.end_lineno = node.lineno
            continue
        span = _span(plan, lines, node) or nearest[line]
        where = positions.get(span)
        if where is None:
            here = _in_file(span, file) or outermost(nearest[line])
            at = here.line, len(here.text()[: here.col].encode())
            taken[at] += 1
            where = positions[span] = (*at, at[1] + taken[at])
        if line not in plan.marks:
            plain[line] = where
        node.lineno, node.col_offset, node.end_col_offset = where
        node.end_lineno = node.lineno
    with no_syntax_warnings():
        code = compile(tree, file, "exec", dont_inherit=True)
    return code, {position: span for span, position in positions.items()}


def parsed(plan: PlanSource) -> ast.Module:
    """The tree of the text, in which literals beside arrays are names of arrays: see `numbers`."""
    tree = parse(plan.text)
    return _Numbers(plan).visit(tree) if plan.numbers else tree


def numbers(plan: PlanSource) -> dict[str, Any]:
    """What the names stand for that `parsed` puts in; no name of a text is like them."""
    found = {}
    for _, _, number in itertools.chain.from_iterable(plan.numbers.values()):
        found[_name(number)] = made = np.array(number.value, number.dtype)
        made.flags.writeable = False
    return found


def _name(number: Number) -> str:
    return f"{number.value!r} as {number.dtype}"


class _Numbers(ast.NodeTransformer):
    """Puts names in the place of the literals that are marked."""

    def __init__(self, plan: PlanSource) -> None:
        lines = plan.text.splitlines()
        self.names: dict[tuple[int, int, int], str] = {}
        for at, marks in plan.numbers.items():
            for start, end, number in marks:
                text = lines[at - 1]
                if text[start:end].strip("()") == repr(number.value):
                    first, last = len(text[:start].encode()), len(text[:end].encode())
                    self.names[at, first, last] = _name(number)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        """A number."""
        return self._named(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        """A negative number, or something else."""
        named = self._named(node)
        return self.generic_visit(node) if named is node else named

    def _named(self, node: ast.Constant | ast.UnaryOp) -> ast.AST:
        name = self.names.get((node.lineno, node.col_offset, node.end_col_offset or 0))
        return node if name is None else ast.copy_location(ast.Name(name, ast.Load()), node)


def _placed(tree: ast.AST) -> Iterator[Any]:
    """All nodes that have a position."""
    todo: list[Any] = [tree]
    while todo:
        node = todo.pop()
        fields = node.__dict__
        for name in node._fields:
            value = fields.get(name)
            if type(value) is list:
                todo += [item for item in value if isinstance(item, ast.AST)]
            elif isinstance(value, ast.AST) and value._fields:  # the others are operators and contexts
                todo.append(value)
        if "lineno" in fields:
            yield node


def place(
    positions: Mapping[Position, Span], code: types.CodeType, instruction: int, line: int
) -> Span | None:
    """The user's place of an instruction."""
    if instruction >= 0:
        listed: Any = code.co_positions()  # type: ignore[attr-defined, unused-ignore]  # Python 3.11
        first, _, start, end = next(itertools.islice(listed, instruction // 2, None), (0, 0, 0, 0))
        if (first, start, end) in positions:
            return positions[first, start, end]
    return next((span for position, span in positions.items() if position[0] == line), None)


def codes_in(code: types.CodeType) -> Iterator[types.CodeType]:
    """The code object and those of functions in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes_in(constant)


def _nearest(plan: PlanSource, count: int) -> list[Span]:
    """For each line of the text (from 1) its place, or that of the nearest line before it that has one."""
    places = _places(plan)
    span = places[min(places)]
    found = [span]
    for line in range(1, count + 1):
        span = places.get(line, span)
        found.append(span)
    return found


def _span(plan: PlanSource, lines: list[bytes], node: Any) -> Span | None:
    if node.lineno != node.end_lineno:
        return plan.span(node.lineno)
    text = lines[node.lineno - 1]
    start, stop = (len(text[:column].decode()) for column in (node.col_offset, node.end_col_offset))
    return plan.span(node.lineno, start, stop)


def _in_file(span: Span | None, file: str) -> Span | None:
    """The innermost place of a chain of calls that lies in the file."""
    while span is not None and span.file != file:
        span = span.caller
    return span
