"""Environments that the tests run in beside the developer's own, and what of the tests is run there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from tests.versions.record import ROOT


@dataclass(frozen=True, slots=True)
class Environment:
    """One combination of versions.

    Attributes:
        python: The minor version of Python.
        packages: What pip is asked for on top of the distributions and the tests' requirements.
        warnings: Filters for what a version warns of and cannot help, as pytest takes them.
        is_lowest: True if all that our distributions require is as old as they say that it may be.
        is_client: True if PySpark is there as the client of Spark Connect alone: it asks a server in another one.
    """

    python: str
    packages: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    is_lowest: bool = False
    is_client: bool = False


_SOCKETS: Final = ("ignore:unclosed:ResourceWarning",)  # PySpark 4.1 leaves its connections to the garbage collector
_DEPRECATED: Final = "ignore::DeprecationWarning"  # old packages call what the newest of others deprecate
_PANDAS: Final = ("ignore:PySpark does not yet fully support pandas:FutureWarning",)

ENVIRONMENTS: Final[Mapping[str, Environment]] = MappingProxyType(
    {
        "lowest": Environment("3.11", ("opentelemetry-sdk<2", "psutil"), (*_SOCKETS, _DEPRECATED), is_lowest=True),
        "4.1": Environment("3.11", ("pyspark==4.1.*", "pandas==2.*"), _SOCKETS),
        "4.2": Environment("3.11", ("pyspark==4.2.*", "pandas==2.*")),
        "4.3": Environment("3.11", ("pyspark==4.3.*", "pandas==2.*")),
        "4.3-python-3.12": Environment("3.12", ("pyspark==4.3.*", "pandas==2.*")),
        "4.3-python-3.13-pandas-3": Environment("3.13", ("pyspark==4.3.*", "pandas==3.*"), _PANDAS),
        "4.3-python-3.14-pandas-3": Environment("3.14", ("pyspark==4.3.*", "pandas==3.*"), _PANDAS),
        # A client may be older than its server; 4.2 cannot read the limits that a server of 4.1 tells it.
        "client": Environment("3.11", ("pyspark-client==4.1.*", "pandas==2.*"), is_client=True),
    }
)
"""All of them. `make test` runs on Python 3.11 or newer and the newest release of all packages."""

SPARK: Final = (
    *("tests/spark", "tests/spark_units", "tests/journeys/test_joins.py", "tests/journeys/test_recordings.py"),
    *("tests/journeys/test_row_windows.py", "tests/examples/test_retail_on_spark.py", "tests/examples/test_nexmark.py"),
)
"""All tests that run a query in Spark: ten to twenty minutes at a load of six."""

QUICK: Final = (
    # Windows of every kind on every evaluator, in three micro-batches and over a restart, against the reference.
    "tests/journeys/test_scripts.py::test_streams_and_tables_through_spark_mean_what_the_reference_says",
    "tests/journeys/test_against_spark.py::test_days_to_years_are_those_of_date_trunc",
    "tests/journeys/test_row_windows.py::test_a_stream_in_any_order_with_restarts_gives_the_last_rows",
    "tests/journeys/test_joins.py::test_a_join_goes_on_after_a_restart_and_its_results_are_events",
    "tests/engine/spark/test_stateless.py::test_a_stream_goes_through_one_stage_and_a_restart_repeats_and_loses_nothing",
    # What goes in and comes out.
    "tests/engine/spark/test_chaining.py::test_a_query_over_the_results_of_a_query",
    "tests/journeys/test_types.py::test_records_lists_and_maps_go_in_and_come_out",
    "tests/journeys/test_types.py::test_installed_functions_are_there_in_sql",
    "tests/engine/spark/writing/test_write.py::test_all_outputs_come_from_one_evaluation",
    "tests/engine/spark/writing/test_write.py::test_late_rows_of_each_side_of_a_join_come_from_pairs_on_arrays",
    "tests/engine/spark/writing/test_write.py::test_a_sink_that_fails_is_named_and_no_sink_has_a_row_twice_or_not_at_all",
    "tests/journeys/test_progress_policies.py::test_with_a_clock_time_passes_without_rows_also_under_available_now",
    "tests/engine/spark/test_metrics_listener.py::test_a_batch_reports_what_it_did_and_a_batch_without_rows_what_is_known_of_it",
    # State, and code where it is not installed: on executors of their own, classic and by Spark Connect.
    "tests/engine/spark/writing/test_state_table.py::test_state_is_read_while_the_query_runs_and_as_text",
    "tests/engine/spark/writing/test_checkpoints.py::test_another_query_is_refused_before_anything_is_read_and_a_newer_version_goes_on",
    "tests/engine/spark/shipping/test_shipping.py",
)
"""The fewest that would find a break of what Muntin uses of Spark: 30 tests, five to eight minutes at a load of six."""


LIBRARIES: Final = (
    # What other packages are used for: SQL's texts, arrays, sinks in databases and tables, brokers, exporters,
    # sketches, and what the command checks.
    *(
        "tests/engine/sql_text/test_meaning.py",
        "tests/engine/exchange/test_bound_form.py",
        "tests/plugins/adapters/test_sketches.py",
    ),
    *(
        "tests/engine/writing/test_databases.py",
        "tests/engine/writing/test_table_sinks.py",
        "tests/engine/writing/test_kafka_topic.py",
    ),
    *("tests/engine/monitoring/test_exporters.py", "tests/cli/test_check.py"),
)
"""What is run besides where all requirements are as old as they may be."""


def python_of(version: str, environment: Mapping[str, str] = os.environ) -> Path | None:
    """Return a Python of a minor version that runs and can make environments; None if this machine has none."""
    return next((python for python in _candidates(version, environment) if _runs(python, version)), None)


def told_by(python: str, module: str, *arguments: str) -> dict[str, Any]:
    """Return the JSON that a module of the tests prints last when another Python runs it, with a Spark of its own."""
    of_another = ("SPARK_HOME", "PYSPARK_PYTHON")
    environment = {name: value for name, value in os.environ.items() if name not in of_another}
    command = [python, "-m", module, *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def _candidates(version: str, environment: Mapping[str, str]) -> Iterator[Path]:
    for folder in environment.get("PATH", "").split(os.pathsep):
        for name in (f"python{version}", "python3"):
            if found := shutil.which(name, path=folder):
                yield Path(found)
    pyenv = Path(environment.get("PYENV_ROOT") or Path(environment.get("HOME", "/"), ".pyenv"))
    yield from sorted((pyenv / "versions").glob(f"{version}.*/bin/python"), reverse=True)


def _runs(python: Path, version: str) -> bool:
    said = "import ensurepip, sys, venv; print('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run([python, "-c", said], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.SubprocessError):
        return False
    return done.stdout.strip() == version
