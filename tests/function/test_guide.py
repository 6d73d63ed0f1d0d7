"""What the guide to tf.function says, as a table: a program, its calls, how many traces they take.

Each program is run plainly and as a function; results, printed text and what it changed must be the same.
"""

from __future__ import annotations

import contextlib
import copy
import io

import numpy as np
import pytest

import autograph as ag

STATE = {"log": [], "count": 0, "table": {}}
FACTOR = 2
WEIGHT = np.ones(3)


class Layer:
    def __init__(self, scale):
        self.scale, self.calls = scale, 0

    def __call__(self, x):
        self.calls += 1
        return x * self.scale


LAYER = Layer(3.0)


def dense(x, w, b):
    return np.maximum(x @ w + b, 0)


def prints(x):
    print("traced with", x)
    return x + 1


def appends(x):
    STATE["log"].append(x)
    STATE["count"] += 1
    return len(STATE["log"])


def globals_read(x):
    return x * FACTOR + WEIGHT.sum()


def global_written(x):
    global FACTOR
    FACTOR = FACTOR + 1
    return x * FACTOR


def object_state(x):
    return LAYER(x) + LAYER.calls


def iterator(xs):
    first = next(xs)
    return first, [x for x in xs]


def generator(n):
    def numbers():
        for i in range(n):
            yield i * i

    return sum(numbers())


def recursion(n):
    return n if n < 2 else recursion(n - 1) + recursion(n - 2)


def any_result(x):
    return {"list": [x, None], "tuple": (x, "text"), "set": {1, 2}, "function": abs}


def unlike_branches(flag, x):
    if flag:
        y, extra = x.sum(), 1
    else:
        y = "nothing"
    return y, extra if flag else None


def changing_shape(x):
    while x.size < 20:
        x = np.concatenate([x, x])
    return x


def in_place(x):
    view = x[1:]
    view += 10
    x[0] = -1
    return view.sum()


def raises(x):
    if x.sum() > 2:
        raise ValueError(f"too large: {x.sum()}")
    return x


def catches(x):
    try:
        return raises(x)
    except ValueError as error:
        return str(error)


def loop_else(n):
    for i in range(n):
        if i * i > 50:
            break
    else:
        return "never"
    return i


def growing_list(n):
    out = []
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        out.append(n)
    return out


def dict_of_lists(xs):
    groups = {}
    for x in xs:
        groups.setdefault(int(x) % 3, []).append(float(x))
    return groups


def random_draws(n):
    rng = np.random.default_rng(0)
    return [rng.normal() for _ in range(n)], rng.integers(0, 9, 3)


def defaults(x, power=2, *rest, scale=1.0, **options):
    return x**power * scale, rest, sorted(options)


def strings(name, x):
    return f"{name}: {x:.2f}".upper()


def late_binding(x):
    functions = [lambda v, k=k: v + k for k in range(3)] + [lambda v: v * k for k in range(2)]
    return [f(x) for f in functions]


A, B = np.arange(3.0), np.arange(4.0)
TABLE = [
    ("usage: arrays in, arrays out", dense, [(np.ones((2, 3)), np.ones((3, 2)), 1.0)] * 2, 1),
    ("tracing: by dtype", prints, [(np.float64(1),), (np.int64(1),), (np.float64(2),)], 2),
    ("rules: Python values by type and value, then open", prints, [(1,), (2,), (3,), (1.0,), (True,)], 4),
    ("rules: shapes, then open", prints, [(A,), (B,), (np.arange(5.0),), (A,)], 2),
    ("limits: Python side effects", appends, [(1,), (1,), (1,)], None),
    ("limits: globals are frozen", globals_read, [(A,)] * 3, 1),
    ("limits: globals that are written", global_written, [(A,)] * 4, None),
    ("limits: objects that change", object_state, [(A,)] * 3, None),
    ("limits: iterators", iterator, [(iter([1, 2, 3]),), (iter("ab"),)], None),
    ("limits: generators", generator, [(4,), (5,)], None),
    ("limits: recursion", recursion, [(np.int64(9),), (np.int64(3),)], 1),
    ("limits: results that are no tensors", any_result, [(A,), (B,)], None),
    ("limits: branches of unlike kind", unlike_branches, [(np.bool_(True), A), (np.bool_(False), A)], 1),
    ("limits: shapes that change in loops", changing_shape, [(A,), (B,)], 2),
    ("limits: writes into arguments", in_place, [(A.copy(),), (A.copy(),)], 1),
    ("errors: raised", raises, [(A * 2,), (A * 0,), (A * 3,)], 1),
    ("errors: caught", catches, [(A * 2,), (A * 0,)], 1),
    ("loops: else, break", loop_else, [(np.int64(5),), (np.int64(20),)], 1),
    ("loops: lists that grow", growing_list, [(np.int64(6),), (np.int64(27),)], 1),
    ("containers: dicts of lists", dict_of_lists, [(B,), (np.arange(10),)], 2),
    ("randomness: NumPy's own streams", random_draws, [(3,), (3,)], 1),
    ("signatures: defaults, *args, **kwargs", defaults, [(A,), (A, 3), (A, 3, 4, 5)], 3),
    ("strings", strings, [("a", np.float64(1)), ("a", np.float64(2)), ("b", np.float64(2))], 2),
    ("closures: late binding", late_binding, [(np.int64(5),)] * 2, 1),
]


def run(f, calls):
    global FACTOR, LAYER
    STATE.update(log=[], count=0, table={})
    FACTOR, LAYER = 2, Layer(3.0)
    found = []
    for args in calls:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            try:
                got = repr(f(*args))
            except Exception as error:
                got = f"{type(error).__name__}: {error}"
        found.append((got, out.getvalue(), repr(STATE), FACTOR, LAYER.calls, repr(args[0])[:40]))
    return found


def fresh(calls):
    return [tuple(copy.copy(x) for x in args) for args in calls]


@pytest.mark.parametrize("program,calls,traces", [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_row(program, calls, traces):
    expected = run(program, fresh(calls))
    f = ag.function(program)
    got = run(f, fresh(calls))
    assert [row[:5] for row in got] == [row[:5] for row in expected]
    # functions that share a comprehension's variable are for Python to make
    assert program is late_binding or all(record.plain is None for record in f.traces), f.traces
    if traces is not None:
        assert len(f.traces) == traces, f.why()
