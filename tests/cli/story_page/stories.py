"""Stories made without an engine: windows of every kind over a small stream, recomputed micro-batch by micro-batch."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from muntin import Axis
from muntin.axis import EARLIEST, INFINITY
from muntin_engine.recording.story import Fate, Story, StoryBatch, StoryChange, StoryRow

MINUTE = 60_000_000
HOUR = 60 * MINUTE
NOON = 1_714_564_800 * 1_000_000
"""2024-05-01 12:00:00 UTC."""


@dataclass
class Held:
    """An event as it is now: the numbers of the rows that made it, and its lifetime."""

    start: int
    end: int
    values: Mapping[str, Any]
    rows: list[int]


@dataclass(frozen=True)
class Extent:
    """A window: where it is, which events are in it, and which rows set its boundaries."""

    start: int
    end: int
    members: tuple[int, ...]
    bounds: tuple[int, ...] = ()


Windows = Callable[[Sequence[Held]], Iterator[Extent]]


def _rows(events: Sequence[Held]) -> tuple[int, ...]:
    return tuple(sorted(number for event in events for number in event.rows))


def hopping(size: int, hop: int) -> Windows:
    def windows(events: Sequence[Held]) -> Iterator[Extent]:
        starts = {
            start for event in events for start in range((event.start - size) // hop * hop + hop, event.start + 1, hop)
        }
        for start in sorted(starts):
            inside = [event for event in events if start <= event.start < start + size]
            if inside:
                yield Extent(start, start + size, _rows(inside))

    return windows


def sessions(gap: int) -> Windows:
    def windows(events: Sequence[Held]) -> Iterator[Extent]:
        run: list[Held] = []
        for event in sorted(events, key=lambda event: event.start):
            if run and event.start > run[-1].start + gap:
                yield Extent(run[0].start, run[-1].start + gap, _rows(run), _rows([run[0], run[-1]]))
                run = []
            run.append(event)
        if run:
            yield Extent(run[0].start, run[-1].start + gap, _rows(run), _rows([run[0], run[-1]]))

    return windows


def snapshots(events: Sequence[Held]) -> Iterator[Extent]:
    edges = sorted({edge for event in events for edge in (event.start, event.end) if edge < INFINITY})
    for start, end in itertools.pairwise(edges):
        inside = [event for event in events if event.start < end and event.end > start]
        if inside:
            bounds = [event for event in events if {event.start, event.end} & {start, end}]
            yield Extent(start, end, _rows(inside), _rows(bounds))


def counts(size: int) -> Windows:
    def windows(events: Sequence[Held]) -> Iterator[Extent]:
        starts = sorted({event.start for event in events})
        for first, last in zip(starts, starts[size - 1 :], strict=False):
            inside = [event for event in events if first <= event.start <= last]
            yield Extent(first, last + 1, _rows(inside), _rows([inside[0], inside[-1]]))

    return windows


@dataclass
class Teller:
    """Tells a story while rows come, and recomputes what changes."""

    specifications: Mapping[str, Windows]
    compute: Callable[[Sequence[StoryRow]], Mapping[str, Any]]
    delay: int
    emits_early: bool = False
    axis: Axis = Axis.TIME
    rows: list[StoryRow] = field(default_factory=list)
    changes: list[StoryChange] = field(default_factory=list)
    batches: list[StoryBatch] = field(default_factory=list)
    held: dict[Any, dict[int, Held]] = field(default_factory=dict)
    live: dict[tuple[Any, str, int, int], StoryChange] = field(default_factory=dict)
    watermark: int = EARLIEST
    newest: int = EARLIEST

    def batch(self, *rows: Mapping[str, Any], run: int = 0, said: int | None = None) -> None:
        """Take the rows of a micro-batch, and emit what they change."""
        number = len(self.batches)
        first = len(self.rows)
        for row in rows:
            self._take(number, dict(row))
        before = self.watermark
        trigger = list(range(first, len(self.rows)))
        if self.newest > EARLIEST:
            self.watermark = max(before, self.newest - self.delay, said if said is not None else EARLIEST)
        newest = [row.number for row in self.rows[first:] if row.start == self.newest]
        self._emit(number, newest or trigger[-1:])
        held_by = "gates" if number % 4 == 3 else None
        self.batches.append(
            StoryBatch(
                number=number, run=run, rows=len(rows), watermark=self.watermark, newest=self.newest, held_by=held_by
            )
        )

    def story(self, title: str, key_names: Sequence[str], plan: str = "") -> Story:
        waiting = {
            number: extent.end
            for key, events in self.held.items()
            for windows in self.specifications.values()
            for extent in windows(list(events.values()))
            for number in extent.members
            if extent.end > self.watermark
        }
        rows = [
            row
            if row.number not in waiting
            else StoryRow(**{name: getattr(row, name) for name in row.__slots__} | {"waits_for": waiting[row.number]})
            for row in self.rows
        ]
        return Story(
            title=title,
            plan=plan,
            key_names=key_names,
            axis=self.axis,
            batches=self.batches,
            rows=rows,
            changes=self.changes,
        )

    def _take(self, batch: int, row: dict[str, Any]) -> None:
        number = len(self.rows)
        key = row.pop("key")
        change = row.pop("change", "insert")
        of = row.pop("of", None)
        start = row.pop("start", None)
        end = row.pop("end", None)
        new_end = row.pop("new_end", None)
        fate = Fate(row.pop("fate", "counted"))
        reason = row.pop("reason", "")
        parts = {name: row.pop(name) for name in ("input", "source") if name in row}
        if fate is Fate.COUNTED and start is not None and start < self.watermark and of is None:
            fate = Fate.LATE
            reason = f"it starts {self.axis.spell_length(self.watermark - start)} before the watermark"
        event = None
        events = self.held.setdefault(key, {})
        if fate is Fate.COUNTED and of is not None:
            event = of
            held = events[of]
            held.end = new_end if new_end is not None else held.start
            held.rows.append(number)
            if held.end <= held.start:
                del events[of]
        elif fate is Fate.COUNTED and change == "insert" and start is not None:
            event = number
            events[number] = Held(start, start + 1 if end is None else end, row, [number])
            self.newest = max(self.newest, start)
        self.rows.append(
            StoryRow(
                number=number,
                batch=batch,
                key=key,
                change=change,
                start=start,
                end=end,
                new_end=new_end,
                values=row,
                fate=fate,
                reason=reason,
                event=event,
                **parts,
            )
        )

    def _emit(self, batch: int, trigger: Sequence[int]) -> None:
        wanted: dict[tuple[Any, str, int, int], tuple[Extent, bool]] = {}
        for key, events in self.held.items():
            for name, windows in self.specifications.items():
                for extent in windows(list(events.values())):
                    is_early = extent.end > self.watermark
                    if self.emits_early or not is_early:
                        wanted[key, name, extent.start, extent.end] = extent, is_early
        for place in [place for place in self.live if place not in wanted]:
            self._change(batch, place, "retract", self.live.pop(place), trigger)
        for place, (extent, is_early) in wanted.items():
            values = self.compute([self.rows[number] for number in extent.members])
            before = self.live.get(place)
            if before is not None and before.values == values and before.is_early == is_early:
                continue
            if before is not None:
                self._change(batch, place, "retract", self.live.pop(place), trigger)
            number = len(self.changes)
            key, name, start, end = place
            inserted = StoryChange(
                number=number,
                batch=batch,
                key=key,
                change="insert",
                result=number,
                window=(start, end),
                window_name=name,
                start=start,
                end=end,
                values=values,
                is_early=is_early,
                firing=0 if before is None else before.firing + 1,
                members=extent.members,
                bounds=extent.bounds,
                trigger=trigger,
            )
            self.live[place] = inserted
            self.changes.append(inserted)

    def _change(
        self, batch: int, place: tuple[Any, str, int, int], change: str, before: StoryChange, trigger: Sequence[int]
    ) -> None:
        key, name, start, end = place
        self.changes.append(
            StoryChange(
                number=len(self.changes),
                batch=batch,
                key=key,
                change=change,
                result=before.number,
                window=(start, end),
                window_name=name,
                start=start,
                end=end,
                values=before.values,
                is_early=before.is_early,
                firing=before.firing,
                members=before.members,
                bounds=before.bounds,
                trigger=trigger,
            )
        )


def delays(rows: Sequence[StoryRow]) -> Mapping[str, Any]:
    """The number of flights and their mean delay."""
    delays = [row.values["delay"] for row in rows if "delay" in row.values]
    return {"flights": len(delays), "mean_delay": round(sum(delays) / len(delays), 2)}


WRONG = 4711.0
"""The delay of the one flight whose row is wrong."""


def flights(emits_early: bool = False) -> Story:
    """An afternoon at three airports: flights that have landed and not, cancelled ones, and bad rows."""
    draw = random.Random(29)
    specifications = {"hopping": hopping(HOUR, 30 * MINUTE), "session": sessions(25 * MINUTE)}
    teller = Teller(specifications, delays, 20 * MINUTE, emits_early)
    open_flights: list[tuple[int, str, int]] = []
    for batch in range(16):
        rows: list[dict[str, Any]] = []
        now = NOON + batch * 20 * MINUTE
        for airport in ("EWR", "JFK", "LGA"):
            for _ in range(draw.choice((1, 2, 2, 3))):
                start = now + draw.randrange(20) * MINUTE
                is_open = draw.random() < 0.3
                delay = float(draw.randrange(-5, 60))
                if airport == "JFK" and batch == 7 and not any(row["delay"] == WRONG for row in rows if "delay" in row):
                    delay = WRONG
                    is_open = False
                end = INFINITY if is_open else start + draw.randrange(20, 150) * MINUTE
                if is_open:
                    open_flights.append((len(teller.rows) + len(rows), airport, start))
                rows.append(
                    {
                        "key": (airport,),
                        "start": start,
                        "end": end,
                        "delay": delay,
                        "flight": f"MU{100 + draw.randrange(900)}",
                    }
                )
        if batch % 3 == 2 and open_flights:
            of, airport, start = open_flights.pop(0)
            rows.append(
                {
                    "key": (airport,),
                    "change": "revise",
                    "start": start,
                    "end": INFINITY,
                    "new_end": now + 5 * MINUTE,
                    "of": of,
                }
            )
        if batch == 9:
            of, airport, start = open_flights.pop()
            rows.append(
                {"key": (airport,), "change": "retract", "start": start, "end": INFINITY, "new_end": start, "of": of}
            )
        if batch in (4, 10, 13):
            rows.append({"key": ("LGA",), "start": now - 45 * MINUTE, "end": now, "delay": 12.0, "flight": "MU007"})
        if batch in (5, 11):
            rows.append(
                {
                    "key": ("EWR",),
                    "start": now,
                    "end": now - HOUR,
                    "delay": 3.0,
                    "flight": "MU666",
                    "fate": "rejected",
                    "reason": "it ends before it starts",
                }
            )
        if batch in (3, 6, 12):
            rows.append(
                {
                    "key": ("JFK",),
                    "start": now + MINUTE,
                    "delay": 0.0,
                    "flight": "MU000",
                    "fate": "filtered",
                    "reason": "delay > 0 is false",
                }
            )
        if batch == 8:
            rows.append(
                {"key": ("JFK",), "start": None, "flight": "MU123", "fate": "rejected", "reason": "it has no time"}
            )
            rows.append({"key": None, "change": "punctuate", "start": now - 5 * MINUTE})
        teller.batch(*rows, run=int(batch >= 10), said=now - 5 * MINUTE if batch == 8 else None)
    plan = "hopping(1 hour, 30 minutes), session(25 minutes) per airport\n  watermark: 20 minutes behind"
    return teller.story(
        "Flights and their mean delay per airport, hopping(1 hour, 30 minutes) and session(25 minutes)",
        ["airport"],
        plan,
    )


def short_rides() -> Story:
    """Return a recording on an axis of ticks: rides of two stations as points, summed over windows of ten ticks.

    Its smallest sum is 10, a number that is also an end and a start of windows.
    """
    teller = Teller(
        {"": hopping(10, 10)}, lambda rows: {"km": sum(row.values["km"] for row in rows)}, 0, axis=Axis.TICKS
    )
    teller.batch(
        {"key": ("north",), "start": 2, "km": 7},
        {"key": ("north",), "start": 4, "km": 9},
        {"key": ("north",), "start": 7, "km": 21},
        {"key": ("south",), "start": 3, "km": 10},
    )
    teller.batch({"key": ("north",), "start": 11, "km": 110}, {"key": ("south",), "start": 12, "km": 5})
    teller.batch({"key": ("north",), "start": 25, "km": 1}, said=30)
    return teller.story("tumbling(10) by station", ("station",))
