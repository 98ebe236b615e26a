"""A streaming query in a notebook: what it reports, and its last micro-batches as a table."""

from __future__ import annotations

import re

from muntin_engine.monitoring.notebook_panels import html_of
from tests.engine.monitoring.queries import FakeQuery, progress, recorded


def shown_batches(html: str) -> list[str]:
    """Return the numbers of the micro-batches in the rows of a table, from top to bottom."""
    return re.findall(r"<tr><td>(\d+)</td>", html)


def test_a_query_is_shown_with_its_last_micro_batches() -> None:
    html = html_of(FakeQuery.ended(recorded(), name="rides"), is_active=True)
    assert "(Spark query &#x27;rides&#x27;, id, run run)" in html
    assert ">watermark</th>" in html
    assert shown_batches(html) == ["3", "2", "1", "0"]
    assert html.endswith("<pre>rides runs</pre>")


def test_a_table_has_the_last_five_micro_batches_at_most() -> None:
    batches = [progress(number, muntin={"accepted": 1000 + number}) for number in range(8)]
    html = html_of(FakeQuery.ended(batches), is_active=False)
    assert html.count("<tbody><tr>") == 1
    assert shown_batches(html) == ["7", "6", "5", "4", "3"]
    assert "1,007" in html
    assert html.endswith("<pre>the query has ended</pre>")


def test_names_and_errors_are_escaped() -> None:
    query = FakeQuery.ended([progress(muntin={})], name="<rides>", error=ValueError("a < b"))
    html = html_of(query, is_active=False)
    assert "<rides>" not in html
    assert "&lt;rides&gt; has failed: a &lt; b" in html
