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
PATIENCE, AT_MOST = 20, 60  # calls until the types of all parts are known; and in all: some may raise


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

    decided: called once, with whether the Python function is to do the calls.
    """

    def __init__(
        self, concrete: ConcreteFunction, python: Callable[..., Any], decided: Callable[[bool], object]
    ) -> None:
        self.concrete, self.python, self.decided = concrete, python, decided
        self.ours: list[float] = []
        self.its: list[float] = []
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
            by_python = self.warm and TURNS[(len(self.ours) + len(self.its)) % len(TURNS)]
            parts, start = self.concrete.native_calls, time.perf_counter()
            result = self.python(*args, **kwargs) if by_python else run(*values)
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
        if not self.concrete.doubtful or self.calls > AT_MOST:
            self.decide(False)
        return not self.over

    def note(self, by_python: bool, seconds: float, parts: int) -> None:
        """Take down what a call took, and how many native parts it called; the first of ours makes ready."""
        if not self.warm:
            slow = parts and seconds > (LONGEST if seconds < SHORT_PARTS * parts else SHORT)
            self.warm, self.slow = not slow, self.slow + 1
            if slow and self.slow == HELD_UP:
                self.decide(False)
            return
        (self.its if by_python else self.ours).append(seconds)
        found = verdict(self.ours, self.its)
        if found is not None:
            self.decide(found)

    def decide(self, by_python: bool) -> None:
        """Say who does the calls from now on."""
        if not self.over:
            self.over = True
            self.decided(by_python)

    @property
    def told(self) -> str:
        """What was found, in words."""
        its, ours = min(self.its) * 1e3, min(self.ours) * 1e3
        return f"the Python function is quicker: {its:.3g} ms against {ours:.3g} ms"
