"""Calls without machine code: one Python function with the parameters of the user's own.

In: a Python function and its traces.  Out: `made`: a function that runs the trace that serves a call, and
hands all others on.  What always holds: a call of it does what it would do if it were handed on.  It is
written out as code because every call pays for it: Python itself binds the arguments, by name or not, and
puts none of them into a tuple or dict.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any

from runtime.errors import GuardError
from runtime.execute.traceback import cleaned, register_hidden
from runtime.function.dispatch import Conditions, passed
from runtime.function.records import TraceRecord
from runtime.gate import GATE
from runtime.places import ENTRY_FILE, uncounted

register_hidden(__file__)  # the first call goes through here, and on as all others
MOST = 3  # traces that are tried; with more they are found by the classes of the arguments
_USED = frozenset({"type", "len", "getattr", "BaseException", "Exception"})  # by the text
_PLAIN = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.KEYWORD_ONLY,
)
_AGAIN = (
    "raise" if sys.version_info >= (3, 11) else "raise _ag_error"
)  # a bare one restores the old traceback


class _Missing:
    """Stands for an argument that was not given; prints as the name that the text has for it."""

    def __repr__(self) -> str:
        return "_ag_missing"


MISSING = _Missing()


def made(
    python: Callable[..., Any],
    signature: inspect.Signature,
    records: Sequence[TraceRecord],
    other: Callable[..., Any],
    failed: Callable[[BaseException], None],
) -> Callable[..., Any] | None:
    """The function; None where there can't be one.

    other: called for what no trace serves, with as many positional and named arguments as there are, and
        `MISSING` for those that were not given.  failed: called with what a trace raises.
    """
    params = tuple(signature.parameters.values())
    plain = all(p.kind in _PLAIN and p.name not in _USED and not p.name.startswith("_ag_") for p in params)
    if not plain or not 0 < len(records) <= MOST or any(map(_weighed, records)):
        return None
    names: dict[str, Any] = {
        "_ag_missing": MISSING,
        "_ag_gate": GATE,
        "_ag_other": other,
        "_ag_failed": failed,
        "_ag_clean": _clean,
    }
    lines = [f"def _ag_call{_parameters(params)}:", "    if not _ag_gate.shut_by:"]
    for number, record in enumerate(records):
        lines += _trial(record, number, params, names)
    handed = (f"{p.name}={p.name}" if p.kind is p.KEYWORD_ONLY else p.name for p in params)
    lines += [
        "    try:",
        f"        return _ag_other({', '.join(handed)})",
        "    except BaseException as _ag_error:",
        "        _ag_clean(_ag_error)",
        f"        {_AGAIN}",
    ]
    exec(compile("\n".join(lines) + "\n", ENTRY_FILE, "exec"), names)
    function: Callable[..., Any] = names.pop("_ag_call")
    function.__qualname__ = getattr(python, "__qualname__", "function")  # what is wrong with a call names it
    return function


def _weighed(record: TraceRecord) -> bool:
    """Whether it is not known yet who does the calls of a trace."""
    return record.weighing is not None and not record.by_python


def _clean(error: BaseException) -> None:
    """Leave the frames that stand between the caller and the user's code out of an error's traceback."""
    error.__traceback__ = cleaned(error)
    del error  # this frame is behind those of its traceback: no circle


def _parameters(params: Sequence[inspect.Parameter]) -> str:
    """The parameters as the user has them, but for what their defaults are."""
    bare = [p.replace(annotation=p.empty) for p in params]
    return str(inspect.Signature([p if p.default is p.empty else p.replace(default=MISSING) for p in bare]))


def _trial(
    record: TraceRecord, number: int, params: Sequence[inspect.Parameter], names: dict[str, Any]
) -> list[str]:
    """Lines that run a trace if it serves the call."""
    signature = record.signature
    given = (*[p.name for p in params[: len(signature.positional)]], *signature.keyword_names)
    conditions = Conditions(f"_ag_{number}_")
    conditions.texts += [
        f"{p.name} is{' not' if p.name in given else ''} _ag_missing"
        for p in params
        if p.default is not p.empty
    ]
    for argument, t in zip(given, signature.types, strict=True):
        conditions.add(t, argument)
    guards = record.relies_on
    for guard in guards:
        conditions.guard(guard, given)
    run = record.entry.__globals__
    names.update(conditions.names)
    names[f"_ag_{number}"] = run["python"] if record.by_python else run["run"]
    arguments = _written(params, given) if record.by_python else passed(given, signature.types)
    lines = [f"        _ag_fits = ({' and '.join(conditions.texts) or 'True'})"]
    if guards:  # looking may run the user's code; whatever it raises, the call will raise again
        lines = [
            "        try:",
            f"    {lines[0]}",
            "        except Exception:",
            "            _ag_fits = False",
        ]
    lines.append("        if _ag_fits:")
    if conditions.reads:  # what the call lets go must be gone then, not when it has returned
        lines.append(f"            {' = '.join(conditions.reads.values())} = None")
    return [
        *lines,
        "            try:",
        f"                return _ag_{number}({arguments})",
        "            except BaseException as _ag_error:",
        "                _ag_failed(_ag_error)",
        f"                {_AGAIN}",
    ]


def _written(params: Sequence[inspect.Parameter], given: Sequence[str]) -> str:
    """A call's arguments as text: by name from the first on that is left out."""
    texts: list[str] = []
    for k, p in enumerate(params):
        if p.name in given:
            named = p.kind is p.KEYWORD_ONLY or len(texts) < k
            texts.append(f"{p.name}={p.name}" if named else p.name)
    return ", ".join(texts)


class Quickly:
    """What a function with these traces is called by until its next call: that makes a function for it.

    function: gives it, as long as it is alive.  general: the class whose `__call__` does any call.
    """

    def __init__(
        self, function: Callable[[], Any], records: tuple[TraceRecord, ...], general: type[Any]
    ) -> None:
        self.function, self.records, self.general = function, records, general

    @uncounted
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """The call, by the function that is made for it."""
        function = self.function()
        call = made(function._python, function._binder.signature, self.records, self.other, self.failed)
        with function._lock:
            if getattr(function, "_quick", None) is self:  # there are no other traces meanwhile
                if call is None:
                    function.__class__ = self.general
                else:
                    function._quick = call
        try:
            if call is None:
                return self.general.__call__(function, *args, **kwargs)
            return call(*args, **kwargs)
        except BaseException as error:
            if sys.version_info < (3, 11):  # a bare raise would restore the old traceback
                raise error.with_traceback(cleaned(error))  # noqa: B904  it is the error that is being handled
            else:  # a bare raise adds no entry for this frame
                error.__traceback__ = cleaned(error)
                raise

    @uncounted
    def other(self, /, *values: Any, **named: Any) -> Any:
        """A call that none of the traces serves."""
        function = self.function()
        count = next((k for k, value in enumerate(values) if value is MISSING), len(values))
        named |= zip(function._binder.ordered[count:], values[count:], strict=True)
        given = {name: value for name, value in named.items() if value is not MISSING}
        return self.general.__call__(function, *values[:count], **given)

    def failed(self, error: BaseException) -> None:
        """What calls of any kind do with an error of a trace."""
        if isinstance(error, GuardError):
            self.function()._distrust(error.place)
        _clean(error)
        del error  # this frame is behind those of its traceback: no circle
