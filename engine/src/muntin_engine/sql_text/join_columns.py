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
"""The key of right events that left ones meet if a condition on these alone holds."""

_WINDOW_ENDS: Final = {"window_start": "lifetime.start", "window_end": "lifetime.end"}


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
        """Return the streams whose columns an expression reads.

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
        pair_conditions: The conditions on both streams that results are tested for.
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
        """Read the columns of SELECT into those of each stream; return them as expressions over the results."""
        chosen: dict[str, str] = {}
        of_both: list[tuple[str, Any]] = []
        for node in tree.expressions:
            body = node.unalias()
            name = self._name_of(node, body, chosen)
            refuse_other_rows(self.streams.reader.source, body)
            refuse_aggregates(self.streams.reader.source, body)
            chosen[name] = name
            if self._is_of_one_stream(body):
                chosen[name] = self._add_column_of_stream(name, body)
            else:
                of_both.append((name, body))
        # Expressions over both streams come last: they read columns that have names by then.
        for name, body in of_both:
            chosen[name] = self.over_results(body)
        if self.pair_conditions and self.kind == "left":
            self._hide_other_versions(chosen)
        return chosen

    def is_natural(self, chosen: dict[str, str]) -> bool:
        """Return True if columns are those that the results have without being asked, in their order."""
        natural = [*self._keys, "lifetime", *self.left, *self.right]
        return list(chosen.items()) == [(name, name) for name in natural]

    def over_results(self, node: Any, *, is_pair: bool = False) -> str:
        """Return an expression of both streams as one over the results, which get the columns that it reads.

        Args:
            node: The expression.
            is_pair: True for a condition that says itself whether a right row is met.
        """
        self.streams.read_by(node)  # refuses columns of neither
        changes: list[tuple[Any, str]] = []
        for column in columns_in(node):
            if not _is_lifetime(column):
                changes.append((column, self._column_over_results(column, is_pair=is_pair)))
        return self.streams.reader.source.edited(node, changes)

    def pairs_met(self) -> str:
        """Return the conditions on both streams as one on the results."""
        return " AND ".join(f"({self.over_results(part, is_pair=True)})" for part in self.pair_conditions)

    def add_constant(self, name: str, taken: Collection[str]) -> None:
        """Add a column that is always true, under a name that no chosen column has."""
        free = next(name for name in _free_names(name, self.streams.left.alias) if name not in taken)
        self.left[free] = ALWAYS

    @property
    def _keys(self) -> list[str]:
        return self.streams.left.keys or []

    def _name_of(self, node: Any, body: Any, chosen: dict[str, str]) -> str:
        """Return the name of a column of SELECT.

        Raises:
            SqlError: The column has no name, or one that is taken.
        """
        source = self.streams.reader.source
        is_star = isinstance(body, exp.Star) or (isinstance(body, exp.Column) and isinstance(body.this, exp.Star))
        if is_star:
            advice = f"write SELECT {self.streams.left.alias}.km, {self.streams.right.alias}.km"
            raise source.error(node, "a join names its columns", advice)
        name: str = node.alias or (body.name if isinstance(body, exp.Column) else "")
        if not name:
            raise source.error(node, f"{text_of(node)} has no name", "write ... AS ratio")
        if name in chosen:
            raise source.error(node, f"two columns are called {name}", "name one of them otherwise with AS")
        return name

    def _is_of_one_stream(self, body: Any) -> bool:
        """Return True for an expression that one stream has before the join."""
        if any(_is_lifetime(column) or self._end_of_window(column) for column in columns_in(body)):
            return False
        return len(self.streams.read_by(body)) == 1

    def _add_column_of_stream(self, name: str, body: Any) -> str:
        """Add a column of one stream; return the expression over the results that it is."""
        (stream,) = self.streams.read_by(body)
        text = self.streams.reader.column(body, stream.alias)
        if stream is self.streams.right:
            self.right[name] = text
            return name
        if text in self._keys:
            return text
        self.left[name] = text
        return name

    def _hide_other_versions(self, chosen: dict[str, str]) -> None:
        """Replace the columns of a version that does not meet ON by null, as a left join has no row for it."""
        for name, text in chosen.items():
            if text == name and name in self.right:
                chosen[name] = self._if_met(name)

    def _if_met(self, name: str) -> str:
        """Return a column of the right stream, null where the conditions on both streams are not met."""
        column = spell_name(name)
        if not self.pair_conditions or self.kind != "left":
            return column
        return f"CASE WHEN {self.pairs_met()} THEN {column} END"

    def _column_over_results(self, column: Any, *, is_pair: bool) -> str:
        """Return a column of a stream as an expression over the results."""
        end = self._end_of_window(column)
        if end is not None:
            return end
        is_left = self.streams.is_of_left(column)
        text = column_of(column, after=1)
        if is_left and text in self._keys:
            return spell_name(text.strip("`"))
        name = self._result_column(self.left if is_left else self.right, text, column)
        return spell_name(name) if is_left or is_pair else self._if_met(name)

    def _end_of_window(self, column: Any) -> str | None:
        """Return the end of the shared window that a column is, as the results have it; None for another column."""
        name = column.name.lower()
        if not self.shares_windows or len(column.parts) != 2 or name not in _WINDOW_ENDS:
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
        plain_name = re.sub(r"\W+", "_", text)
        taken = {*self.left, *self.right, *self._keys, "lifetime"}
        name = next(name for name in _free_names(plain_name, alias) if name not in taken)
        columns[name] = text
        return name


def columns_in(node: Any) -> list[Any]:
    """Return the columns that an expression reads."""
    return [node] if isinstance(node, exp.Column) else list(node.find_all(exp.Column))


def _is_lifetime(column: Any) -> bool:
    """Return True for `lifetime`, the column of the results, and for its fields."""
    return str(column.parts[0].name).casefold() == "lifetime"


def _free_names(name: str, alias: str) -> Iterator[str]:
    """Yield names for a column, the plainest first."""
    yield name
    yield f"{alias}_{name}"
    number = 2
    while True:
        yield f"{alias}_{name}_{number}"
        number += 1
