"""The sources of the distributions agree with each other, and with every line that says what to install."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from release.distributions import ROOT, Distribution, distributions
from release.versions import range_of, with_version
from tests.docs.pages import name_of

OURS = distributions()
(VERSION,) = {each.project["version"] for each in OURS.values()}
ALONE = {"muntin-stats", "muntin-patterns"}
"""Plugins that run with a range of SDKs, as those of others do."""
SAME = ("authors", "requires-python", "urls")
"""What the metadata of all distributions say alike."""
SAYS_INSTALL = re.compile(r"pip (?:install|wheel)\b([^`\n]*)")
NAMED = re.compile(r"(?<![\w/-])(?P<what>muntin[a-z-]*|\./[a-z-]+(?:/[a-z-]+)?)(?:\[(?P<extras>[a-z,]+)\])?(?![/\w])")
OF_OTHERS = {"muntin-tides", "muntin-weather"}
"""Plugins that pages take as examples."""
TEXTS = [
    *(
        ROOT / name
        for name in ("README.md", "CONTRIBUTING.md", "requirements.txt", "requirements-spark.txt", "Makefile")
    ),
    *sorted(ROOT.glob("docs/**/*.md")),
    *sorted(ROOT.glob("changes/*.md")),
    *chain.from_iterable(sorted(each.folder.rglob("*.py")) for each in OURS.values()),
    *(each.folder / "README.md" for each in OURS.values()),
]


def required() -> Iterator[tuple[str, Requirement]]:
    """Yield the requirements of our distributions on each other, each with the name of its distribution."""
    for each in OURS.values():
        for requirement in chain.from_iterable(each.extras.values()):
            if requirement.name.startswith("muntin"):
                yield each.name, requirement


def lines_that_install(file: Path) -> list[str]:
    text = file.read_text(encoding="utf-8")
    return text.splitlines() if file.suffix == ".txt" else SAYS_INSTALL.findall(text)


def assert_exists(name: str, extras: set[str], place: str) -> None:
    assert name in OURS, f"{place}: there is no distribution {name}"
    assert extras <= set(OURS[name].extras), f"{place}: {name} has the extras {sorted(filter(None, OURS[name].extras))}"


def test_what_our_distributions_require_of_each_other_exists() -> None:
    requirements = list(required())
    assert len(requirements) > 10
    for name, requirement in requirements:
        assert_exists(requirement.name, requirement.extras, name)


def test_they_require_each_other_in_the_same_version_and_plugins_a_range() -> None:
    for name, requirement in required():
        expected = range_of(Version(VERSION)) if name in ALONE else f"=={VERSION}"
        assert requirement.specifier == SpecifierSet(expected), (
            f"{name}: {requirement}; python -m release.versions writes it"
        )


def test_new_plugins_and_pages_require_the_sdk_of_this_version() -> None:
    files = [ROOT / "templates/plugin/pyproject.toml", *sorted(ROOT.glob("docs/**/*.md"))]
    texts = {file: file.read_text(encoding="utf-8") for file in files}
    assert sum("muntin-sdk>=" in text for text in texts.values()) >= 3
    for file, text in texts.items():
        assert with_version(text, Version(VERSION), is_ours=False) == text, (
            f"{name_of(file)}: run python -m release.versions"
        )


def test_muntin_brings_all_others_and_its_extra_all_brings_all_other_extras() -> None:
    muntin = OURS["muntin"]
    brings = {requirement.name for requirement in muntin.extras[""]}
    assert brings == set(OURS) - {"muntin"}
    extras = {name: brought(muntin, name) for name in muntin.extras if name}
    assert extras.pop("all") == set().union(*extras.values())
    assert len(extras) > 2


def test_only_the_extra_spark_brings_what_spark_needs() -> None:
    of_spark = {"pyspark", "pandas", "protobuf"}
    for name in ("muntin", "muntin-sdk", "muntin-engine", "muntin-cli", "muntin-stats", "muntin-patterns"):
        for extra, requirements in OURS[name].extras.items():
            required_of_spark = of_spark & {requirement.name for requirement in requirements}
            assert not required_of_spark or extra in ("spark", "all"), f"{name}[{extra}]: {required_of_spark}"
    assert of_spark <= {requirement.name for requirement in OURS["muntin-engine"].extras["spark"]}


def brought(distribution: Distribution, extra: str) -> set[tuple[str, str]]:
    """Return the extras that an extra brings, each with the name of its distribution."""
    extras: set[tuple[str, str]] = set()
    for requirement in distribution.extras[extra]:
        extras.update((requirement.name, required_extra) for required_extra in requirement.extras)
    return extras


def test_all_distributions_are_apaches_and_one_holds_what_others_wrote() -> None:
    licenses = {name: each.project["license"] for name, each in OURS.items()}
    assert licenses.pop("muntin-cli") == "Apache-2.0 AND ISC AND BSD-3-Clause", "D3's licences lie beside it"
    assert set(licenses.values()) == {"Apache-2.0"}


@pytest.mark.parametrize("field", SAME)
def test_the_metadata_of_all_say_the_same(field: str) -> None:
    first, *values = [each.project.get(field) for each in OURS.values()]
    assert [value for value in values if value != first] == []


def test_each_has_the_licence_and_the_pythons_of_the_repository() -> None:
    licence = (ROOT / "LICENSE").read_bytes()
    pythons: set[tuple[str, ...]] = set()
    for each in OURS.values():
        assert (each.folder / "LICENSE").read_bytes() == licence
        pythons.add(tuple(line for line in each.project["classifiers"] if ":: Python ::" in line))
    (listed,) = pythons
    assert "Programming Language :: Python :: 3.11" in listed


def test_the_requirements_of_a_clone_are_all_distributions() -> None:
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    folders = {ROOT / line.partition("[")[0] for line in lines if line.startswith("./")}
    assert folders == {each.folder for each in OURS.values()}


def test_every_line_that_says_what_to_install_names_what_exists() -> None:
    """Of ours, that is: a distribution and its extras by their names, or by the folder in a clone."""
    folders = {f"./{each.folder.relative_to(ROOT)}": name for name, each in OURS.items()}
    installed_names: list[tuple[Path, re.Match[str]]] = []
    for file in TEXTS:
        for line in lines_that_install(file):
            installed_names += [(file, named) for named in NAMED.finditer(line)]
    assert {named["what"] for _, named in installed_names} >= {"muntin", "muntin-sdk", "muntin-engine", "muntin-cli"}
    for file, named in installed_names:
        name = folders.get(named["what"], named["what"])
        if name not in OF_OTHERS:
            assert_exists(name, set(filter(None, (named["extras"] or "").split(","))), name_of(file))
