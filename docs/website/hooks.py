"""The hooks that mkdocs calls; `mkdocs.yml` names this file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

from docs.website.fences import readable_fences
from docs.website.links import NOTEBOOK, address_of, linked_files, page_of, readable_links
from docs.website.names import with_docstrings
from docs.website.navigation import navigation_of
from docs.website.search import complete_index, other_words, search_options

ROOT: Final = Path(__file__).parents[2]

_PLACES: Final[dict[str, str]] = {}
"""What the pages of files outside of docs/ show, by the pages' own paths."""

_WORDS: Final[dict[str, list[str]]] = {}
"""Other words under which the search finds pages and sections, by their addresses on the site."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Take the navigation from the index of pages."""
    config.nav = navigation_of(Path(config.docs_dir))
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add pages for the files outside of docs/ to which pages link, and to which those link."""
    pending = [place_of(file) for file in files.documentation_pages()]
    while pending:
        place = pending.pop()
        for path in linked_files(with_docstrings(_text(place)), place):
            address = address_of(path)
            if not path.startswith("docs/") and address not in files.src_uris:
                files.append(_generated(config, address, path))
                pending.append(path)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn what code hosts and tests read into what the site shows."""
    if page.is_homepage:
        page.meta["hide"] = ["navigation", "toc"]
    page.meta.update(search=search_options(page.file.src_uri))
    return readable_fences(readable_links(with_docstrings(markdown), place_of(page.file)))


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Note the other words under which the page and its sections are found."""
    _WORDS.update({f"{page.url}#{anchor}".rstrip("#"): words for anchor, words in other_words(html).items()})
    return html


@event_priority(-100)
def on_post_build(config: MkDocsConfig) -> None:
    """Complete the index that the theme's search has written."""
    file = Path(config.site_dir, "search/search_index.json")
    file.write_text(json.dumps(complete_index(json.loads(file.read_text("utf-8")), _WORDS)), encoding="utf-8")


def place_of(file: File) -> str:
    """Return the path in the repository of what a page shows."""
    return _PLACES.get(file.src_uri, f"docs/{file.src_uri}")


def _generated(config: MkDocsConfig, address: str, path: str) -> File:
    _PLACES[address] = path
    return File.generated(config, address, content=page_of(ROOT, path), inclusion=InclusionLevel.NOT_IN_NAV)


def _text(place: str) -> str:
    return page_of(ROOT, place) if place.endswith((".md", NOTEBOOK)) else ""
