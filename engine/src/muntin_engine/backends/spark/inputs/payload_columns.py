"""Columns of events, computed where a row has a payload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from muntin_engine.backends.spark.inputs.input_columns import fields_of
from muntin_engine.backends.spark.session.ended import in_session

if TYPE_CHECKING:
    from muntin_engine.plan.request import ColumnLike


@in_session()
def payload_columns(df: DataFrame, own: Sequence[str]) -> dict[str, Column]:
    """Return the columns of events by their names, without those that make rows events."""
    return {name: F.col(f"`{name}`") for name in df.columns if name not in own}


@in_session()
def with_payload(  # each is another part of the call
    df: DataFrame,
    change: ColumnLike | None,
    own: Sequence[str],
    call: str,
    names: Sequence[str],
    columns: Mapping[str, ColumnLike],
    *,
    keeps_others: bool,
) -> DataFrame:
    """Return an input with columns computed in rows that have a payload.

    Args:
        df: The input.
        change: The column that says what a row does; None if each is a new event.
        own: The names of the columns that make rows events.
        call: The call that asks for it, for messages.
        names: The names of columns to keep, besides those.
        columns: The columns to compute, by name.
        keeps_others: True if all other columns are kept.

    Raises:
        QueryError: A column cannot be computed, or there is none of a name.
    """
    written = {name: F.expr(c) if isinstance(c, str) and not c.isidentifier() else c for name, c in columns.items()}
    fields_of(df, {**{name: name for name in names}, **written}, dict.fromkeys((*names, *columns), call))
    computed = {name: F.expr(column) if isinstance(column, str) else column for name, column in columns.items()}
    if change is not None:
        does = F.col(change) if isinstance(change, str) else change
        payload = [F.col(f"`{name}`").isNotNull() for name in df.columns if name not in own]
        repeats = does.isin("revise", "retract") & reduce(or_, payload, F.lit(False))
        computed = {name: F.when((does == "insert") | repeats, column) for name, column in computed.items()}
    if not keeps_others:
        folded = {name.casefold() for name in (*names, *own)}
        kept: list[Column] = [F.col(f"`{name}`") for name in df.columns if name.casefold() in folded]
        kept += [F.col(name) for name in names if name.casefold() not in {known.casefold() for known in df.columns}]
        return df.select(*kept, *(column.alias(name) for name, column in computed.items()))
    return df.withColumns(computed)
