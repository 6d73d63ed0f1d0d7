"""Object files into memory: places their sections, resolves their references, makes the code executable.

In: an ELF object file for x86-64 as LLVM writes it (position-independent, small code model), and addresses
by symbol.  Out: `Image`.  What always holds: memory is writable or executable, never both; it is given back
when the last reference to the image's `memory` goes, and not before: that object has no finalizer, so the
garbage collector, which runs the finalizers of a whole group before it takes the group apart, can't take
code away from a function that may still be called.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import struct
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from runtime.dataclass import dataclass
from runtime.execute.native.kinds import Unlowered

PAGE = mmap.PAGESIZE
_ALLOCATED, _WRITABLE, _EXECUTABLE = 2, 1, 4  # flags of a section
_SYMBOLS, _RELOCATIONS, _NO_BITS, _UNWIND = 2, 4, 8, 0x70000001  # kinds of sections
_ABSOLUTE, _UNDEFINED = 0xFFF1, 0
_DIRECT, _RELATIVE, _CALL, _WIDE = 1, 2, 4, 24  # kinds of references: R_X86_64_64, PC32, PLT32, PC64
_INDIRECT = (9, 41, 42)  # GOTPCREL, GOTPCRELX, REX_GOTPCRELX
_LIBRARIES = ("libm.so.6", "libgcc_s.so.1")
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_MACHINE = 62
_JUMP = b"\xff\x25"  # jmp *[rip + distance]
_STUB = 8


class _Section(NamedTuple):
    """A row of the table of sections."""

    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    align: int
    entry: int


class _Symbol(NamedTuple):
    """A row of the table of symbols."""

    name: int
    info: int
    other: int
    section: int
    value: int
    size: int


@dataclass(frozen=True)
class Image:
    """Loaded code.  memory: holds it.  base: where it is.  offsets: of its symbols."""

    memory: mmap.mmap
    base: int
    offsets: Mapping[str, int]

    def address(self, symbol: str) -> int:
        """Where a symbol is; it is there as long as `memory` lives."""
        return self.base + self.offsets[symbol]

    def variable(self, kind: Any, symbol: str) -> Any:
        """A variable of the module as a ctypes object, which keeps the memory."""
        return kind.from_buffer(self.memory, self.offsets[symbol])


def load(data: bytes, addresses: Mapping[str, int]) -> Image:
    """Bring an object file to life; `Unlowered` where it holds what is not understood."""
    try:
        return _Linker(data, addresses).image()
    except (struct.error, IndexError, ValueError, OSError) as error:
        raise Unlowered(f"the machine code can't be loaded ({type(error).__name__}: {error})") from error


class _Linker:
    """One object file on its way into memory."""

    def __init__(self, data: bytes, addresses: Mapping[str, int]) -> None:
        self.data, self.given = data, addresses
        head = _HEADER.unpack_from(data)
        if head[0][:6] != b"\x7fELF\x02\x01" or head[2] != _MACHINE:
            raise ValueError("not an object file for this processor")
        at, size, count = head[6], head[11], head[12]
        row = struct.Struct("<IIQQQQIIQQ")
        self.sections = [_Section(*row.unpack_from(data, at + k * size)) for k in range(count)]
        table = next(s for s in self.sections if s.kind == _SYMBOLS)
        fields = struct.Struct("<IBBHQQ")
        self.symbols = [
            _Symbol(*fields.unpack_from(data, table.offset + k * fields.size))
            for k in range(table.size // fields.size)
        ]
        self.names = self.sections[table.link].offset
        self.places: dict[int, int] = {}  # offset of each section in the image
        self.entries: dict[int | str, int] = {}  # offset of the cell that holds a symbol's address
        self.stubs: dict[int, int] = {}  # offset of the jump to a function that may be far away

    def name(self, symbol: _Symbol) -> str:
        """A symbol's name."""
        at = self.names + symbol.name
        return self.data[at : self.data.index(b"\0", at)].decode()

    def references(self) -> list[tuple[_Section, list[tuple[int, int, int, int]]]]:
        """For each section of the image: (offset, kind, symbol, addend) of what it refers to."""
        row = struct.Struct("<QQq")
        found = []
        for s in self.sections:
            if s.kind == _RELOCATIONS and s.info in self.places:
                rows = [
                    row.unpack_from(self.data, s.offset + k * row.size) for k in range(s.size // row.size)
                ]
                found.append((s, [(at, info & 0xFFFFFFFF, info >> 32, add) for at, info, add in rows]))
        return found

    # ------------------------------------------------------------------ the layout
    def layout(self) -> tuple[int, int]:
        """Place everything: code, constants, jumps | cells, data.  Where the second part begins, and ends."""
        end = self.place(lambda s: bool(s.flags & _EXECUTABLE), 0)
        end = self.place(lambda s: not s.flags & (_EXECUTABLE | _WRITABLE), end)
        writable = [k for k, s in enumerate(self.sections) if self.held(s) and s.flags & _WRITABLE]
        self.places |= dict.fromkeys(writable, 0)  # their references count; their places follow
        far, indirect = set(), set()
        for _, rows in self.references():
            far |= {symbol for _, kind, symbol, _ in rows if kind == _CALL}
            indirect |= {symbol for _, kind, symbol, _ in rows if kind in _INDIRECT}
        far = {k for k in far if self.symbols[k].section == _UNDEFINED}
        for symbol in sorted(far):
            end = _up(end, _STUB)
            self.stubs[symbol] = end
            end += _STUB
        data = end = _up(end, PAGE)
        for symbol in sorted(far | indirect):
            self.entries[symbol] = end
            end += 8
        return data, self.place(lambda s: bool(s.flags & _WRITABLE) and not s.flags & _EXECUTABLE, end)

    @staticmethod
    def held(section: _Section) -> bool:
        """Whether a section is part of the image; tables for unwinding are not."""
        return bool(section.flags & _ALLOCATED) and section.kind != _UNWIND

    def place(self, chosen: Callable[[_Section], bool], end: int) -> int:
        """Give the chosen sections places from `end` on."""
        for k, s in enumerate(self.sections):
            if self.held(s) and chosen(s) and s.size:
                end = _up(end, max(s.align, 1))
                self.places[k] = end
                end += s.size
        return end

    # ------------------------------------------------------------------ the image
    def image(self) -> Image:
        """The loaded code."""
        data, end = self.layout()
        size = _up(max(end, data + 1), PAGE)
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        for k, at in self.places.items():
            s = self.sections[k]
            if s.kind != _NO_BITS:
                memory[at : at + s.size] = self.data[s.offset : s.offset + s.size]
        for symbol, at in self.entries.items():
            struct.pack_into("<Q", memory, at, self.address(self.symbols[int(symbol)], base))
        for symbol, at in self.stubs.items():
            memory[at : at + 2] = _JUMP
            struct.pack_into("<i", memory, at + 2, self.entries[symbol] - (at + 6))
        for s, rows in self.references():
            for offset, kind, symbol, addend in rows:
                self.refer(memory, base, self.places[s.info] + offset, kind, symbol, addend)
        if data and _libc().mprotect(base, data, mmap.PROT_READ | mmap.PROT_EXEC):
            raise OSError(ctypes.get_errno(), "the system does not allow new executable memory")
        offsets = {
            self.name(x): self.places[x.section] + x.value for x in self.symbols if x.section in self.places
        }
        return Image(memory, base, offsets)

    def refer(self, memory: mmap.mmap, base: int, at: int, kind: int, symbol: int, addend: int) -> None:
        """Fill in one reference."""
        if kind in _INDIRECT:
            struct.pack_into("<i", memory, at, self.entries[symbol] + addend - at)
        elif kind == _CALL and symbol in self.stubs:
            struct.pack_into("<i", memory, at, self.stubs[symbol] + addend - at)
        elif kind in (_RELATIVE, _CALL):
            struct.pack_into("<i", memory, at, self.address(self.symbols[symbol], base) + addend - base - at)
        elif kind == _WIDE:
            struct.pack_into("<q", memory, at, self.address(self.symbols[symbol], base) + addend - base - at)
        elif kind == _DIRECT:
            struct.pack_into("<Q", memory, at, self.address(self.symbols[symbol], base) + addend)
        else:
            raise ValueError(f"a reference of kind {kind}")

    def address(self, symbol: _Symbol, base: int) -> int:
        """Where a symbol is: in the image, among the given ones, or in the C libraries."""
        if symbol.section in self.places:
            return base + self.places[symbol.section] + symbol.value
        if symbol.section == _ABSOLUTE:
            return symbol.value
        name = self.name(symbol)
        if symbol.section != _UNDEFINED or not name:
            raise ValueError(f"a symbol of an unknown kind, {name!r}")
        found = self.given.get(name) or _in_libraries(name)
        if not found:
            raise ValueError(f"there is no {name}")
        return found


def _up(n: int, unit: int) -> int:
    return -(-n // unit) * unit


@functools.cache
def _libc() -> Any:
    library = ctypes.CDLL(None, use_errno=True)
    library.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return library


@functools.cache
def _in_libraries(name: str) -> int:
    """The address of a function that the compiler itself calls (memcpy, fmod, ...); 0 if there is none."""
    for library in (None, *_LIBRARIES):
        try:
            return ctypes.cast(getattr(ctypes.CDLL(library), name), ctypes.c_void_p).value or 0
        except (AttributeError, OSError):
            continue
    return 0
