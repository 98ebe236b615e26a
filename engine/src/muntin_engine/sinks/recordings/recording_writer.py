"""The writing of a recording on the driver, which starts a query and commits its micro-batches.

A recording is a folder: `runs/` has a file for each start of the query, with its plan; `rows/` the rows of each map
task of each micro-batch; and `batches/` a file for each micro-batch that was committed, which names the files of its
rows. Where the query reads the results of others, `upstream/` has a recording of each, with `passed_on/` in it: those
results, row for row as the reading query got them in the task of the same number.
If a file cannot be written, the query goes on, and `stopped.json` says where the recording ends and why.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa

from muntin.errors import QueryError
from muntin_engine.errors import RecordingError
from muntin_engine.plan.plan_as_data import unwritten_parameters
from muntin_engine.plan.values_as_data import value_to_data
from muntin_engine.sinks.recordings.metric_totals import totals_of
from muntin_engine.sinks.recordings.recorder import Recorder
from muntin_engine.sinks.recordings.recording_files import BATCHES, RUNS, UPSTREAM, write_batch, write_json, write_run
from muntin_engine.tasks.recorded_rows import (
    FAILED,
    PASSED_ON,
    ROWS,
    STOPPED,
    UNFINISHED,
    RowRecording,
    count_rows,
    is_key,
    no_key_message,
)
from muntin_engine.wire.task_as_data import task_to_data

if TYPE_CHECKING:
    from muntin_engine.plan.columns import NamedColumn
    from muntin_engine.plan.plan import Plan
    from muntin_engine.wire.task_payload import TaskPayload

_LOG: Final = logging.getLogger("muntin.recording")
_ROW_COUNTS: Final = ("accepted", "late", "shed", "rejected")
"""The metrics that count rows: if one is not zero, tasks must have recorded rows."""

_NO_BATCH: Final = -1
"""The number of the last micro-batch where there is none."""


class RecordedQuery(NamedTuple):
    """A query that starts, and is recorded.

    Attributes:
        data: The query as data, see `task_to_data`.
        read_cells: Reads the query's state after the last committed micro-batch, as a table with the columns `CELLS`.
        reads: The queries whose results the query reads, by their numbers among the inner queries of the recording.
    """

    data: Mapping[str, Any]
    read_cells: Callable[[], pa.Table]
    reads: tuple[int, ...] = ()

    @classmethod
    def of(
        cls, plan: Plan, task: TaskPayload, read_cells: Callable[[], pa.Table], reads: tuple[int, ...] = ()
    ) -> RecordedQuery:
        """Return a query as data, and log a warning for each parameter of it that data cannot hold.

        Args:
            plan: The plan of the query, as the driver has it.
            task: The payload that is sent to its workers.
            read_cells: Reads the state of the query after the last committed micro-batch, as a table.
            reads: The queries whose results the query reads, by their numbers among the inner queries of the recording.
        """
        data = task_to_data(plan, task)
        for parameter in unwritten_parameters(data["plan"]):
            _LOG.warning("a recording cannot hold a part of the query, which a replay has to be given: %s", parameter)
        return cls(data, read_cells, reads)


def check_keys(recorder: Recorder, columns: Sequence[NamedColumn], types: Sequence[pa.DataType]) -> None:
    """Refuse the keys of a recorder that no row of a query can have.

    Args:
        recorder: The recorder.
        columns: The key columns of the query.
        types: The Arrow types in which they travel.

    Raises:
        QueryError: A key has more or fewer values than there are key columns, or a value of another type.
    """
    for key in recorder.key_tuples or ():
        if not is_key(key, types):
            raise QueryError(no_key_message(key[0] if len(key) == 1 else key, columns))


class RecordingWriter:
    """Writes a run of a query: its start, and the micro-batches that are committed.

    The query may read the results of other queries, its inner queries. Each of these has a recording of its own in the
    folder `upstream/`. An inner query comes after the queries whose results it reads itself.

    Attributes:
        rows: The folder of the recording and the keys, for the map tasks, which record rows.
        inner_rows: The same for the map tasks of each inner query.
    """

    def __init__(self, recorder: Recorder, inner_queries: int = 0) -> None:
        """Open a recording; nothing is written yet.

        Args:
            recorder: The settings of the recording.
            inner_queries: The number of inner queries.
        """
        self._recorder = recorder
        self._folder = recorder.folder
        run = len([*(self._folder / RUNS).glob("*.json")])  # each earlier run has a file
        self.rows = RowRecording(str(self._folder), run, recorder.key_tuples)
        inner_folders = [self._folder / UPSTREAM / f"{number:04}" for number in range(inner_queries)]
        self.inner_rows = tuple(RowRecording(str(folder), run) for folder in inner_folders)
        self._bytes = sum(file.stat().st_size for file in self._row_files(batch="*", task="*"))

    def begin(
        self, query: RecordedQuery, query_id: str, last_commit: int, inner_queries: Sequence[RecordedQuery] = ()
    ) -> None:
        """Write the start of the query and of its inner queries.

        The state that the query begins with is written too, unless a replay of the recorded micro-batches computes it.

        Args:
            query: The query.
            query_id: The id that Spark gave the query; empty if it has none yet.
            last_commit: The last micro-batch that was committed; -1 if there is none.
            inner_queries: The inner queries, in the order of `inner_rows`.

        Raises:
            RecordingError: The folder has the recording of another query, or of a later time of this one.
        """
        last_recorded = self._last_recorded(query_id, last_commit)
        stopped_file = self._folder / STOPPED
        is_stopped = stopped_file.exists()
        is_full = is_stopped and json.loads(stopped_file.read_text(encoding="utf-8"))["is_full"]
        if is_full:
            _LOG.warning("the recording %s is full, and nothing is added to it", self._folder)
        elif is_stopped:
            # The recording had stopped because of an error, and lacks the rows since. It goes on with the state of now,
            # as if it began here.
            for folder in self._folders:
                (folder / STOPPED).unlink(missing_ok=True)
            last_recorded = _NO_BATCH

        # A replay runs all recorded micro-batches one after another. If micro-batches are missing between the last
        # recorded one and this start, it needs the state with which the query starts now.
        needs_state = last_commit > _NO_BATCH and last_recorded < last_commit and not is_full
        all_queries = (*inner_queries, query)
        row_recordings = (*self.inner_rows, self.rows)
        for recorded_query, row_recording in zip(all_queries, row_recordings, strict=True):
            write_run(
                Path(row_recording.folder),
                number=row_recording.run,
                query=recorded_query.data,
                first_batch=last_commit + 1,
                reads=recorded_query.reads,
                cells=recorded_query.read_cells() if needs_state else None,
                keys=value_to_data(row_recording.keys),
            )

    def _last_recorded(self, query_id: str, last_commit: int) -> int:
        """Return the last micro-batch that is recorded; -1 if there is none.

        Args:
            query_id: The id of the query that is to be recorded.
            last_commit: The last micro-batch that its checkpoint has committed.

        Raises:
            RecordingError: The recording is of another query, or ahead of the checkpoint.
        """
        files = sorted((self._folder / BATCHES).glob("*.json"))
        if not files:
            return _NO_BATCH
        batch = json.loads(files[-1].read_text(encoding="utf-8"))
        number: int = batch["batch"]
        obstacle = ""
        if batch["query_id"] != query_id:
            obstacle = f"the recording of another query, {batch['query_id']}"
        elif number > last_commit + 1:  # one more than the checkpoint is usual: that micro-batch comes again
            obstacle = f"micro-batches up to {number}, and the checkpoint up to {last_commit}"
        if obstacle:
            raise RecordingError(f"{self._folder} has {obstacle}\n  give record= another folder, or remove this one")
        return number

    def commit(self, batch: int, query_id: str, metrics: Iterable[tuple[str, int]], *, is_end: bool = False) -> None:
        """Record that a micro-batch was committed, and which files have its rows; nothing if the recording has stopped.

        Args:
            batch: The number of the micro-batch.
            query_id: The id that Spark gave the query.
            metrics: The metrics of its buckets, by name.
            is_end: True for the micro-batch that closes the stream.
        """
        if (self._folder / STOPPED).exists():
            return
        try:
            self._commit(batch, query_id, totals_of(metrics), is_end=is_end)
        except OSError as error:
            self._stop(batch, f"micro-batch {batch} could not be committed: {error}")

    def _commit(self, batch: int, query_id: str, metrics: Mapping[str, int], *, is_end: bool) -> None:
        """Write the file of a micro-batch; end the recording if rows are missing, or if it has reached its size.

        Args:
            batch: The number of the micro-batch.
            query_id: The id that Spark gave the query.
            metrics: The metrics of the query, added up over its buckets.
            is_end: True for the micro-batch that closes the stream.

        Raises:
            OSError: A file cannot be written.
        """
        failed: list[Path] = []
        unfinished: list[Path] = []
        files: list[Path] = []
        for file in self._row_files(batch=f"{batch:08}", task=f"{self.rows.run:04}-*"):
            if file.suffix == FAILED:
                failed.append(file)
            elif file.suffix == UNFINISHED:
                unfinished.append(file)
            else:
                files.append(file)

        if failed:
            reason = failed[0].read_text(encoding="utf-8")
            self._stop(batch, f"the rows of micro-batch {batch} could not be written: {reason}")
            return
        # If the micro-batch had rows and no file is here, the workers have written them to disks of their own. The
        # micro-batch that closes the stream reads no rows, whatever its metrics count.
        has_rows = any(metrics.get(name) for name in _ROW_COUNTS)
        if has_rows and not files and not is_end:
            reason = f"no worker has written the rows of micro-batch {batch} to a folder that is seen here"
            self._stop(batch, reason)
            return

        for file in unfinished:  # of attempts at a task that failed, which Spark ran again
            file.unlink()
        for folder in self._folders:
            # The path of a file is `rows/<micro-batch>/<name>` in the folder of its query.
            files_of_query = [file for file in files if file.parent.parent == folder / ROWS]
            write_batch(
                folder,
                number=batch,
                run=self.rows.run,
                query_id=query_id,
                metrics=metrics if folder == self._folder else {},  # they are not those of the inner queries
                files={file.name: count_rows(file) for file in files_of_query},
                is_end=is_end,
            )
        self._bytes += sum(file.stat().st_size for file in files)
        if self._bytes >= self._recorder.bytes_limit:
            self._stop(batch, f"it has reached {self._recorder.most_bytes} with micro-batch {batch}", is_full=True)

    @property
    def _folders(self) -> list[Path]:
        """The folders of the inner queries, and the recording itself as the last one.

        In this order a micro-batch is written: a reader takes it for recorded if the last folder has it.
        """
        return [Path(rows.folder) for rows in (*self.inner_rows, self.rows)]

    def _row_files(self, batch: str, task: str) -> list[Path]:
        """Return the files with rows that tasks have recorded, of the query and of its inner queries.

        They are rows that map tasks have read, and results that an inner query has passed on.

        Args:
            batch: A pattern for the numbers of micro-batches, such as `*`.
            task: A pattern for the names of files, which begin with the number of the run.
        """
        files: list[Path] = []
        for folder in self._folders:
            for kind in (ROWS, PASSED_ON):
                files += (folder / kind).glob(f"{batch}/{task}")
        return sorted(files)

    def _stop(self, batch: int, reason: str, *, is_full: bool = False) -> None:
        """End the recording by a file that says why; the query goes on.

        Args:
            batch: The micro-batch with which the recording ends.
            reason: The reason, as a sentence.
            is_full: True if the recording has reached its size, so that no later run goes on with it.
        """
        _LOG.warning("the recording %s ends, and the query goes on: %s", self._folder, reason)
        try:
            for folder in self._folders:
                write_json(folder / STOPPED, {"batch": batch, "reason": reason, "is_full": is_full})
        except OSError as error:
            _LOG.warning("the recording %s cannot say so itself: %s", self._folder, error)
