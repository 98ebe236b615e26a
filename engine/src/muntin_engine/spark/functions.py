"""Registering functions of plugins with Spark SQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import functions as F
from pyspark.sql import types as spark_types
from pyspark.sql.pandas.functions import pandas_udf

from muntin import Function, PluginError, installed
from muntin_engine.spark.sessions import AnySession
from muntin_engine.spark.types import spark_type_of


def register(spark: AnySession, names: Sequence[str]) -> list[str]:
    """Register functions by full name, or all installed ones, and return their names in SQL."""
    chosen = [installed().function(name) for name in names] if names else _all()
    for function in chosen:
        spark.udf.register(function.sql_name, _udf(function))
    return [function.sql_name for function in chosen]


def _all() -> list[Function[..., Any]]:
    plugins, failed = installed().plugins()
    if failed:
        raise PluginError("\n".join(str(error) for error in failed))
    return [function for plugin in plugins for function in plugin.functions.values()]


def _udf(function: Function[..., Any]) -> Any:
    result = spark_type_of(function.result, spark_types.TimestampType())
    wrap: Any = pandas_udf if function.is_vectorized else F.udf
    implementation = function.implementation
    # a lambda has no annotations: Spark would read those of the plugin, and guess from them
    return wrap(lambda *columns: implementation(*columns), result)  # noqa: PLW0108
