"""What a differential test runs: a query in the terms of both evaluators, and a stream."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, Protocol, TypeVar

from muntin import (
    INFINITY,
    ClipPolicy,
    EmitPolicy,
    OutputContract,
    TimestampPolicy,
    count_by_end,
    count_by_start,
    cumulate,
    global_windows,
    hopping,
    landmark,
    session,
    snapshot,
    trailing,
    tumbling,
)
from muntin.changes import Punctuation
from muntin.testing import reference
from muntin.testing.scripts import Script
from muntin.testing.streams import random_stream, shuffle, split
from muntin.windows import WindowKind
from muntin_engine.core.evaluator_query import Binding, EvaluatorQuery
from tests.differential.calendars import CALENDARS, on_the_calendar
from tests.differential.modules import OWN_TIMES, SHAPES
from tests.differential.remembered import remembered

ItemT = TypeVar("ItemT")

WINDOWS: dict[str, WindowKind] = {
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
    "session": session(4),
    "session of one tick": session(1),
}

GROWING: dict[str, WindowKind] = {
    "cumulating": cumulate(12, 4, 1),
    "cumulating by ticks": cumulate(3, 1),
    "landmark": landmark(5, -7),
    "global": global_windows(),
}
"""Windows that share a start; results of time-bound output are not defined for them."""

TRAILING: dict[str, WindowKind] = {"trailing": trailing(6), "trailing by three": trailing(9, every=3)}
"""Windows that look back; results of time-bound output are not defined for them."""

RANKED: dict[str, WindowKind] = {
    "tumbling counts": count_by_start(3, every=3),
    "counts that overlap": count_by_start(3, every=2),
    "counts with gaps": count_by_start(2, every=4),
    "every third start": count_by_start(1, every=3),
    "tumbling counts of ends": count_by_end(2, every=2),
    "counts of ends that overlap": count_by_end(4, every=3),
    "counts of ends with gaps": count_by_end(1, every=3),
}
"""Count windows at every n-th time only; results of time-bound output are not defined for them."""

BY_NAME: dict[str, WindowKind] = WINDOWS | CALENDARS | GROWING | TRAILING | RANKED
"""All that a case may name; what is long on the axis has streams of its own."""


class Cut(Protocol):
    """Something with windows."""

    @property
    def window(self) -> WindowKind: ...


class Described(Protocol):
    """A query in the terms of both evaluators, as far as what must stand goes."""

    @property
    def query(self) -> Cut: ...
    @property
    def reference(self) -> reference.WindowedQuery: ...
    @property
    def emit(self) -> EmitPolicy: ...
    @property
    def seed(self) -> int: ...


@dataclass(frozen=True)
class Case:
    """A query with its policies, and where the randomness starts."""

    window: str
    shape: str
    clip: ClipPolicy = ClipPolicy.NONE
    timestamps: TimestampPolicy = TimestampPolicy.ALIGN
    emit: EmitPolicy = EmitPolicy.FINAL
    contract: OutputContract = OutputContract.WINDOW_BASED
    is_edge: bool = False
    has_ids: bool = True

    def __str__(self) -> str:
        policies = f"clip {self.clip}, timestamps {self.timestamps}, emit {self.emit}, contract {self.contract}"
        return f"{self.shape} over {self.window} ({self.kind}), {policies}"

    @property
    def kind(self) -> WindowKind:
        """The windows."""
        return BY_NAME[self.window]

    @cached_property
    def seed(self) -> int:
        """A number that stays the same from run to run."""
        return zlib.crc32(f"{self} {self.is_edge} {self.has_ids}".encode())

    @cached_property
    def reference(self) -> reference.WindowedQuery:
        """The query as the oracle reads it."""
        computations = [reference.Computation(remembered(module)) for module in SHAPES[self.shape]]
        event_ends_move = self.has_ids or self.is_edge
        return reference.WindowedQuery(
            self.kind, computations, self.clip, self.timestamps, event_ends_move=event_ends_move
        )

    @cached_property
    def query(self) -> EvaluatorQuery:
        """The query as the evaluator reads it."""
        bindings = tuple(Binding(module, first_column) for module in SHAPES[self.shape])
        return EvaluatorQuery(
            self.kind,
            bindings,
            self.clip,
            self.timestamps,
            self.emit,
            self.contract,
            is_edge=self.is_edge,
            has_ids=self.has_ids,
        )

    @property
    def stream(self) -> Script:
        """A random legal stream, shuffled and cut into micro-batches."""
        return self.another_stream(0)

    def another_stream(self, number: int, *, in_order: bool = False) -> Script:
        """Return one of the case's streams; in order, the changes of an event come one after the other, and once."""
        seed = self.seed + number
        starts = range(-20, seed % 41)
        stream = random_stream(
            seed,
            keys=("a", "b", None),
            events=3 + seed % 13,
            starts=starts,
            disorder=seed % 24,
            again=0.3 if self.has_ids and not self.is_edge and not in_order else 0.0,
        )
        shuffled = shuffle(until_closed(stream), seed, early_revisions=bool(seed % 3) and not in_order)
        cut = split(until_closed(shuffled), seed, cuts=(0.1, 0.3, 0.9)[seed % 3])
        return on_the_calendar(self.window, cut) if self.window in CALENDARS else cut


def policies(shape: str) -> Iterator[tuple[ClipPolicy, TimestampPolicy]]:
    """Yield the policies between which a shape can tell a difference, without those of time-bound results."""
    is_time_sensitive = any(module.is_time_sensitive for module in SHAPES[shape])
    clips = tuple(ClipPolicy) if is_time_sensitive else (ClipPolicy.NONE,)
    plain = (TimestampPolicy.ALIGN, TimestampPolicy.POINT_AT_END)
    own = (*plain, TimestampPolicy.UNCHANGED, TimestampPolicy.CLIP) if shape in OWN_TIMES else plain
    return product(clips, own)


def until_closed(stream: Script) -> Script:
    """Leave out what comes after the end of the stream: revisions of an open event that leave it open."""
    place = next((i for i, step in enumerate(stream.steps, 1) if step == Punctuation(INFINITY)), None)
    return stream if place in (None, len(stream.steps)) else replace(stream, steps=stream.steps[:place])


def first_column(payload: tuple[Any, ...]) -> Any:
    return payload[0]


def under_one_emission(cases: list[ItemT], window: str, emit: EmitPolicy) -> list[ItemT]:
    """Return every third of the cases, others under each emission and, under the same, for the next window.

    So each case is tried under one emission; `make torture` draws windows, policies and emissions at random.
    """
    place = list(EmitPolicy).index(emit) + list(WINDOWS).index(window)
    return cases[place % len(EmitPolicy) :: len(EmitPolicy)]
