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
from tests.scenarios.known import Arrival

MOST_TASKS: Final = 3


@dataclass(frozen=True)
class Mishaps:
    """The mishaps on the way; none of them changes the meaning.

    Attributes:
        seed: Draws them.
        disorder: True if changes arrive in another legal order, so that a revision may come before its insertion.
        cuts: The probability that a micro-batch ends after a step; None leaves the seams of the stream.
        restarts: The probability that a new process takes a micro-batch: it has the cells and the pickled task alone.
        upgrades: The probability that a new process has modules of a newer schema version.
        illegal: The probability that a micro-batch brings rows that are late, or make no sense, which must be refused.
        crashes: The probability that a bucket evaluates a micro-batch, all or part of its writes are lost, and it does
            so again.
        blind: The probability that a revision names no end that it expects, where its event has one change alone in a
            micro-batch of a stream whose changes come in their order.
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
    """A row of an output; `more` are the columns that are neither its times nor its values."""

    key: Hashable
    window: tuple[int, int]
    lifetime: tuple[int, int]
    values: tuple[Any, ...]
    more: tuple[Any, ...] = ()


class CrashError(Exception):
    """A process died."""


class DyingCells(MemoryCells):
    """Cells of a process that dies after so many writes."""

    def __init__(self, cells: Mapping[str, bytes], writes: int) -> None:
        super().__init__()
        self.cells, self._writes = dict(cells), writes

    def put(self, name: str, data: bytes) -> None:
        """Set a cell, or die."""
        if not self._writes:
            raise CrashError
        self._writes -= 1
        super().put(name, data)


class Run:
    """A stream on its way, with what came of it so far.

    Attributes:
        evicted: The rows of the second output.
        counts: The rows that were sent, accepted, late, shed and rejected, by these names, and other metrics.
        refused: The rows of side outputs, each with its stream, reason and lateness, as JSON.
        inserted: The rows that the last micro-batch inserted.
        told: The changes of the output that the last micro-batch emitted, as rows of their table.
        last: The metrics of the last micro-batch.
        promised: The output watermark of each bucket.
        cells: The state of each bucket.
    """

    def __init__(self, query: Any, plan: Plan, mishaps: Mishaps) -> None:
        self._query, self._plan, self._mishaps = query, plan, mishaps
        self._random, self._version = Random(mishaps.seed), 0
        self.task = query.task(plan)
        if mishaps.upgrades:
            self._upgrade(1)
        self._live: dict[Hashable, Row] = {}
        self._bag: Counter[Row] = Counter()
        self._used: set[Hashable] = set()
        self.evicted: Counter[Row] = Counter()
        self.inserted: Counter[Row] = Counter()
        self.told: list[dict[str, Any]] = []
        self.last: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()
        self.refused: Counter[tuple[str, str, int | None, str]] = Counter()
        self.promised = dict.fromkeys(self.task.buckets, EARLIEST)
        self.cells = {bucket: MemoryCells() for bucket in self.task.buckets}

    @property
    def output(self) -> Counter[Row]:
        """The output that is live."""
        return self._bag + Counter(self._live.values())

    @property
    def is_empty(self) -> bool:
        """True if no bucket keeps anything but its metadata."""
        return all(list(cells.cells) == [METADATA] for cells in self.cells.values())

    def take(self, arrival: Arrival, more: Sequence[Mapping[str, Any]] = ()) -> None:
        """Evaluate a micro-batch.

        Args:
            arrival: The micro-batch.
            more: Further rows, as a projection has them; an illegal row, say.

        Raises:
            AssertionError: The output is not as it must be whatever the query is.
        """
        random, before = self._random, self.output
        if random.random() < self._mishaps.upgrades:
            self._upgrade(random.randint(self._version, 3))
        elif any(batch.restart_before for batch in arrival.batches) or random.random() < self._mishaps.restarts:
            self.task = pickle.loads(cloudpickle.dumps(self.task))  # type: ignore[no-untyped-call]
            kept = random.choice((0, CACHE_BYTES))  # a process may keep nothing, and its successor reads it all
            self.task = replace(self.task, worker=replace(self.task.worker, kept_bytes=kept))
        rows: list[Mapping[str, Any]] = [
            row for stream, batch in enumerate(arrival.batches) for row in self._rows(batch.changes, stream)
        ]
        rows += more
        self.counts["sent"] += len(rows)
        rows += self._marks(arrival)
        tasks: list[list[Mapping[str, Any]]] = [[] for _ in range(random.randint(1, MOST_TASKS))]
        for row in random.sample(rows, len(rows)):
            random.choice(tasks).append(row)
        sent = [row for some in tasks for out in self._distributed(some) for row in out.to_pylist()]
        self.inserted, changed = Counter(), set[tuple[Hashable, tuple[int, int]]]()
        self.told, self.last = [], Counter()
        for bucket in random.sample(self.task.buckets, len(self.task.buckets)):
            rows_of_bucket = [row for row in sent if row["bucket"] == bucket]
            if random.random() < self._mishaps.crashes:
                self._crash(bucket, rows_of_bucket)
            changed |= self._run(bucket, rows_of_bucket)
        after = self.output
        for key, window in changed:  # a window whose result did not change emits nothing
            assert _of(before, key, window) != _of(after, key, window), f"nothing changed in {window} of {key!r}"

    def row(self, key: Hashable, id: object, start: int, end: int | None, payload: object) -> dict[str, Any]:
        """Return an insertion as a row of the projection."""
        told = {**keyed(key), "change": "insert", "id": id, "payload": payload}
        return told | {"start": start, "end": None if end == INFINITY else end}

    def _upgrade(self, version: int) -> None:
        """Go on in a new process, with modules of this version."""
        self._version, query = version, self._query.at_version(version)
        self.task = query.task(query.plan(self._plan.choice.evaluator, self._plan.buckets))

    def bucket_of(self, key: Hashable) -> int:
        """Return the place of a key's bucket."""
        keys = [pa.array([part], kind) for part, kind in zip(keyed(key).values(), self.task.keys, strict=True)]
        return int(buckets_of(keys, 1, len(self.task.buckets))[0])

    def _marks(self, arrival: Arrival) -> Iterator[dict[str, Any]]:
        """Yield the rows that tell how far the input is, its streams or some keys, the clock, and signals."""
        hasty = self._query.hasty
        for stream, batch in enumerate(arrival.batches):
            place = self._query.places[stream]
            for of_key in batch.of_keys:
                told = keyed(of_key.key) if _is_whole(of_key) else ranged(of_key)
                yield (
                    mark(min(hasty(of_key.time), LATEST), *place)
                    | {"change": "punctuate_keys"}
                    | told
                    | ({"change": "punctuate_key"} if _is_whole(of_key) else {})
                )
            is_said = isinstance(self._query.progress, Punctuated) or batch.punctuation == INFINITY
            if batch.punctuation is not None and is_said:
                yield mark(hasty(batch.punctuation), *place)
        if arrival.clock != EARLIEST:
            yield mark(arrival.clock) | {"change": "clock"}
        yield from (mark(0) | {"change": "signal", "signal": name} for name in arrival.signals)

    def _rows(self, changes: Sequence[KeyedChange], stream: int) -> Iterator[dict[str, Any]]:
        """Yield the changes of a stream in a micro-batch as rows of the projection."""
        alike = Counter((step.key, step.change.id, step.change.event.start) for step in changes)
        for step in changes:
            row = self._row(step, stream)
            is_alone = alike[step.key, step.change.id, step.change.event.start] == 1
            if row["change"] != "insert" and is_alone and self._random.random() < self._mishaps.blind:
                row["end"] = None
            yield row

    def _row(self, step: KeyedChange, stream: int) -> dict[str, Any]:
        change = step.change
        event = change.event
        row = self.row(step.key, change.id, event.start, event.end, event.payload)
        row |= dict(zip(("side", "source"), self._query.places[stream], strict=True))
        if isinstance(change, Insertion):
            return row
        row["end"] = event.end  # of a revision null would say that any end is expected
        if change.is_retraction and self._random.random() < 0.5:
            return row | {"change": "retract"}
        return row | {"change": "revise", "new_end": change.new_end}

    def _distributed(self, rows: Sequence[Mapping[str, Any]]) -> Iterator[pa.RecordBatch]:
        cut = self._random.randint(0, len(rows))
        return distribute(self.task, [self._query.projected(some) for some in (rows[:cut], rows[cut:]) if some])

    def _crash(self, bucket: int, rows: Sequence[Mapping[str, Any]]) -> None:
        """Evaluate a micro-batch of which nothing is committed."""
        cells = DyingCells(self.cells[bucket].cells, self._random.choice((0, 1, 2, 1_000)))
        try:
            list(run_bucket(self.task, bucket, cells, collect(rows, len(self.task.inputs))))
        except CrashError:
            return

    def _run(self, bucket: int, rows: Sequence[Mapping[str, Any]]) -> set[tuple[Hashable, tuple[int, int]]]:
        """Evaluate a micro-batch of a bucket; return the keys and windows of which something was emitted."""
        promised, changed = self.promised[bucket], set()
        lost, gained = Counter[Row](), Counter[Row]()
        for blob in run_bucket(self.task, bucket, self.cells[bucket], collect(rows, len(self.task.inputs))):
            if blob.stream == "output_watermark":
                assert blob.rows >= promised, f"the output watermark goes back from {promised} to {blob.rows}"
                self.promised[bucket] = blob.rows
            elif blob.stream == "results":
                for given in from_blob(blob.data or b"").to_pylist():
                    row, kind = self._result(given), given.get("change") or "insert"
                    self.told.append(given)
                    now = self._apply(given, row, kind, promised)
                    changed.add((row.key, row.window))
                    lost.update([] if kind == "insert" else [row])
                    gained.update([] if kind == "retract" else [now])
                    self.inserted.update([row] if kind == "insert" else [])
            elif blob.stream == "evicted":
                self.evicted.update(map(self._result, from_blob(blob.data or b"").to_pylist()))
            else:
                self.counts[blob.stream] += blob.rows
                self.last[blob.stream] += blob.rows
                for told in from_blob(blob.data).to_pylist() if blob.data is not None else ():
                    self._refuse(blob.stream, told)
        assert not lost & gained, f"lost and gained again: {lost & gained}"
        return changed

    def _refuse(self, stream: str, told: Mapping[str, Any]) -> None:
        """Take a row of a side output, which says how late it is, unless it came when all was over."""
        late_by, is_told = told["late_by"], "behind the watermark" in told["message"]
        assert is_told == (late_by is not None), f"{late_by} late, and is told {told['message']!r}"
        assert late_by is None or (late_by > 0 and told["reason"] == "late"), f"{told} is not late"
        self.refused[stream, told["reason"], late_by, told["row"]] += 1

    def _apply(self, given: Mapping[str, Any], row: Row, kind: str, promised: int) -> Row:
        """Take a change of the output into what is live; return what the row is then."""
        (start, end), new_end = row.lifetime, given.get("new_end")
        new_end = INFINITY if new_end is None else new_end
        sync_time = min(end, new_end) if kind == "revise" else start
        assert sync_time >= promised, f"{given} lies before the output watermark {promised}"
        if "event_id" not in given:
            self._bag[row] += 1
            return row
        name = row.key, given["event_id"]
        if kind == "insert":
            assert name not in self._used, f"the id of {given} is used twice"
            self._used.add(name)
            self._live[name] = row
            return row
        assert self._live.get(name) == row, f"{given} changes {self._live.get(name)}"
        del self._live[name]
        if kind == "revise":
            assert start < new_end, f"{given} is empty"
            window = row.window if "window" in given else (start, new_end)
            row = self._live[name] = row._replace(window=window, lifetime=(start, new_end))
        return row

    def _result(self, given: Mapping[str, Any]) -> Row:
        named = {"key", "key1", "window", "lifetime", "change", "event_id", "new_end", "partition", "ends_window"}
        outputs = dict.fromkeys(part.name for part in (*self.task.outputs, *self.task.plan.evicted))
        lifetime = extent(given["lifetime"] if "lifetime" in given else given["window"])
        window = extent(given["window"]) if "window" in given else lifetime
        more = tuple(value for name, value in given.items() if name not in named and name not in outputs)
        values = tuple(plain(given[name]) for name in outputs if name in given)
        key = (given["key"], given["key1"]) if "key1" in given else given["key"]
        return Row(key, window, lifetime, values, more)


def _of(output: Counter[Row], key: Hashable, window: tuple[int, int]) -> Counter[Row]:
    return Counter({row: count for row, count in output.items() if (row.key, row.window) == (key, window)})


def mark(time: int, side: int = 0, source: str | None = None) -> dict[str, Any]:
    """Return punctuation of a stream as a row of the projection."""
    told = {"change": "close"} if time == INFINITY else {"change": "punctuate", "start": time}
    return {"payload": None, "side": side, "source": source, **told}


def keyed(key: Any) -> dict[str, Any]:
    """Return the columns of a key."""
    return dict(zip(("key", "key1"), key, strict=True)) if isinstance(key, tuple) else {"key": key}


def ranged(punctuation: KeyPunctuation) -> dict[str, Any]:
    """Return the columns of a pattern of keys: a value or a range for each of the columns, or neither."""
    found: dict[str, Any] = {}
    parts: Any = punctuation.key
    for place, part in enumerate(parts):
        if isinstance(part, KeyRange):
            found |= {f"low{place}": part.low, f"high{place}": part.high}
        elif part is not ...:
            found[f"key{place or ''}"] = part
    return found


def _is_whole(punctuation: KeyPunctuation) -> bool:
    key = punctuation.key
    return not any(part is ... or isinstance(part, KeyRange) for part in (key if isinstance(key, tuple) else (key,)))


def extent(value: Mapping[str, Any]) -> tuple[int, int]:
    """Return a stretch of the axis, which has no start, or no end, where a null is."""
    start, end = value["start"], value["end"]
    return EARLIEST if start is None else start, INFINITY if end is None else end


def differ(got: Counter[Any], wanted: Counter[Any]) -> None:
    """Compare outputs.

    Raises:
        AssertionError: They differ.
    """
    assert got == wanted, f"missing {wanted - got}\nsurplus {got - wanted}"


def plain(value: Any) -> Any:
    """Return a value of a result that equals itself and can be counted."""
    if isinstance(value, Mapping):
        return tuple(map(plain, value.values()))
    if is_dataclass(value) and not isinstance(value, type):
        return tuple(plain(getattr(value, part.name)) for part in fields(value))
    if isinstance(value, list | tuple):
        return tuple(map(plain, value))
    return repr(value) if isinstance(value, float) else value
