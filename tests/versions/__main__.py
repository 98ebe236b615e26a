"""`python -m tests.versions [environment ...]`: run tests on other versions of Python, PySpark and pandas.

Each combination has an environment of its own, in build/versions. One whose Python is not on this machine is left out,
and named. Where there are several, they go on with one checkpoint in turn, and the last asks a server of the first.
A client of Spark Connect that has no Spark of its own asks a server of another environment.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from xml.etree import ElementTree

from tests.versions import client_alone, remote, story, upgrade
from tests.versions.environments import ENVIRONMENTS, LIBRARIES, QUICK, SPARK, Environment, python_of
from tests.versions.installing import environment_python
from tests.versions.lowest import lowest_versions
from tests.versions.record import COLUMNS, ROOT, Run, keep

_SERVER: Final = "4.3"
"""The environment that is made to serve a client that is run alone."""
_IN_TURN: Final = [name for name, one in ENVIRONMENTS.items() if not one.is_client and not one.is_lowest]
"""Environments that go on with one checkpoint."""

_VERSIONS = """
import json, platform, sys
from importlib.metadata import version
from muntin_engine.spark.session.java import find_java
told = {"python": platform.python_version(), "java": str(find_java().version)}
print(json.dumps(told | {name: version(name) for name in sys.argv[1:]}))
"""


def main() -> int:
    """Run what is asked for, and return how many runs failed."""
    parser = argparse.ArgumentParser(prog="make test-versions", description=__doc__)
    parser.add_argument("environments", nargs="*", help="those alone; all by default")
    parser.add_argument("--spark", action="store_true", help="all tests that run a query in Spark, not the quick part")
    parser.add_argument("--record", action="store_true", help="write down what was run, for docs/compatibility.md")
    options = parser.parse_args()
    if unknown := set(options.environments) - set(ENVIRONMENTS):
        parser.error(f"no environment {', '.join(sorted(unknown))}; there are {', '.join(ENVIRONMENTS)}")
    pythons = _pythons(options.environments or ENVIRONMENTS)
    failures = 0
    for name, python in pythons.items():
        if ENVIRONMENTS[name].is_client:
            continue
        run = _run(name, ENVIRONMENTS[name], python, is_quick=not options.spark)
        failures += bool(run.failed or not run.passed)
        if options.record:
            keep(run)
    return failures + _go_on_together(pythons) + _ask_from_clients(pythons)


def _pythons(names: Iterable[str]) -> dict[str, Path]:
    """Return the Python of each environment whose Python this machine has; those of the others are named."""
    pythons: dict[str, Path] = {}
    for name in names:
        environment = ENVIRONMENTS[name]
        python = python_of(environment.python)
        if python is None:
            print(f"{name}: left out, this machine has no Python {environment.python}", flush=True)
        else:
            pythons[name] = environment_python(name, environment, python)
    return pythons


def _go_on_together(pythons: Mapping[str, Path]) -> int:
    """Have several environments go on with one checkpoint in turn, and the last one ask a server of the first."""
    in_turn = [str(python) for name, python in pythons.items() if name in _IN_TURN]
    if len(in_turn) < 2:
        return 0
    return upgrade.main(in_turn[: story.FILES]) + remote.main(in_turn[0], in_turn[-1])


def _ask_from_clients(pythons: Mapping[str, Path]) -> int:
    """Have each client without Spark ask a server: in the last environment of its Python, or in `_SERVER`."""
    failures = 0
    for name, python in pythons.items():
        if not ENVIRONMENTS[name].is_client:
            continue
        servers = [other for other in pythons if _serves(other, name)] or [_SERVER]
        server = pythons.get(servers[-1]) or _pythons([servers[-1]])[servers[-1]]
        print(f"{name}: asks a server of {servers[-1]}", flush=True)
        failures += client_alone.main(str(server), str(python))
    return failures


def _serves(server: str, client: str) -> bool:
    """Return True if an environment has Spark, and the Python of a client."""
    return not ENVIRONMENTS[server].is_client and ENVIRONMENTS[server].python == ENVIRONMENTS[client].python


def _run(name: str, environment: Environment, python: Path, *, is_quick: bool) -> Run:
    """Run tests in an environment, and return what became of them."""
    began = time.monotonic()
    filters = [f"-W{warning}" for warning in environment.warnings]
    without_home = {key: value for key, value in os.environ.items() if key != "SPARK_HOME"}  # another Spark's, perhaps
    tests = [*(QUICK if is_quick else SPARK), *(LIBRARIES if environment.is_lowest else ())]
    with TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        options = ["-q", "-p", "no:cacheprovider", f"--junit-xml={report}", *filters]
        subprocess.run([python, "-m", "pytest", *options, *tests], cwd=ROOT, env=without_home, check=False)
        suite = ElementTree.parse(report).find(".//testsuite") if report.is_file() else None
    names = ("tests", "skipped", "errors", "failures")
    tests_run, skipped, *bad = [int(suite.attrib[name]) for name in names] if suite is not None else [1, 0, 1]
    failed = sum(bad)
    passed = tests_run - skipped - failed
    packages = {*COLUMNS[3:], "pyspark", *(lowest_versions() if environment.is_lowest else ())}
    asked = subprocess.run(
        [python, "-c", _VERSIONS, *sorted(packages)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    versions = json.loads(asked.stdout)
    print(f"{name}: {passed} passed, {skipped} skipped, {failed} failed, {time.monotonic() - began:.0f} s", flush=True)
    part, day = "quick" if is_quick else "spark", datetime.now(UTC).date().isoformat()
    return Run(name, part, day, versions, passed, skipped, failed)


if __name__ == "__main__":
    sys.exit(main())
