"""Calls on an event stream that change the columns of its events."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from muntin.errors import QueryError
from muntin.errors.messages import Argument, Call, Earlier
from muntin_engine.api.arguments import check_each_column
from muntin_engine.backends.choosing import backend_of
from muntin_engine.plan.request import InputRequest, backquoted
from muntin_engine.plan.steps import step

if TYPE_CHECKING:
    from muntin_engine.plan.request import ColumnLike


@dataclass(frozen=True)
class ChangesPayload(InputRequest):
    """The part of an event stream that changes the columns which modules read.

    Computed columns are null in rows without payload, because the columns of such rows have no meaning.
    """

    @step
    def with_columns(self, /, **columns: ColumnLike) -> Self:
        """Add columns to the events, or replace columns.

        Args:
            columns: Columns by name, or expressions in SQL over the columns so far.

        Raises:
            QueryError: A column cannot be computed, or replaces a column that the stream itself reads: a time, a key,
                an id, a condition.

        Example:
            >>> rides.with_columns(speed="km / hours")  # doctest: +SKIP
        """
        return self._computed("with_columns", names={}, columns=columns, keeps_others=True)

    @step
    def select(self, /, *names: str, **columns: ColumnLike) -> Self:
        """Keep some columns of the events, and add others; modules can read only these from then on.

        The columns that the stream itself reads, such as times and keys, are kept in any case.

        Args:
            names: The names of the columns to keep.
            columns: As in `with_columns`.

        Raises:
            QueryError: As for `with_columns`, or no column has a name.

        Example:
            >>> rides.select("km", speed="km / hours")  # doctest: +SKIP
        """
        if not names and not columns:
            raise QueryError("select() needs columns to keep: select('km', speed='km / hours')")
        return self._computed("select", names=dict.fromkeys(names), columns=columns, keeps_others=False)

    def _computed(
        self, call: str, *, names: dict[str, None], columns: dict[str, ColumnLike], keeps_others: bool
    ) -> Self:
        """Return the stream with further columns of its events, and without the columns that are not kept.

        Args:
            call: The name of the call, for errors.
            names: The names of the columns to keep, as keys: a set with an order. Empty if all are kept.
            columns: The columns to add, by name.
            keeps_others: True to keep all other columns too.

        Raises:
            QueryError: A column cannot be computed, or replaces a column that the stream itself reads.
        """
        check_each_column({f"{call}({name})": column for name, column in columns.items()})
        inputs = backend_of(self.df).inputs
        # The columns that make rows events, or that `where` reads, may be neither dropped nor replaced. A column counts
        # as one of these if its name is a word of their expressions. It may be a word within a literal: then the column
        # is kept without need. But none that is read is missed.
        event_texts = list(self._texts())
        event_columns: list[str] = []
        for name in inputs.column_names(self.df):
            if any(_may_read(text, name) for text in event_texts):
                event_columns.append(name)
        folded_names = {name.casefold() for name in event_columns}
        for name in columns:
            if name.casefold() in folded_names:  # Spark ignores the case of names
                raise QueryError(
                    "{call} would replace a column that makes rows events, or that where() reads\n"
                    "  give the new column another name, or change it {before_events}",
                    value=name,
                    call=Call(call, Argument(name, ...)),
                    before_events=Earlier("events"),
                )
        df = inputs.with_payload(
            self.df,
            change=self.change,
            event_columns=event_columns,
            call=call,
            names=list(names),
            columns=columns,
            keeps_others=keeps_others,
        )
        return replace(self, df=df)

    def _columns_of_events(self) -> list[str]:
        """Return the columns of the DataFrame that are keys, times or kinds of changes themselves.

        A column from which a time or a key is computed is not among them, since it holds more than that; nor are ids
        and orders. If the events are results of another query, all columns that make them events are among them.
        """
        columns = [self.start, self.end, self.change, self.new_end, self.signal, *self.keys, *self.ranges.values()]
        if self.inner:
            columns += [self.id, self.source]
        texts = [text_of(column) for column in columns if column is not None]
        all_names = backend_of(self.df).inputs.column_names(self.df)

        # Results of another query: what makes them events are expressions over columns that the engine itself has
        # added, so no column that these expressions read is part of the payload.
        if self.inner:
            names_read: list[str] = []
            for name in all_names:
                if any(_may_read(text, name) for text in texts):
                    names_read.append(name)
            return names_read

        # Rows of the query writer: an expression is the name of no column, so the columns that it reads stay.
        names = {*texts, *(length.name for length in self.length_columns)}
        return [name for name in all_names if name in names or backquoted(name) in names]

    def _texts(self) -> Iterator[str]:
        """Yield the texts of all columns that the stream itself reads: those that make rows events, and conditions."""
        orders = self.order if isinstance(self.order, tuple) else (self.order,)
        columns = [self.start, self.end, self.id, *orders, self.change, self.new_end, self.signal, self.source]
        columns += [*self.keys, *self.ranges.values(), *self.conditions]
        columns += [length.name for length in self.length_columns]
        for column in columns:
            if column is not None:
                yield text_of(column)


def text_of(column: ColumnLike) -> str:
    """Return the name or the expression of a column as text; for a `Column` of PySpark's, the text that it prints."""
    if isinstance(column, str):
        return column
    return str(column).removeprefix("Column<'").removesuffix("'>")


def _may_read(text: str, name: str) -> bool:
    """Return True if an expression may read a column: the name of the column is one of the words of the expression."""
    # In backquotes, a backquote of the name is written twice.
    spellings = f"{re.escape(name)}|{re.escape(backquoted(name))}"
    return re.search(rf"(?<!\w)({spellings})(?!\w)", text, re.IGNORECASE) is not None
