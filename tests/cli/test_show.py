"""Layout of two texts: columns where they fit, one above the other elsewhere, colours only on request."""

from __future__ import annotations

import ast

from autograph.cli_show import beside, highlighted

LEFT, RIGHT = "def f(x):\n    return x\n", "def f(x):\n    y = x\n    return y\n"


def test_columns() -> None:
    text = beside(LEFT, RIGHT, ("old", "new"), colour=False, width=80)
    assert text.splitlines() == [
        "old           |  new",
        "------------  |  ------------",
        "def f(x):     |  def f(x):",
        "    return x  |      y = x",
        "              |      return y",
    ]


def test_stacked_parses() -> None:
    text = beside(LEFT, RIGHT, ("old", "new"), colour=False, width=10)
    assert text == f"# old\n\n{LEFT}\n\n# new\n\n{RIGHT}"
    ast.parse(text)


def test_colour_needs_a_terminal() -> None:
    assert highlighted(LEFT, False) == LEFT
    assert beside(LEFT, RIGHT, ("old", "new"), colour=True, width=80).count("\n") == 5
