"""The search of the site, as a reader uses it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urldefrag

from docs.website.check.searches import SEARCHES

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext


def wrong_answers(context: BrowserContext, site: str) -> Iterator[str]:
    """Type what readers look for, and yield each search whose first result is another page than the one that answers.

    Args:
        context: The browser.
        site: The beginning of every address of the site.
    """
    page = context.new_page()
    for words, answer in SEARCHES.items():
        page.goto(f"{site}index.html?q={words.replace(' ', '+')}", wait_until="load")
        first = page.wait_for_selector(".md-search-result__item a.md-search-result__link", state="attached")
        found = urldefrag((first and first.get_attribute("href")) or "").url
        found = found.removeprefix(site).partition("?")[0]
        if found != answer:
            yield f"a search for {words!r} finds {found or 'nothing'} first, not {answer}"
    page.close()
