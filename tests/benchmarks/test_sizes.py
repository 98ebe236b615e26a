"""Keys that are there once, files in parts, runs of other processes, and limits."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from benchmarks.bars import AtMost, Measure, Rate
from benchmarks.checking import check, closed, expected_answers
from benchmarks.data import Data, split, write_data
from benchmarks.measurement import Batch, Memory, Run, summarize
from benchmarks.question import Question
from benchmarks.systems.muntin_columnar import MuntinColumnar
from benchmarks.systems.muntin_streams import MuntinStreams
from benchmarks.systems.on_cores import OnCores
from benchmarks.systems.static import MuntinStatic
from benchmarks.windows import Hopping, Views
from tests.benchmarks.build import QUESTION


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


def test_systems_on_spark_give_the_right_answers(spark: SparkSession, tmp_path: Path) -> None:
    files = write_data(Data(20, 2_000, 1), tmp_path)
    stream = spark.read.parquet(str(files.paths[0]))
    views = Question("count", Views(10))
    expected = closed(expected_answers(views, files), views, files)
    found = MuntinStreams().results(stream, views).toArrow()
    assert check("muntin", views, expected, closed(found, views, files)) > 500
    found = MuntinStatic().results(stream, QUESTION).toArrow()
    assert check("muntin static", QUESTION, expected_answers(QUESTION, files), found) > 300
