"""The columns of an input, named or expressed: their names and types, and those that a query reads and carries."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.errors import AnalysisException, PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from muntin.errors import PolicyError, QueryError
from muntin.errors.messages import Earlier
from muntin.rows import DeltaPolicy, PartitionedRows, RowWindows
from muntin.schemas import Field, Scalar, ScalarKind
from muntin.windows.specification import WrittenWindows
from muntin_engine.backends.spark.column_types import carried_type, check_no_collation, field_of
from muntin_engine.backends.spark.session.ended import in_session

if TYPE_CHECKING:
    from muntin_engine.plan.request import ColumnLike


_LOGGERS: Final = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""PySpark's loggers of exceptions that come from an expression."""


def as_column(column: Any) -> Column:
    """Return a column, which may be given by its name."""
    return F.col(column) if isinstance(column, str) else column


def expression(text: str) -> Column:
    """Return a column that is an expression in SQL."""
    return F.expr(text)


def text_of_column(df: DataFrame, column: Column) -> str | None:
    """Return an expression in SQL that means the same over a DataFrame as a column; None if none is known."""
    try:
        with unlogged():
            selected = df.select(column)
            for text in (selected.columns[0], str(column).removeprefix("Column<'").removesuffix("'>")):
                with suppress(PySparkException):  # a name that hides the expression need not be one
                    if df.select(F.expr(text).alias("c")).sameSemantics(df.select(column.alias("c"))):
                        return text
            return None
    except PySparkException:
        return None


def fields_of(
    df: DataFrame, columns: Mapping[str, ColumnLike | None], readers: Mapping[str, str]
) -> dict[str, spark_types.StructField]:
    """Return the names and types that columns have in the input; those that are None are left out.

    Args:
        df: The input.
        columns: By name.
        readers: By that name, who reads a column, where that is another one.

    Raises:
        QueryError: The input does not have one of them.
    """
    named_columns = {name: column for name, column in columns.items() if column is not None}
    if not named_columns:
        return {}
    input_names = {part.casefold() for part in df.columns}
    for name, column in named_columns.items():
        if isinstance(column, str) and column.isidentifier() and column.casefold() not in input_names:
            raise _no_such_column(df, readers.get(name, name), column)
    try:
        with unlogged():
            fields = df.select(*map(as_column, named_columns.values())).schema.fields
    except AnalysisException as error:
        if len(named_columns) > 1:  # Spark does not say which one
            for name, column in named_columns.items():
                fields_of(df, {name: column}, readers)
        name, column = next(iter(named_columns.items()))
        raise _no_such_column(df, readers.get(name, name), column, error) from error
    if len(fields) != len(named_columns):
        name = next(iter(named_columns))
        spelled = ", ".join(map(str, named_columns.values()))
        raise QueryError(f"{readers.get(name, name)} names several columns with one of {spelled}\n  name each one")
    return dict(zip(named_columns, fields, strict=True))


def _no_such_column(
    df: DataFrame, reader: str, column: ColumnLike, reason: AnalysisException | None = None
) -> QueryError:
    """Return the error for a column that Spark does not find, or cannot compute, in the input."""
    spelled = repr(column) if isinstance(column, str) else str(column)
    expression = column if isinstance(column, str) else spelled.removeprefix("Column<'").removesuffix("'>")
    condition = "" if reason is None else str(reason.getCondition())
    parameters = {} if reason is None else reason.getMessageParameters() or {}
    if reason is None or "UNRESOLVED_COLUMN" in condition:
        parts = re.findall(r"`((?:[^`]|``)*)`", parameters.get("objectName", ""))
        name = ".".join(part.replace("``", "`") for part in parts) or expression
        close = difflib.get_close_matches(name, df.columns, n=1)
        suggestion = f"\n  did you mean {close[0]!r}?" if close else ""
        if isinstance(column, str) and re.search(r"[-+*/%()<>=]", column) and "`" not in column:
            suggestion += f"\n  text is the name of a column; an expression is F.expr({column!r})"
        return QueryError(
            "{reader} reads {value!r}{within}, and the input has no such column{suggestion}\n  it has {columns}",
            value=name,
            reader=reader,
            within="" if name == expression else f", in {expression}",
            suggestion=suggestion,
            columns=", ".join(df.columns),
        )
    if condition == "UNRESOLVED_ROUTINE":
        function = parameters.get("routineName", "").strip("`")
        return QueryError(
            "{reader} calls {value!r}, in {expression}, and Spark has no function of that name",
            value=function,
            reader=reader,
            expression=expression,
        )
    if condition == "AMBIGUOUS_REFERENCE":
        folded = [name.casefold() for name in df.columns]
        alike = [name for name in df.columns if folded.count(name.casefold()) > 1]
        return QueryError(
            "{reader} reads {written}, and Spark does not tell upper from lower case: there are {alike}\n"
            "  expected: names that differ otherwise; rename some {before_events}, for example with df.toDF(...)",
            value=expression,
            reader=reader,
            written=spelled,
            alike=", ".join(alike),
            before_events=Earlier("events"),
        )
    said = next(line for line in (*str(reason).splitlines(), condition) if line)  # that of the parser starts empty
    return QueryError(
        "{reader} reads {written}, which Spark refuses: {reason}",
        value=expression,
        reader=reader,
        written=spelled,
        reason=said,
    )


@contextmanager
def unlogged() -> Iterator[None]:
    """Keep PySpark from logging exceptions, with all that the JVM was doing, that are raised again in our words."""
    loggers = [logger for logger in map(PySparkLogger.getLogger, _LOGGERS) if not logger.disabled]
    try:
        for logger in loggers:
            logger.disabled = True
        yield
    finally:
        for logger in loggers:
            logger.disabled = False


@in_session()
def keys_of(df: DataFrame, keys: Sequence[ColumnLike]) -> list[spark_types.StructField]:
    """Return the names and types of the keys of an input.

    Raises:
        QueryError: The input does not have one of them.
    """
    named_keys = {f"k{place}": key for place, key in enumerate(keys)}
    return list(fields_of(df, named_keys, dict.fromkeys(named_keys, "key")).values())


def condition_of(df: DataFrame, condition: ColumnLike, call: str = "where({})") -> Column:
    """Return a condition on the rows of an input.

    Args:
        df: The input.
        condition: The condition.
        call: The call that takes it, for errors.

    Raises:
        QueryError: It is not a condition, or reads columns that the input does not have.
    """
    column = F.expr(condition) if isinstance(condition, str) else condition
    reader = call.partition("(")[0]
    if not isinstance(column, Column):
        raise QueryError(f"{call.format('')} takes a condition on columns, such as 'km > 2', got {condition!r}")
    part = fields_of(df, {reader: column}, {})[reader]
    if not isinstance(part.dataType, spark_types.BooleanType):
        raise QueryError(
            "{condition} is of type {kind}\n  expected: a condition, such as 'km > 2'",
            value=part.name,
            condition=call.format(part.name),
            kind=part.dataType.simpleString(),
        )
    return column


@in_session()
def ranges_of(
    df: DataFrame, keys: Sequence[ColumnLike], key_ranges: Mapping[str, tuple[ColumnLike | None, ColumnLike | None]]
) -> dict[str, ColumnLike]:
    """Return the columns of ranges by the names under which they travel: `low0` and `high0` for the first key.

    Args:
        df: The input.
        keys: Its keys.
        key_ranges: By the name of a key, the columns of the least value, and of the first that is too large.

    Raises:
        QueryError: There is no such key or column, or one is not of the type of the key, or that has no order.
    """
    key_fields = keys_of(df, keys)
    ranges: dict[str, ColumnLike] = {}
    places = {part.name: place for place, part in enumerate(key_fields)}
    for name, limits in key_ranges.items():
        if name not in places:
            raise QueryError(
                f"key_ranges bounds {name!r}, which is not a key\n  the keys are {', '.join(places) or 'none'}"
            )
        place = places[name]
        key_type = key_fields[place].dataType
        low, high = limits
        bounds: dict[str, ColumnLike] = {}
        if low is not None:
            bounds[f"low{place}"] = low
        if high is not None:
            bounds[f"high{place}"] = high
        for part in fields_of(df, bounds, dict.fromkeys(bounds, f"key_ranges of {name!r}")).values():
            if part.dataType != key_type or not isinstance(key_type, spark_types.AtomicType):
                raise QueryError(
                    f"key_ranges bounds {name!r}, which is {key_type.simpleString()}, by {part.name!r}, which is "
                    f"{part.dataType.simpleString()}\n"
                    "  expected: numbers, text, dates or timestamps, and columns of the type of the key: cast them"
                )
        ranges |= bounds
    return ranges


@dataclass
class ReadColumns:
    """The columns that modules, joins and triggers read; one that is named twice is carried once."""

    df: DataFrame
    columns: list[Column] = field(default_factory=list)
    fields: list[spark_types.StructField] = field(default_factory=list)
    types: list[pa.DataType] = field(default_factory=list)
    _places: dict[tuple[str, pa.DataType], int] = field(default_factory=dict)

    @property
    def names(self) -> dict[int, str]:
        """The names of those that only name a column, by place."""
        return {place: name for (name, _), place in self._places.items()}

    def parts(self, columns: Sequence[ColumnLike], reader: str) -> list[spark_types.StructField]:
        """Return the names and types of columns; `reader` says in errors who reads them.

        Raises:
            QueryError: There is no such column.
        """
        numbered = {str(number): column for number, column in enumerate(columns)}
        return list(fields_of(self.df, numbered, dict.fromkeys(numbered, reader)).values())

    def place(self, column: ColumnLike, part: spark_types.StructField, wanted: Field) -> int:
        """Return the place of a column, of which a module reads what is wanted."""
        carried = carried_type(wanted, part.dataType)
        if isinstance(column, str) and (column, carried) in self._places:
            return self._places[column, carried]
        self.columns.append(as_column(column))
        self.fields.append(part)
        self.types.append(carried)
        place = len(self.columns) - 1
        if isinstance(column, str):
            self._places[column, carried] = place
        return place


_TIMES: Final = (spark_types.TimestampType, spark_types.TimestampNTZType)
_EXACT: Final = (
    spark_types.IntegralType,
    spark_types.StringType,
    spark_types.DecimalType,
    spark_types.BooleanType,
    spark_types.DateType,
    spark_types.BinaryType,
)
_NUMBERS: Final = (spark_types.NumericType, *_TIMES)


def read_as(part: spark_types.StructField) -> Field:
    """Return the value read of a column: of a timestamp its ticks, anything else as it is."""
    if isinstance(part.dataType, _TIMES):
        return Field(part.name, Scalar(ScalarKind.INSTANT), is_nullable=True)
    return field_of(part.name, part.dataType)


def orders_by_name(order: ColumnLike | tuple[ColumnLike, ...] | None) -> dict[str, ColumnLike | None]:
    """Return the columns that order the rows of one time: one as `order`, others as `order 2` and so on.

    Args:
        order: A column, several as a tuple, or None.
    """
    columns = order if isinstance(order, tuple) else (order,)
    return {"order" if place == 1 else f"order {place}": column for place, column in enumerate(columns, 1)}


def check_order(part: spark_types.StructField) -> None:
    """Refuse an order that does not say which of two rows comes first.

    Raises:
        PolicyError: The column is of another type.
    """
    if not isinstance(part.dataType, (*_EXACT, *_TIMES)):
        raise PolicyError(
            "{argument} is of type {kind}\n"
            "  expected: an integer, text, a decimal, a date or a timestamp, such as an offset",
            argument="order",
            value=part.name,
            kind=part.dataType.simpleString(),
        )
    check_no_collation(part, "the order")


def check_read(windows: RowWindows, expression: str, data_type: spark_types.DataType) -> None:
    """Refuse what row windows cannot read: a difference of text, a partition by a float, a number as a condition.

    Raises:
        PolicyError: An expression is of another type than it is used as.
        QueryError: Partitions are of text with a collation.
    """
    found = data_type.simpleString()
    if expression == windows.partition_by and not isinstance(data_type, _EXACT):
        raise PolicyError(
            f"partition({expression!r}) is of type {found}\n"
            "  expected: an integer, text, a decimal or a date; cast it, for example with 'cast(x as string)'"
        )
    if expression == windows.partition_by:
        check_no_collation(spark_types.StructField(expression, data_type), "the partition")
    for policy in windows.policies if isinstance(windows, PartitionedRows) else ():
        if isinstance(policy, DeltaPolicy) and policy.attribute == expression and not isinstance(data_type, _NUMBERS):
            raise PolicyError(f"delta({expression!r}, ...) is of type {found}\n  expected: a number or a timestamp")
    if expression in windows.conditions and not isinstance(data_type, spark_types.BooleanType):
        raise PolicyError(
            "{windows} reads {value!r}, which is of type {found}\n  expected: a condition, such as \"x = 'end'\"",
            value=expression,
            windows=WrittenWindows(windows),
            found=found,
        )
