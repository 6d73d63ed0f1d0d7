"""From a plan's text to a callable.

In: `PlanSource`.  Out: a function of the graph's parameters.  What always holds: the text is compiled once
and can be stepped through by a debugger; what it raises carries a traceback into the user's code; when the
function is gone, so is all that was registered for it.
"""

from __future__ import annotations

import functools
import itertools
import linecache
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any

from runtime.errors import Span
from runtime.execute import traceback
from runtime.execute.plan import PlanSource

_NUMBER = itertools.count(1)


def load(plan: PlanSource, *, show_generated: bool | None = None) -> Callable[..., Any]:
    """Compile the plan.

    show_generated: whether tracebacks keep the plan's own frames; None asks the settings.
    """
    filename = f"<plan {plan.name} #{next(_NUMBER)}>"
    namespace: dict[str, Any] = {"__name__": f"plan.{plan.name}", **plan.constants}
    exec(compile(plan.text, filename, "exec"), namespace)
    function: types.FunctionType = namespace.pop(plan.name)
    linecache.cache[filename] = (len(plan.text), None, plan.text.splitlines(keepends=True), filename)
    traceback.register(filename, functools.partial(_place, plan))

    @functools.wraps(function)
    def run(*args: Any) -> Any:
        try:
            return function(*args)
        except BaseException as error:
            found = traceback.cleaned(error, show_generated=show_generated)
            if sys.version_info < (3, 11):  # a bare raise would restore the old traceback
                raise error.with_traceback(found)  # noqa: B904  it is the error that is being handled
            else:
                error.__traceback__ = found
                raise

    weakref.finalize(function, _forget, filename)
    return run


def _forget(filename: str) -> None:
    linecache.cache.pop(filename, None)
    traceback.forget(filename)


def _place(plan: PlanSource, code: types.CodeType, instruction: int, line: int) -> Span | None:
    """The user's place of an instruction of the plan."""
    if not hasattr(code, "co_positions") or instruction < 0:
        return plan.span(line)
    start_line, end_line, start, end = list(code.co_positions())[instruction // 2]
    if start_line != end_line or start is None or end is None:
        return plan.span(line)
    text = plan.text.splitlines()[line - 1].encode()
    return plan.span(line, len(text[:start].decode()), len(text[:end].decode()))
