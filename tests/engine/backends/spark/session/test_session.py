"""A local session: its settings, its silence, its life and its death."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from muntin_engine.backends.spark.session.local import local_settings
from tests.engine.backends.spark.session.killed_query import run_query
from tests.journeys.running import plain, write_batches
from tests.quick_spark import jvm as quick_jvm

RunPython = Callable[..., subprocess.CompletedProcess[str]]
ROOT = Path(__file__).parents[5]
SECOND = 1_000_000
FIRST = -10
LAST = 20
"""The seconds of the stream that is killed; it begins before the epoch."""


def batch(seconds: Iterable[int]) -> pa.Table:
    """Return a micro-batch with a row of each key in each second, whose payload is the number of full ten seconds."""
    rows = [(key, second * SECOND, second // 10) for second, key in product(seconds, "ab")]
    keys, times, values = zip(*rows, strict=True)
    return pa.table({"key": keys, "at": pa.array(times, pa.timestamp("us", tz="UTC")), "x": values})


@pytest.fixture(scope="module")
def session_facts(run_python: RunPython, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The facts that `session_story.py` prints, and the folder that it ran in."""
    folder = tmp_path_factory.mktemp("session")
    (folder / "input").mkdir()
    (folder / "input/row.json").write_text('{"k": 1}\n', encoding="utf-8")
    tens = [batch(range(start, start + 10)) for start in range(FIRST, LAST, 10)]
    write_batches(folder / "killed/stream", [*tens, batch([10**6])])  # the last closes all windows before it
    path = os.pathsep.join([str(ROOT), *sys.path])
    environment = quick_jvm.environment() | {"TZ": "America/New_York", "PYTHONPATH": path}
    program_run = run_python("session_story.py", folder, environment=environment)
    assert program_run.returncode == 0, program_run.stderr
    assert program_run.stderr.startswith("killing the JVM\n"), "nothing was printed before"
    return {"folder": folder, **json.loads(program_run.stdout)}


def test_the_callers_settings_win_and_java_options_are_joined() -> None:
    options = "spark.driver.extraJavaOptions"
    settings = local_settings("name", 3, {"spark.sql.shuffle.partitions": "9", options: "-Da=b"})
    assert settings["spark.master"] == "local[3]"
    assert settings["spark.sql.shuffle.partitions"] == "9"
    assert settings[options] == f"{local_settings('name', 3, {})[options]} -Da=b"


@pytest.mark.nightly
def test_a_session_leaves_the_environment_as_it_was(session_facts: dict[str, Any]) -> None:
    assert session_facts["environment"] == session_facts["environment before"]


@pytest.mark.nightly
def test_workers_run_the_python_of_the_driver(session_facts: dict[str, Any]) -> None:
    worker, driver = session_facts["python"]
    assert worker == driver


@pytest.mark.nightly
def test_the_output_of_the_jvm_and_of_driver_workers_is_in_the_log(session_facts: dict[str, Any]) -> None:
    assert session_facts["log"] == str(session_facts["folder"] / "spark.log")
    log = Path(session_facts["log"]).read_text(encoding="utf-8")
    assert "Using incubator modules" in log
    assert "Python worker" in log


@pytest.mark.nightly
def test_a_running_session_is_reused_with_new_values_for_what_can_change(session_facts: dict[str, Any]) -> None:
    assert session_facts["is reused"]
    assert session_facts["partitions"] == "3"


@pytest.mark.nightly
def test_a_running_session_is_not_reused_where_a_fixed_setting_differs(session_facts: dict[str, Any]) -> None:
    assert session_facts["conflict"] == (
        "a Spark session is running already, with other settings\n"
        "  spark.master is 'local[1]', asked for 'local[7]'\n"
        "  these cannot change while it runs: stop it first, or ask for what it has"
    )


@pytest.mark.nightly
@pytest.mark.parametrize("place", ["init", "rows"])
def test_a_failing_query_is_explained_by_the_traceback_of_the_failing_code(
    session_facts: dict[str, Any], place: str
) -> None:
    lines = session_facts[place].splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert "session_story.py" in lines[1]
    assert lines[-1] == f"LookupError: failed in {place}"
    assert "pyspark" not in session_facts[place]


@pytest.mark.nightly
def test_a_killed_jvm_costs_no_row_and_doubles_none(spark: SparkSession, session_facts: dict[str, Any]) -> None:
    """Killed in New York after two micro-batches, the query goes on in a zone of its own, here."""
    assert session_facts["killed by"] == "signal 9"
    killed = session_facts["folder"] / "killed"
    assert sorted(file.name for file in (killed / "parts").glob("*.parquet")) == ["0000.parquet", "0001.parquet"]
    run_query(spark, killed)

    results = plain(pa.concat_tables(pq.read_table(file) for file in (killed / "parts").glob("*.parquet")))
    assert sorted(results, key=lambda row: (row["key"], row["window"]["start"])) == expected_results()


def expected_results() -> list[dict[str, Any]]:
    """Return the number and the payloads of the rows in each window of 15 seconds, by key and window."""
    members: dict[tuple[str, int], list[int]] = {}
    for second in range(FIRST, LAST):
        for key in "ab":
            members.setdefault((key, second // 15 * 15 * SECOND), []).append(second // 10)
    return [
        {"key": key, "window": {"start": start, "end": start + 15 * SECOND}, "n": len(values), "all": values}
        for (key, start), values in sorted(members.items())
    ]


@pytest.mark.nightly
def test_a_new_session_starts_after_the_jvm_was_killed(session_facts: dict[str, Any]) -> None:
    assert session_facts["after a kill"] == ["local[2]", 5]


@pytest.mark.nightly
def test_the_doctor_has_a_worker_of_spark_answer(session_facts: dict[str, Any]) -> None:
    finding = session_facts["doctor"]
    assert (finding["topic"], finding["health"]) == ("Spark", "ok")
    assert finding["text"].endswith(" runs, and a worker of it answered with 1 row")


@pytest.mark.nightly
def test_stopping_ends_the_jvm_and_may_be_done_twice(session_facts: dict[str, Any]) -> None:
    assert session_facts["ended"]


@pytest.mark.nightly
def test_a_session_that_cannot_start_says_why_and_prints_nothing(run_python: RunPython) -> None:
    program_run = run_python("refuse_to_start.py", environment=quick_jvm.environment())
    assert program_run.stderr == ""
    errors = json.loads(program_run.stdout)
    for reason, (message, log) in {"heap size": errors["no JVM"], "driver-memory": errors["no Spark"]}.items():
        assert message.startswith("Spark did not start with the Java in ")
        assert reason in message
        assert message.endswith(f"the whole log is {log}")
        Path(log).unlink()
