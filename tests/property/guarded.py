"""Random `try` and `with` nodes, for the generator of random graphs.

In: a `Maker`, a builder and what is in scope.  Out: a node with regions that may raise, catch, swallow, raise
again and diverge.  What always holds: some way goes on after the node, so that graphs do not just end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtime.ir.builder import Builder
from runtime.ir.graph import Const, Operand
from runtime.types import OBJECT, Type, join

CLASSES: tuple[Any, ...] = (ZeroDivisionError, (IndexError, ValueError), Exception, ArithmeticError, None)


class Noting:
    """A context manager that notes what happens to it."""

    def __init__(self, note: Callable[..., Any], swallows: bool) -> None:
        self.note, self.swallows = note, swallows

    def __enter__(self) -> int:
        return int(self.note("enter"))

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> bool:
        self.note("exit", kind.__name__ if kind else None)
        return self.swallows and isinstance(error, Exception)


def may_raise(maker: Any, builder: Builder, inner: list[Operand], problem: type[Exception]) -> bool:
    """End the region in a raise now and then; whether it did."""
    if maker.random.random() < 0.8:
        return False
    error = maker.add(builder, inner, "py.call", (Const(problem), Const("as asked")))
    maker.add(builder, inner, "raise", (error,))
    return True


def add_try(maker: Any, builder: Builder, scope: list[Operand], depth: int, problem: type[Exception]) -> None:
    """A `try` with handlers, perhaps an `orelse` and a `final` part."""
    random = maker.random
    caught = random.sample(CLASSES, random.randint(0, 2))
    caught.sort(key=lambda classes: classes is None)
    orelse, final = random.random() < 0.3, random.random() < 0.4 or not caught
    labels = ["body", *["handler"] * len(caught), *["orelse"] * orelse, *["final"] * final]
    builders = [Builder(label, builder) for label in labels]
    end = labels.index("orelse") if orelse else 0
    count = random.randint(0, 2)
    results: list[list[Operand]] = []
    ended: list[bool] = []
    for k, part in enumerate(builders):
        inner = list(scope)
        if labels[k] == "handler":
            inner.append(part.param(OBJECT, random.choice(("", "error", "x"))))
        maker.fill(part, inner, random.randint(1, 4), depth)
        again = labels[k] == "handler" and random.random() < 0.1
        if again:
            maker.add(part, inner, "raise", ())
        ended.append(again or (labels[k] != "final" and k != end and may_raise(maker, part, inner, problem)))
        ends = k == end or labels[k] == "handler"
        results.append([maker.arm_result(inner) for _ in range(count if ends else 0)])
    ends = [k for k, label in enumerate(labels) if k == end or label == "handler"]
    types = joined(maker, [results[k] for k in ends if not ended[k]])
    captured = captures(builders, results)
    regions = tuple(
        part.region(captured, found, diverges=done)
        for part, found, done in zip(builders, results, ended, strict=True)
    )
    attrs = {"handlers": len(caught), "orelse": orelse, "final": final}
    inputs = (*map(Const, caught), *captured)
    # What only a body that always raises leads to is never reached, but control goes on past the handlers.
    if ended[0] and all(ended[1 : 1 + len(caught)]):
        return
    scope += builder.add("try", inputs, types, attrs=attrs, regions=regions, names=("x",), span=maker.span())


def add_with(
    maker: Any, builder: Builder, scope: list[Operand], depth: int, note: Callable[..., Any]
) -> None:
    """A `with` whose manager notes what happens and may swallow exceptions."""
    random = maker.random
    swallows = random.random() < 0.5
    manager = maker.add(builder, [], "py.call", (Const(Noting), Const(note), Const(swallows)))
    body = Builder("body", builder)
    inner = [*scope, body.param(OBJECT, random.choice(("", "entered")))]
    maker.fill(body, inner, random.randint(1, 4), depth)
    results = [maker.arm_result(inner) for _ in range(random.randint(0, 2))]
    instead = [maker.pick(scope) for _ in results] if swallows else []
    types = joined(maker, [results, instead] if swallows else [results])
    captured = captures([body], [results])
    attrs = {"swallows": swallows}
    inputs = (manager, *instead, *captured)
    regions = (body.region(captured, results),)
    scope += builder.add("with", inputs, types, attrs=attrs, regions=regions, span=maker.span())


def joined(maker: Any, ways: list[list[Operand]]) -> list[Type]:
    """The types that describe the results of all ways."""
    types = [maker.what_is(x) for x in ways[0]] if ways else []
    for found in ways[1:]:
        types = [join(t, maker.what_is(x)) for t, x in zip(types, found, strict=True)]
    return types


def captures(builders: list[Builder], results: list[list[Operand]]) -> list[Any]:
    """The outer values that the regions use, their results included."""
    for part, found in zip(builders, results, strict=True):
        for operand in found:
            part.use(operand)
    return list(dict.fromkeys(x for part in builders for x in part.captures))
