"""Text to trees: `ast.parse` for programs with several threads.

In: Python text.  Out: its tree.  What always holds: an error of the text is Python's own SyntaxError.
"""

from __future__ import annotations

import ast

from runtime.forking import ForkLock

_lock = ForkLock()
_TRIALS = 100


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
