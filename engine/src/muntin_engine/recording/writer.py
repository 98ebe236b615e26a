"""The writing of a recording, by whoever starts a query and commits its micro-batches.

A recording is a folder: `runs/` has a file for each start of the query, with its plan; `rows/` the rows of each map
task of each micro-batch; and `batches/` a file for each micro-batch that happened, which names the files of its rows.
Whatever fails, the query goes on: the recording says where it ends and why.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import pyarrow as pa

from muntin_engine.errors import RecordingError
from muntin_engine.exchange.recorded_rows import FAILED, ROWS, STOPPED, UNFINISHED, RowRecording, count_rows
from muntin_engine.plan.plain_data import written
from muntin_engine.recording.layout import BATCHES, RUNS, RecordedRun, write_batch, write_json, write_run
from muntin_engine.recording.recorded_batch import RecordedBatch
from muntin_engine.recording.recorder import Recorder
from muntin_engine.recording.replay import totals_of

_LOG: Final = logging.getLogger("muntin.recording")
_ARRIVED: Final = ("accepted", "late", "shed", "rejected")


class RecordingWriter:
    """Writes a run of a query: how it begins, and which micro-batches happen.

    Attributes:
        rows: What map tasks record, and where.
    """

    def __init__(self, recorder: Recorder) -> None:
        """Take what is recorded, and where; nothing is written yet."""
        self._recorder = recorder
        self._folder = recorder.folder
        self._runs = sorted((self._folder / RUNS).glob("*.json"))
        self.rows = RowRecording(str(self._folder), len(self._runs), recorder.key_tuples)
        self._bytes = sum(file.stat().st_size for file in (self._folder / ROWS).glob("*/*"))

    def begin(self, query: Mapping[str, Any], query_id: str, last: int, cells: Callable[[], pa.Table]) -> None:
        """Write what the query is, and the state that it begins with where the recording lacks it.

        Args:
            query: The query as data, see `query_to_data`.
            query_id: Spark's id of it; empty where there is none yet.
            last: The last micro-batch that was committed; -1 if there is none.
            cells: Reads the state after that: `CELLS`.

        Raises:
            RecordingError: The folder has the recording of another query, or of a later time of this one.
        """
        folder, recorded = self._folder, self._check(query_id, last)
        stopped = folder / STOPPED
        is_full = stopped.exists() and json.loads(stopped.read_text(encoding="utf-8"))["is_full"]
        if is_full:
            _LOG.warning("the recording %s is full, and nothing is added to it", folder)
        elif stopped.exists():
            stopped.unlink()
            recorded = -1  # rows are missing since
        run = RecordedRun(self.rows.run, query, last + 1)
        state = cells() if last >= 0 and recorded < last and not is_full else None
        write_run(folder, run, state, written(self._recorder.key_tuples))

    def _check(self, query_id: str, last: int) -> int:
        """Return the last micro-batch that is recorded; raise unless a query can go on from there."""
        batches = sorted((self._folder / BATCHES).glob("*.json"))
        if not batches:
            return -1
        recorded = json.loads(batches[-1].read_text(encoding="utf-8"))
        why = ""
        if recorded["query_id"] != query_id:
            why = f"the recording of another query, {recorded['query_id']}"
        elif recorded["batch"] > last + 1:
            why = f"micro-batches up to {recorded['batch']}, and the checkpoint up to {last}"
        if why:
            raise RecordingError(f"{self._folder} has {why}\n  give record= another folder, or remove this one")
        number: int = recorded["batch"]
        return number

    def commit(self, batch: int, query_id: str, metrics: Iterable[tuple[str, int]], *, is_end: bool = False) -> None:
        """Say that a micro-batch happened, and which rows are its own.

        Args:
            batch: Its number.
            query_id: Spark's id of the query.
            metrics: The metrics of its buckets.
            is_end: True if it is the end of the stream.
        """
        if (self._folder / STOPPED).exists():
            return
        totals = totals_of(metrics)
        try:
            place = self._folder / ROWS / f"{batch:08}"
            own = sorted(place.glob(f"{self.rows.run:04}-*")) if place.exists() else []
            failed = [file for file in own if file.suffix == FAILED]
            files = [file for file in own if file.suffix not in (FAILED, UNFINISHED)]
            if failed:
                self._stop(batch, f"the rows of micro-batch {batch} could not be written: {failed[0].read_text()}")
                return
            if not files and not is_end and any(totals.get(name) for name in _ARRIVED):
                self._stop(
                    batch, f"no worker has written the rows of micro-batch {batch} to a folder that is seen here"
                )
                return
            for file in own:
                if file.suffix == UNFINISHED:
                    file.unlink()
            told = RecordedBatch(batch, self.rows.run, totals, is_end=is_end)
            write_batch(self._folder, told, {file.name: count_rows(file) for file in files}, query_id)
            self._bytes += sum(file.stat().st_size for file in files)
            if self._bytes >= self._recorder.bytes_limit:
                self._stop(batch, f"it has reached {self._recorder.most_bytes} with micro-batch {batch}", is_full=True)
        except OSError as error:
            self._stop(batch, f"micro-batch {batch} could not be committed: {error}")

    def _stop(self, batch: int, reason: str, *, is_full: bool = False) -> None:
        """End the recording; the query goes on."""
        _LOG.warning("the recording %s ends, and the query goes on: %s", self._folder, reason)
        try:
            write_json(self._folder / STOPPED, {"batch": batch, "reason": reason, "is_full": is_full})
        except OSError as error:
            _LOG.warning("the recording %s cannot say so itself: %s", self._folder, error)
