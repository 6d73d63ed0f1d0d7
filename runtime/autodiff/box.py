"""Boxes: what a function sees in place of the arrays and numbers that a level follows.

In: anything Python and NumPy do to arrays.  Out: the same, on the values inside, recorded on the levels.
A box of an array is a handle: it looks at a `Store`, through views, and a write replaces what the store
holds.  So all boxes of one array see its writes, as NumPy's views do, while the recorded values stay.

What always holds: a box shows the value and behaviour of what is inside; code that needs a bare float or
array of a followed value gets a GradientError instead of a value cut off from its derivative.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from runtime.autodiff.levels import Active, apply, apply_flat, bare, map_tree, opened, snapshot
from runtime.autodiff.places import Place, Step, memory_order, not_found, update
from runtime.autodiff.rows import by_name, row_of
from runtime.errors import GradientError
from runtime.ops.adjoint import is_basic

GETITEM, RAVEL = by_name("getitem"), by_name("np.ravel")
UPDATE = row_of(update)
PARTS: dict[str, Callable[[Any], Any]] = {
    "T": np.transpose,
    "mT": lambda x: np.swapaxes(x, -1, -2),
    "real": np.real,
    "imag": np.imag,
}


@dataclasses.dataclass(eq=False, slots=True)
class Store:
    """What an array's boxes share.

    value: the present value, bare or followed.  memory: an array of the user's that shows each write.
    shared: the bare array may be held by others, so a write makes a new one.  alone: no other argument
    of the call shares the memory, so that a write can't be missed there.  copied: another one that does is a
    copy.  kin: the stores of what is the same memory in plain Python, but not here: a write to one makes the
    others stale."""

    value: Any
    memory: Any = None
    shared: bool = True
    version: int = 0
    alone: bool = True
    copied: bool = False
    order: tuple[int, ...] | None = None
    kin: tuple[Store, ...] = ()
    stale: bool = False

    def axes(self) -> tuple[int, ...]:
        """The order of the axes in memory; it stays what it was at first."""
        if self.order is None:
            self.order = memory_order(bare(self.value))
        return self.order


class Box:
    """A followed array, NumPy scalar or Python number."""

    __slots__ = ("_known", "_steps", "_store")
    __array_priority__ = 1000
    is_box = True
    protocol: Any = None  # calls with boxes; stands above this module, which gives it (see `dispatch`)

    def __new__(cls, value: Any, memory: Any = None) -> Box:
        """A box of an array is an ArrayBox."""
        return object.__new__(ArrayBox if isinstance(bare(value), np.ndarray) else Box)

    def __init__(self, value: Any, memory: Any = None) -> None:
        self._store = Store(value, memory)
        self._steps: tuple[Step, ...] = ()
        self._known: tuple[int, Any] | None = None

    @staticmethod
    def of_view(base: Box, step: Step) -> Box:
        """A box that looks at another one's array through one more view."""
        made = object.__new__(ArrayBox)
        made._store, made._steps, made._known = base._store, (*base._steps, step), None
        return made

    # ------------------------------------------------------------------ reading and writing
    def read(self) -> Any:
        """The present value; it will not change."""
        store = self._store
        if not self._steps:
            store.shared = True
            return self._snapshot()
        if self._known is None or self._known[0] != store.version or store.memory is not None:
            store.shared = True
            value = self._snapshot()
            for step in self._steps:
                value = apply(step.row, step.operands(value), step.kwargs)
                value = value if step.item is None else value[step.item]
            self._known = store.version, value
        return self._known[1]

    def _snapshot(self) -> Any:
        store = self._store
        if store.stale:
            raise _stale()
        if store.memory is not None and type(store.value) is not Active:
            return snapshot(store.memory)
        return store.value

    @property
    def bare(self) -> Any:
        """The present value without levels; an array must not be kept or written to."""
        store = self._store
        if store.stale:
            raise _stale()
        value = bare(store.value)
        for step in self._steps:
            value = step(value)
        return value

    concrete_value = bare

    @property
    def followed(self) -> bool:
        """Whether an open level follows the value."""
        return type(opened(self._store.value)) is Active

    def write(self, key: Any, values: Any) -> None:
        """`self[key] = values`, for all boxes of the array."""
        store = self._store
        value = opened(store.value)
        given = unwrap(values)
        if not isinstance(bare(value), np.ndarray):
            raise TypeError(f"'{type(self.bare).__name__}' object does not support item assignment")
        followed = type(value) is Active or type(given) is Active
        if store.copied or not store.alone and (followed or store.memory is None):
            raise GradientError(
                "an array is written to that another argument of the differentiated function is, too",
                why="differentiated arguments are copies, so the other one would not see the write",
                fix="pass a copy, or write into a new array",
            )
        if followed and not is_inexact_dtype(self.bare.dtype):
            raise lost(self, "it is written into an array of integers or bools")
        if not followed:
            target = store.memory if store.memory is not None else value
            if store.shared and store.memory is None:
                target = store.value = target.copy(order="K")
                store.shared = False
            for step in self._steps:
                base, target = target, step(target)
                if target.size and not np.may_share_memory(base, target):
                    raise not_found()
            target[key] = given
        else:
            for step in self._steps:
                if step.row.name == "np.imag":
                    raise GradientError(
                        "a write into the imaginary part of an array can't be followed",
                        fix="write complex numbers into the array itself",
                    )
            if store.memory is not None and type(value) is not Active:
                value, store.shared = value.copy(), False
            place = Place(self._steps, key, store.axes(), in_place=not store.shared)
            if store.memory is not None:
                self._show(key, given)
            assert UPDATE is not None
            store.value = apply_flat(UPDATE, (value, given, place))
            store.shared = False
        store.version += 1
        for other in store.kin:
            other.stale = other is not store

    def _show(self, key: Any, given: Any) -> None:
        """Let the user's own array show the write, too."""
        target = self._store.memory
        for step in self._steps:
            target = step(target)
        target[key] = bare(given)

    def share(self, copied: bool) -> None:
        """Note that another argument of the call shares the memory.  copied: one that is copied."""
        self._store.alone, self._store.copied = False, copied

    def share_with(self, other: Box) -> None:
        """Note that the other's array is the same memory in plain Python, but not here."""
        mine, its = self._store, other._store
        kin = tuple({id(x): x for x in (mine, its, *mine.kin, *its.kin)}.values())
        for store in kin:
            store.kin = kin

    def spoil(self) -> None:
        """Note that plain Python would show a write that is not seen here."""
        self._store.stale = True

    @property
    def is_view(self) -> bool:
        """Whether the box looks at a part of another one's array."""
        return bool(self._steps)

    @property
    def identity(self) -> int:
        """The same for all boxes of one array."""
        return id(self._store)

    def promote(self, value: Any) -> None:
        """Exchange the value for the same one followed by another level."""
        self._store.value, self._store.shared = value, True
        self._store.version += 1

    # ------------------------------------------------------------------ what Python asks
    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """The class of the value inside, for isinstance."""
        return type(self.bare)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__array_") or name in ("_store", "_steps", "_known"):
            raise AttributeError(name)
        value = self.bare
        found = getattr(value, name)  # the error of a wrong name is Python's own
        if not isinstance(value, (np.ndarray, np.generic)):
            return self._of_number(name, found)
        if name in PARTS:
            return PARTS[name](self)
        method = Box.protocol.method(self, name) if callable(found) else None
        if method is not None:
            return method
        if callable(found) and type(opened(self._store.value)) is Active:
            raise lost(self, f"its method {name} is called")
        return found

    def _of_number(self, name: str, found: Any) -> Any:
        if name == "conjugate":
            return lambda: Box.protocol.call_row(by_name("np.conjugate"), (self,), {})
        if name in ("real", "imag"):
            return Box.protocol.call_row(by_name(f"np.{name}"), (self,), {})
        return found

    def __bool__(self) -> bool:
        return bool(self.bare)

    def __int__(self) -> int:
        return int(self.bare)

    def __index__(self) -> int:
        return operator.index(self.bare)

    def __float__(self) -> float:
        if self.followed:
            raise lost(self, "it is needed as a Python float")
        return float(self.bare)

    def __complex__(self) -> complex:
        if self.followed:
            raise lost(self, "it is needed as a Python complex")
        return complex(self.bare)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if self.followed:
            raise lost(self, "NumPy needs its elements")
        value = self.bare
        if not isinstance(value, np.ndarray):
            return np.asarray(value, dtype)
        self._store.shared = True
        dtype = value.dtype if dtype is None else dtype
        return value.astype(dtype, copy=True) if copy or dtype != value.dtype else value

    def __hash__(self) -> int:
        return hash(self.bare)

    def __format__(self, spec: str) -> str:
        return format(self.bare, spec)

    def __str__(self) -> str:
        return str(self.bare)

    def __repr__(self) -> str:
        return repr(self.bare)

    def __copy__(self) -> Any:
        value = self.read()
        if isinstance(value, np.ndarray):
            return Box(value.copy(order="K"))
        return Box(value) if isinstance(bare(value), np.ndarray) else self

    def __deepcopy__(self, memo: Any) -> Any:
        return self.__copy__()

    def __reduce__(self) -> Any:
        if self.followed:
            raise lost(self, "it is pickled")
        return np.copy if isinstance(self.bare, np.ndarray) else type(self.bare), (self.bare,)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __round__(self, *digits: Any) -> Any:
        if isinstance(self.bare, np.ndarray):
            return np.round(self, *digits)
        return round(self.bare, *digits)

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        return Box.protocol.call_ufunc(ufunc, method, args, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return Box.protocol.call_function(function, args, kwargs)


class ArrayBox(Box):
    """A followed array, or one that followed values can be written into."""

    __slots__ = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.bare.shape  # type: ignore[no-any-return]

    @shape.setter
    def shape(self, shape: Any) -> None:
        raise GradientError("the shape of a followed array is set", fix="use reshape")

    @property
    def real(self) -> Any:
        """The real part, a view."""
        return np.real(self)

    @real.setter
    def real(self, values: Any) -> None:
        self.real[...] = values

    @property
    def flat(self) -> Any:
        """The elements in order."""
        return FlatBox.of(self)

    @flat.setter
    def flat(self, values: Any) -> None:
        self.flat[...] = values

    def __getitem__(self, key: Any) -> Any:
        value = self.bare
        key = key if type(key) is int else map_tree(_plain_key, key)
        part = value[key]
        if isinstance(part, np.ndarray) and is_basic(key):
            return Box.of_view(self, Step(GETITEM, (key,)))
        # A copy of some elements: the array isn't held, and followed values may be written to the copy.
        made = apply_flat(GETITEM, (self._store.value if not self._steps else self.read(), key))
        return Box(made) if isinstance(made, np.ndarray) and made.dtype.kind in "fc" else wrap(made)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.write(key if type(key) is int else map_tree(_plain_key, key), as_one(value))

    def __iter__(self) -> Iterator[Any]:
        value = self.bare
        if np.ndim(value) == 0:
            iter(value)  # raises as Python does
        return (self[i] for i in range(len(value)))

    def __len__(self) -> int:
        return len(self.bare)

    def __contains__(self, item: Any) -> bool:
        return unwrap_bare(item) in self.bare


class FlatBox(ArrayBox):
    """`x.flat`: reads give copies, writes go to x."""

    __slots__ = ("_whole",)
    _whole: ArrayBox

    @staticmethod
    def of(whole: ArrayBox) -> FlatBox:
        """The elements of a box in order."""
        made = object.__new__(FlatBox)
        made._store, made._steps, made._known = whole._store, (*whole._steps, Step(RAVEL)), None
        made._whole = whole
        return made

    def __getitem__(self, key: Any) -> Any:
        made = apply_flat(GETITEM, (self.read(), map_tree(_plain_key, key)))
        if isinstance(made, np.ndarray):
            return Box(made.copy()) if made.dtype.kind in "fc" else made.copy()
        return wrap(made)

    def write(self, key: Any, values: Any) -> None:
        """`x.flat[key] = values`: as many as are needed, over and over where there are too few."""
        whole = self._whole.bare
        if isinstance(key, (int, np.integer)):
            if not -whole.size <= key < whole.size:
                raise IndexError(f"index {key} is out of bounds for size {whole.size}")
            numbers = np.int64(key % whole.size)
        else:
            whole.copy().flat[key] = 0  # raises as NumPy does
            numbers = np.arange(whole.size)[key]
        count = np.size(unwrap_bare(values))
        if isinstance(values, (list, tuple)) or np.ndim(unwrap_bare(values)) and count:
            values = Box.protocol.call_row(RAVEL, (values,), {})
            values = values[np.arange(numbers.size).reshape(numbers.shape) % count]
        self._whole.write(np.unravel_index(numbers, whole.shape) if whole.ndim else ..., values)


BOXES = (Box, ArrayBox, FlatBox)


# -- between boxes and values --------------------------------------------------------------------------


def plain_array(x: Any) -> Any:
    """The operand, unless it is of a subclass of ndarray whose operators mean something else."""
    if isinstance(x, np.ndarray) and type(x) is not np.ndarray and type(x) not in BOXES:
        if isinstance(x, np.memmap):
            return np.asarray(x)
        raise GradientError(
            f"a {type(x).__name__} meets a followed value",
            why="operators of this class of arrays don't mean what the rules are for",
            fix="convert it with np.asarray, or take its data",
        )
    return x


def kept_followed(result: Any) -> Any:
    """The result, unless it is an array of objects, which would hold bare numbers."""
    if type(result) is np.ndarray and result.dtype == object:
        raise GradientError(
            "followed values would become bare ones in an array of objects",
            fix="keep them in a list, or write them one by one into np.empty(n, object)",
        )
    return result


def wrap(value: Any) -> Any:
    """What a function sees of a value: a box if it is followed, or an array that may become so."""
    return Box(value) if type(value) is Active else value


def as_one(x: Any) -> Any:
    """The array that NumPy makes of a sequence with boxes in it; anything else as it is."""
    if isinstance(x, (list, tuple)) and any_box(x):
        return Box.protocol.call_row(by_name("np.array"), (x,), {})
    return x


def unwrap(x: Any) -> Any:
    """The value of a box; anything else is a value."""
    return x.read() if type(x) in BOXES else x


def unwrap_bare(x: Any) -> Any:
    """The value of a box without any level."""
    return x.bare if type(x) in BOXES else x


def wrap_tree(x: Any) -> Any:
    """`wrap` on the leaves of nested sequences and dicts."""
    return map_tree(wrap, x)


def unwrap_tree(x: Any) -> Any:
    """`unwrap` on the leaves of nested sequences and dicts."""
    return map_tree(unwrap, x)


def settled(x: Any) -> Any:
    """What remains of a box when levels are over: a bare value, or a box that outer levels follow."""
    if type(x) not in BOXES:
        return x
    value = opened(x.read())
    if type(value) is Active:
        return Box(value)
    return value.copy() if isinstance(value, np.ndarray) and x._store.memory is None else value


def _plain_key(x: Any) -> Any:
    if type(x) not in BOXES:
        return x.copy() if isinstance(x, np.ndarray) else x
    return x.bare


def is_inexact_dtype(dtype: Any) -> bool:
    """Whether arrays of the dtype have derivatives."""
    return dtype.kind in "fc"


def lost(box: Box, what: str) -> GradientError:
    value = box.bare
    kind = f"an array of shape {value.shape}" if isinstance(value, np.ndarray) else f"the number {value}"
    return GradientError(
        f"the derivative of {kind} would be lost: {what}",
        why="the result would be a bare value, which nothing connects to the input",
        fix="let this code be converted (it is where its source is at hand), make the array that is written "
        "to inside the differentiated function, or cut the value off with ag.stop_gradient",
    )


def _stale() -> GradientError:
    return GradientError(
        "an array is read that was written to in, or through the result of, a function with a derivative of "
        "its own",
        why="there it is another array, so the write is not seen here",
        fix="let the function write to a copy, and return one",
    )


def any_box(x: Any) -> bool:
    """Whether there is a box in nested sequences and dicts."""
    if type(x) in BOXES:
        return True
    if isinstance(x, (tuple, list)):
        return any(map(any_box, x))
    return type(x) is dict and any(map(any_box, x.values()))


def any_followed(x: Any) -> bool:
    """Whether there is a followed box in nested sequences and dicts."""
    if type(x) in BOXES:
        return bool(x.followed)
    if isinstance(x, (tuple, list)):
        return any(map(any_followed, x))
    return type(x) is dict and any(map(any_followed, x.values()))
