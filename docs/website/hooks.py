"""The hooks that mkdocs calls; `mkdocs.yml` names this file."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

from docs.website.fences import readable_fences
from docs.website.links import FOLDER, NOTEBOOK, address_of, linked_files, page_of, readable_links
from docs.website.names import with_docstrings
from docs.website.navigation import navigation_of

ROOT: Final = Path(__file__).parents[2]

_PLACES: Final[dict[str, str]] = {}
"""What the pages of files outside of docs/ show, by the pages' own paths."""


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
    if page.file.src_uri.startswith(f"{FOLDER}/"):
        page.meta["search"] = {"exclude": True}
    return readable_fences(readable_links(with_docstrings(markdown), place_of(page.file)))


def place_of(file: File) -> str:
    """Return the path in the repository of what a page shows."""
    return _PLACES.get(file.src_uri, f"docs/{file.src_uri}")


def _generated(config: MkDocsConfig, address: str, path: str) -> File:
    _PLACES[address] = path
    return File.generated(config, address, content=page_of(ROOT, path), inclusion=InclusionLevel.NOT_IN_NAV)


def _text(place: str) -> str:
    return page_of(ROOT, place) if place.endswith((".md", NOTEBOOK)) else ""
