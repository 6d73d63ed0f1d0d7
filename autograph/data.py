"""`ag.data`: datasets to loop over in functions (see `runtime.data`)."""

from __future__ import annotations

from runtime.data import Dataset

__all__ = ["Dataset"]
