"""Regular expressions that are compiled when they are first used: most of them are not, in most processes.

In: the text of an expression.  Out: what stands for the compiled one.  What always holds: it has its
attributes; a text that is no expression is an error at the first use.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any


class _Pattern:
    def __init__(self, text: str, flags: int) -> None:
        self._given = text, flags

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(*self._given), name)
        self.__dict__[name] = value  # the next time without a detour
        return value


if TYPE_CHECKING:

    def pattern(text: str, flags: int = 0) -> re.Pattern[str]:
        """The expression."""

else:

    def pattern(text: str, flags: int = 0) -> _Pattern:
        """The expression."""
        return _Pattern(text, flags)
