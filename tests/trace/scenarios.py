"""Run a scenario twice, plain and through ag.function, and compare all that it observes.

A scenario takes the decorator and a recorder `see`; it makes functions, calls them in sequence, changes
things in between, and shows results, arguments and state to the recorder.  Objects are compared by
structure and by which of them are one and the same.
"""

from __future__ import annotations

import contextlib
import io
import random
import types
from collections.abc import Callable
from typing import Any

import numpy as np

import autograph as ag


class See:
    """What a scenario observed, as comparable text-like tuples."""

    def __init__(self) -> None:
        self.log: list[Any] = []
        self._seen: dict[int, tuple[int, Any]] = {}

    def __call__(self, *values: Any) -> None:
        self.log += [self._snap(v) for v in values]

    def run(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call the function; observe its result or exception, and the arguments afterwards."""
        result = None
        try:
            result = function(*args, **kwargs)
            self(result)
        except Exception as error:
            self(error)
        self(args, kwargs)
        return result

    def _snap(self, v: Any) -> Any:
        name = type(v).__name__
        if isinstance(v, BaseException):
            kinds = [c.__name__ for c in type(v).__mro__ if c.__module__ == "builtins"]
            return "raised", kinds[0], str(v)
        if isinstance(v, _NAMED):
            return "named", v.__name__
        if isinstance(v, np.ndarray):
            return name, str(v.dtype), v.shape, repr(v.tolist()), self._one(v)
        if isinstance(v, tuple):
            return name, *map(self._snap, v)
        if isinstance(v, (list, dict, set)):
            again = id(v) in self._seen
            inner: Any = v.items() if isinstance(v, dict) else sorted(v) if isinstance(v, set) else v
            return name, self._one(v), [] if again else [self._snap(i) for i in inner]
        if hasattr(v, "__dict__"):
            again = id(v) in self._seen
            return name, self._one(v), [] if again else [(k, self._snap(i)) for k, i in vars(v).items()]
        return name, repr(v).partition(" at 0x")[0]

    def _one(self, v: Any) -> int:
        return self._seen.setdefault(id(v), (len(self._seen), v))[0]


_NAMED = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, ag.PolymorphicFunction)
Scenario = Callable[[Any, See], None]


def play(scenario: Scenario, function: Callable[..., Any]) -> list[Any]:
    """What the scenario observes, and prints, with this decorator."""
    see, out = See(), io.StringIO()
    random.seed(3)
    np.random.seed(3)
    with contextlib.redirect_stdout(out):
        scenario(function, see)
    return [*see.log, out.getvalue()]


def check(scenario: Scenario, *, plain: bool = False) -> list[ag.PolymorphicFunction[Any, Any]]:
    """The scenario observes the same either way; unless `plain`, no call was left to Python as a whole."""
    made: list[Any] = []

    def function(f: Any) -> Any:
        made.append(ag.function(f))
        return made[-1]

    got, want = play(scenario, function), play(scenario, lambda f: f)
    for a, b in zip(got, want, strict=True):
        assert a == b
    assert plain or not [record.plain for f in made for record in f.traces if record.plain]
    return made


def scenarios(names: dict[str, Any]) -> list[Scenario]:
    """The functions of a module that take (function, see)."""
    codes = [(f, getattr(f, "__code__", None)) for f in names.values()]
    return [f for f, code in codes if code is not None and code.co_varnames[:2] == ("function", "see")]
