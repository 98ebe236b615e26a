"""Medians, and what counts as warm."""

from __future__ import annotations

from benchmarks.measurement import Batch, Run, summarize
from benchmarks.question import Question
from benchmarks.slices import slices_kept
from benchmarks.streaming import _batch
from benchmarks.windows import Hopping
from tests.benchmarks.build import run_of


def test_the_first_batch_and_the_one_without_rows_are_not_warm() -> None:
    run = Run(20.0, (Batch(10, 9.0), Batch(10, 2.0), Batch(10, 4.0), Batch(0, 5.0)))
    assert [batch.seconds for batch in run.warm] == [2.0, 4.0]
    summary = summarize([run])
    assert (summary.first_batch, summary.warm_batch) == (9.0, 3.0)


def test_a_summary_holds_medians_over_runs() -> None:
    summary = summarize([run_of(2, 1, 1), run_of(4, 2, 2), run_of(90, 50, 50)])
    assert (summary.runs, summary.rows, summary.seconds) == (3, 3000, 8)
    assert summary.rows_per_second == 3000 / 8
    assert (summary.first_batch, summary.warm_batch) == (4, 2)
    assert (summary.output_rows, summary.state_bytes, summary.written_bytes) == (30, 100, 50)
    assert (summary.jvm_bytes, summary.python_bytes) == (2_000_000, 1_000_000)


def test_a_run_that_was_stopped_marks_its_summary() -> None:
    summary = summarize([run_of(1, 1), Run(300.0, (), is_cut=True)])
    assert summary.is_cut
    assert summary.rows_per_second == 500


def test_a_progress_report_becomes_a_batch() -> None:
    operator = {
        "memoryUsedBytes": 70,
        "customMetrics": {"rocksdbSstFileSize": 30, "rocksdbTotalBytesWritten": 40},
    }
    progress = {
        "numInputRows": 5,
        "durationMs": {"triggerExecution": 1500},
        "sink": {"numOutputRows": 3},
        "stateOperators": [operator],
    }
    assert _batch(progress, 1) == Batch(5, 1.5, 3, 100, 40)
    assert _batch(progress | {"numInputRows": 10}, 2).rows == 5, "each row was read twice"
    assert _batch(progress | {"sink": {"numOutputRows": -1}}, 1).output_rows is None


def test_slices_whose_windows_are_complete_are_not_kept() -> None:
    """A file covers 1000 s and its newest row lies at its end, so it is complete until 10 s and a bit before."""
    assert slices_kept(Question("average", Hopping(10, 10))) == 2
    assert slices_kept(Question("average", Hopping(60, 10))) == 7
    assert slices_kept(Question("average", Hopping(600, 10))) == 61
    assert slices_kept(Question("average", Hopping(6000, 10))) == 100
    assert slices_kept(Question("average", Hopping(6000, 1))) == 1000
