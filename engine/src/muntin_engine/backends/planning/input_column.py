"""A column of an input, or an expression over its columns, in the words that the backends have in common."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import pyarrow as pa

from muntin import Axis
from muntin.axis import MOST_PLACES
from muntin.errors import QueryError
from muntin.errors.messages import ErrorMessage, WrittenExpression
from muntin.schemas import Field, Scalar, ScalarKind
from muntin_engine.backends.planning.field_types import ColumnType, field_of

_BINARY: Final = "UTF8_BINARY"
"""The collation of text that has none: equal if all bytes are."""


@dataclass(frozen=True)
class InputColumn:
    """A column that a query reads.

    Attributes:
        name: The name of the column, or the text of the expression.
        type: The Arrow type; null in the place of each part that has none.
        spelled_type: The type as the backend spells it, for messages.
        part_without_type: The first part of the type that Arrow has no type for, as the backend spells it; None if the
            column can travel.
        collation: The collation of its text, or of the text in it; None if it is compared by its bytes.
        refusal: The error where a column that cannot travel is read, in words of its input; None for those of Spark.
    """

    name: str
    type: pa.DataType
    spelled_type: str
    part_without_type: str | None = None
    collation: str | None = None
    refusal: str | None = None

    @property
    def field(self) -> Field:
        """The column as the SDK describes it."""
        return field_of(self.name, self.type)

    @cached_property
    def kind(self) -> ScalarKind | None:
        """The kind of its values; None if they are nested, or nothing that a module can read."""
        data_type = self.field.type
        return data_type.kind if isinstance(data_type, Scalar) else None

    @property
    def decimal_places(self) -> int | None:
        """The decimal places of its values; None if they are no decimals."""
        return self.type.scale if self.kind is ScalarKind.DECIMAL else None

    @property
    def travelling_type(self) -> pa.DataType:
        """The type in which the column travels, unless a module reads it in another one.

        Raises:
            QueryError: The type cannot pass through a Python function, such as an interval of months or a variant.
        """
        if self.refusal is not None:
            raise QueryError(self.refusal)
        if self.part_without_type is not None:
            raise QueryError(
                f"a column of type {self.part_without_type} cannot be a key, an id or an input; cast it first"
            )
        return self.type

    @property
    def axis(self) -> Axis:
        """The axis that the column measures, if its values are times.

        Raises:
            QueryError: The column is not a timestamp, integer or decimal, or a decimal of too many places.
        """
        if self.kind is ScalarKind.TIMESTAMP:
            return Axis.TIME
        if self.kind is ScalarKind.INTEGER:
            return Axis.TICKS
        if self.decimal_places is not None and self.decimal_places <= MOST_PLACES:
            return Axis.TICKS
        raise QueryError(
            "the time column {value} is of type {kind}\n"
            "  expected: a timestamp; or, for an axis of any other kind, an integer or a decimal of at most "
            "{most_places} places\n  {instead}",
            argument="at",
            value=self.name,
            kind=self.spelled_type,
            most_places=MOST_PLACES,
            instead=self._axis_instead(),
        )

    def _axis_instead(self) -> ErrorMessage:
        """Return advice on what to write instead of a column whose values are no times."""
        if self.kind in (ScalarKind.FLOAT, ScalarKind.DECIMAL):
            # Windows begin a tick after others end: an axis has a next value for each of its values.
            cast = WrittenExpression("CAST({} AS decimal(18, 6))", self.name)
            return ErrorMessage("a float has no next one: {cast}", cast=cast)
        if self.kind is ScalarKind.STRING:
            return ErrorMessage(
                "text that is a time: {time}; categories in an order of yours: their place in it, {place}",
                time=WrittenExpression("CAST({} AS timestamp)", self.name),
                place=WrittenExpression("CASE {} WHEN 'low' THEN 1 WHEN 'high' THEN 2 END", self.name),
            )
        return ErrorMessage("cast it, for example to timestamp")

    def read_as_is(self) -> Field:
        """Return the field that the engine reads of the column for itself: a timestamp as ticks, others as they are."""
        if self.kind is ScalarKind.TIMESTAMP:
            return Field(self.name, Scalar(ScalarKind.INSTANT), is_nullable=True)
        return self.field

    def passed_on(self, name: str) -> Field:
        """Return the field of a result column that passes this column on, in exactly its type.

        Args:
            name: The name of the result column.

        Raises:
            QueryError: The column cannot travel.
        """
        return Field(name, ColumnType(self.spelled_type, column_type=self.travelling_type), is_nullable=True)

    def check_no_collation(self, use: str) -> None:
        """Refuse text with a collation where values are compared: Spark takes "a" and "A" for one, Python does not.

        Args:
            use: The word of the query for the column, such as `the key`.

        Raises:
            QueryError: The text has a collation.
        """
        if self.collation is None:
            return
        plain = f"F.collate({self.name!r}, {_BINARY!r})"
        raise QueryError(
            f"{use} {self.name} has the collation {self.collation}: Spark compares it by that, and Python by "
            f"its letters\n  to have spellings alike give one spelling, for example F.lower({plain})\n"
            f"  to tell them apart give {plain}"
        )
