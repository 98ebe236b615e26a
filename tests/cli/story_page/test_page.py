"""What the page of a recording has in it: packed columns, lanes, and data that no value can break."""

from __future__ import annotations

import itertools
import json
import re
from base64 import b64decode
from collections import Counter
from http.client import HTTPConnection
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


def unpacked(column: dict[str, object]) -> list[int | None]:
    """Read integers as `data.js` does."""
    if "digits" in column:
        return [None if each is None else int(each) for each in column["digits"]]  # type: ignore[attr-defined]
    data = b64decode(str(column["codes"]))
    width = int(str(column["width"]))
    codes = [int.from_bytes(data[at : at + width], "little") for at in range(0, len(data), width)]
    special = {0: None, 1: EARLIEST, 2: INFINITY}
    least = int(str(column["least"]))
    step = int(str(column["step"]))
    return [special[code] if code in special else least + (code - 3) * step for code in codes]


@given(st.lists(TICKS | st.none()))
def test_integers_come_back_as_they_are(numbers: list[int | None]) -> None:
    assert unpacked(json.loads(json.dumps(integers(numbers)))) == numbers


@pytest.mark.parametrize(
    ("numbers", "width"), [([0, 60_000_000, INFINITY], 1), ([0, 70_000], 2), ([0, 1, 70_000], 4), ([0, 1, 2**40], 8)]
)
def test_integers_take_as_few_bytes_as_their_steps_need(numbers: list[int], width: int) -> None:
    packed_numbers = integers(numbers)
    assert packed_numbers["width"] == (1 if len(numbers) == 2 else width)


def test_values_keep_what_json_would_change() -> None:
    rows: list[dict[str, object]] = [
        {"n": 2**53 + 1, "x": float("nan"), "b": True},
        {"n": 10**40, "x": 0.5, "b": 1},
        {"n": None},
    ]
    column = json.loads(json.dumps(values(rows), allow_nan=False))
    assert column["n"]["words"] == [str(2**53 + 1), str(10**40), None]
    assert column["x"]["words"] == ["nan", 0.5, None]
    assert unpacked(column["x"]["lacks"]) == [2]
    assert column["b"]["words"] == [True, 1, None], "a truth is no number"
    assert words([1, True, 1.0])["words"] == [1, True, 1.0]


def test_lists_are_lengths_and_members() -> None:
    packed_lists = lists([[3, 1], [], [7]])
    assert unpacked(packed_lists["lengths"]) == [2, 0, 1]
    assert unpacked(packed_lists["members"]) == [3, 1, 7]


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 20)).map(lambda bar: (bar[0], bar[0] + bar[1]))))
def test_bars_of_a_lane_do_not_overlap_and_no_lane_is_too_many(bars: list[tuple[int, int]]) -> None:
    lanes = lanes_of(bars)
    for lane in set(lanes):
        lane_bars = sorted(bar for bar, number in zip(bars, lanes, strict=True) if number == lane)
        assert all(bar_before[1] <= bar_after[0] for bar_before, bar_after in itertools.pairwise(lane_bars))
    bars_at = Counter[int]()
    for start, end in bars:
        bars_at.update(range(start, end))
    assert len(set(lanes)) == max(bars_at.values(), default=0)


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 9), st.booleans())))
def test_live_results_of_a_lane_do_not_overlap_and_retracted_ones_are_hidden_once(
    results: list[tuple[int, int, bool]],
) -> None:
    stack = Stack()
    lanes = {}
    hidden = set()
    for number, (start, length, is_retracted) in enumerate(results):
        lanes[number] = stack.add(number, start, start + length)
        extents: list[tuple[int, int]] = []
        for result_number, lane in lanes.items():
            if lane == lanes[number] and result_number not in stack.hidden_by:
                result_start, result_length, _ = results[result_number]
                extents.append((result_start, result_start + result_length))
        for (_, end_before), (start_after, _) in itertools.pairwise(sorted(extents)):
            assert end_before <= start_after
        if is_retracted:
            stack.retract(number)
            hidden.add(number)
    assert set(stack.hidden_by) <= hidden
    assert all(by > number for number, by in stack.hidden_by.items())


def test_a_story_is_packed_whole() -> None:
    story = flights(emits_early=True)
    data = packed(story)
    assert unpacked(data["rows"]["start"]) == [row.start for row in story.rows]
    assert unpacked(data["changes"]["result"]) == [change.result for change in story.changes]
    members = itertools.chain.from_iterable(change.members for change in story.changes)
    assert unpacked(data["changes"]["members"]["members"]) == list(members)
    assert data["keys"] == [None, ["EWR"], ["JFK"], ["LGA"]]
    assert set(data["rows"]["fate"]["words"]) == {"counted", "late", "rejected", "filtered"}
    hidden = [number for number, by in enumerate(unpacked(data["changes"]["hidden_by"])) if by is not None]
    assert hidden
    retracted = {change.result for change in story.changes if change.change == "retract"}
    assert set(hidden) <= retracted


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
    odd = "</script><!-- <script> & \u2028"
    story = Story(
        title=odd,
        plan=odd,
        key_names=[odd],
        changes=[
            StoryChange(number=0, batch=0, key=(odd,), change="insert", result=0, start=0, end=1, values={odd: odd})
        ],
    )
    page = page_of(story)
    assert page.count("</script>") == 2, "that of the data, and that of the scripts"
    data = re.search(r'<script type="application/json" id="story">(.*?)</script>', page, re.DOTALL)
    assert data
    assert json.loads(data[1])["title"] == odd


def test_libraries_are_named_with_their_versions_and_have_their_licences_beside_them() -> None:
    from muntin_cli.story_page.page import _ASSETS

    library = (_ASSETS / "d3.min.js").read_text(encoding="utf-8")
    licences = (_ASSETS / "d3-LICENSE.txt").read_text(encoding="utf-8")
    named = re.findall(r"^// https://d3js\.org/(d3-[a-z-]+)/ v[\d.]+ Copyright", library, re.MULTILINE)
    assert len(named) == 14
    assert all(name in licences for name in named)
    assert "Permission to use, copy, modify" in licences
    assert "Redistributions in binary form" in licences


def test_our_own_scripts_are_short_files_that_the_page_has_all() -> None:
    from muntin_cli.story_page.page import _ASSETS, _SCRIPTS

    lengths = {file.stem: len(file.read_text(encoding="utf-8").splitlines()) for file in _ASSETS.glob("*.js")}
    del lengths["d3.min"]
    assert set(lengths) == set(_SCRIPTS)
    assert max(lengths.values()) <= 400


def test_a_served_page_is_for_this_machine_alone() -> None:
    story = flights()
    tell = Mock(return_value=story)
    with served_page(tell, lambda: 1) as address:
        page = urlopen(address).read().decode()
        assert "connect-src 'self'" in page
        assert 'data-live="true"' in page
        with urlopen(f"{address}story") as answer:
            assert json.load(answer) == packed(story)
            version = answer.headers["ETag"]
        with pytest.raises(HTTPError, match="304") as same:
            urlopen(Request(f"{address}story", headers={"If-None-Match": version}))
        same.value.close()
        with pytest.raises(HTTPError, match="404") as missing:
            urlopen(f"{address}other")
        missing.value.close()
        host, port = address.removeprefix("http://").rstrip("/").split(":")
        connection = HTTPConnection(host, int(port))
        connection.request("GET", "/story", headers={"Host": "elsewhere.example"})
        assert connection.getresponse().status == 403
        connection.close()
    assert tell.call_count == 1, "it is told again only when it has gone on"


def test_a_recording_that_cannot_be_read_now_is_said_and_asked_for_again() -> None:
    tell = Mock(side_effect=[MuntinError("a file is half written"), flights()])
    with served_page(tell, lambda: 1) as address:
        with pytest.raises(HTTPError, match="503") as refused:
            urlopen(address)
        assert refused.value.read() == b"a file is half written"
        refused.value.close()
        assert b"Flights" in urlopen(address).read()


def test_events_of_two_inputs_have_lanes_of_their_own() -> None:
    """Both inputs have events at 0 and at 9; those of one input share a lane, as they do not overlap."""
    rows = [
        StoryRow(number=n, batch=0, key=("a",), change="insert", input=name, start=start, end=start + 5, event=n)
        for n, (name, start) in enumerate([("right", 0), ("left", 0), ("right", 9), ("left", 9)])
    ]
    data = packed(Story(title="join", plan="", key_names=["key"], rows=rows))
    assert unpacked(data["rows"]["lane"]) == [1, 0, 1, 0]
