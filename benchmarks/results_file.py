"""Everything that was measured, as JSON."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import psutil  # type: ignore[import-untyped, unused-ignore]  # types come apart from it

from benchmarks.options import Options
from benchmarks.report import WorkReport

_PACKAGES: Final = ("muntin-engine", "muntin-stats", "pyspark", "pyarrow", "numpy", "pandas")


def write_results(path: Path, reports: Sequence[WorkReport], options: Options, when: datetime) -> None:
    """Write the results so that the file is there whole or not at all.

    Args:
        path: The file.
        reports: What was found out.
        options: What was asked for.
        when: The time of the run.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(json.dumps(results_data(reports, options, when), indent=2) + "\n")
    os.replace(partial, path)


def results_data(reports: Sequence[WorkReport], options: Options, when: datetime) -> dict[str, Any]:
    """Return the results as JSON-able data. It names no paths."""
    return {
        "when": when.astimezone(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "options": {
            "rows_per_file": options.rows,
            "repeats": options.repeats,
            "limit_seconds": options.limit,
            "is_quick": options.is_quick,
        },
        "works": [report.as_data() for report in reports],
    }


def machine() -> dict[str, Any]:
    """Describe the machine that the figures depend on: cores, memory in bytes, and versions."""
    return {
        "cores": os.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **{name: version(name) for name in _PACKAGES},
    }
