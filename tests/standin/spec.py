"""What the CuPy wheel says of itself: names, parameters and ufunc tables, kept as a snapshot in JSON.

In: an imported `cupy` (no device is needed to ask it).  Out: a plain dict that goes through JSON
unchanged.  Run as a script with the wheel installed, it rewrites the snapshot.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pathlib
import re
import warnings
from types import ModuleType
from typing import Any

PATH = pathlib.Path(__file__).with_name("cupy_spec.json")


def load() -> dict[str, Any]:
    """The snapshot."""
    spec: dict[str, Any] = json.loads(PATH.read_text())
    return spec


def read(cupy: ModuleType) -> dict[str, Any]:
    """The snapshot of an imported wheel."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # reading a deprecated name warns
        members = {name: getattr(cupy, name) for name in public_names(cupy)}
    ufuncs = {n: f for n, f in members.items() if is_ufunc(f)}
    return {
        "cupy": cupy.__version__,
        "ufuncs": {n: ufunc_entry(f) for n, f in ufuncs.items()},
        "functions": {n: parameters(f) for n, f in members.items() if n not in ufuncs and is_function(f)},
        "linalg": submodule(cupy.linalg),
        "fft": submodule(cupy.fft),
        "ndarray": {n: method_parameters(cupy.ndarray, n) for n in public_names(cupy.ndarray)},
    }


def public_names(owner: Any) -> list[str]:
    return [name for name in sorted(dir(owner)) if not name.startswith("_")]


def is_ufunc(member: Any) -> bool:
    return not isinstance(member, type) and hasattr(member, "_ops") and hasattr(member, "nin")


def is_function(member: Any) -> bool:
    return callable(member) and not isinstance(member, type)


def ufunc_entry(ufunc: Any) -> dict[str, Any]:
    """Loops in order of preference; those that CuPy lists only to refuse stand apart."""
    loops = list(zip(ufunc.types, ufunc._ops.ops, strict=True))
    return {
        "name": ufunc.name,
        "nin": ufunc.nin,
        "nout": ufunc.nout,
        "types": [types for types, op in loops if op.error_func is None],
        "refused": [types for types, op in loops if op.error_func is not None],
    }


def parameters(function: Any) -> list[str] | None:
    """Parameter names, starred ones with their stars; None where Python can't tell."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    stars: dict[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    return [stars.get(p.kind, "") + p.name for p in found]


def submodule(module: ModuleType) -> dict[str, list[str] | None]:
    names = public_names(module)
    return {n: parameters(getattr(module, n)) for n in names if inspect.isfunction(getattr(module, n))}


def method_parameters(cls: type, name: str) -> list[str] | None:
    """Compiled methods carry their signature only in the first line of the docstring."""
    member = getattr(cls, name)
    first = (getattr(member, "__doc__", None) or "").partition("\n")[0]
    found = re.fullmatch(rf".*\.{name}\(self(?:, )?(.*?)\)(?: ->.*)?", first)
    if not callable(member) or found is None:
        return None
    names = [part.partition("=")[0].strip().split(" ")[-1] for part in found[1].split(",") if part.strip()]
    return names if all(re.fullmatch(r"\*{0,2}\w+", n) for n in names) else None


def dump(spec: dict[str, Any]) -> str:
    """JSON with one entry a line, so that differences between versions can be read."""
    parts = []
    for key, value in spec.items():
        if isinstance(value, dict):
            inner = ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in value.items())
            parts.append(f"{json.dumps(key)}: {{\n{inner}\n}}")
        else:
            parts.append(f"{json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    PATH.write_text(dump(read(importlib.import_module("cupy"))))
