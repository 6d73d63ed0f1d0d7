"""The operators in plain Python: what generated code does when no trace is active."""

from __future__ import annotations

import functools
import importlib
from typing import Any, Callable

from autograph.operators.matching import plain_match as match
from runtime.boxes import Cell, bound, unbound

__all__ = ["Cell", "bound", "match", "unbound"]

attribute = getattr


def _packed(carry: tuple) -> Any:
    return carry[0] if len(carry) == 1 else carry


def _carry(result: Any, count: int) -> tuple:
    if count == 0:
        assert result is None or result == (), result
        return ()
    if count == 1:
        return (result,)
    assert isinstance(result, tuple) and len(result) == count, result
    return result


def cond(pred: Any, true_fn: Callable, false_fn: Callable, operands: tuple = ()) -> Any:
    return true_fn(*operands) if pred else false_fn(*operands)


def while_loop(test_fn: Callable, body_fn: Callable, carry: tuple) -> Any:
    count = len(carry)
    while test_fn(*carry):
        carry = _carry(body_fn(*carry), count)
    return _packed(carry)


def for_loop(iterable: Any, body_fn: Callable, carry: tuple = (), test_fn: Callable | None = None) -> Any:
    count = len(carry)
    for item in iterable:
        carry = _carry(body_fn(item, *carry), count)
        if test_fn is not None and not test_fn(*carry):
            break
    return _packed(carry)


def and_(value: Any, *thunks: Callable) -> Any:
    for thunk in thunks:
        if not value:
            return value
        value = thunk()
    return value


def or_(value: Any, *thunks: Callable) -> Any:
    for thunk in thunks:
        if value:
            return value
        value = thunk()
    return value


all_true, any_true = and_, or_


def not_(value: Any) -> bool:
    return not value


def is_(a: Any, b: Any) -> bool:
    return a is b


def is_not(a: Any, b: Any) -> bool:
    return a is not b


def in_(a: Any, b: Any) -> bool:
    return a in b


def percent(text: Any, values: Any) -> Any:
    return text % values


def not_in(a: Any, b: Any) -> bool:
    return a not in b


def call(function: Callable, *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)


def call_with(function: Callable, args: tuple, *named: dict) -> Any:
    return functools.partial(function, *args)(**{k: v for part in named for k, v in part.items()})


def keywords(mapping: Any) -> Any:
    return mapping


def spread(value: Any, of_set: bool = False) -> tuple:
    return (*value,)


def item(x: Any, index: Any) -> Any:
    return x[index]


def part(x: Any, start: Any, stop: Any, step: Any) -> Any:
    return x[start:stop:step]


def settable(x: Any) -> Any:
    return x


def python(function: Callable, why: str = "") -> Any:
    return function()


def import_(name: str, whole: bool = False) -> Any:
    return importlib.import_module(name) if whole else __import__(name)


def import_from(module: str, name: str, level: int = 0) -> Any:
    return getattr(importlib.import_module("." * level + module, "tests.autograph"), name)


def list_(*items: Any) -> list:
    return list(items)


def tuple_(*items: Any) -> tuple:
    return items


def set_(*items: Any, of: set | None = None) -> set:
    if of is not None:
        return of
    return set(items)


def dict_(pairs: Any = (), **named: Any) -> dict:
    return dict(pairs, **named)


def dict_merge(*parts: Any) -> dict:
    return functools.reduce(lambda one, two: {**one, **two}, parts, {})


def _applied(function: Callable, item: Any) -> Any:
    count = function.__code__.co_argcount
    return function(item) if count == 1 else function(*unpack(item, count))


def generator(element_fn: Callable, iterable: Any, where: Callable | None = None, flat: bool = False) -> Any:
    return _generated(element_fn, iter(iterable), where, flat)


def _generated(element_fn: Callable, items: Any, where: Callable | None, flat: bool) -> Any:
    for item in items:
        if where is None or _applied(where, item):
            element = _applied(element_fn, item)
            if flat:
                yield from element
            else:
                yield element


def list_comp(*args: Any, **kwargs: Any) -> list:
    return list(generator(*args, **kwargs))


def set_comp(*args: Any, **kwargs: Any) -> set:
    return set(generator(*args, **kwargs))


def dict_comp(*args: Any, **kwargs: Any) -> dict:
    return dict(generator(*args, **kwargs))


def unpack(value: Any, before: int | None = None, after: int | None = None) -> tuple:
    if before is None:
        return (*value,)
    if after is None:
        names = ", ".join(f"x{number}" for number in range(before))
        scope = {"value": value}
        exec(f"[{names}] = value\nresult = ({names}{',' if before else ''})", scope)
        return scope["result"]
    names = [f"x{number}" for number in range(before)] + ["*rest"] + [f"y{number}" for number in range(after)]
    scope = {"value": value}
    exec(f"[{', '.join(names)}] = value\nresult = ({', '.join(names).replace('*', '')},)", scope)
    return scope["result"]


class _GlobalBox:
    def __init__(self, name: str, space: dict) -> None:
        object.__setattr__(self, "where", (name, space))

    @property
    def value(self) -> Any:
        name, space = self.where
        if name not in space:
            raise NameError(f"name {name!r} is not defined")
        return space[name]

    @value.setter
    def value(self, value: Any) -> None:
        self.where[1][self.where[0]] = value

    @value.deleter
    def value(self) -> None:
        del self.where[1][self.where[0]]

    def set(self, value: Any) -> Any:
        self.value = value
        return value


def global_cell(name: str) -> _GlobalBox:
    raise NotImplementedError("bound to a module's names by `tests.autograph.convert`")


def raise_(exception: Any, *cause: Any) -> None:
    if cause:
        raise exception from cause[0]
    raise exception
