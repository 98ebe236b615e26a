"""Projected inputs as one DataFrame, which the tasks of the map side take apart again: of a query, or of several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from muntin_engine.backends.spark.inputs.time_marks import fitted
from muntin_engine.tasks.one_pass import OwnColumns
from muntin_engine.wire.shuffle import SIDE, shared_name

if TYPE_CHECKING:
    from muntin_engine.backends.planned_query import Projection


def united(sources: Sequence[Projection]) -> DataFrame:
    """Return the rows of all inputs; those of the only one as they are."""
    if len(sources) == 1:
        return sources[0].df
    sides = [
        source.df.select(
            F.lit(side).alias(SIDE), *(F.col(name).alias(shared_name(side, name)) for name in source.df.columns)
        )
        for side, source in enumerate(sources)
    ]
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), sides)


@dataclass(frozen=True)
class SharedRows:
    """The rows of the one input of several queries.

    Attributes:
        df: The rows, with the columns of all queries.
        owned: For each query, what it takes of them.
    """

    df: DataFrame
    owned: tuple[OwnColumns, ...]


def shared(sources: Sequence[Projection]) -> SharedRows:
    """Return the rows of a DataFrame once, for several projections of it.

    A column that several of them name is there once. What they compute otherwise is there for each.
    """
    rows, columns = [source.rows for source in sources], dict[str, Column]()
    known: dict[str, str] = {}
    shared_names: list[dict[str, str]] = []
    for place, one in enumerate(rows):
        names = {
            name: known.setdefault(one.named[name], f"c{len(known)}") if name in one.named else f"q{place}_{name}"
            for name in one.columns
        }
        columns |= {names[name]: column for name, column in one.columns.items()}
        shared_names.append(names)
    has_marks = any(one.marks for one in rows)
    owned = [
        OwnColumns(tuple(names), tuple(names.values()), f"q{place}" if has_marks or one.condition is not None else None)
        for place, (names, one) in enumerate(zip(shared_names, rows, strict=True))
    ]
    for own, one in zip(owned, rows, strict=True):
        if own.condition is not None:
            is_own = F.lit(True) if one.condition is None else F.coalesce(one.condition, F.lit(False))
            columns[own.condition] = is_own
    df = rows[0].df.select(*(column.alias(name) for name, column in columns.items()))
    whole = df.schema
    for own, names, one in zip(owned, shared_names, rows, strict=True):
        for stream, given in one.marks:
            told = {other.condition: F.lit(other is own) for other in owned if other.condition is not None}
            df = df.unionByName(fitted(whole, stream, told | {names[name]: column for name, column in given.items()}))
    return SharedRows(df, tuple(owned))
