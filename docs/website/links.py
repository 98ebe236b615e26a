"""Links that leave docs/: on a code host they lead to the file, on the site to a page that shows it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from docs.website.lines import lines_of
from docs.website.notebooks import markdown_of

FOLDER: Final = "repository"
"""Where pages of files outside of docs/ are on the site."""

NOTEBOOK: Final = ".ipynb"
"""How the names of notebooks end."""

_LINK: Final = re.compile(r"(?P<text>\[[^\]]*\])\((?P<path>[^)#\s:]+)(?P<anchor>#[^)\s]*)?\)")


def linked_files(text: str, place: str) -> Iterator[str]:
    """Yield the files, as paths in the repository, to which a page links.

    Args:
        text: The page's Markdown.
        place: The page's own path in the repository.

    Example:
        >>> list(linked_files("[Readme](../README.md) [site](https://example.org)", "docs/index.md"))
        ['README.md']
    """
    for kind, line in lines_of(text):
        if kind == "prose":
            yield from (_resolve(place, link["path"]) for link in _LINK.finditer(line))


def address_of(path: str) -> str:
    """Return where on the site, as a path in docs/, a file of the repository is shown.

    Example:
        >>> address_of("docs/glossary.md"), address_of("README.md"), address_of("sdk/src/muntin/axis.py")
        ('glossary.md', 'repository/readme.md', 'repository/sdk/src/muntin/axis.py.md')
        >>> address_of("notebooks/join.ipynb")
        'notebooks/join.md'
    """
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if path.endswith(NOTEBOOK):
        return f"{path.removesuffix(NOTEBOOK)}.md"
    folder, name = posixpath.split(path)
    shown = name.lower() if name.endswith(".md") else f"{name}.md"  # a README.md would become the page of its folder
    return posixpath.join(FOLDER, folder, shown)


def readable_links(text: str, place: str) -> str:
    """Return a page's Markdown with links that lead to pages of the site."""
    here = posixpath.dirname(address_of(place))

    def moved(link: re.Match[str]) -> str:
        target = posixpath.relpath(address_of(_resolve(place, link["path"])), here)
        return f"{link['text']}({target}{link['anchor'] or ''})"

    lines = (_LINK.sub(moved, line) if kind == "prose" else line for kind, line in lines_of(text))
    return "\n".join(lines)


def page_of(root: Path, path: str) -> str:
    """Return the Markdown of the page that shows a file outside of docs/."""
    text = (root / path).read_text(encoding="utf-8")
    if path.endswith((".md", NOTEBOOK)):
        return markdown_of(text) if path.endswith(NOTEBOOK) else text
    language = {".py": "python", ".toml": "toml"}.get(posixpath.splitext(path)[1], "text")
    return f"# {posixpath.basename(path)}\n\n`{path}`\n\n``````{language}\n{text}``````\n"


def _resolve(place: str, link: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(place), link))
