"""What can run a workload: plain NumPy, ours, and each peer as an expert of it would write the program.

In: a workload module and the name of a side.  Out: a call that runs it once and waits for the result.
What always holds: a side that is not installed, or can't express the workload, says so; results come back
as NumPy arrays and are compared with the plain function's before anything is timed.

A workload module (`benchmarks/workloads/ID_name.py`) holds

    TITLE, RTOL, ATOL     what it is, and how far a result may be off
    inputs(seed)          the arguments: NumPy arrays and Python numbers
    plain(*inputs)        the program in plain Python and NumPy, which is also what ours is given
    make_SIDE()           the same as an expert of that side writes it; SIDE_VARIANT: another such version
    make_ours(ag)         ours is handed the package: the environments of the peers read these files, too
    WRITES                True: it writes to its arguments (each call gets copies)
    NUMPY_IO              True: NumPy in, NumPy out is part of what is timed
    check, HELPERS, NOTES, UNSUPPORTED, SKIP, DIRECT, TORCH_GRAD      where they are needed

A side is FRAMEWORK or FRAMEWORK:VARIANT.  `ours` runs as it comes, `ours_plan` without native code,
`numba_direct` and `torch_np` are the plain function handed to those as it is.
"""

from __future__ import annotations

import functools
import importlib
import pathlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

Call = Callable[[], Any]
WORKLOADS = pathlib.Path(__file__).parent / "workloads"
# Which environment under PEERS_ROOT a side runs in; "" is the one that runs the benchmark.
ENVIRONMENT = {
    "numpy": "", "ours": "", "ours_plan": "",
    "jax": "v", "numba": "v", "numba_par": "v", "numba_direct": "v", "numexpr": "v", "autograd": "v",
    "tf": "vtf", "tf_xla": "vtf",
    "torch": "vt", "torch_compile": "vt", "torch_np": "vt",
}  # fmt: skip
PACKAGE = {
    "numpy": "numpy", "ours": "autograph", "ours_plan": "autograph", "jax": "jax", "tf": "tensorflow",
    "tf_xla": "tensorflow", "torch": "torch", "torch_compile": "torch", "torch_np": "torch",
    "numexpr": "numexpr", "autograd": "autograd",
}  # fmt: skip
SAME_SOURCE = {"tf_xla": "tf", "torch_compile": "torch", "ours_plan": "ours"}


class UnsupportedSide(Exception):
    """The side can't express this workload."""


def names() -> list[str]:
    """The identifiers of all workloads, in order."""
    return sorted(p.stem.partition("_")[0].upper() for p in WORKLOADS.glob("[a-z][0-9]*_*.py"))


def load(name: str) -> ModuleType:
    """The module of a workload."""
    found = sorted(WORKLOADS.glob(f"{name.lower()}_*.py"))
    if not found:
        raise SystemExit(f"there is no workload {name}; there are: {', '.join(names())}")
    return importlib.import_module(f"benchmarks.workloads.{found[0].stem}")


def maker(module: ModuleType, side: str) -> Callable[..., Any] | None:
    """What makes the side's version of the program."""
    framework, _, variant = side.partition(":")
    suffix = f"_{variant}" if variant else ""
    for name in (framework, SAME_SOURCE.get(framework, framework)):
        found: Callable[..., Any] | None = getattr(module, f"make_{name}{suffix}", None)
        if found is not None:
            return found
    return None


def sides(module: ModuleType) -> list[str]:
    """All sides that have a version of this workload, plain NumPy first."""
    found = ["numpy", "ours", "ours_plan"]
    direct = ("torch_np", "numba_direct") if getattr(module, "DIRECT", True) else ()
    for framework in ENVIRONMENT:
        if framework in direct or (framework not in found and maker(module, framework)):
            found.append(framework)
    for name in sorted(vars(module)):
        made = name.removeprefix("make_")
        if made != name and made not in ENVIRONMENT:
            framework = max((f for f in ENVIRONMENT if made.startswith(f"{f}_")), key=len)
            found.append(f"{framework}:{made[len(framework) + 1 :]}")
    skipped = getattr(module, "SKIP", ())
    return [side for side in dict.fromkeys(found) if side not in skipped]


def ready(function: Any) -> Any:
    """Marks a function that its maker has compiled already."""

    def call(*args: Any) -> Any:
        return function(*args)

    call._ready = True  # type: ignore[attr-defined]
    return call


def prepare(module: ModuleType, side: str, inputs: tuple[Any, ...]) -> tuple[Call, Callable[[Any], Any]]:
    """The call to time, and what turns its result into NumPy arrays."""
    framework = side.partition(":")[0]
    reason = getattr(module, "UNSUPPORTED", {}).get(side)
    if reason:
        raise UnsupportedSide(reason)
    return _PREPARE.get(framework, _as_it_is)(module, side, inputs, getattr(module, "NUMPY_IO", False))


def _made(module: ModuleType, side: str) -> Any:
    found = maker(module, side)
    if found is None:
        raise UnsupportedSide("there is no version for it")
    return found()


def _same(x: Any) -> Any:
    return x


def _as_it_is(module: ModuleType, side: str, inputs: tuple[Any, ...], io: bool) -> tuple[Call, Any]:
    function = module.plain if side == "numpy" else _made(module, side)
    return functools.partial(function, *inputs), _same


def _ours(module: ModuleType, side: str, inputs: tuple[Any, ...], io: bool) -> tuple[Call, Any]:
    ag = importlib.import_module("autograph")
    ag.settings.executor = "numpy" if side.startswith("ours_plan") else "auto"
    own = maker(module, side)
    function = ag.function(module.plain) if own is None else own(ag)
    return functools.partial(function, *inputs), _same


def _direct(module: ModuleType, side: str, inputs: tuple[Any, ...], io: bool) -> tuple[Call, Any]:
    numba = importlib.import_module("numba")
    for name in getattr(module, "HELPERS", ()):
        setattr(module, name, numba.njit(getattr(module, name)))
    function = numba.njit(module.plain)
    return functools.partial(function, *inputs), _same


def _jax(module: ModuleType, side: str, inputs: tuple[Any, ...], io: bool) -> tuple[Call, Any]:
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    function = _made(module, side)
    function = function if getattr(function, "_ready", False) else jax.jit(function)

    def arrays(x: Any) -> Any:
        return jax.tree_util.tree_map(np.asarray, x)

    if io:
        return (lambda: arrays(function(*inputs))), _same
    given = [jax.device_put(a) if isinstance(a, np.ndarray) else a for a in inputs]
    return (lambda: jax.block_until_ready(function(*given))), arrays


def _tf(module: ModuleType, side: str, inputs: tuple[Any, ...], io: bool) -> tuple[Call, Any]:
    tf = importlib.import_module("tensorflow")
    function = _made(module, side)
    if not getattr(function, "_ready", False):
        function = tf.function(function, jit_compile=True if side.startswith("tf_xla") else None)

    def arrays(x: Any) -> Any:
        return tf.nest.map_structure(lambda t: t.numpy() if hasattr(t, "numpy") else t, x)

    if io:

        def call() -> Any:
            return arrays(
                function(*(tf.constant(a, tf.float64) if isinstance(a, float) else a for a in inputs))
            )

        return call, _same
    given = [tf.constant(a) if isinstance(a, np.ndarray) else a for a in inputs]
    return functools.partial(function, *given), arrays


def _torch(module: ModuleType, side: str, inputs: tuple[Any, ...], io: bool) -> tuple[Call, Any]:
    torch = importlib.import_module("torch")
    if side.startswith("torch_np"):
        torch.set_grad_enabled(False)
        compiled = torch.compile(module.plain, dynamic=False)
        return functools.partial(compiled, *inputs), _same
    torch.set_grad_enabled(getattr(module, "TORCH_GRAD", False))
    function = _made(module, side)
    if side.startswith("torch_compile") and not getattr(function, "_ready", False):
        function = torch.compile(function, dynamic=False)

    def given(a: Any) -> Any:
        if isinstance(a, np.ndarray):
            return torch.from_numpy(a)
        return torch.tensor(a, dtype=torch.float64) if isinstance(a, float) else a

    def arrays(x: Any) -> Any:
        if isinstance(x, (tuple, list)):
            return tuple(arrays(item) for item in x)
        return x.detach().numpy() if isinstance(x, torch.Tensor) else x

    if io:
        return (lambda: arrays(function(*map(given, inputs)))), _same
    tensors = [given(a) for a in inputs]
    return functools.partial(function, *tensors), arrays


_PREPARE = {
    "ours": _ours,
    "ours_plan": _ours,
    "numba_direct": _direct,
    "jax": _jax,
    "tf": _tf,
    "tf_xla": _tf,
    "torch": _torch,
    "torch_compile": _torch,
    "torch_np": _torch,
}


def package(side: str) -> str:
    """The package that the side needs."""
    return PACKAGE.get(side.partition(":")[0], "numba")


def flat(x: Any) -> list[Any]:
    """The arrays and numbers of a result, in order."""
    if isinstance(x, (tuple, list)):
        return [leaf for item in x for leaf in flat(item)]
    return [np.asarray(x)]


def differs(module: ModuleType, side: str, found: Any, wanted: Any) -> str:
    """How a result differs from the plain function's; empty if it may pass.

    Ours must agree in every bit, but for arrays of floats, where its own math functions are within 4 ulp:
    there the workload's tolerance holds, as for the peers.
    """
    check = getattr(module, "check", None)
    try:
        if check is not None:
            check(found, wanted)
            return ""
        a, b = flat(found), flat(wanted)
        if len(a) != len(b):
            return f"{len(a)} results, not {len(b)}"
        for x, y in zip(a, b, strict=True):
            exact = side.startswith("ours") and y.dtype.kind not in "fc"
            if side.startswith("ours") and (x.dtype != y.dtype or x.shape != y.shape):
                return f"{x.dtype}{x.shape}, not {y.dtype}{y.shape}"
            rtol, atol = (0, 0) if exact else (module.RTOL, module.ATOL)
            np.testing.assert_allclose(x, y, rtol=rtol, atol=atol)
    except AssertionError as problem:
        return " ".join(str(problem).split())[:300]
    return ""
