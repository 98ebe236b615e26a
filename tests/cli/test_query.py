"""`muntin query`: a question in SQL, asked of a folder of files."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import ROOT
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


@pytest.mark.cases(1)
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


PLAIN = "SELECT station, COUNT(*) AS n, SUM(km) AS km FROM rides GROUP BY station, window(leaves, '1 hour')"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the rides above."""
    path = tmp_path / "rides"
    path.mkdir()
    names = ("station", "leaves", "km")
    rows = [json.dumps(dict(zip(names, row, strict=True))) for row in ROWS]
    (path / "1.json").write_text("\n".join(rows))
    return path


def test_inputs_are_tables_of_plain_sql(muntin: Run, folder: Path, tmp_path: Path, spark: SparkSession) -> None:
    question = tmp_path / "plain.sql"
    question.write_text(PLAIN)
    done = muntin("query", question, "--input", folder, "--output", tmp_path / "out.csv")
    assert (done.code, done.errors) == (0, "")
    with (tmp_path / "out.csv").open() as file:
        rows = sorted((row["station"], row["n"], float(row["km"])) for row in csv.DictReader(file))
    assert rows == [("north", "2", 10.5), ("south", "1", 2.0)]
    question.write_text("SELECT struct(r.km) AS s, '{x}' AS braces FROM `my rides` AS r JOIN Rides USING (station)")
    named = muntin("query", question, "--input", f"my rides={folder}", "--input", folder)
    assert (named.code, named.errors) == (0, "")
    assert "{x}" in named.output
    assert not spark.catalog.tableExists("rides")


def test_sql_that_only_spark_reads_is_answered(muntin: Run, folder: Path, tmp_path: Path, spark: SparkSession) -> None:
    question = tmp_path / "piped.sql"
    question.write_text("FROM rides |> WHERE km > 2 |> AGGREGATE COUNT(*) AS n")
    done = muntin("query", question, "--input", folder)
    assert (done.code, done.errors) == (0, "")
    assert "2" in done.output


HOUR_OF = "SELECT COUNT(*) AS n FROM TUMBLE(TABLE {}, DESCRIPTOR(leaves), INTERVAL '1' HOUR) GROUP BY window"


@pytest.mark.parametrize(
    ("text", "at", "said"),
    [
        ("SELECT * FROM ridez", "ridez", "did you mean rides?"),
        ("SELECT * FROM journeys", "journeys", "there are rides"),
        ("SELECT kmm FROM rides", "kmm", "Did you mean one of the following? [`km`"),
        ("SELECT nothing(km) FROM rides", "nothing", "annot resolve routine `nothing`"),
        ("SELECT\n  station, COUNT(*) FROM rides", "SELECT", "does not include a GROUP BY clause"),
        ("SELECT * FROM rides WHERE km >", "", "an expression is missing"),
        ("SELECT CAST(station AS INT) FROM rides", "CAST", "the value 'north' of the type \"STRING\" cannot be cast"),
        ("SELECT km / (km - km) FROM rides", "km / (km - km)", "division by zero"),
        (HOUR_OF.format("(SELECT * FROM ridez)"), "ridez", "`ridez` cannot be found"),
        (
            HOUR_OF.format("(SELECT *, CAST(station AS INT) AS x FROM rides)").replace("*)", "x)", 1),
            "CAST",
            "cannot be cast",
        ),
        (HOUR_OF.format("rides").replace("COUNT(*)", "SUM(CAST(station AS INT))"), "CAST", "cannot be cast"),
    ],
)
def test_a_failure_of_spark_is_told_at_its_place(
    muntin: Run,
    folder: Path,
    tmp_path: Path,
    spark: SparkSession,
    capfd: pytest.CaptureFixture[str],
    text: str,
    at: str,
    said: str,
) -> None:
    question = tmp_path / "plain.sql"
    question.write_text(text)
    done = muntin("query", question, "--input", folder)
    assert done.code == 2
    assert said in done.errors
    assert done.errors.startswith("muntin: line ")
    line = text[: text.index(at)].count("\n")
    column = text.index(at) - (text[: text.index(at)].rfind("\n") + 1)
    assert not at or done.errors.startswith(f"muntin: line {line + 1}, column {column + 1}: ")
    outside = capfd.readouterr()
    for words in ("Traceback", "SQLSTATE", "Relation", "search path", '{"ts"', "JVM"):
        assert words not in done.errors + outside.out + outside.err
    assert len(done.errors.splitlines()) <= 6


def test_queries_that_are_shown_to_newcomers_run(
    muntin: Run, folder: Path, tmp_path: Path, spark: SparkSession
) -> None:
    shown = muntin("query", "--help").output
    assert "muntin query hours.sql --input rides" in shown
    texts = re.findall(r"SELECT.*?(?=\n\s*\n)", shown, re.DOTALL)
    for page in ("README.md", "docs/reference/command.md"):
        texts += re.findall(r"```sql\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert len(texts) == 3
    for text in texts:
        question = tmp_path / "hours.sql"
        question.write_text(text)
        done = muntin("query", question, "--input", folder)
        assert (done.code, done.errors) == (0, ""), text
        assert [line.split()[0] for line in sorted(done.output.splitlines())] == ["north", "south", "station"]
