"""Checks of the arguments of calls that make a query; an error says which call works.

Columns are recognized by the methods of their classes, so that nothing is imported and Spark not called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from os import PathLike
from types import FunctionType
from typing import Any

from muntin import Module, ticks
from muntin.definitions.methods import signature_of
from muntin.errors import DurationError, QueryError
from muntin.errors.messages import Argument
from muntin.modules.call import check_column
from muntin.windows import WindowSpecification
from muntin_engine.backends.choosing import is_input


def check_dataframe(call: str, df: object) -> None:
    """Refuse what is neither a DataFrame of Spark's nor a table in this process.

    Args:
        call: The function that is given it, for example `"events"`.
        df: What is given.

    Raises:
        QueryError: It is something else.
    """
    if is_input(df):
        return
    got = f"{df!r:.80}" if isinstance(df, int | None) else f"a {type(df).__name__}"
    raise QueryError(
        f"{call}() reads a DataFrame of Spark's, or a table in this process, got {got}\n"
        "  expected what spark.read, spark.readStream or spark.table returns; or a data frame of pandas or Polars,\n"
        "  a relation of DuckDB, Arrow data, or the path of files of Parquet, CSV or JSON"
    )


def check_each(arguments: Mapping[str, object]) -> None:
    """Refuse what cannot name a column each; None is an argument that is left out."""
    for argument, column in arguments.items():
        if column is not None:
            check_column(argument, column)


def key_columns(key: object) -> tuple[Any, ...]:
    """Return the columns to group by, of one, of several or of none.

    Raises:
        QueryError: One of them is not a column.
    """
    keys: tuple[Any, ...] = () if key is None else tuple(key) if isinstance(key, list | tuple) else (key,)
    for column in keys:
        check_column("key", column)
    return keys


def order_columns(order: object) -> Any:
    """Return what orders the rows of one time: a column, several as a tuple, or None.

    Raises:
        QueryError: One of them is not a column, or there are none in a list.
    """
    if not isinstance(order, list | tuple):
        check_each({"order": order})
        return order
    if not order:
        raise QueryError(
            "{argument} names no column\n  leave order out, or name one, such as {example}",
            argument="order",
            value=[],
            example=Argument("order", "offset"),
        )
    for column in order:
        check_column("order", column)
    return order[0] if len(order) == 1 else tuple(order)


def columns_by_name(argument: str, columns: object) -> dict[str, Any]:
    """Return the columns of results by their names, of a name, of several names, or of columns by name.

    Raises:
        QueryError: One of them is not a column, or an expression without a name.
    """
    if isinstance(columns, Mapping):
        named = dict(columns)
    else:
        names = columns if isinstance(columns, list | tuple) else (columns,)
        if not all(isinstance(name, str) for name in names):
            raise QueryError(
                f"{argument}={columns!r:.80} has an expression without a name\n"
                f"  expected: names, such as {argument}=['km'], or by name {argument}={{'miles': F.col('km') / 1.6}}"
            )
        named = {name: name for name in names}
    for column in named.values():
        check_column(argument, column)
    return named


def check_flag(argument: str, value: object) -> None:
    """Refuse what is neither True nor False.

    Raises:
        QueryError: It is something else.
    """
    if not isinstance(value, bool):
        raise QueryError("{name} is True or False, got {value!r}", argument=argument, value=value, name=argument)


def check_name(argument: str, value: object) -> None:
    """Refuse what cannot be a name.

    Raises:
        QueryError: It is not a text, or empty.
    """
    if not isinstance(value, str) or not value:
        raise QueryError(
            "{name} is a name, got {value!r}\n  expected: text that is not empty",
            argument=argument,
            value=value,
            name=argument,
        )


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
    raise QueryError(f"{named}{spelled(window)} is not a window specification; expected, for example, {named}{written}")


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
    elif callable(call) and hasattr(call, "__name__"):
        is_typed = signature_of(call).return_annotation is made_by
        written = f"{call.__name__}('column')" if is_typed else f"module({call.__name__}, 'column', returns=float)"
    else:
        written = "module('stats.average', 'column')"
    raise QueryError(f"{spelled(call)} is not a module with its columns\n  write {write(written)}")


def spelled(value: object) -> str:
    """Spell an argument, short and without an address."""
    if isinstance(value, type | FunctionType):
        return value.__name__
    text = repr(value)
    return f"a {type(value).__name__}" if " at 0x" in text or "\n" in text else f"{text:.80}"


def check_shedding(most_held: object, when_full: object) -> None:
    """Refuse what is no limit to how many events a key holds.

    Raises:
        QueryError: It is not a whole number above zero, or what happens then is neither `shed` nor `fail`.
    """
    if type(most_held) is not int or most_held < 1:
        raise QueryError(
            f"shedding() takes how many events a key may hold, a whole number above zero, got {spelled(most_held)}\n"
            "  for example shedding(most_held=100_000)"
        )
    if when_full not in ("shed", "fail"):
        raise QueryError(
            f"when_full={spelled(when_full)} says nothing of a key that is full\n  expected: 'shed' or 'fail'\n"
            "  for results while windows fill up: emit=early(every_count(1000))"
        )


def check_path(argument: str, path: object) -> None:
    """Refuse what is no path.

    Raises:
        QueryError: It is something else.
    """
    if not isinstance(path, str | PathLike):
        raise QueryError(f"{argument}={spelled(path)} is not a path\n  expected: text or a pathlib.Path")
