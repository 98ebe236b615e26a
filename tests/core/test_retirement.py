"""When windows close, what is forgotten then, and how far the output is settled.

The rules are SI-81 to SI-85. Where a boundary lies exactly at the watermark they are a tick stricter than the paper's
section V.F: watermark is strict (B6 item 10), so a change at the watermark itself is still to be expected.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import Any

import pytest

from muntin import (
    INFINITY,
    ClipPolicy,
    EarlyEmission,
    EmitPolicy,
    OutputContract,
    TimestampPolicy,
    count_by_end,
    count_by_start,
    early,
    hopping,
    snapshot,
    tumbling,
)
from muntin.triggers import every_count
from muntin.windows import WindowKind
from tests.core.build import Feed, Lengths, Members, output, query, reasons, revision, row, spelled


def fed(window: WindowKind, module: Any = None, **policies: Any) -> Feed:
    return Feed(query(window, module, **policies))


def remembered(feed: Feed) -> list[object]:
    """The ids of the events that are kept."""
    events = [event for state in feed.states for event in state.events]
    return [event.id[0] if isinstance(event.id, tuple) else event.id for event in events]


def test_a_window_of_a_time_insensitive_module_closes_at_its_end() -> None:
    """
                  0    5    10           (SI-81)
    a             [-------------->       it has not ended, but the window's members are known
    window        [---------)
    punctuation            !             9: not yet
                            !            10: now
    """
    feed = fed(tumbling(10))
    feed.batch(row("a", 0))
    assert spelled(feed.batch(watermark=9)) == []
    assert spelled(feed.batch(watermark=10)) == ["+1 [0,10) (0,)"]


def test_an_unclipped_window_waits_until_its_members_have_ended() -> None:
    """
                  0    5    10   15      (SI-82)
    a                [--------)          3 to 12
    window        [---------)
    punctuation               !          12: it may still be prolonged, from 12 on; the paper would close here
                               !         13: now its length is known
    """
    feed = fed(tumbling(10), Lengths())
    feed.batch(row("a", 3, 12))
    assert spelled(feed.batch(watermark=12)) == []
    feed.batch(revision("a", 3, 12, 14))
    assert spelled(feed.batch(watermark=14)) == []
    assert spelled(feed.batch(watermark=15)) == ["+1 [0,10) (11,)"]
    assert spelled(feed.batch(watermark=20)) == ["+2 [10,20) (11,)"]


def test_an_unclipped_window_also_waits_for_its_own_end() -> None:
    """
                  0    5    10           (SI-82 with B6 item 7)
    a               [--)                 ended long ago
    window        [---------)
    punctuation            !             9: something else may still come
    """
    feed = fed(tumbling(10), Lengths())
    feed.batch(row("a", 2, 4))
    assert spelled(feed.batch(watermark=9)) == []
    assert spelled(feed.batch(watermark=10)) == ["+1 [0,10) (2,)"]


@pytest.mark.parametrize("clip", [ClipPolicy.RIGHT, ClipPolicy.FULL])
def test_a_right_clipped_window_closes_at_its_end(clip: ClipPolicy) -> None:
    """
                  0    5    10   15      (SI-83)
    a                [------------->     3 to infinity, seen as 3 to 10
    window        [---------)
    punctuation             !
    """
    feed = fed(tumbling(10), Lengths(), clip=clip)
    feed.batch(row("a", 3))
    assert spelled(feed.batch(watermark=10)) == ["+1 [0,10) (7,)"]


def test_a_snapshot_closes_a_tick_after_its_end() -> None:
    """
                  0    5    10
    a             [----)                 0 to 5
    punctuation        !                 5: the boundary may still move, from 5 on; the paper would close here
                        !                6: now
    """
    feed = fed(snapshot())
    feed.batch(row("a", 0, 5))
    assert spelled(feed.batch(watermark=5)) == []
    assert spelled(feed.batch(revision("a", 0, 5, 8), watermark=8)) == []
    assert spelled(feed.batch(watermark=9)) == ["+1 [0,8) (0,)"]


def test_without_ids_nothing_can_be_prolonged_so_nothing_waits() -> None:
    feed = fed(tumbling(10), Lengths(), has_ids=False)
    feed.batch(row(None, 3, 300))
    assert spelled(feed.batch(watermark=10)) == ["+1 [0,10) (297,)"]


def test_a_count_window_may_close_before_an_earlier_one() -> None:
    """
                  0    5    10   15
    a             [------------->        a window of its own, open as long as it lives
    b                [--)                a window of its own, 3 to 4
    """
    feed = fed(count_by_start(1), Lengths())
    feed.batch(row("a", 0), row("b", 3, 6))
    assert spelled(feed.batch(watermark=7)) == ["+1 [3,4) (3,)"]
    assert spelled(feed.batch(watermark=9)) == []
    assert spelled(feed.batch(revision("a", 0, INFINITY, 11), watermark=12)) == ["+2 [0,1) (11,)"]
    assert remembered(feed) == []


@pytest.mark.parametrize(
    "emit", [EmitPolicy.EAGER, EmitPolicy.SPECULATIVE, early(every_count(1), refinement="retract")], ids=str
)
def test_a_window_that_closed_before_an_earlier_one_is_not_emitted_again(emit: EmitPolicy | EarlyEmission) -> None:
    """Every second start opens a window, so a change says of all windows after it that they may be others.

                  0    5    10
    a             [------------->        a window of its own, open as long as it lives
    b               [----------->        opens no window
    c                  [)                a window of its own, 5 to 6
    """
    feed = fed(count_by_start(1, every=2), Lengths(), emit=emit)
    results = [feed.batch(row("a", 0, 20), row("b", 2, 21), row("c", 5, 6)), feed.batch(watermark=7)]
    results += [feed.batch(revision("b", 2, 21, 12), watermark=8), feed.batch(revision("a", 0, 20, 15), watermark=16)]
    live = Counter[tuple[int, Any]]()
    for change in chain(*map(output, results)):
        live[change.start, change.value[0]] += -1 if change.kind == "retract" else 1
    assert +live == {(0, (15,)): 1, (5, (1,)): 1}


def test_an_event_is_forgotten_when_its_windows_are_closed_and_its_end_is_past() -> None:
    """
                  0    5    10   15      (SI-84)
    a                [---)               3 to 7
    b                [------------)      3 to 16: the next window needs it
    """
    feed = fed(tumbling(10))
    feed.batch(row("a", 3, 7), row("b", 3, 16), watermark=9)
    assert remembered(feed) == ["a", "b"]
    feed.batch(watermark=10)
    assert remembered(feed) == ["b"]
    feed.batch(watermark=20)
    assert remembered(feed) == []


def test_an_event_is_kept_while_it_may_be_prolonged_into_an_open_window() -> None:
    feed = fed(tumbling(10))
    feed.batch(row("a", 3, 10), watermark=10)
    assert remembered(feed) == ["a"]
    feed.batch(revision("a", 3, 10, 12))
    assert spelled(feed.batch(watermark=20)) == ["+2 [10,20) (0,)"]
    feed.batch(row("b", 23, 30), watermark=30)
    feed.batch(watermark=31)
    assert remembered(feed) == []


def test_an_event_between_two_windows_is_forgotten_too() -> None:
    """
                  0  3    8  11 16
    windows       [--)    [--)  [--)
    a                 [--)               4 to 7: in the gap
    """
    feed = fed(hopping(3, 8))
    feed.batch(row("a", 4, 7))
    feed.batch(watermark=8)
    feed.batch(watermark=11)
    assert remembered(feed) == []


def test_a_key_is_forgotten_with_its_last_event() -> None:
    feed = fed(tumbling(10))
    feed.batch(row("a", 3, 7))
    assert len(feed.states) == 1
    feed.batch(watermark=10)
    assert feed.states == []


def test_punctuation_alone_puts_out_what_it_closes() -> None:
    feed = fed(hopping(10, 5))  # SI-85
    feed.batch(row("a", 3, 4, 1), row("b", 8, 9, 2))
    assert spelled(feed.batch(watermark=15)) == ["+1 [-5,5) (1,)", "+2 [0,10) (1, 2)", "+3 [5,15) (2,)"]


@pytest.mark.parametrize("emit", EmitPolicy)
@pytest.mark.parametrize("window", [tumbling(10), snapshot(), count_by_start(2), count_by_end(1)])
def test_a_closed_stream_leaves_nothing_behind(window: WindowKind, emit: EmitPolicy) -> None:
    feed = fed(window, emit=emit)
    feed.batch(row("a", 0), row("b", 3, 8), revision("c", 9, 20, 15), key="x")
    feed.batch(row("d", -40, 8), key="y", watermark=5)
    assert reasons(feed.batch(watermark=INFINITY)) == ["unknown event"]
    assert list(feed.cells.cells) == ["metadata"]


def key_watermark(window: WindowKind, *rows: Any, watermark: int, **policies: Any) -> int:
    feed = fed(window, **policies)
    feed.batch(*rows)
    return feed.batch(watermark=watermark).watermark


def test_output_of_overlapping_windows_is_settled_up_to_the_first_open_one() -> None:
    """
                  0    5    10           (B6 item 2: the paper's rule would promise 10)
    windows       [---------)            closed at 10
                    [---------)          2 to 12: open, and its output will start at 2
    """
    assert key_watermark(hopping(10, 2), row("a", 3, 4), watermark=10) == 2


def test_output_is_settled_as_far_as_the_input_where_windows_do_not_overlap() -> None:
    assert key_watermark(tumbling(10), row("a", 3, 4), watermark=10) == 10
    assert key_watermark(tumbling(10), row("a", 3, 4), watermark=19) == 10
    assert key_watermark(snapshot(), row("a", 3, 14), watermark=10) == 3
    assert key_watermark(snapshot(), row("a", 3, 9), watermark=10) == 10
    assert key_watermark(count_by_start(2), row("a", 3, 4), watermark=10) == 3
    assert key_watermark(count_by_end(1), row("a", 3, 4), watermark=10) == 10


def test_a_window_that_waits_for_an_end_holds_the_output_back() -> None:
    assert key_watermark(tumbling(10), row("a", 3), watermark=95, module=Lengths()) == 0  # SI-77, SI-78
    assert key_watermark(tumbling(10), row("a", 3), watermark=95, module=Lengths(), clip=ClipPolicy.RIGHT) == 90


def test_points_at_the_end_of_windows_are_settled_up_to_the_end_of_the_first_open_one() -> None:
    """
                  0    5    10   15      (B6 item 2)
    windows       [---------)            closed at 10
                    [---------)          2 to 12: the next point lies at 12, whatever comes
    """
    policies = {"timestamps": TimestampPolicy.POINT_AT_END}
    assert key_watermark(hopping(10, 2), row("a", 3, 4), watermark=10, **policies) == 12
    assert key_watermark(tumbling(10), row("a", 3, 4), watermark=25, **policies) == 30
    assert key_watermark(tumbling(10), row("a", 3), watermark=95, module=Lengths(), **policies) == 10
    assert (
        key_watermark(snapshot(), row("a", 3, 14), watermark=10, **policies) == 10
    )  # one may end anywhere from now on
    assert key_watermark(count_by_start(2), row("a", 3, 4), watermark=10, **policies) == 11  # after a start at 10


def test_a_key_with_a_window_far_ahead_does_not_hold_the_output_back() -> None:
    assert key_watermark(tumbling(10), row("a", 1003, 1004), watermark=500) == 500


def test_without_a_contract_no_output_is_settled_before_the_end() -> None:
    policies = {"timestamps": TimestampPolicy.UNCHANGED, "contract": OutputContract.UNRESTRICTED}
    feed = fed(tumbling(10), **policies)
    assert feed.batch(row("a", 3, 4), watermark=10).watermark < -(2**62)  # SI-76
    assert feed.batch(watermark=INFINITY).watermark == INFINITY


def test_output_that_is_cut_to_its_window_needs_no_contract() -> None:
    policies = {"timestamps": TimestampPolicy.CLIP, "contract": OutputContract.UNRESTRICTED}
    assert key_watermark(tumbling(10), row("a", 3, 4), watermark=25, **policies) == 20  # SI-79
    assert key_watermark(hopping(10, 5), row("a", 3, 24), watermark=25, **policies) == 20


def test_time_bound_output_is_settled_as_far_as_the_input() -> None:
    policies = {"emit": EmitPolicy.EAGER, "timestamps": TimestampPolicy.TIME_BOUND}
    assert key_watermark(hopping(10, 2), row("a", 3, 4), watermark=7, **policies) == 7  # SI-80
    assert key_watermark(tumbling(100), row("a", 3), watermark=7, module=Members(), **policies) == 7
    assert key_watermark(tumbling(100), row("a", 3), watermark=7, module=Lengths(), **policies) == 7
    policies = {"emit": EmitPolicy.EAGER, "timestamps": TimestampPolicy.CLIP, "contract": OutputContract.TIME_BOUND}
    assert key_watermark(tumbling(100), row("a", 3), watermark=7, **policies) == 7


def test_a_time_bound_window_waits_for_no_end_of_a_member() -> None:
    feed = fed(tumbling(10), Lengths(), emit=EmitPolicy.EAGER, timestamps=TimestampPolicy.TIME_BOUND)
    for number in range(20):
        result = feed.batch(row(number, 10 * number), watermark=10 * number + 10)
        assert (result.watermark, result.held.windows) == (10 * number + 10, 0)
