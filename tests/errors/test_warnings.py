"""Warnings name the file, line and module that they name in plain Python, whatever level they ask for."""

from __future__ import annotations

import linecache
import pathlib
import sys
import types
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings
from runtime.function.polymorphic import PolymorphicFunction

HELPER = """
import warnings

def loud(level=2):
    warnings.warn("loud", stacklevel=level)
    return 1

def three():
    warnings.warn("one")
    warnings.warn("two", stacklevel=2)
    warnings.warn("three", DeprecationWarning, stacklevel=3)
    return 1

class Special:
    @property
    def v(self): return loud()
    def __add__(self, other): return loud()
    def __len__(self): warnings.warn("len", stacklevel=2); return 2
    def __iter__(self): warnings.warn("iter", stacklevel=2); return iter([1])
    def __bool__(self): warnings.warn("bool", stacklevel=2); return True
    def __enter__(self): warnings.warn("enter", stacklevel=2)
    def __exit__(self, *a): warnings.warn("exit", stacklevel=2)
    def __getitem__(self, i): warnings.warn("item", stacklevel=2); return 1
    def __eq__(self, other): warnings.warn("eq", stacklevel=2); return True
    def __format__(self, spec): warnings.warn("format", stacklevel=2); return "q"
    def __call__(self, x): warnings.warn("call", stacklevel=2); return 1
    def method(self, x): return x + three()
"""
PROGRAM = """
import warnings
import numpy as np
from helper_of_warnings import Special, loud, three
special = Special()

def here(x):
    warnings.warn("here")
    warnings.warn("caller", stacklevel=2)
    return x

def beyond(x):
    warnings.warn("beyond", stacklevel=1000)
    return x

def levels(x): return x + three()

def arm(x):
    if x > 0:
        warnings.warn("arm")
        return x + three()
    return x

def loops(x):
    for i in range(3):
        if i < x:
            warnings.warn("for %d" % i, stacklevel=2)
    while x > 0:
        x -= 2
        warnings.warn("while")
    return x

def deep(x):
    def inner(n):
        if n > 3:
            warnings.warn("deep", stacklevel=3)
            return 0
        return inner(n + 1)
    return inner(0) + x

def class_body(x):
    class A:
        warnings.warn("class")
        warnings.warn("around the class", stacklevel=2)
        y = loud()
        z = loud(level=3)
    return A.y

def class_in_an_arm(x):
    if x > 0:
        class A:
            y = loud()
        return A.y
    return 0

def class_method(x):
    class A:
        def m(self):
            warnings.warn("method")
            return three()
    return A().m()

def functions(x):
    def g(v):
        warnings.warn("nested", stacklevel=2)
        return v + loud()
    f = lambda v: v + loud()
    return g(x) + f(x)

def comprehensions(x):
    return [loud() + i for i in range(2)], sum(loud() + i for i in range(2))

def generator(x):
    def g():
        yield loud()
        warnings.warn("generator")
        yield 2
    return sum(g())

def left_to_python(x):
    box = [0]
    z = [loud() for box[0] in range(2)]
    y = [v / np.zeros(1) for box[0] in
         range(2)
         for v in (np.ones(1), )]
    return z

def jump_in_finally(x):
    for i in range(2):
        try:
            loud()
        finally:
            warnings.warn("finally")
            break
    return x

def tries(x):
    try:
        a = loud()
        raise ValueError
    except ValueError:
        warnings.warn("except")
    finally:
        three()
    return a

def numbers(x):
    a = (np.ones(3)
         * x
         / np.zeros(3)
         + np.log(-np.ones(3)))
    with np.errstate(divide="warn"):
        b = np.ones(2) / (x - x)
    if a[0] > 0:
        b = b / 0.0
    return np.float64(x) / np.float64(0.0) + np.mean(np.zeros(0) * x)

def expressions(x):
    assert loud(), "x"
    a = loud() if x > 0 else 0
    b = (x > 0 and loud()) or 2
    if (y := loud()) and 0 < loud() < x:
        a += y
    def g(v=loud()): return v
    return f"{loud()} {a} {g()}"

def matches(x):
    match loud():
        case 1 if loud():
            warnings.warn("case")
            return x
    return 0

def decorated(x):
    def decorator(f):
        warnings.warn("decorator", stacklevel=2)
        return f
    @decorator
    def g(): return loud()
    return g()

def specials(x):
    a = special.v
    a = a + (special + 1)
    a += len(special)
    for i in special:
        a += i
    if special:
        a += 1
    with special:
        a += 1
    a += special[0]
    if special == 3:
        a += 1
    s = f"{special}"
    a += special(1)
    b = not special
    c = special and 1
    d = 1 if special else 2
    while special:
        break
    return a

def explicit(x):
    warnings.warn_explicit("explicit", UserWarning, "elsewhere.py", 12)
    return x

def wrong(x):
    try:
        warnings.warn("x", int)
    except TypeError as error:
        return str(error)

method = special.method
"""
NAMES = [line[4:].partition("(")[0] for line in PROGRAM.splitlines() if line.startswith("def ")] + ["method"]
FILTERS = ("always", "default", "once", "module", "error")


@pytest.fixture(params=["numpy", "native"])
def _executor(request: pytest.FixtureRequest) -> Iterator[None]:
    with settings.override(executor=request.param, compile="now"):
        yield


@pytest.fixture
def modules(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, types.ModuleType]:
    """The program and what it imports, as modules with files."""
    found = {}
    for name, text in (("helper_of_warnings", HELPER), ("program_of_warnings", PROGRAM)):
        file = tmp_path / f"{name}.py"
        file.write_text(text)
        module = types.ModuleType(name)
        module.__file__ = str(file)
        monkeypatch.setitem(sys.modules, name, module)
        exec(compile(text, str(file), "exec"), module.__dict__)
        found[name] = module
    return found


def heard(call: Any, x: Any, action: str, modules: dict[str, types.ModuleType]) -> Any:
    """What the call gives, and where each warning points."""
    for module in modules.values():
        module.__dict__.pop("__warningregistry__", None)
    globals().pop("__warningregistry__", None)
    with warnings.catch_warnings(record=True) as log:
        warnings.simplefilter(action)  # type: ignore[arg-type]
        warnings.filterwarnings("ignore", message="two", module="program")
        try:
            result = repr(call(x))
        except Exception as error:
            result = repr(error)
        return result, [(w.category, str(w.message), w.filename, w.lineno) for w in log]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="plans keep no columns before")
@pytest.mark.usefixtures("_executor")
@pytest.mark.parametrize("name", NAMES)
def test_as_in_python(name: str, modules: dict[str, types.ModuleType]) -> None:
    plain = getattr(modules["program_of_warnings"], name)
    staged = ag.function(plain)
    for action in FILTERS:
        for x in (5, 5, 7, 2.5):
            both = [heard(lambda x, f=f: f(x), x, action, modules) for f in (plain, staged)]
            assert both[0] == both[1], (action, x)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="plans keep no columns before")
def test_a_cell_of_a_notebook_belongs_to_its_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """Filters by module, and once per place: the file of a cell is not the module's `__file__`."""
    module = types.ModuleType("notebook_of_warnings")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    cell = "<cell 12 of warnings>"
    text = "def f(x):\n    import numpy as np\n    return np.log(x)\n"
    monkeypatch.setitem(linecache.cache, cell, (len(text), None, text.splitlines(True), cell))
    exec(compile(text, cell, "exec"), module.__dict__)
    staged = ag.function(module.f)
    with warnings.catch_warnings(record=True) as log:
        warnings.simplefilter("default")
        for _ in range(2):
            staged(np.zeros(3))
        warnings.filterwarnings("ignore", module="notebook_of_warnings")
        staged(np.zeros(2))
    assert len(log) == 1
    assert "__warningregistry__" in module.__dict__
    assert (log[0].filename, log[0].lineno) == (cell, 3)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="new in 3.12")
def test_skipped_files(modules: dict[str, types.ModuleType]) -> None:
    program, helper = modules["program_of_warnings"], modules["helper_of_warnings"]
    text = HELPER + "def skips():\n    warnings.warn('s', skip_file_prefixes=(__file__,))\n    return 1.0\n"
    pathlib.Path(helper.__file__ or "").write_text(text)
    exec(compile(text, helper.__file__ or "", "exec"), helper.__dict__)
    program.loud = helper.skips  # type: ignore[attr-defined]
    plain = program.expressions
    both = [heard(lambda x, f=f: f(x), 1.0, "always", modules) for f in (plain, ag.function(plain))]
    assert both[0] == both[1]


def test_frames_of_the_dispatch_show_their_text() -> None:
    """Python looks the lines of a frame up by the name of its file."""
    code = PolymorphicFunction._call_slowly.__code__
    assert "importlib" in code.co_filename and "_bootstrap" in code.co_filename  # no level to `warnings`
    lines = [
        linecache.getline(code.co_filename, n) for n in range(code.co_firstlineno, code.co_firstlineno + 3)
    ]
    assert any("def _call_slowly" in line for line in lines)


def root(x):
    return np.sqrt(x)


def roots(a, b, c):
    d = np.sqrt(b * b - 4 * a * c)
    total = 0.0
    for k in range(50):
        total += k / (1 + total)
    return (-b + d) / (2 * a), (-b - d) / (2 * a), total


def of_a_constant(x):
    zero = 0.0
    if x > 0:
        return np.log(zero) + x
    return np.float32(x) * np.float32(2)


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (root, (-1,)),
        (root, (-1.0,)),
        (roots, (1.0, 2.0, 3.0)),
        (of_a_constant, (np.float64(2.0),)),
        (of_a_constant, (2,)),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_what_numpy_warns_of_with_known_numbers_is_in_the_graph(f: Any, args: Any) -> None:
    """A number passed by value was a constant, NumPy's warning an error, and the function left to Python."""
    staged = ag.function(f)
    for _ in range(10):
        both = [heard(lambda args, g=g: g(*args), args, "always", {}) for g in (f, staged)]
        assert both[0] == both[1] and len(both[0][1]) == 1
    (trace,) = staged.traces
    assert trace.concrete is not None and not trace.concrete.notes
