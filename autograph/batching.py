"""`ag.vectorize` and `ag.vmap`: those of `runtime`, as functions that are compiled.

In: Python functions, also those made by `ag.function`.  Out: callables for many items.  What always holds:
each runs as a graph of its own when it is called outside of one, and becomes part of the graph inside.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from autograph.api import function
from autograph.operators.calls import call
from runtime import batching, vectorizing
from runtime.errors import SourceNotFound


def vectorize(
    f: Callable[..., Any], otypes: Any = None, excluded: Collection[int | str] = ()
) -> vectorizing.Vectorized:
    """A function of scalars as a function of arrays, with broadcasting; control flow is element by element.

    otypes: the dtype of the result, or a sequence of them where f returns a tuple; as for `np.vectorize`.
    excluded: positions and names of arguments that are handed on whole.
    An element of bools, int64, float64, complex128 or text comes to f as a Python value (as `np.vectorize`
    passes it), one of another dtype as a NumPy scalar.  A result has the dtype that holds all results, not
    that of the first: what `np.array` makes of the list of them.  Where there are no elements it is the
    one that holds whatever f may return.

    >>> import numpy as np
    >>> vectorize(lambda a, b: a if a > b else -b)(np.array([1, 5]), 3)
    array([-3,  5])
    """
    made = vectorizing.vectorize(f, otypes, excluded, _compiled)
    made.caller = call
    return made


def vmap(f: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> batching.Vmapped:
    """A function that applies `f` to each item along an axis of its arguments and stacks the results.

    in_axes: the axis for all arguments, or one per argument; None for what all items share.  An entry for an
        argument that is a tree holds for all its arrays.  Keyword arguments go along axis 0.
    out_axes: the axis of the results along which the items lie.

    >>> import numpy as np
    >>> vmap(lambda row, w: row @ w, in_axes=(0, None))(np.eye(2), np.array([1.0, 2.0]))
    array([1., 2.])
    """
    made = batching.vmap(f, in_axes, out_axes, _compiled)
    made.caller = call
    return made


def _compiled(batched: Any) -> Callable[..., Any]:
    """The callable as a function with graphs; as it stands, where there is no source to make them of."""
    try:
        made: Callable[..., Any] = function(batched)
    except SourceNotFound:
        return batched  # type: ignore[no-any-return]
    return made
