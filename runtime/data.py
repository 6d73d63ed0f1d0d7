"""`Dataset`: elements one after the other, made as they are asked for, to be looped over in functions.

In: arrays, generator functions, `.npy` files.  Out: an object that can be iterated any number of times; each
time its elements are made anew.  What always holds: nothing is read before it is asked for (but for
`prefetch`), errors come out where the element is asked for, a loop left early leaves no thread behind.
"""

from __future__ import annotations

import contextvars
import functools
import itertools
import os
import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from runtime import tree
from runtime.dataclass import dataclass
from runtime.elements import stack_rows
from runtime.errors import check_function
from runtime.types import (
    OBJECT,
    TEXTS,
    ArrayType,
    ObjectType,
    TupleType,
    Type,
    describes,
    is_namedtuple,
    join,
)

_DONE = object()  # what a prefetching thread puts last


@dataclass(frozen=True)
class Rows:
    """order: the numbers of the rows, in order, anew each time; taken: the rows of these numbers, stacked."""

    order: Callable[[], Any]
    taken: Callable[[Any], Any]


class Dataset:
    """A source of elements: arrays, or tuples, dicts and other trees of them.

    make: returns a new iterator over the elements.  length: how many there are, None where that is not known.
    element_type: the trace type of each, so far as it is known, or what finds it when it is asked for; loops
        in functions are typed by it.
    rows: of elements that are rows of plain arrays, what takes many of them at once.
    Made by `from_arrays`, `from_generator`, `from_npy` and `zip`; the methods give new datasets.

    >>> list(Dataset.from_arrays(np.arange(5)).batch(2))
    [array([0, 1]), array([2, 3]), array([4])]
    """

    __slots__ = ("__weakref__", "_kind", "_length", "_make", "_rows", "_text")
    elements_are_typed = True

    def __init__(
        self,
        make: Callable[[], Iterator[Any]],
        length: int | None = None,
        text: str = "",
        element_type: Type | Callable[[], Type] = OBJECT,
        rows: Rows | None = None,
    ) -> None:
        check_function(make, "Dataset")
        self._make, self._length, self._text, self._rows = make, length, text, rows
        self._kind = element_type if callable(element_type) else _KNOWN.setdefault(element_type, element_type)

    @property
    def element_type(self) -> Type:
        """The trace type of each element, so far as it is known."""
        kind = self._kind
        if callable(kind):
            found = kind()
            self._kind = kind = _KNOWN.setdefault(found, found)
        return kind

    @property
    def _later(self) -> Callable[[], Type]:
        """What finds the type when it is asked for."""
        return lambda: self.element_type

    def __iter__(self) -> Iterator[Any]:
        return self._make()

    def __len__(self) -> int:
        if self._length is None:
            raise TypeError(f"how many elements {self!r} has is known only when they are gone through")
        return self._length

    def __repr__(self) -> str:
        return f"Dataset({self._text})"

    # ------------------------------------------------------------------ where elements come from
    @staticmethod
    def from_arrays(arrays: Any) -> Dataset:
        """The items along the first axes of an array, or of a tree of arrays of one length."""
        leaves, structure = tree.flatten(arrays)
        leaves = [leaf if hasattr(leaf, "shape") else np.asarray(leaf) for leaf in leaves]
        lengths = sorted({leaf.shape[0] if leaf.shape else 0 for leaf in leaves})
        if len(lengths) != 1 or not all(leaf.shape for leaf in leaves):
            shapes = ", ".join(str(leaf.shape) for leaf in leaves)
            raise ValueError(f"arrays of one length are needed, these have the shapes {shapes or 'of none'}")

        def make() -> Iterator[Any]:
            for i in range(lengths[0]):
                yield tree.unflatten(structure, [leaf[i] for leaf in leaves])

        def taken(places: Any) -> Any:
            return tree.unflatten(structure, [np.take(leaf, places, axis=0) for leaf in leaves])

        kind = _tree_type(tree.unflatten(structure, list(map(_row_type, leaves))))
        rows = Rows(lambda: np.arange(lengths[0]), taken) if all(map(_is_plain, leaves)) else None
        return Dataset(make, lengths[0], f"{lengths[0]} items of arrays", kind, rows)

    @staticmethod
    def from_generator(function: Callable[..., Iterable[Any]], *args: Any, spec: Any = None) -> Dataset:
        """What `function(*args)` yields; it is called anew for each iteration.

        spec: an `ag.TensorSpec`, or a tuple of them, that all elements keep; TypeError for one that doesn't.
        """
        if isinstance(function, Iterator):
            raise TypeError(
                "from_generator takes the generator function, not a generator: that is used up once"
            )
        check_function(function, "from_generator")
        name = getattr(function, "__name__", "generator")
        return _promised(Dataset(lambda: iter(function(*args)), None, name), spec)

    @staticmethod
    def from_npy(paths: Iterable[str | os.PathLike[str]], rows: bool = False) -> Dataset:
        """The arrays in `.npy` files, one per file; with rows=True the items of all of them, file after file.

        Files are opened one at a time and mapped into memory, so that what is not looked at is not read; an
        array may be written to, which does not change the file.  A loop in a function is typed by what the
        heads of the files say when it is traced; TypeError for a file that is another one later.
        """
        files = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)

        def make() -> Iterator[Any]:
            for path in files:
                if not rows:
                    yield np.asarray(_mapped(path, "c"))
                    continue
                for row in _mapped(path, "r"):
                    yield np.array(row)[()]

        def kind() -> Type:
            arrays = [_array_in(path) for path in files]
            types = [_tree_type(_row_type(a)) if rows else _whole_type(a) for a in arrays if a is not None]
            return functools.reduce(join, types) if files and len(types) == len(files) else OBJECT

        made = Dataset(make, None if rows else len(files), f"{len(files)} files")
        return _as_found(made, kind)

    @staticmethod
    def zip(*datasets: Dataset) -> Dataset:
        """Tuples of one element of each, until one of them ends."""
        lengths = [each._length for each in datasets if each._length is not None]
        known = min(lengths) if len(lengths) == len(datasets) and lengths else None

        def kind() -> Type:
            return TupleType(tuple(each.element_type for each in datasets))

        return Dataset(lambda: zip(*datasets, strict=False), known, f"zip of {len(datasets)}", kind)

    # ------------------------------------------------------------------ what is made of them
    def map(self, function: Callable[..., Any], spec: Any = None) -> Dataset:
        """`function(element)`; of elements that are tuples, `function(*element)`.

        spec: as in `from_generator`, of what the function returns.
        """
        check_function(function, "map")

        def make() -> Iterator[Any]:
            for element in self:
                yield function(*element) if type(element) is tuple else function(element)

        return _promised(Dataset(make, self._length, f"{self._text}, mapped"), spec)

    def filter(self, function: Callable[..., Any]) -> Dataset:
        """The elements of which the function says true."""
        check_function(function, "filter")

        def make() -> Iterator[Any]:
            for element in self:
                if function(*element) if type(element) is tuple else function(element):
                    yield element

        return Dataset(make, None, f"{self._text}, filtered", self._later)

    def batch(self, size: int, drop_remainder: bool = False) -> Dataset:
        """Groups of `size` elements, stacked leaf by leaf; the last group may be smaller, or is dropped."""
        _positive("the size of a batch", size)

        def make() -> Iterator[Any]:
            if self._rows is not None:
                order = self._rows.order()
                for k in range(0, len(order) - (size - 1 if drop_remainder else 0), size):
                    yield self._rows.taken(order[k : k + size])
                return
            elements = iter(self)
            while group := list(itertools.islice(elements, size)):
                if len(group) == size or not drop_remainder:
                    yield _stacked(group)

        groups = None
        if self._length is not None:
            groups = self._length // size if drop_remainder else -(-self._length // size)
        full = drop_remainder or (self._length is not None and self._length % size == 0)

        def kind() -> Type:
            return _batch_type(self.element_type, size if full else None)

        return Dataset(make, groups, f"{self._text}, in batches of {size}", kind)

    def shuffle(self, buffer: int | None = None, seed: int | None = None, reshuffle: bool = True) -> Dataset:
        """The elements in random order: each is drawn from the next `buffer` ones (all, if None).

        seed: for the same order in each run.  reshuffle: another order each time it is gone through.
        """
        if buffer is not None:
            _positive("the buffer", buffer)
        start = np.random.SeedSequence(seed).entropy
        times = itertools.count()

        def generator() -> np.random.Generator:
            seeds = np.random.SeedSequence(start, spawn_key=(next(times) if reshuffle else 0,))
            return np.random.default_rng(seeds)

        def make() -> Iterator[Any]:
            random = generator()
            elements = iter(self)
            held = list(itertools.islice(elements, buffer))
            for element in elements:
                k = int(random.integers(len(held)))
                yield held[k]
                held[k] = element
            for k in random.permutation(len(held)):
                yield held[k]

        source, rows = self._rows, None
        if source is not None and buffer is None:

            def order() -> Any:
                random, before = generator(), source.order()
                return before[random.permutation(len(before))]

            rows = Rows(order, source.taken)
        return Dataset(make, self._length, f"{self._text}, shuffled", self._later, rows)

    def repeat(self, count: int | None = None) -> Dataset:
        """The elements `count` times over, or for ever; each time round they are made anew."""
        if count is not None:
            _positive("the number of repetitions", count, 0)

        def make() -> Iterator[Any]:
            for _ in itertools.count() if count is None else range(count):
                empty = True
                for element in self:
                    empty = False
                    yield element
                if empty:  # for ever nothing
                    return

        known = None if count is None or self._length is None else count * self._length
        return Dataset(make, known, f"{self._text}, repeated", self._later)

    def take(self, count: int) -> Dataset:
        """The first `count` elements."""
        _positive("the number of elements to take", count, 0)
        known = None if self._length is None else min(count, self._length)
        text = f"{self._text}, the first {count}"
        return Dataset(lambda: itertools.islice(self, count), known, text, self._later)

    def skip(self, count: int) -> Dataset:
        """All but the first `count` elements."""
        _positive("the number of elements to skip", count, 0)
        known = None if self._length is None else max(0, self._length - count)
        text = f"{self._text}, without {count}"
        return Dataset(lambda: itertools.islice(self, count, None), known, text, self._later)

    def prefetch(self, count: int = 1) -> Dataset:
        """The same elements, made by a thread that is up to `count` ahead."""
        _positive("the number of elements to prefetch", count)
        text = f"{self._text}, prefetched"
        return Dataset(lambda: _ahead(self, count), self._length, text, self._later)


def _ahead(source: Iterable[Any], count: int) -> Iterator[Any]:
    """The elements of `source`, made in a thread; leaving the loop early ends the thread."""
    ready: queue.Queue[Any] = queue.Queue(count)
    stop = threading.Event()

    def put(item: Any) -> bool:
        while not stop.is_set():
            try:
                ready.put(item, timeout=0.05)
            except queue.Full:
                continue
            return True
        return False

    def work() -> None:
        error: BaseException | None = None
        try:
            for element in source:
                if not put((element, None)):
                    return
        except BaseException as problem:  # it is raised where the element is asked for
            error = problem
        put((_DONE, error))

    context = contextvars.copy_context()  # np.errstate of the caller holds in the thread, too
    worker = threading.Thread(target=context.run, args=(work,), daemon=True, name="autograph prefetch")
    worker.start()
    try:
        while True:
            element, error = ready.get()
            if error is not None:
                raise error
            if element is _DONE:
                return
            yield element
    finally:
        stop.set()
        worker.join()


def _stacked(elements: list[Any]) -> Any:
    """Elements of one structure as one, stacked leaf by leaf."""
    first, structure = tree.flatten(elements[0])
    rows = [tuple(first)]
    for element in elements[1:]:
        leaves, other = tree.flatten(element)
        if other != structure:
            raise ValueError(f"elements of structure {structure} and {other} can't be put in one batch")
        rows.append(tuple(leaves))
    return tree.unflatten(structure, stack_rows(rows))


def _is_plain(array: Any) -> bool:
    """Whether rows of an array, stacked, are what `np.take` makes of them."""
    plain = type(array) is np.ndarray and array.flags.c_contiguous
    return plain and array.dtype.kind in "biufc" and array.dtype.isnative


def _positive(what: str, number: int, least: int = 1) -> None:
    if not hasattr(type(number), "__index__"):
        raise TypeError(f"{what} must be an integer, not {number!r}")
    if number < least:
        raise ValueError(f"{what} is {number}, but must be {least} or more")


def _mapped(path: str | os.PathLike[str], mode: Any) -> Any:
    """The array in a file, mapped into memory where that can be."""
    try:
        return np.load(path, mmap_mode=mode)
    except ValueError:  # an empty array, or one of Python objects, which np.load refuses with its own words
        return np.load(path)


def _array_in(path: str | os.PathLike[str]) -> Any:
    """The array in a file, of which nothing but its head is read; None where there is none as yet."""
    try:
        return _mapped(path, "r")
    except (OSError, ValueError, EOFError):
        return None


# ---------------------------------------------------------------------------------- types of elements
_KNOWN: dict[Type, Type] = {}  # equal types are one object, which is quick to check for


@dataclass(frozen=True)
class _Leaf:
    """A type as a leaf of a tree of values."""

    type: Type


def _whole_type(array: Any) -> Type:
    """The type of an array from a file."""
    plain = array.dtype.kind in "biufc" and array.dtype.isnative
    return ArrayType(array.dtype, array.shape) if plain else OBJECT


def _row_type(array: Any) -> _Leaf:
    """The type of an item along the first axis."""
    array = array.view(np.ndarray) if type(array) is np.memmap else array
    if type(array) is not np.ndarray or array.dtype.hasobject or array.dtype.kind == "V":
        return _Leaf(OBJECT)
    if array.ndim == 1 and array.dtype.kind in TEXTS:
        return _Leaf(ObjectType(TEXTS[array.dtype.kind]))
    return _Leaf(ArrayType(array.dtype.newbyteorder("=") if array.ndim == 1 else array.dtype, array.shape[1:],
                           array.ndim == 1))  # fmt: skip


def _tree_type(x: Any) -> Type:
    """The type of a tree with types as leaves."""
    if isinstance(x, _Leaf):
        return x.type
    if type(x) is tuple or is_namedtuple(type(x)):
        return TupleType(tuple(map(_tree_type, x)), type(x))
    return ObjectType(type(x))


def _batch_type(t: Type, size: int | None) -> Type:
    """The type of several elements, stacked."""
    if isinstance(t, TupleType):
        return TupleType(tuple(_batch_type(item, size) for item in t.items), t.cls)
    if isinstance(t, ArrayType) and t.shape is not None and t.dtype.isnative and t.dtype.kind in "biufc":
        return ArrayType(t.dtype, (size, *t.shape))
    return t if isinstance(t, ObjectType) and t.cls in (dict, list) else OBJECT


def _as_found(source: Dataset, kind: Callable[[], Type]) -> Dataset:
    """The dataset with a type that is found when it is asked for, by code that goes by it from then on: each
    element is checked."""

    def make() -> Iterator[Any]:
        for element in source:
            wanted = made._kind
            if not callable(wanted) and not describes(wanted, element):
                what = (
                    f"an element of {source!r} is {_found(element)}, it was {wanted} when a loop was compiled"
                )
                raise TypeError(f"{what}: the files have changed; make the dataset anew")
            yield element

    made = Dataset(make, source._length, source._text, kind)
    return made


def _promised(source: Dataset, spec: Any) -> Dataset:
    """The dataset, each of whose elements is checked to be as was promised."""
    if spec is None:
        return source
    wanted = _spec_type(spec)

    def make() -> Iterator[Any]:
        for element in source:
            if not describes(wanted, element):
                found = _found(element)
                raise TypeError(f"an element of {source!r} is {found}, but {wanted} was promised by its spec")
            yield element

    return Dataset(make, source._length, source._text, wanted)


def _spec_type(spec: Any) -> Type:
    """The type that a spec describes: a NumPy scalar, where it has no axes."""
    if type(spec) is tuple or is_namedtuple(type(spec)):
        return TupleType(tuple(map(_spec_type, spec)), type(spec))
    if getattr(spec, "dtype", None) is None or not hasattr(spec, "shape"):
        raise TypeError(
            f"the spec of elements is a TensorSpec with a dtype, or a tuple of these, not {spec!r}"
        )
    return ArrayType(np.dtype(spec.dtype), spec.shape, spec.shape == ())


def _found(element: Any) -> str:
    if type(element) is tuple:
        return f"({', '.join(map(_found, element))})"
    dtype, name = getattr(element, "dtype", None), type(element).__name__
    return name if dtype is None else f"{dtype}{list(np.shape(element))}"
