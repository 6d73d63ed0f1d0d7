"""`OpDef`, the row type of the op table: everything known of one op, in one place.

A row is data.  Rules import nothing above this layer; what they need (types, a builder) they are
handed.  A rule that an op does not have is an explicit None, never a missing key.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from runtime.dataclass import dataclass
from runtime.types import Type

# Effects, weakest first.
PURE = "pure"  # result depends on the operands (and the contents of arrays) only; may raise
WRITE = "write"  # writes into its first operand (an array or a container); nothing else changes
EFFECT = "effect"  # may do anything Python can: never moved, merged or dropped


@dataclass(frozen=True, kw_only=True)
class OpDef:
    """One op.

    name: as in `Node.op`.
    doc: one sentence.
    rule: types of the operands (positional, then keywords by name; constants come as `StaticType`) to
        the type of the result.  A claim it makes must be exact; where it can't be sure it returns a
        wider type, at the end `OBJECT`.  None: no result.
    run: the callable that carries the op out on run-time values, called with the operands.
    source: Python text with `{0}`, `{1}` for operands that prints as an expression (`{0} + {1}`) or, for
        ops without result, a statement (`{0}[{1}] = {2}`); None: printed as a call of `path`.
    path: dotted NumPy path of the callable ("numpy.linalg.solve"), used to print calls and to find the
        CuPy twin; None where `source` says it all.
    captures: NumPy callables that record this op when they meet a traced value.
    method: name of the ndarray method that means the same (`sum`), or None.
    effect: PURE, WRITE or EFFECT.
    raises: whether it can raise on operands whose types the rule accepts precisely (such a node is kept
        even if nobody needs its result).
    precedence: of the printed expression, as in the Python grammar (0 loosest .. 20 atom).
    cupy: dotted CuPy path, "" when the same expression works on CuPy arrays, None when CuPy lacks it.
    scalar: lowering of one element for native printers by dtype kind, or None.
    rules: `vjp` and `jvp`, of a row that brings its own; those of all others are loaded when first asked for.
    vjp: reverse rules by operand, `{position or keyword: rule}`, or None where there is no derivative.
        `rule(ct, result, *operands, **keywords)` gives the operand's cotangent; for an operand that is a
        list of arrays, a list.  It may broadcast against the operand: the caller sums and casts.  An
        operand that is left out has no gradient.  Rules are written in NumPy functions and those of
        `runtime.ops.adjoint`, which also has the other words that may stand here.
    jvp: forward rules in the same form: `rule(tangent, result, *operands, **keywords)` gives the change
        of the result; where one is missing, the transpose of the reverse rule is taken.
    batch: batching rule, or None.
    domain: (low, high) of sample inputs for tests; special: extra sample points.
    ulp: how many units in the last place a result may differ between executors.
    """

    name: str
    doc: str
    rule: Callable[..., Type] | None
    run: Callable[..., Any]
    source: str | None = None
    path: str | None = None
    captures: tuple[Callable[..., Any], ...] = ()
    method: str | None = None
    effect: str = PURE
    raises: bool = True
    precedence: int = 20
    cupy: str | None = ""
    scalar: Callable[..., Any] | None = None
    rules: tuple[Any, Any] | None = None
    batch: Callable[..., Any] | None = None
    domain: tuple[float, float] = (-2.0, 2.0)
    special: tuple[Any, ...] = ()
    ulp: int = 0
    told: ClassVar[Callable[[str], tuple[Any, Any]]] = lambda _: (None, None)  # `rules` by name

    @property
    def vjp(self) -> Any:
        """The reverse rules."""
        return (self.rules or OpDef.told(self.name))[0]

    @property
    def jvp(self) -> Any:
        """The forward rules."""
        return (self.rules or OpDef.told(self.name))[1]
