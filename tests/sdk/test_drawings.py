"""Drawings as text."""

from __future__ import annotations

from muntin import INFINITY, Axis, Event, Window
from muntin.drawings import Bar, draw_windows, timeline


def test_a_bar_is_drawn_from_its_start_to_its_end() -> None:
    bars = [Bar("a", 0, 5, "x"), Bar("long", 2, 3), Bar("b", 4, INFINITY, "y"), Bar("now", 3, 3)]
    assert timeline(bars).splitlines() == [
        "      0",
        "a     [----)   x",
        "long    [)",
        "b         [>   y",
        "now      !",
    ]


def test_text_among_bars_stays_as_it_is() -> None:
    assert timeline(["before", Bar("a", 0, 2), "after"]).splitlines() == [
        "   0",
        "before",
        "a  [-)",
        "after",
    ]


def test_a_timeline_without_bars_has_no_ruler() -> None:
    assert timeline(["only text"]) == "only text"
    assert timeline([]) == ""


def test_a_ruler_starts_at_the_first_tick() -> None:
    assert timeline([Bar("a", -7, 15)]).splitlines() == [
        "   -7        3         13",
        "a  [---------------------)",
    ]


def test_a_long_axis_is_drawn_in_sixty_columns() -> None:
    ruler, whole, middle = timeline([Bar("a", 0, 600_000_000), Bar("b", 300_000_000, 300_000_001)]).splitlines()
    assert ruler.split() == ["0", "200000000", "400000000", "600000000"]
    assert whole == "a  [" + "-" * 59 + ")"
    assert middle == "b  " + " " * 30 + "[)"


def test_a_time_beyond_the_years_of_a_calendar_is_drawn_as_a_number() -> None:
    ruler, *_ = timeline([Bar("a", 2**60, 2**60 + 5)], Axis.TIME).splitlines()
    assert ruler.strip() == str(2**60)


def test_windows_are_drawn_below_their_events() -> None:
    drawing = draw_windows([Window(0, 4), Window(2, 6)], [Event(1, 5, "a"), Event.edge(3, "b")])
    assert drawing.splitlines() == [
        "        0",
        "event    [---)    'a'",
        "event      [-->   'b'",
        "window  [---)",
        "window    [---)",
    ]
