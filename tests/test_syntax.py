"""`runtime.syntax`: trees of texts, while other threads of the program parse."""

from __future__ import annotations

import ast

import pytest

from runtime import syntax


def test_another_thread_that_parses_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    parse, calls = ast.parse, []

    def disturbed(text: str) -> ast.Module:
        calls.append(text)
        if len(calls) < 3:
            raise SystemError("AST constructor recursion depth mismatch (before=27, after=37)")
        return parse(text)

    monkeypatch.setattr(ast, "parse", disturbed)
    assert ast.dump(syntax.parse("x = 1")) == ast.dump(parse("x = 1")) and len(calls) == 3


def test_errors_of_the_text_are_pythons() -> None:
    with pytest.raises(SyntaxError):
        syntax.parse("x = ")
