"""What a query over a table in this process imports: what it uses, and nothing besides."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from packaging.version import Version

WITHOUT_PANDAS: Final = pytest.mark.skipif(
    Version(pa.__version__) < Version("26"), reason="older versions of Arrow import pandas in other calls, too"
)
"""The mark of tests about what `arrow_arrays` goes around."""

QUERY_OF_A_FUNCTION: Final = """
import sys
from muntin import tumbling
from muntin_engine import events, module

def spread(values):
    return max(values) - min(values)

windows = events({path!r}, key="key", at="at"{arguments}).window(tumbling("1 minute"))
results = windows.aggregate(spread=module(spread, {column!r}, returns=float)).results()
assert results.column("spread").to_pylist() == [3.0], results
print(*sorted(sys.modules))
"""
"""A program that prints the modules that it has imported; its places are the path of a file and parts of a query."""

QUERIES_OF_MANY_KINDS: Final = """
import sys
from typing import ClassVar

import polars
from muntin import Aggregate, hopping, session, tumbling
from muntin_engine import events, module

class Spread(Aggregate[float, float]):
    name: ClassVar[str] = "tests.spread"

    def compute_result(self, values):
        return max(values) - min(values)

def label(values: list[float]) -> str:
    return "long" if len(values) > 1 else "short"

average = module("stats.average", "value")
for rows in ({path!r}, polars.read_parquet({path!r}), polars.scan_parquet({path!r})):
    for window in (tumbling("1 minute"), hopping("10 minutes", "1 minute"), session("5 seconds")):
        for evaluator in ("auto", "general"):
            windows = events(rows, key="key", at="at").where("value > 0").window(window, evaluator=evaluator)
            results = windows.aggregate(a=average, b=module(Spread, "value"), c=module(label, "value")).results()
            assert len(results) if not hasattr(results, "collect") else len(results.collect())
print(*sorted(sys.modules))
"""

NEVER_IMPORTED: Final = frozenset(
    {
        *("pyspark", "py4j", "polars", "sqlglot", "pandas", "loky"),  # of other backends and kinds of tables
        *("asyncio", "multiprocessing", "unittest", "pytest", "rich", "typer", "yaml"),
        *("sqlite3", "psycopg", "deltalake", "pyiceberg", "confluent_kafka"),  # of sinks
        *("packaging.requirements", "subprocess", "tarfile"),  # of installed packages
        *("muntin_stats", "muntin_patterns", "muntin_adapters"),  # plugins whose modules it does not name
    }
)
"""Modules and packages that a query of a function over columns does not use."""

NEVER_IMPORTED_OF_OURS: Final = (
    "muntin_engine.backends.spark",
    "muntin_engine.monitoring",
    "muntin_engine.recording",
    "muntin_engine.sinks.changelog_table",
    "muntin_engine.sinks.databases",
    "muntin_engine.packages.distributions",
    "muntin_engine.sql_text",
    "muntin_engine.testing",
)


def imported(script: str) -> set[str]:
    """Run a script in a process of its own, and return the names of the modules that it has imported."""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return set(run.stdout.split())


@pytest.fixture
def path(tmp_path: Path) -> str:
    """The path of a file with two rows of one key, whose values are 3 apart."""
    file = tmp_path / "rows.parquet"
    times = pa.array([0, 10_000_000], pa.timestamp("us", "UTC"))
    pq.write_table(pa.table({"key": [1, 1], "at": times, "value": [1.0, 4.0]}), file)
    return str(file)


@WITHOUT_PANDAS
def test_a_query_of_a_function_imports_what_it_uses(path: str) -> None:
    modules = imported(QUERY_OF_A_FUNCTION.format(path=path, column="value", arguments=""))
    assert modules & NEVER_IMPORTED == set()
    for package in NEVER_IMPORTED_OF_OURS:
        assert [name for name in modules if f"{name}.".startswith(f"{package}.")] == []


def test_expressions_in_sql_import_their_parser_and_no_pyspark(path: str) -> None:
    for column, arguments in (("value + 0", ""), ("value", ", rows='value > 0'")):
        modules = imported(QUERY_OF_A_FUNCTION.format(path=path, column=column, arguments=arguments))
        assert "sqlglot" in modules
        assert "pyspark" not in modules


@WITHOUT_PANDAS
def test_pandas_is_imported_by_none_of_many_queries(path: str) -> None:
    """`pa.array`, `pa.scalar` and `to_numpy` import it where it is installed: `arrow_arrays` has what to call."""
    assert "pandas" not in imported(QUERIES_OF_MANY_KINDS.format(path=path))
