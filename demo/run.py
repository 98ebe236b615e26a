"""Running the questions over the stream, and going on where a run was cut short."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from demo.delivery import write_stream
from demo.questions import ORDER, QUESTIONS, answer


class Run:
    """The files of one run, below a folder.

    The stream, Spark's checkpoints and the answers of each micro-batch lie in `run/` until the run is complete; then
    one Parquet file per question takes their place. An answer's file is named after its micro-batch, so a batch that
    is run again after a crash replaces it: each answer is there exactly once.
    """

    def __init__(self, folder: Path, months: Sequence[int], span: str) -> None:
        self._folder = folder
        self._work = folder / "run"
        self._settings = {"months": list(months), "span": span}
        self.resumes = _read_settings(self._work / "settings.json") == self._settings

    def prepare(self) -> int:
        """Write the stream, unless a run of the same months is to be continued; return how many files it has."""
        if not self.resumes:
            shutil.rmtree(self._work, ignore_errors=True)
            for name in QUESTIONS:
                self.answer_file(name).unlink(missing_ok=True)
            write_stream(self._settings["months"], self._stream, self._settings["span"])
            (self._work / "settings.json").write_text(json.dumps(self._settings))
        return len(list(self._stream.glob("*.parquet")))

    def start(self, spark: SparkSession) -> Mapping[str, StreamingQuery]:
        """Start the three streaming queries; each takes one file of the stream per micro-batch."""
        schema = spark.read.parquet(str(self._stream)).schema
        flights = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(self._stream))
        return {name: self._start(name, answer(name, flights)) for name in QUESTIONS}

    def batches_done(self, name: str) -> int:
        """Return how many micro-batches of a question are committed."""
        return len([path for path in (self._checkpoint(name) / "commits").glob("[0-9]*")])

    def finish(self) -> None:
        """Put the answers of all micro-batches into one sorted file per question, and drop what led there."""
        for name in QUESTIONS:
            table = pa.concat_tables(pq.read_table(path) for path in sorted(self._parts(name).glob("*.parquet")))
            _write(table.sort_by([(column, "ascending") for column in ORDER[name]]), self.answer_file(name))
        shutil.rmtree(self._work)

    def answer_file(self, name: str) -> Path:
        """Return where the answer to a question is put."""
        return self._folder / f"{name}.parquet"

    def state_bytes(self, name: str, query: StreamingQuery) -> int:
        """Return how many rows of state a finished query still has."""
        progress = query.lastProgress
        return 0 if progress is None else sum(operator.numRowsTotal for operator in progress.stateOperators)

    @property
    def _stream(self) -> Path:
        return self._work / "stream"

    def _checkpoint(self, name: str) -> Path:
        return self._work / "checkpoints" / name

    def _parts(self, name: str) -> Path:
        return self._work / "parts" / name

    def _start(self, name: str, answers: DataFrame) -> StreamingQuery:
        parts = self._parts(name)
        parts.mkdir(parents=True, exist_ok=True)

        def write(batch: DataFrame, number: int) -> None:
            _write(batch.toArrow(), parts / f"{number:06}.parquet")

        writer = answers.writeStream.queryName(name).option("checkpointLocation", str(self._checkpoint(name)))
        return writer.trigger(availableNow=True).foreachBatch(write).start()


def _write(table: pa.Table, path: Path) -> None:
    """Write a file so that it is there whole or not at all."""
    partial = path.with_name(f".{path.name}.partial")
    pq.write_table(table, partial)
    os.replace(partial, path)


def _read_settings(path: Path) -> object:
    return json.loads(path.read_text()) if path.exists() else None
