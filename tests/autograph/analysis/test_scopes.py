"""Who owns a name, and which names inner functions share with the function around them."""

from __future__ import annotations

import gast
import pytest

from autograph.analysis.captures import Captures
from autograph.analysis.scopes import scopes
from tests.autograph.converting import tree_of


def scope_of(text: str):
    root = tree_of(text)
    return scopes(root)[root]


def test_names_of_a_function() -> None:
    scope = scope_of("""
        def f(a, /, b, *c, d=1, **e):
            x = a + g
            import os.path as p, sys.argv
            for y, (z, *w) in x: pass
            def h(): return x
            (t := 1)
    """)
    assert scope.params == ["a", "b", "c", "d", "e"]
    assert list(scope.bound) == ["a", "b", "c", "d", "e", "x", "p", "sys", "y", "z", "w", "h", "t"]
    assert scope.free == {"g"}
    assert [child.free for child in scope.children] == [{"x"}]


def test_a_walrus_in_a_comprehension_binds_around_it() -> None:
    scope = scope_of("def f(v): return [last := e for e in v if (lambda: last)]")
    assert "last" in scope.bound
    assert list(scope.children[0].bound) == ["e"]
    assert scope.free == set()


def test_the_first_iterable_belongs_outside() -> None:
    scope = scope_of("def f(v): return [a for a in (lambda: v)() for b in w]")
    outer, inner = scope.children
    assert isinstance(outer.node, gast.Lambda) or isinstance(inner.node, gast.Lambda)
    assert scope.free == {"w"}


def test_nonlocal_binds_elsewhere() -> None:
    scope = scope_of("""
        def f():
            n = 0
            def g():
                nonlocal n, m
                global k
                n = m = k = 1
            return g
    """)
    inner = scope.children[0]
    assert inner.rebound == {"n", "m", "k"} and not inner.bound
    assert inner.owner("n") is scope and inner.owner("m") is None and inner.owner("k") is None
    assert scope.free == {"m", "k"}


BOXED = [
    ("x = 1\n    return lambda: x", set()),
    ("x = 1\n    x = 2\n    return lambda: x", set()),
    ("x = 1\n    g = lambda: x\n    x = 2\n    return g", {"x"}),
    ("g = lambda: x\n    x = 2\n    return g", {"x"}),
    ("def g(): return g\n    return g", set()),
    ("def g(): return h\n    def h(): return g\n    return g", set()),
    ("def g(): return h\n    k = g()\n    def h(): return g\n    return g", {"h"}),
    ("if a: x = 1\n    return lambda: x", {"x"}),
    ("if a: x = 1\n    else: raise ValueError\n    return lambda: x", set()),
    ("for x in a: g = lambda: x\n    return g", {"x"}),
    ("for x in a: g = [x for y in x]\n    return g", set()),
    ("for x in a: g = (x for y in x)\n    return g", {"x"}),
    ("for x in a: g = [lambda: x for y in x]\n    return g", {"x"}),
    ("x = 0\n    for y in a: g = lambda: x\n    x = 1", {"x"}),
    ("while a:\n        g = lambda: a\n        a = 0", {"a"}),
    ("a = a\n    g = lambda b=a: b\n    a = 2", set()),
]


@pytest.mark.parametrize("body, names", BOXED, ids=[str(number) for number in range(len(BOXED))])
def test_what_must_be_boxed(body: str, names: set[str]) -> None:
    scope = scope_of(f"def f(a):\n    {body}\n")
    table = {inner.node: inner for inner in scope.walk()}
    assert Captures(table, ()).boxed(scope) == names


def test_what_is_used_up_at_once_shares_nothing() -> None:
    scope = scope_of("def f(a):\n    for x in a: g = sum(x for y in x)\n    return g")
    table = {inner.node: inner for inner in scope.walk()}
    generators = [node for node in table if isinstance(node, gast.GeneratorExp)]
    assert Captures(table, ()).boxed(scope) == {"x"}
    assert Captures(table, generators).boxed(scope) == set()
