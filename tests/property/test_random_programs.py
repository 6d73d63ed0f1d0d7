"""2,000 random programs give what plain Python gives.  The long run is `python -m tests.property.fuzz`.

One chunk in ten runs natively: compiling takes a hundred times as long as the programs.  One program in four
makes all its calls, the others those of one signature: each signature is traced anew.
"""

from __future__ import annotations

import pathlib

import pytest

from runtime.config import settings
from tests.property import fuzz, programs

CHUNK, PROGRAMS, NATIVE, FULLY = 40, 2000, 10, 4


@pytest.mark.parametrize("first", range(0, PROGRAMS, CHUNK))
def test_programs(first: int, tmp_path: pathlib.Path) -> None:
    executor = "numpy" if first // CHUNK % NATIVE else "auto"
    with settings.override(executor=executor):
        seeds = range(first, first + CHUNK)
        problems = {seed: fuzz.check(seed, tmp_path, 2 if seed % FULLY else None) for seed in seeds}
    failed = {seed: problem for seed, problem in problems.items() if problem}
    if not failed:
        return
    seed = min(failed)
    shrunk = fuzz.shrink(programs.make(seed), tmp_path, limit=150)
    pytest.fail(
        f"{len(failed)} of {CHUNK} differ: {failed}\nprogram {seed}, shrunk:\n{shrunk}", pytrace=False
    )


def test_programs_are_repeatable_and_varied() -> None:
    texts = [programs.make(seed).source for seed in range(200)]
    assert texts == [programs.make(seed).source for seed in range(200)]
    assert len(set(texts)) == len(texts)
    for word in (
        "while True:",
        "break",
        "continue",
        "return",
        "else:",
        "for ",
        "items.append",
        "] +=",
        "fill(",
    ):
        assert any(word in text.split("def program")[1] for text in texts), word
