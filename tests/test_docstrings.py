"""The examples in docstrings print what they say."""

from __future__ import annotations

import doctest
import importlib

import pytest

from tests.test_layers import MODULES

SHOWN = [name for name, path in MODULES.items() if ">>> " in path.read_text()]


@pytest.mark.parametrize("name", SHOWN)
def test_examples_in_docstrings(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
