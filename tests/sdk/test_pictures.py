"""Pictures of drawings, as SVG."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, NamedTuple
from xml.etree import ElementTree

import duckdb
import pandas as pd
import pyarrow as pa
import pytest

from muntin.axis import Axis
from muntin.drawings import Bar, Drawing, Look
from muntin.pictures import Box, Chart, Picture, Track, draw
from muntin.testing import Script
from muntin_engine.testing import random_stream

WIDTH = 400
SVG = "http://www.w3.org/2000/svg"


def elements(drawing: Drawing, name: str, look: str = "") -> list[ElementTree.Element]:
    """Return the elements of a drawing's picture that have a name, and a look among their classes if one is given."""
    root = ElementTree.fromstring(Picture(drawing).svg())
    named_elements = root.iter(f"{{{SVG}}}{name}")
    return [element for element in named_elements if not look or look in element.get("class", "").split()]


def texts(drawing: Drawing, look: str = "") -> list[str]:
    """Return the texts in a drawing's picture, or those of a look."""
    return [element.text or "" for element in elements(drawing, "text", look)]


def place(element: ElementTree.Element, name: str) -> float:
    """Return an attribute of an element as a number, such as the `x` at which it begins."""
    return float(element.get(name, 0))


class Span(NamedTuple):
    """A text, and where it begins and ends in its picture, if letters are as wide as those of a usual font."""

    text: str
    left: float
    right: float


def spans(drawing: Drawing) -> Iterator[Span]:
    """Yield the texts in a drawing's picture."""
    for element in elements(drawing, "text"):
        text = element.text or ""
        look = element.get("class", "").split()
        width = sum(3.5 if letter in " .,:;'|!ijl()[]" else 7.5 for letter in text)
        left = place(element, "x")
        if "mid" in look:
            left -= width / 2
        elif "end" in look:
            left -= width
        yield Span(text, left, left + width)


def test_text_and_picture_have_the_same_rows() -> None:
    #       0         10
    # ride    [----)
    # day   [---------)   1
    drawing = Drawing([Bar("ride", 2, 7), Bar("day", 0, 10, "1", Look.WINDOW)])

    assert str(drawing).splitlines()[1:] == ["ride    [----)", "day   [---------)   1"]
    assert texts(drawing)[-4:] == ["ride", "day", "1", "[0, 10)"]


@pytest.mark.parametrize("duration", [1, 4, 9, 60, 10**9, 3 * 10**15])
def test_an_axis_has_numbers_of_its_ticks_however_large_they_are(duration: int) -> None:
    start = 1_714_550_400_000_001
    drawing = Drawing([Bar("a label", start, start + duration, "a note " * 5)])

    numbers = [int(text) for text in texts(drawing, "soft")]
    assert numbers
    assert all(start <= number <= start + duration for number in numbers)


def test_a_retracted_result_is_struck_through() -> None:
    drawing = Drawing([Bar("out", 0, 5, "1", Look.RESULT, is_struck=True), Bar("out", 0, 5, "2", Look.RESULT)])

    assert len(elements(drawing, "line", "strike")) == 1
    assert texts(drawing, "gone") == ["1"]
    assert Picture(drawing).description == "out [0, 5): 1, retracted; out [0, 5): 2"


def test_a_longer_note_behind_a_bar_leaves_a_shorter_axis() -> None:
    short_note = Drawing([Bar("a", 0, 10, "x")])
    long_note = Drawing([Bar("a", 0, 10, "a note of some length")])

    def end_of_bar(drawing: Drawing) -> float:
        (circle,) = elements(drawing, "circle", "stop")
        return place(circle, "cx")

    assert end_of_bar(long_note) < end_of_bar(short_note)
    assert texts(long_note)[-1] == "a note of some length"


def test_texts_that_are_too_long_for_a_picture_are_shortened_and_stay_in_the_description() -> None:
    drawing = Drawing(["a heading " * 20, Bar("a label " * 10, 0, 5, "a note " * 20)])

    assert sum(text.endswith("…") for text in texts(drawing)) == 3
    assert "a note " * 20 in Picture(drawing).description


def test_signs_of_xml_are_text_like_any_other() -> None:
    drawing = Drawing([Bar("<a & b>", 0, 5, '"x" < 3')], title='"<&>"')
    root = ElementTree.fromstring(Picture(drawing).svg())

    assert root.get("aria-label") == '"<&>"'
    assert texts(drawing)[-2:] == ["<a & b>", '"x" < 3']


def test_a_drawing_without_bars_is_text_without_an_axis() -> None:
    drawing = Drawing(["nothing came"])
    assert str(drawing) == "nothing came"
    assert texts(drawing) == ["nothing came"]
    assert elements(drawing, "line", "axis") == []


def test_an_empty_drawing_is_a_picture_too() -> None:
    assert ElementTree.fromstring(Picture(Drawing([])).svg()).get("role") == "img"


@pytest.mark.parametrize("seed", range(40))
def test_a_random_stream_is_drawn_within_the_picture_and_the_same_each_time(seed: int) -> None:
    script = random_stream(seed)
    assert len(str(script).splitlines()) == len(script.steps) + 1, "a line for each step, below the ruler"

    drawing = script.drawing()
    assert Picture(drawing).svg() == Picture(random_stream(seed).drawing()).svg()
    for span in spans(drawing):
        assert span.left >= 0, span
        assert span.right <= WIDTH, span


def test_a_notebook_shows_a_picture() -> None:
    picture = Picture(Script().insert("a", 1, 6).drawing())
    assert picture._repr_svg_() == picture.svg()


EVENING = datetime(2013, 6, 13, 18, tzinfo=UTC)
FLIGHTS = [{"airport": "JFK", "left": EVENING + timedelta(minutes=minutes)} for minutes in (5, 20)]
HALF_HOUR = {"start": EVENING, "end": EVENING + timedelta(minutes=30)}


def test_rows_are_drawn_along_the_times_of_the_day() -> None:
    #            18:00     18:10     18:20     18:30
    # JFK             [)
    # JFK                            [)
    # watermark            !                          18:10
    # result     [-----------------------------)      2 flights
    watermarks = [{"at": "2013-06-13T18:10"}]
    results = [{"window": HALF_HOUR, "flights": 2}]
    picture = draw(
        "flights",
        Track(FLIGHTS, "left", label="{airport}"),
        Track(watermarks, "at", "at", label="watermark", note="18:10"),
        "results",
        Track(results, "window", label="result", note="{flights} flights", look="window"),
    )
    assert picture.description == (
        "JFK 18:05; JFK 18:20; watermark 18:10: 18:10; results; result [18:00, 18:30): 2 flights"
    )
    assert texts(picture.drawing, "soft") == ["18:00", "18:10", "18:20", "18:30", "[18:00, 18:30)"]
    assert len(elements(picture.drawing, "circle", "start")) == 2
    assert repr(picture).splitlines()[0].split() == ["18:00", "18:05", "18:10", "18:15", "18:20", "18:25", "18:30"]


def test_a_dataframe_is_collected_and_its_times_are_shown_in_their_zone() -> None:
    zone = timezone(timedelta(hours=2))
    rows = [{"since": datetime(2024, 5, 1, 0, tzinfo=zone), "until": None}]
    dataframe = SimpleNamespace(toArrow=lambda: SimpleNamespace(to_pylist=lambda: rows))
    assert draw("one", Track(dataframe, "since", "until", "open")).description == "open [2024-05-01, ∞)"


RIDES = {"at": [3, 7], "km": [2.5, 4.0]}


@pytest.mark.parametrize(
    "table",
    [pa.table(RIDES), duckdb.from_arrow(pa.table(RIDES)), pd.DataFrame(RIDES)],
    ids=["pyarrow", "duckdb", "pandas"],
)
def test_a_table_in_this_process_is_drawn_row_by_row(table: Any) -> None:
    assert draw("rides", Track(table, "at", label="{km}")).description == "2.5 [3, 4); 4.0 [7, 8)"


CHANGES = [
    {"window": {"start": 0, "end": 10}, "change": "insert"},
    {"window": {"start": 0, "end": 10}, "change": "retract"},
]


def test_rows_with_numbers_for_times_are_drawn_along_ticks() -> None:
    assert draw("changes", Track(CHANGES, "window")).drawing.axis is Axis.TICKS


def test_retracted_rows_are_struck_through() -> None:
    drawing = draw("changes", Track(CHANGES, "window", label="{change}", look="result")).drawing
    assert [row.is_struck for row in drawing.rows if isinstance(row, Bar)] == [False, True]


@pytest.mark.parametrize("seconds", [0.02, 3, 50, 600, 9000, 90_000, 10**7, 10**9])
def test_times_below_an_axis_do_not_overlap_however_long_it_is(seconds: float) -> None:
    start = datetime(2024, 5, 1, 8, 0, 0, 1000, tzinfo=UTC)
    rows = [{"start": start, "end": start + timedelta(seconds=seconds)}]
    drawing = draw("one", Track(rows, "start", "end", "event")).drawing

    times = sorted((span for span in spans(drawing) if span.text != "event"), key=lambda span: span.left)
    assert times
    for earlier, later in pairwise(times):
        assert earlier.right <= later.left

    ruler = str(drawing).splitlines()[0]
    for label in ruler.split():
        assert re.fullmatch(r"\d+:\d+(:\d+(\.\d+)?)?|\d+-\d+-\d+", label), "a time of the day or a date"


LONG_TEXT = "a line of many words that does not fit, and_one_word_that_is_longer_than_the_whole_box_is_wide"
CHART = Chart("<a chart>", ((Box("left", (LONG_TEXT,)), Box("right", ("a < b",))), (Box("below", ("c",), "pane"),)))
"""Two boxes in a row, and one below them."""


def test_the_boxes_of_a_chart_stand_in_rows_with_arrows_between_them() -> None:
    root = ElementTree.fromstring(CHART._repr_svg_())
    _, left, right, below = root.iter(f"{{{SVG}}}rect")  # the first is the background
    assert place(left, "y") == place(right, "y")
    assert place(left, "x") + place(left, "width") < place(right, "x")
    assert place(left, "y") + place(left, "height") < place(below, "y")
    assert len(list(root.iter(f"{{{SVG}}}polygon"))) == 2


def test_a_box_of_a_chart_has_all_of_its_text_within_it() -> None:
    root = ElementTree.fromstring(CHART._repr_svg_())
    _, left, right, _ = root.iter(f"{{{SVG}}}rect")
    lines = [line for line in root.iter(f"{{{SVG}}}text") if place(line, "x") < place(right, "x")]
    text = "".join(line.text or "" for line in lines)
    assert text.replace(" ", "") == f"left{LONG_TEXT}belowc".replace(" ", "")

    *lines_of_left, _, _ = lines  # the last two are those of the box below
    for line in lines_of_left:
        assert place(left, "y") < place(line, "y") < place(left, "y") + place(left, "height")


def test_a_chart_has_its_title_and_its_texts_for_those_who_do_not_see_it() -> None:
    root = ElementTree.fromstring(CHART._repr_svg_())
    assert root.get("aria-label") == "<a chart>"
    assert CHART.description == f"left: {LONG_TEXT}; right: a < b; below: c"


def test_a_chart_without_boxes_is_an_empty_picture() -> None:
    assert ElementTree.fromstring(Chart("nothing", ()).svg()).get("role") == "img"
