"""Built-in functions on traced values: one small rule each.

A rule gets (trace, args, kwargs) and returns the result, or NotImplemented when it has nothing to say
(no traced argument, a form it doesn't know): then the call is treated like any other.
"""

from __future__ import annotations

import functools
import sys
import types
from abc import ABCMeta
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from runtime.errors import Untraceable
from runtime.trace import dicts, extremes, growing, heaps, items, regions, variables
from runtime.trace.attributes import get_attr, set_attr
from runtime.trace.core import Trace, is_static
from runtime.trace.doubts import called, doubt, doubt_inside
from runtime.trace.heap import NOTHING
from runtime.trace.pending import pend, taken, there
from runtime.trace.record import Path
from runtime.trace.values import Object, Tensor, Traced, defines, known_class
from runtime.types import (
    OBJECT,
    WEAK_BOOL,
    WEAK_COMPLEX,
    WEAK_FLOAT,
    WEAK_INT,
    ArrayType,
    NumberType,
    ObjectType,
    StaticType,
    TupleType,
    Type,
    WeakType,
    is_namedtuple,
    library,
    numeric,
    static_or_weak,
)
from runtime.variable import Variable

Rule = Callable[[Trace, tuple[Any, ...], dict[str, Any]], Any]
_TAME_ITERABLES = (list, tuple, range, str, dict, set, frozenset, np.ndarray, enumerate, zip, reversed)


def static_call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether nothing traced is involved."""
    return all(map(is_static, (*args, *kwargs.values())))


def _recorded(function: Any, claim: Type | None) -> Rule:
    def rule(trace: Trace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if static_call(args, kwargs):
            return NotImplemented
        result = trace.record("py.call", [function, *args], kwargs, type=claim)
        called(trace, function, (*args, *kwargs.values()))
        return result

    return rule


def _print(trace: Trace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    trace.emit("py.call", [print, *args], kwargs)
    doubt_inside(trace, *args, *kwargs.values())
    return None


def _len(trace: Trace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if len(args) == 1 and isinstance(args[0], (tuple, list)):
        return len(args[0])
    return items.length(trace, args[0]) if len(args) == 1 and isinstance(args[0], Traced) else NotImplemented


def _operator(name: str, arity: int) -> Rule:
    def rule(trace: Trace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if kwargs or len(args) != arity or static_call(args, kwargs):
            return NotImplemented
        return trace.protocol.operator(name, *args)

    return rule


def _round(trace: Trace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if static_call(args, kwargs):
        return NotImplemented
    claim = OBJECT if kwargs or len(args) > 2 else _rounded_type(trace, *args)
    result = trace.record("py.call", [round, *args], kwargs, type=claim)
    doubt(trace, *args, *kwargs.values())
    return result


def _rounded_type(trace: Trace, x: Any, ndigits: Any = None) -> Type:
    """The type of `round(x, ndigits)`."""
    t = static_or_weak(trace.type_of(x))
    if not _ordered(t) or t == ArrayType(np.dtype(bool), (), True):
        return OBJECT
    if ndigits is None or t == WEAK_BOOL:
        return WEAK_INT if ndigits is None or type(ndigits) is int else OBJECT
    return t if type(ndigits) is int else OBJECT


def _divmod(trace: Trace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if static_call(args, kwargs) or len(args) != 2:
        return NotImplemented
    kinds = [trace.type_of(a) for a in args]
    claim: Type = OBJECT
    if all(map(numeric, kinds)):
        parts = [trace.table[n].rule(*kinds) for n in ("floordiv", "mod")]  # type: ignore[misc]
        claim = TupleType(tuple(parts))
    result = trace.record("py.call", [divmod, *args], type=claim)
    doubt(trace, *args)
    return result


def _list(trace: Trace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    found = items.known_items(trace, args[0]) if args else []
    if found is not None and not kwargs:
        return items.new_list(trace, found)
    return _fresh(trace, list, args, kwargs)


def _tuple(trace: Trace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if static_call(args, kwargs):
        return NotImplemented
    found = items.known_items(trace, args[0]) if args else []
    if found is not None:
        return tuple(found)
    result = trace.record("py.call", [tuple, *args], type=ObjectType(tuple))
    doubt(trace, *args)
    return result


def _dict(trace: Trace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if not args:
        return items.new_dict(trace, list(kwargs.items()))
    made = dicts.united(trace, args, kwargs) if len(args) == 1 else None
    return _fresh(trace, dict, args, kwargs) if made is None else made


def _set(trace: Trace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return _fresh(trace, set, args, kwargs)


def _fresh(trace: Trace, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    value = trace.emit("py.call", [cls, *args], kwargs, type=ObjectType(cls))
    assert value is not None
    doubt(trace, *args)
    if cls is not list:
        doubt_inside(trace, *args)
    return trace.wrap(value, fresh=True)


def _sorted(trace: Trace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if len(args) == 1 and not kwargs:
        found = items.known_items(trace, args[0])
        if found is not None and all(map(is_static, found)):
            return items.new_list(trace, sorted(found))
        numbers = _few_integers(trace, args[0]) if found is None else _pair(trace, found)
        if numbers is not None:
            return items.new_list(trace, numbers)
    value = trace.emit("py.call", [sorted, *args], kwargs, type=ObjectType(list))
    assert value is not None
    called(trace, sorted, (*args, *kwargs.values()))
    return trace.wrap(value, fresh=True)


def _few_integers(trace: Trace, x: Any) -> Sequence[Any] | None:
    """What is in an array of two numbers, or of a few integers, in order."""
    t = x._facts.type if isinstance(x, Tensor) else None
    if not isinstance(t, ArrayType) or t.shape is None or len(t.shape) != 1 or t.shape[0] is None:
        return None
    count = t.shape[0]
    if count == 2:
        return _pair(trace, [x[0], x[1]])
    if t.dtype.kind not in "iu" or not 0 < count <= trace.unroll_limit:
        return None  # floats may be NaN, and the order of zeros is that of the array
    inner = trace.protocol.call(np.sort, (x,), {})
    return [inner[i] for i in range(count)]


def _pair(trace: Trace, found: Sequence[Any]) -> Sequence[Any] | None:
    """Two numbers of one type in order."""
    kinds = [static_or_weak(trace.type_of(i)) for i in found]
    if len(kinds) != 2 or kinds[0] != kinds[1] or not _ordered(kinds[0]):
        return None
    a, b = found
    arms = ((lambda: (b, a)), (lambda: (a, b)))
    return regions.staged_cond(trace, trace.protocol.operator("lt", b, a), *arms, [])  # type: ignore[no-any-return]


def _ordered(t: Type) -> bool:
    """Whether a type is one of real numbers."""
    if isinstance(t, WeakType):
        return t.kind != "complex"
    return isinstance(t, ArrayType) and t.scalar and t.dtype.kind in "iufb"


def _range(trace: Trace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if static_call(args, kwargs):
        return NotImplemented
    return trace.record("py.call", [range, *args], type=ObjectType(range, WEAK_INT))


def _iterator(cls: Any, shape: Callable[[Trace, tuple[Any, ...]], Type]) -> Rule:
    def rule(trace: Trace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        mark = trace.mark()
        item = shape(trace, args)
        tame = all(
            known_class(a) in _TAME_ITERABLES
            for a in (args[:1] if cls is enumerate else args)
            if not is_static(a)
        )
        value = trace.emit("py.call", [cls, *args], kwargs, type=ObjectType(cls, item))
        assert value is not None
        doubt(trace, *args)
        made = trace.wrap(value)
        if not tame:
            trace.wild.add(made._facts.identity)
        elif cls in _PAIRING and _plainly(kwargs) and any(isinstance(a, Object) for a in args):
            pend(
                trace,
                made,
                mark,
                args,
                lambda: rule(trace, tuple(there(trace, a) for a in args), kwargs),
                items=lambda: _gone_through(trace, cls, args, kwargs),
            )
        return made

    return rule


_PAIRING = (enumerate, zip, reversed)


def _plainly(kwargs: dict[str, Any]) -> bool:
    """Whether all that is said by name is whether lengths must agree."""
    return not kwargs.keys() - {"strict"} and type(kwargs.get("strict", False)) is bool


def _gone_through(trace: Trace, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any] | None:
    """The items of an iterator over lists and the like whose items are known; None for others."""
    sources: list[Any] = []
    for k, x in enumerate(args):
        if cls is enumerate and k:
            found: Any = x if type(x) is int else None
        else:
            found = items.sequence_of(trace, x)
        if found is None:
            return None
        sources.append(found)
    listed = [i for found in sources if isinstance(found, list) for i in found]
    if all(isinstance(i, (int, float, complex)) for i in listed):
        return None  # numbers are better gone through at run time
    if kwargs.get("strict") and len(set(map(len, sources))) > 1:
        return None  # which is an error at run time
    return list(cls(*sources, **kwargs))


def _sum(trace: Trace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A sum of known items is a row of additions, one of a generator a loop that adds."""
    if static_call(args, kwargs):
        return NotImplemented
    start = kwargs.get("start", args[1] if len(args) > 1 else 0)
    if len(args) > 2 or kwargs.keys() - {"start"} or isinstance(start, (str, bytes, bytearray)):
        return _added(trace, args, kwargs)
    waiting = taken(trace, args[0])
    if waiting is not None and waiting.add_up is not None:
        return waiting.add_up(start)
    found = items.sequence_of(trace, args[0]) if waiting is None or waiting.items is None else waiting.items()
    if found is not None and isinstance(args[0], (Object, tuple)) and addable(trace, [start, *found]):
        for x in found:
            start = trace.protocol.operator("add", start, x)
        return start
    claim = _sum_type(trace, args[0]) if type(start) is int and start == 0 else OBJECT
    if claim != OBJECT:
        return trace.record("py.call", [sum, trace.receiver(args[0])], type=claim)
    first = args[0] if waiting is None else waiting.again()
    return _added(trace, (first, *args[1:]), kwargs)


def _sum_type(trace: Trace, x: Any) -> Type:
    """The type of the sum of a list's items, or of the rows of an array (at least one) of floats."""
    t = x._facts.type if isinstance(x, Tensor) else None
    if not isinstance(t, ArrayType) or t.scalar:
        return growing.sum_type(trace, x)
    some = bool(t.shape) and t.shape is not None and bool(t.shape[0]) and t.device == "cpu"
    return items.item_type(trace, x) if some and t.dtype.kind in "fc" else OBJECT


_added = _recorded(sum, None)


def addable(trace: Trace, values: Sequence[Any]) -> bool:
    """Whether adding the values one by one gives what `sum` gives: from 3.12 on it adds Python's floats with
    more care.  (On the tape it adds them one by one, too.)"""
    kinds = [static_or_weak(trace.type_of(x)) for x in values]
    if not all(isinstance(t, (ArrayType, WeakType, NumberType)) for t in kinds):
        return False
    careful = sys.version_info >= (3, 12) and not trace.following
    return not careful or all(
        isinstance(t, ArrayType) or isinstance(t, WeakType) and t.kind in ("int", "bool") for t in kinds
    )


def _isinstance(trace: Trace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if len(args) != 2:
        return NotImplemented
    x, wanted = args[0], _classes(args[1])
    cls = known_class(x)
    if isinstance(x, Object) and x._facts.example is not None and isinstance(x._facts.example, type):
        cls = type(x._facts.example)
    if wanted is None or not all(_settled(cls, c) for c in _flat(wanted)):
        answer = trace.record("py.call", [isinstance, *args], type=WEAK_BOOL)
        doubt(trace, *args)
        return answer
    if cls is None:
        return trace.record("py.call", [isinstance, *args], type=WEAK_BOOL)
    return issubclass(cls, wanted)


def _settled(cls: type | None, wanted: Any) -> bool:
    """Whether nothing changes the answer to `issubclass(cls, wanted)`, and no code of the user's gives it.

    Others may be registered with an abstract class; those of the standard library are taken to stay.
    """
    if isinstance(wanted, types.UnionType):
        return all(_settled(cls, c) for c in wanted.__args__)
    stays = library(wanted) in sys.stdlib_module_names
    inherited = cls is not None and wanted in cls.__mro__
    return type(wanted) is type or type(wanted) is ABCMeta and (stays or inherited)


def _classes(x: Any) -> Any:
    """The concrete class or tuple of classes that a trace value stands for; None where not known."""
    if isinstance(x, Object):
        return x._facts.example if isinstance(x._facts.example, type) else None
    if isinstance(x, tuple):
        inner = [_classes(i) for i in x]
        return None if None in inner else tuple(inner)
    return x if isinstance(x, (type, types.UnionType)) else None


def _flat(classes: Any) -> list[Any]:
    return [c for i in classes for c in _flat(i)] if isinstance(classes, tuple) else [classes]


def _issubclass(trace: Trace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    classes = [_classes(a) for a in args]
    if None in classes or len(args) != 2 or not isinstance(classes[0], type):
        return NotImplemented
    settled = all(_settled(classes[0], c) for c in _flat(classes[1]))
    return issubclass(classes[0], classes[1]) if settled else NotImplemented


def _type(trace: Trace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if len(args) != 1:
        return NotImplemented
    x = args[0]
    if isinstance(x, Object) and isinstance(x._facts.example, (type, types.FunctionType, types.ModuleType)):
        return _class_value(trace, type(x._facts.example))
    cls = known_class(x)
    return trace.record("py.call", [type, x]) if cls is None else _class_value(trace, cls)


def _class_value(trace: Trace, cls: type) -> Any:
    return cls if is_static(cls) else trace.constant(cls)


def _numpy_number(cls: type) -> Rule:
    """A class of NumPy's numbers, called with a real number."""
    claim = ArrayType(np.dtype(cls), (), True)

    def rule(trace: Trace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if len(args) != 1 or kwargs or not _ordered(static_or_weak(trace.type_of(args[0]))):
            return NotImplemented
        return _recorded(cls, claim)(trace, args, kwargs)

    return rule


def _limits(trace: Trace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`np.finfo` of a type that is known, which is the same object each time."""
    x = args[0] if len(args) == 1 and not kwargs else None
    t = x._facts.type if isinstance(x, Tensor) else None
    asked = t.dtype if isinstance(t, ArrayType) else x if isinstance(x, (type, np.dtype)) else None
    if asked is None or np.dtype(asked).kind not in "fc" or np.finfo(asked) is not np.finfo(asked):
        return NotImplemented
    return trace.constant(np.finfo(asked))


def _callable(trace: Trace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if len(args) != 1 or not isinstance(args[0], Traced):
        return NotImplemented
    cls = known_class(args[0])
    return (
        trace.record("py.call", [callable, args[0]], type=WEAK_BOOL)
        if cls is None
        else defines(cls, "__call__")
    )


@functools.cache
def _only_says_that_it_is_gone(cls: type, name: str) -> bool:
    """Whether arrays or NumPy scalars have a name in their class which no instance has: `itemset`, once."""
    if cls is not np.ndarray and not issubclass(cls, np.number):
        return False
    try:
        getattr(np.zeros((1, 1)) if cls is np.ndarray else cls(0), name)
    except AttributeError:
        return True
    except ValueError:  # it depends on the array
        return False
    return False


def _hasattr(trace: Trace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if len(args) != 2 or not isinstance(args[0], Traced) or not isinstance(args[1], str):
        return NotImplemented
    x, name = args
    cls = known_class(x)
    if isinstance(x, Tensor) and cls is not None:
        return defines(cls, name) and not _only_says_that_it_is_gone(cls, name)
    if trace.heap.get(x._facts.identity, "attr", name) is not NOTHING:
        return True
    answer = trace.record("py.call", [hasattr, x, name], type=WEAK_BOOL)
    doubt(trace, x)
    return answer


_DICTS = ("_field_defaults", "__annotations__")  # of classes of named tuples, which are constants


def _getattr(trace: Trace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if len(args) == 2 and isinstance(args[0], _Super) and isinstance(args[1], str):
        return args[0].__getattr__(args[1])  # also for names like `__init__`, which it has itself
    if len(args) > 1 and isinstance(args[1], str) and args[1] in _DICTS:
        owner = args[0] if isinstance(args[0], type) else type(args[0])
        if is_namedtuple(owner):
            return get_attr(trace, trace.constant(owner), args[1])
    if not isinstance(args[0], Traced) or len(args) < 2 or not isinstance(args[1], str):
        return NotImplemented
    x, name = args[:2]
    if len(args) == 2:
        return get_attr(trace, x, name)
    cls = known_class(x)
    if isinstance(x, Tensor) and cls is not None:
        return get_attr(trace, x, name) if defines(cls, name) else args[2]
    if trace.heap.get(x._facts.identity, "attr", name) is not NOTHING:
        return get_attr(trace, x, name)
    value = trace.record("py.call", [getattr, *args])
    doubt(trace, x)
    return value


def _setattr(trace: Trace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if len(args) == 3 and isinstance(args[0], Traced) and isinstance(args[1], str):
        return set_attr(trace, *args)
    return NotImplemented


def _pairs(trace: Trace, args: tuple[Any, ...]) -> Type:
    return TupleType((WEAK_INT, items.item_type(trace, args[0])))


def _zipped(trace: Trace, args: tuple[Any, ...]) -> Type:
    return TupleType(tuple(items.item_type(trace, a) for a in args))


def _backwards(trace: Trace, args: tuple[Any, ...]) -> Type:
    return items.item_type(trace, args[0])


def _anything(trace: Trace, args: tuple[Any, ...]) -> Type:
    return OBJECT


class _Super:
    """`super(cls, x)` for an object of known class: methods and properties of the classes after `cls`."""

    def __init__(self, trace: Trace, cls: type, x: Object, of: type) -> None:
        self._trace, self._x = trace, x
        self._line = of.__mro__[of.__mro__.index(cls) + 1 :]

    def __getattr__(self, name: str) -> Any:
        owner = next((c for c in self._line if name in vars(c)), None)
        found: Any = vars(owner)[name] if owner is not None else None
        asked = found.fget if type(found) is property else found
        usual = owner is object and isinstance(found, types.WrapperDescriptorType)
        if owner is None or not (isinstance(asked, types.FunctionType) or usual):
            raise Untraceable(f"super().{name} is no plain method", span=self._trace.span())
        self._trace.guard(Path((owner,)) / ("attr", name), StaticType(found), f"{owner.__qualname__}.{name}")
        if type(found) is property:
            return self._trace.protocol.call(asked, (self._x,), {})
        return types.MethodType(found, self._x)


def _super(trace: Trace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if len(args) != 2 or not isinstance(args[1], Object):
        return NotImplemented
    cls, of = _classes(args[0]), known_class(args[1])
    if (
        not isinstance(cls, type)
        or of is None
        or cls not in of.__mro__
        or isinstance(args[1]._facts.example, type)
    ):
        return NotImplemented
    return _Super(trace, cls, args[1], of)


BUILTINS: dict[Any, Rule] = {
    **heaps.RULES,
    Variable: variables.create,
    super: _super,
    print: _print,
    len: _len,
    int: _recorded(int, WEAK_INT),
    float: _recorded(float, WEAK_FLOAT),
    bool: _recorded(bool, WEAK_BOOL),
    complex: _recorded(complex, WEAK_COMPLEX),
    str: _recorded(str, ObjectType(str)),
    repr: _recorded(repr, ObjectType(str)),
    format: _recorded(format, ObjectType(str)),
    sum: _sum,
    **extremes.RULES,
    abs: _operator("abs", 1),
    pow: _operator("pow", 2),
    round: _round,
    divmod: _divmod,
    list: _list,
    tuple: _tuple,
    dict: _dict,
    set: _set,
    sorted: _sorted,
    **{np.dtype(code).type: _numpy_number(np.dtype(code).type) for code in "?bBhHiIlLfd"},
    np.finfo: _limits,
    range: _range,
    enumerate: _iterator(enumerate, _pairs),
    zip: _iterator(zip, _zipped),
    reversed: _iterator(reversed, _backwards),
    map: _iterator(map, _anything),
    filter: _iterator(filter, _anything),
    isinstance: _isinstance,
    issubclass: _issubclass,
    type: _type,
    callable: _callable,
    hasattr: _hasattr,
    getattr: _getattr,
    setattr: _setattr,
}
