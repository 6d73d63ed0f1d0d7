"""What a value of the graph is while native code is written: names of LLVM values, and what they stand for.

In: graph constants and LLVM names.  Out: `Num`, `Arr`, `Tup`, `Rng` and others.  What always holds: a `Num`
with two members carries a tag that is true for the first; a conversion that would lose anything bails out.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Protocol, Union

import numpy as np

from runtime.dataclass import dataclass
from runtime.execute.native import ranges
from runtime.execute.native.emit import FALSE, TRUE, Emitter
from runtime.execute.native.kinds import (
    OF_PYTHON,
    PYTHON_INT,
    PYTHON_SMALL,
    PYTHON_WIDE,
    Members,
    Scalar,
    Unlowered,
    literal,
    numpy_scalar,
    payload,
)
from runtime.ir.graph import Value

UNKNOWN = -1  # the site of an array that may come from several places
SIGNED = (1 << 63) - 1  # the largest signed integer
EXACT = 1 << 53  # Python and NumPy ints up to this size are exact as doubles


@dataclass(frozen=True)
class Num:
    """A number: its payload, and where it may be of two kinds, which one it is.

    const: its value where that is known now.  span: of an integer, what it lies in, where that is known;
    likely: the same, given that no check that waits has failed.
    """

    members: Members
    text: str
    tag: str = TRUE
    const: Any = None
    span: ranges.Span | None = None
    likely: ranges.Span | None = None

    @property
    def scalar(self) -> Scalar:
        """The only kind it can be."""
        assert len(self.members) == 1
        return self.members[0]

    @property
    def llvm(self) -> str:
        """The type of the payload."""
        return payload(self.members)


@dataclass(frozen=True)
class Arr:
    """An array: where its first element is, sizes and byte strides per axis.

    handle: the ndarray object, where this is all of it.  roots: the parameters whose memory it may be in.
    depth: how many loops surround the place that made it.  site: which place in the code that is.
    age: no place with a higher number has made it.  window: where it is all or a part of another array with
    the same strides: the address of that one's first element, and the indices of the first element in it.
    turned: whether its axes may lie in memory in another order than C's, which new arrays would follow.
    table: the value of the graph whose elements are known to lie in a span (see `contents`).
    """

    dtype: np.dtype[Any]
    data: str
    dims: tuple[str, ...]
    strides: tuple[str, ...]
    handle: str | None = None
    roots: frozenset[int] = frozenset()
    depth: int = 0
    site: int | None = None
    age: int = 0
    window: tuple[str, tuple[int, ...]] | None = None
    turned: bool = False
    table: Value | None = None

    @property
    def element(self) -> Scalar:
        """The kind of its elements when read."""
        return numpy_scalar(self.dtype)


class Part(Protocol):
    """What is computed before the elements of a line, or (row: False) of a tile of it, are."""

    row: bool
    itemsize: int

    def reserve(self, state: Any) -> None:
        """Find room for it, before any loop."""

    def prepare(self, state: Any, outer: Sequence[str], start: str, stop: str) -> None:
        """Compute it for the line at these indices, from index start to stop."""


@dataclass(frozen=True)
class Turn:
    """Where the stretches of a line end, and what each is made of: elements of another line that lie so far
    off, or one and the same ("=" and its place), or none ("")."""

    ends: tuple[str, ...]
    sources: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Lazy:
    """An array that is not stored yet: its kind, its sizes, and what computes an element at given indices.

    leaves: the stored arrays that it reads.  plain: whether it is just the one leaf, element for element.
    parts: what is prepared, in this order, before the elements of a line (along the last axis).  cost: about
    how many instructions an element takes.  held: the part that keeps its lines in memory.  widest: the bytes
    of the largest element on the way to its own.  turns: of lines that it reads from several places.  turned:
    whether it is a matrix that NumPy would store with its columns side by side.
    """

    kind: Scalar
    dims: tuple[str, ...]
    element: Callable[[Sequence[str]], Num]
    leaves: tuple[Arr, ...]
    plain: bool = False
    parts: tuple[Part, ...] = ()
    cost: int = 0
    held: Part | None = None
    widest: int = 1
    turns: tuple[Turn, ...] = ()
    turned: bool = False


@dataclass(frozen=True)
class Tup:
    """An exact tuple."""

    items: tuple[Val, ...]


@dataclass(frozen=True)
class Rng:
    """A range: three 64-bit values."""

    start: str
    stop: str
    step: str
    step_const: int | None = None
    span: ranges.Span | None = None  # what its items lie in


@dataclass(frozen=True)
class Zip:
    """What `zip` (or, with a count first, `enumerate`) of these makes."""

    parts: tuple[Val, ...]


@dataclass(frozen=True)
class Backwards:
    """What `reversed` makes of a list or an array: as many items as there were then."""

    of: Lists | Arr
    count: str


@dataclass(frozen=True)
class Elements(Zip):
    """What `vectorize` goes over: no trip of the loop needs anything of another one."""


@dataclass(frozen=True)
class Listed:
    """The elements of an array with one axis as Python numbers."""

    array: Arr


@dataclass(eq=False)
class Listing:
    """A list of numbers of one kind, which is known from the first that is put in.

    length, room, data: cells, on the stack or of a `Shared`.  place: where its memory is held.  maker: under
    what it is remembered.  guessed: whether the kind was needed before anything was put in.
    """

    length: str
    room: str
    data: str
    place: str
    maker: Hashable
    kind: Scalar | None = None
    guessed: bool = False


@dataclass(frozen=True)
class ArrayList:
    """A list of arrays: a Python list.

    handle: the object.  makers: under what is remembered what its items are like.  depth, site: as of arrays.
    """

    handle: str
    makers: frozenset[Hashable]
    depth: int
    site: int


@dataclass(frozen=True)
class Shared:
    """A list of numbers of one kind that is handed on by loops or branches: a Python list of the array that
    its cells are in, and of the one that its numbers are in.

    makers: what is remembered of it under.  depth, site: as of arrays.  guessed: whether the kind is a guess.
    """

    handle: str
    kind: Scalar
    makers: frozenset[Hashable]
    depth: int
    site: int
    guessed: bool = False


@dataclass(frozen=True)
class Nested:
    """A list of lists of numbers: a Python list of `Shared` ones.

    kind: of their numbers, where it is handed back.
    """

    handle: str
    makers: frozenset[Hashable]
    depth: int
    site: int
    kind: Scalar | None = None


@dataclass(frozen=True)
class Table:
    """A list of tuples of one length: a list for each of their items."""

    columns: tuple[Lists, ...]


@dataclass(frozen=True)
class Mixed:
    """A list of numbers of two kinds, or of lists of these: their payloads, and their tags."""

    members: Members
    payloads: Listing | Shared | Nested
    tags: Listing | Shared | Nested


Lists = Union[Listing, Shared, ArrayList, Nested, Table, Mixed]
LISTS = (Listing, Shared, ArrayList, Nested, Table, Mixed)


@dataclass(frozen=True)
class Keyed:
    """A dict, or without values a set: its keys in the order in which they came, what belongs to each, and
    where to look for them (see `hashes`).

    maker: under what is remembered what is in it.  cls: the class.  alive: where keys are taken out, which of
    them are still there; count, removed: cells: how many are there, and how many were taken out so far.
    missing: what a key that is not there has, as a class: it is called, and put in where that is kept.
    """

    maker: Hashable
    cls: type
    keys: Lists
    values: Lists | None
    index: Listing
    alive: Listing | None = None
    count: str = ""
    removed: str = ""
    missing: type | None = None

    @property
    def columns(self) -> tuple[Lists, ...]:
        """The lists that it is made of."""
        return tuple(x for x in (self.keys, self.values, self.alive) if x is not None)


@dataclass(frozen=True)
class Entries:
    """What the method of a dict gives that has this name: `keys`, `values` or `items`."""

    of: Keyed
    name: str


@dataclass(frozen=True)
class Queue:
    """A deque.

    head, changes: cells: how many of the items were taken away, and how often it was changed.  most: how long
    it may be.
    """

    maker: Hashable
    items: Lists
    head: str
    changes: str
    most: int | None = None


@dataclass(frozen=True)
class Shown:
    """A list display of integers of several kinds, which can only be a key."""

    items: tuple[Num, ...]


@dataclass(frozen=True)
class Method:
    """A bound method of a list, dict, set or complex number, or of an array of a type not known before."""

    of: Lists | Keyed | Queue | Arr | Num
    name: str


@dataclass(frozen=True)
class Stream:
    """A random stream that comes in, of exactly this class."""

    cls: type
    text: str
    symbol: str = ""  # of the class


@dataclass(frozen=True)
class Drawing:
    """A bound method of a random stream."""

    of: Stream
    name: str


@dataclass(frozen=True)
class Count:
    """The counter of `enumerate`: as long as anything."""

    start: str


@dataclass(frozen=True, eq=False)
class Static:
    """Any other constant."""

    value: Any


@dataclass(frozen=True)
class Maybe:
    """What has a value only where `valid` (an i1) holds: elsewhere the name is unbound, or it is None."""

    number: Val
    valid: str
    none: bool = False


@dataclass(frozen=True)
class Cut:
    """A slice object; parts are None or numbers."""

    start: Num | None
    stop: Num | None
    step: Num | None


Val = Union[
    Num, Arr, Tup, Rng, Zip, Listed, Listing, Shared, ArrayList, Nested, Table, Mixed, Keyed, Entries, Queue,
    Shown, Method, Stream, Drawing, Count, Static, Cut, Maybe, Lazy, Backwards
]  # fmt: skip


def lift(value: Any) -> Val:
    """The value of a constant operand."""
    if type(value) in OF_PYTHON:
        scalar = OF_PYTHON[type(value)]
        if scalar is PYTHON_INT and not -(2**63) <= value < 2**63:
            if not 0 < value < 2**64:
                raise Unlowered("a Python int beyond 64 bits")
            scalar = PYTHON_WIDE
        return Num((scalar,), literal(value, scalar.llvm), const=value)
    if isinstance(value, np.generic) and value.dtype.kind in "biuf" and type(value).__module__ == "numpy":
        kind = numpy_scalar(value.dtype)
        return Num((kind,), literal(value, kind.llvm), const=value)
    if type(value) is tuple:
        return Tup(tuple(map(lift, value)))
    if isinstance(value, range):
        parts = (value.start, value.stop, value.step)
        if any(not -(2**62) <= p < 2**62 for p in parts):
            raise Unlowered("a range beyond 64 bits")
        span = (min(value[0], value[-1]), max(value[0], value[-1])) if value else None
        return Rng(str(value.start), str(value.stop), str(value.step), value.step, span)
    if type(value) is slice:
        return Cut(*(None if p is None else _number(lift(p)) for p in (value.start, value.stop, value.step)))
    return Static(value)


def _number(x: Val) -> Num:
    if not isinstance(x, Num):
        raise Unlowered("a slice of other things than numbers")
    return x


def one(
    scalar: Scalar,
    text: str,
    const: Any = None,
    span: ranges.Span | None = None,
    likely: ranges.Span | None = None,
) -> Num:
    """A number of one kind."""
    return Num((scalar,), text, const=const, span=span, likely=likely)


def span_of(x: Num) -> ranges.Span:
    """What an integer or bool lies in."""
    if x.const is not None:
        return int(x.const), int(x.const)
    return x.span or ranges.whole(x.scalar)


def likely_of(x: Num) -> ranges.Span:
    """What an integer or bool lies in, given that no check that waits has failed."""
    return x.likely if x.likely is not None else span_of(x)


def passed(x: Val) -> Val:
    """A value where all checks that waited were passed."""
    return dataclasses.replace(x, span=x.likely, likely=None) if isinstance(x, Num) and x.likely else x


def opaque(e: Emitter, x: Num) -> Num:
    """A float constant kept from LLVM's folding (see `Emitter.opaque`)."""
    if x.const is None or x.llvm not in ("double", "float"):
        return x
    return dataclasses.replace(x, text=e.opaque(x.llvm, x.text), const=None)


# ----------------------------------------------------------------------------------------- two kinds
def view(e: Emitter, x: Num, scalar: Scalar) -> Num:
    """The value, given that it is of this kind."""
    if len(x.members) == 1:
        return x
    held, wanted = x.llvm, scalar.llvm
    if scalar == PYTHON_SMALL:
        return _small(e, x)
    if held == wanted:
        return one(scalar, x.text)
    if held == "double" and wanted == "float":
        return one(scalar, e.op(f"fptrunc double {x.text} to float"))
    if held == "double":
        whole = e.call("i64", "llvm.fptosi.sat.i64.f64", ("double", x.text))
        e.held[whole] = held, x.text
        return one(scalar, whole if wanted == "i64" else e.op(f"trunc i64 {whole} to {wanted}"))
    return one(scalar, e.op(f"trunc {held} {x.text} to {wanted}"))


def _small(e: Emitter, x: Num) -> Num:
    """The Python int that a number held as one of `NARROW` is."""
    if x.llvm == "float":
        whole = e.call("i64", "llvm.fptosi.sat.i64.f32", ("float", x.text))
    else:
        whole = e.op(f"sext {x.llvm} {x.text} to i64")
    e.held[whole] = x.llvm, x.text
    return one(PYTHON_INT, whole, span=ranges.whole(PYTHON_SMALL))


def usual(e: Emitter, x: Num) -> Num:
    """The number with a Python int of 64 bits in place of a small one."""
    if x.members[0] != PYTHON_SMALL:
        return x
    members = PYTHON_INT, x.members[1]
    wanted = payload(members)
    how = "fpext" if wanted == "double" else "sext"
    return Num(members, e.op(f"{how} {x.llvm} {x.text} to {wanted}"), x.tag)


def widen(e: Emitter, x: Num, members: Members) -> Num:
    """The value as one that may be any of `members`; leaves to the plan what a double would round."""
    if x.members == members:
        return opaque(e, x)
    if x.members == (PYTHON_INT,) and members == (PYTHON_WIDE,):
        return without_sign(e, x)
    if x.members == (PYTHON_SMALL, members[-1]):
        return usual(e, x)
    held, wanted = x.llvm, payload(members)
    if len(x.members) == 2:
        raise Unlowered("a number of more than two kinds")
    if members[0] == PYTHON_SMALL and x.scalar == PYTHON_INT:
        return Num(members, _narrow(e, x, members[1]), TRUE)
    tag = TRUE if x.scalar == members[0] else FALSE
    if held == wanted:
        return Num(members, opaque(e, x).text, tag)
    if wanted == "double" and held == "float":
        return Num(members, e.op(f"fpext float {opaque(e, x).text} to double"), tag)
    if wanted == "double":
        whole = extended(e, x)
        within(e, x, whole, EXACT)
        return Num(members, e.opaque("double", e.op(f"sitofp i64 {whole} to double")), tag)
    return Num(members, extended(e, x), tag)


def _narrow(e: Emitter, x: Num, kind: Scalar) -> str:
    """A small Python int as it is held beside numbers of this kind."""
    low, high = span_of(x)
    least, most = ranges.whole(PYTHON_SMALL)
    if not least <= low <= high <= most:
        e.defer_if(e.op(f"icmp ugt i64 {e.op(f'sub i64 {x.text}, {least}')}, {most - least}"))
    if x.const is not None:
        return e.opaque(kind.llvm, literal(x.const, kind.llvm)) if kind.kind == "f" else str(x.const)
    return e.op(f"{'trunc' if kind.kind == 'i' else 'sitofp'} i64 {x.text} to {kind.llvm}")


def without_sign(e: Emitter, x: Num) -> Num:
    """A Python int as one without a sign; leaves to the plan where it has one."""
    if span_of(x)[0] < 0:
        e.defer_if(e.op(f"icmp slt i64 {x.text}, 0") if x.const is None else TRUE)
    return one(PYTHON_WIDE, x.text, x.const, x.span)


def with_sign(e: Emitter, x: Num) -> Num:
    """A Python int without a sign as one that may have one; leaves to the plan what is too large."""
    if x.members != (PYTHON_WIDE,):
        return x
    low, high = span_of(x)
    if high > SIGNED:
        e.defer_if(e.op(f"icmp slt i64 {x.text}, 0") if x.const is None else TRUE)
    return one(PYTHON_INT, x.text, None if high > SIGNED else x.const, (min(low, SIGNED), min(high, SIGNED)))


def extended(e: Emitter, x: Num) -> str:
    """An integer or bool in 64 bits (a uint64 as the same bits)."""
    if x.llvm == "i64":
        return x.text
    if x.const is not None:
        return literal(x.const, "i64")
    how = "sext" if x.scalar.kind == "i" else "zext"
    return e.op(f"{how} {x.llvm} {x.text} to i64")


def within(e: Emitter, x: Num, whole: str, limit: int) -> None:
    """Leave to the plan unless the 64-bit integer is of at most this size."""
    if x.const is not None and abs(int(x.const)) <= limit:
        return
    if x.scalar.bits < limit.bit_length() or (limit == EXACT and x.text in e.held):
        return
    low, high = span_of(x)
    if -limit <= low and high <= limit:
        return
    if x.scalar.kind == "u":
        e.defer_if(e.op(f"icmp ugt i64 {whole}, {limit}"))
        return
    e.defer_if(e.op(f"icmp ugt i64 {e.op(f'add i64 {whole}, {limit}')}, {2 * limit}"))
