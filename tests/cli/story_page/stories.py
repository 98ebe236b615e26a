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
class LiveEvent:
    """An event as rows have changed it so far.

    Attributes:
        start: The start of its lifetime.
        end: The end of its lifetime.
        values: The values of the row that inserted it.
        rows: The numbers of the rows that inserted and changed it.
    """

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


Windows = Callable[[Sequence[LiveEvent]], Iterator[Extent]]

Place = tuple[Any, str, int, int]
"""The place of a result: the key, the name of the windows, and the start and end of the window."""


def _rows(events: Sequence[LiveEvent]) -> tuple[int, ...]:
    """Return the numbers of the rows of events, in order."""
    numbers: list[int] = []
    for event in events:
        numbers += event.rows
    return tuple(sorted(numbers))


def hopping(size: int, hop: int) -> Windows:
    """Return the function that cuts hopping windows."""

    def windows(events: Sequence[LiveEvent]) -> Iterator[Extent]:
        starts: set[int] = set()
        for event in events:
            first_start = (event.start - size) // hop * hop + hop
            starts.update(range(first_start, event.start + 1, hop))
        for start in sorted(starts):
            inside = [event for event in events if start <= event.start < start + size]
            if inside:
                yield Extent(start, start + size, _rows(inside))

    return windows


def sessions(gap: int) -> Windows:
    """Return the function that cuts sessions."""

    def windows(events: Sequence[LiveEvent]) -> Iterator[Extent]:
        run: list[LiveEvent] = []
        for event in sorted(events, key=lambda event: event.start):
            if run and event.start > run[-1].start + gap:
                yield Extent(run[0].start, run[-1].start + gap, _rows(run), _rows([run[0], run[-1]]))
                run = []
            run.append(event)
        if run:
            yield Extent(run[0].start, run[-1].start + gap, _rows(run), _rows([run[0], run[-1]]))

    return windows


def snapshots(events: Sequence[LiveEvent]) -> Iterator[Extent]:
    """Cut snapshots: a window from each start or end of an event to the next."""
    edges: set[int] = set()
    for event in events:
        edges |= {event.start, event.end}
    edges.discard(INFINITY)
    for start, end in itertools.pairwise(sorted(edges)):
        inside = [event for event in events if event.start < end and event.end > start]
        if inside:
            bounds = [event for event in events if {event.start, event.end} & {start, end}]
            yield Extent(start, end, _rows(inside), _rows(bounds))


def counts(size: int) -> Windows:
    """Return the function that cuts windows of a number of starts."""

    def windows(events: Sequence[LiveEvent]) -> Iterator[Extent]:
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
    events: dict[Any, dict[int, LiveEvent]] = field(default_factory=dict)  # by key, and by the number of the insertion
    live_results: dict[Place, StoryChange] = field(default_factory=dict)
    watermark: int = EARLIEST
    newest: int = EARLIEST

    def batch(self, *rows: Mapping[str, Any], run: int = 0, punctuation: int = EARLIEST) -> None:
        """Process the rows of a micro-batch, and emit the results that they change.

        Args:
            rows: The rows, as columns by name; see `_process`.
            run: The number of the run of the query.
            punctuation: The time up to which the input says that it is complete.
        """
        number = len(self.batches)
        first_row = len(self.rows)
        for row in rows:
            self._process(number, dict(row))
        batch_rows = self.rows[first_row:]

        # Results change because of the rows that move the watermark; without any, because of the last row.
        if self.newest > EARLIEST:
            self.watermark = max(self.watermark, self.newest - self.delay, punctuation)
        newest_rows = [row.number for row in batch_rows if row.start == self.newest]
        last_row = [row.number for row in batch_rows[-1:]]
        self._emit(number, newest_rows or last_row)

        held_by = "gates" if number % 4 == 3 else None
        self.batches.append(
            StoryBatch(
                number=number, run=run, rows=len(rows), watermark=self.watermark, newest=self.newest, held_by=held_by
            )
        )

    def story(self, title: str, key_names: Sequence[str], plan: str = "") -> Story:
        """Return the story so far; rows that open windows still wait for say the end of the last of these."""
        open_until: dict[int, int] = {}
        for events in self.events.values():
            for windows in self.specifications.values():
                for extent in windows(list(events.values())):
                    if extent.end > self.watermark:
                        open_until.update(dict.fromkeys(extent.members, extent.end))

        rows: list[StoryRow] = []
        for row in self.rows:
            if row.number not in open_until:
                rows.append(row)
                continue
            columns = {name: getattr(row, name) for name in row.__slots__}
            rows.append(StoryRow(**(columns | {"waits_for": open_until[row.number]})))
        return Story(
            title=title,
            plan=plan,
            key_names=key_names,
            axis=self.axis,
            batches=self.batches,
            rows=rows,
            changes=self.changes,
        )

    def _process(self, batch: int, row: dict[str, Any]) -> None:
        """Add a row, and insert or change its event.

        Args:
            batch: The number of the micro-batch.
            row: The key, the lifetime, the change, for a change the number of the row that inserted the event (`of`),
                for a row that does not count its fate and the reason; all else is a value.
        """
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
        events = self.events.setdefault(key, {})
        if fate is Fate.COUNTED and of is not None:
            event = of
            live_event = events[of]
            live_event.end = new_end if new_end is not None else live_event.start
            live_event.rows.append(number)
            if live_event.end <= live_event.start:
                del events[of]
        elif fate is Fate.COUNTED and change == "insert" and start is not None:
            event = number
            events[number] = LiveEvent(start, start + 1 if end is None else end, row, [number])
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
        """Emit the changes of a micro-batch: retract and insert results until they are those of the windows."""
        windows_to_emit: dict[Place, Extent] = {}
        for key, events in self.events.items():
            for name, windows in self.specifications.items():
                for extent in windows(list(events.values())):
                    if self.emits_early or extent.end <= self.watermark:
                        windows_to_emit[key, name, extent.start, extent.end] = extent

        for place in list(self.live_results):
            if place not in windows_to_emit:
                self._retract(batch, place, trigger)

        for place, extent in windows_to_emit.items():
            is_early = extent.end > self.watermark
            values = self.compute([self.rows[number] for number in extent.members])
            previous = self.live_results.get(place)
            if previous is not None:
                if previous.values == values and previous.is_early == is_early:
                    continue
                self._retract(batch, place, trigger)
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
                firing=0 if previous is None else previous.firing + 1,
                members=extent.members,
                bounds=extent.bounds,
                trigger=trigger,
            )
            self.live_results[place] = inserted
            self.changes.append(inserted)

    def _retract(self, batch: int, place: Place, trigger: Sequence[int]) -> None:
        """Retract the live result of a window."""
        result = self.live_results.pop(place)
        key, name, start, end = place
        self.changes.append(
            StoryChange(
                number=len(self.changes),
                batch=batch,
                key=key,
                change="retract",
                result=result.number,
                window=(start, end),
                window_name=name,
                start=start,
                end=end,
                values=result.values,
                is_early=result.is_early,
                firing=result.firing,
                members=result.members,
                bounds=result.bounds,
                trigger=trigger,
            )
        )


def delays(rows: Sequence[StoryRow]) -> Mapping[str, Any]:
    """The number of flights and their mean delay."""
    minutes = [row.values["delay"] for row in rows if "delay" in row.values]
    return {"flights": len(minutes), "mean_delay": round(sum(minutes) / len(minutes), 2)}


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
        punctuation = now - 5 * MINUTE if batch == 8 else EARLIEST
        teller.batch(*rows, run=int(batch >= 10), punctuation=punctuation)
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
    teller.batch({"key": ("north",), "start": 25, "km": 1}, punctuation=30)
    return teller.story("tumbling(10) by station", ("station",))
