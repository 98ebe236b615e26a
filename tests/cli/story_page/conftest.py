"""A browser, where a test wants one, and pages that are open in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from muntin_cli.story_page.page import page_of
from muntin_engine.recording.story import Story
from tests.cli.story_page.browsing import DESK, Open, settle
from tests.cli.story_page.chromium import running_browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The browser that is installed, without a window."""
    with running_browser() as browser:
        yield browser


@pytest.fixture
def open_page(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    """Return a function that opens the page of a story.

    The test fails if a page asks a host for anything, if a script of it fails, or if it writes to the console.
    """
    faults: list[str] = []
    contexts = []

    def note_hosts(request: Any) -> None:
        if not request.url.startswith(("file:", "data:")):
            faults.append(request.url)

    def open_story(
        story: Story, size: tuple[int, int] = DESK, scheme: Literal["light", "dark"] = "light", **options: Any
    ) -> Page:
        """Open the page in a window of a width and a height, with options for the browser."""
        file = tmp_path / "recording.html"
        file.write_text(page_of(story), encoding="utf-8")
        context = browser.new_context(
            viewport={"width": size[0], "height": size[1]}, color_scheme=scheme, reduced_motion="reduce", **options
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: faults.append(message.text))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", note_hosts)
        page.goto(file.as_uri())
        settle(page)
        return page

    yield open_story
    for context in contexts:
        context.close()
    assert faults == []
