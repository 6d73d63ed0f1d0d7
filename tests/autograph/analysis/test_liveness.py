"""Live names and definite assignment: small tables by hand, and against running the code."""

from __future__ import annotations

import gast
import pytest

from autograph.analysis.assigned import Assigned
from autograph.analysis.flow import local_names
from autograph.analysis.liveness import Liveness
from autograph.analysis.scopes import scopes
from tests.autograph.converting import tree_of


def tables(text: str):
    root = tree_of(text)
    return root, Liveness(root, scopes(root), {})


def listed(live: Liveness, bits: int) -> set[str]:
    return set(live.index.listed(bits))


def test_straight_code() -> None:
    root, live = tables("def f(a):\n    b = a\n    c = b\n    b = c\n    return b")
    assert [listed(live, live.after[stmt]) for stmt in root.body] == [{"b"}, {"c"}, {"b"}, set()]
    assert listed(live, live.entry) == {"a"}


def test_an_arm_may_pass_a_name_through() -> None:
    root, live = tables("def f(a):\n    x = 1\n    if a: x = 2\n    else: y = x\n    return x")
    assert listed(live, live.arms[root.body[1]]) == {"x"}
    root, live = tables("def f(a):\n    if a: x = 2\n    else: x = 3\n    return x")
    assert listed(live, live.arms[root.body[0]]) == set()


def test_a_raise_needs_nothing() -> None:
    root, live = tables("def f(a):\n    if a: x = 2\n    else: raise ValueError(a)\n    return x")
    assert listed(live, live.entry) == {"a"}


@pytest.mark.parametrize("loop", ["while a:", "for a in range(3):"])
def test_a_loop_joins_the_path_that_skips_it(loop: str) -> None:
    root, live = tables(
        f"def f(a):\n    x = y = 0\n    {loop}\n        x = y\n        y = 1\n        t = x\n    return x"
    )
    head = listed(live, live.head[root.body[1]])
    assert {"x", "y"} <= head and "t" not in head
    assert {"x", "y"} <= listed(live, live.after[root.body[0]])


def test_inner_functions_count_as_reads() -> None:
    root, live = tables("def f(a):\n    x = 1\n    def g(): return [x for a in a]\n    return g")
    assert listed(live, live.after[root.body[0]]) == {"a", "x"}


def test_order_inside_a_statement() -> None:
    _, live = tables("def f():\n    return (x := 1) + x")
    assert not live.entry
    _, live = tables("def f():\n    return x + (x := 1)")
    assert listed(live, live.entry) == {"x"}
    _, live = tables("def f():\n    x += 1")
    assert listed(live, live.entry) == {"x"}
    _, live = tables("def f(a):\n    a and (x := 1)\n    return x")
    assert listed(live, live.entry) == {"a", "x"}


UNSURE = [
    ("if a: x = 1\n    return x", {"x"}),
    ("if a: x = 1\n    else: x = 2\n    return x", set()),
    ("if a: x = 1\n    else: raise ValueError\n    return x", set()),
    ("for x in a: pass\n    return x", {"x"}),
    ("while a:\n        x = 1\n        break\n    return x", {"x"}),
    ("while a: x = 1\n    else: x = 2\n    return x", set()),
    ("if a:\n        return x\n    x = 1\n    return x", {"x"}),
    ("x += 1", {"x"}),
    ("return [x for b in a]\n    x = 1", {"x"}),
    ("print(x if a else x)\n    x = 1", {"x"}),
]


@pytest.mark.parametrize("body, names", UNSURE, ids=[str(number) for number in range(len(UNSURE))])
def test_reads_that_may_find_nothing(body: str, names: set[str]) -> None:
    root = tree_of(f"def f(a):\n    {body}\n")
    unsure = Assigned(root, scopes(root), local_names(root), {}).unsure
    assert {part.target.id if isinstance(part, gast.AugAssign) else part.id for part in unsure} == names


def test_every_read_that_may_find_nothing_asks() -> None:
    # A trace knows a value to be one by the asking alone: a read that goes without would get what is unsure.
    root = tree_of("def f(a):\n    for x in a: pass\n    y = x + 1\n    return x + y\n")
    assert len(Assigned(root, scopes(root), local_names(root), {}).unsure) == 2


def test_long_functions_take_linear_space() -> None:
    text = "".join(f"    if a > {n}: x{n} = a\n    else: x{n} = {n}\n" for n in range(1000))
    root, live = tables(f"def f(a):\n{text}    return x1 + x999")
    assert listed(live, live.after[root.body[500]]) == {"a", "x1"}
