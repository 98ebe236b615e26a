"""What the search of the site finds: pages and sections, under their own words and under others, but no sources."""

from __future__ import annotations

import re
from typing import Any, Final

from docs.website.links import FOLDER

_PLACE: Final = re.compile(
    r"""<h(?P<level>[1-6])\b[^>]*\bid="(?P<id>[^"]+)"|^<!-- *also: *(?P<words>\S[^>]*?) *-->$""", re.MULTILINE
)
_ASIDE: Final = {"decisions/": 0.1, "contributing/": 0.2}
"""The boosts of pages that few readers look for, by how their addresses begin."""

_DOCSTRING: Final = 0.2
"""The boost of a section that is a name's docstring: the section of a page that says when to use the name is first."""


def other_words(html: str) -> dict[str, list[str]]:
    r"""Return the words under which a page and its sections are found that do not say them, by anchor: "" is the page.

    Args:
        html: The page's content, with a comment such as `<!-- also: timezone, dst -->` below a heading.

    Example:
        >>> other_words('<h1 id="a">A</h1>\n<!-- also: timezone, dst -->\n<h2 id="b">B</h2>\n<!-- also: k8s -->')
        {'': ['timezone', 'dst'], 'b': ['k8s']}
    """
    found: dict[str, list[str]] = {}
    anchor = ""
    for place in _PLACE.finditer(html):
        if place["words"] is None:
            anchor = "" if place["level"] == "1" else place["id"]
        else:
            found[anchor] = [word.strip() for word in place["words"].split(",")]
    return found


def search_options(address: str) -> dict[str, Any]:
    """Return what the theme's search is told of a page.

    Args:
        address: The page, as a path in docs/.

    Example:
        >>> search_options("repository/sdk/src/muntin/axis.py.md"), search_options("glossary.md")
        ({'exclude': True}, {})
    """
    if address.startswith(f"{FOLDER}/"):
        return {"exclude": True}
    return next(({"boost": boost} for folder, boost in _ASIDE.items() if address.startswith(folder)), {})


def complete_index(index: dict[str, Any], words: dict[str, list[str]]) -> dict[str, Any]:
    """Return the index of the search with other words, and with docstrings behind what explains them.

    Args:
        index: What the theme wrote.
        words: The other words of pages and sections, by their addresses on the site.

    Example:
        >>> complete_index({"docs": [{"location": "a.html#b", "title": "B", "text": ""}]}, {"a.html#b": ["beta"]})
        {'docs': [{'location': 'a.html#b', 'title': 'B', 'text': '', 'tags': ['beta']}]}
    """
    return index | {"docs": [_complete_entry(entry, words) for entry in index["docs"]]}


def _complete_entry(entry: dict[str, Any], words: dict[str, list[str]]) -> dict[str, Any]:
    place = entry["location"]
    boost = {"boost": _DOCSTRING} if "#muntin" in place else {}
    return entry | boost | ({"tags": words[place]} if place in words else {})
