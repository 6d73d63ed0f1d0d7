"""What a traced function returns, as a tree: containers that are known, trace types at the leaves.

In: the trace value that is returned.  Out: tuples, lists and dicts of trace types.
What always holds: nothing is recorded, so the graph is the same whether one asks or not.
"""

from __future__ import annotations

from typing import Any

from runtime.trace.core import Trace, is_static
from runtime.trace.heap import Loaded
from runtime.trace.values import Object, Traced, known_class
from runtime.types import StaticType, is_namedtuple


def structure(trace: Trace, x: Any, above: tuple[Any, ...] = ()) -> Any:
    """The tree of a trace value; a container whose items aren't known, or that holds itself, is a leaf."""
    if isinstance(x, Object) and x._facts.identity not in above:
        inner = (*above, x._facts.identity)
        keys = _keys(trace, x)
        places = [(x._facts.identity, "item", key) for key in keys or ()]
        if keys is not None and all(place in trace.heap.entries for place in places):
            entries = [trace.heap.entries[place] for place in places]
            parts = [e.type if isinstance(e, Loaded) else structure(trace, e, inner) for e in entries]
            return parts if known_class(x) is list else dict(zip(keys, parts, strict=True))
    if isinstance(x, Traced):
        return x._facts.type
    if type(x) is tuple or is_namedtuple(type(x)):
        parts = [structure(trace, item, above) for item in x]
        return tuple(parts) if type(x) is tuple else tuple.__new__(type(x), parts)
    if type(x) is list:
        return [structure(trace, item, above) for item in x]
    if type(x) is dict:
        return {key: structure(trace, item, above) for key, item in x.items()}
    return StaticType(x) if is_static(x) else trace.type_of(x)


def _keys(trace: Trace, x: Object) -> Any:
    """The indices or keys of a list or dict made here whose items are all known, else None."""
    cls, size = known_class(x), trace.heap.sizes.get(x._facts.identity)
    if size is None or cls not in (list, dict):
        return None
    return range(size) if cls is list else size
