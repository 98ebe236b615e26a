"""Tests on other versions of Python, PySpark and pandas, each in an environment of its own, in build/versions.

`make test-versions VERSIONS="lowest client"` runs sessions by name, `python -m nox --list` shows all of them. A session
whose Python this machine lacks is skipped. What stands behind `--` replaces the tests of a session.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import nox
from packaging.requirements import Requirement

from release.distributions import ROOT, Distribution, distributions
from release.lowest_versions import constraints

nox.options.envdir = "build/versions"
nox.options.reuse_venv = "yes"
nox.options.error_on_missing_interpreters = False
nox.options.download_python = "never"

TESTS: Final = (
    # Windows of every kind on every evaluator, in three micro-batches and over a restart, against the reference.
    "tests/journeys/test_scripts.py::test_streams_through_spark_mean_what_the_reference_says",
    "tests/journeys/test_scripts.py::test_tables_through_spark_mean_what_the_reference_says_of_their_rows_as_a_stream",
    "tests/journeys/test_against_spark.py::test_days_to_years_are_those_of_date_trunc",
    "tests/journeys/test_row_windows.py::test_last_rows_are_those_in_order_whatever_the_order_in_which_rows_come",
    "tests/journeys/test_row_windows.py::test_a_batch_of_a_time_has_the_rows_of_its_key_and_partition",
    "tests/journeys/test_row_windows.py::test_windows_of_time_have_their_rows_in_order",
    "tests/journeys/test_joins.py::test_a_left_join_of_revised_rides_goes_on_after_a_restart",
    "tests/journeys/test_joins.py::test_the_results_of_a_join_are_events_of_another_query",
    "tests/journeys/test_joins.py::test_a_join_of_points_has_the_time_that_their_lifetimes_share",
    "tests/journeys/test_joins.py::test_the_results_of_two_queries_are_joined",
    "tests/journeys/test_joins.py::test_an_anti_join_has_the_parts_of_rides_without_a_fare_that_meets_the_condition",
    "tests/engine/backends/spark/operators/test_stateless.py::test_an_operator_without_state_repeats_and_loses_no_row_over_a_restart_and_leaves_no_state",
    # What goes in and comes out.
    "tests/engine/backends/spark/dataframes/test_results_as_events.py::test_results_of_a_query_are_the_events_of_another_one",
    "tests/journeys/test_types.py::test_records_lists_and_maps_go_in_and_come_out",
    "tests/journeys/test_types.py::test_installed_functions_are_there_in_sql",
    "tests/engine/backends/spark/foreach_batch/test_write.py::test_all_outputs_come_from_one_evaluation",
    "tests/engine/backends/spark/foreach_batch/test_write.py::test_late_rows_of_each_side_of_a_join_come_from_pairs_on_arrays",
    "tests/engine/backends/spark/foreach_batch/test_write.py::test_a_sink_that_fails_is_named_and_no_sink_has_a_row_twice_or_not_at_all",
    "tests/journeys/test_progress_policies.py::test_with_a_clock_time_passes_without_rows_also_under_available_now",
    "tests/engine/monitoring/test_metrics_listener.py::test_a_batch_reports_what_it_did_and_one_without_rows_reports_no_state_and_no_watermark",
    # State, and code where it is not installed: on executors of their own, classic and by Spark Connect.
    "tests/engine/backends/spark/checkpoints/test_state_table.py::test_the_state_of_a_running_query_has_its_events_its_live_results_and_its_windows",
    "tests/engine/backends/spark/checkpoints/test_state_table.py::test_the_command_shows_the_state_of_a_key_as_json_or_as_a_table",
    "tests/engine/backends/spark/checkpoints/test_state_table.py::test_a_running_query_names_the_silent_source_that_holds_it_back",
    "tests/engine/backends/spark/checkpoints/test_checkpoint.py::test_another_query_is_refused_before_spark_plans_a_micro_batch",
    "tests/engine/backends/spark/checkpoints/test_checkpoint.py::test_a_version_that_fails_in_its_first_micro_batch_can_be_taken_back_and_one_that_went_on_cannot",
    "tests/engine/backends/spark/delivery/test_shipping.py",
)
"""The fewest that would find a break of what Muntin uses of Spark: 41 tests."""

LIBRARY_TESTS: Final = (
    # What other packages are used for: queries in this process, SQL's texts, arrays, sinks in databases and tables,
    # brokers, exporters, sketches, and what the command checks.
    "tests/engine/backends/local",
    "tests/engine/sql_text/test_meaning.py",
    "tests/engine/evaluators/arrays/stretches/test_bound_form.py",
    "tests/plugins/stats/test_sketches.py",
    "tests/engine/sinks/test_databases.py",
    "tests/engine/sinks/test_table_sinks.py",
    "tests/engine/sinks/test_kafka_topic.py",
    "tests/engine/monitoring/test_exported_metrics.py",
    "tests/cli/test_check.py",
)
"""Further tests where all requirements are as old as they may be."""

SOCKETS: Final = "ignore:unclosed:ResourceWarning"  # PySpark 4.1 leaves its connections to the garbage collector
DEPRECATED: Final = "ignore::DeprecationWarning"  # old packages call what the newest of others deprecate
PANDAS_3: Final = "ignore:PySpark does not yet fully support pandas:FutureWarning"

WITHOUT_ANOTHER_SPARK: Final = {"SPARK_HOME": None, "PYSPARK_PYTHON": None}

UPGRADES: Final = ("pyspark-4.1", "pyspark-4.2", "pyspark-4.3", "python-3.12", "python-3.13")
"""Environments that continue one checkpoint, in this order."""

PRINT_VERSIONS: Final = """
import platform
from importlib.metadata import version
from muntin_engine.backends.spark.session.java import find_java

packages = [version(name) for name in ("pandas", "pyarrow", "numpy", "protobuf")]
print("|", " | ".join([version("pyspark"), platform.python_version(), str(find_java().version), *packages]), "|")
"""
"""Prints a line of the table in docs/compatibility.md, but for the tests and the day."""


@nox.session(python="3.11")
def lowest(session: nox.Session) -> None:
    """Run on the oldest version of each package that ours require, with all extras."""
    constraints_file = Path(session.create_tmp(), "constraints.txt")
    constraints_file.write_text(constraints(), encoding="utf-8")
    with_extras: list[str] = []
    for distribution in our_distributions():
        extras = ",".join(filter(None, distribution.extras))
        if extras:
            with_extras.append(f"--editable={distribution.folder}[{extras}]")
    # pip looks for ours in an index unless each of them is named without its extras, too.
    ours = [*editable(our_distributions()), *with_extras]
    session.install(f"--constraint={constraints_file}", *ours, "opentelemetry-sdk<2", "polars", "psutil")
    session.install("--no-deps", "--editable=./bundle")
    run_tests(session, (*TESTS, *LIBRARY_TESTS), ignored=(SOCKETS, DEPRECATED))


@nox.session(name="pyspark-4.1", python="3.11")
def pyspark_4_1(session: nox.Session) -> None:
    """Run on PySpark 4.1."""
    install_all(session, "pyspark==4.1.*", "pandas==2.*")
    run_tests(session, TESTS, ignored=(SOCKETS,))


@nox.session(name="pyspark-4.2", python="3.11")
def pyspark_4_2(session: nox.Session) -> None:
    """Run on PySpark 4.2."""
    install_all(session, "pyspark==4.2.*", "pandas==2.*")
    run_tests(session, TESTS)


@nox.session(name="pyspark-4.3", python="3.11")
def pyspark_4_3(session: nox.Session) -> None:
    """Run on PySpark 4.3."""
    install_all(session, "pyspark==4.3.*", "pandas==2.*")
    run_tests(session, TESTS)


@nox.session(name="python-3.12", python="3.12")
def python_3_12(session: nox.Session) -> None:
    """Run on Python 3.12."""
    install_all(session, "pyspark==4.3.*", "pandas==2.*")
    run_tests(session, TESTS)


@nox.session(name="python-3.13", python="3.13")
def python_3_13(session: nox.Session) -> None:
    """Run on Python 3.13 with pandas 3."""
    install_all(session, "pyspark==4.3.*", "pandas==3.*")
    run_tests(session, TESTS, ignored=(PANDAS_3,))


@nox.session(name="python-3.14", python="3.14")
def python_3_14(session: nox.Session) -> None:
    """Run on Python 3.14 with pandas 3."""
    install_all(session, "pyspark==4.3.*", "pandas==3.*")
    run_tests(session, TESTS, ignored=(PANDAS_3,))


@nox.session(python=f"{sys.version_info.major}.{sys.version_info.minor}")
def client(session: nox.Session) -> None:
    """Query a Spark Connect server of the Python that runs nox from a client without Spark, `pyspark-client` alone.

    A client may be older than its server; one of 4.2 cannot read the limits that a server of 4.1 sends.
    """
    engine = distributions()["muntin-engine"]
    provided = {"pyspark", *distributions(), *(requirement.name for requirement in engine.extras["connect"])}
    required: list[Requirement] = [*engine.extras["spark"], *engine.extras["local"], *engine.extras["sql"]]
    for distribution in our_distributions():
        required += distribution.extras[""]
    missing = [str(requirement) for requirement in required if requirement.name not in provided]
    session.install(*missing, "pyspark-client==4.1.*", "pandas==2.*")
    session.install("--no-deps", *editable(our_distributions()))
    command = [
        sys.executable,
        "-m",
        "tests.engine.backends.spark.client_alone",
        sys.executable,
        f"{session.bin}/python",
    ]
    session.run(*command, external=True, env=WITHOUT_ANOTHER_SPARK)


@nox.session(name="without-spark", python=f"{sys.version_info.major}.{sys.version_info.minor}", reuse_venv=False)
def without_spark(session: nox.Session) -> None:
    """Take a newcomer's first steps with what `pip install muntin` brings: no PySpark, no pandas, no Java."""
    session.install("--requirement=requirements.txt")
    session.run(sys.executable, "-m", "tests.cli.first_steps", f"{session.bin}/python", external=True)


@nox.session(python=False, default=False)
def upgrade(session: nox.Session) -> None:
    """Have the environments of other sessions continue one checkpoint, and the first one query a server of the last."""
    folders = [ROOT / "build/versions" / name.replace(".", "-") for name in UPGRADES]
    pythons = [str(folder / "bin/python") for folder in folders if folder.is_dir()]
    if len(pythons) < 2:
        session.error(f"two of these sessions have to run before: {', '.join(UPGRADES)}")
    session.run(sys.executable, "-m", "tests.engine.backends.spark.upgrade", *pythons, env=WITHOUT_ANOTHER_SPARK)
    session.run(
        sys.executable,
        "-m",
        "tests.engine.backends.spark.connect_server",
        pythons[-1],
        pythons[0],
        env=WITHOUT_ANOTHER_SPARK,
    )


def our_distributions() -> list[Distribution]:
    """Return all distributions but `muntin`, which brings the others, and pandas 2."""
    return [each for each in distributions().values() if each.name != "muntin"]


def editable(ours: list[Distribution]) -> list[str]:
    """Return the options of pip that install distributions from their folders."""
    return [f"--editable={each.folder}" for each in ours]


def install_all(session: nox.Session, *packages: str) -> None:
    """Install our distributions and what they and the tests require, with packages of certain versions."""
    extras = ["--editable=./engine[local,spark,jre,connect,sql]", "--requirement=requirements-dev.txt"]
    session.install(*editable(our_distributions()), *extras, *packages)
    session.install("--no-deps", "--editable=./bundle")


def run_tests(session: nox.Session, tests: tuple[str, ...], *, ignored: tuple[str, ...] = ()) -> None:
    """Run tests, or those that stand behind `--`, and print the versions for the table of docs/compatibility.md.

    Args:
        session: The session, with everything installed.
        tests: What pytest runs.
        ignored: Filters for warnings that a version gives and Muntin cannot help.
    """
    filters = [f"-W{warning}" for warning in ignored]
    command = ["python", "-m", "pytest", "-q", "-p", "no:cacheprovider", *filters]
    session.run(*command, *(session.posargs or tests), env=WITHOUT_ANOTHER_SPARK)
    session.run("python", "-c", PRINT_VERSIONS, log=False)
