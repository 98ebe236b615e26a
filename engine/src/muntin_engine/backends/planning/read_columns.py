"""The columns of an input that a query reads and carries, and what they have to be for their reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from muntin.errors import PolicyError, QueryError
from muntin.rows import DeltaPolicy, PartitionedRows, RowWindows
from muntin.schemas import Field, ScalarKind
from muntin.windows.specification import WrittenWindows
from muntin_engine.backends.planning.field_types import carried_type
from muntin_engine.plan.request import SqlExpression

if TYPE_CHECKING:
    from muntin_engine.backends.planning.column_reader import ColumnReader
    from muntin_engine.backends.planning.input_column import InputColumn
    from muntin_engine.plan.request import ColumnLike, Frame

_EXACT: Final = frozenset(
    {
        ScalarKind.INTEGER,
        ScalarKind.STRING,
        ScalarKind.DECIMAL,
        ScalarKind.BOOLEAN,
        ScalarKind.DATE,
        ScalarKind.BINARY,
    }
)
"""The kinds of values by which rows are told apart: two floats may differ in a digit that nobody sees."""

_NUMBERS: Final = frozenset({ScalarKind.INTEGER, ScalarKind.FLOAT, ScalarKind.DECIMAL, ScalarKind.TIMESTAMP})
"""The kinds of values that have differences."""


@dataclass(frozen=True)
class CarriedColumn:
    """A column that travels to modules.

    Attributes:
        column: The column, as the query writer names it.
        input_column: Its description, as the input has it.
        type: The Arrow type in which it travels.
    """

    column: ColumnLike
    input_column: InputColumn
    type: pa.DataType


@dataclass
class ReadColumns:
    """The columns of an input that modules, joins and triggers read, in the order in which they travel.

    Attributes:
        reader: The reader of the columns of the input's backend.
        df: The input.
        carried: The columns. One that several modules name is carried once for each type in which it travels.
    """

    reader: ColumnReader
    df: Frame
    carried: list[CarriedColumn] = field(default_factory=list)
    _places_by_name: dict[tuple[str, pa.DataType], int] = field(default_factory=dict)

    @property
    def names(self) -> dict[int, str]:
        """The identities of the columns that are text, by place; columns that are objects of the backend have none."""
        names: dict[int, str] = {}
        for (name, _), place in self._places_by_name.items():  # the second part of the key is the type
            names[place] = name
        return names

    def look_up(self, columns: Sequence[ColumnLike], reader_name: str) -> list[InputColumn]:
        """Look up columns.

        Args:
            columns: The columns, as the query writer names them.
            reader_name: The words for what reads the columns, for errors, such as `join()`.

        Raises:
            QueryError: There is no such column.
        """
        # A reader returns columns by the names under which it was asked for them. Two of these columns may be the same,
        # so each is asked for under a number.
        numbered = {str(number): column for number, column in enumerate(columns)}
        return list(self.reader.look_up(self.df, numbered, dict.fromkeys(numbered, reader_name)).values())

    def carry(self, column: ColumnLike, input_column: InputColumn, read_field: Field) -> int:
        """Add a column to those that travel, unless it is among them, and return its place there.

        Args:
            column: The column, as the query writer names it.
            input_column: The description of the column, as the input has it.
            read_field: The value that a module reads of the column, which decides the type in which it travels.

        Raises:
            QueryError: The column cannot travel.
        """
        carried_as = carried_type(read_field, input_column.travelling_type)
        next_place = len(self.carried)
        if isinstance(column, str):  # whether two column objects of a backend are the same cannot be told
            name_and_type = (text_identity(column), carried_as)
            if name_and_type in self._places_by_name:
                return self._places_by_name[name_and_type]
            self._places_by_name[name_and_type] = next_place
        self.carried.append(CarriedColumn(column, input_column, carried_as))
        return next_place


def text_identity(column: str) -> str:
    """Return the identity of a column that is text: two columns are the same if their identities are equal.

    The text `a-b` alone is a name, and as an expression a difference: so they get different identities.

    Example:
        >>> text_identity("a-b"), text_identity(SqlExpression("a-b")), text_identity(SqlExpression("a"))
        ('a-b', "expression('a-b')", 'a')
    """
    if isinstance(column, SqlExpression) and not column.isidentifier():
        return repr(column)
    return str(column)


def keys_of(reader: ColumnReader, df: Frame, keys: Sequence[ColumnLike]) -> list[InputColumn]:
    """Look up the keys of an input.

    Raises:
        QueryError: The input does not have one of them.
    """
    named_keys = {f"k{place}": key for place, key in enumerate(keys)}
    return list(reader.look_up(df, named_keys, dict.fromkeys(named_keys, "key")).values())


def orders_by_name(order: ColumnLike | tuple[ColumnLike, ...] | None) -> dict[str, ColumnLike]:
    """Return the columns that order the rows of one time by name: the first is `order`, the next one `order 2`.

    Args:
        order: A column, several as a tuple, or None.
    """
    if order is None:
        return {}
    columns = order if isinstance(order, tuple) else (order,)
    named_columns: dict[str, ColumnLike] = {}
    for place, column in enumerate(columns, 1):
        name = "order" if place == 1 else f"order {place}"
        named_columns[name] = column
    return named_columns


def ranges_of(
    reader: ColumnReader,
    df: Frame,
    keys: Sequence[ColumnLike],
    key_ranges: Mapping[str, tuple[ColumnLike | None, ColumnLike | None]],
) -> dict[str, ColumnLike]:
    """Return the columns that bound keys, by the names under which they travel: `low0` and `high0` for the first key.

    Args:
        reader: The reader of the columns of the input's backend.
        df: The input.
        keys: The keys of the input.
        key_ranges: By the name of a key, two columns: the least value of its range, and the first value above the
            range. None in place of a column leaves that side open.

    Raises:
        QueryError: There is no such key or column, a column is not of the type of its key, or this type has no order.
    """
    key_columns = keys_of(reader, df, keys)
    ranges: dict[str, ColumnLike] = {}
    place_by_name = {key.name: place for place, key in enumerate(key_columns)}
    for name, limits in key_ranges.items():
        if name not in place_by_name:
            raise QueryError(
                f"key_ranges bounds {name!r}, which is not a key\n  the keys are {', '.join(place_by_name) or 'none'}"
            )
        place = place_by_name[name]
        key = key_columns[place]
        low, high = limits
        bounds: dict[str, ColumnLike] = {}
        if low is not None:
            bounds[f"low{place}"] = low
        if high is not None:
            bounds[f"high{place}"] = high
        for bound in reader.look_up(df, bounds, dict.fromkeys(bounds, f"key_ranges of {name!r}")).values():
            # A key without a kind is nested, and has no order.
            if key.kind is None or bound.spelled_type != key.spelled_type:
                raise QueryError(
                    f"key_ranges bounds {name!r}, which is {key.spelled_type}, by {bound.name!r}, which is "
                    f"{bound.spelled_type}\n"
                    "  expected: numbers, text, dates or timestamps, and columns of the type of the key: cast them"
                )
        ranges |= bounds
    return ranges


def check_condition(column: InputColumn, call: str) -> None:
    """Refuse a condition on rows that is neither true nor false.

    Args:
        column: The condition.
        call: The call that takes the condition, for errors, with braces in the place of its text.

    Raises:
        QueryError: The condition is of another type.
    """
    if column.kind is not ScalarKind.BOOLEAN:
        raise QueryError(
            "{condition} is of type {kind}\n  expected: a condition, such as 'km > 2'",
            value=column.name,
            condition=call.format(column.name),
            kind=column.spelled_type,
        )


def check_order(column: InputColumn) -> None:
    """Refuse a column that cannot order rows of one time: floats, nested values, and text with a collation.

    Raises:
        PolicyError: The column is of a type whose values may not say which of two rows comes first.
        QueryError: The column is text with a collation.
    """
    if column.kind not in _EXACT and column.kind is not ScalarKind.TIMESTAMP:
        raise PolicyError(
            "{argument} is of type {kind}\n"
            "  expected: an integer, text, a decimal, a date or a timestamp, such as an offset",
            argument="order",
            value=column.name,
            kind=column.spelled_type,
        )
    column.check_no_collation("the order")


def check_read(windows: RowWindows, expression: str, column: InputColumn) -> None:
    """Refuse an expression of another type than row windows need, such as text for a difference.

    Args:
        windows: The windows, which may read the expression in several places.
        expression: The expression, as its writer spells it.
        column: The description of the expression.

    Raises:
        PolicyError: The expression is of another type than a partition, a difference or a condition needs.
        QueryError: Partitions are of text with a collation.
    """
    if expression == windows.partition_by:
        if column.kind not in _EXACT:
            raise PolicyError(
                f"partition({expression!r}) is of type {column.spelled_type}\n"
                "  expected: an integer, text, a decimal or a date; cast it, for example with 'cast(x as string)'"
            )
        column_as_written = replace(column, name=expression)  # for the error, which names the column
        column_as_written.check_no_collation("the partition")

    policies = windows.policies if isinstance(windows, PartitionedRows) else ()
    for policy in policies:
        reads_difference = isinstance(policy, DeltaPolicy) and policy.attribute == expression
        if reads_difference and column.kind not in _NUMBERS:
            raise PolicyError(
                f"delta({expression!r}, ...) is of type {column.spelled_type}\n  expected: a number or a timestamp"
            )

    if expression in windows.conditions and column.kind is not ScalarKind.BOOLEAN:
        raise PolicyError(
            "{windows} reads {value!r}, which is of type {kind}\n  expected: a condition, such as \"x = 'end'\"",
            value=expression,
            windows=WrittenWindows(windows),
            kind=column.spelled_type,
        )
