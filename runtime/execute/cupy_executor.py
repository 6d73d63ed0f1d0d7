"""Runs a plan on CuPy arrays.  The only file of the tree that imports CuPy, and only at first use.

In: a plan printed for the device "cuda", in which `cp` stands for CuPy.  Out: a callable that takes the
values of the graph's parameters.  What always holds: no array crosses between host and device unless
the program says so.  A NumPy array that is captured by the plan or passed beside CuPy arrays is a
`DeviceError` that names it, and so are arrays of two devices.  The plan runs under the device that owns
the arrays.  The host waits for the device only where the program needs a value: at `if` and `while` on
device values, at `bool`, `int`, `float` and `item`, and where a shape depends on values.

What differs from NumPy: there are no scalars (`x[0]` and `x.sum()` are 0-d arrays, and `x[0]` is a
view), results are C-ordered, index arrays out of range wrap, and float to int conversion saturates.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from runtime.errors import DeviceError
from runtime.execute.loader import load
from runtime.execute.plan import PlanSource
from runtime.types import library

INSTALL = "pip install cupy-cuda13x (or cupy-cuda12x, after the CUDA version of the driver)"
UPLOAD = "move it once, before the call: cupy.asarray({name})"


def is_cupy_array(value: Any) -> bool:
    """Whether the value is a CuPy array; asks its class only, so that CuPy need not be there."""
    cls = type(value)
    return cls.__name__ == "ndarray" and library(cls) == "cupy"


def leaves(named: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Names and values; tuples are looked into, and their parts named `x[0]`, `x[1]`, ..."""
    for name, value in named:
        if isinstance(value, tuple):
            yield from leaves((f"{name}[{k}]", part) for k, part in enumerate(value))
        else:
            yield name, value


def cupy_module() -> Any:
    """CuPy, imported when first needed."""
    try:
        return importlib.import_module("cupy")
    except ImportError as error:
        raise DeviceError(
            "CuPy is not installed, and this plan runs on a CUDA device", why=str(error), fix=INSTALL
        ) from error


def load_cupy(plan: PlanSource) -> Callable[..., Any]:
    """The plan as a callable for CuPy arrays."""
    refuse_host_arrays(plan.constants.items(), "captured array")
    cupy = cupy_module()
    run = load(dataclasses.replace(plan, constants={**plan.constants, "cp": cupy}))
    captured = device_of(leaves(plan.constants.items()))
    names = list(inspect.signature(run).parameters)

    @functools.wraps(run, updated=())  # not its `plan`, which would be called without what follows
    def on_device(*args: Any) -> Any:
        named = list(zip(names, args, strict=False))
        refuse_host_arrays(named, "argument")
        device = device_of(leaves(named), captured)
        if device is None:
            return run(*args)
        with device[1]:
            return run(*args)

    return on_device


def refuse_host_arrays(named: Iterable[tuple[str, Any]], role: str) -> None:
    """DeviceError for the first NumPy array."""
    for name, value in leaves(named):
        if isinstance(value, np.ndarray):
            raise DeviceError(
                f"the {role} {name!r} is a NumPy array, and this call runs on a CUDA device",
                why="arrays are never copied to the device without being told to",
                fix=UPLOAD.format(name=name),
            )


def device_of(
    named: Iterable[tuple[str, Any]], first: tuple[str, Any] | None = None
) -> tuple[str, Any] | None:
    """The name of an array and the one device that owns it and all others; None without any array."""
    for name, value in named:
        if not is_cupy_array(value):
            continue
        if first is None:
            first = name, value.device
        elif value.device.id != first[1].id:
            raise DeviceError(
                f"{first[0]!r} is on device {first[1].id}, {name!r} is on device {value.device.id}",
                why="a plan runs on one device",
                fix=f"move one: with cupy.cuda.Device({first[1].id}): {name} = cupy.array({name})",
            )
    return first
