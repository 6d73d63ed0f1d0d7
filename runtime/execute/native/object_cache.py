"""Object code on disk, shared by all processes of a user: what was compiled once is not compiled again.

In: a key, that is all the object code depends on, as text.  Out: the bytes that were stored under it.  What
always holds: bytes come back only as they were stored (there is a checksum); a folder or file that somebody
else may write to is never read; a file appears whole or not at all; nothing here raises, as the cache only
saves time.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import stat
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from runtime.config import settings, user_cache
from runtime.execute.native import host

FORMAT = b"autograph object 7\n"  # change it when the same IR would have to be compiled in another way
OFF = "off"
_DIGEST = 32  # bytes of a checksum
_SUFFIX, _UNFINISHED = ".object", ".part"
_KEEP = 0.8  # of the bound is left when the folder was too big
_SELDOM = 16  # one in so many new files looks at the size of the folder
_STALE = 3600.0  # seconds after which an unfinished file is somebody's that has died


@functools.cache
def _hasher() -> Callable[[bytes], Any]:
    """The function, of Python's own module where there is one: `hashlib` loads a library for cryptography."""
    for module in ("_sha2", "_sha256"):
        with contextlib.suppress(ImportError):
            return importlib.import_module(module).sha256  # type: ignore[no-any-return]
    return importlib.import_module("hashlib").sha256  # type: ignore[no-any-return]


@functools.cache
def circumstances() -> str:
    """What the object code depends on besides the IR: the compiler, the processor, NumPy and Python."""
    versions = f"llvmlite {compiler_version()}, numpy {np.__version__}, python {sys.version}"
    return f"{versions}, {host.identity()}"


@functools.cache
def compiler_version() -> str:
    """llvmlite's version; asking does not load its library."""
    return str(importlib.import_module("llvmlite").__version__)


def name_of(text: str) -> str:
    """The name under which the object code of this text is stored."""
    whole = b"\0".join([FORMAT, circumstances().encode(), text.encode()])
    found: str = _hasher()(whole).hexdigest()
    return found[:40]


def folder() -> str:
    """Where the files are; empty where there is no cache, or none that is safe to use."""
    chosen = settings.cache_dir
    if chosen == OFF:
        return ""
    chosen = chosen or user_cache()
    return _prepared(os.path.abspath(chosen)) if chosen else ""


@functools.lru_cache(maxsize=16)
def _prepared(path: str) -> str:
    """The folder, made if need be; empty if it is not the user's alone."""
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
        return path if _is_private(os.stat(path)) and os.access(path, os.W_OK | os.X_OK) else ""
    except OSError:
        return ""


def _is_private(seen: os.stat_result) -> bool:
    return seen.st_uid == os.geteuid() and not seen.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def find(name: str) -> bytes | None:
    """What was stored under the name; None if nothing was, or it is damaged."""
    where = folder()
    if not where:
        return None
    path = os.path.join(where, name + _SUFFIX)
    try:
        with open(path, "rb") as file:
            safe = _is_private(os.fstat(file.fileno()))
            content = file.read() if safe else b""
    except OSError:
        return None
    data = _unpacked(content, name)
    with contextlib.suppress(OSError):
        if data is None:
            os.unlink(path)
        else:
            os.utime(path)  # the least recently used one goes first
    return data


def store(name: str, data: bytes) -> None:
    """Keep the bytes under the name."""
    where = folder()
    if not where:
        return
    part = os.path.join(where, f"{name}-{os.getpid()}-{time.monotonic_ns()}{_UNFINISHED}")
    try:
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)  # readable by the user alone
    except OSError:
        return
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_packed(data, name))
        os.replace(part, os.path.join(where, name + _SUFFIX))
    except OSError:  # a full disk, for one
        with contextlib.suppress(OSError):
            os.unlink(part)
        return
    if int(name[:8], 16) % _SELDOM == 0:
        trim()


def trim() -> None:
    """Delete what was used least recently until the folder keeps to its bound."""
    where, bound = folder(), settings.cache_megabytes << 20
    if not where:
        return
    found: list[tuple[float, int, str]] = []
    now = time.time()
    with contextlib.suppress(OSError), os.scandir(where) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                seen = entry.stat(follow_symlinks=False)
                if entry.name.endswith(_SUFFIX):
                    found.append((seen.st_mtime, seen.st_size, entry.path))
                elif entry.name.endswith(_UNFINISHED) and now - seen.st_mtime > _STALE:
                    os.unlink(entry.path)
    size = sum(n for _, n, _ in found)
    if size <= bound:
        return
    for _, n, path in sorted(found):
        if size <= bound * _KEEP:
            break
        size -= n
        with contextlib.suppress(OSError):
            os.unlink(path)


def _packed(data: bytes, name: str) -> bytes:
    return FORMAT + _checksum(data, name) + data


def _unpacked(content: bytes, name: str) -> bytes | None:
    head = len(FORMAT) + _DIGEST
    data = content[head:]
    whole = content.startswith(FORMAT) and content[len(FORMAT) : head] == _checksum(data, name)
    return data if whole else None


def _checksum(data: bytes, name: str) -> bytes:
    found: bytes = _hasher()(name.encode() + data).digest()
    return found
