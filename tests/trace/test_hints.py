"""What a frame is doing, read from the bytes of its code, is what `dis` tells of it."""

from __future__ import annotations

import ast
import dis
import statistics
import sys
import types
from collections.abc import Iterator

from runtime.trace import hints

MANY = "def f():\n " + "\n ".join(f"v{k} = g({k})" for k in range(300)) + "\n v0, v299 = g()\n v1 += g()\n"
CELLS = """
one = two = f()
one += f()
def outer(arg):
    kept = f()
    def inner():
        nonlocal kept, arg
        global two
        kept = f()
        arg, two = f()
        return kept <= arg, kept - two
    return inner
"""


def codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from codes(inner)


def every_code() -> Iterator[types.CodeType]:
    texts = [MANY, CELLS]
    for module in (ast, statistics):
        with open(str(module.__file__)) as file:
            texts.append(file.read())
    for text in texts:
        yield from codes(compile(text, "<text>", "exec"))


def frame(code: types.CodeType, step: dis.Instruction) -> types.FrameType:
    return types.SimpleNamespace(f_code=code, f_lasti=step.offset)  # type: ignore[return-value]


def test_operators() -> None:
    seen = set()
    for code in every_code():
        for step in dis.get_instructions(code):
            found = hints.operator_in_progress(frame(code, step))
            wanted = ""
            if step.opname == "COMPARE_OP":
                wanted = str(step.argval)
            elif step.opname == "BINARY_OP":
                wanted = step.argrepr
            elif step.opname.startswith("INPLACE_"):
                wanted = "="
            assert found == wanted, step
            is_one = bool(wanted) or step.opname.startswith("BINARY_") and step.opname != "BINARY_SUBSCR"
            assert hints.in_operator(frame(code, step)) == is_one, step
            seen.add(found)
    assert {"<", "<=", "="} & seen and ("+=" in seen or sys.version_info < (3, 11))


def test_names_that_are_stored() -> None:
    checked = 0
    for code in every_code():
        steps = [i for i in dis.get_instructions(code) if i.opname not in ("CACHE", "EXTENDED_ARG")]
        for before, step in zip(steps, steps[1:], strict=False):
            if step.opname in ("STORE_FAST", "STORE_DEREF", "STORE_GLOBAL", "STORE_NAME"):
                assert hints.names_stored(frame(code, before)) == (step.argval,), step
                checked += 1
            elif not step.opname.startswith(("STORE_", "UNPACK_")):
                assert hints.names_stored(frame(code, before)) == (), step
    assert checked > 500


def test_names_of_what_is_taken_apart() -> None:
    found = set()
    for code in every_code():
        for step in dis.get_instructions(code):
            found.add(hints.names_stored(frame(code, step)))
    assert {("v0", "v299"), ("arg", "two"), ("v299",), ("kept",)} <= found
