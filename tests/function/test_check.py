"""Shadow mode: copies keep their sharing, and every kind of difference is found and named."""

from __future__ import annotations

import collections
import copy
import decimal
import random
import sys
import types

import numpy as np
import pytest

from autograph.check import run_checked
from autograph.compare import Differ, copies
from runtime.errors import CheckError

NAN = float("nan")
ANOTHER = " is another object than in plain Python (one is shared with a place seen before)"
Point = collections.namedtuple("Point", "x y")


class Box:
    def __init__(self, **attributes):
        self.__dict__.update(attributes)


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a = a


def same_list():
    inner = [1]
    return [inner, inner], [inner, [1]]


class Marked(list):
    """A list with an attribute."""


def marked(mark):
    made = Marked([1])
    made.mark = mark
    return made


DIFFERENT = [  # plain Python's value, the other one, the text
    (1, 1.0, "result is of class builtins.float, plain Python's is of class builtins.int"),
    (1, True, "result is of class builtins.bool, plain Python's is of class builtins.int"),
    (0.0, -0.0, "result is -0.0, plain Python's is 0.0"),
    (np.float64(1), 1.0, "result is of class builtins.float, plain Python's is of class numpy.float64"),
    (np.float64(0.0), np.float64(-0.0), "result is np.float64(-0.0), plain Python's is np.float64(0.0)"),
    (np.zeros(3), np.zeros(3, "f4"), "result has dtype float32, plain Python's has float64"),
    (np.zeros(3), np.zeros((3, 1)), "result has shape (3, 1), plain Python's has (3,)"),
    (
        np.zeros((2, 2)),
        np.array([[0, 0], [-0.0, 0]]),
        "result[1, 0] is np.float64(-0.0), plain Python's is np.float64(0.0)",
    ),
    (
        np.zeros(()),
        np.float64(0),
        "result is of class numpy.float64, plain Python's is of class numpy.ndarray",
    ),
    (
        np.array([1j]),
        np.array([1j + 1]),
        "result[0] is np.complex128(1+1j), plain Python's is np.complex128(1j)",
    ),
    ([1, [2, 3]], [1, [2, 4]], "result[1][1] is 4, plain Python's is 3"),
    ([1], [1, 2], "result has 2 items, plain Python's has 1"),
    ({"a": 1}, {"a": 2}, "result['a'] is 2, plain Python's is 1"),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}, "a key of result is 'b', plain Python's is 'a'"),
    ({1, 2}, {1, 3}, "result is {1, 3}, plain Python's is {1, 2}"),
    (
        {1, 2},
        {True, 2},
        "an item of result is of class builtins.bool, plain Python's is of class builtins.int",
    ),
    (range(0, 3, 2), range(0, 4, 2), "result.stop is 4, plain Python's is 3"),
    (decimal.Decimal("1"), decimal.Decimal("2"), "result is Decimal('2'), plain Python's is Decimal('1')"),
    (collections.deque([1]), collections.deque([2]), "result is deque([2]), plain Python's is deque([1])"),
    (marked(1), marked(2), "result.mark is 2, plain Python's is 1"),
    (Point(1, 2), Point(1, 3), "result.y is 3, plain Python's is 2"),
    (
        Point(1, 2),
        (1, 2),
        "result is of class builtins.tuple, plain Python's is of class " + __name__ + ".Point",
    ),
    (Box(a=[1]), Box(a=[2]), "result.a[0] is 2, plain Python's is 1"),
    (Box(a=1), Box(b=1), "result has the attributes ['b'], plain Python's has ['a']"),
    (Slotted(1), Slotted(2), "result.a is 2, plain Python's is 1"),
    (*same_list(), "result[1]" + ANOTHER),
    (ValueError("a"), ValueError("b"), "result.args[0] is 'b', plain Python's is 'a'"),
    (np.array([1, "a"], object), np.array([1, "b"], object), "result[1] is 'b', plain Python's is 'a'"),
    (int, float, "result is <class 'float'>, plain Python's is <class 'int'>"),
]


@pytest.mark.parametrize("plain,other,text", DIFFERENT, ids=[row[2][:50] for row in DIFFERENT])
def test_differences_are_named(plain, other, text):
    assert Differ().compare("result", plain, other) == text
    assert Differ().compare("result", plain, copies(plain)) == ""
    assert Differ().compare("result", other, copies(other)) == ""


@pytest.mark.parametrize(
    "value",
    [
        NAN,
        np.array([NAN, 1]),
        np.float32(NAN),
        np.array([np.datetime64("NaT", "D")]),
        complex(NAN, 0),
        None,
        ...,
        b"x",
        np.zeros(2, [("a", int)]),
        range(3),
        slice(1),
        frozenset({1}),
        object,
        sys,
        lambda x: x,
        np.array(["a"]),
    ],
    ids=lambda v: repr(v).partition(" at 0x")[0],
)
def test_equal_values_are_the_same(value):
    assert (
        Differ().compare(
            "result", value, copy.deepcopy(value) if not isinstance(value, types.ModuleType) else value
        )
        == ""
    )


def layouts():
    base = np.arange(24.0).reshape(4, 6)
    yield "view", [base, base[1:, ::2]]
    yield "reversed", [base, base[::-1, ::-1]]
    yield "two views", [base[::2], base[1::2], base.T]
    yield "only a view", [base[:, 1]]
    yield "fortran", [np.asfortranarray(base), base]
    yield "bytes", [np.frombuffer(bytes(range(16)), np.uint8)[::-1]]
    yield "gaps", [np.frombuffer(bytearray(32), np.uint8)[3::5]]
    yield "dtype view", [base, base.view(np.int64)]
    yield "broadcast", [np.broadcast_to(base[0], (3, 6))]
    yield "inside", [{"a": Box(w=base)}, (base,), Slotted(base[1])]


@pytest.mark.parametrize("value", [v for _, v in layouts()], ids=[name for name, _ in layouts()])
def test_copies_keep_layout_and_sharing(value):
    def arrays(v):
        found = []
        for item in v:
            item = item["a"].w if isinstance(item, dict) else item.a if isinstance(item, Slotted) else item
            found.append(item[0] if isinstance(item, tuple) else item)
        return found

    twin = copies(value)
    mine, others = arrays(value), arrays(twin)
    for i, (a, b) in enumerate(zip(mine, others, strict=True)):
        assert (a.strides, a.shape, a.dtype) == (b.strides, b.shape, b.dtype)
        assert a.flags.writeable == b.flags.writeable
        assert np.array_equal(a, b) and not np.may_share_memory(a, b)
        for p, q in zip(mine[:i], others[:i], strict=True):
            assert np.shares_memory(a, p) == np.shares_memory(b, q)


def checked(plain, other, *args, **kwargs):
    return run_checked(plain, other, args, kwargs)


def test_the_same_is_passed_on(capsys):
    def f(x, *, k):
        print("k is", k)
        x += 1
        return x, np.random.rand(), random.random()

    np.random.seed(1)
    random.seed(1)
    x = np.zeros(2)
    got = checked(f, f, x, k=3)
    assert got[0] is x and x.tolist() == [1, 1]
    assert capsys.readouterr().out == "k is 3\n"
    np.random.seed(1)
    random.seed(1)
    assert got[1:] == (np.random.rand(), random.random())


def raising(error):
    def f(*args):
        raise error

    return f


def printing(text):
    return lambda: print(text)


def write(x):
    x[0] = 1


def keep(x):
    return x


WRONG = [
    (printing("a"), printing("b"), (), "the printed output is 'b\\n', plain Python's is 'a\\n'"),
    (
        raising(ValueError("a")),
        raising(ValueError("b")),
        (),
        "plain Python raises builtins.ValueError: a, the converted function raises builtins.ValueError: b",
    ),
    (
        raising(ValueError("a")),
        lambda: 1,
        (),
        "plain Python raises builtins.ValueError: a, the converted function returns",
    ),
    (
        lambda: 1,
        raising(KeyError("a")),
        (),
        "plain Python returns, the converted function raises builtins.KeyError: 'a'",
    ),
    (
        write,
        lambda x: None,
        (np.zeros(2),),
        "argument 0[0] is np.float64(0.0), plain Python's is np.float64(1.0)",
    ),
    (write, lambda x: None, ([0],), "argument 0[0] is 0, plain Python's is 1"),
    (keep, lambda x: x.copy(), (np.zeros(2),), "result" + ANOTHER),
    (keep, lambda x: x[:], ([0],), "result" + ANOTHER),
    (
        lambda x: x[:1],
        lambda x: x[:1].copy(),
        (np.zeros(2),),
        "result and argument 0 share memory in one run only",
    ),
]


@pytest.mark.parametrize("plain,other,args,why", WRONG, ids=[row[3][:60] for row in WRONG])
def test_what_is_wrong_is_said(plain, other, args, why, capsys):
    with pytest.raises(CheckError) as caught:
        checked(plain, other, *args)
    assert f"  why: {why}" in str(caught.value).splitlines()


def test_the_exception_is_the_functions_own():
    with pytest.raises(ValueError, match="same"):
        checked(raising(ValueError("same")), raising(ValueError("same")))


def test_what_cannot_be_copied_is_said():
    with pytest.raises(CheckError, match="an argument can't be copied"):
        checked(keep, keep, (i for i in range(3)))
