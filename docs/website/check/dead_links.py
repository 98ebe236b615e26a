"""Links between pages that lead nowhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from urllib.parse import unquote, urldefrag

from docs.website.check.visit import Visit


def dead_links(visits: Iterable[Visit], site: str) -> Iterator[str]:
    """Yield what is wrong with the links of pages, to pages and to places on them.

    Args:
        visits: Every page of the site.
        site: The beginning of every address of it; others are not looked at.

    Example:
        >>> page = Visit("http://here/a.html", frozenset({"http://here/b.html"}), frozenset(), ())
        >>> list(dead_links([page], "http://here/"))
        ['a.html: links to b.html, which is no page']
    """
    anchors = {page.address: page.anchors for page in visits}
    for page in visits:
        for link in sorted(page.links):
            address, anchor = urldefrag(link)
            if not address.startswith(site) or not _is_page(address, site):
                continue
            fault = _fault(anchors, address, unquote(anchor))
            if fault:
                yield f"{page.address.removeprefix(site)}: links to {link.removeprefix(site)}, {fault}"


def _is_page(address: str, site: str) -> bool:
    return address.endswith((".html", "/")) or address == site


def _fault(anchors: dict[str, frozenset[str]], address: str, anchor: str) -> str:
    page = f"{address}index.html" if address.endswith("/") else address
    if page not in anchors:
        return "which is no page"
    return "where there is no such place" if anchor and anchor not in anchors[page] else ""
