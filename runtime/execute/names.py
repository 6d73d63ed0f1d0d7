"""Names of a plan: local variables and the constants it is bound to, never in each other's way.

In: hints.  Out: legal Python names.  What always holds: no name is both a local variable and a constant (a
constant would be unbound then), and none hides a builtin, a keyword, `np` or `cp`.
"""

from __future__ import annotations

import builtins
from collections.abc import Collection

from runtime.ir.names import identifier

RESERVED = frozenset({*(name for name in dir(builtins) if not name.startswith("_")), "np", "cp", "__name__"})


class PlanNames:
    """Gives the names of one plan."""

    def __init__(self, function: str) -> None:
        self.function = self._legal(function) or "function"
        self.constants: set[str] = {self.function}
        self.locals: set[str] = set()

    @staticmethod
    def _legal(hint: str) -> str:
        name = identifier(hint.strip("<>"))
        if name.startswith("__"):
            name = f"v{name}"
        return f"{name}_" if name in RESERVED else name

    def local(self, hint: str, busy: Collection[str]) -> str:
        """A variable that is none of `busy`: the hint where possible, `t1`, `t2`, ... without one."""
        base = self._legal(hint)
        number = 0 if base else 1
        name = base or "t1"
        while name in busy or name in self.constants:
            number += 1
            name = f"{base}_{number}" if base else f"t{number}"
        self.locals.add(name)
        return name

    def constant(self, hint: str) -> str:
        """A new name for a constant."""
        base = self._legal(hint)
        number = 0 if base else 1
        name = base or "c1"
        while name in self.constants or name in self.locals:
            number += 1
            name = f"{base}_{number}" if base else f"c{number}"
        self.constants.add(name)
        return name
