"""Garbage collections that wait: the threshold while something is made, and after."""

from __future__ import annotations

import gc
import os
import threading
import weakref
from collections.abc import Iterator

import numpy as np
import pytest

import autograph as ag
from runtime.collecting import MANY, SOME, rarely


@pytest.fixture(autouse=True)
def usual(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[int, int, int]]:
    monkeypatch.setattr(rarely(), "passed", 0)
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    gc.unfreeze()  # as in a user's process
    yield (700, 10, 10)
    gc.set_threshold(*before)
    gc.freeze()


class Node:
    """Something that only a collection can free."""

    def __init__(self) -> None:
        self.me = self


def test_the_threshold_is_raised_inside_and_restored() -> None:
    with rarely():
        assert gc.get_threshold() == (MANY, 10, 10)
        with rarely():
            pass
        assert gc.get_threshold()[0] == MANY
    assert gc.get_threshold() == (700, 10, 10)
    with pytest.raises(ZeroDivisionError), rarely():
        _ = 1 // 0
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("given", [(0, 10, 10), (2 * MANY, 5, 5)])
def test_a_threshold_that_asks_for_less_stays(given: tuple[int, int, int]) -> None:
    gc.set_threshold(*given)
    with rarely():
        assert gc.get_threshold() == given
    assert gc.get_threshold() == given


def test_a_threshold_set_meanwhile_stays() -> None:
    with rarely():
        gc.set_threshold(123, 4, 5)
    assert gc.get_threshold() == (123, 4, 5)


def test_the_last_thread_restores() -> None:
    inside, leave = threading.Event(), threading.Event()

    def work() -> None:
        with rarely():
            inside.set()
            leave.wait()

    thread = threading.Thread(target=work)
    with rarely():
        thread.start()
        inside.wait()
    assert gc.get_threshold()[0] == MANY
    leave.set()
    thread.join()
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_has_the_usual_threshold() -> None:
    with rarely():
        child = os.fork()
        if child == 0:
            fine = gc.get_threshold() == (700, 10, 10)
            os._exit(0 if fine else 1)
        _, status = os.waitpid(child, 0)
    assert status == 0


def test_garbage_is_found_inside_and_after() -> None:
    with rarely():
        seen = weakref.ref(Node())
        kept = [[] for _ in range(2 * MANY)]  # type: ignore[var-annotated]
        assert seen() is None
        late = weakref.ref(Node())
    assert len(kept) > SOME and late() is not None
    gc.collect()
    assert late() is None


def test_garbage_does_not_pile_up() -> None:
    seen = []
    for _ in range(4 * MANY // (2 * SOME)):
        with rarely():
            kept = [Node() for _ in range(2 * SOME)]
            seen.append(weakref.ref(kept[0]))
        del kept
    assert sum(node() is not None for node in seen) < len(seen) * 3 // 4


def test_collections_that_are_switched_off_are_not_made() -> None:
    gc.disable()
    try:
        seen = weakref.ref(Node())
        for _ in range(4 * MANY // (2 * SOME)):
            with rarely():
                kept = [Node() for _ in range(2 * SOME)]
            del kept
        assert seen() is not None
    finally:
        gc.enable()
        gc.collect()


def test_what_somebody_froze_stays_frozen() -> None:
    gc.freeze()
    frozen = gc.get_freeze_count()
    with rarely():
        kept = [[] for _ in range(2 * SOME)]  # type: ignore[var-annotated]
    assert gc.get_freeze_count() >= frozen - 10 and kept


def test_a_first_call_leaves_the_collector_as_it_was() -> None:
    @ag.function
    def f(x: np.ndarray) -> np.ndarray:
        if x.sum() > 0:
            return x + 1
        return x - 1

    assert f(np.ones(3))[0] == 2.0
    assert gc.get_threshold() == (700, 10, 10) and gc.get_freeze_count() == 0
