"""`python -m docs.website.check`: look at every page of build/site in headless Chromium; exits with 1 on a fault.

Pictures of some pages are saved beside the site, in build/site-pictures.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from docs.website.check.browser import BrowserNotFoundError, running_browser
from docs.website.check.dead_links import dead_links
from docs.website.check.searching import wrong_answers
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
            faults = _look_at(browser, site, pages)
    except BrowserNotFoundError as error:
        print(error, file=sys.stderr)
        return 2
    print(*faults, sep="\n")
    looked = f"{len(pages)} pages, at widths of {', '.join(WIDTHS)}, in {' and '.join(SCHEMES)} colours"
    print(f"{looked}: {len(faults)} faults; pictures are in {PICTURES}")
    return 1 if faults else 0


def _look_at(browser: Browser, site: str, pages: list[str]) -> list[str]:
    PICTURES.mkdir(parents=True, exist_ok=True)
    faults: list[str] = []
    for scheme in SCHEMES:
        context = browser.new_context(color_scheme=scheme)
        visits = [visit(context, site + page, site, _picture(page, scheme)) for page in pages]
        faults += [f"{seen.address.removeprefix(site)}: {fault} ({scheme})" for seen in visits for fault in seen.faults]
        context.close()
    context = browser.new_context()
    faults += [*dead_links(visits, site), *wrong_answers(context, site)]
    context.close()
    return faults


def _picture(page: str, scheme: str) -> Path | None:
    name = page.removesuffix(".html").replace("/", "-")
    return PICTURES / f"{name}-{scheme}" if page in PICTURED else None


if __name__ == "__main__":
    sys.exit(main())
