"""Every way in which a function's text can stand somewhere: it is found, and it does what Python does."""

# ruff: noqa: E501  a table of texts
from __future__ import annotations

import builtins
import code
import doctest
import importlib
import importlib.util
import linecache
import sys
import zipfile

import numpy as np
import pytest

import autograph as ag

# name -> (bytes of the module, expression that gives the function, arguments)
FILES: dict[str, tuple[bytes, str, tuple[object, ...]]] = {
    "plain": (b"def f(x):\n    if x > 1:\n        x = -x\n    return x\n", "f", (2,)),
    "one line": (b"def f(x): return x + 1\n", "f", (2,)),
    "two on a line": (b"def f(x): x += 1; return x\n", "f", (2,)),
    "no newline at the end": (b"def f(x):\n    return x + 1", "f", (2,)),
    "tabs": (b"def f(x):\n\tif x:\n\t\treturn x\n\treturn 3\n", "f", (2,)),
    "windows": (b"def f(x):\r\n    if x:\r\n        return '''a\r\nb'''\r\n    return 3\r\n", "f", (2,)),
    "old mac": (b"def f(x):\r    if x:\r        return 1\r    return 3\r", "f", (2,)),
    "form feed": (b"y = 1\n\x0c\ndef f(x):\n    return x + y\n", "f", (2,)),
    "byte order mark": (b"\xef\xbb\xbfdef f(x):\n    return '\xc3\xa9' * x\n", "f", (2,)),
    "latin-1": (b"# -*- coding: latin-1 -*-\ndef f(x):\n    return '\xe9\xfc' * x\n", "f", (2,)),
    "cp1252": (b"# vim: set fileencoding=cp1252 :\ndef f(x):\n    return '\x80' * x\n", "f", (2,)),
    "utf-8 names": ("def f(größe):\n    größe_2 = größe + 1\n    return größe_2\n".encode(), "f", (2,)),
    "wide columns": ("def f(x):\n    s = 'äöü€𝄞'; y = (lambda a: a + s)(x); return y\n".encode(), "f", ("b",)),
    "continuation": (b"def f(x, \\\n      y=2):\n    return x + \\\n        y\n", "f", (2,)),
    "strings at the margin": (b"def f(x):\n    s = '''\nat the margin\n'''\n    return s * x\n", "f", (2,)),
    "comments at the margin": (b"def f(x):\n    if x:\n# here\n        x = 2\n    # there\n    return x\n", "f", (2,)),
    "inside if": (b"if True:\n    def f(x):\n        return x + 1\nelse:\n    def f(x):\n        return x\n", "f", (2,)),
    "inside try": (b"try:\n    import nothing_here\nexcept ImportError:\n    def f(x):\n        return x + 1\n", "f", (2,)),
    "defined twice": (b"def f(x):\n    return 1\ndef f(x):\n    return 2\n", "f", (2,)),
    "decorated over lines": (
        b"def same(*a):\n    return lambda f: f\n@same(\n    1,\n)\n@same()\ndef f(x):\n    return x + 1\n", "f", (2,)),
    "factory": (b"def make(k):\n    def f(x):\n        return x + k\n    return f\na, b = make(1), make(2)\n", "b", (2,)),
    "factory of lambdas": (b"def make(k): return lambda x: x + k\nf = make(3)\n", "f", (2,)),
    "lambdas on one line": (b"fs = [lambda x: x + 1, lambda x: x + 2, lambda x, y=3: x + y]\n", "fs[1]", (2,)),
    "equal lambdas on one line": (b"fs = (lambda x: x + 1), (lambda x: x + 1)\n", "fs[1]", (2,)),
    "lambda in lambda": (b"f = (lambda x: lambda y: x - y)(5)\n", "f", (2,)),
    "lambda over lines": (b"f = (\n    lambda x:\n        x +\n        1)\n", "f", (2,)),
    "lambda as default": (b"def g(x, k=lambda v: v + 1): return k(x)\nf = g.__defaults__[0]\n", "f", (2,)),
    "lambda in call": (b"d = dict(a=lambda x: x + 1, b=lambda x: x + 2)\n", "d['b']", (2,)),
    "lambda in comprehension": (b"fs = [lambda x, k=k: x + k for k in range(3)]\n", "fs[2]", (2,)),
    "lambda in a decorator": (b"got = []\n@got.append\n@(lambda f: f)\ndef f(x): return x + 1\n", "got[0]", (2,)),
    "method": (b"class A:\n    def f(self, x):\n        return x + 1\n", "A().f", (2,)),
    "class method": (b"class A:\n    @classmethod\n    def f(cls, x):\n        return x + 1\n", "A.f", (2,)),
    "static method": (b"class A:\n    @staticmethod\n    def f(x):\n        return x + 1\n", "A.f", (2,)),
    "private": (b"class A:\n    def __f(self, x):\n        self.__y = x\n        return self.__y\n", "A()._A__f", (2,)),
    "local class": (b"def make():\n    class A:\n        def f(self, x): return x + 1\n    return A()\na = make()\n", "a.f", (2,)),
    "partial": (b"import functools\ndef f(x, y): return x - y\ng = functools.partial(f, y=1)\n", "g", (2,)),
    "callable": (b"class A:\n    def __call__(self, x): return x + 1\n", "A()", (2,)),
    "wrapped": (
        b"import functools\ndef twice(f):\n    @functools.wraps(f)\n    def inner(x): return f(f(x))\n    return inner\n"
        b"@twice\ndef f(x): return x + 1\n", "f", (2,)),
    "renamed": (b"def f(x): return x + 1\ng = f\nf.__name__ = f.__qualname__ = 'other'\n", "g", (2,)),
    "future annotations": (b"from __future__ import annotations\ndef f(x: Missing) -> Gone: return x + 1\n", "f", (2,)),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_in_a_file(name, tmp_path, monkeypatch):
    content, expression, args = FILES[name]
    (tmp_path / "source_form.py").write_bytes(content)
    spec = importlib.util.spec_from_file_location("source_form", tmp_path / "source_form.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function = eval(expression, vars(module))
    converted = ag.function(function)
    assert converted(*args) == function(*args)
    assert all(trace.plain is None for trace in converted.traces)


def define(text: str, filename: str):
    """What an interactive shell does with a cell: its text goes to linecache, then it is run."""
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    space = {"__name__": "__main__", "np": np}
    exec(builtins.compile(text, filename, "exec"), space)
    return space


@pytest.mark.parametrize(
    "filename", ["<ipython-input-7-0123456789ab>", "<python-input-3>", "/tmp/ipykernel_1/22.py"]
)
def test_in_a_cell(filename):
    text = "def helper(x):\n    return x * 2\n\ndef f(x):\n    if x > 1:\n        return helper(x)\n    return x\n"
    function = ag.function(define(text, filename)["f"])
    assert [function(np.float64(3.0)), function(np.float64(0.5))] == [6.0, 0.5]
    assert not any(trace.plain for trace in function.traces)


def test_a_cell_that_is_run_again_with_another_text():
    first = define("def f(x):\n    return x + 1\n", "<cell again>")["f"]
    converted = ag.function(first)
    assert converted(1.5) == 2.5
    second = ag.function(define("def f(x):\n    return x + 2\n", "<cell again>")["f"])
    assert second(1.5) == 3.5 and converted(1.5) == 2.5  # it was converted while its text was there


def test_the_interactive_interpreter_without_text():
    console = code.InteractiveInterpreter({})
    console.runcode(compile("def f(x): return x + 1", "<console>", "exec"))
    with pytest.raises(ag.SourceNotFound, match="a prompt that keeps no text"):
        ag.function(console.locals["f"])


def test_made_by_exec_without_text_it_can_be_called():
    space: dict[str, object] = {}
    exec("def made(x):\n    return x + 1", space)
    made = space["made"]

    def f(x):
        return made(x) * 2

    function = ag.function(f)
    assert function(np.float64(1.0)) == 4.0
    (trace,) = ag.explain(function).traces
    assert trace.plain is None
    assert any(
        "made is called as it is: the source of made was not found" in note.reason for note in trace.notes
    )
    assert "made is called as it is" in trace.statements[0].reason
    # without source it is no fallback
    assert ag.function(f, strict=True)(np.float64(1.0)) == 4.0


def test_in_a_zip_archive(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "things.zip", "w") as archive:
        archive.writestr("zipped_source.py", "def f(x):\n    return x + 1 if x > 0 else x\n")
    monkeypatch.syspath_prepend(str(tmp_path / "things.zip"))
    module = importlib.import_module("zipped_source")
    try:
        assert ag.function(module.f)(np.float64(2.0)) == 3.0
    finally:
        sys.modules.pop("zipped_source")


def test_in_a_doctest():
    """
    >>> def f(x):
    ...     return x + 1
    >>> import autograph as ag
    >>> ag.function(f)(2)
    3
    """
    found = doctest.DocTestFinder().find(test_in_a_doctest, globs={})
    assert doctest.DocTestRunner(verbose=False).run(found[0], out=lambda text: None).failed == 0


def test_compiled_without_its_text(tmp_path, monkeypatch):
    import py_compile

    path = tmp_path / "only_bytes.py"
    path.write_text("def f(x):\n    return x + 1\n")
    py_compile.compile(str(path), cfile=str(tmp_path / "only_bytes.pyc"))
    path.unlink()
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("only_bytes")
    with pytest.raises(ag.SourceNotFound, match="its file is gone"):
        ag.function(module.f)
    sys.modules.pop("only_bytes")


def test_a_file_edited_since_it_was_imported(tmp_path):
    path = tmp_path / "edited.py"
    path.write_text("def f(x):\n    return x + 1\n\ndef g(x):\n    return x + 5\n")
    spec = importlib.util.spec_from_file_location("edited", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    path.write_text("def f(x):\n    return x + 2  # longer\n\ndef g(x):\n    return x + 5\n")
    linecache.checkcache(str(path))
    with pytest.raises(ag.SourceNotFound, match="the file was changed after it was imported"):
        ag.function(module.f)
    assert ag.function(module.g)(1) == 6  # its text is still the same


@pytest.mark.skipif(sys.version_info < (3, 12), reason="new syntax")
def test_type_parameters(tmp_path):
    (tmp_path / "generic_source.py").write_text("def f[T](x: T) -> T:\n    return x + 1 if x else x\n")
    spec = importlib.util.spec_from_file_location("generic_source", tmp_path / "generic_source.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert ag.function(module.f)(np.float64(2.0)) == 3.0
