"""What is refused, and how the message reads; which calls stay as written; what is left of a big function."""

from __future__ import annotations

import linecache
from typing import Any

import gast
import pytest

from runtime.errors import ConversionRefused
from tests.autograph.converting import conversion, converted, text_of

REFUSED = {
    "await": "def f(x):\n    async def g(): await x\n    return [y async for y in x]",
    "locals()": "def f(x):\n    return locals()",
    "eval()": "def f(x):\n    return eval('x')",
    "_getframe()": "def f(x):\n    import sys\n    return sys._getframe()",
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused(what: str) -> None:
    with pytest.raises(ConversionRefused) as caught:
        conversion(REFUSED[what])
    if what != "await":
        assert what in str(caught.value)
    assert caught.value.span is not None and caught.value.span.line >= 2


def test_shadowed_names_are_not_refused() -> None:
    assert "eval" in text_of(conversion("def f(x, eval):\n    return eval(x)").node)


@pytest.mark.parametrize("count", [49, 60, 200])
def test_many_early_ways_out(count: int) -> None:
    returns = "".join(f"    if x == {k}:\n        return {k} + y\n    y = y * 3\n" for k in range(count))
    jumps = "".join(
        f"        if i % {k + 2} == x:\n            {'break' if k % 7 == 0 else 'continue'}\n"
        f"        y = y + {k}\n"
        for k in range(count)
    )
    text = f"def f(x, y):\n    for i in range(50):\n        i += 1\n{jumps}{returns}    return -1\n"
    file = f"<ways out {count}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space: dict[str, Any] = {}
    exec(compile(text, file, "exec"), space)
    twin = converted(space["f"])
    for args in ((0, 1), (1, 1), (count // 2, 1), (count - 1, 2), (count, 2), (count + 7, 0)):
        assert twin(*args) == space["f"](*args)


def test_long_and_flat_is_fine() -> None:
    branches = "".join(f"    if x == {k}:\n        x = x + {k}\n" for k in range(600))
    text = f"def f(x):\n{branches}    return x\n"
    assert text_of(conversion(text).node).count("ag.cond") == 600


CALLS = {
    "np.sqrt(x)": "np.sqrt(x)",
    "np.sum(x)": "np.sum(x)",
    "np.zeros(3)": "ag.call(np.zeros, 3)",
    "np.add((1, 2), 3)": "ag.call(np.add, (1, 2), 3)",
    "np.linalg.solve(x, x)": "ag.call(np.linalg.solve, x, x)",
    "np.array([[1, x], [x, 2]])": "ag.call(np.array, [[1, x], [x, 2]])",
    "x.sum(axis=0)": "x.sum(axis=0)",
    "x.append(1)": "x.append(1)",
    "x.index(1)": "ag.call(x.index, 1)",
    "x.feed(1)": "ag.call(x.feed, 1)",
    "len(x)": "ag.call(len, x)",
    "x[[0, 1]]": "x[[0, 1]]",
    "x(*x, **x)": "ag.call(x, *ag.unpack(x), **ag.keywords(x))",
}


@pytest.mark.parametrize("call", CALLS)
def test_call(call: str) -> None:
    text = text_of(conversion(f"def f(x):\n    return {call}").node)
    assert text.splitlines()[1].strip() == f"return {CALLS[call]}"


def test_inner_functions_are_called_as_written_but_for_those_that_recur() -> None:
    inner = "    def g(k):\n        return g(k - 1)\n    def h(k):\n        return k\n"
    text = text_of(conversion(f"def f(x):\n{inner}    return g(x) + h(x)").node)
    assert "return ag.call(g, k - 1)" in text and "return ag.call(g, x) + h(x)" in text


def test_free_names_that_are_rebound_are_reported() -> None:
    made = conversion("def bump(by):\n    nonlocal n\n    n = n + by\n    return n")
    assert made.boxed_free == {"n"}
    assert "n.value = n.value + by" in text_of(made.node)


def test_every_node_has_a_place() -> None:
    loop = "    for e in v:\n        if e: return e\n"
    made = conversion(f"def f(v):\n{loop}    return [k for k in v if 0 < k + 1 < 9]\n")
    for node in gast.walk(made.node):
        if "lineno" in node._attributes:
            assert 1 <= node.lineno <= 5
