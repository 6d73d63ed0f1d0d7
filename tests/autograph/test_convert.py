"""The driver: what it remembers, when it converts anew, and what it never keeps alive."""

from __future__ import annotations

import functools
import gc
import weakref

import gast
import numpy as np
import pytest

import autograph as ag
from autograph.convert import MISSING, converted, resolve, to_code
from autograph.passes.context import Conversion
from runtime.errors import ConversionRefused, GeneratorError, SourceNotFound


def leave(node, context):
    """A pipeline that changes nothing, but looks at `f`."""
    context.resolve("f")
    if isinstance(node, gast.Lambda):
        body = [gast.copy_location(gast.Return(node.body), node.body)]
        made = gast.FunctionDef("lambda_", node.args, body, [], None, None, [])
        node = gast.copy_location(made, node)
    return Conversion(node, frozenset())


def caller_of(f):
    def caller(x):
        return f(x)

    return caller


def collatz(n):
    """How many steps n takes to 1."""
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def test_a_converted_function_does_the_same():
    made = converted(collatz)
    assert made.function(27) == collatz(27) == 111
    assert made.function.__doc__ == collatz.__doc__
    assert "ag.while_loop" in made.source and made.source == to_code(collatz)
    assert made.code.co_filename.startswith("<autograph collatz #")
    assert made.original is collatz
    assert isinstance(made.tree, gast.FunctionDef)
    start = collatz.__code__.co_firstlineno
    assert {span.line - start for span in made.origin.values()} <= set(range(len(made.source)))


def test_a_function_is_converted_once():
    assert converted(collatz) is converted(collatz)
    one, two = caller_of(collatz), caller_of(collatz)
    assert converted(one) is not converted(two)
    assert converted(one).code is converted(two).code
    assert converted(one).function(27) == 111


def test_names_that_mean_something_else_now_are_looked_at_again():
    def mine(x):
        return x

    known = converted(caller_of(np.sin), pipeline=leave).code
    assert converted(caller_of(np.cos), pipeline=leave).code is not known
    assert converted(caller_of(np.sin), pipeline=leave).code is known
    assert converted(caller_of(mine), pipeline=leave).code is not known
    # Data may change as it likes; so may a function that a factory makes anew.
    assert converted(caller_of(1.5), pipeline=leave).code is converted(caller_of(2.5), pipeline=leave).code
    fresh = converted(caller_of(caller_of(1)), pipeline=leave).code
    assert converted(caller_of(caller_of(2)), pipeline=leave).code is fresh


def test_new_code_is_converted_anew():
    def f(x):
        return x + 1

    def g(x):
        return x + 2

    before = converted(f)
    f.__code__ = g.__code__
    assert converted(f) is not before
    assert converted(f).function(1) == 3


def test_rebound_free_variables_are_boxed():
    def counter():
        count = 0

        def up():
            nonlocal count
            count += 1
            return count

        return up

    up = counter()
    made = converted(up)
    assert made.boxed_free == {"count"} and made.freevars == ("count",)
    assert (up(), made.function(), up(), made.function()) == (1, 2, 3, 4)


def test_the_name_of_the_namespace():
    def uses_the_package(x):
        return ag.and_(x, lambda: 1) if x else 0

    def has_its_own(x, ag):
        return ag if x and ag else 0

    def has_its_own_inside(x):
        return (lambda ag: ag if x and ag else 0)(5)

    assert "ag__" not in to_code(uses_the_package)
    assert "ag__.all_true" in to_code(has_its_own)
    assert "ag__.all_true" in to_code(has_its_own_inside)
    assert converted(has_its_own).function(1, 2) == 2
    assert converted(has_its_own_inside).function(1) == 5


def test_methods_and_lambdas():
    class Sample:
        def method(self, x):
            return x or self

    assert to_code(Sample().method) == to_code(Sample.method)
    assert converted(lambda x: x and -x).function(3) == -3


def test_refusals_are_remembered_but_hold_nothing():
    calls = []

    def refuse(node, context):
        calls.append(node)
        raise ConversionRefused("no", why="because")

    def f(x):
        return x

    for _ in range(3):
        with pytest.raises(ConversionRefused, match="because"):
            converted(f, pipeline=refuse)
    assert len(calls) == 1
    watched = weakref.ref(f)
    del f
    gc.collect()
    assert watched() is None


def test_nothing_is_kept_alive():
    f = caller_of(collatz)
    space: dict[str, object] = {}
    made = converted(f).function
    watched = weakref.ref(f)
    exec("def g(): pass", space)
    del f
    gc.collect()
    assert watched() is None
    assert made(27) == 111


def test_what_has_no_source():
    with pytest.raises(SourceNotFound):
        to_code(len)
    with pytest.raises(SourceNotFound):
        to_code(functools.partial(collatz))

    def generator():
        yield 1

    with pytest.raises(GeneratorError):
        converted(generator)


def test_resolve_looks_where_python_looks():
    def outer():
        def f():
            return later, len, np, nothing  # noqa: F821

        look = resolve(f, "later")
        later = 3
        return f, look

    f, before = outer()
    assert before is MISSING and resolve(f, "later") == 3
    assert resolve(f, "len") is len and resolve(f, "np") is np
    assert resolve(f, "nothing") is MISSING
