"""`muntin query`: a question in SQL, asked of files, in this process or on Spark."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from muntin_cli.query_results import new_file
from tests.cli.conftest import ROOT
from tests.cli.running import CommandRun, Run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HOURS = """SELECT station, window_start, AVG(km) AS km, COUNT(*) AS n
FROM TUMBLE(TABLE rides WATERMARK DELAY OF INTERVAL '10' MINUTES, DESCRIPTOR(leaves), INTERVAL '1' HOUR)
GROUP BY station, window_start, window_end"""
"""The question of most tests."""

COLUMNS = ("station", "leaves", "km")
RIDES = [
    ("north", "2024-05-01T08:05:00Z", 3.0),
    ("north", "2024-05-01T08:40:00Z", 7.5),
    ("south", "2024-05-01T09:10:00Z", 2.0),
]


HOURS_OF_STATIONS = [("north", 5.25, "2"), ("south", 2.0, "1")]
"""The answer: station, average of kilometres, number of rides."""


@pytest.fixture
def question(tmp_path: Path) -> Path:
    """A file with the question."""
    path = tmp_path / "hours.sql"
    path.write_text(HOURS)
    return path


@pytest.fixture(params=["json", "csv", "parquet"])
def rides(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder named `rides`, with the rides in a file of each format."""
    folder = tmp_path / "rides"
    if request.param == "json":
        write_rides(folder)
        return folder

    folder.mkdir()
    if request.param == "csv":
        with (folder / "1.csv").open("w", newline="") as file:
            csv.writer(file).writerows([COLUMNS, *RIDES])
    else:
        stations, times, lengths = zip(*RIDES, strict=True)
        leaves = [datetime.fromisoformat(time) for time in times]
        table = pa.table({"station": stations, "leaves": leaves, "km": lengths})
        pq.write_table(table, folder / "1.parquet")
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder named `rides`, with the rides as JSON."""
    write_rides(tmp_path / "rides")
    return tmp_path / "rides"


def write_rides(folder: Path) -> None:
    """Make a folder with the rides in a file of JSON."""
    folder.mkdir()
    lines = [json.dumps(dict(zip(COLUMNS, ride, strict=True))) for ride in RIDES]
    (folder / "1.json").write_text("\n".join(lines))


def hours_in(path: Path) -> list[tuple[str, float, str]]:
    """Return station, kilometres and number of rides from an answer in a file of CSV."""
    with path.open() as file:
        return sorted((row["station"], float(row["km"]), row["n"]) for row in csv.DictReader(file))


def test_a_question_is_answered_from_each_kind_of_files(
    muntin: Run, question: Path, rides: Path, tmp_path: Path
) -> None:
    done = muntin("query", question, "--input", rides, "--output", tmp_path / "out.csv")
    assert (done.code, done.errors) == (0, "")
    assert hours_in(tmp_path / "out.csv") == HOURS_OF_STATIONS


@pytest.mark.cases(1)
def test_spark_answers_a_question_from_each_kind_of_files(
    muntin: Run, question: Path, rides: Path, tmp_path: Path, spark: SparkSession
) -> None:
    done = muntin("query", question, "--input", rides, "--output", tmp_path / "out.csv", "--spark")
    assert (done.code, done.errors) == (0, "")
    assert hours_in(tmp_path / "out.csv") == HOURS_OF_STATIONS


def test_results_are_shown_in_a_table(muntin: Run, question: Path, folder: Path) -> None:
    done = muntin("query", question, "--input", folder)
    assert done.code == 0
    assert done.output.splitlines()[1].split() == ["north", "2024-05-01", "08:00:00", "5.25", "2"]


def test_a_question_is_explained_instead_of_answered(muntin: Run, question: Path, folder: Path) -> None:
    done = muntin("query", question, "--input", folder, "--explain")
    assert "evaluator" in done.output
    assert "5.25" not in done.output


def test_a_mistake_in_a_question_is_told_with_its_place(muntin: Run, question: Path, folder: Path) -> None:
    question.write_text(HOURS.replace("TUMBLE", "TUMBL"))
    done = muntin("query", question, "--input", folder)
    assert done.code == 2
    assert "line 2, column 6: TUMBL is no window function" in done.errors
    assert "did you mean TUMBLE?" in done.errors


def test_a_folder_of_a_partition_is_a_path_and_no_name_with_a_path(
    muntin: Run, question: Path, folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(folder, tmp_path / "day=1")
    question.write_text(HOURS.replace("TABLE rides", "TABLE `day=1`"))
    done = muntin("query", question, "--input", tmp_path / "day=1")
    assert done.errors == ""
    assert done.output.splitlines()[1].split()[0] == "north"


def test_an_input_that_does_not_exist_is_told(muntin: Run, question: Path, tmp_path: Path) -> None:
    done = muntin("query", question, "--input", tmp_path / "ridez")
    assert done.code == 2
    assert "there is no" in done.errors


GROUPED = "SELECT station, COUNT(*) AS n, SUM(km) AS km FROM rides GROUP BY station"
PLAIN = f"{GROUPED}, window(leaves, '1 hour')"


@pytest.fixture
def ask(muntin: Run, folder: Path, tmp_path: Path) -> Run:
    """A function that asks a question of the rides, with more arguments of the command."""

    def run(text: str, *arguments: object) -> CommandRun:
        question = tmp_path / "question.sql"
        question.write_text(text)
        return muntin("query", question, "--input", folder, *arguments)

    return run


def test_plain_sql_is_answered_in_this_process(ask: Run, folder: Path, tmp_path: Path) -> None:
    done = ask(GROUPED, "--output", tmp_path / "out.json")
    assert (done.code, done.errors) == (0, "")
    rows = [json.loads(line) for line in (tmp_path / "out.json").read_text().splitlines()]
    assert sorted(rows, key=str) == [
        {"station": "north", "n": 2, "km": 10.5},
        {"station": "south", "n": 1, "km": 2.0},
    ]


def test_tables_of_plain_sql_have_any_name_and_case_and_texts_have_braces(ask: Run, folder: Path) -> None:
    text = "SELECT r.km, '{x}' AS braces FROM `my rides` AS r JOIN Rides USING (station)"
    done = ask(text, "--input", f"my rides={folder}")
    assert (done.code, done.errors) == (0, "")
    assert "{x}" in done.output


def test_inputs_are_tables_of_plain_sql_on_spark_until_it_is_answered(
    ask: Run, folder: Path, tmp_path: Path, spark: SparkSession
) -> None:
    done = ask(PLAIN, "--output", tmp_path / "out.csv", "--spark")
    assert (done.code, done.errors) == (0, "")
    with (tmp_path / "out.csv").open() as file:
        rows = sorted((row["station"], row["n"], float(row["km"])) for row in csv.DictReader(file))
    assert rows == [("north", "2", 10.5), ("south", "1", 2.0)]
    text = "SELECT struct(r.km) AS s, '{x}' AS braces FROM `my rides` AS r JOIN Rides USING (station)"
    named = ask(text, "--input", f"my rides={folder}", "--spark")
    assert (named.code, named.errors) == (0, "")
    assert "{x}" in named.output
    assert not spark.catalog.tableExists("rides")


def test_sql_that_muntin_does_not_parse_is_answered_by_spark(ask: Run, spark: SparkSession) -> None:
    text = "FROM rides |> WHERE km > 2 |> AGGREGATE COUNT(*) AS n"
    done = ask(text, "--spark")
    assert (done.code, done.errors) == (0, "")
    assert "2" in done.output


@pytest.mark.parametrize("name", ["rides.parquet", "rides.csv", "rides.json"])
def test_an_output_is_an_input(ask: Run, muntin: Run, tmp_path: Path, name: str) -> None:
    file = tmp_path / "data" / name
    text = "SELECT station, leaves, km, NULL AS nothing, 3 AS n FROM rides"
    assert ask(text, "--output", file).code == 0
    assert list(file.parent.iterdir()) == [file], "no parts of files"

    hours = tmp_path / "hours.sql"
    hours.write_text(HOURS)
    for source in (f"rides={file}", file.with_suffix(""), f"rides={file.parent}/*{file.suffix}"):
        assert stations_shown(muntin("query", hours, "--input", source)) == ["north", "south"]
    hours.write_text(HOURS.replace("TABLE rides", "TABLE data"))  # a folder is a table of its name
    assert stations_shown(muntin("query", hours, "--input", file.parent)) == ["north", "south"]


def stations_shown(done: CommandRun) -> list[str]:
    """Return the first column of the table that a command printed, sorted."""
    assert (done.code, done.errors) == (0, "")
    head, *rows = done.output.splitlines()
    assert head.startswith("station ")
    return sorted(row.split()[0] for row in rows)


def test_an_output_without_an_ending_is_a_folder(ask: Run, tmp_path: Path) -> None:
    done = ask(GROUPED, "--output", tmp_path / "out")
    assert done.output == f"wrote 2 rows to {tmp_path / 'out'}\n"
    assert pq.read_table(tmp_path / "out").num_rows == 2


def test_two_writers_of_one_output_at_once_leave_it_whole(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    with new_file(path) as file:
        file.write_text("a whole file\n")
        with new_file(path) as file_of_another_writer:
            file_of_another_writer.write_text("another one\n")
    assert path.read_text() == "a whole file\n", "of the last to finish"
    assert list(tmp_path.iterdir()) == [path]


def test_an_output_replaces_nothing(ask: Run, tmp_path: Path) -> None:
    ask(GROUPED, "--output", tmp_path / "out")
    again = ask(GROUPED, "--output", tmp_path / "out")
    assert (again.code, again.output) == (2, "")
    assert "is there already" in again.errors


def test_a_question_is_recorded_and_replayed_without_spark(
    muntin: Run, question: Path, rides: Path, tmp_path: Path
) -> None:
    recording = tmp_path / "recording"
    asked = muntin("query", question, "--input", rides, "--record", recording)
    replayed = muntin("replay", recording)
    assert (asked.code, replayed.code) == (0, 0)
    assert "5.25" in replayed.output


def test_a_question_is_not_recorded_over_another_recording(
    muntin: Run, question: Path, folder: Path, tmp_path: Path
) -> None:
    recording = tmp_path / "recording"
    muntin("query", question, "--input", folder, "--record", recording)
    again = muntin("query", question, "--input", folder, "--record", recording)
    assert again.code != 0
    assert "has a recording already" in again.errors


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--follow"], "--follow needs a stream"),
        (["--record", "recording"], "a query without windows has no story"),
        (["--checkpoint", "checkpoint"], "--checkpoint needs a stream"),
        (["--input", "*.csv"], "--input *.csv is a pattern, and has no name"),
        (["--input", "r=nowhere/*.csv"], "there is no file nowhere/*.csv"),
        (["--input", "rides=nowhere"], "there is no nowhere"),
        (["--explain"], "a query without windows has no plan"),
        (["--output", "/dev/null/out.csv"], "cannot be written"),
    ],
)
def test_options_that_cannot_be_met_are_told(ask: Run, options: list[str], message: str) -> None:
    done = ask(GROUPED, *options)
    assert (done.code, done.output) == (2, "")
    assert message in done.errors
    assert done.errors.startswith("muntin: ")


def test_a_checkpoint_of_a_query_on_spark_that_follows_no_files_is_refused(ask: Run) -> None:
    done = ask(PLAIN, "--spark", "--checkpoint", "checkpoint")
    assert (done.code, done.output) == (2, "")
    assert done.errors == ("muntin: --checkpoint needs a stream, and the present files are a table\n  add --follow\n")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--follow"], "is answered from the files that are there: leave --follow out"),
        (["--record", "recording"], "a query without windows has no story"),
        (["--explain"], "a query without windows has no plan"),
    ],
)
def test_options_of_queries_over_windows_are_refused_for_plain_sql_on_spark(
    ask: Run, spark: SparkSession, options: list[str], message: str
) -> None:
    done = ask(GROUPED, "--spark", *options)
    assert (done.code, done.output) == (2, "")
    assert message in done.errors


@pytest.mark.parametrize("name", ["1.parquet", "1.csv", "1.json"])
def test_a_damaged_file_is_told(muntin: Run, question: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "rides").mkdir()
    (tmp_path / "rides" / name).write_bytes(b'PAR1{"station": \x00\xff"')
    done = muntin("query", question, "--input", tmp_path / "rides")
    assert (done.code, done.output) == (2, "")
    assert done.errors.startswith("muntin: line 2, column ")
    assert "Traceback" not in done.errors


HOUR_OF = "SELECT COUNT(*) AS n FROM TUMBLE(TABLE {}, DESCRIPTOR(leaves), INTERVAL '1' HOUR) GROUP BY window"
HOUR_OF_A_CAST = HOUR_OF.format("(SELECT *, CAST(station AS INT) AS x FROM rides)").replace("COUNT(*)", "COUNT(x)")
SUM_OF_A_CAST = HOUR_OF.format("rides").replace("COUNT(*)", "SUM(CAST(station AS INT))")


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("SELECT * FROM ridez", "ridez", "did you mean rides?"),
        ("SELECT * FROM journeys", "journeys", "there are rides"),
        ("SELECT kmm FROM rides", "kmm", "did you mean km?"),
        ("SELECT nothing(km) AS x FROM rides", "nothing", "it on Spark: --spark"),
        ("SELECT\n  station, COUNT(*) FROM rides", "station", "is neither grouped nor aggregated"),
        ("SELECT * FROM rides WHERE km >", "", "an expression is missing"),
        (
            "SELECT CAST(station AS INT) AS x FROM rides",
            "CAST",
            "the value 'north' of the type \"STRING\" cannot be cast",
        ),
        ("SELECT km / (km - km) AS x FROM rides", "km / (km - km)", "division by zero"),
        (HOUR_OF.format("(SELECT * FROM ridez)"), "ridez", "'ridez' is no table"),
        (HOUR_OF_A_CAST, "CAST", "cannot be cast"),
    ],
)
def test_a_failure_is_told_at_its_place(ask: Run, text: str, place: str, message: str) -> None:
    done = ask(text)
    assert done.code == 2
    assert done.errors.startswith(f"muntin: {position_in(text, place)}")
    assert message in done.errors


def position_in(text: str, place: str) -> str:
    """Return how an error spells where a part of a text begins; that an error has a line at all, if it has no part."""
    if not place:
        return "line "
    lines = text[: text.index(place)].split("\n")
    return f"line {len(lines)}, column {len(lines[-1]) + 1}: "


@pytest.mark.parametrize(
    ("text", "place", "message"),
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
        (HOUR_OF_A_CAST, "CAST", "cannot be cast"),
        (SUM_OF_A_CAST, "CAST", "cannot be cast"),
    ],
)
def test_a_failure_of_spark_is_told_at_its_place_in_few_words(
    ask: Run,
    spark: SparkSession,
    capfd: pytest.CaptureFixture[str],
    text: str,
    place: str,
    message: str,
) -> None:
    """The words of Spark that only its developers know are not told, nor printed by its processes."""
    done = ask(text, "--spark")
    assert done.code == 2
    assert done.errors.startswith(f"muntin: {position_in(text, place)}")
    assert message in done.errors
    outside = capfd.readouterr()
    for words in ("Traceback", "SQLSTATE", "Relation", "search path", '{"ts"', "JVM"):
        assert words not in done.errors + outside.out + outside.err
    assert len(done.errors.splitlines()) <= 6


def test_queries_that_are_shown_to_newcomers_have_the_same_results_in_this_process_and_on_spark(
    ask: Run, muntin: Run, spark: SparkSession
) -> None:
    help_text = muntin("query", "--help").output
    assert "muntin query hours.sql --input rides" in help_text
    texts = re.findall(r"SELECT.*?(?=\n\s*\n)", help_text, re.DOTALL)
    for page in ("README.md", "docs/reference/command.md"):
        texts += re.findall(r"```sql\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert len(texts) == 3
    for text in texts:
        done = ask(text)
        assert stations_shown(done) == ["north", "south"], text
        on_spark = ask(text, "--spark")
        assert sorted(on_spark.output.splitlines()) == sorted(done.output.splitlines())


def test_a_query_in_this_process_imports_no_spark(question: Path, folder: Path) -> None:
    program = "import sys; from muntin_cli import app; app(standalone_mode=False); print('pyspark' in sys.modules)"
    command = [sys.executable, "-c", program, "query", str(question), "--input", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "north" in done.stdout
    assert done.stdout.endswith("False\n")
