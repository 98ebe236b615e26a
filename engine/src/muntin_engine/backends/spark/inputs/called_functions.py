"""The registered functions that the expressions of a DataFrame call."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from pyspark.sql import DataFrame

from muntin import Function
from muntin_engine.backends.spark.private_parts import analyzed_plan, connect_plan, java_session_id
from muntin_engine.backends.spark.session.kinds import AnySession, is_connect

_CALLED: Final = re.compile(r'PythonUDF","num-children":\d+,"name":"(\w+)"')
"""A call of a function in an analysed plan, as JSON."""

_REGISTERED: Final[dict[str, dict[str, Function[..., Any]]]] = {}
"""By session, the functions that were registered last under their names in SQL."""


def remember_function(spark: AnySession, function: Function[..., Any]) -> None:
    """Remember a function that was registered with a session, for `called_functions`."""
    _REGISTERED.setdefault(_session_id(spark), {})[function.sql_name] = function


def called_functions(df: DataFrame) -> Iterator[Function[..., Any]]:
    """Yield the registered functions that the expressions of a DataFrame call.

    Cost: a call of the JVM, in sessions with registered functions.
    """
    spark = df.sparkSession
    if not _REGISTERED:
        return  # and the JVM is not asked for the id of the session
    registered = _REGISTERED.get(_session_id(spark))
    if not registered:
        return
    if is_connect(spark):
        # The plan that is sent to the server has the names of functions as plain bytes. A column of the same name is
        # mistaken for a call, which does no harm: one function too many is yielded.
        sent_plan = connect_plan(df)
        for name, function in registered.items():
            if name.encode() in sent_plan:
                yield function
        return
    called_names = set(_CALLED.findall(analyzed_plan(df)))
    for name, function in registered.items():
        if name in called_names:
            yield function


def _session_id(spark: Any) -> str:
    """Return the id of a session of either kind, by which `_REGISTERED` has its functions."""
    return str(spark.session_id) if is_connect(spark) else java_session_id(spark)
