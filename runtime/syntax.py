"""Text to trees: `ast.parse` for programs with several threads; and which texts are names.

In: Python text.  Out: its tree.  What always holds: an error of the text is Python's own SyntaxError.
"""

from __future__ import annotations

import ast
import keyword
import unicodedata

from runtime.forking import ForkLock

_lock = ForkLock()
_TRIALS = 100


def is_name(text: str) -> bool:
    """Whether Python reads a text as this very name: keywords are none, some letters are read as others."""
    named = text.isidentifier() and not keyword.iskeyword(text)
    return named and (text.isascii() or unicodedata.normalize("NFKC", text) == text)


def parse(text: str) -> ast.Module:
    """The tree of a text.

    Python 3.11 counts the depth of the tree that is being made for all threads together; where a second one
    parses meanwhile, it raises SystemError.  Our threads take turns; one of the program's may parse, too.
    """
    with _lock:
        for _ in range(_TRIALS):
            try:
                return ast.parse(text)
            except SystemError:
                pass
    return ast.parse(text)
