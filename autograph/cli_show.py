"""Two texts beside each other, highlighted on a terminal that can, plain anywhere else.

In: original and generated source.  Out: text.  Always holds: when the output is not a terminal there is
no escape code in it and the generated part, taken alone, is Python.
"""

from __future__ import annotations

import itertools
import shutil
import sys

from runtime.pattern import pattern

try:
    import pygments
    from pygments.formatters import TerminalFormatter
    from pygments.lexers import PythonLexer
except ImportError:  # an extra: everything works without it, in one colour
    pygments = None

ESCAPES = pattern(r"\x1b\[[0-9;]*m")
GAP = "  |  "


def highlighted(text: str, colour: bool) -> str:
    """Python source with colours for a terminal, where pygments is installed."""
    if not colour or pygments is None:
        return text
    return str(pygments.highlight(text, PythonLexer(stripnl=False), TerminalFormatter()))


def beside(left: str, right: str, titles: tuple[str, str], *, colour: bool, width: int) -> str:
    """Both texts in two columns, or one above the other where `width` is too small for them."""
    lines = [left.expandtabs(4).rstrip("\n").split("\n"), right.expandtabs(4).rstrip("\n").split("\n")]
    widths = [max(map(len, [*text, title])) for text, title in zip(lines, titles, strict=True)]
    if sum(widths) + len(GAP) > width:
        parts = (
            f"# {title}\n\n{highlighted(text, colour)}".rstrip("\n") + "\n"
            for title, text in zip(titles, (left, right), strict=True)
        )
        return "\n\n".join(parts)
    rows = [f"{titles[0]:<{widths[0]}}{GAP}{titles[1]}", f"{'-' * widths[0]}{GAP}{'-' * widths[1]}"]
    shown = [highlighted("\n".join(text), colour).split("\n") for text in lines]
    for one, two in itertools.zip_longest(
        *(text[: len(raw)] for text, raw in zip(shown, lines, strict=True)), fillvalue=""
    ):
        padding = " " * (widths[0] - len(ESCAPES.sub("", one)))
        rows.append(f"{one}{padding}{GAP}{two}".rstrip())
    return "\n".join(rows) + "\n"


def terminal() -> tuple[bool, int]:
    """Whether standard output is a terminal, and how wide; 0 when it is not, so that texts are stacked."""
    if sys.stdout is None or not sys.stdout.isatty():
        return False, 0
    return True, shutil.get_terminal_size().columns
