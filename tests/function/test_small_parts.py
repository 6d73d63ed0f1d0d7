"""Settings, trees, specs, and the compiled test against the plain one."""

from __future__ import annotations

import collections
import enum
import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime import tree
from runtime.config import TABLE, Settings, settings
from runtime.function.dispatch import MISS, compile_entry
from runtime.function.signature import Signature, argument_type, covers, skeleton, unknowns, widen
from runtime.function.spec import TensorSpec
from runtime.types import (
    OBJECT,
    WEAK_FLOAT,
    WEAK_INT,
    ArrayType,
    ObjectType,
    StaticType,
    TupleType,
    describes,
    type_of,
)

Point = collections.namedtuple("Point", "x y")


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Odd(int):
    pass


VALUES = [
    None,
    True,
    False,
    0,
    1,
    -1,
    10**30,
    0.0,
    -0.0,
    1.0,
    math.inf,
    1j,
    0j,
    "",
    "a",
    b"",
    b"a",
    ...,
    (),
    (1,),
    (1.0,),
    (True,),
    (0.0,),
    (-0.0,),
    (1, 2),
    (1, (2, "x")),
    [1],
    {},
    {1: 2},
    set(),
    frozenset({1}),
    slice(1, 2),
    slice(None),
    slice([1], 2),
    range(3),
    range(4),
    Colour.RED,
    Colour.BLUE,
    Odd(1),
    len,
    math.sin,
    np.sin,
    np.cos,
    int,
    Odd,
    math,
    np.dtype(float),
    np.dtype("f4"),
    Point(1, 2),
    Point(1, 3),
    Point(np.zeros(2), 1),
    np.zeros(3),
    np.zeros(4),
    np.zeros((3, 2)),
    np.zeros(()),
    np.zeros(3, int),
    np.zeros(3, "f4"),
    np.zeros(3, ">f8"),
    np.float64(1),
    np.float32(1),
    np.int64(1),
    np.bool_(True),
    np.str_("a"),
    np.datetime64("2020-01-01"),
    np.datetime64("2020-01-01T00"),
    np.array(["a"]),
    np.array([None]),
    np.array([1, "a"], object),
    np.ma.masked_array([1.0]),
    np.zeros(2, [("a", float)]),
    (np.zeros(3), 1),
    (np.zeros(3), 2),
    (np.zeros(4), 1),
    lambda x: x,
    object(),
    ValueError("x"),
    iter([1]),
]
GENERAL = [
    OBJECT,
    WEAK_INT,
    WEAK_FLOAT,
    ObjectType(str),
    ObjectType(np.ndarray),
    ObjectType(list),
    ObjectType(type(lambda: 0)),
    ArrayType(np.dtype(float)),
    ArrayType(np.dtype(float), (None,)),
    ArrayType(np.dtype(float), (None, 2)),
    ArrayType(np.dtype(float), (3, None)),
    ArrayType(np.dtype(float), (), scalar=True),
    TupleType((WEAK_INT, StaticType(2))),
    TupleType((WEAK_INT,)),
    TupleType((WEAK_INT, WEAK_INT), Point),
    TupleType((ArrayType(np.dtype(float), (None,)), WEAK_INT)),
    TupleType((OBJECT, OBJECT)),
    TupleType(()),
]


@pytest.mark.parametrize("value", [math.nan, complex(math.nan, 1), complex(0, math.nan)])
def test_a_nan_is_passed_on_as_the_object_it_is(value):
    assert argument_type(value) == type_of(value)
    assert argument_type((value, 1)) == TupleType((type_of(value), StaticType(1)))


def accepts(t, value):
    entry = compile_entry(Signature("f", (("x", t),)), (), "run({values})", run=lambda *values: "ran")
    return entry((value,), {}) is not MISS


@pytest.mark.parametrize("value", VALUES, ids=lambda v: repr(v).partition(" at 0x")[0][:30])
def test_the_type_of_an_argument_is_its_own_and_nobody_elses(value):
    t = argument_type(value)
    assert describes(t, value)
    assert accepts(t, value)
    for other in VALUES:
        exact = argument_type(other)
        assert accepts(t, other) == covers(t, exact)
        if covers(t, exact) and not isinstance(t, ObjectType):
            assert hash(exact) == hash(t) and skeleton(exact) == skeleton(t)


@pytest.mark.parametrize("general", GENERAL, ids=str)
def test_compiled_test_is_the_plain_one(general):
    for value in VALUES:
        assert accepts(general, value) == covers(general, argument_type(value)), value
        if covers(general, argument_type(value)):
            assert describes(general, value)


def test_widening_covers_what_it_came_from():
    for a, b in itertools.product(VALUES, VALUES):
        new, old = argument_type(a), argument_type(b)
        if skeleton(new) == skeleton(old):
            for everything in (False, True):
                wide = widen(new, old, everything)
                assert covers(wide, new), (a, b)
                assert unknowns(wide) >= unknowns(new)
                assert not everything or covers(wide, old), (a, b)


@given(st.lists(st.tuples(*[st.integers(0, 3)] * 2), min_size=1, max_size=6))
def test_widening_sizes_leaves_equal_axes_known(shapes):
    types = [ArrayType(np.dtype(float), shape) for shape in shapes]
    wide = types[0]
    for t in types[1:]:
        wide = widen(t, wide)
    for axis in range(2):
        sizes = {shape[axis] for shape in shapes}
        assert wide.shape[axis] == (sizes.pop() if len(sizes) == 1 else None)


@pytest.mark.parametrize(
    "spec,text",
    [
        (TensorSpec((None, 3), np.float32, "x"), "TensorSpec(shape=(None, 3), dtype=float32, name='x')"),
        (TensorSpec(None), "TensorSpec(shape=None, dtype=None)"),
        (TensorSpec(4, ">i4"), "TensorSpec(shape=(4,), dtype=>i4)"),
        (TensorSpec.from_array(np.zeros((2, 1))), "TensorSpec(shape=(2, 1), dtype=float64)"),
    ],
)
def test_specs_print(spec, text):
    assert repr(spec) == text and spec == spec and hash(spec) == hash(spec) and spec != text


def test_specs_refuse_odd_sizes():
    for size in (-1, 1.5, "3", True):
        with pytest.raises(ValueError, match="not the size of an axis"):
            TensorSpec((size,))


# ---------------------------------------------------------------- settings
def test_every_setting_has_a_row_and_a_sentence():
    public = {name for name in Settings.__annotations__ if not name.startswith("_")}
    assert {row.name for row in TABLE} == public
    for row in TABLE:
        assert row.doc.endswith(".") and row.env == "AUTOGRAPH_" + row.name.upper()
        assert row.check(row.default) == getattr(Settings({}), row.name)


def test_the_environment_is_read():
    got = Settings({"AUTOGRAPH_STRICT": "Yes", "AUTOGRAPH_UNROLL_LIMIT": " 4 "})
    assert got.strict is True and got.unroll_limit == 4


@pytest.mark.parametrize(
    "environment,text",
    [
        ({"AUTOGRAPH_STRICT": "maybe"}, "set it to one of 1, true, yes, on, 0, false, no, off, or unset it"),
        ({"AUTOGRAPH_CACHE_SIZE": "0"}, "set it to an integer, 1 or more, or unset it"),
        ({"AUTOGRAPH_CACHE_SIZE": "many"}, "AUTOGRAPH_CACHE_SIZE is 'many'"),
    ],
)
def test_a_bad_environment_is_explained(environment, text):
    with pytest.raises(ValueError) as caught:
        Settings(environment)
    assert text in str(caught.value)


def test_settings_are_checked():
    with pytest.raises(ValueError, match="there is no setting 'unrol'.*\n.*unroll_limit"):
        settings.unrol = 3
    for value in (-1, 1.0, True, "1"):
        with pytest.raises(ValueError, match="an integer, 0 or more"):
            settings.unroll_limit = value
    before = settings.unroll_limit
    with pytest.raises(ValueError, match="True or False"), settings.override(unroll_limit=3, strict=1):
        pass
    with settings.override(unroll_limit=3):
        assert settings.unroll_limit == 3
    assert settings.unroll_limit == before and f"unroll_limit={before}" in repr(settings)


# ---------------------------------------------------------------- trees
def test_trees_keep_order_class_and_none():
    value = {"b": (1, None), "a": [Point(2, collections.OrderedDict(z=3))]}
    leaves, structure = tree.flatten(value)
    assert leaves == [1, None, 2, 3]
    again = tree.unflatten(structure, leaves)
    assert again == value and list(again) == ["b", "a"] and type(again["a"][0]) is Point
    assert tree.map_leaves(lambda a, b: (a, b), (1, [2]), (3, [4])) == ((1, 3), [(2, 4)])
    assert [path for path, _ in tree.flatten_with_paths(value, "v")[0]] == [
        "v['b'][0]",
        "v['b'][1]",
        "v['a'][0].x",
        "v['a'][0].y['z']",
    ]
    assert tree.flatten(5)[0] == [5]
