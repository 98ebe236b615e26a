"""Pictures of drawings, as SVG."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree

import pytest

from muntin import INFINITY, Lifetime
from muntin.drawings import Bar, Drawing, Look
from muntin.testing import Script
from muntin_cli.pictures import Picture
from muntin_engine.testing import random_stream

WIDTH = 400


def elements(drawing: Drawing, name: str, look: str = "") -> list[ElementTree.Element]:
    root = ElementTree.fromstring(Picture(drawing).svg())
    return [
        element
        for element in root.iter(f"{{http://www.w3.org/2000/svg}}{name}")
        if not look or look in element.get("class", "").split()
    ]


def texts(drawing: Drawing, look: str = "") -> list[str]:
    return [element.text or "" for element in elements(drawing, "text", look)]


def place(element: ElementTree.Element, name: str) -> float:
    return float(element.get(name, 0))


def spans(drawing: Drawing) -> Iterator[tuple[str, float, float]]:
    """Yield each text with where it begins and ends, if letters are as wide as those of a usual font."""
    for element in elements(drawing, "text"):
        text, look = element.text or "", element.get("class", "").split()
        width = sum(3.5 if letter in " .,:;'|!ijl()[]" else 7.5 for letter in text)
        left = place(element, "x") - (width / 2 if "mid" in look else width if "end" in look else 0)
        yield text, left, left + width


def test_text_and_picture_have_the_same_rows() -> None:
    #       0         10
    # ride    [----)
    # day   [---------)   1
    drawing = Drawing([Bar("ride", 2, 7), Bar("day", 0, 10, "1", Look.WINDOW)])

    assert str(drawing).splitlines()[1:] == ["ride    [----)", "day   [---------)   1"]
    assert texts(drawing)[-4:] == ["ride", "day", "1", "[0, 10)"]


def test_an_event_starts_with_a_dot_and_ends_with_a_ring() -> None:
    drawing = Drawing([Bar("a", 0, 5), Bar("b", 5, 10)])
    first, second = elements(drawing, "circle", "start")
    ring, _ = elements(drawing, "circle", "stop")

    assert place(first, "cx") < place(ring, "cx") < place(second, "cx")
    assert place(first, "cy") == place(ring, "cy") < place(second, "cy")


def test_an_event_of_one_tick_is_a_dot_inside_its_tick() -> None:
    drawing = Drawing([Bar("window", 0, 5, look=Look.WINDOW), Bar("window", 5, 10, look=Look.WINDOW), Bar("p", 5, 6)])
    (dot,) = elements(drawing, "circle")
    first, second = (element for element in elements(drawing, "rect") if element.get("class") in ("pane", "other"))

    assert place(first, "x") + place(first, "width") < place(second, "x") < place(dot, "cx")


def test_an_event_without_an_end_goes_on_in_an_arrow() -> None:
    assert elements(Drawing([Bar("a", 0, 5)]), "polygon", "start") == []
    assert len(elements(Drawing([Bar("a", 0, INFINITY)]), "polygon", "start")) == 1


def test_bars_of_one_kind_share_a_lane_as_far_as_they_do_not_overlap() -> None:
    rows = [Bar("windows", start, start + 6, look=Look.WINDOW) for start in (0, 3, 6, 9)]
    boxes = [element for element in elements(Drawing(rows), "rect") if element.get("class") in ("pane", "other")]
    lanes = [place(box, "y") for box in boxes]

    assert len(set(lanes)) == 2
    assert texts(Drawing(rows)).count("windows") == 1


def test_events_of_one_label_stay_in_their_order() -> None:
    events = [Bar("a", 0, 5), Bar("a", 2, 8), Bar("a", 6, 9), Bar("a", 9, 12)]
    places = [(place(dot, "cy"), place(dot, "cx")) for dot in elements(Drawing(events), "circle", "start")]

    assert places == sorted(places)
    assert len({down for down, _ in places}) == 3


@pytest.mark.parametrize("duration", [1, 4, 9, 60, 10**9, 3 * 10**15])
def test_an_axis_says_where_it_is_however_large_its_numbers_are(duration: int) -> None:
    start = 1_714_550_400_000_001
    drawing = Drawing([Bar("a label", start, start + duration, "a note " * 5)])

    numbers = [int(text) for text in texts(drawing, "soft")]
    assert numbers
    assert all(start <= number <= start + duration for number in numbers)


def test_windows_that_divide_the_axis_lie_behind_the_events() -> None:
    apart = Drawing([Bar("a", 1, 9), Bar("w", 0, 5, look=Look.WINDOW), Bar("w", 5, 10, look=Look.WINDOW)])
    overlapping = Drawing([Bar("a", 1, 9), Bar("w", 0, 6, look=Look.WINDOW), Bar("w", 3, 9, look=Look.WINDOW)])

    assert len(elements(apart, "rect", "veil")) == len(elements(apart, "rect", "other-veil")) == 1
    assert elements(overlapping, "rect", "veil") == []
    assert len(elements(overlapping, "line", "guide")) == 4


def test_what_was_cut_away_is_pale_on_either_side() -> None:
    drawing = Drawing([Bar("window", 0, 20, look=Look.WINDOW), Bar("a", 5, 10, whole=Lifetime(2, 13))])
    before, after = elements(drawing, "line", "past")
    (kept,) = elements(drawing, "line", "life")

    assert place(before, "x1") < place(before, "x2") <= place(kept, "x1")
    assert place(kept, "x2") <= place(after, "x1") < place(after, "x2")


def test_what_is_taken_back_is_struck_through() -> None:
    drawing = Drawing([Bar("out", 0, 5, "1", Look.RESULT, is_struck=True), Bar("out", 0, 5, "2", Look.RESULT)])

    assert len(elements(drawing, "line", "strike")) == 1
    assert texts(drawing, "gone") == ["1"]
    assert Picture(drawing).description == "out [0, 5): 1, retracted; out [0, 5): 2"


def test_punctuation_holds_until_the_next() -> None:
    drawing = Drawing(Script().point("a", 1).punctuate(4).point("b", 6).punctuate(9).drawing().rows)
    first, second = elements(drawing, "line", "mark")

    assert place(first, "x1") == place(first, "x2") < place(second, "x1")
    assert place(first, "y2") == place(second, "y1") < place(second, "y2")


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


def test_a_picture_scales_and_follows_the_scheme_of_its_reader() -> None:
    svg = Picture(Drawing([Bar("a", 0, 5)])).svg()
    colours = re.findall(r"--(\w+):#", svg)

    assert re.search(rf'viewBox="0 0 {WIDTH} \d+"', svg)
    assert "max-width:100%" in svg
    assert sorted(colours) == sorted(2 * list(dict.fromkeys(colours)))
    assert "prefers-color-scheme:dark" in svg


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
