"""`vectorize`: a function of scalars as a function of arrays.

In: a Python function.  Out: a callable that runs it for each element of its broadcast arguments, so control
flow is that of each element.  While tracing it is a loop over the elements that writes into arrays made
beforehand, which is what native code can do, for many elements at a time; outside, the callable is compiled
as a function of its own, where there is a compiler.
What always holds: each result is what the function gives for that element.
"""

from __future__ import annotations

import functools
import inspect
import math
import sys
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from runtime import tree
from runtime.elements import (
    Row,
    bits_of,
    broadcast,
    column,
    columns,
    common,
    element_type,
    elements,
    is_number,
    kind_of,
    native,
    plain_array,
    settled,
    shaped,
    values,
)
from runtime.errors import check_function
from runtime.execute.traceback import cleaned
from runtime.ir.calls import all_nodes
from runtime.ir.graph import Const
from runtime.passes.facts import IN_PLACE
from runtime.recording import recording
from runtime.scans import loop, map_fn
from runtime.trace.byhand import apply, at_run_time, closed, new_list, opened, tuple_of
from runtime.trace.core import Diverged, Trace, active
from runtime.trace.values import Object, known_class
from runtime.types import (
    OBJECT,
    WEAK_INT,
    WEAK_OF,
    ArrayType,
    NumberType,
    ObjectType,
    StaticType,
    Type,
    WeakType,
    join,
    static_or_weak,
)
from runtime.variable import Variable

Compiler = Callable[[Any], Callable[..., Any]]
# the questions that functions answer
ANSWERS = frozenset(
    {
        "explain",
        "get_concrete_function",
        "graph",
        "plan_source",
        "pretty_printed_concrete_signatures",
        "remainder",
        "traces",
        "why",
    }
)
_ROUNDS = 4  # of tracing the function until what it returns is known


_CONTAINERS = (None, tuple, list, dict)


class _Unknown(BaseException):
    """It is not known while tracing what the results are made of.  No error: nobody else may handle it."""


class Batched:
    """A callable that goes through the items of its arguments; `runs_on_trace_values`: also in a trace.

    f: the function of one item.  compiler: makes a compiled function of such a callable; None for none.
    caller: what calls f where a derivative is recorded, if it is to be called in another form there.
    """

    runs_on_trace_values = True
    what = "batching"
    caller: Callable[..., Any] | None = None

    def __init__(self, f: Callable[..., Any], compiler: Compiler | None = None) -> None:
        check_function(f, self.what)
        self.f, self.compiler = f, compiler
        self._compiled: Callable[..., Any] | None = None
        self.__wrapped__ = f
        for name in functools.WRAPPER_ASSIGNMENTS:
            if hasattr(f, name):
                setattr(self, name, getattr(f, name))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """`f` of each item."""
        if active() is not None:
            return self.here(args, kwargs)
        try:
            if recording() or self.compiler is None:
                return self.here(args, kwargs)
            return self.function(*args, **kwargs)
        except BaseException as error:
            if sys.version_info < (3, 11):  # a bare raise would restore the old traceback
                raise error.with_traceback(cleaned(error))  # noqa: B904  it is the error that is being handled
            else:  # a bare raise adds no entry for this frame
                error.__traceback__ = cleaned(error)
                raise

    def here(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The call, done in Python or recorded in the trace."""
        raise NotImplementedError

    def each(self, *args: Any, **kwargs: Any) -> Any:
        """`f` of one item."""
        if self.caller is not None and active() is None and recording():
            return self.caller(self.f, *args, **kwargs)
        return apply(self.f, *args, **kwargs)

    def signature(self) -> inspect.Signature | None:
        """The parameters of the function, if it does not matter which arguments come by name."""
        return None

    @property
    def function(self) -> Any:
        """The function that is compiled and called in its place; where there is none, what is called."""
        if self._compiled is None:
            self._compiled = Inside(self) if self.compiler is None else self.compiler(Inside(self))
        return self._compiled

    def __getattr__(self, name: str) -> Any:
        """What functions answer to, of the function that is compiled."""
        if name not in ANSWERS:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        if isinstance(self.function, Inside):
            raise AttributeError(f"{self!r} has no {name}: it runs as plain Python, without source")
        return getattr(self.function, name)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_compiled": None}

    def __repr__(self) -> str:
        return f"<{type(self).__name__.lower()} of {getattr(self.f, '__qualname__', self.f)}>"


class Inside:
    """What is compiled of a batched callable: its work, without the look for something compiled."""

    runs_on_trace_values = True

    def __init__(self, batched: Batched) -> None:
        self.batched, self.f = batched, batched.f
        self.__name__ = getattr(batched, "__name__", "batched")
        signature = batched.signature()
        if signature is not None:
            self.__signature__ = signature
        self.__wrapped__ = batched.f

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The call."""
        return self.batched.here(args, kwargs)


class Vectorized(Batched):
    """What `vectorize` returns."""

    what = "vectorize"

    def __init__(
        self,
        f: Callable[..., Any],
        otypes: Any = None,
        excluded: Collection[int | str] = (),
        compiler: Compiler | None = None,
    ) -> None:
        super().__init__(f, compiler)
        self.dtypes = _dtypes(otypes)
        if isinstance(excluded, (str, int)) or not all(isinstance(k, (str, int)) for k in excluded):
            raise TypeError(f"excluded is a set of positions and names, not {excluded!r}")
        self.excluded = frozenset(excluded)

    def signature(self) -> inspect.Signature | None:
        """The parameters of the function, unless some are told apart by place or name."""
        try:
            return None if self.excluded else inspect.signature(self.f)
        except (TypeError, ValueError):  # a built-in function that doesn't tell
            return None

    def here(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """`f` of each element of the arguments, broadcast against each other."""
        places: list[int | str] = [*range(len(args)), *kwargs]
        values = [*args, *kwargs.values()]
        moving = [x for place, x in zip(places, values, strict=True) if place not in self.excluded]

        def one(items: Sequence[Any]) -> Any:
            left = iter(items)
            each = [x if p in self.excluded else next(left) for p, x in zip(places, values, strict=True)]
            return self.each(*each[: len(args)], **dict(zip(kwargs, each[len(args) :], strict=True)))

        if not moving:
            return one(())
        trace = active()
        if trace is not None:
            return _Traced(trace, one, moving, self.dtypes).result()
        if recording():
            return _followed(one, moving)
        *flat, count, shape = broadcast(*moving)
        made = _Rows(self.dtypes)
        for _, *items in elements(count, *flat):
            made.add(one(items))
        return made.result(count, shape)


def vectorize(
    f: Callable[..., Any],
    otypes: Any = None,
    excluded: Collection[int | str] = (),
    compiler: Compiler | None = None,
) -> Vectorized:
    """A function of scalars as a function of arrays, with broadcasting; control flow is element by element.

    otypes: the dtype of the result, or a sequence of them where f returns a tuple; as for `np.vectorize`.
    excluded: positions and names of arguments that are handed on whole.
    compiler: what compiles the callable.
    An element of bools, int64, float64, complex128 or text comes to f as a Python value (as `np.vectorize`
    passes it), one of another dtype as a NumPy scalar.  A result has the dtype that holds all results, not
    that of the first: what `np.array` makes of the list of them.  Where there are no elements it is the
    one that holds whatever f may return.

    >>> vectorize(lambda a, b: a if a > b else -b)(np.array([1, 5]), 3)
    array([-3,  5])
    """
    return Vectorized(f, otypes, excluded, compiler)


def _dtypes(otypes: Any) -> tuple[np.dtype[Any], ...]:
    """The dtypes that were wished for."""
    if otypes is None:
        return ()
    if isinstance(otypes, str) and set(otypes) <= set(np.typecodes["All"]):
        otypes = list(otypes)
    elif isinstance(otypes, (str, type, np.dtype)):
        otypes = [otypes]
    kinds = tuple(map(np.dtype, otypes))
    return tuple(np.dtype(t.char) if t.kind in "US" else t for t in kinds)  # texts as long as they are


class _Rows:
    """Results element by element, as Python has them."""

    def __init__(self, dtypes: tuple[Any, ...]) -> None:
        self.dtypes = dtypes
        self.structure: tree.Structure | None = None
        self.rows: list[Row] = []

    def add(self, y: Any) -> None:
        """The result for one element."""
        leaves, structure = tree.flatten(y)
        if self.structure is not None and structure != self.structure:
            raise _other_structure(structure, self.structure)
        self.structure = structure
        self.rows.append(tuple(leaves))

    def result(self, count: int, shape: tuple[int, ...]) -> Any:
        """The arrays, in the structure of the results."""
        if self.structure is None or not count:
            return _nothing(self.dtypes, shape)
        _check(self.dtypes, len(self.rows[0]))
        made = [shaped(c, shape) for c in columns(self.rows, self.dtypes)]
        return tree.unflatten(self.structure, made)


def _other_structure(now: tree.Structure, before: tree.Structure) -> ValueError:
    return ValueError(f"one element gives {tree.shown(now)}, the ones before it {tree.shown(before)}")


def gathered(results: list[Any], dtypes: tuple[Any, ...], count: int, shape: tuple[int, ...]) -> Any:
    """The arrays of results in a list."""
    if results and all(map(is_number, set(map(type, results)))):
        _check(dtypes, 1)
        return shaped(column(results, *dtypes), shape)
    rows = _Rows(dtypes)
    for y in results:
        rows.add(y)
    return rows.result(count, shape)


def _nothing(dtypes: tuple[Any, ...], shape: tuple[int, ...]) -> Any:
    """The results for no elements, where only their dtypes are known."""
    if not dtypes:
        columns([])
    made = tuple(np.empty(shape, dtype) for dtype in dtypes)
    return made[0] if len(made) == 1 else made


def _check(dtypes: tuple[Any, ...], count: int) -> None:
    if dtypes and len(dtypes) != count:
        raise ValueError(f"otypes has {len(dtypes)} entries, the function returns {count} values")


def _followed(one: Callable[..., Any], args: list[Any]) -> Any:
    """The results where a derivative is being followed: elements of what is followed stay that."""
    args = [x.value if isinstance(x, Variable) else x for x in args]
    shape = np.broadcast_shapes(*map(np.shape, args))
    flat = [np.broadcast_to(x if followed(x) else plain_array(x), shape).reshape(-1) for x in args]
    columns = [x if followed(x) else values(x) for x in flat]
    made = map_fn(lambda k: one([x[int(k)] for x in columns]), np.arange(math.prod(shape)))
    return tree.map_leaves(lambda x: x.reshape((*shape, *x.shape[1:])), made)


def followed(x: Any) -> bool:
    """Whether a derivative follows a value."""
    return bool(getattr(type(x), "is_box", False))


class _Traced:
    """A call in a trace: the loop over the elements, recorded."""

    def __init__(
        self, trace: Trace, one: Callable[..., Any], args: list[Any], dtypes: tuple[Any, ...]
    ) -> None:
        self.trace, self.one, self.dtypes = trace, one, dtypes
        arrays = [_array_type(trace.type_of(x)) for x in args]
        known = all(isinstance(t, ArrayType) for t in arrays)
        dims = _broadcast([t.shape for t in arrays if isinstance(t, ArrayType)]) if known else None
        size = None if dims is None or None in dims else int(np.prod(dims, dtype=np.int64))  # type: ignore[arg-type]
        flat = [ArrayType(t.dtype, (size,)) if isinstance(t, ArrayType) else OBJECT for t in arrays]
        self.kinds = [element_type(t.dtype) if isinstance(t, ArrayType) else OBJECT for t in flat]
        self.dims, self.size = dims, size
        parts = at_run_time(broadcast, args, tuple_of([*flat, WEAK_INT, OBJECT]))
        *self.flat, self.count, self.shape = parts
        self.start = trace.mark()
        self.structure: tree.Structure | None = None
        self.types: list[Type] = []

    # ------------------------------------------------------------------ what the function returns
    def result(self) -> Any:
        """The trace value of the results."""
        made = self._tried()
        if self._writes():
            self.trace.rollback(self.start)
            self._forget()
            self.flat = [x.copy() if self.trace.type_of(x) != OBJECT else x for x in self.flat]
            made = self._tried()
        return made

    def _writes(self) -> bool:
        """Whether the function writes into arrays: they may be the ones whose elements it is called with, all
        of which are taken out before the first call."""
        start = self.start[1].nodes
        outs = {out for node in self.trace.builder.nodes[start:] for out in node.outputs}
        for loop_node in (n for n in self.trace.builder.nodes[start:] if n.op == "for"):
            (body, *_), given = loop_node.regions, loop_node.inputs[1:]
            own = {p for p, x in zip(body.params[1:], given, strict=True) if x in outs}
            writes = (n for n in all_nodes(body) if n.op == "setitem" or n.op in IN_PLACE)
            if any(isinstance(n.inputs[0].type, ArrayType) and n.inputs[0] not in own for n in writes):
                return True
        return False

    def _tried(self) -> Any:
        mark = self.trace.mark()
        try:
            self._look()
            self.trace.rollback(mark)
            for _ in range(_ROUNDS):
                before = list(self.types)
                if self.structure is None or None in map(self._column, self._columns()):
                    return self._in_list()
                made = self._in_place(before)
                if self.types == before:
                    return made
                self.trace.rollback(mark)
            return self._in_list()
        except _Unknown:
            self.trace.rollback(mark)
            return self._as_they_come()

    def _look(self) -> None:
        """Trace the function once, to see what it returns."""
        with self.trace.region("element") as builder:
            items = [self.trace.wrap(builder.param(t)) for t in self.kinds]
            try:
                self._leaves(self.one(items))
            except Diverged:  # it raises for every element
                self._forget()

    def _leaves(self, y: Any) -> list[Any]:
        """The leaves of one result; what is known of all of them is kept."""
        leaves, structure = tree.flatten(opened(y))
        if any(isinstance(x, Object) and known_class(x) in _CONTAINERS for x in leaves):
            raise _Unknown
        if self.structure is not None and structure != self.structure:
            raise _other_structure(structure, self.structure)
        types = [static_or_weak(self.trace.type_of(x)) for x in leaves]
        self.types = types if self.structure is None else list(map(join, self.types, types))
        self.structure = structure
        return leaves

    def _forget(self) -> None:
        self.structure, self.types = None, []

    def _columns(self) -> list[Type]:
        _check(self.dtypes, len(self.types))
        return self.types

    def _column(self, t: Type) -> tuple[Any, tuple[int, ...]] | None:
        """The dtype of an array for results of this type, and the axes of each; None where it isn't known."""
        dtype = _column_type(t)
        if any(wish.kind in "US" for wish in self.dtypes):  # it depends on the results how long texts are
            return None
        return None if dtype is None else (dtype, ())

    # ------------------------------------------------------------------ the loop
    def _over(self, body: Callable[..., Any], carry: tuple[Any, ...]) -> Any:
        """The loop over the elements; body gets the number of each, the elements at it, and the carry."""
        item = tuple_of([WEAK_INT, *self.kinds])
        source = at_run_time(elements, [self.count, *self.flat], ObjectType(zip, item))
        return loop(source, lambda row, *c: body(row[0], row[1:], *c), carry)

    def _in_place(self, types: list[Type]) -> Any:
        """The results in arrays made beforehand."""
        outs, several = [], []
        for k, t in enumerate(types):
            found = self._column(t)
            assert found is not None
            outs.append(apply(np.empty, (self.count, *found[1]), self.dtypes[k] if self.dtypes else found[0]))
            if isinstance(t, NumberType) and not self.dtypes:
                several.append((k, bits_of(t)))

        def body(i: Any, items: Any, *seen: Any) -> Any:
            leaves = self._leaves(self.one(items))
            for out, leaf in zip(outs, leaves, strict=True):
                out[i] = leaf
            if self.types != types:  # all of it is traced again
                return seen[0] if len(seen) == 1 else seen
            after = [
                was | at_run_time(kind_of, [leaves[k], Const(bits)], WEAK_INT)
                for was, (k, bits) in zip(seen, several, strict=True)
            ]
            return after[0] if len(after) == 1 else tuple(after)

        seen = self._over(body, (0,) * len(several))
        seen = (seen,) if len(several) == 1 else seen
        for found, (k, bits) in zip(seen, several, strict=True):
            outs[k] = at_run_time(settled, [outs[k], found, Const(bits)])
        return self._finished([self._shaped(x) for x in outs])

    def _in_list(self) -> Any:
        """The results in a list, of which arrays are made in the end."""
        self._forget()
        rows = new_list()

        def body(_: Any, items: Any) -> None:
            rows.append(tuple(self._leaves(self.one(items))))

        self._over(body, ())
        if self.structure is None:
            return at_run_time(_nothing, [Const(self.dtypes), self.shape])
        self._columns()
        made = at_run_time(columns, [rows, Const(self.dtypes)], tuple_of([OBJECT] * len(self.types)))
        return self._finished([self._shaped(x) for x in made])

    def _as_they_come(self) -> Any:
        """The results in a list, gone through at run time, as it is not known what they are made of."""
        rows = new_list()

        def body(_: Any, items: Any) -> None:
            rows.append(self.one(items))

        self._over(body, ())
        return at_run_time(gathered, [rows, Const(self.dtypes), self.count, self.shape])

    def _shaped(self, x: Any) -> Any:
        """A column with the axes of the arguments."""
        t, claim = self.trace.type_of(x), OBJECT
        if isinstance(t, ArrayType) and self.dims is not None:
            return at_run_time(shaped, [x, self.shape], ArrayType(t.dtype, self.dims))
        return at_run_time(shaped, [x, self.shape], claim)

    def _finished(self, leaves: list[Any]) -> Any:
        assert self.structure is not None
        return closed(tree.unflatten(self.structure, leaves))


class Rows(_Traced):
    """A loop over the items along the first axis of arrays, recorded.  kinds: the types of the items."""

    def __init__(
        self, trace: Trace, one: Callable[..., Any], args: list[Any], kinds: Sequence[Type], count: Any
    ) -> None:
        self.trace, self.one, self.dtypes = trace, one, ()
        self.start = trace.mark()
        self.kinds, self.flat, self.count = list(kinds), args, count
        self.structure, self.types = None, []

    def _writes(self) -> bool:
        """No: an item is what lies there when its turn comes."""
        return False

    def _over(self, body: Callable[..., Any], carry: tuple[Any, ...]) -> Any:
        return loop(
            apply(range, self.count), lambda i, *c: body(i, tuple(x[i] for x in self.flat), *c), carry
        )

    def _column(self, t: Type) -> tuple[Any, tuple[int, ...]] | None:
        shape = t.shape if isinstance(t, ArrayType) and t.dtype.kind in "biufc" else None
        if isinstance(t, ArrayType) and shape is not None and None not in shape:
            return native(t.dtype), shape  # type: ignore[return-value]
        return super()._column(t)

    def _as_they_come(self) -> Any:
        return None

    def _in_list(self) -> Any:
        """None: it is for others to do, where what comes out is not known beforehand."""
        return None

    def _shaped(self, x: Any) -> Any:
        return x


def _array_type(t: Type) -> Type:
    """The type of an argument as an array, as far as it is known."""
    t = static_or_weak(t)
    if isinstance(t, WeakType):
        return ArrayType(np.dtype(next(cls for cls, weak in WEAK_OF.items() if weak == t)), ())
    if isinstance(t, ArrayType) and t.device == "cpu" and t.dtype.kind in "biufcUS":
        return ArrayType(native(t.dtype), t.shape)
    return OBJECT


def _broadcast(
    shapes: list[tuple[int | None, ...] | None],
) -> tuple[int | None, ...] | None:
    """The shape of arrays broadcast against each other, as far as it is known; None for unknown rank."""
    if any(shape is None for shape in shapes):
        return None
    known = [shape for shape in shapes if shape is not None]
    rank = max(map(len, known))
    out: list[int | None] = []
    for axis in range(rank):
        sizes = {s[axis - rank + len(s)] for s in known if axis - rank + len(s) >= 0} - {1}
        out.append(next(iter(sizes)) if len(sizes) == 1 else None if sizes else 1)
    return tuple(out)


def _column_type(t: Type) -> Any:
    """The dtype of an array that can hold results of this type; None for what takes more than a number."""
    if isinstance(t, StaticType):
        t = static_or_weak(t)
    if isinstance(t, NumberType):
        return common(bits_of(t))
    if isinstance(t, WeakType):
        return np.dtype(next(cls for cls, weak in WEAK_OF.items() if weak == t))
    return native(t.dtype) if isinstance(t, ArrayType) and t.scalar and t.dtype.kind in "biufc" else None


__all__ = ["Batched", "Compiler", "Rows", "Vectorized", "vectorize"]
