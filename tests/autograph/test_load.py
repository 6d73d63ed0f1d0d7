"""Loading: generated code sees the user's variables, and nothing runs while it is loaded."""

from __future__ import annotations

import inspect
import types

import gast
import pytest

from autograph.load import bind, load
from autograph.source import source_of
from runtime.errors import GraphError

LEVEL = 1


def loaded(function, **options):
    source = source_of(function)
    return load(source.node, source, **options)


def rebound(function, **options):
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    return bind(
        loaded(function, **options),
        function,
        None,
        function.__globals__,
        cells,
        function.__defaults__,
        function.__kwdefaults__,
    )


def noisy(trace=[]):
    trace.append(1)
    return trace


def sample(a, b=noisy(), *args: noisy, c=2, **kwargs) -> noisy:
    """Says what it got."""
    return a, b, args, c, kwargs, LEVEL


sample.mark = "kept"


def test_the_signature_and_all_that_hangs_on_a_function():
    made = rebound(sample)
    assert made(1, 2, 3, d=4) == sample(1, 2, 3, d=4)
    assert made.__defaults__[0] is sample.__defaults__[0]
    assert inspect.signature(made) == inspect.signature(sample)
    for name in (
        "__name__",
        "__qualname__",
        "__doc__",
        "__module__",
        "__annotations__",
        "__kwdefaults__",
        "__dict__",
    ):
        assert getattr(made, name) == getattr(sample, name), name
    assert made.__code__.co_name == "sample"


def test_defaults_are_not_evaluated_again():
    before = len(noisy.__defaults__[0])
    rebound(sample)
    assert len(noisy.__defaults__[0]) == before


def test_cells_are_shared():
    def outer():
        count = 0

        def up(step):
            nonlocal count
            count += step
            return count

        return up, lambda: count

    up, read = outer()
    assert rebound(up)(5) == 5
    assert read() == 5
    assert up(1) == 6


def test_globals_are_read_when_they_are_needed_also_from_a_mapping():
    class Intercepted(dict):
        def __getitem__(self, name):
            return f"<{name}>" if name == "LEVEL" else super().__getitem__(name)

    made = bind(loaded(sample), sample, None, Intercepted(vars()), {}, None, None)
    assert made(1, 2, c=3)[-1] == "<LEVEL>"


def test_recursion_goes_through_the_global_name():
    space = {}
    made = bind(loaded(factorial), factorial, None, space, {}, None, None)
    space["factorial"] = lambda n: "called"
    assert made(1) == "called"


def factorial(n):
    return factorial(n - 1) if n else 1


def test_names_of_nested_functions_are_as_python_gives_them():
    def outer():
        def inner():
            return lambda: 1

        class Local:
            pass

        return inner, inner(), Local

    assert [thing.__qualname__ for thing in rebound(outer)()] == [thing.__qualname__ for thing in outer()]


def test_super_and_private_names_work():
    class Base:
        def name(self):
            return "base"

    class Derived(Base):
        __secret = 3

        def name(self):
            return super().name(), self.__secret

    made = rebound(Derived.name)
    assert made(Derived()) == ("base", 3)


def test_the_namespace_is_one_more_free_variable():
    source = source_of(factorial)
    source.node.body[0].value = gast.parse("ag.answer").body[0].value
    made = load(source.node, source)
    assert made.freevars == () and made.code.co_freevars == ("ag",)
    assert bind(made, factorial, types.SimpleNamespace(answer=42), {}, {}, None, None)(1) == 42


def test_a_missing_cell_is_an_error():
    value = 1

    def reader():
        return value

    with pytest.raises(GraphError, match="no cell was given for value"):
        bind(loaded(reader), reader, None, {}, {}, None, None)


def test_originals_of_nested_functions():
    def outer(x):
        pair = (lambda a: a + 1), (lambda a: a + x)

        def inner():
            return lambda: x

        return [*pair, inner, inner()]

    made = loaded(outer)
    originals = {code.co_name: original for code, original in made.originals.items()}
    assert set(originals) == {"<lambda>", "inner"}
    assert len(made.originals) == 4
    for ours, theirs in zip(bind(made, outer, None, {}, {}, None, None)(1), outer(1), strict=True):
        assert made.originals[ours.__code__] is theirs.__code__


def test_generated_text_can_be_asked_for():
    text = "def factorial(n):\n    return factorial(n - 1) if n else 1\n"
    assert inspect.getsource(rebound(factorial)) == text
