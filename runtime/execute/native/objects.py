"""Results as Python objects: numbers are boxed, tuples, lists and dicts made; arrays are there already.

In: the template of what a kernel returns, and where it stored the holes.  Out: code that makes the object.
What always holds: each part of a result is a new reference.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence

from runtime.execute.native.array_lists import COUNT_AT, ITEMS_AT, cells
from runtime.execute.native.emit import Emitter
from runtime.execute.native.kinds import PYTHON_BOOL, PYTHON_INT, Members, Scalar
from runtime.execute.native.values import (
    Arr,
    ArrayList,
    Keyed,
    Listing,
    Lists,
    Maybe,
    Mixed,
    Nested,
    Num,
    Shared,
    Static,
    Table,
    Tup,
    Val,
    view,
)


class Objects:
    """objects: Python objects that the code refers to, by symbol.  symbol: a reference to one of the others.
    out: where the kernel stored what it returns."""

    def __init__(
        self, e: Emitter, objects: Mapping[str, object], symbol: Callable[[str], str], out: str
    ) -> None:
        self.e, self.objects, self.symbol, self.out = e, objects, symbol, out

    def field(self, base: str, offset: int, llvm: str) -> str:
        """A field of a struct."""
        at = self.e.op(f"getelementptr i8, ptr {base}, i64 {offset}")
        return self.e.op(f"load {llvm}, ptr {at}")

    def hole(self, slots: Iterator[int]) -> str:
        """The address of the next part of what was returned."""
        return self.e.op(f"getelementptr [2 x i64], ptr {self.out}, i64 {next(slots)}")

    def build(self, shape: Val, slots: Iterator[int]) -> str:
        """A new reference to the result as an object."""
        e = self.e
        if isinstance(shape, Tup):
            made = e.effect(f"call ptr @PyTuple_New(i64 {len(shape.items)})")
            for k, item in enumerate(shape.items):
                e.line(f"call i32 @PyTuple_SetItem(ptr {made}, i64 {k}, ptr {self.build(item, slots)})")
            return made
        if isinstance(shape, Static):
            name = next(k for k, v in self.objects.items() if v is shape.value)
            return self.reference(f"@{name}")
        if isinstance(shape, Maybe):
            return self.or_none(shape, slots)
        if isinstance(shape, Shared):
            handle = e.effect(f"load ptr, ptr {self.hole(slots)}")
            return self.once(dataclasses.replace(shape, handle=handle))
        if isinstance(shape, (Listing, Table, Mixed, Nested)):
            return self.build_list(*self.items(shape, slots))
        if isinstance(shape, Keyed):
            return self.keyed(shape, slots)
        if isinstance(shape, (Arr, ArrayList)):
            return self.reference(e.effect(f"load ptr, ptr {self.hole(slots)}"))
        assert isinstance(shape, Num)
        return self.number(shape, slots)()

    def number(self, shape: Num, slots: Iterator[int]) -> Callable[[], str]:
        """What makes an object of the next number."""
        at = self.hole(slots)
        if len(shape.members) == 1:
            return lambda: self.box(shape.scalar, at)
        tag_at = self.hole(slots)
        return lambda: self.box_either(shape.members, at, self.e.effect(f"load i8, ptr {tag_at}"))

    def or_none(self, shape: Maybe, slots: Iterator[int]) -> str:
        """A number as an object, or None."""
        e = self.e
        assert isinstance(shape.number, Num) and shape.none
        make = self.number(shape.number, slots)
        valid = e.effect(f"icmp ne i8 {e.effect(f'load i8, ptr {self.hole(slots)}')}, 0")
        given, none, out = e.block("given"), e.block("none"), e.block("either")
        phi = e.phi(out, "ptr")
        e.branch(valid, given, none)
        for block, what in ((given, make), (none, lambda: self.build(Static(None), slots))):
            e.start(block)
            with e.scope():
                phi.ways.append((what(), e.here.label))
                e.jump(out)
        e.start(out)
        return phi.name

    def items(self, x: Lists, slots: Iterator[int]) -> tuple[str, Callable[[str], str]]:
        """How many items a list has, and what makes an object of one."""
        e = self.e
        if isinstance(x, Table):
            parts = [self.items(column, slots) for column in x.columns]

            def row(k: str) -> str:
                made = e.effect(f"call ptr @PyTuple_New(i64 {len(parts)})")
                for at, (_, part) in enumerate(parts):
                    e.line(f"call i32 @PyTuple_SetItem(ptr {made}, i64 {at}, ptr {part(k)})")
                return made

            return parts[0][0], row

        if isinstance(x, Mixed) and isinstance(x.payloads, Nested):
            return self.lists_of_two_kinds(x.members, [self.hole(slots) for _ in range(2)])
        if isinstance(x, Mixed):
            assert not isinstance(x.payloads, Nested) and not isinstance(x.tags, Nested)
            (n, payload), (_, tag) = (self.places(part, slots) for part in (x.payloads, x.tags))
            return n, lambda k: self.box_either(x.members, payload(k), e.effect(f"load i8, ptr {tag(k)}"))
        if isinstance(x, (Listing, Shared)):
            n, place = self.places(x, slots)
            kind = x.kind
            assert kind is not None
            return n, lambda k: self.box(kind, place(k))
        at = self.hole(slots)
        found = e.effect(f"load ptr, ptr {at}")
        if isinstance(x, Nested):
            return self.lists(x, found)
        held = self.field(found, ITEMS_AT, "ptr")

        def array(k: str) -> str:
            place = e.effect(f"getelementptr ptr, ptr {held}, i64 {k}")
            return self.reference(e.effect(f"load ptr, ptr {place}"))

        return self.field(found, COUNT_AT, "i64"), array

    def keyed(self, x: Keyed, slots: Iterator[int]) -> str:
        """A dict or set."""
        e = self.e
        columns = [self.items(column, slots) for column in x.columns if column is not x.alive]
        there = None if x.alive is None else self.places(x.alive, slots)[1]
        new = "PySet_New(ptr null)" if x.values is None else "PyDict_New()"
        made = e.effect(f"call ptr @{new}")
        put = "PySet_Add" if x.values is None else "PyDict_SetItem"
        with self.each(columns[0][0]) as k:
            on = e.block("next")
            if there is not None:
                inside = e.block("there")
                e.branch(e.effect(f"icmp ne i8 {e.effect(f'load i8, ptr {there(k)}')}, 0"), inside, on)
                e.start(inside)
            found = [item(k) for _, item in columns]
            given = ", ".join(f"ptr {x}" for x in (made, *found))
            e.line(f"call i32 @{put}({given})")
            for obj in found:
                e.line(f"call void @Py_DecRef(ptr {obj})")
            e.jump(on)
            e.start(on)
        return made

    def lists(self, x: Nested, found: str) -> tuple[str, Callable[[str], str]]:
        """How many lists are in a list, and what makes an object of one."""
        e, kind = self.e, x.kind
        assert kind is not None
        held = self.field(found, ITEMS_AT, "ptr")

        def row(k: str) -> str:
            place = e.effect(f"getelementptr ptr, ptr {held}, i64 {k}")
            return self.once(Shared(e.effect(f"load ptr, ptr {place}"), kind, frozenset(), 0, 0))

        return self.field(found, COUNT_AT, "i64"), row

    def lists_of_two_kinds(self, members: Members, at: Sequence[str]) -> tuple[str, Callable[[str], str]]:
        """The same of lists of numbers of two kinds: payloads and tags are at these addresses."""
        e = self.e
        found = [e.effect(f"load ptr, ptr {place}") for place in at]
        held = [self.field(of, ITEMS_AT, "ptr") for of in found]

        def row(k: str) -> str:
            places = [e.effect(f"getelementptr ptr, ptr {of}, i64 {k}") for of in held]
            payload, tag = (e.effect(f"load ptr, ptr {place}") for place in places)
            tags = cells(e, Shared(tag, PYTHON_BOOL, frozenset(), 0, 0)).data

            def number(data: str, i: str) -> str:
                first = e.effect(f"load ptr, ptr {tags}")
                which = e.effect(f"load i8, ptr {e.effect(f'getelementptr i8, ptr {first}, i64 {i}')}")
                return self.box_either(members, e.effect(f"getelementptr i64, ptr {data}, i64 {i}"), which)

            return self.once(Shared(payload, PYTHON_INT, frozenset(), 0, 0), number)

        return self.field(found[0], COUNT_AT, "i64"), row

    def once(self, x: Shared, number: Callable[[str, str], str] | None = None) -> str:
        """What a list is handed back as: the same object each time.

        number: makes an object of one of its numbers, from the address of the first one and its place.
        """
        e, kind = self.e, x.kind
        made = cells(e, x)
        cell = e.effect(f"getelementptr i8, ptr {made.length}, i64 24")
        before = e.effect(f"load ptr, ptr {cell}")
        new, old, out = e.block("new"), e.block("old"), e.block("once")
        phi = e.phi(out, "ptr")
        e.branch(e.effect(f"icmp eq ptr {before}, null"), new, old)
        e.start(old)
        phi.ways.append((self.reference(before), e.here.label))
        e.jump(out)
        e.start(new)
        with e.scope():
            n, data = e.effect(f"load i64, ptr {made.length}"), e.effect(f"load ptr, ptr {made.data}")

            def of_one_kind(first: str, k: str) -> str:
                offset = e.effect(f"mul i64 {k}, {kind.dtype.itemsize}")
                return self.box(kind, e.effect(f"getelementptr i8, ptr {first}, i64 {offset}"))

            make = number or of_one_kind
            listed = self.build_list(n, lambda k: make(data, k))
            e.line(f"store ptr {listed}, ptr {cell}")
            phi.ways.append((listed, e.here.label))
            e.jump(out)
        e.start(out)
        return phi.name

    def places(self, x: Listing | Shared, slots: Iterator[int]) -> tuple[str, Callable[[str], str]]:
        """How many numbers a list has, and where each of them is."""
        e = self.e

        if isinstance(x, Shared):
            made = cells(e, dataclasses.replace(x, handle=e.effect(f"load ptr, ptr {self.hole(slots)}")))
            n, data = e.effect(f"load i64, ptr {made.length}"), e.effect(f"load ptr, ptr {made.data}")
        else:
            n, data = (e.effect(f"load {llvm}, ptr {self.hole(slots)}") for llvm in ("i64", "ptr"))
        kind = x.kind
        assert kind is not None
        size = kind.dtype.itemsize
        return n, lambda k: e.effect(f"getelementptr i8, ptr {data}, i64 {e.effect(f'mul i64 {k}, {size}')}")

    def build_list(self, n: str, item: Callable[[str], str]) -> str:
        """A Python list of so many items."""
        e = self.e
        made = e.effect(f"call ptr @PyList_New(i64 {n})")
        with self.each(n) as k:
            e.line(f"call i32 @PyList_SetItem(ptr {made}, i64 {k}, ptr {item(k)})")
        return made

    @contextlib.contextmanager
    def each(self, n: str) -> Iterator[str]:
        """A loop over so many items: the number of the trip."""
        e = self.e
        before, head, body, out = e.here, e.block("items"), e.block("item"), e.block("listed")
        e.jump(head)
        e.start(head)
        k = e.phi(head, "i64")
        k.ways.append(("0", before.label))
        e.branch(e.effect(f"icmp ult i64 {k.name}, {n}"), body, out)
        e.start(body)
        yield k.name
        k.ways.append((e.effect(f"add nuw nsw i64 {k.name}, 1"), e.here.label))
        e.jump(head)
        e.start(out)

    def reference(self, obj: str) -> str:
        """A new reference."""
        self.e.line(f"call void @Py_IncRef(ptr {obj})")
        return obj

    def box(self, kind: Scalar, at: str) -> str:
        """The number at an address as an object."""
        e = self.e
        if not kind.weak:
            descr = self.symbol(f"autograph_descr_{kind.dtype.num}")
            return e.effect(f"call ptr @autograph_PyArray_Scalar(ptr {at}, ptr {descr}, ptr null)")
        if kind.kind == "b":
            yes = e.effect(f"icmp ne i8 {e.effect(f'load i8, ptr {at}')}, 0")
            return self.reference(e.select(yes, "ptr", "@autograph_True", "@autograph_False"))
        if kind.kind == "i":
            return e.effect(f"call ptr @PyLong_FromLongLong(i64 {e.effect(f'load i64, ptr {at}')})")
        if kind.kind == "u":
            return e.effect(f"call ptr @PyLong_FromUnsignedLongLong(i64 {e.effect(f'load i64, ptr {at}')})")
        value = e.effect(f"load double, ptr {at}")
        if kind.kind == "c":
            imaginary = self.field(at, 8, "double")
            return e.effect(f"call ptr @PyComplex_FromDoubles(double {value}, double {imaginary})")
        return e.effect(f"call ptr @PyFloat_FromDouble(double {value})")

    def box_either(self, members: Members, at: str, tag: str) -> str:
        """A number of one of two kinds as an object."""
        e = self.e
        both = Num(members, "", "")
        held = both.llvm
        blocks, out = [e.block("first"), e.block("second")], e.block("boxed")
        phi = e.phi(out, "ptr")
        e.branch(e.effect(f"icmp ne i8 {tag}, 0"), *blocks)
        for block, kind in zip(blocks, members, strict=True):
            e.start(block)
            with e.scope():
                text = e.effect(f"load {'i8' if held == 'i1' else held}, ptr {at}")
                if held == "i1":
                    text = e.op(f"icmp ne i8 {text}, 0")
                found = view(e, dataclasses.replace(both, text=text), kind)
                cell = e.slot("i64")
                if found.llvm == "i1":
                    e.line(f"store i8 {e.op(f'zext i1 {found.text} to i8')}, ptr {cell}")
                else:
                    e.line(f"store {found.llvm} {found.text}, ptr {cell}")
                phi.ways.append((self.box(found.scalar, cell), e.here.label))
                e.jump(out)
        e.start(out)
        return phi.name
