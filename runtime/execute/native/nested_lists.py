"""Lists of lists of numbers: real Python lists of lists that can be handed on.

In: lists of numbers of one kind.  Out: `Nested`, and code.  What always holds: an inner list is one wherever
it is found, so what is put into it by one name is seen by all.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from runtime.execute.native import array_lists
from runtime.execute.native.array_lists import cells, trips
from runtime.execute.native.arrays import create, times
from runtime.execute.native.kinds import PYTHON_INT, Scalar, Unlowered
from runtime.execute.native.state import Carried, Inner, State, WrongGuess
from runtime.execute.native.values import Arr, Listing, Nested, Shared, Val


def made(state: State, maker: Hashable) -> Nested:
    """A new list."""
    return Nested(array_lists.new_list(state), frozenset((maker,)), state.depth, state.owned)


def learn(state: State, keys: frozenset[Hashable], x: Val) -> Shared:
    """A list that these places make has such a list in it."""
    if isinstance(x, Listing):
        for key in keys:
            state.forms.setdefault(key, Inner(*_guess(x), frozenset((x.maker,))))
        handed_on([x])
    if not isinstance(x, Shared):
        raise Unlowered("a list of lists of other things than numbers of one kind")
    for key in keys:
        known = state.forms.get(key)
        if known is None or (isinstance(known, Inner) and known.guessed and not x.guessed):
            makers = x.makers | (known.makers if isinstance(known, Inner) else frozenset())
            joined = Inner(x.kind, x.guessed, makers)
        elif not isinstance(known, Inner):
            raise Unlowered("a list of lists and other things")
        elif known.kind != x.kind and not x.guessed:
            raise Unlowered("a list of lists of different kinds of numbers")
        else:
            joined = Inner(known.kind, known.guessed, known.makers | x.makers)
        if x.kind != joined.kind:
            raise WrongGuess(dict.fromkeys(x.makers, Carried((joined.kind,))))
        if joined != known:
            state.forms[key] = joined
            if key in state.asked:
                raise WrongGuess
    return x


def handed_on(items: Sequence[Listing]) -> None:
    """These lists are in other ones: their cells can't be on the stack."""
    if items:
        found = {x.maker: Carried((_guess(x)[0],), _guess(x)[1]) for x in items}
        raise WrongGuess(found)


def _guess(x: Listing) -> tuple[Scalar, bool]:
    """The kind of its numbers, and whether that is a guess."""
    return (PYTHON_INT, True) if x.kind is None else (x.kind, x.guessed)


def form_of(state: State, x: Nested) -> Inner:
    """What its items have in common."""
    found: Inner | None = None
    for key in x.makers:
        form = state.forms.get(key)
        state.asked.add(key)
        if isinstance(form, Inner):
            if found is not None and found.kind != form.kind:
                raise Unlowered("lists of lists of different kinds of numbers")
            makers = form.makers | (found.makers if found is not None else frozenset())
            found = Inner(form.kind, form.guessed, makers)
    if found is None:
        raise Unlowered("a list that nothing is put into")
    return found


def put(state: State, x: Nested, value: Val, at: str | None = None) -> None:
    """Put a list at the end, or in the place of another one."""
    inner = learn(state, x.makers, value)
    state.e.flush()
    array_lists.put(state, x, inner.handle, at)


def item(state: State, x: Nested, at: str) -> Shared:
    """The list in a place that is in range."""
    form = form_of(state, x)
    handle = array_lists.taken(state, x, at)
    return Shared(handle, form.kind, form.makers, state.depth, state.owned, form.guessed)


def as_array(state: State, x: Nested) -> Arr:
    """`np.array(x)`; where there are no numbers, or lists of different lengths, it is left to the plan."""
    e, kind = state.e, form_of(state, x).kind
    e.flush()
    n = array_lists.length(e, x)
    e.bail_if(e.effect(f"icmp eq i64 {n}, 0"))
    first = cells(e, item(state, x, "0"))
    m = e.effect(f"load i64, ptr {first.length}")
    e.bail_if(e.effect(f"icmp eq i64 {m}, 0"))
    new = create(state, [n, m], kind.dtype, False)
    size = e.effect(f"mul i64 {m}, {kind.dtype.itemsize}")
    e.declare("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
    with trips(state, n) as k:
        row = cells(e, item(state, x, k))
        e.bail_if(e.effect(f"icmp ne i64 {e.effect(f'load i64, ptr {row.length}')}, {m}"))
        to = e.effect(f"getelementptr i8, ptr {new.data}, i64 {times(e, k, new.strides[0])}")
        source = e.effect(f"load ptr, ptr {row.data}")
        e.line(f"call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {source}, i64 {size}, i1 false)")
    return new
