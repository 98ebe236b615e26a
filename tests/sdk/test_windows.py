"""Window specifications are plain data that say what they mean."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from muntin import (
    Window,
    count_by_end,
    count_by_start,
    cumulate,
    global_windows,
    hopping,
    landmark,
    session,
    snapshot,
    trailing,
    tumbling,
)
from muntin.errors import WindowError
from muntin.named_windows import from_dict
from muntin.windows import CountWindows, HoppingWindows, WindowKind

SPECIFICATIONS = [
    hopping(10, 3),
    hopping(3, 10, 1),
    hopping("1 hour", "10 minutes", "5 minutes", reach="6 hours"),
    tumbling("1 day"),
    snapshot(),
    count_by_start(3),
    count_by_end(1),
    count_by_start(3, every=3),
    count_by_end(2, every=5),
    session("30 minutes"),
    cumulate("1 day", "1 hour", "6 hours"),
    landmark("1 hour", since="2024-05-01"),
    landmark(10),
    global_windows(),
    trailing(300),
    trailing("5 minutes", every=5),
]


def test_a_tumbling_window_hops_by_its_size() -> None:
    assert tumbling(10, 2, reach=4) == hopping(10, 10, 2, reach=4) == HoppingWindows(10, 10, 2, 4)


@pytest.mark.parametrize("specification", SPECIFICATIONS, ids=str)
def test_a_specification_survives_json_and_pickle(specification: WindowKind) -> None:
    assert from_dict(specification.to_dict()) == specification
    assert pickle.loads(pickle.dumps(specification)) == specification


def test_a_specification_spells_itself() -> None:
    assert [str(specification) for specification in SPECIFICATIONS] == [
        "hopping(10, 3)",
        "hopping(3, 10, offset=1)",
        "hopping(3600000000, 600000000, offset=300000000, reach=21600000000)",
        "tumbling(86400000000)",
        "snapshot()",
        "count_by_start(3)",
        "count_by_end(1)",
        "count_by_start(3, every=3)",
        "count_by_end(2, every=5)",
        "session(1800000000)",
        "cumulate(86400000000, 3600000000, offset=21600000000)",
        "landmark(3600000000, since=1714521600000000)",
        "landmark(10)",
        "global_windows()",
        "trailing(300)",
        "trailing(300000000, every=5)",
    ]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: hopping(0, 5), "a hopping window needs a size and a hop above zero, got the size 0 and the hop 5"),
        (
            lambda: hopping(5, "-1 hour"),
            "a hopping window needs a size and a hop above zero, got the size 5 and the hop '-1 hour'",
        ),
        (lambda: tumbling("-5 minutes"), "a tumbling window needs a size above zero, got '-5 minutes'"),
        (lambda: tumbling(5, reach=-1), "the reach of a window cannot be negative, got -1"),
        (lambda: count_by_start(0), "a count window needs a whole number above zero, got 0"),
        (
            lambda: cumulate(10, 3),
            "cumulating windows need a step above zero and a size that is a multiple of it, got the size 10 and the "
            "step 3",
        ),
        (
            lambda: cumulate("1 hour", "1 day"),
            "cumulating windows need a step above zero and a size that is a multiple of it, got the size '1 hour' and "
            "the step '1 day'\n  the size comes first: write cumulate('1 day', '1 hour')",
        ),
        (
            lambda: cumulate(3, 12, 1),
            "cumulating windows need a step above zero and a size that is a multiple of it, got the size 3 and the "
            "step 12\n  the size comes first: write cumulate(12, 3, 1)",
        ),
        (
            lambda: cumulate(5, 12),
            "cumulating windows need a step above zero and a size that is a multiple of it, got the size 5 and the "
            "step 12",
        ),
        (lambda: trailing("-1 minute"), "trailing windows need a length above zero, got '-1 minute'"),
        (
            lambda: trailing(5, every=0),
            "trailing windows come at every n-th start, n a whole number above zero: 0",
        ),
        (lambda: landmark(0), "landmark windows need a step above zero, got 0"),
        (
            lambda: landmark(5, since="noon"),
            "'noon' is no time\n  expected: a time such as '2024-05-01 08:00'",
        ),
        (
            lambda: count_by_start(2, every=0),
            "count windows begin every so many times, a whole number above zero, got 0",
        ),
        (
            lambda: count_by_end(2, every=True),
            "count windows begin every so many times, a whole number above zero, got True",
        ),
        (lambda: session(0), "a session window needs a gap above zero, got 0"),
        (lambda: session("-5 minutes"), "a session window needs a gap above zero, got '-5 minutes'"),
        (lambda: CountWindows(1, "middle"), "a count window counts by 'start' or by 'end', got 'middle'"),  # type: ignore[arg-type]
    ],
)
def test_a_specification_without_windows_is_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(WindowError) as refused:
        make()
    assert str(refused.value) == message


@pytest.mark.parametrize(
    "data", [{}, {"kind": "session"}, {"kind": "trip"}, {"kind": "hopping", "size": 5}, {"kind": "snapshot", "n": 1}]
)
def test_data_that_is_no_specification_is_refused(data: dict[str, Any]) -> None:
    with pytest.raises(WindowError, match="is not a window specification; kinds are hopping, snapshot, count"):
        from_dict(data)


def test_a_window_knows_its_length_and_its_times() -> None:
    window = Window(0, 1_000_000)
    assert window.duration == 1_000_000
    assert str(window.starts_at) == "1970-01-01 00:00:00+00:00"
    assert str(window.ends_at) == "1970-01-01 00:00:01+00:00"


def test_counts_at_each_time_are_stored_as_before_there_were_others() -> None:
    assert count_by_start(3).to_dict() == {"kind": "count", "version": "1.0", "count": 3, "by": "start"}
    assert from_dict({"kind": "count", "version": "1.0", "count": 3, "by": "start"}) == count_by_start(3, every=1)
    assert count_by_end(3, every=2).to_dict()["every"] == 2
