"""The text that the passes write, whole, for one function each."""

# ruff: noqa: E501  the wanted texts are written as they come
from __future__ import annotations

import pytest

from tests.autograph.converting import conversion, printed, text_of

GOLDEN = {
    "design": (
        """
        def collatz(n):
            steps = 0
            while n != 1:
                if n % 2 == 0:
                    n = n // 2
                else:
                    n = 3 * n + 1
                steps += 1
            return steps
        """,
        """
        def collatz(n):
            steps = 0

            def loop_test(n, steps):
                return n != 1

            def loop_body(n, steps):

                def if_true(n):
                    return n // 2

                def if_false(n):
                    return 3 * n + 1
                n = ag.cond(n % 2 == 0, if_true, if_false, (n,))
                steps += 1
                return (n, steps)
            n, steps = ag.while_loop(loop_test, loop_body, (n, steps))
            return steps
        """,
    ),
    "early return nests": (
        """
        def f(x):
            if x < 0:
                return -x
            y = x + 1
            return y * 2
        """,
        """
        def f(x):

            def if_false():
                y = x + 1
                return y * 2
            return ag.cond(x < 0, lambda: -x, if_false)
        """,
    ),
    "return in a loop": (
        """
        def f(v, t):
            for k, e in enumerate(v):
                if e == t:
                    return k
            return -1
        """,
        """
        def f(v, t):
            did_return = False
            return_value = ag.unbound('return_value')

            def loop_body(item, did_return, return_value):
                k, e = item

                def if_true(did_return, return_value):
                    return_value = k
                    did_return = True
                    return (did_return, return_value)
                return ag.cond(e == t, if_true, lambda did_return, return_value: (did_return, return_value), (did_return, return_value))
            did_return, return_value = ag.for_loop(ag.call(enumerate, v), loop_body, (did_return, return_value), test_fn=lambda did_return, return_value: ag.not_(did_return))
            return ag.cond(did_return, lambda: ag.bound(return_value, 'return_value'), lambda: -1)
        """,
    ),
    "break": (
        """
        def f(v, limit):
            s = 0
            for e in v:
                if s + e > limit:
                    break
                s = s + e
            return s
        """,
        """
        def f(v, limit):
            s = 0
            did_break = False

            def loop_body(e, s, did_break):

                def if_true(s, did_break):
                    did_break = True
                    return (s, did_break)

                def if_false(s, did_break):
                    s = s + e
                    return (s, did_break)
                return ag.cond(s + e > limit, if_true, if_false, (s, did_break))
            s, did_break = ag.for_loop(v, loop_body, (s, did_break), test_fn=lambda s, did_break: ag.not_(did_break))
            return s
        """,
    ),
    "continue needs no flag": (
        """
        def f(v):
            s = 0
            for e in v:
                if e < 0:
                    continue
                s = s + e
            return s
        """,
        """
        def f(v):
            s = 0

            def loop_body(e, s):

                def if_false(s):
                    return s + e
                return ag.cond(e < 0, lambda s: s, if_false, (s,))
            s = ag.for_loop(v, loop_body, (s,))
            return s
        """,
    ),
    "bound on one path": (
        """
        def f(x):
            if x > 0:
                y = x
            return y
        """,
        """
        def f(x):
            y = ag.unbound('y')

            def if_true(y):
                return x
            y = ag.cond(x > 0, if_true, lambda y: y, (y,))
            return ag.bound(y, 'y')
        """,
    ),
    "shared and rebound": (
        """
        def f(v):
            total = 0

            def push(e):
                nonlocal total
                total += e
            for e in v:
                push(e)
            return total
        """,
        """
        def f(v):
            total = ag.Cell('total')
            total.value = 0

            def push(e):
                total.free += e

            def loop_body(e):
                push(e)
            ag.for_loop(v, loop_body)
            return total.value
        """,
    ),
    "expressions": (
        """
        def f(x, v, d):
            a = x is None or not x in v and 0 < x <= 9
            b = [k * e for k, e in enumerate(v) if e]
            c = {'one': x, **d}
            (p, q), *r = v
            v[0] += np.sqrt(x) if x else np.zeros(3)
            b.append(f'{x:.3f}{a!r}')
            return (0 < x + 1 < 9, *c)
        """,
        """
        def f(x, v, d):
            a = ag.or_(ag.is_(x, None), lambda: ag.and_(ag.not_(ag.in_(x, v)), lambda: ag.and_(0 < x, lambda: x <= 9)))
            b = ag.list_comp(lambda k, e: k * e, ag.call(enumerate, v), where=lambda k, e: e)
            c = ag.dict_merge(ag.dict_((('one', x),)), d)
            item, r = ag.unpack(v, 1, 0)
            p, q = ag.unpack(item, 2)
            v[0] += ag.cond(x, lambda: np.sqrt(x), lambda: ag.call(np.zeros, 3))
            b.append(ag.call('{:.3f}{!r}'.format, x, a))
            return ag.tuple_((lambda left, middle: ag.and_(left < middle, lambda: middle < 9))(0, x + 1), *ag.unpack(c))
        """,
    ),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_text(name: str) -> None:
    source, want = GOLDEN[name]
    assert text_of(conversion(source).node) == printed(want)


def test_the_given_tree_is_left_alone_and_the_text_is_stable() -> None:
    texts = {text_of(conversion(GOLDEN["return in a loop"][0]).node) for _ in range(3)}
    assert len(texts) == 1
