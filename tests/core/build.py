"""Short ways to write the data of the evaluator's tests."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from muntin import EARLIEST, INFINITY, Aggregate, IncrementalAggregate, Module, Window, tumbling
from muntin.windows import WindowKind
from muntin_engine.core.changes import InputChange, Key, OutputChange, Progress
from muntin_engine.core.evaluator_query import Binding, EvaluatorQuery
from muntin_engine.evaluators.general.assignment.assigner import Assigner
from muntin_engine.evaluators.general.bucket import Bucket
from muntin_engine.evaluators.general.key_state import KeyState, assigner_of
from muntin_engine.evaluators.keyed.admission import Admission
from muntin_engine.evaluators.keyed.bucket import BatchResult
from muntin_engine.evaluators.keyed.event_index import EventIndex, StoredEvent
from muntin_engine.evaluators.keyed.key_store import KeyStore
from muntin_engine.evaluators.keyed.state_serializer import StateSerializer
from muntin_engine.state.bucket_state import BucketState
from muntin_engine.state.cells import Cells, MemoryCells
from muntin_engine.state.codec import Codec
from muntin_engine.state.compatibility import Compatibility
from muntin_engine.state.query_identity import QueryIdentity


class Total(Aggregate[int, int]):
    name, version = "test.total", "1.0.0"

    def compute_result(self, payloads: Sequence[int]) -> int:
        return sum(payloads)


class Members(Aggregate[int, tuple[int, ...]]):
    name, version = "test.members", "1.0.0"

    def compute_result(self, payloads: Sequence[int]) -> tuple[int, ...]:
        return tuple(sorted(payloads))


class RunningTotal(IncrementalAggregate[int, int, int]):
    """Counts how often it is called, and with how many payloads."""

    name, version = "test.running_total", "2.1.0"

    def __init__(self) -> None:
        self.added = self.removed = self.built = 0

    def create_state(self) -> int:
        self.built += 1
        return 0

    def add_events(self, state: int, payloads: Sequence[int]) -> int:
        self.added += len(payloads)
        return state + sum(payloads)

    def remove_events(self, state: int, payloads: Sequence[int]) -> int:
        self.removed += len(payloads)
        return state - sum(payloads)

    def compute_result(self, state: int) -> int:
        return state


class Lengths(Aggregate[int, tuple[int, ...]]):
    name, version = "test.lengths", "1.0.0"
    is_time_sensitive = True

    def compute_result(self, events: Sequence[Any], window: Window) -> tuple[int, ...]:
        return tuple(sorted(event.end - event.start for event in events))


def first_value(payload: Sequence[Any]) -> Any:
    return payload[0]


def query(window: WindowKind, module: Module | None = None, **policies: Any) -> EvaluatorQuery:
    return EvaluatorQuery(window, (Binding(module or Members(), first_value),), **policies)


def row(id: Hashable, start: int, end: int | None = INFINITY, value: Any = 0) -> InputChange:
    """An insertion."""
    return InputChange(id, start, end, (value,))


def revision(id: Hashable, start: int, end: int | None, new_end: int) -> InputChange:
    return InputChange(id, start, end, (), new_end)


def stored(assigner: Assigner, id: Hashable, start: int, end: int = INFINITY) -> StoredEvent:
    return StoredEvent(id, start, end, (0,), *assigner.membership(start, end))


def index(*events: StoredEvent) -> EventIndex:
    found = EventIndex()
    found.replace((), events)
    return found


class Axis:
    """A way of cutting the axis, with events on it."""

    def __init__(self, specification: WindowKind, *lifetimes: tuple[int, int]) -> None:
        self.assigner = assigner_of(specification)
        self.events = index(*(stored(self.assigner, i, *lifetime) for i, lifetime in enumerate(lifetimes)))
        self.assigner.add(self.events)

    def ending(self, limit: int, after: int = EARLIEST, horizon: int = EARLIEST) -> list[tuple[int, int]]:
        return extents(self.assigner.ending(list(self.events), after, limit, horizon))

    def overlapping(self, start: int, end: int, limit: int = INFINITY) -> list[tuple[int, int]]:
        return extents(self.assigner.overlapping(start, end, limit))

    def close(self, limit: int) -> int:
        """Move the frontier."""
        self.assigner.close(limit)
        return self.assigner.frontier

    def first_open(self) -> tuple[int, int] | None:
        window = self.assigner.first_open(self.events.earliest(self.assigner.frontier))
        return None if window is None else (window.start, window.end)


def extents(windows: Iterable[Window]) -> list[tuple[int, int]]:
    return [(window.start, window.end) for window in windows]


class Taken:
    """A key into which batches are taken, one after the other."""

    def __init__(self, *batches: list[InputChange], state: KeyState | None = None, watermark: int = EARLIEST) -> None:
        self.state = state or KeyState(query(tumbling(10)))
        self.rejected: list[tuple[object, str]] = []
        for batch in batches:
            self.take(batch, watermark)

    def take(
        self, rows: list[InputChange], watermark: int = EARLIEST, after: int = EARLIEST, *, adjusts: bool = False
    ) -> Admission:
        """Take a batch behind a watermark, which itself says a watermark."""
        admission = Admission(self.state, watermark, adjusts=adjusts)
        admission.admit(rows, max(watermark, after))
        admission.apply()
        self.rejected += [(rejection.change.id, str(rejection.reason)) for rejection in admission.rejections]
        return admission

    @property
    def events(self) -> dict[object, tuple[int, int]]:
        """The lifetimes, by id; by number where events have none."""
        named = [(e.id[0] if isinstance(e.id, tuple) else e.id, e.start, e.end) for e in self.state.events]
        return {id: (start, end) for id, start, end in named}


class Feed:
    """A bucket with its state, fed batch by batch; the progress of a batch is that of its rows unless given."""

    def __init__(self, query: EvaluatorQuery, codec: Codec | None = None) -> None:
        self.query = query
        self.cells = MemoryCells()
        self.codec = codec or Codec()
        self.identity: dict[str, Any] = {}

    def batch(self, *rows: InputChange, key: Any = "k", **said: Any) -> BatchResult:
        return self.batches([((key,), rows)] if rows else [], **said)

    def batches(
        self,
        pairs: Sequence[tuple[Key, Sequence[InputChange]]],
        watermark: int = EARLIEST,
        clock: int = EARLIEST,
        signals: Iterable[str] = (),
    ) -> BatchResult:
        """Run a batch of several keys."""
        rows = [row for _, some in pairs for row in some]
        starts = [row.start for row in rows]
        ends = [end for row in rows for end in (row.end, row.new_end) if end is not None and end != INFINITY]
        known = [*(start + 1 for start in starts), *ends, *([watermark] if watermark != INFINITY else [])]
        arrived = Progress(watermark, max(known, default=EARLIEST), max(starts, default=EARLIEST), clock)
        bucket = Bucket(self.query, self.cells, self.codec, self.identity)
        return bucket.process(pairs, arrived, signals=frozenset(signals))

    @property
    def states(self) -> list[KeyState]:
        """The states of all keys, as a new process reads them."""
        return stored_states(self.query, self.cells, self.codec, self.identity)


def stored_states(
    query: EvaluatorQuery,
    cells: Cells,
    codec: Codec,
    identity: QueryIdentity,
    state_class: type[KeyState] = KeyState,
    known: dict[tuple[bytes, ...], KeyState] | None = None,
) -> list[KeyState]:
    """Return the states in a bucket's cells; those in `known` are not read again, and others are added to it."""
    compatibility = Compatibility(identity, [binding.module for binding in query.bindings])
    state = BucketState(cells, codec, compatibility)
    kept = StateSerializer(query, codec, state.metadata.schema_versions)
    known = {} if known is None else known
    found: list[KeyState] = []
    for _, key in KeyStore[KeyState].of(codec, state.log.read(), state.metadata.held.keys).items():
        data = tuple(record.data for record in key.records)
        if data not in known:
            known[data] = state_class.from_data(query, [codec.unpack(part) for part in data], kept, ())
        found.append(known[data])
    return found


def output(result: BatchResult) -> list[OutputChange]:
    """The output of a batch, of all its keys."""
    return [change for _, changes in result.output for change in changes]


def spelled(result: BatchResult) -> list[str]:
    """The output of a batch as text: `+` for an insertion, `-` for a retraction, `~` for a revision of the end."""
    return [spell(change) for change in output(result)]


def spell(change: OutputChange) -> str:
    mark = {"insert": "+", "retract": "-", "revise": "~"}[change.kind]
    values = change.value if len(change.value) > 1 else change.value[0]
    end = change.end if change.new_end is None else f"{change.end}->{change.new_end}"
    return f"{mark}{change.id} [{change.start},{end}) {values}".replace(str(INFINITY), "inf")


def reasons(result: BatchResult) -> list[str]:
    return [str(rejection.reason) for _, rejection in result.rejections]
