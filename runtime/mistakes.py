"""Mistakes of ours that calls survive: what failed is done in another way, only slower, and told here.

What always holds: nobody catches a mistake of ours without calling `survived`.  `ag.explain` shows its words,
and the tests fail where there were any, so that no mistake hides as slowness.
"""

from __future__ import annotations

import collections

KEPT: collections.deque[str] = collections.deque(maxlen=20)  # texts: the errors would keep arguments alive


def survived(what: str, problem: Exception) -> str:
    """`what`, and the problem in words."""
    import traceback  # not before there is a mistake

    KEPT.append("".join(traceback.format_exception(problem)))
    return f"{what}: {type(problem).__name__}: {problem}"
