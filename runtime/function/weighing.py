"""Which is quicker for the calls of a trace, what runs it or the Python function: both are tried, in turns.

In: a trace of which it is not certain that it is quicker.  Out: `Weighing`, which does its first calls and
says what they showed.  What always holds: each call is done once, by the one or the other, which do the same;
calls inside others and beside them are not timed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from runtime.errors import GuardError
from runtime.execute.traceback import register_hidden
from runtime.function.concrete import ConcreteFunction

register_hidden(__file__)
TURNS = (False, True, True, False, True, False, False, True)  # whether Python's; even for calls in any rhythm
SURE, LIKELY = 0.33, 0.8  # of Python's time: after two of its calls, and after three
LONG = 0.1  # seconds: a call of Python's that takes longer was not held up by chance
LEAST = 1.03  # times Python's: to leave the trace for less does not pay
CLEAR, ROUNDS = 1.25, 3  # times Python's: where it is less, and calls are quick, all have their turns thrice
QUICK = 1e-2  # seconds: what calls take that may be that much longer for no reason
# Seconds: a call of Python's may take a thousand times as long as native code, or a hundred times as long as
# code that is called in the midst of a plan again and again.
SHORT, SHORT_PARTS, LONGEST = 2e-3, 2e-5, 0.03
HELD_UP = 3  # calls of ours that seem too long for Python to be tried: one or two may have been held up
PATIENCE, AT_MOST = 20, 60  # calls until the types of all parts are known; and in all: some raise, others not


def verdict(ours: Sequence[float], python: Sequence[float]) -> bool | None:
    """Whether Python is quicker, by the seconds of calls; None if that is not known yet.

    A call takes a hundred times as long where the machine does something else in the midst of it, so what a
    single one shows is not believed.
    """
    if not ours or not python:
        return None
    mine, its = min(ours), min(python)
    if mine < SURE * its and (len(python) > 1 or its > LONG):
        return False
    if mine < LIKELY * its and len(python) > 2:
        return False
    rounds, left = divmod(len(ours) + len(python), len(TURNS))
    if left or (rounds < ROUNDS and its < QUICK and mine < CLEAR * its):
        return None
    return its * LEAST < mine


class Weighing:
    """The first calls of a trace.

    decided: called once, with whether the Python function is to do the calls.  told: why, in words.
    Calls that raise may end early: they count where none returns, and there is no native code that they might
    not get to.
    """

    def __init__(
        self, concrete: ConcreteFunction, python: Callable[..., Any], decided: Callable[[bool], object]
    ) -> None:
        self.concrete, self.python, self.decided = concrete, python, decided
        self.ours: list[float] = []
        self.its: list[float] = []
        self.raised: tuple[list[float], list[float]] = ([], [])  # the same of calls that raised
        self.told = ""
        self.calls, self.slow, self.warm, self.over = 0, 0, False, False
        self.timing = threading.Lock()  # held by the call that is timed

    def __call__(
        self, run: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], *values: Any
    ) -> Any:
        """A call, by the one whose turn it is; run: what runs the trace."""
        if self.over or not self.timing.acquire(blocking=False):
            return run(*values)
        try:
            if not self.ready():
                return run(*values)
            by_python = self.warm and TURNS[self.timed % len(TURNS)]
            parts, start = self.concrete.native_calls, time.perf_counter()
            try:
                result = self.python(*args, **kwargs) if by_python else run(*values)
            except GuardError:  # the trace does not serve this call, which is done again
                raise
            except Exception:
                self.note(by_python, time.perf_counter() - start, self.concrete.native_calls - parts, True)
                raise
            self.note(by_python, time.perf_counter() - start, self.concrete.native_calls - parts)
            return result
        finally:
            self.timing.release()

    def ready(self) -> bool:
        """Whether what runs the trace is what will run it from now on."""
        if self.concrete.pending:
            return False
        self.calls += 1
        if self.concrete.undecided and self.calls < PATIENCE:
            return False
        if not self.concrete.doubtful:
            self.decide(False)
        elif self.calls > AT_MOST:
            self.decide(False, f"{AT_MOST} calls did not show which is quicker, it or the Python function")
        return not self.over

    def note(self, by_python: bool, seconds: float, parts: int, raised: bool = False) -> None:
        """Take down what a call took, how many native parts it called and whether it raised; the first of
        ours makes ready."""
        if not self.warm:
            slow = parts and seconds > (LONGEST if seconds < SHORT_PARTS * parts else SHORT)
            self.warm, self.slow = not slow, self.slow + 1
            if slow and self.slow == HELD_UP:
                self.decide(False, f"its native code takes {seconds * 1e3:.3g} ms: Python was not tried")
            return
        ours, its = self.raised if raised else (self.ours, self.its)
        (its if by_python else ours).append(seconds)
        if raised and (self.ours or self.its or self.concrete.executor == "native"):
            return
        found = verdict(ours, its)
        if found is not None:
            which = "the Python function is quicker" if found else "it is quicker than the Python function"
            if not found and min(its) <= min(ours):
                which = "it is about as quick as the Python function"
            one, other = (its, ours) if found else (ours, its)
            self.decide(found, f"{which}: {min(one) * 1e3:.3g} ms against {min(other) * 1e3:.3g} ms")

    @property
    def timed(self) -> int:
        """How many calls were timed."""
        return sum(map(len, (self.ours, self.its, *self.raised)))

    def decide(self, by_python: bool, told: str = "") -> None:
        """Say who does the calls from now on.  told: what was found, in words."""
        if not self.over:
            self.over, self.told = True, told
            self.decided(by_python)
