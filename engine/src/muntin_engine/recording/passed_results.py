"""The results that one query of a recording passes on to another: which row of the one is which result of the other.

A task of the reading query reads what the query before passes on in the task of the same number, row for row: there
are projections and unions alone between the two.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from muntin import INFINITY
from muntin_engine.plan import Plan
from muntin_engine.recording.recorded_batch import RecordedBatch
from muntin_engine.recording.story import Story, StoryChange
from muntin_engine.state.frozen_values import freeze
from muntin_engine.tasks.recorded_rows import NTH, PASSED_ON, RecordedPart, rows_file
from muntin_engine.wire.blob_readers import CHANGE, SOURCE
from muntin_engine.wire.times import as_ticks

_CHANGES_OF_RESULTS: Final = ("insert", "revise", "retract")


class PassedRows(NamedTuple):
    """The rows that a task of the reading query got of another query's results.

    Attributes:
        place: The place of the other query among the queries before.
        rows: The rows, in the order of the rows of the task; `CHANGE` says what each does.
    """

    place: int
    rows: pa.Table


class PassedResult(NamedTuple):
    """A result that was passed on.

    Attributes:
        place: The place of its query among the queries before.
        row: The columns of the result by name; its lifetime is in ticks.
    """

    place: int
    row: Mapping[str, Any]


def find_passed_rows(
    folders: Sequence[Path], reads: Sequence[int], batch: RecordedBatch, part: RecordedPart
) -> PassedRows | None:
    """Find the results of a query before that a task read; None if it read no results.

    Args:
        folders: The recordings of the queries before.
        reads: The places of the queries whose results the query reads.
        batch: The micro-batch of the task.
        part: The rows of the task, or what is left of them.
    """
    for place in reads:
        file = rows_file(folders[place], batch.number, batch.run, part.partition, PASSED_ON)
        if file.exists():
            rows = pq.read_table(file)
            if _were_read_as(rows, part.rows):
                return PassedRows(place, rows)
    return None


def _were_read_as(passed: pa.Table, rows: pa.Table) -> bool:
    """Return True if a task read passed rows as its own.

    Args:
        passed: The rows that a task of another query passed on.
        rows: The rows that the task read, or what is left of them; `NTH` is the place of each among all that it read.
    """
    nth = rows.column(NTH)
    if len(nth) and pc.max(nth).as_py() >= len(passed):
        return False
    passed = passed.select([CHANGE, SOURCE]).take(nth)
    if passed.column(CHANGE).to_pylist() != rows.column("change").to_pylist():
        return False
    for source, passed_source in zip(rows.column("source").to_pylist(), passed.column(SOURCE).to_pylist(), strict=True):
        # A union puts the name of a stream before the source.
        if source != passed_source and not source.endswith(f".{passed_source}"):
            return False
    return True


def emitted_results(passed: PassedRows, nth: Sequence[int]) -> list[dict[str, Any]]:
    """Return the results among rows as the query before emitted them.

    Args:
        passed: The rows that were passed on.
        nth: The places of the rows.
    """
    rows = passed.rows.take(pa.array(nth, pa.int32()))
    if "new_end" in rows.column_names:
        # A revision to no end was passed on with a time that stands for infinity.
        place = rows.schema.get_field_index("new_end")
        ends = rows.column("new_end").combine_chunks()
        is_finite = pc.less(as_ticks(ends), INFINITY)
        rows = rows.set_column(place, rows.schema.field(place), pc.if_else(is_finite, ends, None))
    is_result = pc.is_in(rows.column(CHANGE), pa.array(_CHANGES_OF_RESULTS))
    results: list[dict[str, Any]] = rows.filter(is_result).drop_columns([CHANGE, SOURCE]).to_pylist()
    return results


def passed_results(passed: PassedRows, plan: Plan, nth: Sequence[int]) -> list[PassedResult | None]:
    """Return the result that each of the rows is; None for one that is no result, such as punctuation.

    Args:
        passed: The rows that were passed on.
        plan: The plan of the query before.
        nth: The places of the rows.
    """
    lifetime_column = plan.lifetime_column if plan.lifetime_column in passed.rows.column_names else "window"
    rows = passed.rows.take(pa.array(nth, pa.int32()))
    lifetimes = rows.column(lifetime_column).combine_chunks()
    starts = as_ticks(lifetimes.field("start")).to_pylist()
    ends = as_ticks(lifetimes.field("end")).to_pylist()
    names = [name for name in rows.column_names if name not in (lifetime_column, "new_end", "window")]
    results: list[PassedResult | None] = []
    for row, start, end in zip(rows.select(names).to_pylist(), starts, ends, strict=True):
        if row[CHANGE] not in _CHANGES_OF_RESULTS:
            results.append(None)
            continue
        row[plan.lifetime_column] = {"start": start, "end": end}
        results.append(PassedResult(passed.place, row))
    return results


def with_origins(
    story: Story,
    plans: Sequence[Plan],
    stories: Sequence[Story],
    batches: Iterator[tuple[RecordedBatch, list[PassedResult | None]]],
) -> Story:
    """Return a story whose rows say which results they are of the queries before.

    Args:
        story: The story.
        plans: The plans of the queries before.
        stories: The stories of the queries before.
        batches: Each micro-batch with the result that each of its rows is, in the order of the rows.
    """
    changes_by_query = [_ChangesByResult(plan, earlier) for plan, earlier in zip(plans, stories, strict=True)]
    rows = list(story.rows)
    number = 0
    for batch, results in batches:
        for result in results:
            if result is not None:
                change = changes_by_query[result.place].take(batch.number, result.row)
                rows[number] = replace(rows[number], origin=None if change is None else (result.place, change))
            number += 1
    return replace(story, rows=rows)


class _ChangesByResult:
    """The changes of a story, looked up by rows of results; each is handed out once."""

    def __init__(self, plan: Plan, story: Story) -> None:
        self._key_names = [key.name for key in plan.keys]
        self._lifetime_column = plan.lifetime_column
        self._output_names = [part.name for part in plan.outputs]
        self._changes: dict[Hashable, list[StoryChange]] = defaultdict(list)
        for change in story.changes:
            name = _result_name(change.batch, change.key, change.change, change.window_name, change.start)
            self._changes[name].append(change)

    def take(self, batch: int, row: Mapping[str, Any]) -> int | None:
        """Return the number of the change that a row is; None if the story has none like it."""
        if not all(name in row for name in self._output_names):
            return None
        key = tuple(row[name] for name in self._key_names)
        lifetime = row[self._lifetime_column]
        name = _result_name(batch, key, row[CHANGE], row.get("window_name") or "", lifetime["start"])
        changes = self._changes.get(name, [])
        if not changes:
            return None

        end = INFINITY if lifetime["end"] is None else lifetime["end"]
        values = freeze([row[name] for name in self._output_names])

        def likeness(change: StoryChange) -> tuple[bool, bool]:
            """Order changes that only their ends and values tell apart, the most alike last."""
            has_values = freeze([change.values[name] for name in self._output_names]) == values
            return change.end == end, has_values

        most_alike = max(changes, key=likeness)
        changes.remove(most_alike)  # each change was passed on once
        return most_alike.number


def _result_name(batch: int, key: Sequence[Any], change: str, window_name: str, start: int) -> Hashable:
    """Return what a change and the row that it was passed on as have in common; several changes may share it."""
    return batch, freeze(tuple(key)), change, window_name, start
