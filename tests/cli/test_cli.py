"""The command line: what each command prints, what it says, with exit status 2, where it can't be done."""

from __future__ import annotations

import argparse
import ast
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import autograph as ag
from autograph.cli import main, parser

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COLLATZ = f"{ROOT}/examples/collatz.py:collatz"


def call(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Standard output of a command that must succeed."""
    status = main(list(words))
    out, err = capsys.readouterr()
    assert status == 0, err
    return out


def test_show_piped_is_plain_python(capsys: pytest.CaptureFixture[str]) -> None:
    out = call(capsys, "show", COLLATZ)
    assert "\x1b" not in out
    ast.parse(out)
    assert "while n != 1:" in out and "ag.while_loop(" in out and "ag.cond(" in out


@pytest.mark.parametrize(
    "name", ["fractions:Fraction.limit_denominator", "statistics:NormalDist.pdf", "colorsys:rgb_to_hls"]
)
def test_show_installed(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    ast.parse(call(capsys, "show", name))


def test_graph_formats(capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path) -> None:
    assert "while" in call(capsys, "graph", COLLATZ, "np.int64(27)")
    assert call(capsys, "graph", COLLATZ, "np.int64(27)", "--format", "dot").startswith("digraph")
    output = tmp_path / "graph.svg"
    assert call(capsys, "graph", COLLATZ, "np.int64(27)", "--format", "svg", "-o", str(output)) == ""
    assert ElementTree.fromstring(output.read_text()).tag.endswith("svg")


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="^0$"):
        main(["--version"])
    assert capsys.readouterr().out == f"autograph {ag.__version__}\n"


def test_plan_is_python(capsys: pytest.CaptureFixture[str]) -> None:
    plan = call(capsys, "plan", COLLATZ, "np.int64(27)")
    assert any(isinstance(node, ast.While) for node in ast.walk(ast.parse(plan)))


def test_run_literals_arrays_keywords_files(
    capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path
) -> None:
    assert call(capsys, "run", COLLATZ, "27") == "111\n"
    assert call(capsys, "run", COLLATZ, "n=27") == "111\n"
    assert (
        call(capsys, "run", "colorsys:rgb_to_hls", "0.2", "0.4", "0.4")
        == "(0.5, 0.30000000000000004, 0.3333333333333333)\n"
    )
    points = tmp_path / "x.npy"
    np.save(points, np.array([0.0, 2.0]))
    out = call(capsys, "run", "numpy.polynomial.polynomial:polyval", str(points), "[1.0, 2.0, 3.0]")
    assert out == "array([ 1., 17.])\n"
    assert call(capsys, "run", "statistics:median", "[3, 1, 2]", "--check") == "2\n"


def test_exported_file_needs_numpy_only(capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path) -> None:
    output = tmp_path / "plan.py"
    call(capsys, "export", COLLATZ, "np.int64(27)", "-o", str(output))
    code = (
        "import sys, plan, numpy\n"
        "assert not {'autograph', 'runtime', 'gast'} & set(sys.modules)\n"
        "print(plan.collatz(numpy.int64(27)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "111\n", done.stderr


def test_explain(capsys: pytest.CaptureFixture[str]) -> None:
    told = call(capsys, "explain", COLLATZ, "np.int64(27)")
    assert told.startswith("collatz(n: int64)\n  traced in ")
    assert re.search(r"^ +\d+  staged      while n != 1:  # a loop in the graph$", told, re.MULTILINE)
    assert "'collatz' is converted" in call(capsys, "explain", COLLATZ)


CHECKED = """\
import functools

def twice(f):
    @functools.wraps(f)
    def wrapper(x):
        return f(f(x))
    return wrapper

def plain(x):
    if x > 0:
        x = -x
    return x

@twice
def decorated(x):
    return x + 1

def looks(x):
    return locals()

def steps(n):
    yield n

class Model:
    @property
    def size(self):
        return 1

    @staticmethod
    def make():
        return Model()

def gone():
    pass

del gone
"""


def test_check(capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path) -> None:
    path = tmp_path / "checked_here.py"
    path.write_text(CHECKED)
    told = call(capsys, "check", str(path))
    assert told.replace(f"{path}", "FILE").splitlines() == [
        "FILE:3 twice: converted",
        "FILE:4 decorated: converted",
        "FILE:9 plain: converted",
        "FILE:14 decorated: converted",
        "FILE:18 looks: Python: locals() is not converted (checked_here.py:19)",
        "    19  python      return locals()  # locals() is not converted",
        "FILE:21 steps: Python: steps is a generator function, which can't be converted",
        "    21  python  steps  # steps is a generator function, which can't be converted",
        "FILE:25 Model.size: converted",
        "FILE:29 Model.make: converted",
        "FILE:33 gone: not found in the module: it was replaced or deleted",
        "8 functions: 6 converted, 2 left to Python",
    ]
    assert "    12  staged      return x\n" in call(capsys, "check", str(path), "--all")
    assert main(["check", str(path), "--strict"]) == 1
    path.write_text("def f(x):\n    return x\n")
    assert main(["check", str(path), "--strict"]) == 0


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["show", "missing.py:f"], "missing.py: no such file"),
        (["check", "missing.py"], "missing.py: no such file"),
        (["check", "colorsys"], "colorsys is not a Python file"),
        (["show", "no_such_module:f"], "no module named 'no_such_module'"),
        (["show", COLLATZ + "x"], "has no function 'collatzx'; did you mean 'collatz'?"),
        (["show", "collatz"], "does not name a function"),
        (["show", "math:pi"], "'pi' in math is a float, not a function"),
        (["show", "math:sin"], "math:sin has no Python source: it is a builtin function or method"),
        (["show", "fractions:Fraction"], "fractions:Fraction has no Python source: it is a"),
        (["run", COLLATZ, "twenty"], "'twenty' is not a value"),
        (["run", COLLATZ, "__import__('os').system('true')"], "is not a value"),
        (["run", COLLATZ, "missing.npy"], "missing.npy: no such file"),
        (["run", COLLATZ], "can't be called so: missing a required argument: 'n'"),
        (["graph", COLLATZ, "1", "2"], "can't be called so: too many positional arguments"),
        (["export", COLLATZ, "1", "-o", "/nowhere/plan.py"], "/nowhere/plan.py can't be written"),
    ],
)
def test_wrong_commands(words: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("autograph: ") and text in err and err.count("\n") == 1, err


def test_show_of_what_is_not_converted(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "collections:namedtuple"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert re.match(r"autograph: .* is not converted\n  at .*:\d+ in namedtuple\n(.*\n)+  fix: ", err)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("def f(:\n", "SyntaxError: invalid syntax (broken.py, line 1)"),
        ("\nraise RuntimeError('at\\nimport')\n", "RuntimeError: at (broken.py:2)"),
        ("import sys\nsys.exit(4)\n", "SystemExit: 4 (broken.py:2)"),
        ("import no_such_module\n", "ModuleNotFoundError: No module named 'no_such_module' (broken.py:1)"),
        ("x = '\0'\n", "SyntaxError: source code"),
    ],
)
@pytest.mark.parametrize("command", ["show", "check"])
def test_broken_files(
    command: str, source: str, text: str, capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path
) -> None:
    bad = tmp_path / "broken.py"
    bad.write_text(source)
    assert main([command, str(bad) if command == "check" else f"{bad}:f"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and f"{bad} can't be loaded: {text}" in err and err.count("\n") == 1


CALLABLES = """\
import functools
import itertools
import numpy as np
import autograph as ag

class Scale:
    by = 2

    def __call__(self, x):
        return x + 5

    @classmethod
    def made(cls, x):
        return x + cls.by

scale, numbers = Scale(), itertools.count()

def twice(x, times=2.0):
    return x * times

thrice = functools.partial(twice, times=3)

def scaled(x):
    return x * scale.by

def evaluated(x):
    y = x + 1
    return eval("y")

def counted(x):
    return x + next(numbers)

def itself(x):
    return itself(x)

def interrupted(x):
    raise KeyboardInterrupt

promised = ag.function(twice, input_signature=[ag.TensorSpec((2,), np.float64)] * 2)
"""


@pytest.fixture
def callables(tmp_path: pathlib.Path) -> str:
    (tmp_path / "callables_here.py").write_text(CALLABLES)
    return f"{tmp_path}/callables_here.py"


@pytest.mark.parametrize(
    ("name", "printed"),
    [("scale", "6"), ("scale.made", "3"), ("Scale.made", "3"), ("thrice", "3"), ("twice", "2.0")],
)
def test_all_callables_with_source_are_taken(
    name: str, printed: str, callables: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(capsys, "run", f"{callables}:{name}", "1") == printed + "\n"
    assert "return x" in call(capsys, "show", f"{callables}:{name}")


@pytest.mark.parametrize(
    ("command", "name", "args", "status", "texts"),
    [
        (
            "export",
            "scaled",
            ["np.ones(2)"],
            2,
            ["the global 'scale' can't be written", "x * scale.by", "fix: "],
        ),
        ("export", "itself", ["1"], 2, ["the function 'itself' can't be written", "fix: "]),
        (
            "export",
            "evaluated",
            ["1"],
            2,
            ["is left to plain Python", 'eval("y")', "why: eval() is not conv"],
        ),
        ("graph", "evaluated", ["1"], 2, ["is left to plain Python", 'eval("y")', "fix: "]),
        ("plan", "promised", ["1", "2"], 2, ["do not match the input_signature", "fix: "]),
        ("run", "promised", ["1", "2"], 2, ["do not match the input_signature", "fix: "]),
        ("run", "counted", ["1", "--check"], 1, ["does not do what plain Python does", "why: result is"]),
        ("run", "interrupted", ["1"], 130, ["interrupted"]),
    ],
)
def test_what_is_in_the_way_is_shown_and_no_traceback(
    command: str,
    name: str,
    args: list[str],
    status: int,
    texts: list[str],
    callables: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([command, f"{callables}:{name}", *args]) == status
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("autograph: ") and "Traceback" not in err
    assert all(text in err for text in texts), err


def test_arguments_that_can_not_be_had(
    capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pathlib.Path("text.npy").write_text("no numbers here")
    pathlib.Path("empty.npy").touch()
    pathlib.Path("folder.py").mkdir()
    np.save("objects.npy", np.array([{}], object), allow_pickle=True)
    for text, said in (
        ("text.npy", "it is no .npy file"),
        ("empty.npy", "it is no .npy file"),
        ("objects.npy", "it holds Python objects"),
        ("np.zeros(-1)", "np.zeros(-1) can't be made: negative dimensions are not allowed"),
        ("np.zeros(1000000000000000)", "np.zeros(1000000000000000) can't be made: "),
        ("", "'' is not a value"),
    ):
        assert main(["run", COLLATZ, text]) == 2
        err = capsys.readouterr().err
        assert said in err and err.count("\n") == 1, err
    assert main(["show", "folder.py:f"]) == 2 and "folder.py is a folder" in capsys.readouterr().err


def test_values_that_look_like_options(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="^2$"):
        main(["run", COLLATZ, "-np.inf"])
    assert "unrecognized arguments: -np.inf (put -- before a value that beg" in capsys.readouterr().err
    assert call(capsys, "run", COLLATZ, "--", "27") == "111\n"


@pytest.mark.skipif(not pathlib.Path("/dev/full").exists(), reason="no device that is always full")
def test_where_nothing_can_be_written() -> None:
    command = f"{sys.executable} -m autograph plan {COLLATZ} 27"
    for to, status, text in (("> /dev/full", 2, "standard output can't be written"), (">&-", 0, "")):
        done = subprocess.run(
            f"{command} {to}", shell=True, cwd=ROOT, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == status and text in done.stderr and "Traceback" not in done.stderr


def test_a_traceback_of_the_users_frames(capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path) -> None:
    file = tmp_path / "late.py"
    file.write_text("def late(x):\n    for v in x:\n        if v > 1: raise ValueError(v)\n    return x\n")
    for more in ([], ["--check"]):
        assert main(["run", f"{file}:late", "[1.0, 2.0]", *more]) == 1
        lines = capsys.readouterr().err.splitlines()
        assert [line.split(",")[0] for line in lines if line.startswith("  File")] == [f'  File "{file}"']
        assert lines[-1] == "ValueError: 2.0"


def test_function_that_raises(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "statistics:median", "[]"]) == 1
    assert "StatisticsError: no median for empty data" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command", ["show", "graph", "plan", "run", "export", "explain", "check", "demo", None]
)
def test_help_teaches(command: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["--help"] if command is None else [command, "--help"])
    assert left.value.code == 0
    out = capsys.readouterr().out
    assert "start here:" in out if command is None else "examples:" in out


def test_module_runs_as_a_process() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "autograph", "show", "missing.py:f"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2 and done.stderr == "autograph: missing.py: no such file\n"


def test_demo(capsys: pytest.CaptureFixture[str]) -> None:
    out = call(capsys, "demo")
    assert "DIFFERS" not in out and "Fraction.limit_denominator" in out


def test_the_page_names_every_command_and_option() -> None:
    page = (ROOT / "docs" / "cli.md").read_text()
    commands = next(a for a in parser()._actions if isinstance(a, argparse._SubParsersAction)).choices
    assert re.findall(r"^\| `autograph (\w+)", page, re.MULTILINE) == list(commands)
    rows = dict(re.findall(r"^\| `autograph (\w+)(.*)$", page, re.MULTILINE))
    for name, sub in commands.items():
        options = {option for action in sub._actions for option in action.option_strings} - {"-h", "--help"}
        assert {option for option in options if option.startswith("--")} == set(
            re.findall(r"--\w+", rows[name])
        ), name
