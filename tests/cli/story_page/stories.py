"""Stories made without an engine: windows over a small stream, recomputed from all events after each micro-batch."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
        rows: The numbers of the rows that inserted and changed it.
    """

    start: int
    end: int
    rows: list[int]


@dataclass(frozen=True)
class Extent:
    """A window.

    Attributes:
        start: Its start.
        end: Its end.
        members: The numbers of the rows of the events in it.
        bounds: The numbers of the rows that set its start and end, unless these are multiples of a number.
    """

    start: int
    end: int
    members: tuple[int, ...]
    bounds: tuple[int, ...] = ()


Windows = Callable[[Sequence[LiveEvent]], Iterator[Extent]]
"""Cuts the windows of the events of one key."""

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
            first_start = (event.start - size) // hop * hop + hop  # of the earliest window that has the event
            starts.update(range(first_start, event.start + 1, hop))
        for start in sorted(starts):
            inside = [event for event in events if start <= event.start < start + size]
            if inside:
                yield Extent(start, start + size, _rows(inside))

    return windows


def sessions(gap: int) -> Windows:
    """Return the function that cuts sessions."""

    def session_of(events: Sequence[LiveEvent]) -> Extent:
        first = events[0]
        last = events[-1]
        return Extent(first.start, last.start + gap, members=_rows(events), bounds=_rows([first, last]))

    def windows(events: Sequence[LiveEvent]) -> Iterator[Extent]:
        session: list[LiveEvent] = []
        for event in sorted(events, key=lambda event: event.start):
            if session and event.start > session[-1].start + gap:
                yield session_of(session)
                session = []
            session.append(event)
        if session:
            yield session_of(session)

    return windows


_NO_VALUES = frozenset({"key", "change", "of", "start", "end", "new_end", "fate", "reason"})
"""The columns of a row that are no values which modules read."""


@dataclass
class Teller:
    """Tells a story while rows come, and recomputes what changes.

    Attributes:
        specifications: The windows of the query, by their names.
        compute: The values of a result, from the rows of its window.
        delay: The ticks from the watermark to the newest start.
        emits_early: True if windows that are still open have results too.
        axis: The axis.
        rows: The rows so far.
        changes: The changes of results so far.
        batches: The micro-batches so far.
        events: The events that are not retracted, by key, and by the number of the row that inserted them.
        live_results: The results that are not retracted, by their places.
        watermark: The watermark.
        newest: The largest start of an event so far.
    """

    specifications: Mapping[str, Windows]
    compute: Callable[[Sequence[StoryRow]], Mapping[str, Any]]
    delay: int
    emits_early: bool = False
    axis: Axis = Axis.TIME
    rows: list[StoryRow] = field(default_factory=list)
    changes: list[StoryChange] = field(default_factory=list)
    batches: list[StoryBatch] = field(default_factory=list)
    events: dict[Any, dict[int, LiveEvent]] = field(default_factory=dict)
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
            self._process(number, row)
        batch_rows = self.rows[first_row:]

        # Results change because of the rows that move the watermark; without any, because of the last row.
        if self.newest > EARLIEST:
            self.watermark = max(self.watermark, self.newest - self.delay, punctuation)
        newest_rows = [row.number for row in batch_rows if row.start == self.newest]
        last_row = [row.number for row in batch_rows[-1:]]
        self._emit(number, newest_rows or last_row)

        held_by = "gates" if number % 4 == 3 else None  # so that the page has some to show
        self.batches.append(
            StoryBatch(
                number=number, run=run, rows=len(rows), watermark=self.watermark, newest=self.newest, held_by=held_by
            )
        )

    def story(self, title: str, key_names: Sequence[str], plan: str = "") -> Story:
        """Return the story so far. A row in windows that are still open says for which watermark they wait."""
        open_until: dict[int, int] = {}
        for events in self.events.values():
            for windows in self.specifications.values():
                for extent in windows(list(events.values())):
                    if extent.end > self.watermark:
                        open_until.update(dict.fromkeys(extent.members, extent.end))

        rows = [replace(row, waits_for=open_until.get(row.number)) for row in self.rows]
        return Story(
            title=title,
            plan=plan,
            key_names=key_names,
            axis=self.axis,
            batches=self.batches,
            rows=rows,
            changes=self.changes,
        )

    def _process(self, batch: int, row: Mapping[str, Any]) -> None:
        """Add a row, and insert or change its event.

        Args:
            batch: The number of the micro-batch.
            row: The key, the lifetime, the change, for a change the number of the row that inserted the event (`of`),
                for a row that does not count its fate and the reason; all else is a value.
        """
        number = len(self.rows)
        fate, reason = self._fate_of(row)
        event = self._change_event(number, row) if fate is Fate.COUNTED else None
        self.rows.append(
            StoryRow(
                number=number,
                batch=batch,
                key=row["key"],
                change=row.get("change", "insert"),
                start=row.get("start"),
                end=row.get("end"),
                new_end=row.get("new_end"),
                values={name: value for name, value in row.items() if name not in _NO_VALUES},
                fate=fate,
                reason=reason,
                event=event,
            )
        )

    def _fate_of(self, row: Mapping[str, Any]) -> tuple[Fate, str]:
        """Return the fate of a row and the reason: as the row says, unless it counts and inserts an event too late."""
        fate = Fate(row.get("fate", "counted"))
        start = row.get("start")
        inserts = "of" not in row
        if fate is Fate.COUNTED and inserts and start is not None and start < self.watermark:
            lateness = self.axis.spell_length(self.watermark - start)
            return Fate.LATE, f"it starts {lateness} before the watermark"
        return fate, row.get("reason", "")

    def _change_event(self, number: int, row: Mapping[str, Any]) -> int | None:
        """Insert or change the event of a row that counts.

        Args:
            number: The number of the row.
            row: The row.

        Returns:
            The number of the row that inserted the event; None if the row is about no event.
        """
        events = self.events.setdefault(row["key"], {})
        if "of" in row:
            insertion: int = row["of"]
            event = events[insertion]
            event.end = row["new_end"]
            event.rows.append(number)
            if event.end <= event.start:
                del events[insertion]
            return insertion

        if row.get("change", "insert") != "insert":
            return None  # punctuation
        start: int = row["start"]
        end: int = row.get("end", start + 1)
        events[number] = LiveEvent(start=start, end=end, rows=[number])
        self.newest = max(self.newest, start)
        return number

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

        # A window gets a new result if its values are others now, or if its early result has become final.
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
    """Return the number of flights and their mean delay; rows that change a flight have no delay."""
    minutes = [row.values["delay"] for row in rows if "delay" in row.values]
    return {"flights": len(minutes), "mean_delay": round(sum(minutes) / len(minutes), 2)}


WRONG = 4711.0
"""The delay of the one flight whose row is wrong."""

_BATCHES = 16
_BATCH_LENGTH = 20 * MINUTE


def flights(emits_early: bool = False) -> Story:
    """An afternoon at three airports: flights that have landed and not, cancelled ones, and bad rows.

    Each micro-batch has the flights of twenty minutes. The rows of other kinds come in fixed micro-batches, so that the
    page has each kind of row to show, and the query starts again before the micro-batch 10.
    """
    draw = random.Random(29)
    specifications = {"hopping": hopping(HOUR, 30 * MINUTE), "session": sessions(25 * MINUTE)}
    teller = Teller(specifications, delays, delay=20 * MINUTE, emits_early=emits_early)
    flights_in_air: list[tuple[int, Mapping[str, Any]]] = []  # each with the number of its row
    for batch in range(_BATCHES):
        now = NOON + batch * _BATCH_LENGTH
        rows = _departures(draw, batch, now)
        first_row = len(teller.rows)
        for number, row in enumerate(rows, first_row):
            if row["end"] == INFINITY:
                flights_in_air.append((number, row))

        if batch % 3 == 2 and flights_in_air:
            number, flight = flights_in_air.pop(0)
            rows.append(_changed_flight("revise", number, flight, new_end=now + 5 * MINUTE))
        if batch == 9:
            number, flight = flights_in_air.pop()
            rows.append(_changed_flight("retract", number, flight, new_end=flight["start"]))

        rows += _rows_that_do_not_count(batch, now)

        punctuation = EARLIEST
        if batch == 8:
            punctuation = now - 5 * MINUTE
            rows.append({"key": None, "change": "punctuate", "start": punctuation})
        teller.batch(*rows, run=0 if batch < 10 else 1, punctuation=punctuation)

    return teller.story(
        title="Flights and their mean delay per airport, hopping(1 hour, 30 minutes) and session(25 minutes)",
        key_names=["airport"],
        plan="hopping(1 hour, 30 minutes), session(25 minutes) per airport\n  watermark: 20 minutes behind",
    )


def _departures(draw: random.Random, batch: int, now: int) -> list[dict[str, Any]]:
    """Draw the flights that start in a micro-batch: a third of them has not landed, and one has a wrong delay."""
    rows: list[dict[str, Any]] = []
    wrong_is_due = batch == 7
    for airport in ("EWR", "JFK", "LGA"):
        for _ in range(draw.choice((1, 2, 2, 3))):
            start = now + draw.randrange(20) * MINUTE
            is_in_air = draw.random() < 0.3
            delay = float(draw.randrange(-5, 60))
            if wrong_is_due and airport == "JFK":
                delay = WRONG
                is_in_air = False
                wrong_is_due = False
            end = INFINITY if is_in_air else start + draw.randrange(20, 150) * MINUTE
            number = 100 + draw.randrange(900)
            rows.append({"key": (airport,), "start": start, "end": end, "delay": delay, "flight": f"MU{number}"})
    return rows


def _changed_flight(change: str, number: int, flight: Mapping[str, Any], new_end: int) -> dict[str, Any]:
    """Return the row that changes the end of a flight in the air.

    Args:
        change: `revise` if it has landed, `retract` if it is cancelled.
        number: Number of the row that inserted the flight.
        flight: Row with that number.
        new_end: The end from now on.
    """
    return {
        "key": flight["key"],
        "change": change,
        "start": flight["start"],
        "end": INFINITY,
        "new_end": new_end,
        "of": number,
    }


def _rows_that_do_not_count(batch: int, now: int) -> list[dict[str, Any]]:
    """Return the rows of a micro-batch that are late, rejected or filtered."""
    rows: list[dict[str, Any]] = []
    if batch in (4, 10, 13):
        # Late: the watermark is 20 minutes behind the newest flight.
        rows.append({"key": ("LGA",), "start": now - 45 * MINUTE, "end": now, "delay": 12.0, "flight": "MU007"})
    if batch in (5, 11):
        ends_before = {"fate": "rejected", "reason": "it ends before it starts"}
        rows.append({"key": ("EWR",), "start": now, "end": now - HOUR, "delay": 3.0, "flight": "MU666", **ends_before})
    if batch in (3, 6, 12):
        not_delayed = {"fate": "filtered", "reason": "delay > 0 is false"}
        rows.append({"key": ("JFK",), "start": now + MINUTE, "delay": 0.0, "flight": "MU000", **not_delayed})
    if batch == 8:
        without_time = {"fate": "rejected", "reason": "it has no time"}
        rows.append({"key": ("JFK",), "start": None, "flight": "MU123", **without_time})
    return rows


def short_rides() -> Story:
    """Return a recording on an axis of ticks: rides of two stations as points, summed over windows of ten ticks.

    Its smallest sum is 10, a number that is also an end and a start of windows.
    """
    teller = Teller(
        specifications={"": hopping(10, 10)},
        compute=lambda rows: {"km": sum(row.values["km"] for row in rows)},
        delay=0,
        axis=Axis.TICKS,
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
