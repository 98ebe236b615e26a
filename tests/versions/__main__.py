"""`python -m tests.versions [environment ...]`: run tests on other versions of Python, PySpark and pandas.

Each combination has an environment of its own, in build/versions. One whose Python is not on this machine is left out,
and named. Where there are several, they go on with one checkpoint in turn, and the last asks a server of the first.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree

from release.distributions import distributions
from tests.versions import remote, story, upgrade
from tests.versions.environments import ENVIRONMENTS, QUICK, SPARK, Environment, python_of
from tests.versions.record import ROOT, Run, keep

_VERSIONS = """
import json, platform
from importlib.metadata import version
from muntin_engine.spark.session.java import find_java
names = ("pyspark", "pandas", "pyarrow", "numpy", "protobuf")
found = {"python": platform.python_version(), "java": str(find_java().version)}
print(json.dumps(found | {name: version(name) for name in names}))
"""


def main() -> int:
    """Run what is asked for, and return how many runs failed."""
    asked = argparse.ArgumentParser(prog="make test-versions", description=__doc__)
    asked.add_argument("environments", nargs="*", help="those alone; all by default")
    asked.add_argument("--spark", action="store_true", help="all tests that run a query in Spark, not the quick part")
    asked.add_argument("--record", action="store_true", help="write down what was run, for docs/compatibility.md")
    told = asked.parse_args()
    if unknown := set(told.environments) - set(ENVIRONMENTS):
        asked.error(f"no environment {', '.join(sorted(unknown))}; there are {', '.join(ENVIRONMENTS)}")
    failures = 0
    pythons: list[str] = []
    for name in told.environments or ENVIRONMENTS:
        environment = ENVIRONMENTS[name]
        python = python_of(environment.python)
        if python is None:
            print(f"{name}: left out, this machine has no Python {environment.python}", flush=True)
            continue
        pythons.append(str(_made(name, environment, python)))
        run = _run(name, environment, Path(pythons[-1]), is_quick=not told.spark)
        failures += bool(run.failed or not run.passed)
        if told.record:
            keep(run)
    if len(pythons) > 1:
        failures += upgrade.main(pythons[: story.FILES]) + remote.main(pythons[0], pythons[-1])
    return failures


def _made(name: str, environment: Environment, python: Path) -> Path:
    """Return the Python of an environment, made or brought up to date first if its requirements changed."""
    folder = ROOT / "build" / "versions" / name
    ours = [each.folder for each in distributions().values() if each.name != "muntin"]
    needs = [folder / "pyproject.toml" for folder in ours] + [ROOT / "requirements-dev.txt"]
    wanted = "\n".join([*environment.packages, *(file.read_text(encoding="utf-8") for file in needs)])
    stamp, made = folder / "made", folder / "bin" / "python"
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != wanted:
        print(f"{name}: installing into {folder.relative_to(ROOT)}", flush=True)
        subprocess.run([python, "-m", "venv", folder], check=True)
        editable = [f"--editable={each}" for each in ours]
        extras = ["--editable=./engine[jre,connect]", "--requirement=requirements-dev.txt"]
        pip = [str(made), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *editable, *extras, *environment.packages], cwd=ROOT, check=True)
        subprocess.run([*pip, "--no-deps", "--editable=./bundle"], cwd=ROOT, check=True)  # it would bring pandas 2
        stamp.write_text(wanted, encoding="utf-8")
    return made


def _run(name: str, environment: Environment, python: Path, *, is_quick: bool) -> Run:
    """Run tests in an environment, and return what became of them."""
    began = time.monotonic()
    filters = [f"-W{warning}" for warning in environment.warnings]
    without_home = {key: value for key, value in os.environ.items() if key != "SPARK_HOME"}  # another Spark's, perhaps
    with TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        tests = QUICK if is_quick else SPARK
        options = ["-q", "-p", "no:cacheprovider", f"--junit-xml={report}", *filters]
        subprocess.run([python, "-m", "pytest", *options, *tests], cwd=ROOT, env=without_home, check=False)
        suite = ElementTree.parse(report).find(".//testsuite") if report.is_file() else None
    names = ("tests", "skipped", "errors", "failures")
    tests_run, skipped, *bad = [int(suite.attrib[name]) for name in names] if suite is not None else [1, 0, 1]
    failed = sum(bad)
    passed = tests_run - skipped - failed
    asked = subprocess.run([python, "-c", _VERSIONS], cwd=ROOT, capture_output=True, text=True, check=True)
    versions = json.loads(asked.stdout)
    print(f"{name}: {passed} passed, {skipped} skipped, {failed} failed, {time.monotonic() - began:.0f} s", flush=True)
    part, day = "quick" if is_quick else "spark", datetime.now(UTC).date().isoformat()
    return Run(name, part, day, versions, passed, skipped, failed)


if __name__ == "__main__":
    sys.exit(main())
