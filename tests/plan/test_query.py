"""What `events`, `window` and `module` refuse before Spark is asked."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast

import pytest

from muntin import Lateness, LatePolicy, correct, tumbling
from muntin.errors import DurationError, PolicyError, QueryError, UnknownModuleError
from muntin.progress import BoundedDelay, ProgressPolicy, punctuated
from muntin_engine import EventStream, events, module
from muntin_engine.spark import planning
from tests.spark.modules import Count, Echo


class Frame:
    """Stands for a DataFrame that nobody asks anything."""

    isStreaming = True


DF = cast(Any, Frame())


def stream(**columns: Any) -> EventStream:
    return events(DF, **(columns or {"at": "ts"}))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"key": "k"}, "either start .* or at, .* got neither"),
        ({"start": "a", "end": "b", "at": "c"}, "got both"),
        ({"at": "c", "end": "b"}, "an event with at has no end of its own"),
        ({"start": "a"}, "events with a start need an end"),
        ({"start": "a", "end": "b", "edge": True}, "give that time as at"),
        ({"at": "c", "new_end": "d"}, "new_end needs id and change as well"),
        ({"at": "c", "new_end": "d", "id": "i"}, "new_end needs id and change as well"),
        ({"at": "c", "delay": -5}, "a delay is at least 0 and at most .* ticks, got -5"),
        ({"at": "c", "buckets": 300}, "1 to 256 buckets, got 300"),
    ],
)
def test_columns_that_make_no_events_are_refused(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(QueryError, match=message):
        stream(**columns)


def test_a_delay_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(DurationError, match="'a while' is not a duration"):
        stream(at="ts", delay="a while")


@pytest.mark.parametrize(
    ("delay", "expected"),
    [
        (None, punctuated()),
        (0, BoundedDelay(0)),
        ("1 minute", BoundedDelay(60_000_000)),
        (timedelta(seconds=1), BoundedDelay(10**6)),
    ],
)
def test_a_delay_is_a_progress_policy(delay: Any, expected: ProgressPolicy) -> None:
    assert stream(at="ts", delay=delay).progress == expected


@pytest.mark.parametrize(
    ("key", "expected"), [((), ()), ("k", ("k",)), (None, ()), (["a", "b"], ("a", "b")), (("a",), ("a",))]
)
def test_one_key_several_or_none(key: Any, expected: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "keys_of", lambda df, keys: None)
    assert stream(at="ts", key=key).keys == expected


@pytest.mark.parametrize("policy", [{"clip": "all"}, {"timestamps": "later"}, {"emit": "never"}])
def test_a_policy_that_is_none_is_refused(policy: dict[str, str]) -> None:
    with pytest.raises(PolicyError, match=r"is not an? .*Policy; there are"):
        stream().window(tumbling(10), **policy)


def test_a_query_needs_a_module_of_the_right_kind() -> None:
    windowed = stream().window(tumbling(10))
    with pytest.raises(QueryError, match=r"aggregate\(\) needs at least one module"):
        windowed.aggregate()
    with pytest.raises(QueryError, match=r"use \.apply"):
        windowed.aggregate(m=module(Echo))
    with pytest.raises(QueryError, match=r"use \.aggregate"):
        windowed.apply(module(Count))


def test_a_module_is_named_or_given_as_a_class() -> None:
    call = module(Count, "a", "b", q=1)
    assert (call.cls, call.inputs, call.parameters) == (Count, ("a", "b"), {"q": 1})
    with pytest.raises(UnknownModuleError, match=r"no module is named 'nobody\.knows'"):
        module("nobody.knows")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"delay": 5, "progress": punctuated()}, "a delay is a progress policy of its own"),
        ({"source": "link"}, "got a column and no sources"),
        ({"sources": ["a"]}, "got sources and no column"),
        ({"source": "link", "sources": ["a", "a"]}, "with different names, got a, a"),
        ({"source": "link", "sources": [1]}, r"are text, got \[1\]\n  write sources=\['1'\], and cast .*'string'"),
        ({"late": "never"}, "'never' is not a LatePolicy"),
    ],
)
def test_an_input_that_contradicts_itself_is_refused(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(QueryError, match=message):
        stream(at="ts", **columns)


def test_late_rows_are_set_aside_unless_told_otherwise() -> None:
    assert stream(at="ts").late == Lateness(LatePolicy.SIDE)
    assert stream(at="ts", late=correct(5)).late == correct(5)
