"""What runs where PySpark and pandas are not installed, and what is said where they are needed.

The packages are hidden from programs, and from those that these start. `make test-versions VERSIONS=without-spark` runs
an environment that does not have them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Final

import pytest

from muntin import tumbling
from muntin.testing import Script
from muntin_stats import Sum
from tests.cli.first_steps import HOURS, JOB_TEST, PLUGINS_OF_JOB_TEST, RIDES
from tests.docs.pages import NOTEBOOKS, ROOT, blocks, name_of
from tests.engine.recording.recorded import recorded
from tests.scenarios.query import Query
from tests.scenarios.running import Mishaps
from tests.scenarios.scenario import Scenario

HIDES: Final = """
import sys


class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"pyspark", "py4j", "pandas", "polars"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Hidden())
"""
"""A program that hides the packages from the Python that runs it."""

NEEDS_PYSPARK: Final = "needs PySpark, which is not installed\n  install it: pip install 'muntin[spark]'"

OF_SPARK: Final = {
    *("MetricsListener", "local_session", "prepare_session", "read_query", "read_state", "root_cause"),
    *("spark_session", "stop_session"),
}
"""The names of the engine that PySpark is needed for."""

FIRST_PAGES: Final = [
    *(ROOT / name for name in ("README.md", "bundle/README.md", "docs/index.md", "docs/tutorials/first-query.md")),
    *(notebook for notebook in NOTEBOOKS if notebook.stem in ("first-module", "first-query", "join")),
]
"""The pages and notebooks of newcomers that need no Spark before their streams."""

QUERY: Final = """
from datetime import datetime

import pyarrow as pa

from muntin import tumbling
from muntin_engine import events, module, query_from_dict

rides = pa.table({
    "station": ["north", "north", "south"],
    "leaves": [datetime(2024, 5, 1, 8, 5), datetime(2024, 5, 1, 8, 40), datetime(2024, 5, 1, 9, 10)],
    "km": [3.0, 7.5, 2.0],
})
hours = events(rides, key="station", at="leaves").window(tumbling("1 hour"))
query = hours.aggregate(spread=module(lambda kms: max(kms) - min(kms), "km", returns=float))


def spreads(results):
    return sorted((row["station"], row["spread"]) for row in results.to_pylist())
"""
"""The beginning of a program, with rides, their hours, a query over them, and a function that reads its results."""


@pytest.fixture(scope="module")
def hiding(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder from which each Python that starts hides the packages from itself."""
    folder = tmp_path_factory.mktemp("hiding")
    (folder / "sitecustomize.py").write_text(HIDES, encoding="utf-8")
    return folder


class Python:
    """Runs Python in a folder, where the packages are hidden."""

    def __init__(self, hiding: Path, folder: Path) -> None:
        """Hide the packages.

        Args:
            hiding: The folder from which a Python hides them from itself as it starts.
            folder: The folder in which programs run.
        """
        self._folder = folder
        paths = filter(None, [str(hiding), os.environ.get("PYTHONPATH")])
        self._environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "COLUMNS": "200"}

    def program(self, text: str) -> str:
        """Run a program, and return its output."""
        return self._output("-c", textwrap.dedent(text))

    def command(self, *arguments: str | Path, code: int = 0) -> str:
        """Run the command `muntin`, check that it ends with a code, and return its output on both streams."""
        return self._output("-m", "muntin_cli", *map(str, arguments), code=code)

    def tests(self) -> str:
        """Run pytest in the folder, and return its output."""
        return self._output("-m", "pytest", "-q", "-p", "no:cacheprovider")

    def _output(self, *arguments: str, code: int = 0) -> str:
        """Run Python with arguments, check that it ends with a code, and return its output on both streams."""
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self._folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stdout
        return done.stdout


@pytest.fixture
def python(hiding: Path, tmp_path: Path) -> Python:
    """Python without the packages, in an empty folder."""
    return Python(hiding, tmp_path)


def test_every_name_of_the_engine_is_there_or_says_what_to_install(python: Python) -> None:
    printed = python.program(
        """
        import muntin_engine
        from muntin_engine import SetupError

        for name in muntin_engine.__all__:
            try:
                getattr(muntin_engine, name)
            except SetupError as error:
                print(error)
        """
    )
    assert printed == "".join(f"{name} {NEEDS_PYSPARK}\n" for name in sorted(OF_SPARK))


def test_only_the_backend_of_spark_imports_pyspark(python: Python) -> None:
    printed = python.program(
        """
        from importlib import import_module
        from pkgutil import walk_packages

        for root in ("muntin", "muntin_engine", "muntin_cli", "muntin_stats", "muntin_patterns", "muntin_adapters"):
            for module in walk_packages(import_module(root).__path__, f"{root}."):
                if module.name.startswith("muntin_engine.backends.spark.") or module.name.endswith("__main__"):
                    continue
                try:
                    import_module(module.name)
                except ModuleNotFoundError as error:
                    print(module.name, error.name)
        """
    )
    assert set(printed.splitlines()) == {
        "muntin_engine.monitoring.metrics_listener pyspark",  # Spark calls it
        "muntin_engine.testing.streaming.job_on_spark pyspark",
        "muntin_adapters.series pandas",  # its functions take and return Series
    }


@pytest.mark.parametrize("page", FIRST_PAGES, ids=name_of)
def test_a_page_of_newcomers_runs_up_to_its_first_stream(page: Path, python: Python, tmp_path: Path) -> None:
    program = ""
    for block in blocks(page):
        if block.file is not None:
            (tmp_path / block.file).write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            if "spark" in block.text:
                break
            program += block.text
    assert "events(" in program
    python.program(program)


def test_a_query_over_a_table_runs(python: Python) -> None:
    printed = python.program(f"{QUERY}\nprint(spreads(query.results()))")
    assert printed == "[('north', 4.5), ('south', 0.0)]\n"


def test_an_expression_calls_functions_of_plugins_unless_they_are_vectorised(python: Python) -> None:
    printed = python.program(
        f"""{QUERY}
from muntin_engine import SetupError
print(hours.aggregate(spread=module("stats.sum", "stats_clamp(km, 0D, 5D)")).results().column("spread").to_pylist())
try:
    hours.aggregate(spread=module("stats.sum", "stats_log1p(km)"))
except SetupError as error:
    print(error)
"""
    )
    clamped_sums = json.loads(printed.splitlines()[0])
    assert sorted(clamped_sums) == [2.0, 8.0]
    assert "stats.log1p, a vectorised function, needs pandas, which is not installed" in printed


def test_a_query_as_data_runs(python: Python) -> None:
    printed = python.program(
        f"""{QUERY}
km = hours.aggregate(spread=module("stats.sum", "km")).to_dict(rides=rides)
print(spreads(query_from_dict(km, {{"rides": rides}}).results()))
"""
    )
    assert printed == "[('north', 10.5), ('south', 2.0)]\n"


def test_a_recording_is_replayed(python: Python, tmp_path: Path) -> None:
    # .point(event, time, value)
    stream = Script().point(1, 2, 5, key="a").point(2, 3, 7, key="b").batch().close()
    query = Query(tumbling(10), (Sum(),), lifetimes="points")
    recorded(Scenario(query, stream, Mishaps(cuts=None, disorder=False)), "columnar", tmp_path / "recording")
    printed = python.command("replay", "recording")
    assert "2 results, no late rows, no rejected rows" in printed


def test_a_streaming_job_is_tested(python: Python, tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(PLUGINS_OF_JOB_TEST, encoding="utf-8")
    (tmp_path / "test_job.py").write_text(JOB_TEST, encoding="utf-8")
    assert "1 passed" in python.tests()


def test_the_commands_that_need_no_spark_run(python: Python) -> None:
    assert "Answer a query in SQL" in python.command("--help")
    assert "stats.count" in python.command("modules")
    assert "hopping, points" in python.command("describe", "stats.sum")
    assert "no troubles" in python.command("doctor")


@pytest.fixture
def rides_as_csv(tmp_path: Path) -> None:
    """The file `rides.csv`, in the folder in which programs run."""
    (tmp_path / "rides.csv").write_text("station,leaves,km\nnorth,2024-05-01T08:05:00Z,3\n")


@pytest.mark.usefixtures("rides_as_csv")
def test_a_question_with_windows_is_answered(python: Python, tmp_path: Path) -> None:
    (tmp_path / "hours.sql").write_text(
        "SELECT station, window_start, SUM(km) AS km FROM TUMBLE(TABLE rides, DESCRIPTOR(leaves), INTERVAL '1' HOUR)"
        " GROUP BY station, window_start, window_end"
    )
    assert "north    2024-05-01 08:00:00  3" in python.command("query", "hours.sql", "--input", "rides")


@pytest.mark.usefixtures("rides_as_csv")
def test_a_question_in_plain_sql_is_answered_unless_spark_is_to_answer_it(python: Python, tmp_path: Path) -> None:
    (tmp_path / "plain.sql").write_text("SELECT station, COUNT(*) AS n FROM rides GROUP BY station")
    assert "north    1" in python.command("query", "plain.sql", "--input", "rides")
    assert NEEDS_PYSPARK in python.command("query", "plain.sql", "--input", "rides", "--spark", code=3)


def test_a_package_is_made_and_checked(python: Python) -> None:
    assert "pip install --editable '.[test]'" in python.command("new", "weather")
    checked = python.command("check", "muntin-patterns")
    assert "opened 7 modules in an empty folder" in checked


def test_a_question_of_a_file_of_json_is_answered_unless_spark_is_to_answer_it(python: Python, tmp_path: Path) -> None:
    (tmp_path / "rides.json").write_text(RIDES, encoding="utf-8")
    (tmp_path / "hours.sql").write_text(HOURS, encoding="utf-8")
    assert "north    2024-05-01 08:00:00  4.5     2" in python.command("query", "hours.sql", "--input", "rides.json")
    assert NEEDS_PYSPARK in python.command("query", "hours.sql", "--input", "rides.json", "--spark", code=3)


def test_a_command_that_needs_spark_says_what_to_install(python: Python) -> None:
    assert NEEDS_PYSPARK in python.command("state", "checkpoint", code=3)


def test_modules_are_checked_to_be_pickled_without_pyspark(python: Python) -> None:
    """The check of pickling finds the lock that cannot be pickled, and loads no package of Spark."""
    printed = python.program(
        """
        import pickle
        import sys
        from threading import Lock

        from muntin import Aggregate
        from muntin_cli.checking.subjects import CheckedSubject, Subjects
        from muntin_cli.checking.travelling import check_pickling


        class Range(Aggregate[float, float]):
            name, version = "tides.range", "1.0.0"

            def compute_result(self, payloads):
                return max(payloads) - min(payloads)


        class Locked(Range):
            name = "tides.locked"

            def __init__(self):
                self.lock = Lock()


        modules = (Range(), Locked())
        subjects = tuple(CheckedSubject(module.name, module) for module in modules)
        section, pickled = check_pickling(Subjects(subjects, {}))
        print(*(item.text for item in section.items), sep="\\n")
        print(pickle.loads(pickled["tides.range"]).compute_result([1.0, 4.5]), "pyspark" in sys.modules)
        """
    )
    assert "1 module, the largest is tides.range" in printed
    assert (
        "tides.locked cannot be pickled: TypeError: cannot pickle '_thread.lock' object\n  keep open files" in printed
    )
    assert printed.endswith("3.5 False\n")
