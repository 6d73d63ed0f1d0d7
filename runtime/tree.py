"""Nested containers as trees: flatten, unflatten and map, with the path of each leaf.

In: a value made of tuples, namedtuples, lists, dicts, deques and their standard relatives.  Out: its
leaves in order, and a structure that rebuilds it.  Dicts keep their insertion order, None is a leaf,
and so is every object whose class is not a container: `unflatten(structure, leaves)` always gives an
equal tree of the same classes.
"""

from __future__ import annotations

import atexit
import weakref
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

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
    library.register_pytree_node(
        Data,
        lambda data: (data.values, (data.cls, data.names), data.names),
        lambda facts, values: make(*facts, *values),
        path_entry_type=library.GetAttrEntry,
        namespace=NAMESPACE,
    )


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


def paths(structure: Structure, root: str = "") -> list[str]:
    """The Python text that reaches each leaf from `root`.

    >>> paths(flatten({"b": (1, 2)})[1], "x")
    ["x['b'][0]", "x['b'][1]"]
    """
    return [at.codify(root) for at in structure.accessors()]


def unflatten(structure: Structure, leaves: Iterable[Any]) -> Any:
    """The tree of this structure with these leaves; ValueError when their number is wrong."""
    return optree.tree_unflatten(structure, leaves)


def map_leaves(fn: Callable[..., Any], tree: Any, *rest: Any) -> Any:
    """`fn` applied to each leaf (and to the leaves of `rest` at the same place), in the same structure.

    >>> map_leaves(lambda a, b: a + b, (1, [2]), (10, [20]))
    (11, [22])
    """
    return optree.tree_map(fn, tree, *rest, none_is_leaf=True, namespace=NAMESPACE)


class Data:
    """What stands for an instance of a dataclass where its fields are parts of a tree."""

    __slots__ = ("cls", "names", "values")

    def __init__(self, cls: type, names: tuple[str, ...], values: Iterable[Any]) -> None:
        self.cls, self.names, self.values = cls, names, tuple(values)


def instance(cls: type, names: tuple[str, ...], *values: Any) -> Any:
    """An instance of a dataclass with these fields; its `__init__` is not called."""
    made: Any = object.__new__(cls)
    for name, value in zip(names, values, strict=True):
        object.__setattr__(made, name, value)
    return made


_maker: Callable[..., Any] = instance


def make(cls: type, names: tuple[str, ...], *values: Any) -> Any:
    """What `unflatten` makes of the fields of a dataclass: an instance, or what stands for one in a trace."""
    return _maker(cls, names, *values)


def set_maker(maker: Callable[..., Any]) -> None:
    """Give the function that makes instances of dataclasses, or stands in for them in a trace."""
    global _maker
    _maker = maker


def field_names(cls: type) -> tuple[str, ...] | None:
    """The fields of a dataclass; None for any other class."""
    fields = getattr(cls, "__dataclass_fields__", None)
    if type(fields) is not dict or issubclass(cls, _NO_DATA):
        return None
    found = _names.get(cls)
    if found is None:
        found = tuple(name for name, field in fields.items() if field._field_type.name == "_FIELD")
        _names[cls] = found
    return found


_NO_DATA = (tuple, list, dict, set, str, bytes, int, float, complex)
_names: weakref.WeakKeyDictionary[type, tuple[str, ...]] = weakref.WeakKeyDictionary()


def data_names(x: Any) -> tuple[str, ...] | None:
    """The fields of an instance of a dataclass that holds nothing else; None for anything else."""
    names = field_names(type(x))
    if names is None:
        return None
    held = getattr(x, "__dict__", None)
    if held is not None and len(held) == len(names):
        return names if all(name in held for name in names) else None
    return names if not held and all(hasattr(x, name) for name in names) else None


def flatten_data(tree: Any) -> tuple[list[Any], Structure]:
    """As `flatten`, through instances of dataclasses, too: their fields are parts of the tree.

    >>> import dataclasses
    >>> P = dataclasses.make_dataclass("P", ["w", "b"])
    >>> flatten_data([P((1, 2), 3.0)])[0]
    [1, 2, 3.0]
    """
    if _is_data(tree):
        return flatten(_as_data(tree))
    leaves, structure = flatten(tree)
    if not any(map(_is_data, leaves)):
        return leaves, structure
    return flatten(map_leaves(_as_data, tree))


def as_data(tree: Any) -> Any:
    """The tree with `Data` in the places of instances of dataclasses, so that `flatten` goes through them."""
    if _is_data(tree):
        return _as_data(tree)
    return map_leaves(_as_data, tree) if any(map(_is_data, flatten(tree)[0])) else tree


def _is_data(x: Any) -> bool:
    return type(x) not in _LEAVES and data_names(x) is not None


def _as_data(leaf: Any) -> Any:
    names = data_names(leaf)
    if names is None:
        return leaf
    values = [getattr(leaf, name) for name in names]
    return Data(type(leaf), names, [v if type(v) in _LEAVES else map_leaves(_as_data, v) for v in values])


_LEAVES = frozenset({np.ndarray, np.float64, np.float32, float, int, bool, complex, str, type(None)})


def map_data(fn: Callable[..., Any], tree: Any, *rest: Any) -> Any:
    """As `map_leaves`, through instances of dataclasses, too."""
    leaves, structure = flatten_data(tree)
    others = [flatten_data(x)[0] for x in rest]
    return unflatten(structure, [fn(*parts) for parts in zip(leaves, *others, strict=True)])


class _Leaf:
    def __repr__(self) -> str:
        return "value"


def shown(structure: Structure) -> str:
    """A structure as Python would show a tree of it.

    >>> shown(flatten({"a": (1, [2])})[1])
    "{'a': (value, [value])}"
    """
    return repr(unflatten(structure, [_Leaf()] * structure.num_leaves))
