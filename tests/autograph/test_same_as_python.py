"""Programs that once differed from plain Python; each call is made beside the plain function and compared.

`check=True` compares classes, dtypes, shapes, bits, exceptions with their texts, printed output, arguments
afterwards and sharing, and raises CheckError for the first difference.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.errors import CheckError

CASES: list[Any] = []
A, f64, i64 = np.array, np.float64, np.int64


def case(*calls: tuple[Any, ...]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add the function, to be called with each of these argument tuples in turn."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        CASES.append(pytest.param(function, calls, id=function.__name__))
        return function

    return register


@case((f64(1.0), [1, 2, 3]), (f64(-1.0), [1, 2, 3]))
def left_to_python_reads_a_shared_name(a: Any, items: list[Any]) -> Any:
    """A loop that is left to Python rebinds a name that an inner function shares."""

    def keep(p: Any) -> Any:
        nonlocal a
        a = p
        return a

    for e in items[:3]:
        keep(a + 1)
        e, *items = [a, *items[:2]]
    return a, items


@case((A([1.0, 3.0]), f64(2.0)), (A([1.0, 1.0]), f64(2.0)), (A([-1.0, 3.0]), f64(2.0)))
def asked_value_beside_a_list(x: Any, limit: Any) -> Any:
    """The variable of the tested value must not take the place of the list that only the other arm reads."""
    seen: list[Any] = []
    if x[0] == 3 or (x > add(seen, x[1], limit)).all():
        return "yes", x
    return "no", x


def add(seen: list[Any], value: Any, limit: Any) -> int:
    if value > limit:
        return 5
    seen.append(value)
    return len(seen)


@case((0,), (3,), (i64(0),), (i64(4),), (2.5,))
def walrus_in_a_loop_test(x: Any) -> Any:
    """What the test binds is a write to the name's box, also when the loop makes no trip."""
    n = 0
    while (n := n + 1) < x:
        pass
    return n


@case((A([]),), (A([1.0, 2.0]),))
def unbound_after_no_trip(v: Any) -> Any:
    """The class of the error is Python's own."""
    for last in v:
        pass
    return last


@case((np.timedelta64(5, "D"),), (np.timedelta64(-5, "h"),))
def units_of_time(d: Any) -> Any:
    """Constants of equal numbers and unlike units are two constants."""
    return d // np.timedelta64(2, "D"), d % np.timedelta64(2, "h")


@case((range(0, 3, 2),), (range(0, 4, 2),), (range(0),), (range(5, 0),))
def equal_ranges_differ(r: Any) -> Any:
    return r.start, r.stop, r.step, list(r)


@case((frozenset([1]),), (frozenset([1.0]),), (frozenset([True]),), (frozenset([0.0]),), (frozenset([-0.0]),))
def equal_sets_differ(s: Any) -> Any:
    return [repr(item) for item in s]


@case((f64(1.5), 3), (1.5, 3), (A([1, 2]), "a"), ((1, 2), None), ("t", [1]))
def percent_texts(x: Any, y: Any) -> Any:
    """`%` on a text would ask a traced value for its text at once."""
    fmt = "<%s>"
    print("%r and %s" % (x, y))
    return "%r" % (x,), "%(k)s" % {"k": y}, b"%b" % b"x", fmt % (y,)


@case((1,), (f64(1),), (A(1),), ([1],), (None,), (len,), (np.True_,))
def callables(x: Any) -> Any:
    """A class is callable; that does not make its instances so."""
    return callable(x), hasattr(x, "mro"), getattr(x, "mro", "none")


@case((1000, 1000), ((1, 2), (1, 2)), (1.5, 1.5), (1, 1), (None, None), (True, 1), (1.5, 2.5))
def identity_of_constants(a: Any, b: Any) -> Any:
    """Equal constants may be one object on one call and two on the next."""
    return a is b, a is not b


NAN, OTHER = float("nan"), float("nan")


@case((NAN, NAN), (NAN, OTHER), (1.0, 1.0), (NAN, 1.0), ((NAN,), (NAN,)), ((NAN,), (OTHER,)))
def which_nan(a: Any, b: Any) -> Any:
    """A list finds a NaN by identity."""
    return a in [b], [a].count(b), [a] == [b], a == b


@case((i64(3),), (3,), (0,))
def loop_test_binds_a_shared_name(x: Any) -> Any:
    """What the loop's test binds late is known in the body by its type only."""
    n = 0
    while n < 5 and (y := x * n) < 10:
        n += 1
        if y > 3 and (z := y - 1):
            n += z > 2
    return n, y


class Loud:
    """Says when it is asked for its truth, and changes its mind."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __bool__(self) -> bool:
        print("asked", self.value)
        self.value -= 1
        return self.value > 0


@case((Loud(3),), (Loud(0),), (A([1, 2]),), (A([1]),), (A([]),), ([],), (A(0),))
def truth_is_asked_in_order(x: Any) -> Any:
    """Asking for the truth may run code, raise, and depend on what was written before."""
    y = x and 5
    z = x or 7
    w = not x
    u = 1 if x else 2
    if x:
        pass
    if isinstance(x, (list, np.ndarray)):
        x *= 0
    return y is x, z is x, w, u


@case((A([1, 2]),), (A([1]),), (A([]),))
def nobody_needs_the_answer(x: Any) -> Any:
    """An array of several items has no truth, also where nothing depends on it."""
    x and 5
    if x:
        y = 1
    else:
        y = 1
    return x


@case((None,), (1,), ("s",), (i64(1),))
def calls_what_cannot_be_called(x: Any) -> Any:
    return x(1)


class Reflects:
    """Takes over from whatever stands on its left."""

    __array_ufunc__ = None

    def __radd__(self, other: Any) -> str:
        return "radd"


@case(
    ([1, 2], A([1, 2])), ([1, 2], [3]), ([1, 2], "ab"), ([1, 2], {1: 2}), ([1, 2], 5), ([1, 2], i64(1)),
    (A([1.0, 2]), [1, 2]), ([1, 2], Reflects()), (A([1, 2]), Reflects()), (5, Reflects()), ((1,), Reflects()),
)  # fmt: skip
def augmented_addition(a: Any, b: Any) -> Any:
    """What is added may take over, and then the target is another object."""
    before = a
    a += b
    return a, before, a is before


@case(
    ([1], A([1, 2])),
    ([1], 3),
    ([1], i64(3)),
    (i64(2), [1]),
    ([1], 2.0),
    (None, 2.5),
    (1.5, "s"),
    (2.5, f64(1)),
)
def augmented_multiplication(a: Any, b: Any) -> Any:
    before = a
    a *= b
    return a, before, a is before


@case((1.5, 2), (f64(1), "s"), (None, f64(1)), (1, f64(2.5)), ("s", 1), (2, i64(1)), (range(2), 1.5))
def errors_of_augmented_operators(a: Any, b: Any) -> Any:
    """`unsupported operand type(s) for <<=`."""
    a <<= b
    return a


@case((1, [1]), (1j, 1.5), (f64(1), "s"), ("s", f64(1)), (None, 2.5), (2, 2.5))
def errors_of_comparisons(a: Any, b: Any) -> Any:
    """Python asks the right side when the left doesn't know; the error still names both in their order."""
    return (2 < b) is None, a >= b


@case((1.5, 2), (1, 2), (None, 2))
def indexes_a_display(a: Any, b: Any) -> Any:
    """Python warns of the text `[b, b][1.5]` when it compiles it; the user didn't write that."""
    return [b, b][a]


@case((0,), (1.0,), (True,), (-1,), (2,), (i64(1),), (f64(1),))
def indexes_a_known_list(a: Any) -> Any:
    """1.0 is the same key as 1, but no index."""
    return [10, 20][a]


def options(a: Any = 10, *rest: Any, b: Any = 20, **more: Any) -> Any:
    return a, rest, b, more


@case(
    ({"a": 1}, {}),
    ({"b": 2}, {"a": 3}),
    ({"q": 1}, {"c": 2}),
    ([("a", 1)], {}),
    ({1: 2}, {}),
    (5, {}),
    (A(1), {}),
)
def keywords_from_a_mapping(d: Any, e: Any) -> Any:
    """Which keywords there are is known at run time only."""

    def inner(a: Any = 0, **more: Any) -> Any:
        return a, more, inner.__module__

    made: list[Any] = []
    for k in range(8):
        try:
            if k == 0:
                made.append(options(**d))
            elif k == 1:
                made.append(options(1, **d))
            elif k == 2:
                made.append(options(*[7, 8], b=4, **d, q=5, **e))
            elif k == 3:
                made.append(inner(**d))
            elif k == 4:
                made.append({**d, **e, "x": k})
            elif k == 5:
                made.append(dict(**d, **e))
            elif k == 6:
                made.append(np.zeros(2, **e))
            else:
                made.append([k, *d, *e])
        except TypeError as error:
            made.append(str(error))
    return made


@case(([1, 2], 0), ([1, 2], 1), (5, 1), ({1: 2}, 1), (A([1, 2]), 0), ((1, 2), 1))
def order_in_displays(xs: Any, y: int) -> Any:
    """What a star takes apart is read before what stands behind it is evaluated."""
    made: list[Any] = []
    for k in range(4):
        try:
            if k == 0:
                made.append([*xs, xs.append(7), 1 // y, *xs])
            elif k == 1:
                made.append({**xs, "a": xs.pop(1, None), "b": 1 // y})
            elif k == 2:
                made.append((*xs, options(*xs, xs.clear(), b=1 // y)))
            else:
                made.append({*xs, len(xs), 1 // y})
        except (TypeError, ZeroDivisionError, AttributeError) as error:
            made.append((type(error), str(error)))
    return made, xs


@case((5, [1]), ([1], 5), (i64(3), (1, 2)), ((1, 2), f64(3)), (A(1), None), ({1: 2, 3: 4}, "ab"), (len, {1}))
def errors_of_unpacking(a: Any, b: Any) -> Any:
    """What can't be taken apart is refused in Python's words for the place."""
    made: list[Any] = []
    for x in (a, b):
        try:
            p, q = x
            made.append((p, q))
        except TypeError as error:
            made.append(str(error))
        try:
            p, *rest = x
            made.append((p, rest))
        except TypeError as error:
            made.append(str(error))
        try:
            made.append([*x])
        except TypeError as error:
            made.append(str(error))
        try:
            made.append({**x})
        except TypeError as error:
            made.append(str(error))
    return made


WEIGHTS, LETTERS, OPERATORS, PLAIN = (0.5, 1.5, 2.5), "abcdef", (np.add, np.subtract), "plain"


@case((A([1, 2]), 0), (A([1, 2]), 1), (A([1.0]), i64(1)), (A([1, 2]), -1), (A([1, 2]), 3), (A([1]), True))
def index_of_a_tuple(x: Any, k: Any) -> Any:
    """Whatever holds the tuple or text, an index that is known at run time only is taken then."""
    total = 0.0
    for i in x:
        total = total + WEIGHTS[i]
    return OPERATORS[k](x, x), LETTERS[k], LETTERS[:k], WEIGHTS[k:], ("a", x)[k], total


@case((1, (1, 2.5, "x")), (i64(1), (1, A([2]))), (0, (A([1]), 2)), (2, (A([1]), [3])))
def index_of_a_tuple_handed_in(k: Any, t: Any) -> Any:
    r = t[0]
    for j in range(k):
        r = t[j]
    return r, t[k:], t[k]


@case(("abc", 2), ("abc", A([1])), ("%d", 3), ("abc", {}), ("%s", (1,)), ("abc", ()), (b"x", 1), (7, 2))
def percent_of_what_may_be_a_text(text: Any, x: Any) -> Any:
    """A text without a place for it refuses a value; it never asks it for anything."""
    return text % x


@case((2,), (A([1]),), ({},), (2.5,))
def percent_of_names(x: Any) -> Any:
    text = "abc"
    if isinstance(x, int):
        return PLAIN % x
    return text % x


@case((4,), (3,), (4,), (3,))
def key_on_one_path(b: int) -> Any:
    """A dict of which one path knows a key more is not known whole."""
    table: dict[str, Any] = {"two": b}
    if b % 2 == 0:
        table["one"] = 7
    for k in range(b):
        if k == 3:
            table["late"] = k
    return table.get("one", 5), len(table), "one" in table, list(table), table.get("late"), dict(**table)


@case((A([]), 1), (A([]), 2), (A([]), 3), (A([1.0]), 1), ([], 1), ([], 2), ([], 3))
def unbound_in_an_inner_scope(v: Any, how: Any) -> Any:
    """An inner function that finds the name unbound says so in other words than its owner."""
    for x in v:
        pass
    if how == 1:
        return [x for _ in range(2)]
    if how == 2:
        return sum(x for _ in range(2))
    return x


_WITHOUT_AXES = tuple(
    (n, x) for n in (np.int64(0), np.int64(1), np.int64(4)) for x in (A(2.0), A(2), np.float64(2))
)


@case(*_WITHOUT_AXES)
def arrays_without_axes_become_numbers(n: Any, x: Any) -> Any:
    """NumPy gives numbers for arithmetic on arrays without axes; what no trip touched is still an array."""
    t = x
    for i in range(n):
        t = t * 0.5 + i
    return t


@case(*_WITHOUT_AXES)
def arrays_without_axes_in_a_while(n: Any, x: Any) -> Any:
    """The same in a while, with `np.where`, which does give an array."""
    t = x
    while n > 0:
        t = np.where(-t > n, t, x) * 2
        n -= 1
    return t


@case((np.arange(6.0), np.arange(6.0).reshape(2, 3)))
def written_to_by_position(x: Any, m: Any) -> Any:
    """An array to write to need not be named: clip, cumsum, sum and others take it by position."""
    z = np.zeros(3)
    first = x.sum(), np.clip(x, 1, 4, x).sum(), x.sum(), x.cumsum(0, None, x).sum(), x.sum()
    second = z.sum(), np.sum(m, 0, None, z).sum(), z.sum(), m.max(0, z).sum(), z.sum()
    third = x.sum(), m.dot(z, x[:2]).sum(), x.sum(), np.sum(m, 1, None, x[2:4], False).sum(), x.sum()
    return first, second, third, z, x


@case((np.array([1.5, -2.25]), np.zeros(2)))
def one_of_two_results_has_an_array(x: Any, y: Any) -> Any:
    """np.modf and np.divmod may be told where to put one result only: the other one was None."""
    return np.modf(x, y), np.divmod(x, 2, out=(None, y)), y


@case((np.arange(3.0),))
def records_and_objects_of_sequences(x: Any) -> Any:
    """For a dtype of records a tuple is one record, an array of objects keeps the lists themselves."""
    records = np.array([(1, x[0]), (3, x[1])], dtype="i4,f8")
    kept = np.array([[x[0]], [1, 2]], dtype=object)
    kept[0].append(7)
    return (
        records["f1"].sum(),
        records.dtype.names,
        kept,
        np.asarray([[1], [2, 3]], object),
        np.array([[1, 2]], "O"),
    )


@case((np.arange(3.0), f64(2.0)))
def names_that_only_say_that_they_are_gone(x: Any, y: Any) -> Any:
    """Some versions of NumPy have `itemset` and `newbyteorder` in the class, and no array has them."""
    return [hasattr(v, name) for v in (x, y) for name in ("itemset", "newbyteorder", "T", "nope")]


@case((i64(2), A([7, -3])), (i64(40), A([7, 160])))
def order_of_sets_of_constants(k: Any, x: Any) -> Any:
    """A display of constants is made of a set in the code, and goes over its items in another order."""
    a = {16, 33, 50, 3, 1, 19}
    b = {(16, -1), (33, 2), (50, 3), (3, 2**3), (1, 0), (19, 5), (16, 1)}
    c = {160, 32, 64, 96, k}
    for v in x:
        a.add(int(v) * 16)
        b.add((int(v), int(k)))
        c.add(int(v) * 32)
    return list(a), [p for p in b], [v for v in c], list({8, 0, 16}), list(frozenset({96, 64, 32, 8, 0, 16}))


@pytest.mark.parametrize(("function", "calls"), CASES)
def test_is_as_python(function: Callable[..., Any], calls: tuple[tuple[Any, ...], ...]) -> None:
    checked = ag.function(function, check=True)
    for args in calls:
        try:
            checked(*copy.deepcopy(args))
        except CheckError:
            raise
        except Exception:  # plain Python raises it too, or it would be a CheckError
            pass
