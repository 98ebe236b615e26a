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
from tests.cli.story_page.browsing import (
    DESK,
    PHONE,
    Counts,
    Open,
    click_mark,
    counts,
    drawn,
    frames,
    heading,
    numbers_in,
    picture,
    select,
    settle,
)
from tests.cli.story_page.chromium import LOOK
from tests.cli.story_page.crowds import crowd
from tests.cli.story_page.stories import MINUTE, NOON, WRONG, flights, short_rides
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
    # No other delay is an hour long, so only the wrong one makes a mean so large.
    wrong_result = next(change for change in story.changes if change.values["mean_delay"] > 800)
    wrong_row = next(row for row in story.rows if row.values.get("delay") == WRONG)
    page = open_page(story)

    # The number is looked for: the result that has it is selected, and its members are listed.
    page.keyboard.press("/")
    page.keyboard.type(str(wrong_result.values["mean_delay"]))
    assert counts(page).changes == 1
    page.keyboard.press("Enter")
    assert heading(page) == f"Result {wrong_result.number}"
    assert numbers_in(page, "[data-role=members]", "row") == list(wrong_result.members)

    # The member with the largest delay is selected: it lists all results that it caused.
    page.select_option("[data-role=members] select", label="largest delay first")
    assert "4711" in page.inner_text("[data-role=members] li >> nth=0")
    picture(page, "recording-light")
    page.click("[data-role=members] .item:has-text('4711')")
    assert heading(page) == f"Row {wrong_row.number}"
    caused = {change.number for change in story.changes if wrong_row.number in causes_of(change)}
    assert set(numbers_in(page, "#details", "change")) == caused

    page.click(f"#details [data-change='{wrong_result.number}']")
    assert heading(page) == f"Result {wrong_result.number}"


def causes_of(change: StoryChange) -> set[int]:
    """Return the numbers of the rows that caused a change of the results."""
    return {*change.members, *change.bounds, *change.trigger}


def test_a_click_in_the_picture_selects_a_result_or_a_row_and_escape_neither(open_page: Open) -> None:
    story = flights()
    result = next(change for change in story.changes if change.key == ("JFK",) and change.members)
    page = open_page(story)
    page.fill("#key", "JFK")

    click_mark(page, "change", result.number)
    assert heading(page) == f"Result {result.number}"
    click_mark(page, "row", result.members[0])
    assert heading(page) == f"Row {result.members[0]}"
    page.keyboard.press("Escape")
    assert "Select a result" in page.inner_text("#details")


def test_the_bar_at_the_right_edge_and_the_wheel_scroll_from_key_to_key(open_page: Open) -> None:
    page = open_page(crowd(events=3000, keys=200))  # more keys than there is room for
    box = page.locator("#picture").bounding_box()
    assert box is not None
    x_of_bar = box["x"] + box["width"] - 6

    page.mouse.move(x_of_bar, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(x_of_bar, box["y"] + box["height"])
    page.mouse.up()
    assert page.evaluate("muntin.sight.y") == page.evaluate("muntin.sight.overflow") > 0

    page.mouse.wheel(0, -300)
    settle(page)
    assert page.evaluate("muntin.sight.overflow - muntin.sight.y") == 300


def test_what_has_not_come_at_the_position_is_not_shown(open_page: Open) -> None:
    """The arrow keys go from row to row at first, from micro-batch to micro-batch after a 2, to changes after a 3."""
    story = flights()
    page = open_page(story)
    page.click("#first")
    assert counts(page) == Counts(changes=0, rows=0)
    assert drawn(page, "row") == set()

    page.keyboard.press("ArrowRight")
    assert counts(page) == Counts(changes=0, rows=1)
    assert drawn(page, "row") == {0}
    assert "row 0" in page.inner_text("#said")

    page.keyboard.press("2")
    page.keyboard.press("ArrowRight")
    assert counts(page).rows == story.batches[0].rows
    for _ in story.batches[1:]:
        page.keyboard.press("ArrowRight")
    assert counts(page) == Counts(changes=len(story.changes), rows=len(story.rows))

    page.keyboard.press("Home")
    page.keyboard.press("3")
    page.keyboard.press("ArrowRight")
    first_change = story.changes[0]
    rows_with_its_batch = sum(batch.rows for batch in story.batches[: first_change.batch + 1])
    assert counts(page) == Counts(changes=1, rows=rows_with_its_batch)
    page.keyboard.press("ArrowLeft")
    assert counts(page).changes == 0

    page.keyboard.press("End")
    assert page.get_attribute("#position", "aria-valuetext") == page.inner_text("#where")


@pytest.mark.parametrize(
    ("fate", "reason"),
    [
        ("late", "before the watermark"),
        ("rejected", "it ends before it starts"),
        ("filtered", "delay > 0 is false"),
    ],
)
def test_a_row_that_does_not_count_says_why(open_page: Open, fate: str, reason: str) -> None:
    story = flights()
    row = next(row for row in story.rows if row.fate == fate and reason in row.reason)
    page = open_page(story)
    page.click("#tab-rows")
    select(page, "row", row.number)
    assert reason in page.inner_text("#details .why")


def test_a_row_whose_windows_are_open_says_what_they_wait_for(open_page: Open) -> None:
    story = flights()
    causes: set[int] = set()
    for change in story.changes:
        causes |= causes_of(change)
    waiting = next(row for row in story.rows if row.waits_for and row.number not in causes)
    page = open_page(story)
    page.click("#tab-rows")
    select(page, "row", waiting.number)
    why = page.inner_text("#details .why")
    assert "open until the watermark reaches" in why
    assert "held back by gates" in why


def test_a_number_is_found_by_all_of_its_digits(open_page: Open) -> None:
    story = crowd(events=2000, keys=2)
    means = [str(change.values["mean"]) for change in story.changes]
    long_mean = next(mean for mean in means if len(mean) > 15)
    page = open_page(story)
    page.fill("#find", long_mean)
    assert counts(page).changes == 1
    page.press("#find", "Enter")
    assert long_mean in page.inner_text("#details .values")


def test_a_number_is_looked_for_among_values_before_windows_and_times(open_page: Open) -> None:
    """10 is a sum, and also an end and a start of windows, which are not listed: there are values that have it.

    km of north   37 in [0, 10)   110 in [10, 20)   1 in [20, 30)
    km of south   10 in [0, 10)     5 in [10, 20)
    """
    story = short_rides()
    page = open_page(story)
    page.keyboard.press("/")
    page.keyboard.type("10")
    matches = page.locator("#matches [role=option]").all_inner_texts()
    assert [" ".join(match.split()) for match in matches] == [
        "+ 10 result of south · [0, 10)",
        "● 10 row of south · 3",
        "+ 110 result of north · [10, 20)",
        "● 110 row of north · 11",
    ]
    page.keyboard.press("Enter")
    sum_of_ten = next(change for change in story.changes if change.values["km"] == 10)
    assert heading(page) == f"Result {sum_of_ten.number}"
    assert page.is_hidden("#matches")


def test_another_match_is_chosen_by_the_arrow_keys_or_by_a_click(open_page: Open) -> None:
    story = short_rides()
    page = open_page(story)
    page.keyboard.press("/")
    page.keyboard.type("10")
    page.keyboard.press("ArrowDown")
    assert page.get_attribute("#find", "aria-activedescendant") == "match-1"
    page.keyboard.press("Enter")
    assert heading(page) == "Row 3"

    page.keyboard.press("/")
    page.click("#matches [role=option]:has-text('110') >> nth=0")
    sum_of_110 = next(change for change in story.changes if change.values["km"] == 110)
    assert heading(page) == f"Result {sum_of_110.number}"


def test_a_text_is_looked_for_in_all_words_of_rows_and_results_until_escape(open_page: Open) -> None:
    page = open_page(short_rides())
    page.fill("#find", "south")
    assert page.locator("#matches [role=option]").count() == 4, "two rows and two results"
    page.keyboard.press("Escape")
    assert page.is_hidden("#matches")


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_what_a_point_says_stands_beside_its_dot(open_page: Open, size: tuple[int, int]) -> None:
    """The labels of north's first rides: 7 at 2, 9 at 4 and 21 at 7 each begin within a dot's width after their dot."""
    page = open_page(short_rides(), size)
    x_of_notes = page.evaluate(
        """() => {
            const { drawing } = muntin, notes = {};
            drawing.writeNote = (text, x) => { notes[text] = x; };
            drawing.draw(muntin);
            return notes;
        }"""
    )
    for start, km in ((2, "7"), (4, "9"), (7, "21")):
        dot = page.evaluate("at => muntin.drawing.x(at - Number(muntin.story.origin))", start)
        assert km in x_of_notes, f"{km} is not drawn at {size}"
        note = x_of_notes[km]
        assert dot < note < dot + 20, f"{km} stands at {note}, and its dot at {dot}"


def test_steps_and_lists_name_a_result_by_its_key_and_window(open_page: Open) -> None:
    page = open_page(short_rides())
    assert "insert of south · [10, 20)" in page.inner_text("#where")
    select(page, "row", 3)
    assert "insert of south · [0, 10)" in page.inner_text("#details [data-change] >> nth=0")


def test_filters_leave_out_keys_and_times(open_page: Open) -> None:
    story = flights()
    page = open_page(story)
    page.fill("#key", "LGA")
    rows_of_lga = {row.number for row in story.rows if row.key == ("LGA",)}
    assert counts(page).rows == len(rows_of_lga)
    assert drawn(page, "row") <= rows_of_lga

    page.fill("#high", "12:30")
    until = NOON + 30 * MINUTE
    early_rows = {row.number for row in story.rows if row.start is not None and row.start < until}
    assert drawn(page, "row") <= rows_of_lga & early_rows
    assert counts(page).rows == len(rows_of_lga & early_rows)

    page.fill("#high", "half past")
    assert page.get_attribute("#high", "aria-invalid") == "true"
    page.click("#clear")
    assert counts(page) == Counts(changes=len(story.changes), rows=len(story.rows))


def test_a_chosen_column_leaves_out_the_others_and_no_change(open_page: Open) -> None:
    story = flights()
    page = open_page(story)
    page.select_option("#column", "flights")
    heads = page.locator("#table-changes th").all_inner_texts()
    assert "flights" in heads
    assert "mean_delay" not in heads
    assert counts(page).changes == len(story.changes)


def test_results_that_are_corrected_and_retracted_show_how_they_changed(open_page: Open) -> None:
    story = flights(emits_early=True)
    page = open_page(story, scheme="dark")
    retraction = next(change for change in story.changes if change.change == "retract")
    select(page, "change", retraction.number)
    assert "retract" in page.inner_text("#details header")
    assert numbers_in(page, "#details", "change") == [retraction.result, retraction.number]

    correction = next(change for change in reversed(story.changes) if change.change == "insert" and change.firing > 1)
    select(page, "change", correction.number)
    picture(page, "recording-dark")


def test_a_phone_shows_all_without_scrolling_sideways(open_page: Open) -> None:
    page = open_page(flights(), PHONE, device_scale_factor=2, has_touch=True)
    select(page, "change", 8)
    look = page.evaluate(LOOK)
    assert not look["scrolls"]
    assert look["wide"] == []
    assert look["small"] == []
    picture(page, "recording-phone")
    page.click("#more")
    assert page.is_visible("#low")


def test_a_screen_reader_finds_the_parts_of_the_page_and_a_name_of_each_control(open_page: Open) -> None:
    page = open_page(flights())
    assert page.get_by_role("grid", name="Changes of the results that have come").is_visible()
    assert page.get_by_role("slider", name="Position").is_visible()
    assert page.get_by_role("img").first.is_visible()
    assert page.get_by_role("tab", name="Rows").is_visible()
    unnamed = page.eval_on_selector_all(
        "button, input, select",
        """controls => controls.filter(each => !(each.labels?.length || each.ariaLabel || each.textContent.trim()))
            .map(each => each.outerHTML)""",
    )
    assert unnamed == []


def test_a_screen_reader_hears_of_the_row_that_is_selected_in_a_table(open_page: Open) -> None:
    story = flights()
    page = open_page(story)
    page.focus("#table-changes table")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.get_attribute("#table-changes table", "aria-activedescendant") == "change-1"
    assert page.get_attribute("#change-1", "aria-selected") == "true"
    heads = 1
    assert page.get_attribute("#table-changes table", "aria-rowcount") == str(heads + len(story.changes))


def test_keys_open_the_help_and_change_the_theme(open_page: Open) -> None:
    page = open_page(flights(), scheme="light")
    page.keyboard.press("?")
    assert page.is_visible("#help")
    page.keyboard.press("Escape")
    assert not page.is_visible("#help")

    light_paper = page.evaluate("muntin.drawing.ink.paper")
    page.keyboard.press("t")
    settle(page)
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.evaluate("muntin.drawing.ink.paper") != light_paper


def test_keys_show_less_of_the_time_and_later_times_and_all_again(open_page: Open) -> None:
    page = open_page(flights())
    whole_start, whole_end = page.evaluate("muntin.sight.range()")
    page.keyboard.press("+")
    near_start, near_end = page.evaluate("muntin.sight.range()")
    assert near_end - near_start < whole_end - whole_start

    page.keyboard.press("Shift+ArrowRight")
    later_start, _ = page.evaluate("muntin.sight.range()")
    assert later_start > near_start

    page.keyboard.press("0")
    assert page.evaluate("muntin.sight.range()") == pytest.approx([whole_start, whole_end])


def test_no_value_breaks_the_page_and_large_numbers_stay_exact(open_page: Open) -> None:
    hostile_text = "</script><script>document.title='broken'</script><!-- \u2028\u2029 \" ' & \0 é 🜚"
    values = {
        "text": hostile_text,
        "long": "x" * 50_000,
        "large": 2**53 + 1,  # no double has it
        "huge": 10**40,
        "nothing": None,
        "nan": float("nan"),
    }
    start = 2**62 + 1
    row = StoryRow(
        number=0, batch=0, key=(hostile_text,), change="insert", start=start, end=start + 2, values=values, event=0
    )
    change = StoryChange(
        number=0,
        batch=0,
        key=(hostile_text,),
        change="insert",
        result=0,
        window=(start, start + 3),
        start=start,
        end=start + 3,
        values=values,
        members=[0],
    )
    story = Story(
        title=hostile_text,
        plan=hostile_text,
        key_names=[hostile_text],
        axis=Axis.TICKS,
        batches=[StoryBatch(number=0, run=0, rows=1, watermark=start, newest=start)],
        rows=[row],
        changes=[change],
    )
    page = open_page(story)
    assert page.inner_text("#title") == hostile_text
    select(page, "row", 0)
    details = page.inner_text("#details")
    assert str(2**53 + 1) in details
    assert str(10**40) in details
    assert f"[{start}, {start + 2})" in details
    assert "x" * 50_000 in details
    assert page.title() != "broken"
    assert page.evaluate("document.scripts.length") == 2, "that of the data, and that of the page"


@pytest.mark.parametrize("family", RECORDED_FAMILIES)
def test_a_recording_of_any_kind_of_query_is_shown_from_its_first_row_to_its_last(
    family: str, open_page: Open, tmp_path: Path
) -> None:
    scenario = drawn_scenario(family, seed=1)
    assert isinstance(scenario, Scenario)
    evaluator = next(iter(scenario.query.evaluators))
    _, recording = recorded(scenario, evaluator, tmp_path / "recording")
    story = recording.story()
    page = open_page(story)
    page.evaluate("""async () => {
        for (let at = 0; at <= muntin.story.count; at++) {
            muntin.goTo(at, true);
            muntin.selectCurrent();
            muntin.drawing.draw(muntin);
        }
    }""")
    assert counts(page) == Counts(changes=len(story.changes), rows=len(story.rows))
    assert page.evaluate("muntin.position") == len(story.rows) + len(story.changes)


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
"""Functions of JavaScript that move the picture, in microseconds of the story, by what is seen while it moves."""


def test_a_hundred_thousand_events_move_smoothly(open_page: Open, capsys: pytest.CaptureFixture[str]) -> None:
    page = open_page(crowd(events=100_000))
    frames_by_move = {name: frames(page, move) for name, move in MOVES.items()}
    with capsys.disabled():
        print("\nmilliseconds for a frame with 100,000 events:", frames_by_move)
    slow = {name: measured for name, measured in frames_by_move.items() if measured.median >= MOST_PER_FRAME}
    assert slow == {}


def test_a_served_page_goes_on_with_its_story(browser: Browser) -> None:
    whole = flights()
    begun = Story(
        title="begun",
        plan="",
        key_names=["airport"],
        axis=Axis.TIME,
        batches=whole.batches[:5],
        rows=[row for row in whole.rows if row.batch < 5],
        changes=[change for change in whole.changes if change.batch < 5],
    )
    story = begun
    with served_page(read=lambda: story, read_version=lambda: id(story)) as address:
        page = browser.new_page()
        page.goto(address)
        page.wait_for_function("document.getElementById('live').textContent === 'live'")
        assert counts(page).rows == len(begun.rows)

        story = whole
        page.wait_for_function(
            "count => document.getElementById('count-rows').textContent === count", arg=str(len(whole.rows))
        )
        assert page.title().startswith("Flights")
        page.close()
