"""From functions to their sources: every way to write a function, and the refusals."""

from __future__ import annotations

import ast
import functools
import importlib.util
import linecache
import os
import pathlib
import sys
import textwrap
import types

import gast
import pytest

from autograph.api import convert, function
from autograph.codes import same_code
from autograph.source import Source, source_of
from autograph.unparse import unparse
from runtime.errors import ConversionRefused, GeneratorError, SourceNotFound


def load(tmp_path: pathlib.Path, text: str, name: str = "sample") -> types.ModuleType:
    """A fresh module with this text."""
    path = tmp_path / f"{name}.py"
    path.write_text(textwrap.dedent(text))
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def body(source: Source) -> str:
    """The printed tree on one line."""
    return " ".join(unparse(source.node).split())


def twice(function):
    @functools.wraps(function)
    def wrapper(x):
        return function(function(x))

    return wrapper


@twice
def decorated(x):
    """Add one."""
    return x + 1


class Sample:
    def __private(self, __x):
        self.__y = __x
        return self.__call(__x=1, other=self.__z__)

    def text(self):
        message = """
at the margin
"""
        return message

    def parent(self):
        return super().text()

    plain = __private


def test_a_function_and_where_it_stands():
    source = source_of(test_a_function_and_where_it_stands)
    assert isinstance(source.node, gast.FunctionDef)
    assert source.line == source.node.lineno == test_a_function_and_where_it_stands.__code__.co_firstlineno
    assert source.file == __file__
    assert source.text.startswith("def test_a_function_and_where_it_stands():\n    source")
    assert source.definition.body[0].lineno == source.line + 1


def test_a_wrapper_is_what_is_converted_not_what_it_wraps():
    assert body(source_of(decorated)).startswith("def wrapper(x): return function(function(x))")


def test_decorators_are_left_out_but_count_for_the_first_line():
    source = source_of(decorated.__wrapped__)
    assert source.text.startswith("@twice\ndef decorated")
    assert source.node.decorator_list == []
    assert source.node.lineno == source.line + 1
    assert body(source) == 'def decorated(x): """Add one.""" return x + 1'


def test_methods_and_their_strings_keep_their_margin():
    source = source_of(Sample.text)
    assert source.node.body[0].value.value == "\nat the margin\n"
    assert source.text.startswith("def text(self):\n    message")
    assert source.node.col_offset == 4


def test_private_names_stand_as_the_class_sees_them():
    assert body(source_of(Sample.plain)) == (
        "def __private(self, _Sample__x): self._Sample__y = _Sample__x "
        "return self._Sample__call(__x=1, other=self.__z__)"
    )
    assert body(source_of(Sample.parent)) == "def parent(self): return super().text()"


def test_lambdas_on_one_line_are_told_apart():
    y = 3
    pair = (lambda x: x + 1), (lambda x: x + y), (lambda x: lambda z: x * z)
    assert [body(source_of(one)) for one in pair] == [
        "lambda x: x + 1",
        "lambda x: x + y",
        "lambda x: lambda z: x * z",
    ]
    assert body(source_of(pair[2](1))) == "lambda z: x * z"
    assert source_of(pair[1]).text == "lambda x: x + y"


def test_nested_functions_keep_what_they_share():
    def outer(a):
        def recursive(n):
            return a if n == 0 else recursive(n - 1)

        return recursive

    assert body(source_of(outer(1))) == "def recursive(n): return a if n == 0 else recursive(n - 1)"


def test_made_by_exec_with_text_in_linecache():
    text = "def f(x):\n    return x * 2\n"
    linecache.cache["<made here>"] = (len(text), None, text.splitlines(True), "<made here>")
    space: dict[str, object] = {}
    exec(compile(text, "<made here>", "exec"), space)
    assert body(source_of(space["f"])) == "def f(x): return x * 2"


@pytest.mark.parametrize("kept", [False, True])
def test_made_by_exec_without_text(kept, monkeypatch):
    monkeypatch.delitem(linecache.cache, "<string>", raising=False)
    if kept:  # by Python 3.13 of `python -c`, which processes of tests are started with
        monkeypatch.setitem(linecache.cache, "<string>", (7, None, ["x = 1\n"], "<string>"))
    space: dict[str, object] = {}
    exec("def f(x):\n    return x", space)
    with pytest.raises(SourceNotFound) as caught:
        source_of(space["f"])
    told = [line for line in str(caught.value).splitlines() if not line.startswith("    ")]
    assert "\n".join(told) == (
        "the source of f was not found\n"
        "  at <string>:1 in f\n"
        "  why: it came by exec, python -c, a pipe or a prompt that keeps no text, or its file is gone\n"
        "  fix: define the function in a file, or enter its text in linecache.cache under the file name"
        " that it was compiled with"
    )


@pytest.mark.parametrize("thing", [len, functools.partial(len), Sample, 3, Sample().text])
def test_what_is_no_python_function(thing):
    with pytest.raises(SourceNotFound, match="has no Python source to convert"):
        source_of(thing)


def test_generators_and_coroutines():
    def numbers():
        yield 1

    async def later():
        return 1

    with pytest.raises(GeneratorError, match="numbers is a generator function"):
        source_of(numbers)
    with pytest.raises(GeneratorError, match="later is a coroutine function"):
        source_of(later)


def test_an_edited_file_is_noticed_and_a_reloaded_one_is_read_anew(tmp_path):
    module = load(tmp_path, "def f(x):\n    return x + 1\n")
    assert body(source_of(module.f)) == "def f(x): return x + 1"
    old = module.f
    path = pathlib.Path(module.__file__)
    path.write_text("def f(x):\n    return x + 234\n")
    os.utime(path, (1, 1))
    new = load(tmp_path, "def f(x):\n    return x + 234\n").f
    assert body(source_of(new)) == "def f(x): return x + 234"
    with pytest.raises(SourceNotFound, match="the file was changed after it was imported"):
        source_of(old)


def test_lines_end_where_python_ends_them(tmp_path):
    module = load(tmp_path, "import sys\n\x0c\n\ndef f(x):\n    t = 'a\x1cb\x0c\u2028c'\n    return x, t\n")
    assert source_of(module.f).text == "def f(x):\n    t = 'a\x1cb\x0c\u2028c'\n    return x, t\n"
    assert convert(module.f)(1) == module.f(1)


def test_future_imports_and_module_imports_do_not_confuse(tmp_path):
    module = load(
        tmp_path,
        """\
        from __future__ import annotations
        import numpy as np
        import os.path

        def f(x: int, y: str = os.path.join("a", "b")) -> "float":
            def g(z: Missing) -> None:
                return np.add(z, 1)
            return g(np.sin(x)), os.path.exists(y)
        """,
    )
    assert "def g(z: Missing) -> None: return np.add(z, 1)" in body(source_of(module.f))


@pytest.mark.skipif(sys.version_info < (3, 12), reason="new syntax")
def test_type_parameters_are_free_variables(tmp_path):
    module = load(tmp_path, "def f[T](x: T) -> T:\n    return T, x\n")
    source = source_of(module.f)
    assert source.node.type_params == []
    assert body(source) == "def f(x: T) -> T: return T, x"


def test_the_library_is_found_again():
    """Every function of some large modules: positions, closures, classes, decorators as people write them."""
    import argparse
    import configparser
    import fractions
    import inspect
    import statistics

    for module in (argparse, ast, configparser, fractions, inspect, statistics, textwrap):
        for owner in (module, *(value for value in vars(module).values() if isinstance(value, type))):
            for member in vars(owner).values():
                if isinstance(member, types.FunctionType) and member.__module__ == module.__name__:
                    try:
                        source = source_of(member)
                    except GeneratorError:
                        continue
                    except SourceNotFound:
                        # Methods that dataclasses and enums make have no text at all.
                        assert not os.path.exists(member.__code__.co_filename)
                        continue
                    assert source.node.name == member.__code__.co_name


def test_same_code_tells_constants_apart():
    assert not same_code((lambda: 0.0).__code__, (lambda: -0.0).__code__)
    assert not same_code((lambda: 1).__code__, (lambda: True).__code__)
    assert same_code((lambda: [1, "a"]).__code__, (lambda: [1, "a"]).__code__)


@pytest.mark.parametrize("depth", [400, 1500])
def test_what_is_nested_too_deeply_runs_as_it_is(tmp_path, depth):
    steps = "".join(f"    elif x == {k}:\n        y = {-k}\n" for k in range(1, depth))
    module = load(
        tmp_path,
        f"def f(x):\n    if x == 0:\n        y = 1\n{steps}    else:\n        y = None\n    return y\n",
    )
    with pytest.raises(ConversionRefused, match="nested too deeply"):
        convert(module.f)
    converted = function(module.f)
    assert [converted(k) for k in (0, 7, depth)] == [1, -7, None]
