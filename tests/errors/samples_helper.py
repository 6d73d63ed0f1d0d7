"""What the samples call that stands in another file."""

from __future__ import annotations


def half(x):
    return x / 2


def deep(x):
    if x > 2:
        return deeper(x)
    return x


def deeper(x):
    return x + int(x) % int(x - x)


def numbers(n):
    yield 1
    yield 1 // int(n - n)


def translated(function, x):
    try:
        return function(x)
    except ValueError as error:
        raise RuntimeError("translated") from error


def noted(x):
    error = ValueError("with a note")
    if hasattr(error, "add_note"):
        error.add_note("x was positive")
    return error
