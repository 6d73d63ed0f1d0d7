"""Lists, dicts and objects: every way to reach and change them does what it does in plain Python."""

from __future__ import annotations

import collections
import functools
import heapq
import itertools
import operator
import random
from typing import Any

import numpy as np
import pytest

import autograph as ag
from tests.trace.scenarios import See, check, scenarios

V1, V2 = np.float64(1), np.float64(2)


class Point:
    """A plain object with methods whose names arrays and lists have, too."""

    kind = 1

    def __init__(self, x: Any) -> None:
        self.x, self.items = x, [x]

    def append(self, x: Any) -> Any:
        self.items.append(x)
        print("append", x)
        return self


class Loud:
    """Every operator leaves a trace in `n`."""

    def __init__(self, v: Any) -> None:
        self.v, self.n = v, 0

    def __bool__(self) -> bool:
        self.n += 10
        return bool(self.v > 0)

    def __len__(self) -> int:
        self.n += 1
        return int(self.v)

    def __iter__(self) -> Any:
        self.n += 100
        yield from range(int(self.v))
        self.n += 100

    def __eq__(self, other: object) -> bool:
        self.n += 1000
        return True

    def __hash__(self) -> int:
        self.n += 10000
        return 1

    def __add__(self, other: Any) -> Any:
        self.n += 2
        return self.v

    def __repr__(self) -> str:
        self.n += 3
        return "loud"


class Watched:
    """A property, a descriptor, a cached property, and attributes made up on the way."""

    class Reading:
        def __get__(self, instance: Any, owner: Any) -> Any:
            if instance is None:
                return self
            instance.reads += 1
            return instance.reads

    reading = Reading()

    def __init__(self) -> None:
        self.reads = 0

    @property
    def twice(self) -> Any:
        self.reads += 10
        return self.reads * 2

    @twice.setter
    def twice(self, value: Any) -> None:
        self.reads = value

    @functools.cached_property
    def once(self) -> Any:
        self.reads += 100
        return self.reads


class Secretive:
    """Looking at it at all is counted."""

    def __init__(self) -> None:
        object.__setattr__(self, "looks", 0)

    def __getattribute__(self, name: str) -> Any:
        if name != "looks":
            object.__setattr__(self, "looks", object.__getattribute__(self, "looks") + 1)
        return object.__getattribute__(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, [value])


def aliased_arguments(function: Any, see: See) -> None:
    @function
    def f(a, b):
        n = len(b)
        a.append(5)
        s = b[0]
        a[0] = 7
        return n, len(b), s, b[0], b is a

    x, y = [1, 2], [3]
    for a, b in ((x, y), (x, x), (y, y)):
        see.run(f, a, b)


def c_functions_change_what_they_are_handed(function: Any, see: See) -> None:
    @function
    def f(h, v):
        n, own = len(h), [4]
        heapq.heappush(h, v)
        heapq.heappush(own, v)
        a, b = h[0], len(own)
        operator.setitem(h, 0, -1)
        operator.iadd(own, [v])
        random.shuffle(h)
        return n, a, b, len(h), min(h), len(own), own

    see.run(f, [], 3.0)
    see.run(f, [1.0, 2.0], np.float64(0.5))


def sorting_calls_back(function: Any, see: See) -> None:
    @function
    def f(a):
        seen = []

        def key(x):
            seen.append(x)
            return -x

        a.sort(key=key)
        n = len(seen)
        largest = max(a, key=lambda x: seen.append(x) or x)
        return n, len(seen), seen, largest

    see.run(f, [1, 2, 3])
    see.run(f, [4.0, 5.0])


def dict_changes_while_iterated(function: Any, see: See) -> None:
    @function
    def grows(v):
        d = {"a": v, "b": 2}
        for k in d:
            d[k + "x"] = v

    @function
    def grows_by_items(v):
        d = {"a": v}
        for _k, _x in d.items():
            d["c"] = v

    @function
    def order(v):
        d = {"a": 1, "b": v, "c": 3}
        keys = d.keys()
        d["a"] = v
        d.pop("b")
        d["b"] = 0
        return list(d), list(keys), d.setdefault("z", v), len(keys), d.popitem(), list(d.values())

    for v in (1, V1):
        for f in (grows, grows_by_items, order):
            see.run(f, v)


def operators_of_objects_run_code(function: Any, see: See) -> None:
    @function
    def f(p, v):
        q = Loud(v)
        out = []
        for x in (p, q):
            out.append(x.n)
            out.append(1 if x else 0)
            out.append(x.n)
            out.append(len(x))
            out.append(x.n)
            out.append(x + 1)
            out.append(x.n)
            out.append([x] == [p])
            out.append(x.n)
            out.append({x: 1} and x.n)
            out.append(str([x]))
            out.append(x.n)
            for i in x:
                out.append(x.n + i)
            first, *_rest = x
            out.append(x.n)
        return out

    see.run(f, Loud(2), 3)
    see.run(f, Loud(V2), V1)


def methods_named_like_those_of_lists(function: Any, see: See) -> None:
    @function
    def f(p, v):
        q = Point(v)
        q.append(1).append(v)
        p.append(v)
        return len(p.items), p.items[-1], q.items

    see.run(f, Point(1), 2)
    see.run(f, Point(1.0), V2)


def special_attributes(function: Any, see: See) -> None:
    @function
    def f(p, v):
        Point.__init__(p, v)
        return p.__class__.__name__, p.__class__ is Point, p.x, p.__doc__, type(p).__name__, p.items.__len__()

    for v in (1, V1, np.ones(2)):
        see.run(f, Point(0), v)


def attributes_that_are_computed(function: Any, see: See) -> None:
    @function
    def f(w, v):
        q = Watched()
        out = []
        for x in (w, q):
            out += [x.reads, x.reading, x.reads, x.twice, x.reads, x.once, x.once, x.reads]
            x.twice = v
            out.append(x.reads)
        return out

    w = Watched()
    for v in (1, 2, V2):
        see.run(f, w, v)
        see.run(f, Watched(), v)


def looking_is_counted(function: Any, see: See) -> None:
    @function
    def f(s, v):
        a = s.looks
        s.x = v
        b = s.x
        return a, b, s.looks

    for v in (1, V1):
        see.run(f, Secretive(), v)


def class_changes_inside_and_between(function: Any, see: See) -> None:
    class Sub(Point):
        def get(self):
            return self.kind

        @classmethod
        def make(cls, x):
            return cls(x)

        @property
        def double(self):
            return self.x * 2

    @function
    def f(p, v):
        a = p.kind, p.get(), p.double, p.make(v).x
        Sub.kind = v
        b = p.kind
        p.kind = -1
        c = p.kind
        del p.kind
        Sub.get = lambda self: "new"
        return a, b, c, p.kind, p.get()

    for v in (3, 4, V1):
        see.run(f, Sub(1), v)
    Sub.get = lambda self: "outside"
    see.run(f, Sub(1), 3)
    Sub.double = property(lambda self: "property")  # type: ignore[assignment,method-assign]
    see.run(f, Sub(1), 3)
    Sub.make = classmethod(lambda cls, x: Point(0))  # type: ignore[assignment,method-assign]
    see.run(f, Sub(1), 3)


def namedtuples(function: Any, see: See) -> None:
    base = collections.namedtuple("base", "a b")

    class Slim(base):
        __slots__ = ()
        k = 3

        def total(self):
            return self.a + self.b + self.k

    class Fat(base):
        @property
        def p(self):
            print("p")
            return self.a

    @function
    def f(t, u, v):
        u.extra = v
        return t.total(), t.k, u.p, u.extra, t._replace(a=v), Slim(v, 1).total()

    for v in (1, V1):
        see.run(f, Slim(1, 2), Fat(3, 4), v)
        Slim.k = Slim.k + 1
    Slim.total = lambda self: "new"  # type: ignore[method-assign]
    see.run(f, Slim(1, 2), Fat(3, 4), 1)


def setattr_by_computed_name(function: Any, see: See) -> None:
    @function
    def f(p, q, name, v):
        a = p.x, q.x
        setattr(p, name, v)
        b = p.x, q.x
        object.__setattr__(q, "x", v + 1)
        c = p.x, q.x
        delattr(p, name)
        return a, b, c, hasattr(p, name), getattr(q, "x", None)

    p = Point(1)
    see.run(f, p, Point(2), "x", 5)
    see.run(f, Point(3), Point(2), "y", V2)
    see.run(f, p, p, "y", V2)


def starred_displays(function: Any, see: See) -> None:
    @function
    def f(x, a):
        y, *t = [x, *a]
        t.append(y)
        return y, t

    see.run(f, 1, list(range(40)))
    see.run(f, 1, [])


def inner_functions_that_call_themselves(function: Any, see: See) -> None:
    @function
    def f(xs, n):
        calls = [0]

        def total(k):
            calls[0] += 1
            return 0 if k <= 0 else k + total(k - 1)

        def even(k):
            return k == 0 or odd(k - 1)

        def odd(k):
            return k != 0 and even(k - 1)

        def insert(node, x):
            if node is None:
                return [x, None, None]
            side = 1 if x < node[0] else 2
            node[side] = insert(node[side], x)
            return node

        root = None
        for x in xs:
            root = insert(root, x)
        return total(n), calls, even(n), odd(n), root

    see.run(f, [3, 1, 2], 4)
    see.run(f, np.array([3.0, 1.0]), np.int64(5))
    see.run(f, list(range(20)), np.int64(60))


def globals_rebound_by_code_left_to_python(function: Any, see: See) -> None:
    global shared
    shared = 1

    @function
    def f(x):
        global shared
        shared += 1

        class Made:
            v = x

            def get(self):
                return self.v + shared

        def steps():
            global shared
            for i in range(2):
                shared += 1
                yield i + shared

        a = Made().get()
        shared = 10
        return a, Made().get(), list(steps()), shared

    see.run(f, 1)
    see.run(f, V2)
    see(shared)


def stars_of_unknown_length(function: Any, see: See) -> None:
    @function
    def f(l):
        def count(*args):
            return len(args)

        n = 0
        for _x in [*l, 5]:
            n += 1
        for _x in (*l, 5):
            n += 1
        t = (*l, 1)
        return len(t), n, count(*l), count(1, *l), len([*l]), {*l}, 5 in (*l,), (*l,) == (1,)

    for items in (list(range(40)), [1], [], [1] * 40):
        see.run(f, items)


def special_methods_exchanged_between_calls(function: Any, see: See) -> None:
    class Layer:
        def __init__(self, n):
            self.n = n

        def __call__(self, x):
            return x + self.n

        def __getitem__(self, i):
            return i * self.n

        def __setitem__(self, i, v):
            self.n = v + i

    @function
    def f(layer, x):
        own = Layer(x)
        layer[1] = x
        own[0] = 2
        return layer(x), layer[2], own(x), own[3]

    for x in (1, V1):
        see.run(f, Layer(2), x)
    Layer.__call__ = lambda self, x: "call"  # type: ignore[method-assign]
    see.run(f, Layer(2), 1)
    Layer.__getitem__ = lambda self, i: "item"  # type: ignore[method-assign]
    see.run(f, Layer(2), 1)
    Layer.__setitem__ = lambda self, i, v: None  # type: ignore[method-assign]
    see.run(f, Layer(2), 1)
    Layer.__init__ = lambda self, n: setattr(self, "n", -n)  # type: ignore[method-assign]
    see.run(f, Layer(2), 1)


def partials_with_other_keywords(function: Any, see: See) -> None:
    def g(*args, **kwargs):
        return args, kwargs

    @function
    def f(p, x):
        return p(x)

    kept = functools.partial(g, a=1)
    for p in (kept, functools.partial(g, a=1, b=2), functools.partial(g), functools.partial(g, 1), kept):
        see.run(f, p, 3)
    kept.keywords["z"] = 5
    see.run(f, kept, 3)


def attributes_made_up_by_a_callable(function: Any, see: See) -> None:
    class Mock:
        def __getattr__(self, name):
            if name.startswith("__"):
                raise AttributeError(name)
            print("asked", name)
            return lambda *args: (name, args)

        def __call__(self, x):
            return "called", x

    held = Mock()

    @function
    def f(m, x):
        return m(x), held(x), m.foo(x), held.bar(1)

    for x in (1, V1):
        see.run(f, Mock(), x)


def code_behind_operators_changes_other_objects(function: Any, see: See) -> None:
    class Evil:
        def __init__(self, a):
            self.a = a

        def __radd__(self, other):
            self.a.x += 1
            return other

        __add__ = __radd__

        def __repr__(self):
            self.a.x += 1
            return "evil"

    def steps(a):
        for i in range(3):
            a.x += 1
            yield i

    @function
    def added(xs, a):
        total = 0
        for e in xs:
            total = total + e + a.x
        return total, a.x

    @function
    def printed(xs, a):
        before = a.x
        text = f"{xs}"
        return before, text, a.x

    @function
    def pulled(iterable, a):
        before = a.x
        return before, [(e, a.x) for e in iterable], a.x

    a = Point(1)
    for xs in ([1, 2], [1, Evil(a)], [Evil(a)] * 20, (Evil(a), 1)):
        see.run(added, xs, a)
        see.run(printed, xs, a)
    for make in (
        lambda: steps(a),
        lambda: itertools.chain(steps(a), [1]),
        lambda: zip(steps(a), steps(a)),
        lambda: map(lambda i: setattr(a, "x", i), [5, 6]),
        lambda: [1],
        lambda: enumerate(steps(a)),
    ):
        see.run(pulled, make(), a)


shared: Any = 1
SCENARIOS = scenarios(globals())


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.__name__)
def test_what_plain_python_does(scenario: Any) -> None:
    check(scenario)


def test_long_lists_are_not_guarded_item_by_item() -> None:
    @ag.function
    def f(l):
        total = 0
        for e in l:
            total += e
        return total

    assert f(list(range(1000))) == 499500 and f(list(range(5))) == 10 and f([1.5]) == 1.5
    assert len(f.traces) == 1 and len(f.get_concrete_function([1]).guards) < 4


@pytest.mark.parametrize("module", [None, 5, property(lambda self: "x")])
@pytest.mark.parametrize("executor", ["auto", "numpy"])
def test_a_class_whose_module_is_no_text(module: Any, executor: str) -> None:
    odd = type("Odd", (), {"__module__": module, "rate": 2.0, "doubled": lambda self, x: x * self.rate})

    def used(thing: Any, x: Any) -> Any:
        total = thing.doubled(x) if isinstance(thing, odd) else x
        return total + odd().rate

    with ag.settings.override(executor=executor):
        assert np.array_equal(ag.function(used)(odd(), np.ones(2)), [4.0, 4.0])
