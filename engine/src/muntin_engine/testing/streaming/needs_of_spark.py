"""The thing that a job asks of Spark, read from the exception that it raises without Spark."""

from __future__ import annotations

import traceback
from typing import Final

from muntin_engine.backends.planning.needs_spark import NeedsSparkError

_PYSPARK: Final = "pyspark"

_DECORATORS: Final = "utils"
"""The last part of the names of modules whose functions PySpark puts around its own functions of columns."""


def need_of_spark(error: Exception) -> str | None:
    """Name the part of Spark that a job uses, by the exception of the job; None if it failed for another reason.

    Args:
        error: The exception that its function raised in this process.
    """
    if isinstance(error, NeedsSparkError):
        return error.used
    if isinstance(error, ModuleNotFoundError) and error.name is not None:
        return _PYSPARK if error.name.partition(".")[0] == _PYSPARK else None
    # Functions of columns, such as F.col("km"), fail in PySpark's own code without a session. The first frame there is
    # the function that the job called, or a decorator that PySpark has put around it.
    for frame, _ in traceback.walk_tb(error.__traceback__):
        module: str = frame.f_globals.get("__name__", "")
        is_from_spark = module.partition(".")[0] == _PYSPARK
        if is_from_spark and module.rpartition(".")[2] != _DECORATORS:
            return f"PySpark's {frame.f_code.co_name}()"
    return None
