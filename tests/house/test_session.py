"""A local session: its settings, its silence, its life and its death."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from muntin_engine.spark.session.local import local_settings
from tests import quick_jvm

RunPython = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def told(run_python: RunPython, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("session")
    (folder / "input").mkdir()
    (folder / "input/row.json").write_text('{"k": 1}\n', encoding="utf-8")
    done = run_python("session_story.py", folder, environment=quick_jvm.environment())
    assert done.returncode == 0, done.stderr
    before_the_kill, kill, _ = done.stderr.partition("killing the JVM\n")
    assert (before_the_kill, kill) == ("", "killing the JVM\n")
    return {"folder": folder, **json.loads(done.stdout)}


def test_the_callers_settings_win_and_java_options_are_joined() -> None:
    options = "spark.driver.extraJavaOptions"
    settings = local_settings("name", 3, {"spark.sql.shuffle.partitions": "9", options: "-Da=b"})
    assert settings["spark.master"] == "local[3]"
    assert settings["spark.sql.shuffle.partitions"] == "9"
    assert settings[options] == f"{local_settings('name', 3, {})[options]} -Da=b"


def test_a_session_leaves_the_environment_as_it_was(told: dict[str, Any]) -> None:
    assert told["environment"] == told["environment before"]


def test_workers_run_the_python_of_the_driver(told: dict[str, Any]) -> None:
    worker, driver = told["python"]
    assert worker == driver


def test_what_the_jvm_and_the_driver_workers_print_is_in_the_log(told: dict[str, Any]) -> None:
    assert told["log"] == str(told["folder"] / "spark.log")
    log = Path(told["log"]).read_text(encoding="utf-8")
    assert "Using incubator modules" in log
    assert "Python worker" in log


def test_a_running_session_is_reused_with_new_values_for_what_can_change(told: dict[str, Any]) -> None:
    assert told["is reused"]
    assert told["partitions"] == "3"


def test_a_running_session_is_not_reused_where_a_fixed_setting_differs(told: dict[str, Any]) -> None:
    assert told["conflict"] == (
        "a Spark session is running already, with other settings\n"
        "  spark.master is 'local[1]', asked for 'local[7]'\n"
        "  these cannot change while it runs: stop it first, or ask for what it has"
    )


@pytest.mark.parametrize("place", ["init", "rows"])
def test_a_failing_query_is_explained_by_the_traceback_of_the_failing_code(told: dict[str, Any], place: str) -> None:
    lines = told[place].splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert "session_story.py" in lines[1]
    assert lines[-1] == f"LookupError: failed in {place}"
    assert "pyspark" not in told[place]


def test_a_new_session_starts_after_the_jvm_was_killed(told: dict[str, Any]) -> None:
    assert told["after a kill"] == ["local[2]", 5]


def test_the_doctor_has_a_worker_of_spark_answer(told: dict[str, Any]) -> None:
    sign = told["doctor"]
    assert (sign["topic"], sign["health"]) == ("Spark", "ok")
    assert sign["text"].endswith(" runs, and a worker of it answered with 1 row")


def test_stopping_ends_the_jvm_and_may_be_done_twice(told: dict[str, Any]) -> None:
    assert told["ended"]


def test_a_session_that_cannot_start_says_why_and_prints_nothing(run_python: RunPython) -> None:
    done = run_python("refuse_to_start.py")
    refused = json.loads(done.stdout)
    assert done.stderr == ""
    for reason, (message, log) in {"heap size": refused["no JVM"], "driver-memory": refused["no Spark"]}.items():
        assert message.startswith("Spark did not start with the Java in ")
        assert reason in message
        assert message.endswith(f"the whole log is {log}")
        Path(log).unlink()
