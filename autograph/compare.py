"""Copies of arguments that keep their sharing, and the first difference between two values.

In: Python values of any kind.  Out: `copies`, a deep copy in which views of one array are views of one
copy, with the strides they had; `Differ`, which walks two values side by side and names the first place
where a program could tell them apart.
"""

from __future__ import annotations

import copy
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from runtime.types import is_namedtuple

_ATOMS = (bool, int, str, bytes, type(None), type(Ellipsis), range, slice)


def copies(value: Any) -> Any:
    """A deep copy; arrays that share memory share it in the copy too, and keep their strides."""
    memo: dict[int, Any] = {}
    owners: dict[int, Any] = {}
    for array in _arrays(value, set()):
        if id(array) not in memo and not array.dtype.hasobject:
            memo[id(array)] = _copied(array, owners)
    memo[id(memo)] = [value]  # what is looked up by address must stay alive meanwhile
    return copy.deepcopy(value, memo)


def _arrays(value: Any, seen: set[int]) -> Iterator[np.ndarray[Any, Any]]:
    """Every exact ndarray in containers and in attributes of objects."""
    if isinstance(value, (*_ATOMS, float, complex, np.generic, type, types.ModuleType, types.FunctionType)):
        return
    if id(value) in seen:
        return
    seen.add(id(value))
    if type(value) is np.ndarray:
        yield value
        return
    for part in _parts(value):
        yield from _arrays(part, seen)


def _parts(value: Any) -> list[Any]:
    """What a container or object holds."""
    if isinstance(value, dict):
        return [*value.keys(), *value.values()]
    if isinstance(value, (list, tuple, set, frozenset)):
        return list(value)
    return list(getattr(value, "__dict__", {}).values()) + [
        getattr(value, name) for cls in type(value).__mro__ for name in _slots(cls) if hasattr(value, name)
    ]


def _slots(cls: type) -> tuple[str, ...]:
    slots = cls.__dict__.get("__slots__", ())
    names = (slots,) if isinstance(slots, str) else tuple(slots)
    return tuple(name for name in names if name not in ("__dict__", "__weakref__"))


def _copied(array: np.ndarray[Any, Any], owners: dict[int, Any]) -> np.ndarray[Any, Any]:
    """A copy of the array over a copy of the memory that it is a view of."""
    owner = array
    while type(owner.base) is np.ndarray:
        owner = owner.base
    if id(owner) not in owners:
        twin = owner.copy(order="K")
        owners[id(owner)] = twin if twin.strides == owner.strides else _same_layout(owner)
    new: np.ndarray[Any, Any] = owners[id(owner)]
    if array is not owner:
        start = array.__array_interface__["data"][0] - _extent(owner)[0]
        new = np.ndarray(array.shape, array.dtype, _memory(new), start, array.strides)
    new.flags.writeable = array.flags.writeable and new.flags.writeable
    return new


def _extent(array: np.ndarray[Any, Any]) -> tuple[int, int]:
    low, high = np.lib.array_utils.byte_bounds(array)
    return int(low), int(high)


def _memory(array: np.ndarray[Any, Any]) -> Any:
    """The bytes from the array's first to its last, as a buffer that shares its memory."""
    low, high = _extent(array)
    holder = _Holder(array, low, high - low)
    return np.asarray(holder)


class _Holder:
    """Lends a piece of an array's memory by NumPy's array interface, and keeps the array alive."""

    def __init__(self, array: np.ndarray[Any, Any], address: int, size: int) -> None:
        self.array = array
        readonly = not array.flags.writeable
        self.__array_interface__ = {
            "shape": (size,),
            "typestr": "|u1",
            "data": (address, readonly),
            "version": 3,
        }


def _same_layout(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A copy with the same strides, gaps included."""
    low, _ = _extent(array)
    memory = np.array(_memory(array))
    start = array.__array_interface__["data"][0] - low
    made: np.ndarray[Any, Any] = np.ndarray(array.shape, array.dtype, memory, start, array.strides)
    return made


class Differ:
    """Walks two values side by side and remembers which object stands for which."""

    def __init__(self) -> None:
        self.partner: dict[int, int] = {}
        self.partner_back: dict[int, int] = {}
        self.alive: list[Any] = []
        self.arrays: list[tuple[str, Any, Any]] = []

    def compare(self, path: str, a: Any, b: Any) -> str:
        """The first difference in words (a is plain Python's), or nothing."""
        if type(a) is not type(b):
            return f"{path} is of class {_class(b)}, plain Python's is of class {_class(a)}"
        if isinstance(a, (type, types.ModuleType, types.BuiltinFunctionType)):
            return "" if a is b else f"{path} is {b!r}, plain Python's is {a!r}"
        if isinstance(a, (range, slice)):  # equal ones may have other parts
            mine, other = (a.start, a.stop, a.step), (b.start, b.stop, b.step)
            return self._items(path, mine, other, ["start", "stop", "step"])
        if isinstance(a, _ATOMS):
            return "" if a == b else f"{path} is {b!r}, plain Python's is {a!r}"
        if isinstance(a, (float, complex)):
            return "" if repr(a) == repr(b) else f"{path} is {b!r}, plain Python's is {a!r}"
        if isinstance(a, np.generic):
            return self._bits(path, np.asarray(a), np.asarray(b))
        if isinstance(a, types.FunctionType):
            return "" if a.__name__ == b.__name__ else f"{path} is {b!r}, plain Python's is {a!r}"
        if isinstance(a, tuple):
            return self._items(
                path,
                a,
                b,
                list(map(str, getattr(type(a), "_fields", ()))) if is_namedtuple(type(a)) else None,
            )
        known = id(a) in self.partner or id(b) in self.partner_back
        if known:
            if self.partner.get(id(a)) == id(b) and self.partner_back.get(id(b)) == id(a):
                return ""
            return f"{path} is another object than in plain Python (one is shared with a place seen before)"
        self.partner[id(a)], self.partner_back[id(b)] = id(b), id(a)
        self.alive += [a, b]
        return self._contents(path, a, b)

    def _contents(self, path: str, a: Any, b: Any) -> str:
        """Two objects of one class, met for the first time."""
        if isinstance(a, np.ndarray):
            self.arrays.append((path, a, b))
            if a.dtype.hasobject:
                return self._shape(path, a, b) or self._items(path, a.ravel().tolist(), b.ravel().tolist())
            return self._bits(path, a, b)
        if isinstance(a, dict):
            return self._dicts(path, a, b) or self._attributes(path, a, b)
        if isinstance(a, list):
            return self._items(path, a, b) or self._attributes(path, a, b)
        if isinstance(a, (set, frozenset)):
            return self._sets(path, a, b) or self._attributes(path, a, b)
        if isinstance(a, BaseException):
            return self._items(f"{path}.args", a.args, b.args) or self._attributes(path, a, b)
        return self._attributes(path, a, b)

    def _items(self, path: str, a: Any, b: Any, names: list[str] | None = None) -> str:
        if len(a) != len(b):
            return f"{path} has {len(b)} items, plain Python's has {len(a)}"
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            found = self.compare(f"{path}.{names[i]}" if names else f"{path}[{i}]", x, y)
            if found:
                return found
        return ""

    def _dicts(self, path: str, a: dict[Any, Any], b: dict[Any, Any]) -> str:
        if len(a) != len(b):
            return f"{path} has the keys {list(b)!r}, plain Python's has {list(a)!r}"
        for (key, x), (other, y) in zip(a.items(), b.items(), strict=True):
            found = self.compare(f"a key of {path}", key, other) or self.compare(f"{path}[{key!r}]", x, y)
            if found:
                return found
        return ""

    def _sets(self, path: str, a: Any, b: Any) -> str:
        """Equal items may be of unlike classes: 1, True and np.int64(1)."""
        if len(a) != len(b) or any(item not in b for item in a):
            return f"{path} is {b!r}, plain Python's is {a!r}"
        own = {item: item for item in b}
        return next(filter(None, (self.compare(f"an item of {path}", x, own[x]) for x in a)), "")

    def _attributes(self, path: str, a: Any, b: Any) -> str:
        """What an object holds; of one that Python can't look into, what it says of itself."""
        mine, other = getattr(a, "__dict__", {}), getattr(b, "__dict__", {})
        if list(mine) != list(other):
            return f"{path} has the attributes {list(other)}, plain Python's has {list(mine)}"
        for name in mine:
            found = self.compare(f"{path}.{name}", mine[name], other[name])
            if found:
                return found
        slots = [name for cls in type(a).__mro__ for name in _slots(cls)]
        if not slots and not hasattr(a, "__dict__") and not isinstance(a, (dict, list, set, frozenset)):
            said = repr(a), repr(b)
            if said[0] != said[1] and " at 0x" not in said[0]:
                return f"{path} is {said[1]}, plain Python's is {said[0]}"
        for name in slots:
            if hasattr(a, name) != hasattr(b, name):
                return f"{path}.{name} has a value in one run only"
            if hasattr(a, name):
                found = self.compare(f"{path}.{name}", getattr(a, name), getattr(b, name))
                if found:
                    return found
        return ""

    def _shape(self, path: str, a: Any, b: Any) -> str:
        if a.dtype != b.dtype:
            return f"{path} has dtype {b.dtype}, plain Python's has {a.dtype}"
        return "" if a.shape == b.shape else f"{path} has shape {b.shape}, plain Python's has {a.shape}"

    def _bits(self, path: str, a: Any, b: Any) -> str:
        """Arrays of numbers: dtype, shape, and every bit but those of NaNs."""
        found = self._shape(path, a, b)
        if found:
            return found
        if a.dtype.kind == "V" or a.dtype.hasobject:
            return "" if a.tobytes() == b.tobytes() else f"{path} is {b!r}, plain Python's is {a!r}"
        same = a == b
        if a.dtype.kind in "fc":
            parts = [(a.real, b.real), (a.imag, b.imag)] if a.dtype.kind == "c" else [(a, b)]
            equal = [
                ((x == y) & (np.signbit(x) == np.signbit(y))) | (np.isnan(x) & np.isnan(y)) for x, y in parts
            ]
            same = np.all(equal, axis=0)
        elif a.dtype.kind in "mM":
            same = (a == b) | (np.isnat(a) & np.isnat(b))
        if np.all(same):
            return ""
        at = tuple(map(int, np.argwhere(~np.asarray(same))[0]))
        where = f"{path}[{', '.join(map(str, at))}]" if at else path
        return f"{where} is {b[at]!r}, plain Python's is {a[at]!r}"

    def shared_memory(self) -> str:
        """Whether arrays share memory with each other as they do in plain Python."""
        for i, (path, x, y) in enumerate(self.arrays):
            for other, p, q in self.arrays[:i]:
                if np.may_share_memory(x, p) != np.may_share_memory(y, q):
                    return f"{path} and {other} share memory in one run only"
        return ""


def _class(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"
