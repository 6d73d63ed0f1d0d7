"""Arrays of texts (str, bytes, texts of any length) in functions: as in NumPy, with types, in few traces."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import autograph as ag
from runtime.types import ArrayType, ObjectType

TEXTS = ["b", "abc", "", "Xy"]
ARRAYS = {"U": np.array(TEXTS), "S": np.array([t.encode() for t in TEXTS])}
if hasattr(np.dtypes, "StringDType"):
    ARRAYS["T"] = np.array(TEXTS, dtype=np.dtypes.StringDType())


def compared(x):
    return (
        x == x[1],
        x != x[::-1],
        x < x[0],
        x >= "b" if x.dtype.kind != "S" else x >= b"b",
        (x == x[2]).sum(),
    )


def of_char(x):
    return (
        np.char.upper(x),
        np.char.str_len(x),
        np.char.add(x, x),
        np.char.startswith(x, x[0]),
        np.char.find(x, x[0]),
    )


def of_strings(x):
    s = np.strings
    return s.upper(x), s.str_len(x), s.add(x, x), s.multiply(x, 2), s.isalpha(x), s.replace(x, x[0], x[1])


def picked(x):
    return x[0], x[1:3], x[x != x[2]], x[[0, 2]], x[::-1], x[..., None].shape, x[-1][:1]


def looped(x):
    total, out = 0, []
    for s in x:
        if len(s) > 1:
            total += len(s)
            out.append(s.upper())
        else:
            out.append(s + s)
    return total, out, np.array(out)


def longest(x):
    best = x[0]
    for s in x:
        if len(s) > len(best):
            best = s
    return best, type(best).__name__


def counts(x):
    table = {}
    for s in x:
        table[s] = table.get(s, 0) + 1
    return table, sorted(table)


def filled(x):
    y = np.empty(x.shape, x.dtype)
    for i in range(x.size):
        y[i] = x[i] + x[-1 - i] if i % 2 else x[i]
    return y, y.dtype, y.itemsize, y.nbytes


def arranged(x):
    both = np.concatenate([x, x]), np.stack([x, x]), np.repeat(x, 2), np.where(x == x[0], x, x[::-1])
    return both, np.sort(x), np.argsort(x), np.unique(x), np.isin(x, x[:2]), x.reshape(2, 2), x.T, x.tolist()


def written(x):
    y = x.copy()
    y[0] = x[1]
    y[1:] = x[0]
    return y, x.astype("U2"), x.astype(object)


def joined(x):
    return x + x, x.size, x.shape, len(x), "".join(str(s) for s in x)


PROGRAMS = [compared, of_char, picked, looped, longest, counts, filled, arranged, written, joined]
PROGRAMS += [of_strings] if hasattr(np, "strings") else []


def outcome(f, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return repr(f(*args))
        except Exception as error:
            return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("executor", ["numpy", "auto"])
@pytest.mark.parametrize("kind", ARRAYS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_same_as_numpy(program, kind, executor):
    before, ag.settings.executor = ag.settings.executor, executor
    try:
        f = ag.function(program)
        x = ARRAYS[kind]
        for each in (x, x[::-1], np.concatenate([x, x + x, x]), x.reshape(2, 2)[:, 0], x[:0]):
            assert outcome(f, each.copy()) == outcome(program, each.copy())
    finally:
        ag.settings.executor = before


def types_in(f):
    graph = f.traces[0].concrete.graph
    return [v.type for node in graph.nodes for v in node.outputs]


@pytest.mark.parametrize("kind", ARRAYS)
def test_types_are_known(kind):
    f = ag.function(lambda x: (x == x[1], np.char.str_len(x), np.char.upper(x), x[::-1], np.sort(x)))
    f(ARRAYS[kind])
    arrays = [t for t in types_in(f) if isinstance(t, ArrayType)]
    assert [t.dtype.kind for t in arrays] == ["b", "i", kind, kind, kind]
    assert ObjectType() not in types_in(f)


@pytest.mark.parametrize("kind", ["U", "S"])
def test_length_of_texts_is_no_reason_to_trace_again(kind):
    f = ag.function(lambda x: x == x[0])
    for n in range(1, 20):
        f(np.array(["a" * n, "b"], kind))
    assert len(f.traces) == 1
    g = ag.function(lambda s, x: x == s)
    for s in np.array(["a", "bcd", "efghi"], kind):
        g(s, ARRAYS[kind])
    assert len(g.traces) == 1


def test_foreign_byte_order_and_specs():
    x = ARRAYS["U"]
    swapped = x.astype(x.dtype.newbyteorder())
    f = ag.function(lambda x: (x == x[0], x.copy()))
    assert repr(f(swapped)) == repr((swapped == swapped[0], swapped.copy())) and repr(f(x)) == repr(
        (x == x[0], x)
    )
    g = ag.function(lambda x: x[::-1], input_signature=[ag.TensorSpec((None,), "U")])
    assert np.array_equal(g(x), x[::-1]) and np.array_equal(g(np.array(["longer text"])), ["longer text"])
    with pytest.raises(ag.SignatureError, match="is bytes"):
        g(ARRAYS["S"])
