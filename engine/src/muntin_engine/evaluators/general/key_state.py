"""The state of one key over windows that cut the axis: its events, windows and assigner."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple, Self

from muntin import EARLIEST, EarlyEmission, EmitPolicy, Window
from muntin_engine.evaluators.general.assigner import Assigner
from muntin_engine.evaluators.general.fast_assigners import GridAssigner, assigner_of, shared_assigner
from muntin_engine.evaluators.general.window_index import TriggerState, WindowEntry, WindowIndex, by_window
from muntin_engine.evaluators.keyed.event_index import StoredEvent
from muntin_engine.evaluators.keyed.key_events import DECODED, EventsData, KeyEvents, payloads_of
from muntin_engine.evaluators.keyed.live_output import LiveRow, OutputRow
from muntin_engine.evaluators.keyed.state_serializer import StateSerializer
from muntin_engine.evaluators.keyed.sweep import SweptWindow, sweep
from muntin_engine.plan.evaluator_query import EvaluatorQuery
from muntin_engine.state.bucket_reader import NamedInput, StateReader, StateRow
from muntin_engine.time.changes import InputChange

_EVENT_MEMORY: Final = 320
"""The memory of an event and of its marks in bytes, where its payload is a number; measured."""

_STORED_EVENT_SIZE: Final = 30
"""The bytes of an event in a record, besides its payload, roughly."""

_STORED_WINDOW_SIZE: Final = 40
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
        """Start a key, with an assigner of its windows and, unless output is final, an index of those emitted."""
        super().__init__(query, serial)
        assigner_of_all_keys = query.once(shared_assigner)
        self.assigner: Assigner
        if isinstance(assigner_of_all_keys, GridAssigner):
            # Cheaper than a new one, and each key that a batch touches has one.
            self.assigner = assigner_of_all_keys.copy()
        else:
            self.assigner = assigner_of(query.window)
        self.closes_out_of_order = query.waits_for_ends and not self.assigner.closes_in_order
        self.windows = _NO_WINDOWS
        if query.emit is not EmitPolicy.FINAL:
            # Windows are not packed where a batch goes through all of them.
            has_triggers = isinstance(query.emit, EarlyEmission)
            reads_all_windows = query.is_time_bound or self.closes_out_of_order or has_triggers
            self.windows = WindowIndex(keeps_history=query.is_time_bound, packs=not reads_all_windows)

    @property
    def is_empty(self) -> bool:
        """True if forgetting the key loses nothing."""
        if self.events.size or self.windows or self.assigner.outlives_events:
            return False
        return super().is_empty

    @property
    def plain_count(self) -> int:
        """Number of events if they dominate the size, else 0."""
        return 0 if self.windows else super().plain_count

    def memory(self, size: int) -> int:
        """Return the memory of the state in bytes, roughly, if its records have `size` bytes."""
        window_memory = self.windows.memory
        if window_memory is None:  # no window is packed: objects take about `DECODED` times the stored bytes
            return DECODED * size
        # The rest of the records, besides the fields of events and windows, are payloads.
        payload_memory = size - _STORED_EVENT_SIZE * self.events.size - _STORED_WINDOW_SIZE * len(self.windows)
        event_memory = _EVENT_MEMORY * self.events.size + max(payload_memory, 0)
        return min(event_memory + window_memory, DECODED * size)  # no more than if no window were packed

    @property
    def held_windows(self) -> int:
        """The number of windows that are kept."""
        return len(self.windows)

    @property
    def entries(self) -> list[tuple[Window, WindowEntry]]:
        """The windows that are kept, each with its entry."""
        return self.windows.items() if self.windows else []

    def membership(self, start: int, end: int) -> tuple[int, int]:
        """Return the start and the end of an event's membership: it is a member of the windows that overlap that."""
        return self.assigner.membership(start, end)

    def memberships(self, starts: Sequence[int], ends: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
        """Return the starts and the ends of the memberships of many lifetimes."""
        return self.assigner.memberships(starts, ends)

    def replace(self, old_events: Sequence[StoredEvent], new_events: Sequence[StoredEvent]) -> None:
        """Remove events, and add others except those that are never a member of any window."""
        needed_events = self.needed_events(new_events)
        if old_events:
            self.assigner.remove(old_events)
        if needed_events:
            self.assigner.add(needed_events)
        self.events.replace(old_events, needed_events)

    def sweep(self, windows: Iterable[Window]) -> Iterator[SweptWindow]:
        """Sweep over open windows, in any order, with their members."""
        ordered = sorted(windows, key=by_window)
        if not ordered:
            return iter(())
        return sweep(ordered, self.events.overlapping(ordered[0].start, ordered[-1].end))

    def state_rows(self, states: StateReader, inputs: Sequence[NamedInput]) -> Iterator[StateRow]:
        """Yield the events, and the states and live results of each window that is kept."""
        yield from super().state_rows(states, inputs)
        for window, entry in self.entries:
            row = StateRow("window", key=(), start=window.start, end=window.end, value=None, events=entry.size)
            if entry.states:
                yield from states.rows(row, entry.states)
            else:
                yield row
            if entry.trigger_state is not None:
                yield row._replace(kind="trigger", value=entry.trigger_state._asdict())
            for live_row in entry.live_rows:
                start, end, value = live_row.row
                yield StateRow("result", key=(), start=start, end=end, value=value)

    def track(self) -> None:
        """Mark the state as saved; record changes from now on."""
        super().track()
        self.windows.track()

    def to_data(self, serializer: StateSerializer, key: object, *, is_whole: bool = True) -> list[object]:
        """Return the state as plain data: the fields of `_StateRecord`.

        Args:
            serializer: Encodes the states of modules.
            key: The key, for errors.
            is_whole: False for the windows and the events that changed since the state was saved.
        """
        windows: Sequence[tuple[Window, WindowEntry]] = ()
        if not is_whole:
            changed_windows = sorted(self.windows.changed_windows or (), key=by_window)
            windows = [(window, self.windows.get(window)) for window in changed_windows]
        elif self.windows:
            windows = self.windows.items()
        packed: list[bytes] = []
        if windows:
            packed = serializer.pack([entry.states for _, entry in windows], key, [window for window, _ in windows])
        record = _StateRecord(
            windows=[_window_to_data(window, entry) for window, entry in windows],
            packed_states=packed,
            schema_version=serializer.schema_version,
            assigner=self.assigner.to_data(),
            events=super().to_data(serializer, key, is_whole=is_whole),
        )
        return list(record)

    @classmethod
    def from_data(
        cls, query: EvaluatorQuery, stored: Sequence[list[Any]], serializer: StateSerializer, key: object
    ) -> Self:
        """Return the state of a key from its records: those that `to_data` wrote, and those of `waiting_rows`."""
        state = cls(query)
        is_ordered = len(stored) == 1  # a state that is written whole has its events in the order of the index
        # Rows are appended to a key that had no state, or to a whole state: so records of waiting rows are the first
        # ones of a key, or the last ones.
        if _is_of_waiting_rows(stored[0]) or _is_of_waiting_rows(stored[-1]):
            stored = _with_waiting(stored, serializer.schema_version)
            is_ordered = False
        records = [_StateRecord(*record) for record in stored]

        # The assigner comes first, as the memberships of events depend on it; then it learns of the events.
        state.assigner.restore(records[-1].assigner)
        state.restore([record.events for record in records], is_ordered=is_ordered)
        state.assigner.add(state.events)

        # A later record has the entries of windows that changed: these replace the earlier ones.
        for record in records:
            if not record.windows:
                continue
            stored_windows = [_WindowData.of(data) for data in record.windows]
            windows = [Window(data.start, data.end) for data in stored_windows]
            states_of_windows = serializer.unpack(record.packed_states, record.schema_version, key, windows)
            for window, states, data in zip(windows, states_of_windows, stored_windows, strict=True):
                state.windows.put(window, _entry_from_data(data, states))
        return state


class _StateRecord(NamedTuple):
    """The parts of a record that `KeyState.to_data` wrote.

    Attributes:
        windows: The data of the windows that have been emitted and may still change.
        packed_states: The module states of these windows.
        schema_version: The number of the schema version that wrote them.
        assigner: The data of the assigner.
        events: The data of the events, as `KeyEvents.to_data` wrote them.
    """

    windows: list[Any]
    packed_states: list[bytes]
    schema_version: int
    assigner: list[Any]
    events: list[Any]


class _WaitingRecord(NamedTuple):
    """The parts of a record that `waiting_rows` made.

    Attributes:
        serial: The largest serial number that may be in use already.
        assigner: The data of the assigner, if it has closed windows.
        starts: The starts of the rows.
        ends: The ends of the rows.
        width: The number of values of each payload.
        values: The values of all payloads, one payload after the other.
    """

    serial: int
    assigner: list[Any]
    starts: list[int]
    ends: list[int]
    width: int
    values: list[Any]


_WAITING_PARTS: Final = len(_WaitingRecord._fields)


def _is_of_waiting_rows(record: list[Any]) -> bool:
    """Return True if a record was made by `waiting_rows`; one of `KeyState.to_data` has fewer parts."""
    return len(record) == _WAITING_PARTS


def waiting_rows(serial: int, assigner: list[object], rows: Sequence[InputChange | StoredEvent]) -> list[object]:
    """Return insertions without ids as the data of a record: the fields of `_WaitingRecord`.

    The record is made without reading those that the key has already.

    Args:
        serial: The largest serial number that may be in use already, by this key or another.
        assigner: The data of the assigner, if it has closed windows; the record is then the only one of the key.
        rows: The insertions, or their events.
    """
    starts = [row.start for row in rows]
    ends = [row.end for row in rows]
    width = len(rows[0].payload)
    values = list(chain.from_iterable([row.payload for row in rows]))
    return [serial, assigner, starts, ends, width, values]


class WaitingColumns(NamedTuple):
    """The rows of a key of few rows, which wait for their windows to close, column by column.

    Attributes:
        serial: The largest serial number in use.
        frontier: The tick up to which windows have closed.
        starts: The starts of the rows.
        ends: The ends of the rows.
        payloads: The payloads of the rows.
    """

    serial: int
    frontier: int
    starts: list[int]
    ends: list[int]
    payloads: list[tuple[Any, ...]]


def waiting_columns(stored: Sequence[list[Any]]) -> WaitingColumns:
    """Read a key of few rows from all its records, be they of waiting rows or of `KeyState.to_data`."""
    serial = 0
    frontier = EARLIEST
    starts: list[int] = []
    ends: list[int] = []
    payloads: list[tuple[Any, ...]] = []
    for record in stored:
        if _is_of_waiting_rows(record):
            # Unpacked without `_WaitingRecord`, as this runs for each micro-batch of each key of few rows.
            record_serial, assigner_data, record_starts, record_ends, width, values = record
        else:
            state_record = _StateRecord(*record)
            events = EventsData(*state_record.events)
            assigner_data = state_record.assigner
            record_serial = events.serial
            record_starts = events.starts
            record_ends = events.ends
            width = events.width
            values = events.values
        serial = max(serial, record_serial)
        frontier = max([frontier, *assigner_data])  # an assigner of a grid has its frontier alone as data, or none
        starts += record_starts
        ends += record_ends
        payloads += payloads_of(values, width, len(record_starts))
    return WaitingColumns(serial, frontier, starts, ends, payloads)


def _with_waiting(stored: Sequence[list[Any]], schema_version: int) -> list[list[Any]]:
    """Return the records of a key in the form of `to_data`: those up to the last one of waiting rows become one record.

    The rows get serial numbers, which are the same whenever the records are read.
    """
    waiting_places = [place for place, record in enumerate(stored) if _is_of_waiting_rows(record)]
    merged_count = waiting_places[-1] + 1
    rows = waiting_columns(stored[:merged_count])
    last_serial = rows.serial + len(rows.starts)
    # No event is gone, and no row waits for others of its event.
    events = EventsData(
        serial=last_serial,
        gone_columns=[[]],
        input_ids=[*range(rows.serial + 1, last_serial + 1)],
        origins=[],
        starts=rows.starts,
        ends=rows.ends,
        width=len(rows.payloads[0]),
        values=list(chain.from_iterable(rows.payloads)),
        pending=[],
        key_watermark=EARLIEST,
    )
    merged_record = _StateRecord(
        windows=[],
        packed_states=[],
        schema_version=schema_version,
        assigner=[rows.frontier],
        events=list(events),
    )
    return [list(merged_record), *stored[merged_count:]]


class _WindowData(NamedTuple):
    """The parts of a window that `_window_to_data` wrote.

    Attributes:
        start: The start of the window.
        end: The end of the window.
        size: The number of its members.
        live_rows: The live rows: the id of each, with its parts.
        trigger_state: The parts of the state of its trigger; none without one.
    """

    start: int
    end: int
    size: int
    live_rows: list[Any]
    trigger_state: list[Any]

    @classmethod
    def of(cls, data: Sequence[Any]) -> Self:
        """Read a window."""
        start, end, size, live_rows, *trigger_state = data
        return cls(start, end, size, live_rows, trigger_state)


def _window_to_data(window: Window, entry: WindowEntry) -> list[object]:
    """Return a window and its entry as plain data, without the module states."""
    live_rows = [[live_row.id, *live_row.row] for live_row in entry.live_rows]
    return [window.start, window.end, entry.size, live_rows, *(entry.trigger_state or ())]


def _entry_from_data(data: _WindowData, states: list[Any]) -> WindowEntry:
    """Return the entry of a window that `_window_to_data` wrote, with its module states."""
    live_rows = [LiveRow(id, OutputRow(*row)) for id, *row in data.live_rows]
    trigger_state = TriggerState(*data.trigger_state) if data.trigger_state else None
    return WindowEntry(data.size, states, live_rows, trigger_state)
