"""f-strings become calls of `str.format`, `%` on a text an operator: values may be known only at run time.

In: any tree.  Out: `"{:.3f} of {}".format(x, y)`; conversions and nested specs stay in the template.
A text without values is a plain constant.  `"%g" % x` becomes `ag.percent("%g", x)`, and so does `%` on a
name that may hold a text.
"""

from __future__ import annotations

from typing import Any

import gast

from autograph.passes.context import Work
from autograph.passes.walk import Rewriter
from autograph.template import attribute, call, constant, locate
from autograph.trees import walk


def texts(root: gast.FunctionDef, work: Work) -> gast.FunctionDef:
    """Rewrite every f-string in the tree."""
    _Texts(work).visit(root)
    return root


class _Texts(Rewriter):
    def __init__(self, work: Work) -> None:
        self.work = work
        self.texts = {  # names that hold a text at times
            target.id
            for node in walk(work.root)
            if isinstance(node, gast.Assign) and _is_text(node.value)
            for target in node.targets
            if isinstance(target, gast.Name)
        }

    def visit_BinOp(self, node: Any) -> Any:
        self.generic(node)
        if (
            not self.may_be_text(node.left)
            or not isinstance(node.op, gast.Mod)
            or isinstance(node.right, gast.Constant)
        ):
            return node
        return locate(self.work.ag("percent", node.left, node.right), node)

    def may_be_text(self, left: Any) -> bool:
        """Whether the left side of a `%` is a text, as far as can be seen."""
        if isinstance(left, gast.Constant):
            return isinstance(left.value, (str, bytes))
        if isinstance(left, gast.Name) and left.id in self.texts:
            return True
        return self.work.ctx.careful or isinstance(self.work.resolved(left), (str, bytes))

    def visit_JoinedStr(self, node: Any) -> Any:
        return locate(self.text(node), node)

    def text(self, node: Any) -> gast.AST:
        template, values = "", []
        for part in node.values:
            if isinstance(part, gast.FormattedValue):
                field, used = self.field(part)
                template += field
                values += used
            else:
                template += part.value.replace("{", "{{").replace("}", "}}")
        if not values:
            return constant("".join(part.value for part in node.values))
        return call(attribute(constant(template), "format"), *values)

    def field(self, part: Any) -> tuple[str, list[gast.AST]]:
        """The replacement field of one value, and the values that it takes."""
        conversion = "" if part.conversion in (-1, None) else "!" + chr(part.conversion)
        values = [self.visit(part.value)]
        if part.format_spec is None:
            return "{" + conversion + "}", values
        spec = ""
        for inner in part.format_spec.values:
            if isinstance(inner, gast.FormattedValue) and inner.format_spec is None:
                spec += "{" + ("" if inner.conversion in (-1, None) else "!" + chr(inner.conversion)) + "}"
                values.append(self.visit(inner.value))
            elif isinstance(inner, gast.Constant) and not set("{}") & set(inner.value):
                spec += inner.value
            else:
                return "{" + conversion + ":{}}", [values[0], locate(self.text(part.format_spec), part)]
        return "{" + conversion + ":" + spec + "}", values


def _is_text(node: Any) -> bool:
    return isinstance(node, gast.JoinedStr) or isinstance(getattr(node, "value", None), (str, bytes))
