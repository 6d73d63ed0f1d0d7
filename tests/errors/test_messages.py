"""Every class of error: its whole text, as a user sees it, for a program that runs into it (messages.txt)."""

from __future__ import annotations

import pathlib
import re
import sys
from typing import Any

import pytest

from runtime import errors

HEADER = "import numpy as np\nimport autograph as ag\nimport runtime\n"
CASE = re.compile(r"^======== ([^\n]*)\n(.*?)^-------- (\w+)\n(.*?)(?=^========|\Z)", re.MULTILINE | re.DOTALL)
# name, program whose last statement raises, class, text
CASES = CASE.findall((pathlib.Path(__file__).parent / "messages.txt").read_text())


def run(program: str, folder: pathlib.Path) -> BaseException:
    """What the program raises."""
    path = folder / "user.py"
    path.write_text(HEADER + program)
    space: dict[str, Any] = {"__name__": "user", "__file__": str(path)}
    try:
        exec(compile(path.read_text(), str(path), "exec"), space)
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


def lines(text: str) -> list[str]:
    """The text; on Python 3.10, which knows no columns, without the carets."""
    found = text.strip().split("\n")
    return [line for line in found if sys.version_info >= (3, 11) or line.strip() != "^"]


@pytest.mark.parametrize(
    ("program", "cls", "text"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_the_whole_text(program: str, cls: str, text: str, tmp_path: pathlib.Path) -> None:
    error = run(program, tmp_path)
    assert type(error).__name__ == cls and isinstance(error, errors.AutographError)
    assert lines(str(error).replace(f"{tmp_path}/", "")) == lines(text)


def test_every_class_has_a_case() -> None:
    told = {case[2] for case in CASES}
    every = {
        cls.__name__
        for cls in vars(errors).values()
        if isinstance(cls, type) and issubclass(cls, errors.AutographError)
    }
    # TraceError is a base; the other two have tests of their own.
    assert every - told <= {"TraceError", "GradientError", "NewTraceError"}
