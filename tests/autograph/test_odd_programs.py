"""Odd but legal programs: what is evaluated when, how often, and under which names.

Each program is run as it stands, converted, and as a graph; what it gives, raises and prints is one.
"""

import builtins
import functools
import importlib
import inspect
import sys
from collections.abc import Callable
from typing import Any

import pytest

import autograph as ag
from tests.autograph.beside import beside, outcome

PROGRAMS: list[Any] = []


def odd(program: Callable[..., Any]) -> Callable[..., Any]:
    """Add a program of one number."""
    PROGRAMS.append(pytest.param(program, id=program.__name__))
    return program


class Asked:
    """Says when it is asked for its truth, and what it is compared with."""

    def __init__(self, truth: Any, name: str) -> None:
        self.truth, self.name = truth, name

    def __bool__(self) -> bool:
        print(self.name, end=" ")
        return bool(self.truth)

    def __lt__(self, other: Any) -> Any:
        return Asked(self.truth < other.truth, f"{self.name}<{other.name}")

    def __repr__(self) -> str:
        return f"<{self.name}>"


def truths(a: Any, b: Any, c: Any) -> list[Any]:
    made: list[Any] = [a and b or c, (a or b) and c, (a and b) and c, a and (b and c), a or (b or c)]
    made += [not (a and b), (not a) and b, (a if b else c) and a, a < b < c, (a < b < c) or c]
    made += [1 if (a and b) or c else 2, 1 if not (a and b or c) else 2, 1 if (a if b else c) else 2]
    made += [1 if a < b < c else 2, 1 if not a < b < c else 2, [1 for _ in range(2) if a if b and c]]
    x = a and b
    made.append(1 if x else 2)
    made.append(1 if (y := (a or b)) else 2)
    made.append(y)
    n = 0
    while n < 2 and (a or b) and not (b and c):
        n += 1
    if a and b:
        made.append(n)
    elif b or c:
        made.append(-n)
    match n:
        case 0 if a and b:
            made.append("both")
        case _ if c or a:
            made.append("one")
    return made


@odd
def truth_is_asked_as_often_as_python_asks(a: Any) -> Any:
    made = []
    for k in range(27):
        made.append(repr(truths(Asked(k % 3, "a"), Asked(k // 3 % 3, "b"), Asked(k // 9, "c"))))
    return made


class Shown:
    """Says when it is made and when it becomes a text."""

    def __init__(self, name: str) -> None:
        print("made", name)
        self.name = name

    def __format__(self, spec: str) -> str:
        print("format", self.name, spec)
        return self.name

    def __repr__(self) -> str:
        print("repr", self.name)
        return self.name


@odd
def values_become_text_one_by_one(a: Any) -> Any:
    x, width = [a], [5]

    def grow() -> Any:
        nonlocal a
        a += 1
        return a

    text = f"{x}{x.append(1)}{x}|{a} {grow()} {a}|{a:>{width[0]}}{x!r:<{width.pop()}}{width}"
    return text, f"{Shown('a')}{Shown('b')!r}{Shown('c'):{Shown('d')}{Shown('e')!r}}{Shown('f')=}"


@odd
def text_that_cannot_be_made(a: Any) -> Any:
    try:
        return f"{'x':d}{print('too late')}"
    except ValueError as error:
        return str(error)


def options(function: Any = 0, args: Any = 1, **kwargs: Any) -> Any:
    return function, args, kwargs


@odd
def keywords_of_all_names(a: Any) -> Any:
    def inner(function: Any = 0, *, trace: Any = 1, self: Any = 2) -> Any:
        return function, trace, self

    made = [options(function=a), options(args=a, kwargs=2, f=3), inner(function=a, trace=3), inner(self=a)]
    return (
        made,
        options(**{"function": a}),
        dict(function=a, self=1, pairs=2),
        functools.partial(options, a)(),
    )


@odd
def keywords_from_two_places(a: Any) -> Any:
    made: list[Any] = []
    d = {"args": a}
    for k in range(6):
        try:
            if k == 0:
                made.append(options(args=1, **d))
            elif k == 1:
                made.append(options(**d, **{"args": 2}))
            elif k == 2:
                made.append(dict(args=1, **d))
            elif k == 3:
                made.append(options(a, function=2))
            elif k == 4:
                made.append(options(*[a], **d, x=d.clear(), **d, **{"y": 3}, z=4))
            else:
                made.append(options(x=1, **{1: 2}))
        except TypeError as error:
            made.append(str(error))
    return made


@odd
def decorators_come_first(a: Any) -> Any:
    def twice(f: Any) -> Any:
        print("twice")
        return lambda: f() * 2

    def named(name: Any) -> Any:
        print(name)
        return twice

    @twice
    def twice() -> Any:
        return a

    @named("one")
    @named("two")
    def product(x: Any = named("default")) -> Any:
        return a

    try:

        @missing
        def never(x: Any = print("too early")) -> Any:
            return x

    except NameError as error:
        return twice(), product(), str(error)


@odd
def annotations_are_evaluated(a: Any) -> Any:
    def said(x: Any) -> Any:
        print(x)
        return x

    kind: Any = int if a is None else float

    def later() -> Any:
        return kind

    def one(x: said(1), /, y: said(2) = said(3), *z: kind, k: [kind] = said(5)) -> said(6):
        return x

    kind = str

    @functools.singledispatch
    def which(x: Any) -> str:
        return "other"

    @which.register
    def _(x: int) -> str:
        return "int"

    items = [1, 2]
    items[said(0)]: said("never")
    return one.__annotations__, one(a), later(), which(1), which(1.5), items


@odd
def class_that_binds_outside(a: Any) -> Any:
    x = y = 0

    class Box:
        nonlocal x
        x = a

        def inner(self) -> Any:
            class Other:
                nonlocal y
                y = a

            return Other

    return x, hasattr(Box, "x"), hasattr(Box().inner(), "y"), y


@odd
def attributes_of_functions(a: Any) -> Any:
    def counted(f: Any) -> Any:
        def wrapper(*args: Any) -> Any:
            wrapper.calls += 1
            return f(*args)

        wrapper.calls = 0
        return wrapper

    @counted
    def plus(x: Any) -> Any:
        return x + 1

    def marked() -> None: ...

    marked.big, total = 0, 0
    for k in range(a):
        total += plus(k)
        if k > 0:
            marked.big += 1
    return plus.calls, total, marked.big, marked.__dict__


@odd
def names_bound_in_what_stays_python(a: Any) -> Any:
    """A break that leaves a finally stays as it is written, and what it binds is shared."""
    x = y = kind = None

    def shared() -> Any:
        return x, y, kind.v

    while True:
        try:
            match [a, 2, 3], {"k": a, "j": 5}:
                case [x, *y], {"k": z, **r} if x == a and z:
                    pass

            class kind:
                v = a

            later = lambda n=(m := 8): n + a
            try:
                [].pop()
            except IndexError as x:
                text = str(x)
        finally:
            break
    try:
        return x
    except NameError as error:
        x = 1
        return shared(), z, r, later(), m, text, str(error), kind.__name__


@odd
def names_bound_in_a_generator(a: Any) -> Any:
    x = 0

    def steps() -> Any:
        nonlocal x
        try:
            [].pop()
        except IndexError as x:
            yield str(x)
        try:
            yield x
        except NameError as error:
            yield str(error)
        match a:
            case int() as x if x > 1:
                yield x
            case x:
                yield -x

        class x:
            v = a

        yield x.v

    return list(steps()), x.v


@odd
def who_finds_a_name_unbound(a: Any) -> Any:
    """Since 3.12 a comprehension is a part of its function, and says so; a lambda never is."""
    made = []
    for k in range(4):
        try:
            if a > 100:
                y = 1
            if k == 0:
                made.append([y for _ in range(2) if k == a - a])
            elif k == 1:
                made.append((lambda: y)())
            elif k == 2:
                made.append(sum(y for _ in range(2)))
            else:
                made.append(k and y)
        except ValueError:
            y = 3
        except NameError as error:
            made.append((type(error), str(error)))
    return made


@odd
def name_of_a_generator(a: Any) -> Any:
    made = (x + y for x in range(a) for y in range(2))
    return made.__name__, made.__qualname__, sum(made)


@odd
def a_final_part_that_returns_at_times(a: Any) -> Any:
    """A return waits while a final part runs that asks for returns of its own."""
    seen: list[Any] = []

    def straight(k: Any) -> Any:
        try:
            if k < 3:
                return "body"
            seen.append("no return")
        finally:
            try:
                if k == a:
                    return "final"
            except ValueError:
                pass
            seen.append(k)
        return "end"

    def looping(k: Any) -> Any:
        for i in range(3):
            try:
                if i == 1:
                    return "body", i
            finally:
                for j in range(2):
                    if i + j == k:
                        return "final", j
                seen.append((i, k))
        return "end"

    return [straight(k) for k in range(5)], [looping(k) for k in range(5)], seen


@odd
def values_of_nested_logic(a: Any) -> Any:
    return (a <= 4 and (a != 2 and 4 or 0) or a), (a and (a > 2 or 7)) or 5, ((a > 9 or "") and 1 or a) and 8


@odd
def names_of_methods(a: Any) -> Any:
    def m() -> Any:
        return 1

    def shared() -> Any:
        return m

    class Box:
        import math as n

        def m(self) -> Any:
            return 2

    first = shared()()
    m = a
    return first, shared(), Box().m(), Box.n.pi


def put(target: Any, value: Any) -> None:
    target.value = value


@odd
def attributes_that_others_set(a: Any) -> Any:
    made = lambda: 1
    put(made, 0)
    for k in range(a):
        put(made, made.value + k)
    return made.value


evaluate, caller = eval, sys._getframe


@odd
def frames_under_other_names(a: Any) -> Any:
    y = a + 1
    return evaluate("y"), sorted(builtins.locals()), caller(0).f_code.co_name, inspect.stack()[0].function


class Parent:
    def name(self) -> str:
        return "parent"


class Child(Parent):
    def name(self) -> str:
        return "child"

    def of_lambda(self, a: Any) -> Any:
        first, none = lambda it: super().name(), lambda: super().name()
        try:
            return a, first(self), none()
        except RuntimeError as error:
            return a, first(self), str(error)

    def of_generator(self, a: Any) -> Any:
        return a, list(super().name() for _ in range(2))

    def of_comprehension(self, a: Any) -> Any:
        return a, [super().name() for _ in range(2)]

    def deleted(self, a: Any) -> Any:
        del self
        return a, super().name()

    def spread(self, a: Any) -> Any:
        return a, super(*()).name()

    def private(self, a: Any) -> Any:
        __y = a

        def __inner(__z: Any = 1) -> Any:
            return __y + __z

        class __Inner:
            __v = a

        return __inner(), __inner(_Child__z=2), __inner.__name__, __Inner.__name__, sorted(vars(__Inner))[0]

    def imported(self, a: Any) -> Any:
        import math as __m
        from math import floor as __f

        match {"a": a, "b": 2}:
            case {"a": __v, **__rest}:
                return __v, __rest, __f(__m.pi)

    def decorated(self, a: Any) -> Any:
        self.__name = lambda cls: (cls.__name__, a)

        @self.__name
        class Inner: ...

        return Inner


@pytest.mark.parametrize("program", PROGRAMS)
def test_odd_programs(program: Callable[..., Any]) -> None:
    beside(program)


def test_what_is_asked_follows_the_arguments() -> None:
    """The same where the objects are arguments: the truth of each is asked when the graph runs."""
    run, converted = ag.function(truths), ag.convert(truths)
    for k in (0, 1, 5, 13, 26, 21, 0, 5):
        args = Asked(k % 3, "a"), Asked(k // 3 % 3, "b"), Asked(k // 9, "c")
        expected = outcome(truths, args)
        assert outcome(run, args) == outcome(converted, args) == expected


@pytest.mark.parametrize(
    "name",
    [
        "of_lambda",
        "of_generator",
        "of_comprehension",
        "deleted",
        "spread",
        "private",
        "imported",
        "decorated",
    ],
)
def test_methods_with_names_of_their_class(name: str) -> None:
    method = getattr(Child(), name)
    run = ag.function(method)
    for number in (3, 3, 4):
        assert outcome(run, (number,)) == outcome(method, (number,))


# pytest rewrites what is asserted in test files
TEXT = """
def longest(a):
    return a < 0xHUGE, -0xHUGE < a


def chained(a):
    return MANY, 0 or a


def asserts(a):
    AssertionError = ValueError
    try:
        assert a is None, a
    except BaseException as error:
        return repr(error)
"""


@pytest.mark.parametrize("name", ["longest", "asserts", "chained"])
def test_programs_in_a_file(name: str, tmp_path: Any, monkeypatch: Any) -> None:
    (tmp_path / "odd_module.py").write_text(
        TEXT.replace("HUGE", "f" * 5000).replace("MANY", " and ".join("a" * 500))
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "odd_module", raising=False)
    beside(getattr(importlib.import_module("odd_module"), name))
