"""What the search of the site finds: pages, under their own words and under others, but no sources."""

from __future__ import annotations

import re
from typing import Any, Final

from docs.website.links import FOLDER

_ALSO: Final = re.compile(r"^<!-- *also: *(?P<words>\S[^>]*?) *-->$", re.MULTILINE)
_HISTORY: Final = "decisions/"


def other_words(text: str) -> list[str]:
    r"""Return the words under which a page is found that does not say them itself.

    Args:
        text: The page's Markdown, perhaps with a comment such as `<!-- also: timezone, dst -->`.

    Example:
        >>> other_words("# Time zones\n\n<!-- also: timezone, dst -->\n")
        ['timezone', 'dst']
    """
    return [word.strip() for comment in _ALSO.finditer(text) for word in comment["words"].split(",")]


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
    return {"boost": 0.1} if address.startswith(_HISTORY) else {}
