"""Read the folder of a recording, and write one as a whole."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow.parquet as pq

from muntin_engine.errors import RecordingError
from muntin_engine.recording.recorded_batch import RecordedBatch
from muntin_engine.sinks.recordings.recording_files import BATCHES, FORMAT, RUNS, UPSTREAM, write_batch, write_run
from muntin_engine.tasks.recorded_rows import ROWS, rows_file, write_part

CellsOfBuckets: TypeAlias = Mapping[int, Mapping[str, bytes]]
"""The cells of the state by bucket, and of each bucket by name."""


@dataclass(frozen=True)
class RecordedRun:
    """One start of the query.

    Attributes:
        number: The number of the start, from 0.
        data: The query as data.
        first_batch: The number of the first micro-batch after the start.
        cells_file: The file of the state that it began with; None if that is the state that the recorded micro-batches
            before it have left.
        reads: The places of the queries whose results it reads itself, among all upstream queries.
    """

    number: int
    data: Mapping[str, Any]
    first_batch: int = 0
    cells_file: Path | None = None
    reads: tuple[int, ...] = ()

    def cells(self) -> CellsOfBuckets:
        """Read the cells of the state that it began with."""
        cells: dict[int, dict[str, bytes]] = {}
        for row in pq.read_table(self.cells_file).to_pylist():
            cells.setdefault(row["bucket"], {})[row["name"]] = row["data"]
        return cells


def read_runs(folder: Path) -> Iterator[RecordedRun]:
    """Yield the starts of the query of a recording, in order.

    Raises:
        RecordingError: The folder is no recording, or has a format that this version does not read.
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
        cells_file = folder / RUNS / data["cells"] if data["cells"] else None
        reads = tuple(data.get("reads", ()))
        yield RecordedRun(
            number=number,
            data=data["query"],
            first_batch=data["first_batch"],
            cells_file=cells_file,
            reads=reads,
        )


def upstream_folders(folder: Path) -> list[Path]:
    """Return the folders of the recordings of upstream queries, each after those whose results it reads itself."""
    return sorted((folder / UPSTREAM).glob("[0-9]*"))


def read_batches(folder: Path) -> Iterator[RecordedBatch]:
    """Yield the micro-batches of a recording, in order; their rows are read later."""
    for file in sorted((folder / BATCHES).glob("*.json")):
        data = json.loads(file.read_text(encoding="utf-8"))
        files = tuple(folder / ROWS / f"{data['batch']:08}" / name for name in data["files"])
        yield RecordedBatch(
            number=data["batch"],
            run=data["run"],
            metrics=data["metrics"],
            files=files,
            is_end=data["is_end"],
        )


def read_unfinished(folder: Path, batches: Sequence[RecordedBatch], run: int) -> RecordedBatch | None:
    """Return the micro-batch after the committed ones, which has rows and failed, for example; None if there is none.

    Args:
        folder: The folder of the recording.
        batches: The micro-batches that were committed.
        run: The number of the last start of the query.
    """
    if batches:
        number = batches[-1].number + 1
    else:
        # Nothing was committed. The first micro-batch need not have the number 0, so its folder of rows is looked for.
        numbers_with_rows = [int(rows_folder.name) for rows_folder in (folder / ROWS).glob("[0-9]*")]
        if not numbers_with_rows:
            return None
        number = max(numbers_with_rows)
    files = sorted((folder / ROWS / f"{number:08}").glob(f"{run:04}-*.parquet"))
    return RecordedBatch(number, run, files=tuple(files)) if files else None


def write_recording(folder: Path, runs: Sequence[RecordedRun], batches: Sequence[RecordedBatch]) -> None:
    """Write a recording into a new folder.

    Raises:
        RecordingError: The folder is not empty.
    """
    if folder.exists() and any(folder.iterdir()):
        raise RecordingError(f"{folder} is there already\n  name another folder, or remove this one")
    for run in runs:
        cells = None if run.cells_file is None else pq.read_table(run.cells_file)
        write_run(folder, run.number, run.data, run.first_batch, reads=run.reads, cells=cells)
    for batch in batches:
        rows_by_file: dict[str, int] = {}
        for part in batch.parts:
            file = rows_file(folder, batch.number, batch.run, part.partition)
            write_part(file, part)
            rows_by_file[file.name] = part.rows.num_rows
        write_batch(
            folder,
            batch.number,
            batch.run,
            query_id="",
            metrics=batch.metrics,
            files=rows_by_file,
            is_end=batch.is_end,
        )
