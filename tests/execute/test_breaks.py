"""Flags that become `break`: random bodies do the same with and without."""

from __future__ import annotations

import random

import pytest

from runtime.execute.blocks import Line
from runtime.execute.breaks import flags_of, with_breaks


def body(rnd: random.Random, depth: int = 0) -> list[Line]:
    """Some statements, branches and flags."""
    lines: list[Line] = []
    for _ in range(rnd.randint(1, 3)):
        kind = rnd.random()
        if kind < 0.35 or depth > 3:
            lines.append(Line(depth, f"log.append({rnd.randint(0, 99)})"))
        elif kind < 0.6:
            lines.append(Line(depth, rnd.choice(("stop = True", "stop = True", "stop = False"))))
        elif kind < 0.65:
            lines += [Line(depth, "for _ in range(2):"), *body(rnd, depth + 1)]
        else:
            lines += [Line(depth, "if ask():"), *body(rnd, depth + 1)]
            if rnd.random() < 0.3:
                lines += [Line(depth, "elif ask():"), *body(rnd, depth + 1)]
            if rnd.random() < 0.6:
                lines += [Line(depth, "else:"), *body(rnd, depth + 1)]
    return lines


def run(lines: list[Line], seed: int) -> tuple[list[int], bool]:
    """What the function does."""
    rnd = random.Random(seed)
    space: dict = {"log": [], "ask": lambda: rnd.random() < 0.5}
    exec("\n".join("    " * line.depth + line.text for line in lines), space)
    return space["log"], space["stop"]


def test_random_bodies() -> None:
    changed = 0
    for seed in range(4000):
        block = body(random.Random(seed))
        found = with_breaks(block, "stop", True)
        if found is None:
            continue
        changed += 1
        head = [Line(0, "stop = False"), Line(0, "for _ in range(9):")]
        nested = [Line(line.depth + 1, line.text) for line in block]
        plain = [*head, *nested, Line(1, "if stop:"), Line(2, "break")]
        short = [*head, *(Line(line.depth + 1, line.text) for line in found)]
        for answers in range(4):
            assert run(short, answers) == run(plain, answers), "\n".join(x.text for x in block)
    assert changed > 200


@pytest.mark.parametrize(
    "test, flags, rest",
    [
        ("not a and i < n", ["a"], "i < n"),
        ("not (a or b)", ["a", "b"], ""),
        ("not (a or b) and not c and f(x and y)", ["a", "b", "c"], "f(x and y)"),
        ("not a.b", [], "not a.b"),
        ("i < n", [], "i < n"),
    ],
)
def test_flags_of_a_test(test: str, flags: list[str], rest: str) -> None:
    assert flags_of(test) == (flags, rest)
