"""The answers that a query writer's calls get for tables in this process, before there is a query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from muntin_engine.backends.backend import Inputs, UnitedStreams
from muntin_engine.backends.local.frames.frame_kinds import kind_of
from muntin_engine.backends.local.frames.local_frame import LocalFrame, opened
from muntin_engine.backends.local.inputs.column_reader import LocalColumnReader
from muntin_engine.backends.local.inputs.declared_frame import DeclaredFrame
from muntin_engine.backends.local.inputs.payload_columns import with_payload
from muntin_engine.backends.local.inputs.united_streams import unite
from muntin_engine.backends.local.streams.clock import clock_stream
from muntin_engine.backends.planning.needs_spark import NeedsSparkError
from muntin_engine.backends.planning.read_columns import check_condition, keys_of, orders_by_name, ranges_of
from muntin_engine.plan.request import SqlExpression

if TYPE_CHECKING:
    import pyarrow as pa

    from muntin import Duration
    from muntin_engine.plan.request import ColumnLike, InputRequest


class LocalInputs(LocalColumnReader, Inputs):
    """Answers for data frames, Arrow data and files."""

    def takes(self, thing: object) -> bool:
        """True if an object is a table of a kind that is read in this process."""
        return isinstance(thing, LocalFrame) or kind_of(thing) is not None

    def opened(self, df: Any, schema: pa.Schema | None = None) -> LocalFrame:
        """Open a table, so that its columns are described only once; with a schema, it has only declared columns."""
        frame = opened(df)
        return frame if schema is None else DeclaredFrame.of(frame, schema)

    def column_names(self, df: Any) -> list[str]:
        """Return the names of the columns of a table."""
        return list(opened(df).schema.names)

    def check_columns(
        self, df: Any, keys: Sequence[ColumnLike], order: ColumnLike | tuple[ColumnLike, ...] | None
    ) -> None:
        """Refuse keys, and columns that order rows, which a table does not have."""
        _ = opened(df).schema  # only for its error if the table cannot be read, which keys alone may not show
        keys_of(self, df, keys)
        self.look_up(df, orders_by_name(order), readers={})

    def condition(self, df: Any, condition: ColumnLike, call: str = "where({})") -> Any:
        """Check a condition on the rows of a table, which has to be text, and return it as an expression in SQL."""
        if not isinstance(condition, str):
            raise NeedsSparkError(
                f"the condition {condition!s}",
                f"{call.format('')} takes a condition as text in SQL, such as 'km > 2', got {condition!s}",
            )
        column = SqlExpression(condition)
        reader_name = call.partition("(")[0]  # errors name the call without its arguments
        (description,) = self.look_up(df, {reader_name: column}, readers={}).values()
        check_condition(description, call)
        return column

    def key_ranges(
        self,
        df: Any,
        keys: Sequence[ColumnLike],
        key_ranges: Mapping[str, tuple[ColumnLike | None, ColumnLike | None]],
    ) -> Mapping[str, ColumnLike]:
        """Name the columns that bound keys."""
        return ranges_of(self, df, keys, key_ranges)

    def payload_columns(self, df: Any, event_columns: Sequence[str]) -> Mapping[str, Any]:
        """Return the payload columns of events by name: all but the columns that make rows events."""
        return {name: name for name in self.column_names(df) if name not in event_columns}

    def with_payload(
        self,
        df: Any,
        change: ColumnLike | None,
        event_columns: Sequence[str],
        call: str,
        names: Sequence[str],
        columns: Mapping[str, ColumnLike],
        *,
        keeps_others: bool,
    ) -> LocalFrame:
        """Compute columns of events, in the rows that have a payload."""
        return with_payload(opened(df), change, event_columns, call, names, columns, keeps_others=keeps_others)

    def unite(self, streams: Mapping[str, InputRequest]) -> UnitedStreams:
        """Make one stream of several."""
        return unite(streams)

    def clock(self, df: Any, every: Duration) -> Any:
        """Return the reading of this machine's clock in the micro-batch of a stream; tables are refused before."""
        micro_batch = opened(df).micro_batch
        assert micro_batch is not None, "a table has no clock"
        return clock_stream(every, micro_batch)
