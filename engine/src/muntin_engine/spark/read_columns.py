"""The columns of an input that a query computes with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import types as spark_types

from muntin.schemas import Field
from muntin_engine.spark.fields import as_column, fields_of
from muntin_engine.spark.types import carried_type

if TYPE_CHECKING:
    from muntin_engine.api.request import ColumnLike


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
