"""The state of one key between micro-batches: its events, windows, waiting rows and assigner."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import chain, compress
from typing import Any, Final, TypeAlias

from sortedcontainers import SortedDict

from muntin import EARLIEST, EarlyEmission, LatePolicy, Window
from muntin.windows import CountWindows, HoppingWindows, SnapshotWindows, WindowKind
from muntin_engine.core.changes import InputChange
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.errors import StateError
from muntin_engine.evaluators.general.assignment.assigner import Assigner, GridAssigner
from muntin_engine.evaluators.general.assignment.general import GeneralAssigner
from muntin_engine.evaluators.general.assignment.marked import CountAssigner, SnapshotAssigner
from muntin_engine.evaluators.general.event_index import EventIndex, StoredEvent, in_order, stored_event
from muntin_engine.evaluators.general.row_chain import EventState, PendingRows
from muntin_engine.evaluators.general.state_serializer import StateSerializer
from muntin_engine.evaluators.general.window_entry import LiveRow, OutputRow, TriggerState, WindowEntry
from muntin_engine.evaluators.general.window_index import WindowIndex, by_window

SPECIAL: Final[dict[type[WindowKind], Callable[[Any], Assigner]]] = {
    HoppingWindows: GridAssigner,
    SnapshotWindows: SnapshotAssigner,
    CountWindows: lambda kind: CountAssigner(kind) if kind.every == 1 else GeneralAssigner(kind),
}
"""Faster assigners for some kinds; the general one makes the same windows, and tests run both."""


DECODED: Final = 10
"""The memory of a decoded state as a multiple of its records' size, roughly."""

_EVENT: Final = 320
"""The memory of an event and of its marks in bytes, where its payload is a number; measured."""

_STORED_EVENT: Final = 30
"""The bytes of an event in a record, besides its payload, roughly."""

_STORED_WINDOW: Final = 40
"""The bytes of a window and its entry in a record, besides the result, roughly."""


FEW_EVENTS_PARTS: Final = 6
"""The number of parts of a record of a few events: the frontier, the last serial number if it is the first record, the
starts, the ends, the width and the values of events. Other records have more."""


def assigner_of(kind: WindowKind) -> Assigner:
    """Return a new assigner for the windows of one key."""
    return SPECIAL.get(type(kind), GeneralAssigner)(kind)


Neighbour: TypeAlias = tuple[int, Hashable]
"""The time of a sample and the id of its event."""


class Samples:
    """The times of a key's samples with the ids of their events. Every operation is logarithmic."""

    def __init__(self, samples: Iterable[Neighbour] = ()) -> None:
        self._ids: SortedDict[int, Hashable] = SortedDict(samples)

    def add(self, at: int, id: Hashable) -> None:
        """Add a sample."""
        self._ids[at] = id

    def discard(self, at: int) -> None:
        """Remove the sample at a time, if there is one."""
        self._ids.pop(at, None)

    def has(self, at: int) -> bool:
        """Return True if there is a sample at a time."""
        return at in self._ids

    def around(self, at: int) -> tuple[Neighbour | None, Neighbour | None]:
        """Return the last sample at a time or before it, and the first after it."""
        place = self._ids.bisect_right(at)
        before = self._ids.peekitem(place - 1) if place > 0 else None
        after = self._ids.peekitem(place) if place < len(self._ids) else None
        return before, after


Identity: TypeAlias = tuple[Hashable, int]
"""Identifies an event among those of its key: its id, and the start that it was inserted with."""


class KeyState:
    """The indexes of one key.

    Attributes:
        assigner: The assigner of its windows.
        events: The events that an open window may need, or that may still be revised.
        windows: The windows that have been emitted and may change, or that have a trigger state.
        pending: The rows that wait for others of their event.
        key_watermark: The key's own watermark, if it is beyond that of the input.
        samples: The times of an edge stream's samples; None where events are no samples.
        serial: The last serial number.
        closes_out_of_order: True if a window may close before an earlier one, which waits for the end of an event that
            is not a member of the later one.
    """

    def __init__(self, query: EvaluatorQuery, serial: int = 0) -> None:
        """Start a key.

        Args:
            query: The query.
            serial: The largest serial number that may be in use already, by this key or another.
        """
        self.events = EventIndex()
        self.assigner = assigner_of(query.window)
        self.pending: dict[Identity, PendingRows] = {}
        self.samples = Samples() if query.is_edge else None
        self.serial = serial
        self.key_watermark = EARLIEST
        self.closes_out_of_order = query.waits_for_ends and not self.assigner.closes_in_order
        are_all_read = query.is_time_bound or self.closes_out_of_order or isinstance(query.emit, EarlyEmission)
        self.windows = WindowIndex(keeps_history=query.is_time_bound, packs=not are_all_read)
        self._has_ids = query.has_ids and not query.is_edge
        self._event_ends_move = query.event_ends_move
        self._adjusts = query.late.policy is LatePolicy.ADJUST

    @property
    def is_empty(self) -> bool:
        """True if forgetting the key loses nothing."""
        is_held = self.events.size or self.windows or self.pending or self.key_watermark > EARLIEST
        return not (is_held or self.assigner.outlives_events)

    @property
    def waiting(self) -> list[InputChange]:
        """The rows that wait for others of their event."""
        return [row for waiting in self.pending.values() for row in waiting.rows] if self.pending else []

    @property
    def held_count(self) -> int:
        """The number of events that are kept."""
        return self.events.size

    @property
    def plain_count(self) -> int:
        """The number of events, if no windows, no waiting rows and no watermark of its own are kept; otherwise 0."""
        has_more = self.windows or self.pending or self.key_watermark > EARLIEST
        return 0 if has_more else self.events.size

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

    def event(self, id: Hashable) -> StoredEvent | None:
        """Return the event of an id, or None."""
        return self.events.get(id)

    def next_serial(self) -> int:
        """Return a number this key has not used yet."""
        self.serial += 1
        return self.serial

    def anonymous_ids(self, starts: Sequence[int]) -> Sequence[Hashable]:
        """Make ids for events that have none, from their starts; they cannot equal one of the input."""
        first = self.serial + 1
        self.serial += len(starts)
        serials = range(first, self.serial + 1)
        if not self._has_ids:
            return serials
        return [(("anonymous", serial), start) for serial, start in zip(serials, starts, strict=True)]

    def replace(self, gone: Sequence[StoredEvent], new: Sequence[StoredEvent]) -> None:
        """Remove some events, and add others except those that are never a member of any window."""
        kept = new if self._event_ends_move else [event for event in new if event.since < event.until]
        if gone:
            self.assigner.remove(gone)
        if kept:
            self.assigner.add(kept)
        self.events.replace(gone, kept)

    def forgot(self, events: Iterable[StoredEvent]) -> None:
        """Hear that the index has forgotten events for good."""
        if self.samples is not None:
            for event in events:
                self.samples.discard(event.start)

    def to_data(self, serializer: StateSerializer, key: object) -> list[object]:
        """Return the state as plain data, events column by column, and what modules keep of windows as bytes.

        Raises:
            StateError: A module's state cannot be stored.
        """
        windows = self.windows.items() if self.windows else ()
        return self._to_data(serializer, key, (), self.events.ordered, windows)

    def changes(self, serializer: StateSerializer, key: object) -> list[object] | None:
        """Return the difference to the stored state, in the form of `to_data`; None if changes are not tracked.

        Raises:
            StateError: A module's state cannot be stored.
        """
        if self.events.gone is None or self.windows.changed is None:
            return None
        windows = [(window, self.windows.get(window)) for window in sorted(self.windows.changed, key=by_window)]
        return self._to_data(serializer, key, list(self.events.gone), list(self.events.new.values()), windows)

    def track(self) -> None:
        """Take the state for stored as it is, and track its changes from now on."""
        self.events.track()
        self.windows.track()

    def _to_data(
        self,
        serializer: StateSerializer,
        key: object,
        gone: Sequence[Any],
        events: Sequence[StoredEvent],
        windows: Sequence[tuple[Window, WindowEntry]],
    ) -> list[object]:
        """Return the ids of stored events that are gone, further events and the entries of windows, with all else."""
        pending = [
            [*identity, [list(row[2:]) for row in waiting.rows], list(waiting.base) if waiting.base else None]
            for identity, waiting in self.pending.items()
        ]
        ids, starts, ends, payloads, *_ = zip(*events, strict=True) if events else ((), (), (), ())
        packed: list[bytes] = []
        if windows:
            packed = serializer.pack([entry.states for _, entry in windows], key, [window for window, _ in windows])
        widths = set(map(len, payloads))
        if len(widths) > 1:
            raise StateError(f"the rows of one query must have equally many values, got {sorted(widths)}")
        return [
            self.assigner.to_data(),
            self.serial,
            [list(column) for column in zip(*gone, strict=True)] if self._has_ids else [list(gone)],
            [id for id, _ in ids] if self._has_ids else list(ids),
            [start for _, start in ids] if self._has_ids and self._adjusts else [],
            list(starts),
            list(ends),
            max(widths, default=0),
            list(chain.from_iterable(payloads)),
            pending,
            [_window_to_data(window, entry) for window, entry in windows] if windows else [],
            self.key_watermark,
            packed,
            serializer.schema_version,
        ]

    @classmethod
    def from_data(
        cls, query: EvaluatorQuery, stored: Sequence[list[Any]], serializer: StateSerializer, key: object
    ) -> KeyState:
        """Return the state that `to_data` wrote, with what came after it; older schema versions are upgraded.

        Args:
            query: The query.
            stored: What `to_data` wrote, and `changes` after it; any of them may be a record of a few events.
            serializer: Restores what modules keep.
            key: The key.

        Raises:
            ModuleFailedError: A module's `upgrade_state` raised an exception.
        """
        has_few = any(len(record) == FEW_EVENTS_PARTS for record in stored)
        if has_few:
            stored = _numbered(stored, serializer.schema_version)
        remembered, serial, *_, pending, _, key_watermark, _, _ = stored[-1]
        ids, starts, ends, payloads = _events_of(stored, has_ids=query.has_ids and not query.is_edge)
        state = cls(query, serial)
        state.key_watermark = key_watermark
        state.assigner.restore(remembered)
        memberships = state.assigner.memberships(starts, ends)
        events = list(map(stored_event, zip(ids, starts, ends, payloads, *memberships, strict=True)))
        if (keeps := query.keeps) is not None:
            events = [event if keeps(event.payload) else event.filtered() for event in events]
        if has_few or len(stored) > 1:
            events.sort(key=in_order)
        state.assigner.add(events)
        state.events = EventIndex(events)
        if state.samples is not None:
            state.samples = Samples((event.start, event.id) for event in events)
        for id, start, rows, base in pending:
            waiting = tuple(InputChange(id, start, end, tuple(payload), *more) for end, payload, *more in rows)
            before = EventState(base[0], base[1], tuple(base[2])) if base else None
            state.pending[id, start] = PendingRows(waiting, before)
        for *_, windows, _, packed, schema_version in stored:
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


def _numbered(stored: Sequence[list[Any]], schema_version: object) -> list[list[Any]]:
    """Return records in the form of `changes`; a few events have got serial numbers."""
    found, serial = list[list[Any]](), stored[0][1]
    for record in stored:
        if len(record) == FEW_EVENTS_PARTS:
            frontier, _, *columns = record
            ids = range(serial + 1, serial + 1 + len(columns[0]))
            serial += len(ids)
            found.append([[frontier], serial, [[]], ids, [], *columns, [], [], EARLIEST, [], schema_version])
        else:
            _, serial, *_ = record
            found.append(record)
    return found


def few_events(stored: Sequence[list[Any]]) -> tuple[int, list[list[Any]]]:
    """Return the last serial number of a key, and the starts, the ends and the payloads of its events.

    Args:
        stored: As for `KeyState.from_data`, of a key that keeps insertions without ids and nothing else.
    """
    parts = [record[1:] if len(record) == FEW_EVENTS_PARTS else (record[1], *record[5:9]) for record in stored]
    serials, starts, ends, widths, values = zip(*parts, strict=True)
    payloads = map(_payloads, values, widths, map(len, starts))
    return max(serials), [list(chain(*column)) for column in (starts, ends, payloads)]


def _payloads(values: Sequence[Any], width: int, count: int) -> list[tuple[Any, ...]]:
    """Return so many payloads from their values, one payload after the other."""
    return list(zip(*[iter(values)] * width, strict=True)) if width else [()] * count


def _events_of(stored: Sequence[list[Any]], *, has_ids: bool) -> Sequence[Sequence[Any]]:
    """Return the ids, the starts, the ends and the payloads of stored events, after all changes of them."""
    dead: set[Hashable] = set()
    parts: list[Sequence[Sequence[Any]]] = []
    for _, _, gone, ids, origins, starts, ends, width, values, *_ in reversed(stored):
        payloads = _payloads(values, width, len(ids))
        names = list(zip(ids, origins or starts, strict=True)) if has_ids else ids
        columns: Sequence[Sequence[Any]] = (names, starts, ends, payloads)
        if dead:
            is_live = [name not in dead for name in names]
            columns = [list(compress(column, is_live)) for column in columns]
        parts.append(columns)
        dead.update(zip(*gone, strict=True) if has_ids else chain(*gone))
    return parts[0] if len(parts) == 1 else [list(chain(*reversed(some))) for some in zip(*parts, strict=True)]


def _window_to_data(window: Window, entry: WindowEntry) -> list[object]:
    live = [[out.id, out.row.start, out.row.end, out.row.value] for out in entry.live]
    return [window.start, window.end, entry.size, live, *(entry.trigger_state or ())]
