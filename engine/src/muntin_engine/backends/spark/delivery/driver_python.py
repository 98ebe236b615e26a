"""The Python process that Spark starts on the driver for every streaming query, with the workers' Python."""

from __future__ import annotations

import subprocess
from typing import Final

from pyspark.sql import SparkSession

from muntin_engine.backends.spark.session.kinds import AnySession
from muntin_engine.errors import WorkerEnvironmentError

_PRINT_MISSING: Final = "import importlib.util as u, sys; print(*[n for n in sys.argv[1:] if u.find_spec(n) is None])"
"""A program that prints which of its arguments are packages that it cannot import."""

_NEEDED: Final = ("muntin", "muntin_engine", "pyspark", "pyarrow", "pandas")
_PATIENCE: Final = 60.0
"""Seconds that Python may take to look for the packages."""

_WITHOUT_TROUBLE: Final[set[str]] = set()
"""The Pythons of which `trouble_with` has found in this process that they can serve a streaming query."""


def check_driver_python(spark: AnySession) -> None:
    """Check that the workers' Python has the engine on this machine, where Spark starts it for every streaming query.

    Packages that are shipped to the workers do not reach that process. On Spark Connect it runs on the server, and is
    not checked.

    Raises:
        WorkerEnvironmentError: The workers' Python does not run here, or has no engine.
    """
    if not isinstance(spark, SparkSession):
        return
    python = spark.sparkContext.pythonExec
    trouble = trouble_with(python)
    if trouble:
        raise WorkerEnvironmentError(
            {f"the driver, {python}": [trouble]},
            [
                "Spark starts this Python on the driver too, for each streaming query; nothing shipped reaches it",
                "install the engine for it (pip install 'muntin-engine[spark]'), or set PYSPARK_PYTHON to the\n"
                "  path of a Python that has it, on the driver as on the workers, before the session starts",
            ],
        )


def trouble_with(python: str) -> str:
    """Return the reason why a Python on this machine cannot serve a streaming query; empty if it can.

    A Python that can is asked once. One that cannot is asked again, as its packages may have been installed since.

    Args:
        python: The path of the executable, or its name on the `PATH`.
    """
    if python in _WITHOUT_TROUBLE:
        return ""
    try:
        process = subprocess.run(
            [python, "-c", _PRINT_MISSING, *_NEEDED], capture_output=True, text=True, timeout=_PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"it does not run: {error}"
    if process.returncode:
        errors = process.stderr.strip().splitlines()
        return f"it does not run: {errors[-1] if errors else 'no reason given'}"
    missing = process.stdout.split()
    if missing:
        return f"it cannot import {', '.join(missing)}"
    _WITHOUT_TROUBLE.add(python)
    return ""
