"""Running the questions over the stream, and going on where a run was cut short."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from demo.answers import answer_file, folded, write_answer
from demo.delivery import write_stream
from demo.flights import flights
from demo.questions import QUESTIONS
from muntin_engine import one_pass

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


@dataclass(frozen=True)
class Choice:
    """The flights of a run, and their portions.

    Attributes:
        first_month: Month of 2013.
        last_month: The last month, included.
        days: Only flights that leave in so many days from the first departure on; None for all.
        span: Delivery time per micro-batch.
        emit: The emission of results, "final" or "speculative".
    """

    first_month: int = 1
    last_month: int = 1
    days: int | None = None
    span: str = "2 days"
    emit: str = "final"

    def flights(self) -> pd.DataFrame:
        """Return the flights."""
        chosen = flights(range(self.first_month, self.last_month + 1))
        if self.days is None:
            return chosen
        return chosen[chosen["departure"] < chosen["departure"].min() + pd.Timedelta(days=self.days)]


class Run:
    """The files of one run, below a folder.

    The stream, Spark's checkpoint and the results of each micro-batch lie in `run/` until the run is complete; then
    one Parquet file per question takes their place. Results are emitted early or once: the file is the same.
    """

    def __init__(self, folder: Path, choice: Choice, record: Path | None = None) -> None:
        self._folder = folder
        self._record = record
        self._work = folder / "run"
        self._choice = choice
        self.resumes = _read_choice(self._choice_file) == choice

    def prepare(self) -> int:
        """Write the stream, unless a run of the same choice is to be continued; return how many files it has."""
        if not self.resumes:
            shutil.rmtree(self._work, ignore_errors=True)
            if self._record is not None:
                shutil.rmtree(self._record, ignore_errors=True)
            for name in QUESTIONS:
                answer_file(name, self._folder).unlink(missing_ok=True)
            write_stream(self._choice.flights(), self._stream, self._choice.span)
            self._choice_file.write_text(json.dumps(asdict(self._choice)))
        return len(list(self._stream.glob("*.parquet")))

    def start(self, spark: SparkSession) -> StreamingQuery:
        """Start the one streaming query that answers the three questions, a file of the stream per micro-batch."""
        schema = spark.read.parquet(str(self._stream)).schema
        stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(self._stream))
        asked = one_pass(**{name: ask(stream, self._choice.emit) for name, ask in QUESTIONS.items()})
        parts = {name: self._parts(name) for name in QUESTIONS}
        return asked.write(
            checkpoint=self._checkpoint, results=parts, available_now=True, name="demo", record=self._record
        )

    def batches_done(self) -> int:
        """Return the number of committed micro-batches."""
        return len(list((self._checkpoint / "commits").glob("[0-9]*")))

    def finish(self, spark: SparkSession) -> None:
        """Put the answers of all micro-batches into one sorted file per question, and drop what led there."""
        for name in QUESTIONS:
            results = spark.read.parquet(str(self._parts(name)))
            write_answer(folded(name, results), name, self._folder)
        shutil.rmtree(self._work)

    @property
    def _stream(self) -> Path:
        return self._work / "stream"

    @property
    def _checkpoint(self) -> Path:
        return self._work / "checkpoint"

    @property
    def _choice_file(self) -> Path:
        return self._work / "choice in one pass.json"

    def _parts(self, name: str) -> Path:
        return self._work / "parts" / name


def _read_choice(path: Path) -> Choice | None:
    return Choice(**json.loads(path.read_text())) if path.exists() else None
