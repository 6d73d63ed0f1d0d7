"""`warnings.warn` for code whose frames are not the user's: levels are counted in the user's frames.

In: what `warnings.warn` takes.  Out: the same warning, at the place and in the module that Python names.
What always holds: what to do with the warning is for `warnings` to say; only the place is found here.
"""

from __future__ import annotations

import itertools
import sys
import warnings
from typing import Any

from runtime.places import levels

_PREFIXES = sys.version_info >= (3, 12)  # `skip_file_prefixes` is new


def warn(message: Any, category: Any = None, stacklevel: Any = 1, source: Any = None, **more: Any) -> None:
    """`warnings.warn`, called by generated code."""
    kind = type(message) if isinstance(message, Warning) else UserWarning if category is None else category
    skipped = more.pop("skip_file_prefixes", ()) if _PREFIXES else ()
    proper = isinstance(kind, type) and issubclass(kind, Warning) and type(stacklevel) is int
    if not proper or more or type(skipped) is not tuple:  # Python says what is wrong with it
        warnings.warn(message, category, stacklevel, source, **more)
        return
    around = levels(sys._getframe(1))
    if skipped:
        first = next(around, None)
        counted = (level for level in around if not level[0].startswith(skipped))
        around = itertools.chain([first] if first is not None else [], counted)
        stacklevel = max(2, stacklevel)
    place = next(itertools.islice(around, max(stacklevel, 1) - 1, None), None)
    if place is None:  # beyond the outermost frame
        warnings.warn(message, category, sys.maxsize, source)
        return
    file, line, space = place
    registry = space.setdefault("__warningregistry__", {})
    name = space.get("__name__") or "<string>"
    warnings.warn_explicit(message, kind, file, line, name, registry, None, source)
