"""String literals: the text of a string where some quotes can't be used.

In: a string, the quotes round it.  Out: text that is read back as the same string.
"""

from __future__ import annotations

import sys

# Since 3.12 a replacement field is ordinary code: any quotes, backslashes and line breaks may stand in it.
FREE_FIELDS = tuple(sys.version_info) >= (3, 12)
_QUOTES = ("'", '"', '"""', "'''")


class NoLiteral(Exception):
    """The string can't be written inside the f-string at hand; the printer tries other quotes outside."""


class Written(str):
    """Text of a program that is printed as it is, and that passes take for a constant."""

    __slots__ = ()


def string_literal(value: str | bytes, outer: tuple[str, ...] = ()) -> str:
    """The literal of a string; `outer` are the quotes of the f-strings it stands in, outermost first."""
    text = repr(value)
    if not outer or (not any(quote in text for quote in outer) and "\\" not in text):
        return text
    if not FREE_FIELDS:
        return _raw_literal(value, outer)
    for quote in ("'", '"'):
        text = ("b" if isinstance(value, bytes) else "") + quote + _between(value, quote) + quote
        if not any(taken in text for taken in outer):
            return text
    raise NoLiteral


def _raw_literal(value: str | bytes, outer: tuple[str, ...]) -> str:
    """A literal without a backslash: before 3.12 none may stand in a field of an f-string."""
    prefix, content = ("", value) if isinstance(value, str) else ("b", value.decode("latin-1"))
    lines = "\n" in content
    if "\\" in content or "\r" in content or (lines and any(len(quote) == 1 for quote in outer)):
        raise NoLiteral
    for quote in _QUOTES:
        text = f"{prefix}{quote}{content}{quote}"
        if lines and len(quote) == 1 or quote in content or content.endswith(quote[0]):
            continue
        if not any(taken in text for taken in outer):
            return text
    raise NoLiteral


def _between(value: str | bytes, quote: str) -> str:
    if isinstance(value, bytes):
        # With both kinds of quotes in it, a repr stands between single ones and escapes only those.
        text = repr(value + b"\"'")[2:-1].removesuffix("\"\\'").replace("\\'", "'")
        return text.replace(quote, "\\" + quote)
    return "".join(_escaped(char, quote) for char in value)


def _escaped(char: str, quote: str) -> str:
    if char == "\\" or char == quote[0]:
        return "\\" + char
    return char if char.isprintable() else repr(char)[1:-1]


def string_part(value: str, quote: str, *, spec: bool) -> str:
    """The literal part of an f-string; in a format (`spec`) doubled braces would not mean braces."""
    braces = {"{": "\\x7b", "}": "\\x7d"} if spec else {"{": "{{", "}": "}}"}
    return "".join(braces.get(char) or _escaped(char, quote) for char in value)


def docstring(value: str, prefix: str = "") -> str:
    """A docstring between triple quotes, its lines as they are."""
    clash = '"""' in value or value.endswith('"')
    kept = "\n\t" if clash else '\n\t"'
    text = "".join(char if char in kept else _escaped(char, '"') for char in value)
    return f'{prefix}"""{text}"""'
