"""The fence: constructs that are not rewritten are refused here, before anything is changed.

In: the user's tree.  Out: the same tree; or `ConversionRefused`, which names the construct and its line.
A refused function is not an error: it runs as plain Python, whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gast

from autograph.passes.context import Work
from autograph.template import Opaque
from autograph.trees import children
from runtime.trace.trust import looks_at_frame

STATEMENTS: dict[str, str] = {
    "AsyncWith": "async with",
    "AsyncFor": "async for",
    "Await": "await",
    "TemplateStr": "a t-string",
}
FRAME_READERS = {"locals", "globals", "vars", "eval", "exec", "dir", "__import__"}
FRAME_ATTRIBUTES = {"_getframe", "currentframe"}


def fence(root: gast.FunctionDef, work: Work) -> gast.FunctionDef:
    """Refuse the function if it holds a construct that conversion does not know."""
    for node in walk_open(root):
        kind = type(node).__name__
        if kind in STATEMENTS:
            work.refuse(
                node,
                f"{STATEMENTS[kind]} is not converted",
                "there is no functional form of it here",
                "move it into a function of its own, which then runs as plain Python",
            )
        check = CHECKS.get(kind)
        if check is not None:
            check(node, work)
    return root


def walk_open(root: gast.AST) -> Iterator[gast.AST]:
    """All nodes but those inside opaque functions, in the order of the text: the first is the one refused."""
    todo = [root]
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, Opaque):
            todo += reversed(children(node))


def _looks(node: Any, name: str, work: Work) -> None:
    work.refuse(
        node,
        f"{name}() is not converted",
        "it looks at the frame of the function that calls it",
        "pass what it should see as arguments",
    )


def _name(node: Any, work: Work) -> None:
    of_python = node.id in FRAME_READERS and work.builtin(node.id) is not None
    if of_python or isinstance(node.ctx, gast.Load) and looks_at_frame(work.resolved(node)):
        _looks(node, node.id, work)


def _attribute(node: Any, work: Work) -> None:
    if node.attr in FRAME_ATTRIBUTES or looks_at_frame(work.resolved(node)):
        _looks(node, node.attr, work)


def _import(node: Any, work: Work) -> None:
    for alias in node.names:
        if alias.name in FRAME_ATTRIBUTES:
            _looks(node, alias.name, work)
    if any(alias.name == "*" for alias in node.names):
        work.refuse(
            node,
            "import * is not converted",
            "the names that it binds are not known",
            "import the names that are used",
        )


def _clause(node: Any, work: Work) -> None:
    if node.is_async:
        work.refuse(node.target, "an async comprehension is not converted", "it belongs to a coroutine")


CHECKS = {
    "Name": _name,
    "Attribute": _attribute,
    "ImportFrom": _import,
    "comprehension": _clause,
}
