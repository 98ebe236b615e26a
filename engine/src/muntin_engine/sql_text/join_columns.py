"""The columns of a join: columns of SELECT as those of each stream, and as expressions over the results."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sqlglot import exp

from muntin_engine.sql_text.refusals import refuse_aggregates, refuse_other_rows
from muntin_engine.sql_text.sql_values import column_of, spell_name, stream_of, text_of
from muntin_engine.sql_text.stream_reading import ReadsQueries, SqlStream

ALWAYS: Final = "true"
"""A key that all events of the right stream have. A condition on the left stream alone is then a key of the left one:
left events for which it is true meet right events, and others meet none."""

_WINDOW_ENDS: Final = {"window_start": "lifetime.start", "window_end": "lifetime.end"}
"""The ends of a shared window by their names in SQL, each as an expression over the results of the join."""


@dataclass(frozen=True)
class JoinedStreams:
    """The two streams of a join.

    Attributes:
        reader: Reads the rest of the query.
        left: The left stream.
        right: The right stream.
    """

    reader: ReadsQueries
    left: SqlStream
    right: SqlStream

    def read_by(self, node: Any) -> list[SqlStream]:
        """Return the streams whose columns an expression reads: none, one of the two, or both.

        Raises:
            SqlError: A column does not say of which stream it is.
        """
        aliases: set[str] = set()
        for column in columns_in(node):
            alias = stream_of(column)
            if alias in (self.left.alias.casefold(), self.right.alias.casefold()):
                aliases.add(alias)
            elif not _is_lifetime(column):
                fact = f"{text_of(column)} does not say of which stream it is"
                advice = f"write {self.left.alias}.{column.name} or {self.right.alias}.{column.name}"
                raise self.reader.source.error(column, fact, advice)
        return [stream for stream in (self.left, self.right) if stream.alias.casefold() in aliases]

    def is_of_left(self, column: Any) -> bool:
        """Return True for a column of the left stream."""
        return stream_of(column) == self.left.alias.casefold()


@dataclass
class JoinColumns:
    """The columns of a join's results.

    Attributes:
        streams: The left and the right stream.
        kind: The kind of join, as `how` names it.
        shares_windows: True if the streams meet in the same windows.
        pair_conditions: The conditions on both streams that only the results of the join can be tested for.
        left: The columns that the results have of the left stream: expressions by their names in the results.
        right: The columns that the results have of the right stream.
    """

    streams: JoinedStreams
    kind: str
    shares_windows: bool
    pair_conditions: Sequence[Any]
    left: dict[str, str] = field(default_factory=dict)
    right: dict[str, str] = field(default_factory=dict)

    def read(self, tree: Any) -> dict[str, str]:
        """Read the columns of SELECT.

        The columns that the join needs of each stream are added to `left` and `right`.

        Returns:
            The columns by their names, as expressions over the results of the join.
        """
        selected: dict[str, str] = {}
        bodies_of_both: dict[str, Any] = {}
        for node in tree.expressions:
            body = node.unalias()
            name = self._name_of(node, body, selected)
            refuse_other_rows(self.streams.reader.source, body)
            refuse_aggregates(self.streams.reader.source, body)
            selected[name] = name  # takes its place in the order of columns; its expression is filled in below
            if self._is_of_one_stream(body):
                selected[name] = self._add_column_of_stream(name, body)
            else:
                bodies_of_both[name] = body

        # Expressions over both streams are read last: by now it is known under which names the results have the columns
        # of each stream, so that none of them is added twice.
        for name, body in bodies_of_both.items():
            selected[name] = self.over_results(body)

        # The streams themselves are joined without the conditions on both. So a left join returns pairs that do not
        # meet these conditions; in SQL their left rows have no right row.
        if self.pair_conditions and self.kind == "left":
            self._make_unmatched_null(selected)
        return selected

    def is_natural(self, selected: dict[str, str]) -> bool:
        """Return True if selected columns are those that the results have without a selection, in the same order."""
        natural = [*self._keys, "lifetime", *self.left, *self.right]
        return list(selected.items()) == [(name, name) for name in natural]

    def over_results(self, node: Any, *, is_pair: bool = False) -> str:
        """Return an expression of both streams as one over the results of the join.

        Columns of the streams that the expression reads are added to `left` and `right`.

        Args:
            node: The expression.
            is_pair: True for a condition of ON on both streams. In a left join, other expressions read columns of the
                right stream as null where these conditions are not met.
        """
        self.streams.read_by(node)  # raises if a column is of neither stream
        # `lifetime` is a column of the results already.
        changes: list[tuple[Any, str]] = []
        for column in columns_in(node):
            if not _is_lifetime(column):
                changes.append((column, self._column_over_results(column, is_pair=is_pair)))
        return self.streams.reader.source.edited(node, changes)

    def pairs_met(self) -> str:
        """Return the conditions of ON on both streams as one condition on the results of the join."""
        return " AND ".join(f"({self.over_results(part, is_pair=True)})" for part in self.pair_conditions)

    def add_constant(self, name: str, used_names: Collection[str]) -> None:
        """Add a column of the left stream that is always true, for a join that would have no columns.

        Args:
            name: The name that the column gets if it is free.
            used_names: The names of selected columns, which it must not have.
        """
        for candidate in _free_names(name, self.streams.left.alias):
            if candidate not in used_names:
                self.left[candidate] = ALWAYS
                return

    @property
    def _keys(self) -> list[str]:
        """The keys of the left stream, which are columns of the results."""
        return self.streams.left.keys or []

    def _name_of(self, node: Any, body: Any, selected: dict[str, str]) -> str:
        """Return the name of a column of SELECT.

        Args:
            node: The column, with its alias.
            body: The column without its alias.
            selected: The columns before it, by name.

        Raises:
            SqlError: The column has no name, or the name of a column before it.
        """
        source = self.streams.reader.source
        is_star = isinstance(body, exp.Star) or (isinstance(body, exp.Column) and isinstance(body.this, exp.Star))
        if is_star:
            advice = f"write SELECT {self.streams.left.alias}.km, {self.streams.right.alias}.km"
            raise source.error(node, "a join names its columns", advice)
        name: str = node.alias or (body.name if isinstance(body, exp.Column) else "")
        if not name:
            raise source.error(node, f"{text_of(node)} has no name", "write ... AS ratio")
        if name in selected:
            raise source.error(node, f"two columns are called {name}", "name one of them otherwise with AS")
        return name

    def _is_of_one_stream(self, body: Any) -> bool:
        """Return True for an expression that can be computed from columns of one stream, before the join."""
        if any(_is_lifetime(column) or self._end_of_window(column) for column in columns_in(body)):
            return False
        return len(self.streams.read_by(body)) == 1

    def _add_column_of_stream(self, name: str, body: Any) -> str:
        """Add a column of one stream to the results, and return it as an expression over these.

        Args:
            name: The name of the column in the results.
            body: The column, an expression over one stream.
        """
        (stream,) = self.streams.read_by(body)
        text = self.streams.reader.column(body, stream.alias)
        if stream is self.streams.right:
            self.right[name] = text
            return name
        if text in self._keys:
            return text
        self.left[name] = text
        return name

    def _make_unmatched_null(self, selected: dict[str, str]) -> None:
        """Make columns of the right stream null where ON is not met: a left join of SQL has no right row there.

        Args:
            selected: The selected columns, which are changed: expressions over the results by name.
        """
        # Only columns of the right stream that SELECT has as they are. Within expressions `over_results` has made them
        # null already.
        for name, text in selected.items():
            if text == name and name in self.right:
                selected[name] = self._if_met(name)

    def _if_met(self, name: str) -> str:
        """Return a column of the right stream as an expression over the results; null where a left join has no pair.

        Args:
            name: The name of the column in the results.
        """
        column = spell_name(name)
        if not self.pair_conditions or self.kind != "left":
            return column
        return f"CASE WHEN {self.pairs_met()} THEN {column} END"

    def _column_over_results(self, column: Any, *, is_pair: bool) -> str:
        """Return a column of a stream as an expression over the results, to which the column is added if need be.

        Args:
            column: The node of the column, with the alias of its stream.
            is_pair: As for `over_results`.
        """
        end = self._end_of_window(column)
        if end is not None:
            return end

        # A column of the left stream. Its keys are columns of the results in any case.
        text = column_of(column, after=1)  # without the alias
        if self.streams.is_of_left(column):
            if text in self._keys:
                return spell_name(text.strip("`"))
            return spell_name(self._result_column(self.left, text, column))

        # A column of the right stream, which is null in a left join where no right row meets the conditions of ON.
        # These conditions themselves read the column as it is.
        name = self._result_column(self.right, text, column)
        return spell_name(name) if is_pair else self._if_met(name)

    def _end_of_window(self, column: Any) -> str | None:
        """Return a column `window_start` or `window_end` as an expression over the results; None for another column.

        Raises:
            SqlError: The column is of the right stream, and the join has results without a right event.
        """
        name = column.name.lower()
        has_alias_alone = len(column.parts) == 2  # and is no field of a struct
        if not self.shares_windows or not has_alias_alone or name not in _WINDOW_ENDS:
            return None
        right_alias = self.streams.right.alias
        if stream_of(column) == right_alias.casefold() and self.kind != "inner":
            fact = f"{text_of(column)} is null where {right_alias} has no row"
            raise self.streams.reader.source.error(column, fact, f"write {self.streams.left.alias}.{name}")
        return _WINDOW_ENDS[name]

    def _result_column(self, columns: dict[str, str], text: str, node: Any) -> str:
        """Return the name under which the results have a column of a stream; add the column if they do not have it.

        Args:
            columns: The columns that the results have of the stream: their expressions by their names in the results.
            text: The column as an expression over its stream.
            node: The column in the tree of the query; its first part is the alias of its stream.
        """
        for name, expression in columns.items():
            if expression == text:
                return name
        alias = node.parts[0].name
        plain_name = re.sub(r"\W+", "_", text)  # a path into a struct, such as `position.lat`, is no name
        used_names = {*self.left, *self.right, *self._keys, "lifetime"}
        name = next(name for name in _free_names(plain_name, alias) if name not in used_names)
        columns[name] = text
        return name


def columns_in(node: Any) -> list[Any]:
    """Return the columns that an expression reads."""
    return [node] if isinstance(node, exp.Column) else list(node.find_all(exp.Column))


def _is_lifetime(column: Any) -> bool:
    """Return True for `lifetime`, the column of the results, and for its fields."""
    return str(column.parts[0].name).casefold() == "lifetime"


def _free_names(name: str, alias: str) -> Iterator[str]:
    """Yield names to choose from for a column: its name, then the name after the alias of its stream, then numbers."""
    yield name
    yield f"{alias}_{name}"
    number = 2
    while True:
        yield f"{alias}_{name}_{number}"
        number += 1
