"""Columns of events, computed where a row has a payload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from muntin_engine.backends.spark.inputs.column_lookup import as_column, look_up, spark_column
from muntin_engine.backends.spark.inputs.declared_frames import (
    is_known,
    known_schema_with_payload,
    text_of_known,
    with_columns_if_declared,
)
from muntin_engine.backends.spark.session.ended import in_session
from muntin_engine.plan.request import backquoted

if TYPE_CHECKING:
    from muntin_engine.plan.request import ColumnLike


@in_session()
def payload_columns(df: DataFrame, event_columns: Sequence[str]) -> dict[str, Column]:
    """Return the columns of the payload by their names: all but those that make rows events, such as times and keys."""
    return {name: F.col(backquoted(name)) for name in df.columns if name not in event_columns}


@in_session()
def with_payload(  # the arguments are the parts of a call of `with_columns` or `select`
    df: DataFrame,
    change: ColumnLike | None,
    event_columns: Sequence[str],
    call: str,
    kept_names: Sequence[str],
    columns: Mapping[str, ColumnLike],
    *,
    keeps_others: bool,
) -> DataFrame:
    """Return an input with computed columns, which are null in rows without a payload.

    Args:
        df: The input.
        change: The column that says what a row does, such as `insert`; None if each row is a new event.
        event_columns: The names of the columns that make rows events.
        call: The call of the query writer, `with_columns` or `select`, for errors.
        kept_names: The names of columns to keep, besides `event_columns`.
        columns: The columns to compute, by name.
        keeps_others: True to keep all other columns, as `with_columns` does.

    Raises:
        QueryError: A column cannot be computed, or the input has no column of one of the names.
    """
    # The columns that a query writer has declared are checked without Spark, and the result has declared columns again.
    if is_known(df):
        texts = {name: text_of_known(df, column, call) for name, column in columns.items()}
        schema = known_schema_with_payload(
            df, change, event_columns, call, kept_names, texts, keeps_others=keeps_others
        )
        changed = _changed(df, change, event_columns, kept_names, texts, keeps_others=keeps_others)
        return with_columns_if_declared(df, changed, schema)
    _check_columns(df, call, kept_names, columns)
    return _changed(df, change, event_columns, kept_names, columns, keeps_others=keeps_others)


def _changed(
    df: DataFrame,
    change: ColumnLike | None,
    event_columns: Sequence[str],
    kept_names: Sequence[str],
    columns: Mapping[str, ColumnLike],
    *,
    keeps_others: bool,
) -> DataFrame:
    """Return an input with computed columns, which have been checked; the arguments are those of `with_payload`."""
    computed: dict[str, Column] = {}
    for name, column in columns.items():
        computed[name] = F.expr(column) if isinstance(column, str) else spark_column(column)

    if change is not None:
        # An expression such as `coalesce(km, 0)` must stay null in a row without a payload. Punctuation has no payload.
        # Neither has a revision or a retraction that names its event by the id alone.
        kind = as_column(df, change)
        are_not_null = [F.col(backquoted(name)).isNotNull() for name in df.columns if name not in event_columns]
        repeats_payload = kind.isin("revise", "retract") & reduce(or_, are_not_null, F.lit(False))
        has_payload = (kind == "insert") | repeats_payload
        computed = {name: F.when(has_payload, column) for name, column in computed.items()}
    if keeps_others:
        return df.withColumns(computed)

    # Spark ignores the case of names.
    folded_names = {name.casefold() for name in (*kept_names, *event_columns)}
    input_names = {name.casefold() for name in df.columns}
    unchanged: list[Column] = [F.col(backquoted(name)) for name in df.columns if name.casefold() in folded_names]
    # Names that are no columns of the input are those of fields of structs, such as `ride.km`.
    unchanged += [F.col(name) for name in kept_names if name.casefold() not in input_names]
    return df.select(*unchanged, *(column.alias(name) for name, column in computed.items()))


def _check_columns(df: DataFrame, call: str, names: Sequence[str], columns: Mapping[str, ColumnLike]) -> None:
    """Refuse columns that a DataFrame does not have, or that cannot be computed from those that it has.

    Args:
        df: The DataFrame.
        call: The call of the query writer, for errors.
        names: The names of columns that it must have.
        columns: The columns to compute, by name.

    Raises:
        QueryError: The DataFrame has no such column, or a column cannot be computed.
    """
    columns_to_check: dict[str, ColumnLike] = {name: name for name in names}
    for name, column in columns.items():
        if isinstance(column, str) and not column.isidentifier():
            columns_to_check[name] = F.expr(column)
        else:
            columns_to_check[name] = column  # looked up by its name, so that the error lists the columns of the input
    look_up(df, columns_to_check, dict.fromkeys(columns_to_check, call))
