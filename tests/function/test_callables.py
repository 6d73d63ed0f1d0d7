"""`ag.function` and derivatives of whatever can be called: what a user expects, or what to do instead."""

from __future__ import annotations

import contextlib
import functools
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import autograph as ag

X = np.arange(3.0)


@functools.lru_cache
def cached(k: float) -> float:
    return k * 2.0


@functools.singledispatch
def dispatched(x: Any) -> Any:
    return x


@dispatched.register
def _(x: np.ndarray) -> Any:
    return x * 2


@contextlib.contextmanager
def doubling(k: float) -> Iterator[float]:
    yield k * 2


def plus_one(f: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(f)
    def run(*args: Any, **kwargs: Any) -> Any:
        return f(*args, **kwargs) + 1

    return run


class Model:
    rate = 2.0

    def __init__(self) -> None:
        self.w = 3.0

    def method(self, x: Any) -> Any:
        return self.w * x

    def __call__(self, x: Any) -> Any:
        return self.w * x + 1

    @staticmethod
    def static(x: Any) -> Any:
        return 2 * x

    @classmethod
    def of_class(cls, x: Any) -> Any:
        return cls.rate * x

    @ag.function
    @staticmethod
    def static_inside(x: Any) -> Any:
        return 2 * x

    @classmethod
    @ag.function
    def of_class_outside(cls, x: Any) -> Any:
        return cls.rate * x

    @functools.singledispatchmethod
    def by_type(self, x: Any) -> Any:
        return x

    @by_type.register
    def _(self, x: np.ndarray) -> Any:
        return x * self.w


class Slots:
    __slots__ = ("w",)

    def __init__(self) -> None:
        self.w = 2.0

    def __call__(self, x: Any) -> Any:
        return self.w * x


class Made:
    def __getattr__(self, name: str) -> Any:
        return lambda x: x * len(name)


class Late(Model):
    def method(self, x: Any) -> Any:
        return super().method(x) + 1


def with_it(x: Any) -> Any:
    with doubling(2.0) as k:
        return x * k


@doubling(1.0)
@plus_one
def decorated(x: Any) -> Any:
    return x * 2


CALLABLES = {
    "calls a cache": lambda x: x * cached(3.0),
    "partial": functools.partial(lambda a, x, b=1: a * x + b, 2.0, b=3),
    "method": Model().method,
    "super": Late().method,
    "static": Model.static,
    "of class": Model.of_class,
    "static inside": Model().static_inside,
    "of class outside": Model.of_class_outside,
    "callable": Model(),
    "slots": Slots(),
    "made by __getattr__": Made().three,
    "singledispatch": dispatched,
    "singledispatchmethod": Model().by_type,
    "with": with_it,
    "decorated": decorated,
    "np.vectorize": np.vectorize(lambda v: v + 1),
    "twice": ag.function(lambda x: x + 1),
    "vmap": ag.vmap(lambda x: x**2),
}


@pytest.mark.parametrize("name", CALLABLES)
def test_does_what_it_does(name: str) -> None:
    plain = CALLABLES[name]
    function = ag.function(plain)
    for _ in range(2):
        np.testing.assert_array_equal(function(X), plain(X))


REFUSED = {
    "cache": (cached, "put the cache outside: functools.lru_cache above ag.function"),
    "ufunc": (np.sin, "give it a function that calls sin"),
    "partial of a ufunc": (functools.partial(np.add, 1), "give it a function that calls add"),
    "itemgetter": (operator.itemgetter(0), r"give it a function that calls operator.itemgetter\(0\)"),
    "class": (Model, "a method of the class, or a function that makes instances"),
    "number": (3, "3 is not a function"),
    "converted": (ag.convert(lambda x: x), "give it the function itself"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_says_what_to_do_instead(name: str) -> None:
    given, text = REFUSED[name]
    with pytest.raises(ag.SourceNotFound, match=text):
        ag.function(given)


def test_a_cache_outside() -> None:
    function = functools.lru_cache(ag.function(lambda k: k * 2.0))
    assert function(3.0) == function(3.0) == 6.0 and function.cache_info().hits == 1


@pytest.mark.parametrize(
    ("given", "slope"),
    [
        (functools.partial(lambda a, x: a * x, 2.0), 2.0),
        (Model().method, 3.0),
        (Model(), 3.0),
        (cached, 2.0),
        (abs, 1.0),
        (np.sin, 1.0),
        (float, 1.0),
    ],
)
def test_derivatives(given: Any, slope: float) -> None:
    x = 0.0 if given is np.sin else 3.0
    assert ag.grad(given)(x) == slope
    assert ag.value_and_grad(given)(x)[0] == given(x)


def test_a_cache_keeps_no_derivative_back() -> None:
    """It holds the value for an equal number, which depends on nothing: the derivative was 0."""
    cached.cache_clear()
    assert cached(3.0) == 6.0
    for f in (cached, lambda x: cached(x), lambda x: cached(k=x) * 1.0, functools.partial(cached)):
        assert ag.grad(f)(3.0) == 2.0
    assert ag.grad(lambda x: x * cached(3.0))(3.0) == 6.0
    assert cached.cache_info().currsize == 1 and type(cached(3.0)) is float
