"""A hundred and some questions to a CuPy-like module, and the form in which answers are compared.

In: a module `cp` and the account of its host synchronisations.  Out: for each question `["array", dtype,
shape, values, synchronised]`, `["tuple", [[dtype, values], ...], synchronised]`, `["value", text,
synchronised]` or `["raises", class name, text]`, as in `emulated.json`, which holds the answers that
CuPy's own front end gave.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

Question = Callable[[], Any]
TEXT = 90  # characters of a message that are compared


def questions(cp: Any) -> dict[str, Question]:
    """All of them, by name."""
    groups = (
        mixing,
        numbers,
        ufunc_arguments,
        reductions,
        indexing,
        creating,
        crossing,
        moving,
        functions,
        devices,
    )
    found: dict[str, Question] = {}
    for group in groups:
        found |= group(cp, Makers(cp))
    return found


class Makers:
    """Short ways to make sample arrays."""

    def __init__(self, cp: Any) -> None:
        self.cp = cp

    def f(self, *shape: int, d: str = "f") -> Any:
        """0, 1, 2, ... of float32, or of dtype `d`."""
        return self.cp.asarray(np.arange(int(np.prod(shape))).reshape(shape).astype(d))

    def of(self, *values: float, d: str = "d") -> Any:
        return self.cp.asarray(np.array(values, d))


def mixing(cp: Any, make: Makers) -> dict[str, Question]:
    """Device arrays together with NumPy arrays, lists and numbers."""
    f = make.f
    return {
        "np_asarray": lambda: np.asarray(f(3)),
        "add_numpy": lambda: f(3) + np.ones(3, "f"),
        "radd_numpy": lambda: np.ones(3, "f") + f(3),
        "npfunc_add": lambda: np.add(f(3), np.ones(3, "f")),
        "np_sin": lambda: np.sin(f(3)),
        "np_sum": lambda: np.sum(f(3)),
        "add_list": lambda: f(3) + [1, 2, 3],
        "cp_add_list": lambda: cp.add(f(3), [1, 2, 3]),
        "cp_sum_list": lambda: cp.sum([1, 2]),
        "cp_sum_numpy": lambda: cp.sum(np.ones(3)),
        "add_npscalar": lambda: f(3) + np.float64(1),
        "add_np0d": lambda: f(3) + np.array(1.0),
        "concat_np": lambda: cp.concatenate([f(3), np.ones(3, "f")]),
        "eq_none": lambda: f(3) == None,
        "eq_str": lambda: f(3) == "a",
        "get_module": lambda: cp.get_array_module(f(1)) is cp,
    }


def numbers(cp: Any, make: Makers) -> dict[str, Question]:
    """Dtypes of results, integer corner cases, conversions."""
    f, of = make.f, make.of
    return {
        "mul_pyfloat": lambda: f(3) * 1.5,
        "int_mul_float": lambda: f(3, d="i") * 1.5,
        "i8_add_300": lambda: f(3, d="b") + 300,
        "u8_minus": lambda: f(3, d="B") - 1,
        "bool_minus": lambda: (f(3) > 0) - (f(3) > 1),
        "neg_bool": lambda: -(f(3) > 0),
        "int_div": lambda: f(3, d="i") / f(3, d="i"),
        "floordiv0": lambda: f(3, d="i") // (f(3, d="i") - 1),
        "mod0": lambda: f(3, d="i") % (f(3, d="i") - 1),
        "pow_neg": lambda: f(3, d="i") ** -1,
        "pow_half": lambda: f(3) ** 0.5,
        "f32_plus_i64": lambda: f(3) + f(3, d="l"),
        "f16_i16": lambda: cp.result_type(cp.float16, cp.int16),
        "logical_and_c": lambda: cp.logical_and(f(3, d="F"), f(3, d="F")),
        "sign_nan": lambda: cp.sign(of(np.nan, -2.0, d="f")),
        "fmax_nan": lambda: cp.fmax(of(np.nan, 1.0), 0.0),
        "maximum_nan": lambda: cp.maximum(of(np.nan, 1.0), 0.0),
        "max_nan": lambda: of(np.nan, 1.0).max(),
        "maximum_py": lambda: cp.maximum(f(3), 1),
        "astype_inf": lambda: of(2.5, -2.5, d="f").astype("i"),
        "astype_u4neg": lambda: of(3.5, d="f").astype("I"),
    }


def ufunc_arguments(cp: Any, make: Makers) -> dict[str, Question]:
    """Keyword arguments of ufuncs and reductions."""
    f = make.f
    return {
        "where_kw": lambda: cp.add(f(3), f(3), where=f(3) > 1),
        "sum_where": lambda: cp.sum(f(3), where=f(3) > 1),
        "sum_initial": lambda: cp.sum(f(3), initial=1),
        "max_initial": lambda: cp.max(f(3), initial=1),
        "out_cast": lambda: cp.add(f(3), f(3), out=f(3, d="i")),
        "out_shape": lambda: cp.add(f(3), f(3), out=f(4)),
        "out_numpy": lambda: cp.add(f(3), f(3), out=np.zeros(3, "f")),
        "out_bcast": lambda: cp.add(f(3), 1, out=f(2, 3)),
        "dtype_kw": lambda: cp.add(f(3, d="i"), f(3, d="i"), dtype="d"),
        "bcast_bad": lambda: f(3) + f(4),
    }


def reductions(cp: Any, make: Makers) -> dict[str, Question]:
    """0-d results, dtypes, empty arrays."""
    f = make.f
    return {
        "sum_type": lambda: f(3).sum(),
        "sum_i4": lambda: f(3, d="i").sum(),
        "sum_bool": lambda: (f(3) > 0).sum(),
        "mean_i": lambda: f(3, d="i").mean(),
        "sum_f2": lambda: f(3, d="d").sum(),
        "max_empty": lambda: f(0).max(),
        "argmax_empty": lambda: cp.argmax(f(0)),
        "sum_empty": lambda: f(0).sum(),
        "all": lambda: (f(3) > -1).all(),
        "std": lambda: f(4, d="d").std(),
        "argmax": lambda: f(4).argmax(),
        "sum_axis_oob": lambda: f(3).sum(axis=1),
        "cumsum": lambda: f(4).cumsum(),
        "prod": lambda: f(4).prod(),
        "ptp": lambda: cp.ptp(f(4)),
        "any_axis": lambda: (f(2, 3) > 2).any(axis=1),
        "array_equal": lambda: cp.array_equal(f(3), f(3)),
        "allclose": lambda: cp.allclose(f(3), f(3)),
    }


def indexing(cp: Any, make: Makers) -> dict[str, Question]:
    """Reading and writing parts."""
    f, at = make.f, cp.asarray
    return {
        "getitem_scalar": lambda: f(2, 3)[0, 1],
        "getitem_oob": lambda: f(3)[5],
        "getitem_fancy_oob": lambda: f(3)[at([1, 5, -7])],
        "getitem_list": lambda: f(3)[[0, 2]],
        "getitem_numpy_idx": lambda: f(3)[np.array([0, 2])],
        "getitem_npint": lambda: f(3)[np.int64(1)],
        "getitem_0d": lambda: f(3)[at(1)],
        "getitem_bool": lambda: f(4)[f(4) > 1],
        "getitem_npbool": lambda: f(4)[np.array([True, False, True, False])],
        "getitem_float": lambda: f(3)[1.0],
        "take_oob": lambda: cp.take(f(3), at([1, 7])),
        "take_mode": lambda: cp.take(f(3), at([1]), mode="clip"),
        "setitem_oob": lambda: f(3).__setitem__(at([7]), 1),
        "setitem_numpy": lambda: f(3).__setitem__(0, np.float32(1)),
        "setitem_nparr": lambda: f(3).__setitem__(slice(None), np.ones(3, "f")),
        "setitem_list": lambda: f(3).__setitem__(slice(None), [1, 2, 3]),
        "index_slice0d": lambda: f(3)[: at(2)],
        "range_0d": lambda: list(range(at(2))),
        "index_dunder": lambda: [10, 20][at(1)],
        "iter": lambda: [x.shape for x in f(2, 3)],
        "iter0d": lambda: list(at(1)),
        "len0d": lambda: len(at(1)),
        "contains": lambda: 1.0 in f(3),
        "hash": lambda: hash(f(1)),
    }


def creating(cp: Any, make: Makers) -> dict[str, Question]:
    """What arrays can be made from."""
    f, at = make.f, cp.asarray
    return {
        "array_str": lambda: cp.array(["a"]),
        "array_obj": lambda: cp.array([None]),
        "array_nested": lambda: cp.array([f(2), f(2)]),
        "array_mixed": lambda: cp.array([at(1.0), 2.0]),
        "zeros_shape0d": lambda: cp.zeros(at(3)),
        "full_dev": lambda: cp.full(3, at(2.0)),
        "arange_dev": lambda: cp.arange(at(3)),
        "linspace": lambda: cp.linspace(0, 1, 3),
    }


def crossing(cp: Any, make: Makers) -> dict[str, Question]:
    """Ways to the host and back."""
    f, at = make.f, cp.asarray
    return {
        "bool_multi": lambda: bool(f(3)),
        "float": lambda: float(at(1.5)),
        "int_arr1": lambda: int(f(1)),
        "float_multi": lambda: float(f(3)),
        "item_multi": lambda: f(3).item(),
        "format": lambda: f"{at(1.5):.2f}",
        "asnumpy": lambda: type(cp.asnumpy(f(2))),
        "get_out_bad": lambda: f(3).get(out=np.zeros(3, "d")),
        "set_bad": lambda: f(3).set(np.zeros(3, "d")),
    }


def moving(cp: Any, make: Makers) -> dict[str, Question]:
    """Shapes and layouts."""
    f = make.f
    return {
        "stack": lambda: cp.stack([f(3), f(3)]),
        "reshape_bad": lambda: f(3).reshape(2, 2),
        "F_order": lambda: (cp.asarray(np.asfortranarray(np.ones((2, 3), "f"))) + 1).flags.f_contiguous,
        "ravel_T": lambda: f(2, 3).T.ravel(),
        "broadcast_to": lambda: cp.broadcast_to(f(3), (2, 3)),
        "expand": lambda: cp.expand_dims(f(3), 0),
        "squeeze": lambda: f(1, 3).squeeze(),
    }


def functions(cp: Any, make: Makers) -> dict[str, Question]:
    """Other functions of the module, there or missing."""
    f = make.f
    return {
        "where3": lambda: cp.where(f(3) > 1, f(3), 0.0),
        "where_npscalar": lambda: cp.where(f(3) > 1, f(3), np.float64(0)),
        "where1": lambda: cp.where(f(3) > 1),
        "clip_none": lambda: cp.clip(f(3), 1, None),
        "clip_arr": lambda: cp.clip(f(3), f(3), f(3)),
        "isclose": lambda: cp.isclose(f(3), f(3)),
        "dot1d": lambda: cp.outer(f(2), f(2)),
        "diff": lambda: cp.diff(f(4)),
        "searchsorted": lambda: cp.searchsorted(f(4), f(2)),
        "bincount": lambda: cp.bincount(f(3, d="l")),
        "round": lambda: cp.round(f(3) * 0.5),
        "missing_insert": lambda: cp.insert,
        "missing_select": lambda: cp.select([f(3) > 1], [f(3)], 0),
        "piecewise": lambda: cp.piecewise(f(3), [f(3) > 1], [1]),
    }


def devices(cp: Any, make: Makers) -> dict[str, Question]:
    """Streams under capture, device numbers."""
    f = make.f

    def captured(body: Callable[[Any, Any], Any]) -> str:
        stream, x, y = cp.cuda.Stream(non_blocking=True), f(3), f(3)
        with stream:
            stream.begin_capture()
            try:
                body(x, y)
            finally:
                stream.end_capture()
        return "captured"

    return {
        "cap_kernel": lambda: captured(lambda x, y: cp.add(x, 1, out=y)),
        "cap_get": lambda: captured(lambda x, y: x.get()),
        "cap_bool": lambda: captured(lambda x, y: bool(x.sum() > 0)),
        "cap_item": lambda: captured(lambda x, y: x[0].item()),
        "cap_null": lambda: cp.cuda.Stream.null.begin_capture(),
        "dev_bad": lambda: cp.cuda.Device(9).use(),
    }


def answer(cp: Any, question: Question, syncs: Callable[[], int]) -> list[Any]:
    """What the module does when asked; `syncs` counts its host synchronisations so far."""
    before = syncs()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = question()
        waited = syncs() > before
    except Exception as error:
        return ["raises", type(error).__name__, str(error)[:TEXT]]
    if isinstance(result, cp.ndarray):
        values = np.round(np.asarray(result.get(), "D").ravel()[:6], 5)
        return ["array", result.dtype.str, list(result.shape), values.astype(str).tolist(), waited]
    if isinstance(result, tuple):
        return ["tuple", [[part.dtype.str, part.get().tolist()] for part in result], waited]
    return ["value", repr(result)[:60], waited]
