"""The page of a recording in headless Chromium: `make look-check`, which needs an installed Chromium and playwright.

Where `PICTURES` names a folder, the pictures that the documentation shows are written there.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from muntin.axis import Axis
from muntin_cli.story_page.serving import served_page
from muntin_engine.recording.story import Story, StoryBatch, StoryChange, StoryRow
from tests.cli.story_page.browsing import PHONE, Open, counts, drawn, frames, picture, place_of, settle
from tests.cli.story_page.chromium import LOOK
from tests.cli.story_page.crowds import crowd
from tests.cli.story_page.stories import NOON, WRONG, flights, short_rides
from tests.engine.recording.recorded import recorded
from tests.engine.recording.test_explaining import RECORDED_FAMILIES
from tests.scenarios.drawing import drawn as drawn_scenario
from tests.scenarios.scenario import Scenario

if TYPE_CHECKING:
    from playwright.sync_api import Browser

MOST_PER_FRAME = 33
"""Milliseconds for a frame while the picture moves, by the median: 30 frames in a second."""


def test_from_a_wrong_number_to_the_row_that_made_it_and_back(open_page: Open) -> None:
    story = flights()
    wrong = next(change for change in story.changes if change.values["mean_delay"] > 800)
    page = open_page(story)
    page.keyboard.press("/")
    page.keyboard.type(str(wrong.values["mean_delay"]))
    assert counts(page)[0] == "1"
    page.keyboard.press("Enter")
    assert page.inner_text("#details h2") == f"Result {wrong.number}"
    listed = [
        int(item.get_attribute("data-row") or -1) for item in page.query_selector_all("[data-role=members] .item")
    ]
    assert listed == list(wrong.members)
    page.select_option("[data-role=members] select", label="largest delay first")
    assert "4711" in page.inner_text("[data-role=members] li >> nth=0")
    picture(page, "recording-light")
    page.click("[data-role=members] .item:has-text('4711')")
    row = next(row for row in story.rows if row.values.get("delay") == WRONG)
    assert page.inner_text("#details h2") == f"Row {row.number}"
    results = [
        int(item.get_attribute("data-change") or -1) for item in page.query_selector_all("#details [data-change]")
    ]
    caused = [
        change.number for change in story.changes if row.number in {*change.members, *change.bounds, *change.trigger}
    ]
    assert results
    assert set(results) == set(caused)
    page.click(f"#details [data-change='{wrong.number}']")
    assert page.inner_text("#details h2") == f"Result {wrong.number}"


def test_a_click_in_the_picture_selects_a_result_and_a_row(open_page: Open) -> None:
    story = flights()
    page = open_page(story)
    page.fill("#key", "JFK")
    change = next(change for change in story.changes if change.key == ("JFK",) and change.members)
    at = place_of(page, "change", change.number)
    page.mouse.click(at["x"], at["y"])
    assert page.inner_text("#details h2") == f"Result {change.number}"
    at = place_of(page, "row", change.members[0])
    page.mouse.click(at["x"], at["y"])
    assert page.inner_text("#details h2") == f"Row {change.members[0]}"
    page.keyboard.press("Escape")
    assert "Select a result" in page.inner_text("#details")


def test_the_bar_at_the_right_edge_scrolls_from_key_to_key(open_page: Open) -> None:
    page = open_page(crowd(3000, 200))
    box = page.locator("#picture").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] - 6, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 6, box["y"] + box["height"])
    page.mouse.up()
    assert page.evaluate("muntin.sight.y") == page.evaluate("muntin.sight.overflow") > 0
    page.mouse.wheel(0, -300)
    settle(page)
    assert page.evaluate("muntin.sight.overflow - muntin.sight.y") == 300


def test_what_has_not_come_is_not_there(open_page: Open) -> None:
    story = flights()
    page = open_page(story)
    page.click("#first")
    assert counts(page) == ("0", "0")
    assert drawn(page, "row") == set()
    page.keyboard.press("ArrowRight")
    assert counts(page) == ("0", "1")
    assert drawn(page, "row") == {0}
    assert "row 0" in page.inner_text("#said")
    page.keyboard.press("2")
    page.keyboard.press("ArrowRight")
    assert counts(page)[1] == str(story.batches[0].rows)
    for _ in story.batches[1:]:
        page.keyboard.press("ArrowRight")
    assert counts(page) == (str(len(story.changes)), str(len(story.rows)))
    page.keyboard.press("Home")
    page.keyboard.press("3")
    page.keyboard.press("ArrowRight")
    assert counts(page) == ("1", str(sum(batch.rows for batch in story.batches[: story.changes[0].batch + 1])))
    page.keyboard.press("ArrowLeft")
    assert counts(page)[0] == "0"
    page.keyboard.press("End")
    assert page.get_attribute("#position", "aria-valuetext") == page.inner_text("#where")


def test_a_row_says_why_it_caused_nothing(open_page: Open) -> None:
    story = flights()
    page = open_page(story)
    page.click("#tab-rows")
    for fate, reason in (
        ("late", "before the watermark"),
        ("rejected", "it ends before it starts"),
        ("filtered", "delay > 0 is false"),
    ):
        row = next(row for row in story.rows if row.fate == fate and reason in row.reason)
        page.evaluate("number => muntin.select({ kind: 'row', number }, true)", row.number)
        settle(page)
        assert reason in page.inner_text("#details .why")
    causes: set[int] = set()
    for change in story.changes:
        causes.update((*change.members, *change.bounds, *change.trigger))
    waiting = next(row for row in story.rows if row.waits_for and row.number not in causes)
    page.evaluate("number => muntin.select({ kind: 'row', number }, true)", waiting.number)
    why = page.inner_text("#details .why")
    assert "open until the watermark reaches" in why
    assert "held back by gates" in why


def test_a_number_is_found_by_all_of_its_digits(open_page: Open) -> None:
    story = crowd(2000, 2)
    page = open_page(story)
    number = next(text for change in story.changes if len(text := str(change.values["mean"])) > 15)
    page.fill("#find", number)
    assert counts(page)[0] == "1"
    page.press("#find", "Enter")
    assert number in page.inner_text("#details .values")


def test_a_number_is_looked_for_among_values_before_windows_and_times(open_page: Open) -> None:
    r"""
    km of north   37 in [0, 10)   110 in [10, 20)   1 in [20, 30)
    km of south   10 in [0, 10)     5 in [10, 20)
    """
    story = short_rides()
    page = open_page(story)
    page.keyboard.press("/")
    page.keyboard.type("10")
    listed = page.locator("#matches [role=option]").all_inner_texts()
    assert [" ".join(text.split()) for text in listed] == [
        "+ 10 result of south · [0, 10)",
        "● 10 row of south · 3",
        "+ 110 result of north · [10, 20)",
        "● 110 row of north · 11",
    ]
    page.keyboard.press("Enter")
    ten = next(change for change in story.changes if change.values["km"] == 10)
    assert page.inner_text("#details h2") == f"Result {ten.number}"
    assert page.is_hidden("#matches")


def test_another_match_is_chosen_by_the_arrow_keys_or_by_a_click(open_page: Open) -> None:
    story = short_rides()
    page = open_page(story)
    page.keyboard.press("/")
    page.keyboard.type("10")
    page.keyboard.press("ArrowDown")
    assert page.get_attribute("#find", "aria-activedescendant") == "match-1"
    page.keyboard.press("Enter")
    assert page.inner_text("#details h2") == "Row 3"
    page.keyboard.press("/")
    page.click("#matches [role=option]:has-text('110') >> nth=0")
    large = next(change for change in story.changes if change.values["km"] == 110)
    assert page.inner_text("#details h2") == f"Result {large.number}"
    page.fill("#find", "south")  # no number: all words count, as before
    assert page.locator("#matches [role=option]").count() == 4
    page.keyboard.press("Escape")
    assert page.is_hidden("#matches")


@pytest.mark.parametrize("size", [(1366, 860), PHONE])
def test_what_a_point_says_stands_beside_its_dot(open_page: Open, size: tuple[int, int]) -> None:
    """The labels of north's first rides: 7 at 2, 9 at 4 and 21 at 7 each begin within a dot's width after their dot."""
    page = open_page(short_rides(), size)
    notes = page.evaluate(
        """() => {
            const { drawing } = muntin, notes = {};
            drawing.writeNote = (text, x) => { notes[text] = x; };
            drawing.draw(muntin);
            return notes;
        }"""
    )
    for start, km in ((2, "7"), (4, "9"), (7, "21")):
        dot = page.evaluate("at => muntin.drawing.x(at - Number(muntin.story.origin))", start)
        assert km in notes, f"{km} is not drawn at {size}"
        assert dot < notes[km] < dot + 20, f"{km} stands at {notes[km]}, and its dot at {dot}"


def test_steps_and_lists_name_a_result_by_its_key_and_window(open_page: Open) -> None:
    page = open_page(short_rides())
    assert "insert of south · [10, 20)" in page.inner_text("#where")
    page.evaluate("muntin.select({ kind: 'row', number: 3 }, true)")
    assert "insert of south · [0, 10)" in page.inner_text("#details [data-change] >> nth=0")


def test_filters_leave_out_keys_times_and_columns(open_page: Open) -> None:
    story = flights()
    page = open_page(story)
    page.fill("#key", "LGA")
    rows = {row.number for row in story.rows if row.key == ("LGA",)}
    assert counts(page)[1] == str(len(rows))
    assert drawn(page, "row") <= rows
    page.fill("#high", "12:30")
    few = {
        row.number
        for row in story.rows
        if row.key == ("LGA",) and row.start is not None and row.start < NOON + 30 * 60_000_000
    }
    assert drawn(page, "row") <= few
    assert counts(page)[1] == str(len(few))
    page.fill("#high", "half past")
    assert page.get_attribute("#high", "aria-invalid") == "true"
    page.click("#clear")
    page.select_option("#column", "flights")
    heads = page.eval_on_selector_all("#table-changes th", "found => found.map(each => each.textContent)")
    assert "flights" in heads
    assert "mean_delay" not in heads
    assert counts(page)[0] == str(len(story.changes))


def test_results_that_are_corrected_and_retracted_show_how_they_changed(open_page: Open) -> None:
    story = flights(emits_early=True)
    page = open_page(story, scheme="dark")
    retracted = next(change for change in story.changes if change.change == "retract")
    page.evaluate("number => muntin.select({ kind: 'change', number }, true)", retracted.number)
    assert page.inner_text("#details header").count("retract")
    listed = page.eval_on_selector_all(
        "#details [data-change]", "found => found.map(each => Number(each.dataset.change))"
    )
    assert listed == [retracted.result, retracted.number]
    last = next(change for change in reversed(story.changes) if change.change == "insert" and change.firing > 1)
    page.evaluate("number => muntin.select({ kind: 'change', number }, true)", last.number)
    picture(page, "recording-dark")


def test_a_phone_shows_all_without_scrolling_sideways(open_page: Open) -> None:
    page = open_page(flights(), PHONE, device_scale_factor=2, has_touch=True)
    page.evaluate("muntin.select({ kind: 'change', number: 8 }, true)")
    look = page.evaluate(LOOK)
    assert not look["scrolls"]
    assert look["wide"] == []
    assert look["small"] == []
    picture(page, "recording-phone")
    page.click("#more")
    assert page.is_visible("#low")


def test_the_tables_are_there_for_a_screen_reader(open_page: Open) -> None:
    story = flights()
    page = open_page(story)
    for role, name in (
        ("grid", "Changes of the results that have come"),
        ("slider", "Position"),
        ("img", None),
        ("tab", "Rows"),
    ):
        assert page.get_by_role(role, name=name).first.is_visible(), role  # type: ignore[arg-type]
    unnamed = page.eval_on_selector_all(
        "button, input, select",
        """found => found.filter(each => !(each.labels?.length || each.ariaLabel || each.textContent.trim()))
            .map(each => each.outerHTML)""",
    )
    assert unnamed == []
    page.focus("#table-changes table")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.get_attribute("#table-changes table", "aria-activedescendant") == "change-1"
    assert page.get_attribute("#change-1", "aria-selected") == "true"
    assert page.get_attribute("#table-changes table", "aria-rowcount") == str(len(story.changes) + 1)


def test_keys_open_the_help_and_change_the_theme(open_page: Open) -> None:
    page = open_page(flights())
    page.keyboard.press("?")
    assert page.is_visible("#help")
    page.keyboard.press("Escape")
    assert not page.is_visible("#help")
    before = page.evaluate("muntin.drawing.ink.paper")
    page.keyboard.press("t")
    settle(page)
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.evaluate("muntin.drawing.ink.paper") != before
    low, high = page.evaluate("muntin.sight.range()")
    page.keyboard.press("+")
    nearer = page.evaluate("muntin.sight.range()")
    assert nearer[1] - nearer[0] < high - low
    page.keyboard.press("Shift+ArrowRight")
    assert page.evaluate("muntin.sight.range()")[0] > nearer[0]
    page.keyboard.press("0")
    assert page.evaluate("muntin.sight.range()") == pytest.approx([low, high])


def test_no_value_breaks_the_page_and_large_numbers_stay_exact(open_page: Open) -> None:
    odd = "</script><script>document.title='broken'</script><!-- \u2028\u2029 \" ' & \0 é 🜚"
    values = {
        "text": odd,
        "long": "x" * 50_000,
        "large": 2**53 + 1,
        "huge": 10**40,
        "nothing": None,
        "nan": float("nan"),
    }
    start = 2**62 + 1
    story = Story(
        title=odd,
        plan=odd,
        key_names=[odd],
        axis=Axis.TICKS,
        batches=[StoryBatch(number=0, run=0, rows=1, watermark=start, newest=start)],
        rows=[
            StoryRow(number=0, batch=0, key=(odd,), change="insert", start=start, end=start + 2, values=values, event=0)
        ],
        changes=[
            StoryChange(
                number=0,
                batch=0,
                key=(odd,),
                change="insert",
                result=0,
                window=(start, start + 3),
                start=start,
                end=start + 3,
                values=values,
                members=[0],
            )
        ],
    )
    page = open_page(story)
    assert page.inner_text("#title") == odd
    page.evaluate("muntin.select({ kind: 'row', number: 0 })")
    details = page.inner_text("#details")
    assert str(2**53 + 1) in details
    assert str(10**40) in details
    assert f"[{start}, {start + 2})" in details
    assert "x" * 50_000 in details
    assert page.title() != "broken"
    assert page.evaluate("document.scripts.length") == 2


@pytest.mark.parametrize("family", RECORDED_FAMILIES)
def test_a_recording_of_any_kind_of_query_is_shown_from_its_first_row_to_its_last(
    family: str, open_page: Open, tmp_path: Path
) -> None:
    scenario = drawn_scenario(family, 1)
    assert isinstance(scenario, Scenario)
    _, recording = recorded(scenario, next(iter(scenario.query.evaluators)), tmp_path / "recording")
    story = recording.story()
    page = open_page(story)
    page.evaluate("""async () => {
        for (let at = 0; at <= muntin.story.count; at++) {
            muntin.goTo(at, true);
            muntin.selectCurrent();
            muntin.drawing.draw(muntin);
        }
    }""")
    assert counts(page) == (str(len(story.changes)), str(len(story.rows)))
    assert page.evaluate("muntin.position") == len(story.rows) + len(story.changes)


def test_a_hundred_thousand_events_move_smoothly(open_page: Open, capsys: pytest.CaptureFixture[str]) -> None:
    story = crowd()
    page = open_page(story)
    measured = {name: frames(page, move) for name, move in MOVES.items()}
    with capsys.disabled():
        print("\nmilliseconds for a frame with 100,000 events (median, longest):", measured)
    assert all(median < MOST_PER_FRAME for median, _ in measured.values()), measured


MOVES = {
    "all in sight": "i => { muntin.sight.show(-1e6 * i, muntin.story.length - 1e6 * i, false); }",
    "a day": "i => { const at = i * 2e9; muntin.sight.show(at, at + 86400e6, false); }",
    "an hour": "i => { const at = i * 1e8; muntin.sight.show(at, at + 3600e6, false); }",
    "from key to key": "i => { muntin.sight.scrollTo(i * 20); }",
    "stepping": "i => { if (!i) muntin.goTo(50000); muntin.step(1); }",
    "the slider": "i => { muntin.goTo(1000 * i); }",
    "selected": """i => {
        if (!i) muntin.select({ kind: 'change', number: 700 });
        muntin.sight.show(i * 1e9, i * 1e9 + 5 * 86400e6, false);
    }""",
}


def test_a_served_page_goes_on_with_its_story(browser: Browser) -> None:
    pages = [flights()]
    half = Story(
        title="half",
        plan="",
        key_names=["airport"],
        axis=Axis.TIME,
        batches=pages[0].batches[:5],
        rows=[row for row in pages[0].rows if row.batch < 5],
        changes=[change for change in pages[0].changes if change.batch < 5],
    )
    now = half
    with served_page(lambda: now, lambda: id(now)) as address:
        page = browser.new_page()
        page.goto(address)
        page.wait_for_function("document.getElementById('live').textContent === 'live'")
        assert counts(page)[1] == str(len(half.rows))
        now = pages[0]
        page.wait_for_function(
            "count => document.getElementById('count-rows').textContent === count", arg=str(len(now.rows))
        )
        assert page.title().startswith("Flights")
        page.close()
