"""Nested containers as trees: flatten, unflatten and map, with the path of each leaf.

In: a value made of tuples, namedtuples, lists, dicts, deques and their standard relatives.  Out: its
leaves in order, and a structure that rebuilds it.  Dicts keep their insertion order, None is a leaf,
and so is every object whose class is not a container: `unflatten(structure, leaves)` always gives an
equal tree of the same classes.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from runtime.lazy import Lazy

NAMESPACE = "autograph"
_containers: list[tuple[type, Callable[[Any], Any], Callable[[Any, Any], Any]]] = []
_kept: list[object] = []


def _prepare(library: Any) -> None:
    """Sorting the keys of dicts would change the order in which Python code sees them.

    The setting is optree's, per namespace, so entering it for good changes nothing for others who use it.
    """
    ordered = library.dict_insertion_ordered(True, namespace=NAMESPACE)
    ordered.__enter__()
    atexit.register(ordered.__exit__, None, None, None)  # else it complains when the interpreter is torn down
    _kept.append(ordered)
    for kind, parts, build in _containers:
        library.register_pytree_node(kind, parts, build, namespace=NAMESPACE)


if TYPE_CHECKING:
    import optree

    Structure = optree.PyTreeSpec
else:
    optree = Lazy("optree", _prepare)


def container(kind: type, parts: Callable[[Any], Any], build: Callable[[Any, Any], Any]) -> None:
    """Make a class one of the containers."""
    if _kept:
        optree.register_pytree_node(kind, parts, build, namespace=NAMESPACE)
    else:
        _containers.append((kind, parts, build))


def flatten(tree: Any) -> tuple[list[Any], Structure]:
    """The leaves of `tree`, in order, and the structure around them.

    >>> flatten({"b": (1, None), "a": [2]})[0]
    [1, None, 2]
    """
    return optree.tree_flatten(tree, none_is_leaf=True, namespace=NAMESPACE)


def flatten_with_paths(tree: Any, root: str = "") -> tuple[list[tuple[str, Any]], Structure]:
    """As `flatten`, each leaf with the Python text that reaches it from `root`.

    >>> flatten_with_paths({"b": (1, 2)}, "x")[0]
    [("x['b'][0]", 1), ("x['b'][1]", 2)]
    """
    accessors, leaves, structure = optree.tree_flatten_with_accessor(
        tree, none_is_leaf=True, namespace=NAMESPACE
    )
    return [(at.codify(root), leaf) for at, leaf in zip(accessors, leaves, strict=True)], structure


def unflatten(structure: Structure, leaves: Iterable[Any]) -> Any:
    """The tree of this structure with these leaves; ValueError when their number is wrong."""
    return optree.tree_unflatten(structure, leaves)


def map_leaves(fn: Callable[..., Any], tree: Any, *rest: Any) -> Any:
    """`fn` applied to each leaf (and to the leaves of `rest` at the same place), in the same structure.

    >>> map_leaves(lambda a, b: a + b, (1, [2]), (10, [20]))
    (11, [22])
    """
    return optree.tree_map(fn, tree, *rest, none_is_leaf=True, namespace=NAMESPACE)


class _Leaf:
    def __repr__(self) -> str:
        return "value"


def shown(structure: Structure) -> str:
    """A structure as Python would show a tree of it.

    >>> shown(flatten({"a": (1, [2])})[1])
    "{'a': (value, [value])}"
    """
    return repr(unflatten(structure, [_Leaf()] * structure.num_leaves))
