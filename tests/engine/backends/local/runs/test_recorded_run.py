"""Queries over tables that record themselves: their recordings are replayed and explained as those of streams."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import muntin_stats as stats
from muntin import session, tumbling
from muntin.errors import ModuleFailedError, QueryError
from muntin.rows import last
from muntin_engine import Query, Recorder, Recording, events, module
from muntin_engine.errors import RecordingError

RIDES = pa.table(
    {
        "station": ["north", "south", "north", "north", None],
        "at": [1, 2, 3, 12, 7],
        "until": [2, 3, 1, 13, 9],
        "km": [1.0, 2.0, None, 4.0, 8.0],
    }
)


def rides() -> Any:
    """Return rides as points of time."""
    return events(RIDES, key="station", at="at", order="until")


def in_order(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=repr)


def rides_with_ends() -> Any:
    """Return rides that last; the third one ends before it starts, and is rejected."""
    return events(RIDES, key="station", start="at", end="until")


QUERIES = {
    "on arrays": lambda: rides().window(tumbling(10)).aggregate(km=stats.average("km"), n=stats.count()),
    "key by key": lambda: rides().window(session(5)).aggregate(km=stats.median("km")),
    "row windows": lambda: rides().window(last(2)).aggregate(km=stats.sum("km")),
    "joined": lambda: rides().extend(5).join(rides().where("km > 2").extend(5), right_columns={"other": "km"}),
    "passed on": lambda: rides().where("km > 1").to_query(),
    "with rejected rows": lambda: rides_with_ends().window(tumbling(10)).aggregate(n=stats.count()),
}


@pytest.mark.parametrize("name", QUERIES)
def test_a_recording_is_replayed_to_the_results_of_the_table(name: str, tmp_path: Path) -> None:
    query: Query = QUERIES[name]()
    query.record(tmp_path / "recording")
    replayed = Recording(tmp_path / "recording").replay()
    assert in_order(replayed.results) == in_order(query.results().to_pylist())
    replayed.check(rejected_rows=query.rejected_rows().select(["reason"]).to_pylist())


def test_the_story_names_the_rows_of_each_result_and_the_fate_of_each_row(tmp_path: Path) -> None:
    query = rides_with_ends().window(tumbling(10)).aggregate(n=stats.count())
    query.record(tmp_path / "recording")
    story = Recording(tmp_path / "recording").story()
    assert [row.fate for row in story.rows] == ["counted", "counted", "rejected", "counted", "counted"]
    # The members of a result are the positions of its rows.
    members = {(change.key, change.window): list(change.members) for change in story.changes}
    assert members == {
        (("north",), (0, 10)): [0],
        (("south",), (0, 10)): [1],
        (("north",), (10, 20)): [3],
        ((None,), (0, 10)): [4],
    }


def test_a_recorder_of_some_keys_records_only_their_rows(tmp_path: Path) -> None:
    query = rides().window(tumbling(10)).aggregate(n=stats.count())
    query.record(Recorder(tmp_path / "recording", keys=["north"]))
    results = Recording(tmp_path / "recording").replay().results
    assert [(row["station"], row["n"]) for row in results] == [("north", 2), ("north", 1)]


@pytest.mark.parametrize("key", [(), ("north", 1), float("nan")])
def test_a_recorder_of_a_key_of_other_columns_is_refused_before_a_row_is_read(key: Any, tmp_path: Path) -> None:
    query = rides().window(tumbling(10)).aggregate(n=stats.count())
    with pytest.raises(QueryError, match=r"is no key of the query, which has the key columns station \(string\)\n"):
        query.record(Recorder(tmp_path / "recording", keys=["south", key]))
    assert not (tmp_path / "recording").exists()


def test_a_recorder_of_a_query_without_key_columns_takes_its_only_key(tmp_path: Path) -> None:
    query = events(RIDES, at="at", order="until").window(tumbling(10)).aggregate(n=stats.count())
    query.record(Recorder(tmp_path / "recording", keys=[()]))
    assert [row["n"] for row in Recording(tmp_path / "recording").replay().results] == [4, 1]
    with pytest.raises(QueryError, match="'north' is no key of the query, which has no key columns"):
        query.record(Recorder(tmp_path / "another", keys=["north"]))


def test_a_failure_of_a_query_is_replayed_from_its_recording(tmp_path: Path) -> None:
    def fails_at_4_km(km: list[float]) -> float:
        return 1 / (km[0] - 4)

    failing = module(fails_at_4_km, "km", returns=float)
    query = rides().window(tumbling(10)).aggregate(x=failing)
    with pytest.raises(ModuleFailedError, match="fails_at_4_km"):
        query.record(tmp_path / "recording")

    recording = Recording(tmp_path / "recording", modules=[failing.cls])
    with pytest.raises(ModuleFailedError, match=r"fails_at_4_km[\s\S]*north"):
        recording.replay()


def test_a_second_recording_needs_a_folder_of_its_own(tmp_path: Path) -> None:
    query = rides().window(tumbling(10)).aggregate(n=stats.count())
    query.record(tmp_path / "recording")
    with pytest.raises(RecordingError, match="has a recording already"):
        query.record(tmp_path / "recording")


def test_what_is_no_place_for_a_recording_is_refused() -> None:
    query = rides().window(tumbling(10)).aggregate(n=stats.count())
    with pytest.raises(QueryError, match="record=5 is no place for a recording"):
        query.record(5)


def spread(kms: list[float]) -> float:
    return max(kms) - min(kms)


def test_a_module_of_a_plain_function_is_given_as_in_the_query(tmp_path: Path) -> None:
    spreads = module(spread, "km")
    query = rides().window(tumbling(10)).aggregate(spread=spreads)
    query.record(tmp_path / "recording")
    replayed = Recording(tmp_path / "recording", modules=[spreads]).replay()
    assert in_order(replayed.results) == in_order(query.results().to_pylist())

    with pytest.raises(RecordingError, match=r"give it as in the query: modules=\[module\(f, ...\)\]"):
        Recording(tmp_path / "recording").replay()
    with pytest.raises(QueryError, match=r"its call, such as module\(f, returns=float\) for a plain function f"):
        Recording(tmp_path / "recording", modules=[spread])
