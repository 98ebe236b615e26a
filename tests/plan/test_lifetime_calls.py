"""Calls that change lifetimes, and those that are refused where they are written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from muntin import hopping, session, tumbling
from muntin.errors import QueryError
from muntin_engine import EventStream, events
from muntin_engine.core.lifetimes import Lifetimes


class Frame:
    """Stands for a DataFrame that nobody asks anything."""

    isStreaming = True


DF = cast(Any, Frame())
RIDES = events(DF, id="ride", start="leaves", end="returns", change="change", new_end="back")
POINTS = events(DF, at="at")
SAMPLES = events(DF, at="at", edge=True)


@pytest.mark.parametrize(
    ("stream", "lifetimes"),
    [
        (RIDES.shift("1 hour"), "interval"),
        (RIDES.to_points(), "point"),
        (RIDES.to_points().shift(5).extend("1 hour"), "interval"),
        (RIDES.to_points("end", repeated=True), "point"),
        (RIDES.set_duration("1 hour").to_points("end"), "point"),
        (RIDES.to_points("start").to_edges(), "edge"),
        (POINTS.align_to(tumbling("1 hour")), "interval"),
        (SAMPLES.shift("-1 hour"), "edge"),
        (SAMPLES.set_duration("1 hour").shorten("1 minute"), "interval"),
    ],
)
def test_changes_follow_each_other(stream: EventStream, lifetimes: Lifetimes) -> None:
    assert stream.lifetimes == lifetimes


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: POINTS.set_duration(0), r"set_duration\(0\) is not above zero"),
        (lambda: POINTS.extend("-1 hour"), r"extend\('-1 hour'\) is not above zero"),
        (lambda: RIDES.to_points("end"), "say so: to_points..end., repeated=True"),
        (lambda: RIDES.to_points("middle"), "there are 'start' and 'end'"),  # type: ignore[arg-type]
        (RIDES.to_edges, r"call to_points\('start'\).to_edges\(\)"),
        (lambda: RIDES.align_to(session(5)), r"align_to\(session\(5\)\) cannot align lifetimes: .* are on no grid"),
        (lambda: RIDES.align_to(hopping(2, 5)), "these windows have gaps\n  expected: tumbling"),
        (lambda: RIDES.align_to("1 hour"), "is not a window specification"),  # type: ignore[arg-type]
        (lambda: SAMPLES.extend(1), r"extend\(\) reads the ends of events, and a sample lasts until the next one"),
        (lambda: SAMPLES.to_points("end"), "reads the ends of events"),
        (lambda: POINTS.to_edges().align_to(tumbling(5)), "reads the ends of events"),
        (lambda: POINTS.shift(5).with_heartbeat(DF, at="at"), r"call with_heartbeat\(\) first"),
    ],
)
def test_a_change_that_cannot_be_is_refused(call: Callable[[], EventStream], message: str) -> None:
    with pytest.raises(QueryError, match=message):
        call()
