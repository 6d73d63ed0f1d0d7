"""A trip that writes what all trips read is tried before the others: mostly it writes what is there already.

In: the lines of a trip, and the number of the one that is tried.  Out: lines that compute, and store nothing,
whether that place stays as it is (`d[i, k]` in `d[i, j] = min(d[i, j], d[i, k] + d[k, j])`, where j is k).
What always holds: the same operations are done as in that trip, since no trip before it writes what it reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from runtime.pattern import pattern

_NAMES = pattern(r"%[\w.]+")
_LINE = pattern(r"(%\S+) = (.*)")
_STORE = pattern(r"c?store (\w+) (\S+), ptr (\S+), align 1(.*?)(?: under (\S+))?$")
_MASKED_LOAD = pattern(r"cload (\w+), ptr (\S+), align 1(.*) under (\S+)$")
_BITS = {"double": "i64", "float": "i32"}


def trial(
    text: Sequence[str],
    number: int,
    at: str,
    known: Mapping[str, str],
    carried: set[str],
    fresh: Callable[[], str],
) -> tuple[list[str], str] | None:
    """The lines, and the name of the condition that the store in line `number` changes nothing at `at`.

    known: of names of the trip, what they are in the one that is tried.  carried: what it is not known of.
    """
    store = _STORE.match(text[number])
    assert store is not None
    llvm, value, _, tags, mask = store.groups()
    wanted, slice_ = {value, mask or ""} - known.keys(), list[tuple[str, str]]()
    for line in reversed(text[:number]):
        m = _LINE.match(line)
        if m is not None and m[1] in wanted:
            slice_.append((m[1], m[2]))
            wanted.update(x for x in _NAMES.findall(m[2]) if x not in known)
    if wanted & carried:
        return None
    names, lines = dict(known), list[str]()

    def make(what: str) -> str:
        name = fresh()
        lines.append(f"{name} = {what}")
        return name

    def named(what: str) -> str:
        return _NAMES.sub(lambda m: names.get(m[0], m[0]), what)

    for name, what in reversed(slice_):
        masked = _MASKED_LOAD.match(what)
        if masked is not None:
            if masked[1] != llvm:
                return None
            place = make(named(f"select i1 {masked[4]}, ptr {masked[2]}, ptr {at}"))
            what = f"load {llvm}, ptr {place}, align 1"
        names[name] = make(named(what))
    before, after = make(f"load {llvm}, ptr {at}, align 1{tags}"), named(value)
    if llvm in _BITS:
        before, after = (make(f"bitcast {llvm} {x} to {_BITS[llvm]}") for x in (before, after))
    same = make(f"icmp eq {_BITS.get(llvm, llvm)} {before}, {after}")
    if mask:
        same = make(f"or i1 {same}, {make(f'xor i1 {named(mask)}, true')}")
    return lines, same
