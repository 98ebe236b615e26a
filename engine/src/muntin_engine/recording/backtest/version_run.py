"""One of the two versions that are compared: it runs the recorded micro-batches, and writes its results to a file."""

from __future__ import annotations

from pathlib import Path
from time import process_time_ns
from typing import TYPE_CHECKING

import pyarrow as pa

from muntin.errors import ModuleFailedError
from muntin_engine.api.changelogs import fold
from muntin_engine.recording.missing_rows import MissingRows
from muntin_engine.recording.recorded_batch import RecordedBatch
from muntin_engine.recording.replay import Replay
from muntin_engine.wire.arrow_arrays import arrow_array
from muntin_engine.wire.python_values import tuples_of
from muntin_engine.wire.times import as_ticks

if TYPE_CHECKING:
    from muntin_engine.recording.recording import Recording


class VersionRun:
    """A recorded query with one version of its modules, which runs micro-batch by micro-batch.

    It begins without a state. If the recording begins with one, that state was written by the recorded version, and
    another version may not be able to read it.

    Attributes:
        task: The query, as its workers get it.
        processor_ns: The processor time of the micro-batches so far, in nanoseconds.
        state_bytes: The size of the largest state that a micro-batch has left.
    """

    def __init__(self, label: str, recording: Recording, file: Path) -> None:
        """Plan the query of a version.

        Args:
            label: The name of the version in errors.
            recording: The recording, with the modules of the version.
            file: The file to which results are written.

        Raises:
            RecordingError: A module is not here, or cannot run in the query.
        """
        self._label = label
        self._recording = recording
        self._file = file
        # A query may get more aggregates when it is started again, so results have the columns of the last start.
        self.task = recording.task(len(recording.runs) - 1)
        self._run = recording.batches[0].run if recording.batches else 0
        self._replay = Replay(recording.task(self._run))
        self._writer = pa.ipc.new_file(file, self.task.results)
        self.processor_ns = 0
        self.state_bytes = 0

    def process(self, batch: RecordedBatch) -> None:
        """Evaluate a micro-batch, or the end of the stream.

        Raises:
            ModuleFailedError: A module raised an exception, with its key and window; the message names the version.
        """
        if batch.run != self._run:
            self._replay.restart(self._recording.task(batch.run))
            self._run = batch.run
        started = process_time_ns()
        try:
            changes = self._replay.changes(batch)
        except ModuleFailedError as error:
            error.name_place(f"the {self._label} version")
            raise
        self.processor_ns += process_time_ns() - started
        self.state_bytes = max(self.state_bytes, self._replay.state_bytes)
        for table in changes:
            self._writer.write_table(_in_schema(table, self.task.results))

    def results(self, missing: MissingRows | None) -> pa.Table:
        """Return the results that are there in the end, net of revisions and retractions.

        Args:
            missing: The rows that the recording lacks, to leave out results that may have any of them; None if it has
                all rows.
        """
        self._writer.close()
        # The file is mapped into memory, so the system reads rows only as they are needed.
        changes = pa.ipc.open_file(pa.memory_map(str(self._file))).read_all()
        plan = self.task.plan
        results: pa.Table = changes
        if "event_id" in changes.column_names:  # results may change
            results = fold(changes, key=[key.name for key in plan.keys])
        if missing is None:
            return results
        keys = tuples_of(results, [key.name for key in plan.keys])
        extents = results.column(plan.extent_column).combine_chunks()
        starts = as_ticks(extents.field("start")).to_pylist()
        is_complete = [not missing.may_count(key, start) for key, start in zip(keys, starts, strict=True)]
        return results.filter(arrow_array(is_complete, pa.bool_()))

    def close(self) -> None:
        """Close the file of the results."""
        self._writer.close()


def _in_schema(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a table with the columns of a schema; a column that it lacks is null."""
    if table.schema == schema:
        return table
    columns: list[pa.Array | pa.ChunkedArray] = []
    for field in schema:
        if field.name in table.column_names:
            columns.append(table.column(field.name).cast(field.type))
        else:
            columns.append(pa.nulls(len(table), field.type))
    return pa.Table.from_arrays(columns, schema=schema)
