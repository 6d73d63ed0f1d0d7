"""Rows of functions that make arrays.

In: nothing.  Out: `ROWS`.  What always holds: these return arrays, 0-d ones included; sizes are known
where the arguments are static and unknown where they are traced.

`np.arange` of a traced Python int is taken to be of NumPy's default int: for stops beyond int64 NumPy
raises, or (2**63 up to 2**64, a bug of its own) returns an empty float array.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from runtime.ir.opdef import OpDef
from runtime.ops.rules import (
    INTP,
    NUMERIC_KINDS,
    Shape,
    Unknown,
    as_array,
    bare,
    bind,
    broadcast,
    check_order,
    device_of,
    dims,
    given_dtype,
    is_none,
    ndarray,
    normal_axis,
    quietly,
    rank,
    shape_of,
    size_of,
    static,
    static_int,
    static_or,
    tuple_of,
    twin,
)
from runtime.ops.ufuncs import operand
from runtime.types import WEAK_INT, ArrayType, StaticType, TupleType, Type, WeakType

FLOAT = np.dtype(float)


def shape_spec(t: Type) -> tuple[int | None, ...]:
    """The sizes that a `shape` operand asks for."""
    if isinstance(t, StaticType) and isinstance(t.value, (tuple, list)):
        return tuple(operator.index(n) for n in t.value)
    if isinstance(t, TupleType):
        return tuple(map(static_int, t.items))
    return (static_int(t),)


def check_sizes(shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
    """The shape, given that no size is negative."""
    if any(n is not None and n < 0 for n in shape):
        raise Unknown
    return shape


def only(given: dict[str, Type], *allowed: str) -> None:
    """Whether no other parameter was given (those that are None or absent do not count)."""
    for name, t in given.items():
        if name not in allowed and not is_none(t):
            raise Unknown


def rule_zeros(*operands: Type, **keywords: Type) -> Type:
    """zeros, ones, empty: float64 unless told otherwise."""
    given = bind("shape dtype order device like", operands, keywords)
    only(given, "shape", "dtype", "order")
    return ndarray(given_dtype(given.get("dtype")) or FLOAT, check_sizes(shape_spec(given["shape"])))


def rule_full(*operands: Type, **keywords: Type) -> Type:
    """full: the dtype of the value unless told otherwise."""
    given = bind("shape fill_value dtype order device like", operands, keywords)
    only(given, "shape", "fill_value", "dtype", "order")
    shape = check_sizes(shape_spec(given["shape"]))
    dtype = given_dtype(given.get("dtype"))
    if dtype is None:
        dtype = as_array(given["fill_value"]).dtype
    return ndarray(dtype, shape, device_of([given["fill_value"]]))


def rule_eye(*operands: Type, **keywords: Type) -> Type:
    """eye."""
    given = bind("N M k dtype order device like", operands, keywords)
    only(given, "N", "M", "k", "dtype", "order")
    n = static_int(given["N"])
    m = n if is_none(given.get("M")) else static_int(given["M"])
    return ndarray(given_dtype(given.get("dtype")) or FLOAT, check_sizes((n, m)))


def rule_identity(*operands: Type, **keywords: Type) -> Type:
    """identity."""
    given = bind("n dtype like", operands, keywords)
    only(given, "n", "dtype")
    n = static_int(given["n"])
    return ndarray(given_dtype(given.get("dtype")) or FLOAT, check_sizes((n, n)))


def rule_tri(*operands: Type, **keywords: Type) -> Type:
    """tri."""
    given = bind("N M k dtype like", operands, keywords)
    only(given, "N", "M", "k", "dtype")
    n = static_int(given["N"])
    m = n if is_none(given.get("M")) else static_int(given["M"])
    return ndarray(given_dtype(given.get("dtype")) or FLOAT, check_sizes((n, m)))


def arange_sample(t: Type) -> Any:
    """What stands for a bound of arange when NumPy is asked for the dtype."""
    if isinstance(t, StaticType):
        return t.value
    if isinstance(t, WeakType):
        return {"bool": True, "int": 1, "float": 1.0, "complex": 1j}[t.kind]
    if isinstance(t, ArrayType) and t.shape == () and t.dtype.kind in NUMERIC_KINDS:
        return t.dtype.type(1) if t.scalar else np.ones((), t.dtype)
    raise Unknown


def rule_arange(*operands: Type, **keywords: Type) -> Type:
    """arange: the size is known for static bounds."""
    if len(operands) == 1 and "stop" not in keywords:
        operands = (StaticType(0), *operands)
        keywords = {k: v for k, v in keywords.items() if k != "start"}
    given = bind("start stop step dtype device like", operands, keywords)
    only(given, "start", "stop", "step", "dtype")
    if is_none(given.get("stop")):
        raise Unknown
    bounds = [given.get("start", StaticType(0)), given["stop"], given.get("step", StaticType(1))]
    bounds = [StaticType(d) if is_none(t) else t for t, d in zip(bounds, (0, None, 1), strict=True)]
    dtype = given_dtype(given.get("dtype"))
    if dtype is None:
        # A traced Python start or step may be beyond int64, and then the array is one of objects.
        if WEAK_INT in (bounds[0], bounds[2]):
            raise Unknown
        floats = [t for t in bounds if bare(t) == WeakType("float")]
        if bounds[1] == WEAK_INT and floats:
            raise Unknown
        samples = [arange_sample(t) for t in bounds]
        # Without the real values, only the kinds of the bounds count: an empty range will do.
        dtype = np.dtype(
            quietly(np.arange, samples[0], samples[0] * samples[1] * 0 + samples[0], samples[2] * 0 + 1).dtype
        )
    size: int | None = None
    if all(isinstance(t, StaticType) for t in bounds):
        start, stop, step = (static(t) for t in bounds)
        if all(type(v) is int for v in (start, stop, step)):
            size = len(range(start, stop, step))
        elif abs(stop - start) <= 4096 * abs(step):
            size = len(np.arange(start, stop, step))
    device_of(bounds)
    return ndarray(dtype, (size,))


def spaced(fn: Any, order: str) -> Any:
    """The rule of linspace and its like."""

    def rule(*operands: Type, **keywords: Type) -> Type:
        given = bind(order, operands, keywords)
        if static_or(given.get("retstep"), False) or not is_none(given.get("device")):
            raise Unknown
        bounds = [given["start"], given["stop"]]
        dtype = given_dtype(given.get("dtype"))
        if dtype is None:
            samples = [sample_bound(t) for t in bounds]
            options = {"base": sample_bound(given["base"])} if "base" in given else {}
            dtype = np.dtype(quietly(fn, *samples, 2, **options).dtype)
        num = 50 if "num" not in given else static_int(given["num"])
        shape = broadcast(operand(t)[1] for t in bounds)
        if shape is None or (num is not None and num < 0):
            raise Unknown
        if "base" in given and operand(given["base"])[1] != ():
            raise Unknown
        axis = normal_axis(static_or(given.get("axis"), 0), len(shape) + 1)
        return ndarray(dtype, (*shape[:axis], num, *shape[axis:]), device_of(bounds))

    return rule


def sample_bound(t: Type) -> Any:
    """What stands for a bound when NumPy is asked for the dtype."""
    asked, _ = operand(t)
    if not isinstance(asked, np.dtype):
        return asked(1)
    if asked.kind not in NUMERIC_KINDS:
        raise Unknown
    return np.ones((), asked)


def like(order: str) -> Any:
    """The rule of zeros_like and its like."""

    def rule(*operands: Type, **keywords: Type) -> Type:
        given = bind(order, operands, keywords)
        only(given, "a", "prototype", "fill_value", "dtype", "order", "shape", "subok")
        source = given["a"] if "a" in given else given["prototype"]
        dtype = given_dtype(given.get("dtype"))
        if dtype is None:
            dtype = as_array(source).dtype
            shape: Shape = as_array(source).shape
        else:
            shape = shape_of(source)
        if not is_none(given.get("shape")):
            shape = check_sizes(shape_spec(given["shape"]))
        return ndarray(dtype, shape, device_of([source]))

    return rule


def rule_array(*operands: Type, **keywords: Type) -> Type:
    """array, asarray, asanyarray: the same array, a copy of it, or one made of a sequence."""
    given = bind("object dtype copy order subok ndmin like", operands[:2], keywords)
    if len(operands) > 2:
        raise Unknown
    return converted(given, static_or(given.get("ndmin"), 0))


def rule_asarray(*operands: Type, **keywords: Type) -> Type:
    """asarray."""
    given = bind("a dtype order device copy like", operands, keywords)
    only(given, "a", "dtype", "order", "copy")
    return converted({"object": given["a"], **({"dtype": given["dtype"]} if "dtype" in given else {})}, 0)


def rule_contiguous(*operands: Type, **keywords: Type) -> Type:
    """ascontiguousarray, asfortranarray: at least 1-d."""
    given = bind("a dtype like", operands, keywords)
    only(given, "a", "dtype")
    return converted({"object": given["a"], **({"dtype": given["dtype"]} if "dtype" in given else {})}, 1)


def rule_copy(*operands: Type, **keywords: Type) -> Type:
    """copy."""
    given = bind("a order subok", operands, keywords)
    check_order(given.get("order"))
    return converted({"object": given["a"]}, 0)


def converted(given: dict[str, Type], ndmin: int) -> Type:
    """An array of the operand's elements."""
    source = given["object"]
    dtype = given_dtype(given.get("dtype"))
    if dtype is None:
        made = as_array(source)
    else:
        if dtype.kind not in NUMERIC_KINDS:
            raise Unknown
        made = ArrayType(dtype, shape_of(source))
    shape = made.shape
    if ndmin:
        if shape is None:
            raise Unknown
        shape = (1,) * (ndmin - len(shape)) + shape
    return ndarray(made.dtype, shape, device_of([source]))


def rule_meshgrid(
    *xi: Type, indexing: Type | None = None, sparse: Type | None = None, copy: Type | None = None
) -> Type:
    """meshgrid: a tuple with an array per operand."""
    if isinstance(np.meshgrid(1), list):  # older NumPy
        raise Unknown
    arrays = [as_array(x) for x in xi]
    sizes = [size_of(a) for a in arrays]
    swap = static_or(indexing, "xy") == "xy" and len(sizes) > 1
    thin = static_or(sparse, False)
    made = []
    for i, a in enumerate(arrays):
        shape = [n if i == j or not thin else 1 for j, n in enumerate(sizes)]
        if swap:
            shape[0], shape[1] = shape[1], shape[0]
        made.append(ndarray(a.dtype, tuple(shape), device_of(xi)))
    return tuple_of(*made)


def rule_triangle(m: Type, k: Type | None = None) -> Type:
    """tril, triu: the shape of a matrix; a vector is repeated."""
    a = as_array(m)
    if rank(a) == 0:
        raise Unknown
    return ndarray(a.dtype, dims(a) * 2 if rank(a) == 1 else dims(a), a.device)


def rule_diag(v: Type, k: Type | None = None) -> Type:
    """diag: a matrix of a vector, or the diagonal of a matrix."""
    a = as_array(v)
    shift = 0 if k is None else static_int(k)
    shape = dims(a)
    if len(shape) == 1:
        n = shape[0]
        size = None if n is None or shift is None else n + abs(shift)
        return ndarray(a.dtype, (size, size), a.device)
    n, m = shape
    known = None
    if n is not None and m is not None and shift is not None:
        known = max(0, min(n + min(shift, 0), m - max(shift, 0)))
    return ndarray(a.dtype, (known,), a.device)


def rule_indices(dimensions: Type, dtype: Type | None = None, sparse: Type | None = None) -> Type:
    """indices: a stack of index grids; None for a dtype is that of floats."""
    if static_or(sparse, False) or (dtype is not None and is_none(dtype)):
        raise Unknown
    if not isinstance(bare(dimensions), TupleType):
        raise Unknown
    shape = check_sizes(shape_spec(dimensions))
    return ndarray(given_dtype(dtype) or INTP, (len(shape), *shape))


def rule_vander(x: Type, N: Type | None = None, increasing: Type | None = None) -> Type:
    """vander: powers of a vector."""
    a = as_array(x)
    (n,) = dims(a)
    columns = n if is_none(N) else static_int(N) if N is not None else None
    return ndarray(np.promote_types(a.dtype, int), (n, columns), a.device)


ROWS: tuple[OpDef, ...] = (
    twin("zeros", "New array of zeros.", rule_zeros),
    twin("ones", "New array of ones.", rule_zeros),
    twin("empty", "New array whose elements are not set.", rule_zeros),
    twin("full", "New array of one value.", rule_full),
    twin("eye", "Matrix with ones on a diagonal.", rule_eye),
    twin("identity", "Square matrix with ones on the main diagonal.", rule_identity),
    twin("tri", "Matrix with ones on and below a diagonal.", rule_tri),
    twin("arange", "Evenly spaced numbers with a given step.", rule_arange),
    twin(
        "linspace",
        "Evenly spaced numbers between two bounds.",
        spaced(np.linspace, "start stop num endpoint retstep dtype axis device"),
        ulp=2,
    ),
    twin(
        "logspace",
        "Numbers spaced evenly on a logarithmic scale.",
        spaced(np.logspace, "start stop num endpoint base dtype axis"),
        ulp=8,
    ),
    twin(
        "geomspace",
        "Numbers in geometric progression.",
        spaced(np.geomspace, "start stop num endpoint dtype axis"),
        ulp=8,
        cupy=False,
    ),
    twin("zeros_like", "Zeros in the shape of another array.", like("a dtype order subok shape device")),
    twin("ones_like", "Ones in the shape of another array.", like("a dtype order subok shape device")),
    twin(
        "empty_like",
        "Unset elements in the shape of another array.",
        like("prototype dtype order subok shape device"),
    ),
    twin(
        "full_like",
        "One value in the shape of another array.",
        like("a fill_value dtype order subok shape device"),
    ),
    twin("array", "New array of a value or a sequence.", rule_array),
    twin("asarray", "The operand as an array, itself if it is one.", rule_asarray),
    twin("asanyarray", "The operand as an array, subclasses kept.", rule_asarray),
    twin("ascontiguousarray", "The operand as an array in C order, at least 1-d.", rule_contiguous),
    twin("asfortranarray", "The operand as an array in Fortran order, at least 1-d.", rule_contiguous),
    twin("copy", "A copy of an array.", rule_copy, raises=False),
    twin("meshgrid", "Grids of coordinates from vectors of coordinates.", rule_meshgrid),
    twin("tril", "The lower triangle, other elements zero.", rule_triangle),
    twin("triu", "The upper triangle, other elements zero.", rule_triangle),
    twin("diag", "The diagonal of a matrix, or a matrix with that diagonal.", rule_diag),
    twin("indices", "Index grids, one per axis.", rule_indices),
    twin("vander", "Matrix of the powers of a vector.", rule_vander),
)
