"""What a differential test runs: a query in the terms of both evaluators, and a stream."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from typing import Any

from muntin import ClipPolicy, EmitPolicy, OutputContract, TimestampPolicy, WindowSpecification
from muntin import count_by_end, count_by_start, hopping, snapshot, tumbling
from muntin.testing import reference
from muntin.testing.scripts import Script
from muntin_engine.core.query import Binding, WindowedQuery
from tests.differential.modules import SHAPES

WINDOWS: dict[str, WindowSpecification] = {
    "tumbling": tumbling(8),
    "one tick": tumbling(1),
    "wide": tumbling(50),
    "offset": tumbling(7, 3),
    "overlapping": hopping(10, 3),
    "overlapping by much": hopping(13, 2, -5),
    "gaps": hopping(4, 9, 1),
    "reach": tumbling(6, reach=5),
    "overlapping with reach": hopping(9, 4, 1, reach=3),
    "gaps with reach": hopping(3, 8, reach=4),
    "snapshot": snapshot(),
    **{f"count by start {n}": count_by_start(n) for n in (1, 2, 3)},
    **{f"count by end {n}": count_by_end(n) for n in (1, 2, 3)},
}


@dataclass(frozen=True)
class Case:
    """A query and the policies it runs under."""

    window: str
    shape: str
    clip: ClipPolicy
    timestamps: TimestampPolicy
    emit: EmitPolicy
    contract: OutputContract = OutputContract.WINDOW_BASED

    def __str__(self) -> str:
        policies = f"clip {self.clip}, timestamps {self.timestamps}, emit {self.emit}, {self.contract}"
        return f"{self.shape} over {self.window} ({WINDOWS[self.window]}), {policies}"

    @property
    def seed(self) -> int:
        """A number that stays the same from run to run."""
        return zlib.crc32(str(self).encode())

    @property
    def reference(self) -> reference.WindowedQuery:
        """The query as the oracle reads it."""
        computations = [reference.Computation(module) for module in SHAPES[self.shape]]
        return reference.WindowedQuery(WINDOWS[self.window], computations, self.clip, self.timestamps)

    @property
    def query(self) -> WindowedQuery:
        """The query as the evaluator reads it."""
        return WindowedQuery(
            WINDOWS[self.window],
            tuple(Binding(module, first_column) for module in SHAPES[self.shape]),
            self.clip,
            self.timestamps,
            self.emit,
            self.contract,
        )


def first_column(payload: tuple[Any, ...]) -> Any:
    return payload[0]
