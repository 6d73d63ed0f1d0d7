"""Fields of objects and containers as values: nobody can tell, and in loops they are values indeed."""

from __future__ import annotations

import copy
import importlib.util
import pathlib
import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings
from runtime.ir.graph import Graph
from runtime.ir.walk import walk_nodes

EXECUTORS = ("numpy", "auto")
FIELD_OPS = ("py.getattr", "py.setattr", "getitem", "setitem")


class Point:
    kind = "a class attribute"

    def __init__(self, x: Any, y: Any = 0) -> None:
        self.x, self.y = x, y

    def move(self, by: Any) -> None:
        self.x = self.x + by
        self.y += 1


class Guarded:
    def __init__(self) -> None:
        self._x = 0.0

    @property
    def x(self) -> float:
        return self._x

    @x.setter
    def x(self, value: float) -> None:
        self._x = min(value, 3.0)


def moved(n: int) -> Any:
    p = Point(0.5)
    for i in range(n):
        p.move(i)
    return p.x, p.y


def moved_while(n: int) -> Any:
    p = Point(0)
    while p.y < n and p.x < 100:
        p.move(p.y)
    return p.x, p.y


def counted(n: int) -> Any:
    d: dict[str, Any] = {"even": 0, "odd": 0, "last": None}
    for i in range(n):
        if i % 2 == 0:
            d["even"] += 1
        else:
            d["odd"] += i
    return d


def swapped(n: int) -> Any:
    pair = [1, 2.5]
    for i in range(n):
        if i % 3:
            pair[0] = pair[0] + i
        pair[-1] = pair[1] * 1.5
    return pair


def nested(n: int) -> Any:
    p = Point(Point(1.0), 0)
    for i in range(n):
        p.x.x += i
        p.y = p.y + 1
    return p.x.x, p.y


def arrays(n: int) -> Any:
    p = Point(np.zeros(3), np.ones(3))
    for i in range(n):
        p.x = p.x + p.y * i
        p.y += 0.5
    return p.x, p.y


def shared(n: int) -> Any:
    a = np.zeros(3)
    p = Point(a)
    for i in range(n):
        p.x += i
        a[0] = -1.0
    return p.x, a, p.x is a


def new_key(n: int) -> Any:
    d = {"a": 0}
    for i in range(n):
        d["b"] = i
        d["a"] += 1
    return d, list(d)


def by_views(n: int) -> Any:
    d = {"a": 1.0, "b": 2.0}
    m = {k: v * 0 for k, v in d.items()}
    for i in range(n):
        for k in d.keys():
            m[k] = 0.9 * m[k] + d[k]
        for k, v in d.items():
            d[k] = v - 0.1 * m[k] * i
    return m, list(d.values())


def missing_key(n: int) -> Any:
    d = {"a": 0}
    for i in range(n):
        d["a"] += d["b"]
    return d


def kind_changes(n: int) -> Any:
    p = Point(0)
    for i in range(n):
        p.x = p.x + 0.5 if i > 1 else p.x + 1
    return p.x


def given_away(n: int) -> Any:
    p = Point(0)
    for i in range(n):
        p.move(i)
    kept = [p]
    for i in range(n):
        p.move(i)
    return kept[0].x, kept


def two_names(n: int) -> Any:
    p = Point(0)
    q = p if n > 2 else Point(1)
    for i in range(n):
        p.move(i)
        q.move(1)
    return p.x, q.x, p is q


def carried(n: int) -> Any:
    p = Point(0)
    for i in range(n):
        p = Point(p.x + i, p.y + 1)
    return p.x, p.y


def carried_dict(n: int) -> Any:
    s = {"x": 1.0, "v": 0.0}
    for i in range(n):
        s = {"x": s["x"] + 0.1 * s["v"], "v": s["v"] - 0.1 * s["x"]}
    return s


def by_property(n: int) -> Any:
    p = Guarded()
    for i in range(n):
        p.x = p.x + i
    return p.x


def class_attribute(n: int) -> Any:
    p = Point(0)
    for i in range(n):
        p.x += len(p.kind)
    return p.x


def raises_midway(n: int) -> Any:
    p = Point(0)
    try:
        for i in range(n):
            p.x = p.x + i
            if i == 3:
                raise ValueError("three")
    except ValueError:
        return p.x, "caught"
    return p.x


def broken_off(n: int) -> Any:
    p = Point(0)
    for i in range(n):
        p.x += i
        if p.x > 5:
            break
        for _ in range(2):
            if p.y > 4:
                continue
            p.move(0)
    else:
        p.x = -1
    return p.x, p.y


def returned_from(n: int) -> Any:
    p = Point(0)
    for i in range(n):
        p.move(i)
        if p.x > 4:
            return p.x
    return p.y


def deleted(n: int) -> Any:
    p = Point(0)
    for i in range(n):
        p.x += i
        if i == 2:
            del p.y
    return p.__dict__


def compared(n: int) -> Any:
    p = Point(0)
    same = 0
    for i in range(n):
        same += p is p
        p.x += i
    return same, p.x


def set_later(n: int) -> Any:
    p = Point(0)
    for i in range(n):
        if i == 1:
            p.z = i  # type: ignore[attr-defined]
        p.x += 1
    return p.__dict__


GONE = (
    moved,
    moved_while,
    counted,
    swapped,
    nested,
    arrays,
    shared,
    kind_changes,
    broken_off,
    by_views,
    returned_from,
)
KEPT = (
    new_key, missing_key, two_names, carried, carried_dict, by_property, class_attribute,
    raises_midway, deleted, given_away, compared, set_later,
)  # fmt: skip


def seen(f: Callable[..., Any], *args: Any) -> Any:
    """What a call gives or raises, as text: values, types, order of keys and attributes."""
    args = copy.deepcopy(args)
    try:
        return shown(f(*args)), shown(args)
    except Exception as problem:
        return type(problem), str(problem), shown(args)


def shown(x: Any) -> Any:
    if isinstance(x, (tuple, list)):
        return type(x), [shown(y) for y in x]
    if isinstance(x, dict):
        return [(k, shown(v)) for k, v in x.items()]
    if type(x).__module__.startswith("tests."):
        return type(x), shown(vars(x) if hasattr(x, "__dict__") else [getattr(x, k) for k in x.__slots__])
    if isinstance(x, np.random.Generator):
        return repr(x.bit_generator.state)
    if isinstance(x, np.ndarray):
        return x.dtype, x.shape, repr(x.tolist())
    return type(x), repr(x)


def in_loops(graph: Graph) -> int:
    """How many fields are read and written in loops."""
    loops = [n for n in graph.nodes if n.op in ("while", "for")]
    inner = [n for loop in loops for region in loop.regions for n in walk_nodes(region)]
    kinds = ("dict", "list", "Point")
    return sum(n.op in FIELD_OPS and any(k in str(n.inputs[0].type) for k in kinds) for n in inner)


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("f", GONE + KEPT, ids=lambda f: f.__name__)
def test_nobody_can_tell(f: Callable[..., Any], executor: str) -> None:
    with settings.override(executor=executor):
        converted = ag.function(f)
        for n in (0, 1, 5, np.int64(7), 40):
            assert seen(converted, n) == seen(f, n), n


@pytest.mark.parametrize("f", GONE, ids=lambda f: f.__name__)
def test_loops_carry_values(f: Callable[..., Any]) -> None:
    concrete = ag.function(f).get_concrete_function(np.int64(40))
    assert in_loops(concrete.passes.graph) == 0, concrete.passes.graph


# ------------------------------------------------------------------------------------- random programs
class Writer:
    """Writes functions of `n` and `a`, an array, that do things to an object, a dict and a list."""

    READS = ("p.x", "p.y", "d['a']", "d['b']", "q[0]", "q[1]", "q[-1]")

    def __init__(self, seed: int) -> None:
        self.random, self.lines, self.looping = random.Random(seed), list[str](), False

    def value(self, names: str = "n") -> str:
        pick = self.random.choice
        read = pick(self.READS)
        return pick(
            (read, f"{read} + 1", f"{read} + {pick(self.READS)}", f"{read} * 0.5", pick(names), "a[0]")
        )

    def statement(self, depth: int, indent: str, names: str) -> None:
        pick, lines, looping = self.random.choice, self.lines, self.looping
        kind = pick(("set", "set", "set", "add", "add", "if", "for", "for", "while", "rare"))
        if kind == "set" or depth > 2:
            lines.append(f"{indent}{pick(self.READS)} = {self.value(names)}")
        elif kind == "add":
            lines.append(f"{indent}{pick(self.READS)} += {self.value(names)}")
        elif kind == "if":
            lines.append(f"{indent}if {self.value(names)} > {pick(('1', '3', self.value(names)))}:")
            self.block(depth + 1, indent + "    ", names)
            if self.random.random() < 0.6:
                lines.append(f"{indent}else:")
                self.block(depth + 1, indent + "    ", names)
        elif kind == "for":
            name = "ijk"[depth]
            lines.append(f"{indent}for {name} in range({pick(('n', '2', 'n + 1'))}):")
            self.looping = True
            self.block(depth + 1, indent + "    ", names + name)
        elif kind == "while":
            lines.append(f"{indent}w{depth} = 0")
            lines.append(f"{indent}while w{depth} < n and {self.value(names)} < 50:")
            lines.append(f"{indent}    w{depth} += 1")
            self.looping = True
            self.block(depth + 1, indent + "    ", names)
        if kind in ("for", "while"):
            self.looping = looping
        if kind == "rare" and depth <= 2:
            rare = (
                "p.z = n", "seen.append(p)", "d['c'] = n", "q.append(n)", "q = [1, 2.0]", "p = Point(1, 2)",
                "d = {'a': n, 'b': 1.5}", "seen.append(dict(d))", "q[0], q[1] = q[1], q[0]", "r = p",
                "p.y = a", "break" if looping else "r = d", "if p.x > 9: return p, d, q",
            )  # fmt: skip
            lines.append(indent + pick(rare))

    def block(self, depth: int, indent: str, names: str) -> None:
        for _ in range(self.random.randint(1, 3)):
            self.statement(depth, indent, names)

    def text(self, given: bool = False) -> str:
        """given: whether the object, the dict and the list are arguments."""
        start = self.random.choice(("0", "0.5", "a"))
        first = f"    p, d, q, seen = Point({start}), {{'a': 1, 'b': 2.5}}, [0, n], []"
        self.lines = ["def f(n, a, p, d, q):", "    seen = []"] if given else ["def f(n, a):", first]
        for _ in range(4):
            self.statement(0, "    ", "n")
        end = self.random.choice(("p.x, p.y, d['a'], q[0]", "p, d, q, seen", "d, a"))
        return "\n".join([*self.lines, f"    return {end}", ""])


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("block", range(4))
def test_random_programs(block: int, executor: str, tmp_path: pathlib.Path) -> None:
    with settings.override(executor=executor):
        for seed in range(block * 8, block * 8 + 8):
            check_program(seed, tmp_path)


PART = slice(1, 2)
KEYS = {"a part": PART, "in a tuple": (1, PART), "a name": "a", "a pair": (1, "b"), "a class": Point}


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("key", KEYS.values(), ids=list(KEYS))
def test_what_is_no_key_is_refused_in_dicts_that_nobody_reads(key: Any, executor: str) -> None:
    """Such dicts went, and with them the TypeError (before Python 3.12, which takes slices for keys)."""

    def stored(x: float) -> float:
        held: dict[Any, float] = {}
        held[key] = x
        return x + 1

    def shown(x: float) -> float:
        {key: x}
        return x + 1

    for f in (stored, shown):
        with settings.override(executor=executor):
            converted = ag.function(f)
            for x in (1.0, 2.0, 3.0):
                assert outcome(converted, x) == outcome(f, x)


def outcome(f: Callable[..., Any], x: float) -> Any:
    """What a call gives, or what it raises."""
    try:
        return f(x)
    except TypeError as error:
        return str(error)


def check_program(seed: int, folder: pathlib.Path, given: bool = False) -> None:
    """One random program, plain and converted."""
    text = Writer(seed).text(given)
    name = f"fields_{seed}_{given}"
    path = folder / f"{name}.py"
    path.write_text(f"from {__name__} import Point\n\n\n{text}")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
        converted = ag.function(module.f)
        for n in (0, 3, np.int64(4)):
            for a in (np.arange(3.0), np.array([2, 1])):
                held = (Point(0.5, n), {"a": 1, "b": 2.5}, [0, n]) if given else ()
                wanted = seen(module.f, n, a, *held)
                got = seen(converted, n, a, *held)
                assert got == wanted, f"seed {seed}, n = {n!r}, a = {a!r}\n{text}"
    finally:
        del sys.modules[name]
