"""Shadow mode: each call beside the plain Python function, and the first difference as an error.

In: the plain function, its converted twin, the arguments.  Out: what the twin gives (or the exception
it raises), if the plain function, run before it on copies of the arguments, gives the same; CheckError
with the path of the first difference if not.

Compared: kind and text of an exception, printed output, arguments after the call, the result; in them
classes, dtypes, shapes, bits, and which objects are one and the same.  Both runs draw the same random
numbers.  Danger: what the function changes besides its arguments (globals, files) is changed twice.
"""

from __future__ import annotations

import contextlib
import io
import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from autograph.compare import Differ, copies
from runtime.config import settings
from runtime.dataclass import dataclass
from runtime.errors import CheckError
from runtime.places import place


@dataclass
class Outcome:
    """What a run gave: a value or an exception, and what it printed."""

    value: Any = None
    error: Exception | None = None
    out: str = ""
    err: str = ""


def run_checked(
    python: Callable[..., Any], run: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """`run(*args, **kwargs)`, after `python` has shown on copies what it must do."""
    name = getattr(python, "__qualname__", repr(python))
    try:
        other_args, other_kwargs = copies((args, kwargs))
    except Exception as error:  # a user's __deepcopy__ may raise anything
        raise CheckError(
            f"{name!r} can't be checked",
            span=place(python),
            why=f"an argument can't be copied: {error}",
            fix="leave check=True out, or pass arguments that copy.deepcopy can copy",
        ) from error
    state = _random_state()
    expected = _outcome(python, other_args, other_kwargs)
    _restore(state)
    with settings.override(math="exact", compile="now"):  # else the last bits may differ, as documented
        got = _outcome(run, args, kwargs)
    sys.stdout.write(got.out)
    sys.stderr.write(got.err)
    difference = _difference(expected, got, (other_args, other_kwargs), (args, kwargs))
    if difference:
        fix = "please report this; ag.do_not_convert leaves a function to Python"
        what = f"{name!r} does not do what plain Python does"
        raise CheckError(what, span=place(python), why=difference, fix=fix) from got.error
    if got.error is not None:
        raise got.error
    return got.value


def _outcome(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Outcome:
    out, err = io.StringIO(), io.StringIO()
    result = Outcome()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            result.value = function(*args, **kwargs)
        except CheckError:
            raise
        except Exception as error:  # any exception of the user's function is an outcome
            result.error = error
    result.out, result.err = out.getvalue(), err.getvalue()
    return result


def _difference(expected: Outcome, got: Outcome, arguments: Any, own: Any) -> str:
    """The first difference in words, or nothing."""
    if expected.error is not None or got.error is not None:
        a, b = _error_text(expected.error), _error_text(got.error)
        if a != b:
            return f"plain Python {a}, the converted function {b}"
    for stream, a, b in (("output", expected.out, got.out), ("error output", expected.err, got.err)):
        if a != b:
            return f"the printed {stream} is {b!r}, plain Python's is {a!r}"
    differ = Differ()
    (args, kwargs), (own_args, own_kwargs) = arguments, own
    found = [differ.compare(f"argument {i}", a, own_args[i]) for i, a in enumerate(args)]
    found += [differ.compare(f"argument {key!r}", value, own_kwargs[key]) for key, value in kwargs.items()]
    if expected.error is None:
        found.append(differ.compare("result", expected.value, got.value))
        found.append(differ.shared_memory())
    return next(filter(None, found), "")


def _error_text(error: Exception | None) -> str:
    if error is None:
        return "returns"
    return f"raises {type(error).__module__}.{type(error).__qualname__}: {error}"


def _random_state() -> tuple[Any, Any]:
    return random.getstate(), np.random.get_state()


def _restore(state: tuple[Any, Any]) -> None:
    random.setstate(state[0])
    np.random.set_state(state[1])
