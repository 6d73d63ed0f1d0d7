"""Conway's game of life: the board is written in place, and the loop ends early when nothing changes."""

from __future__ import annotations

import numpy as np

import autograph as ag


def neighbours(board):
    """How many of the eight neighbours live; the board wraps around."""
    total = np.zeros_like(board)
    for down in (-1, 0, 1):
        for right in (-1, 0, 1):
            if down == 0 and right == 0:
                continue
            total += np.roll(np.roll(board, down, axis=0), right, axis=1)
    return total


def life(board, generations):
    """Play on `board` (int[h, w], changed in place); the generation at which it stood still, or -1."""
    for generation in range(generations):
        count = neighbours(board)
        after = ((count == 3) | ((board == 1) & (count == 2))).astype(board.dtype)
        if (after == board).all():
            return generation
        board[:] = after
    return -1


def picture(board) -> str:
    return "\n".join("".join(".#"[cell] for cell in row) for row in board)


def main() -> None:
    converted = ag.function(life)
    glider = np.zeros((8, 8), dtype=np.int64)
    glider[[0, 1, 2, 2, 2], [1, 2, 0, 1, 2]] = 1
    corner = np.zeros((6, 6), dtype=np.int64)
    corner[[2, 2, 3], [2, 3, 2]] = 1
    for name, start, generations in (("glider", glider, 12), ("corner", corner, 50), ("no time", glider, 0)):
        plain_board, board = start.copy(), start.copy()
        want, got = life(plain_board, generations), converted(board, generations)
        assert got == want, (name, got, want)
        np.testing.assert_array_equal(board, plain_board)
        print(f"{name}: stood still at {got}\n{picture(board)}")


if __name__ == "__main__":
    main()
