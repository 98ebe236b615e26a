"""The versions on docs/compatibility.md, in the packages' metadata and in noxfile.py agree."""

from __future__ import annotations

import re
import tomllib

import pytest
from packaging.version import Version

import noxfile
from release.distributions import ROOT, distributions
from release.lowest_versions import constraints, lower_bound, lowest_versions, required_packages

PAGE = ROOT / "docs/compatibility.md"
COLUMNS = ["PySpark", "Python", "Java", "`pandas`", "`pyarrow`", "`numpy`", "`protobuf`", "tests", "when"]
_REQUIREMENT_IN_A_COMMAND = re.compile(r"'([a-z-]+)>=([\d.]+)[^']*'")
_REQUIREMENT_IN_THE_TABLE = re.compile(r"^\| `([a-z-]+)` \| `>=([\d.]+)", re.MULTILINE)


def runs() -> list[dict[str, str]]:
    """Return the lines of the table of runs, each by its columns."""
    _, _, after_header = PAGE.read_text(encoding="utf-8").partition(f"| {' | '.join(COLUMNS)} |\n")
    table, _, _ = after_header.partition("\n\n")
    lines = table.splitlines()[1:]
    assert len(lines) > 5
    return [dict(zip(COLUMNS, map(str.strip, line.strip("|").split("|")), strict=True)) for line in lines]


def test_the_runs_on_the_page_have_every_version_of_pyspark() -> None:
    assert {run["PySpark"][:3] for run in runs()} == {"4.1", "4.2", "4.3"}


def test_all_runs_on_the_page_passed() -> None:
    for run in runs():
        assert "passed" in run["tests"]
        assert "failed" not in run["tests"]


def test_one_run_on_the_page_has_the_lower_bounds_of_the_packages() -> None:
    """After a bound is changed: `make test-versions VERSIONS=lowest`, which prints the line."""
    columns = {"pyspark": "PySpark"} | {name: f"`{name}`" for name in ("pandas", "pyarrow", "numpy", "protobuf")}
    lowest = {column: lowest_versions()[name] for name, column in columns.items()}

    def has_lower_bounds(run: dict[str, str]) -> bool:
        return all(Version(run[column]) == version for column, version in lowest.items())

    assert any(map(has_lower_bounds, runs()))


def test_the_pythons_of_the_metadata_are_those_that_tests_ran_on() -> None:
    minor_versions = {run["Python"].rpartition(".")[0] for run in runs()}
    prefix = "Programming Language :: Python :: 3."
    projects = [distribution.project for distribution in distributions().values()]
    template = (ROOT / "templates/plugin/pyproject.toml").read_text(encoding="utf-8")
    projects.append(tomllib.loads(template)["project"])
    for project in projects:
        classifiers = [classifier for classifier in project["classifiers"] if classifier.startswith(prefix)]
        listed_versions = {classifier.rpartition(" ")[2] for classifier in classifiers}
        assert listed_versions == minor_versions, project["name"]


def test_every_requirement_says_how_old_it_may_be_and_all_distributions_say_the_same() -> None:
    bounds: dict[str, set[Version | None]] = {}
    for requirement in required_packages():
        bound = lower_bound(requirement)
        if requirement.name == "pandas" and bound is None:
            continue  # of `muntin`, which only says which pandas is too new
        bounds.setdefault(requirement.name, set()).add(bound)
    assert len(bounds) > 20
    for name, versions in bounds.items():
        assert None not in versions, name
        assert len(versions) == 1, name


def test_constraints_pin_what_is_required_at_its_lower_bound() -> None:
    lines = constraints().splitlines()
    assert f"pyarrow=={lowest_versions()['pyarrow']}" in lines
    assert len(lines) == len(lowest_versions())


def test_pages_say_the_same_bounds() -> None:
    bounds: dict[str, set[str]] = {}
    for page in sorted((ROOT / "docs").rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        requirements = _REQUIREMENT_IN_A_COMMAND.findall(text)
        if page == PAGE:
            requirements += _REQUIREMENT_IN_THE_TABLE.findall(text)
        for name, bound in requirements:
            bounds.setdefault(name, set()).add(bound)
    assert {"pyarrow", "numpy", "msgpack", "packaging"} <= bounds.keys()
    spelled_bounds = _spelled_bounds()
    for name, bounds_on_pages in bounds.items():
        if name in spelled_bounds:
            assert bounds_on_pages == spelled_bounds[name], name


def _spelled_bounds() -> dict[str, set[str]]:
    """Return the lower bounds of packages as our distributions spell them."""
    bounds: dict[str, set[str]] = {}
    for requirement in required_packages():
        spelled = {specifier.version for specifier in requirement.specifier if specifier.operator == ">="}
        bounds.setdefault(requirement.name, set()).update(spelled)
    return bounds


@pytest.mark.parametrize("name", [*noxfile.TESTS, *noxfile.LIBRARY_TESTS])
def test_what_nox_runs_is_a_test(name: str) -> None:
    file, _, test = name.partition("::")
    assert (ROOT / file).exists()
    if test:
        assert f"def {test}(" in (ROOT / file).read_text(encoding="utf-8")
