"""The page of a chain of queries in headless Chromium, a part of `make look-check`."""

from __future__ import annotations

from pathlib import Path
from random import Random

from muntin import hopping
from tests.cli.story_page.browsing import Counts, Open, counts, heading, numbers_in, select
from tests.engine.recording.chained import BUCKETS, Reading, chained
from tests.engine.recording.live import live_results
from tests.engine.recording.test_causes_in_chains import of_windows
from tests.modules.every_shape import Everything


def test_a_result_of_a_chain_leads_through_the_queries_before_to_its_rows_and_back(
    open_page: Open, tmp_path: Path
) -> None:
    """A row of the last query is a result of the first one, which is made of rows."""
    first_query = of_windows("tumbling", Random("chain"))
    # Each bucket of the first query is a source of the last one.
    reading = Reading(hopping(30, 12), (Everything(),), lifetimes="named", sources=((),) * BUCKETS)
    _, recording = chained(first_query.scenario, reading, tmp_path / "recording", is_regrouped=True)
    story = recording.story()
    last_result = next(change for change in live_results(story) if len(change.members) > 1)
    row = last_result.members[0]
    origin = story.rows[row].origin
    assert origin is not None
    first_place, number = origin
    first_story = story.upstream[first_place]
    first_result = first_story.changes[number]
    last_place = 1
    page = open_page(story)
    assert page.inner_text(f"#query option >> nth={last_place}").startswith("2 of 2")

    # From a result of the last query to one of its rows, and to the result of the first query that the row is.
    select(page, "change", last_result.number)
    page.click(f"[data-role=members] [data-row='{row}']")
    page.click(f"#details [data-origin='{number}']")
    assert page.input_value("#query") == str(first_place)
    assert counts(page) == Counts(changes=len(first_story.changes), rows=len(first_story.rows))
    assert heading(page) == f"Result {first_result.result}"
    assert numbers_in(page, "[data-role=members]", "row") == list(first_result.members)

    # Back to the row of the last query.
    page.click(f"#details [data-reader='{row}']")
    assert heading(page) == f"Row {row}"
    assert page.input_value("#query") == str(last_place)

    # Before the first row of the last query, the first query has nothing either.
    page.keyboard.press("Home")
    page.select_option("#query", str(first_place))
    assert counts(page) == Counts(changes=0, rows=0)
