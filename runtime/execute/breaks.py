"""`break` in place of flags: a flag that only ends its loop becomes the statement that it stands for.

In: the lines of a loop body, and the flag whose truth ends the loop after a trip.  Out: the lines with
`break`, or None.  What always holds: a flag is replaced only where nothing is left to do in the trip once it
is set.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from runtime.execute.blocks import Line

_COMPOUND = ("if ", "elif ", "else:", "for ", "while ", "try:", "except ", "except:", "finally:", "with ")
_OTHER_PARTS = ("elif ", "else:", "except ", "except:", "finally:")  # what a break passes by, or runs anyway


def flags_of(test: str) -> tuple[list[str], str]:
    """The names that `not name and not (name or name) and rest` asks for, and the rest."""
    flags: list[str] = []
    rest: list[str] = []
    for part in test.split(" and "):
        match = re.fullmatch(r"not (\w+)|not \((\w+(?: or \w+)+)\)", part)
        if match is None:
            rest.append(part)
        else:
            flags += (match[1] or match[2]).split(" or ")
    return flags, " and ".join(rest)


def with_breaks(block: Sequence[Line], flag: str, keep: bool) -> list[Line] | None:
    """The block with `break` where the flag is set; None if that can't be said.

    The flag is false when a trip begins.  keep: it is read after the loop, so it is set as well.
    """
    setting, clearing = f"{flag} = True", f"{flag} = False"
    word = re.compile(rf"\b{re.escape(flag)}\b")
    if any(word.search(line.text) and line.text not in (setting, clearing) for line in block):
        return None
    texts = [line.text for line in block]
    if keep and "try:" in texts and clearing in texts:
        return None  # a handler may take the flag back
    places = [k for k, line in enumerate(block) if line.text == setting]
    ends: list[int] = []
    for place in places:
        end = _end(block, place)
        if end is None or any(line.text == clearing for line in block[place : end + 1]):
            return None
        ends.append(end)
    if not places:
        return None
    found: list[Line] = []
    for k, line in enumerate(block):
        if line.text not in (setting, clearing) or (keep and line.text == setting):
            found.append(line)
        if k in ends:
            found.append(Line(block[places[ends.index(k)]].depth, "break"))
    return _flattened(_filled(found))


def _end(block: Sequence[Line], place: int) -> int | None:
    """The last of the simple statements from `place` on; None if the trip goes on or a loop encloses."""
    depth = block[place].depth
    last = place
    while last + 1 < len(block) and block[last + 1].depth == depth:
        last += 1
        if block[last].text.startswith(_COMPOUND):
            return None
    for k, line in enumerate(block[last + 1 :], last + 1):
        if line.depth < depth:
            if not line.text.startswith(_OTHER_PARTS):
                return None
            if line.text == "else:" and _opener(block, k).startswith("except"):
                return None  # it may run after the part that sets the flag
            depth = line.depth + 1
    depth = block[place].depth
    for line in reversed(block[:place]):
        if line.depth < depth:
            depth = line.depth
            if line.text.startswith(("for ", "while ")):
                return None
    return last


def _filled(block: Sequence[Line]) -> list[Line]:
    """The block without empty `else` parts, other empty parts filled with `pass`."""
    found: list[Line] = []
    for k, line in enumerate(block):
        empty = line.text.startswith(_COMPOUND) and not (
            k + 1 < len(block) and block[k + 1].depth > line.depth
        )
        if not (empty and line.text == "else:"):
            found.append(line)
        if empty and line.text != "else:":
            found.append(Line(line.depth + 1, "pass"))
    return found


def _flattened(block: Sequence[Line]) -> list[Line]:
    """The block with `else` taken away after an `if` that ends in `break`."""
    found: list[Line] = []
    shifts: list[int] = []  # depths of the removed `else` lines that enclose the current one
    for k, line in enumerate(block):
        while shifts and line.depth <= shifts[-1]:
            shifts.pop()
        if line.text == "else:" and block[k - 1].text == "break" and block[k - 1].depth == line.depth + 1:
            opener = _opener(block, k)
            if opener.startswith("if "):
                shifts.append(line.depth)
                continue
        found.append(dataclasses.replace(line, depth=line.depth - len(shifts)))
    return found


def _opener(block: Sequence[Line], place: int) -> str:
    """The text of the part before the `else` at `place`."""
    depth = block[place].depth
    return next(line.text for line in reversed(block[:place]) if line.depth == depth)
