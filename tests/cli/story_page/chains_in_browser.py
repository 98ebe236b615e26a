"""The page of a chain of queries in headless Chromium, a part of `make look-check`."""

from __future__ import annotations

from pathlib import Path
from random import Random

from muntin import hopping
from tests.cli.story_page.browsing import Open, counts
from tests.engine.recording.chained import Reading, chained
from tests.engine.recording.live import live_results
from tests.engine.recording.test_causes_in_chains import of_windows
from tests.modules.every_shape import Everything


def test_a_result_of_a_chain_leads_through_the_queries_before_to_its_rows_and_back(
    open_page: Open, tmp_path: Path
) -> None:
    """A row of the last query is a result of the first one, which is made of rows."""
    first_query = of_windows("tumbling", Random("chain"))
    reading = Reading(hopping(30, 12), (Everything(),), lifetimes="named", sources=((),) * 3)
    _, recording = chained(first_query.scenario, reading, tmp_path / "recording", is_regrouped=True)
    story = recording.story()
    change = next(change for change in live_results(story) if len(change.members) > 1)
    row = change.members[0]
    origin = story.rows[row].origin
    assert origin is not None
    place, number = origin
    page = open_page(story)
    assert page.inner_text("#query option >> nth=1").startswith("2 of 2")
    page.evaluate("number => muntin.select({ kind: 'change', number }, true)", change.number)
    page.click(f"[data-role=members] [data-row='{row}']")
    page.click(f"#details [data-origin='{number}']")
    assert page.input_value("#query") == str(place)
    assert counts(page) == (str(len(story.before[place].changes)), str(len(story.before[place].rows)))
    assert page.inner_text("#details h2") == f"Result {story.before[place].changes[number].result}"
    listed = [
        int(item.get_attribute("data-row") or -1) for item in page.query_selector_all("[data-role=members] .item")
    ]
    assert listed == list(story.before[place].changes[number].members)
    page.click(f"#details [data-reader='{row}']")
    assert page.inner_text("#details h2") == f"Row {row}"
    assert page.input_value("#query") == "1"
    page.keyboard.press("Home")
    page.select_option("#query", "0")
    assert counts(page) == ("0", "0")
