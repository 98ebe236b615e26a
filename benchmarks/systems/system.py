"""The contract of a system under benchmark: it can be timed, and it gives its answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import pyarrow as pa

from benchmarks.data import Files
from benchmarks.measurement import Run
from benchmarks.questions.question import Question


class System(ABC):
    """A way to answer questions.

    Attributes:
        name: In tables and on the command line.
        needs_spark: True if it runs in the session of Spark.
        closes_all: True if it emits all windows when the input ends, the incomplete ones too.
    """

    name: str
    needs_spark: ClassVar[bool] = False
    closes_all: ClassVar[bool] = False

    @property
    def missing(self) -> str | None:
        """Why the system cannot run here; None if it can."""
        return None

    @property
    def note(self) -> str | None:
        """A note for readers on the system's figures."""
        return None

    @abstractmethod
    def measure(self, question: Question, files: Files, limit: float) -> Run:
        """Answer the question over the files and throw the answers away.

        Args:
            question: Question about the input.
            files: Input files, in order.
            limit: Seconds after which to stop.
        """

    @abstractmethod
    def answer(self, question: Question, files: Files) -> pa.Table:
        """Return the answers, of the schema `ANSWERS`; they may include windows that are not complete."""
