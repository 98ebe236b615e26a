"""Rows that last, one key that has all of them, and windows that stay open: right answers, and what is measured."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.checking import check, closed, expected_answers
from benchmarks.data import MICROSECONDS, Data, write_data
from benchmarks.question import Question
from benchmarks.streaming import net
from benchmarks.systems.hot_key import HotKeyInProcess
from benchmarks.systems.in_process import OpenWindow
from benchmarks.windows import ANSWERS, Hopping, HotKey, LastingHops, Views
from benchmarks.windows.hot_key import LASTS
from benchmarks.windows.lasting import ends_of
from benchmarks.windows.windows import Rows
from tests.benchmarks.build import answers


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


def test_views_are_counted_by_campaign() -> None:
    rows = Rows(np.array([5, 105, 5, 7]), np.array([1, 2, 3, 4]), np.array([2, 3, 4, 5]), np.array([90.0, 90, 99, 90]))
    assert Views(10).answers("count", rows).equals(answers((5, 0, 2.0), (7, 0, 1.0)))


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
