"""The comparison of answers: it finds what is planted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.checking import Difference, WrongAnswersError, check, closed, compare, expected_answers
from benchmarks.data import MICROSECONDS, SCHEMA, Data, Files, lifetimes_of, write_data
from benchmarks.question import Question
from tests.benchmarks.build import QUESTION, answers

RIGHT = answers((1, 0, 2.0), (1, 60, 3.0), (2, 0, 4.0))


def test_the_order_of_rows_makes_no_difference() -> None:
    assert compare(RIGHT, answers((2, 0, 4.0), (1, 60, 3.0), (1, 0, 2.0))) == []
    assert check("a system", QUESTION, RIGHT, RIGHT) == 3


def test_a_rounding_error_makes_no_difference_but_a_wrong_value_does() -> None:
    assert compare(RIGHT, answers((1, 0, 2.0 + 1e-12), (1, 60, 3.0), (2, 0, 4.0))) == []
    wrong = answers((1, 0, 2.0 + 1e-8), (1, 60, 3.0), (2, 0, 4.0))
    assert compare(RIGHT, wrong) == [Difference(1, 0, 2.0, 2.0 + 1e-8)]


def test_a_missing_row_is_found() -> None:
    assert compare(RIGHT, answers((1, 0, 2.0), (2, 0, 4.0))) == [Difference(1, 60_000_000, 3.0, None)]


def test_a_surplus_row_is_found() -> None:
    found = answers((1, 0, 2.0), (1, 60, 3.0), (2, 0, 4.0), (2, 60, 5.0))
    assert compare(RIGHT, found) == [Difference(2, 60_000_000, None, 5.0)]


def test_a_row_that_comes_twice_is_found() -> None:
    found = answers((1, 0, 2.0), (1, 60, 3.0), (2, 0, 4.0), (2, 0, 4.0))
    assert compare(RIGHT, found) == [Difference(2, 0, None, 4.0)]


def test_a_row_of_another_key_is_found_on_both_sides() -> None:
    found = answers((1, 0, 2.0), (1, 60, 3.0), (3, 0, 4.0))
    assert compare(RIGHT, found) == [Difference(2, 0, 4.0, None), Difference(3, 0, None, 4.0)]


def test_the_error_says_who_what_and_where() -> None:
    with pytest.raises(WrongAnswersError, match=r"a system gave 1 wrong rows for average, tumbling 60 s\n  key 1, "):
        check("a system", QUESTION, RIGHT, answers((1, 0, 2.0), (2, 0, 4.0)))


def files_of(folder: Path, *rows: tuple[int, float, float]) -> Files:
    """Files with rows of key, time in seconds, and value."""
    columns: list[Any] = [list(column) for column in zip(*rows, strict=True)]
    columns[1] = pa.array([round(at * MICROSECONDS) for at in columns[1]], SCHEMA.field("at").type)
    pq.write_table(pa.table(columns, schema=SCHEMA), folder / "rows.parquet")
    return Files(folder, (folder / "rows.parquet",), len(rows))


def test_windows_that_the_watermark_has_not_passed_are_left_out(tmp_path: Path) -> None:
    """
    0         60        120       180
    |---------|---------|---------|      the newest row at 130: complete until 120
    """
    files = files_of(tmp_path, (1, 5, 1.0), (1, 130, 1.0))
    all_of_them = answers((1, 0, 1.0), (1, 60, 1.0), (1, 120, 1.0))
    assert closed(all_of_them, QUESTION, files).equals(all_of_them.slice(0, 2))


def test_a_row_is_in_every_window_that_covers_it(tmp_path: Path) -> None:
    """
    -20  -10   0    10   20   30
              a    b
     |---------|---------|              windows of 30 s start every 10 s
    """
    files = files_of(tmp_path, (1, 0, 1.0), (1, 10, 3.0))
    expected = answers((1, -20, 1.0), (1, -10, 2.0), (1, 0, 2.0), (1, 10, 3.0))
    assert compare(expected, expected_answers(Question("average", 30, 10), files)) == []
    largest = answers((1, -20, 1.0), (1, -10, 3.0), (1, 0, 3.0), (1, 10, 3.0))
    assert compare(largest, expected_answers(Question("max", 30, 10), files)) == []


def test_a_row_in_a_gap_between_windows_is_in_none(tmp_path: Path) -> None:
    files = files_of(tmp_path, (1, 5, 1.0), (1, 15, 3.0), (1, 20, 5.0))
    assert compare(answers((1, 0, 1.0), (1, 20, 5.0)), expected_answers(Question("average", 10, 20), files)) == []


def brute_force(question: Question, files: Files) -> dict[tuple[int, int], list[float]]:
    members: dict[tuple[int, int], list[float]] = {}
    size, hop = question.size * MICROSECONDS, question.hop * MICROSECONDS
    table = pa.concat_tables(pq.read_table(path) for path in files.paths)
    at = table["at"].cast(pa.int64()).to_numpy()
    ends = at + lifetimes_of(at)
    rows = zip(table["key"].to_pylist(), at.tolist(), ends.tolist(), table["value"].to_pylist(), strict=True)
    for key, start, end, value in rows:
        first = (start - size) // hop * hop
        for window in range(first, end + hop, hop):
            if start < window + size and window < end:
                members.setdefault((key, window), []).append(value)
    return members


@pytest.mark.parametrize("question", [Question("average", 60, 60), Question("average", 25, 10), Question("max", 9, 21)])
def test_events_with_lifetimes_are_in_every_window_they_overlap(question: Question, tmp_path: Path) -> None:
    files = write_data(Data(5, 300, 1), tmp_path)
    members = brute_force(question, files)
    reduce = max if question.aggregate == "max" else lambda values: sum(values) / len(values)
    rows = [(key, start // MICROSECONDS, reduce(values)) for (key, start), values in members.items()]
    assert len(rows) > 50
    assert compare(answers(*rows), expected_answers(question, files, have_lifetimes=True)) == []


def test_sessions_are_those_of_rows_within_a_gap_and_the_open_ones_are_left_out(tmp_path: Path) -> None:
    # 0    20   40   60   80   100  120
    # a    a         a                    key 1: 0 and 20 are together, and 60 is apart: it ends at 80
    #           b                    b    key 2: 100 is the newest time, and its session is open
    files = files_of(tmp_path, (1, 20, 4.0), (1, 0, 2.0), (2, 40, 7.0), (1, 60, 9.0), (2, 100, 1.0))
    question = Question("average", 20, 0)
    everything = expected_answers(question, files)
    assert (
        everything.sort_by([("key", "ascending"), ("start", "ascending")]).to_pylist()
        == answers((1, 0, 3.0), (1, 60, 9.0), (2, 40, 7.0), (2, 100, 1.0)).to_pylist()
    )
    complete = answers((1, 0, 3.0), (1, 60, 9.0), (2, 40, 7.0))
    assert compare(closed(everything, question, files), complete) == []
    assert question.window == "session 20 s"
