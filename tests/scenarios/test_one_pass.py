"""One pass gives what each of its queries gives alone, batch by batch, from the map side to the state."""

from __future__ import annotations

import pytest

from muntin_engine.tasks import map_task
from muntin_engine.tasks.one_pass import distribute_to_all
from tests.scenarios.shared_rows import OWN_COLUMNS, TASKS, BucketOutput, Row, Together, check_one_pass, shared_rows


@pytest.fixture(autouse=True)
def small_states() -> None:
    """Leave the limits of the engine as they are: which bucket tells of a row without a key depends on them."""


@pytest.mark.parametrize("seed", range(6))
def test_one_pass_gives_what_each_query_gives_alone(seed: int) -> None:
    assert check_one_pass(seed) > 5


def test_a_task_without_rows_still_reports_to_every_bucket_of_every_query() -> None:
    outputs = Together().process([[]])
    assert [list(query_outputs) for query_outputs in outputs] == [[0, 1, 2, 3], [0, 1], [0]]


def metric(output: BucketOutput, name: str) -> int:
    """Return a metric of a bucket."""
    (value,) = [count for stream, count, _ in output if stream == name]
    return value


def test_a_row_that_a_query_does_not_read_is_unknown_to_it() -> None:
    rows = [Row("insert", "a", "n", 1, 90, 95, x=1), Row("insert", "b", "n", 2, 3, 5, x=1)]
    _, by_station, of_line_b = Together().process([rows])
    assert [metric(output, "accepted") for output in by_station.values()] == [2, 0]
    assert [metric(output, "accepted") for output in of_line_b.values()] == [1]
    assert metric(of_line_b[0], "newest") == 3, "90 is of line a"


def test_each_query_sends_its_own_rows_when_it_has_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(map_task, "MOST_ROWS", 4)
    rows = [Row("insert", "b", "n", number, number, number + 1, x=1) for number in range(6)]
    batches = [shared_rows(rows[:2]), shared_rows(rows[2:4]), shared_rows(rows[4:])]
    query_of_bucket: dict[int, int] = {}
    for place, task in enumerate(TASKS):
        query_of_bucket |= dict.fromkeys(task.buckets, place)

    senders: list[int] = []
    for batch in distribute_to_all(TASKS, OWN_COLUMNS, batches):
        with_rows = [row["bucket"] for row in batch.to_pylist() if row["rows"] or row["evaluator_blobs"]]
        if with_rows:
            senders.append(query_of_bucket[with_rows[0]])
    assert senders == [0, 2, 0, 1, 2], "partial states come last"
