"""What is made of what the workers say."""

from __future__ import annotations

import json
import platform
import sys
from typing import Any

import numpy
import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.errors import PySparkException

from muntin_engine import WorkerEnvironmentError
from muntin_engine.backends.spark.delivery.driver_python import trouble_with
from muntin_engine.backends.spark.delivery.packed_task import pack_task
from muntin_engine.backends.spark.delivery.preflight import judge, worker_reports
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


def answer(packages: dict[str, str | None] | None = None, **changed: Any) -> dict[str, Any]:
    """Return what a worker says that has everything, but for what is given."""
    said = {"host": "one", "executable": "/python", "python": "3.11.4", "failures": []}
    return {**said, "packages": {**NEEDED.versions, **(packages or {})}, **changed}


def verdict(*answers: dict[str, Any]) -> WorkerEnvironmentError | None:
    try:
        judge(answers, NEEDED, "3.11.9")
    except WorkerEnvironmentError as error:
        return error
    return None


def trouble(*answers: dict[str, Any]) -> WorkerEnvironmentError:
    found = verdict(*answers)
    assert found is not None
    return found


@pytest.mark.parametrize(
    "said", [answer(host="two", python="3.11.1"), answer({"pandas": "2.2.0"}), answer({"muntin-stats": ""})]
)
def test_workers_that_have_what_is_needed_in_a_version_that_will_do_are_left_alone(said: dict[str, Any]) -> None:
    assert verdict(answer(), said) is None


def test_another_version_of_a_plugin_is_named_beside_the_drivers() -> None:
    found = trouble(answer({"muntin-stats": "0.2.0"}))
    assert found.troubles == {"one, /python, Python 3.11.4": ("muntin-stats is 0.2.0, and the driver has 0.1.0",)}
    assert "install there what the driver has: pip install muntin-stats==0.1.0" in found.remedies
    assert "send it with the session: ship(spark, 'muntin-stats')" in found.remedies


def test_each_place_is_told_once_however_many_workers_it_has() -> None:
    lacks = answer({"muntin-stats": None})
    found = trouble(lacks, lacks, answer(), {**lacks, "host": "two"})
    assert {place: len(lines) for place, lines in found.troubles.items()} == {
        "one, /python, Python 3.11.4": 1,
        "two, /python, Python 3.11.4": 1,
    }


def test_what_spark_itself_needs_is_to_be_installed() -> None:
    found = trouble(answer({"pandas": None}))
    assert not any("ship(" in remedy for remedy in found.remedies)
    assert "pip install pandas==2.3.0" in str(found)
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
    found = trouble(answer(failures=[failure]))
    assert "near cannot be imported" in str(found)
    assert "near is of no installed package: make it one" in found.remedies[0]


def test_a_query_needs_its_plugins_and_what_those_require() -> None:
    needed = needed_by([Reference("muntin_stats.average", "Average")])
    assert needed.same == {"muntin-sdk", "muntin-engine", "muntin-stats"}
    assert needed.same | {"numpy", "pyarrow", "pandas", "protobuf"} <= set(needed.versions)
    assert needed.homes == {"muntin_stats": "muntin-stats"}


def test_a_worker_says_what_it_has() -> None:
    asked = reporting(
        [("muntin", "Module"), ("muntin", "Modul"), ("nowhere.at_all", "")], {"numpy": ["numpy"], "no": ["no"]}
    )
    (batch,) = asked([pa.record_batch({"id": [1]})])
    said = json.loads(batch.column(0)[0].as_py())
    assert said["executable"] == sys.executable
    assert said["python"] == platform.python_version()
    assert [(module, missing) for module, _, missing in said["failures"]] == [
        ("muntin", ""),
        ("nowhere.at_all", "nowhere"),
    ]
    assert said["packages"]["no"] is None
    assert said["packages"]["numpy"]


def test_what_a_job_imports_is_found_without_opening_it() -> None:
    found = references_of(pack_task(task_of(Average())))
    assert Reference("muntin_stats.average", "Average") in found
    assert Reference("muntin_engine.wire.task_payload", "TaskPayload") in found
    assert not any(reference.module.startswith(("builtins", "collections")) for reference in found)


def test_a_module_that_is_used_as_a_whole_is_among_what_is_imported() -> None:
    function: Any = eval("lambda: numpy.pi", {"numpy": numpy})
    assert Reference("numpy") in references_of(cloudpickle.dumps(function))  # type: ignore[no-untyped-call]


class Unable:
    """A session whose workers Spark cannot start."""

    def range(self, _: int) -> Unable:
        return self

    def mapInArrow(self, *_: Any) -> Unable:
        return self

    def collect(self) -> list[Any]:
        raise PySparkException("[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.12 than in driver")


def test_workers_that_do_not_run_are_a_trouble_with_a_remedy() -> None:
    session: Any = Unable()
    with pytest.raises(WorkerEnvironmentError, match=r"different version: 3\.12(.|\n)*set PYSPARK_PYTHON before"):
        worker_reports(session, [], NEEDED)


def test_a_python_that_is_not_there_cannot_serve_a_stream() -> None:
    assert "does not run" in trouble_with("./no/such/python")


def test_a_python_that_has_the_engine_can() -> None:
    assert trouble_with(sys.executable) == ""
