"""Classes of data: what `dataclasses` makes of a class, made in a fraction of the time.

In: a class with annotated fields.  Out: the same class with `__init__`, and as asked for with comparison,
hash and a lock on its fields.  What always holds: instances do what those of a dataclass with the same
options do, and are dataclasses: `fields` and `replace` work.  `import autograph` makes dozens of such
classes, the first call as many again, and Python before 3.13 compiles six functions for each; here: one.
"""

from __future__ import annotations

import dataclasses
import operator
import reprlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls: type | None = None, *, eq: bool = True, frozen: bool = False, kw_only=False) -> Any:
        """The class as a class of data; as a decorator with or without options."""

        def make(cls: type) -> type:
            given = cls.__dict__.get("__annotations__")
            plain = type(given) is dict and all(map(_is_plain, given.values()))
            if plain:  # dataclasses would search each text for what these are known not to be
                cls.__annotations__ = dict.fromkeys(given, object)
            made = dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(cls)
            if plain:
                cls.__annotations__ = given
                for name, annotation in given.items():
                    made.__dataclass_fields__[name].type = annotation
            own: dict[str, Any] = {"__init__": _late_init(made, frozen), "__repr__": _show}
            made.__signature__ = _TELLS
            if eq:
                own |= _compared(made, frozen)
            if frozen:
                own |= _locked(made)
            for name, value in own.items():
                if cls.__dict__.get(name) is None:
                    setattr(made, name, value)
            return made

        return make if cls is None else make(cls)


_ABSENT: Any = object()


def _is_plain(annotation: object) -> bool:
    """Whether it is a text that means nothing special to dataclasses."""
    return type(annotation) is str and not any(k in annotation for k in ("ClassVar", "InitVar", "KW_ONLY"))


def _late_init(cls: type, frozen: bool) -> Callable[..., None]:
    """An `__init__` that is compiled when the first instance is made: most classes of a program have none."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        _made_now(cls)(self, *args, **kwargs)

    __init__._frozen = frozen  # type: ignore[attr-defined]
    return __init__


def _made_now(cls: Any) -> Callable[..., None]:
    """The `__init__` of a class of data, compiled if it is not yet."""
    given = cls.__dict__["__init__"]
    if hasattr(given, "_frozen"):
        cls.__init__ = _init(cls, given._frozen)
    made: Callable[..., None] = cls.__dict__["__init__"]
    return made


class _Tells:
    """Whoever asks a class for its signature is to find the `__init__` that says it."""

    def __get__(self, instance: object, owner: type) -> Any:
        for cls in owner.__mro__:
            if "__init__" in cls.__dict__:
                _made_now(cls)
                break
        raise AttributeError("__signature__")


_TELLS = _Tells()


def _init(cls: type, frozen: bool) -> Callable[..., None]:
    space: dict[str, Any] = {"absent": _ABSENT, "put": object.__setattr__}
    positional: list[str] = []
    named: list[str] = []
    body: list[str] = []
    for field in dataclasses.fields(cls):
        name, value = field.name, field.name
        given = ""
        if field.default_factory is not dataclasses.MISSING:
            space[f"make_{name}"] = field.default_factory
            given, value = "=absent", f"make_{name}() if {name} is absent else {name}"
        elif field.default is not dataclasses.MISSING:
            space[f"default_{name}"] = field.default
            given = f"=default_{name}"
        if field.init:
            (named if field.kw_only else positional).append(name + given)
        elif given == "=absent":
            value = f"make_{name}()"
        else:
            continue
        body.append(f"put(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    arguments = ", ".join(["self", *positional, *(["*", *named] if named else [])])
    exec(f"def __init__({arguments}):\n " + "\n ".join(body or ["pass"]), space)
    made: Callable[..., None] = space["__init__"]
    made.__qualname__, made.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    return made


@reprlib.recursive_repr()
def _show(self: Any) -> str:
    inner = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr)
    return f"{type(self).__qualname__}({inner})"


def _compared(cls: type, frozen: bool) -> dict[str, Any]:
    key = _key([field.name for field in dataclasses.fields(cls) if field.compare])

    def equals(self: Any, other: Any) -> Any:
        return key(self) == key(other) if self.__class__ is other.__class__ else NotImplemented

    def hashed(self: Any) -> int:
        return hash(key(self))

    return {"__eq__": equals, "__hash__": hashed if frozen else None}


def _key(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """What gives these attributes of an instance, always in a tuple: one with a NaN is equal to itself."""
    if len(names) > 1:
        return operator.attrgetter(*names)
    return lambda self: tuple(getattr(self, name) for name in names)


def _locked(cls: Any) -> dict[str, Any]:
    names = frozenset(field.name for field in dataclasses.fields(cls))

    def put(self: Any, name: str, value: Any) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def drop(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return {"__setattr__": put, "__delattr__": drop}
