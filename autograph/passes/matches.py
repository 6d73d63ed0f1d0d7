"""`match` becomes a chain of `if`s over `ag.match`, which tells whether a pattern fits and what it binds.

In: the user's tree.  Out: the same without `match` statements.  As in Python, a case's names are bound
once its pattern fits, before its guard is asked, and the next case is tried when the guard is false.
"""

from __future__ import annotations

from typing import Any

import gast

from autograph.passes.context import Work
from autograph.passes.walk import Rewriter
from autograph.template import (
    assign,
    attribute,
    branch,
    call,
    constant,
    lambda_,
    load,
    locate,
    negation,
    targets,
    tuple_of,
)


def matches(root: gast.FunctionDef, work: Work) -> gast.FunctionDef:
    """Rewrite every `match` in the tree."""
    _Matches(work).visit(root)
    return root


class _Matches(Rewriter):
    """first: whether what comes next in the pattern is what Python asks first of all."""

    def __init__(self, work: Work) -> None:
        self.work, self.first = work, True

    def visit_Match(self, node: Any) -> Any:
        self.generic(node)
        subject = self.work.fresh("subject")
        return [locate(assign(subject, node.subject), node), *self.cases(subject, list(node.cases), node)]

    def cases(self, subject: str, cases: list[Any], node: gast.AST) -> Any:
        """The statements that try these cases in order."""
        if not cases:
            return []
        case, rest = cases[0], self.cases(subject, cases[1:], node)
        pattern = case.pattern
        if isinstance(pattern, gast.MatchAs) and pattern.pattern is None:  # fits everything
            taken = [assign(pattern.name, load(subject))] if pattern.name else []
            if case.guard is None:
                return locate([*taken, *case.body], pattern)
            return locate([*taken, branch(case.guard, case.body, rest)], pattern)
        self.first = True
        built, names = self.pattern(pattern)
        fits, bound = self.work.fresh("fits"), self.work.fresh("bound")
        asked = assign(targets([fits, bound]), self.work.ag("match", load(subject), built))
        taken = (
            [assign(targets(names) if len(names) > 1 else targets_of(names[0]), load(bound))] if names else []
        )
        if case.guard is None:
            return locate([asked, branch(load(fits), [*taken, *case.body], rest)], pattern)
        done = self.work.fresh("matched")
        chosen = [*taken, branch(case.guard, [assign(done, constant(True)), *case.body])]
        tried = [assign(done, constant(False)), asked, branch(load(fits), chosen)]
        return locate([*tried, branch(negation(load(done)), rest)] if rest else tried, pattern)

    # ------------------------------------------------------------------ patterns
    def pattern(self, p: Any) -> tuple[gast.AST, list[str]]:
        """The expression that makes the pattern, and the names it binds, in order."""
        return getattr(self, "_" + type(p).__name__)(p)  # type: ignore[no-any-return]

    def make(self, kind: str, *args: gast.AST, **named: gast.AST) -> gast.AST:
        return call(attribute(attribute(load(self.work.ctx.ag), "pattern"), kind), *args, **named)

    def several(self, patterns: list[Any]) -> tuple[gast.AST, list[str]]:
        built, names = [], []
        for p in patterns:
            expression, more = self.pattern(p)
            built.append(expression)
            names += more
        return tuple_of(built), names

    def later(self, value: Any) -> gast.AST:
        """A name that Python may not come to: it may have no value then."""
        first, self.first = self.first, False
        if first or not isinstance(value, gast.Attribute):
            return value
        return self.make("Later", lambda_((), value))

    def _MatchValue(self, p: Any) -> tuple[gast.AST, list[str]]:
        return self.make("Value", self.later(p.value)), []

    def _MatchSingleton(self, p: Any) -> tuple[gast.AST, list[str]]:
        return self.make("Singleton", constant(p.value)), []

    def _MatchAs(self, p: Any) -> tuple[gast.AST, list[str]]:
        if p.pattern is None:
            return (self.make("Wildcard"), []) if p.name is None else (self.make("Capture"), [p.name])
        inner, names = self.pattern(p.pattern)
        return self.make("Bind", inner), [*names, p.name]

    def _MatchSequence(self, p: Any) -> tuple[gast.AST, list[str]]:
        self.first = False
        star = next((i for i, q in enumerate(p.patterns) if isinstance(q, gast.MatchStar)), -1)
        if star < 0:
            built, names = self.several(p.patterns)
            return self.make("Sequence", built), names
        rest = p.patterns[star].name
        before, first = self.several(p.patterns[:star])
        after, last = self.several(p.patterns[star + 1 :])
        built = tuple_of([*before.elts, *after.elts])
        made = self.make("Sequence", built, constant(star), constant(rest is not None))
        return made, [*first, *([rest] if rest else []), *last]

    def _MatchMapping(self, p: Any) -> tuple[gast.AST, list[str]]:
        self.first = False
        keys = tuple_of(map(self.later, p.keys))
        built, names = self.several(p.patterns)
        made = self.make("Mapping", keys, built, constant(p.rest is not None))
        return made, [*names, *([p.rest] if p.rest else [])]

    def _MatchClass(self, p: Any) -> tuple[gast.AST, list[str]]:
        cls = self.later(p.cls)
        built, names = self.several(p.patterns)
        named, more = self.several(p.kwd_patterns)
        keys = tuple_of(constant(k) for k in p.kwd_attrs)
        return self.make("Class", cls, built, keys, named), [*names, *more]

    def _MatchOr(self, p: Any) -> tuple[gast.AST, list[str]]:
        parts = [self.pattern(q) for q in p.patterns]
        names = parts[0][1]
        orders = tuple_of(tuple_of(constant(own.index(n)) for n in names) for _, own in parts)
        return self.make("Either", tuple_of(e for e, _ in parts), orders), names


def targets_of(name: str) -> gast.AST:
    """The target `(name,)`."""
    pair = targets([name, name])
    pair.elts = pair.elts[:1]
    return pair
