"""A query fed batch by batch, as tasks and a bucket run it: rows in, results and refusals out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from muntin import INFINITY, Aggregate, IncrementalAggregate, Module, tumbling
from muntin_engine.state.cells import MemoryCells
from muntin_engine.tasks.bucket_task import run_bucket
from muntin_engine.tasks.map_task import distribute
from muntin_engine.wire.blobs import from_blob
from muntin_engine.wire.shuffle import collect
from tests.scenarios.query import Query
from tests.scenarios.running import comparable, extent, punctuation_row

Row = dict[str, Any]


def row(id: object, start: int, end: int | None = None, value: Any = 0, key: Any = "k") -> Row:
    """Return an insertion; without an end it lasts until it is revised."""
    return {"change": "insert", "id": id, "start": start, "end": end, "payload": value, "key": key}


def at(start: int, value: Any = 1, key: Any = "k") -> Row:
    """Return a point."""
    return row(start, start, start + 1, value, key)


def revision(id: object, start: int, end: int | None, new_end: int, value: Any = None, key: Any = "k") -> Row:
    """Return a revision of an end, or a retraction."""
    end = None if end == INFINITY else end
    return row(id, start, end, value, key) | {"change": "revise", "new_end": new_end}


@dataclass
class Result:
    """The output of a micro-batch.

    Attributes:
        rows: The changes of the output.
        refused: The rows of the side outputs.
        counts: The metrics.
    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    refused: list[dict[str, Any]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def changes(self) -> list[str]:
        """The changes as text, `+[0,10) 3`: inserted, retracted with a minus, shortened with a tilde."""
        return [_as_text(change) for change in self.rows]

    @property
    def reasons(self) -> list[str]:
        """The reasons for which rows were refused."""
        return [row["reason"] for row in self.refused]

    @property
    def late_by(self) -> list[int | None]:
        """The lateness of late rows."""
        return [row["late_by"] for row in self.refused if row["reason"] == "late"]

    @property
    def messages(self) -> list[str]:
        """The messages about refused rows."""
        return [row["message"] for row in self.refused]


class Step(NamedTuple):
    """A micro-batch of a case, and what it is expected to bring about.

    Attributes:
        rows: Its rows.
        watermark: The watermark of the input after them.
        clock: The reading of the clock.
        expects: What is expected, in a form that the test says.
    """

    rows: Sequence[Row] = ()
    watermark: int | None = None
    clock: int | None = None
    expects: Sequence[str] = ()


class Feed:
    """A query in one bucket, whose state is in cells, and decoded in the process."""

    def __init__(self, query: Query, evaluator: str | None = None, cells: MemoryCells | None = None) -> None:
        """Open a query.

        Args:
            query: The query.
            evaluator: Name of the evaluator; None if the planner chooses.
            cells: State that it continues with; by default none.
        """
        self.query = query
        self.plan = query.plan(evaluator, buckets=1)
        self.cells = MemoryCells() if cells is None else cells
        self.task = query.task(self.plan)

    def batch(
        self,
        *rows: Row,
        watermark: int | None = None,
        clock: int | None = None,
        signals: Iterable[str] = (),
        of_keys: Mapping[Any, int] | None = None,
        tasks: int = 1,
    ) -> Result:
        """Run a micro-batch.

        Args:
            rows: Rows.
            watermark: Watermark of the input.
            clock: Reading of the clock.
            signals: Signals that are given.
            of_keys: Watermarks of single keys.
            tasks: Number of map tasks that have the rows.
        """
        input_rows = [*rows]
        if watermark is not None:
            input_rows.append(punctuation_row(watermark))
        if clock is not None:
            input_rows.append(punctuation_row(clock) | {"change": "clock"})
        for name in signals:
            input_rows.append(punctuation_row(0) | {"change": "signal", "signal": name})
        for key, time in (of_keys or {}).items():
            input_rows.append({**punctuation_row(min(time, INFINITY - 1)), "change": "punctuate_key", "key": key})

        map_output: list[dict[str, Any]] = []
        for task in range(tasks):
            task_rows = self.query.projected(input_rows[task::tasks])
            for batch in distribute(self.task, [task_rows]):
                map_output += batch.to_pylist()

        result = Result()
        for blob in run_bucket(self.task, self.task.buckets[0], self.cells, collect(map_output, 1)):
            if blob.data is None:
                result.counts[blob.stream] += blob.rows
            elif blob.stream == "results":
                result.rows += from_blob(blob.data).to_pylist()
            else:
                result.counts[blob.stream] += blob.rows
                result.refused += from_blob(blob.data).to_pylist()
        return result

    def step(self, step: Step) -> Result:
        """Run the micro-batch of a step."""
        return self.batch(*step.rows, watermark=step.watermark, clock=step.clock)

    def restart(self) -> None:
        """Continue in new processes, which have the cells alone."""
        self.task = replace(self.task, worker=replace(self.task.worker, cache_bytes=0))

    @property
    def is_empty(self) -> bool:
        """True if nothing but metadata is left."""
        return list(self.cells.cells) == ["metadata"]

    @property
    def bytes(self) -> int:
        """The size of the state."""
        return sum(map(len, self.cells.cells.values()))


_SIGNS: Final = {"insert": "+", "retract": "-", "revise": "~"}
_NO_VALUES: Final = frozenset({"key", "window", "lifetime", "change", "event_id", "new_end"})


def _as_text(change: Mapping[str, Any]) -> str:
    """Return a change as `Result.changes` has it."""
    start, end = extent(change.get("lifetime") or change["window"])
    sign = _SIGNS[change.get("change", "insert")]
    until = f"{end}->{change['new_end']}" if sign == "~" else f"{end}"
    values = [str(comparable(value)) for name, value in change.items() if name not in _NO_VALUES]
    return " ".join([f"{sign}[{start},{until})", *values]).replace(str(INFINITY), "inf")


def query(window: Any = None, *modules: Module, **policies: Any) -> Query:
    """Return a query whose events have ids, unless `lifetimes` says otherwise."""
    return Query(window or tumbling(10), modules or (Members(),), **policies)


class Total(Aggregate[int, int]):
    """The sum of the payloads."""

    name, version = "test.total", "1.0.0"

    def compute_result(self, payloads: Sequence[int]) -> int:
        return sum(payloads)


class Members(Aggregate[int, list[int]]):
    """The payloads, sorted."""

    name, version = "test.members", "1.0.0"

    def compute_result(self, payloads: Sequence[int]) -> list[int]:
        return sorted(payloads)


class RunningTotal(IncrementalAggregate[int, int, int]):
    """A running total that counts its calls, and the payloads that it reads."""

    name, version = "test.running_total", "2.1.0"

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()

    def create_state(self) -> int:
        self.calls["create_state"] += 1
        return 0

    def add_events(self, state: int, payloads: Sequence[int]) -> int:
        self.calls["added"] += len(payloads)
        return state + sum(payloads)

    def remove_events(self, state: int, payloads: Sequence[int]) -> int:
        self.calls["removed"] += len(payloads)
        return state - sum(payloads)

    def compute_result(self, state: int) -> int:
        self.calls["compute_result"] += 1
        return state


class Merged(RunningTotal):
    """A running total whose states are merged, so that it runs over slices."""

    name = "test.merged_total"

    def combine(self, state: int, other: int) -> int:
        self.calls["combine"] += 1
        return state + other


class Deducted(Merged):
    """A running total over slices with `deduct`."""

    name = "test.deducted_total"

    def deduct(self, state: int, other: int) -> int:
        self.calls["deduct"] += 1
        return state - other
