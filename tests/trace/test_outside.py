"""What lies outside the call (globals, captured variables, modules) changed between calls and inside them."""

from __future__ import annotations

import abc
import enum
import functools
import numbers
import sys
import types
from typing import Any

import numpy as np
import pytest

import autograph as ag
from tests.trace.scenarios import See, check, scenarios

V1, V2 = np.float64(1), np.float64(2)
me = sys.modules[__name__]
rate: Any = 1.0
count: Any = 0


def bump() -> Any:
    global count
    count += 1
    return count


@ag.do_not_convert
def bump_unseen() -> None:
    global count, rate
    count += 10
    rate = rate * 2


def helper(x: Any) -> Any:
    return x + 1


def numbers_become_other_things(function: Any, see: See) -> None:
    global rate

    @function
    def f(x):
        return x * rate

    for value in (1.0, 2.0, 2.0, 3, np.float64(4), np.ones(2), "s", 4.0, 5.0):
        rate = value
        see.run(f, 2)


def changed_inside_by_every_way(function: Any, see: See) -> None:
    global rate, count
    rate, count = 1.0, 0
    setattr(me, "helper", globals()["kept_helper"])

    @function
    def f(x):
        global rate, count
        a = rate, count, helper(x)
        rate = rate + x
        b = rate, bump(), count
        bump_unseen()
        c = rate, count
        me.rate = 77
        me.helper = lambda y: y * 100
        d = rate, me.rate, helper(x)
        setattr(me, "count", 50)
        me.count += 1
        return a, b, c, d, count

    for x in (1, 2, V2):
        see.run(f, x)
        see(rate, count)
        setattr(me, "helper", globals()["kept_helper"])


kept_helper = helper


def captured_by_several(function: Any, see: See) -> None:
    n, total, array = 0, 1.0, np.zeros(2)

    def inc(k=1):
        nonlocal n, total, array
        n += k
        total = total * 2
        array = array + 1
        return n

    def get():
        return n

    def both():
        x = n
        inc()
        return x, n, total

    @ag.do_not_convert
    def unseen():
        nonlocal n
        n += 100

    @function
    def f(x):
        a = n
        inc()
        b = get()
        unseen()
        c = n, get(), both()
        if x > 1:
            inc(5)
        for i in range(3):
            inc(i)
        return a, b, c, n, total, array

    for x in (1, 2, 2, V2):
        see.run(f, x)
        see(n)


def defaults_and_code_are_exchanged(function: Any, see: See) -> None:
    def inner(x, k=[1]):
        k[0] += 1
        return x + k[0]

    @function
    def f(x):
        return inner(x) + inner(x)

    see.run(f, 1)
    see.run(f, 1)
    inner.__defaults__ = ([100],)
    see.run(f, 1)
    inner.__code__ = (lambda x, k=0: x - 1).__code__
    see.run(f, 1)


def bound_methods_of_lists(function: Any, see: See) -> None:
    held: list[Any] = []
    push = held.append

    @function
    def f(x, p):
        n = len(held)
        push(x)
        m = len(held)
        p(x)
        return n, m, len(held), held[-1]

    for x in (1, V1):
        see.run(f, x, held.append)
        see.run(f, x, [].append)
        see.run(f, x, held.append)


def wrappers_and_function_attributes(function: Any, see: See) -> None:
    def counted(f):
        @functools.wraps(f)
        def w(*args):
            w.calls += 1
            print("before", w.calls)
            return f(*args)

        w.calls = 0
        return w

    @counted
    def inner(x):
        return x + 1

    @function
    @counted
    def f(x):
        inner.calls += 10
        return inner(x), inner.calls

    for x in (1, 2, V1, 3):
        see.run(f, x)
        see(inner.calls)


def reduced_and_mapped(function: Any, see: See) -> None:
    @function
    def f(xs, x):
        seen = []

        def add(a, b):
            seen.append(b)
            return a + b * x

        s = functools.reduce(add, xs, 0)
        n = len(seen)
        p = functools.partial(add, 5)(7)
        m = len(seen)
        lazy = map(add, xs, xs)
        k = len(seen)
        done = list(lazy)
        return s, n, p, m, k, done, len(seen), seen[0], any(seen.append(0) or True for _ in xs), len(seen)

    see.run(f, [1, 2, 3], 2)
    see.run(f, [1.0, 2.0], V2)


def modules_imported_inside(function: Any, see: See) -> None:
    module = types.ModuleType("imported_inside")
    sys.modules["imported_inside"] = module
    module.rate = 2.0
    exec("def update(x):\n    print('update', x)\n    return x * rate\n", module.__dict__)

    @function
    def f(x):
        import imported_inside
        from imported_inside import rate as r

        if x > 1:
            import imported_inside as again
        else:
            again = None
        imported_inside.rate += 1
        return imported_inside.update(x), r, imported_inside.rate, again is None

    for x in (1, 2, V1, V2):
        see.run(f, x)
    module.rate = np.ones(2)
    see.run(f, V1)
    del sys.modules["imported_inside"]
    see.run(f, V1)


def random_streams(function: Any, see: See) -> None:
    own = np.random.RandomState(4)

    @function
    def f(x, g):
        return np.random.rand(), np.random.rand(2), own.rand(), g.random(), np.random.randint(3), x

    for x in (1, 1, V1):
        see.run(f, x, np.random.default_rng(7))


SCENARIOS = scenarios(globals())


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.__name__)
def test_what_plain_python_does(scenario: Any) -> None:
    check(scenario)


def test_what_keeps_changing_is_read_at_run_time() -> None:
    n = 0.5

    @ag.function
    def f(x):
        return x * n

    def change(value: Any) -> None:
        nonlocal n
        n = value

    for value in (1.0, 2.0, 3.0, 4.0, 5.5, 6.5):
        change(value)
        assert f(2) == 2 * value
    assert len(f.traces) <= 3
    for value in (1, "s", 2.0, True, (1,), 2.5, "t", None or 3):
        change(value)
        assert f(2) == 2 * value
    assert len(f.traces) <= 6


class Patched:
    def method(self) -> Any:
        return 1


def patched(x: Any) -> Any:
    return x


@ag.do_not_convert
def patch(n: int) -> None:
    global patched
    patched = lambda x: n
    Patched.method = lambda self: n  # type: ignore[assignment,method-assign]


def calls_patched(n: int, p: Any) -> Any:
    before = patched(n), p.method()
    patch(n)
    return before, patched(n), p.method()


def test_functions_exchanged_unseen_in_the_middle() -> None:
    """An error that says so, never another result; and it is known from then on."""
    f = ag.function(calls_patched)
    p = Patched()
    with pytest.raises(ag.GuardError, match="global 'patched' was changed by a call in the middle"):
        f(np.float64(2), p)
    for n in (3, 4, 5):
        assert f(np.float64(n), p) == ((n - 1, n - 1), n, n)


def test_a_counter_does_not_retrace() -> None:
    n = 0

    @ag.function
    def f(x):
        nonlocal n
        n += 1
        return x + n

    assert [f(V1) for _ in range(8)] == [2, 3, 4, 5, 6, 7, 8, 9]
    assert len(f.traces) <= 3


heard: list[Any] = []


@ag.do_not_convert
def hears(x: Any) -> Any:
    heard.append(x)
    return x


by_object = np.frompyfunc(hears, 1, 1)
by_element = np.vectorize(hears, otypes=[int])


def test_numpy_objects_made_of_python_functions_run_on_each_call() -> None:
    def use(x: Any) -> Any:
        before = len(heard)
        return by_object(3), len(heard), by_element(x), len(heard) - before

    f = ag.function(use)
    for x in (1, 1, np.int64(2), np.int64(2)):
        heard.clear()
        expected = repr(use(x))
        heard.clear()
        assert repr(f(x)) == expected
    heard.clear()


def test_the_time_is_asked_on_each_call() -> None:
    f = ag.function(lambda: np.datetime64("now"))
    f()
    assert "datetime64('now')" in f.plan_source


class Level(enum.Enum):
    LOW = 1

    def __str__(self) -> str:
        return f"level {count}"

    def __bool__(self) -> bool:
        return bool(count > 1)

    @property
    def doubled(self) -> Any:
        return self.value * count


def asks_level(level: Any) -> Any:
    return str(level), f"{Level.LOW}", bool(level), 1 if Level.LOW else 0, level.doubled, Level.LOW.doubled


def test_members_of_an_enumeration_that_computes_are_asked_on_each_call() -> None:
    global count
    f = ag.function(asks_level)
    before = count
    for count in (1, 2, 3, 1):
        assert f(Level.LOW) == asks_level(Level.LOW)
    count = before


def texts_of_scalars() -> Any:
    return repr(np.float64(1 / 3)), "%s" % np.float32(1 / 3), "{!r}".format(np.float64(2)), str((np.int8(1),))


def test_the_text_of_a_numpy_scalar_goes_by_the_print_options_of_the_call() -> None:
    f = ag.function(texts_of_scalars)
    for legacy in (False, "1.13", False):
        with np.printoptions(legacy=legacy):
            assert f() == texts_of_scalars()


def scaled(x: Any, by: Any = 2.0, *, more: Any = 1.0) -> Any:
    return x * by + more


def changes_defaults(x: Any) -> Any:
    a = scaled(x)
    scaled.__defaults__ = (3.0,)
    b = scaled(x)
    scaled.__kwdefaults__ = {"more": 5.0}
    c = scaled(x)
    scaled.__kwdefaults__["more"] = 6.0
    d = scaled(x)
    del scaled.__kwdefaults__
    scaled.__defaults__, scaled.__kwdefaults__ = (2.0,), {"more": 1.0}
    return a, b, c, d, scaled(x)


def changes_one_default(x: Any) -> Any:
    a = scaled(x)
    scaled.__kwdefaults__["more"] = 6.0
    b = scaled(x)
    scaled.__kwdefaults__["more"] = 1.0
    return a, b


@pytest.mark.parametrize("function", [changes_defaults, changes_one_default])
def test_defaults_that_the_function_exchanges_itself(function: Any) -> None:
    f = ag.function(function)
    for x in (1.0, 2.0, 3.0):
        assert f(x) == function(x)


class Idle:
    pass


class Busy(Idle):
    pass


def changes_a_class(x: Any) -> Any:
    o = Idle()
    if x > 1:
        o.__class__ = Busy
    return type(o).__name__, isinstance(o, Busy), x


def changes_defaults_in_an_arm(x: Any) -> Any:
    if x > 1:
        scaled.__defaults__ = (3.0,)
    a = scaled(x)
    scaled.__defaults__ = (2.0,)
    return a


def deletes_a_global(x: Any) -> Any:
    global there
    there = 1
    if x > 1:
        del there
    try:
        found = there
    except NameError as error:
        found = str(error)
    there = 2
    return found, x


def grows_in_place(x: Any) -> Any:
    y = np.arange(3.0)
    for _ in range(2):
        y.resize(len(y) + 1, refcheck=False)
        y[-1] = 7
    return len(y), y.shape, y.sum(), x


def grows_by_the_class(x: Any) -> Any:
    y = np.arange(4.0)
    if x > 1:
        np.ndarray.resize(y, (3, 2), refcheck=False)
    return len(y), y.shape, x


def sets_the_shape(x: Any) -> Any:
    y = np.arange(6.0) * x
    if x > 1:
        y.shape = (3, 2)
    return len(y), y.shape, y.ndim, y.T.shape


def sets_the_dtype(x: Any) -> Any:
    y = np.zeros(3) + x
    y.dtype = np.uint8  # type: ignore[misc]
    return len(y), y.dtype, (y + 1).sum()


EXCHANGES = [
    changes_a_class,
    changes_defaults_in_an_arm,
    deletes_a_global,
    grows_in_place,
    grows_by_the_class,
    sets_the_shape,
    sets_the_dtype,
]


@pytest.mark.filterwarnings("ignore:Setting the .* on a NumPy array has been deprecated:DeprecationWarning")
@pytest.mark.parametrize("function", EXCHANGES)
def test_what_a_trace_goes_by_is_exchanged(function: Any) -> None:
    with ag.settings.override(executor="numpy"):
        f = ag.function(function)
        for x in (np.float64(0.0), np.float64(2.0), np.float64(1.0)):
            assert f(x) == function(x)


class Registry(abc.ABC):
    pass


class Fickle(type):
    answer = True

    def __instancecheck__(cls, x: Any) -> bool:
        return Fickle.answer

    def __subclasscheck__(cls, other: Any) -> bool:
        return not Fickle.answer


class Anything(metaclass=Fickle):
    pass


def asks_for_classes(o: Any, x: Any) -> Any:
    registered = isinstance(o, Registry), isinstance(o, (str, Registry)), issubclass(Idle, Registry | int)
    fickle = isinstance(x, Anything), issubclass(int, Anything)
    Fickle.answer = not Fickle.answer
    return registered, fickle, isinstance(x, numbers.Number)


def test_answers_about_classes_change() -> None:
    with ag.settings.override(executor="numpy"):
        f = ag.function(asks_for_classes)
        for answer, register in ((True, False), (False, False), (True, True), (False, False)):
            if register:
                Registry.register(Idle)
            given = []
            for function in (f, asks_for_classes):
                Fickle.answer = answer
                given.append(function(Idle(), 1.0))
            assert given[0] == given[1]


counting = types.ModuleType("counting")
counting.asked = 0  # type: ignore[attr-defined]


def ask(name: str) -> Any:
    if name != "rate":
        raise AttributeError(name)
    counting.asked += 1
    return float(counting.asked)


counting.__getattr__ = ask  # type: ignore[method-assign]


def by_asking(x: Any, n: Any) -> Any:
    total = 0.0
    for _ in range(n):
        total += counting.rate * x
    return total


def test_a_module_that_makes_its_attributes_is_not_asked_while_code_is_rewritten() -> None:
    converted = ag.function(by_asking)
    for _ in range(3):
        counting.asked = 0  # type: ignore[attr-defined]
        assert converted(1.0, np.int64(5)) == 15.0
        assert counting.asked == 5  # type: ignore[attr-defined]
