"""Pictures of drawings, as SVG."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from types import SimpleNamespace
from xml.etree import ElementTree

import duckdb
import pandas as pd
import pyarrow as pa
import pytest

from muntin.axis import Axis
from muntin.drawings import Bar, Drawing, Look
from muntin.testing import Script
from muntin_cli.pictures import Picture, Track, draw
from muntin_engine.testing import random_stream

WIDTH = 400
SVG = "http://www.w3.org/2000/svg"


def elements(drawing: Drawing, name: str, look: str = "") -> list[ElementTree.Element]:
    root = ElementTree.fromstring(Picture(drawing).svg())
    return [
        element for element in root.iter(f"{{{SVG}}}{name}") if not look or look in element.get("class", "").split()
    ]


def texts(drawing: Drawing, look: str = "") -> list[str]:
    return [element.text or "" for element in elements(drawing, "text", look)]


def place(element: ElementTree.Element, name: str) -> float:
    return float(element.get(name, 0))


def spans(drawing: Drawing) -> Iterator[tuple[str, float, float]]:
    """Yield each text with where it begins and ends, if letters are as wide as those of a usual font."""
    for element in elements(drawing, "text"):
        text = element.text or ""
        look = element.get("class", "").split()
        width = sum(3.5 if letter in " .,:;'|!ijl()[]" else 7.5 for letter in text)
        left = place(element, "x")
        if "mid" in look:
            left -= width / 2
        elif "end" in look:
            left -= width
        yield text, left, left + width


def test_text_and_picture_have_the_same_rows() -> None:
    #       0         10
    # ride    [----)
    # day   [---------)   1
    drawing = Drawing([Bar("ride", 2, 7), Bar("day", 0, 10, "1", Look.WINDOW)])

    assert str(drawing).splitlines()[1:] == ["ride    [----)", "day   [---------)   1"]
    assert texts(drawing)[-4:] == ["ride", "day", "1", "[0, 10)"]


@pytest.mark.parametrize("duration", [1, 4, 9, 60, 10**9, 3 * 10**15])
def test_an_axis_says_where_it_is_however_large_its_numbers_are(duration: int) -> None:
    start = 1_714_550_400_000_001
    drawing = Drawing([Bar("a label", start, start + duration, "a note " * 5)])

    numbers = [int(text) for text in texts(drawing, "soft")]
    assert numbers
    assert all(start <= number <= start + duration for number in numbers)


def test_what_is_taken_back_is_struck_through() -> None:
    drawing = Drawing([Bar("out", 0, 5, "1", Look.RESULT, is_struck=True), Bar("out", 0, 5, "2", Look.RESULT)])

    assert len(elements(drawing, "line", "strike")) == 1
    assert texts(drawing, "gone") == ["1"]
    assert Picture(drawing).description == "out [0, 5): 1, retracted; out [0, 5): 2"


def test_a_note_stands_right_behind_its_bar_and_the_axis_makes_room() -> None:
    short, long = (Drawing([Bar("a", 0, 10, note)]) for note in ("x", "a note of some length"))
    ends = [place(elements(drawing, "circle", "stop")[0], "cx") for drawing in (short, long)]

    assert ends[1] < ends[0]
    assert texts(long)[-1] == "a note of some length"


def test_what_is_too_long_for_a_picture_is_shortened_and_stays_in_the_description() -> None:
    drawing = Drawing(["a heading " * 20, Bar("a label " * 10, 0, 5, "a note " * 20)])

    assert sum(text.endswith("…") for text in texts(drawing)) == 3
    assert "a note " * 20 in Picture(drawing).description


def test_signs_of_xml_are_text_like_any_other() -> None:
    drawing = Drawing([Bar("<a & b>", 0, 5, '"x" < 3')], title='"<&>"')
    root = ElementTree.fromstring(Picture(drawing).svg())

    assert (root.get("aria-label"), texts(drawing)[-2:]) == ('"<&>"', ["<a & b>", '"x" < 3'])


def test_a_drawing_without_bars_is_text() -> None:
    drawing = Drawing(["nothing came"])
    assert (str(drawing), texts(drawing), elements(drawing, "line", "axis")) == ("nothing came", ["nothing came"], [])
    assert ElementTree.fromstring(Picture(Drawing([])).svg()).get("role") == "img"


@pytest.mark.parametrize("seed", range(40))
def test_every_random_stream_can_be_drawn_within_the_picture(seed: int) -> None:
    script = random_stream(seed)
    drawing = script.drawing()

    assert len(str(script).splitlines()) == len(script.steps) + 1
    assert Picture(drawing).svg() == Picture(random_stream(seed).drawing()).svg()
    assert [text for text, left, right in spans(drawing) if left < 0 or right > WIDTH] == []


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
    marks = [{"at": "2013-06-13T18:10"}]
    picture = draw(
        "flights",
        Track(FLIGHTS, "left", label="{airport}"),
        Track(marks, "at", "at", "watermark", "18:10"),
        "results",
        Track([{"window": HALF_HOUR, "flights": 2}], "window", None, "result", "{flights} flights", "window"),
    )
    assert picture.description == (
        "JFK 18:05; JFK 18:20; watermark 18:10: 18:10; results; result [18:00, 18:30): 2 flights"
    )
    assert texts(picture.drawing, "soft") == ["18:00", "18:10", "18:20", "18:30", "[18:00, 18:30)"]
    assert len(elements(picture.drawing, "circle", "start")) == 2
    assert repr(picture).splitlines()[0].split() == ["18:00", "18:05", "18:10", "18:15", "18:20", "18:25", "18:30"]


def test_a_dataframe_is_collected_with_the_times_that_it_shows() -> None:
    zone = timezone(timedelta(hours=2))
    rows = [{"since": datetime(2024, 5, 1, 0, tzinfo=zone), "until": None}]
    table = SimpleNamespace(toArrow=lambda: SimpleNamespace(to_pylist=lambda: rows))
    assert draw("one", Track(table, "since", "until", "open")).description == "open [2024-05-01, ∞)"


def test_tables_in_this_process_are_rows_too() -> None:
    rides = {"at": [3, 7], "km": [2.5, 4.0]}
    for table in (pa.table(rides), duckdb.from_arrow(pa.table(rides)), pd.DataFrame(rides)):
        assert draw("rides", Track(table, "at", label="{km}")).description == "2.5 [3, 4); 4.0 [7, 8)"


def test_numbers_stay_numbers_and_retracted_rows_are_struck_through() -> None:
    rows = [{"window": {"start": 0, "end": 10}, "change": change} for change in ("insert", "retract")]
    drawing = draw("changes", Track(rows, "window", label="{change}", look="result")).drawing
    assert drawing.axis is Axis.TICKS
    assert [row.is_struck for row in drawing.rows if isinstance(row, Bar)] == [False, True]


@pytest.mark.parametrize("seconds", [0.02, 3, 50, 600, 9000, 90_000, 10**7, 10**9])
def test_times_below_an_axis_do_not_meet(seconds: float) -> None:
    start = datetime(2024, 5, 1, 8, 0, 0, 1000, tzinfo=UTC)
    rows = [{"start": start, "end": start + timedelta(seconds=seconds)}]
    drawing = draw("one", Track(rows, "start", "end", "event")).drawing
    axis = sorted((left, right) for text, left, right in spans(drawing) if text != "event")
    assert axis
    assert [earlier for earlier, later in pairwise(axis) if earlier[1] > later[0]] == []
    labels = str(drawing).splitlines()[0].split()
    assert [label for label in labels if not re.fullmatch(r"\d+:\d+(:\d+(\.\d+)?)?|\d+-\d+-\d+", label)] == []
