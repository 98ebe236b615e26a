"""The page says which versions tests were run on, and the quick part is of tests that there are."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.version import Version

from release.distributions import distributions
from tests.versions.environments import ENVIRONMENTS, LIBRARIES, QUICK, SPARK, python_of
from tests.versions.lowest import constraints, lower_bound, lowest_versions, required_of_others
from tests.versions.record import PAGE, ROOT, Run, read_runs, table

_IN_A_COMMAND = re.compile(r"'([a-z-]+)>=([\d.]+)[^']*'")
_IN_THE_TABLE = re.compile(r"^\| `([a-z-]+)` \| `>=([\d.]+)", re.MULTILINE)


def test_the_page_has_the_runs_that_were_recorded_and_all_passed() -> None:
    runs = read_runs()
    assert table(runs) in PAGE.read_text(encoding="utf-8")
    assert {run.environment for run in runs} <= set(ENVIRONMENTS)
    assert {run.versions["pyspark"][:3] for run in runs} == {"4.1", "4.2", "4.3"}
    assert [run for run in runs if run.failed or not run.passed] == []


def test_a_row_of_the_table_has_versions_counts_and_day() -> None:
    versions = dict.fromkeys(("pyspark", "python", "java", "pandas", "pyarrow", "numpy", "protobuf"), "1.2")
    line = table([Run("4.1", "quick", "2026-01-31", versions, passed=30, skipped=0, failed=2)]).splitlines()[-1]
    assert line == f"| {'1.2 | ' * 7}quick: 30 passed, 2 failed | 2026-01-31 |"


def test_every_requirement_says_how_old_it_may_be_and_all_distributions_say_the_same() -> None:
    bounds: dict[str, set[Version | None]] = {}
    for _, requirement in required_of_others(distributions().values()):
        if requirement.name != "pandas" or lower_bound(requirement) is not None:  # `muntin` only says which is too new
            bounds.setdefault(requirement.name, set()).add(lower_bound(requirement))
    assert len(bounds) > 20
    assert {name: found for name, found in bounds.items() if None in found or len(found) > 1} == {}


def test_each_lower_bound_is_what_the_run_at_the_lowest_versions_passed_on() -> None:
    """After a bound is changed: `make test-versions VERSIONS=lowest RECORD=1`."""
    (run,) = [run for run in read_runs() if (run.environment, run.part) == ("lowest", "quick")]
    recorded = {name: Version(run.versions[name]) for name in lowest_versions() if name in run.versions}
    assert recorded == lowest_versions()


def test_constraints_pin_what_is_required_at_its_lower_bound() -> None:
    lines = constraints().splitlines()
    assert f"pyarrow=={lowest_versions()['pyarrow']}" in lines
    assert len(lines) == len(lowest_versions())


def test_pages_say_the_same_bounds() -> None:
    said: dict[str, set[str]] = {}
    for page in sorted((ROOT / "docs").rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        for name, bound in [*_IN_A_COMMAND.findall(text), *(_IN_THE_TABLE.findall(text) if page == PAGE else ())]:
            said.setdefault(name, set()).add(bound)
    lowest = lowest_versions()
    assert {"pyarrow", "numpy", "msgpack", "packaging"} <= said.keys()
    assert {name: bounds for name, bounds in said.items() if name in lowest and bounds != {_spelled(name)}} == {}


def _spelled(name: str) -> str:
    """Return the lower bound of a package as our distributions spell it."""
    found = [requirement for _, requirement in required_of_others(distributions().values()) if requirement.name == name]
    (bound,) = {each.version for requirement in found for each in requirement.specifier if each.operator == ">="}
    return bound


def test_the_pythons_of_the_metadata_are_those_that_tests_ran_on() -> None:
    ran = {".".join(run.versions["python"].split(".")[:2]) for run in read_runs()}
    prefix = "Programming Language :: Python :: 3."
    projects = [each.project for each in distributions().values()]
    files = [ROOT / "templates" / "plugin" / "pyproject.toml"]
    projects += [tomllib.loads(file.read_text(encoding="utf-8"))["project"] for file in files]
    for project in projects:
        listed = {each.rpartition(" ")[2] for each in project["classifiers"] if each.startswith(prefix)}
        assert listed == ran, project["name"]


@pytest.mark.parametrize("named", [*QUICK, *SPARK, *LIBRARIES])
def test_what_is_run_elsewhere_is_a_test(named: str) -> None:
    file, _, test = named.partition("::")
    assert (ROOT / file).exists()
    assert not test or f"def {test}(" in (ROOT / file).read_text(encoding="utf-8")


def test_a_python_is_found_by_what_it_says_it_is(tmp_path: Path) -> None:
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    liar = tmp_path / "python2.9"
    liar.write_text("#!/bin/sh\necho 3.0\n", encoding="utf-8")
    liar.chmod(0o755)
    assert python_of(version, {"PATH": str(Path(sys.executable).parent)})
    assert python_of("2.9", {"PATH": str(tmp_path), "HOME": str(tmp_path)}) is None
