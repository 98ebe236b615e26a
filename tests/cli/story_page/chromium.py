"""Pages in the Chromium that is installed; nothing is downloaded."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
VARIABLE: Final = "CHROMIUM"

SMALLEST_TEXT: Final = 11.5
"""Pixels; text below it is not read on a phone."""

LOOK: Final = Path(__file__).with_name("look.js").read_text("utf-8").replace("SMALLEST", str(SMALLEST_TEXT))
"""A function for `page.evaluate`, which returns what the page looks like at its present width."""


class BrowserNotFoundError(LookupError):
    """No Chromium is installed.

    Attributes:
        names: The programs that were looked for.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        super().__init__(
            "no Chromium was found to look at the pages with\n"
            f"  looked for: {', '.join(names)}\n"
            "  install one (Debian and Ubuntu: apt install chromium), or name it:\n"
            f"  {VARIABLE}=/path/to/chromium make look-check"
        )


def find_browser() -> str:
    """Return the path of a Chromium, the one that the environment names or the first on the path.

    Raises:
        BrowserNotFoundError: There is none.
    """
    names = (os.environ[VARIABLE],) if VARIABLE in os.environ else NAMES
    program = next(filter(None, map(shutil.which, names)), None)
    if program is None:
        raise BrowserNotFoundError(names)
    return program


@contextmanager
def running_browser() -> Iterator[Browser]:
    """Run the browser that was found, without a window."""
    from playwright.sync_api import sync_playwright

    path = find_browser()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"] if _is_root() else [])
        try:
            yield browser
        finally:
            browser.close()


def _is_root() -> bool:
    """Return whether Chromium would refuse its sandbox, as in a container."""
    return hasattr(os, "geteuid") and os.geteuid() == 0
