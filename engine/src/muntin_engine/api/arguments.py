"""Check the arguments of calls that make a query; an error says which call works.

Columns are recognized by the methods of their classes, so that nothing is imported and Spark is not called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from os import PathLike
from types import FunctionType
from typing import Any, Final

from muntin import Module, ticks
from muntin.definitions.methods import signature_of
from muntin.errors import DurationError, QueryError
from muntin.errors.messages import Argument
from muntin.modules.call import ModuleCall, check_column
from muntin.windows import WindowSpecification
from muntin_engine.backends.choosing import TABLES, is_input

_ADVICE_BY_TYPE: Final[Mapping[str, str]] = {
    "list": "rows that are dicts are a table as pyarrow.Table.from_pylist(rows)",
    "generator": "rows that are dicts are a table as pyarrow.Table.from_pylist(list(rows))",
    "dict": "columns are a table as pyarrow.table(columns)",
    "ndarray": "an array is a table as pandas.DataFrame(array, columns=[...])",
    "Series": "a Series is a table as series.to_frame()",
}
"""Advice on making a table of objects that are not tables, by the names of their types."""


def check_dataframe(call: str, df: object) -> None:
    """Raise unless an argument is a DataFrame of Spark's, or a table in this process.

    Args:
        call: The function that the argument is for, for example `"events"`.
        df: The argument.

    Raises:
        QueryError: The argument is something else.
    """
    if is_input(df):
        return
    type_name = type(df).__name__
    # Only None and whole numbers are shown themselves; what else a caller passes may be long.
    got = f"{df!r:.80}" if isinstance(df, int | None) else f"a {type_name}"
    advice = f"\n  {_ADVICE_BY_TYPE[type_name]}" if type_name in _ADVICE_BY_TYPE else ""
    raise QueryError(
        f"{call}() reads a DataFrame of Spark's, or a table in this process, got {got}\n"
        f"  expected what spark.read, spark.readStream or spark.table returns; or {TABLES}{advice}"
    )


def check_each_column(arguments: Mapping[str, object]) -> None:
    """Raise unless each argument names a column or is None, which is an argument that is left out.

    Args:
        arguments: The arguments by the names that an error has for them.

    Raises:
        QueryError: An argument is something else.
    """
    for argument, column in arguments.items():
        if column is not None:
            check_column(argument, column)


def key_columns(key: object) -> tuple[Any, ...]:
    """Return the columns to group by: one, several or none.

    Raises:
        QueryError: A key is not a column.
    """
    keys: tuple[Any, ...] = (key,)
    if key is None:
        keys = ()
    elif isinstance(key, list | tuple):
        keys = tuple(key)
    for column in keys:
        check_column("key", column)
    return keys


def order_columns(order: object) -> Any:
    """Return the columns that order rows of the same time: a column, several as a tuple, or None.

    Raises:
        QueryError: The order is not a column, or a list without any.
    """
    if not isinstance(order, list | tuple):
        check_each_column({"order": order})
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
    """Return the columns that an argument of a join names, by the names that they get in the results.

    Args:
        argument: The name of the argument.
        columns: A name, several names, or a mapping from the names in the results to columns.

    Raises:
        QueryError: An item is not a column, or it is an expression without a name.
    """
    if isinstance(columns, Mapping):
        by_name = dict(columns)
    else:
        names = columns if isinstance(columns, list | tuple) else (columns,)
        if not all(isinstance(name, str) for name in names):
            raise QueryError(
                f"{argument}={columns!r:.80} has an expression without a name\n"
                f"  expected: names, such as {argument}=['km'], or by name {argument}={{'miles': 'km / 1.6'}}"
            )
        by_name = {name: name for name in names}
    for column in by_name.values():
        check_column(argument, column)
    return by_name


def check_flag(argument: str, value: object) -> None:
    """Raise unless an argument is True or False.

    Raises:
        QueryError: The argument is something else.
    """
    if not isinstance(value, bool):
        raise QueryError("{name} is True or False, got {value!r}", argument=argument, value=value, name=argument)


def check_name(argument: str, value: object) -> None:
    """Raise unless an argument can be a name.

    Raises:
        QueryError: The argument is not text, or empty.
    """
    if not isinstance(value, str) or not value:
        raise QueryError(
            "{name} is a name, got {value!r}\n  expected: text that is not empty",
            argument=argument,
            value=value,
            name=argument,
        )


def check_specification(window: object, argument: str = "") -> None:
    """Raise unless an argument is a window specification.

    Args:
        window: The argument.
        argument: The name of the argument, if a call takes several.

    Raises:
        QueryError: The argument is something else.
    """
    if isinstance(window, WindowSpecification):
        return
    prefix = f"{argument}=" if argument else ""
    example = "tumbling('10 minutes')"
    with suppress(DurationError):
        if isinstance(window, str) and ticks(window) > 0:
            example = f"tumbling({window!r})"  # the caller gives a length, most likely that of tumbling windows
    raise QueryError(
        f"{prefix}{spelled(window)} is not a window specification; expected, for example, {prefix}{example}"
    )


def check_call(call: object, write: Callable[[str], str]) -> None:
    """Raise unless an argument is a module with its columns, as `module` returns it.

    Args:
        call: The argument.
        write: Returns the text of the whole call, given the text of the argument.

    Raises:
        QueryError: The argument is something else.
    """
    if isinstance(call, ModuleCall):
        return
    if isinstance(call, str):
        example = f"module({call!r}, 'column')"
    elif isinstance(call, type) and issubclass(call, Module):
        example = f"module({call.__name__}, 'column')"
    elif isinstance(call, Module):
        example = f"module({type(call).__name__}, 'column')"
    elif not callable(call) or not hasattr(call, "__name__"):
        example = "module('stats.average', 'column')"
    elif signature_of(call).return_annotation is ModuleCall:  # a typed call of a plugin, such as stats.average
        example = f"{call.__name__}('column')"
    else:
        example = f"module({call.__name__}, 'column', returns=float)"
    raise QueryError(f"{spelled(call)} is not a module with its columns\n  write {write(example)}")


def spelled(value: object) -> str:
    """Spell an argument, short and without an address."""
    if isinstance(value, type | FunctionType):
        return value.__name__
    text = repr(value)
    has_address = " at 0x" in text  # an address would differ from run to run, and it says nothing
    if has_address or "\n" in text:
        return f"a {type(value).__name__}"
    return f"{text:.80}"


def check_shedding(most_held: object, when_full: object) -> None:
    """Raise unless the arguments of `EventStream.shedding` limit the events that a key holds.

    Args:
        most_held: The argument with the limit.
        when_full: The argument with the fate of events that come to a full key.

    Raises:
        QueryError: The limit is not a whole number above zero, or `when_full` is neither `shed` nor `fail`.
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
    """Raise unless an argument is a path.

    Raises:
        QueryError: The argument is something else.
    """
    if not isinstance(path, str | PathLike):
        raise QueryError(f"{argument}={spelled(path)} is not a path\n  expected: text or a pathlib.Path")
