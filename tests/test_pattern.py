"""Regular expressions that are compiled when they are first used."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from runtime.pattern import pattern


def test_it_is_the_expression() -> None:
    word = pattern(r"(?P<first>[a-z])\w*", re.IGNORECASE)
    found = word.match("Ab1 c")
    assert found is not None and found["first"] == "A" and found.group() == "Ab1"
    assert word.sub("x", "Ab1 c") == "x x" and word.pattern == r"(?P<first>[a-z])\w*"


def test_a_mistake_is_told_at_the_first_use() -> None:
    wrong = pattern("(")
    with pytest.raises(re.error):
        wrong.match("a")


def test_modules_compile_none_when_they_are_imported() -> None:
    code = """
import contextlib, re, dataclasses, string, numpy
with contextlib.suppress(ImportError):
    import llvmlite.binding
seen, compile_ = [], re.compile
re.compile = lambda text, flags=0: seen.append(text) or compile_(text, flags)
import runtime.execute.native.executor, runtime.execute.python_source, runtime.ir.text
print(seen)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
