"""The cache of object code: what comes back, and what never does."""

from __future__ import annotations

import os
import pathlib
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from runtime.config import settings, user_cache
from runtime.execute.native import link, llvm_load, object_cache
from runtime.execute.native.executor import unavailable
from runtime.execute.native.kinds import Unlowered

pytestmark = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "native code")
MODULE = "define i64 @entry(i64 %x) {{\n  %y = add i64 %x, {}\n  ret i64 %y\n}}\n"
PROGRAM = """
import sys
import numpy as np
import autograph as ag
from runtime.config import settings
from runtime.execute.native import llvm_load, object_cache

settings.executor, settings.compile, settings.cache_dir = "native", "now", sys.argv[1]

@ag.function
def program(n, x):
    total = 0.0
    for i in range(n):
        total += x[i % len(x)] * 1.25
    return total

print(program(100, np.arange(7.0)), program.traces[-1].concrete.executor, "llvmlite.binding" in sys.modules)
"""


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[pathlib.Path]:
    path = tmp_path / "cache"
    llvm_load._recent.clear()
    monkeypatch.setattr(llvm_load, "RECENT", 0)  # nothing comes from elsewhere
    with settings.override(cache_dir=str(path)):
        yield path


def files(folder: pathlib.Path) -> list[pathlib.Path]:
    return sorted(folder.glob("*.object"))


def test_what_was_stored_comes_back(folder: pathlib.Path) -> None:
    assert object_cache.find("a" * 40) is None
    object_cache.store("a" * 40, b"some bytes")
    assert object_cache.find("a" * 40) == b"some bytes"
    assert object_cache.find("b" * 40) is None


def test_what_was_just_compiled_is_not_compiled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of one function are often the same; this holds without a folder, too, and for the last few."""
    made: list[str] = []
    compiled = llvm_load._compiled
    monkeypatch.setattr(llvm_load, "_compiled", lambda text, *how: made.append(text) or compiled(text, *how))
    texts = [MODULE.format(k) for k in range(1000, 1000 + llvm_load.RECENT + 1)]
    with settings.override(cache_dir="off"):
        assert llvm_load.object_code(texts[0]) == llvm_load.object_code(texts[0])
        assert made == texts[:1]
        for text in texts:
            llvm_load.object_code(text)
        assert made == texts
        llvm_load.object_code(texts[0])
    assert made == [*texts, texts[0]]
    assert len(llvm_load._recent) == llvm_load.RECENT


def test_passes_take_no_longer_the_more_was_compiled() -> None:
    """Each run leaves something behind in what runs the passes, and all later ones look at it."""
    builders = set()
    for k in range(3 * llvm_load.RUNS):
        llvm_load._compiled(MODULE.format(k), True, 2)
        assert 0 < llvm_load._runner.runs <= llvm_load.RUNS
        builders.add(id(llvm_load._runner.builder))
    assert len(builders) > 1


def test_the_files_are_the_users_alone(folder: pathlib.Path) -> None:
    object_cache.store("a" * 40, b"some bytes")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(files(folder)[0].stat().st_mode) == 0o600


@pytest.mark.parametrize("damage", ["cut", "empty", "bit", "head", "renamed", "zeros"])
def test_damage_is_seen(folder: pathlib.Path, damage: str) -> None:
    object_cache.store("a" * 40, b"x" * 1000)
    path = files(folder)[0]
    data = bytearray(path.read_bytes())
    if damage == "cut":
        del data[-1:]
    elif damage == "empty":
        data.clear()
    elif damage == "bit":
        data[-500] ^= 4
    elif damage == "head":
        data[3] ^= 1
    elif damage == "zeros":
        data[:] = bytes(len(data))
    name = "a" * 40
    if damage == "renamed":
        name = "b" * 40
        path = path.rename(path.with_name(name + path.suffix))
    path.write_bytes(data)
    assert object_cache.find(name) is None
    assert not path.exists()


def test_damaged_code_is_compiled_again(folder: pathlib.Path) -> None:
    text = MODULE.format(7)
    wanted = llvm_load.object_code(text)
    (path,) = files(folder)
    path.write_bytes(path.read_bytes()[:-20])
    assert llvm_load.object_code(text) == wanted == object_cache.find(object_cache.name_of(text))


@pytest.mark.parametrize("mode", [0o602, 0o620])
def test_what_others_may_write_is_not_read(folder: pathlib.Path, mode: int) -> None:
    object_cache.store("a" * 40, b"some bytes")
    files(folder)[0].chmod(mode)
    assert object_cache.find("a" * 40) is None


def test_a_folder_that_others_may_write_to_is_not_used(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "open"
    path.mkdir()
    path.chmod(0o777)
    with settings.override(cache_dir=str(path)):
        object_cache.store("a" * 40, b"some bytes")
        assert object_cache.folder() == "" and object_cache.find("a" * 40) is None
    assert not list(path.iterdir())


def test_the_usual_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/some/where")
    assert user_cache() == "/some/where/autograph"
    monkeypatch.setenv("XDG_CACHE_HOME", "some/where")  # must be ignored unless absolute
    monkeypatch.setenv("HOME", "/home/somebody")
    assert user_cache() == "/home/somebody/.cache/autograph"
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # a user without a home
    assert user_cache() == ""
    with settings.override(cache_dir=""):
        assert object_cache.folder() == ""


def test_off_and_impossible_folders(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_text("")
    for chosen in ("off", str(tmp_path / "file"), str(tmp_path / "file" / "inside")):
        with settings.override(cache_dir=chosen):
            object_cache.store("a" * 40, b"some bytes")
            assert object_cache.find("a" * 40) is None
            object_cache.trim()
            assert llvm_load.object_code(MODULE.format(8))


def test_the_folder_keeps_to_its_bound(folder: pathlib.Path) -> None:
    names = [f"{k:040x}" for k in range(1, 31)]  # none of them makes `store` look at the size
    for age, name in enumerate(names):
        object_cache.store(name, bytes(100_000))
        os.utime(folder / f"{name}.object", (1_000_000 + age, 1_000_000 + age))
    assert object_cache.find(names[0]) is not None  # used now, so it stays
    (folder / "half.part").write_bytes(b"")
    os.utime(folder / "half.part", (1_000_000, 1_000_000))
    with settings.override(cache_megabytes=1):
        object_cache.trim()
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 1 << 20
    left = [path.stem for path in files(folder)]
    assert names[0] in left and names[1] not in left and names[-1] in left
    assert not (folder / "half.part").exists()


def test_storing_keeps_to_the_bound_by_itself(folder: pathlib.Path) -> None:
    with settings.override(cache_megabytes=1):
        for k in range(200):
            object_cache.store(object_cache.name_of(str(k)), bytes(50_000))
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 8 << 20


@pytest.mark.parametrize("what", ["compiler", "processor", "numpy"])
def test_other_circumstances_are_another_name(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    before = object_cache.name_of("text")
    assert before == object_cache.name_of("text") != object_cache.name_of("other")
    if what == "compiler":
        monkeypatch.setattr(object_cache, "compiler_version", lambda: "99.0")
    elif what == "processor":
        monkeypatch.setattr(object_cache.host, "identity", lambda: "another")
    else:
        monkeypatch.setattr(object_cache.np, "__version__", "99.0")
    object_cache.circumstances.cache_clear()
    try:
        assert object_cache.name_of("text") != before
    finally:
        object_cache.circumstances.cache_clear()


def test_many_at_once(folder: pathlib.Path) -> None:
    failed: list[str] = []

    def work(seed: int) -> None:
        for k in range(60):
            name = f"{(k + seed) % 10:040x}"
            object_cache.store(name, name.encode() * 500)
            found = object_cache.find(name)
            if found is not None and found != name.encode() * 500:
                failed.append(name)
            if k % 20 == seed:
                object_cache.trim()

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed and len(files(folder)) == 10
    assert len(list(folder.iterdir())) == 10


def test_between_processes(tmp_path: pathlib.Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    command = [sys.executable, str(script), str(tmp_path / "cache")]
    environment = os.environ | {"PYTHONPATH": os.getcwd()}
    together = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) for _ in range(3)
    ]
    outputs = [process.communicate(timeout=120)[0].split() for process in together]
    assert {tuple(words[:2]) for words in outputs} == {(outputs[0][0], "native")}
    again = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment, check=True)
    assert again.stdout.split() == [outputs[0][0], "native", "False"]  # LLVM was not even loaded


def test_code_that_is_no_code_is_refused(folder: pathlib.Path) -> None:
    text = MODULE.format(9)
    object_cache.store(object_cache.name_of(text), b"not an object file")
    with pytest.raises(Unlowered, match="can't be loaded"):
        link.load(llvm_load.object_code(text), {})
