"""Every setting of the project, in one typed table.

In: the environment, once, at import; later assignments to `settings`.  Out: `settings`, an object with
one attribute per row of `TABLE`.  A value of the wrong type or out of range is never stored: the error
names all valid ones.  Nothing else in the project reads `os.environ`.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Union

from runtime.dataclass import dataclass
from runtime.errors import message

Scalar = Union[bool, int, str]

_BOOLS: dict[str, bool] = {
    "1": True,
    "true": True,
    "yes": True,
    "on": True,
    "0": False,
    "false": False,
    "no": False,
    "off": False,
}


@dataclass(frozen=True)
class Setting:
    """One row: name, type, default, environment variable, what it does, which numbers or words it takes.

    free: any text will do.
    """

    name: str
    type: type
    default: Scalar
    env: str
    doc: str
    least: int = 0
    choices: tuple[str, ...] = ()
    free: bool = False

    def valid(self) -> str:
        """All valid values, in words."""
        if self.free:
            return "a text"
        if self.choices:
            return "one of " + ", ".join(map(repr, self.choices))
        return "True or False" if self.type is bool else f"an integer, {self.least} or more"

    def check(self, value: object) -> Scalar:
        """`value` itself if it is valid; ValueError otherwise."""
        if self.type is bool and isinstance(value, bool):
            return value
        if self.type is int and type(value) is int and value >= self.least:
            return value
        if isinstance(value, str) and (self.free or value in self.choices):
            return value
        raise ValueError(
            message(
                f"{value!r} is not a value for the setting {self.name!r}",
                why=self.doc,
                fix=f"give it {self.valid()}",
            )
        )

    def parse(self, text: str) -> Scalar:
        """The value that the environment variable's text stands for; ValueError if none."""
        if self.free:
            return text
        word = text.strip().lower()
        if self.type is bool and word in _BOOLS:
            return _BOOLS[word]
        if word in self.choices:
            return word
        if self.type is int and word.lstrip("+-").isdigit() and int(word) >= self.least:
            return int(word)
        valid = "one of " + ", ".join(_BOOLS) if self.type is bool else self.valid()
        raise ValueError(
            message(
                f"the environment variable {self.env} is {text!r}",
                why=self.doc,
                fix=f"set it to {valid}, or unset it",
            )
        )


TABLE: tuple[Setting, ...] = (
    Setting(
        "show_generated_frames",
        bool,
        False,
        "AUTOGRAPH_SHOW_GENERATED_FRAMES",
        "Keep the frames of generated code in tracebacks.",
    ),
    Setting(
        "unroll_limit",
        int,
        16,
        "AUTOGRAPH_UNROLL_LIMIT",
        "Loops over a static range of at most this many items are unrolled; longer ones are staged.",
    ),
    Setting(
        "cache_size",
        int,
        64,
        "AUTOGRAPH_CACHE_SIZE",
        "Traces kept per function; the least recently used one goes first.",
        least=1,
    ),
    Setting(
        "warn_after_retraces",
        int,
        0,
        "AUTOGRAPH_WARN_AFTER_RETRACES",
        "Warn once per function when it has been traced again this often; 0 never warns.",
    ),
    Setting(
        "strict",
        bool,
        False,
        "AUTOGRAPH_STRICT",
        "Raise where a function or a part of it would be left to plain Python.",
    ),
    Setting(
        "executor",
        str,
        "auto",
        "AUTOGRAPH_EXECUTOR",
        "Whether graphs run as native code: where that is likely to pay, never, or wherever possible.",
        choices=("auto", "numpy", "native"),
    ),
    Setting(
        "math",
        str,
        "fast",
        "AUTOGRAPH_MATH",
        "Whether native code computes exp, log, sin and their like by polynomials (within 4 units in the last"
        " place) or by NumPy's own loops, bit for bit.",
        choices=("fast", "exact"),
    ),
    Setting(
        "compile",
        str,
        "background",
        "AUTOGRAPH_COMPILE",
        "Whether calls wait for native code, or run without it until it is there (loops always wait).",
        choices=("background", "now"),
    ),
    Setting(
        "cache_dir",
        str,
        "",
        "AUTOGRAPH_CACHE_DIR",
        "The folder that keeps native code between processes: a path, empty for the user's own, or off.",
        free=True,
    ),
    Setting(
        "cache_megabytes",
        int,
        64,
        "AUTOGRAPH_CACHE_MEGABYTES",
        "How big that folder may get; what was used least recently is deleted.",
        least=1,
    ),
    Setting(
        "num_threads",
        int,
        0,
        "AUTOGRAPH_NUM_THREADS",
        "How many threads share the work of a large native loop; 0: what OMP_NUM_THREADS says, else as many"
        " as there are processors for this process.",
    ),
)
_ROWS: dict[str, Setting] = {row.name: row for row in TABLE}


class Settings:
    """The settings' current values, as attributes; an assignment is checked against the table."""

    show_generated_frames: bool
    unroll_limit: int
    cache_size: int
    warn_after_retraces: int
    strict: bool
    executor: str
    math: str
    compile: str
    cache_dir: str
    cache_megabytes: int
    num_threads: int
    _followers: dict[str, Callable[[], None]]

    def __init__(self, environment: Mapping[str, str]) -> None:
        super().__setattr__("_followers", {})
        for row in TABLE:
            text = environment.get(row.env)
            setattr(self, row.name, row.default if text is None else row.parse(text))

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, _row(name).check(value))
        if name in self._followers:
            self._followers[name]()

    def follow(self, name: str, changed: Callable[[], None]) -> None:
        """Have `changed` called now and after each assignment to a setting."""
        self._followers[_row(name).name] = changed
        changed()

    @contextlib.contextmanager
    def override(self, **values: Scalar) -> Iterator[None]:
        """Other values inside a `with` block; all of them are checked before any is stored.

        >>> with settings.override(unroll_limit=4):
        ...     settings.unroll_limit
        4
        """
        for name, value in values.items():
            _row(name).check(value)
        before = {name: getattr(self, name) for name in values}
        try:
            for name, value in values.items():
                setattr(self, name, value)
            yield
        finally:
            for name, value in before.items():
                setattr(self, name, value)

    def compiles(self) -> bool:
        """Whether there may be native code, as things are set and installed."""
        return self.executor != "numpy" and _compiler()

    def __repr__(self) -> str:
        return "Settings(" + ", ".join(f"{row.name}={getattr(self, row.name)!r}" for row in TABLE) + ")"


def _row(name: str) -> Setting:
    if name not in _ROWS:
        raise ValueError(message(f"there is no setting {name!r}", fix="use one of " + ", ".join(_ROWS)))
    return _ROWS[name]


@functools.cache
def _compiler() -> bool:
    return importlib.util.find_spec("llvmlite") is not None


def processors() -> int:
    """How many threads to use where nobody said: what OMP_NUM_THREADS says (so that processes that share a
    machine can be told once, for all libraries), else as many as this process may use processors."""
    wish = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    if wish.isdigit() and int(wish):
        return int(wish)
    return available()


def available() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def user_cache() -> str:
    """Where this user's programs keep what only saves time; empty for a user without a home."""
    home = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(home):
        home = os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(home, "autograph") if os.path.isabs(home) else ""


settings = Settings(os.environ)
