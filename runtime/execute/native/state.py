"""What is known while one graph is lowered, besides the code: loops around, writes done, arrays made."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Union

import numpy as np

from runtime.dataclass import dataclass
from runtime.execute.native.emit import Emitter
from runtime.execute.native.kinds import SUPPORTED, Members, Scalar, Unlowered
from runtime.execute.native.ranges import Span
from runtime.execute.native.values import Arr, Num, Tup, Val
from runtime.ir.graph import Value


class WrongGuess(Exception):
    """A list holds other things than was thought when it was read, or has to be another kind of list.

    found: what is to be thought of it, besides what `State.forms` has now.  alike: lists that hold the same.
    """

    def __init__(
        self, found: Mapping[Hashable, Form] | None = None, alike: Mapping[Hashable, Hashable] | None = None
    ) -> None:
        super().__init__()
        self.found, self.alike = dict(found or {}), dict(alike or {})

    def learned(self, forms: dict[Hashable, Form]) -> None:
        """Remember it."""
        forms.update(self.found)
        forms.update({key: forms[other] for key, other in self.alike.items() if other in forms})


@dataclass(frozen=True)
class Carried:
    """Numbers of one or two kinds, in a list that loops or branches hand on, or that is in another list.

    guessed: whether the kind is a guess, since nothing was put in.
    """

    kinds: Members
    guessed: bool = False


@dataclass(frozen=True)
class Inner:
    """Lists of numbers of one kind, which these places make."""

    kind: Scalar
    guessed: bool
    makers: frozenset[Hashable]


@dataclass(frozen=True)
class Either:
    """Lists of numbers of two kinds."""

    members: Members


@dataclass(frozen=True)
class Held:
    """What the arrays in a list have in common.

    dims: sizes that all have, else "".  in_order: whether all are in C order.  roots: as of arrays.
    """

    dtype: np.dtype[Any]
    dims: tuple[str, ...]
    in_order: bool
    roots: frozenset[int]


@dataclass(frozen=True)
class Row:
    """Tuples of this length; what is in them is remembered under a key of its own for each item."""

    length: int


Form = Union[
    Scalar, Members, Carried, Inner, Either, Held, Row
]  # what is in a list; two kinds of numbers are a tuple


@dataclass
class State:
    """e: the code.  depth: loops around.  written: parameters whose memory is written to.  owned: how many
    arrays the code may make.  free: arrays made before whose memory may be taken.  objects: Python objects
    that the code refers to, by symbol.  streams: the random streams that it draws from, with a
    number each; draws: whether there may be any; calls_streams: whether Python is called for it.
    addresses: other places outside that it refers to.  forms: what lists hold, by what makes them, as far as
    earlier attempts found out.  asked: lists of arrays whose form was relied on.  held: sites whose arrays
    are in lists.
    often: mathematical functions that are written once.  bare: arrays without axes that may as well be
    numbers, and looks at others that may as well be copies.  kept: what is given back or put somewhere else,
    and so can't be a view.
    last: whether nothing follows in the graph.  params: the values of its parameters.  saves: those that are
    copied by the code itself, where they must be, before they are written.
    lazily: whether the result of the node that is being lowered need not be stored.  spread: where arrays lie
    of which each thread has made some of the first axis, so that it has them in its cache.  contents: of
    arrays, what all of their elements lie in.  released: whether other threads may have run since the node
    that is being lowered began."""

    e: Emitter
    depth: int = 0
    written: set[int] = dataclasses.field(default_factory=set)
    owned: int = 0
    free: list[Arr] = dataclasses.field(default_factory=list)
    objects: dict[str, object] = dataclasses.field(default_factory=dict)
    streams: dict[str, int] = dataclasses.field(default_factory=dict)
    draws: bool = False
    calls_streams: bool = False
    addresses: dict[str, int] = dataclasses.field(default_factory=dict)
    forms: dict[Hashable, Form] = dataclasses.field(default_factory=dict)
    asked: set[Hashable] = dataclasses.field(default_factory=set)
    held: set[int] = dataclasses.field(default_factory=set)
    often: frozenset[str] = frozenset()
    low: frozenset[Value] = frozenset()
    bare: frozenset[Value] = frozenset()
    kept: frozenset[Value] = frozenset()
    last: bool = False
    params: tuple[Val, ...] = ()
    saves: list[int] = dataclasses.field(default_factory=list)
    lazily: bool = False
    spread: set[str] = dataclasses.field(default_factory=set)
    contents: dict[Value, Span] = dataclasses.field(default_factory=dict)
    released: bool = False

    def symbol(self, value: object) -> str:
        """The symbol of a Python object, which lives as long as the code."""
        if isinstance(value, np.dtype):
            value = SUPPORTED.get(value.num, value)  # arrays have this one, whichever equals it is in types
            name = f"autograph_descr_{value.num}"
        else:
            name = next(
                (k for k, v in self.objects.items() if v is value), f"autograph_object_{len(self.objects)}"
            )
        self.objects[name] = value
        return f"@{name}"

    def stream(self, text: str) -> int:
        """The number of a random stream."""
        return self.streams.setdefault(text, len(self.streams))

    def address(self, name: str, at: int) -> str:
        """A place outside as an operand; the text never holds the number, which is another in each process.

        name: says what is there, so that equal texts mean equal code.
        """
        if not at:
            return "null"
        if self.addresses.setdefault(f"autograph_{name}", at) != at:
            raise ValueError(f"two places are named {name}")
        return f"@autograph_{name}"

    def loop(
        self, ufunc: np.ufunc, dtypes: Sequence[np.dtype[Any]], found: tuple[int, int]
    ) -> tuple[str, str]:
        """A ufunc's inner loop and its data as operands."""
        name = "_".join([ufunc.__name__, *(str(dtype.num) for dtype in dtypes)])
        return self.address(f"loop_{name}", found[0]), self.address(f"data_{name}", found[1])


class Named(dict[str, Val]):
    """Arguments by name; one that a call lacks, for which it raises, is left to the plan."""

    def __missing__(self, name: str) -> Val:
        raise Unlowered(f"a call without the argument {name}")


def numbers(x: Val) -> list[Num]:
    """The items of a tuple of numbers, or the number itself."""
    found = list(x.items) if isinstance(x, Tup) else [x]
    out = [i for i in found if isinstance(i, Num)]
    if len(out) != len(found):
        raise Unlowered("a tuple of other things than numbers")
    return out
