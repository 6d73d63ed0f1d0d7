"""Sugar goes first, so that the later passes meet few forms.

In: the user's tree.  Out: the same without `assert`, imports, annotations on assignments, decorators on
inner functions and assignments that take an unknown value apart.  What `**options` collects becomes a dict
that can be traced.
"""

from __future__ import annotations

import sys
from typing import Any

import gast

from autograph.analysis.scopes import outer_parts, parameter_nodes, scopes
from autograph.passes.context import Work
from autograph.passes.unpacking import PATTERNS, display_shape, plain, unpack
from autograph.passes.walk import Rewriter, functions
from autograph.template import assign, branch, call, constant, expression, load, locate, negation
from autograph.trees import walk

# Since 3.12 comprehensions are parts of the function that they stand in.
INLINED = tuple(sys.version_info) >= (3, 12)


def desugar(root: gast.FunctionDef, work: Work) -> gast.FunctionDef:
    """Bring the tree to its normal form."""
    for node, scope in scopes(root).items():
        work.declared[node] = frozenset(scope.bound)
    sugar = _Sugar(work)
    root.body = sugar.suite(root.body)
    for function in functions(root):
        _options(function, work)
    return root


def _options(function: gast.FunctionDef, work: Work) -> None:
    """A dict is made of what `**options` collects, unless it is only handed on."""
    if function.args.kwarg is None:
        return
    name = function.args.kwarg.id
    handed_on = {
        part.value
        for stmt in function.body
        for part in walk(stmt)
        if isinstance(part, gast.keyword) and part.arg is None
    }
    used = [
        part
        for stmt in function.body
        for part in walk(stmt)
        if isinstance(part, gast.Name) and part.id == name and part not in handed_on
    ]
    if used:
        start = locate(assign(name, work.ag("dict_", load(name))), function)
        function.body.insert(after_docstring(function.body), start)


def first_parameter(function: gast.FunctionDef) -> str | None:
    """The name of the parameter that `super()` looks at; None where there is none, or none that lasts."""
    params = parameter_nodes(function.args)
    if not params or not (function.args.args or function.args.posonlyargs):
        return None
    name: str = params[0].id
    deleted = [
        part for part in walk(function) if isinstance(part, gast.Name) and isinstance(part.ctx, gast.Del)
    ]
    return None if any(part.id == name for part in deleted) else name


def after_docstring(body: list[gast.AST]) -> int:
    """Where in a body a prologue may stand."""
    first = body[0] if body else None
    return int(
        isinstance(first, gast.Expr)
        and isinstance(first.value, gast.Constant)
        and isinstance(first.value.value, str)
    )


class _Sugar(Rewriter):
    def __init__(self, work: Work) -> None:
        self.work = work
        self.first_parameter = first_parameter(work.root)

    def suite(self, stmts: list[gast.AST]) -> list[gast.AST]:
        done: list[gast.AST] = []
        for stmt in stmts:
            result = self.visit(stmt)
            done += result if isinstance(result, list) else [result]
        return done

    def visit_Assert(self, node: Any) -> Any:
        self.generic(node)
        if not __debug__:
            return []
        error = load("AssertionError")
        if self.work.builtin("AssertionError") is None:
            self.work.refuse(
                node, "an assert here is not converted", "AssertionError means something else here"
            )
        problem = gast.Raise(exc=call(error, node.msg) if node.msg is not None else error, cause=None)
        test = node.test
        inverse = (
            test.operand
            if isinstance(test, gast.UnaryOp) and isinstance(test.op, gast.Not)
            else negation(test)
        )
        return locate(branch(inverse, [problem]), node)

    def visit_Import(self, node: Any) -> Any:
        done = []
        for alias in node.names:
            whole = [constant(True)] if alias.asname else []
            value = self.work.ag("import_", constant(alias.name), *whole)
            done.append(locate(assign(alias.asname or alias.name.partition(".")[0], value), node))
        return done

    def visit_ImportFrom(self, node: Any) -> Any:
        if any(alias.name == "*" for alias in node.names):
            return node
        done = []
        for alias in node.names:
            level = [constant(node.level)] if node.level else []
            value = self.work.ag("import_from", constant(node.module or ""), constant(alias.name), *level)
            done.append(locate(assign(alias.asname or alias.name, value), node))
        return done

    def visit_AnnAssign(self, node: Any) -> Any:
        if node.value is None:
            return self.evaluated(node)
        return self.visit(locate(assign(node.target, node.value), node))

    def evaluated(self, node: Any) -> list[Any]:
        """What is evaluated of the target of an annotation without a value."""
        parts = [getattr(node.target, "value", None)]
        index = getattr(node.target, "slice", None)
        for part in index.elts if isinstance(index, gast.Tuple) else [index]:
            parts += [part.lower, part.upper, part.step] if isinstance(part, gast.Slice) else [part]
        return [self.visit(locate(expression(part), node)) for part in parts if part is not None]

    def visit_Assign(self, node: Any) -> Any:
        self.generic(node)
        shape = [None, None] if self.work.is_operator(node.value, "match") else display_shape(node.value)
        if all(not isinstance(target, PATTERNS) or plain(target, shape) for target in node.targets):
            return node
        if len(node.targets) == 1:
            return unpack(node.targets[0], node.value, self.work, shape)
        name = self.work.fresh("value")
        done = [locate(assign(name, node.value), node)]
        for target in node.targets:
            done += unpack(target, locate(load(name), node), self.work)
        return done

    def visit_Call(self, node: Any) -> Any:
        if not isinstance(node.func, gast.Name) or node.func.id != "super":
            return self.generic(node)
        if self.work.builtin("super") is None:
            return self.generic(node)
        if any(isinstance(arg, gast.Starred) for arg in node.args) or node.keywords:
            return self.visit(node.func)
        node.args = list(map(self.visit, node.args))
        first = self.first_parameter
        if node.args:
            return node
        if first is None:
            return self.visit(node.func)
        node.args = [locate(load("__class__"), node), locate(load(first), node)]
        return node

    def visit_Name(self, node: Any) -> Any:
        if node.id == "super" and isinstance(node.ctx, gast.Load) and self.work.builtin("super") is not None:
            self.work.refuse(node, "super() is not converted here", "it looks at the frame that calls it")
        return node

    def visit_Lambda(self, node: Any) -> Any:
        outer, self.first_parameter = self.first_parameter, first_parameter(node)
        self.generic(node)
        self.first_parameter = outer
        return node

    def visit_GeneratorExp(self, node: Any) -> Any:
        """A function of its own, whose first argument is no object."""
        outer, self.first_parameter = self.first_parameter, None
        self.generic(node)
        self.first_parameter = outer
        return node

    if not INLINED:
        visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp

    def visit_FunctionDef(self, node: Any) -> Any:
        outer, self.first_parameter = self.first_parameter, first_parameter(node)
        self.generic(node)
        self.first_parameter = outer
        decorators, node.decorator_list = node.decorator_list, []
        before, value = [], load(node.name)
        appliers = []
        for decorator in decorators:
            if len(decorators) == 1 and self.may_wait(decorator, node):
                appliers.append(decorator)
                continue
            name = self.work.fresh("decorator")
            before.append(locate(assign(name, decorator), decorator))
            appliers.append(locate(load(name), decorator))
        for applier in reversed(appliers):
            value = locate(call(applier, value), applier)
        after = [locate(assign(node.name, value), decorators[0])] if decorators else []
        return [*before, node, *after]

    def may_wait(self, decorator: Any, node: Any) -> bool:
        """Whether a decorator means the same after the definition, where Python asks for it before."""
        plain = all(isinstance(part, (gast.Name, gast.Constant)) for part in outer_parts(node))
        return isinstance(decorator, gast.Name) and decorator.id != node.name and plain
