"""Concrete functions: signatures and outputs in trees, calls by name, mismatches; promises; pickles."""

from __future__ import annotations

import collections
import concurrent.futures
import multiprocessing
import pickle
import subprocess
import sys

import cloudpickle
import numpy as np
import pytest

import autograph as ag
from runtime.types import ObjectType, WeakType

Pair = collections.namedtuple("Pair", "left right")
SPEC = ag.TensorSpec((None,), np.float64)
A3, A4, F3 = np.arange(3.0), np.arange(4.0), np.arange(3.0, dtype="f4")


def several(x, pair, n):
    out = [x + n, pair[0] * 2]
    return {"list": out, "pair": Pair(x.sum(), (n, "text")), "none": None}


def total(xs):
    out = 0.0
    for x in xs:
        out = out + x.sum()
    return out


def linear(params, x):
    return x * params["w"] + params["b"]


def scaled(x, k):
    return x * k


SCALE = 2.0


def outside(x):
    return x * SCALE


def test_trees_of_inputs_and_outputs():
    concrete = ag.function(several).get_concrete_function(SPEC, (SPEC, 1), n=3)
    assert concrete.structured_input_signature == (
        (ag.TensorSpec((None,), np.float64, "x"), (ag.TensorSpec((None,), np.float64, "pair[0]"), 1), 3),
        {},
    )
    out = concrete.structured_outputs
    scalar = ag.TensorSpec((), np.float64)
    assert out == {"list": [SPEC, SPEC], "pair": Pair(scalar, (3, "text")), "none": None}
    assert list(out) == ["list", "pair", "none"] and type(out["pair"]) is Pair
    got = concrete(A3, (A4, 1))
    expected = several(A3, (A4, 1), 3)
    assert str(got) == str(expected)


def test_outputs_that_are_not_known():
    assert ag.function(total).get_concrete_function([A3]).structured_outputs == ag.TensorSpec((), np.float64)
    grow = ag.function(lambda xs, x: xs).get_concrete_function([1], A3)
    assert grow.structured_outputs == ObjectType(list)
    weak = ag.function(lambda x, y: x + y).get_concrete_function(WeakType("int"), 1)
    assert weak.structured_outputs == WeakType("int")


def test_pretty_printed():
    f = ag.function(several)
    f(A3, (A4, 1), 3)
    assert f.pretty_printed_concrete_signatures() == (
        "several(x: float64[3], pair: (float64[4], =1), n: =3) -> "
        "{'list': [float64[3], float64[4]], 'pair': Pair(float64, (3, 'text')), 'none': None}"
    )


@pytest.mark.parametrize(
    "specs,values",
    [
        (([SPEC, SPEC],), ([A3, A4],)),
        (([SPEC, SPEC],), ([A4, A4],)),
        (((SPEC, SPEC),), ((A3, A4),)),
        (([[SPEC], [SPEC][0]],), None),
    ],
)
def test_concrete_function_from_specs_in_trees(specs, values):
    f = ag.function(total)
    if values is None:
        f.get_concrete_function(*specs)
        return
    concrete = f.get_concrete_function(*specs)
    assert concrete(*values) == total(*values)
    assert f.get_concrete_function(*specs) is concrete and len(f.traces) == 1
    with ag.no_new_traces():
        assert f(*values) == total(*values)
    with pytest.raises((ag.GuardError, ag.SignatureError)):
        concrete(type(values[0])((A3, F3)))
    with pytest.raises((ag.GuardError, ag.SignatureError)):
        concrete(type(values[0])((A3,)))


def test_dict_of_specs():
    f = ag.function(linear)
    concrete = f.get_concrete_function({"w": SPEC, "b": ag.TensorSpec((), np.float64)}, SPEC)
    params = {"w": A3, "b": np.array(1.0)}
    assert np.array_equal(concrete(params, A3), linear(params, A3))
    with pytest.raises(ag.GuardError, match=r"params\['w'\] is float32\[3\], was float64\[\?\]"):
        concrete({"w": F3, "b": np.array(1.0)}, A3)


def test_call_by_name_and_with_static_arguments():
    concrete = ag.function(scaled).get_concrete_function(A3, 3)
    good = [((A3,), {}), ((A3, 3), {}), ((), {"x": A3}), ((A3,), {"k": 3}), ((), {"x": A3, "k": 3})]
    for args, kwargs in good:
        assert np.array_equal(concrete(*args, **kwargs), A3 * 3)
    with pytest.raises(ag.SignatureError) as caught:
        concrete(A3, 4)
    assert caught.value.what == (
        "the arguments do not match a trace of 'scaled'\n"
        "  given:    scaled(float64[3], =4)\n"
        "  traced:   scaled(x: float64[3], k: =3)"
    )
    assert caught.value.why == "the argument 'k' is not =3"
    for args, kwargs in [((), {}), ((A4,), {}), ((A3, 3, 3), {}), ((A3,), {"z": 1}), ((A3, 3), {"k": 3})]:
        with pytest.raises(ag.SignatureError, match="given: .*\n  traced: "):
            concrete(*args, **kwargs)


def test_a_concrete_function_never_answers_wrongly():
    global SCALE
    concrete = ag.function(outside).get_concrete_function(A3)
    assert concrete(A3)[1] == 2
    SCALE = 3.0
    try:
        with pytest.raises(ag.GuardError, match="global 'SCALE' is =3.0, was =2.0"):
            concrete(A3)
    finally:
        SCALE = 2.0


# ------------------------------------------------------------------- promises in trees
def test_input_signature_in_trees():
    f = ag.function(total, input_signature=[[SPEC, SPEC]])
    for xs in ([A3, A4], [A4, A4], [A4, A3]):
        assert f(xs) == total(xs)
    assert len(f.traces) == 1
    assert f.get_concrete_function() is f.traces[0].concrete or len(f.traces) <= 2
    for bad, why in [
        ([A3, F3], r"xs\[1\] is float32\[3\], not TensorSpec"),
        ([A3], "has 1 items, not 2"),
        ((A3, A4), "not a list"),
        ([A3, 1], r"xs\[1\] is =1, not"),
    ]:
        with pytest.raises(ag.SignatureError, match=why) as caught:
            f(bad)
        assert "given:" in str(caught.value) and "promised:" in str(caught.value)


def test_input_signature_of_dicts_and_tuples():
    f = ag.function(linear, input_signature=({"w": SPEC, "b": SPEC}, SPEC))
    for x in (A3, A4):
        params = {"b": x, "w": x + 1}
        assert np.array_equal(f(params, x), linear(params, x))
    assert len(f.traces) == 1
    with pytest.raises(ag.SignatureError, match="has no item 'b'"):
        f({"w": A3, "c": A3}, A3)
    g = ag.function(total, input_signature=[(SPEC, SPEC)])
    assert [g((A3, A4)), g((A4, A4))] == [9, 12] and len(g.traces) == 1
    with pytest.raises(ag.SignatureError, match="items"):
        g((A3,))


def test_promise_holds_where_python_runs_the_function():
    def f(xs):
        exec("pass")
        return len(xs)

    g = ag.function(f, input_signature=[[SPEC]])
    assert [g([A3]), g([A4])] == [1, 1]
    with pytest.raises(ag.SignatureError):
        g([F3])
    with pytest.raises(ag.SignatureError):
        g([A3, A3])


# ----------------------------------------------------------------------------- pickles
doubled_plain = scaled
decorated = ag.function(outside)
wrapped = ag.function(scaled, input_signature=[SPEC, SPEC])


@pytest.mark.parametrize("dumps", [pickle.dumps, cloudpickle.dumps])
def test_pickle(dumps):
    back = pickle.loads(dumps(wrapped))  # found under its name is the plain function
    assert back is not wrapped and np.array_equal(back(A3, A3), A3 * A3)
    with pytest.raises(ag.SignatureError):
        back(F3, F3)


def test_cloudpickle_of_a_lambda():
    f = ag.function(lambda x: x + 1 if x.sum() > 0 else x)
    back = pickle.loads(cloudpickle.dumps(f))
    assert np.array_equal(back(A3), A3 + 1) and not back.traces[0].plain
    with pytest.raises(pickle.PicklingError):
        pickle.dumps(f)


def test_pickle_of_a_partial():
    bound = ag.function(Scaler(3.0).times)
    back = pickle.loads(pickle.dumps(bound))
    assert back(2.0) == 6.0 and back.python_function.__self__.by == 3.0


class Scaler:
    def __init__(self, by):
        self.by = by

    def times(self, x):
        return x * self.by


def test_process_pool():
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        assert [list(r) for r in pool.map(wrapped, [A3, A4], [A3, A4], timeout=100)] == [
            [0, 1, 4],
            [0, 1, 4, 9],
        ]


SCRIPT = """
import pickle, sys, subprocess, cloudpickle
import autograph as ag
@ag.function
def fib(n):
    a, b = 0, 1
    while n > 0:
        a, b, n = b, a + b, n - 1
    return a
data = cloudpickle.dumps(fib)
code = "import pickle, sys; f = pickle.load(sys.stdin.buffer); print(f(30), f.traces[0].plain)"
done = subprocess.run([sys.executable, "-c", code], input=data, capture_output=True)
print(done.stdout.decode(), done.stderr.decode())
"""


def test_cloudpickle_of_a_script(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, timeout=100, env={"PYTHONPATH": "."}
    )
    assert done.stdout.split() == ["832040", "None"], done.stderr
