"""The navigation: docs/pages.md lists the pages by what they are for, and the site follows it.

A heading of the second level becomes a tab, a paragraph that ends with a colon becomes a group in it, and each link of
a list to a page of docs/ or to a notebook an entry, under its title. A link to a `README.md` becomes a group of its
own, with the pages that are linked there.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias

from docs.website.links import FOLDER, address_of

HOME: Final = "index.md"
LIST: Final = "pages.md"
_TAB: Final = re.compile(r"^## (?P<title>.+)$")
_GROUP: Final = re.compile(r"^(?P<title>[A-Z][^:]*):$")
_LINK: Final = re.compile(r"\[[^\]]*\]\((?P<target>[^)#\s]+\.(?:md|ipynb))\)")

Entry: TypeAlias = str | dict[str, Any]


def navigation_of(docs: Path) -> list[Entry]:
    """Return the `nav` of mkdocs for a folder of pages."""
    tabs: list[Entry] = [HOME]
    entries: list[Entry] | None = None
    for line in (docs / LIST).read_text(encoding="utf-8").splitlines():
        if tab := _TAB.match(line):
            target = entries = []
            tabs.append({tab["title"]: entries})
        elif entries is not None and (group := _GROUP.match(line)):
            target = []
            entries.append({group["title"]: target})
        elif entries is not None and line.startswith("- "):
            target += _entries(docs, line)
    return tabs


def pages_in(navigation: list[Entry]) -> Iterator[str]:
    """Yield the pages of a `nav` in order.

    Example:
        >>> list(pages_in(["index.md", {"Learn": ["tutorials/one.md", {"More": ["two.md"]}]}]))
        ['index.md', 'tutorials/one.md', 'two.md']
    """
    for entry in navigation:
        if isinstance(entry, str):
            yield entry
        else:
            for entries in entry.values():
                yield from pages_in(entries)


def _entries(docs: Path, line: str) -> Iterator[Entry]:
    for link in _LINK.finditer(line):
        page = address_of(posixpath.normpath(posixpath.join("docs", link["target"])))
        if posixpath.basename(page) == "README.md":
            yield {_title_of(docs / page): [page, *_linked_by(docs, page)]}
        elif not page.startswith(f"{FOLDER}/"):
            yield page


def _linked_by(docs: Path, page: str) -> list[str]:
    text = (docs / page).read_text(encoding="utf-8")
    return [posixpath.join(posixpath.dirname(page), link["target"]) for link in _LINK.finditer(text)]


def _title_of(page: Path) -> str:
    return page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
