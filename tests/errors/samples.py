"""Functions that raise, one way each."""

from __future__ import annotations

import contextlib

import numpy as np

from tests.errors import samples_helper


def check(x):
    if x > 3:
        raise ValueError(f"too big: {x}")
    return x


def in_an_arm(x):
    if x > 1:
        return 1 // int(x - x)
    return x


def in_a_loop(x):
    total = 0
    for k in range(40):
        if k > x:
            total += 1 // int(x - x)
    return total


def in_an_unrolled_loop(x):
    for k in (1, 2):
        while x < 10:
            x = x + 1
        check(x)
    return x


def in_a_helper(x):
    y = x + 1
    return check(y) + 1


def in_a_helper_elsewhere(x):
    y = samples_helper.half(x)
    return y + samples_helper.deep(x)


def in_a_statement_left_to_python(x):
    zero = 0
    total = 0
    for k in range(40):
        if k > x:
            if x > 0:
                total += 1 // zero
        else:
            total += 1
    return total


def in_a_statement_left_to_python_by_a_helper(x):
    zero = 0
    if x > 0:
        return check(x + 1 // (zero + (x > 100 and 1 // zero)))
    return x


def in_a_nested_function(x):
    def inner(v):
        if v > 0:
            return {}["missing"]
        return v

    if x > 0:
        return inner(x)
    return x


def in_a_callback(x):
    return sorted([3, 1, 2], key=lambda v: v // int(x - x))


def in_a_comprehension(x):
    return [1 // int(v - x) for v in (1.0, 2.0, 4.0)]


def in_numpy(x):
    a = np.zeros((2, 2)) * x
    return np.linalg.inv(a)


def in_plain_python(x):
    with contextlib.nullcontext():
        return samples_helper.half(x) + check(x)


def in_a_generator(x):
    total = 0
    for value in samples_helper.numbers(x):
        total += value
    return total


def from_a_cause(x):
    if x > 0:
        raise ValueError("outer") from KeyError("inner")
    return x


def from_nothing(x):
    if x > 0:
        raise ValueError("outer") from None
    return x


def while_handling(x):
    return samples_helper.translated(check, x)


def with_a_note(x):
    if x > 0:
        raise samples_helper.noted(x)
    return x


def a_failed_assertion(x):
    y = x * 2
    assert y < 3, f"{y} is too big"
    return y


def an_index(x):
    values = [1, 2, 3]
    return values[int(x) * 2]


def an_attribute(x):
    return x.no_such_attribute


def a_name(x):
    if x < 0:
        result = 1
    return result


def a_global_name(x):
    return x + no_such_name  # noqa: F821


def a_class(x):
    return Holder(x)


class Holder:
    def __init__(self, x):
        self.x = check(x)
