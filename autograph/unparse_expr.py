"""Prints the expressions of a tree: operators by how tightly they bind, displays, literals, f-strings.

In: `ast` expressions.  Out: text in `self.f`.  What always holds: parentheses stand only where the grammar
asks for them, and the text is read back as the same tree.
"""

from __future__ import annotations

import ast
import io
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from astunparse import Unparser

from autograph.literals import FREE_FIELDS, NoLiteral, Written, string_literal, string_part
from runtime.errors import ConversionRefused

# How tightly an expression binds; a child printed where more is asked for gets parentheses.
(
    LOOSE,
    TEST,
    OR,
    AND,
    NOT,
    COMPARE,
    BIT_OR,
    BIT_XOR,
    BIT_AND,
    SHIFT,
    SUM,
    TERM,
    UNARY,
    POWER,
    AWAIT,
    ATOM,
) = range(16)

BINARY: dict[str, tuple[str, int]] = {
    "BitOr": ("|", BIT_OR),
    "BitXor": ("^", BIT_XOR),
    "BitAnd": ("&", BIT_AND),
    "LShift": ("<<", SHIFT),
    "RShift": (">>", SHIFT),
    "Add": ("+", SUM),
    "Sub": ("-", SUM),
    "Mult": ("*", TERM),
    "MatMult": ("@", TERM),
    "Div": ("/", TERM),
    "FloorDiv": ("//", TERM),
    "Mod": ("%", TERM),
    "Pow": ("**", POWER),
}
_UNARY = {"Invert": "~", "Not": "not ", "UAdd": "+", "USub": "-"}
_COMPARE = {
    "Eq": "==",
    "NotEq": "!=",
    "Lt": "<",
    "LtE": "<=",
    "Gt": ">",
    "GtE": ">=",
    "Is": "is",
    "IsNot": "is not",
    "In": "in",
    "NotIn": "not in",
}
_LEVELS = {
    "NamedExpr": LOOSE,
    "Yield": LOOSE,
    "YieldFrom": LOOSE,
    "Tuple": LOOSE,
    "IfExp": TEST,
    "Lambda": TEST,
    "Compare": COMPARE,
    "Await": AWAIT,
    "Starred": TEST,
}
_QUOTES = ("'", '"', "'''", '"""')
_LONGEST = 2000  # bits of an integer that is written in decimals: Python refuses some thousand digits


def _level(node: ast.expr) -> int:
    """How tightly the outermost operation of an expression binds."""
    if isinstance(node, ast.BinOp):
        return BINARY[type(node.op).__name__][1]
    if isinstance(node, ast.UnaryOp):
        return NOT if isinstance(node.op, ast.Not) else UNARY
    if isinstance(node, ast.BoolOp):
        return OR if isinstance(node.op, ast.Or) else AND
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return UNARY if node.value < 0 else ATOM
    if isinstance(node, ast.Constant) and type(node.value) is float:
        return UNARY if repr(node.value).startswith("-") else ATOM
    if isinstance(node, ast.Tuple) and not node.elts:
        return ATOM
    return _LEVELS.get(type(node).__name__, ATOM)


class ExpressionPrinter(Unparser):  # type: ignore[misc]  # astunparse is not typed
    """The base class walks and indents; every kind of node that needs care has its own method here."""

    f: io.StringIO

    def __init__(self, tree: ast.AST, file: io.StringIO) -> None:
        self._outer_quotes: tuple[str, ...] = ()
        super().__init__(tree, file)

    # -- tools ----------------------------------------------------------------------------------

    def expr(self, node: ast.expr, level: int = TEST, bare: tuple[type, ...] = ()) -> None:
        """Print an expression where at least `level` is needed; the kinds in `bare` need no parentheses."""
        if _level(node) < level and not isinstance(node, bare):
            self.write("(")
            self.dispatch(node)
            self.write(")")
        else:
            self.dispatch(node)

    def commas(self, items: Iterable[Any], put: Callable[[Any], None]) -> None:
        for number, item in enumerate(items):
            if number:
                self.write(", ")
            put(item)

    # -- operators ------------------------------------------------------------------------------

    def _BinOp(self, node: ast.BinOp) -> None:
        sign, level = BINARY[type(node.op).__name__]
        power = isinstance(node.op, ast.Pow)
        self.expr(node.left, AWAIT if power else level)
        self.write(f" {sign} ")
        self.expr(node.right, UNARY if power else level + 1)

    def _UnaryOp(self, node: ast.UnaryOp) -> None:
        self.write(_UNARY[type(node.op).__name__])
        self.expr(node.operand, NOT if isinstance(node.op, ast.Not) else UNARY)

    def _BoolOp(self, node: ast.BoolOp) -> None:
        word, level = (" or ", AND) if isinstance(node.op, ast.Or) else (" and ", NOT)
        for number, value in enumerate(node.values):
            self.write(word if number else "")
            self.expr(value, level)

    def _Compare(self, node: ast.Compare) -> None:
        self.expr(node.left, BIT_OR)
        for op, right in zip(node.ops, node.comparators, strict=True):
            self.write(f" {_COMPARE[type(op).__name__]} ")
            self.expr(right, BIT_OR)

    def _IfExp(self, node: ast.IfExp) -> None:
        self.expr(node.body, OR)
        self.write(" if ")
        self.expr(node.test, OR)
        self.write(" else ")
        self.expr(node.orelse, TEST)

    def _NamedExpr(self, node: ast.NamedExpr) -> None:
        self.expr(node.target)
        self.write(" := ")
        self.expr(node.value)

    def _Lambda(self, node: ast.Lambda) -> None:
        args = node.args
        any_args = args.posonlyargs or args.args or args.vararg or args.kwonlyargs or args.kwarg
        self.write("lambda " if any_args else "lambda")
        self.dispatch(args)
        self.write(": ")
        self.expr(node.body)

    def _Await(self, node: ast.Await) -> None:
        self.write("await ")
        self.expr(node.value, ATOM)

    def _Yield(self, node: ast.Yield) -> None:
        self.write("yield")
        if node.value is not None:
            self.write(" ")
            self.expr(node.value, bare=(ast.Tuple,))

    def _YieldFrom(self, node: ast.YieldFrom) -> None:
        self.write("yield from ")
        self.expr(node.value)

    def _Starred(self, node: ast.Starred) -> None:
        self.write("*")
        self.expr(node.value, BIT_OR)

    # -- primaries ------------------------------------------------------------------------------

    def _Attribute(self, node: ast.Attribute) -> None:
        number = isinstance(node.value, ast.Constant) and type(node.value.value) is int
        self.write("(" if number else "")
        self.expr(node.value, ATOM)
        self.write(")" if number else "")
        self.write(f".{node.attr}")

    def _Call(self, node: ast.Call) -> None:
        self.expr(node.func, ATOM)
        if len(node.args) == 1 and not node.keywords and isinstance(node.args[0], ast.GeneratorExp):
            self.dispatch(node.args[0])
            return
        self.write("(")
        self.commas([*node.args, *node.keywords], self.argument)
        self.write(")")

    def argument(self, node: ast.expr | ast.keyword) -> None:
        if isinstance(node, ast.expr):
            self.expr(node, bare=(ast.NamedExpr,))
            return
        self.write("**" if node.arg is None else f"{node.arg}=")
        self.expr(node.value)

    def _Subscript(self, node: ast.Subscript) -> None:
        self.expr(node.value, ATOM)
        self.write("[")
        index = node.slice
        # Before 3.11 a star may stand in an index only within parentheses, a slice only outside them.
        plain = (
            isinstance(index, ast.Tuple)
            and index.elts
            and (
                any(isinstance(item, ast.Slice) for item in index.elts)
                or not any(isinstance(item, ast.Starred) for item in index.elts)
            )
        )
        self.expr(index, bare=(ast.Tuple,) if plain else ())
        self.write("]")

    def _Slice(self, node: ast.Slice) -> None:
        if node.lower is not None:
            self.expr(node.lower)
        self.write(":")
        if node.upper is not None:
            self.expr(node.upper)
        if node.step is not None:
            self.write(":")
            self.expr(node.step)

    # -- displays -------------------------------------------------------------------------------

    def _Tuple(self, node: ast.Tuple) -> None:
        self.commas(node.elts, self.expr)
        if len(node.elts) == 1:
            self.write(",")
        elif not node.elts:
            self.write("()")

    def _List(self, node: ast.List) -> None:
        self.write("[")
        self.commas(node.elts, self.expr)
        self.write("]")

    def _Set(self, node: ast.Set) -> None:
        self.write("{" if node.elts else "{*()")
        self.commas(node.elts, self.expr)
        self.write("}")

    def _Dict(self, node: ast.Dict) -> None:
        def entry(item: tuple[ast.expr | None, ast.expr]) -> None:
            key, value = item
            if key is None:
                self.write("**")
                self.expr(value, BIT_OR)
            else:
                self._pair(key, value)

        self.write("{")
        self.commas(zip(node.keys, node.values, strict=True), entry)
        self.write("}")

    def _pair(self, key: ast.expr, value: ast.expr) -> None:
        self.expr(key)
        self.write(": ")
        self.expr(value)

    def _comprehended(self, node: Any) -> None:
        brackets = self.brackets[type(node).__name__]
        self.write(brackets[0])
        if isinstance(node, ast.DictComp):
            self._pair(node.key, node.value)
        else:
            self.expr(node.elt)
        for clause in node.generators:
            self.dispatch(clause)
        self.write(brackets[1])

    brackets: ClassVar[dict[str, str]] = {
        "ListComp": "[]",
        "SetComp": "{}",
        "DictComp": "{}",
        "GeneratorExp": "()",
    }
    _ListComp = _SetComp = _DictComp = _GeneratorExp = _comprehended

    def _comprehension(self, node: ast.comprehension) -> None:
        self.write(" async for " if node.is_async else " for ")
        self.expr(node.target, bare=(ast.Tuple,))
        self.write(" in ")
        self.expr(node.iter, OR)
        for test in node.ifs:
            self.write(" if ")
            self.expr(test, OR)

    # -- literals -------------------------------------------------------------------------------

    def _Constant(self, node: ast.Constant) -> None:
        value: Any = node.value
        if isinstance(value, tuple):
            self.write("(")
            self.commas(value, lambda item: self.dispatch(ast.Constant(item)))
            self.write(",)" if len(value) == 1 else ")")
        elif isinstance(value, Written):
            self.write(value)
        elif value is Ellipsis:
            self.write("...")
        elif isinstance(value, (str, bytes)):
            self.write((getattr(node, "kind", None) or "") + string_literal(value, self._outer_quotes))
        elif type(value) is int and value.bit_length() > _LONGEST:
            self.write(hex(value))
        elif isinstance(value, (float, complex)):
            # No literal means infinity, but one too large for a float is read as it.
            self.write(repr(value).replace("inf", "1e309").replace("nan", "(1e309 - 1e309)"))
        else:
            self.write(repr(value))

    def _JoinedStr(self, node: ast.JoinedStr) -> None:
        """An f-string, with the first kind of quotes that its fields leave free."""
        for quote in _QUOTES:
            taken = (*self._outer_quotes, quote)
            if any(outer in quote for outer in self._outer_quotes):
                continue
            if (text := self._fields(node, quote, taken)) is not None:
                self.write(f"f{quote}{text}{quote}")
                return
        if not FREE_FIELDS:
            if self._outer_quotes:
                raise NoLiteral
            raise ConversionRefused(
                "an f-string here has no text before Python 3.12",
                why="its fields hold strings that need every kind of quotes",
                fix="give the inner strings names first, then format those",
            )
        self.write(f"f'{self._fields(node, chr(39), ())}'")

    def _fields(
        self, node: ast.JoinedStr, quote: str, taken: tuple[str, ...], spec: bool = False
    ) -> str | None:
        """The text between the quotes of an f-string, or None when a field can't stand between them."""
        parts: list[str] = []
        for part in node.values:
            if isinstance(part, ast.Constant):
                parts.append(string_part(str(part.value), quote, spec=spec))
                continue
            assert isinstance(part, ast.FormattedValue)
            field = self._field(part.value, taken)
            if field is None or any(outer in field for outer in taken):
                return None
            ending = f"!{chr(part.conversion)}" if part.conversion != -1 else ""
            if part.format_spec is not None:
                assert isinstance(part.format_spec, ast.JoinedStr)
                inner = self._fields(part.format_spec, quote, taken, spec=True)
                if inner is None:
                    return None
                ending += f":{inner}"
            parts.append(f"{{{' ' if field.startswith('{') else ''}{field}{ending}}}")
        return "".join(parts)

    def _field(self, node: ast.expr, taken: tuple[str, ...]) -> str | None:
        """The expression of a replacement field; a lambda's colon must not look like a format."""
        file, quotes = self.f, self._outer_quotes
        self.f, self._outer_quotes = io.StringIO(), taken
        try:
            colon = any(isinstance(child, ast.Lambda) for child in ast.walk(node))
            self.expr(node, OR if colon else TEST)
            return self.f.getvalue()
        except NoLiteral:
            return None
        finally:
            self.f, self._outer_quotes = file, quotes
