"""LLVM IR text to machine code: the only module that imports llvmlite.

In: the text of a module and the addresses it refers to.  Out: `Code`, whose `entry` is a built-in function
that Python calls without any wrapper.  What always holds: the machine code lives as long as the function
made of it; llvmlite is imported when the first module is compiled.
"""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import importlib
import threading
from collections.abc import Callable, Mapping
from typing import Any

from runtime.execute.native.kinds import Unlowered

REFUSED = "LLVM does not accept the code"
_LOCK = threading.Lock()
_FASTCALL = 0x80


class _MethodDef(ctypes.Structure):
    """How CPython describes a function written in C."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


@dataclasses.dataclass(frozen=True)
class Code:
    """entry: the function.  enabled, calls, bails: the module's variables."""

    entry: Callable[..., Any]
    enabled: ctypes.c_int32
    calls: ctypes.c_int64
    bails: ctypes.c_int64


@functools.cache
def missing() -> str:
    """Why nothing can be compiled here; empty if it can."""
    try:
        _new_machine(_binding())
    except Exception as error:  # an import can fail in any way, a broken installation included
        return f"llvmlite can't be used ({type(error).__name__}: {error})"
    return ""


@functools.cache
def _binding() -> Any:
    """llvmlite's binding, ready for this processor."""
    binding = importlib.import_module("llvmlite.binding")
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding


def _new_machine(binding: Any) -> Any:
    """A target machine for this processor; each engine owns, and ends, its own."""
    return binding.Target.from_default_triple().create_target_machine(
        cpu=binding.get_host_cpu_name(), features=binding.get_host_cpu_features().flatten(), opt=2, jit=True
    )


def compile_module(text: str, addresses: Mapping[str, int], name: str, keep: tuple[Any, ...]) -> Code:
    """Compile a module with a function `entry`.

    keep: what must live as long as the code.
    """
    with _LOCK:
        binding = _binding()
        for symbol, address in addresses.items():
            binding.add_symbol(symbol, address)
        engine = binding.create_mcjit_compiler(binding.parse_assembly(""), _new_machine(binding))
        engine.add_object_file(binding.ObjectFileRef.from_data(_object_code(binding, text)))
        engine.finalize_object()

        def variable(kind: Any, symbol: str) -> Any:
            return kind.from_address(engine.get_global_value_address(symbol))

        entry = _builtin(name, engine.get_function_address("entry"), (engine, *keep))
        return Code(
            entry,
            variable(ctypes.c_int32, "enabled"),
            variable(ctypes.c_int64, "calls"),
            variable(ctypes.c_int64, "bails"),
        )


def _object_code(binding: Any, text: str) -> bytes:
    """The machine code of a module as an object file, which is far smaller than the module."""
    machine = _new_machine(binding)
    try:
        module = binding.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise Unlowered(f"{REFUSED}: {error}") from error
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    options = binding.PipelineTuningOptions(speed_level=2)
    # LLVM's own vectoriser has ended a process on a failed assertion of its own (LLVM 22.1).
    options.loop_vectorization = options.slp_vectorization = False
    passes = binding.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)
    code: bytes = machine.emit_object(module)
    return code


def _builtin(name: str, address: int, keep: tuple[Any, ...]) -> Callable[..., Any]:
    """A built-in function over the machine code at an address; it keeps `keep` alive."""
    described = _MethodDef(name.encode(), address, _FASTCALL, None)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    function: Callable[..., Any] = make(ctypes.addressof(described), (described, *keep), None)
    return function
