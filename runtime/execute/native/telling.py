"""Code that says where it leaves to the plan: made once for code that was given up, so that people may know.

In: what is lowered, node by node.  Out: the same code, which says the number of a node before it leaves.
What always holds: it computes what the usual code does, more slowly; each check is acted on where it is made,
or is said of nobody.

Module variable: `@why` (the number of the node; 0: nobody knows).
"""

from __future__ import annotations

import os.path

from runtime.execute.native.emit import FALSE, Emitter
from runtime.ir.graph import Node
from runtime.ops.words import said

_BAIL = "label %bail"


class Telling(Emitter):
    """An emitter of such code.  left_at: the nodes in which calls may leave, by number."""

    def __init__(self, watch: bool) -> None:
        super().__init__(watch)
        self.left_at: list[Node | None] = [None]
        self.late: dict[Node | None, None] = {}

    def place(self, number: int) -> str:
        """The node with this number, in the user's words; empty where nobody knows which it is."""
        node = self.left_at[number]
        if node is None:
            return ""
        where = f" ({os.path.basename(node.span.file)}:{node.span.line})" if node.span else ""
        return f"at {said(node.op)}{where}"

    def bail_if(self, condition: str, likely: bool = False) -> None:
        """Leave to the plan where the condition holds, having said at which node."""
        before = self.here
        super().bail_if(condition, likely)
        if not before.lines or _BAIL not in before.lines[-1] or before is self.here:
            return
        after, why = self.here, self.block("why")
        before.lines[-1] = before.lines[-1].replace(_BAIL, f"label %{why.label}")
        self.start(why)
        self.write(f"store i32 {len(self.left_at)}, ptr @why")
        self.write(f"br {_BAIL}")
        why.closed, self.here = True, after
        self.left_at.append(self.node)

    def defer_if(self, condition: str, rare: bool = False) -> None:
        """Leave to the plan, at once where that can be."""
        if self.gang is None and self.lanes == 1:
            self.bail_if(condition)
            return
        if condition != FALSE:
            self.late[self.node] = None
        super().defer_if(condition, rare)

    def flush(self) -> None:
        """Act on the checks that were put off: those of one node can be told."""
        here = self.node
        if len(self.late) == 1:
            (self.node,) = self.late
        elif self.late:
            self.node = None
        super().flush()
        self.node = here
