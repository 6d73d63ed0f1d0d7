"""Graphs that the tests of the intermediate representation share."""

from __future__ import annotations

from runtime.ir.graph import Graph
from runtime.ir.text import parse_graph

COLLATZ = """\
# file collatz.py = '/src/collatz.py'
graph collatz(n: int64):
    n_1: int64, steps: int = while{carries=2}(n, 0)       # collatz.py:5:4
        test loop_test(n: int64, steps: int):
            t1: bool_ = ne(n, 1)                          # collatz.py:5:10
            return t1
        body loop_body(n: int64, steps: int):
            t1: int64 = mod(n, 2)                         # collatz.py:6:11
            t2: bool_ = eq(t1, 0)                         # collatz.py:6:11
            n_1: int64 = cond(t2, n)                      # collatz.py:6:8
                true if_true(n: int64):
                    t1: int64 = floordiv(n, 2)            # collatz.py:7:16
                    return t1
                false if_false(n: int64):
                    t1: int64 = mul(3, n)                 # collatz.py:9:16
                    t2: int64 = add(t1, 1)                # collatz.py:9:16
                    return t2
            steps_1: int = add(steps, 1)                  # collatz.py:10:8
            return n_1, steps_1
    return steps
"""


def collatz() -> Graph:
    return parse_graph(COLLATZ)
