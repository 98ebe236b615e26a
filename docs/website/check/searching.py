"""The search of the site, as a reader uses it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final
from urllib.parse import urldefrag

from docs.website.check.searches import SEARCHES

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext


_RESULT: Final = ".md-search-result__item"


def wrong_answers(context: BrowserContext, site: str) -> Iterator[str]:
    """Type what readers look for, and yield each search whose first page, or first section of it, is not the answer.

    Args:
        context: The browser.
        site: The beginning of every address of the site.
    """
    page = context.new_page()
    page.goto(f"{site}index.html?q=install", wait_until="load")
    page.wait_for_selector(_RESULT, state="attached")
    box = page.locator("[data-md-component=search-query]")
    for words, answer in SEARCHES.items():
        box.fill("")
        box.press("End")  # the theme looks at the box when a key is released
        page.wait_for_selector(_RESULT, state="detached")
        box.fill(words)
        box.press("End")
        page.wait_for_selector(_RESULT, state="attached")
        item = page.locator(_RESULT).first.locator("a.md-search-result__link")
        links = [urldefrag(link.get_attribute("href") or "") for link in item.all()[:2]]
        place = links[0].url.removeprefix(site).partition("?")[0]
        section = links[-1].fragment
        found = f"{place}#{section}" if "#" in answer else place
        if found != answer:
            yield f"a search for {words!r} finds {found} first, not {answer}"
    page.close()
