"""The package `datasketches`, which the approximate modules need and the others do not."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from muntin.errors import PluginError


class MissingSketchesError(PluginError, ImportError):
    """The package `datasketches` cannot be imported."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(
            f"the approximate modules of muntin-stats need the package datasketches: {reason}\n"
            "  expected: pip install 'muntin-stats[sketches]', where the driver and the workers run\n"
            "  without it: stats.quantile, stats.median and stats.distinct_count give the same exactly"
        )


@cache
def sketch_library() -> Any:
    """Import the package `datasketches`.

    Raises:
        MissingSketchesError: The package is not installed, or not for this Python.
    """
    try:
        return import_module("datasketches")
    except ImportError as error:
        raise MissingSketchesError(str(error)) from error
