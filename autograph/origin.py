"""From generated code back to the user's: which place of the user's file a generated place stands for.

In: a tree whose nodes carry the user's positions, and the same tree parsed from its printed text.
Out: an `Origin`, kept under the generated file's name; `span_of_frame` asks it.
What always holds: while a code object of a generated file lives, its text is in `linecache`, so tracebacks
and debuggers show it; afterwards nothing of it is left.
"""

from __future__ import annotations

import ast
import collections
import dataclasses
import inspect
import itertools
import linecache
import sys
import types
import weakref
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from runtime.dataclass import dataclass
from runtime.errors import Span
from runtime.execute import traceback
from runtime.lazy import Lazy

if TYPE_CHECKING:
    from autograph import codes, trees
    from autograph.codes import FunctionNode
else:
    codes, trees = Lazy("autograph.codes"), Lazy("autograph.trees")
from runtime.places import positions

# Start and end, lines from 1 and columns in bytes from 0, as nodes and instructions have them.
Place = tuple[int, int, int, int]
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(frozen=True)
class Origin:
    """Where generated code comes from.

    lines: generated line -> the user's place; places: the same for single expressions.
    functions: for each user function that lives on in the generated code, both nodes (generated, user's).
    """

    lines: Mapping[int, Span]
    places: Mapping[Place, Span]
    functions: tuple[tuple[FunctionNode, FunctionNode], ...]


def trace_origin(located: ast.AST, printed: ast.AST, user: FunctionNode, file: str, name: str) -> Origin:
    """Walk two equal trees, the first with the user's positions, the second with those of the text.

    user: the user's definition; it tells the user's own nested functions from generated ones.
    name: what to call the outermost function in messages.
    """
    found = _Walk(user, file)
    found.visit(located, printed, Span(file, user.lineno, user.col_offset, name))
    return Origin(found.lines, found.places, tuple(found.functions))


class _Walk:
    def __init__(self, user: FunctionNode, file: str) -> None:
        self.fields = trees.FIELDS
        self.text = linecache.getlines(file)
        self.lines: dict[int, Span] = {}
        self.places: dict[Place, Span] = {}
        self.functions: list[tuple[FunctionNode, FunctionNode]] = []
        self.user = {
            _key(node): node for node in trees.walk(user) if node is not user and isinstance(node, _FUNCTIONS)
        }

    def visit(self, located: ast.AST, printed: ast.AST, around: Span) -> None:
        """Record this node and those within; one without a place of its own takes that around it."""
        line = getattr(located, "lineno", None)
        span = around
        if line is not None:
            column = self._column(line, getattr(located, "col_offset", 0) or 0)
            if line != around.line or column != around.col:
                span = Span(around.file, line, column, around.function, around.caller)
        if isinstance(printed, ast.expr):
            self.lines.setdefault(printed.lineno, span)
            self.places[_place(printed)] = span
        elif isinstance(printed, ast.stmt):
            self.lines.setdefault(printed.lineno, span)
        if type(located) is not type(printed):
            return
        inside = span
        if isinstance(located, _FUNCTIONS) and isinstance(printed, _FUNCTIONS):
            mine = self._own(located)
            if mine is not None:
                self.functions.append((printed, mine))
                inside = dataclasses.replace(span, function=codes.code_name(mine))
        left, right = located.__dict__, printed.__dict__
        for field in self.fields[type(located)]:
            self._field(left.get(field), right.get(field), inside if field == "body" else span)

    def _field(self, left: object, right: object, around: Span) -> None:
        if isinstance(left, ast.AST):
            if isinstance(right, ast.AST):
                self.visit(left, right, around)
        elif isinstance(left, list) and isinstance(right, list):
            for one, two in zip(left, right, strict=False):
                if isinstance(one, ast.AST) and isinstance(two, ast.AST):
                    self.visit(one, two, around)

    def _own(self, node: FunctionNode) -> FunctionNode | None:
        """The user's function that this node is, if any."""
        # A thunk made round a lambda has the lambda's place, but is not it.
        body = node.body
        if isinstance(node, ast.Lambda) and isinstance(body, ast.Lambda) and _key(body) == _key(node):
            return None
        return self.user.get(_key(node))

    def _column(self, line: int, column: int) -> int:
        """A column in bytes as one in characters."""
        text = self.text[line - 1] if 0 < line <= len(self.text) else ""
        if not column or text.isascii():
            return column
        return len(text.encode()[:column].decode(errors="ignore"))


def _key(node: FunctionNode) -> tuple[str, int, int]:
    return codes.code_name(node), getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def _place(node: ast.expr) -> Place:
    return node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0


# -- the register of generated files ------------------------------------------------------------

GENERATED = "<autograph "  # so begin file names of generated code
_origins: dict[str, Origin] = {}
_numbers: collections.Counter[str] = collections.Counter()


def generated_filename(name: str) -> str:
    """A file name for generated code, `<autograph NAME #k>`; the k-th of that name in this process."""
    _numbers[name] += 1
    return f"{GENERATED}{name} #{_numbers[name]}>"


def is_generated_file(filename: str) -> bool:
    """Whether a code object's file name is one of generated code."""
    return filename.startswith(GENERATED)


def register(
    filename: str,
    text: str,
    origin: Origin,
    compiled: Iterable[types.CodeType],
    users: Iterable[types.CodeType] = (),
) -> None:
    """Keep the text and its origin for as long as any of the code objects lives.

    users: those that stand for whole functions of the user's; others are parts of these.
    """
    _origins[filename] = origin
    whole = frozenset(map(id, users))  # the objects themselves would be kept alive
    traceback.register(filename, _user_place, lambda code: id(code) not in whole and _is_function(code))
    # An entry without a time stamp is never thrown out by linecache.checkcache.
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    alive = list(compiled)
    left = [len(alive)]

    def gone() -> None:
        left[0] -= 1
        if not left[0]:
            _origins.pop(filename, None)
            linecache.cache.pop(filename, None)
            traceback.forget(filename)

    for code in alive:
        weakref.finalize(code, gone).atexit = False


_placed: dict[int, types.CodeType] = {}


def in_users_file(code: types.CodeType) -> types.CodeType:
    """Generated code that does what the user wrote, as if it stood where the user wrote it.

    It is a part of the user's function around it, as are branches and loop bodies in it; other functions and
    classes in it are the user's own.
    """
    known = _placed.get(id(code))
    around = span_of_instruction(code, -1, code.co_firstlineno)
    if known is not None or around is None:
        return known or code
    moved = _placed[id(code)] = _moved(code, around, True)
    weakref.finalize(code, _placed.pop, id(code), None).atexit = False
    return moved


def _moved(code: types.CodeType, around: Span, part: bool) -> types.CodeType:
    """The code and all code in it, with the lines of the user's file; part: of the user's function around."""
    first = span_of_instruction(code, -1, code.co_firstlineno) or around
    lines: list[int | None] = []  # of each instruction
    for start, end, line in code.co_lines():
        for at in range(start, end, 2):
            span = None if line is None else span_of_instruction(code, at, line)
            lines.append(span.line if span is not None else None if line is None else first.line)
    consts = tuple(
        _moved(c, first, traceback.is_part(c)) if isinstance(c, types.CodeType) else c for c in code.co_consts
    )
    table = _line_table(lines, first.line)
    moved = code.replace(
        co_filename=first.file, co_firstlineno=first.line, co_linetable=table, co_consts=consts
    )
    if part:

        def place(code: types.CodeType, instruction: int, line: int) -> Span:
            return dataclasses.replace(first, line=line, col=0)

        traceback.register_codes((id(moved),), place, traceback.always)
        weakref.finalize(moved, traceback.forget_codes, (id(moved),)).atexit = False
    return moved


def _line_table(lines: list[int | None], first: int) -> bytes:
    """`co_linetable` of code whose instructions stand in these lines; without columns."""
    table, before = bytearray(), first
    for line, group in itertools.groupby(lines):
        left = len(list(group))
        if tuple(sys.version_info) < (
            3,
            11,
        ):  # pairs: bytes of code, lines further down
            step = 0 if line is None else line - before
            while abs(step) > 127:
                part = 127 if step > 0 else -127
                table += bytes((0, part & 0xFF))
                step -= part
            while left:
                some = min(left, 127)
                table += bytes((2 * some, 0x80 if line is None else step & 0xFF))
                left, step = left - some, 0
        while left:  # a head with the form and how many instructions, then how many lines further down
            some = min(left, 8)
            table.append(0x80 | (15 if line is None else 13) << 3 | some - 1)
            if line is not None:
                table += _signed(line - before)
                before = line
            left -= some
        before = before if line is None else line
    return bytes(table)


def _signed(number: int) -> bytes:
    """A number as location tables have it: the sign lowest, six bits to a byte, the lowest first."""
    rest = -number << 1 | 1 if number < 0 else number << 1
    made = bytearray()
    while rest >= 64:
        made.append(64 | rest & 63)
        rest >>= 6
    return bytes((*made, rest))


def _is_function(code: types.CodeType) -> bool:
    """Whether a code object is that of a function, and not of a class statement."""
    return bool(code.co_flags & inspect.CO_OPTIMIZED)


def _user_place(code: types.CodeType, instruction: int, line: int) -> Span | None:
    """The user's place of an instruction; in a class statement, with the name of the class."""
    span = span_of_instruction(code, instruction, line)
    return span if span is None or _is_function(code) else dataclasses.replace(span, function=code.co_name)


def span_of_frame(frame: types.FrameType) -> Span | None:
    """The user's place that a frame of generated code is at; None for any other frame."""
    return span_of_instruction(frame.f_code, frame.f_lasti, frame.f_lineno)


def span_of_traceback(entry: types.TracebackType) -> Span | None:
    """The user's place that a traceback entry of generated code stands for; None for any other entry."""
    return span_of_instruction(entry.tb_frame.f_code, entry.tb_lasti, entry.tb_lineno)


def span_of_instruction(code: types.CodeType, instruction: int, line: int | None) -> Span | None:
    """The user's place of one instruction: that of its expression where Python knows it, else of its line."""
    origin = _origins.get(code.co_filename)
    if origin is None:
        return None
    if instruction >= 0 and len(known := positions(code)) > instruction // 2:
        first, last, start, end = known[instruction // 2]
        found = origin.places.get((first, start, last, end))  # type: ignore[arg-type]
        if found is not None:
            return found
    at = line or code.co_firstlineno
    of_line = origin.lines.get(at)
    if of_line is not None and of_line.function != code.co_name:
        # Several functions can share a line: lambdas and what stands round them.
        here = (span for place, span in origin.places.items() if place[0] == at)
        return next((span for span in here if span.function == code.co_name), of_line)
    return of_line
