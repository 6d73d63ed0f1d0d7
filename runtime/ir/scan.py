"""The words of one line of the text form, and errors that say where they are.

In: a line and its number.  Out: its tokens one by one.  What always holds: every error is a `GraphError`
that gives line, column and the line's text with a caret.
"""

from __future__ import annotations

import re
from typing import NoReturn

from runtime.errors import GraphError
from runtime.pattern import pattern

_TOKEN = pattern(
    r"""[ ]*(?:
      (?P<string>b?'(?:[^'\\]|\\.)*'|b?"(?:[^"\\]|\\.)*")
    | (?P<number>-?(?:0x[0-9a-f]+|(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?|inf\b))
    | (?P<graph>@graph\d+\b(?!:))
    | (?P<object>@obj\d+\b(?!:))
    | (?P<reference>@[\w.]+:[\w.]*)
    | (?P<device>@\w+)
    | (?P<dots>\.\.\.)
    | (?P<name>[^\W\d]\w*(?:\.\w+)*)
    | (?P<mark>[(){}\[\],:=<>|?])
    | (?P<comment>\#.*)
    | (?P<end>$)
    )""",
    re.VERBOSE,
)


class Scanner:
    """Reads one line from left to right."""

    def __init__(self, line: str, number: int) -> None:
        self.line, self.number = line, number
        self.kind, self.text, self.start, self._stop = "", "", 0, len(line) - len(line.lstrip(" "))
        self.advance()

    def advance(self) -> str:
        """Go to the next token; returns the text of the one left behind."""
        left = self.text
        match = _TOKEN.match(self.line, self._stop)
        if match is None:
            self.start = self._stop + len(self.line[self._stop :]) - len(self.line[self._stop :].lstrip(" "))
            self.fail("this character has no place here")
        self.kind = match.lastgroup or "end"
        self.text = match.group(self.kind)
        self.start, self._stop = match.start(self.kind), match.end(self.kind)
        return left

    def at(self, text: str) -> bool:
        """Whether the present token is this mark or name."""
        return self.kind in ("mark", "name", "dots") and self.text == text

    def take(self, text: str) -> bool:
        """Go past the present token if it is this mark or name."""
        if not self.at(text):
            return False
        self.advance()
        return True

    def expect(self, text: str) -> None:
        """Go past this mark or name; an error when something else stands here."""
        if not self.take(text):
            self.expected(repr(text))

    def name(self, what: str) -> str:
        """The name that must stand here."""
        if self.kind != "name":
            self.expected(what)
        return self.advance()

    def looks_at(self, text: str) -> bool:
        """Whether the token after the present one starts with `text`."""
        return self.line[self._stop :].lstrip(" ").startswith(text)

    def expected(self, what: str) -> NoReturn:
        """Raise an error: something else stands here than should."""
        self.fail(f"expected {what}, found {self.text!r}" if self.text else f"expected {what}, the line ends")

    def fail(self, what: str) -> NoReturn:
        """Raise an error that points at the present token."""
        raise parse_error(what, self.line, self.number, self.start)


def parse_error(what: str, line: str, number: int, column: int) -> GraphError:
    """The error for a place in the text: line and column count from 1."""
    return GraphError(f"line {number}, column {column + 1}: {what}\n    {line}\n    {' ' * column}^")
