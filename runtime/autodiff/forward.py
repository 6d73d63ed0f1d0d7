"""Forward mode: a level that links each value to its tangent.

In: operands with tangents.  Out: results with tangents.  What always holds: an op without a forward rule
uses the transpose of its reverse rule, which is linear in the cotangent.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from runtime.autodiff.levels import (
    Active,
    Level,
    Place,
    apply,
    bare,
    find_rule,
    fitted,
    here,
    is_inexact,
    map_tree,
    no_rule,
    pick,
    zeros_like,
)
from runtime.autodiff.reverse import Reverse, backward
from runtime.ir.opdef import OpDef
from runtime.ops.adjoint import LINEAR, ZERO, Rule


class Forward(Level):
    """Tangents beside values."""

    def input(self, value: Any, tangent: Any) -> Active:
        """A value and the direction in which it moves."""
        return Active(self, value, tangent)

    def record(
        self,
        row: OpDef,
        result: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        found: list[tuple[Place, Active]],
    ) -> Any:
        """The result with its tangent: the sum of what each operand's tangent does to it."""
        if type(row.run) is np.ufunc:
            kwargs = {}
        total: Any = None
        groups: dict[Any, list[tuple[Place, Active]]] = {}
        for place, x in found:
            groups.setdefault(place[0], []).append((place[1:], x))
        for key, leaves in groups.items():
            operand = args[key] if isinstance(key, int) else kwargs[key]
            tangent = _tangents(operand, dict(leaves))
            part = self._part(row, key, tangent, result, args, kwargs)
            if part is not None:
                part = self._fit(part, result)
                total = part if total is None else self._sum(total, part)
        if isinstance(result, (tuple, list)):
            made: list[Any] = [
                Active(self, x, total[i] if total is not None else zeros_like(x)) if is_inexact(x) else x
                for i, x in enumerate(result)
            ]
            if isinstance(result, tuple):
                return type(result)(*made) if hasattr(result, "_fields") else tuple(made)
            return made
        if not is_inexact(result):
            return result
        return Active(self, result, zeros_like(result) if total is None else total)

    def _part(
        self, row: OpDef, key: Any, tangent: Any, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """What one operand's tangent does to the result; None for nothing."""
        rule = find_rule(row.jvp, key)
        if rule is LINEAR:
            if isinstance(key, int):
                return apply(row, (*args[:key], tangent, *args[key + 1 :]), kwargs)
            return apply(row, args, {**kwargs, key: tangent})
        if rule is ZERO:
            return None
        if rule is not None:
            return self.call(rule, tangent, result, args, kwargs)
        reverse = find_rule(row.vjp, key)
        if reverse is ZERO:
            return None
        if reverse is None:
            if not any(map(is_inexact, result if isinstance(result, (tuple, list)) else (result,))):
                return None
            raise no_rule(row, key, here())
        return self._transposed(reverse, key, tangent, result, args, kwargs)

    def _transposed(
        self,
        rule: Rule,
        key: Any,
        tangent: Any,
        result: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """The reverse rule is linear in the cotangent; its transpose is the forward rule."""
        tape = Reverse(self.surface)
        with tape:
            cts = map_tree(lambda x: tape.input(_full_zeros(x)) if is_inexact(x) else x, result)
            made = tape.call(rule, cts, result, args, kwargs)
            operand = args[key] if isinstance(key, int) else kwargs[key]
            seeds = []
            for place, t in _flat(tangent, ()):
                part = fitted(tape, pick(made, place), pick(operand, place))
                if type(part) is Active and part.level is tape:
                    seeds.append((part, t))
        outputs = list(cts) if isinstance(cts, (tuple, list)) else [cts]
        asked = [x for x in outputs if type(x) is Active]
        back = iter(backward(tape, seeds, asked, self._sum))
        done = []
        for x in outputs:
            if type(x) is Active and x.level is tape:
                ct = next(back)
                done.append(zeros_like(x) if ct is None else ct)
            else:
                done.append(None)
        return tuple(done) if isinstance(cts, (tuple, list)) else done[0]

    def _fit(self, part: Any, result: Any) -> Any:
        if isinstance(result, (tuple, list)):
            return [fitted(self, p, r) if is_inexact(r) else None for p, r in zip(part, result, strict=True)]
        return fitted(self, part, result) if is_inexact(result) else part

    def _sum(self, a: Any, b: Any) -> Any:
        if isinstance(a, list):
            return [None if x is None else self._sum(x, y) for x, y in zip(a, b, strict=True)]
        return self.surface.add(a, b)


def _full_zeros(x: Any) -> Any:
    made = zeros_like(x)
    return np.array(made) if isinstance(made, np.ndarray) else made


def _tangents(operand: Any, tangents: dict[Place, Active], place: Place = ()) -> Any:
    """The tangents of an operand, with zeros where a sequence has items that aren't followed."""
    if isinstance(operand, (tuple, list)):
        made = [_tangents(item, tangents, (*place, i)) for i, item in enumerate(operand)]
        return tuple(made) if isinstance(operand, tuple) else made
    return tangents[place].link if place in tangents else np.multiply(bare(operand), 0)


def _flat(tree: Any, place: Place) -> Iterator[tuple[Place, Any]]:
    if isinstance(tree, (tuple, list)):
        for i, item in enumerate(tree):
            yield from _flat(item, (*place, i))
    else:
        yield place, tree
