"""Clear errors of the DataFrames that a query returns, for their own methods."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Final, NoReturn

from pyspark.sql import DataFrame

from muntin.errors import QueryError

_ACTIONS: Final = (
    "collect",
    "count",
    "first",
    "head",
    "isEmpty",
    "show",
    "tail",
    "take",
    "toArrow",
    "toLocalIterator",
    "toPandas",
)
"""The methods that need the end of a DataFrame. For a stream Spark says "must be executed with writeStream.start()"."""

_REPEATED: Final = "toPandas attempted Arrow optimization(.|\n)*has reached the error below and can not continue"
"""The beginning of a warning that repeats the whole error which follows it."""


def with_clear_errors(output: DataFrame, *, is_stream: bool) -> DataFrame:
    """Return an output of a query; if it is a stream, its actions raise an error that says what to write instead.

    If it is no stream, a warning of PySpark's is turned off in this process, as an error of the same text follows it.

    DataFrames that Spark derives from a streaming output, such as `results().where(...)`, have Spark's own messages.
    """
    if not is_stream:
        # If a module fails in `toPandas`, PySpark warns with the text of its error, and then raises that error.
        warnings.filterwarnings("ignore", _REPEATED, UserWarning)
        return output
    for action in _ACTIONS:
        if hasattr(output, action):
            setattr(output, action, partial(_refuse, action))
    return output


def _refuse(action: str, *_: object, **__: object) -> NoReturn:
    """Raise the error for an action on a streaming output, whatever the arguments of the action.

    Raises:
        QueryError: Always.
    """
    raise QueryError(
        f"{action}() takes the rows of an output that has an end, and this one is a stream\n"
        "  write it: query.write(checkpoint='checkpoint', results='results'), and read the folder 'results';\n"
        "  in Spark's own way it is written with .writeStream"
    )
