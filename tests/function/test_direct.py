"""Calls that machine code dispatches: they do what calls in Python do, and leave nothing behind."""

from __future__ import annotations

import copy
import functools
import gc
import inspect
import os
import pickle
import sys
import textwrap
import threading
import traceback
import types
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings
from runtime.execute.native import dispatcher
from runtime.function.checks import checks_of
from runtime.function.polymorphic import PolymorphicFunction, Quick
from runtime.gate import GATE
from runtime.trace.record import Guard, Path
from runtime.types import StaticType

pytestmark = pytest.mark.skipif(bool(dispatcher.problem()), reason=dispatcher.problem() or "there is one")
X = np.arange(4.0)
SCALE = 3


@pytest.fixture(autouse=True)
def _native() -> Iterator[None]:
    with settings.override(executor="auto", compile="now"):
        yield


def helper(x: Any) -> Any:
    return x * SCALE


def plain(a: Any, b: Any = 2.0, *rest: Any, c: Any = 1, **more: Any) -> Any:
    return a * b + c + len(rest) + len(more)


def uses_globals(x: Any) -> Any:
    return np.tanh(helper(x)) + SCALE


library = np


def uses_library(x: Any) -> Any:
    return library.tanh(x)


def pick(pair: Any, name: str) -> Any:
    return pair[0] + 1.0 if name == "first" else pair[1]


def unconvertible(x: Any, k: int = 1) -> Any:
    return eval("x + k", {}, {"x": x, "k": k})


@ag.function
def shared(x: Any) -> Any:
    return x - 1.0


class Model:
    """A class whose instances are called."""

    def __init__(self) -> None:
        self.w, self.n = np.ones(4), 2

    @ag.function
    def __call__(self, x: Any) -> Any:
        return self.w * x + self.n

    @ag.function
    def method(self, x: Any, *, twice: bool = False) -> Any:
        return (self.w * x) * (2 if twice else 1)


def is_direct(f: Any) -> bool:
    """Whether machine code dispatches the calls."""
    return (
        type(f) is not PolymorphicFunction
        and "__call__" in vars(type(f))
        and type(f).__name__ in repr(type(f))
    )


def slowly(f: Any) -> Any:
    """What the way through Python gives."""
    return type(f).__mro__[1].__call__


CALLS: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = [
    (plain, (X,), {}),
    (plain, (X, 3.0), {}),
    (plain, (X,), {"b": 3.0}),
    (plain, (X,), {"c": 3, "b": 1.0}),
    (plain, (X, 2, 5, 6), {"c": 3}),
    (plain, (X,), {"z": 1, "y": 2}),
    (plain, (), {"a": X, "c": -0.0}),
    (plain, (np.float32(2), np.int8(3)), {}),
    (plain, (X[::2], X.astype("f4")[:2]), {}),
    (plain, (2, True), {}),
    (plain, (float("nan"), 0.0), {}),
    (plain, (float("nan"), -0.0), {}),
    (plain, (X.astype(">f8"),), {}),
    (plain, (np.array([1, None], dtype=object)[:1],), {}),
    (uses_globals, (X,), {}),
    (uses_globals, (1.5,), {}),
    (pick, ((X, 2.0), "first"), {}),
    (pick, ((X, 2.0), "second"), {}),
    (pick, (([1.0], 2.0), "second"), {}),
    (unconvertible, (X,), {}),
    (unconvertible, (X,), {"k": 3}),
]


def same(a: Any, b: Any) -> bool:
    """The same type and bits."""
    return type(a) is type(b) and np.asarray(a).dtype == np.asarray(b).dtype and repr(a) == repr(b)


@pytest.mark.parametrize(("function", "args", "kwargs"), CALLS)
def test_same_as_python(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    f = ag.function(function)
    for _ in range(4):
        assert same(f(*args, **kwargs), function(*args, **kwargs))
    assert is_direct(f)


def test_all_of_them_in_turn() -> None:
    made = {function: ag.function(function) for function, _, _ in CALLS}
    for _ in range(3):
        for function, args, kwargs in CALLS:
            assert same(made[function](*args, **kwargs), function(*args, **kwargs))


def reaches_python(f: Any, *args: Any, **kwargs: Any) -> bool:
    """Whether a call gets as far as our `__call__` in Python."""
    seen = []

    def watch(frame: types.FrameType, event: str, arg: Any) -> None:
        if event == "call" and frame.f_code is PolymorphicFunction.__call__.__code__:
            seen.append(frame)

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        f(*args, **kwargs)
    finally:
        sys.setprofile(before)
    return bool(seen)


def warmed(f: Any, *args: Any, **kwargs: Any) -> Any:
    """The function, called as it will be."""
    for _ in range(3):
        f(*args, **kwargs)
    return f


@pytest.mark.parametrize(
    ("function", "args", "kwargs"),
    [case for case in CALLS if not (case[1] and type(case[1][0]) is float)][:6],
)
def test_cached_calls_stay_out_of_python(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    assert not reaches_python(warmed(ag.function(function), *args, **kwargs), *args, **kwargs)


def test_methods_and_partials_stay_out_of_python() -> None:
    model = Model()
    for call in (model, model.method, functools.partial(model.method, twice=True)):
        assert not reaches_python(warmed(call, X), X)
        assert same(call(X), call(X))
    bound = warmed(ag.function(model.method), X, twice=True)
    assert not reaches_python(bound, X, twice=True) and same(bound(X), X)
    half = warmed(ag.function(functools.partial(plain, b=0.5)), X)
    assert not reaches_python(half, X) and same(half(X), plain(X, b=0.5))
    assert same(half(X, b=2.0), plain(X, b=2.0)) and same(half(X, c=2.0), plain(X, b=0.5, c=2.0))


def test_guards_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    f = warmed(ag.function(uses_globals), X)
    assert not reaches_python(f, X)
    monkeypatch.setitem(globals(), "SCALE", 4)
    assert same(f(X), uses_globals(X))
    monkeypatch.setitem(globals(), "helper", lambda x: x - SCALE)
    assert same(f(X), uses_globals(X))
    g = warmed(ag.function(uses_library), X)
    assert not reaches_python(g, X)
    monkeypatch.setitem(globals(), "library", types.SimpleNamespace(tanh=np.cos))
    assert same(g(X), uses_library(X)) and same(uses_library(X), np.cos(X))


def test_every_way_to_write_a_global_is_noticed() -> None:
    module = types.ModuleType("settings_of_somebody")
    text = """
        rate = 1.0
        def set_global(value):
            global rate
            rate = value
        """
    exec(textwrap.dedent(text), vars(module))

    def set_attribute(value: float) -> None:
        module.rate = value  # type: ignore[attr-defined]

    def inner(x: Any) -> Any:
        return x * module.rate

    vars(module)["inner"] = inner
    ways: list[Callable[[float], Any]] = [
        module.set_global,
        set_attribute,
        functools.partial(setattr, module, "rate"),
        functools.partial(vars(module).__setitem__, "rate"),
        lambda value: vars(module).update(rate=value),
        lambda value: (vars(module).pop("rate"), vars(module).setdefault("rate", value)),
    ]
    for k, way in enumerate(ways):
        for value in range(60):  # Python has made of it what it makes of hot code
            way(float(value))
        f = warmed(ag.function(inner), X)
        assert not reaches_python(f, X)
        way(100.0 + k)
        assert same(f(X), X * (100.0 + k))


def test_changed_code_closures_defaults_and_classes() -> None:
    step = 1.0

    def inner(x: Any, *, k: Any = 1) -> Any:
        return x + step + k

    f = warmed(ag.function(inner), X)
    assert not reaches_python(f, X)
    step = 2.0
    assert same(f(X), inner(X))
    assert inner.__kwdefaults__ is not None
    inner.__kwdefaults__["k"] = 5
    assert same(f(X), inner(X))
    inner.__code__ = (lambda x, *, k=1: x * step * k).__code__
    assert same(f(X), inner(X))

    class Other(Model):
        pass

    other = Other()
    method = warmed(ag.function(Model.__call__.python_function), other, X)  # type: ignore[attr-defined]
    other.n = 7
    assert same(method(other, X), X + 7)
    Other.__getattribute__ = lambda self, name: 5.0  # type: ignore[assignment, method-assign]
    assert same(method(other, X), 5.0 * X + 5.0)


def test_a_guard_on_a_default_that_is_gone_is_left_to_python() -> None:
    def helper(x: float, a: float = 1.0, b: float = 2.0) -> float:
        return x + a + b

    guard = Guard(Path((helper,)).default(1), StaticType(2.0), "a default")
    signature = ag.function(helper).get_concrete_function(1.0).signature
    assert checks_of(signature, (guard,)) is not None
    helper.__defaults__ = (1.0,)
    assert checks_of(signature, (guard,)) is None


def test_gate() -> None:
    f = warmed(ag.function(plain), X)
    assert GATE.shut_by == 0 and not reaches_python(f, X)
    ag.run_functions_eagerly(True)
    try:
        assert reaches_python(f, X) and same(f(X), plain(X))
    finally:
        ag.run_functions_eagerly(False)
    with ag.GradientTape() as tape:
        x = tape.watch(X)
        y = (f(x) * 1.0).sum()
    gradient = tape.gradient(y, x)
    assert gradient is not None and same(np.asarray(gradient), np.full(4, 2.0))
    assert GATE.shut_by == 0 and not reaches_python(f, X)


def test_the_gate_in_a_forked_process() -> None:
    f, ready, done = warmed(ag.function(plain), X), threading.Event(), threading.Event()

    def hold() -> None:
        GATE.shut()
        ready.set()
        done.wait()
        GATE.open()

    thread = threading.Thread(target=hold)
    thread.start()
    ready.wait()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that there are threads
        child = os.fork()
    if not child:
        os._exit(GATE.shut_by + 2 * reaches_python(f, X))
    done.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0 and GATE.shut_by == 0


def test_one_function_inside_another() -> None:
    outer = warmed(ag.function(lambda x: shared(x) * 2.0), X)
    assert same(outer(X), (X - 1.0) * 2.0) and same(shared(X), X - 1.0)


def failing(x: Any) -> Any:
    if x[0] > 0:
        raise ValueError("too big")
    return x + np.zeros(int(x.size))


def test_errors_show_the_users_lines_only() -> None:
    f = warmed(ag.function(failing), np.zeros(4))
    for bad, kind in ((np.ones(4), ValueError), ("text", TypeError)):
        with pytest.raises(Exception) as found:
            f(bad)
        with pytest.raises(Exception) as wanted:
            failing(bad)
        assert type(found.value) is type(wanted.value) and str(found.value) == str(wanted.value)
        assert found.type is kind
        names = [frame.name for frame in traceback.extract_tb(found.value.__traceback__)]
        assert names[-1] == "failing" and ("__call__" not in names or sys.version_info < (3, 11))
        assert found.value.__context__ is None
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        f()
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        f(X, nothing=1)


SQUARE = np.arange(16.0).reshape(4, 4)
WIDE = np.arange(10_000.0).reshape(100, 100)
LAYOUTS = {
    "in order": SQUARE,
    "transposed": SQUARE.T,
    "Fortran": np.asfortranarray(SQUARE),
    "strided": np.arange(64.0).reshape(8, 8)[::2, ::2],
    "reversed": SQUARE[::-1],
    "broadcast": np.broadcast_to(1.5, (4, 4)),
    "wide, transposed": WIDE.T,
    "wide, strided": WIDE[::2, 1::2],
    "nothing": np.zeros((0, 4)),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout: str) -> None:
    def combined(x: Any, y: Any) -> Any:
        return x * 2.0 + y

    f, x = ag.function(combined), LAYOUTS[layout]
    for _ in range(3):
        for other in (x, x.copy(), x.T.copy().T):
            found, wanted = f(x, other), combined(x, other)
            assert same(found, wanted) and found.strides == wanted.strides
    small = x.size < 2000
    assert not small or not reaches_python(f, x, x.copy())


def test_native_code_that_gives_up_for_good() -> None:
    f = ag.function(lambda x: np.log(x))
    zero = np.zeros(3)
    with np.errstate(all="warn"), pytest.warns(RuntimeWarning, match="divide by zero"):
        for _ in range(40):
            assert same(f(zero), np.full(3, -np.inf))
    native = f.traces[0].concrete.native  # type: ignore[union-attr]
    assert native is not None
    given_up = native.bails
    with np.errstate(all="ignore"):
        for _ in range(5):
            assert same(f(zero), np.full(3, -np.inf))
    assert given_up == native.bails > 0


def test_recursion() -> None:
    def deep(n: Any, f: Any) -> Any:
        return n if n < 1 else f(n - 1, f) + 1

    wrapped = ag.function(deep)
    assert wrapped(30, wrapped) == deep(30, deep) == 30
    with pytest.raises(RecursionError):
        wrapped(10**6, wrapped)
    assert wrapped(30, wrapped) == 30


def test_it_is_still_the_same_object() -> None:
    f = ag.function(plain)
    reference, attributes = weakref.ref(f), dict(vars(f))
    warmed(f, X)
    assert is_direct(f) and isinstance(f, PolymorphicFunction) and reference() is f
    assert attributes.keys() <= vars(f).keys()
    assert (
        inspect.signature(f) == inspect.signature(plain) and f.__name__ == "plain" and f.__wrapped__ is plain
    )
    f.note = "mine"  # type: ignore[attr-defined]
    assert f.note == "mine" and copy.copy(f) is f and copy.deepcopy(f) is f  # type: ignore[attr-defined]
    assert pickle.loads(pickle.dumps(warmed(shared, X))) is shared
    assert "traces" in repr(f) and callable(f) and f.python_function is plain
    assert types.MethodType(f, X)() is not None and f.__get__(X)(3.0) is not None
    with settings.override(executor="numpy"):
        assert same(f(np.ones(7)), plain(np.ones(7))) and type(f) is Quick
    assert same(f(X), plain(X))


def counts(values: list[Any]) -> list[int]:
    return [sys.getrefcount(value) for value in values]


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


@pytest.mark.parametrize("number", [2_000, 100_000])
def test_nothing_is_left_behind(number: int) -> None:
    model, pair, name = Model(), (X, 2.0), "".join(["fir", "st"])
    made = [ag.function(function) for function in (plain, uses_globals, pick, failing, unconvertible)]
    f, g, h, bad, given_up = made
    ones = np.ones(4)

    def calls() -> None:
        f(X), f(X, b=3.0), f(X, c=2), g(X), h(pair, name), model(X), model.method(X, twice=True), given_up(X)
        f(2, True)
        try:
            bad(ones)
        except ValueError:
            pass

    for _ in range(200):
        calls()
    watched = [X, ones, model, pair, name, None, True, 2, X.dtype, np, helper, SCALE, *made, *map(type, made)]
    for _ in range(3):  # what other tests left behind may take several
        gc.collect()
    before, memory = counts(watched), resident()
    rounds = number // 10
    for _ in range(rounds):
        calls()
    gc.collect()
    changed = [b - a for a, b in zip(before, counts(watched), strict=True)]
    assert max(map(abs, changed)) < rounds / 10, changed
    assert resident() - memory < 4_000_000


def test_functions_are_collected() -> None:
    def made() -> weakref.ref[Any]:
        def local(x: Any) -> Any:
            return x + SCALE

        return weakref.ref(warmed(ag.function(local), X))

    references = [made() for _ in range(5)]
    gc.collect()
    assert [reference() for reference in references] == [None] * 5


def test_new_traces_while_others_call() -> None:
    f = ag.function(plain, reduce_retracing=False)
    wrong: list[Any] = []

    def work(seed: int) -> None:
        for k in range(60):
            x = np.full((seed * 7 + k) % 23 + 1, 2.0)
            for _ in range(30):
                if not same(f(x, b=3.0), plain(x, b=3.0)):
                    wrong.append(x)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert not wrong


def test_a_guard_that_replaces_the_traces_it_is_asked_by() -> None:
    class Restless:
        """Looking at an attribute calls the function with something new."""

        depth = 0

        @property
        def size(self) -> int:
            if 0 < Restless.depth < 30:
                Restless.depth += 1
                f(self, np.ones(Restless.depth))
            return 3

    def inner(r: Any, x: Any) -> Any:
        return x * r.size

    f = ag.function(inner, reduce_retracing=False)
    r = Restless()
    for n in (1, 2, 3):
        f(r, np.ones(n))
    Restless.depth = 4
    for _ in range(20):
        assert same(f(r, np.ones(2)), np.full(2, 3.0))


def test_subclasses_keep_their_class() -> None:
    class Loud(PolymorphicFunction[..., Any]):
        """Calls in another way."""

        def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
            return "loud", super().__call__(*args, **kwargs)

    def trace(*arguments: Any, **options: Any) -> Any:
        raise NotImplementedError

    f = Loud(plain, trace)
    for _ in range(3):
        word, found = f(X)
        assert word == "loud" and same(found, plain(X)) and type(f) is Loud


def test_many_ways_to_write_a_call() -> None:
    def named(a: Any = 1.0, b: Any = 2.0, c: Any = 3.0, d: Any = 4.0, e: Any = 5.0) -> Any:
        return a + 2 * b + 3 * c + 4 * d + 5 * e

    f = ag.function(named)
    for k in range(32):
        chosen = {name: float(i) for i, name in enumerate("edcba") if k >> i & 1}
        for _ in range(2):
            assert f(**chosen) == named(**chosen)
            assert f(1.5, **{n: v for n, v in chosen.items() if n != "a"}) == named(
                1.5, **{n: v for n, v in chosen.items() if n != "a"}
            )


def test_many_arguments_and_many_traces() -> None:
    def total(*values: Any) -> Any:
        return sum(values)

    f = ag.function(total)
    for n in (1, 5, 31, 32, 33, 60, 5, 33):
        values = tuple(X + k for k in range(n))
        assert same(f(*values), total(*values))

    def by_value(x: Any, k: int) -> Any:
        return x + k

    g = ag.function(by_value, reduce_retracing=False)
    for k in [*range(80), *range(70, 80)]:
        assert same(g(X, k), X + k)
    assert len(g.traces) == settings.cache_size and not reaches_python(g, X, 79)


def test_the_least_recently_used_trace_goes_first() -> None:
    def by_value(x: Any, k: int) -> Any:
        return x + k

    with settings.override(cache_size=4):
        f = ag.function(by_value, reduce_retracing=False)
        for k in (0, 1, 2, 3, 0, 0, 4):
            f(X, k)
        kept = {str(record.signature) for record in f.traces}
        assert any("k: =0" in text for text in kept) and not any("k: =1" in text for text in kept)
