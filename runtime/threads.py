"""How many threads share the work of a large native loop: a word that Python writes and machine code reads.

In: the setting `num_threads`.  Out: `set_num_threads`, `get_num_threads`, and the word's address.  What
always holds: the word is what `get_num_threads` says, 1 to 256; results do not depend on it, bit for bit.
"""

from __future__ import annotations

import ctypes
import operator

from runtime.config import processors, settings
from runtime.errors import message

MOST = 256  # threads that share one loop
_WORD = ctypes.c_int32(1)


def set_num_threads(n: int) -> None:
    """From now on, let n threads share the work of large native loops; 1: the calling thread does all of it.

    The same as `settings.num_threads = n`, for the whole process.  Threads are started when there is
    something for them to do; at most 256 are.

    >>> before = get_num_threads()
    >>> set_num_threads(2)
    >>> get_num_threads()
    2
    >>> set_num_threads(before)
    """
    try:
        number = 0 if isinstance(n, bool) else operator.index(n)
    except TypeError:
        number = 0
    if number < 1:
        raise ValueError(message(f"{n!r} is not a number of threads", fix="give it an integer, 1 or more"))
    settings.num_threads = number


def get_num_threads() -> int:
    """How many threads share the work of large native loops."""
    return int(_WORD.value)


def address() -> int:
    """Where machine code finds the number."""
    return ctypes.addressof(_WORD)


def _changed() -> None:
    _WORD.value = min(settings.num_threads or processors(), MOST)


settings.follow("num_threads", _changed)
