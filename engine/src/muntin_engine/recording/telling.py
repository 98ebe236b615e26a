"""Tell the story of a stream: evaluate it key by key, and say of each result which rows made it.

Cost: what the query costs key by key in plain Python, where each result is computed from all its rows.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from muntin import INFINITY, JoinKind, Window
from muntin.windows import WindowKind
from muntin_engine.evaluators.keyed.bucket import BatchResult, KeyedBucket
from muntin_engine.evaluators.keyed.keyed_evaluator import KeyedEvaluator
from muntin_engine.evaluators.keyed.result_tables import result_tables
from muntin_engine.plan.explanation import explain_plan
from muntin_engine.plan.metrics import of_sources
from muntin_engine.recording.recorded_batch import RecordedBatch
from muntin_engine.recording.replay import recorded_exchange
from muntin_engine.recording.story import Fate, Story, StoryBatch, StoryChange, StoryRow
from muntin_engine.recording.told_rows import ToldRows
from muntin_engine.recording.tracing import NUMBER, Notes, Number, traced
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from muntin_engine.state.frozen_values import freeze
from muntin_engine.state.kept_stores import KeptStores
from muntin_engine.tasks.bucket_rows import read_bucket_rows
from muntin_engine.tasks.evaluator_registry import KEEPS_STATE
from muntin_engine.tasks.recorded_rows import RecordedPart
from muntin_engine.tasks.row_problems import PROBLEMS
from muntin_engine.tasks.task_metrics import watermarks_of
from muntin_engine.time.changes import InputChange, Key, OutputChange, OutputKind, Timing
from muntin_engine.time.inputs_progress import InputsProgress
from muntin_engine.wire.blobs import from_blob
from muntin_engine.wire.shuffle import BucketArrivals, collect
from muntin_engine.wire.task_payload import TaskPayload


def tell(task: TaskPayload, batches: Sequence[RecordedBatch]) -> Story:
    """Return the story of a query and its micro-batches, from the first one on.

    Raises:
        ModuleFailedError: A module raised an exception.
    """
    plan = task.plan
    queries = [_TracedQuery(_over(task, name), task, name) for name in plan.named_windows] or [
        _TracedQuery(task, task, "")
    ]
    rows, told, changes = ToldRows(queries[0].task), list[StoryBatch](), list[StoryChange]()
    for batch in batches:
        first = len(rows.all)
        parts = rows.take(batch)
        results = [query.take(parts, first, rows, is_end=batch.is_end) for query in queries]
        rows.count(first, queries[0].lifetimes)
        for query, result in zip(queries, results, strict=True):
            changes += query.told(result, batch.number, first, len(changes), rows)
        now = results[0].progress
        told.append(
            StoryBatch(
                number=batch.number,
                run=batch.run,
                rows=len(rows.all) - first,
                watermark=now.watermark,
                newest=now.newest,
                held_by=_held_by(queries[0].task, results[0].inputs),
            )
        )
    if told:
        rows.wait(plan, {number for change in changes for number in change.members}, told[-1].watermark)
    return Story(
        title=plan.spelled_grouping,
        plan=explain_plan(plan),
        key_names=[key.name for key in plan.keys],
        axis=plan.words,
        batches=told,
        rows=rows.all,
        changes=changes,
    )


def _held_by(task: TaskPayload, progress: InputsProgress | None) -> str | None:
    """Return the sources, or inputs, that are behind the others; None if none are, or they are buckets of a query."""
    if progress is None or task.plan.inputs[0].is_chained:
        return None
    known = of_sources(watermarks_of(task, progress), "watermark")
    least = min(known.values(), default=INFINITY)
    behind = [name for name, tick in known.items() if tick == least]
    return ", ".join(behind) if len(behind) < len(known) else None


def _over(task: TaskPayload, name: str) -> TaskPayload:
    """Return a query over one of its specifications of windows."""
    plan = replace(task.plan, window=task.plan.named_windows[name], named_windows={})
    results = task.results.remove(task.results.get_field_index("window_name"))
    return replace(task, plan=plan, results=results)


class _TracedQuery:
    """Evaluates a query over one specification of windows, and says what made its results.

    Attributes:
        task: The query, traced.
        lifetimes: The rows of the last micro-batch as the query sees them, by their numbers.
    """

    def __init__(self, alone: TaskPayload, whole: TaskPayload, name: str) -> None:
        self._notes, self._name = Notes(), name
        self.task = traced(alone, self._notes)
        evaluator = KEEPS_STATE[self.task.plan.choice.evaluator]
        assert isinstance(evaluator, KeyedEvaluator), f"{type(evaluator).__name__} does not run key by key"
        query, trackers = evaluator.query_of_task(self.task), [given.tracker for given in whole.inputs]
        run, codec = evaluator.run_of(self.task.plan), Codec.of(self.task.modules, {Number})
        self._bucket = KeyedBucket(run, query, MemoryCells(), codec, self.task.identity, trackers, KeptStores(), name)
        is_cut = self.task.plan.is_windowed and isinstance(self.task.plan.window, WindowKind)
        self._is_cut_by_events = is_cut and self.task.plan.window.ends_move
        self._places = [len(given.columns.payload) - 1 for given in self.task.plan.inputs]
        self.lifetimes: Mapping[int, InputChange] = {}
        self._payloads: dict[int, tuple[Any, ...]] = {}
        self._live: dict[tuple[Hashable, int], StoryChange] = {}

    def take(self, parts: Sequence[RecordedPart], first: int, rows: ToldRows, *, is_end: bool) -> BatchResult:
        """Evaluate a micro-batch, and say which of its rows, from one on, did not count."""
        task = self.task
        self._notes.begin()
        sent = [row for part in parts for row in recorded_exchange(task, part)]
        arrived = collect(sent, len(task.inputs))
        self._refuse_bad(arrived, rows)
        intake = read_bucket_rows(task, arrived.rows)
        changes = [(key, list(map(self._unseen, some))) for key, some in intake.changes]
        self.lifetimes = {
            number: change for _, some in changes for change in some if (number := self._number(change)) is not None
        }
        if task.plan.join is not None:
            self._payloads |= {number: change.payload for number, change in self.lifetimes.items()}
        rows.leave_out(first, self.lifetimes)
        for report, key_watermarks in zip(arrived.reports, intake.key_watermarks, strict=True):
            report.key_watermarks = key_watermarks
            if is_end:
                report.progress = report.progress._replace(watermark=INFINITY)
        result = self._bucket.run_batch(changes, arrived.reports, arrived.signals)
        for key, rejection in result.rejections:
            number = self._number(rejection.change)
            fate = Fate.LATE if rejection.is_late else Fate.SHED if rejection.is_shed else Fate.REJECTED
            rows.refuse(rows.unnumbered(key, rejection.change) if number is None else number, fate, rejection.message)
        return result

    def _number(self, change: InputChange) -> int | None:
        number: Number | None = change.payload[self._places[change.side]]
        return None if number is None else number.value

    def _unseen(self, change: InputChange) -> InputChange:
        """Return a row whose number makes no difference to any other."""
        place, payload = self._places[change.side], list(change.payload)
        payload[place] = None if payload[place] is None else Number(payload[place])
        return change._replace(payload=tuple(payload))

    def _refuse_bad(self, arrived: BucketArrivals, rows: ToldRows) -> None:
        for given, blobs in zip(self.task.inputs, arrived.rows, strict=True):
            place = self._places[given.side]
            for blob in blobs:
                bad = from_blob(blob)
                bad = bad.filter(bad.column("problem").is_valid())
                for number, problem in zip(
                    *(bad.column(name).to_pylist() for name in (f"i{place}", "problem")), strict=True
                ):
                    if number is not None:
                        rows.refuse(number, Fate.REJECTED, PROBLEMS[problem].message)

    def told(self, result: BatchResult, batch: int, first: int, number: int, rows: ToldRows) -> Iterator[StoryChange]:
        """Yield the changes of the results of a micro-batch, numbered from one on.

        Args:
            result: What came of it.
            batch: Its number.
            first: The number of its first row.
            number: The number of the first change.
            rows: All rows.
        """
        changes = [(key, change) for key, some in result.output for change in some]
        names = [part.name for part in self.task.outputs]
        if self.task.plan.join is not None:
            values = [dict(zip(names, change.value, strict=True)) for _, change in changes]
        else:
            tables = result_tables(self.task, result.output)
            values = [row for table in tables for row in table.select(names).to_pylist()]
        mark = _mark(rows.all[first:])
        for at, ((key, change), value) in enumerate(zip(changes, values, strict=True), number):
            yield self._change(key, change, value, at, batch, first, rows, mark)

    def _change(
        self,
        key: Key,
        change: OutputChange,
        value: dict[str, Any],
        number: int,
        batch: int,
        first: int,
        rows: ToldRows,
        mark: Sequence[int],
    ) -> StoryChange:
        plan, name = self.task.plan, (freeze(key), change.id)
        window = change.window
        before = None if change.kind is OutputKind.INSERT else self._live.pop(name)
        members: Sequence[int]
        bounds: Sequence[int]
        if before is None or (plan.join is not None and change.kind is OutputKind.REVISE):
            found = set(self._members(key, window, change, value))
            bounds = rows.with_changes(self._bounds(key, window, change, found, rows))
            members = rows.with_changes(found)
        else:
            members, bounds = before.members, before.bounds
        trigger = rows.of_batch({*members, *bounds}, first)
        told = StoryChange(
            number=number,
            batch=batch,
            key=key,
            change=str(change.kind),
            result=number if before is None else before.result,
            window=(window.start, window.end) if plan.is_windowed else None,
            window_name=self._name,
            start=change.start,
            end=change.end,
            new_end=change.new_end,
            values={column: one for column, one in value.items() if not column.startswith(NUMBER)},
            is_early=change.timing is Timing.EARLY,
            firing=change.firing,
            members=members,
            bounds=bounds,
            trigger=trigger or mark,
        )
        if change.kind is not OutputKind.RETRACT:
            self._live[name] = told
        return told

    def _bounds(
        self, key: Key, window: Window, change: OutputChange, members: Collection[int], rows: ToldRows
    ) -> Iterable[int]:
        """Return the rows that are no members, and without which the window, or the part of an event, is another."""
        join = self.task.plan.join
        if join is None:
            return rows.edges(key, members, window.start, window.end) if self._is_cut_by_events else ()
        if len(members) > 1 or self.task.plan.passes_events:
            return ()
        (left,), end = members, change.end if change.new_end is None else change.new_end
        near = (
            rows.over(key, change.start, end)
            if join.kind is JoinKind.SEMI
            else rows.around(key, left, change.start, end, is_clipped=join.kind is JoinKind.CLIP)
        )
        other = self.task.plan.inputs[1].name
        met = (number for number in near if rows.all[number].input == other)
        return [one for one in met if join.on is None or join.on(self._payloads[left], self._payloads[one])]

    def _members(self, key: Key, window: Window, change: OutputChange, value: dict[str, Any]) -> Iterable[int]:
        plan = self.task.plan
        if plan.join is not None:
            return [one.value for column, one in value.items() if column.startswith(NUMBER) and one is not None]
        if plan.is_operator:
            return self._notes.numbers(0, key, window, change.value)
        notes = (self._notes.numbers(place, key, window, one) for place, one in enumerate(change.value))
        return {number for numbers in notes for number in numbers}


def _mark(rows: Sequence[StoryRow]) -> list[int]:
    """Return the row that moved the watermark furthest: the end of the stream, punctuation, or the newest event."""
    counted = [row for row in rows if row.fate is Fate.COUNTED and (row.start is not None or row.change == "close")]
    said = [row for row in counted if row.change not in ("insert", "revise", "retract")]
    closing = [row for row in said if row.change == "close"]
    furthest = max(closing or said or counted, key=lambda row: row.start or 0, default=None)
    return [] if furthest is None else [furthest.number]
