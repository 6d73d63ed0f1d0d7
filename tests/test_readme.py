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
    """Every ```python block, with the text of a ```text block right behind it, which is what it prints."""
    pattern = r"^```python\n(.*?)^```(?:\s*^```text\n(.*?)^```)?"
    found = []
    for page in PAGES:
        matches = re.finditer(pattern, page.read_text(), re.MULTILINE | re.DOTALL)
        for k, match in enumerate(matches):
            marks = [pytest.mark.gpu] if "cupy" in match[1] else []
            found.append(pytest.param(page, k, match[1], match[2], id=f"{page.name}-{k}", marks=marks))
    return found


@pytest.mark.parametrize(("page", "k", "source", "output"), python_blocks())
def test_blocks_run(
    page: pathlib.Path,
    k: int,
    source: str,
    output: str | None,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`# prints: text` names a line that the block prints, `# raises Class` what its last line raises."""
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    wanted = re.findall(r"# prints: (.*)$", source, re.MULTILINE)
    raises = re.search(r"# raises (\w+)", source)
    name = f"{page.stem.replace('-', '_')}_{k}"
    if raises:
        with pytest.raises(Exception) as caught:
            run_block(source, tmp_path, name)
        assert raises[1] in [cls.__name__ for cls in type(caught.value).__mro__], repr(caught.value)
        return
    printed = run_block(source, tmp_path, name)
    for text in wanted:
        assert text in printed.splitlines()
    if output is not None:
        assert printed.strip() == output.strip()


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
