"""Functions that nobody here wrote, straight from installed packages: converted, run, compared."""

from __future__ import annotations

import sys

from autograph.demo import main

if __name__ == "__main__":
    sys.exit(main())
