"""Three kinds of windows over the same rows, asked together or one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.windows.hopping import Hopping
from benchmarks.windows.sessions import Session
from benchmarks.windows.windows import Aggregate, Bools, Rows, Windows

KINDS: Final[tuple[Windows, ...]] = (Hopping(60, 60), Hopping(600, 60), Session(20))


@dataclass(frozen=True, slots=True)
class Together(Windows):
    """The windows of `KINDS`. The key of an answer is that of its rows times three, plus the place of its kind."""

    counts_may_differ: ClassVar[bool] = True

    def __str__(self) -> str:
        return " and ".join(map(str, KINDS))

    def answers(self, aggregate: Aggregate, rows: Rows) -> pa.Table:
        """Return the answers about each kind."""
        return pa.concat_tables(marked(kind.answers(aggregate, rows), place) for place, kind in enumerate(KINDS))

    def are_complete(self, answers: pa.Table, rows: Rows, watermark: int) -> Bools:
        """Ask the kind of each answer."""
        place = answers["key"].to_numpy() % len(KINDS)
        found = np.zeros(len(answers), np.bool_)
        for number, kind in enumerate(KINDS):
            own = answers.filter(pa.array(place == number))
            keys = pc.divide(own["key"], pa.scalar(len(KINDS)))
            found[place == number] = kind.are_complete(own.set_column(0, "key", keys), rows, watermark)
        return found


def marked(answers: pa.Table, place: int) -> pa.Table:
    """Return the answers about one kind with keys that say which."""
    keys = pc.add(pc.multiply(answers["key"], len(KINDS)), place)
    return answers.set_column(0, answers.schema.field("key"), keys)
