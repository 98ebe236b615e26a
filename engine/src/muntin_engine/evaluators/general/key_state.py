"""The state of one key over windows that cut the axis: its events, windows and assigner."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Final, Self

from muntin import EARLIEST, EarlyEmission, EmitPolicy, Window
from muntin_engine.evaluators.general.assigner import Assigner
from muntin_engine.evaluators.general.fast_assigners import GridAssigner, assigner_of, new_assigner
from muntin_engine.evaluators.general.window_index import TriggerState, WindowEntry, WindowIndex, by_window
from muntin_engine.evaluators.keyed.computation import SweptWindow, sweep
from muntin_engine.evaluators.keyed.event_index import StoredEvent
from muntin_engine.evaluators.keyed.key_events import DECODED, KeyEvents, payloads_of
from muntin_engine.evaluators.keyed.live_output import LiveRow, OutputRow
from muntin_engine.evaluators.keyed.state_serializer import StateSerializer
from muntin_engine.plan.evaluator_query import EvaluatorQuery
from muntin_engine.state.stored_bucket import HeldRow, NamedInput, StoredStates
from muntin_engine.time.changes import InputChange

_EVENT: Final = 320
"""The memory of an event and of its marks in bytes, where its payload is a number; measured."""

_STORED_EVENT: Final = 30
"""The bytes of an event in a record, besides its payload, roughly."""

_STORED_WINDOW: Final = 40
"""The bytes of a window and its entry in a record, besides the result, roughly."""


_NO_WINDOWS: Final = WindowIndex()
"""The windows of keys of a query whose output is final, which keep none."""


class KeyState(KeyEvents):
    """The indexes of one key.

    Attributes:
        assigner: The assigner of its windows.
        windows: The windows that have been emitted and may change, or that have a trigger state.
        closes_out_of_order: True if a window may close before an earlier one, which waits for the end of an event that
            is not a member of the later one.
    """

    def __init__(self, query: EvaluatorQuery, serial: int = 0) -> None:
        """Start a key; see `KeyEvents`."""
        super().__init__(query, serial)
        new = query.once(new_assigner)
        self.assigner: Assigner = new.copy() if isinstance(new, GridAssigner) else assigner_of(query.window)
        self.closes_out_of_order = query.waits_for_ends and not self.assigner.closes_in_order
        self.windows = _NO_WINDOWS
        if query.emit is not EmitPolicy.FINAL:
            are_all_read = query.is_time_bound or self.closes_out_of_order or isinstance(query.emit, EarlyEmission)
            self.windows = WindowIndex(keeps_history=query.is_time_bound, packs=not are_all_read)

    @property
    def is_empty(self) -> bool:
        """True if forgetting the key loses nothing."""
        return not (self.events.size or self.windows or self.assigner.outlives_events) and super().is_empty

    @property
    def plain_count(self) -> int:
        """The number of events, if no windows, no waiting rows and no watermark of its own are kept; otherwise 0."""
        return 0 if self.windows else super().plain_count

    def memory(self, size: int) -> int:
        """Return the memory that it takes in bytes, roughly, if its records have so many bytes."""
        windows = self.windows.memory
        if windows is None:
            return DECODED * size
        payloads = max(size - _STORED_EVENT * self.events.size - _STORED_WINDOW * len(self.windows), 0)
        return min(_EVENT * self.events.size + windows + payloads, DECODED * size)

    @property
    def held_windows(self) -> int:
        """The number of windows that are kept."""
        return len(self.windows)

    @property
    def entries(self) -> list[tuple[Window, WindowEntry]]:
        """The windows that are kept, each with its entry."""
        return self.windows.items() if self.windows else []

    def membership(self, start: int, end: int) -> tuple[int, int]:
        """Return the stretch of the axis whose windows an event with a lifetime is a member of."""
        return self.assigner.membership(start, end)

    def memberships(self, starts: Sequence[int], ends: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
        """Return the starts and the ends of these stretches, of many lifetimes."""
        return self.assigner.memberships(starts, ends)

    def replace(self, gone: Sequence[StoredEvent], new: Sequence[StoredEvent]) -> None:
        """Remove some events, and add others except those that are never a member of any window."""
        kept = new if self.query.event_ends_move else [event for event in new if event.since < event.until]
        if gone:
            self.assigner.remove(gone)
        if kept:
            self.assigner.add(kept)
        self.events.replace(gone, kept)

    def sweep(self, windows: Iterable[Window]) -> Iterator[SweptWindow]:
        """Sweep over some open windows, in any order, with their members."""
        ordered = sorted(windows, key=by_window)
        return sweep(ordered, self.events.overlapping(ordered[0].start, ordered[-1].end) if ordered else [])

    def held_rows(self, states: StoredStates, inputs: Sequence[NamedInput]) -> Iterator[HeldRow]:
        """Yield the events, and of each window that is kept what modules and a trigger keep and what was emitted."""
        yield from super().held_rows(states, inputs)
        for window, entry in self.entries:
            row = HeldRow("window", (), window.start, window.end, None, events=entry.size)
            yield from states.rows(row, entry.states) if entry.states else (row,)
            if entry.trigger_state is not None:
                yield row._replace(kind="trigger", value=entry.trigger_state._asdict())
            for _, (start, end, value) in entry.live:
                yield HeldRow("result", (), start, end, value)

    def track(self) -> None:
        """Take the state for stored as it is, and track its changes from now on."""
        super().track()
        self.windows.track()

    def to_data(self, serializer: StateSerializer, key: object, *, is_whole: bool = True) -> list[object]:
        """Return the state as plain data: windows with what modules keep of them, the assigner, and the events."""
        windows: Sequence[tuple[Window, WindowEntry]] = ()
        if not is_whole:
            changed = sorted(self.windows.changed or (), key=by_window)
            windows = [(window, self.windows.get(window)) for window in changed]
        elif self.windows:
            windows = self.windows.items()
        packed: list[bytes] = []
        if windows:
            packed = serializer.pack([entry.states for _, entry in windows], key, [window for window, _ in windows])
        data = [_window_to_data(window, entry) for window, entry in windows]
        events = super().to_data(serializer, key, is_whole=is_whole)
        return [data, packed, serializer.schema_version, self.assigner.to_data(), events]

    @classmethod
    def from_data(
        cls, query: EvaluatorQuery, stored: Sequence[list[Any]], serializer: StateSerializer, key: object
    ) -> Self:
        """Return the state that `to_data` wrote, with the differences and the `waiting_rows` after it."""
        state, is_ordered = cls(query), len(stored) == 1
        if _WAITING_PARTS in (len(stored[0]), len(stored[-1])):  # they begin a key, or come last
            stored, is_ordered = _with_waiting(stored, serializer.schema_version), False
        state.assigner.restore(stored[-1][3])
        state.restore([record[4] for record in stored], is_ordered=is_ordered)
        state.assigner.add(state.events)
        for windows, packed, schema_version, *_ in stored:
            if not windows:
                continue
            of_windows = [Window(start, end) for start, end, *_ in windows]
            held = serializer.unpack(packed, schema_version, key, of_windows)
            for window, states, (_, _, size, live, *trigger_state) in zip(of_windows, held, windows, strict=True):
                rows = [LiveRow(id, OutputRow(*row)) for id, *row in live]
                state.windows.put(
                    window, WindowEntry(size, states, rows, TriggerState(*trigger_state) if trigger_state else None)
                )
        return state


_WAITING_PARTS: Final = 6
"""The number of parts of a record of waiting rows; other records have fewer."""


def waiting_rows(serial: int, assigner: list[object], rows: Iterable[InputChange | StoredEvent]) -> list[object]:
    """Return insertions without ids as the data of a record, which needs nothing of the state that it is appended to.

    Args:
        serial: The largest serial number that may be in use already, by this key or another.
        assigner: What the assigner of their windows stores, if it has closed some; the record then is appended to none.
        rows: The insertions, or their events.
    """
    _, starts, ends, payloads, *_ = zip(*rows, strict=True)
    return [serial, assigner, list(starts), list(ends), len(payloads[0]), list(chain.from_iterable(payloads))]


def columns_of(stored: Sequence[list[Any]]) -> tuple[int, int, list[int], list[int], list[tuple[Any, ...]]]:
    """Return the serial number and the frontier of a key of few rows, and their starts, ends and payloads."""
    serial, frontier, starts, ends, payloads = 0, EARLIEST, list[int](), list[int](), list[tuple[Any, ...]]()
    for record in stored:
        if len(record) == _WAITING_PARTS:
            last, closed, some, until, width, values = record
        else:
            _, _, _, closed, (last, _, _, _, some, until, width, values, _, _) = record
        serial, frontier = max(serial, last), max([frontier, *closed])
        starts += some
        ends += until
        payloads += payloads_of(values, width, len(some))
    return serial, frontier, starts, ends, payloads


def _with_waiting(stored: Sequence[list[Any]], schema_version: int) -> list[list[Any]]:
    """Return records in the form of `to_data`: rows that waited, and the events before them, as one record.

    Its events get serial numbers, which are the same whenever the records are read.
    """
    count = 1 + max(place for place, record in enumerate(stored) if len(record) == _WAITING_PARTS)
    serial, frontier, starts, ends, payloads = columns_of(stored[:count])
    last = serial + len(starts)
    values = list(chain.from_iterable(payloads))
    events = [last, [[]], [*range(serial + 1, last + 1)], [], starts, ends, len(payloads[0]), values, [], EARLIEST]
    return [[[], [], schema_version, [frontier], events], *stored[count:]]


def _window_to_data(window: Window, entry: WindowEntry) -> list[object]:
    live = [[out.id, out.row.start, out.row.end, out.row.value] for out in entry.live]
    return [window.start, window.end, entry.size, live, *(entry.trigger_state or ())]
