"""Functions as arguments: each call gets another function of the same code, with other things captured."""

from __future__ import annotations

import copy
import functools
import math
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.execute.native.executor import unavailable

native = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
X = np.arange(5.0)
Program = Callable[[], tuple[Callable[..., Any], list[Callable[[], tuple[Any, ...]]]]]
PROGRAMS: list[Program] = []


def program(make: Program) -> Program:
    """A function, and what gives the arguments of each call."""
    PROGRAMS.append(make)
    return make


def iterate(a: Any, b: Any, n: int) -> Any:
    x = b.copy()
    for _ in range(n):
        x = x - 0.1 * (a(x) - b)
    return x


def times(a: Any) -> Any:
    return lambda v: v * a


def plus(a: Any) -> Any:
    return lambda v: v + a


def given(*functions: Any) -> Any:
    """`iterate` with each of these functions, which are made when they are needed."""
    return iterate, [lambda f=f: (f(), X, 4) for f in functions]


def each(make: Any, *values: Any) -> list[Any]:
    return [functools.partial(make, value) for value in values]


@program
def numbers():
    return given(*each(times, 1.0, 2.0, 3.0, 4, 5, 6.0, True, np.float64(2), np.float32(2), 1j))


@program
def arrays():
    others = np.ones(1), np.ones(5, np.float32), np.ones(5, int), np.array(3.0), [1.0] * 5, 2.0
    return given(*each(times, X, X + 1, *others, X))


@program
def codes():
    return given(*each(times, 1.0, 2.0), *each(plus, 1.0, 2.0), *each(times, 3.0, X), *each(plus, 5.0))


@program
def many_codes():
    return given(*[lambda k=k: eval(f"lambda v: v * {k}.0 + 1") for k in range(14)])


@program
def defaults():
    def make(a: Any) -> Any:
        def f(v: Any, c: Any = a, *, d: Any = a) -> Any:
            return v * c + d

        return f

    def without(a: Any) -> Any:
        f = make(a)
        f.__defaults__ = None
        return f

    return given(*each(make, 1.0, 2.0, 3.0), *each(without, 3.0, 4.0), *each(make, X, X + 1, 2.0))


@program
def globals_of_their_own():
    code = compile("def f(v): return v * K", "<made>", "exec").co_consts[0]

    def space(k: float) -> dict[str, Any]:
        return {"K": k, "__builtins__": __builtins__, "__name__": "made"}

    shared = space(1.0)

    def sharing(k: float) -> Any:
        shared["K"] = k
        return types.FunctionType(code, shared)

    def alone(k: float) -> Any:
        return types.FunctionType(code, space(k))

    return given(*each(alone, 1.0, 2.0, 3.0), *each(sharing, 1.0, 2.0, 3.0, 4.0), *each(alone, 5.0))


@program
def functions_captured():
    def outer(a: Any) -> Any:
        inner = times(a)
        return lambda v: inner(v) + a

    def of(f: Any, a: Any) -> Any:
        return lambda v: f(v, a)

    def mul(v: Any, a: Any) -> Any:
        return v * a

    pairs = [(mul, 1.0), (mul, 2.0), (mul, 3.0), (np.add, 3.0), (mul, 4.0), (np.multiply, X), (max, 3.0)]
    return given(*each(outer, 1.0, 2.0, 3.0, X, 4), *[functools.partial(of, *pair) for pair in pairs])


@program
def containers_captured():
    def listed(items: Any) -> Any:
        held = list(items)
        return lambda v: v * held[0] + len(held)

    def tupled(a: Any) -> Any:
        pair, other = (a, a + 1), (a, X)
        return lambda v: v * pair[0] + pair[1] * other[0] + other[1]

    return given(*each(listed, (1.0,), (2.0,), (2.0, 3), (X,)), *each(tupled, 1.0, -1.0, 2.0, 3))


@program
def written():
    def counted(a: Any) -> Any:
        n = 0

        def f(v: Any) -> Any:
            nonlocal n
            n += 1
            return v * a + n

        return f

    return given(*each(counted, 1.0, 2.0, 3.0, 4.0, 5))


@program
def rebound_in_the_call():
    def make(s: Any) -> tuple[Any, Any]:
        def put(v: Any) -> None:
            nonlocal s
            s = v

        return (lambda i: i * s), put

    def run(f: Any, put: Any, v: Any) -> Any:
        a = f(v)
        put(v[1] + 7)
        b = f(v)
        put(v)
        return a, b, f(v)

    return run, [lambda s=s: (*make(s), X + s) for s in (1.0, -1.0, 2.0, -2.0, 3.0)]


@program
def rebound_between_calls():
    def make() -> tuple[Any, Any]:
        s = 1.0

        def put(v: Any) -> None:
            nonlocal s
            s = v

        return (lambda i: i * s), put

    f, put = make()

    def at(v: Any) -> tuple[Any, ...]:
        put(v)
        return f, X, 2

    return iterate, [lambda v=v: at(v) for v in (1.0, 2.0, 3.0, 4, X, "a", 5.0, 6.0)]


@program
def without_a_value():
    def make(a: Any, known: bool) -> Any:
        def f(v: Any) -> Any:
            return v * a if known else v * c

        if a > 2:
            c = 10.0
        return f

    pairs = [(1.0, True), (2.0, True), (3.0, True), (1.0, False), (3.0, False), (4.0, False), (1.0, True)]
    return given(*[functools.partial(make, *pair) for pair in pairs])


@program
def one_or_two():
    def run(f: Any, g: Any, v: Any) -> Any:
        return f(v), g(v), f is g, f == g, f in (g, 1), {f: 1}.get(g), f.__name__

    def pair(a: float, same: bool) -> tuple[Any, ...]:
        f = times(a)
        return f, f if same else times(a + 1), X

    return run, [lambda k=k: pair(float(k), k in (2, 3, 5)) for k in range(7)]


@program
def in_containers():
    class Holder:
        def __init__(self, f: Any) -> None:
            self.f = f

    def run(pairs: Any, listed: Any, named: Any, held: Any, v: Any) -> Any:
        for f, k in pairs:
            v = f(v) * k
        for f in listed:
            v = f(v)
        return named["f"](v), held.f(v)

    def all_of(a: float) -> tuple[Any, ...]:
        pairs = ((times(a), 2.0), (plus(a), a))
        return pairs, [plus(a), times(a + 1)], {"f": times(a)}, Holder(plus(a) if a < 4 else times(a)), X

    return run, [lambda k=k: all_of(float(k)) for k in range(7)]


@program
def chosen():
    def run(f: Any, g: Any, v: Any) -> Any:
        h = f if v[0] > 0 else g
        for _ in range(3):
            v = h(v)
            if v[1] > 3:
                h = np.negative
        return v, f

    return run, [lambda s=s: (times(s), times(s + 1), X + s) for s in (1.0, -1.0, 2.0, -2.0, 3.0)]


@program
def partials():
    def f(a: Any, b: Any, v: Any) -> Any:
        return a * v + b

    made = [((1.0, 2.0), {}), ((2.0, 3.0), {}), ((3.0, 4.0), {}), ((X, 1), {}), ((X + 1, 1), {})]
    return given(*[lambda a=a, k=k: functools.partial(f, *a, **k) for a, k in made], *each(times, 2.0))


class Scale:
    def __init__(self, a: Any) -> None:
        self.a = a

    def mul(self, v: Any) -> Any:
        return v * self.a

    def add(self, v: Any) -> Any:
        return v + self.a

    def __call__(self, v: Any) -> Any:
        return v - self.a


class Divide(Scale):
    def mul(self, v: Any) -> Any:
        return v / self.a


@program
def methods():
    bound = [Scale(1.0).mul, Scale(2.0).mul, Scale(2.0).add, Scale(3.0).add, Divide(3.0).mul, Divide(4.0).mul]
    return given(*[lambda m=m: m for m in (*bound, Scale(5.0), Scale(6.0), Scale(X).mul, Scale(7.0).mul)])


@program
def classes():
    def make(a: float) -> Any:
        class Made:
            k = a

            @classmethod
            def scaled(cls, v: Any) -> Any:
                return v * cls.k

            @staticmethod
            def moved(v: Any) -> Any:
                return v + a

        return Made

    def run(cls: Any, v: Any) -> Any:
        return cls.scaled(v), cls.moved(v), cls.k

    return run, [lambda k=k: (make(float(k)), X) for k in range(12)]


@program
def generators_and_recursion():
    def going(s: Any) -> Any:
        def f(n: int) -> Iterator[Any]:
            for i in range(n):
                yield i * s

        return f

    def fib(a: Any) -> Any:
        def f(n: int) -> Any:
            return n * a if n < 2 else f(n - 1) + f(n - 2)

        return f

    def run(items: Any, f: Any, n: int) -> Any:
        total = 0
        for x in items(n):
            total += x
        return total, f(n)

    return run, [lambda a=a: (going(a), fib(a), 5) for a in (1.0, -1.0, 2, -2.0, 3.0)]


def seen(x: Any) -> Any:
    if isinstance(x, np.ndarray):
        return x.dtype.str, x.shape, x.tolist()
    if isinstance(x, tuple):
        return tuple(map(seen, x))
    return "a function" if callable(x) else (type(x), repr(x))


def outcome(f: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    try:
        return seen(f(*args))
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("executor", ["auto", "native", "numpy"])
@pytest.mark.parametrize("make", PROGRAMS, ids=lambda make: make.__name__)
def test_each_call_gets_another_function(make, executor):
    (plain, calls), (function, others) = make(), make()
    with ag.settings.override(executor=executor):
        converted = ag.function(function)
        for _ in range(2):
            for args, same_args in zip(calls, others, strict=True):
                assert outcome(converted, same_args()) == outcome(plain, args())


@native
@pytest.mark.parametrize(
    "make",
    [
        lambda k: times(k),
        lambda k: times(X * k),
        lambda k: functools.partial(lambda a, v: a * v, k),
        lambda k: (lambda f: lambda v: f(v) + k)(times(k)),
        lambda k: lambda v, a=k: v * a,
        lambda k: Scale(k).mul,
    ],
    ids=["number", "array", "partial", "nested", "default", "method"],
)
def test_native_code_serves_functions_of_one_code(make):
    with ag.settings.override(executor="native", compile="now"):
        f = ag.function(iterate)
        for k in range(4):
            f(make(k + 0.5), X, 50)
        count = len(f.traces)
        with ag.no_new_traces():
            f(make(9.5), X, 50)
        assert f.traces[-1].concrete.executor == "native" and count <= 3


class Counted(Scale):
    calls = 0

    def mul(self, v: Any) -> Any:
        self.calls += 1
        return v * self.a


@native
@pytest.mark.parametrize("executor", ["auto", "native"])
@pytest.mark.parametrize(
    "make",
    [
        lambda: functools.partial(lambda a, v, b: math.exp(-a * v) * b, -0.5, b=2.0),
        lambda: Scale(0.5).mul,
        lambda: Counted(0.5).mul,
    ],
    ids=["partial", "method", "counted"],
)
def test_loops_of_numbers_that_call_them_are_native(make, executor):
    def run(f: Any, x: float, n: int) -> float:
        for _ in range(n):
            x = x - 0.01 * f(x)
        return x

    with ag.settings.override(executor=executor, compile="now"):
        converted = ag.function(run)
        for _ in range(6):
            mine, other = make(), make()
            assert converted(mine, 1.0, 500) == run(other, 1.0, 500)
            if isinstance(mine, types.MethodType):
                assert vars(mine.__self__) == vars(other.__self__)
        assert converted.traces[-1].concrete.executor == "native"


def counting(n: Any, step: Any = 1, limit: int = 10**9) -> Any:
    """A function that counts its calls, and what reads, sets and deletes the count."""

    def f(v: Any) -> Any:
        nonlocal n
        n += step
        if n > limit:
            raise ValueError(n)
        return v * 0.5 + 1

    def get() -> Any:
        return n

    def put(v: Any) -> None:
        nonlocal n
        n = v

    def drop() -> None:
        nonlocal n
        del n

    return f, get, put, drop


def looped(f: Any, get: Any, put: Any, drop: Any, x: float, n: int) -> Any:
    for _ in range(n):
        x = x - 0.1 * f(x)
    return x


def asked(f: Any, get: Any, put: Any, drop: Any, x: float, n: int) -> Any:
    total = get()
    for k in range(n):
        x = x - 0.1 * f(x)
        if k % 7 == 3:
            put(get() * 2)
        total += get()
    return x, total, get()


def dropped(f: Any, get: Any, put: Any, drop: Any, x: float, n: int) -> Any:
    for k in range(n):
        x = x - 0.1 * f(x)
        if k == n - 2:
            drop()
    return x


def put_first(f: Any, get: Any, put: Any, drop: Any, x: float, n: int) -> Any:
    drop()
    put(n)
    for _ in range(n):
        x = x - 0.1 * f(x)
    put(get() + 0.5)
    return x, get()


COUNTS: list[tuple[Any, ...]] = [
    *((k,) for k in range(4)),
    (0.5,),
    (2, 0.25),
    (2**62, 2**61),
    (0, 1, 17),
    (3, 1, 11),
    (True,),
    (np.int8(120),),
    (np.zeros(2),),
    ("a", "b"),
    (5,),
]


def after(function: Any, given: tuple[Any, ...]) -> Any:
    parts = counting(*copy.deepcopy(given))
    with np.errstate(all="ignore"):
        found = outcome(function, (*parts, 1.0, 30))
    return found, outcome(parts[1], ())


@pytest.mark.parametrize("executor", ["auto", "native", "numpy"])
@pytest.mark.parametrize("function", [looped, asked, dropped, put_first], ids=lambda f: f.__name__)
def test_variables_that_passed_functions_bind_again(function, executor):
    with ag.settings.override(executor=executor):
        converted = ag.function(function)
        for _ in range(2):
            for given in COUNTS:
                assert after(converted, given) == after(function, given)


def test_one_cell_by_two_functions_of_one_code():
    def both(f: Any, g: Any, x: float, n: int) -> Any:
        for _ in range(n):
            x = x - 0.1 * f(x) + 0.01 * g(x)
        return x

    def pair(shared: bool) -> Any:
        f, get, *_ = counting(0)
        g, other, *_ = (f, get) if shared else counting(5)
        twin = types.FunctionType(g.__code__, g.__globals__, "f", g.__defaults__, g.__closure__)
        return f, twin, get, other

    with ag.settings.override(executor="native", compile="now"):
        converted = ag.function(both)
        for shared in (False, True, False, True, True, False):
            f, g, *asks = pair(shared)
            one = converted(f, g, 1.0, 40), [ask() for ask in asks]
            f, g, *asks = pair(shared)
            assert one == (both(f, g, 1.0, 40), [ask() for ask in asks])


@native
def test_counters_are_native():
    with ag.settings.override(executor="native", compile="now"):
        converted = ag.function(looped)
        for k in range(4):
            assert after(converted, (k,)) == after(looped, (k,))
        assert converted.traces[-1].concrete.executor == "native"
        with ag.no_new_traces():
            assert after(converted, (77,)) == after(looped, (77,))


@pytest.mark.parametrize("executor", ["auto", "native", "numpy"])
@pytest.mark.parametrize("function", [looped, asked, dropped, put_first], ids=lambda f: f.__name__)
def test_one_cell_by_functions_that_stay_and_others(function, executor):
    def renewed(f: Any) -> Any:
        return types.FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, f.__closure__)

    for stay in range(4):
        with ag.settings.override(executor=executor):
            converted = ag.function(function)
            mine, its = counting(3), counting(3)
            for _ in range(5):
                seen_here = []
                for call, parts in ((converted, mine), (function, its)):
                    parts[2](3)
                    given = [part if k == stay else renewed(part) for k, part in enumerate(parts)]
                    seen_here.append((outcome(call, (*given, 1.0, 30)), outcome(parts[1], ())))
                assert seen_here[0] == seen_here[1]
