"""README and docs say what is true: their examples run and print what they say, links lead somewhere."""

from __future__ import annotations

import pathlib
import re

import pytest

from runtime.config import TABLE
from tests.documents import PAGES, ROOT, Block, blocks


def examples() -> list[object]:
    return [
        pytest.param(
            block,
            id=f"{page.name}-{block.number}",
            marks=[pytest.mark.gpu] if "cupy" in block.source else [],
        )
        for page in PAGES
        for block in blocks(page)
    ]


@pytest.mark.parametrize("block", examples())
def test_examples(block: Block, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`# prints: text` names a line that the block prints, `# raises Class` what its last line raises."""
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    raises = re.search(r"# raises (\w+)", block.source)
    if raises:
        with pytest.raises(Exception) as caught:
            block.run(tmp_path)
        assert raises[1] in [cls.__name__ for cls in type(caught.value).__mro__], repr(caught.value)
        return
    printed = block.run(tmp_path)
    for text in re.findall(r"# prints: (.*)$", block.source, re.MULTILINE):
        assert text in printed.splitlines()
    if block.output is not None:
        assert printed.strip() == block.output.strip(), "if the change is meant: python -m tests.documents"


def test_the_two_commands() -> None:
    commands = re.findall(r"^```sh\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    assert commands == ["pip install . && autograph demo\npip install '.[test]' && pytest -n 2\n"]


def test_all_settings_are_in_the_table() -> None:
    page = (ROOT / "docs" / "execution.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| `(.*?)` \| `(\w+)` \|", page, re.MULTILINE)
    default = {row.name: repr(row.default).replace("'", '"') for row in TABLE}
    assert sorted(rows) == sorted((row.name, default[row.name], row.env) for row in TABLE)


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"
