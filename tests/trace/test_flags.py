"""Loops that another thread, or a signal handler, ends by a flag: `while running`, `while self.running`."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings

LIMIT = 3 * 10**7  # trips, should the flag not be seen
running = True


class Machine:
    def __init__(self) -> None:
        self.running, self.trips, self.x = True, 0, np.float64(0)
        self.flags, self.limit = {"on": True}, LIMIT

    @property
    def done(self) -> bool:
        return not self.running


def by_global(m: Machine) -> None:
    n = 0
    while running:
        n += 1
        if n > LIMIT:
            break
    m.trips = n


def by_attribute(m: Machine) -> None:
    while m.running and m.trips < LIMIT:
        m.trips += 1
        m.x = m.x + 0.5


def by_property(m: Machine) -> None:
    while not m.done and m.trips < LIMIT:
        m.trips += 1


def by_captured(flag: dict[str, bool]) -> Callable[[Machine], None]:
    def f(m: Machine) -> None:
        while m.trips < LIMIT and flag["on"]:
            m.trips += 1

    return f


@pytest.mark.parametrize("executor", ["numpy", "auto"])
@pytest.mark.parametrize("kind", [by_global, by_attribute, by_property, by_captured])
def test_the_loop_ends_when_the_flag_falls(kind: Callable[..., Any], executor: str) -> None:
    global running
    running, flag, machine = True, {"on": True}, Machine()
    with settings.override(executor=executor):
        f = ag.function(by_captured(flag) if kind is by_captured else kind)
        running = flag["on"] = machine.running = False
        f(machine)  # traced, and compiled if it can be
        running = flag["on"] = machine.running = True
        machine.trips = 0

        def stop() -> None:
            global running
            running = machine.running = flag["on"] = False

        timer = threading.Timer(0.2, stop)
        timer.start()
        f(machine)
        timer.join()
    assert machine.trips < LIMIT


def asked_before(m: Machine) -> int:
    n = 0
    if m.running:
        while m.running:
            n += 1
            if n >= m.limit:
                break
    return n


def set_before(m: Machine) -> int:
    m.running, n = True, 0
    while m.running:
        n += 1
        if n >= m.limit:
            break
    return n


def computed_before(m: Machine) -> int:
    m.running, n = bool(m.x == 0), 0
    while m.running:
        n += 1
        if n >= m.limit:
            break
    return n


def asked_by_a_function(m: Machine) -> int:
    def on() -> bool:
        return running and m.running

    n = 0 if on() else 1
    while on():
        n += 1
        if n >= m.limit:
            break
    return n


def items_set_before(m: Machine) -> int:
    m.flags["on"], n = True, 0
    while n < m.limit and m.flags["on"]:
        n += 1
    return n


def with_arrays(m: Machine) -> int:
    m.running, n, x = True, 0, np.ones(8)
    while m.running:
        for k in range(len(x)):
            x[k] = x[k] * 0.5 + 1
        n += 8
        if n >= m.limit:
            break
    return n


@pytest.mark.parametrize("executor", ["numpy", "auto", "native"])
@pytest.mark.parametrize(
    "kind", [asked_before, set_before, computed_before, asked_by_a_function, items_set_before, with_arrays]
)
def test_what_was_known_of_the_flag_before_the_loop_is_not_believed(
    kind: Callable[..., Any], executor: str
) -> None:
    global running
    running, machine, over = True, Machine(), threading.Event()
    with settings.override(executor=executor):
        f = ag.function(kind)
        for limit in (100, 200, 300):
            machine.limit = limit
            assert f(machine) == kind(machine)
        machine.limit = LIMIT

        def stop() -> None:  # again and again: the function itself may set the flag later
            while not over.wait(0.2):
                machine.running = machine.flags["on"] = False

        thread = threading.Thread(target=stop)
        thread.start()
        trips = f(machine)
        over.set()
        thread.join()
    assert trips < LIMIT
