"""`muntin backtest`: old and new versions of modules over the same rows, in a terminal and in CI."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Final

import pyarrow.parquet as pq
import pytest

from muntin import tumbling
from muntin.testing import Script
from muntin_stats import Sum
from tests.cli.running import Run
from tests.engine.recording.recorded import recorded
from tests.scenarios.query import Query
from tests.scenarios.running import Mishaps
from tests.scenarios.scenario import Scenario

STREAM = (
    Script()
    # .point(event, time, value): over windows of ten ticks, the sums are 5 and 9 for a, 7 for b
    .point(1, 2, 5, key="a").point(2, 3, 7, key="b").batch()
    .point(3, 14, 1, key="a").punctuate(10).batch()
    .point(4, 16, 8, key="a").close()
)  # fmt: skip

NEW_SUM: Final = """
from muntin import Aggregate


class Total(Aggregate[int, float]):
    name, version = "stats.sum", "2"

    def compute_result(self, payloads):
        return sum(payloads) + 0.25 * (7 in payloads) - 2 * (8 in payloads)
"""
"""A new version of the sum: it returns floats, 0.25 more for the window of b, and 2 less for the last one of a."""

PACE: Final = """
from muntin import Aggregate


class Pace(Aggregate[float, float]):
    name, version = "rides.pace", "{version}"

    def compute_result(self, payloads):
        return {result}
"""
"""A module of the query, as a template of its versions."""

HOURS: Final = """SELECT station, window_start, rides.pace(km) AS pace
FROM TUMBLE(TABLE rides, DESCRIPTOR(leaves), INTERVAL '1' HOUR)
GROUP BY station, window_start, window_end
"""

RIDES: Final = """station,leaves,km
north,2024-05-01 08:05:00,3.0
north,2024-05-01 08:40:00,7.5
south,2024-05-01 09:10:00,2.0
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a recording, and a new version of its module in `total.py`."""
    mishaps = Mishaps(disorder=False, cuts=None, restarts=0.0, crashes=0.0)
    scenario = Scenario(Query(tumbling(10), (Sum(),), lifetimes="points"), STREAM, mishaps)
    recorded(scenario, "general", tmp_path / "recording")
    (tmp_path / "total.py").write_text(NEW_SUM)
    return tmp_path


@pytest.fixture
def query(tmp_path: Path) -> Path:
    """A folder with a query in SQL, its rides, and two versions of its module, in `pace.py` and in `new_pace`."""
    (tmp_path / "hours.sql").write_text(HOURS)
    (tmp_path / "rides.csv").write_text(RIDES)
    (tmp_path / "pace.py").write_text(PACE.format(version="1", result="max(payloads)"))
    (tmp_path / "new_pace").mkdir()
    (tmp_path / "new_pace/__init__.py").write_text(PACE.format(version="2", result="min(payloads)"))
    return tmp_path


def test_a_backtest_shows_both_versions_what_differs_and_the_largest_differences_first(
    folder: Path, muntin: Run
) -> None:
    done = muntin("backtest", folder / "recording", "--module", f"stats.sum={folder}/total.py")
    assert (done.code, done.errors) == (0, "")
    lines = done.output.splitlines()

    # What ran, and how many results it had.
    assert lines[0].split() == ["old", "new"]
    assert lines[1].split() == ["module", "stats.sum", "0.1.0", "stats.sum", "2"]
    assert [line.split()[0] for line in lines[2:4]] == ["evaluator", "processor"]
    assert lines[5].split() == ["results", "3", "3"]

    # How the results were compared, and the distribution of the differences.
    assert lines[6:10] == [
        "",
        "2 results differ, over 6 rows",
        "compared: result by key, window, as results are in the end",
        "result was int64, and is double: they are compared as numbers",
    ]
    assert lines[11].startswith("column  changed  only old  only new  new - old: least")
    assert lines[12].split() == ["result", "2", "0", "0", "-2", "-1.4375", "-0.875", "-0.3125", "0.25", "-0.875"]

    # The differences.
    assert [line.split() for line in lines[14:17]] == [
        ["column", "key", "window", "old", "new", "new", "-", "old"],
        ["result", "a", "10", "..", "20", "9.0", "7.0", "-2"],
        ["result", "b", "0", "..", "10", "7.0", "7.25", "0.25"],
    ]
    assert lines[17].startswith("the rows of a result: muntin look ")


def test_a_backtest_ends_with_the_command_that_shows_the_rows_of_a_result(
    folder: Path, muntin: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    new = "stats.sum=total.py"
    done = muntin("backtest", "recording", "--module", new)
    assert done.output.splitlines()[-2:] == [
        f"the rows of a result: muntin look recording --key KEY --module {new}",
        "  without NAME=PATH it shows the old version",
    ]
    shown = muntin("look", "recording", "--key", "b", "--module", new)
    assert (shown.code, shown.errors) == (0, "")
    assert "stats.sum 2" in Path("recording.html").read_text()
    assert "7.25" in muntin("replay", "recording", "--module", new).output


def test_a_backtest_writes_a_page_of_each_version_and_shows_as_many_differences_as_are_wanted(
    folder: Path, muntin: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    new = "stats.sum=total.py"
    paged = muntin("backtest", "recording", "--module", new, "--page", "pages", "--rows", "1")
    assert paged.output.splitlines()[-1] == "wrote pages/old.html and pages/new.html"
    assert "the first 1;" in paged.output
    assert "stats.sum 0.1.0" in Path("pages/old.html").read_text()
    assert "stats.sum 2" in Path("pages/new.html").read_text()


@pytest.mark.parametrize(
    ("condition", "code", "answer"),
    [
        ("abs(new - old) > 0.01", 1, "2 differences"),
        ("abs(new - old) > 1", 1, "1 difference"),
        ("new > 9", 0, "no diff"),
    ],
)
def test_a_condition_decides_the_exit_code_however_many_differences_are_shown(
    folder: Path, muntin: Run, condition: str, code: int, answer: str
) -> None:
    call = ("backtest", folder / "recording", "--module", f"stats.sum={folder}/total.py", "--fail-if", condition)
    done = muntin(*call)
    assert done.code == code
    assert f"--fail-if {condition!r}: {answer}" in done.output
    assert muntin(*call, "--rows", "0").code == code
    assert muntin(*call, "--json").code == code


def test_programs_get_json(folder: Path, muntin: Run) -> None:
    data = muntin("backtest", folder / "recording", "--module", f"stats.sum={folder}/total.py", "--json").data
    assert data["differing"] == 2
    assert data["new"]["modules"] == ["stats.sum 2"]
    assert data["columns"][0]["counts"] == {"changed": 2, "only old": 0, "only new": 0}
    assert data["columns"][0]["distribution"]["least"] == -2
    assert data["differences"][0]["difference"] == -2


def test_all_differences_are_written(folder: Path, muntin: Run) -> None:
    call = ("backtest", folder / "recording", "--module", f"stats.sum={folder}/total.py")
    as_parquet = folder / "differences.parquet"
    done = muntin(*call, "--rows", "0", "--output", as_parquet)
    assert f"wrote 2 differences to {as_parquet}" in done.output
    assert pq.read_table(as_parquet).column("difference").to_pylist() == [-2.0, 0.25]

    as_json = folder / "differences.json"
    muntin(*call, "--output", as_json)
    first = json.loads(as_json.read_text().splitlines()[0])
    assert (first["key"], first["window"], first["kind"]) == ("a", {"start": 10, "end": 20}, "changed")


def test_differences_replace_no_file(folder: Path, muntin: Run) -> None:
    differences = folder / "differences.json"
    call = ("backtest", folder / "recording", "--module", f"stats.sum={folder}/total.py", "--output", differences)
    muntin(*call)
    again = muntin(*call)
    assert again.code == 2
    assert "is there already" in again.errors


def test_a_version_does_not_differ_from_itself_and_the_equal_names_are_said(folder: Path, muntin: Run) -> None:
    (folder / "same.py").write_text("from muntin_stats import Sum\n")
    done = muntin("backtest", folder / "recording", "--module", f"stats.sum={folder}/same", "--fail-if", "true")
    assert done.code == 0
    assert "no results differ, over 6 rows\n" in done.output
    assert "\nboth versions are called stats.sum 0.1.0\n" in done.output


def backtest_of(query: Path) -> tuple[object, ...]:
    """Return the arguments of the command that compares the versions of the module of the query in a folder."""
    versions = ("--module", query / "pace.py", "--module", f"rides.pace={query}/new_pace")
    return ("backtest", query / "hours.sql", "--input", query / "rides.csv", *versions)


def test_a_query_over_tables_is_backtested(query: Path, muntin: Run) -> None:
    done = muntin(*backtest_of(query))
    assert (done.code, done.errors) == (0, "")
    assert "1 result differs, over 3 rows" in done.output
    assert "pace    north  2024-05-01 08:00:00 .. 2024-05-01 09:00:00  7.5  3.0  -4.5" in done.output
    assert "add --page FOLDER, or --record FOLDER" in done.output


def test_the_old_version_over_tables_is_recorded_unless_there_is_a_recording(query: Path, muntin: Run) -> None:
    recording = query / "recording"
    done = muntin(*backtest_of(query), "--record", recording)
    assert f"muntin look {recording} --key KEY" in done.output
    assert "7.5" in muntin("replay", recording, "--module", query / "pace.py").output
    again = muntin(*backtest_of(query), "--record", recording)
    assert "has a recording already" in again.errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["recording", "--module", "total.py"], "no new version is named"),
        (["recording", "--module", "stats.sum=total.py", "--module", "stats.sum=b.py"], "names stats.sum twice"),
        (["recording", "--module", "stats.su=total.py"], "runs no module 'stats.su'\n  it runs stats.sum"),
        (["recording", "--module", "stats.sum=totl.py"], "there is no"),
        (["recording", "--module", "stats.sum=total.py", "--fail-if", "nwe > 1"], "'nwe > 1' cannot be evaluated"),
        (["recording", "--module", "stats.sum=total.py", "--input", "a"], "--input belongs to a query in SQL"),
        (["nothing", "--module", "stats.sum=total.py"], "is not a recording"),
        (["hours.sql", "--module", "stats.sum=total.py"], "is a query, and has no tables"),
        (
            ["hours.sql", "--input", "rides.csv", "--module", "pace.py", "--module", "rides.space=pace.py"],
            "the query runs no module 'rides.space'\n  it runs rides.pace",
        ),
    ],
)
def test_wrong_usage_is_refused_with_what_is_wrong(
    arguments: list[str], message: str, folder: Path, query: Path, muntin: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    done = muntin("backtest", *arguments)
    assert (done.code, done.output) == (2, "")
    assert message in done.errors


@pytest.mark.parametrize("lacking", ["muntin_engine", "duckdb"])
def test_a_package_that_is_missing_is_said(
    lacking: str, folder: Path, muntin: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == lacking else find_spec(name))
    done = muntin("backtest", folder / "recording", "--module", f"stats.sum={folder}/total.py")
    assert done.code == 3
    assert f"needs {lacking}, which is not installed" in done.errors


def test_a_module_that_fails_is_a_finding(folder: Path, muntin: Run) -> None:
    (folder / "total.py").write_text(NEW_SUM.replace("return sum(", "return 1 / 0 + sum("))
    done = muntin("backtest", folder / "recording", "--module", f"stats.sum={folder}/total.py")
    assert done.code == 1
    assert (
        "muntin: the new version: stats.sum 2 failed in compute_result: ZeroDivisionError: division by zero"
        in done.errors
    )
