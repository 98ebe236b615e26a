"""The comparison of answers: it finds what is planted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.checking import Difference, WrongAnswersError, check, closed, compare, expected_answers
from benchmarks.data import MICROSECONDS, SCHEMA, Data, Files, Pace, write_data
from benchmarks.question import Question
from benchmarks.windows import Band, Calendar, Hopping, LastRows, Nexmark, Session, Together
from tests.benchmarks.build import QUESTION, answers

RIGHT = answers((1, 0, 2.0), (1, 60, 3.0), (2, 0, 4.0))


@pytest.mark.parametrize(
    ("found", "differences"),
    [
        ([(2, 0, 4.0), (1, 60, 3.0), (1, 0, 2.0 + 1e-12)], []),  # in another order, and rounded
        ([(1, 0, 2.0 + 1e-8), (1, 60, 3.0), (2, 0, 4.0)], [Difference(1, 0, 2.0, 2.0 + 1e-8)]),
        ([(1, 0, 2.0), (2, 0, 4.0)], [Difference(1, 60_000_000, 3.0, None)]),
        ([(1, 0, 2.0), (1, 60, 3.0), (2, 0, 4.0), (2, 60, 5.0)], [Difference(2, 60_000_000, None, 5.0)]),
        ([(1, 0, 2.0), (1, 60, 3.0), (2, 0, 4.0), (2, 0, 4.0)], [Difference(2, 0, None, 4.0)]),
        ([(1, 0, 2.0), (1, 60, 3.0), (3, 0, 4.0)], [Difference(2, 0, 4.0, None), Difference(3, 0, None, 4.0)]),
    ],
)
def test_rows_that_are_wrong_missing_too_many_or_there_twice_are_found(
    found: list[tuple[int, int, float]], differences: list[Difference]
) -> None:
    assert compare(RIGHT, answers(*found)) == differences


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
    assert compare(expected, expected_answers(Question("average", Hopping(30, 10)), files)) == []
    largest = answers((1, -20, 1.0), (1, -10, 3.0), (1, 0, 3.0), (1, 10, 3.0))
    assert compare(largest, expected_answers(Question("max", Hopping(30, 10)), files)) == []


def test_sessions_are_those_of_a_walk_over_the_rows(tmp_path: Path) -> None:
    files = write_data(Data(5, 300, 1), tmp_path)
    table = pq.read_table(files.paths[0])
    last: dict[int, tuple[int, int]] = {}
    members: dict[tuple[int, int], list[float]] = {}
    for row in table.sort_by("at").to_pylist():
        at = round(row["at"].timestamp() * MICROSECONDS)
        start, newest = last.get(row["key"], (at, at))
        start = start if at - newest <= 20 * MICROSECONDS else at
        last[row["key"]] = start, at
        members.setdefault((row["key"], start), []).append(row["value"])
    for aggregate, reduce in (("average", lambda some: sum(some) / len(some)), ("max", max)):
        found = expected_answers(Question(aggregate, Session(20)), files)  # type: ignore[arg-type]  # one of the two
        assert [row[:2] for row in rows_of(found)] == sorted(members)
        assert [value for *_, value in rows_of(found)] == pytest.approx(
            [reduce(members[place]) for place in sorted(members)]
        )
    assert len(members) > 50


def rows_of(table: pa.Table) -> list[tuple[int, int, float]]:
    """Key, start in microseconds, and value."""
    columns = (table["key"], table["start"].cast(pa.int64()), table["value"])
    return sorted(zip(*(column.to_pylist() for column in columns), strict=True))


def test_days_end_where_the_clock_says_so(tmp_path: Path) -> None:
    pace = Pace(start=round(datetime(2024, 3, 29, 12, tzinfo=UTC).timestamp()), span=86_400)
    files = write_data(Data(3, 500, 3, pace=pace), tmp_path)
    table = pa.concat_tables(pq.read_table(path) for path in files.paths)
    zone = ZoneInfo("America/New_York")
    members: dict[tuple[int, int], list[float]] = {}
    for row in table.to_pylist():
        midnight = row["at"].astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
        members.setdefault((row["key"], round(midnight.timestamp()) * MICROSECONDS), []).append(row["value"])
    found = expected_answers(Question("max", Calendar("America/New_York")), files)
    assert rows_of(found) == [(*place, max(members[place])) for place in sorted(members)]
    assert len(members) == 12


def test_the_last_rows_are_those_in_the_order_of_time(tmp_path: Path) -> None:
    files = write_data(Data(5, 300, 2), tmp_path)
    rows = pa.concat_tables(pq.read_table(path) for path in files.paths).sort_by("at").to_pylist()
    right = []
    for key in range(5):
        mine = [row for row in rows if row["key"] == key]
        for count in range(4, len(mine) + 1, 4):
            newest = round(mine[count - 1]["at"].timestamp() * MICROSECONDS)
            right.append((key, newest, max(row["value"] for row in mine[:count][-10:])))
    question = Question("max", LastRows(10, 4))
    found = expected_answers(question, files)
    assert rows_of(found) == right
    last = max(row["at"] for row in rows) - timedelta(seconds=10)
    whole = closed(found, question, files)
    assert 0 < len(whole) < len(found)
    assert max(whole["start"].to_pylist()) < last


def test_pairs_are_those_of_all_comparisons(tmp_path: Path) -> None:
    files = write_data(Data(3, 200, 2), tmp_path)
    table = pa.concat_tables(pq.read_table(path) for path in files.paths)
    rows = list(zip(*(table[name].to_pylist() for name in ("key", "at", "value")), strict=True))
    expected = sorted(
        (key, at, value)
        for key, at, price in rows
        for other, then, value in rows
        if price < 100 <= value and key == other and abs(then - at) <= timedelta(seconds=40)
    )
    found = expected_answers(Question("pairs", Band(40)), files)
    columns = (found[name].to_pylist() for name in ("key", "start", "value"))
    assert sorted(zip(*columns, strict=True)) == expected
    assert len(expected) > 100


BIDS = (
    (0, 2, 80.0),
    (1, 3, 90.0),
    (1, 4, 75.0),
    (1, 4, 60.0),
    (0, 6, 85.0),
    (0, 14, 69.0),
    (0, 15, 77.0),
    (2, 19, 90.0),
)
"""Auction, time and price: of two seconds apart, as Nexmark has them."""


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (0, [(key, at, price) for key, at, price in BIDS]),
        (1, [(key, at, price * 0.89) for key, at, price in BIDS]),
        (2, [(key, at, price) for key, at, price in BIDS if key == 0]),
        (5, [(1, -5, 3.0), (1, 0, 3.0), (0, 5, 2.0), (0, 10, 2.0), (0, 15, 1.0), (2, 15, 1.0)]),
        (7, [(1, 0, 90.0), (2, 10, 90.0)]),
        (8, [(1, 0, 75.0), (0, 10, 77.0)]),
    ],
)
def test_answers_of_nexmark(query: int, expected: list[tuple[int, int, float]], tmp_path: Path) -> None:
    found = expected_answers(Question("bids", Nexmark(query)), files_of(tmp_path, *BIDS))
    assert compare(answers(*expected), found) == []


def test_answers_about_several_windows_tell_whose_they_are(tmp_path: Path) -> None:
    files = files_of(tmp_path, (1, 5, 1.0), (1, 15, 3.0), (1, 700, 5.0))
    found = expected_answers(Question("average", Together()), files)
    of_minutes = [(3, 0, 2.0), (3, 660, 5.0)]
    of_hops = [(4, start, 2.0) for start in range(-540, 60, 60)] + [(4, start, 5.0) for start in range(120, 720, 60)]
    assert compare(answers(*of_minutes, *of_hops, (5, 5, 2.0), (5, 700, 5.0)), found) == []
    complete = closed(found, Question("average", Together()), files)
    assert compare(answers((3, 0, 2.0), *of_hops[:10], (5, 5, 2.0)), complete) == []
