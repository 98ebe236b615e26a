"""A stream on its way through one evaluator as Spark would run it: map tasks, the exchange, buckets, blobs.

Nothing here knows an evaluator: each is driven by `distribute` and `run_bucket`, which call `Evaluator.lift` and
`Evaluator.process`, and its state lies in cells of bytes.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from random import Random
from typing import Any, Final, NamedTuple

import pyarrow as pa
from pyspark import cloudpickle

from muntin import EARLIEST, INFINITY
from muntin.changes import Insertion
from muntin.progress import Punctuated
from muntin.testing import KeyedChange, KeyPunctuation, KeyRange
from muntin_engine.plan import Plan
from muntin_engine.state.cells import METADATA, MemoryCells
from muntin_engine.state.store_cache import CACHE_BYTES
from muntin_engine.tasks.bucket_task import run_bucket
from muntin_engine.tasks.map_task import distribute
from muntin_engine.time.changes import LATEST
from muntin_engine.wire.blobs import from_blob
from muntin_engine.wire.key_buckets import buckets_of
from muntin_engine.wire.shuffle import collect
from tests.scenarios.reference_input import Arrival

MOST_TASKS: Final = 3


@dataclass(frozen=True)
class Mishaps:
    """The mishaps on the way; none of them changes the meaning.

    Attributes:
        seed: Seed that draws the mishaps.
        disorder: True if changes arrive in another legal order, so that a revision may come before its insertion.
        cuts: Probability that a micro-batch ends after a step; None leaves the seams of the stream.
        restarts: Probability that a new process evaluates a micro-batch: it has the cells and the pickled task alone.
        upgrades: Probability that a new process has modules of a newer schema version.
        illegal: Probability that a micro-batch has rows that are late, or make no sense, which must be refused.
        crashes: Probability that a bucket evaluates a micro-batch, all or part of its writes are lost, and it does so
            again.
        blind: Probability that a revision names no expected end, where its event has a single change in a micro-batch
            of a stream whose changes come in their order.
    """

    seed: int = 0
    disorder: bool = True
    cuts: float | None = 0.3
    restarts: float = 0.3
    upgrades: float = 0.0
    illegal: float = 0.0
    crashes: float = 0.15
    blind: float = 0.0


class Row(NamedTuple):
    """A row of an output.

    Attributes:
        key: Key.
        window: Start and end of the window; of a result without one, those of the lifetime.
        lifetime: Start and end of the lifetime.
        values: Values of the modules, each `comparable`.
        further_columns: Values of columns that are neither times nor of modules, such as the name of the window.
    """

    key: Hashable
    window: tuple[int, int]
    lifetime: tuple[int, int]
    values: tuple[Any, ...]
    further_columns: tuple[Any, ...] = ()


ProjectedRow = Mapping[str, Any]
"""A row as the projection of a query has it, by the names of its columns."""

KeyWindow = tuple[Hashable, tuple[int, int]]
"""A key and the extent of one of its windows."""


class CrashError(Exception):
    """A process died."""


class DyingCells(MemoryCells):
    """Cells of a process that dies after a number of writes; those that it was given stay as they are."""

    def __init__(self, cells: Mapping[str, bytes], writes: int) -> None:
        super().__init__()
        self.cells = dict(cells)
        self._writes_left = writes

    def put(self, name: str, data: bytes) -> None:
        """Set a cell, or die."""
        if not self._writes_left:
            raise CrashError
        self._writes_left -= 1
        super().put(name, data)


class Run:
    """A stream on its way, with its output so far.

    Attributes:
        query: The query.
        evicted: Rows of the second output.
        counts: Numbers of rows that were sent, accepted, late, shed and rejected, by these names, and other metrics.
        refused: Rows of side outputs, each with its stream, reason and lateness, as JSON.
        inserted: Rows that the last micro-batch inserted.
        output_changes: Changes of the output that the last micro-batch emitted, as rows of their table.
        last: Metrics of the last micro-batch.
        output_watermarks: Output watermark of each bucket.
        cells: State of each bucket.
    """

    def __init__(self, query: Any, plan: Plan, mishaps: Mishaps) -> None:
        """Begin a stream, of which nothing has arrived.

        Args:
            query: The query, a `Query` or a `Join`.
            plan: Its plan for one evaluator.
            mishaps: The mishaps on the way.
        """
        self.query = query
        self._plan = plan
        self._mishaps = mishaps
        self._random = Random(mishaps.seed)
        self._version = 0
        self.task = query.task(plan)
        if mishaps.upgrades:
            self._upgrade(1)
        self._live_by_id: dict[Hashable, Row] = {}
        self._rows_without_id: Counter[Row] = Counter()
        self._used_ids: set[Hashable] = set()
        self.evicted: Counter[Row] = Counter()
        self.inserted: Counter[Row] = Counter()
        self.output_changes: list[dict[str, Any]] = []
        self.last: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()
        self.refused: Counter[tuple[str, str, int | None, str]] = Counter()
        self.output_watermarks = dict.fromkeys(self.task.buckets, EARLIEST)
        self.cells = {bucket: MemoryCells() for bucket in self.task.buckets}

    @property
    def output(self) -> Counter[Row]:
        """The output that is live."""
        return self._rows_without_id + Counter(self._live_by_id.values())

    @property
    def is_empty(self) -> bool:
        """True if no bucket keeps anything but its metadata."""
        return all(list(cells.cells) == [METADATA] for cells in self.cells.values())

    def process(self, arrival: Arrival, extra_rows: Sequence[ProjectedRow] = ()) -> None:
        """Evaluate a micro-batch.

        Args:
            arrival: Micro-batch.
            extra_rows: Rows in the form of the projection, such as an illegal one.

        Raises:
            AssertionError: The output is wrong for any query.
        """
        random = self._random
        output_before = self.output
        if random.random() < self._mishaps.upgrades:
            self._upgrade(random.randint(self._version, 3))
        elif any(batch.restart_before for batch in arrival.batches) or random.random() < self._mishaps.restarts:
            self._restart()

        rows: list[ProjectedRow] = []
        for stream, batch in enumerate(arrival.batches):
            rows += self._rows(batch.changes, stream)
        rows += extra_rows
        self.counts["sent"] += len(rows)
        rows += self._control_rows(arrival)

        # Rows arrive in any order, over any map tasks; buckets run in any order.
        tasks: list[list[ProjectedRow]] = [[] for _ in range(random.randint(1, MOST_TASKS))]
        for row in random.sample(rows, len(rows)):
            random.choice(tasks).append(row)
        map_output: list[dict[str, Any]] = []
        for task_rows in tasks:
            for blob_rows in self._distributed(task_rows):
                map_output += blob_rows.to_pylist()

        self.inserted = Counter()
        self.output_changes = []
        self.last = Counter()
        changed_windows = set[KeyWindow]()
        for bucket in random.sample(self.task.buckets, len(self.task.buckets)):
            bucket_rows = [row for row in map_output if row["bucket"] == bucket]
            if random.random() < self._mishaps.crashes:
                self._crash(bucket, bucket_rows)
            changed_windows |= self._run_bucket(bucket, bucket_rows)

        # A window whose result did not change emits nothing.
        output_after = self.output
        for key, window in changed_windows:
            rows_before = _rows_in_window(output_before, key, window)
            rows_after = _rows_in_window(output_after, key, window)
            assert rows_before != rows_after, f"nothing changed in {window} of {key!r}"

    def row(self, key: Hashable, id: object, start: int, end: int | None, payload: object) -> dict[str, Any]:
        """Return an insertion as a row of the projection."""
        return {
            **key_columns(key),
            "change": "insert",
            "id": id,
            "payload": payload,
            "start": start,
            "end": None if end == INFINITY else end,
        }

    def stream_rows(self, arrival: Arrival, extra_rows: Sequence[ProjectedRow] = ()) -> list[list[ProjectedRow]]:
        """Return the rows of each stream in random order.

        Args:
            arrival: The changes and punctuation of each stream.
            extra_rows: Rows of the first stream, such as illegal ones.
        """
        places = list(self.query.places)
        rows_by_place: dict[tuple[int, str], list[ProjectedRow]] = {place: [] for place in places}
        for place, batch in zip(places, arrival.batches, strict=True):
            rows_by_place[place] += self._rows(batch.changes, places.index(place))
        rows_by_place[places[0]] += extra_rows
        for row in self._control_rows(arrival):
            rows_by_place[row["side"], row["source"] or places[0][1]].append(row)
        return [self._random.sample(rows, len(rows)) for rows in rows_by_place.values()]

    def _restart(self) -> None:
        """Continue in a new process, which may keep no state between micro-batches: its successor then reads all."""
        self.task = pickle.loads(cloudpickle.dumps(self.task))  # type: ignore[no-untyped-call]
        cache_bytes = self._random.choice((0, CACHE_BYTES))
        self.task = replace(self.task, worker=replace(self.task.worker, cache_bytes=cache_bytes))

    def _upgrade(self, version: int) -> None:
        """Continue in a new process, with modules of a version."""
        self._version = version
        query = self.query.at_version(version)
        self.task = query.task(query.plan(self._plan.choice.evaluator, self._plan.buckets))

    def bucket_of(self, key: Hashable) -> int:
        """Return the place of a key's bucket."""
        key_arrays: list[pa.Array] = []
        for part, data_type in zip(key_columns(key).values(), self.task.keys, strict=True):
            key_arrays.append(pa.array([part], data_type))
        (bucket,) = buckets_of(key_arrays, 1, len(self.task.buckets))
        return int(bucket)

    def _control_rows(self, arrival: Arrival) -> Iterator[dict[str, Any]]:
        """Yield the rows that are no events: punctuation of streams and of keys, clock readings, and signals."""
        punctuation_time = self.query.punctuation_time
        for stream, batch in enumerate(arrival.batches):
            place = self.query.places[stream]
            for punctuation in batch.of_keys:
                row = punctuation_row(min(punctuation_time(punctuation.time), LATEST), *place)
                if _is_whole(punctuation):
                    yield row | key_columns(punctuation.key) | {"change": "punctuate_key"}
                else:
                    yield row | key_range_columns(punctuation) | {"change": "punctuate_keys"}
            # Where a policy derives the watermark from rows, the end of the stream alone is punctuated.
            reads_punctuation = isinstance(self.query.progress, Punctuated) or batch.punctuation == INFINITY
            if batch.punctuation is not None and reads_punctuation:
                yield punctuation_row(punctuation_time(batch.punctuation), *place)
        if arrival.clock != EARLIEST:
            yield punctuation_row(arrival.clock) | {"change": "clock"}
        for name in arrival.signals:
            yield punctuation_row(0) | {"change": "signal", "signal": name}

    def _rows(self, changes: Sequence[KeyedChange], stream: int) -> Iterator[ProjectedRow]:
        """Yield the changes of a stream in a micro-batch as rows of the projection."""
        changes_of_event = Counter(map(_event_of, changes))
        for step in changes:
            row = self._row(step, stream)
            may_be_blind = row["change"] != "insert" and changes_of_event[_event_of(step)] == 1
            if may_be_blind and self._random.random() < self._mishaps.blind:
                row["end"] = None  # it names no expected end
            yield row

    def _row(self, step: KeyedChange, stream: int) -> dict[str, Any]:
        """Return a change of a stream as a row of the projection."""
        change = step.change
        event = change.event
        row = self.row(step.key, change.id, event.start, event.end, event.payload)
        row |= dict(zip(("side", "source"), self.query.places[stream], strict=True))
        if isinstance(change, Insertion):
            return row
        row["end"] = event.end  # in a revision null means that any end is expected
        if change.is_retraction and self._random.random() < 0.5:
            return row | {"change": "retract"}
        return row | {"change": "revise", "new_end": change.new_end}

    def _distributed(self, rows: Sequence[ProjectedRow]) -> Iterator[pa.RecordBatch]:
        """Run a map task over rows that come in one or two Arrow batches."""
        cut = self._random.randint(0, len(rows))
        batches = [self.query.projected(part) for part in (rows[:cut], rows[cut:]) if part]
        return distribute(self.task, batches)

    def _crash(self, bucket: int, rows: Sequence[ProjectedRow]) -> None:
        """Evaluate a micro-batch in a process that dies at its first writes, or after all; nothing is committed."""
        writes = self._random.choice((0, 1, 2, 1_000))
        cells = DyingCells(self.cells[bucket].cells, writes)
        try:
            list(run_bucket(self.task, bucket, cells, collect(rows, len(self.task.inputs))))
        except CrashError:
            return

    def _run_bucket(self, bucket: int, rows: Sequence[ProjectedRow]) -> set[KeyWindow]:
        """Evaluate a micro-batch of a bucket, and return the keys and windows of emitted changes."""
        output_watermark = self.output_watermarks[bucket]
        emitted_changes: list[dict[str, Any]] = []
        for blob in run_bucket(self.task, bucket, self.cells[bucket], collect(rows, len(self.task.inputs))):
            if blob.stream == "output_watermark":
                assert blob.rows >= output_watermark, (
                    f"the output watermark goes back from {output_watermark} to {blob.rows}"
                )
                self.output_watermarks[bucket] = blob.rows
            elif blob.stream == "results":
                emitted_changes += from_blob(blob.data or b"").to_pylist()
            elif blob.stream == "evicted":
                self.evicted.update(map(self._result, from_blob(blob.data or b"").to_pylist()))
            else:
                self.counts[blob.stream] += blob.rows
                self.last[blob.stream] += blob.rows
                if blob.data is not None:
                    for refused_row in from_blob(blob.data).to_pylist():
                        self._refuse(blob.stream, refused_row)
        return self._emit(emitted_changes, output_watermark)

    def _emit(self, changes: Sequence[dict[str, Any]], output_watermark: int) -> set[KeyWindow]:
        """Apply the changes that a bucket emits in a micro-batch, and return their keys and windows.

        Args:
            changes: Changes of the output.
            output_watermark: Output watermark of the bucket before them.

        Raises:
            AssertionError: A change is illegal, or a row is taken back and emitted again.
        """
        changed_windows = set[KeyWindow]()
        removed_rows = Counter[Row]()
        added_rows = Counter[Row]()
        for change in changes:
            self.output_changes.append(change)
            row = self._result(change)
            kind = change.get("change") or "insert"
            changed_row = self._apply(change, row, kind, output_watermark)
            changed_windows.add((row.key, row.window))
            if kind == "insert":
                self.inserted[row] += 1
            else:
                removed_rows[row] += 1
            if kind != "retract":
                added_rows[changed_row] += 1
        removed_and_added = removed_rows & added_rows
        assert not removed_and_added, f"removed and added again: {removed_and_added}"
        return changed_windows

    def _refuse(self, stream: str, row: Mapping[str, Any]) -> None:
        """Count a row of a side output.

        Raises:
            AssertionError: The row says how late it is and is not late, or its message says nothing of that.
        """
        late_by = row["late_by"]  # null for other reasons, and for a row that came after the end of the input
        message_has_lateness = "behind the watermark" in row["message"]
        assert message_has_lateness == (late_by is not None), f"{late_by} late, with the message {row['message']!r}"
        assert late_by is None or (late_by > 0 and row["reason"] == "late"), f"{row} is not late"
        self.refused[stream, row["reason"], late_by, row["row"]] += 1

    def _apply(self, change: Mapping[str, Any], row: Row, kind: str, output_watermark: int) -> Row:
        """Apply a change to the live output.

        Args:
            change: Change, as a row of the output's table.
            row: Row that it inserts, revises or retracts.
            kind: `insert`, `revise` or `retract`.
            output_watermark: Output watermark before the change, behind which nothing may change any more.

        Returns:
            The row after the change: with its new end if it was revised, otherwise as it is.

        Raises:
            AssertionError: The change is illegal.
        """
        start, end = row.lifetime
        new_end = change.get("new_end")
        if new_end is None:
            new_end = INFINITY
        sync_time = min(end, new_end) if kind == "revise" else start
        assert sync_time >= output_watermark, f"{change} lies before the output watermark {output_watermark}"

        if "event_id" not in change:  # then the output has insertions alone
            self._rows_without_id[row] += 1
            return row
        id = (row.key, change["event_id"])
        if kind == "insert":
            assert id not in self._used_ids, f"the id of {change} is used twice"
            self._used_ids.add(id)
            self._live_by_id[id] = row
            return row

        assert self._live_by_id.get(id) == row, f"{change} changes {self._live_by_id.get(id)}"
        del self._live_by_id[id]
        if kind == "retract":
            return row
        assert start < new_end, f"{change} is empty"
        window = row.window if "window" in change else (start, new_end)
        revised_row = row._replace(window=window, lifetime=(start, new_end))
        self._live_by_id[id] = revised_row
        return revised_row

    def _result(self, row: Mapping[str, Any]) -> Row:
        """Return a row of an output's table as a `Row`."""
        lifetime = extent(row["lifetime"] if "lifetime" in row else row["window"])
        window = extent(row["window"]) if "window" in row else lifetime
        key = (row["key"], row["key1"]) if "key1" in row else row["key"]

        plan = self.task.plan
        module_columns = dict.fromkeys(output.name for output in (*plan.outputs, *plan.evicted))
        values = tuple(comparable(row[name]) for name in module_columns if name in row)
        further_columns: list[Any] = []
        for name, value in row.items():
            if name not in _COLUMNS_WITH_ROLES and name not in module_columns:
                further_columns.append(value)
        return Row(key, window, lifetime, values, tuple(further_columns))


_COLUMNS_WITH_ROLES: Final = frozenset(
    {"key", "key1", "window", "lifetime", "change", "event_id", "new_end", "partition", "ends_window"}
)
"""Columns of a result that a `Row` has elsewhere, or leaves out; all others are values or further columns."""


def _event_of(step: KeyedChange) -> tuple[Hashable, Hashable, int]:
    """Return what names the event of a change: its key, its id and its start."""
    return step.key, step.change.id, step.change.event.start


def _rows_in_window(output: Counter[Row], key: Hashable, window: tuple[int, int]) -> Counter[Row]:
    rows = Counter[Row]()
    for row, count in output.items():
        if (row.key, row.window) == (key, window):
            rows[row] = count
    return rows


def punctuation_row(time: int, side: int = 0, source: str | None = None) -> dict[str, Any]:
    """Return punctuation of a stream as a row of the projection."""
    row = {"payload": None, "side": side, "source": source}
    if time == INFINITY:
        return row | {"change": "close"}
    return row | {"change": "punctuate", "start": time}


def key_columns(key: Any) -> dict[str, Any]:
    """Return the columns of a key, which is a pair where a query has two of them."""
    if not isinstance(key, tuple):
        return {"key": key}
    first, second = key
    return {"key": first, "key1": second}


def key_range_columns(punctuation: KeyPunctuation) -> dict[str, Any]:
    """Return the columns of a pattern of keys.

    A part of it is a value of a column, a range of its values, or `...` for all of them, which then is in no column.
    """
    columns: dict[str, Any] = {}
    parts: Any = punctuation.key
    for place, part in enumerate(parts):
        if isinstance(part, KeyRange):
            columns |= {f"low{place}": part.low, f"high{place}": part.high}
        elif part is not ...:
            columns[f"key{place or ''}"] = part
    return columns


def _is_whole(punctuation: KeyPunctuation) -> bool:
    """True for punctuation of a single key, False for a pattern of keys."""
    parts = punctuation.key if isinstance(punctuation.key, tuple) else (punctuation.key,)
    return not any(part is ... or isinstance(part, KeyRange) for part in parts)


def extent(value: Mapping[str, Any]) -> tuple[int, int]:
    """Return a stretch of the axis; a null start or end is that of the axis."""
    start = value["start"]
    end = value["end"]
    return EARLIEST if start is None else start, INFINITY if end is None else end


def assert_same_rows(output: Counter[Any], expected: Counter[Any]) -> None:
    """Compare an output with the expected one.

    Raises:
        AssertionError: The outputs differ.
    """
    assert output == expected, f"missing {expected - output}\nsurplus {output - expected}"


def comparable(value: Any) -> Any:
    """Return a value of a result as one that equals itself, as NaN does not, and can be counted, as a list cannot."""
    if isinstance(value, Mapping):
        return tuple(map(comparable, value.values()))
    if is_dataclass(value) and not isinstance(value, type):
        return tuple(comparable(getattr(value, part.name)) for part in fields(value))
    if isinstance(value, list | tuple):
        return tuple(map(comparable, value))
    return repr(value) if isinstance(value, float) else value
