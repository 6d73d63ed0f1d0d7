"""Unusual arguments, with plain Python as the oracle: NumPy's answer, or NumPy's error.

Each input goes through each program, plainly and as a function, two times each, with both executors: results
(classes, dtypes, layout, masks, contents), exceptions with their texts, and what happened to the argument.
"""

from __future__ import annotations

import copy
import fractions
import gc
import warnings
import weakref

import numpy as np
import pytest

import autograph as ag

BASE = np.arange(12.0).reshape(3, 4)
LOCKED = BASE.copy()
LOCKED.flags.writeable = False
RECORDS = np.array([(1, 2.0), (3, 4.0)], dtype=[("n", "i4"), ("x", "f8")])


class Celsius(np.ndarray):
    """A subclass with a rule of its own."""

    def __add__(self, other):
        return "added"


class Wrapped:
    """An array-like that NumPy has to ask."""

    def __init__(self, data):
        self.data = data

    def __array__(self, dtype=None, copy=None):
        return np.array(self.data, dtype=dtype)

    def __repr__(self):
        return f"Wrapped({self.data!r})"


class Odd:
    """Equal to nothing, not even hashable."""

    __hash__ = None

    def __eq__(self, other):
        raise RuntimeError("no comparing")

    def __repr__(self):
        return "Odd()"


def matrix(data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.matrix(data)


INPUTS = {
    "object dtype": np.array([1, 2.5, 3], dtype=object),
    "object dtype, mixed": np.array([1, "a", None], dtype=object),
    "object dtype of fractions": np.array([fractions.Fraction(1, 2)] * 3, dtype=object),
    "object array of arrays": np.array([np.ones(2), np.ones(3)], dtype=object),
    "zero size": np.zeros(0),
    "zero size, two axes": np.zeros((0, 3)),
    "zero size, ints": np.zeros((3, 0), int),
    "zero rank": np.array(2.5),
    "zero rank, int": np.array(7),
    "zero rank, object": np.array(None),
    "one element": np.array([[3.0]]),
    "NaN and infinity": np.array([np.nan, np.inf, -np.inf, -0.0]),
    "not contiguous": BASE[:, ::2],
    "reversed": BASE[::-1, ::-1],
    "transposed": BASE.T,
    "broadcast": np.broadcast_to(np.arange(3.0), (2, 3)),
    "overlapping": np.lib.stride_tricks.as_strided(np.arange(6.0), (3, 3), (8, 8)),
    "read-only": LOCKED,
    "byte-swapped": BASE.astype(BASE.dtype.newbyteorder()),
    "byte-swapped ints": np.arange(5, dtype=">i4" if np.little_endian else "<i4"),
    "unaligned": np.frombuffer(b"x" + np.arange(4.0).tobytes(), np.uint8)[1:].view(np.float64),
    "float16": np.arange(4, dtype=np.float16),
    "longdouble": np.arange(4, dtype=np.longdouble),
    "complex": np.array([1 + 2j, 3j]),
    "bool": np.array([True, False, True]),
    "uint64": np.array([2**63, 1], np.uint64),
    "masked": np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0]),
    "masked entirely": np.ma.masked_all(3),
    "matrix": matrix([[1.0, 2.0], [3.0, 4.0]]),
    "subclass": np.arange(3.0).view(Celsius),
    "memmap-like base": np.arange(4.0)[1:],
    "structured": RECORDS,
    "recarray": RECORDS.view(np.recarray),
    "void scalar": RECORDS[0],
    "datetime": np.array(["2020-01-01", "NaT"], "M8[D]"),
    "timedelta": np.array([1, 2], "m8[s]"),
    "texts": np.array(["a", "bc"]),
    "bytes": np.array([b"a", b"bc"]),
    "array-like": Wrapped([1.0, 2.0]),
    "memoryview": memoryview(np.arange(3.0)),
    "list": [1.0, 2.0],
    "nested list": [[1, 2], [3, 4]],
    "ragged list": [[1, 2], [3]],
    "range": range(4),
    "None": None,
    "str": "text",
    "huge int": 10**30,
    "negative int": -5,
    "bool of Python": True,
    "fraction": fractions.Fraction(3, 4),
    "NaN": float("nan"),
    "negative zero": -0.0,
    "complex of Python": 1j,
    "NumPy bool": np.bool_(True),
    "NumPy int8": np.int8(127),
    "NumPy longdouble": np.longdouble(1.5),
    "set": {1, 2},
    "dict": {"a": 1},
    "uncomparable": Odd(),
    "class": int,
    "ellipsis": ...,
}


def plus(x):
    return x + 1


def scaled(x):
    return (x * 2.5 - x) / 3


def compared(x):
    return x > 1, x == x


def summed(x):
    return np.sum(x), np.asarray(x).dtype


def mean_of(x):
    return x.mean(), x.max()


def looped(x):
    total = 0
    for item in x:
        total = total + item
    return total


def branched(x):
    if x > 1:
        return "large"
    return "small"


def counted(x):
    n = 0
    while n < 3 and n < len(x):
        n += 1
    return n, x[0], x[-1]


def written(x):
    x[0] = 7
    return x


def increased(x):
    x += 1
    return x


def shaped(x):
    return np.reshape(x, -1), np.ravel(x).copy(), np.shape(x), np.ndim(x)


def chosen(x):
    return np.where(x, 1, 0), np.maximum(x, 0)


def viewed(x):
    y = x[1:]
    y *= 2
    return x, y


def element_loop(x):
    total = 0.0
    for i in range(x.size):
        total += x.flat[i] * 0.5
    return total


PROGRAMS = [
    plus, scaled, compared, summed, mean_of, looped, branched, counted, written, increased, shaped, chosen,
    viewed, element_loop,
]  # fmt: skip


def look(x):
    """Everything that can be told of a value."""
    if isinstance(x, (tuple, list)):
        return type(x), [look(item) for item in x]
    if isinstance(x, np.ma.MaskedArray):
        return type(x), x.dtype, x.shape, repr(x.data.tolist()), repr(np.ma.getmaskarray(x).tolist())
    if isinstance(x, np.ndarray):
        flags = x.flags.writeable, x.flags.c_contiguous, x.flags.f_contiguous
        return type(x), x.dtype, x.shape, flags, repr(x.tolist())
    if isinstance(x, memoryview):
        return type(x), x.tolist()
    return type(x), repr(x)


def outcome(f, x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = look(f(x))
        except Exception as error:
            result = type(error), str(error)
    return result, look(x)


def fresh(x):
    """A copy with the same layout, as far as that matters here."""
    if isinstance(x, np.ndarray) and type(x) is np.ndarray and not x.dtype.hasobject:
        if not x.flags.owndata:
            return x
        made = x.copy(order="K")
        made.flags.writeable = x.flags.writeable
        return made
    return x if isinstance(x, memoryview) else copy.deepcopy(x)


@pytest.mark.parametrize("executor", ["numpy", "auto"])
@pytest.mark.parametrize("name", INPUTS)
def test_as_plain_python(name, executor):
    before, ag.settings.executor = ag.settings.executor, executor
    saved = repr(INPUTS[name])
    try:
        for program in PROGRAMS:
            if program in (written, increased, viewed) and not getattr(INPUTS[name], "flags", OWN).owndata:
                continue
            expected = [outcome(program, fresh(INPUTS[name])) for _ in range(2)]
            f = ag.function(program)
            got = [outcome(f, fresh(INPUTS[name])) for _ in range(2)]
            assert got == expected, f"{program.__name__} of {name}"
    finally:
        ag.settings.executor = before
    assert isinstance(INPUTS[name], memoryview) or repr(INPUTS[name]) == saved


class OWN:
    """What has no flags owns what it holds."""

    owndata = True


# ------------------------------------------------------------------------------------ Python arguments
def keyed(x, key):
    return x, key == 1, str(key)


HUGE = 10**400
LONG_TEXT = "abc" * 100_000
LONG_TUPLE = tuple(range(10_000))
KEYS = [
    ("NaN", [float("nan"), float("nan"), np.float64("nan").item()], 1),
    ("tuples with NaN", [(1, float("nan")), (1, float("nan")), (1, float("nan"))], 1),
    ("huge ints", [HUGE, HUGE + 1, HUGE + 2, HUGE + 3], 2),
    ("long texts", [LONG_TEXT, LONG_TEXT + "d"], 2),
    ("long tuples", [LONG_TUPLE, LONG_TUPLE[:-1], LONG_TUPLE], 2),
    ("lists", [[1], [2], [1, 2], []], 1),
    ("dicts", [{}, {"a": 1}, {"b": [1]}], 1),
    ("sets", [{1}, {2, 3}, set()], 1),
    ("unhashable objects", [Odd(), Odd(), Odd()], 1),
    ("tuples with lists", [([1],), ([2],), ([],)], 1),
    ("slices", [slice(1), slice(1), slice(2)], 2),
    ("1, 1.0, True", [1, 1.0, True, 1, 1.0, True], 3),
    ("0.0 and -0.0", [0.0, -0.0, 0.0, -0.0], 2),
    ("nested tuples", [(1, (2, "a")), (1, (2, "a")), (1, (2.0, "a"))], 2),
    ("ellipsis and None", [..., None, ..., None], 2),
]


@pytest.mark.parametrize("name,keys,most", KEYS, ids=[row[0] for row in KEYS])
def test_traces_by_python_arguments(name, keys, most):
    f = ag.function(keyed)
    for key in keys * 3:
        expected = outcome(lambda k: keyed(np.ones(2), k), key)[0]
        assert outcome(lambda k: f(np.ones(2), k), key)[0] == expected
    assert len(f.traces) <= most, f.why()


def keyed_often(x, key):
    texts = ""
    for _ in range(len(x)):
        texts += str(key)
    return x, texts


@pytest.mark.parametrize("executor", ["numpy", "auto", "native"])
@pytest.mark.parametrize("function", [keyed, keyed_often])
def test_unhashable_arguments_are_not_kept(function, executor):
    class Big:
        __hash__ = None

    big = Big()
    gone = weakref.ref(big)
    gc.collect()
    gc.disable()
    try:
        with ag.settings.override(executor=executor):
            f = ag.function(function)
            f(np.ones(20), big)
            del big
            assert gone() is None
    finally:
        gc.enable()


# ---------------------------------------------------------------------------------------- signatures
spec = ag.TensorSpec((None, 2), np.float64)


@ag.function(input_signature=[spec, ag.TensorSpec((), np.int64)])
def promised(x, n):
    return x.sum() + n


@ag.function
def free(x, n=1):
    return x + n


concrete = free.get_concrete_function(spec, 2)
WRONG = [
    (
        lambda: promised(np.ones(2), np.int64(1)),
        ag.SignatureError,
        ["'x' is float64[2]", "shape=(None, 2)", "given:", "promised:", "fix:"],
    ),
    (lambda: promised(np.ones((3, 3)), np.int64(1)), ag.SignatureError, ["'x' is float64[3, 3]"]),
    (lambda: promised(np.ones((3, 2), int), np.int64(1)), ag.SignatureError, ["'x' is int64[3, 2]"]),
    (lambda: promised(np.ones((3, 2)), "a"), ag.SignatureError, ["'n' is ='a'", "int64"]),
    (lambda: promised(np.ma.ones((3, 2)), np.int64(1)), ag.SignatureError, ["'x' is", "MaskedArray"]),
    (lambda: promised(np.ones((3, 2))), TypeError, ["missing", "'n'"]),
    (lambda: concrete(np.ones(3)), ag.SignatureError, ["given:", "traced:", "float64[3]", "float64[?, 2]"]),
    (lambda: concrete(np.ones((1, 2)), 3), ag.SignatureError, ["=3", "n: =2"]),
    (lambda: concrete(np.ones((1, 2)), m=3), ag.SignatureError, ["no argument 'm'"]),
    (lambda: concrete(), ag.SignatureError, ["takes 1 arguments"]),
    (lambda: free(), TypeError, ["missing 1 required positional argument: 'x'"]),
    (lambda: free(1, 2, 3), TypeError, ["takes from 1 to 2 positional arguments but 3 were given"]),
    (lambda: free(1, k=3), TypeError, ["unexpected keyword argument 'k'"]),
    (lambda: free.get_concrete_function(ag.TensorSpec((2,))), ag.SignatureError, ["has no dtype", "fix:"]),
    (lambda: ag.TensorSpec((-1,), float), ValueError, ["-1"]),
]


@pytest.mark.parametrize("call,kind,parts", WRONG, ids=[str(k) for k in range(len(WRONG))])
def test_mismatches_say_what_and_why(call, kind, parts):
    with pytest.raises(kind) as caught:
        call()
    text = str(caught.value)
    assert all(part in text for part in parts), text
