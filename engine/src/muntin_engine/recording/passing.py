"""The results that one query of a recording passes on to another: which row of the one is which result of the other.

A task of the reading query is given what the query before passes on in the task of the same number, row for row: there
are projections and unions alone between the two.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

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


class PassedOn(NamedTuple):
    """What a task of the reading query was given of another query's results.

    Attributes:
        place: The place of the query whose results they are, among those before.
        rows: The results, in the order of the rows of the task; `CHANGE` says what each does.
    """

    place: int
    rows: pa.Table


def passed_on(
    folders: Sequence[Path], reads: Sequence[int], batch: RecordedBatch, part: RecordedPart
) -> PassedOn | None:
    """Return what the rows of a task are; None if they are no results.

    Args:
        folders: The recordings of the queries before.
        reads: The places of those whose results the query reads.
        batch: The micro-batch of the task.
        part: The rows of the task, or what is left of them.
    """
    for place in reads:
        file = rows_file(folders[place], batch.number, batch.run, part.partition, PASSED_ON)
        if file.exists() and _are_the_same(rows := pq.read_table(file), part.rows):
            return PassedOn(place, rows)
    return None


def _are_the_same(passed: pa.Table, rows: pa.Table) -> bool:
    """Return True if rows are those that were passed on: a union puts the name of a stream before their source."""
    nth = rows.column(NTH)
    if len(nth) and pc.max(nth).as_py() >= len(passed):
        return False
    own = passed.select([CHANGE, SOURCE]).take(nth)
    sources = zip(rows.column("source").to_pylist(), own.column(SOURCE).to_pylist(), strict=True)
    is_like = all(said == source or said.endswith(f".{source}") for said, source in sources)
    return is_like and bool(own.column(CHANGE).to_pylist() == rows.column("change").to_pylist())


def with_origins(
    story: Story, plans: Sequence[Plan], stories: Sequence[Story], given: Iterator[tuple[RecordedBatch, list[Any]]]
) -> Story:
    """Return a story whose rows say which results of the queries before they are.

    Args:
        story: The story.
        plans: The plans of the queries before.
        stories: Their stories.
        given: Each micro-batch with, for each of its rows in their order, the place of the query that passed it on and
            the row of its results; None of a row that is no result.
    """
    known = [_KnownChanges(plan, told) for plan, told in zip(plans, stories, strict=True)]
    number, rows = 0, list(story.rows)
    for batch, results in given:
        for result in results:
            if result is not None:
                place, passed = result
                found = known[place].of(batch.number, passed)
                rows[number] = replace(rows[number], origin=None if found is None else (place, found))
            number += 1
    return replace(story, rows=rows)


class _KnownChanges:
    """The changes of a story, which are found by rows of results; each is found once."""

    def __init__(self, plan: Plan, story: Story) -> None:
        self._keys = [key.name for key in plan.keys]
        self._lifetime = plan.lifetime_column
        self._outputs = [part.name for part in plan.outputs]
        self._known: dict[Hashable, list[StoryChange]] = defaultdict(list)
        for change in story.changes:
            self._known[change.batch, _name(change.key, change.change, change.window_name, change.start)].append(change)

    def of(self, batch: int, row: dict[str, Any]) -> int | None:
        """Return the number of a change; of several that only their values tell apart, that of the same values."""
        key, lifetime = tuple(row[name] for name in self._keys), row[self._lifetime]
        name = batch, _name(key, row[CHANGE], row.get("window_name") or "", lifetime["start"])
        some = self._known.get(name, [])
        if not some or not all(column in row for column in self._outputs):
            return None
        end, values = lifetime["end"], freeze([row[column] for column in self._outputs])

        def likeness(change: StoryChange) -> tuple[bool, bool]:
            is_same_end = change.end == (INFINITY if end is None else end)
            return is_same_end, freeze([change.values[column] for column in self._outputs]) == values

        best = max(some, key=likeness)
        some.remove(best)
        return best.number


def _name(key: Sequence[Any], change: str, window_name: str, start: int) -> Hashable:
    return freeze(tuple(key)), change, window_name, start


def rows_passed_on(passed: PassedOn, nth: Sequence[int]) -> list[dict[str, Any]]:
    """Return the results among some rows as the query before emitted them, without the time that is no end."""
    rows = passed.rows.take(pa.array(nth, pa.int32()))
    if "new_end" in rows.column_names:
        place, ends = rows.schema.get_field_index("new_end"), rows.column("new_end").combine_chunks()
        is_end = pc.less(as_ticks(ends), INFINITY)
        rows = rows.set_column(place, rows.schema.field(place), pc.if_else(is_end, ends, None))
    is_result = pc.is_in(rows.column(CHANGE), pa.array(["insert", "revise", "retract"]))
    found: list[dict[str, Any]] = rows.filter(is_result).drop_columns([CHANGE, SOURCE]).to_pylist()
    return found


def results_of(passed: PassedOn, plan: Plan, nth: Sequence[int]) -> list[tuple[int, dict[str, Any]] | None]:
    """Return, for the places of some rows, the result that each is, its lifetime in ticks; None where it is none."""
    lifetime = plan.lifetime_column if plan.lifetime_column in passed.rows.column_names else "window"
    rows = passed.rows.take(pa.array(nth, pa.int32()))
    extent = rows.column(lifetime).combine_chunks()
    ends = [as_ticks(extent.field(name)).to_pylist() for name in ("start", "end")]
    others = [name for name in rows.column_names if name not in (lifetime, "new_end", "window")]
    found: list[tuple[int, dict[str, Any]] | None] = []
    for row, start, end in zip(rows.select(others).to_pylist(), *ends, strict=True):
        is_result = row[CHANGE] in ("insert", "revise", "retract")
        found.append((passed.place, {**row, plan.lifetime_column: {"start": start, "end": end}}) if is_result else None)
    return found
