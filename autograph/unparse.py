"""Trees to text: `unparse` prints an `ast` or `gast` tree as Python source.

In: a module, statement or expression.  Out: text with as few parentheses as the grammar needs.
What always holds: the text parses to a tree equal to the one given (positions apart), for every tree that
the running Python's own parser can make.
"""

from __future__ import annotations

import ast
import io
from collections.abc import Sequence
from typing import Any

import gast

from autograph.literals import docstring
from autograph.unparse_expr import ATOM, BINARY, ExpressionPrinter

# In patterns: `as` binds loosest, then `|`.
_PATTERN_AS, _PATTERN_OR, _PATTERN_CLOSED = range(3)


def unparse(tree: ast.AST) -> str:
    """The source text of a tree; statements end in a newline, an expression has none."""
    plain: ast.AST = gast.gast_to_ast(tree) if _is_gast(tree) else tree
    out = io.StringIO()
    _Printer(plain, out)
    text = out.getvalue().strip("\n")
    if isinstance(plain, (ast.stmt, ast.mod)) and not isinstance(plain, ast.Expression) and text:
        return text + "\n"
    return text


def _is_gast(tree: ast.AST) -> bool:
    return type(tree) is getattr(gast, type(tree).__name__, None)


class _Printer(ExpressionPrinter):
    """The base class prints expressions; here stand statements, definitions and patterns."""

    def _body(self, body: Sequence[ast.stmt], *, documented: bool = False) -> None:
        """A colon and an indented block."""
        self.enter()
        self._statements(body, documented)
        self.leave()

    def _statements(self, body: Sequence[ast.stmt], documented: bool) -> None:
        """Statements with blank lines round definitions; the first may be a docstring."""
        blank = "\n" if self._indent else "\n\n"
        before: ast.stmt | None = None
        for statement in body:
            apart = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
            if before is not None and (isinstance(statement, apart) or isinstance(before, apart)):
                self.write(blank)
            if before is None and documented and _is_docstring(statement):
                self.fill(docstring(statement.value.value, statement.value.kind or ""))  # type: ignore[attr-defined]
            else:
                self.dispatch(statement)
            before = statement

    def _clause(self, word: str, body: Sequence[ast.stmt]) -> None:
        if body:
            self.fill(word)
            self._body(body)

    # -- statements -----------------------------------------------------------------------------

    def _Module(self, node: ast.Module) -> None:
        self._statements(node.body, documented=True)

    def _Expression(self, node: ast.Expression) -> None:
        self.expr(node.body)

    def _Expr(self, node: ast.Expr) -> None:
        self.fill()
        self.expr(node.value, bare=(ast.Tuple, ast.Yield, ast.YieldFrom))

    def _Assign(self, node: ast.Assign) -> None:
        self.fill()
        for target in node.targets:
            self.expr(target, bare=(ast.Tuple,))
            self.write(" = ")
        self.expr(node.value, bare=(ast.Tuple, ast.Yield, ast.YieldFrom))

    def _AugAssign(self, node: ast.AugAssign) -> None:
        self.fill()
        self.expr(node.target)
        self.write(f" {BINARY[type(node.op).__name__][0]}= ")
        self.expr(node.value, bare=(ast.Tuple, ast.Yield, ast.YieldFrom))

    def _AnnAssign(self, node: ast.AnnAssign) -> None:
        self.fill()
        grouped = isinstance(node.target, ast.Name) and not node.simple
        self.write("(" if grouped else "")
        self.expr(node.target)
        self.write(")" if grouped else "")
        self.write(": ")
        self.expr(node.annotation)
        if node.value is not None:
            self.write(" = ")
            self.expr(node.value, bare=(ast.Tuple, ast.Yield, ast.YieldFrom))

    def _TypeAlias(self, node: Any) -> None:
        self.fill("type ")
        self.dispatch(node.name)
        self._type_params(node)
        self.write(" = ")
        self.expr(node.value)

    def _Return(self, node: ast.Return) -> None:
        self.fill("return")
        if node.value is not None:
            self.write(" ")
            self.expr(node.value, bare=(ast.Tuple,))

    def _Delete(self, node: ast.Delete) -> None:
        self.fill("del ")
        self.commas(node.targets, self.expr)

    def _Assert(self, node: ast.Assert) -> None:
        self.fill("assert ")
        self.commas([node.test] if node.msg is None else [node.test, node.msg], self.expr)

    def _Raise(self, node: ast.Raise) -> None:
        self.fill("raise")
        if node.exc is not None:
            self.write(" ")
            self.expr(node.exc)
        if node.cause is not None:
            self.write(" from ")
            self.expr(node.cause)

    def _If(self, node: ast.If) -> None:
        self.fill("if ")
        self.expr(node.test, bare=(ast.NamedExpr,))
        self._body(node.body)
        while len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
            node = node.orelse[0]
            self.fill("elif ")
            self.expr(node.test, bare=(ast.NamedExpr,))
            self._body(node.body)
        self._clause("else", node.orelse)

    def _While(self, node: ast.While) -> None:
        self.fill("while ")
        self.expr(node.test, bare=(ast.NamedExpr,))
        self._body(node.body)
        self._clause("else", node.orelse)

    def _For(self, node: ast.For | ast.AsyncFor) -> None:
        self.fill("async for " if isinstance(node, ast.AsyncFor) else "for ")
        self.expr(node.target, bare=(ast.Tuple,))
        self.write(" in ")
        self.expr(node.iter, bare=(ast.Tuple,))
        self._body(node.body)
        self._clause("else", node.orelse)

    _AsyncFor = _For

    def _With(self, node: ast.With | ast.AsyncWith) -> None:
        self.fill("async with " if isinstance(node, ast.AsyncWith) else "with ")
        only = node.items[0]
        # One tuple in parentheses would be read as a list of items.
        lonely = len(node.items) == 1 and only.optional_vars is None
        doubled = lonely and isinstance(only.context_expr, ast.Tuple)
        self.write("(" if doubled else "")
        self.commas(node.items, self.dispatch)
        self.write(")" if doubled else "")
        self._body(node.body)

    _AsyncWith = _With

    def _withitem(self, node: ast.withitem) -> None:
        self.expr(node.context_expr)
        if node.optional_vars is not None:
            self.write(" as ")
            self.expr(node.optional_vars)

    def _Try(self, node: Any) -> None:
        self.fill("try")
        self._body(node.body)
        for handler in node.handlers:
            self.fill("except*" if type(node).__name__ == "TryStar" else "except")
            self.dispatch(handler)
        self._clause("else", node.orelse)
        self._clause("finally", node.finalbody)

    _TryStar = _Try

    def _ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.type is not None:
            self.write(" ")
            self.expr(node.type)
        if node.name:
            self.write(f" as {node.name}")
        self._body(node.body)

    # -- definitions ----------------------------------------------------------------------------

    def _decorators(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        for decorator in node.decorator_list:
            self.fill("@")
            self.expr(decorator)

    def _FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._decorators(node)
        self.fill("async def " if isinstance(node, ast.AsyncFunctionDef) else "def ")
        self.write(node.name)
        self._type_params(node)
        self.write("(")
        self.dispatch(node.args)
        self.write(")")
        if node.returns is not None:
            self.write(" -> ")
            self.expr(node.returns)
        self._body(node.body, documented=True)

    _AsyncFunctionDef = _FunctionDef

    def _ClassDef(self, node: ast.ClassDef) -> None:
        self._decorators(node)
        self.fill(f"class {node.name}")
        self._type_params(node)
        if node.bases or node.keywords:
            self.write("(")
            self.commas([*node.bases, *node.keywords], self.argument)
            self.write(")")
        self._body(node.body, documented=True)

    def _type_params(self, node: Any) -> None:
        params = getattr(node, "type_params", None)
        if params:
            self.write("[")
            self.commas(params, self.dispatch)
            self.write("]")

    def _TypeVar(self, node: Any) -> None:
        self.write({"TypeVar": "", "TypeVarTuple": "*", "ParamSpec": "**"}[type(node).__name__] + node.name)
        for sign, field in ((": ", "bound"), (" = ", "default_value")):
            if (value := getattr(node, field, None)) is not None:
                self.write(sign)
                self.expr(value)

    _TypeVarTuple = _ParamSpec = _TypeVar

    def _arguments(self, node: ast.arguments) -> None:
        parts: list[tuple[str, ast.arg | None, ast.expr | None]] = []
        positional = [*node.posonlyargs, *node.args]
        defaults = [None] * (len(positional) - len(node.defaults)) + list(node.defaults)
        for number, (arg, default) in enumerate(zip(positional, defaults, strict=True), 1):
            parts.append(("", arg, default))
            if number == len(node.posonlyargs):
                parts.append(("/", None, None))
        if node.vararg is not None or node.kwonlyargs:
            parts.append(("*", node.vararg, None))
        parts += [("", arg, default) for arg, default in zip(node.kwonlyargs, node.kw_defaults, strict=True)]
        if node.kwarg is not None:
            parts.append(("**", node.kwarg, None))
        self.commas(parts, self._parameter)

    def _parameter(self, part: tuple[str, ast.arg | None, ast.expr | None]) -> None:
        stars, arg, default = part
        self.write(stars)
        if arg is not None:
            self.dispatch(arg)
        if default is not None:
            self.write(" = " if arg is not None and arg.annotation is not None else "=")
            self.expr(default)

    def _arg(self, node: ast.arg) -> None:
        self.write(node.arg)
        if node.annotation is not None:
            self.write(": ")
            self.expr(node.annotation)

    # -- match ----------------------------------------------------------------------------------

    def _Match(self, node: ast.Match) -> None:
        self.fill("match ")
        self.expr(node.subject)
        self._indent += 1
        self.write(":")
        for case in node.cases:
            self.fill("case ")
            self.dispatch(case.pattern)
            if case.guard is not None:
                self.write(" if ")
                self.expr(case.guard, bare=(ast.NamedExpr,))
            self._body(case.body)
        self._indent -= 1

    def _pattern(self, node: ast.pattern, level: int = _PATTERN_AS) -> None:
        own = _PATTERN_CLOSED
        if isinstance(node, ast.MatchOr):
            own = _PATTERN_OR
        elif isinstance(node, ast.MatchAs) and node.pattern is not None:
            own = _PATTERN_AS
        self.write("(" if own < level else "")
        self.dispatch(node)
        self.write(")" if own < level else "")

    def _MatchValue(self, node: ast.MatchValue) -> None:
        self.expr(node.value)

    def _MatchSingleton(self, node: ast.MatchSingleton) -> None:
        self.write(repr(node.value))

    def _MatchSequence(self, node: ast.MatchSequence) -> None:
        self.write("[")
        self.commas(node.patterns, self._pattern)
        self.write("]")

    def _MatchStar(self, node: ast.MatchStar) -> None:
        self.write(f"*{node.name or '_'}")

    def _MatchMapping(self, node: ast.MatchMapping) -> None:
        def entry(item: tuple[ast.expr | str, ast.pattern | None]) -> None:
            key, pattern = item
            if isinstance(key, str):
                self.write(f"**{key}")
            elif pattern is not None:
                self.expr(key)
                self.write(": ")
                self._pattern(pattern)

        rest: list[tuple[ast.expr | str, ast.pattern | None]] = [(node.rest, None)] if node.rest else []
        self.write("{")
        self.commas([*zip(node.keys, node.patterns, strict=True), *rest], entry)
        self.write("}")

    def _MatchClass(self, node: ast.MatchClass) -> None:
        def entry(item: tuple[str, ast.pattern]) -> None:
            self.write(f"{item[0]}=" if item[0] else "")
            self._pattern(item[1])

        self.expr(node.cls, ATOM)
        self.write("(")
        named = zip(node.kwd_attrs, node.kwd_patterns, strict=True)
        self.commas([*(("", pattern) for pattern in node.patterns), *named], entry)
        self.write(")")

    def _MatchAs(self, node: ast.MatchAs) -> None:
        if node.pattern is not None:
            self._pattern(node.pattern, _PATTERN_OR)
            self.write(" as ")
        self.write(node.name or "_")

    def _MatchOr(self, node: ast.MatchOr) -> None:
        for number, pattern in enumerate(node.patterns):
            self.write(" | " if number else "")
            self._pattern(pattern, _PATTERN_CLOSED)


def _is_docstring(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
