"""The text that the passes write for `try` and `with`, and what of these they refuse."""

# ruff: noqa: E501  the wanted texts are written as they come
from __future__ import annotations

import contextlib

import numpy as np
import pytest

from tests.autograph.converting import conversion, printed, text_of

GOLDEN = {
    "results and a box": (
        """
        def f(d, key, log):
            try:
                y = d[key]
            except KeyError as error:
                y = 0
                log.append(error)
            finally:
                log.append("end")
            return y
        """,
        """
        def f(d, key, log):

            def try_body():
                return d[key]

            def handler(error):
                y = 0
                log.append(error)
                return y

            def finally_():
                log.append('end')
            y = ag.try_(try_body, ((lambda: KeyError, handler),), final=finally_)
            return y
        """,
    ),
    "a name that a handler may see half changed": (
        """
        def f(x):
            n = 0
            try:
                n = 1
                n = 1 // x
            except (ValueError, ZeroDivisionError):
                pass
            return n
        """,
        """
        def f(x):
            n = ag.Cell('n')
            n.value = 0

            def try_body():
                n.value = 1
                n.value = 1 // x
            ag.try_(try_body, ((lambda: (ValueError, ZeroDivisionError), lambda error: None),))
            return n.value
        """,
    ),
    "every part returns": (
        """
        def f(x):
            try:
                return 1 // x
            except ZeroDivisionError:
                raise
            except:
                return 0
        """,
        """
        def f(x):

            def handler(error):
                ag.raise_()
            return ag.try_(lambda: 1 // x, ((lambda: ZeroDivisionError, handler), (None, lambda error: 0)))
        """,
    ),
    "else": (
        """
        def f(x):
            try:
                check(x)
            except ValueError:
                return None
            else:
                return x + 1
        """,
        """
        def f(x):

            def try_body():
                ag.call(check, x)
            return ag.try_(try_body, ((lambda: ValueError, lambda error: None),), orelse=lambda: x + 1)
        """,
    ),
    "with": (
        """
        def f(x):
            with np.errstate(divide='ignore'), open('log') as log:
                y = 1 / x
                log.write('done')
            return y
        """,
        """
        def f(x):

            def with_body(entered):

                def with_body_2(log):
                    y = 1 / x
                    ag.call(log.write, 'done')
                    return y
                return ag.with_(ag.call(open, 'log'), with_body_2)
            y = ag.with_(ag.call(np.errstate, divide='ignore'), with_body)
            return y
        """,
    ),
    "a manager that may swallow": (
        """
        def f(x):
            with contextlib.suppress(ValueError):
                y = 1
                return x
            return y
        """,
        """
        def f(x):
            y = ag.Cell('y')
            did_return = False
            return_value = ag.unbound('return_value')

            def with_body(entered):
                y.value = 1
                return_value = x
                did_return = True
                return (did_return, return_value)
            did_return, return_value = ag.with_(ag.call(contextlib.suppress, ValueError), with_body, suppressed=(False, None))
            return ag.cond(did_return, lambda: ag.bound(return_value, 'return_value'), lambda: y.value)
        """,
    ),
    "break in a try": (
        """
        def f(v):
            n = 0
            for e in v:
                try:
                    if e > 3:
                        break
                finally:
                    n += 1
            else:
                n = -n
            return n
        """,
        """
        def f(v):
            n = ag.Cell('n')
            n.value = 0
            did_break = False

            def loop_body(e, did_break):

                def try_body(did_break):

                    def if_true(did_break):
                        return True
                    return ag.cond(e > 3, if_true, lambda did_break: did_break, (did_break,))

                def finally_():
                    n.value += 1
                did_break = ag.try_(try_body, (), final=finally_, operands=(did_break,))
                return did_break
            did_break = ag.for_loop(v, loop_body, (did_break,), test_fn=lambda did_break: ag.not_(did_break))

            def if_true():
                n.value = -n.value
            ag.cond(ag.not_(did_break), if_true, lambda: None)
            return n.value
        """,
    ),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_text(name: str) -> None:
    source, wanted = GOLDEN[name]
    names = {"contextlib": contextlib, "np": np, "check": len}
    assert text_of(conversion(source, names).node) == printed(wanted)
