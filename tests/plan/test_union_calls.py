"""Unions that are refused where they are written."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest

from muntin.errors import QueryError
from muntin.progress import bounded_delay
from muntin_engine import EventStream, events, union


class Frame:
    """Stands for a DataFrame that nobody asks anything."""

    isStreaming = True


class StaticFrame:
    """Stands for a static one."""

    isStreaming = False


DF = cast(Any, Frame())
POINTS = events(DF, at="at", delay=5)
IDLE = bounded_delay(5).with_idle(9)


@pytest.mark.parametrize(
    ("streams", "message"),
    [
        ({"a": POINTS}, "at least two streams"),
        ({"a": POINTS, "b": DF}, r"union\(b=...\) takes streams of events"),
        ({"a": POINTS, "b": events(DF, at="at")}, "b never says how complete it is"),
        (
            {"a": POINTS, "b": events(DF, at="at", progress=IDLE)},
            "b never says what time it is",
        ),
        ({"a": POINTS, "b": replace(POINTS, keys=("k",))}, "the same number of keys, got a 0, b 1"),
        ({"a": POINTS, "b": events(DF, at="at", id="x", delay=5)}, "the same ids or no ids, got a has none, b has ids"),
        ({"a": POINTS, "b": events(DF, at="at", delay=5, late="drop")}, "the same policy for late rows"),
        ({"a": POINTS, "b": events(DF, at="at", delay=5, unit="ms")}, "the same unit, got a None, b ms"),
        ({"a": POINTS, "b": events(DF, at="at", delay=5, edge=True)}, "give the samples a duration"),
        (
            {"a": POINTS, "b": events(DF, at="at", change="c", progress=bounded_delay(5).with_key_punctuation())},
            "the keys of b punctuate themselves",
        ),
    ],
)
def test_streams_that_do_not_fit_are_refused(streams: dict[str, EventStream], message: str) -> None:
    with pytest.raises(QueryError, match=message):
        union(**streams)


def test_static_inputs_and_streams_do_not_make_one() -> None:
    static = events(cast(Any, StaticFrame()), at="at")
    with pytest.raises(QueryError, match="the same kind of input, got a is a stream, b is static"):
        union(a=POINTS, b=static)
