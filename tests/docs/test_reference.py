"""The API of the reference: each public name has one place, and the link beside it leads to where it is defined."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from typing import NamedTuple

import griffe

from docs.build_pages import ApiEntry, commands
from tests.docs.pages import REFERENCE, ROOT, entries, name_of

CHECKED_IN = (ROOT / "tests/house/public_names.txt").read_text(encoding="utf-8").splitlines()
PLUGINS = ("muntin_patterns", "muntin_stats")
PACKAGES = sorted({name.rpartition(".")[0] for name in CHECKED_IN} | {"muntin.testing", *PLUGINS})
PUBLIC_ELSEWHERE = {
    "muntin.catalog.hooks.muntin_functions",
    "muntin.catalog.hooks.muntin_modules",
    "muntin.catalog.hooks.muntin_triggers",
    "muntin.catalog.hooks.muntin_windows",
    *(
        f"muntin_engine.testing.streaming.{name}"
        for name in ("StreamingJob", "assert_rows", "muntin_spark", "streaming")
    ),
}
"""Names that users meet outside of these packages."""


class Listed(NamedTuple):
    """An entry of a page of the reference: the docstring of a name, or a command."""

    page: Path
    entry: ApiEntry


LISTED: list[Listed] = []
for reference_page in sorted(REFERENCE.glob("*.md")):
    LISTED += [Listed(reference_page, entry) for entry in entries(reference_page)]
COMMANDS = [listed.entry.name for listed in LISTED if listed.entry.is_command]
NAMES = [listed for listed in LISTED if not listed.entry.is_command]


@cache
def collection() -> griffe.ModulesCollection:
    """Return all names of our packages, as griffe reads them from the sources."""
    sources = [*ROOT.glob("*/src"), *ROOT.glob("plugins/*/src")]
    loader = griffe.GriffeLoader(search_paths=sources)
    for package in {name.partition(".")[0] for name in PACKAGES}:
        loader.load(package)
    loader.resolve_aliases()
    return loader.modules_collection


def target_of(name: str) -> griffe.Object:
    """Return the object of a name, as griffe reads it."""
    entry = collection()[name]
    return entry.final_target if isinstance(entry, griffe.Alias) else entry


def defined(name: str) -> griffe.Object:
    """Return the object that a name stands for: not its module, if that has the same name."""
    entry = target_of(name)
    last = name.rpartition(".")[2]
    return target_of(f"{entry.path}.{last}") if entry.is_module else entry


def place_of(name: str) -> Path:
    """Return the file that defines a name."""
    path = defined(name).filepath
    assert isinstance(path, Path)
    return path


def public_names() -> list[str]:
    """Return all public names but typed calls: the pages of plugins have a section for the module of each."""
    calls: set[str] = set()
    for plugin in PLUGINS:
        calls.update(f"{plugin}.{name}" for name in collection()[f"{plugin}.calls"].functions)
    assert len(calls) > 30
    names: list[str] = []
    for package in PACKAGES:
        for name in collection()[package].exports:
            full_name = f"{package}.{name}"
            if full_name not in calls:
                names.append(full_name)
    return names


def test_every_public_name_has_one_place_in_the_reference() -> None:
    places = Counter(defined(listed.entry.name).path for listed in NAMES)
    missing: dict[str, str] = {}  # one name for each object
    for name in public_names():
        path = defined(name).path
        if path not in places:
            missing[path] = name
    missing_lines = [f"- [`{name}`](../../{name_of(place_of(name))})" for name in missing.values()]

    assert len(NAMES) > 150
    assert missing_lines == [], "add these lines to the fitting sections of docs/reference"
    assert [path for path, count in places.items() if count > 1] == []


def test_what_is_listed_is_public() -> None:
    public = set(public_names()) | PUBLIC_ELSEWHERE
    for page, entry in NAMES:
        assert entry.name in public, name_of(page)


def test_a_name_links_to_the_file_that_defines_it() -> None:
    for page, entry in NAMES:
        assert (page.parent / entry.source).resolve() == place_of(entry.name), f"{name_of(page)}: {entry.name}"


def test_a_name_is_shown_and_not_the_module_of_that_name() -> None:
    assert len({entry.identifier for _, entry in NAMES}) == len(NAMES)
    for _, entry in NAMES:
        assert not target_of(entry.identifier).is_module, entry.name


def test_a_name_has_a_docstring_or_it_would_not_show() -> None:
    for _, entry in NAMES:
        assert defined(entry.name).docstring is not None, entry.name


def test_every_command_has_one_place_in_the_reference() -> None:
    assert sorted(COMMANDS) == sorted(commands())
