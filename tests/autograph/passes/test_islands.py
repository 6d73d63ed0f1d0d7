"""Statements that stay as they are written: what they become, and that they do what Python does."""

from __future__ import annotations

import itertools
import sys
import textwrap
from typing import Any

import pytest

import autograph as ag
from tests.autograph.converting import conversion, text_of

LOOP = """
def f(x):
    for k in x:
        try:
            s = k
            if k == 2:
                return 'two'
        finally:
            if k > 2:
                break
    return s
"""

PROGRAMS: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
    "break and return through a finally": (LOOP, [([],), ([1],), ([1, 2, 3],), ([3, 2],)]),
    "continue out of a finally": (
        """
        def f(n):
            seen, k = [], 0
            while k < 5:
                k += 1
                try:
                    seen.append(10 // (k - n))
                    late = k
                except ZeroDivisionError as error:
                    seen.append(str(error))
                    raise
                finally:
                    if k == n:
                        continue
                seen.append(late)
            else:
                seen.append("else")
            return seen, k, late
        """,
        [(1,), (3,), (9,)],
    ),
    "unbound in an island": (
        """
        def f(n):
            for k in range(3):
                try:
                    y = late if k == n else k
                finally:
                    if n == 7:
                        break
            late = 5
            return y, late
        """,
        [(1,), (7,), (4,)],
    ),
    "an attribute and an item as targets": (
        """
        def f(xs):
            class Box:
                pass
            box, table = Box(), {}
            return [box.y * 2 for box.y in xs], [table["k"] for table["k"] in xs], box.y, table
        """,
        [([1, 2],), ((3.5,),)],
    ),
    "functions that share the target": (
        """
        def f(xs):
            made = [lambda: x for x in xs]
            lazy = list((lambda: y) for y in xs)
            return [g() for g in made], [g() for g in lazy], (lambda: [(lambda: z) for z in xs])()[0]()
        """,
        [([1, 2],), ((3.5,),)],
    ),
    "deep": (
        "def f(x):\n    y = 0\n    for k in x:\n        if k == 0:\n            y += 1\n"
        + "".join(f"        elif k == {n}:\n            y += {n}\n" for n in range(1, 140))
        + "        else:\n            return y, k\n    return y\n",
        [([1, 2, 0],), ([139, 30, 29, 31],), ([139, 140, 1],)],
    ),
    "deep in lines": (
        "def f(x):\n"
        + "".join(f"{' ' * k}if x > {k}:\n" for k in range(1, 95))
        + " " * 95
        + "x = 1\n return x\n",
        [(1,), (50,), (100,)],
    ),
}
if sys.version_info >= (3, 11):
    PROGRAMS["except*"] = (
        """
        def f(n):
            total = 0
            for k in range(4):
                try:
                    if k == n:
                        raise ExceptionGroup("group", [ValueError(k), KeyError("k")])
                    if k == 3 and n == 9:
                        raise TypeError(k)
                    if k == 2 and n == 8:
                        break
                    total += k
                except* ValueError as error:
                    total -= 1
                    last = error.exceptions[0].args
                except* KeyError:
                    total -= 10
                else:
                    total += 100
                finally:
                    total *= 2
            return total, k, last if n < 4 else None
        """,
        [(0,), (1,), (8,), (9,), (77,)],
    )
if sys.version_info >= (3, 12):
    PROGRAMS["type parameters"] = (
        """
        def f(n):
            type Pair = tuple[int, int]
            def first[T](x: T) -> T:
                return x
            return first(n), Pair.__name__
        """,
        [(1,), ("a",)],
    )

_number = itertools.count()


def loaded(source: str, tmp_path: Any) -> Any:
    path = tmp_path / f"islands_{next(_number)}.py"
    path.write_text(textwrap.dedent(source))
    space: dict[str, Any] = {"__name__": path.stem}
    exec(compile(path.read_text(), str(path), "exec"), space)
    return space["f"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_is_as_python(name: str, tmp_path: Any) -> None:
    source, calls = PROGRAMS[name]
    plain = loaded(source, tmp_path)
    staged = ag.function(loaded(source, tmp_path))
    for run in (ag.convert(loaded(source, tmp_path)), staged):
        for args in calls:
            try:
                want = plain(*args)
            except Exception as error:
                with pytest.raises(type(error)) as caught:
                    run(*args)
                assert str(caught.value) == str(error)
            else:
                assert run(*args) == want
    assert not any(trace.plain for trace in staged.traces)
    assert "Python" in str(ag.explain(staged))


@pytest.mark.skipif(sys.version_info < (3, 11), reason="except* is new in 3.11")
def test_text() -> None:
    source = """
    def f(x):
        try:
            s = x + 1
        except* ValueError as e:
            return e
        t = [s for x.y in s]
        return [t for x.y in s]
    """
    assert text_of(conversion(source).node) == textwrap.dedent("""
    def f(x):
        s = ag.Cell('s')
        t = ag.Cell('t')

        def island():
            try:
                s.value = x + 1
            except* ValueError as e:
                return ('return', e)
        island_left = ag.python(island, 'except* is not converted')

        def if_false():

            def island_1():
                t.value = [s.READ for x.y in s.value]
            ag.python(island_1, 'a comprehension over an attribute or item is not converted')

            def island_2():
                return [t.READ for x.y in s.value]
            return ag.python(island_2, 'a comprehension over an attribute or item is not converted')
        return ag.cond(ag.is_not(island_left, None), lambda: island_left[1], if_false)
    """).strip().replace("READ", "value" if sys.version_info >= (3, 12) else "free")


def test_strict_says_why(tmp_path: Any) -> None:
    strict = ag.function(loaded(LOOP, tmp_path), strict=True)
    with pytest.raises(ag.AutographError, match="a break that leaves a finally"):
        strict([1, 2])
