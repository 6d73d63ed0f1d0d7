"""The test whether a trace serves a call, compiled: one Python function per trace.

In: a signature, the guards of a trace, and what to run.  Out: `entry(args, kwargs)`, which runs the
call if the trace serves it and returns `MISS`, having done nothing, if not.

What always holds: the test accepts exactly the arguments whose types the signature covers and for
which all guards hold.  It is written out as code because every call pays for it: comparing types and
shapes one by one costs about a third of building and hashing a key.
"""

from __future__ import annotations

import enum
import types as _types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from runtime.execute import traceback
from runtime.function.chains import Form
from runtime.function.signature import Signature
from runtime.places import ENTRY_FILE
from runtime.syntax import is_name
from runtime.trace.record import BUILTINS, Guard, apart
from runtime.types import (
    ArrayType,
    FunctionOf,
    ObjectType,
    StaticType,
    TupleType,
    Type,
    WeakType,
    describes,
    same_static,
)

Entry = Callable[[tuple[Any, ...], dict[str, Any]], Any]


class _Miss(enum.Enum):
    MISS = "this trace does not serve the call"


MISS = _Miss.MISS
traceback.register_hidden(ENTRY_FILE)
_IDENTITY = (
    bool,
    type(None),
    type(Ellipsis),
    type(NotImplemented),
    type,
    enum.Enum,
    _types.FunctionType,
    _types.BuiltinFunctionType,
    _types.WrapperDescriptorType,
    _types.ModuleType,
    _types.CodeType,
    np.ufunc,
)
_HEAP = 1 << 9  # the flag of classes that Python code made
MOST_CLASSES = 3  # those that a class and its bases are, for asking them one by one
_WEAK: dict[str, type] = {"bool": bool, "int": int, "float": float, "complex": complex}


class Conditions:
    """Collects the conditions of one test as Python text, and the objects that the text names.

    prefix: of all names that it makes."""

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        self.ndarray, self.describes = f"{prefix}ndarray", f"{prefix}describes"
        self.same_static = f"{prefix}same_static"
        self.names: dict[str, Any] = {
            self.ndarray: np.ndarray,
            self.describes: describes,
            self.same_static: same_static,
        }
        self.texts: list[str] = []
        self.reads: dict[tuple[Any, ...], str] = {}
        self.roots: dict[int, str] = {}
        self.classes: dict[type, list[str]] = {}

    def name(self, value: Any) -> str:
        """A name for `value` in the text."""
        name = f"{self.prefix}c{len(self.names)}"
        self.names[name] = value
        return name

    def root(self, value: Any) -> str:
        """The name of an object at which paths begin: the same for all of these."""
        known = self.roots.get(id(value))
        if known is None:
            known = self.roots[id(value)] = self.name(value)
        return known

    def add(self, t: Type, at: str) -> None:
        """Conditions for the value of the expression `at` to be of type `t`."""
        if isinstance(t, ArrayType):
            self.array(t, at)
        elif isinstance(t, StaticType):
            self.static(t.value, at)
        elif isinstance(t, WeakType):
            self.texts.append(f"type({at}) is {self.name(_WEAK[t.kind])}")
        elif isinstance(t, TupleType):
            self.texts.append(f"type({at}) is {self.name(t.cls)} and len({at}) == {len(t.items)}")
            for i, item in enumerate(t.items):
                self.add(item, f"{at}[{i}]")
        elif isinstance(t, FunctionOf):
            self.texts.append(f"type({at}) is {self.name(t.cls)} and {at}.__code__ is {self.name(t.code)}")
            self.texts.append(f"{at}.__globals__ is {self.name(t.space)}")
        elif isinstance(t, ObjectType) and t.cls is not None:
            self.texts.append(f"type({at}) is {self.name(t.cls)}")
            if t.cls is np.ndarray:  # an array of numbers has a more precise type
                self.texts.append(f"{at}.dtype.hasobject and {at}.dtype.kind != 'T'")
        elif not isinstance(t, ObjectType):
            self.texts.append(f"{self.describes}({self.name(t)}, {at})")

    def array(self, t: ArrayType, at: str) -> None:
        """An ndarray or a NumPy scalar."""
        if t.device != "cpu":  # another library's array class: rare, and a launch costs far more than this
            self.texts.append(f"{self.describes}({self.name(t)}, {at})")
            return
        same = self.name(t.dtype)
        if t.scalar:
            self.texts.append(
                f"type({at}) is {self.name(t.dtype.type)} and {at}.dtype == {same}"
                if t.dtype.kind not in "biufc"
                else f"type({at}) is {self.name(t.dtype.type)}"
            )
            return
        if t.dtype.kind in "US":  # of any length
            self.texts.append(f"type({at}) is {self.ndarray} and {at}.dtype.str[:2] == {t.dtype.str[:2]!r}")
        else:
            self.texts.append(
                f"type({at}) is {self.ndarray} and ({at}.dtype is {same} or {at}.dtype == {same})"
            )
        if t.shape is None:
            return
        if None not in t.shape:
            self.texts.append(f"{at}.shape == {t.shape!r}")
            return
        self.texts.append(f"{at}.ndim == {len(t.shape)}")
        self.texts += [f"{at}.shape[{axis}] == {n}" for axis, n in enumerate(t.shape) if n is not None]

    def static(self, value: Any, at: str) -> None:
        """One value: by identity where that is what equality means."""
        cls = type(value)
        name = self.name(value)
        if isinstance(value, _IDENTITY):
            self.texts.append(f"{at} is {name}")
        elif cls in (int, str, bytes) or (cls is float and value == value and value != 0):
            self.texts.append(f"type({at}) is {self.name(cls)} and {at} == {name}")
        else:  # NaN, the sign of zero, nested tuples
            self.texts.append(f"{self.same_static}({name}, {at})")

    def global_read(self, space: str, name: str) -> str:
        """The text that reads what a name means in a module with these globals."""
        key = self.name(name)
        return f"({space}[{key}] if {key} in {space} else {self.name(BUILTINS)}[{key}])"

    def special(self, cls: type, name: str, expect: Type) -> bool:
        """Conditions for a special method that no class of Python code has to go on so; False if one has it.

        Reading what is not there takes as long as a ufunc."""
        changing = [c for c in cls.__mro__ if c.__flags__ & _HEAP]  # others get no new attributes
        if type(cls) is not type or len(changing) > MOST_CLASSES or any(name in vars(c) for c in changing):
            return False
        if expect != StaticType(getattr(cls, name, None)):
            return False
        known = self.classes.get(cls)
        if known is None:  # another tuple after each change of what its bases are
            known = self.classes[cls] = [self.name(vars(c)) for c in changing]
            self.texts.append(f"{self.name(cls)}.__mro__ is {self.name(cls.__mro__)}")
        self.texts += [f"{name!r} not in {space}" for space in known]
        return True

    @staticmethod
    def special_read(at: str, name: str, expect: Type) -> str:
        """The text that reads a special method of a class; None if it has none, where that is expected."""
        there = isinstance(expect, StaticType) and expect.value is not None
        return f"{at}.{name}" if there else f"getattr({at}, {name!r}, None)"

    def guard(self, guard: Guard, arguments: tuple[str, ...]) -> None:
        """A guard, its path written out as attribute and item reads."""
        root = guard.path.root
        if not isinstance(root, int) and isinstance(root[0], type) and len(guard.path.steps) == 1:
            kind, key = guard.path.steps[0]
            if kind == "special" and self.special(root[0], key, guard.expect):
                return
        at = arguments[root] if isinstance(root, int) else self.root(root[0])
        place: tuple[Any, ...] = (at,)
        for number, (kind, key) in enumerate(guard.path.steps, 1):
            step = (
                f"len({at})"
                if kind == "len"
                else f"{self.name(apart)}({at})"
                if kind == "apart"
                else f"(*{at},)"
                if kind == "keys"
                else self.special_read(at, key, guard.expect)
                if kind == "special"
                else self.global_read(at, key)
                if kind == "global"
                else f"{at}[{self.name(key)}]"
                if kind == "item"
                else (f"{at}.{key}" if is_name(str(key)) else f"getattr({at}, {key!r})")
            )
            place = (*place, (kind, type(key), key))
            at = self.reads.get(place, "")
            expect = guard.expect if number == len(guard.path.steps) else None
            if not at and isinstance(expect, StaticType) and isinstance(expect.value, _IDENTITY):
                self.texts.append(f"{step} is {self.name(expect.value)}")
                return
            if not at:  # read once: other guards look at the same place, or further along the same way
                at = self.reads[place] = f"{self.prefix}v{len(self.reads)}"
                self.texts.append(f"(({at} := {step}) is {at})")
        if isinstance(guard.expect, ObjectType) and guard.expect.cls is np.ndarray:
            self.texts.append(f"type({at}) is {self.ndarray}")
        else:
            self.add(guard.expect, at)


def _reading(arguments: Sequence[str], count: int, names: Sequence[str]) -> list[str]:
    """Lines that read the canonical arguments: the first `count` by position, the others by these names."""
    some = f"tuple(kwargs) == {(*names,)!r}" if len(names) > 1 else "len(kwargs) == 1"
    fits = f"len(args) == {count} and " + (some if names else "not kwargs")
    fits += f" and {names[0]!r} in kwargs" if len(names) == 1 else ""
    lines = [f"    if not ({fits}):", "        return MISS"]
    if count:
        lines.append(f"    {', '.join(arguments[:count])}{',' if count == 1 else ''} = args")
    return lines + [f"    {a} = kwargs[{k!r}]" for a, k in zip(arguments[count:], names, strict=True)]


def entry_source(
    signature: Signature, guards: tuple[Guard, ...], call: str, form: Form | None = None
) -> tuple[str, dict[str, Any]]:
    """The text of an entry and the names it uses; `call` is the expression that runs the trace, with
    `{values}` for the arguments that the graph takes.  form: how the call is written, if not canonically."""
    conditions = Conditions()
    conditions.names["MISS"] = MISS
    count, keywords = len(signature.positional), signature.keyword_names
    arguments = tuple(f"a{i}" for i in range(count + len(keywords)))
    for argument, t in zip(arguments, signature.types, strict=True):
        conditions.add(t, argument)
    for guard in guards:
        conditions.guard(guard, arguments)
    if form is None:
        lines = ["def entry(args, kwargs):", *_reading(arguments, count, keywords)]
    else:
        written = {index: argument for argument, (index, _) in zip(arguments, form.sources, strict=True)}
        given = [written[k] for k in range(len(form.sources))]
        lines = ["def entry(args, kwargs):", *_reading(given, form.given, form.names)]
    if conditions.texts:
        indent = "    "
        if guards:
            lines.append("    try:")
            indent = "        "
        lines.append(f"{indent}if not (" + f"\n{indent}        and ".join(conditions.texts) + "):")
        lines.append(f"{indent}    return MISS")
        if guards:
            # Looking may run the user's code (a property); whatever it raises, the call will raise again.
            lines += ["    except Exception:", "        return MISS"]
    if conditions.reads:  # what the call lets go must be gone then, not when it has returned
        lines.append(f"    {' = '.join(conditions.reads.values())} = None")
    lines.append(f"    return {call.format(values=passed(arguments, signature.types))}")
    return "\n".join(lines) + "\n", conditions.names


def passed(arguments: Sequence[str], types: Sequence[Type]) -> str:
    """The arguments that a graph takes, as text: those that are not static."""
    return ", ".join(a for a, t in zip(arguments, types, strict=True) if not isinstance(t, StaticType))


def entry_by_name(signature: Signature, guards: tuple[Guard, ...], entry: Entry, form: Form) -> Entry:
    """An entry that does what `entry` does, for calls written in this form."""
    names = {name: value for name, value in entry.__globals__.items() if name in ("run", "python", "weigh")}
    call = "run({values})" if "run" in names else "python(*args, **kwargs)"
    if "weigh" in names:
        call = "weigh(run, args, kwargs, {values})"
    return _compiled(*entry_source(signature, guards, call, form), names)


def compile_entry(signature: Signature, guards: tuple[Guard, ...], call: str, **names: Any) -> Entry:
    """The entry of a trace; names: what `call` refers to."""
    return _compiled(*entry_source(signature, guards, call), names)


def plain_entry(signature: Signature, guards: tuple[Guard, ...], python: Callable[..., Any]) -> Entry:
    """The entry of a signature whose calls the Python function does."""
    return compile_entry(signature, guards, "python(*args, **kwargs)", python=python)


def _compiled(text: str, namespace: dict[str, Any], names: dict[str, Any]) -> Entry:
    namespace.update(names)
    exec(compile(text, ENTRY_FILE, "exec"), namespace)
    entry: Entry = namespace["entry"]
    return entry
