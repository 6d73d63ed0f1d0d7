"""When a trace serves a call, as a list of checks that the dispatcher runs.

In: a signature and guards.  Out: `checks_of`: words for the machine code (see `check_ir`) and what they
point to, or None where some condition can't be expressed; then Python tests the trace.
What always holds: checks that hold mean that the test in Python would hold as well; the reverse need not be
so: what looks different but is equal is left to Python.
"""

from __future__ import annotations

import ctypes
import types as _types
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from runtime.boxes import Cell
from runtime.computed import computed
from runtime.dataclass import dataclass
from runtime.function.signature import Signature
from runtime.lazy import Lazy
from runtime.trace.record import BUILTINS, Guard
from runtime.types import ArrayType, FunctionOf, ObjectType, StaticType, TupleType, Type, WeakType

if TYPE_CHECKING:
    from runtime.execute.native import check_ir as ir
    from runtime.execute.native import dispatcher
else:
    ir = Lazy("runtime.execute.native.check_ir")
    dispatcher = Lazy("runtime.execute.native.dispatcher")

MOST_ARGUMENTS = 32
_WEAK: dict[str, type] = {"bool": bool, "int": int, "float": float, "complex": complex}
_PLAIN: tuple[type, ...] = (int, str, bytes)
_MODULE_FIELDS = frozenset(dir(_types.ModuleType))


class _Inexpressible(Exception):
    """A condition that the dispatcher has no check for."""


Line = tuple[int, int, int, int, int]


@dataclass(frozen=True)
class Checks:
    """lines: number, register and three words of each; keep: what they point to."""

    lines: tuple[Line, ...] = ()
    keep: tuple[Any, ...] = ()

    @computed
    def words(self) -> Any:
        """The lines in memory."""
        flat = [word for line in self.lines for word in line]
        return (ctypes.c_int64 * max(len(flat), 1))(*flat)

    def and_all(self, code: int, registers: Sequence[int], a: int = 0) -> Checks:
        """These checks, and one more for each of some registers."""
        return Checks((*self.lines, *[(code, r, a, 0, 0) for r in registers]), self.keep)


NO_CHECKS = Checks()
INEXPRESSIBLE = Checks(keep=("no checks",))  # kept in place of checks, so that they are not looked for again


@dataclass
class _Seen:
    """A value on the way of a guard: in a register, or an object that the checks before have made sure of."""

    register: int = -1
    known: Any = None

    @property
    def pinned(self) -> bool:
        """Whether it is the object `known`."""
        return self.register < 0


class _Writer:
    """Collects the checks of one trace."""

    def __init__(self, arguments: int) -> None:
        self.rows: list[Line] = []
        self.by_version: dict[int, list[Line]] = {}  # by the address of a version: they hold while it stays
        self.unversioned: set[int] = set()
        self.keep: list[Any] = []
        self.registers = arguments
        self.places: dict[Any, _Seen] = {}

    def add(self, code: int, r: int = 0, a: int = 0, b: int = 0, c: int = 0) -> None:
        """One check."""
        self.rows.append((code, r, a, b, c))

    def at(self, value: Any) -> int:
        """The address of an object, which stays alive."""
        self.keep.append(value)
        return id(value)

    def fresh(self) -> int:
        """A new register."""
        self.registers += 1
        if self.registers > ir.REGISTERS:
            raise _Inexpressible
        return self.registers - 1

    def words(self, *values: int) -> int:
        """The address of words in memory."""
        made = (ctypes.c_int64 * len(values))(*values)
        self.keep.append(made)
        return ctypes.addressof(made)

    # ------------------------------------------------------------------ types
    def value(self, t: Type, r: int, guarded: bool = False) -> None:
        """Checks that register `r` holds a value of type `t`."""
        if isinstance(t, ArrayType):
            self.array(t, r)
        elif isinstance(t, StaticType):
            self.static(t.value, r)
        elif isinstance(t, WeakType):
            self.add(ir.CLASS, r, self.at(_WEAK[t.kind]))
        elif isinstance(t, TupleType):
            self.add(ir.TUPLE, r, self.at(t.cls), len(t.items))
            for i, item in enumerate(t.items):
                self.item(item, r, i)
        elif not isinstance(t, ObjectType):
            raise _Inexpressible
        elif isinstance(t, FunctionOf):
            self.add(ir.CLASS, r, self.at(t.cls))
            for name, value in (("__code__", t.code), ("__globals__", t.space)):
                held = self.fresh()
                self.add(ir.ATTRIBUTE, held, self.at(name), r)
                self.add(ir.SAME, held, self.at(value))
        elif t.cls is np.ndarray and not guarded:  # an array of numbers has a more precise type
            self.add(ir.ARRAY, r, self.at(np.dtype(object)), -1)
        elif t.cls is not None:
            self.add(ir.CLASS, r, self.at(t.cls))

    def item(self, t: Type, r: int, index: int) -> None:
        """Checks for an item of the tuple in register `r`."""
        inner = self.fresh()
        self.add(ir.ITEM, inner, index, r)
        self.value(t, inner)

    def array(self, t: ArrayType, r: int) -> None:
        """An ndarray or a NumPy scalar."""
        if t.device != "cpu" or t.dtype.kind in "UST" or (t.scalar and t.dtype.kind not in "biufc"):
            raise _Inexpressible
        if t.scalar:
            self.add(ir.CLASS, r, self.at(t.dtype.type))
            return
        descr = self.at(t.dtype)
        if t.shape is None:
            self.add(ir.ARRAY, r, descr, -1)
        elif all(n is None for n in t.shape):
            self.add(ir.ARRAY, r, descr, len(t.shape))
        else:
            sizes = self.words(*[-1 if n is None else n for n in t.shape])
            self.add(ir.ARRAY, r, descr, len(t.shape), sizes)

    def static(self, value: Any, r: int) -> None:
        """One value: by identity, but for plain values that are made anew all the time."""
        cls = type(value)
        if cls in _PLAIN:
            self.add(ir.CLASS, r, self.at(cls))
            self.add(ir.EQUAL, r, self.at(value))
        elif cls is float:
            self.add(ir.CLASS, r, self.at(cls))
            self.add(ir.BITS, r, ctypes.c_int64.from_buffer(ctypes.c_double(value)).value)
        elif cls is tuple:
            self.add(ir.TUPLE, r, self.at(cls), len(value))
            for i, item in enumerate(value):
                self.item(StaticType(item), r, i)
        else:
            self.add(ir.SAME, r, self.at(value))

    # ------------------------------------------------------------------ guards
    def guard(self, guard: Guard) -> None:
        """Checks that a guard holds."""
        path, expect = guard.path, guard.expect
        seen = _Seen(path.root) if isinstance(path.root, int) else _Seen(known=path.root[0])
        way: tuple[Any, ...] = (path.root if isinstance(path.root, int) else ("object", id(path.root[0])),)
        for step in path.steps[:-1]:
            way = (*way, (step[0], type(step[1]), step[1]))
            if way not in self.places:
                self.places[way] = self.step(seen, step)
            seen = self.places[way]
        if path.steps:
            self.last(seen, path.steps[-1], expect)
        elif seen.pinned:
            self.value(expect, self.constant(seen.known), guarded=True)
        else:
            self.value(expect, seen.register, guarded=True)

    def constant(self, value: Any) -> int:
        """A register that holds an object."""
        r = self.fresh()
        self.add(ir.LOAD, r, self.words(self.at(value)))
        return r

    def step(self, seen: _Seen, step: tuple[str, Any]) -> _Seen:
        """What a step leads to: made sure of, where it can be known without running the user's code."""
        kind, key = step
        if kind not in ("attr", "item"):
            raise _Inexpressible
        if seen.pinned:
            space, name = self.space(seen.known, kind, key)
            if space is not None and name in space:
                value = space[name]
                if isinstance(value, (_types.ModuleType, _types.FunctionType, dict)):
                    self.found(space, name, value)
                    return _Seen(known=value)
                r = self.fresh()
                self.add(ir.LOOKUP, r, self.at(space), self.at(name))
                return _Seen(r)
            field = self.field(seen.known, kind, key)
            if field:
                return self.behind(field, seen.known, key)
            if type(seen.known) is tuple and kind == "item" and type(key) is int:
                if key >= len(seen.known):  # there are fewer by now, so that the guard doesn't hold
                    raise _Inexpressible
                return _Seen(known=seen.known[key])
        r = self.fresh()
        source = self.constant(seen.known) if seen.pinned else seen.register
        self.add(ir.ATTRIBUTE if kind == "attr" else ir.SUBSCRIPT, r, self.at(key), source)
        return _Seen(r)

    def behind(self, field: int, known: Any, key: str) -> _Seen:
        """What the word at an address points to, where a known object keeps an attribute."""
        if type(known) is _types.FunctionType:
            value = getattr(known, key)
            if type(value) in (dict, tuple):  # its defaults, its globals
                self.add(ir.MEMORY, 0, field, self.at(value))
                return _Seen(known=value)
        r = self.fresh()
        self.add(ir.LOAD, r, field)
        return _Seen(r)

    def space(self, known: Any, kind: str, key: Any) -> tuple[dict[Any, Any] | None, Any]:
        """The dict, and the key in it, that a step of a known object reads."""
        if kind == "item" and type(known) is dict and type(key) is str:
            return known, key
        if kind == "attr" and type(known) is _types.ModuleType and key not in _MODULE_FIELDS:
            return known.__dict__, key
        return None, None

    def field(self, known: Any, kind: str, key: Any) -> int:
        """The address where a known object keeps what a step reads; 0 if there is no such place."""
        if kind != "attr":
            return 0
        if type(known) is Cell and key == "value":
            known, key = known.cell, "cell_contents"
        if type(known) is _types.CellType and key == "cell_contents":
            return self.at(known) + dispatcher.CELL_AT
        if type(known) is _types.FunctionType and key in dispatcher.function_fields():
            return self.at(known) + dispatcher.function_fields()[key]
        return 0

    def found(self, space: dict[Any, Any], name: Any, value: Any) -> None:
        """A check that an item of a dict is this object."""
        self.of_dict(space).append((ir.FOUND, 0, id(space), self.at(name), self.at(value)))

    def of_dict(self, space: dict[Any, Any]) -> list[Line]:
        """The checks that hold as long as a dict is not changed."""
        return self.of_version(self.at(space), dispatcher.version_at())

    def of_version(self, address: int, offset: int) -> list[Line]:
        """The checks that hold while a version stays as it is; offset: 0 where there is none."""
        if not offset:
            self.unversioned.add(address)
        return self.by_version.setdefault(address + offset, [])

    def last(self, seen: _Seen, step: tuple[str, Any], expect: Type) -> None:
        """The last step of a guard, and what must be there."""
        kind, key = step
        if kind == "special":
            if not seen.pinned or not isinstance(seen.known, type) or not isinstance(expect, StaticType):
                raise _Inexpressible
            checks = self.of_version(self.at(seen.known), dispatcher.tag_at())
            checks.append((ir.SPECIAL, 0, id(seen.known), self.at(key), self.at(expect.value)))
            return
        if kind == "global":
            if not seen.pinned or type(seen.known) is not dict or not isinstance(expect, StaticType):
                raise _Inexpressible
            self.of_dict(seen.known).append((ir.LACKING, 0, id(seen.known), self.at(key), 0))
            self.found(BUILTINS, key, expect.value)
            return
        if kind in ("keys", "apart"):
            raise _Inexpressible
        if kind == "len":
            if not isinstance(expect, StaticType) or type(expect.value) is not int:
                raise _Inexpressible
            r = self.constant(seen.known) if seen.pinned else seen.register
            self.add(ir.LENGTH, r, expect.value)
            return
        if seen.pinned and isinstance(expect, StaticType):
            space, name = self.space(seen.known, kind, key)
            if space is not None:
                self.in_space(space, name, expect)
                return
            field = self.field(seen.known, kind, key)
            if field and type(expect.value) not in (*_PLAIN, float, tuple):
                self.add(ir.MEMORY, 0, field, self.at(expect.value))
                return
        found = self.step(seen, step)
        self.value(expect, self.constant(found.known) if found.pinned else found.register, guarded=True)

    def in_space(self, space: dict[Any, Any], name: Any, expect: StaticType) -> None:
        """An item of a dict that must be this value."""
        if type(expect.value) not in (*_PLAIN, float, tuple):
            self.found(space, name, expect.value)
            return
        outer, self.rows = self.rows, []
        r = self.fresh()
        self.add(ir.LOOKUP, r, self.at(space), self.at(name))
        self.static(expect.value, r)
        self.of_dict(space).extend(self.rows)
        self.rows = outer

    # ------------------------------------------------------------------ the list
    def finished(self, first: int) -> Checks:
        """All checks in order: the arguments' (`first` rows), those that versions answer for, the rest."""
        rows = self.rows[:first]
        for version, checks in self.by_version.items():
            if version not in self.unversioned:
                slot = self.words(-1)
                rows.append((ir.UNCHANGED, 0, version, slot, len(checks) + 1))
                rows += [*checks, (ir.KEEP, 0, 0, slot, 0)]
            else:
                rows += checks
        wild = {ir.ATTRIBUTE, ir.SUBSCRIPT, ir.LENGTH}
        owning = any(
            row[0] in wild for row in self.rows
        )  # the user's code may run: it may let go of anything
        for row in self.rows[first:]:
            rows.append(row)
            if owning and row[0] in (ir.LOAD, ir.LOOKUP):
                rows.append((ir.OWN, row[1], 0, 0, 0))
        return Checks(tuple(rows), tuple(self.keep))


def checks_of(signature: Signature, guards: tuple[Guard, ...]) -> Checks | None:
    """The checks of a trace; None where they can't say it all."""
    types = signature.types
    if len(types) > MOST_ARGUMENTS:
        return None
    writer = _Writer(len(types))
    try:
        for r, t in enumerate(types):
            writer.value(t, r)
        first = len(writer.rows)
        for guard in guards:
            writer.guard(guard)
        return writer.finished(first)
    except _Inexpressible:
        return None
