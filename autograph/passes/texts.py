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
        late = self.formatted_late(node.values)
        for number, part in enumerate(node.values):
            if not isinstance(part, gast.FormattedValue):
                template += part.value.replace("{", "{{").replace("}", "}}")
                continue
            field, used = self.field(part)
            if number in late:
                template += field
                values += used
            else:
                template += "{}"
                values.append(locate(call(attribute(constant(field), "format"), *used), part))
        if not values:
            return constant("".join(part.value for part in node.values))
        return call(attribute(constant(template), "format"), *values)

    def formatted_late(self, parts: list[Any]) -> set[int]:
        """The parts behind which no code runs: only these may wait for the values of all others.

        Python formats each value before it evaluates the next one, which may change it."""
        found: set[int] = set()
        for number in reversed(range(len(parts))):
            found.add(number)
            part = parts[number]
            if isinstance(part, gast.FormattedValue) and not self.is_plain(part):
                break
        return found

    def is_plain(self, part: Any) -> bool:
        """Whether a field reads names only."""
        kinds = (gast.FormattedValue, gast.JoinedStr, gast.Name, gast.Constant)
        return all(isinstance(node, kinds) or self.is_box(node) for node in walk(part))

    def is_box(self, node: Any) -> bool:
        """Whether the node reads a shared name."""
        value = node.value if isinstance(node, gast.Attribute) else None
        return isinstance(value, gast.Name) and value.id in self.work.boxes

    def field(self, part: Any) -> tuple[str, list[gast.AST]]:
        """The replacement field of one value, and the values that it takes."""
        conversion = "" if part.conversion in (-1, None) else "!" + chr(part.conversion)
        plain = self.is_plain(part)
        values = [self.visit(part.value)]
        if part.format_spec is None:
            return "{" + conversion + "}", values
        spec = ""
        for inner in part.format_spec.values:
            if isinstance(inner, gast.FormattedValue) and inner.format_spec is None and plain:
                spec += "{" + ("" if inner.conversion in (-1, None) else "!" + chr(inner.conversion)) + "}"
                values.append(self.visit(inner.value))
            elif isinstance(inner, gast.Constant) and not set("{}") & set(inner.value):
                spec += inner.value
            else:
                return "{" + conversion + ":{}}", [values[0], locate(self.text(part.format_spec), part)]
        return "{" + conversion + ":" + spec + "}", values


def _is_text(node: Any) -> bool:
    return isinstance(node, gast.JoinedStr) or isinstance(getattr(node, "value", None), (str, bytes))
