"""Generated source stays readable: the text of the examples and of some cases, as it was when last looked at.

`pytest tests/autograph/test_snapshots.py --update-snapshots` writes the texts anew; read the difference.
"""

from __future__ import annotations

import importlib.util
import inspect
import pathlib

import pytest

import autograph as ag
from autograph.cli_check import functions_of

HERE = pathlib.Path(__file__).parent
EXAMPLES = sorted((HERE.parent.parent / "examples").glob("*.py"))
PAGES = {**{path.stem: path for path in EXAMPLES}, "cases": HERE / "snapshot_cases.py"}
MOST = 2.5


def functions(path: pathlib.Path):
    """The functions of a file that are converted."""
    spec = importlib.util.spec_from_file_location(f"snapshot_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for function in functions_of(module, path.resolve()):
        if function.__name__ != "main":
            try:
                yield function, ag.to_code(function)
            except ag.ConversionRefused:
                continue


def page(path: pathlib.Path) -> str:
    return "\n\n".join(text.rstrip("\n") for _, text in functions(path)) + "\n"


@pytest.mark.parametrize("name", PAGES)
def test_the_text_is_as_it_was(name, request):
    kept = HERE / "snapshots" / f"{name}.txt"
    text = page(PAGES[name])
    if request.config.getoption("--update-snapshots"):
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(text)
    assert text == kept.read_text(), "if the change is meant: pytest --update-snapshots"


def lines(text: str) -> int:
    return sum(1 for line in text.splitlines() if line.strip())


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_the_text_is_short(path):
    for function, text in functions(path):
        before = lines(inspect.getsource(function))
        assert lines(text) <= MOST * before, f"{function.__name__}: {before} lines became {lines(text)}"
