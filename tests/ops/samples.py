"""Which samples each row of the op table is tested with.

In: a row's name.  Out: its maker of calls.  What always holds: `maker` knows every row of the NumPy
families, or raises KeyError, which a test reports as a row without samples.
"""

from __future__ import annotations

import operator
import random
from typing import Any

import numpy as np

from runtime.ir.opdef import OpDef
from tests.ops import operands as o
from tests.ops.operands import Call, Maker, calls

AXES = (0, -1, 1)


def pick(rng: random.Random) -> Any:
    """Indices: a Python int, a NumPy one, an array, a tuple."""
    return rng.choice((0, -1, 1, np.int64(0), np.array(0), np.array([0, 0]), np.zeros((2, 1), int), (0, 0)))


def flag(rng: random.Random) -> Any:
    """A condition."""
    return rng.choice((True, np.True_, o.array(rng, None, ["?"]), o.array(rng, (3,), ["?"]), 1))


def nonempty(rng: random.Random) -> Any:
    return o.array(rng, rng.choice(((3,), (2, 3), (1, 3), (2, 3, 3))))


def tall(rng: random.Random) -> Any:
    return o.array(rng, rng.choice(((2, 3), (3, 3), (2, 3, 3), (3,), (0, 3))))


def xs(rng: random.Random) -> Any:
    return rng.choice((o.array(rng), 2, 0.5, np.float32(1), (0.5, 1.5), np.array([2.5])))


def bound(rng: random.Random) -> Any:
    return rng.choice((None, 0, 1.5, -1, np.float32(1), o.array(rng), 300, 2**70))


def start(rng: random.Random) -> Any:
    return rng.choice((0, 1.5, -2, np.int8(1), np.float32(2), 5, 2**62, 1j, True))


def along_axis(rng: random.Random) -> Call:
    a = o.array(rng, (2, 3))
    picked = np.zeros(rng.choice(((2, 2), (1, 3), (2, 3), (1, 1))), int)
    return (a, picked, rng.choice((0, 1, -1))), {}


def padded(rng: random.Random) -> Call:
    width = rng.choice((1, 0, (1, 2), ((1, 2), (0, 1)), ((1, 2),)))
    return (nonempty(rng), width), o.options(rng, mode=("constant", "edge", "reflect"), constant_values=(1,))


def arange(rng: random.Random) -> Call:
    choices = (3, 0, 10, 2.5, np.int64(4), -3, np.float32(2), 1.0, True)
    count = rng.randint(1, 3)
    args = [rng.choice(choices) for _ in range(count)]
    return tuple(args), o.options(rng, dtype=(None, "f4", int))


def choosing(rng: random.Random) -> Call:
    shape = rng.choice(((3,), (2, 3), ()))
    return (
        rng.choice((0, np.zeros(shape, int), np.int64(1))),
        (o.array(rng, shape), o.array(rng, shape)),
    ), {}


def unit(rng: random.Random) -> Any:
    return o.array(rng, rng.choice(((3,), (2, 3), (1, 3))))


def chain(rng: random.Random) -> Call:
    shapes = rng.choice(
        (((2, 3), (3, 2)), ((3,), (3, 2), (2,)), ((2, 3), (3,)), ((3,), (3,)), ((2, 2), (2, 3), (3, 4)))
    )
    return (tuple(o.array(rng, s, ["f4", "f8", "c16", "i4"]) for s in shapes),), {}


def norm(rng: random.Random) -> Call:
    a = nonempty(rng)
    return (a,), o.options(
        rng, axis=(0, -1, (0, 1), None), keepdims=(True, False), ord=(None, 1, 2, np.inf, "fro", 0)
    )


def powers(rng: random.Random) -> Call:
    choices = (0, 1, 2, 3, -1, 0.5, 2.0, -0.5, True, 1j, -2.0)
    base = o.value(rng) if rng.random() < 0.6 else rng.choice(choices)
    base = base if not isinstance(base, int) or abs(base) < 400 else 3
    exponent = rng.choice(choices) if rng.random() < 0.6 else o.value(rng)
    exponent = exponent if not isinstance(exponent, int) or abs(exponent) < 400 else 2
    return (base, exponent), {}


def shifting(rng: random.Random) -> Call:
    def some() -> Any:
        return rng.choice((True, 0, 1, 3, -1, o.array(rng), o.scalar(rng), 2))

    return (some(), some()), {}


def tuples(rng: random.Random) -> Call:
    args, _ = o.binary(rng)
    if rng.random() < 0.15:
        args = rng.choice(
            (((1, 2), (3,)), ((1, 2.0), 2), (2, (1,)), ((1,), np.int64(2)), ((), ()), ((1, 2), (1, 2)))
        )
    return args, {}


def squares(rng: random.Random) -> Call:
    return (tall(rng),), {}


def matmul(rng: random.Random) -> Call:
    a, b = rng.choice(
        (
            ((3,), (3,)),
            ((2, 3), (3,)),
            ((3,), (3, 2)),
            ((2, 3), (3, 2)),
            ((2, 2, 3), (3, 2)),
            ((1, 2, 3), (2, 3, 1)),
        )
    )
    return (o.array(rng, a), o.array(rng, b)), {}


MAKERS: dict[str, Maker] = {
    "getitem": o.getting,
    "setitem": o.setting,
    "matmul": matmul,
    "imatmul": lambda rng: ((o.array(rng, (3, 3)), o.array(rng, (3, 3))), {}),
    "np.matmul": matmul,
    "np.vecdot": calls(unit, unit),
    "np.matvec": calls(lambda rng: o.array(rng, (2, 3)), unit),
    "np.vecmat": calls(lambda rng: o.array(rng, (2,)), lambda rng: o.array(rng, (2, 3))),
    "np.full": calls((3, (2, 3), (), 0), o.value, dtype=("f4", None)),
    "np.eye": calls((3, 0, 2), M=(None, 2), k=(0, 1), dtype=("f4", int)),
    "np.identity": calls((3, 0, 2), dtype=("f4", None)),
    "np.tri": calls((3, 0, 2), M=(None, 2), k=(0, 1), dtype=("f4", int)),
    "np.arange": arange,
    "np.linspace": calls(
        start, start, num=(3, 0), endpoint=(True, False), dtype=("f4", None, int), axis=(0, -1)
    ),
    "np.logspace": calls(
        (0, 1.5, np.float32(1), 2), (1, 2.0), num=(3, 0), base=(2, 10.0), dtype=("f4", None)
    ),
    "np.geomspace": calls((1, 1.5, np.float32(1), 2), (1, 8.0), num=(3, 1), dtype=("f4", None)),
    "np.full_like": calls(o.value, (1, 0.5), dtype=("f4", None)),
    "np.meshgrid": calls(o.vectors, o.vectors, indexing=("ij", "xy"), sparse=(True, False)),
    "np.tril": calls(tall, k=(0, 1, -1)),
    "np.triu": calls(tall, k=(0, 1, -1)),
    "np.diag": calls(tall, k=(0, 1, -2)),
    "np.indices": calls(((2, 3), (2,), ()), dtype=(int, "f4")),
    "np.vander": calls(o.vectors, N=(None, 2)),
    "np.reshape": o.reshaping,
    "nd.reshape": o.reshaping_method,
    "np.transpose": calls(o.value, axes=(None, (1, 0), (0,), (0, 2, 1), (-1, 0))),
    "nd.transpose": lambda rng: (
        (o.single(rng), *rng.choice(((), (1, 0), ((1, 0),), (None,), (0,), (0, 2, 1)))),
        {},
    ),
    "np.isnat": calls(
        (np.array(["NaT", "2020-01-01"], "M8[D]"), np.datetime64("NaT", "D"), np.array(3, "m8[s]"))
    ),
    "np.swapaxes": calls(o.array, AXES, AXES),
    "np.moveaxis": calls(o.value, (0, (0, 1), -1, ()), (-1, 0, (1, 0), ())),
    "np.rollaxis": calls(o.array, AXES, start=(0, 1, 2, -1)),
    "np.expand_dims": calls(o.value, (0, -1, (0, 1), 1, (0, -1))),
    "np.squeeze": calls(o.value, axis=(None, 0, 1, -1, (0, 1), ())),
    "np.broadcast_to": calls(o.value, ((2, 3), 3, (), (3, 2, 3), (0, 3))),
    "np.flip": calls(o.value, axis=(None, 0, 1, (0, 1))),
    "np.rot90": calls(tall, k=(1, 2, -1, 0), axes=((0, 1), (1, 0), (-1, 0))),
    "np.roll": calls(o.value, (1, -2, 2), axis=(None, 0, 1)),
    "np.repeat": calls(o.value, (2, 0, np.int64(3), (1, 2), np.array([1, 2, 0])), axis=(None, 0, 1, -1)),
    "np.tile": calls(o.value, (2, (2, 1), (2, 1, 2), (0,), (), 0)),
    "np.atleast_1d": calls(o.value),
    "np.atleast_2d": calls(o.value),
    "np.atleast_3d": calls(o.value),
    "np.size": calls(o.value, axis=(None, 0, 1)),
    "np.broadcast_arrays": o.binary,
    "np.broadcast_shapes": calls(((2, 3), (3,), 3, (1,)), ((1,), (), 1, (2, 1))),
    "np.pad": padded,
    "np.resize": calls(o.value, ((2, 3), 4, (0,), ())),
    "np.trim_zeros": calls(o.vectors),
    "np.take": calls(o.value, pick, axis=(None, 0, 1, -1), mode=("clip",)),
    "np.where": calls(flag, o.value, o.value),
    "np.searchsorted": calls(lambda rng: np.sort(o.array(rng, (3,))), o.value, side=("left", "right")),
    "np.digitize": calls(o.value, lambda rng: np.sort(o.array(rng, (3,)))),
    "np.compress": calls((np.array([True, False]), (True, True)), nonempty, axis=(None, 0, 1)),
    "nd.compress": calls(nonempty, (np.array([True, False]), (True, True)), axis=(None, 0, 1)),
    "np.extract": calls(flag, o.value),
    "np.choose": choosing,
    "np.take_along_axis": along_axis,
    "np.diagonal": calls(tall, offset=(0, 1, -1), axis1=(0, 1), axis2=(1, 2)),
    "np.put": calls(nonempty, pick, (1, 0.5)),
    "np.put_along_axis": lambda rng: ((np.zeros((2, 3)), np.zeros((2, 1), int), 1, 1), {}),
    "np.place": calls(lambda rng: o.array(rng, (3,)), (np.array([True, False, True]),), ((1, 2), 1)),
    "np.copyto": calls(nonempty, (1, 0.5, True)),
    "np.putmask": calls(
        lambda rng: o.array(rng, (3,)), (np.array([True, False, True]),), (1, np.array([1, 2]))
    ),
    "np.fill_diagonal": calls(tall, (1,)),
    "np.select": lambda rng: (((np.array([True, False]),), (o.array(rng, (2,)),)), {}),
    "np.piecewise": lambda rng: ((np.arange(3.0), (np.array([True, False, True]),), (1.0, 2.0)), {}),
    "np.split": o.splitting_axis,
    "np.array_split": o.splitting_axis,
    "np.hsplit": o.splitting,
    "np.vsplit": o.splitting,
    "np.dsplit": o.splitting,
    "np.concatenate": o.joining_axis,
    "np.stack": o.joining_axis,
    "np.vstack": o.joining,
    "np.hstack": o.joining,
    "np.dstack": o.joining,
    "np.column_stack": o.joining,
    "np.append": calls(o.value, o.value, axis=(None, 0, 1)),
    "np.insert": calls(nonempty, (0, 1, (0, 1), slice(0, 2)), (1, 0.5, np.array([1, 2])), axis=(None, 0, 1)),
    "np.delete": calls(nonempty, (0, -1, (0, 1), slice(0, 2), np.array([True, False])), axis=(None, 0, 1)),
    "np.partition": o.partitioning,
    "np.argpartition": o.partitioning,
    "np.lexsort": lambda rng: (
        ((o.array(rng, (3,)), o.array(rng, (3,))) if rng.random() < 0.7 else o.array(rng),),
        {},
    ),
    "np.unique": calls(
        o.value, return_index=(True, False), return_counts=(True, False), return_inverse=(True, False)
    ),
    "np.isin": calls(o.value, o.vectors),
    "np.bincount": calls(lambda rng: o.ints(rng), weights=(np.ones(3), None), minlength=(0, 5)),
    "np.histogram": o.histogram,
    "np.diff": calls(o.array, n=(0, 1, 2, 4), axis=(0, -1, 1)),
    "np.ediff1d": calls(o.vectors),
    "np.gradient": calls(tall),
    "np.clip": calls(o.value, bound, bound),
    "np.round": calls(o.value, decimals=(0, 1, -1)),
    "np.around": calls(o.value, decimals=(0, 1, -1)),
    "np.isclose": calls(o.value, o.value, rtol=(1e-3,), equal_nan=(True,)),
    "np.nan_to_num": calls(o.value, nan=(1.0, 0)),
    "np.angle": calls(o.value, deg=(True, False)),
    "np.interp": calls(
        xs, (np.array([0.0, 1, 2]),), (np.array([1, 2, 3]), np.array([1j, 2, 3]), np.array([0.5, 1, 2]))
    ),
    "np.convolve": calls(o.vectors, o.vectors, mode=("full", "same", "valid")),
    "np.correlate": calls(o.vectors, o.vectors, mode=("full", "same", "valid")),
    "np.polyval": calls(o.vectors, o.value),
    "np.polyfit": lambda rng: ((np.arange(4.0), np.arange(4.0), 1), {}),
    "np.roots": calls((np.array([1.0, 2, 1]),)),
    "np.unwrap": calls(o.vectors),
    "np.trapezoid": calls(tall, dx=(1, 0.5), axis=(0, -1)),
    "np.outer": o.binary,
    "np.dot": lambda rng: matmul(rng) if rng.random() < 0.5 else o.binary(rng),
    "np.inner": calls(o.value, o.value),
    "np.vdot": lambda rng: matmul(rng) if rng.random() < 0.5 else o.binary(rng),
    "np.kron": o.binary,
    "np.trace": calls(tall, offset=(0, 1), axis1=(0, 1), dtype=(None, "f4")),
    "np.tensordot": calls(tall, tall, (0, 1, 2, ((0,), (0,)), ((0, 1), (0, 1)), (1, 0), (-1, -1))),
    "np.einsum": o.einsum,
    "np.cross": calls(unit, unit),
    "np.cov": calls(nonempty),
    "np.corrcoef": calls(nonempty),
    "np.linalg.solve": o.linear,
    "np.linalg.lstsq": calls(
        lambda rng: o.real(rng, (3, 2)), lambda rng: o.real(rng, rng.choice(((3,), (3, 2))))
    ),
    "np.linalg.qr": calls(o.rectangle, mode=("reduced", "complete", "r")),
    "np.linalg.svd": calls(o.rectangle, full_matrices=(True, False), compute_uv=(True, False)),
    "np.linalg.pinv": calls(o.rectangle),
    "np.linalg.matrix_rank": calls(nonempty),
    "np.linalg.matrix_power": calls(o.matrix, (0, 1, 2, 3, -1, -2)),
    "np.linalg.multi_dot": chain,
    "np.linalg.norm": norm,
    "np.linalg.cond": o.matrices,
    "np.fft.fftshift": calls(o.array, axes=(0, None, (0, 1))),
    "np.fft.ifftshift": calls(o.array, axes=(0, None, (0, 1))),
    "np.fft.fftfreq": calls((3, 4, 1), d=(0.5, 1)),
    "np.fft.rfftfreq": calls((3, 4, 1), d=(0.5, 1)),
    "nd.astype": calls(
        o.single,
        ("f4", int, float, bool, np.dtype("c16"), "U3"),
        casting=("unsafe", "safe"),
        copy=(True, False),
    ),
    "nd.view": lambda rng: (
        (o.array(rng, (3,), ["f8", "i8", "u8"]), *rng.choice(((), ("i8",), (np.uint64,), ("f4",)))),
        {},
    ),
    "nd.item": calls(o.single),
    "nd.getfield": lambda rng: ((np.ones(3), "f4"), {}),
    "nd.to_device": calls(o.single, ("cpu",)),
    "nd.fill": calls(o.array, (1, 0.5)),
    "nd.partition": calls(nonempty, (0,)),
    "nd.put": calls(nonempty, pick, (1, 0.5)),
    "nd.resize": lambda rng: ((np.ones(3), (2,)), {"refcheck": False}),
    "nd.setfield": lambda rng: ((np.ones(3), 1.0, "f4"), {}),
    "nd.setflags": lambda rng: ((np.ones(3),), {"write": True}),
    "np.ix_": calls(lambda rng: o.array(rng, (2,)), lambda rng: o.array(rng, (3,), ["?", "i4"])),
    "np.tril_indices": calls((3, 2, 0), (0, 1), (3, 4, None)),
    "np.triu_indices": calls((3, 2, 0), (0, -1), (3, 4, None)),
    "np.diag_indices": calls((3, 2), (2, 3)),
    "np.unravel_index": calls((3, 0, np.int64(2), np.array([1, 2]), np.array(1)), ((2, 3), 6, (1, 2, 3))),
    "np.ravel_multi_index": calls(((1, 1),), ((2, 3),)),
    "np.astype": calls(o.array, (int, "f4", np.dtype(complex))),
    "np.unstack": calls(lambda rng: o.array(rng, rng.choice(((3,), (2, 3), (1, 3, 2)))), axis=(0, -1)),
    "np.block": lambda rng: (([1, 2.0, rng.randint(0, 3)],), {}),
    "np.packbits": calls(lambda rng: o.array(rng, (5,), ["?"])),
    "np.unpackbits": calls(lambda rng: o.array(rng, (5,), ["u1"])),
    "np.histogram2d": calls(lambda rng: o.real(rng, (5,)), lambda rng: o.real(rng, (5,))),
    "np.linalg.outer": calls(unit, unit),
    "np.linalg.cross": calls(unit, unit),
    "np.linalg.tensorsolve": calls((np.eye(3),), (np.ones(3),)),
    "np.linalg.tensorinv": lambda rng: ((np.eye(4).reshape(2, 2, 2, 2),), {}),
    "np.fft.hfft": calls(lambda rng: o.real(rng, (3,))),
    "np.fft.ihfft": calls(lambda rng: o.real(rng, (3,))),
    "np.array_equal": o.binary,
    "np.array_equiv": o.binary,
    "np.average": calls(o.value, axis=(None, 0, -1), keepdims=(True,)),
    "np.ptp": o.reducing,
    "np.percentile": calls(nonempty, (50, 10.0)),
    "np.quantile": calls(nonempty, (0.5,)),
    "np.nanpercentile": calls(nonempty, (50, 10.0)),
    "np.nanquantile": calls(nonempty, (0.5,)),
    "pow": powers,
    "ipow": powers,
    "lshift": shifting,
    "rshift": shifting,
    "ilshift": shifting,
    "irshift": shifting,
}

FAMILY: dict[str, Maker] = {
    **{f"np.{n}": o.with_initial for n in ("sum", "prod", "nansum", "nanprod")},
    **{f"np.{n}": o.extremes for n in ("max", "min", "nanmax", "nanmin")},
    **{f"np.{n}": o.summing for n in ("mean", "std", "var", "nanmean", "nanstd", "nanvar")},
    **{
        f"np.{n}": o.reducing
        for n in (
            "any",
            "all",
            "argmax",
            "argmin",
            "median",
            "count_nonzero",
            "nanmedian",
            "nanargmax",
            "nanargmin",
        )
    },
    **{f"np.{n}": o.running for n in ("cumsum", "cumprod", "nancumsum", "nancumprod")},
    **{f"np.{n}.accumulate": o.running for n in ("maximum", "minimum", "add", "multiply")},
    **{f"np.{n}": o.sorting for n in ("sort", "argsort")},
    **{f"np.{n}": o.of_shape for n in ("zeros", "ones", "empty")},
    **{f"np.{n}": o.like for n in ("zeros_like", "ones_like", "empty_like")},
    **{
        f"np.{n}": o.converting
        for n in ("array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray")
    },
    **{f"np.{n}": calls(tall) for n in ("fliplr", "flipud")},
    **{
        f"np.{n}": calls(o.value)
        for n in ("copy", "ravel", "shape", "ndim", "real", "imag", "nonzero", "flatnonzero")
    },
    **{
        f"np.{n}": calls(o.value) for n in ("argwhere", "sinc", "iscomplex", "isreal", "real_if_close", "fix")
    },
    **{f"np.{n}": calls(o.vectors, o.vectors) for n in ("union1d", "intersect1d", "setdiff1d", "setxor1d")},
    **{
        f"np.linalg.{n}": o.matrices
        for n in ("inv", "cholesky", "det", "slogdet", "eigh", "eigvalsh", "eig", "eigvals")
    },
    **{
        f"np.fft.{n}": calls(nonempty, n=(None, 2, 5), axis=(0, -1)) for n in ("fft", "ifft", "rfft", "irfft")
    },
    **{
        f"np.fft.{n}": calls(tall, s=(None, (2, 2)), axes=(None, (0, -1)), norm=(None, "ortho"))
        for n in ("fft2", "ifft2", "fftn", "ifftn")
    },
    **{
        f"nd.{n}": calls(o.single)
        for n in ("copy", "conj", "conjugate", "flatten", "tolist", "tobytes", "byteswap", "dumps", "sort")
    },
    **{f"np.{n}": calls(tall) for n in ("tril_indices_from", "triu_indices_from", "matrix_transpose")},
    **{
        f"np.{n}": calls(tall)
        for n in ("linalg.matrix_transpose", "linalg.matrix_norm", "linalg.diagonal", "linalg.trace")
    },
    **{
        f"np.{n}": calls(o.value)
        for n in ("isposinf", "isneginf", "iscomplexobj", "isrealobj", "isscalar", "i0")
    },
    **{f"np.{n}": o.binary for n in ("shares_memory", "may_share_memory", "result_type", "allclose")},
    **{f"np.{n}": calls((0, 1, 4, -1)) for n in ("bartlett", "blackman", "hamming", "hanning")},
    **{
        f"np.{n}": calls(o.vectors)
        for n in ("diagflat", "cumulative_sum", "cumulative_prod", "unique_values")
    },
    **{f"np.{n}": calls(o.vectors) for n in ("histogram_bin_edges", "sort_complex", "linalg.vector_norm")},
    **{f"np.fft.{n}": calls(lambda rng: o.real(rng, (3, 4))) for n in ("rfft2", "irfft2", "rfftn", "irfftn")},
    "np.diag_indices_from": o.matrices,
    "np.linalg.svdvals": calls(o.rectangle),
}


def maker(row: OpDef) -> Maker:
    """The maker of a row's calls."""
    if row.name.startswith(("np.strings.", "np.char.")):
        return o.of_texts(row.name.rpartition(".")[2])
    if row.name in MAKERS:
        return MAKERS[row.name]
    if row.name in FAMILY:
        return FAMILY[row.name]
    if isinstance(row.run, np.ufunc):
        return o.ufunc(row.run.nin)
    if row.source is not None and row.run in vars(operator).values():
        return tuples if row.source.count("{") == 2 else o.unary
    raise KeyError(row.name)
