"""What is wrong with a row, as far as it shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest

from muntin import INFINITY
from muntin.schemas import describe
from muntin_engine.core.skipping import forbids
from muntin_engine.exchange.distribute import read_rows
from muntin_engine.exchange.problems import PROBLEMS
from muntin_engine.exchange.task_payload import TaskPayload
from muntin_engine.exchange.value_flags import forbidden_nulls
from muntin_engine.plan import LATEST
from tests.spark_units.tasks import rows, task_of

CHANGING = task_of(has_changes=True)


@dataclass
class Reading:
    value: float
    note: str | None
    marks: list[int]


def reasons(task: TaskPayload, **columns: Any) -> list[str | None]:
    codes = read_rows(task.input, rows(**columns))[0].column("problem").to_pylist()
    return [None if code is None else PROBLEMS[code].reason for code in codes]


def test_good_rows_have_none() -> None:
    assert reasons(task_of(), start=[0, -5, 3], end=[1, 0, None]) == [None, None, None]


@pytest.mark.parametrize(
    ("reason", "row"),
    [
        ("unknown change", {"change": "upsert"}),
        ("unknown change", {"change": "INSERT"}),
        ("unknown change", {"change": None}),
        ("null time", {"start": None}),
        ("null time", {"change": "punctuate", "start": None}),
        ("null time", {"change": "revise", "new_end": None}),
        ("null signal", {"change": "signal", "start": None}),
        ("null id", {"id": None}),
        ("null id", {"change": "revise", "id": None, "new_end": 6}),
        ("null id", {"change": "retract", "id": None}),
        ("empty lifetime", {"end": 3}),
        ("empty lifetime", {"end": 2}),
        ("time out of range", {"start": LATEST, "end": None}),
        ("time out of range", {"start": -LATEST}),
        ("time out of range", {"end": INFINITY - 1}),
        ("time out of range", {"change": "revise", "new_end": LATEST}),
    ],
)
def test_each_problem_has_its_reason(reason: str, row: dict[str, Any]) -> None:
    good = {"change": "insert", "id": 1, "start": 3, "end": 5, "new_end": None, "i0": 7}
    assert reasons(CHANGING, **{name: [value] for name, value in (good | row).items()}) == [reason]


def test_what_a_row_does_not_need_may_be_null() -> None:
    columns = {"id": [1, 1, None, None], "start": [3, 3, 3, None], "new_end": [4, None, None, None]}
    found = reasons(
        CHANGING, change=["revise", "retract", "punctuate", "close"], end=[None] * 4, i0=[None] * 4, **columns
    )
    assert found == [None, None]


def test_without_a_column_of_ids_nothing_can_be_revised() -> None:
    assert reasons(CHANGING, change=["insert", "retract"], start=[3, 3], end=[5, 5]) == [None, "null id"]


def test_an_end_given_as_infinity_is_an_open_end() -> None:
    assert reasons(CHANGING, change=["insert"], id=[1], start=[3], end=[INFINITY]) == [None]


def test_a_row_that_a_module_does_not_accept_is_no_bad_row_and_is_counted_for_that_module() -> None:
    given = {"change": ["insert", "insert", "revise", "upsert"], "id": [1, 2, 1, 4], "new_end": [None, None, 6, None]}
    read = read_rows(CHANGING.input, rows(start=[3] * 4, end=[5] * 4, i0=[None, 7, None, None], **given))
    assert read.rows.column("problem").to_pylist() == [None, None, None, 0]
    assert (CHANGING.plan.choosy_labels, read.skipped) == (["m"], [1])


@pytest.mark.parametrize(
    ("wanted", "values", "expected"),
    [
        (int, pa.array([1, None]), [False, True]),
        (int | None, pa.array([1, None]), [False, False]),
        (list[int], pa.array([[1], [None, 2], None, []]), [False, True, True, False]),
        (list[int | None] | None, pa.array([[1], [None], None]), [False, False, False]),
        (list[list[int]], pa.array([[[1], [2]], [[None]], [[1], None]]), [False, True, True]),
        (
            dict[str, int],
            pa.array([[("a", 1)], [("a", 1), ("b", None)]], pa.map_(pa.string(), pa.int64())),
            [False, True],
        ),
        (dict[str, int | None], pa.array([[("b", None)]], pa.map_(pa.string(), pa.int64())), [False]),
        (tuple[int, str | None], pa.array([{"x": 1, "y": None}, {"x": None, "y": "b"}]), [False, True]),
    ],
)
def test_a_null_is_found_at_any_depth(wanted: Any, values: pa.Array, expected: list[bool]) -> None:
    assert forbidden_nulls(values, describe(wanted)).tolist() == expected
    assert [forbids(value, describe(wanted)) for value in values.to_pylist()] == expected


def test_a_null_in_a_struct_counts_by_the_field_and_not_below_a_missing_struct() -> None:
    good = {"marks": [1], "note": None, "value": 1.0}
    values = pa.array([good, good | {"value": None}, good | {"marks": [None]}, None, good])
    assert forbidden_nulls(values, describe(Reading)).tolist() == [False, True, True, True, False]
    assert forbidden_nulls(values, describe(Reading | None)).tolist() == [False, True, True, False, False]
    assert forbidden_nulls(values.slice(1), describe(Reading)).tolist() == [True, True, True, False]
