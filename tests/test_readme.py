"""README says what is true: its example runs and prints what it says, its two commands exist."""

from __future__ import annotations

import contextlib
import io
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def run_block(source: str, folder: pathlib.Path, name: str) -> str:
    """Run a block as a module file (conversion needs source) and return what it prints."""
    path = folder / f"{name}.py"
    path.write_text(source)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(source, str(path), "exec"), {"__name__": name, "__file__": str(path)})
    return out.getvalue()


def python_blocks() -> list[object]:
    return [
        pytest.param(page, k, source, id=f"{page.name}-{k}")
        for page in PAGES
        for k, source in enumerate(blocks(page.read_text(), "python"))
    ]


@pytest.mark.parametrize(("page", "k", "source"), python_blocks())
def test_blocks_run(page: pathlib.Path, k: int, source: str, tmp_path: pathlib.Path) -> None:
    """Every ```python block runs; `# prints: text` says what it prints, `# raises Class` that it raises."""
    wanted = re.findall(r"# prints: (.*)$", source, re.MULTILINE)
    raises = re.search(r"# raises (\w+)", source)
    name = f"{page.stem.replace('-', '_')}_{k}"
    if raises:
        with pytest.raises(Exception) as caught:
            run_block(source, tmp_path, name)
        assert raises[1] in [cls.__name__ for cls in type(caught.value).__mro__]
    else:
        printed = run_block(source, tmp_path, name)
        for text in wanted:
            assert text in printed.splitlines()


def test_the_two_commands() -> None:
    commands = blocks(README, "sh")
    assert len(commands) == 1
    assert commands[0].splitlines() == [
        "pip install . && autograph demo",
        "pip install .[test] && pytest -n 2",
    ]


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"
