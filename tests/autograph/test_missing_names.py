"""Names without a value: the error has the type, the words and the name that plain Python gives it."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import autograph as ag
from runtime.config import settings

PROGRAM = """
def read_if_rebound(x):
    global T
    if x > 100: T = 5
    return x + T

def walrus(x):
    global T
    if x > 100 and (T := 2): pass
    return x + T

def in_place(x):
    global NEW
    NEW += x
    return NEW

def set_on_one_path(x):
    global NEW
    if x > 0: NEW = 5
    return NEW

def set_on_one_path_read_inside(x):
    global NEW
    if x > 0: NEW = 5
    def g(): return NEW + 1
    return g()

def set_in_a_loop(x):
    global NEW
    for i in range(3):
        if x > i: NEW = i
    return NEW

def inner_counts(x):
    def g():
        global T
        T = T + 1
        return T
    return g() + x

def set_by_code_not_seen(x):
    exec("NEW = 7", globals())
    return NEW + x

def deleted_by_code_not_seen(x):
    exec("T = 1; del T", globals())
    return T + x

def deleted(x):
    global T
    del T
    return x

def a_builtin(x):
    global len
    if x > 100: len = 3
    return len([1, 2])

def free(x):
    if x > 100: y = 1
    def g(): return y + x
    return g()

def free_in_place(x):
    if x > 100: y = 1
    def g():
        nonlocal y
        y += 1
        return y
    return g()

def free_two_deep(x):
    def a():
        def b():
            nonlocal y
            y += 1
        b()
        return y
    if x > 100: y = 1
    return a()

def deleted_inside(x):
    y = 1
    if x > 0: del y
    def g():
        nonlocal y
        del y
    g()
    return 1

def deleted_twice(x):
    y = 1
    def g():
        nonlocal y
        del y
    g()
    if x > 0: g()
    return y

def deleted_by_the_owner(x):
    y = 1
    def g(): return y
    if x > 0: del y
    return g()

def too_early(x):
    f = lambda: y
    r = f() if x > 0 else 0
    y = 1
    return r

def default_too_early(x):
    def use(): return y
    def g(*, k=y): return k
    y = 1
    return g()

def of_a_comprehension(x):
    if x > 100: y = 1
    def use():
        nonlocal y
        y = 2
    return [y for _ in range(3)]

def of_a_generator(x):
    if x > 100: y = 1
    return sum(y + i for i in range(3))

def first_of_a_generator(x):
    if x > 100: y = 1
    def use():
        nonlocal y
        y = 2
    return list(v for v in y)

def class_body(x):
    if x > 100: y = 1
    class A: w = y
    return A.w

def class_base(x):
    def use(): return y
    if x > 100: y = object
    class A(y): v = 1
    return A.v

def class_method(x):
    if x > 100: y = 1
    class A:
        def m(self): return y
    return A().m()

def class_default(x):
    def use(): return y
    if x > 100: y = 1
    class A:
        def m(self, k=y): return k
    return A().m()

def statement_left_to_python(x):
    def use():
        nonlocal y
        y = 1
    if x > 100: y = 1
    box = [0]
    z = [y for box[0] in range(2)]
    return z

def make():
    if False: q = 1
    def f(x):
        nonlocal q
        if x > 100: q = 0
        q += x
        return q
    return f
of_the_function_around = make()
"""
NAMES = [line[4:].partition("(")[0] for line in PROGRAM.splitlines() if line.startswith("def ")]
NAMES = [*NAMES[:-1], "of_the_function_around"]
# What the globals are before each call, None for one that is not there, and the argument.
CALLS: list[tuple[dict[str, Any], Any]] = [
    ({"T": 3, "NEW": None}, 5),
    ({"T": 3}, -5),
    ({"T": None, "NEW": 9}, 7),
    ({"T": None, "NEW": None}, -5),
    ({"T": None, "NEW": None}, 9.5),
]


@pytest.fixture(params=["numpy", "native"], autouse=True)
def _executor(request: pytest.FixtureRequest) -> Iterator[None]:
    with settings.override(executor=request.param, compile="now"):
        yield


def outcome(function: Callable[..., Any], module: types.ModuleType, names: dict[str, Any], x: Any) -> Any:
    """What a call gives, or its error as programs see it."""
    for name, value in names.items():
        module.__dict__.pop(name, None)
        if value is not None:
            module.__dict__[name] = value
    module.__dict__.pop("len", None)
    try:
        return function(x)
    except Exception as error:
        return type(error), str(error), getattr(error, "name", None), error.__context__


@pytest.mark.parametrize("name", NAMES)
def test_as_in_python(name: str, tmp_path: Any) -> None:
    file = tmp_path / "names.py"
    file.write_text(PROGRAM)
    modules = [types.ModuleType("names") for _ in range(2)]
    for module in modules:
        exec(compile(PROGRAM, str(file), "exec"), module.__dict__)
    plain, staged = modules
    function = ag.function(getattr(staged, name))
    for names, x in CALLS:
        want = outcome(getattr(plain, name), plain, names, x)
        assert outcome(function, staged, names, x) == want, (names, x)


def test_builtin_names_stay_what_they_are() -> None:
    """Whatever code that is not seen may do: else nothing would be known of what they give."""

    def f(x: Any) -> Any:
        for v in x:
            if v > 1:
                raise ValueError(len(x))
        return x

    graph = str(ag.function(f).get_concrete_function([1, 2]).graph)
    assert "ValueError" in graph and "py.global" not in graph
