"""Lists of which it isn't known how long they are: of which type their items are.

In: lists that the trace made and that nobody else has.  Out: the join of the types of all that was put into
one, and how many items it has at least.  What always holds: both are true of the list at the current point;
of a list that others may have, nothing is known.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from runtime.ir.graph import Operand
from runtime.ir.opdef import OpDef
from runtime.trace.core import Trace
from runtime.trace.values import Object, Traced, known_class
from runtime.types import OBJECT, ArrayType, NumberType, TupleType, Type, WeakType, join, static_or_weak

Known = tuple[Type | None, int]  # None: nothing was put into it
_REFUSING = frozenset(
    "np." + n for n in ("stack", "concatenate", "vstack", "hstack", "dstack", "column_stack")
)


def know(trace: Trace, handle: Traced, items: Iterable[Any]) -> None:
    """The (new) list holds exactly these items."""
    known: Known = (None, 0)
    for x in items:
        known = _with(trace, known, x)
    trace.heap.kinds[handle._facts.identity] = known


def known(trace: Trace, x: Any) -> Known | None:
    """What is known of a list."""
    who = x._facts.identity if isinstance(x, Object) else None
    return None if who is None or who in trace.heap.escaped else trace.heap.kinds.get(who)


def item_type(trace: Trace, x: Any) -> Type:
    """The type of the items of a list."""
    found = known(trace, x)
    return OBJECT if found is None or found[0] is None else found[0]


def put(trace: Trace, x: Traced, items: Iterable[Any], more: int = 1) -> None:
    """The items were put into the list, which is longer by `more` of them each."""
    found = known(trace, x)
    for i in items if found is not None else ():
        found = _with(trace, found, i, more)
    if found is not None:
        trace.heap.kinds[x._facts.identity] = found


def extended(trace: Trace, x: Traced, items: Iterable[Any] | None) -> None:
    """The items were put at the end of the list; None: nobody knows which."""
    if items is None:
        forget(trace, x)
    else:
        put(trace, x, items)


def shortened(trace: Trace, x: Traced) -> None:
    """Something may have been taken out of the list."""
    found = known(trace, x)
    if found is not None:
        trace.heap.kinds[x._facts.identity] = found[0], 0


def forget(trace: Trace, x: Traced) -> None:
    """Anything may have been put into the list."""
    trace.heap.kinds.pop(x._facts.identity, None)


def _with(trace: Trace, known: Known | None, x: Any, more: int = 1) -> Known:
    assert known is not None
    t = static_or_weak(trace.type_of(x))
    return (t if known[0] is None else join(known[0], t)), known[1] + more


def looked_into(trace: Trace, x: Any) -> Operand:
    """The operand of what is gone through or asked for its length: a container does not escape by that."""
    plain = isinstance(x, Object) and known_class(x) in (list, dict, set)
    return trace.receiver(x) if plain else trace.operand(x)


def joined_type(trace: Trace, row: OpDef, x: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Type:
    """The type of what a function of a sequence of arrays gives for a list; OBJECT where that isn't known."""
    found = known(trace, x)
    t = found[0] if found is not None else None
    if found is None or not isinstance(t, (ArrayType, WeakType)) or row.rule is None:
        return OBJECT
    if found[1] == 0 and row.name not in _REFUSING:
        return OBJECT  # of an empty list they make an array of another rank or dtype
    rest = [trace.operand(a).type for a in args]
    named = {k: trace.operand(a).type for k, a in kwargs.items()}
    return join(*(row.rule(TupleType((t,) * n), *rest, **named) for n in (2, 3)))


def sum_type(trace: Trace, x: Any) -> Type:
    """The type of the sum of a list's items."""
    found = known(trace, x)
    if found is None or not isinstance(found[0], (ArrayType, WeakType, NumberType)):
        return OBJECT
    zero = WeakType("int")
    add = trace.table["add"].rule
    assert add is not None
    one = add(zero, found[0])
    made = join(one, add(one, found[0]))
    made = join(made, add(made, found[0]))
    return made if found[1] else join(zero, made)
