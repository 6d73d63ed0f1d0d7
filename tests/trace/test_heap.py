"""What tracing knows of the contents of dicts and objects: None is a value like others."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.execute.native.executor import unavailable

native = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
ABSENT = object()
NAN = float("nan")


class Box:
    value: Any = 3

    def __init__(self) -> None:
        self.value = None
        self.filled = 0


def known_dict(x: Any) -> Any:
    d = {"a": None, "b": x}
    return "a" in d, "a" not in d, d.get("a", 5), d.get("c", 5), d["a"], list(d)


def keywords(x: Any, **options: Any) -> Any:
    given = options.get("scale", ABSENT)
    return given is ABSENT, given is None, "scale" in options, x


def remembered(x: Any) -> Any:
    memo: dict[int, Any] = {}
    count = 0
    for k in (1, 2, 1, 1):
        if k not in memo:
            count += 1
            memo[k] = None if k % 2 else x
    return count, memo, 1 in memo, 3 in memo


def where_ways_meet(x: Any) -> Any:
    d: dict[str, Any] = {"p": None}
    d["q"] = None if x > 1 else 1
    if x > 2:
        d["p"] = None
    for _ in range(40):
        if x > 3:
            d["q"] = None
    return "p" in d, d.get("p", 7), "q" in d, d.get("q", 7)


def attributes(x: Any) -> Any:
    box = Box()
    for _ in range(3):
        if box.value is None:
            box.filled += 1
            box.value = x if x > 0 else None
    return box.filled, hasattr(box, "value"), getattr(box, "value", 5), getattr(box, "other", 5)


@pytest.mark.parametrize("plain", [known_dict, keywords, remembered, where_ways_meet, attributes])
def test_none_in_dicts_and_attributes(plain: Any) -> None:
    function = ag.function(plain)
    for x in map(np.float64, (0.0, 1.5, 2.5, 3.5, -1.0)):
        assert function(x) == plain(x)
    if plain is keywords:
        for options in ({"scale": None}, {"scale": 2}, {}, {"scale": None}):
            assert function(x, **options) == plain(x, **options)


def odd_keys(x: Any) -> Any:
    d = {NAN: 1, "a": 2, 1: x}
    del d[NAN]
    del d[True]
    found = list(d), len(d), d.get(NAN, 5)
    d[NAN] = 3
    d[NAN] = d[NAN] + 1
    return found, d[NAN], d.pop(NAN), list(d)


def test_keys_that_equal_nothing() -> None:
    assert ag.function(odd_keys)(np.float64(2)) == odd_keys(np.float64(2))


def by_both_names(box: Any, held: Any, key: str) -> Any:
    first = box.value, held["filled"]
    held["value"] = 5.0
    box.filled = box.value + 1
    second = box.value, held["filled"]
    held[key] = held["filled"] + 3
    return first, second, box.value, box.filled


@pytest.mark.parametrize("key", ["value", "filled"])
def test_an_object_beside_its_own_dict(key: str) -> None:
    converted = ag.function(by_both_names)
    for _ in range(3):
        a, b = Box(), Box()
        assert converted(a, vars(a), key) == by_both_names(b, vars(b), key)
        assert vars(a) == vars(b)


TABLE = np.ones(3)


class Watching(dict[Any, Any]):
    def __setitem__(self, key: Any, value: Any) -> None:
        global TABLE
        TABLE = np.full(3, float(key))
        dict.__setitem__(self, key, value)


@pytest.mark.parametrize("key", [2, (0, 1), "TABLE"])
@pytest.mark.parametrize("of", [dict, Watching])
def test_an_item_of_an_unknown_object_and_a_global(of: Any, key: Any) -> None:
    def run(held: Any, key: Any) -> Any:
        before = TABLE.sum()
        held[0][key] = 5.0
        return before, TABLE.sum(), held[0][key]

    global TABLE
    if of is Watching:
        key = 7
    converted, seen = ag.function(run), []
    for function in (run, converted):
        TABLE = np.ones(3)
        seen.append([function([of()], key) for _ in range(4)])
    assert seen[0] == seen[1]


def test_lists_that_repeat_what_they_hold() -> None:
    def run(x: Any, k: int) -> Any:
        arrays = [x + 1] * k
        arrays[0][0] = 9.0
        lists: Any = 2 * [[]]
        lists[0].append(k)
        first = arrays[0] is arrays[-1]
        arrays[-1] = x
        return arrays, lists, first, len(arrays), [[x]] * 0, [[x]] * -1, [[x]] * True

    converted = ag.function(run)
    for k in (1, 2, 3, 2, 100):
        assert repr(converted(np.zeros(2), k)) == repr(run(np.zeros(2), k))


@native
def test_means_of_groups_are_native() -> None:
    def run(x: Any, count: int, n: int) -> Any:
        covers, kept = np.stack([np.eye(2)] * count), []
        for _ in range(n):
            for k in range(count):
                d = x - covers[k, 0]
                covers[k] = np.linalg.inv(covers[k] + np.eye(2)) + 0.001 * (d.T @ d)
            kept.append(covers.sum())
        return covers, kept

    x = np.arange(12.0).reshape(6, 2) / 10
    with ag.settings.override(executor="native", compile="now"):
        converted = ag.function(run)
        np.testing.assert_allclose(converted(x, 3, 20)[0], run(x, 3, 20)[0], rtol=1e-12)
        assert converted.traces[-1].concrete.executor == "native"
        assert not converted.traces[-1].concrete.not_native


def hiding(x: Any) -> Any:
    global max
    if x > 0:
        max = min
    return max(x, 2)


def test_a_builtin_name_that_one_way_makes_global() -> None:
    converted = ag.function(hiding)
    for x in (-1, 1, np.int64(3), np.int64(-3), 5.0):
        for function in (hiding, converted):
            globals().pop("max", None)
            expected = (2 if x <= 0 else builtins.min(x, 2)) if function is converted else hiding(x)
            globals().pop("max", None)
            assert function(x) == expected
    globals().pop("max", None)
