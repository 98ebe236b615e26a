"""The folder of a recording, read again, and written as a whole."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow.parquet as pq

from muntin import EARLIEST
from muntin_engine.errors import RecordingError
from muntin_engine.recording.recorded_batch import RecordedBatch
from muntin_engine.sinks.recordings.files import BATCHES, BEFORE, FORMAT, RUNS, write_batch, write_run
from muntin_engine.state.bucket_state import query_of
from muntin_engine.state.cells import METADATA, split, unseal
from muntin_engine.state.codec import Codec
from muntin_engine.tasks.recorded_rows import ROWS, rows_file, write_part
from muntin_engine.time.inputs_progress import InputsProgress

CellsOfBuckets: TypeAlias = Mapping[int, Mapping[str, bytes]]


@dataclass(frozen=True)
class RecordedRun:
    """One start of the query.

    Attributes:
        number: Its number, from 0.
        data: The query as data.
        first_batch: The number of its first micro-batch.
        cells_file: The state that it began with, unless that is what the micro-batches before have left.
        reads: The places, among the queries before, of those whose results it reads itself.
    """

    number: int
    data: Mapping[str, Any]
    first_batch: int = 0
    cells_file: Path | None = None
    reads: tuple[int, ...] = ()

    def cells(self) -> CellsOfBuckets:
        """Return the state that it began with, by bucket and name."""
        found: dict[int, dict[str, bytes]] = {}
        for row in pq.read_table(self.cells_file).to_pylist():
            found.setdefault(row["bucket"], {})[row["name"]] = row["data"]
        return found

    def newest(self) -> int:
        """Return the largest start of an event in that state, or before it."""
        codec = Codec()
        metadata = (split(unseal(METADATA, named[METADATA]))[1] for named in self.cells().values() if METADATA in named)
        known = (InputsProgress.from_data(data) for _, data in (query_of(one, codec) for one in metadata) if data)
        return max((progress.least.newest for progress in known), default=EARLIEST)


def read_runs(folder: Path) -> Iterator[RecordedRun]:
    """Yield the starts of the query of a recording, in order.

    Raises:
        RecordingError: The folder has none, or is of a format that this version does not read.
    """
    files = sorted((folder / RUNS).glob("*.json"))
    if not files:
        raise RecordingError(
            f"{folder} is not a recording: there is no {RUNS}/0000.json\n"
            "  expected: the folder that query.write(record=...) was given"
        )
    for number, file in enumerate(files):
        data = json.loads(file.read_text(encoding="utf-8"))
        if data["format"] != FORMAT:
            raise RecordingError(
                f"{file} has the format {data['format']}, and this version reads {FORMAT}\n"
                f"  use muntin-engine {data['query']['muntin']}, which wrote it"
            )
        cells = folder / RUNS / data["cells"] if data["cells"] else None
        yield RecordedRun(number, data["query"], data["first_batch"], cells, tuple(data.get("reads", ())))


def folders_before(folder: Path) -> list[Path]:
    """Return the folders of the recordings of the queries before, each after those that it reads itself."""
    return sorted((folder / BEFORE).glob("[0-9]*"))


def read_batches(folder: Path) -> Iterator[RecordedBatch]:
    """Yield the micro-batches of a recording, in order; their rows are read later."""
    for file in sorted((folder / BATCHES).glob("*.json")):
        data = json.loads(file.read_text(encoding="utf-8"))
        files = tuple(folder / ROWS / f"{data['batch']:08}" / name for name in data["files"])
        yield RecordedBatch(data["batch"], data["run"], data["metrics"], files, data["is_end"])


def read_unfinished(folder: Path, batches: Sequence[RecordedBatch], run: int) -> RecordedBatch | None:
    """Return the micro-batch after some, of which rows came and which was not committed: one that failed, say.

    Args:
        folder: The recording.
        batches: Those that were committed.
        run: The number of the last start of the query.
    """
    number = batches[-1].number + 1 if batches else None
    started = sorted(int(place.name) for place in (folder / ROWS).glob("[0-9]*"))
    if number is None and started:
        number = started[-1]
    files = () if number is None else tuple(sorted((folder / ROWS / f"{number:08}").glob(f"{run:04}-*.parquet")))
    return RecordedBatch(number or 0, run, {}, files) if files else None


def write_recording(folder: Path, runs: Sequence[RecordedRun], batches: Sequence[RecordedBatch]) -> None:
    """Write a recording into a new folder.

    Raises:
        RecordingError: There is something in it.
    """
    if folder.exists() and any(folder.iterdir()):
        raise RecordingError(f"{folder} is there already\n  name another folder, or remove this one")
    for run in runs:
        cells = None if run.cells_file is None else pq.read_table(run.cells_file)
        write_run(folder, run.number, run.data, run.first_batch, reads=run.reads, cells=cells)
    for batch in batches:
        files: dict[str, int] = {}
        for part in batch.parts:
            file = rows_file(folder, batch.number, batch.run, part.partition)
            write_part(file, part)
            files[file.name] = part.rows.num_rows
        write_batch(
            folder,
            batch.number,
            batch.run,
            query_id="",
            metrics=batch.metrics,
            files=files,
            is_end=batch.is_end,
        )
