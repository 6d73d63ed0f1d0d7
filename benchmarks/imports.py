"""What `import autograph` takes, as a multiple of what `import numpy` takes.

    python -m benchmarks.imports [--quick]

In: nothing.  Out: processor time of fresh processes and their peak memory: Python alone, with NumPy, with
`autograph`, and with a function that was made, called once, called with native code from the disk.
What always holds: the processes take turns and the best of each counts; byte code is compiled beforehand.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Sequence

ROOT = pathlib.Path(__file__).resolve().parent.parent
FUNCTION = "import numpy as np, autograph as ag\n@ag.function\ndef f(x):\n    return x + 1\n"
CODES = {
    "python": "",
    "import numpy": "import numpy",
    "import autograph": "import autograph",
    "a function": FUNCTION,
    "its first call": FUNCTION + "f(np.ones(3))",
}
TOLD = "\nimport resource as r; u = r.getrusage(r.RUSAGE_SELF); print(u.ru_utime + u.ru_stime, u.ru_maxrss)"


def once(path: str, environment: dict[str, str]) -> tuple[float, int]:
    """Processor seconds and kilobytes of one process."""
    done = subprocess.run(
        [sys.executable, path], env=environment, cwd=ROOT, capture_output=True, text=True, check=True
    )
    taken, memory = done.stdout.split()
    return float(taken), int(memory)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    rounds = 4 if parser.parse_args(arguments).quick else 15
    with tempfile.TemporaryDirectory() as folder:
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        environment |= {"PYTHONPYCACHEPREFIX": folder, "PYTHONPATH": str(ROOT)}
        paths = {}
        for k, (name, code) in enumerate(CODES.items()):
            paths[name] = os.path.join(folder, f"code_{k}.py")
            pathlib.Path(paths[name]).write_text(code + TOLD)
        found = {name: [once(path, environment) for _ in range(2)][1:] for name, path in paths.items()}
        for _ in range(rounds):
            for name, path in paths.items():
                found[name].append(once(path, environment))
    best = {name: (min(t for t, _ in pairs), min(m for _, m in pairs)) for name, pairs in found.items()}
    numpy_time, numpy_memory = best["import numpy"]
    print(f"{'':18}{'ms':>8}{'times numpy':>13}{'MB':>8}{'times numpy':>13}")
    for name, (taken, memory) in best.items():
        relative = taken / numpy_time, memory / numpy_memory
        print(f"{name:18}{taken * 1e3:>8.0f}{relative[0]:>12.2f}x{memory / 1e3:>8.0f}{relative[1]:>12.2f}x")


if __name__ == "__main__":
    main()
