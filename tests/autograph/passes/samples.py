"""Functions for the tests of passes: each exercises one construct.  `CALLS` says what to call them with."""

from __future__ import annotations

import functools

COUNT = 0


def early_exits(x, y):
    if x < 0:
        if y < 0:
            return "both"
        x = -x
    elif y == 0:
        raise ZeroDivisionError("y")
    for k in range(x):
        for j in range(y):
            if k * j > 6:
                return k, j
            if j > k:
                break
        else:
            y += 1
            continue
        x += 1
    else:
        if x > 9:
            return "else"
    return x, y, k


def without_value(x, out):
    if x > 2:
        return
    out.append(x)
    if x > 1:
        out.append("more")
        return


def loop_targets(v):
    for k, (a, *b) in enumerate(v):
        if k == 1:
            break
    box = [0, 0]
    for box[1] in b:
        box[0] += box[1]
    return k, a, b, box


def while_else(n):
    steps = 0
    while n > 1:
        n -= 2
        if n == 3:
            break
        if n % 5 == 0:
            continue
        steps += 1
    else:
        steps = -steps
    return n, steps


def unpacking(v, w):
    a, b = v
    (c, d), *e = w
    [f, *g, h], i = w[:2]
    x = y, z = a, b
    v[0], v[1] = v[1], v[0]
    a, b = b, a
    return a, b, c, d, e, f, g, h, i, x, y, z


def delicate_order(w):
    out = [0, 0, 0]
    i = 0
    (i, j), out[i] = w
    return i, j, out


def closures(n):
    made = []
    total = 0

    def add(by):
        nonlocal total
        total += by
        return total

    for k in range(n):
        made.append(lambda: (k, total))
        add(k)
        if k == 3:
            del k
            break
    return [add(1)] + [f() for f in made]


def recursion(n):
    def even(k):
        return True if k == 0 else odd(k - 1)

    def odd(k):
        return False if k == 0 else even(k - 1)

    def go(k):
        if k < 2:
            return k
        return go(k - 1) + go(k - 2)

    return even(n), odd(n), go(n)


def decorated(n):
    def twice(f):
        @functools.wraps(f)
        def inner(*args, **kwargs):
            return f(f(*args, **kwargs), **kwargs)

        return inner

    def plus(by):
        return lambda f: lambda x, **named: f(x, **named) + by

    @twice
    @plus(10)
    def g(x, *, scale=2):
        return x * scale

    return g(n), g(n, scale=3)


def walruses(v):
    if (n := len(v)) > 2 and (last := v[-1]) > 0:
        n += last
    while (k := n - 1) > 3:
        n = k
    seen = [big := e for e in v if e > 1]
    return n, k, seen, big


def comprehensions(v, w):
    k = 3
    a = [x * k for x in v if x if x != 2]
    b = {x: y for x, y in zip(v, w)}
    c = {(x, y) for x in v for y in w if x < y}
    d = [[x + y for y in w] for x in v]
    e = list(x + y + k for x in v for y in range(x))
    f = [x for (x,) in zip(v)]
    g = [(x, rest) for x, *rest in zip(v, w, w)]
    h = [k + x + y for k, (x, y) in enumerate(zip(v, w))]
    late = (x * k for x in v)
    k = 5
    return a, b, sorted(c), d, e, f, g, h, list(late)


def logic(x, y, z):
    a = x and y or not z
    b = x is None, y is not z, x in (y, z), x not in [y, z]
    c = x if y else z
    d = []
    e = (d.append(1) or x) < (d.append(2) or y) <= (d.append(3) or z)
    return a, b, c, d, e


def texts(x, name):
    width = 9
    return f"{name!r:>{width}}|{x:.2f}|{{}}|{x=}|{name:{'>'}{width + 1}}", f"plain{{", f"{x!s}{name}"  # noqa: F541


def displays(x, more):
    a, b, c = [x, *more], {x, *more}, {"k": x, **{"m": [x]}, "z": 1}
    d = (*more, x)
    return a, sorted(b), c, d, max(*more, x), dict(**c), [[x], []]


def asserted(x):
    assert x > 1
    assert not x > 5, f"too big: {x}"
    return x


def raised(x):
    if x > 2:
        raise ValueError(x) from KeyError("why")
    if x > 1:
        raise TypeError from None
    return x


def global_counter(n):
    global COUNT
    COUNT = 0

    def more():
        global COUNT
        COUNT += 1
        return COUNT

    for _ in range(n):
        more()
    return COUNT


def options(x, *rest, scale=1, **named):
    if named:
        named["x"] = x
    return x * scale, rest, named


def annotated(x):
    y: int = x
    z: float
    if y > 1:
        z = 2.0
    return z


def dead_code_keeps_names_local(x):
    if x:
        return len  # noqa: F823  the assignment below makes it local
    return x
    len = 1


def imports(n):
    import math as m
    from operator import add

    def f():
        return m.floor(add(n, 0.5))

    if n > 1:
        import cmath as m
    return m.sqrt(n) if n > 1 else f()


CALLS = {
    early_exits: [(-1, -1), (-1, 1), (0, 0), (0, 1), (3, 2), (5, 5), (9, 1), (4, 0), (12, 1)],
    without_value: [(0, []), (2, []), (3, [])],
    loop_targets: [([[1, 2], [3, 4, 5]],), ([[1]],), ([],), ([[]],)],
    while_else: [(0,), (1,), (7,), (8,), (22,)],
    unpacking: [([1, 2], [[3, 4], 5, 6]), ([1], []), ([1, 2], [[3, 4], 5]), ([1, 2], [3, 4])],
    delicate_order: [([[1, 2], 9],), ([[5, 2], 9],), ([1, 2],)],
    closures: [(0,), (1,), (3,), (6,)],
    recursion: [(0,), (1,), (7,)],
    decorated: [(1,), (5,)],
    walruses: [([1, 2, 3, 9],), ([5],), ([],), ([0, 0, 0],)],
    comprehensions: [([1, 2, 3], [4, 5, 6]), ([], []), ([2], [1, 2])],
    logic: [(0, 1, 2), (1, 1, 1), (3, 0, 5), (1, 2, 2), (None, 1, 2)],
    texts: [(1.5, "a"), (2, "longer name"), ("x", 1)],
    displays: [(1, [2, 3]), (1, []), (1, 5)],
    asserted: [(0,), (3,), (7,)],
    raised: [(1,), (2,), (3,)],
    global_counter: [(0,), (3,)],
    options: [(1,), (1, 2, 3), {"x": 2, "scale": 3, "more": 4}],
    annotated: [(1,), (2,)],
    dead_code_keeps_names_local: [(0,), (1,)],
    imports: [(1,), (4,)],
}
