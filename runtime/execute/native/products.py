"""Code of our own for products of matrices of known sizes, where it gives the bits of NumPy's library.

In: sizes and strides.  Out: a function and the lengths of its chains.  What always holds: a function is
handed out only after it gave the library's bits for matrices of these very sizes and strides, on ordinary
and on extreme numbers, with as many threads as the library has; and only where the library is OpenBLAS, in
which the order of additions depends on nothing else.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import math
import mmap
import os

import numpy as np

from runtime import threads as shared
from runtime.dataclass import dataclass
from runtime.execute.native import host, link, llvm_load, panels
from runtime.execute.native.kinds import Scalar, Unlowered
from runtime.execute.native.panels import Product

NEAR = 1 << 19  # bytes of a matrix that stay in the cache while it is gone through again and again
SHARED = 1 << 21  # multiplications from which on a library of several threads is as fast
TRIED = 1 << 28  # multiplications that are not too many to be tried
NUMBERS, APART = 49_999, 4_001  # random numbers for trials, and how many lie between where two matrices begin
_BLOCKS = (192, 224, 240, 256, 320, 352, 384, 448, 512, 640, 768)  # chains of libraries are so long at most
_ROUNDED = (1, 4, 8, 16, 24, 32)  # and the halves of what is left are multiples of these


@dataclass(frozen=True)
class Found:
    """A function, what keeps it in memory, whether it takes b before a, how long its chains are, and the sign
    of the zero that the first of them is added to.

    threads: how many the library had.  units: into how many pieces it may be cut; work: about how many
    nanoseconds all of them take.  by_rows: whether these are rows of the result.  large: whether a library of
    several threads is as fast as one of ours.
    """

    name: str
    address: int
    memory: mmap.mmap
    turned: bool
    lengths: tuple[int, ...]
    zero: float
    threads: int
    units: int
    work: int
    by_rows: bool
    large: bool


# ------------------------------------------------------------------------------------------ the library
@functools.cache
def library_path() -> str | None:
    """The library that NumPy brings along, if it is one that we know."""
    folder = os.path.join(os.path.dirname(os.path.dirname(np.__file__)), "numpy.libs")
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return next((os.path.join(folder, name) for name in names if "openblas" in name), None)


@functools.cache
def threads_address() -> int:
    """The function that tells how many threads the library works with; 0 if it is not one that we know."""
    if library_path() is None:
        return 0
    try:
        library = ctypes.CDLL(library_path())  # it is there already: NumPy has loaded it
    except OSError:
        return 0
    names = [f"{prefix}openblas_get_num_threads{end}" for prefix in ("scipy_", "") for end in ("64_", "")]
    found = next((getattr(library, name) for name in names if hasattr(library, name)), None)
    return 0 if found is None else ctypes.cast(found, ctypes.c_void_p).value or 0


def threads() -> int:
    """How many threads the library works with now."""
    return int(ctypes.CFUNCTYPE(ctypes.c_int)(threads_address())())


# --------------------------------------------------------------------------------------------- the choice
def find(
    kind: Scalar, sizes: tuple[int, int, int], *strides: tuple[int, int], onto: str = ""
) -> Found | None:
    """A function for a product of m x k and k x n; strides: of a, b and the result, in bytes.

    onto: the instruction that takes the product to what is there already, instead of storing it.
    """
    if kind.kind != "f" or "fma" not in host.flags() or not threads_address() or min(sizes) < 2:
        return None
    m, k, n = sizes
    a, b, c = strides
    if any(s <= 0 or s % kind.dtype.itemsize for pair in strides for s in pair):
        return None
    if m == n and a == b[::-1]:
        return None  # may be a matrix with itself transposed, which libraries compute in another way
    given = Product(kind.llvm, m, k, n, a, b, c, onto)
    ways = [p for p in (given, given.turned()) if p.fits() and _near(p)]
    count = threads()
    if not ways or m * k * n > (TRIED if shared.get_num_threads() >= count else SHARED):
        return None
    best = min(ways, key=Product.cost)
    return _tried(given, best, best is not given, count)


def _near(p: Product) -> bool:
    """Whether what is gone through again and again stays in the cache."""
    whole_rows = len(panels.widths(p.n, p.item)) <= panels.ACROSS
    return (p.m <= panels.MANY or p.k * p.n * p.item <= NEAR) and (whole_rows or p.m * p.k * p.item <= NEAR)


@functools.lru_cache(256)
def _tried(given: Product, best: Product, turned: bool, count: int) -> Found | None:
    """The function, if it gives the library's bits; count: of the library's threads."""
    numbers = "_".join(map(str, (best.m, best.k, best.n, *best.a, *best.b, *best.c)))
    name = f"product_{best.llvm}_{best.onto}{numbers}"
    try:
        image = link.load(llvm_load.object_code(panels.text(best, name), optimised=False), {})
    except Unlowered:
        return None
    number = ctypes.c_double if best.llvm == "double" else ctypes.c_float
    types = [*[ctypes.c_void_p] * 4, number, ctypes.c_int64, ctypes.c_int64]
    call = ctypes.CFUNCTYPE(None, *types)(image.address(name))
    samples = [_sample(given, seed) for seed in range(3)]
    right = [_by_library(given, *sample) for sample in samples]

    def agrees(way: tuple[float, tuple[int, ...]]) -> bool:
        zero, lengths = way
        cells = (ctypes.c_int64 * (len(lengths) + 1))(*lengths)
        for factors, wanted in zip(samples, right, strict=True):
            made = _before(given)
            places = [x.ctypes.data for x in (factors[::-1] if turned else factors)]
            call(*places, made.ctypes.data, ctypes.addressof(cells), zero, 0, best.units)
            if not _same(made, wanted):
                return False
        return True

    chains = [(given.k,)] if given.onto else _candidates(given.k)
    found = next(filter(agrees, itertools.product((0.0, -0.0), chains)), None)
    if found is None or count != threads():
        return None
    zero, lengths = found
    large = count > 1 and given.m * given.k * given.n > SHARED
    work, by_rows = round(best.cost() * panels.VECTOR), best.cut == ("columns" if turned else "rows")
    how = turned, lengths, zero, count, best.units, work, by_rows, large
    return Found(name, image.address(name), image.memory, *how)


def _candidates(k: int) -> list[tuple[int, ...]]:
    """The lengths of chains that libraries may have: one chain, or blocks and two halves of what is left."""
    found: dict[tuple[int, ...], None] = {(k,): None}
    for most in _BLOCKS:
        for unit in _ROUNDED:
            lengths, left = [], k
            while left:
                part = left if left <= most else most
                if most < left < 2 * most:
                    part = -(-(left // 2 if unit > 1 else (left + 1) // 2) // unit) * unit
                lengths.append(part)
                left -= part
            found[tuple(lengths)] = None
    return list(found)


# ------------------------------------------------------------------------------------------ the trial
def _matrix(p: Product, shape: tuple[int, int], strides: tuple[int, int]) -> np.ndarray:
    """A matrix that lies in memory like this."""
    size = sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) // p.item + 1
    room = np.zeros(size, np.float64 if p.llvm == "double" else np.float32)
    return np.lib.stride_tricks.as_strided(room, shape, strides)


@functools.cache
def _numbers(far: int = 0) -> np.ndarray:
    """Random numbers that matrices are filled with, over and over; of all sizes up to 2 ** far."""
    random = np.random.default_rng(far)
    made = random.standard_normal(NUMBERS)
    return np.ldexp(made, random.integers(-far, far, NUMBERS)) if far else made


def _filled(x: np.ndarray, start: int, far: int = 0) -> None:
    """Fill a matrix with random numbers, from one of them on."""
    x[...] = np.resize(_numbers(far)[start:], x.shape)


def _sample(p: Product, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two factors; the last ones hold numbers of all sizes, and rows and columns of special ones."""
    random = np.random.default_rng(seed)
    made = (_matrix(p, (p.m, p.k), p.a), _matrix(p, (p.k, p.n), p.b))
    far = 200.0 if p.llvm == "double" else 25.0
    for which, (x, lines) in enumerate(zip(made, (made[0], made[1].T), strict=True)):
        _filled(x, (2 * seed + which) * APART, round(far / math.log10(2)) if seed == 2 else 0)
        if seed == 2:
            lines[0] = 10.0**-far
            lines[1] = -(10.0**-far)
            for k, special in enumerate((np.nan, np.inf, -0.0, 10.0 ** (1.4 * far)), 2):
                if k < len(lines) - 1:
                    lines[k, random.integers(p.k)] = special
    return made


def _by_library(p: Product, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        product, there = np.matmul(a, b, out=_matrix(p, (p.m, p.n), p.c)), _before(p)
        return {"fadd": there + product, "fsub": there - product}.get(p.onto, product)


def _before(p: Product) -> np.ndarray:
    """What is there before; the last product is of numbers of all sizes."""
    made = _matrix(p, (p.m, p.n), p.c)
    _filled(made, 6 * APART)
    made[:2] = -0.0
    return made


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether the bits are equal, but for those of NaN."""
    equal = a.view(f"i{a.itemsize}") == b.view(f"i{a.itemsize}")
    return bool(np.all(equal | (np.isnan(a) & np.isnan(b))))
