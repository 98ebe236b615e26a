"""What the page of a recording has in it: packed columns, lanes, and data that no value can break."""

from __future__ import annotations

import itertools
import json
import re
from base64 import b64decode
from collections import Counter
from collections.abc import Iterable
from http.client import HTTPConnection
from typing import Any
from unittest.mock import Mock
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin.axis import EARLIEST, INFINITY
from muntin.errors import MuntinError
from muntin_cli.story_page.columns import integers, lists, values, words
from muntin_cli.story_page.lanes import Stack, lanes_of
from muntin_cli.story_page.packing import packed
from muntin_cli.story_page.page import page_of
from muntin_cli.story_page.serving import served_page
from muntin_engine.recording.story import Story, StoryChange, StoryRow
from tests.cli.story_page.crowds import crowd
from tests.cli.story_page.stories import flights

TICKS = st.integers(min_value=EARLIEST, max_value=INFINITY)


def unpacked(column: dict[str, Any]) -> list[int | None]:
    """Read a column of integers as `data.js` does: its format is that of `muntin_cli.story_page.columns.integers`."""
    if "digits" in column:
        return [None if text is None else int(text) for text in column["digits"]]
    data = b64decode(column["codes"])
    width = column["width"]
    least = int(column["least"])
    step = int(column["step"])
    special = {0: None, 1: EARLIEST, 2: INFINITY}
    numbers: list[int | None] = []
    for at in range(0, len(data), width):
        code = int.from_bytes(data[at : at + width], "little")
        numbers.append(special[code] if code in special else least + (code - len(special)) * step)
    return numbers


@given(st.lists(TICKS | st.none()))
def test_integers_come_back_as_they_are(numbers: list[int | None]) -> None:
    assert unpacked(json.loads(json.dumps(integers(numbers)))) == numbers


@pytest.mark.parametrize(
    ("numbers", "width"),
    [
        ([0, 70_000], 1),  # a single step from the least
        ([0, 60_000_000, INFINITY], 1),  # the end of the axis has a code of its own
        ([0, 1, 300], 2),
        ([0, 1, 70_000], 4),
        ([0, 1, 2**40], 8),
    ],
)
def test_integers_take_as_few_bytes_as_their_steps_need(numbers: list[int], width: int) -> None:
    assert integers(numbers)["width"] == width


def test_integers_that_javascript_would_round_are_text() -> None:
    column = packed_values({"n": 2**53 + 1}, {"n": 10**40}, {"n": None})["n"]
    assert column["words"] == [str(2**53 + 1), str(10**40), None]


def test_a_value_that_a_row_lacks_is_told_apart_from_a_null() -> None:
    column = packed_values({"x": float("nan")}, {"x": 0.5}, {"x": None}, {})["x"]
    assert column["words"] == ["nan", 0.5, None]
    assert unpacked(column["lacks"]) == [3]


def test_a_truth_is_no_number_and_a_float_is_no_integer() -> None:
    column = packed_values({"b": True}, {"b": 1}, {"b": None})["b"]
    assert [*map(repr, column["words"])] == ["True", "1", "None"]
    assert [*map(repr, words([1, True, 1.0])["words"])] == ["1", "True", "1.0"]


def packed_values(*rows: dict[str, object]) -> dict[str, Any]:
    """Return the columns of rows as JSON has them, which knows no NaN."""
    columns: dict[str, Any] = json.loads(json.dumps(values(rows), allow_nan=False))
    return columns


def test_lists_are_lengths_and_members() -> None:
    packed_lists = lists([[3, 1], [], [7]])
    assert unpacked(packed_lists["lengths"]) == [2, 0, 1]
    assert unpacked(packed_lists["members"]) == [3, 1, 7]


def overlaps(bars: Iterable[tuple[int, int]]) -> bool:
    """Return True if two bars share a tick."""
    in_order = itertools.pairwise(sorted(bars))
    return any(end > next_start for (_, end), (next_start, _) in in_order)


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 20))))
def test_bars_of_a_lane_do_not_overlap_and_no_lane_is_too_many(starts_and_lengths: list[tuple[int, int]]) -> None:
    bars = [(start, start + length) for start, length in starts_and_lengths]

    lanes = lanes_of(bars)

    bars_by_lane: dict[int, list[tuple[int, int]]] = {}
    bars_at_tick = Counter[int]()
    for bar, lane in zip(bars, lanes, strict=True):
        bars_by_lane.setdefault(lane, []).append(bar)
        bars_at_tick.update(range(*bar))
    assert not any(map(overlaps, bars_by_lane.values()))
    assert len(bars_by_lane) == max(bars_at_tick.values(), default=0)


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 9), st.booleans())))
def test_visible_results_of_a_lane_do_not_overlap_and_only_retracted_ones_are_hidden_by_later_ones(
    results: list[tuple[int, int, bool]],
) -> None:
    """A result is the start and the length of its bar, and whether it is retracted as soon as it is there."""
    stack = Stack()
    bars_by_lane: dict[int, dict[int, tuple[int, int]]] = {}  # of all results, by their numbers
    retracted: set[int] = set()
    for number, (start, length, is_retracted) in enumerate(results):
        lane = stack.add(number, start, start + length)
        bars = bars_by_lane.setdefault(lane, {})
        bars[number] = (start, start + length)
        assert not overlaps(bar for result, bar in bars.items() if result not in stack.hidden_by)
        if is_retracted:
            stack.retract(number)
            retracted.add(number)
    assert set(stack.hidden_by) <= retracted
    assert all(hiding > hidden for hidden, hiding in stack.hidden_by.items())


def test_a_packed_story_has_all_rows_changes_members_keys_and_fates() -> None:
    story = flights(emits_early=True)
    data = packed(story)
    assert unpacked(data["rows"]["start"]) == [row.start for row in story.rows]
    assert unpacked(data["changes"]["result"]) == [change.result for change in story.changes]
    members = itertools.chain.from_iterable(change.members for change in story.changes)
    assert unpacked(data["changes"]["members"]["members"]) == list(members)
    assert data["keys"] == [None, ["EWR"], ["JFK"], ["LGA"]]
    assert set(data["rows"]["fate"]["words"]) == {"counted", "late", "rejected", "filtered"}


def test_results_that_a_packed_story_hides_are_retracted_ones() -> None:
    story = flights(emits_early=True)
    hidden_by = unpacked(packed(story)["changes"]["hidden_by"])
    hidden = {number for number, hiding in enumerate(hidden_by) if hiding is not None}
    retracted = {change.result for change in story.changes if change.change == "retract"}
    assert hidden
    assert hidden <= retracted


@pytest.mark.nightly
def test_the_page_of_a_hundred_thousand_events_has_at_most_sixty_bytes_for_each() -> None:
    assert len(page_of(crowd())) < 60 * 100_000


def test_a_page_has_no_address_of_another_host_and_says_so_to_the_browser() -> None:
    page = page_of(flights())
    assert not re.search(r"""(?:src|href)=["'](?!data:)""", page)
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy
    assert "default-src 'none'" in policy[1]
    assert "connect-src 'none'" in policy[1]
    assert "unsafe" not in policy[1]


def test_no_value_ends_the_element_that_has_the_data() -> None:
    hostile_text = "</script><!-- <script> & \u2028"
    change = StoryChange(
        number=0,
        batch=0,
        key=(hostile_text,),
        change="insert",
        result=0,
        start=0,
        end=1,
        values={hostile_text: hostile_text},
    )
    page = page_of(Story(title=hostile_text, plan=hostile_text, key_names=[hostile_text], changes=[change]))
    assert page.count("</script>") == 2, "that of the data, and that of the scripts"
    data = re.search(r'<script type="application/json" id="story">(.*?)</script>', page, re.DOTALL)
    assert data
    assert json.loads(data[1])["title"] == hostile_text


def test_libraries_are_named_with_their_versions_and_have_their_licences_beside_them() -> None:
    from muntin_cli.story_page.page import _ASSETS

    library = (_ASSETS / "d3.min.js").read_text(encoding="utf-8")
    licences = (_ASSETS / "d3-LICENSE.txt").read_text(encoding="utf-8")
    modules = re.findall(r"^// https://d3js\.org/(d3-[a-z-]+)/ v[\d.]+ Copyright", library, re.MULTILINE)
    assert len(modules) == 14
    assert [name for name in modules if name not in licences] == []
    assert "Permission to use, copy, modify" in licences
    assert "Redistributions in binary form" in licences


def test_our_own_scripts_are_short_files_that_the_page_has_all() -> None:
    from muntin_cli.story_page.page import _ASSETS, _SCRIPTS

    lengths = {file.stem: len(file.read_text(encoding="utf-8").splitlines()) for file in _ASSETS.glob("*.js")}
    del lengths["d3.min"]
    assert set(lengths) == set(_SCRIPTS)
    assert max(lengths.values()) <= 400


def test_a_served_page_asks_this_machine_for_its_story_which_is_read_again_only_when_it_has_gone_on() -> None:
    story = flights()
    read = Mock(return_value=story)
    with served_page(read, read_version=lambda: 1) as address:
        page = urlopen(address).read().decode()
        assert "connect-src 'self'" in page
        assert 'data-live="true"' in page

        with urlopen(f"{address}story") as answer:
            assert json.load(answer) == packed(story)
            version = answer.headers["ETag"]
        with pytest.raises(HTTPError, match="304") as not_modified:
            urlopen(Request(f"{address}story", headers={"If-None-Match": version}))
        not_modified.value.close()
    assert read.call_count == 1


def test_a_served_page_is_the_only_one_of_its_address() -> None:
    with served_page(flights, read_version=lambda: 1) as address:
        with pytest.raises(HTTPError, match="404") as missing:
            urlopen(f"{address}other")
        missing.value.close()


def test_a_served_story_is_refused_to_a_page_of_another_host() -> None:
    with served_page(flights, read_version=lambda: 1) as address:
        host, port = address.removeprefix("http://").rstrip("/").split(":")
        connection = HTTPConnection(host, int(port))
        connection.request("GET", "/story", headers={"Host": "elsewhere.example"})
        assert connection.getresponse().status == 403
        connection.close()


def test_a_recording_that_cannot_be_read_now_is_said_and_asked_for_again() -> None:
    read = Mock(side_effect=[MuntinError("a file is half written"), flights()])
    with served_page(read, read_version=lambda: 1) as address:
        with pytest.raises(HTTPError, match="503") as unavailable:
            urlopen(address)
        assert unavailable.value.read() == b"a file is half written"
        unavailable.value.close()
        assert b"Flights" in urlopen(address).read()


def test_events_of_two_inputs_have_lanes_of_their_own() -> None:
    """Both inputs have events at 0 and at 9; those of one input share a lane, as they do not overlap."""
    rows = [
        StoryRow(number=n, batch=0, key=("a",), change="insert", input=side, start=start, end=start + 5, event=n)
        for n, (side, start) in enumerate([("right", 0), ("left", 0), ("right", 9), ("left", 9)])
    ]
    data = packed(Story(title="join", plan="", key_names=["key"], rows=rows))
    assert unpacked(data["rows"]["lane"]) == [1, 0, 1, 0]
