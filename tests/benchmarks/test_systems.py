"""The parts of the systems that need no Spark, files in parts, runs on cores, and limits."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.bars import AtMost, Measure, Rate
from benchmarks.checking import check, closed, expected_answers
from benchmarks.data import Data, split, write_data
from benchmarks.measurement import Batch, Memory, Run, summarize
from benchmarks.question import Question
from benchmarks.systems import all_systems
from benchmarks.systems.by_hand import Assignment, OpenWindows, add_all, take_done
from benchmarks.systems.in_process import GeneralIncremental, GeneralWhole, InProcess
from benchmarks.systems.last_rows_by_hand import KeyRows
from benchmarks.systems.muntin_columnar import MuntinColumnar
from benchmarks.systems.on_cores import OnCores
from benchmarks.systems.pieces import pieces
from benchmarks.systems.plain_aggregates import PlainAverage, PlainMax, WholeAverage
from benchmarks.systems.program import ProgramError, running
from benchmarks.systems.script import Script, ScriptSystem
from benchmarks.systems.snapshots_in_process import HopsInProcess, SnapshotsInProcess
from benchmarks.systems.system import System
from benchmarks.windows import (
    Band,
    Calendar,
    Hopping,
    LastingHops,
    LastRows,
    Nexmark,
    Snapshot,
    Tilt,
    Together,
    Windows,
)
from muntin import Module
from muntin.testing import Outcome, try_laws
from tests.benchmarks.build import QUESTION

HOPPING = Assignment("average", 30, 10)


@pytest.mark.parametrize("module", [PlainAverage(), PlainMax(), WholeAverage()], ids=lambda module: module.name)
def test_a_module_that_is_measured_keeps_all_laws(module: Module) -> None:
    assert {verdict.outcome for verdict in try_laws(module)} <= {Outcome.KEPT, Outcome.SKIPPED}


def test_a_row_is_added_to_all_windows_that_are_open() -> None:
    windows: OpenWindows = {}
    add_all(HOPPING, windows, [(20, (1, 5.0)), (20, (1, 7.0))], done=0)
    assert windows == {20: (2, 12.0), 10: (2, 12.0), 0: (2, 12.0)}
    add_all(HOPPING, windows, [(20, (1, 6.0))], done=40_000)
    assert windows == {20: (3, 18.0), 10: (2, 12.0), 0: (2, 12.0)}
    assert take_done(HOPPING, windows, done=40_000) == [(10, 6.0), (0, 6.0)]
    assert windows == {20: (3, 18.0)}


@pytest.mark.parametrize("aggregate", ["average", "max"])
def test_pieces_of_a_frame_make_the_windows_that_its_rows_make(aggregate: str) -> None:
    assignment = Assignment(aggregate, 30, 10)  # type: ignore[arg-type]  # one of the two
    random = np.random.default_rng(1)
    frame = pd.DataFrame({"last": random.integers(0, 5, 40) * 10, "value": random.integers(0, 100, 40) / 4})
    by_row: OpenWindows = {}
    by_piece: OpenWindows = {}
    rows = [(last, (1, value)) for last, value in zip(frame["last"].tolist(), frame["value"].tolist(), strict=True)]
    add_all(assignment, by_row, rows, 0)
    add_all(assignment, by_piece, pieces(assignment.aggregate, frame), 0)
    assert by_piece == by_row != {}


@pytest.mark.parametrize("system", [GeneralWhole(), GeneralIncremental()])
def test_the_general_evaluator_in_process_is_right_and_measured(system: InProcess, tmp_path: Path) -> None:
    files = write_data(Data(20, 3_000, 2), tmp_path)
    question = Question("average", Hopping(60, 60))
    expected = closed(expected_answers(question, files, have_lifetimes=True), question, files)
    assert check(system.name, question, expected, closed(system.answer(question, files), question, files)) > 500
    run = system.measure(question, files, limit=60)
    assert (run.rows, run.is_cut) == (6_000, False)
    assert (run.output_rows or 0) > 500
    assert run.memory.python > 0


def test_rows_wait_for_the_watermark_and_pass_in_the_order_of_their_times() -> None:
    windows, key = LastRows(3, 2), KeyRows()
    key.take([(3_000, 3.0), (1_000, 1.0), (2_000, 2.0), (4_000, 4.0)], done=0)
    assert key.due == 2
    assert list(key.release(windows, "average", done=3)) == [(2_000, 1.5)]
    key = KeyRows.read(key.written())
    key.take([(2_500, 9.0), (5_000, 6.0)], done=3)  # the first one is late
    assert list(key.release(windows, "average", done=6)) == [(4_000, 3.0)]
    assert (key.released, key.due) == (5, None)
    assert list(KeyRows.read(None).release(windows, "max", done=6)) == []


def test_a_system_says_which_windows_it_has() -> None:
    systems = all_systems({})
    questions: dict[Question, set[str]] = {
        Question("average", Together()): {"muntin one pass", "muntin one by one"},
        Question("readings", Tilt("beats")): {"muntin", "muntin in process", "pandas"},
        Question("average", Snapshot(30)): {
            "muntin columnar",
            "muntin grouped",
            "muntin general",
            "columnar snapshots",
        },
        Question("pairs", Band(20)): {"muntin", "spark sql"},
        **{Question("bids", Nexmark(query)): {"muntin", "spark sql"} for query in (0, 5, 8)},
    }
    for question, able in questions.items():
        assert {name for name in systems if not systems[name].why_not(question.windows)} == able
        assert Question.from_data(question.as_data()) == question
    assert systems["bytewax"].why_not(Calendar("Europe/Berlin")) == "has no day in Europe/Berlin"


@pytest.mark.parametrize(
    ("windows", "system"),
    [
        (Snapshot(30), SnapshotsInProcess()),
        (Snapshot(30, is_revised=True), SnapshotsInProcess()),
        (LastingHops(60, 20, 30, is_revised=True), HopsInProcess()),
    ],
    ids=["snapshots", "revised snapshots", "revised hops"],
)
def test_events_in_process_are_right_and_measured(windows: Windows, system: System, tmp_path: Path) -> None:
    files, question = write_data(Data(20, 3_000, 2), tmp_path), Question("average", windows)
    assert system.why_not(windows) is None
    expected = closed(expected_answers(question, files), question, files)
    assert check(system.name, question, expected, closed(system.answer(question, files), question, files)) > 1_000
    assert system.measure(question, files, limit=60).rows == 6_000


def test_a_system_without_an_environment_is_not_installed() -> None:
    systems = all_systems({"bytewax": str(Path(sys.executable).with_name("no-such-python"))})
    assert systems["beam"].missing == "not installed"
    assert systems["bytewax"].missing == "not installed in the environment that was named"
    assert systems["spark window"].missing is None
    assert ScriptSystem(Script("json", "json", 1, ""), sys.executable).missing is None


def test_a_program_that_prints_no_result_has_failed() -> None:
    with running(sys.executable, "this", []) as program:
        program.process.wait(60)
        with pytest.raises(ProgramError, match="Zen of Python"):
            program.result()


def test_parts_of_files_have_their_rows_in_order(tmp_path: Path) -> None:
    files = write_data(Data(10, 1_001, 2), tmp_path / "whole")
    parts = split(files, 4, tmp_path)
    assert (len(parts.paths), parts.rows) == (8, 250)
    whole, put_together = (pa.concat_tables(map(pq.read_table, some.paths)) for some in (files, parts))
    assert whole.equals(put_together)
    changed = [path.stat().st_mtime for path in parts.paths]
    assert changed == sorted(set(changed))


def test_a_system_on_cores_that_are_not_there_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0}, raising=False)
    monkeypatch.setattr(os, "sched_setaffinity", lambda *_: None, raising=False)
    assert OnCores(MuntinColumnar(), 1).missing is None
    assert OnCores(MuntinColumnar(), 2).missing == "there is only 1 core"
    monkeypatch.delattr(os, "sched_setaffinity")
    assert OnCores(MuntinColumnar(), 1).missing == "processes cannot be bound to cores here"


def test_a_limit_is_kept_by_the_largest_figure_and_a_warm_rate_leaves_the_first_batch_out() -> None:
    summary = summarize([Run(9.0, (Batch(10, 5.0, 0, 0, 30), Batch(10, 4.0, 0, 0, 90)), Memory(1, 9, 7), row_bytes=3)])
    figures = {("a", QUESTION): summary, ("a", Question("max", Hopping(60, 60))): summary}
    assert summary.written_share == 2
    for measure, value in ((Measure.WORKER, 7), (Measure.FIRST_BATCH, 5.0), (Measure.WRITTEN_SHARE, 2.0)):
        verdict = AtMost("a", measure, value).judge(figures)
        assert (verdict.measured, verdict.is_met) == (value, True)
        assert AtMost("a", measure, value - 0.1).judge(figures).is_met is False
    assert AtMost("b", Measure.WORKER, 7).judge(figures).measured is None
    assert Rate("a", 2.5, is_warm=True).judge(figures).measured == 2.5
    assert str(Rate("a", 2_500, is_warm=True)) == "a >= 2,500 rows/s in a warm batch"
