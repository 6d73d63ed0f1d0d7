"""Operators that treat code as staging does: every arm and body runs, also where it isn't taken.

What an arm or body does to names must come back as its result; a write that reaches the outside by any
other way shows as a difference.  Only for functions whose sole effect is what they return.
"""

from __future__ import annotations

import contextlib
import copy
from typing import Any, Callable

from runtime import boxes
from tests.autograph import plain_ag
from tests.autograph.plain_ag import *  # noqa: F403
from tests.autograph.plain_ag import (  # noqa: F401
    all_true,
    and_,
    any_true,
    attribute,
    call,
    call_with,
    dict_,
    dict_comp,
    dict_merge,
    generator,
    in_,
    is_,
    is_not,
    item,
    keywords,
    list_,
    list_comp,
    not_,
    not_in,
    or_,
    part,
    percent,
    python,
    raise_,
    set_,
    set_comp,
    settable,
    spread,
    unpack,
)


def _rehearsed(function: Callable, *args: Any) -> None:
    with contextlib.suppress(Exception):
        function(*copy.deepcopy(args))


def cond(pred: Any, true_fn: Callable, false_fn: Callable, operands: tuple = ()) -> Any:
    _rehearsed(true_fn, *operands)
    _rehearsed(false_fn, *operands)
    return plain_ag.cond(pred, true_fn, false_fn, operands)


def while_loop(test_fn: Callable, body_fn: Callable, carry: tuple) -> Any:
    def body(*carry: Any) -> Any:
        _rehearsed(test_fn, *carry)
        _rehearsed(body_fn, *carry)
        return body_fn(*carry)

    _rehearsed(body_fn, *carry)
    return plain_ag.while_loop(test_fn, body, carry)


def for_loop(iterable: Any, body_fn: Callable, carry: tuple = (), test_fn: Callable | None = None) -> Any:
    items = list(iterable)
    if items:
        _rehearsed(body_fn, items[-1], *carry)

    def body(item: Any, *carry: Any) -> Any:
        _rehearsed(body_fn, item, *carry)
        return body_fn(item, *carry)

    return plain_ag.for_loop(items, body, carry, test_fn)


def unexpected(error: Exception) -> bool:
    """Whether the error shows that a name was lost on its way."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    return isinstance(error, NameError) and (at is None or at.tb_frame.f_code.co_filename != boxes.__file__)
