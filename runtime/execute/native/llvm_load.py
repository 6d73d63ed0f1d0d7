"""LLVM IR text to machine code: the only module that imports llvmlite.

In: the text of a module and the addresses it refers to.  Out: `Code`, whose `entry` is a built-in function
that Python calls without any wrapper.  What always holds: the machine code lives as long as the function
made of it; llvmlite is loaded when the first module is compiled, and not where the disk has the object code.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib
import importlib.util
import os
import threading
from collections.abc import Callable, Mapping
from typing import Any

from runtime import background
from runtime.dataclass import dataclass
from runtime.execute.native import link, object_cache
from runtime.execute.native.emit import BRIEFLY, COLD
from runtime.execute.native.kinds import Unlowered
from runtime.forking import ForkLock
from runtime.mistakes import survived
from runtime.pattern import pattern

REFUSED = "LLVM does not accept the code"
OLDEST = (0, 45)
TRIPLE = "x86_64-unknown-linux-gnu"
_FASTCALL = 0x80
RECENT = 8  # object files that are kept in memory
RUNS = 32  # of passes by one builder
LONG = 700  # lines of a function from which on half of LLVM's passes cost more than they save
VERY_LONG = 2000  # and all but the one that keeps numbers in registers
# A loop over elements goes on: what `lines.counted` writes.
_COUNT = pattern(r"  (%\S+) = (add nuw nsw i64 %\S+, \d+)\n(?=  br label %each)")
_HIDDEN = r"""  \1.next = \2
  \1 = call i64 asm "", "=r,0"(i64 \1.next)
"""
# Held while LLVM works.  A fork waits for it: the child would never get what the compiling thread holds.
# A finalizer that runs meanwhile may call a function that is compiled then, so the lock lets its owner in.
LOCK = ForkLock()
_recent: dict[str, bytes] = {}  # those used last, by the names under which they are stored
_forks: list[int] = []  # the thread that holds it for a fork


def _before_fork() -> None:
    LOCK.__enter__()
    _forks.append(threading.get_ident())


def _after_fork() -> None:
    if threading.get_ident() in _forks:  # else this module was loaded while the fork was being prepared
        _forks.clear()
        LOCK.__exit__()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


class _MethodDef(ctypes.Structure):
    """How CPython describes a function written in C."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


@dataclass(frozen=True)
class Code:
    """entry: the function.  image: what it is made of.  enabled, calls, bails: the module's variables."""

    entry: Callable[..., Any]
    image: link.Image
    enabled: ctypes.c_int32
    calls: ctypes.c_int64
    bails: ctypes.c_int64


@functools.cache
def missing() -> str:
    """Why nothing can be compiled here; empty if it can."""
    try:
        if importlib.util.find_spec("llvmlite") is None:
            return "llvmlite is not installed"
        found = object_cache.compiler_version()
        if tuple(int(part) for part in found.split(".")[:2]) < OLDEST:
            return f"llvmlite {found} is too old: it must be {'.'.join(map(str, OLDEST))} or newer"
    except Exception as error:  # an import can fail in any way, a broken installation included
        return f"llvmlite can't be used ({type(error).__name__}: {error})"
    return ""


@functools.cache
def _binding() -> Any:
    """llvmlite's binding, ready for this processor."""
    try:
        binding = importlib.import_module("llvmlite.binding")
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
    except Exception as error:
        raise Unlowered(f"llvmlite can't be used ({type(error).__name__}: {error})") from error
    return binding


@functools.cache
def _machine(effort: int = 2) -> Any:
    """The target machine for this processor.  effort: how long it looks for the best instructions."""
    binding = _binding()
    return binding.Target.from_triple(TRIPLE).create_target_machine(
        cpu=binding.get_host_cpu_name(),
        features=binding.get_host_cpu_features().flatten(),
        opt=effort,
        reloc="pic",
        codemodel="small",
    )


def compile_module(
    text: str, addresses: Mapping[str, int], name: str, keep: tuple[Any, ...], effort: int = 2
) -> Code:
    """Compile a module with a function `entry`.

    keep: what must live as long as the code.
    """
    image = link.load(object_code(text, effort=effort), addresses)
    entry = _builtin(name, image.address("entry"), (image.memory, *keep))
    return Code(
        entry,
        image,
        image.variable(ctypes.c_int32, "enabled"),
        image.variable(ctypes.c_int64, "calls"),
        image.variable(ctypes.c_int64, "bails"),
    )


def object_code(text: str, optimised: bool = True, effort: int = 2) -> bytes:
    """The object file of a module: from the disk, or compiled now.

    optimised: whether LLVM's passes run over it; vectors and blocks that were written as they are wanted do
    without.  effort: how long it looks for the best instructions; with 0, a fifth of the time for code that
    is half as fast.
    """
    name = _stored_as(text, optimised, effort)
    found = _recent.pop(name, None) or object_cache.find(name)
    if found is None:
        found = _compiled(text, optimised, effort)
        object_cache.store(name, found)
    _recent[name] = found  # parts of one function are often the same again, as are its trips
    for old in list(_recent)[: max(len(_recent) - RECENT, 0)]:
        _recent.pop(old, None)
    return found


def is_stored(text: str, effort: int = 2) -> bool:
    """Whether the object file of a module is on the disk."""
    return object_cache.find(_stored_as(text, True, effort)) is not None


def _stored_as(text: str, optimised: bool, effort: int) -> str:
    usual = optimised and effort == 2
    return object_cache.name_of(text if usual else f"{text}\n; {optimised=}, {effort=}")


def _compiled(text: str, optimised: bool, effort: int) -> bytes:
    with LOCK:
        if background.ending() and threading.current_thread() is not threading.main_thread():
            raise Unlowered("the process is ending")
        kinds, long = _sorted_out(text)
        if long:
            text = _plainly_counted(text)
        binding, machine = _binding(), _machine(min(effort, 1) if long else effort)
        with contextlib.ExitStack() as after:  # LLVM wants its things back in the reverse order
            context = after.enter_context(binding.create_context())
            try:
                module = after.enter_context(binding.parse_assembly(text, context))
                module.verify()
            except RuntimeError as error:
                raise Unlowered(survived(REFUSED, error)) from error
            module.triple = TRIPLE
            module.data_layout = _layout()
            passes = _passes()
            for function in module.functions if optimised else ():
                if not function.is_declaration:
                    for pipeline in passes[kinds.get(function.name, "usual")]:
                        pipeline.run(function, _runner.now())
            code: bytes = machine.emit_object(module)
            return code


@functools.cache
def _layout() -> str:
    with _machine().target_data as data:
        return str(data)


def _sorted_out(text: str) -> tuple[dict[str, str], bool]:
    """The functions of a module over which other passes run than the usual ones, with the kind of passes;
    and whether there is a very long one."""
    kinds, long = {}, False
    for part in text.split("\ndefine ")[1:]:
        head, lines = part.partition("\n")[0], part.count("\n")
        name = head.partition("@")[2].partition("(")[0]
        if COLD in head:
            kinds[name] = "none"
        elif BRIEFLY in head:
            kinds[name] = "few"
        elif lines > VERY_LONG:
            kinds[name] = "least"
        elif lines > LONG:
            kinds[name] = "quick"
        long = long or lines > VERY_LONG
    return kinds, long


def _builder(level: int = 2) -> Any:
    """What makes LLVM's pipelines, and runs passes."""
    binding = _binding()
    options = binding.PipelineTuningOptions(speed_level=level)
    # LLVM's own vectoriser has ended a process on a failed assertion of its own (LLVM 22.1).
    options.loop_vectorization = options.slp_vectorization = False
    return binding.create_pass_builder(_machine(), options)


class _Runner:
    """A builder that runs passes: a new one after a while, as each run leaves something behind in it that
    takes time in all later ones; for good it keeps about a kilobyte."""

    def __init__(self) -> None:
        self.builder: Any = None
        self.runs = 0

    def now(self) -> Any:
        """The builder for one run."""
        if self.builder is None or self.runs >= RUNS:
            self.builder, self.runs = _builder(), 0
        self.runs += 1
        return self.builder


_runner = _Runner()


def _plainly_counted(text: str) -> str:
    """A module in whose very long functions LLVM does not know how loops over elements count.

    Else it looks for cheaper addresses in each of them, which takes up to a third of its time there and
    finds none: those that are written fit the processor's instructions.
    """
    parts = text.split("\ndefine ")
    return "\ndefine ".join(_COUNT.sub(_HIDDEN, x) if x.count("\n") > VERY_LONG else x for x in parts)


@functools.cache
def _passes() -> dict[str, tuple[Any, ...]]:
    """The passes over one function, part by part: by kind.

    LLVM's usual pipeline over whole modules would do no more for our code, and keeps 90 kB of memory for each
    module that it has seen.
    """
    binding = _binding()
    unroll = binding.create_new_function_pass_manager()
    unroll.add_loop_unroll_pass()
    unroll.add_instruction_combine_pass()
    unroll.add_simplify_cfg_pass()
    few = binding.create_new_function_pass_manager()
    few.add_sroa_pass()
    few.add_instruction_combine_pass()
    few.add_simplify_cfg_pass()
    least = binding.create_new_function_pass_manager()
    least.add_sroa_pass()
    return {
        "usual": (_builder(2).getFunctionPassManager(), unroll),
        "quick": (_builder(1).getFunctionPassManager(), unroll),
        "few": (few,),
        "least": (least,),
        "none": (),
    }


def _builtin(name: str, address: int, keep: tuple[Any, ...]) -> Callable[..., Any]:
    """A built-in function over the machine code at an address; it keeps `keep` alive.

    Its description lies in bytes: from anything of ctypes the garbage collector takes the memory away, also
    before the function, which is read once more when it dies, where both are parts of one circle.
    """
    text = name.encode()
    described = bytes(_MethodDef(text, address, _FASTCALL, None))
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_char_p, ctypes.py_object, ctypes.c_void_p]
    function: Callable[..., Any] = make(described, (described, text, *keep), None)
    return function
