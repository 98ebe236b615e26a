"""An evaluator of two inputs of which the engine knows nothing: windows over both, closed by the least watermark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from muntin import EARLIEST, INFINITY, Aggregate
from muntin_engine.core.changes import InputChange, Key, Reason, Rejection
from muntin_engine.evaluators import registry
from muntin_engine.evaluators.batch import BucketBatch, Evaluated
from muntin_engine.evaluators.evaluator import Evaluator, InMemory
from muntin_engine.exchange.task_payload import TaskPayload
from muntin_engine.exchange.times import extents
from muntin_engine.plan.module_plan import ModulePlan
from muntin_engine.plan.plan import Plan
from muntin_engine.progress import InputsProgress
from muntin_engine.state.cells import METADATA, Cells
from muntin_engine.state.codec import Codec

SIZE = 10


class Meeting(Evaluator):
    """Computes each module from the events of its own side in windows of ten ticks, when both sides have passed one.

    A row is late by the watermark of its own side. Everything is in one cell: small, and read whole.
    """

    name = "meeting"
    advantage = "two streams meet"
    takes_inputs = range(2, 3)
    takes_revisions = True

    def why_not(self, plan: Plan) -> str | None:
        return None if str(plan.emit) == "final" else "it emits final results alone"

    def explain_module(self, plan: Plan, module: ModulePlan) -> str:
        return f"computed from the events of {plan.inputs[module.side].name}"

    def explain_row(self, plan: Plan) -> str:
        return "a constant for each window"

    def explain_state(self, plan: Plan) -> str:
        return "the events of open windows of both"

    def load(self) -> None:
        pass

    def in_memory(self, plan: Plan, cells: Cells, codec: Codec) -> InMemory:
        raise NotImplementedError("scripts for restart tests have one stream")

    def process(self, task: TaskPayload, bucket: int, cells: Cells, batch: BucketBatch) -> Evaluated:
        progress, events = InputsProgress.start(2), dict[tuple[Key, int, Any], list[Any]]()
        data = cells.get(METADATA)
        if data is not None:
            identity, stored, rows = task.codec.unpack(data)
            task.compatibility.check(identity)
            progress = InputsProgress.from_data(stored)
            events = {(tuple(key), side, id): list(rest) for key, side, id, *rest in rows}
        trackers = [given.tracker for given in task.inputs]
        reports = batch.reports
        now = progress.advance(
            trackers, [report.progress for report in reports], [report.observed for report in reports]
        )
        rejections = list(_admit(events, progress, batch.changes))
        table = _closed(task, events, progress.least.watermark, now.least.watermark)
        settled = _floor(now.least.watermark)
        kept = [[list(key), side, id, *rest] for (key, side, id), rest in events.items() if rest[1] > settled]
        cells.put(METADATA, task.codec.pack([dict(task.identity), now.to_data(), kept]))
        accepted = sum(len(rows) for _, rows in batch.changes) - len(rejections)
        return Evaluated(iter([table]), accepted, settled, now.least, {}, rejections)


def _admit(
    events: dict[tuple[Key, int, Any], list[Any]],
    before: InputsProgress,
    changes: Sequence[tuple[Key, Sequence[InputChange]]],
) -> Iterator[tuple[Key, Rejection]]:
    """Take rows into the events; yield those that are late by the watermark of their side, or name no event."""
    for key, rows in changes:
        for row in sorted(rows, key=lambda row: row.new_end is not None):
            watermark, name = before.inputs[row.side].watermark, (key, row.side, row.id)
            sync_time = row.start if row.new_end is None else row.new_end
            if row.new_end is not None and name in events:
                sync_time = min(sync_time, events[name][1])
            if sync_time < watermark:
                yield key, Rejection(Reason.LATE, f"it is of {sync_time}", row, watermark - sync_time)
            elif row.new_end is None:
                events[name] = [row.start, row.end, list(row.payload)]
            elif name not in events:
                yield key, Rejection(Reason.UNKNOWN_EVENT, "it revises nothing", row)
            elif row.new_end == row.start:
                del events[name]
            else:
                events[name][1] = row.new_end


def _closed(task: TaskPayload, events: dict[tuple[Key, int, Any], list[Any]], before: int, now: int) -> pa.Table:
    """Return the results of the windows that end after one watermark and not after another."""
    found: dict[tuple[Key, int], list[list[tuple[Any, ...]]]] = {}
    for (key, side, _), (start, end, payload) in events.items():
        for first in range(_floor(start), end, SIZE):
            if before < first + SIZE <= now:
                found.setdefault((key, first), [[], []])[side].append(tuple(payload))
    rows = sorted(found.items())
    columns = {"window": extents(task, [first for (_, first), _ in rows], [first + SIZE for (_, first), _ in rows])}
    for place, data_type in enumerate(task.keys):
        columns[task.results.names[place]] = pa.array([key[place] for (key, _), _ in rows], data_type)
    for planned in task.plan.modules:
        module: Any = planned.module
        own = [members[planned.side] for _, members in rows]
        values = [module.compute_result(list(map(planned.select, members))) for members in own]
        columns[planned.output] = pa.array(values, task.results.field(planned.output).type)
    return pa.table([columns[name] for name in task.results.names], schema=task.results)


def _floor(tick: int) -> int:
    return tick if tick in (EARLIEST, INFINITY) else tick // SIZE * SIZE


def _opened(cls: type[Any]) -> Any:
    registry.BY_NAME.setdefault(Meeting.name, Meeting())  # type: ignore[attr-defined]  # workers know it by the task
    return cls()


class Travelling:
    """A module that brings the evaluator along to wherever it is opened."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _opened, (type(self),)


class Kilometres(Travelling, Aggregate[float, float]):
    name, version = "test.kilometres", "1"

    def compute_result(self, payloads: Sequence[float]) -> float:
        return sum(payloads)


class Codes(Travelling, Aggregate[str, str]):
    name, version = "test.codes", "1"

    def compute_result(self, payloads: Sequence[str]) -> str:
        return " ".join(sorted(payloads))
