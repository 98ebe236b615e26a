"""Find out which code a query runs: its modules, and the functions that its expressions call."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, Final

from pyspark.sql import DataFrame

from muntin import Function, Module
from muntin.windows import WindowSpecification
from muntin_engine.backends.spark.private_parts import analyzed_plan, connect_plan, java_session_id
from muntin_engine.backends.spark.session.kinds import AnySession, is_connect
from muntin_engine.packages.code_version import code_version
from muntin_engine.packages.local_code import is_local
from muntin_engine.plan.code_in_use import CodeInUse

_CALLED: Final = re.compile(r'PythonUDF","num-children":\d+,"name":"(\w+)"')
_REGISTERED: Final[dict[str, dict[str, Function[..., Any]]]] = {}
"""By session, the functions that were registered last under their names in SQL."""


def remember_function(spark: AnySession, function: Function[..., Any]) -> None:
    """Take note of a function that was registered with a session."""
    _REGISTERED.setdefault(_session_id(spark), {})[function.sql_name] = function


def code_in_use(
    parts: Iterable[Module | WindowSpecification],
    projections: Iterable[DataFrame],
    called: Iterable[Function[..., Any]] = (),
) -> tuple[CodeInUse, ...]:
    """Return a query's modules and windows of one's own, and the functions that it and the DataFrames it reads call.

    Cost: nothing but a look-up for code that was hashed before, or that has to be parsed; a call of the JVM for each
    DataFrame, in sessions with registered functions.
    """
    classes = {part.name: type(part) for part in parts}
    functions: dict[str, Function[..., Any]] = {}
    for df in projections:
        functions |= {function.name: function for function in _functions_in(df)}
    functions |= {function.name: function for function in called}

    codes: list[CodeInUse] = []
    for name, cls in classes.items():
        requires_same_code = getattr(cls, "requires_same_code", False)  # windows do not say
        codes.append(CodeInUse(name, cls.version, _hash_of_class(cls), requires_same_code=requires_same_code))
    for name, function in functions.items():
        codes.append(
            CodeInUse(
                name,
                function.version,
                _hash(function.implementation),
                is_function=True,
                requires_same_code=function.requires_same_code,
                continues_since=function.continues_since,
            )
        )
    return tuple(codes)


def _functions_in(df: DataFrame) -> Iterator[Function[..., Any]]:
    """Yield the registered functions that the expressions of a DataFrame call."""
    spark = df.sparkSession
    registered = _REGISTERED.get(_session_id(spark)) if _REGISTERED else None
    if not registered:
        return
    if is_connect(spark):  # what is sent to the server names functions; one that only names a column is none the worse
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
    return str(spark.session_id) if is_connect(spark) else java_session_id(spark)


def _hash_of_class(cls: type[Module] | type[WindowSpecification]) -> str:
    """Return the hash of a module's code, and of those that it wraps."""
    return "+".join(map(_hash, _classes_in(cls)))


def _classes_in(cls: Any) -> Iterator[Any]:
    yield cls
    for inner in [*getattr(cls, "_parts", {}).values(), *filter(None, [getattr(cls, "_wrapped", None)])]:
        yield from _classes_in(inner)


def _hash(code: Any) -> str:
    return code_version(code) if is_local(str(getattr(code, "__module__", ""))) else _hash_of_installed(code)


@cache
def _hash_of_installed(code: Any) -> str:
    return code_version(code)
