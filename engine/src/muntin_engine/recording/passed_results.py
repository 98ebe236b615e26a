"""The results that one query of a recording passes on to another: each is a row of the other query's input.

The query that reads results is downstream, the one that emits them upstream. A task of the downstream query reads what
the task of the same number passes on upstream, row for row, as only projections and unions lie between the two.
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
    """The results of an upstream query that a task read.

    Attributes:
        query_place: The place of the query among all upstream queries.
        rows: The results in the order in which the task read them, with punctuation among them. The column `CHANGE` has
            the change that each row makes.
    """

    query_place: int
    rows: pa.Table


class PassedResult(NamedTuple):
    """A result that was passed on.

    Attributes:
        query_place: The place of the query that emitted it among all upstream queries.
        row: The values of the result by column; its lifetime is in ticks.
    """

    query_place: int
    row: Mapping[str, Any]


def find_passed_rows(
    folders: Sequence[Path], reads: Sequence[int], batch: RecordedBatch, part: RecordedPart
) -> PassedRows | None:
    """Find the results of an upstream query that a task read; None if it read no results.

    Args:
        folders: The folders of the recordings of all upstream queries.
        reads: The places of the upstream queries whose results the query of the task reads.
        batch: The micro-batch of the task.
        part: The recorded rows of the task, or a selection of them.
    """
    # Each of these queries may have a file of this task's number: the rows tell which of them the task read.
    for query_place in reads:
        file = rows_file(folders[query_place], batch.number, batch.run, part.partition, PASSED_ON)
        if file.exists():
            rows = pq.read_table(file)
            if _were_read_as(rows, part.rows):
                return PassedRows(query_place, rows)
    return None


def _were_read_as(passed: pa.Table, rows: pa.Table) -> bool:
    """Say whether the rows that a task read are those that a task of another query passed on.

    Args:
        passed: The rows that the other task passed on.
        rows: The rows that the task read, or a selection of them. `NTH` is the place of each among all that it read.
    """
    nth = rows.column(NTH)
    if len(nth) and pc.max(nth).as_py() >= len(passed):
        return False
    passed = passed.select([CHANGE, SOURCE]).take(nth)
    if passed.column(CHANGE).to_pylist() != rows.column("change").to_pylist():
        return False
    for source, passed_source in zip(rows.column("source").to_pylist(), passed.column(SOURCE).to_pylist(), strict=True):
        # A union of streams puts the name of the stream before that of the source.
        if source != passed_source and not source.endswith(f".{passed_source}"):
            return False
    return True


def emitted_results(passed: PassedRows, nth: Sequence[int]) -> list[dict[str, Any]]:
    """Return results that a task read in the form in which the upstream query emitted them; punctuation is left out.

    Args:
        passed: All rows that the task read.
        nth: The places of the rows to return.
    """
    rows = passed.rows.take(pa.array(nth, pa.int32()))
    if "new_end" in rows.column_names:
        # A revision that leaves its event open was passed on with a time that stands for infinity.
        place = rows.schema.get_field_index("new_end")
        ends = rows.column("new_end").combine_chunks()
        is_finite = pc.less(as_ticks(ends), INFINITY)
        rows = rows.set_column(place, rows.schema.field(place), pc.if_else(is_finite, ends, None))
    is_result = pc.is_in(rows.column(CHANGE), pa.array(_CHANGES_OF_RESULTS))
    results: list[dict[str, Any]] = rows.filter(is_result).drop_columns([CHANGE, SOURCE]).to_pylist()
    return results


def passed_results(passed: PassedRows, plan: Plan, nth: Sequence[int]) -> list[PassedResult | None]:
    """Return for each row that a task read the result that it is; None for punctuation.

    Args:
        passed: All rows that the task read.
        plan: The plan of the upstream query.
        nth: The places of the rows to return.
    """
    # Rows of the second output, which leave their windows, have their lifetimes in the column `window`.
    lifetime_name = plan.lifetime_column
    lifetime_column = lifetime_name if lifetime_name in passed.rows.column_names else "window"
    rows = passed.rows.take(pa.array(nth, pa.int32()))
    lifetimes = rows.column(lifetime_column).combine_chunks()
    starts = as_ticks(lifetimes.field("start")).to_pylist()
    ends = as_ticks(lifetimes.field("end")).to_pylist()
    # Results are looked up by their lifetimes in ticks, so the columns of times are left out.
    names = [name for name in rows.column_names if name not in (lifetime_column, "new_end", "window")]
    results: list[PassedResult | None] = []
    for row, start, end in zip(rows.select(names).to_pylist(), starts, ends, strict=True):
        if row[CHANGE] not in _CHANGES_OF_RESULTS:
            results.append(None)
            continue
        row[lifetime_name] = {"start": start, "end": end}
        results.append(PassedResult(passed.query_place, row))
    return results


def with_origins(
    story: Story,
    plans: Sequence[Plan],
    stories: Sequence[Story],
    batches: Iterator[tuple[RecordedBatch, list[PassedResult | None]]],
) -> Story:
    """Return a story in which each row that is a result of an upstream query names it, in `StoryRow.origin`.

    Args:
        story: The story.
        plans: The plans of all upstream queries.
        stories: The stories of all upstream queries.
        batches: The micro-batches of the story. With each comes a list that has, for each of its rows, the result that
            the row is, or None.
    """
    changes_by_query: list[_ChangesByResult] = []
    for plan, upstream_story in zip(plans, stories, strict=True):
        changes_by_query.append(_ChangesByResult(plan, upstream_story))
    rows = list(story.rows)
    row_number = 0  # rows are numbered on over all micro-batches
    for batch, results in batches:
        for result in results:
            if result is not None:
                change_number = changes_by_query[result.query_place].pop(batch.number, result.row)
                if change_number is not None:
                    rows[row_number] = replace(rows[row_number], origin=(result.query_place, change_number))
            row_number += 1
    return replace(story, rows=rows)


class _ChangesByResult:
    """The changes of an upstream story, looked up by the results that were passed on; each is handed out once."""

    def __init__(self, plan: Plan, story: Story) -> None:
        """Take all changes of a story.

        Args:
            plan: The plan of the upstream query.
            story: The story of the upstream query.
        """
        self._key_names = [key.name for key in plan.keys]
        self._lifetime_column = plan.lifetime_column
        self._output_names = [part.name for part in plan.outputs]
        self._changes: dict[Hashable, list[StoryChange]] = defaultdict(list)
        for change in story.changes:
            name = _result_name(change.batch, change.key, change.change, change.window_name, change.start)
            self._changes[name].append(change)

    def pop(self, batch: int, row: Mapping[str, Any]) -> int | None:
        """Find the change that was passed on as a row, and do not hand it out again.

        Args:
            batch: The number of the micro-batch.
            row: The values of the row by column.

        Returns:
            The number of the change; None if the story has no such change.
        """
        if not all(name in row for name in self._output_names):  # a projection has dropped a column
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
            """Say whether a change has the end of the row, and its values: the more alike, the larger the answer."""
            has_values = freeze([change.values[name] for name in self._output_names]) == values
            return change.end == end, has_values

        most_alike = max(changes, key=likeness)
        changes.remove(most_alike)  # each change was passed on only once
        return most_alike.number


def _result_name(batch: int, key: Sequence[Any], change: str, window_name: str, start: int) -> Hashable:
    """Return a name for a change that can also be told from the row that it was passed on as.

    Changes that differ only in their end or their values have the same name.
    """
    return batch, freeze(tuple(key)), change, window_name, start
