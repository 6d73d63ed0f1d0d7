"""Plans stand in the user's file: warnings, debuggers and tracers see the user's lines."""

from __future__ import annotations

import gc
import io
import pdb
import sys
import traceback as tb
import warnings

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings
from runtime.execute import traceback

pytestmark = pytest.mark.skipif(sys.version_info < (3, 11), reason="code objects keep no columns")


def helper(x):
    return np.log(x) + 1


def user(x):
    y = x - 5
    z = helper(y)
    if z > 0:
        z = z * 2
    else:
        z = z / 2
    return z


def two_lines(x):
    y = x / 0.0
    z = x[1] / 0
    return y, z


def warned(function, x):
    """What a call warns of: the file, the line and the text."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function(x)
    return [(w.filename, w.lineno, str(w.message)) for w in caught]


FIRST = user.__code__.co_firstlineno
FUNCTION = ag.function(user)
FUNCTION(np.float64(6.0))


def test_warnings_name_the_line_and_the_module() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        FUNCTION(np.float64(1.0))
    assert [(w.filename, w.lineno) for w in caught] == [(__file__, helper.__code__.co_firstlineno + 1)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", module=__name__.replace(".", r"\."))
        FUNCTION(np.float64(1.0))


def test_warnings_of_a_plan_whose_only_line_is_of_several_lines() -> None:
    function = ag.function(two_lines)
    with settings.override(executor="numpy"):
        assert warned(function, np.arange(3.0)) == warned(two_lines, np.arange(3.0))
    assert function.plan_source.count("\n") == 2, function.plan_source


def test_once_per_line_is_once_for_plain_and_converted() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        user(np.float64(1.0))
        FUNCTION(np.float64(1.0))
        FUNCTION(np.float64(1.0))
    assert len(caught) == 1


def test_a_tracer_sees_the_users_lines() -> None:
    seen = []

    def watch(frame, event, arg):
        if frame.f_code.co_filename == __file__ and frame.f_code.co_name == "user" and event == "line":
            seen.append(frame.f_lineno - FIRST)
        return watch

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        FUNCTION(np.float64(7.0))
    finally:
        sys.settrace(before)
    assert {1, 3, 4} <= set(seen) and 5 not in seen  # a return of a variable is no step of its own


def test_a_breakpoint_in_the_users_file() -> None:
    out = io.StringIO()
    commands = io.StringIO(f"b {__file__}:{FIRST + 4}\nc\np x\nq\n")
    debugger = pdb.Pdb(stdin=commands, stdout=out, nosigint=True)
    debugger.use_rawinput = False
    before = sys.gettrace()
    try:
        debugger.runcall(FUNCTION, np.float64(7.0))
    except pdb.bdb.BdbQuit:
        pass
    finally:
        sys.settrace(before)
    assert "z = z * 2" in out.getvalue()
    assert repr(np.float64(7.0)) in out.getvalue()


def test_the_plan_itself_on_request() -> None:
    with settings.override(show_generated_frames=True):
        function = ag.function(user)
        function(np.float64(6.0))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            function(np.float64(1.0))
    assert caught[0].filename.startswith("<plan user")


def test_nothing_is_left_behind() -> None:
    gc.collect()
    before = len(traceback._BY_CODE)
    function = ag.function(lambda x: x + 1)
    function(np.ones(2))
    assert len(traceback._BY_CODE) > before
    del function
    gc.collect()
    assert len(traceback._BY_CODE) == before


def ratio(x):
    y = x + 1
    return x / y


def strict_parts(x, i):
    a = np.log(x + 9)
    with np.errstate(all="raise"):
        b = ratio(ratio(x))
        c = b / (x + 2)
    return a, c[i]


def frames_of(function, *args):
    """The lines in this file that an error comes from."""
    with pytest.raises((FloatingPointError, IndexError)) as caught:
        function(*args)
    entries = tb.extract_tb(caught.value.__traceback__)
    return [(entry.name, entry.lineno) for entry in entries if entry.filename == __file__][1:]


def test_a_part_that_is_native_has_no_frame_of_its_own() -> None:
    x = np.arange(3.0)
    for executor in ("native", "numpy"):
        with settings.override(executor=executor, compile="now"):
            function = ag.function(strict_parts)
            function(x, 1)
            for args in ((x - 1, 1), (x - 2, 1), (x, 7), (x - 0.5, 1)):
                assert frames_of(function, *args) == frames_of(strict_parts, *args)
