"""The contract of a question: its words, the right answers to it, and which of them are complete."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.data import SCHEMA

Ints: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]
Bools: TypeAlias = npt.NDArray[np.bool_]

ANSWERS: Final = pa.schema([SCHEMA.field("key"), ("start", pa.timestamp("us", "UTC")), SCHEMA.field("value")])
"""Answers in the form in which systems are compared: one row per key and window.

`start` names a window of a key: it is where the window starts, and of windows that share their starts, such as row
windows, the time of its newest row.
"""


@dataclass(frozen=True, slots=True)
class Rows:
    """The whole input, as arrays side by side.

    Attributes:
        key: The key of each row.
        at: Its time, in microseconds since the epoch.
        value: Its value.
    """

    key: Ints
    at: Ints
    value: Floats

    @classmethod
    def of(cls, table: pa.Table) -> Rows:
        """Return the rows of a table with the columns of `SCHEMA`."""
        return cls(table["key"].to_numpy(), ticks(table["at"]), table["value"].to_numpy())

    def where(self, chosen: Bools) -> Rows:
        """Select rows."""
        return Rows(self.key[chosen], self.at[chosen], self.value[chosen])


@dataclass(frozen=True, slots=True)
class Question(ABC):
    """Something to compute of a stream. All lengths are whole seconds.

    The answers are computed the plain way, apart from all that is compared with them.

    Attributes:
        counts_may_differ: True if a window at the watermark itself is complete for some systems and open for others.
    """

    counts_may_differ: ClassVar[bool] = False

    @property
    def reads(self) -> int:
        """How often Spark reads each row: a join of two parts of the rows reads all of them for each part."""
        return 1

    @abstractmethod
    def __str__(self) -> str:
        """Return the question in words."""

    @abstractmethod
    def answers(self, rows: Rows) -> pa.Table:
        """Return the answers about all windows that have a member, of the schema `ANSWERS`."""

    @abstractmethod
    def are_complete(self, answers: pa.Table, rows: Rows, watermark: int) -> Bools:
        """Return of each answer whether its window is complete for every system.

        Args:
            answers: Right ones, or those of a system.
            rows: The whole input.
            watermark: The time up to which the input is complete, in microseconds since the epoch.
        """


def ticks(times: pa.ChunkedArray) -> Ints:
    """Return times as microseconds since the epoch."""
    microseconds: Ints = times.cast(pa.int64()).to_numpy()
    return microseconds


def answer_table(key: Ints, start: Ints, value: Floats) -> pa.Table:
    """Return answers as a table."""
    return pa.table([key, pa.array(start, ANSWERS.field("start").type), value], schema=ANSWERS)


def averages_of_runs(value: Floats, firsts: Ints, stops: Ints) -> Floats:
    """Return the average of each run of values, from its first to before its stop: never empty, they may overlap."""
    # `reduceat` adds up from each bound to the next one: every second sum is that of a run, the others lie between.
    bounds = np.column_stack([firsts, stops]).ravel()
    padded = np.append(value, 0.0)  # a stop may lie at the end, which `reduceat` refuses
    totals: Floats = np.add.reduceat(padded, bounds)[::2]
    return totals / (stops - firsts)


def are_named(answers: pa.Table, key: Ints, start: Ints) -> Bools:
    """Return of each answer whether its key and start are among some."""
    names = set(zip(key.tolist(), start.tolist(), strict=True))
    answer_names = zip(answers["key"].to_pylist(), ticks(answers["start"]).tolist(), strict=True)
    return np.array([name in names for name in answer_names], np.bool_)
