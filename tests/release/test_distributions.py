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
(VERSION,) = {distribution.project["version"] for distribution in OURS.values()}

INDEPENDENT_PLUGINS = {"muntin-stats", "muntin-patterns"}
"""Plugins that run with a range of SDKs, as those of others do."""

COMMON_FIELDS = ("authors", "requires-python", "urls")
"""Fields of the metadata that are the same in all distributions."""

INSTALL_COMMAND = re.compile(r"pip (?:install|wheel)\b([^`\n]*)")
NAME_OR_FOLDER = re.compile(
    r"(?<![\w/-])(?P<what>muntin[a-z-]*|\./[a-z-]+(?:/[a-z-]+)?)(?:\[(?P<extras>[a-z,]+)\])?(?![/\w])"
)
"""A distribution by its name or its folder in a clone, with its extras: `muntin[spark]` or `./engine[spark]`."""

EXAMPLES_OF_PAGES = {"muntin-tides", "muntin-weather"}
"""Plugins that pages take as examples; there are none."""


def files_that_may_say_what_to_install() -> Iterator[Path]:
    """Yield the pages and sources of the repository."""
    for name in ("README.md", "CONTRIBUTING.md", "requirements.txt", "requirements-spark.txt", "Makefile"):
        yield ROOT / name
    yield from sorted(ROOT.glob("docs/**/*.md"))
    yield from sorted(ROOT.glob("changes/*.md"))
    for distribution in OURS.values():
        yield from sorted(distribution.folder.rglob("*.py"))
        yield distribution.folder / "README.md"


def required() -> Iterator[tuple[str, Requirement]]:
    """Yield the requirements of our distributions on each other, each with the name of the one that requires."""
    for distribution in OURS.values():
        for requirement in chain.from_iterable(distribution.extras.values()):
            if requirement.name.startswith("muntin"):
                yield distribution.name, requirement


def lines_that_install(file: Path) -> list[str]:
    """Return the lines of a file of requirements, or the arguments of each `pip install` in another file."""
    text = file.read_text(encoding="utf-8")
    return text.splitlines() if file.suffix == ".txt" else INSTALL_COMMAND.findall(text)


def assert_exists(name: str, extras: set[str], place: str) -> None:
    """Assert that a distribution that is named at a place exists and has these extras."""
    assert name in OURS, f"{place}: there is no distribution {name}"
    assert extras <= set(OURS[name].extras), f"{place}: {name} has the extras {sorted(filter(None, OURS[name].extras))}"


def test_what_our_distributions_require_of_each_other_exists() -> None:
    requirements = list(required())
    assert len(requirements) > 10
    for name, requirement in requirements:
        assert_exists(requirement.name, requirement.extras, name)


def test_our_distributions_require_each_other_in_the_same_version_and_plugins_a_range() -> None:
    for name, requirement in required():
        expected = range_of(Version(VERSION)) if name in INDEPENDENT_PLUGINS else f"=={VERSION}"
        advice = f"{name}: {requirement}; python -m release.versions writes it"
        assert requirement.specifier == SpecifierSet(expected), advice


def test_new_plugins_and_pages_require_the_sdk_of_this_version() -> None:
    files = [ROOT / "templates/plugin/pyproject.toml", *sorted(ROOT.glob("docs/**/*.md"))]
    texts = {file: file.read_text(encoding="utf-8") for file in files}
    assert sum("muntin-sdk>=" in text for text in texts.values()) >= 3
    for file, text in texts.items():
        assert with_version(text, Version(VERSION), is_ours=False) == text, (
            f"{name_of(file)}: run python -m release.versions"
        )


def test_muntin_requires_all_other_distributions() -> None:
    required_names = {requirement.name for requirement in OURS["muntin"].extras[""]}
    assert required_names == set(OURS) - {"muntin"}


def test_the_extra_all_of_muntin_brings_what_all_its_other_extras_bring() -> None:
    muntin = OURS["muntin"]
    extras = {name: extras_brought_by(muntin, name) for name in muntin.extras if name}
    of_all = extras.pop("all")
    assert of_all == set().union(*extras.values())
    assert len(extras) > 2


def test_only_the_extra_spark_brings_what_spark_needs() -> None:
    of_spark = {"pyspark", "pandas", "protobuf"}
    for name in ("muntin", "muntin-sdk", "muntin-engine", "muntin-cli", "muntin-stats", "muntin-patterns"):
        for extra, requirements in OURS[name].extras.items():
            if extra not in ("spark", "all"):
                names = {requirement.name for requirement in requirements}
                assert of_spark.isdisjoint(names), f"{name}[{extra}]"
    assert of_spark <= {requirement.name for requirement in OURS["muntin-engine"].extras["spark"]}


def extras_brought_by(distribution: Distribution, extra: str) -> set[tuple[str, str]]:
    """Return the names of distributions and their extras that an extra of a distribution requires."""
    extras: set[tuple[str, str]] = set()
    for requirement in distribution.extras[extra]:
        extras.update((requirement.name, required_extra) for required_extra in requirement.extras)
    return extras


def test_all_distributions_have_apaches_licence_and_one_has_those_of_others_whose_code_it_holds() -> None:
    licences = {name: distribution.project["license"] for name, distribution in OURS.items()}
    assert licences.pop("muntin-cli") == "Apache-2.0 AND ISC AND BSD-3-Clause", "D3's licences lie beside it"
    assert set(licences.values()) == {"Apache-2.0"}


@pytest.mark.parametrize("field", COMMON_FIELDS)
def test_the_metadata_of_all_distributions_say_the_same(field: str) -> None:
    first_value, *values = [distribution.project.get(field) for distribution in OURS.values()]
    assert [value for value in values if value != first_value] == []


def test_each_distribution_has_the_licence_of_the_repository() -> None:
    licence = (ROOT / "LICENSE").read_bytes()
    for distribution in OURS.values():
        assert (distribution.folder / "LICENSE").read_bytes() == licence


def test_all_distributions_name_the_same_pythons() -> None:
    pythons: set[tuple[str, ...]] = set()
    for distribution in OURS.values():
        classifiers = distribution.project["classifiers"]
        pythons.add(tuple(classifier for classifier in classifiers if ":: Python ::" in classifier))
    (common_pythons,) = pythons
    assert "Programming Language :: Python :: 3.11" in common_pythons


def test_the_requirements_of_a_clone_are_all_distributions() -> None:
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    folders = {ROOT / line.partition("[")[0] for line in lines if line.startswith("./")}
    assert folders == {distribution.folder for distribution in OURS.values()}


def test_every_line_that_says_what_to_install_names_distributions_and_extras_that_exist() -> None:
    names_by_folder = {f"./{distribution.folder.relative_to(ROOT)}": name for name, distribution in OURS.items()}
    mentioned_names: set[str] = set()
    for file in files_that_may_say_what_to_install():
        for line in lines_that_install(file):
            for mention in NAME_OR_FOLDER.finditer(line):
                name = names_by_folder.get(mention["what"], mention["what"])
                extras = mention["extras"].split(",") if mention["extras"] else []
                mentioned_names.add(mention["what"])
                if name not in EXAMPLES_OF_PAGES:
                    assert_exists(name, set(extras), name_of(file))
    assert mentioned_names >= {"muntin", "muntin-sdk", "muntin-engine", "muntin-cli"}
