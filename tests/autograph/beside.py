"""A function beside its converted form and beside its graph: what all three give, print and raise."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from typing import Any

import numpy as np

import autograph as ag


def outcome(function: Callable[..., Any], args: tuple[Any, ...]) -> tuple[str, str]:
    """What a call gave or raised, and what it printed."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            given = repr(function(*args))
        except Exception as error:  # whatever the program raises is its outcome
            given = f"{type(error).__name__}: {error}"
    return given, out.getvalue()


def beside(function: Callable[..., Any]) -> None:
    """Plain Python, the converted function and the traced one do the same, for numbers of both kinds."""
    run = ag.function(function)
    for args in ((3,), (np.int64(3),), (1,)):
        expected = outcome(function, args)
        try:
            converted = ag.convert(function)
        except ag.ConversionRefused:
            converted = function  # Python runs it: nothing can differ
        assert outcome(converted, args) == expected, "converted"
        for number in range(2):
            assert outcome(run, args) == expected, f"traced, call {number}"
