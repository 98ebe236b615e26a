"""The comparison of answers finds what is planted; the stream, and answers about rows that last."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.checking import Difference, WrongAnswersError, check, closed, compare, expected_answers
from benchmarks.data import MICROSECONDS, SCHEMA, Data, Files, Pace, table_of, write_data
from benchmarks.question import Question
from benchmarks.streaming import net
from benchmarks.systems.hot_key import HotKeyInProcess
from benchmarks.systems.in_process import OpenWindow
from benchmarks.systems.plain_aggregates import PlainAverage, PlainMax
from benchmarks.windows import (
    ANSWERS,
    Band,
    Calendar,
    Hopping,
    HotKey,
    LastingHops,
    LastRows,
    Nexmark,
    Session,
    Together,
    Windows,
)
from benchmarks.windows.hot_key import LASTS
from benchmarks.windows.lasting import ends_of
from benchmarks.windows.windows import Aggregate, Rows
from muntin import Event, Module, calendar, hopping, instant, session
from muntin.changes import Insertion
from muntin.testing import Computation, KeyedChange, Script, WindowedQuery
from muntin.windows import WindowKind
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


@pytest.mark.parametrize(
    ("windows", "kind", "pace"),
    [
        (Hopping(30, 10), hopping("30 seconds", "10 seconds"), Pace()),
        (Session(20), session("20 seconds"), Pace()),
        # three days, on the second of which the clocks of New York are set
        (
            Calendar("America/New_York"),
            calendar("day", zone="America/New_York"),
            Pace(round(datetime(2024, 3, 9, 12, tzinfo=UTC).timestamp()), 86_400),
        ),
    ],
    ids=str,
)
@pytest.mark.parametrize(("aggregate", "module"), [("average", PlainAverage()), ("max", PlainMax())])
def test_answers_are_those_of_the_reference(
    windows: Windows, kind: WindowKind, pace: Pace, aggregate: Aggregate, module: Module, tmp_path: Path
) -> None:
    files = write_data(Data(3, 200, 3, pace=pace), tmp_path)
    rows = pa.concat_tables(pq.read_table(path) for path in files.paths).to_pylist()
    changes = [
        KeyedChange(row["key"], Insertion(number, Event.point(instant(row["at"]), row["value"])))
        for number, row in enumerate(rows)
    ]
    output = Script(tuple(changes)).close().run(WindowedQuery(kind, [Computation(module)]))
    right: Any = [(key, row.start // MICROSECONDS, row.value[0]) for key, found in output.items() for row in found]
    assert compare(answers(*right), expected_answers(Question(aggregate, windows), files)) == []
    assert len(right) > 10


def rows_of(table: pa.Table) -> list[tuple[int, int, float]]:
    """Key, start in microseconds, and value."""
    columns = (table["key"], table["start"].cast(pa.int64()), table["value"])
    return sorted(zip(*(column.to_pylist() for column in columns), strict=True))


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


DATA = Data(keys=20, rows=2_000, files=2)


def ticks(table: pa.Table) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    at: np.ndarray[tuple[int], np.dtype[np.int64]] = table["at"].cast(pa.int64()).to_numpy()
    return at


@pytest.mark.parametrize("other", [{"seed": 1}, {"keys": 21}, {"distribution": "zipf"}, {"pace": Pace(5_000)}])
def test_other_fields_give_other_rows_and_another_folder(other: dict[str, object]) -> None:
    changed = replace(DATA, **other)  # type: ignore[arg-type]  # of any field
    assert not table_of(changed, 0).equals(table_of(DATA, 0))
    assert changed.name != DATA.name


def test_a_file_does_not_depend_on_how_many_there_are() -> None:
    assert table_of(DATA, 0).equals(table_of(replace(DATA, files=1), 0))


@pytest.mark.parametrize("pace", [Pace(), Pace(1_729_000_000, 172_800)])
def test_each_file_covers_its_own_span(pace: Pace) -> None:
    for number in range(2):
        at = ticks(table_of(replace(DATA, pace=pace), number))
        first = (pace.start + number * pace.span) * MICROSECONDS
        assert at.min() == first
        assert at.max() < first + pace.span * MICROSECONDS
        assert len(set(at.tolist())) == len(at)


@pytest.mark.parametrize("pace", [Pace(), Pace(1_729_000_000, 172_800)])
def test_rows_are_out_of_order_by_less_than_the_delay(pace: Pace) -> None:
    at = ticks(table_of(replace(DATA, pace=pace), 0))
    behind = np.maximum.accumulate(at) - at
    assert 0 < behind.max() <= pace.disorder * MICROSECONDS
    assert pace.delay == 5 * pace.disorder


def rows_at(*at: int, values: tuple[float, ...] = (), key: int = 0) -> Rows:
    times = np.array(at, np.int64)
    return Rows(np.full(len(at), key), times, times + 1, np.array(values or range(len(at)), np.float64))


@pytest.mark.parametrize("is_snapshot", [False, True])
def test_a_hot_key_is_right_and_measured(tmp_path: Path, *, is_snapshot: bool) -> None:
    files, system = write_data(Data(20, 1_000, 2), tmp_path), HotKeyInProcess()
    question = Question("average", HotKey(1_500, is_snapshot, single=20))
    assert check(system.name, question, expected_answers(question, files), system.answer(question, files)) > 100
    run = system.measure(question, files, limit=60)
    assert [batch.rows for batch in run.batches] == [1_480] + [1] * 20
    assert Question.from_data(question.as_data()) == question


def test_snapshots_of_a_hot_key_are_cut_where_rows_start_and_end() -> None:
    rows = rows_at(0, 1_000, 9_000, values=(2.0, 4.0, 8.0))
    found = HotKey(3, is_snapshot=True).answers("average", rows)
    starts = [0, 1_000, LASTS, 9_000]
    right = pa.table([[0] * 4, pa.array(starts, ANSWERS.field("start").type), [2.0, 3.0, 4.0, 8.0]], schema=ANSWERS)
    assert found.equals(right)


def test_hopping_windows_have_the_rows_that_overlap_them() -> None:
    rows = rows_at(999_000, 5_000_000)
    windows = LastingHops(1, 1, longest=1)
    first = int(ends_of(rows.at, 1)[0])
    assert 1_000_000 < first < 2_000_000
    right = Hopping(1, 1).answers("average", Rows(rows.key, rows.at, ends_of(rows.at, 1), rows.value))
    assert windows.answers("average", rows).equals(right)
    assert right["start"].cast(pa.int64()).to_pylist()[:2] == [0, MICROSECONDS]
    assert windows.are_complete(right, rows, MICROSECONDS).tolist()[:2] == [True, False]


def test_what_was_retracted_is_no_answer() -> None:
    inserted = answers((1, 0, 2.0), (1, 0, 3.0), (2, 0, 4.0), (1, 0, 2.0))
    changes = inserted.append_column("change", pa.array(["insert", "insert", "insert", "retract"]))
    assert net(changes).sort_by("key").equals(answers((1, 0, 3.0), (2, 0, 4.0)))


def test_an_open_window_says_what_it_wrote_over_what_came(tmp_path: Path) -> None:
    files, question, system = (
        write_data(Data(20, 1_000, 3), tmp_path),
        Question("average", Hopping(2_000, 2_000)),
        OpenWindow(),
    )
    expected = closed(expected_answers(question, files, have_lifetimes=True), question, files)
    assert check(system.name, question, expected, closed(system.answer(question, files), question, files)) == 20
    run = system.measure(question, files, limit=60)
    assert run.row_bytes == 32
    assert run.written_share == sum(batch.written_bytes or 0 for batch in run.batches) / (3_000 * 32) > 0.1
