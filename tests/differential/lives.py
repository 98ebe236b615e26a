"""Queries whose keys are forgotten, and a bucket that runs them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from muntin import EARLIEST, Event, TimestampPolicy, Window
from muntin.testing import reference
from muntin.testing.scripts import Script
from muntin.windows import Stretches, WindowKind
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.evaluators.general.bucket import Bucket
from muntin_engine.evaluators.general.lives.run import LivesBucket
from muntin_engine.evaluators.general.lives.state import KeyLives
from muntin_engine.evaluators.keyed.bucket import BatchResult
from muntin_engine.state.cells import HeldState
from muntin_engine.state.codec import Codec
from muntin_engine.state.kept_stores import KeptStores
from tests.core.build import stored_states
from tests.differential.cases import Case
from tests.differential.drive import Run, follow
from tests.differential.meaning import least_promise

AGES = (1, 3, 6, 14)


@dataclass(frozen=True, slots=True)
class EvenStarts(WindowKind):
    """Windows of twelve ticks in which events count that start at even ticks; the others only prolong lives."""

    name, version, title = "test.even_starts", "1.0", "windows of even starts"
    waits_for_events = False

    def membership(self, start: int, end: int) -> tuple[int, int]:
        return (start, start) if start % 2 else (start, end)

    def cut(self, known: Stretches, start: int, end: int) -> Iterator[Window]:
        first = start // 12 * 12
        yield from (Window(tick, tick + 12) for tick in range(first, end, 12))


OWN: dict[str, WindowKind] = {"even starts": EvenStarts()}


@dataclass(frozen=True)
class LivesCase(Case):
    """A query that forgets keys."""

    age: int = 6
    is_filtered: bool = False

    def __str__(self) -> str:
        return f"{super().__str__()}, forgotten after {self.age}{', filtered' * self.is_filtered}"

    @property
    def kind(self) -> WindowKind:
        return OWN.get(self.window) or super().kind

    @property
    def reference(self) -> reference.WindowedQuery:
        keeps: Callable[[Any], bool] = is_kept if self.is_filtered else (lambda _payload: True)
        return replace(super().reference, forget_keys_after=self.age, keeps=keeps)

    @property
    def query(self) -> EvaluatorQuery:
        keeps = (lambda row: is_kept(row[0])) if self.is_filtered else None
        return replace(super().query, forget_keys_after=self.age, keeps=keeps)


def is_kept(payload: int) -> bool:
    return payload % 3 != 0


class LivesOnTheirWay(Run):
    """A stream on its way through a bucket that forgets keys.

    Attributes:
        forgotten: How many lives have ended.
    """

    forgotten = 0

    def histories(self) -> Mapping[Hashable, list[Event[Any]]]:
        known, keeps = super().histories(), self.case.reference.keeps
        return {key: [event for event in events if keeps(event.payload)] for key, events in known.items()}

    def take(self, batch: Any) -> BatchResult:
        result = super().take(batch)
        self.forgotten += result.keys_forgotten
        return result

    def _start(self) -> Bucket:
        return LivesBucket(
            self.query,
            self.cells,
            Codec(),
            self.identity,
            kept=KeptStores(),
            make_version=self._make_version,
        )

    def _check_promise(self, result: BatchResult) -> None:
        """Check that the output watermark never goes back, and comes as far as it can: points, as far as is known."""
        is_own = self.case.window in OWN
        least = EARLIEST if is_own else least_promise(self.case, self.histories(), self.progress)
        if self.case.timestamps is TimestampPolicy.POINT_AT_END:
            least = min(least, self.progress.watermark)
        assert result.watermark >= max(self.promised, least), f"the output watermark is {result.watermark}"
        self.promised = result.watermark

    def _check_held(self, result: BatchResult) -> None:
        states = stored_states(self.query, self.cells, Codec(), self.identity, KeyLives, self._known)
        assert result.held == HeldState(
            sum(map(len, self.cells.cells.values())),
            len(states),
            sum(state.held_count for state in states),
            sum(state.held_windows for state in states),
        )
        for state in states:
            assert isinstance(state, KeyLives)
            assert all(life.over_at > self.progress.watermark for life in state.lives), "a life that is over is kept"


def run(case: Case, stream: Script) -> None:
    """Run a stream and compare with the reference after each batch."""
    follow(LivesOnTheirWay(case), stream)
