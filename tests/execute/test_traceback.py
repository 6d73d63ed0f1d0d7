"""Errors raised by plans: the user's lines in the traceback, the error itself untouched."""

from __future__ import annotations

import gc
import linecache
import pathlib
import subprocess
import sys
import textwrap
import traceback

import pytest

from runtime.config import settings
from runtime.errors import Span
from runtime.execute.loader import load
from runtime.execute.python_source import plan_source
from runtime.ir.graph import Graph
from tests.execute.build import OBJECT, WEAK_INT, Region

USER = """\
def outer(x):
    return inner(x)

def inner(x):
    a = x // 0
    return a + 1
"""


def graph_of(file: pathlib.Path) -> Graph:
    """What tracing `outer` gives: `inner` is inlined."""
    file.write_text(USER)
    caller = Span(str(file), 2, 11, "outer")
    r = Region(x=WEAK_INT)
    a = r.add("floordiv", r.params[0], 0, name="a", span=Span(str(file), 5, 8, "inner", caller))
    return r.graph(r.add("add", a, 1, span=Span(str(file), 6, 11, "inner", caller)), name="outer")


def frames(error: BaseException) -> list[tuple[str, int, str]]:
    return [
        (pathlib.Path(f.filename).name, f.lineno or 0, f.name)
        for f in traceback.extract_tb(error.__traceback__)
    ]


def test_user_frames_stand_for_generated_ones(tmp_path) -> None:
    run = load(plan_source(graph_of(tmp_path / "user.py")))
    with pytest.raises(ZeroDivisionError) as caught:
        run(1)
    found = [frame for frame in frames(caught.value) if frame[0] not in ("test_traceback.py", "loader.py")]
    assert found == [("user.py", 2, "outer"), ("user.py", 5, "inner")]
    assert caught.value.__context__ is None and caught.value.__cause__ is None
    shown = "".join(traceback.format_exception(caught.value))
    assert "a = x // 0" in shown and "plan" not in shown


def test_generated_frames_on_request(tmp_path) -> None:
    graph = graph_of(tmp_path / "user.py")
    for show in (True, False):
        with settings.override(show_generated_frames=show), pytest.raises(ZeroDivisionError) as caught:
            load(plan_source(graph))(1)
        assert ("<plan outer" in str(frames(caught.value))) is show
    with pytest.raises(ZeroDivisionError) as caught:
        load(plan_source(graph), show_generated=True)(1)
    assert "<plan outer" in str(frames(caught.value))


def test_the_error_itself_is_the_same_object() -> None:
    cause = KeyError("cause")
    error = ValueError("no", 1)

    def fail() -> None:
        raise error from cause

    r = Region(f=OBJECT)
    run = load(plan_source(r.graph(r.add("py.call", r.params[0], line=7), name="f")))
    with pytest.raises(ValueError) as caught:
        run(fail)
    assert caught.value is error and error.args == ("no", 1) and error.__cause__ is cause
    assert [name for _, _, name in frames(error)][-2:] == ["f", "fail"]


def test_context_of_an_error_in_an_except_clause_is_kept() -> None:
    r = Region(f=OBJECT)
    run = load(plan_source(r.graph(r.add("floordiv", 1, r.params[0], line=3), name="f")))
    with pytest.raises(ZeroDivisionError) as caught:
        try:
            raise KeyError("first")
        except KeyError:
            run(0)
    assert isinstance(caught.value.__context__, KeyError)


def test_plans_within_plans_show_both_users() -> None:
    inner = Region(x=WEAK_INT)
    run_inner = load(
        plan_source(
            inner.graph(inner.add("floordiv", 1, inner.params[0], span=Span("in.py", 4, 0, "g")), name="g")
        )
    )
    outer = Region(x=WEAK_INT)
    run_outer = load(
        plan_source(
            outer.graph(
                outer.add("py.call", run_inner, outer.params[0], span=Span("out.py", 9, 0, "f")), name="f"
            )
        )
    )
    with pytest.raises(ZeroDivisionError) as caught:
        run_outer(0)
    assert [f for f in frames(caught.value) if f[0].endswith(("in.py", "out.py"))] == [
        ("out.py", 9, "f"),
        ("in.py", 4, "g"),
    ]


def test_python_prints_the_lines_without_carets(tmp_path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        import pathlib, sys
        from tests.execute.test_traceback import graph_of
        from runtime.execute.loader import load
        from runtime.execute.python_source import plan_source
        load(plan_source(graph_of(pathlib.Path(sys.argv[1]))))(1)
        """)
    )
    root = pathlib.Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, script, tmp_path / "user.py"],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(root)},
        check=False,
    )
    assert (
        done.stderr.endswith(
            f'  File "{tmp_path}/user.py", line 2, in outer\n    return inner(x)\n'
            f'  File "{tmp_path}/user.py", line 5, in inner\n    a = x // 0\n'
            "ZeroDivisionError: integer division or modulo by zero\n"
        )
        or "division by zero" in done.stderr.splitlines()[-1]
    )


def test_a_debugger_finds_the_text_and_nothing_is_left_behind() -> None:
    r = Region(x=WEAK_INT)
    run = load(plan_source(r.graph(r.add("add", r.params[0], 1), name="gone")))
    filename = run.__wrapped__.__code__.co_filename
    assert linecache.getline(filename, 2) == "    return x + 1\n"
    linecache.checkcache()
    assert filename in linecache.cache
    del run
    gc.collect()
    assert filename not in linecache.cache
