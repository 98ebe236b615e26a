"""The page of running queries in headless Chromium: `make docs-check`."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

import pytest

from docs.website.check.browser import running_browser
from docs.website.check.visit import SMALLEST_TEXT
from muntin_engine import alert, batch_metrics
from muntin_engine.monitoring.live import LiveQueries
from tests.monitoring.queries import progress
from tests.monitoring.test_serving import METRICS, running, served, session

LOOK: Final = Path("docs/website/check/look.js").read_text(encoding="utf-8").replace("SMALLEST", str(SMALLEST_TEXT))


@pytest.mark.parametrize(("scheme", "width"), [("light", 1366), ("dark", 375)])
def test_the_page_shows_each_query_and_goes_on_by_itself(scheme: Literal["light", "dark"], width: int) -> None:
    live, faults = LiveQueries(session(running(progress(0, rides=METRICS))), [alert(lag="1 minute")]), list[str]()
    with served(live) as server, running_browser() as browser:
        page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
        page.on("console", lambda message: faults.append(message.text))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda asked: None if asked.url.startswith(server.url) else faults.append(asked.url))
        page.goto(server.url)
        page.wait_for_selector("section h2")
        assert page.inner_text("h2") == "rides"
        told = page.inner_text("section ul").splitlines()
        assert told[0] == "lag is 10 min, above 1 min"
        assert "the source 'north' is at 2024-05-01 07:50:00" in told[1]
        assert page.inner_text("#status").startswith("1 query runs")
        look = page.evaluate(LOOK)
        assert (look["scrolls"], look["wide"], look["small"]) == (False, [], [])
        live.take(batch_metrics({**progress(7, rides=METRICS), "runId": "run-0"})["rides"])
        page.wait_for_selector("text=micro-batch 7")
        assert page.locator("svg[role=img][aria-label*='late rows']").count() == 1
    assert faults == []
