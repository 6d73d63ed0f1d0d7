"""Names of the module and of Python that change, go or come between calls: as in plain Python."""

from __future__ import annotations

import builtins
import sys
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings
from runtime.function import layout

X = np.arange(3.0)
PROGRAM = """
K = 2
T = (1, 2.0)
ZERO = 0.0
d = {'a': 1}
library = types.ModuleType('library')
library.q = lambda x: x + 1
def helper(x): return x * K
def uses_helper(x): return helper(x) + len(T)
def item(x): return x * T[0] + T[1]
def sign(x): return x + np.copysign(1.0, ZERO)
def builtin(x): return abs(x)
def module(x): return library.q(x)
def of_dict(x): return x * d['a']
def default(x, n=2): return x * n
def make():
    v = 3
    def inner(x): return x * v
    def put(n):
        nonlocal v
        v = n
    def drop():
        nonlocal v
        del v
    return inner, put, drop
inner, put, drop = make()
"""
FUNCTIONS = "uses_helper item sign builtin module of_dict default inner".split()
STEPS = """
K = 3
K = 3.0
K = True
del K
K = 2
T = (1, 2)
T = [1, 2, 3]
T.append(4)
ZERO = -0.0
ZERO = 0.0
abs = lambda x: 'mine'
del abs
len = lambda x: 50
del len
kept = builtins.abs; builtins.abs = lambda x: x - 5
builtins.abs = kept
put(4)
put(2.5)
drop()
put(7)
drop()
put(np.ones(3))
inner.__closure__[0].cell_contents = 8
helper = lambda x: x
del helper
helper = lambda x: x + 1
helper.__code__ = (lambda x: x + 2).__code__
default.__defaults__ = (9,)
default.__defaults__ = None
library.q = lambda x: x * 7
del library.q
library.q = np.tanh
library = types.SimpleNamespace(q=lambda x: x + 3)
d['a'] = 2.0
del d['a']
d = {'a': 5}
"""


@pytest.fixture(params=["auto", "numpy"], autouse=True)
def _executor(request: pytest.FixtureRequest) -> Iterator[None]:
    with settings.override(executor=request.param, compile="now"):
        yield


def seen(function: Callable[..., Any]) -> tuple[str, str]:
    try:
        result = function(X)
    except Exception as error:
        return type(error).__name__, str(error)
    return type(result).__name__, repr(result)


def test_each_change_is_noticed(tmp_path: Any) -> None:
    file = tmp_path / "names_outside.py"
    file.write_text(PROGRAM)
    space: dict[str, Any] = {"np": np, "types": types, "builtins": builtins, "__name__": "names_outside"}
    exec(compile(PROGRAM, str(file), "exec"), space)
    pairs = [(name, space[name], ag.function(space[name])) for name in FUNCTIONS]
    for step in ["", *STEPS.strip().splitlines()]:
        exec(step, space)
        for _ in range(3):
            for name, plain, staged in pairs:
                assert seen(staged) == seen(plain), (step, name)


def test_a_print_of_ones_own(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    @ag.function
    def says(x: Any) -> Any:
        print("says", x)
        return x

    says(1)
    said: list[Any] = []
    monkeypatch.setattr(builtins, "print", lambda *args: said.append(args))
    says(1)
    assert said == [("says", 1)]
    monkeypatch.undo()
    monkeypatch.setattr(sys.modules[__name__], "print", lambda *args: said.append("here"), raising=False)
    says(1)
    assert said[1:] == ["here"]
    monkeypatch.undo()
    says(1)
    assert capsys.readouterr().out == "says 1\nsays 1\n"


def test_many_arguments_on_a_small_stack() -> None:
    @ag.function
    def one(x: Any) -> Any:
        return x + 1

    one(X)
    found: list[str] = []

    def call() -> None:
        try:
            one(*[1] * 100_000)
        except TypeError as error:
            found.append(str(error))

    before = threading.stack_size(300_000)
    try:
        thread = threading.Thread(target=call)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert len(found) == 1 and "100000 were given" in found[0]


def test_a_class_has_one_twin() -> None:
    class Mine(layout.Slots):
        __slots__ = ("__dict__", "__weakref__", "_chain")

    made: list[Any] = []
    start = threading.Barrier(8)

    def ask() -> None:
        start.wait()
        made.append(layout.twin(Mine))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(made)) == 1
