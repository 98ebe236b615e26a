"""The pages as the site shows them, and what the one on compatibility says."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from docs.build_pages import address_of, lines_of, navigation_of, pages_in, with_plain_fences, write_pages
from muntin_engine.backends.spark.session.java import OLDEST
from tests.docs.pages import DOCS, NOTEBOOKS, PAGES, ROOT, name_of, text_of

_ITEM = re.compile(r"^(?:[-*]|\d+\.) ")
_NESTED = re.compile(r"^ {1,3}(?:[-*]|\d+\.) ")


def prose_of(page: Path) -> list[str]:
    """Return the lines of a page, those in blocks as empty ones."""
    return [line if kind == "prose" else "" for kind, line in lines_of(text_of(page))]


def test_all_that_pages_link_to_is_written_as_pages(tmp_path: Path) -> None:
    write_pages(tmp_path)
    assert len([*(tmp_path / "pages").rglob("*.md")]) > 150


def test_every_page_is_in_the_navigation_once() -> None:
    listed = list(pages_in(navigation_of()))
    pages = {address_of(name_of(page)) for page in (*DOCS.rglob("*.md"), *NOTEBOOKS)}

    assert pages - set(listed) == set(), "add a link to docs/pages.md, or to the README.md of its folder"
    assert set(listed) - pages == set()
    assert len(listed) == len(set(listed))


def test_the_navigation_has_a_tab_for_each_reason_to_read() -> None:
    home, *tabs = navigation_of()
    assert home == "index.md"
    assert [next(iter(tab)) for tab in tabs] == ["Get started", "Deploy", "Guides", "Reference", "Contributing"]


def test_the_pages_of_users_and_the_decisions_are_in_the_navigation() -> None:
    *of_users, of_the_house = navigation_of()
    assert len(list(pages_in(of_users))) > 40
    assert set(pages_in([of_the_house])) >= {f"decisions/{page.name}" for page in (DOCS / "decisions").glob("*.md")}


def test_a_list_begins_after_an_empty_line() -> None:
    """A code host would not mind, and the site would show a paragraph."""
    run_on: list[str] = []
    for page in PAGES:
        for above, line in pairwise(prose_of(page)):
            is_after_text = above.strip() and not _ITEM.match(above) and not above.startswith(" ")
            if _ITEM.match(line) and is_after_text:
                run_on.append(f"{name_of(page)}: {line}")
    assert run_on == []


def test_a_nested_list_is_indented_by_four() -> None:
    """With less it is nested for a code host alone."""
    nested: list[str] = []
    for page in PAGES:
        nested += [f"{name_of(page)}: {line}" for line in prose_of(page) if _NESTED.match(line)]
    assert nested == []


def test_a_block_with_a_file_gets_its_name_as_title() -> None:
    assert with_plain_fences("```python file=src/a.py\nx = 1\n```").splitlines()[0] == '```python title="src/a.py"'


def test_a_reason_not_to_run_a_block_is_not_shown() -> None:
    assert with_plain_fences("```python no-run: it never ends\nx = 1\n```").splitlines()[0] == "```python"


COMPATIBILITY = (DOCS / "compatibility.md").read_text(encoding="utf-8")
PROJECTS = {
    name: tomllib.loads((ROOT / name / "pyproject.toml").read_text("utf-8"))["project"] for name in ("sdk", "engine")
}
BACKENDS = PROJECTS["engine"]["optional-dependencies"]


def requirements() -> Iterator[re.Match[str]]:
    """Yield the name and the versions of each package that the distributions need, also for a backend."""
    texts = [*PROJECTS["sdk"]["dependencies"], *PROJECTS["engine"]["dependencies"]]
    texts += [*BACKENDS["local"], *BACKENDS["spark"]]
    for text in texts:
        match = re.fullmatch(r"(?P<name>[\w-]+)(?P<versions>.*)", text)
        if match is not None and not text.startswith("muntin"):
            yield match


REQUIREMENTS = list(requirements())


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=lambda requirement: requirement["name"])
def test_each_requirement_of_a_distribution_is_in_the_table(requirement: re.Match[str]) -> None:
    assert f"| `{requirement['name']}` | `{requirement['versions']}` |" in COMPATIBILITY


def test_the_table_has_no_package_that_no_distribution_requires() -> None:
    listed = re.findall(r"^\| `([\w-]+)` \| `[<>=]", COMPATIBILITY, re.MULTILINE)
    assert sorted(listed) == sorted({requirement["name"] for requirement in REQUIREMENTS})


def test_the_oldest_python_and_java_are_in_the_table() -> None:
    for project in PROJECTS.values():
        assert f"| Python | `{project['requires-python']}`," in COMPATIBILITY
    assert f"| Java | {OLDEST} or newer," in COMPATIBILITY
