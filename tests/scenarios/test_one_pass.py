"""One pass gives what each of its queries gives alone, batch by batch, from the map side to the state."""

from __future__ import annotations

import pytest

from muntin_engine.tasks import map_task
from muntin_engine.tasks.one_pass import distribute_to_all
from tests.scenarios.shared_rows import OWNED, TASKS, Row, Together, check_one_pass, shared_rows


@pytest.fixture(autouse=True)
def small_states() -> None:
    """Leave the limits of the engine as they are: which bucket tells of a row without a key depends on them."""


@pytest.mark.parametrize("seed", range(6))
def test_one_pass_gives_what_each_query_gives_alone(seed: int) -> None:
    assert check_one_pass(seed) > 5


def test_a_task_without_rows_still_tells_every_bucket_of_every_query() -> None:
    assert [list(of_query) for of_query in Together().take([[]])] == [[0, 1, 2, 3], [0, 1], [0]]


def test_rows_that_a_query_does_not_take_say_nothing_to_it() -> None:
    late = [Row("insert", "a", "n", 1, 90, 95, x=1), Row("insert", "b", "n", 2, 3, 5, x=1)]
    _, stations, lines = Together().take([late])
    accepted = [
        [rows for blobs in of.values() for name, rows, _ in blobs if name == "accepted"] for of in (stations, lines)
    ]
    assert accepted == [[2, 0], [1]]
    assert [rows for name, rows, _ in lines[0] if name == "newest"] == [3]  # and not 90, which is of line a


def test_each_query_sends_its_own_rows_when_it_has_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(map_task, "MOST_ROWS", 4)
    rows = [Row("insert", "b", "n", number, number, number + 1, x=1) for number in range(6)]
    sent = [
        out.to_pylist()
        for out in distribute_to_all(
            TASKS, OWNED, [shared_rows(rows[:2]), shared_rows(rows[2:4]), shared_rows(rows[4:])]
        )
    ]
    first_with_rows = [[row["bucket"] for row in out if row["rows"] or row["evaluator_blobs"]] for out in sent]
    whose = {bucket: place for place, task in enumerate(TASKS) for bucket in task.buckets}
    assert [whose[buckets[0]] for buckets in first_with_rows if buckets] == [0, 2, 0, 1, 2]  # partial states come last
