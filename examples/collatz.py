"""How many Collatz steps to 1: a loop whose length depends on the data, with an `if` inside."""

from __future__ import annotations

import numpy as np

import autograph as ag


def collatz(n):
    """Steps until n is 1."""
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


def main() -> None:
    converted = ag.function(collatz)
    print(ag.to_code(collatz))
    for n in (1, 2, 27, 97, 871):
        number = np.int64(n)
        got, want = converted(number), collatz(number)
        assert type(got) is type(want) and got == want, (n, got, want)
        print(f"collatz({n}) = {got}")


if __name__ == "__main__":
    main()
