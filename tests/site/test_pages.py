"""The pages as the site shows them: all in the navigation, in Markdown that both it and code hosts read alike."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

from docs.website.fences import readable_fences
from docs.website.lines import lines_of
from docs.website.navigation import navigation_of, pages_in
from tests.docs.pages import DOCS, PAGES, name_of

_ITEM = re.compile(r"^(?:[-*]|\d+\.) ")
_NESTED = re.compile(r"^ {1,3}(?:[-*]|\d+\.) ")


def prose_of(page: Path) -> list[str]:
    return [line if kind == "prose" else "" for kind, line in lines_of(page.read_text(encoding="utf-8"))]


def test_every_page_is_in_the_navigation_once() -> None:
    listed = Counter(pages_in(navigation_of(DOCS)))
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}

    assert sorted(pages - set(listed)) == [], "add a link to docs/pages.md, or to the README.md of its folder"
    assert sorted(set(listed) - pages) == []
    assert [page for page, count in listed.items() if count > 1] == []


def test_the_navigation_has_a_tab_for_each_reason_to_read() -> None:
    home, *tabs = navigation_of(DOCS)
    assert home == "index.md"
    assert [next(iter(tab)) for tab in tabs] == ["Get started", "Deploy", "Guides", "Reference", "API", "Explanation"]


def test_a_list_begins_after_an_empty_line() -> None:
    """A code host would not mind, and the site would show a paragraph."""
    run_on = [
        f"{name_of(page)}: {line}"
        for page in PAGES
        for above, line in pairwise(prose_of(page))
        if _ITEM.match(line) and above.strip() and not _ITEM.match(above) and not above.startswith(" ")
    ]
    assert run_on == []


def test_a_nested_list_is_indented_by_four() -> None:
    """With less it is nested for a code host alone."""
    assert [f"{name_of(page)}: {line}" for page in PAGES for line in prose_of(page) if _NESTED.match(line)] == []


def test_a_block_with_a_file_gets_its_name_as_title() -> None:
    assert readable_fences("```python file=src/a.py\nx = 1\n```").splitlines()[0] == '```python title="src/a.py"'


def test_a_reason_not_to_run_a_block_is_not_shown() -> None:
    assert readable_fences("```python no-run: it never ends\nx = 1\n```").splitlines()[0] == "```python"


def test_the_comment_above_an_output_is_not_shown() -> None:
    assert readable_fences("<!-- prints -->\n```text\n1\n```\n").splitlines()[0] == "```{ .text .output }"
