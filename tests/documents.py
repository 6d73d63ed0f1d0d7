"""The examples in the documents: every ```python block, and the ```text block right behind it, its output.

`python -m tests.documents` runs them and rewrites the outputs, after a change that is meant to change them.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", re.MULTILINE | re.DOTALL)


@dataclasses.dataclass(frozen=True)
class Block:
    """One example: its page, its number there, its source, and its output where the page shows it."""

    page: pathlib.Path
    number: int
    source: str
    output: str | None

    @property
    def name(self) -> str:
        return f"{self.page.stem.replace('-', '_')}_{self.number}"

    def run(self, folder: pathlib.Path) -> str:
        """Run it as a module file (conversion needs source); what it prints."""
        path = folder / f"{self.name}.py"
        path.write_text(self.source)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = compile(self.source, str(path), "exec", dont_inherit=True)
            exec(code, {"__name__": self.name, "__file__": str(path)})
        return out.getvalue()


def blocks(page: pathlib.Path) -> list[Block]:
    """The examples of a page, in order."""
    return [Block(page, k, m[1], m[2]) for k, m in enumerate(BLOCK.finditer(page.read_text()))]


def update(page: pathlib.Path, folder: pathlib.Path) -> None:
    """Rewrite the outputs that a page shows."""
    text = page.read_text()
    for block in blocks(page):
        if block.output is not None:
            old = f"{block.source}```\n\n```text\n{block.output}```"
            text = text.replace(old, f"{block.source}```\n\n```text\n{block.run(folder).strip()}\n```")
    page.write_text(text)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "examples"))
    with tempfile.TemporaryDirectory() as place:
        for each in PAGES:
            update(each, pathlib.Path(place))
