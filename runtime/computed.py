"""`computed`: an attribute that is worked out when first asked for, then kept in the instance.

In: a method without arguments.  Out: its value.  What always holds: no lock is held meanwhile (that of
`functools.cached_property` up to Python 3.11 is shared by all instances, and a process forked while another
thread holds it never gets it); two threads that ask at once may both work it out, and get the same one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class computed(Generic[T]):
    """The decorator."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make, self.__doc__ = make, make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> computed[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> T | computed[T]:
        if instance is None:
            return self
        kept: T = instance.__dict__.setdefault(self._name, self._make(instance))
        return kept
