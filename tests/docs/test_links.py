"""Links lead somewhere, and every page is linked."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.docs.pages import DOCS, PAGES, ROOT, entries, headings, links, name_of

EVERY_PAGE = (
    *PAGES,
    ROOT / "CHANGELOG.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(ROOT.glob("changes/*.md")),
)
LINKS: list[tuple[Path, str]] = []
for linking_page in EVERY_PAGE:
    LINKS += [(linking_page, link) for link in links(linking_page)]
RELATIVE_LINKS = [(page, link) for page, link in LINKS if "://" not in link]


def target_of(page: Path, link: str) -> tuple[Path, str]:
    """Return the file and the anchor that a relative link of a page leads to; the anchor is empty without `#`."""
    path, _, anchor = link.partition("#")
    return (page.parent / path).resolve() if path else page, anchor


@cache
def anchors(page: Path) -> frozenset[str]:
    """Return the anchors of a page: those of its headings, and of the names whose docstrings it shows."""
    of_headings = {heading.anchor for heading in headings(page)}
    of_names: set[str] = set()
    for entry in entries(page):
        of_names |= {entry.anchor, entry.identifier}
    return frozenset(of_headings | of_names)


def is_member(page: Path, anchor: str) -> bool:
    """Return True if an anchor is that of a method or attribute of a class whose docstring a page shows."""
    owner, _, member = anchor.rpartition(".")
    if owner not in {entry.name for entry in entries(page)}:
        return False
    package, _, name = owner.rpartition(".")
    cls: Any = getattr(import_module(package), name)
    return isinstance(cls, type) and hasattr(cls, member)


def test_no_relative_link_is_dead() -> None:
    dead_links: list[str] = []
    for page, link in RELATIVE_LINKS:
        file, _ = target_of(page, link)
        if not file.exists():
            dead_links.append(f"{name_of(page)}: {link}")
    assert len(RELATIVE_LINKS) > 100
    assert dead_links == []


def test_no_anchor_is_dead() -> None:
    links_with_anchors = [(page, link) for page, link in RELATIVE_LINKS if "#" in link]
    dead_links: list[str] = []
    for page, link in links_with_anchors:
        target, anchor = target_of(page, link)
        if anchor not in anchors(target) and not is_member(target, anchor):
            dead_links.append(f"{name_of(page)}: {link}")
    assert links_with_anchors
    assert dead_links == []


def test_headings_of_a_page_have_distinct_anchors() -> None:
    for page in PAGES:
        of_headings = [heading.anchor for heading in headings(page)]
        assert len(set(of_headings)) == len(of_headings), name_of(page)


def test_no_heading_has_the_anchor_of_a_name() -> None:
    for page in PAGES:
        anchors_of_names = {entry.anchor for entry in entries(page) if not entry.is_command}
        for heading in headings(page):
            assert heading.anchor not in anchors_of_names, f"{name_of(page)}: {heading.text}"


def test_every_page_is_reachable_from_the_readme() -> None:
    reached: set[Path] = set()
    pending = [ROOT / "README.md"]
    while pending:
        page = pending.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        for link in links(page):
            if "://" not in link:
                file, _ = target_of(page, link)
                pending.append(file)
    for page in DOCS.rglob("*.md"):
        assert page in reached, name_of(page)


def test_a_page_has_one_title_and_skips_no_level() -> None:
    for page in PAGES:
        levels = [heading.level for heading in headings(page)]
        assert levels[0] == 1, name_of(page)
        assert levels.count(1) == 1, name_of(page)
        for level, next_level in pairwise(levels):
            assert next_level <= level + 1, name_of(page)
