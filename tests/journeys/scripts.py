"""Stream scripts as Spark reads them, and what the reference evaluator makes of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from muntin import EARLIEST, INFINITY, ClipPolicy, Event, Module, TimestampPolicy
from muntin.changes import Insertion
from muntin.testing import Batch, Computation, KeyedChange, Script, WindowedQuery, evaluate
from muntin.windows import WindowKind
from muntin_engine import Query, events, module
from muntin_engine.state.frozen_values import freeze

SCHEMA = pa.schema(
    [
        ("change", pa.string()),
        ("key", pa.string()),
        ("id", pa.int64()),
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("new_end", pa.int64()),
        ("payload", pa.int64()),
    ]
)
COLUMNS: dict[str, Any] = {
    "key": "key",
    "id": "id",
    "start": "start",
    "end": "end",
    "change": "change",
    "new_end": "new_end",
}
"""How `events` reads the rows of a script."""

Row = Hashable


@dataclass(frozen=True)
class Case:
    """A query in words that both the engine and the reference evaluator understand.

    Attributes:
        window: The windows.
        modules: The modules, all aggregates or one operator.
        clip: The policy by which lifetimes are cut to windows.
        timestamps: The policy of the lifetimes of results.
        emit: The policy of emission, which the reference evaluator need not know: it says what stands in the end.
        evaluator: The evaluator of the engine.
        are_points: True if the query reads the starts of inserted events as points, and no revisions.
    """

    window: WindowKind
    modules: tuple[type[Module], ...]
    clip: str = "none"
    timestamps: str = "align"
    emit: str = "final"
    evaluator: str = "auto"
    are_points: bool = False

    @property
    def reference(self) -> WindowedQuery:
        """The query as the reference evaluator takes it."""
        computations = [Computation(cls()) for cls in self.modules]
        return WindowedQuery(self.window, computations, ClipPolicy(self.clip), TimestampPolicy(self.timestamps))

    def query(self, rows: DataFrame, buckets: int = 4) -> Query:
        """Return the query over the rows of a script."""
        stream = events(rows, **COLUMNS, buckets=buckets)
        if self.are_points:
            inserted = rows.where("change not in ('revise', 'retract')")
            stream = events(inserted, key="key", at="start", change="change", buckets=buckets)
        options: dict[str, Any] = {"clip": self.clip, "timestamps": self.timestamps, "emit": self.emit}
        windowed = stream.window(self.window, evaluator=self.evaluator, **options)
        if self.modules[0].is_operator:
            return windowed.apply(module(self.modules[0], "payload"))
        return windowed.aggregate(**{f"m{place}": module(cls, "payload") for place, cls in enumerate(self.modules)})


def tables(script: Script) -> list[pa.Table]:
    """Return the rows of each micro-batch; those of one batch mean nothing by their order."""
    return [pa.Table.from_pylist(list(_rows(batch)), schema=SCHEMA) for batch in script.batches()]


def _rows(batch: Batch) -> Iterable[dict[str, Any]]:
    """Yield the rows of the changes of a micro-batch, and that of its punctuation."""
    for step in batch.changes:
        yield _row(step)
    if batch.punctuation == INFINITY:
        yield {"change": "close"}
    elif batch.punctuation is not None:
        yield {"change": "punctuate", "start": batch.punctuation}


def _row(step: KeyedChange) -> dict[str, Any]:
    """Return a change as a row; an event without an end has a null, unless it is revised or retracted."""
    event = step.change.event
    id = step.change.id
    end = None if event.end == INFINITY else event.end
    row = {"key": step.key, "id": id, "start": event.start, "end": end, "payload": event.payload}
    if isinstance(step.change, Insertion):
        return row | {"change": "insert"}
    row["end"] = event.end  # a null would be a blind revision, which expects no end
    if step.change.is_retraction:
        return row | {"change": "retract"}
    return row | {"change": "revise", "new_end": step.change.new_end}


def expected(case: Case, script: Script) -> Counter[Row]:
    """Return the rows that must stand at the end of a script, according to the reference evaluator."""
    watermark = script.last_watermark()
    horizon = _horizon(case, script)
    rows: Counter[Row] = Counter()
    for key, history in _histories(case, script).items():
        for result in evaluate(case.reference, history, watermark, horizon):
            window = result.window
            rows[_comparable_row(key, window.start, window.end, result.start, result.end, result.value)] += 1
    return rows


def _histories(case: Case, script: Script) -> dict[Hashable, list[Event[Any]]]:
    """Return the events of each key at the end of a script; those of points are where the inserted ones start."""
    if not case.are_points:
        return {key: list(table.values()) for key, table in script.history().items()}
    events_by_key: dict[Hashable, list[Event[Any]]] = defaultdict(list)
    for step in script.changes():
        if isinstance(step.change, Insertion):
            events_by_key[step.key].append(Event.point(step.change.event.start, step.change.event.payload))
    return events_by_key


def standing(case: Case, rows: Sequence[dict[str, Any]]) -> Counter[Row]:
    """Return the rows that stand once all changes of the output are applied, comparable with `expected`.

    Raises:
        AssertionError: A row is inserted twice, or one is retracted that does not stand.
    """
    live: dict[Hashable, Row] = {}
    for place, row in enumerate(rows):
        id = (row["key"], row["event_id"]) if "event_id" in row else place
        output_row = _output_row(case, row)
        if row.get("change", "insert") == "insert":
            assert id not in live, f"{row} is inserted twice"
            live[id] = output_row
        else:
            assert live.pop(id, None) == output_row, f"{row} retracts what does not stand"
    return Counter(live.values())


def _output_row(case: Case, row: dict[str, Any]) -> Row:
    """Return an output row as `_comparable_row` has it; a result without a lifetime has that of its window."""
    window = row["window"]
    lifetime = row.get("lifetime", window)
    is_operator = case.modules[0].is_operator
    value = row["value"] if is_operator else tuple(row[f"m{place}"] for place in range(len(case.modules)))
    return _comparable_row(row["key"], window["start"], window["end"], lifetime["start"], lifetime["end"], value)


def _comparable_row(
    key: Any, start: int | None, end: int | None, since: int | None, until: int | None, value: Any
) -> Row:
    """Return a result of a window `[start, end)` with the lifetime `[since, until)` as both evaluators give it."""
    return key, *map(_finite, (start, end, since, until)), freeze(_comparable(value))


def _finite(tick: int | None) -> int | None:
    """Return a tick, or None for the ends of the axis, as in the columns of Spark."""
    return None if tick in (EARLIEST, INFINITY) else tick


def _comparable(value: Any) -> Any:
    """Return a value in which tuples and structs are lists, and what never comes is None."""
    if isinstance(value, dict):
        return [_comparable(part) for part in value.values()]
    if isinstance(value, list | tuple):
        return [_comparable(part) for part in value]
    return None if value == INFINITY else value


def _horizon(case: Case, script: Script) -> int:
    """Return the first tick of which the rows say nothing: later than all punctuation, starts and ends of members.

    Ends count also if they were revised later.
    """
    horizon = EARLIEST
    for batch in script.batches():
        if batch.punctuation is not None and batch.punctuation != INFINITY:
            horizon = max(horizon, batch.punctuation)
    for step in script.changes():
        event = step.change.event
        horizon = max(horizon, event.start + 1)
        ends = [event.end]
        if not isinstance(step.change, Insertion):
            ends.append(step.change.new_end)
        for end in ends:
            if end != INFINITY:
                horizon = max(horizon, end + case.window.reach)
    return horizon
