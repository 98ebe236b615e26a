"""Links lead somewhere, and every page is linked."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from tests.docs.pages import DOCS, PAGES, ROOT, headings, links, name_of

EVERY_PAGE = (
    *PAGES,
    ROOT / "CHANGELOG.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(ROOT.glob("changes/*.md")),
)
LINKS = [(page, link) for page in EVERY_PAGE for link in links(page)]
RELATIVE = [(page, link) for page, link in LINKS if "://" not in link]


def target_of(page: Path, link: str) -> tuple[Path, str]:
    path, _, anchor = link.partition("#")
    return (page.parent / path).resolve() if path else page, anchor


def test_no_relative_link_is_dead() -> None:
    assert len(RELATIVE) > 100
    assert [f"{name_of(page)}: {link}" for page, link in RELATIVE if not target_of(page, link)[0].exists()] == []


def test_no_anchor_is_dead() -> None:
    targets = [(page, link, *target_of(page, link)) for page, link in RELATIVE if "#" in link]
    dead = [
        f"{name_of(page)}: {link}"
        for page, link, path, anchor in targets
        if anchor not in {heading.anchor for heading in headings(path)}
    ]
    assert targets
    assert dead == []


def test_headings_of_a_page_have_distinct_anchors() -> None:
    for page in PAGES:
        anchors = [heading.anchor for heading in headings(page)]
        assert len(set(anchors)) == len(anchors), name_of(page)


def test_every_page_is_reachable_from_the_readme() -> None:
    reached: set[Path] = set()
    pending = [ROOT / "README.md"]
    while pending:
        page = pending.pop()
        if page not in reached and page.suffix == ".md":
            reached.add(page)
            pending += [target_of(page, link)[0] for link in links(page) if "://" not in link]
    assert [name_of(page) for page in DOCS.rglob("*.md") if page not in reached] == []


def test_a_page_has_one_title_and_skips_no_level() -> None:
    for page in PAGES:
        levels = [heading.level for heading in headings(page)]
        assert levels[:1] == [1], name_of(page)
        assert levels.count(1) == 1, name_of(page)
        assert all(after <= before + 1 for before, after in pairwise(levels)), name_of(page)
