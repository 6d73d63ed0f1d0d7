"""`Unrolled`: the items of a loop that the user wants unrolled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any


class Unrolled:
    """Trace values to go through one by one, however many they are."""

    def __init__(self, items: Sequence[Any]) -> None:
        self.items = tuple(items)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)
