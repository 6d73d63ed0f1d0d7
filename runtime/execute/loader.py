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
from collections.abc import Callable, Mapping
from typing import Any

from runtime.config import settings
from runtime.errors import Span
from runtime.execute import traceback
from runtime.execute.plan import PlanSource
from runtime.execute.user_lines import (
    codes_in,
    compile_in_place,
    no_syntax_warnings,
    numbers,
    parsed,
    place,
    users_file,
)
from runtime.places import module_of

_NUMBER = itertools.count(1)
_COLUMNS = sys.version_info >= (3, 11)  # code objects keep columns, which tell places in one line apart


def load(plan: PlanSource, *, show_generated: bool | None = None, part: bool = False) -> Callable[..., Any]:
    """Compile the plan.

    show_generated: whether tracebacks keep the plan's own frames, and debuggers step through its text; None
        asks the settings.
    part: whether it does a piece of another plan, whose frame and its own are one frame of the user's.
    """
    inner = traceback.always if part else traceback.never
    shown = settings.show_generated_frames if show_generated is None else show_generated
    bound = dict(plan.constants)
    for called in plan.parts:
        bound[called.name] = _loaded(called, bound, shown, traceback.never)
    function = _loaded(plan, bound, shown, inner)

    @functools.wraps(function)
    def run(*args: Any) -> Any:
        try:
            return function(*args)
        except BaseException as error:
            if sys.version_info < (3, 11):  # a bare raise would restore the old traceback
                raise error.with_traceback(traceback.cleaned(error, show_generated=show_generated))  # noqa: B904  it is the error that is being handled
            else:
                error.__traceback__ = traceback.cleaned(error, show_generated=show_generated)
                raise

    vars(run)["plan"] = function
    return run


def bare(run: Callable[..., Any]) -> Callable[..., Any]:
    """What `load` gave without its care for tracebacks, for callers that take it themselves."""
    inside: Callable[..., Any] = getattr(run, "plan", run) if type(run) is types.FunctionType else run
    return inside


def _loaded(
    plan: PlanSource, bound: Mapping[str, Any], shown: bool, inner: traceback.Inner
) -> types.FunctionType:
    """One function.  bound: what its global names stand for."""
    file = None if shown or not _COLUMNS else users_file(plan)
    return _from_text(plan, bound, inner) if file is None else _in_place(plan, bound, file, inner)


def _from_text(plan: PlanSource, bound: Mapping[str, Any], inner: traceback.Inner) -> types.FunctionType:
    """The function, compiled under a name of its own; its text is where debuggers look for it."""
    filename = f"<plan {plan.name} #{next(_NUMBER)}>"
    with no_syntax_warnings():
        code = compile(parsed(plan), filename, "exec", dont_inherit=True)
    function = _function(plan, code, bound, f"plan.{plan.name}")
    linecache.cache[filename] = (len(plan.text), None, plan.text.splitlines(keepends=True), filename)
    traceback.register(filename, functools.partial(_place, plan), inner)
    weakref.finalize(function, _forget, filename).atexit = False
    return function


def _in_place(
    plan: PlanSource, bound: Mapping[str, Any], file: str, inner: traceback.Inner
) -> types.FunctionType:
    """The function, compiled as if it stood in the user's file; it warns where the user's module would."""
    code, positions = compile_in_place(plan, file)
    module = module_of(file)
    function = _function(plan, code, bound, f"plan.{plan.name}" if module is None else module.__name__)
    if module is not None:
        function.__globals__["__warningregistry__"] = vars(module).setdefault("__warningregistry__", {})
    codes = tuple(map(id, codes_in(function.__code__)))
    traceback.register_codes(codes, functools.partial(place, positions), inner)
    weakref.finalize(function, traceback.forget_codes, codes).atexit = False
    return function


def _function(
    plan: PlanSource, code: types.CodeType, bound: Mapping[str, Any], module: str
) -> types.FunctionType:
    namespace: dict[str, Any] = {"__name__": module, **bound, **numbers(plan)}
    exec(code, namespace)
    function: types.FunctionType = namespace.pop(plan.name)
    return function


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
