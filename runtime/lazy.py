"""Modules that are loaded when they are first used, so that `import autograph` takes little time.

In: the name of a module.  Out: a stand-in, whose attributes are the module's.
What always holds: whoever imports so writes the same import for type checkers, which run nothing; so every
import can still be read at the top of a file.  Loading is Python's own, with its locks; a fork waits a while
for other threads that load, as the child would never get the locks that they hold.

    if TYPE_CHECKING:
        from runtime.execute.native import executor
    else:
        executor = Lazy("runtime.execute.native.executor")

Packages do the same for the names that they make public: see `on_demand`.
"""

from __future__ import annotations

import importlib
import os
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from runtime.forking import ForkLock

PATIENCE = 5.0  # seconds that a fork waits: a thread that loads may itself wait for the one that forks
_lock = ForkLock()
_loading: list[int] = []  # the threads that load modules


def _load(name: str) -> Any:
    me = threading.get_ident()
    _loading.append(me)
    try:
        return importlib.import_module(name)
    finally:
        _loading.remove(me)


def _before_fork() -> None:
    me, end = threading.get_ident(), time.monotonic() + PATIENCE
    while any(thread != me for thread in tuple(_loading)) and time.monotonic() < end:
        time.sleep(0.001)


def _after_fork() -> None:
    me = threading.get_ident()
    _loading[:] = [thread for thread in _loading if thread == me]


os.register_at_fork(before=_before_fork, after_in_child=_after_fork)


class Lazy:
    """Stands for a module.  `ready` is called with it once it is loaded, before anybody uses it here."""

    def __init__(self, name: str, ready: Callable[[Any], object] | None = None) -> None:
        self.__name__ = name
        self._ready = ready
        self._module: Any = None

    def __getattr__(self, attribute: str) -> Any:
        if self._module is None:
            module = _load(self.__name__)
            with _lock:  # who comes second waits until it is ready
                if self._ready is not None:
                    self._ready(module)
                    self._ready = None
            self._module = module
        value = getattr(self._module, attribute)
        if isinstance(value, type) or callable(value):
            self.__dict__[attribute] = value  # the next time without a detour
        return value


def on_demand(
    namespace: dict[str, Any], places: Mapping[str, str], **modules: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` (its `__all__`) for a package whose names are loaded when first used.

    places: by module, the names that are found there.  modules: names that stand for modules.
    """
    found = {name: module for module, names in places.items() for name in names.split()}

    def get(name: str) -> Any:
        if name in modules:
            value: Any = _load(modules[name])
        elif name in found:
            value = getattr(_load(found[name]), name)
        else:
            raise AttributeError(f"module {namespace['__name__']!r} has no attribute {name!r}")
        namespace[name] = value
        return value

    def public() -> list[str]:
        special = {name for name in namespace if name.startswith("__") and name.endswith("__")}
        return sorted({*namespace["__all__"], *special})

    return get, public
