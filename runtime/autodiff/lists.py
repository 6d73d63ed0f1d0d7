"""Lists that converted code makes while a level is open.

`np.mean([x, y])` hands the list over to NumPy's C code, which would take the numbers out of their boxes.
A list of this class is one in every way, but NumPy's functions ask it first.
"""

from __future__ import annotations

from typing import Any

from runtime import tree
from runtime.autodiff.box import any_box
from runtime.autodiff.dispatch import call_function, call_ufunc


class FollowedList(list[Any]):
    """A list whose boxes NumPy leaves closed."""

    __slots__ = ()

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        if any_box(args):
            return call_ufunc(ufunc, method, args, kwargs)
        plain = [list(x) if type(x) is FollowedList else x for x in args]
        return getattr(ufunc, method)(*plain, **kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if any_box(args):
            return call_function(function, args, kwargs)
        plain = [list(x) if type(x) is FollowedList else x for x in args]
        return function(*plain, **kwargs)

    def __reduce__(self) -> Any:
        return list, (list(self),)


tree.container(FollowedList, lambda x: (list(x), None), lambda _, items: list(items))
