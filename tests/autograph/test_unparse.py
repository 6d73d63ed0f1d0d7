"""The printer of trees: round trips of the standard library, and how the text looks."""

from __future__ import annotations

import ast
import gc
import pathlib
import sys
import sysconfig
import warnings
import zlib
from collections.abc import Iterator

import gast
import pytest

from autograph.unparse import unparse

STANDARD_LIBRARY = pathlib.Path(sysconfig.get_paths()["stdlib"])
# The library is cut into shares by a hash of the path, so that tests can run side by side.
SHARES = 8


def library_files(share: int) -> list[pathlib.Path]:
    files = (path for path in STANDARD_LIBRARY.rglob("*.py") if "site-packages" not in path.parts)
    return [
        path
        for path in sorted(files)
        if zlib.crc32(str(path.relative_to(STANDARD_LIBRARY)).encode()) % SHARES == share
    ]


def same(left: object, right: object) -> bool:
    """Equality of trees, positions apart; many times faster than comparing dumps."""
    stack: list[tuple[object, object]] = [(left, right)]
    while stack:
        a, b = stack.pop()
        if type(a) is not type(b):
            return False
        if isinstance(a, ast.AST):
            stack += [(getattr(a, field, None), getattr(b, field, None)) for field in a._fields]
        elif isinstance(a, list):
            assert isinstance(b, list)
            if len(a) != len(b):
                return False
            stack += zip(a, b, strict=True)
        elif a != b and repr(a) != repr(b):
            return False
    return True


@pytest.fixture
def uncollected() -> Iterator[None]:
    """Trees have no cycles: the collector would go through all of their nodes again and again for nothing."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("share", range(SHARES))
@pytest.mark.usefixtures("uncollected")
def test_the_standard_library_round_trips(share: int) -> None:
    warnings.simplefilter("ignore", SyntaxWarning)
    warnings.simplefilter("ignore", DeprecationWarning)
    broken, count = [], 0
    for path in library_files(share):
        try:
            tree = ast.parse(path.read_bytes())
        except (SyntaxError, ValueError):
            continue
        count += 1
        if not same(tree, ast.parse(unparse(tree))):
            broken.append(path)
    assert not broken
    assert count > 50


def test_gast_trees_print_as_ast_trees_do() -> None:
    for path in library_files(0)[:20]:
        tree = ast.parse(path.read_bytes())
        assert unparse(gast.ast_to_gast(ast.parse(path.read_bytes()))) == unparse(tree)


def test_generated_code_reads_well() -> None:
    text = '''\
def collatz(n):
    """How many steps n takes to 1."""
    steps = 0

    def loop_body(n, steps):
        def if_true(n):
            return n // 2

        def if_false(n):
            return 3 * n + 1

        n = ag.cond(n % 2 == 0, if_true, if_false, (n,))
        steps += 1
        return n, steps

    n, steps = ag.while_loop(lambda n, steps: n != 1, loop_body, (n, steps))
    if not n and (steps or -n ** 2 < 0):
        return x[1:2, None]
    elif a:
        return (yield)
    else:
        raise ValueError('no') from error
'''
    assert unparse(ast.parse(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "x[()]",
        "x[1,]",
        "x[(1, 2):3]",
        "f(x for x in y)",
        "f(*a, **c)",
        "-x ** -y ** z",
        "(-x) ** 2",
        "(3).real",
        "not a == b",
        "lambda: (yield)",
        "lambda *, a=1, **k: a",
        "(a if b else c) if d else e",
        "f'{(lambda: 1)()}'",
        "f'{ {1: 2}[1]}'",
        "f'{x!r:>{w}} {{}} {d[\"a\"]} \\n'",
        "x = yield",
        "for x, in y, z:\n    pass",
        "with ((a, b)):\n    pass",
        "(x): int = 3",
        "del (a, b), c",
        "1e309",
        "a - (b - c)",
        "(a, b) == c",
        "a and (b or c) and not d",
        "await x ** 2",
        "[*a, b]",
        "{**a, 'b': 1}",
        "(y := f(x))",
        "f(y := 1)",
        "def f(a, b=1, /, c=2, *d, e, f: int = 3, **g) -> int:\n    pass",
        "(a := b) + 1",
        "a[b][c].d(e)(f)",
        "match x:\n    case [1, *_, {'a': 1, **r}] | C(1, k=2 | 3 as z) if z:\n        pass",
        "match x:\n    case -1 - 2j | None | 'a':\n        pass\n    case [(1 as a) | b]:\n        pass",
    ],
)
def test_odd_corners(text: str) -> None:
    tree = ast.parse(text)
    assert same(ast.parse(unparse(tree)), tree)
    assert unparse(tree) == text + "\n"


@pytest.mark.skipif(sys.version_info < (3, 12), reason="new syntax")
def test_type_parameters_and_nested_quotes() -> None:
    for text in (
        "def f[T: int, *Ts, **P](x: T) -> T:\n    pass\n",
        "type X[T] = list[T]\n",
        "f'{f'{'a' + '\\n'}' + \"b\"}'\n",
    ):
        assert same(ast.parse(unparse(ast.parse(text))), ast.parse(text))


@pytest.mark.skipif(sys.version_info < (3, 11), reason="new syntax")
def test_exception_groups() -> None:
    text = "try:\n    pass\nexcept* (A, B) as e:\n    pass\n"
    assert unparse(ast.parse(text)) == text


@pytest.mark.parametrize(
    "value", ['"""', 'a"""b"""', 'x"', "\\", '\\"', '\\"""', "a\rb\x00\t\n  c\ud800", "é\u2028"]
)
def test_docstrings_survive(value: str) -> None:
    tree = ast.parse(f"def f():\n    {value!r}")
    assert same(ast.parse(unparse(tree)), tree)


@pytest.mark.parametrize("value", [-1, -1.5, 1 + 2j, (1, "a"), (), (1,), float("inf"), -float("inf")])
def test_constants_that_only_passes_make(value: object) -> None:
    power = ast.BinOp(ast.Constant(value), ast.Pow(), ast.Constant(2))
    text = unparse(ast.Expression(ast.BinOp(ast.Constant(value), ast.Mult(), ast.Constant(1))))
    assert eval(text) == value * 1  # type: ignore[operator]
    if not isinstance(value, tuple):
        assert eval(unparse(power)) == value**2  # type: ignore[operator]


def test_an_expression_has_no_newline() -> None:
    assert unparse(gast.parse("a + b").body[0].value) == "a + b"
