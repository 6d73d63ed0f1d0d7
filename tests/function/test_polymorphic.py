"""The cache of traces: what is traced again, what generalises, what falls back to Python."""

from __future__ import annotations

import copy
import gc
import inspect
import math
import pickle
import threading
import weakref

import numpy as np
import pytest

from runtime.config import settings
from runtime.errors import AutographError, ConversionRefused, SignatureError, Untraceable, message
from runtime.function.eager import run_functions_eagerly
from runtime.function.polymorphic import PolymorphicFunction, RetraceWarning
from runtime.function.spec import TensorSpec
from runtime.trace.record import Guard, Path
from runtime.types import StaticType


def same(*args, **kwargs):
    return args, kwargs


def zeros(*shape, dtype=float):
    return np.zeros(shape, dtype)


NAN, OTHER_NAN = float("nan"), float("inf") - float("inf")

# calls (one argument each), number of traces they need, text of the last trace's argument
SEQUENCES = [
    ("same shape", [zeros(3), zeros(3)], 1, "float64[3]"),
    ("same shape, other dtype", [zeros(3), zeros(3, dtype=int)], 2, "int64[3]"),
    ("sizes differ", [zeros(3), zeros(4)], 2, "float64[?]"),
    ("sizes differ, third", [zeros(3), zeros(4), zeros(5)], 2, "float64[?]"),
    ("one axis differs", [zeros(3, 2), zeros(4, 2)], 2, "float64[?, 2]"),
    ("then the other", [zeros(3, 2), zeros(4, 2), zeros(4, 5)], 3, "float64[?, ?]"),
    ("ranks differ", [zeros(3), zeros(3, 1)], 2, "float64[3, 1]"),
    ("scalar and 0-d array", [np.float64(1), np.array(1.0)], 2, "float64[]"),
    ("NumPy scalars", [np.float64(1), np.float64(2)], 1, "float64"),
    ("ints", [1, 2, 3], 2, "int"),
    ("int, float, bool", [1, 1.0, True], 3, "=True"),
    ("floats", [1.5, 2.5, 3.5], 2, "float"),
    ("zeros of both signs", [0.0, -0.0], 2, "float"),
    ("NaNs, each its own object", [NAN, OTHER_NAN], 1, "float"),
    ("complex", [1j, 2j, 3j], 2, "complex"),
    ("flags stay static", [True, False, True, False], 2, "=False"),
    ("strings stay static", ["a", "b", "a"], 2, "='b'"),
    ("None", [None, None], 1, "=None"),
    ("tuples of numbers", [(1, 2), (1, 3), (1, 4)], 2, "(=1, int)"),
    ("tuples of arrays", [(zeros(3), 1), (zeros(4), 1)], 2, "(float64[?], =1)"),
    ("lists are objects", [[1], [2, 3]], 1, "object<builtins.list>"),
    ("dicts are objects", [{"a": 1}, {}], 1, "object<builtins.dict>"),
    ("object arrays", [np.array([None]), np.array([1, None])], 1, "object<numpy.ndarray>"),
    ("functions by identity", [math.sin, math.cos], 2, "=<built-in function cos>"),
    ("enough strings", [str(i) for i in range(12)], 9, "object<builtins.str>"),
    (
        "enough flags",
        [(bool(i & 1), bool(i & 2), bool(i & 4), bool(i & 8)) for i in range(16)],
        9,
        "(bool, bool, bool, bool)",
    ),
]


@pytest.mark.parametrize("name,calls,traces,last", SEQUENCES, ids=[row[0] for row in SEQUENCES])
def test_traces_of_a_sequence_of_calls(make, name, calls, traces, last):
    f, tracer = make(same)
    for value in calls:
        (got,), kwargs = f(value)
        assert type(got) is type(value) and not kwargs
        assert got is value or repr(got) == repr(value)
    assert len(tracer.calls) == traces
    assert last in str(f.traces[-1].signature)


def test_most_specific_trace_serves(make):
    f, tracer = make(lambda x: x.shape)
    for n in (3, 4, 5, 3):
        assert f(np.zeros(n)) == (n,)
    assert [str(t.signature) for t in f.traces] == ["<lambda>(x: float64[3])", "<lambda>(x: float64[?])"]
    before = f.traces[1].used
    f(np.zeros(3))
    assert f.traces[1].used == before


def test_closures_of_one_code_generalise(make):
    f, tracer = make(lambda g, x: g(x))
    assert [f(lambda v, k=k: v + k, 1) for k in range(5)] == [1, 2, 3, 4, 5]
    assert len(tracer.calls) == 2
    assert "g: function <lambda>" in str(f.traces[-1].signature)


def test_no_generalising_when_switched_off(make):
    f, tracer = make(same, reduce_retracing=False)
    for n in (1, 2, 3):
        f(n)
    assert len(tracer.calls) == 3


def defaults(a, b=2, /, c=3, *rest, d=4, **more):
    return a, b, c, rest, d, more


BINDINGS = [
    ((1,), {}),
    ((1, 5), {}),
    ((1, 5, 6), {}),
    ((1, 5, 6, 7, 8), {}),
    ((1,), {"c": 9}),
    ((1, 2), {"c": 9}),
    ((1,), {"d": 9}),
    ((1,), {"z": 1, "y": 2}),
    ((1,), {"y": 2, "z": 1}),
    ((1,), {"a": 1, "b": 2}),
    ((1,), {"self": 1, "args": 2}),
    ((), {}),
    ((1, 2, 3), {"c": 4}),
    ((), {"a": 1}),
]


@pytest.mark.parametrize("args,kwargs", BINDINGS, ids=map(str, BINDINGS))
def test_arguments_bind_as_python_binds_them(make, args, kwargs):
    f, tracer = make(defaults)
    for _ in range(2):
        try:
            expected = defaults(*args, **kwargs)
        except TypeError as error:
            with pytest.raises(TypeError) as caught:
                f(*args, **kwargs)
            assert str(caught.value) == str(error)
            assert not tracer.calls
        else:
            got = f(*args, **kwargs)
            assert got == expected and list(got[-1]) == list(expected[-1])
            assert len(tracer.calls) == 1


def test_keyword_and_positional_share_a_trace(make):
    f, tracer = make(lambda x, n=2: (x, n))
    assert f(1, 5) == f(1, n=5) == f(x=1, n=5) == f(n=5, x=1) == (1, 5)
    assert len(tracer.calls) == 1


def test_order_of_extra_keywords_is_kept(make):
    f, _ = make(lambda **more: list(more))
    assert [f(a=1, b=2), f(b=2, a=1), f(a=1, b=2)] == [["a", "b"], ["b", "a"], ["a", "b"]]


@pytest.fixture
def traces_run():
    """Traces that are made by hand of Python's calls are run, not the function itself."""
    with settings.override(executor="native"):
        yield


@pytest.mark.usefixtures("traces_run")
def test_guards_retrace_then_become_volatile(make):
    holder = {"rate": 1}
    f, tracer = make(lambda x: x * holder["rate"])
    path = Path((holder,), (("item", "rate"),), "rate")

    def guard():
        return Guard(path, StaticType(holder["rate"]), "global 'rate'")

    results = []
    for rate in (1, 1, 2, 1, 2, 3, 4, 5):
        holder["rate"] = rate
        tracer.guards = (guard(),)
        results.append(f(10))
    assert results == [10, 10, 20, 10, 20, 30, 40, 50]
    assert [len(v) for v in tracer.volatile] == [0, 0, 1]
    assert "changed since the last trace: global 'rate'" in f.explain()


@pytest.mark.usefixtures("traces_run")
@pytest.mark.parametrize(
    "steps,before,after",
    [
        ((("attr", "w"),), 1, 2),
        ((("attr", "w"), ("item", 0)), [1], [2]),
        ((("attr", "w"), ("len", None)), [1], [1, 2]),
        ((("attr", "odd name"),), 1, 2),
    ],
)
def test_guard_paths_are_compiled(make, steps, before, after):
    class Box:
        pass

    box = Box()
    f, tracer = make(lambda b: 0)
    path = Path(0, steps, "b")
    setattr(box, steps[0][1], before)
    tracer.guards = (Guard(path, StaticType(path.read((box,))), "b"),)
    f(box), f(box)
    assert len(tracer.calls) == 1
    setattr(box, steps[0][1], after)
    tracer.guards = (Guard(path, StaticType(path.read((box,))), "b"),)
    f(box), f(box)
    assert len(tracer.calls) == 2
    delattr(box, steps[0][1])
    tracer.guards = ()
    f(box), f(box)
    assert len(tracer.calls) == 3


def test_untraceable_signatures_run_as_python(make):
    f, tracer = make(lambda x: x)
    tracer.refuse = lambda types: str(types[0]) == "='no'"
    assert [f("no"), f("yes"), f("no")] == ["no", "yes", "no"]
    assert len(tracer.calls) == 2
    assert f.traces[0].plain == "the test refuses this"
    assert f.traces[0].concrete is None and f.traces[1].concrete is not None
    assert "[plain Python]" in f.pretty_printed_concrete_signatures().splitlines()[0]
    with pytest.raises(Untraceable):
        f.get_concrete_function("no")


def test_a_failing_general_trace_leaves_the_exact_one(make):
    f, tracer = make(lambda x: x)
    tracer.refuse = lambda types: str(types[0]) == "int"
    assert [f(1), f(2), f(2)] == [1, 2, 2]
    assert [str(t[0]) for t in tracer.calls] == ["=1", "int", "=2"]


def test_strict_raises_instead(make):
    f, tracer = make(lambda x: x, strict=True)
    tracer.refuse = lambda types: True
    with pytest.raises(Untraceable, match="the test refuses"):
        f(1)
    g, tracer = make(lambda x: x)
    tracer.refuse = lambda types: True
    with settings.override(strict=True), pytest.raises(Untraceable):
        g(1)
    assert g(1) == 1


def test_refused_conversion_is_for_all_signatures():
    def trace(*args, **kwargs):
        calls.append(1)
        raise ConversionRefused("it uses `exec`")

    calls = []
    f = PolymorphicFunction(lambda x: x, trace)
    assert [f(1), f("a"), f(None)] == [1, "a", None]
    assert len(calls) == 1
    assert "all other calls of '<lambda>' run as plain Python: it uses `exec`" in f.explain()


def test_cache_is_bounded_and_drops_the_least_recently_used(make):
    f, tracer = make(lambda x: x)
    with settings.override(cache_size=3):
        for value in ("a", "b", "c", "a", "d"):  # b is the oldest when d comes
            f(value)
        assert [t.signature.types[0].value for t in f.traces] == ["a", "c", "d"]
        assert len(tracer.calls) == 4
        f("a"), f("c"), f("d")
        assert len(tracer.calls) == 4
        f("b")
        assert len(tracer.calls) == 5 and len(f.traces) == 3


def test_endless_retracing_ends(make):
    f, tracer = make(lambda x: x, reduce_retracing=False)
    with settings.override(cache_size=2):
        assert [f(i) for i in range(50)] == list(range(50))
    assert len(tracer.calls) == 8
    assert "traced 8 times" in f.explain()


def test_warns_after_retraces(make):
    f, tracer = make(lambda x: x)
    with settings.override(warn_after_retraces=2):
        f("a"), f("b")
        with pytest.warns(RetraceWarning, match="traced again 2 times.*argument 'x' is ='c', was ='b'"):
            f("c")
        f("d")


def test_many_traces_are_found_by_key(make):
    f, tracer = make(same)
    values = [np.zeros((1,) * n) for n in range(6)] + [np.zeros((1,) * n, int) for n in range(6)]
    for _ in range(3):
        for value in values:
            assert f(value)[0][0] is value
            assert f(x=value)[1]["x"] is value
    assert len(tracer.calls) == 24


class Model:
    def __init__(self, w):
        self.w = w

    def __call__(self, x):
        return x * self.w


def test_methods_share_one_cache_and_keep_no_instance(make):
    def scaled(self, x):
        return x * self.w

    Model.scaled, tracer = make(scaled)
    a, b = Model(2), Model(3)
    assert [a.scaled(5), b.scaled(5), Model.scaled(a, 5)] == [10, 15, 10]
    assert len(tracer.calls) == 1
    assert a.scaled.traces is not None and a.scaled.__self__ is a
    gone = weakref.ref(a)
    del a
    gc.collect()
    assert gone() is None


def test_threads_trace_once(make):
    f, tracer = make(lambda x: x + 1)
    barrier = threading.Barrier(8)
    results = []

    def work():
        barrier.wait()
        results.append(f(1))

    threads = [threading.Thread(target=work) for _ in range(8)]
    [t.start() for t in threads], [t.join() for t in threads]
    assert results == [2] * 8 and len(tracer.calls) == 1


def test_input_signature(make):
    f, tracer = make(lambda x, n=1: x * n, input_signature=[TensorSpec((None, 2), float)])
    for rows in (1, 2, 3):
        assert f(np.ones((rows, 2))).shape == (rows, 2)
    assert len(tracer.calls) == 1
    with pytest.raises(SignatureError) as caught:
        f(np.ones((2, 3)))
    where, without = caught.value.span, caught.value
    assert where.file == __file__
    assert message(without.what, None, without.why, without.fix) == (
        "the arguments do not match the input_signature of '<lambda>'\n"
        "  given:    <lambda>(x: float64[2, 3])\n"
        "  promised: <lambda>(x: TensorSpec(shape=(None, 2), dtype=float64))\n"
        "  why: the argument 'x' is float64[2, 3], not TensorSpec(shape=(None, 2), dtype=float64)\n"
        "  fix: pass what was promised, or loosen the input_signature"
    )
    with pytest.raises(SignatureError, match="'n' is not in it"):
        f(np.ones((2, 2)), 3)
    assert str(f.get_concrete_function().signature) == "<lambda>(x: float64[?, 2])"
    assert len(tracer.calls) == 1


def test_concrete_function(make):
    f, tracer = make(lambda x, n, *, k: (x, n, k))
    concrete = f.get_concrete_function(TensorSpec((None,), np.float32), 3, k=np.float64(2))
    assert str(concrete.signature) == "<lambda>(x: float32[?], n: =3, *, k: float64)"
    assert concrete.structured_input_signature == (
        (TensorSpec((None,), np.float32, "x"), 3),
        {"k": TensorSpec((), np.float64, "k")},
    )
    x = np.zeros(7, np.float32)
    got = concrete(x, np.float64(5))
    assert got[0] is x and got[1:] == (3, 5.0)
    assert f(x, 3, k=np.float64(1))[2] == 1 and len(tracer.calls) == 1
    assert f.get_concrete_function(TensorSpec((None,), np.float32), 3, k=np.float64(2)) is concrete
    for bad in ((), (x,), (np.zeros(3), np.float64(1)), (x, 1.0)):
        with pytest.raises(SignatureError):
            concrete(*bad)
    with pytest.raises(SignatureError, match="no dtype"):
        f.get_concrete_function(TensorSpec((3,)), 3, k=1)
    with pytest.raises(TypeError, match="missing a required"):
        f.get_concrete_function()


def test_looking_before_the_first_call(make):
    f, _ = make(lambda x: x)
    with pytest.raises(AutographError, match="has no trace"):
        _ = f.graph
    assert f.explain() == "'<lambda>' was not called yet"
    f(1)
    assert f.graph.name == "<lambda>" and isinstance(f.plan_source, str)


def test_eager_mode(make):
    f, tracer = make(lambda x: x)
    run_functions_eagerly(True)
    try:
        assert f(1) == 1 and not tracer.calls
    finally:
        run_functions_eagerly(False)
    assert f(1) == 1 and tracer.calls


def documented(x: int, *, y: str = "a") -> int:
    """Its docstring."""
    return x


documented.extra = 5


def test_looks_like_the_function(make):
    f, _ = make(documented)
    assert (f.__name__, f.__doc__, f.__module__, f.extra) == ("documented", "Its docstring.", __name__, 5)
    assert inspect.signature(f) == inspect.signature(documented)
    assert f.python_function is documented is f.__wrapped__
    assert f.__code__ is documented.__code__ and f.__kwdefaults__ == {"y": "a"}
    assert repr(f) == "<autograph function documented, 0 traces>"
    assert copy.deepcopy(f) is copy.copy(f) is f
    with pytest.raises(AttributeError):
        f.nothing
    with pytest.raises(pickle.PicklingError):
        pickle.dumps(f)


def test_exceptions_pass_through(make):
    def fail(x):
        raise KeyError(x)

    f, tracer = make(fail)
    for _ in range(2):
        with pytest.raises(KeyError, match="9"):
            f(9)
    assert len(tracer.calls) == 1


def test_tracing_keeps_no_argument_alive(make):
    f, tracer = make(lambda x: None)
    tracer.refuse = lambda types: True
    gc.disable()
    try:
        model = Model(1)
        gone = weakref.ref(model)
        f(model)
        del model
        assert gone() is None
    finally:
        gc.enable()


@pytest.mark.usefixtures("traces_run")
def test_guard_that_raises_is_a_guard_that_fails(make):
    class Box:
        broken = False

        @property
        def w(self):
            if self.broken:
                raise RuntimeError("the user's own")
            return 1

    box = Box()
    f, tracer = make(lambda b: 0)
    tracer.guards = (Guard(Path(0, (("attr", "w"),), "b.w"), StaticType(1), "b.w"),)
    f(box)
    box.broken, tracer.guards = True, ()
    assert f(box) == 0 and len(tracer.calls) == 2
