"""Flags that become `break`: random bodies do the same with and without."""

from __future__ import annotations

import random

import pytest

from runtime.execute.blocks import Line
from runtime.execute.breaks import flags_of, with_breaks
from tests.execute.build import OBJECT, WEAK_BOOL, WEAK_INT, Region, named, same, text


def random_body(rnd: random.Random, depth: int = 0) -> list[Line]:
    """Some statements, branches and flags."""
    lines: list[Line] = []
    for _ in range(rnd.randint(1, 3)):
        kind = rnd.random()
        if kind < 0.35 or depth > 3:
            lines.append(Line(depth, f"log.append({rnd.randint(0, 99)})"))
        elif kind < 0.6:
            lines.append(Line(depth, rnd.choice(("stop = True", "stop = True", "stop = False"))))
        elif kind < 0.65:
            lines += [Line(depth, "for _ in range(2):"), *random_body(rnd, depth + 1)]
        else:
            lines += [Line(depth, "if ask():"), *random_body(rnd, depth + 1)]
            if rnd.random() < 0.3:
                lines += [Line(depth, "elif ask():"), *random_body(rnd, depth + 1)]
            if rnd.random() < 0.6:
                lines += [Line(depth, "else:"), *random_body(rnd, depth + 1)]
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
        block = random_body(random.Random(seed))
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


def test_flags_become_break() -> None:
    r = Region(x=OBJECT)

    def body(r, i, stop, found, x):
        item = r.add("getitem", x, i)
        hit = r.add("eq", item, 0)

        def step(r, i, found):
            return r.add("add", i, 1), False, found

        return r.cond(
            hit, (i, found), lambda r, i, found: (i, True, i), step,
            (WEAK_INT, "i"), (WEAK_BOOL, "stop"), (WEAK_INT, "found"),
        )  # fmt: skip

    def test(r, i, stop, found, x):
        go = r.add("py.not", stop)
        less = r.add("py.call", len, x)
        return r.cond(
            go, (go, i, less), lambda r, go, i, n: r.add("lt", i, n), lambda r, go, i, n: go, (WEAK_BOOL, "")
        )

    def cheap(r, i, stop, found, x):
        go = r.add("py.not", stop)
        return r.cond(go, (go, i), lambda r, go, i: r.add("lt", i, 9), lambda r, go, i: go, (WEAK_BOOL, ""))

    carry = (named(0, "i"), named(False, "stop"), named(-1, "found"))
    _, _, found = r.loop("while", carry, r.params, cheap, body)
    graph = r.graph(found, name="zero")
    assert (
        text(graph)
        == """
def zero(x):
    i = 0
    found = -1
    while i < 9:
        if x[i] == 0:
            found = i
            break
        i = i + 1
    return found
"""[1:]
    )
    for x in ([1, 0], [1] * 9, []):
        same(graph, x)
    r = Region(x=OBJECT)
    _, stop, found = r.loop("while", carry, r.params, test, body)
    same(r.graph(found, stop, name="zero"), [1, 0])
