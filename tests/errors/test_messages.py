"""Every class of error: its whole text, as a user sees it, for a program that runs into it (messages.txt).

`pytest tests/errors --update-snapshots` writes the texts anew; read the difference.
"""

from __future__ import annotations

import pathlib
import re
import sys
from typing import Any

import pytest

from runtime import errors
from runtime.config import settings

HEADER = "import numpy as np\nimport autograph as ag\nimport runtime\n"
CASE = re.compile(r"^=+ ([^\n]*)\n(.*?)^-------- (\w+)\n(.*?)(?=^========|\Z)", re.MULTILINE | re.DOTALL)
PAGE = pathlib.Path(__file__).parent / "messages.txt"
DOCUMENT = PAGE.parent.parent.parent / "docs" / "errors.md"
# name, program whose last statement raises, class, text
CASES = CASE.findall(PAGE.read_text())


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


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_the_whole_text(
    case: tuple[str, str, str, str], tmp_path: pathlib.Path, request: pytest.FixtureRequest
) -> None:
    name, program, cls, text = case
    error = run(program, tmp_path)
    shown = str(error).replace(f"{tmp_path}/", "")
    if request.config.getoption("--update-snapshots"):
        kept = f"======== {name}\n{program}-------- {cls}\n"
        PAGE.write_text(PAGE.read_text().replace(f"{kept}{text}", f"{kept}{shown}\n\n"))
        text = shown
    assert type(error).__name__ == cls and isinstance(error, errors.AutographError)
    assert lines(shown) == lines(text)


def test_every_class_has_a_case_or_a_page() -> None:
    told = {case[2] for case in CASES}
    told |= set(re.findall(r"^## .*", DOCUMENT.read_text(), re.MULTILINE))
    for cls in vars(errors).values():
        if isinstance(cls, type) and issubclass(cls, errors.AutographError) and cls is not errors.TraceError:
            assert any(cls.__name__ in place for place in told), cls


def test_the_users_line_where_plans_have_a_text_of_their_own(tmp_path: pathlib.Path) -> None:
    (found,) = [case for case in CASES if case[0] == "a body that returns a tuple of one"]
    with settings.override(show_generated_frames=True):
        error = run(found[1], tmp_path)
    assert "at user.py:6 in f" in str(error).replace(f"{tmp_path}/", "")
