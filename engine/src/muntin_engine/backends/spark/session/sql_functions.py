"""Registering functions of plugins with Spark SQL."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import pandas_udf

from muntin import Function
from muntin.catalog import installed
from muntin_engine.backends.planning.field_types import result_type
from muntin_engine.backends.spark.column_types import spark_type_of
from muntin_engine.backends.spark.delivery.by_value import by_value
from muntin_engine.backends.spark.failures.worker_errors import module_error_first
from muntin_engine.backends.spark.inputs.called_functions import remember_function
from muntin_engine.backends.spark.session.kinds import AnySession
from muntin_engine.modules.function_call import call_function
from muntin_engine.packages.local_code import local_modules

_TIMES: Final = pa.timestamp("us", tz="UTC")
"""The type of the instants that a function returns."""


def register(spark: AnySession, names: Sequence[str | Function[..., object]]) -> list[str]:
    """Register functions with Spark SQL, and return their names there.

    Code that belongs to no installed package travels to the workers with the function, as the code of modules does.

    Args:
        spark: The session.
        names: The functions, or the full names of installed ones; empty for all installed functions.
    """
    functions: list[Function[..., object]] = []
    for name_or_function in names:
        if isinstance(name_or_function, str):
            functions.append(installed().function(name_or_function))
        else:
            functions.append(name_or_function)
    if not names:
        functions = _installed_functions()
    for function in functions:
        with by_value(local_modules()):
            spark.udf.register(function.sql_name, _udf(function))
        remember_function(spark, function)  # `called_functions` looks for it in the expressions of queries
    return [function.sql_name for function in functions]


def _installed_functions() -> list[Function[..., object]]:
    """Return the functions of all installed plugins; warn of a plugin that cannot be loaded."""
    plugins, errors = installed().plugins()
    for error in errors:
        # `stacklevel` has the warning name the line of the program that registers functions.
        warnings.warn(f"its functions are left out: {error}", RuntimeWarning, stacklevel=5)
    return [function for plugin in plugins for function in plugin.functions.values()]


def _udf(function: Function[..., object]) -> Any:
    """Return a function of a plugin as a UDF of Spark's, over batches of rows if the function takes these."""
    result = spark_type_of(result_type(function.result, _TIMES))
    wrap: Any = pandas_udf if function.is_vectorized else F.udf
    implementation = function.implementation
    label = f"{function.name} {function.version}"

    # `call` has no annotations: Spark would derive the kind of the UDF from them.
    def call(*columns):  # type: ignore[no-untyped-def]
        with module_error_first():
            return call_function(label, implementation, columns)

    return wrap(call, result)
