"""`python -m website.check`: look at every page of build/site in headless Chromium; exits with 1 if something is wrong.

Pictures of some pages are saved beside the site, in build/site-pictures.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser

from website.check.browser import BrowserNotFoundError, running_browser
from website.check.dead_links import dead_links
from website.check.server import served
from website.check.visit import Visit, visit

SITE: Final = Path("build/site")
PICTURES: Final = Path("build/site-pictures")
WIDTHS: Final = {"phone": (375, 812), "desk": (1366, 900)}
PICTURED: Final = (
    "index.html",
    "tutorials/first-query.html",
    "explanation/time-model.html",
    "explanation/architecture.html",
    "reference/windows.html",
    "reference/api/modules.html",
    "reference/api/windows.html",
    "glossary.html",
)


def main() -> int:
    """Look at the site, say what is wrong, and return the exit code."""
    pages = sorted(path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html"))
    if not pages:
        print(f"there is no page in {SITE}: run make docs first", file=sys.stderr)
        return 2
    try:
        with served(SITE) as site, running_browser() as browser:
            faults = [fault for name in WIDTHS for fault in _look_at(browser, site, pages, name)]
    except BrowserNotFoundError as error:
        print(error, file=sys.stderr)
        return 2
    print(*faults, sep="\n")
    print(f"{len(pages)} pages at {len(WIDTHS)} widths, {len(faults)} faults; pictures are in {PICTURES}")
    return 1 if faults else 0


def _look_at(browser: Browser, site: str, pages: list[str], width: str) -> list[str]:
    PICTURES.mkdir(parents=True, exist_ok=True)
    x, y = WIDTHS[width]
    context = browser.new_context(viewport={"width": x, "height": y})
    visits = [visit(context, site + page, site, _picture(page, width)) for page in pages]
    context.close()
    return [*_faults(visits, site, width), *dead_links(visits, site)]


def _faults(visits: list[Visit], site: str, width: str) -> list[str]:
    return [f"{seen.address.removeprefix(site)} ({width}): {fault}" for seen in visits for fault in seen.faults]


def _picture(page: str, width: str) -> Path | None:
    name = page.removesuffix(".html").replace("/", "-")
    return PICTURES / f"{name}-{width}.png" if page in PICTURED else None


if __name__ == "__main__":
    sys.exit(main())
