"""A streaming job under test, as a test has it: in this process, or on Spark."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from muntin import LatePolicy
from muntin.errors import QueryError
from muntin_engine.api.one_pass import OnePass
from muntin_engine.api.query import Query
from muntin_engine.tasks.output_blobs import LATE_ROWS, REJECTED_ROWS, RESULTS
from muntin_engine.testing.streaming.plain_rows import Row

if TYPE_CHECKING:
    from muntin_engine.backends.planned_query import PlannedQuery

ROWS: Final = "rows"
"""The name of the only stream of a job."""

OUTPUTS: Final = (RESULTS, REJECTED_ROWS, LATE_ROWS)
"""The outputs whose rows a job under test keeps."""

JobFunction: TypeAlias = Callable[..., Query]
"""A function of the streams of a job that returns its query."""


class StreamingJob(ABC):
    """A streaming job under test; the fixture `streaming` makes it.

    Each micro-batch starts the job anew from its stored state, and nothing else is kept in between. So a job that
    remembers something outside of its state fails here as it would after a restart in production.
    """

    def __init__(self, function: JobFunction, columns: Mapping[str, Sequence[str]]) -> None:
        """Prepare a job that has not started.

        Args:
            function: The function of the job; it takes its streams by name.
            columns: The names of the columns of each stream, by its name.
        """
        self._function = function
        self._columns = columns
        # The rows of each output by the number of their micro-batch: if a micro-batch failed, it comes again, and its
        # rows are replaced.
        self._rows_by_batch: dict[str, dict[int, list[Row]]] = {output: {} for output in OUTPUTS}

    @property
    def results(self) -> list[Row]:
        """All results so far, in the order of their micro-batches."""
        return self._rows_of(RESULTS)

    @property
    def rejected_rows(self) -> list[Row]:
        """All rejected rows so far, with their reasons."""
        return self._rows_of(REJECTED_ROWS)

    @property
    def late_rows(self) -> list[Row]:
        """All late rows so far; none if the job drops them."""
        return self._rows_of(LATE_ROWS)

    def feed(self, *rows: Mapping[str, Any] | Sequence[Any], **streams: Iterable[Any]) -> list[Row]:
        """Run a micro-batch over rows, and return its results.

        Args:
            rows: The rows of the only stream: tuples in the order of its columns, or dicts, whose missing columns are
                null. A timestamp is a text such as `"2024-05-01T08:00:00Z"`, or a datetime.
            streams: The rows of each stream by its name, where there are several.

        Raises:
            QueryError: A stream or column is unknown, or a value does not fit its column.
        """
        rows_by_stream: dict[str, Iterable[Any]] = dict(streams)
        if rows or not streams:  # without any argument it is a micro-batch without rows, of the only stream
            rows_by_stream[ROWS] = rows
        fed_rows: dict[str, list[Row]] = {}
        for stream, stream_rows in rows_by_stream.items():
            if stream not in self._columns:
                expected = ", ".join(f"{name}=[...]" for name in self._columns)
                raise QueryError(f"the job has no stream {stream!r}\n  expected: feed({expected})")
            fed_rows[stream] = [self._by_column(stream, row) for row in stream_rows]
        earlier_count = len(self.results)
        self._process(fed_rows)
        return self.results[earlier_count:]

    def advance(self, to: Any) -> list[Row]:
        """Advance the watermark to a time, and return the results of the micro-batch.

        Args:
            to: The new watermark: a text or a datetime where times are timestamps, else a number.

        Raises:
            QueryError: The job reads another query's results, whose watermark is not an input.
        """
        earlier_count = len(self.results)
        self._advance(to)
        return self.results[earlier_count:]

    def close(self) -> list[Row]:
        """End the stream, and return the results of the windows that were open; the job cannot go on after it.

        Raises:
            QueryError: The job keeps no state, or reads another query's results.
            StateError: There was no micro-batch yet, or the stream was closed before.
        """
        earlier_count = len(self.results)
        self._close()
        return self.results[earlier_count:]

    def restart(self, function: JobFunction) -> None:
        """Go on with another version of the job, as after a deployment.

        Args:
            function: A function of the streams that returns its query.

        Raises:
            StateMismatchError: The new version cannot continue from the stored state.
        """
        self._function = of_named_streams(function) if ROWS in self._columns else function
        self._check()

    @abstractmethod
    def _process(self, rows: Mapping[str, list[Row]]) -> None:
        """Run a micro-batch over rows of streams, each with its values by column."""

    @abstractmethod
    def _advance(self, to: Any) -> None:
        """Run a micro-batch whose only row is punctuation: it moves the watermark to a time."""

    @abstractmethod
    def _close(self) -> None:
        """Run the last micro-batch, which closes the stream."""

    @abstractmethod
    def _check(self) -> None:
        """Check that the job can continue from the stored state."""

    def _query(self, streams: Mapping[str, Any]) -> Query:
        """Start the job: call its function with streams by their names, and return the query.

        Raises:
            QueryError: The job's function does not return one query.
        """
        query: Any = self._function(**streams)
        if isinstance(query, OnePass):
            # It has several queries with results of their own, and a job under test has the results of one query.
            name = next(iter(query.queries))
            raise QueryError(
                "the job's function returns a OnePass, whose queries have results of their own\n"
                f"  test each by itself: streaming(lambda rows: job(rows).queries[{name!r}], ...)"
            )
        if not isinstance(query, Query):
            raise QueryError(
                f"the job's function returns a {type(query).__name__}\n"
                "  expected: a query, such as events(rides, ...).window(...).aggregate(...)"
            )
        return query

    def _by_column(self, stream: str, row: Mapping[str, Any] | Sequence[Any]) -> Row:
        """Return the values of a row by the names of their columns.

        Raises:
            QueryError: The row has more values than the stream has columns, or a column that it does not have.
        """
        columns = self._columns[stream]
        # The columns that a tuple is too short for are null, and so are those that a dict lacks. A tuple that is too
        # long loses values here, and is refused below by its length.
        values = row if isinstance(row, Mapping) else dict(zip(columns, row, strict=False))
        if not set(values) <= set(columns) or len(row) > len(columns):
            raise QueryError(f"the row {row!r} does not fit the columns {', '.join(columns)}")
        return dict(values)

    def _rows_of(self, output: str) -> list[Row]:
        """Return the rows of an output, in the order of their micro-batches."""
        rows: list[Row] = []
        for _, batch_rows in sorted(self._rows_by_batch[output].items()):
            rows += batch_rows
        return rows


def of_named_streams(function: JobFunction) -> JobFunction:
    """Wrap a job's function that takes its only stream by position, so that it takes the stream by name."""
    return lambda **streams: function(streams[ROWS])


def check_advances(query: PlannedQuery) -> None:
    """Refuse to move the watermark of a query that reads another one's results.

    Raises:
        QueryError: The query reads the results of another one.
    """
    if query.inner:
        raise QueryError(
            "advance() moves the watermark of events, and this job reads the results of another query\n"
            "  feed a row that is far enough ahead, or close() the stream"
        )


def has_late_rows(query: PlannedQuery) -> bool:
    """Return True unless a query drops the late rows of all its inputs."""
    return any(plan_input.late.policy is not LatePolicy.DROP for plan_input in query.plan.inputs)
