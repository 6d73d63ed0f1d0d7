"""What the user's code is doing, read from the bytecode of the calling frame.

What it is about to call the value being made (the store that follows the instruction in progress), which
operator it carries out.  Only names, printed plans, texts of errors and what is unrolled depend on it.
"""

from __future__ import annotations

import dis
import types

from runtime.places import by_code


@by_code
def _read(code: types.CodeType) -> tuple[dict[int, tuple[str, ...]], dict[int, str]]:
    """By the offset of an instruction: the names that are stored directly after it, and which of Python's
    operators it carries out ("<", "+", "+=", ...)."""
    steps = list(dis.get_instructions(code))
    return _stores(steps), _operators(steps)


def _stores(steps: list[dis.Instruction]) -> dict[int, tuple[str, ...]]:
    steps = [i for i in steps if i.opname not in ("CACHE", "EXTENDED_ARG")]
    out: dict[int, tuple[str, ...]] = {}
    for at, step in enumerate(steps[:-1]):
        follow = at + 1
        count = 1
        if steps[follow].opname == "UNPACK_SEQUENCE":
            count, follow = int(steps[follow].arg or 0), follow + 1
        names: list[str] = []
        while follow < len(steps) and len(names) < count:
            name, value = steps[follow].opname, steps[follow].argval
            if name == "STORE_FAST_STORE_FAST":
                names += value if isinstance(value, tuple) else ()
            elif name == "STORE_FAST_LOAD_FAST" and isinstance(value, tuple):
                names.append(value[0])
            elif name in ("STORE_FAST", "STORE_DEREF", "STORE_GLOBAL", "STORE_NAME"):
                names.append(value)
            else:
                break
            follow += 1
        if len(names) == count:
            # Python 3.11 stands at the end of an instruction's cache entries while it makes a call.
            for offset in range(step.offset, steps[at + 1].offset, 2):
                out[offset] = tuple(names)
    return out


def _operators(steps: list[dis.Instruction]) -> dict[int, str]:
    kinds = ("BINARY_", "COMPARE_", "INPLACE_")
    out: dict[int, str] = {}
    for step in steps:
        if step.opname.startswith(kinds) and step.opname != "BINARY_SUBSCR":
            before_311 = "=" if step.opname.startswith("INPLACE_") else ""
            text = step.argval if step.opname.startswith("COMPARE_") else step.argrepr
            out[step.offset] = str(text or before_311)
    return out


def operator_in_progress(frame: types.FrameType | None) -> str:
    """The operator that the frame carries out ("=" for an augmented one on Python 3.10), or ""."""
    return _read(frame.f_code)[1].get(frame.f_lasti, "") if frame is not None else ""


def in_operator(frame: types.FrameType | None) -> bool:
    """Whether the frame is at a Python operator, not at a call."""
    return frame is not None and frame.f_lasti in _read(frame.f_code)[1]


def names_stored(frame: types.FrameType | None) -> tuple[str, ...]:
    """The names that the frame stores the result of its current instruction in; empty when it doesn't."""
    if frame is None:
        return ()
    found = _read(frame.f_code)[0].get(frame.f_lasti, ())
    return tuple(n for n in found if n.isidentifier()) if all(n.isidentifier() for n in found) else ()


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
