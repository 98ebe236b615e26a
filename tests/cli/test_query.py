"""`muntin query`: a question in SQL, asked of a folder of files."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.running import Run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HOURS = """SELECT station, window_start, AVG(km) AS km, COUNT(*) AS n
FROM TUMBLE(TABLE rides WATERMARK DELAY OF INTERVAL '10' MINUTES, DESCRIPTOR(leaves), INTERVAL '1' HOUR)
GROUP BY station, window_start, window_end"""
ROWS = [
    ("north", "2024-05-01T08:05:00Z", 3.0),
    ("north", "2024-05-01T08:40:00Z", 7.5),
    ("south", "2024-05-01T09:10:00Z", 2.0),
]


@pytest.fixture
def question(tmp_path: Path) -> Path:
    path = tmp_path / "hours.sql"
    path.write_text(HOURS)
    return path


@pytest.fixture(params=["json", "csv", "parquet"])
def rides(request: pytest.FixtureRequest, tmp_path: Path, spark: SparkSession) -> Path:
    folder = tmp_path / "rides"
    folder.mkdir()
    names = ("station", "leaves", "km")
    if request.param == "json":
        rows = [json.dumps(dict(zip(names, row, strict=True))) for row in ROWS]
        (folder / "1.json").write_text("\n".join(rows))
    elif request.param == "csv":
        with (folder / "1.csv").open("w", newline="") as file:
            csv.writer(file).writerows([names, *ROWS])
    else:
        table = spark.createDataFrame(ROWS, "station string, leaves string, km double")
        table.selectExpr("station", "timestamp(leaves) AS leaves", "km").write.parquet(str(folder / "files"))
        for part in (folder / "files").glob("*.parquet"):
            part.rename(folder / part.name)
    return folder


def test_a_question_is_answered_from_each_kind_of_files(
    muntin: Run, question: Path, rides: Path, tmp_path: Path, spark: SparkSession
) -> None:
    done = muntin("query", question, "--input", rides, "--output", tmp_path / "out.csv")
    assert (done.code, done.errors) == (0, "")
    with (tmp_path / "out.csv").open() as file:
        rows = sorted((row["station"], float(row["km"]), row["n"]) for row in csv.DictReader(file))
    assert rows == [("north", 5.25, "2"), ("south", 2.0, "1")]


def test_results_are_shown_and_mistakes_told(muntin: Run, question: Path, tmp_path: Path, spark: SparkSession) -> None:
    (tmp_path / "rides").mkdir()
    (tmp_path / "rides/1.json").write_text('{"station": "north", "leaves": "2024-05-01T08:05:00Z", "km": 3.0}')
    shown = muntin("query", question, "--input", tmp_path / "rides")
    assert shown.code == 0
    assert "north" in shown.output
    explained = muntin("query", question, "--input", tmp_path / "rides", "--explain")
    assert "evaluator" in explained.output
    question.write_text(HOURS.replace("TUMBLE", "TUMBL"))
    wrong = muntin("query", question, "--input", tmp_path / "rides")
    assert wrong.code != 0
    assert "line 2, column 6: TUMBL is no window function" in wrong.errors
    assert "did you mean TUMBLE?" in wrong.errors
    missing = muntin("query", question, "--input", tmp_path / "ridez")
    assert missing.code == 2
    assert "there is no" in missing.errors
