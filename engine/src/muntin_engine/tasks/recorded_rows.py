"""The projected rows of one map task in one micro-batch, as a file of a recording.

A file is Parquet. Its metadata have what the task told all buckets about the progress of the input, so that a part of
the rows can be replayed under the progress that all of them made.
"""

from __future__ import annotations

import base64
import json
import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from muntin_engine.core.changes import Progress
from muntin_engine.tasks.change_kinds import CHANGES, CLOCK, CLOSE, PUNCTUATE, PUNCTUATE_KEYS, SIGNAL
from muntin_engine.wire.value_flags import flags

ROWS: Final = "rows"
PASSED_ON: Final = "passed_on"
"""The folder of the results that another query of the same recording reads, beside that of the rows."""

NTH: Final = "nth"
"""The column with the place of a row among those that its task was given."""

STOPPED: Final = "stopped.json"
"""The file in a recording that says that it goes no further, and why."""

UNFINISHED: Final = ".part"
FAILED: Final = ".failed"

_TOLD: Final = b"muntin.told"
_OF_NO_KEY: Final = [CHANGES[kind] for kind in (PUNCTUATE_KEYS, PUNCTUATE, CLOSE, CLOCK, SIGNAL)]
_LOG: Final = logging.getLogger("muntin.recording")


class SideTold(NamedTuple):
    """What a map task told all buckets about one input: the columns of the exchange for it.

    Attributes:
        progress: The progress that its rows carry.
        observed: What it saw of each source, as `pack_observations` packs it; None if nothing.
        patterns: The patterns of keys that are complete up to a time, as `pack_patterns` packs them.
    """

    progress: Progress
    observed: bytes | None = None
    patterns: bytes | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """What a map task told all buckets.

    Attributes:
        sides: For each input.
        signals: The names of the signals among its rows.
    """

    sides: tuple[SideTold, ...] = ()
    signals: tuple[str, ...] = ()

    def to_json(self) -> str:
        """Return it as JSON, from which `from_json` makes it again."""
        sides = [[list(side.progress), _text(side.observed), _text(side.patterns)] for side in self.sides]
        return json.dumps({"sides": sides, "signals": list(self.signals)})

    @classmethod
    def from_json(cls, text: str | bytes) -> Told:
        """Return what `to_json` wrote."""
        data = json.loads(text)
        sides = (SideTold(Progress(*some), _bytes(observed), _bytes(told)) for some, observed, told in data["sides"])
        return cls(tuple(sides), tuple(data["signals"]))


def _text(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode("ascii")


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


@dataclass(frozen=True, slots=True)
class RowRecording:
    """Where the rows of a query are recorded, and which; it travels to the workers.

    Attributes:
        folder: The folder of the recording, which all workers see.
        run: The number of this start of the query.
        keys: The keys whose rows are recorded, each a tuple; None for those of all. Rows of no key always are.
    """

    folder: str
    run: int
    keys: tuple[tuple[Any, ...], ...] | None = None

    def of_task(self, batch: int, partition: int, kind: str = ROWS) -> RecordedRows | None:
        """Return the file of a task's rows, or of the results that it passes on; None if the recording has stopped."""
        if (Path(self.folder) / STOPPED).exists():
            return None
        return RecordedRows(rows_file(Path(self.folder), batch, self.run, partition, kind), self.keys)


def rows_file(folder: Path, batch: int, run: int, partition: int, kind: str = ROWS) -> Path:
    """Return where the rows of a task are."""
    return folder / kind / f"{batch:08}" / f"{run:04}-{partition:05}.parquet"


class RecordedRows:
    """The file that a task writes its rows to; it is put in its place when it is complete.

    A failure to write ends the file and not the task: a mark beside it says so, and whoever commits the micro-batch
    finds it.
    """

    def __init__(self, file: Path, keys: Sequence[tuple[Any, ...]] | None = None) -> None:
        self._file = file
        self._keys = keys
        self._unfinished = file.with_name(f"{file.stem}-{os.getpid()}-{id(self):x}{UNFINISHED}")
        self._writer: pq.ParquetWriter | None = None
        self._has_failed = False
        self._taken = 0

    def take(self, batch: pa.RecordBatch) -> None:
        """Write some rows.

        Cost: 35 ns per row of three columns of numbers, 90 with a key of text and a fourth; on disk a half, or a third,
        of the memory that they take.
        """
        if self._has_failed:
            return
        try:
            self._write(batch)
        except (OSError, pa.ArrowException) as error:
            self._fail(error)

    def finish(self, sides: Iterable[tuple[Progress, bytes | None, bytes | None]], signals: Iterable[str]) -> None:
        """Put the file in its place, with what the task told about progress, see `Told`. Without rows there is none."""
        if self._has_failed or self._writer is None:
            return
        told = Told(tuple(SideTold(*side) for side in sides), tuple(sorted(signals)))
        try:
            self._writer.add_key_value_metadata({_TOLD: told.to_json().encode()})
            self._writer.close()
            self._unfinished.replace(self._file)
        except (OSError, pa.ArrowException) as error:
            self._fail(error)

    def _write(self, batch: pa.RecordBatch) -> None:
        if self._keys is not None:
            batch = batch.append_column(NTH, pa.array(range(self._taken, self._taken + len(batch)), pa.int32()))
            self._taken += len(batch)
        if self._writer is None:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._writer = _writer(self._unfinished, batch.schema)
        self._writer.write_batch(batch if self._keys is None else batch.filter(is_of_keys(batch, self._keys)))

    def _fail(self, error: Exception) -> None:
        self._has_failed = True
        _LOG.warning("rows cannot be recorded, and the query goes on: %s", error)
        try:
            self._file.with_suffix(FAILED).write_text(f"{type(error).__name__}: {error}")
        except OSError:  # then whoever commits the micro-batch finds no file at all
            return


def _writer(file: Path, schema: pa.Schema) -> pq.ParquetWriter:
    """Return what writes rows in the encodings that cost least; statistics and dictionaries of numbers double that."""
    texts = [part.name for part in schema if pa.types.is_string(part.type)]
    ticks = [part.name for part in schema if pa.types.is_timestamp(part.type) or part.type in (pa.int32(), pa.int64())]
    return pq.ParquetWriter(
        file,
        schema,
        compression="lz4",
        use_dictionary=texts,
        write_statistics=False,
        column_encoding=dict.fromkeys(ticks, "DELTA_BINARY_PACKED"),
    )


def is_of_keys(batch: pa.RecordBatch, keys: Sequence[tuple[Any, ...]]) -> pa.Array:
    """Return which rows are of some keys, or of no key at all, as punctuation is."""
    wanted = np.zeros(len(batch), np.bool_)
    if "change" in batch.schema.names:
        wanted |= flags(pc.fill_null(pc.is_in(batch.column("change"), pa.array(_OF_NO_KEY)), False))
    for key in keys:
        is_it = np.ones(len(batch), np.bool_)
        for place, value in enumerate(key):
            column = batch.column(f"k{place}")
            same = column.is_null() if value is None else pc.equal(column, pa.scalar(value).cast(column.type))
            is_it &= flags(pc.fill_null(same, False))
        wanted |= is_it
    return pa.array(wanted)


class RecordedPart(NamedTuple):
    """The recorded rows of one task of a micro-batch.

    Attributes:
        partition: The number of the task.
        rows: Its projected rows, in the order in which they came, and the place of each among all in the column `nth`.
        told: What it told all buckets about progress.
    """

    partition: int
    rows: pa.Table
    told: Told

    def batches(self) -> list[pa.RecordBatch]:
        """Return the rows as a task is given them."""
        given = self.rows.drop_columns([NTH]) if NTH in self.rows.column_names else self.rows
        found: list[pa.RecordBatch] = given.to_batches()
        return found


def read_part(file: Path) -> RecordedPart:
    """Return the rows of a task that are in a file."""
    rows = pq.read_table(file).replace_schema_metadata(None)
    if NTH not in rows.column_names:
        rows = rows.append_column(NTH, pa.array(range(len(rows)), pa.int32()))
    metadata: Mapping[bytes, bytes] = pq.read_metadata(file).metadata or {}
    told = Told.from_json(metadata[_TOLD]) if _TOLD in metadata else Told()
    return RecordedPart(int(file.stem.partition("-")[2]), rows, told)


def write_part(file: Path, part: RecordedPart) -> None:
    """Write the rows of a task to a file, as `RecordedRows` does."""
    recorded = RecordedRows(file)
    file.parent.mkdir(parents=True, exist_ok=True)
    recorded._write(_whole(part.rows))
    recorded.finish(part.told.sides, part.told.signals)


def _whole(rows: pa.Table) -> pa.RecordBatch:
    combined = rows.combine_chunks()
    found = combined.to_batches()
    return found[0] if found else pa.RecordBatch.from_pylist([], schema=rows.schema)


def count_rows(file: Path) -> int:
    """Return how many rows a file has."""
    count: int = pq.read_metadata(file).num_rows
    return count
