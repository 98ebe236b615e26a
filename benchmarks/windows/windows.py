"""The contract of a kind of windows: its words, the right answers about it, and which of them are complete."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.data import SCHEMA

Aggregate: TypeAlias = Literal["average", "max", "pairs", "bids", "readings", "count"]
Ints: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]
Bools: TypeAlias = npt.NDArray[np.bool_]

ANSWERS: Final = pa.schema([SCHEMA.field("key"), ("start", pa.timestamp("us", "UTC")), SCHEMA.field("value")])
"""Results in the form in which systems are compared: one row per key and window.

`start` names a window of a key: it is where the window starts, and of windows that share their starts, such as row
windows, the time of its newest row.
"""


@dataclass(frozen=True, slots=True)
class Rows:
    """The whole input, as arrays side by side. Times are microseconds since the epoch.

    Attributes:
        key: Of each row.
        at: Its time.
        end: Where it ceases to be in windows: a tick after its time, or later where rows last.
        value: What is aggregated.
    """

    key: Ints
    at: Ints
    end: Ints
    value: Floats

    def of(self, chosen: Bools) -> Rows:
        """Return some of the rows."""
        return Rows(self.key[chosen], self.at[chosen], self.end[chosen], self.value[chosen])


@dataclass(frozen=True, slots=True)
class Windows(ABC):
    """A kind of windows over the rows of each key. All lengths are whole seconds.

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
        """Return the windows in words."""

    @abstractmethod
    def answers(self, aggregate: Aggregate, rows: Rows) -> pa.Table:
        """Return the answers about all windows that have a member, of the schema `ANSWERS`."""

    @abstractmethod
    def are_complete(self, answers: pa.Table, rows: Rows, watermark: int) -> Bools:
        """Return of each answer whether its window is complete for every system.

        Args:
            answers: Right ones, or what a system gave.
            rows: The whole input.
            watermark: How far the input is complete, in microseconds since the epoch.
        """


def ticks(times: pa.ChunkedArray) -> Ints:
    """Return times as microseconds since the epoch."""
    found: Ints = times.cast(pa.int64()).to_numpy()
    return found


def table_of(key: Ints, start: Ints, value: Floats) -> pa.Table:
    """Return answers as a table."""
    return pa.table([key, pa.array(start, ANSWERS.field("start").type), value], schema=ANSWERS)


def reduce_runs(aggregate: Aggregate, value: Floats, firsts: Ints, stops: Ints) -> Floats:
    """Return the aggregate of each run of values, from its first to before its stop: never empty, they may overlap."""
    bounds = np.column_stack([firsts, stops]).ravel()
    padded = np.append(value, 0.0)  # a stop may lie at the end
    reduced: Floats = (np.add if aggregate == "average" else np.maximum).reduceat(padded, bounds)[::2]
    return reduced / (stops - firsts) if aggregate == "average" else reduced
