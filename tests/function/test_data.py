"""Datasets: elements, laziness, threads; looped over eagerly and in functions alike."""

from __future__ import annotations

import threading
import traceback

import numpy as np
import pytest

import autograph as ag
from autograph.data import Dataset
from runtime import tree
from runtime.types import ArrayType, ObjectType, TupleType, describes

X, Y = np.arange(10.0), np.arange(10) % 3


def counting(n):
    for i in range(n):
        yield np.full(2, i)


def source(name, folder=None):
    pairs = Dataset.from_arrays((X, Y))
    table = {
        "arrays": lambda: Dataset.from_arrays(X),
        "pairs": lambda: pairs,
        "dicts": lambda: Dataset.from_arrays({"x": X, "y": Y}).batch(4),
        "generator": lambda: Dataset.from_generator(counting, 5),
        "map": lambda: pairs.map(lambda x, y: x * y),
        "filter": lambda: pairs.filter(lambda x, y: y == 1).map(lambda x, y: x),
        "batch": lambda: pairs.batch(3),
        "drop": lambda: pairs.batch(3, drop_remainder=True),
        "shuffle": lambda: pairs.shuffle(seed=3, reshuffle=False),
        "buffer": lambda: pairs.shuffle(4, seed=3, reshuffle=False).batch(5),
        "repeat": lambda: pairs.repeat(3).take(25),
        "for ever": lambda: pairs.repeat().take(25).skip(3),
        "zip": lambda: Dataset.zip(Dataset.from_arrays(X), Dataset.from_generator(counting, 4)),
        "prefetch": lambda: pairs.batch(2).prefetch(3),
        "empty": lambda: Dataset.from_arrays(X[:0]).repeat(),
    }
    return table[name]()


SOURCES = [
    "arrays",
    "pairs",
    "dicts",
    "generator",
    "map",
    "filter",
    "batch",
    "drop",
    "shuffle",
    "buffer",
    "repeat",
    "for ever",
    "zip",
    "prefetch",
    "empty",
]


def collect(ds):
    seen, count = [], 0
    for element in ds:
        seen.append(element)
        count += 1
    return seen, count


def fit(ds, rate, epochs):
    w, b = np.float64(0.0), np.float64(0.0)
    for epoch in range(epochs):
        loss = 0.0
        for x, y in ds:
            error = w * x + b - y
            if np.abs(error).max() > 100:
                break
            w = w - rate * (error * x).mean()
            b = b - rate * error.mean()
            loss = loss + (error**2).sum()
        print(epoch, f"{loss:.6f}")
    return w, b


@pytest.mark.parametrize("name", SOURCES)
def test_loops_over_datasets(name):
    expected = repr(collect(source(name)))
    f = ag.function(collect)
    ds = source(name)
    assert repr(f(ds)) == expected and repr(f(ds)) == expected
    assert f.traces[0].plain is None
    if ds._length is not None:
        assert len(ds) == collect(ds)[1]


def test_values():
    assert [list(b) for b in Dataset.from_arrays(X[:5]).batch(2)] == [[0, 1], [2, 3], [4]]
    batch = next(iter(source("dicts")))
    assert list(batch) == ["x", "y"] and batch["x"].shape == (4,)
    order = [int(x) for x, _ in source("shuffle")]
    assert sorted(order) == list(range(10)) and order != sorted(order)
    near = [int(x) for x in Dataset.from_arrays(X).shuffle(3, seed=1)]
    assert sorted(near) == list(range(10)) and all(x <= k + 3 for k, x in enumerate(near))
    again = Dataset.from_arrays(X).shuffle(seed=1)
    assert [*again] != [*again]


def test_training_in_one_graph(capsys):
    points = np.linspace(-1, 1, 64)
    ds = Dataset.from_arrays((points, 3 * points + 0.5)).shuffle(seed=0, reshuffle=False).batch(8).prefetch(2)
    expected, printed = fit(ds, 0.3, 20), capsys.readouterr().out
    f = ag.function(fit)
    assert f(ds, 0.3, 20) == expected and capsys.readouterr().out == printed
    assert abs(expected[0] - 3) < 1e-3 and f.traces[0].plain is None and "for x, y in ds" in f.plan_source


def test_npy_files(tmp_path):
    paths = []
    for k in range(3):
        paths.append(tmp_path / f"{k}.npy")
        np.save(paths[-1], np.arange(4.0) + 10 * k)
    assert [a.sum() for a in Dataset.from_npy(paths)] == [6, 46, 86]
    rows = Dataset.from_npy(paths, rows=True)
    assert [float(r) for r in rows.batch(6).map(np.sum)] == [27, 111]
    assert len(list(Dataset.from_npy(paths[0]))) == 1
    missing = Dataset.from_npy([*paths, tmp_path / "none.npy"])
    assert len(list(missing.take(3))) == 3
    with pytest.raises(FileNotFoundError):
        list(missing)


def test_loops_over_files_are_typed(tmp_path):
    paths = [tmp_path / f"{k}.npy" for k in range(3)]
    for k, path in enumerate(paths):
        np.save(path, np.arange(12.0).reshape(4, 3) + k)

    @ag.function
    def total(ds):
        found = 0.0
        for x in ds:
            found += x.sum()
        return found

    whole = ArrayType(np.dtype(float), (4, 3))
    made = Dataset.from_npy(paths)
    rows = Dataset.from_npy(paths, rows=True)
    kinds = [
        (made, whole),
        (rows, ArrayType(np.dtype(float), (3,))),
        (rows.batch(4, drop_remainder=True).prefetch(), whole),
        (made.shuffle(seed=1).repeat(1).skip(0).take(3), whole),
    ]
    for ds, kind in kinds:
        assert callable(ds._kind)  # no file was opened
        assert total(ds) == 234 and ds.element_type == kind
        (node,) = [n for n in total.get_concrete_function(ds).graph.nodes if n.op == "for"]
        assert node.regions[0].params[0].type == kind
    np.save(paths[2], np.arange(3))
    with pytest.raises(TypeError, match=r"is int64\[3\], it was float64\[4, 3\] when a loop was compiled"):
        total(made)
    mixed = Dataset.from_npy(paths)
    assert [x.shape for x in mixed] == [(4, 3), (4, 3), (3,)] and total(mixed) == 147
    np.save(paths[2], np.ones((2, 3)))
    assert Dataset.from_npy(paths).element_type == ArrayType(np.dtype(float), (None, 3))
    assert Dataset.from_npy([*paths, tmp_path / "none.npy"]).element_type == Dataset.from_npy([]).element_type


def test_files_are_mapped_and_stay_as_they_are(tmp_path):
    path = tmp_path / "a.npy"
    for array in (M, M.T, M[:0], np.array(3.0), np.array(["a", "bc"])):
        np.save(path, array)
        (found,) = Dataset.from_npy([path])
        assert type(found) is np.ndarray and np.array_equal(found, array)
    np.save(path, M)
    (found,) = Dataset.from_npy(path)
    assert not found.flags.owndata
    found[0] = 7
    assert np.array_equal(np.load(path), M) and found[0].sum() == 21


M = np.arange(12.0).reshape(4, 3)
F8 = ArrayType(np.dtype(float), (), True)
I8 = ArrayType(np.dtype(int), (), True)
TYPES = [
    (Dataset.from_arrays(X), F8),
    (Dataset.from_arrays((X, Y)), TupleType((F8, I8))),
    (Dataset.from_arrays(M), ArrayType(F8.dtype, (3,))),
    (Dataset.from_arrays(M).batch(2), ArrayType(F8.dtype, (2, 3))),
    (Dataset.from_arrays(M).batch(3), ArrayType(F8.dtype, (None, 3))),
    (Dataset.from_arrays(M).batch(3, drop_remainder=True), ArrayType(F8.dtype, (3, 3))),
    (Dataset.from_arrays((X, Y)).shuffle(seed=1).repeat(2).take(7).skip(1).prefetch(), TupleType((F8, I8))),
    (Dataset.zip(Dataset.from_arrays(X), Dataset.from_arrays(M)), TupleType((F8, ArrayType(F8.dtype, (3,))))),
    (Dataset.from_arrays(np.array(["a", "bc"])), ObjectType(np.str_)),
    (Dataset.from_arrays({"x": X}), ObjectType(dict)),
    (Dataset.from_arrays(X.astype(">f8")).batch(2), ArrayType(F8.dtype, (2,))),
    (Dataset.from_arrays(np.ma.array(X)), ObjectType()),
    (Dataset.from_generator(counting, 3), ObjectType()),
    (Dataset.from_generator(counting, 3, spec=ag.TensorSpec((2,), int)), ArrayType(I8.dtype, (2,))),
    (Dataset.from_arrays(X).map(lambda x: x * 2), ObjectType()),
    (Dataset.from_arrays(X).map(lambda x: (x, x), (ag.TensorSpec((), float),) * 2), TupleType((F8, F8))),
]


@pytest.mark.parametrize("ds,expected", TYPES, ids=[repr(row[0]) + str(k) for k, row in enumerate(TYPES)])
def test_types_of_elements(ds, expected):
    assert ds.element_type == expected
    assert all(describes(expected, element) for element in ds)


def descend(ds, rate, w):
    for x, y in ds:
        error = w * x - y
        w = w - rate * (error * x).mean()
    return w


START = np.float64(0.5)


def test_loops_are_typed():
    ds = Dataset.from_arrays((X, 2 * X)).shuffle(seed=0, reshuffle=False).batch(5)
    f = ag.function(descend)
    f(ds, 0.01, START)
    inner = str(f.graph).partition("for{")[2]
    assert "item: (float64[5], float64[5])" in inner and "object = " not in inner
    assert repr(f(ds.take(1), 0.01, START)) == repr(descend(ds.take(1), 0.01, START)) and len(f.traces) == 1
    other = ds.map(lambda x, y: (x.astype(np.float32), y))  # nothing is known of these: another trace
    assert repr(f(other, 0.01, START)) == repr(descend(other, 0.01, START)) and len(f.traces) == 2
    kept = [f(source, 0.01, START) for source in (ds, other, ds)]
    assert len(kept) == 3 and len(f.traces) == 2


def test_shuffles_are_reproducible():
    def orders(seed):
        ds = Dataset.from_arrays(np.arange(20)).shuffle(seed=seed)
        return [[int(x) for x in ds] for _ in range(3)]

    assert orders(5) == orders(5) != orders(6)
    assert len({tuple(order) for order in orders(5)}) == 3
    buffered = Dataset.from_arrays(np.arange(20)).shuffle(4, seed=1, reshuffle=False).repeat(2)
    once = [int(x) for x in buffered]
    assert once[:20] == once[20:]


def test_errors_in_the_thread_reach_the_user_with_their_line():
    def halved(x):
        return 1 / (x - 3)

    ds = Dataset.from_arrays(X).map(halved).prefetch(2)
    with np.errstate(divide="raise"):
        for f in (collect, ag.function(collect)):
            with pytest.raises(FloatingPointError) as caught:
                f(ds)
            entries = traceback.extract_tb(caught.value.__traceback__)
            assert any(entry.name == "halved" for entry in entries) and not threads()


def threads():
    return [t for t in threading.enumerate() if t.name == "autograph prefetch"]


def test_prefetch_leaves_no_thread():
    ds = Dataset.from_arrays(X).repeat().prefetch(2)
    f = ag.function(lambda ds: [x for x in ds if x > 3])

    def first_big(ds):
        for x in ds:
            if x > 3:
                return x
        return None

    for g in (first_big, ag.function(first_big)):
        assert g(ds) == 4 and not threads()
    del f

    def fails():
        yield 1
        raise KeyError("in the source")

    bad = Dataset.from_generator(fails).prefetch()
    for g in (collect, ag.function(collect)):
        with pytest.raises(KeyError, match="in the source"):
            g(bad)
        assert not threads()


def test_prefetch_runs_ahead():
    made = []

    def slow():
        for i in range(4):
            made.append(i)
            yield i

    elements = iter(Dataset.from_generator(slow).prefetch(2))
    assert next(elements) == 0
    for _ in range(200):
        if len(made) >= 3:
            break
        threading.Event().wait(0.01)
    assert len(made) >= 3
    elements.close()


BAD = [
    (lambda: Dataset.from_arrays((X, X[:3])), ValueError, "shapes (10,), (3,)"),
    (lambda: Dataset.from_generator(counting(3)), TypeError, "not a generator"),
    (lambda: Dataset.from_arrays(X).batch(0), ValueError, "is 0, but must be 1 or more"),
    (lambda: list(Dataset.from_generator(lambda: [X, Y[:3]]).batch(2)), ValueError, "shape (3,)"),
    (lambda: list(Dataset.from_generator(lambda: [1, (1, 2)]).batch(2)), ValueError, "in one batch"),
    (lambda: len(Dataset.from_generator(counting, 3)), TypeError, "known only when"),
    (lambda: Dataset.from_arrays(X).repeat(-1), ValueError, "repetitions is -1"),
    (lambda: Dataset.from_arrays(X).take(-1), ValueError, "is -1, but must be 0 or more"),
    (lambda: list(Dataset.from_arrays(X).map(str, spec=ag.TensorSpec((), float))), TypeError, "is str, but"),
    (lambda: Dataset.from_arrays(X).map(str, spec=3), TypeError, "is a TensorSpec with a dtype"),
]


@pytest.mark.parametrize("bad,kind,text", BAD, ids=[row[2] for row in BAD])
def test_what_is_refused(bad, kind, text):
    with pytest.raises(kind) as caught:
        bad()
    assert text in str(caught.value)


@pytest.mark.parametrize("dtype", ["f8", "?", "i2", "c8", ">f8", "U3", "M8[D]", "O"])
@pytest.mark.parametrize("drop", [False, True])
def test_batches_of_rows_are_those_of_their_elements_stacked(dtype, drop):
    wide = np.arange(42).reshape(14, 3).astype("i8" if dtype == "M8[D]" else dtype).astype(dtype)
    for arrays in (wide, wide[:, 0], wide.T.copy().T, {"x": wide, "y": (np.arange(14.0),)}, wide[:0]):
        for shuffled in (
            lambda d: d,
            lambda d: d.shuffle(seed=3),
            lambda d: d.shuffle(seed=3).shuffle(seed=1),
        ):
            rows = shuffled(Dataset.from_arrays(arrays)).batch(4, drop)
            alone = shuffled(Dataset.from_arrays(arrays)).filter(lambda _: True).batch(4, drop)
            for _ in range(2):
                one, other = list(rows), list(alone)
                assert len(one) == len(other)
                for a, b in zip(one, other):
                    for x, y in zip(tree.flatten(a)[0], tree.flatten(b)[0], strict=True):
                        np.testing.assert_array_equal(x, y, strict=True)
                        assert x.strides == y.strides and x.flags.owndata == y.flags.owndata
