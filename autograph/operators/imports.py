"""Imports inside functions.

While tracing, a module is a handle like any other object of the outside world, so that what is read from
it is guarded and its functions are traced into; one that isn't loaded yet is imported at run time.
"""

from __future__ import annotations

import functools
import importlib.util
import sys
import types
from typing import Any

from runtime.trace.core import Trace, active
from runtime.trace.record import Path
from runtime.trace.trust import trusted
from runtime.types import StaticType


def import_(name: str, whole: bool = False) -> Any:
    """`import name`: the top-level package; whole=True: what `import name as x` binds."""
    text = f"import {name} as it" if whole else f"import {name}"
    bound = "it" if whole else name.partition(".")[0]
    space = _globals()
    trace = active()
    if trace is not None:
        if name in sys.modules and bound in (name, "it"):
            return _module(trace, name)
        if name in sys.modules and bound in sys.modules:
            return _module(trace, bound)
        return _at_run_time(trace, text, bound, space)
    return run_import(text, bound, space)


def import_from(module: str, name: str, level: int = 0) -> Any:
    """What `from module import name` binds; level: the number of leading dots."""
    text = f"from {'.' * level}{module} import {name} as it"
    space = _globals()
    trace = active()
    if trace is None:
        return run_import(text, "it", space)
    try:
        full = importlib.util.resolve_name("." * level + module, space.get("__package__"))
    except (ImportError, ValueError):
        full = ""
    if full in sys.modules and name in vars(sys.modules[full]):
        return getattr(_module(trace, full), name)
    return _at_run_time(trace, text, "it", space)


def run_import(text: str, bound: str, space: dict[str, Any]) -> Any:
    """Carry out an import statement, as in a module with these globals; what it binds."""
    names: dict[str, Any] = {}
    exec(_compiled(text), space, names)
    return names[bound]


@functools.lru_cache(maxsize=512)
def _compiled(text: str) -> types.CodeType:
    return compile(text, "<import>", "exec")


def _globals() -> dict[str, Any]:
    """The globals of the code that imports."""
    space: Any = sys._getframe(2).f_globals
    found: dict[str, Any] = getattr(space, "real", space)
    return found


def _module(trace: Trace, name: str) -> Any:
    """A loaded module as a trace value."""
    module = sys.modules[name]
    if trusted(module):
        return module
    trace.guard(Path((sys.modules,)) / ("item", name), StaticType(module), f"the module {name}")
    return trace.constant(module)


def _at_run_time(trace: Trace, text: str, bound: str, space: dict[str, Any]) -> Any:
    result = trace.record("py.call", [trace.constant(run_import), text, bound, trace.constant(space)])
    trace.heap.unknown_call()
    return result
