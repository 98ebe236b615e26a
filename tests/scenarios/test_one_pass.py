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
    one_task_without_rows: list[list[Row]] = [[]]
    outputs = Together().process(one_task_without_rows)
    assert [list(query_outputs) for query_outputs in outputs] == [[0, 1, 2, 3], [0, 1], [0]]


def metric(output: BucketOutput, name: str) -> int:
    """Return a metric of a bucket."""
    (value,) = [count for stream, count, _ in output if stream == name]
    return value


def test_a_row_that_a_query_does_not_read_is_unknown_to_it() -> None:
    """The third query reads only rows of other lines than `a`, and has one bucket."""
    row_of_line_a = Row("insert", "a", "n", id=1, start=90, end=95, x=1)
    row_of_line_b = Row("insert", "b", "n", id=2, start=3, end=5, x=1)
    _, by_station, of_other_lines = Together().process([[row_of_line_a, row_of_line_b]])
    assert [metric(output, "accepted") for output in by_station.values()] == [2, 0]
    assert metric(of_other_lines[0], "accepted") == 1
    assert metric(of_other_lines[0], "newest") == 3, "the newest start is not the 90 of line a"


def test_each_query_sends_its_own_rows_when_it_has_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six rows come in three Arrow batches; four rows are enough, and the rest is sent at the end of the task.

    The second query sends no rows but one state in which they are merged, also at the end.
    """
    monkeypatch.setattr(map_task, "MOST_ROWS", 4)
    rows = [Row("insert", "b", "n", number, number, number + 1, x=1) for number in range(6)]
    batches = [shared_rows(rows[:2]), shared_rows(rows[2:4]), shared_rows(rows[4:])]
    query_of_bucket: dict[int, int] = {}
    for place, task in enumerate(TASKS):
        query_of_bucket |= dict.fromkeys(task.buckets, place)

    sending_queries: list[int] = []
    for batch in distribute_to_all(TASKS, OWN_COLUMNS, batches):
        buckets = [row["bucket"] for row in batch.to_pylist() if row["rows"] or row["evaluator_blobs"]]
        if buckets:
            sending_queries.append(query_of_bucket[buckets[0]])
    assert sending_queries == [0, 2, 0, 1, 2]
