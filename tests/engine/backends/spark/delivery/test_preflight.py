"""What workers report of their packages, what a query needs, and the error where the two differ."""

from __future__ import annotations

import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

import numpy
import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.errors import PySparkException

from muntin_engine import WorkerEnvironmentError
from muntin_engine.backends.spark.delivery.driver_python import trouble_with
from muntin_engine.backends.spark.delivery.packed_task import pack_task
from muntin_engine.backends.spark.delivery.preflight import check_reports, worker_reports
from muntin_engine.packages.needed_packages import Needed, Reference, needed_by, references_of
from muntin_engine.packages.worker_report import reporting
from muntin_stats.average import Average
from tests.engine.wire.payloads import task_of

NEEDED = Needed(
    versions={"muntin-sdk": "0.1.0", "pandas": "2.3.0", "muntin-stats": "0.1.0"},
    imports={"muntin-sdk": ("muntin",), "pandas": ("pandas",), "muntin-stats": ("muntin_stats",)},
    same=frozenset({"muntin-sdk", "muntin-stats"}),
    homes={"muntin_stats": "muntin-stats"},
)


def answer(packages: dict[str, str | None] | None = None, **facts: Any) -> dict[str, Any]:
    """Return the answer of a worker that has all packages in the needed versions, unless the arguments differ."""
    worker = {"host": "one", "executable": "/python", "python": "3.11.4", "failures": []}
    return {**worker, "packages": {**NEEDED.versions, **(packages or {})}, **facts}


def verdict(*answers: dict[str, Any]) -> WorkerEnvironmentError | None:
    """Return the error that the driver raises about the answers of workers; None if it raises none."""
    try:
        check_reports(answers, NEEDED, "3.11.9")
    except WorkerEnvironmentError as error:
        return error
    return None


def trouble(*answers: dict[str, Any]) -> WorkerEnvironmentError:
    """Return the error about the answers of workers, of which there must be one."""
    error = verdict(*answers)
    assert error is not None
    return error


@pytest.mark.parametrize(
    "worker_answer", [answer(host="two", python="3.11.1"), answer({"pandas": "2.2.0"}), answer({"muntin-stats": ""})]
)
def test_workers_with_suitable_versions_of_all_packages_are_accepted(
    worker_answer: dict[str, Any],
) -> None:
    assert verdict(answer(), worker_answer) is None


def test_another_version_of_a_plugin_is_named_beside_the_drivers() -> None:
    error = trouble(answer({"muntin-stats": "0.2.0"}))
    assert error.troubles == {"one, /python, Python 3.11.4": ("muntin-stats is 0.2.0, and the driver has 0.1.0",)}
    assert "install there what the driver has: pip install muntin-stats==0.1.0" in error.remedies
    assert "send it with the session: ship(spark, 'muntin-stats')" in error.remedies


def test_each_place_is_told_once_however_many_workers_it_has() -> None:
    without_plugin = answer({"muntin-stats": None})
    error = trouble(without_plugin, without_plugin, answer(), {**without_plugin, "host": "two"})
    assert {place: len(lines) for place, lines in error.troubles.items()} == {
        "one, /python, Python 3.11.4": 1,
        "two, /python, Python 3.11.4": 1,
    }


def test_packages_that_spark_needs_are_to_be_installed_and_not_shipped() -> None:
    error = trouble(answer({"pandas": None}))
    assert not any("ship(" in remedy for remedy in error.remedies)
    assert "pip install pandas==2.3.0" in str(error)


def test_another_minor_version_of_python_is_named() -> None:
    assert "it is Python 3.12.1, and the driver is 3.11.9" in str(trouble(answer(python="3.12.1")))


def test_a_package_that_is_missing_is_not_also_said_to_fail() -> None:
    failure = ["muntin_stats.average", "ModuleNotFoundError: No module named 'muntin_stats'", "muntin_stats"]
    lines = trouble(answer({"muntin-stats": None}, failures=[failure])).troubles["one, /python, Python 3.11.4"]
    assert lines == ("muntin-stats is missing, the driver has 0.1.0",)


def test_a_package_that_fails_where_it_is_imported_says_how() -> None:
    failure = ["muntin_stats.average", "ZeroDivisionError: division by zero", ""]
    assert "muntin-stats cannot be imported: ZeroDivisionError" in str(trouble(answer(failures=[failure])))


def test_code_of_no_package_has_a_remedy_of_its_own() -> None:
    failure = ["near", "ModuleNotFoundError: No module named 'near'", "near"]
    error = trouble(answer(failures=[failure]))
    assert "near cannot be imported" in str(error)
    assert "near is of no installed package: make it one" in error.remedies[0]


def test_a_query_needs_its_plugins_and_what_those_require() -> None:
    needed = needed_by([Reference("muntin_stats.average", "Average")])
    assert needed.same == {"muntin-sdk", "muntin-engine", "muntin-stats"}
    assert needed.same | {"numpy", "pyarrow", "pandas", "protobuf"} <= set(needed.versions)
    assert needed.homes == {"muntin_stats": "muntin-stats"}


def test_a_package_that_a_plugin_requires_must_be_the_same_if_the_query_uses_it_too() -> None:
    needed = needed_by([Reference("muntin_stats.average", "Average"), Reference("numpy", "ndarray")])
    assert needed.same == {"muntin-sdk", "muntin-engine", "muntin-stats", "numpy"}


def test_a_worker_reports_its_python_its_packages_and_what_it_cannot_import() -> None:
    references = [("muntin", "Module"), ("muntin", "Modul"), ("nowhere.at_all", "")]
    report = reporting(references, {"numpy": ["numpy"], "no": ["no"]})
    (batch,) = report([pa.record_batch({"id": [1]})])
    worker = json.loads(batch.column(0)[0].as_py())
    assert worker["executable"] == sys.executable
    assert worker["python"] == platform.python_version()
    assert [(module, missing) for module, _, missing in worker["failures"]] == [
        ("muntin", ""),
        ("nowhere.at_all", "nowhere"),
    ]
    assert worker["packages"]["no"] is None
    assert worker["packages"]["numpy"]


def test_the_imports_of_a_job_are_found_without_unpickling_it() -> None:
    references = references_of(pack_task(task_of(Average())))
    assert Reference("muntin_stats.average", "Average") in references
    assert Reference("muntin_engine.wire.task_payload", "TaskPayload") in references
    assert not any(reference.module.startswith(("builtins", "collections")) for reference in references)


def test_a_module_that_is_used_as_a_whole_is_among_what_is_imported() -> None:
    function: Any = eval("lambda: numpy.pi", {"numpy": numpy})
    assert Reference("numpy") in references_of(cloudpickle.dumps(function))  # type: ignore[no-untyped-call]


class WithoutWorkers:
    """A session whose workers Spark cannot start."""

    def range(self, _: int) -> WithoutWorkers:
        return self

    def mapInArrow(self, *_: Any) -> WithoutWorkers:
        return self

    def collect(self) -> list[Any]:
        raise PySparkException("[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.12 than in driver")


def test_workers_that_spark_cannot_start_are_an_error_with_a_remedy() -> None:
    session: Any = WithoutWorkers()
    with pytest.raises(WorkerEnvironmentError, match=r"different version: 3\.12(.|\n)*set PYSPARK_PYTHON before"):
        worker_reports(session, [], NEEDED)


def test_a_python_that_is_not_there_cannot_serve_a_stream() -> None:
    assert "does not run" in trouble_with("./no/such/python")


def test_a_python_that_has_the_engine_can_serve_a_stream() -> None:
    assert trouble_with(sys.executable) == ""


@pytest.mark.skipif(os.name == "nt", reason="a script is no executable on Windows")
def test_a_python_that_lacked_a_package_is_asked_again(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho pandas\n", encoding="utf-8")
    python.chmod(0o700)
    assert trouble_with(str(python)) == "it cannot import pandas"
    python.write_text("#!/bin/sh\n", encoding="utf-8")
    assert trouble_with(str(python)) == ""
