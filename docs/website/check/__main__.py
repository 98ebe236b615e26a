"""`python -m docs.website.check [page ...]`: look at pages of build/site in headless Chromium; exits with 1 on a fault.

A page is named by the beginning of its address, such as `how-to/`. Without a name all pages are looked at, and the
links between them are tried too.

Pictures of some pages are saved beside the site, in build/site-pictures.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from docs.website.check.browser import BrowserNotFoundError, running_browser
from docs.website.check.dead_links import dead_links
from docs.website.check.server import served
from docs.website.check.visit import SCHEMES, WIDTHS, visit

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SITE: Final = Path("build/site")
PICTURES: Final = Path("build/site-pictures")
PICTURED: Final = (
    "index.html",
    "install.html",
    "how-to/read-from-kafka.html",
    "repository/readme.html",
    "tutorials/first-query.html",
    "explanation/time-model.html",
    "contributing/architecture.html",
    "reference/modules.html",
    "reference/windows.html",
    "glossary.html",
)


def main(names: Sequence[str] = ()) -> int:
    """Look at the site, or at the pages that are named; print the faults, and return the exit code."""
    pages = chosen(sorted(path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html")), names)
    if not pages:
        print(f"there is no page {' or '.join(names)} in {SITE}: run make docs first", file=sys.stderr)
        return 2
    try:
        with served(SITE) as site, running_browser() as browser:
            faults = _look_at(browser, site, pages, is_whole=not names)
    except BrowserNotFoundError as error:
        print(error, file=sys.stderr)
        return 2
    print(*faults, sep="\n")
    looked = f"{len(pages)} pages, at widths of {', '.join(WIDTHS)}, in {' and '.join(SCHEMES)} colours"
    print(f"{looked}: {len(faults)} faults; pictures are in {PICTURES}")
    return 1 if faults else 0


def chosen(pages: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the pages whose addresses begin with one of the names, or all where none is given.

    Example:
        >>> chosen(["how-to/alerts.html", "index.html"], ["how-to/"])
        ['how-to/alerts.html']
    """
    return [page for page in pages if not names or page.startswith(tuple(names))]


def _look_at(browser: Browser, site: str, pages: list[str], *, is_whole: bool) -> list[str]:
    PICTURES.mkdir(parents=True, exist_ok=True)
    faults: list[str] = []
    for scheme in SCHEMES:
        context = browser.new_context(color_scheme=scheme)
        visits = [visit(context, site + page, site, _picture(page, scheme)) for page in pages]
        faults += [f"{seen.address.removeprefix(site)}: {fault} ({scheme})" for seen in visits for fault in seen.faults]
        context.close()
    if is_whole:
        faults += dead_links(visits, site)
    return faults


def _picture(page: str, scheme: str) -> Path | None:
    name = page.removesuffix(".html").replace("/", "-")
    return PICTURES / f"{name}-{scheme}" if page in PICTURED else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
