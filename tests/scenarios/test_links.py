"""The numbered queries of *Window Queries over Data Streams* that join or unite links, to Q8-5.

Each test says its query in a sentence, and compares with the pairs that its predicate has of all packets. Links are in
disorder, and one may be far behind another: that makes no row late, and no window incomplete.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import pytest

from examples.thesis.packets import MINUTE, Packet
from muntin import hopping, tumbling
from muntin.windows import WindowKind
from muntin_engine.time.lifetimes import Align, Extend, SetDuration, ShareWindows, Shift
from tests.examples.thesis_extents import sliding
from tests.scenarios.links import Flow, KeyedBatch, KeyedTime, Side, count, link_batches, meet, random_flows

ALL_DISORDER = pytest.mark.parametrize("seed", [1])
"""A disorder of packets for each seed."""

Pairs = Counter[tuple[Flow, Flow]]


def by_hosts(flow: Flow) -> tuple[int, int]:
    return flow.source, flow.target


def by_swapped_hosts(flow: Flow) -> tuple[int, int]:
    return flow.target, flow.source


def emitted_pairs(flows: Sequence[Flow], sides: tuple[Side, Side], seed: int) -> Pairs:
    """Return the pairs that the join of the links emits."""
    emitted = Pairs()
    for batch_pairs, _ in meet(flows, sides, seed):
        emitted.update((pair.left, pair.right) for pair in batch_pairs)
    return emitted


def flows_of(flows: Sequence[Flow], side: Side) -> list[Flow]:
    return [flow for flow in flows if flow.link in side.links]


def expected_pairs(flows: Sequence[Flow], sides: tuple[Side, Side], is_near: Callable[[int, int], bool]) -> Pairs:
    """Return the pairs of equal keys whose times are near each other."""
    left_side, right_side = sides
    expected = Pairs()
    for left, right in product(flows_of(flows, left_side), flows_of(flows, right_side)):
        if left_side.key(left) == right_side.key(right) and is_near(left.at, right.at):
            expected[left, right] += 1
    return expected


def in_one_window(size: int) -> Callable[[int, int], bool]:
    """Return the condition of a tumbling-window join (TH-19)."""
    return lambda left, right: left // size == right // size


@ALL_DISORDER
def test_q5_7_finds_packets_to_the_source_of_another_in_each_five_minutes(seed: int) -> None:
    """Find the pairs of the two main links, one from where the other goes to, of each five-minute interval."""
    flows = random_flows(seed, links="12")
    to_whole_windows = (Align(tumbling(5 * MINUTE)),)
    sides = (
        Side("1", lambda flow: (flow.source,), to_whole_windows),
        Side("2", lambda flow: (flow.target,), to_whole_windows),
    )
    joined = emitted_pairs(flows, sides, seed)
    assert joined == expected_pairs(flows, sides, in_one_window(5 * MINUTE))
    assert len(joined) > 20


@ALL_DISORDER
def test_q3_1_finds_packets_at_most_two_minutes_before_and_three_after_another(seed: int) -> None:
    """Find the pairs from where the other goes to, the first at most two minutes later, the second at most three.

    RANGE says how long a packet stays in the window of its own link: three minutes on the first, two on the second.
    """
    flows = random_flows(seed, links="12")
    sides = (
        Side("1", lambda flow: (flow.source,), (Extend(3 * MINUTE),)),
        Side("2", lambda flow: (flow.target,), (Extend(2 * MINUTE),)),
    )
    joined = emitted_pairs(flows, sides, seed)
    assert joined == expected_pairs(flows, sides, lambda left, right: -2 * MINUTE <= right - left <= 3 * MINUTE)
    assert {-2 * MINUTE, 3 * MINUTE} & {right.at - left.at for left, right in joined}, "some are on the edge"


@ALL_DISORDER
def test_q5_8_finds_packets_that_follow_another_within_minutes(seed: int) -> None:
    """Find the pairs in which the first packet follows within two minutes, or the second one within three (TH-20).

    The band is open above: `l - 2 min <= r < l + 3 min`.
    """
    flows = random_flows(seed, links="12")
    sides = (
        Side("1", lambda flow: (flow.source,), (SetDuration(3 * MINUTE),)),
        Side("2", lambda flow: (flow.target,), (Extend(2 * MINUTE),)),
    )
    joined = emitted_pairs(flows, sides, seed)
    assert joined == expected_pairs(flows, sides, lambda left, right: left - 2 * MINUTE <= right < left + 3 * MINUTE)
    distances = {right.at - left.at for left, right in joined}
    assert min(distances) < 0 < max(distances)


def in_shared_extents(flows: Sequence[Flow], sides: tuple[Side, Side], ranges: tuple[int, int], slide: int) -> Pairs:
    """Return the union of the joins of extents that have the same id, each pair once (equations 5.19 and 5.20).

    Args:
        flows: The packets of all links.
        sides: The left and the right input.
        ranges: Range of the extents of each side.
        slide: Slide of all extents.
    """
    left_side, right_side = sides
    left_extents = sliding(packets_of(flows, left_side), ranges[0], slide)
    right_extents = sliding(packets_of(flows, right_side), ranges[1], slide)
    pairs_of_packets = set[tuple[Packet, Packet]]()
    for id in left_extents.keys() & right_extents.keys():
        pairs_of_packets.update(product(left_extents[id], right_extents[id]))

    joined = Pairs()
    for left_packet, right_packet in pairs_of_packets:
        left = flows[left_packet.row]
        right = flows[right_packet.row]
        if left_side.key(left) == right_side.key(right):
            joined[left, right] += 1
    return joined


def packets_of(flows: Sequence[Flow], side: Side) -> list[Packet]:
    """Return the packets of a side, whose rows are the places of the flows."""
    return [Packet(flow.link, "", 0, flow.at, row) for row, flow in enumerate(flows) if flow.link in side.links]


@pytest.mark.cases(2)
@ALL_DISORDER
@pytest.mark.parametrize(
    ("size", "slide"), [(10 * MINUTE, 5 * MINUTE), (3 * MINUTE, MINUTE), (5 * MINUTE, 3 * MINUTE), (MINUTE, MINUTE)]
)
def test_packets_of_one_window_meet_once_however_many_windows_they_share(size: int, slide: int, seed: int) -> None:
    """Find the pairs of packets that are in one extent, where extents overlap (section 5.2.2)."""
    flows = random_flows(seed, links="12")
    shared_windows = (ShareWindows(hopping(size, slide, offset=-size % slide)),)
    sides = (Side("1", by_hosts, shared_windows), Side("2", by_swapped_hosts, shared_windows))
    joined = emitted_pairs(flows, sides, seed)
    assert joined == in_shared_extents(flows, sides, (size, size), slide)
    assert joined


@ALL_DISORDER
def test_extents_that_slide_by_a_unit_are_bands_that_are_open_at_both_ends(seed: int) -> None:
    """Figure 5-3 and equation 5.20 find pairs of `-R_R < r - l < R_L`; the band of Q5-8 has one of its ends."""
    left_range = 6
    right_range = 4
    flows = [flow._replace(at=flow.at // 30) for flow in random_flows(seed, links="12")]  # many are just a range apart
    sides = (
        Side("1", by_hosts, (SetDuration(left_range),)),
        Side("2", by_swapped_hosts, (SetDuration(right_range),)),
    )
    joined = emitted_pairs(flows, sides, seed)
    assert joined == in_shared_extents(flows, sides, (left_range, right_range), slide=1)
    assert joined == expected_pairs(flows, sides, lambda left, right: -right_range < right - left < left_range)
    assert joined != expected_pairs(flows, sides, lambda left, right: -right_range <= right - left < left_range)


@ALL_DISORDER
def test_q7_1_counts_answers_for_each_pair_of_timestamps(seed: int) -> None:
    """Count the connections that are answered within two minutes, for each pair of minutes.

    The lifetime of a pair starts with the later of the two, so the count of a pair of minutes is complete when the
    output watermark of the join has passed both.
    """
    flows = random_flows(seed, links="12")
    sides = (Side("1", by_hosts, (Extend(2 * MINUTE),)), Side("2", by_swapped_hosts, ()))

    def connections() -> Iterator[KeyedBatch]:
        for batch_pairs, watermark in meet(flows, sides, seed):
            points = [KeyedTime((left.at // MINUTE, right.at // MINUTE), at) for left, right, at in batch_pairs]
            yield KeyedBatch(points, link="", watermark=watermark)

    counts = count(connections(), tumbling(MINUTE))
    answered = expected_pairs(flows, sides, lambda left, right: left <= right <= left + 2 * MINUTE)
    expected = Counter((left.at // MINUTE, right.at // MINUTE) for left, right in answered.elements())
    assert counts == Counter((minutes, max(minutes) * MINUTE, number) for minutes, number in expected.items())
    assert len(counts) > 3


@ALL_DISORDER
def test_q7_2_counts_the_pairs_of_each_minute_of_the_first_link(seed: int) -> None:
    """Count the packets of opposite directions within nine seconds, here a minute, per minute of the first one.

    What lasts from a minute before to a minute after meets points: so a pair has the time of the first one (TH-49).
    """
    flows = random_flows(seed, links="12")
    near = MINUTE
    a_minute_around = (Shift(-near), Extend(2 * near))
    sides = (Side("1", by_hosts, ()), Side("2", by_swapped_hosts, a_minute_around))

    def near_pairs() -> Iterator[KeyedBatch]:
        for batch_pairs, watermark in meet(flows, sides, seed):
            assert all(pair.at == pair.left.at for pair in batch_pairs)
            yield KeyedBatch([KeyedTime(None, pair.at) for pair in batch_pairs], link="", watermark=watermark)

    counts = count(near_pairs(), tumbling(MINUTE))
    expected = expected_pairs(flows, sides, lambda left, right: abs(left - right) <= near)
    pairs_per_minute = Counter(left.at // MINUTE * MINUTE for left, _ in expected.elements())
    assert counts == Counter((None, start, number) for start, number in pairs_per_minute.items())
    assert counts


@ALL_DISORDER
def test_q8_3_joins_the_union_of_two_links_with_that_of_two_others(seed: int) -> None:
    """Find the pairs of A and B with C and D, of opposite directions of a flow, in each ten minutes."""
    flows = random_flows(seed, "ABCD")
    to_whole_windows = (Align(tumbling(10 * MINUTE)),)
    sides = (Side("AB", by_hosts, to_whole_windows), Side("CD", by_swapped_hosts, to_whole_windows))
    joined = emitted_pairs(flows, sides, seed)
    assert joined == expected_pairs(flows, sides, in_one_window(10 * MINUTE))
    assert {(left.link, right.link) for left, right in joined} == set(product("AB", "CD"))


@ALL_DISORDER
def test_q8_4_joins_a_link_with_the_union_of_two_of_which_one_is_almost_silent(seed: int) -> None:
    """Find the pairs of M1 with M2 and C, of opposite directions of a flow, in each minute."""
    flows = random_flows(seed, "12C", 120)
    to_whole_windows = (Align(tumbling(MINUTE)),)
    sides = (Side("1", by_hosts, to_whole_windows), Side("2C", by_swapped_hosts, to_whole_windows))
    joined = emitted_pairs(flows, sides, seed)
    assert joined == expected_pairs(flows, sides, in_one_window(MINUTE))
    assert joined


@pytest.mark.parametrize(
    ("links", "size", "key"),
    [
        pytest.param("1", MINUTE, by_hosts, id="q8_1"),
        pytest.param("12", MINUTE, by_hosts, id="q8_2"),
        pytest.param("12C", 5 * MINUTE, lambda flow: None, id="q8_5"),
    ],
)
@ALL_DISORDER
def test_q8_1_q8_2_q8_5_count_the_packets_of_united_links(
    links: str, size: int, key: Callable[[Flow], Any], seed: int
) -> None:
    """Count the packets of each pair of hosts per minute, and all of the past five minutes every minute."""
    flows = random_flows(seed, links, 120)

    def packets() -> Iterator[KeyedBatch]:
        for link, link_flows, watermark in link_batches(flows, seed):
            yield KeyedBatch([KeyedTime(key(flow), flow.at) for flow in link_flows], link, watermark)

    window: WindowKind = hopping(size, MINUTE)
    expected: Counter[tuple[Any, ...]] = Counter()
    for flow in flows:
        first = flow.at // MINUTE * MINUTE
        expected.update((key(flow), start) for start in range(first, first - size, -MINUTE))
    counts = count(packets(), window, links)
    assert counts == Counter((*key_and_start, number) for key_and_start, number in expected.items())


def test_a_pair_is_there_when_the_later_of_the_two_packets_is() -> None:
    """No pair waits for a watermark: it comes in the micro-batch of its second packet."""
    flows = random_flows(0, links="12")
    to_whole_windows = (Align(tumbling(5 * MINUTE)),)
    sides = (Side("1", by_hosts, to_whole_windows), Side("2", by_swapped_hosts, to_whole_windows))
    expected = expected_pairs(flows, sides, in_one_window(5 * MINUTE))
    arrived: set[Flow] = set()
    emitted = Pairs()
    for link_batch, (batch_pairs, _) in zip(link_batches(flows, 0), meet(flows, sides, 0), strict=True):
        arrived.update(link_batch.flows)
        emitted.update((pair.left, pair.right) for pair in batch_pairs)
        assert emitted == Counter({pair: number for pair, number in expected.items() if arrived.issuperset(pair)})
