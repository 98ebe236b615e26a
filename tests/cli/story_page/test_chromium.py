"""Looking for a browser, without one."""

from __future__ import annotations

import pytest

from tests.cli.story_page.chromium import BrowserNotFoundError, find_browser


def test_without_a_browser_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHROMIUM", "no-such-browser")
    with pytest.raises(BrowserNotFoundError, match="no-such-browser"):
        find_browser()
