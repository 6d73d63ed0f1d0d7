"""Limits on the tail: no file over 600 lines, no function over 80."""

from __future__ import annotations

import ast
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("autograph", "runtime", "benchmarks", "examples", "tests")
FILES = [p for folder in FOLDERS for p in sorted((ROOT / folder).rglob("*.py"))]
FILE_LINES, FUNCTION_LINES = 600, 80


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_sizes(path: pathlib.Path) -> None:
    text = path.read_text()
    assert text.count("\n") <= FILE_LINES
    long = [
        f"{path}:{node.lineno} {node.name}: {node.end_lineno - node.lineno + 1} lines"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and node.end_lineno is not None
        and node.end_lineno - node.lineno + 1 > FUNCTION_LINES
    ]
    assert not long, "\n".join(long)
