"""What the user's code is doing, read from the bytecode of the calling frame.

What it is about to call the value being made (the store that follows the instruction in progress), which
operator it carries out.  Only names, printed plans, texts of errors and what is unrolled depend on it.
"""

from __future__ import annotations

import dis
import functools
import types
from collections.abc import Iterator

from runtime.places import by_code

_SAMPLE = """
a + b; a & b; a // b; a << b; a @ b; a * b; a % b; a | b; a ** b; a >> b; a - b; a / b; a ^ b
a += b; a &= b; a //= b; a <<= b; a @= b; a *= b; a %= b; a |= b; a **= b; a >>= b; a -= b; a /= b; a ^= b
"""
_bytes = by_code(lambda code: code.co_code)


@functools.cache
def _operators() -> tuple[dict[tuple[int, int], str], int]:
    """By instruction, the text of the operator ("+", "+=", ...); and from which bit on the argument of a
    comparison says which one it is."""
    steps = list(dis.get_instructions(compile(_SAMPLE, "<sample>", "exec")))
    found = {(step.opcode, step.arg or 0): step.argrepr for step in steps if step.opname == "BINARY_OP"}
    for opname, op in dis.opmap.items():  # before Python 3.11 each has an instruction
        if opname.startswith(("BINARY_", "INPLACE_")) and opname not in ("BINARY_OP", "BINARY_SUBSCR"):
            found |= {(op, argument): "=" if opname.startswith("I") else "" for argument in range(256)}
    compared = compile("a > b", "<sample>", "eval")
    (asked,) = (step.arg for step in dis.get_instructions(compared) if step.opname == "COMPARE_OP")
    shift = 0
    while asked and asked >> shift != dis.cmp_op.index(">"):
        shift += 1
    return found, shift


def _at(frame: types.FrameType | None) -> str | None:
    """The operator that a frame is at; None where it is at none."""
    if frame is None or frame.f_lasti < 0:
        return None
    found, shift = _operators()
    code, at = _bytes(frame.f_code), frame.f_lasti
    if code[at] == dis.opmap["COMPARE_OP"]:
        return dis.cmp_op[code[at + 1] >> shift]
    return found.get((code[at], code[at + 1]))


def _steps(code: bytes, at: int) -> Iterator[tuple[str, int]]:
    """Name and argument of each instruction after one, in whose cache entries the frame may stand."""
    above = 0
    start = at if dis.opname[code[at]] == "EXTENDED_ARG" else at + 2
    for k in range(start, len(code), 2):
        name, argument = dis.opname[code[k]], above | code[k + 1]
        above = argument << 8 if name == "EXTENDED_ARG" else 0
        if name not in ("CACHE", "EXTENDED_ARG"):
            yield name, argument


@by_code
def _slots(code: types.CodeType) -> tuple[str, ...]:
    """The names of all variables as instructions number them; before Python 3.11, of those in cells."""
    if "CACHE" not in dis.opmap:
        return code.co_cellvars + code.co_freevars
    cells = tuple(name for name in code.co_cellvars if name not in code.co_varnames)
    return code.co_varnames + cells + code.co_freevars


def _stores(code: types.CodeType, at: int) -> tuple[str, ...]:
    """The names that are stored directly after an instruction."""
    names: list[str] = []
    count = 0
    for name, argument in _steps(_bytes(code), at):
        if name == "UNPACK_SEQUENCE" and not count:
            count = argument
            continue
        count = count or 1
        if name == "STORE_FAST_STORE_FAST":
            names += (code.co_varnames[argument >> 4], code.co_varnames[argument & 15])
        elif name == "STORE_FAST_LOAD_FAST":
            names.append(code.co_varnames[argument >> 4])
        elif name == "STORE_DEREF":
            names.append(_slots(code)[argument])
        elif name in ("STORE_GLOBAL", "STORE_NAME"):
            names.append(code.co_names[argument])
        elif name == "STORE_FAST":
            names.append(
                code.co_varnames[argument] if argument < len(code.co_varnames) else _slots(code)[argument]
            )
        else:
            break
        if len(names) >= count:
            break
    return tuple(names) if count and len(names) == count else ()


def operator_in_progress(frame: types.FrameType | None) -> str:
    """The operator that the frame carries out ("=" for an augmented one on Python 3.10), or ""."""
    return _at(frame) or ""


def in_operator(frame: types.FrameType | None) -> bool:
    """Whether the frame is at a Python operator, not at a call."""
    return _at(frame) is not None


def names_stored(frame: types.FrameType | None) -> tuple[str, ...]:
    """The names that the frame stores the result of its current instruction in; empty when it doesn't."""
    found = () if frame is None or frame.f_lasti < 0 else _stores(frame.f_code, frame.f_lasti)
    return found if all(n.isidentifier() for n in found) else ()


@by_code
def _kept(code: types.CodeType) -> tuple[str, ...]:
    """The parameters that a function returns as they came in; empty when it does anything else."""
    names: list[str] = []
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_FAST", "LOAD_FAST_BORROW"):
            names.append(step.argval)
        elif step.opname in ("LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW"):
            names += step.argval
        elif step.opname not in ("RESUME", "CACHE", "BUILD_TUPLE", "RETURN_VALUE"):
            return ()
    return tuple(names)


def names_kept(*arms: object) -> tuple[str, ...]:
    """What the results of arms are called, from the one that leaves them all as they were, if any."""
    found = (_kept(code) for code in (getattr(arm, "__code__", None) for arm in arms) if code is not None)
    return next(filter(None, found), ())


@by_code
def _mentions_first(code: types.CodeType) -> bool:
    """Whether a function's first parameter stands anywhere in its code."""
    name = code.co_varnames[0]
    told = (step.argval for step in dis.get_instructions(code))
    return name in code.co_cellvars or any(x == name or type(x) is tuple and name in x for x in told)


def ignores_first(function: object) -> bool:
    """Whether a Python function surely does nothing with its first argument."""
    code = getattr(function, "__code__", None)
    return code is not None and code.co_argcount > 0 and not _mentions_first(code)
