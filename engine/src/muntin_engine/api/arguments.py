"""Checks of the arguments of calls that make a query; an error says which call works.

DataFrames and columns are recognized by the methods of their classes, so that nothing is imported and Spark not called.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from numbers import Number
from os import PathLike
from types import FunctionType
from typing import Any

from muntin import Function, Module, ticks
from muntin.errors import DurationError, ModuleDefinitionError, PolicyError, QueryError
from muntin.progress import ProgressPolicy
from muntin.windows import WindowSpecification


def check_dataframe(call: str, df: object) -> None:
    """Refuse what is no DataFrame of Spark's.

    Args:
        call: The function that is given it, for example `"events"`.
        df: What is given.

    Raises:
        QueryError: It is something else.
    """
    if hasattr(type(df), "isStreaming"):
        return
    owner = type(df).__module__.partition(".")[0]
    if owner in ("pandas", "pyarrow", "polars"):
        got = f"a {type(df).__name__} of {owner}"
        remedy = f"make it one: {call}(spark.createDataFrame(df), ...)"
    else:
        got = f"{df!r:.80}" if isinstance(df, str | int | None) else f"a {type(df).__name__}"
        remedy = "expected what spark.read, spark.readStream or spark.table returns"
    raise QueryError(f"{call}() reads a DataFrame of Spark's, got {got}\n  {remedy}")


def check_column(argument: str, column: object) -> None:
    """Refuse what cannot name one column: anything but a name or an expression of Spark's.

    Args:
        argument: Where it is given, for example `"key"`.
        column: What is given.

    Raises:
        QueryError: It is something else, or the name of several columns.
    """
    if isinstance(column, str):
        if not column or column == "*" or column.endswith(".*"):
            what = "names several columns" if column else "names no column"
            raise QueryError(f"{argument}={column!r} {what}\n  name each one: 'a', or 'a.b' for a part of a struct")
    elif not hasattr(type(column), "isNotNull"):
        advice = "name columns one by one" if isinstance(column, list | tuple | set | dict) else _constant(column)
        raise QueryError(
            f"{argument}={column!r:.80} is no column\n"
            f"  expected: a column's name, or an expression such as F.col('a') * 2; {advice}"
        )


def _constant(value: object) -> str:
    return f"a constant is F.lit({value!r})" if isinstance(value, int | float | bool) else "leave out what there is not"


def check_each(arguments: Mapping[str, object]) -> None:
    """Refuse what cannot name a column each; None is an argument that is left out."""
    for argument, column in arguments.items():
        if column is not None:
            check_column(argument, column)


def key_columns(key: object) -> tuple[Any, ...]:
    """Return the columns to group by, of one, of several or of none.

    Raises:
        QueryError: One of them is no column.
    """
    keys: tuple[Any, ...] = () if key is None else tuple(key) if isinstance(key, list | tuple) else (key,)
    for column in keys:
        check_column("key", column)
    return keys


def check_progress(progress: object) -> None:
    """Refuse what is no progress policy.

    Raises:
        QueryError: It is something else.
    """
    if progress is not None and not isinstance(progress, ProgressPolicy):
        delay = repr(progress) if isinstance(progress, str) else "'10 minutes'"
        raise QueryError(
            f"progress={_spell(progress)} is not a progress policy\n"
            f"  expected, for example, progress=bounded_delay({delay})"
        )


def check_ranges(key_ranges: object, progress: ProgressPolicy | None) -> None:
    """Refuse ranges of keys that are no pairs of columns by the names of keys, or that no row of punctuation may give.

    Raises:
        QueryError: They are something else, or the progress policy has no key punctuation.
    """
    example = "key_ranges={'sensor': ('first_sensor', 'end_sensor')}"
    if not isinstance(key_ranges, Mapping):
        raise QueryError(f"key_ranges={_spell(key_ranges)} is no mapping\n  expected, for example, {example}")
    for name, limits in key_ranges.items():
        if not isinstance(limits, tuple | list) or len(limits) != 2:
            raise QueryError(f"key_ranges of {name!r} are {_spell(limits)}\n  expected two columns: {example}")
        for limit in limits:
            check_each({f"key_ranges of {name!r}": limit})
    if progress is None or not progress.by_key:
        raise QueryError(
            "key_ranges bounds keys in rows of punctuation, and the progress policy has no key punctuation\n"
            "  add it, for example progress=punctuated().with_key_punctuation()"
        )


def check_flag(argument: str, value: object) -> None:
    """Refuse what is neither True nor False.

    Raises:
        QueryError: It is something else.
    """
    if not isinstance(value, bool):
        raise QueryError(f"{argument} is True or False, got {value!r}")


def check_name(argument: str, value: object) -> None:
    """Refuse what cannot be a name.

    Raises:
        QueryError: It is no text, or empty.
    """
    if not isinstance(value, str) or not value:
        raise QueryError(f"{argument} is a name, got {value!r}\n  expected: text that is not empty")


def check_specification(window: object, argument: str = "") -> None:
    """Refuse what is no window specification.

    Args:
        window: What is given.
        argument: The name under which it is given, if there are several.

    Raises:
        QueryError: It is something else.
    """
    if isinstance(window, WindowSpecification):
        return
    named = f"{argument}=" if argument else ""
    written = "tumbling('10 minutes')"
    with suppress(DurationError):
        written = f"tumbling({window!r})" if isinstance(window, str) and ticks(window) > 0 else written
    raise QueryError(f"{named}{_spell(window)} is not a window specification; expected, for example, {named}{written}")


def check_module(module: object) -> None:
    """Refuse what is neither a module's name nor its class.

    Raises:
        ModuleDefinitionError: It is something else.
    """
    if isinstance(module, str) or (isinstance(module, type) and issubclass(module, Module)):
        return
    if isinstance(module, Module):
        name = type(module).__name__
        raise ModuleDefinitionError(
            f"module() takes a class, got an instance of {name}\n"
            f"  its parameters go by name after the columns: module({name}, 'column', parameter=value)"
        )
    raise ModuleDefinitionError(
        f"{_spell(module)} is not a module class\n"
        "  expected: the name of an installed module, such as 'stats.average', or a subclass of one of Muntin's eight\n"
        "  base classes, such as Aggregate"
    )


def check_inputs(cls: type[Module], inputs: tuple[object, ...]) -> None:
    """Refuse inputs of a module that are no columns.

    Raises:
        QueryError: One is something else, such as a parameter.
    """
    for column in inputs:
        if isinstance(column, list | tuple):
            named = ", ".join(map(repr, column))
            raise QueryError(f"module() takes columns one by one, got {column!r}\n  write module(..., {named})")
        if isinstance(column, bool | int | float):
            names = list(inspect.signature(cls).parameters) or ["parameter"]
            raise QueryError(
                f"module() takes columns by place and parameters by name, got {column!r} by place\n"
                f"  write {names[0]}={column!r}, or F.lit({column!r}) for a column that is the same in each row"
            )
        check_column("column", column)


def check_call(call: object, made_by: type, write: Callable[[str], str]) -> None:
    """Refuse what is no module with its columns.

    Args:
        call: What is given.
        made_by: The class of what `module` returns.
        write: Returns the whole call, given the one of `module`.

    Raises:
        QueryError: It is something else.
    """
    if isinstance(call, made_by):
        return
    if isinstance(call, str):
        written = f"module({call!r}, 'column')"
    elif isinstance(call, type) and issubclass(call, Module):
        written = f"module({call.__name__}, 'column')"
    elif isinstance(call, Module):
        written = f"module({type(call).__name__}, 'column')"
    else:
        written = "module('stats.average', 'column')"
    raise QueryError(f"{_spell(call)} is not a module with its columns\n  write {write(written)}")


def _spell(value: object) -> str:
    """Spell an argument, short and without an address."""
    if isinstance(value, type | FunctionType):
        return value.__name__
    text = repr(value)
    return f"a {type(value).__name__}" if " at 0x" in text or "\n" in text else f"{text:.80}"


def check_session(call: str, spark: object) -> None:
    """Refuse what is no session of Spark's.

    Args:
        call: The function that is given it.
        spark: What is given.

    Raises:
        QueryError: It is something else.
    """
    if not (hasattr(type(spark), "readStream") and hasattr(type(spark), "udf")):
        raise QueryError(f"{call}() needs a session first, got {_spell(spark)}\n  write {call}(spark, ...)")


def check_function(function: object) -> None:
    """Refuse what is neither a function's name nor a function that `muntin.function` made.

    Raises:
        QueryError: It is something else.
    """
    if isinstance(function, str | Function):
        return
    if isinstance(function, list | tuple):
        named = ", ".join(map(repr, function))
        raise QueryError(f"functions() takes names one by one, got {function!r}\n  write functions(spark, {named})")
    raise QueryError(
        f"{_spell(function)} has no name in SQL\n"
        "  expected: the name of an installed function, such as 'stats.clamp', or one made so:\n"
        "  @muntin.function('<plugin>.<function>', version='1.0.0')"
    )


def check_period(argument: str, period: object) -> None:
    """Refuse a time by the clock that is a bare number.

    Raises:
        PolicyError: It is one.
    """
    if isinstance(period, Number):
        raise PolicyError(f"{argument}={period!r} has no unit\n  expected, for example, {argument}='10 seconds'")


def check_shedding(most_held: object, when_full: object) -> None:
    """Refuse what is no limit to how many events a key holds.

    Raises:
        QueryError: It is no whole number above zero, or what happens then is neither `shed` nor `fail`.
    """
    if type(most_held) is not int or most_held < 1:
        raise QueryError(
            f"shedding() takes how many events a key may hold, a whole number above zero, got {_spell(most_held)}\n"
            "  for example shedding(most_held=100_000)"
        )
    if when_full not in ("shed", "fail"):
        raise QueryError(
            f"when_full={_spell(when_full)} says nothing of a key that is full\n  expected: 'shed' or 'fail'\n"
            "  for results while windows fill up: emit=early(every_count(1000))"
        )


def check_output(output: object) -> None:
    """Refuse what is no output whose rows can be events.

    Raises:
        QueryError: It is another output, or none.
    """
    if output not in ("results", "evicted"):
        raise QueryError(f"output={output!r} has no rows that can be events\n  there are 'results' and 'evicted'")


def check_by_name(output: str, sinks: object, query: str) -> None:
    """Refuse sinks of several queries that are not given by name.

    Args:
        output: The output that they take, for example `"results"`.
        sinks: What is given; None where there are none.
        query: The name of one of the queries.

    Raises:
        QueryError: They are not.
    """
    if sinks is not None and not isinstance(sinks, Mapping):
        raise QueryError(
            f"{output}={_spell(sinks)} does not say of which query\n"
            f"  give a sink for each by name: {output}={{{query!r}: ...}}"
        )


def check_path(argument: str, path: object) -> None:
    """Refuse what is no path.

    Raises:
        QueryError: It is something else.
    """
    if not isinstance(path, str | PathLike):
        raise QueryError(f"{argument}={_spell(path)} is no path\n  expected: text or a pathlib.Path")
