"""The contract of a system under benchmark: it can be timed, and it describes its computation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Literal

import pyarrow as pa

from benchmarks.data import Files
from benchmarks.measurement import Run
from benchmarks.question import Question
from benchmarks.windows import Hopping, Windows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class System(ABC):
    """A way to compute windows.

    Attributes:
        name: In tables and on the command line.
        needs_spark: True if it runs in the session.
        closes_all: True if it emits all windows when the input ends, the incomplete ones too.
        members: What is in a window: the rows whose `at` lies in it, or the events whose lifetime overlaps it.
        has: The kinds of windows that it can compute.
    """

    name: str
    needs_spark: ClassVar[bool] = False
    closes_all: ClassVar[bool] = False
    members: ClassVar[Literal["points", "intervals"]] = "points"
    has: tuple[type[Windows], ...] = (Hopping,)

    @property
    def missing(self) -> str | None:
        """Why the system cannot run here; None if it can."""
        return None

    def why_not(self, windows: Windows) -> str | None:
        """Return why the system cannot compute some windows; None if it can."""
        return None if isinstance(windows, self.has) else f"has no {windows}"

    @property
    def note(self) -> str | None:
        """A note for readers on the system's figures."""
        return None

    @abstractmethod
    def measure(self, question: Question, files: Files, limit: float) -> Run:
        """Answer the question over the files and throw the answers away.

        Args:
            question: What to compute.
            files: The input, in order.
            limit: Seconds after which to stop.
        """

    @abstractmethod
    def answer(self, question: Question, files: Files) -> pa.Table:
        """Return the answers, of the schema `ANSWERS`. There may be more of windows that are not complete."""


class SparkSystem(System):
    """A system that is a streaming query."""

    needs_spark = True

    @abstractmethod
    def results(self, stream: DataFrame, question: Question) -> DataFrame:
        """Return the results as a DataFrame with the columns of `ANSWERS`, and `change` if they may be retracted.

        Args:
            stream: Has the columns `key` (long), `at` (timestamp) and `value` (double).
            question: What to compute.
        """

    def measure(self, question: Question, files: Files, limit: float) -> Run:
        """Run the query into nowhere."""
        from benchmarks.session import spark_session
        from benchmarks.streaming import run_stream, stream_of

        df = self.results(stream_of(spark_session(), files), question)
        return run_stream(df, limit, question.windows.reads)

    def answer(self, question: Question, files: Files) -> pa.Table:
        """Run the query into a table."""
        from benchmarks.session import spark_session
        from benchmarks.streaming import collect_stream, stream_of

        return collect_stream(self.results(stream_of(spark_session(), files), question))
