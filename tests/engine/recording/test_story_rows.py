"""A story has the fate of rows that no evaluator gets to see as they came: bad, changed and unreadable ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import muntin_stats as stats
from muntin import tumbling
from muntin_engine import Query, Recording, events
from muntin_engine.errors import RecordingError

CHANGES = pa.table(
    {
        "station": ["north"] * 5,
        "id": [1, 1, 2, 3, 4],
        "from": [1, 1, 3, 4, 5],
        "until": [5, 5, None, 8, 9],
        "then": [None, None, None, None, 7],
        "what": ["insert", "revise", "inser", "insert", "revise"],
        "km": [1.0, 1.0, 4.0, 9.0, 1.0],
    }
)
"""The second row lacks a new end, the third has an unknown change, and the last one revises an unknown event."""


def changed_events() -> Any:
    columns: Any = {"key": "station", "id": "id", "start": "from", "end": "until", "new_end": "then", "change": "what"}
    return events(CHANGES, **columns)


def fates(query: Query, folder: Path) -> list[tuple[str, str]]:
    """Record a query, and return the fate of each row in its story, with the reason."""
    query.record(folder)
    return [(str(row.fate), row.reason) for row in Recording(folder).story().rows]


@pytest.mark.parametrize("length", [0, 5])
@pytest.mark.parametrize("is_filtered", [False, True])
def test_bad_rows_and_revisions_of_unknown_events_are_rejected(length: int, is_filtered: bool, tmp_path: Path) -> None:
    # With a filter, the rows that insert no event do not carry their numbers; and a shift changes their times.
    changed = changed_events().where("km > 0") if is_filtered else changed_events()
    shifted = changed.shift(length) if length else changed
    query = shifted.window(tumbling(10)).aggregate(n=stats.count())
    names, reasons = zip(*fates(query, tmp_path / "recording"), strict=True)
    assert names == ("counted", "rejected", "rejected", "counted", "rejected")
    assert reasons[1] == "a revision needs a new end, and it is null"
    assert reasons[2].startswith("its change is none of insert")
    assert reasons[4] == f"no event 4 that started at {5 + length} is alive"


@pytest.mark.parametrize("column", ["station", "id", "day"])
def test_a_row_with_a_value_that_python_cannot_read_is_rejected(column: str, tmp_path: Path) -> None:
    unreadable = pa.array([10, 5_000_000], pa.int32()).cast(pa.date32())  # the second day is in the year 15659
    rows = pa.table({"station": ["north"] * 2, "id": [1, 2], "at": [1, 3], "day": pa.array([10, 11], pa.date32())})
    rows = rows.set_column(rows.column_names.index(column), column, unreadable)
    query = events(rows, key="station", id="id", at="at").window(tumbling(10)).aggregate(last=stats.max("day"))
    assert [fate for fate, _ in fates(query, tmp_path / "recording")] == ["counted", "rejected"]

    smallest = Recording(tmp_path / "recording").shrink(lambda replayed: bool(replayed.rejected_rows))
    assert [batch.rows for batch in smallest.batches if batch.rows] == [1]


def test_a_story_of_keys_that_are_arrays_has_their_rows_and_results(tmp_path: Path) -> None:
    rows = pa.table({"ways": [["north", "east"], ["south"], ["north", "east"]], "at": [1, 2, 3], "km": [1.0, 2.0, 4.0]})
    query = events(rows, key="ways", at="at").window(tumbling(10)).aggregate(km=stats.sum("km"))
    query.record(tmp_path / "recording")
    recording = Recording(tmp_path / "recording")
    results = {str(change.key[0]): list(change.members) for change in recording.story().changes}
    assert results == {"['north', 'east']": [0, 2], "['south']": [1]}

    story_of_key = recording.story(keys=[(["north", "east"],)])
    assert [row.values for row in story_of_key.rows if row.change == "insert"] == [{"km": 1.0}, {"km": 4.0}]


@pytest.mark.parametrize("key", [(), ("north", 1), float("nan")])
def test_a_story_of_a_key_of_other_columns_is_refused(key: Any, tmp_path: Path) -> None:
    query = changed_events().window(tumbling(10)).aggregate(n=stats.count())
    query.record(tmp_path / "recording")
    with pytest.raises(RecordingError, match=r"has the key columns station \(string\)"):
        Recording(tmp_path / "recording").story(keys=[key])


def test_a_query_without_key_columns_has_the_rows_of_its_only_key(tmp_path: Path) -> None:
    rows = pa.table({"at": [1, 2], "km": [1.0, 2.0]})
    query = events(rows, at="at").window(tumbling(10)).aggregate(km=stats.sum("km"))
    query.record(tmp_path / "recording")
    recording = Recording(tmp_path / "recording")
    for key in ((), None):
        assert len(recording.story(keys=[key]).changes) == 1
    with pytest.raises(RecordingError, match="has no key columns"):
        recording.story(keys=["north"])
