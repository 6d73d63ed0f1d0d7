"""The test suite with each executor forced, and without llvmlite.

    python -m tests.each_executor [numpy] [auto] [native] [without] [PYTEST-ARGUMENTS...]

`without` hides llvmlite from all processes of the run.  Nothing named: all four, one after the other.  Exit
status 1 when any of them fails.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import tempfile

EXECUTORS = ("numpy", "auto", "native")
WITHOUT = "without"


def run(kind: str, arguments: list[str]) -> int:
    """Run pytest this way; its exit status."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"AUTOGRAPH_EXECUTOR": "auto" if kind == WITHOUT else kind}
        if kind == WITHOUT:
            hidden = pathlib.Path(folder, "llvmlite")
            hidden.mkdir()
            (hidden / "__init__.py").write_text("raise ModuleNotFoundError('llvmlite is hidden')\n")
            paths = [folder, *filter(None, [os.environ.get("PYTHONPATH")])]
            environment["PYTHONPATH"] = os.pathsep.join(paths)
        return subprocess.run([sys.executable, "-m", "pytest", *arguments], env=environment).returncode


def main(arguments: list[str]) -> int:
    """The command."""
    kinds = [a for a in arguments if a in (*EXECUTORS, WITHOUT)]
    rest = [a for a in arguments if a not in kinds]
    ended = {}
    for kind in kinds or (*EXECUTORS, WITHOUT):
        print(f"== {kind}", flush=True)
        ended[kind] = run(kind, rest)
    print("; ".join(f"{kind}: {'FAILED' if status else 'passed'}" for kind, status in ended.items()))
    return int(any(ended.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
