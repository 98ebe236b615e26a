"""The numbered queries of *Window Queries over Data Streams* that join or unite links, to Q8-5.

Each test says its query in a sentence, and compares with the pairs that its predicate has of all packets. Links are in
disorder, and one may be far behind another: that makes no row late, and no window incomplete.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import product
from typing import Any

import pytest

from examples.thesis.packets import MINUTE, Packet
from muntin import hopping, tumbling
from muntin.windows import WindowKind
from muntin_engine.time.lifetimes import Align, Extend, SetDuration, ShareWindows, Shift
from tests.examples.thesis_extents import sliding
from tests.scenarios.links import Flow, Side, arriving, count, meet, random_flows

ALL_DISORDER = pytest.mark.parametrize("seed", [1])

Pairs = Counter[tuple[Flow, Flow]]


def forth(flow: Flow) -> tuple[int, int]:
    return flow.source, flow.target


def back(flow: Flow) -> tuple[int, int]:
    return flow.target, flow.source


def pairs(flows: Sequence[Flow], sides: tuple[Side, Side], seed: int) -> Pairs:
    """Return what the join of the links emits."""
    return Counter((left, right) for some, _ in meet(flows, sides, seed) for left, right, _ in some)


def meant(flows: Sequence[Flow], sides: tuple[Side, Side], is_near: Callable[[int, int], bool]) -> Pairs:
    """Return the pairs of equal keys whose times are near each other."""
    left, right = ([flow for flow in flows if flow.link in side.links] for side in sides)
    found = product(left, right)
    return Counter(
        (one, other) for one, other in found if sides[0].key(one) == sides[1].key(other) and is_near(one.at, other.at)
    )


def in_one(size: int) -> Callable[[int, int], bool]:
    """Return the condition of a tumbling-window join (TH-19)."""
    return lambda left, right: left // size == right // size


@ALL_DISORDER
def test_q5_7_finds_packets_to_the_source_of_another_in_each_five_minutes(seed: int) -> None:
    """Find the pairs of the two main links, one from where the other goes to, of each five-minute interval."""
    flows = random_flows(seed, "12")
    whole = (Align(tumbling(5 * MINUTE)),)
    sides = (Side("1", lambda flow: (flow.source,), whole), Side("2", lambda flow: (flow.target,), whole))
    found = pairs(flows, sides, seed)
    assert found == meant(flows, sides, in_one(5 * MINUTE))
    assert len(found) > 20


@ALL_DISORDER
def test_q3_1_finds_packets_at_most_two_minutes_before_and_three_after_another(seed: int) -> None:
    """Find the pairs from where the other goes to, the first at most two minutes later, the second at most three.

    RANGE says how long a packet stays in the window of its own link: three minutes on the first, two on the second.
    """
    flows = random_flows(seed, "12")
    sides = (
        Side("1", lambda flow: (flow.source,), (Extend(3 * MINUTE),)),
        Side("2", lambda flow: (flow.target,), (Extend(2 * MINUTE),)),
    )
    found = pairs(flows, sides, seed)
    assert found == meant(flows, sides, lambda left, right: -2 * MINUTE <= right - left <= 3 * MINUTE)
    assert {-2 * MINUTE, 3 * MINUTE} & {right.at - left.at for left, right in found}, "some are on the edge"


@ALL_DISORDER
def test_q5_8_finds_packets_that_follow_another_within_minutes(seed: int) -> None:
    """Find the pairs in which the first packet follows within two minutes, or the second one within three (TH-20).

    The band is open above: `l - 2 min <= r < l + 3 min`.
    """
    flows = random_flows(seed, "12")
    sides = (
        Side("1", lambda flow: (flow.source,), (SetDuration(3 * MINUTE),)),
        Side("2", lambda flow: (flow.target,), (Extend(2 * MINUTE),)),
    )
    found = pairs(flows, sides, seed)
    assert found == meant(flows, sides, lambda left, right: left - 2 * MINUTE <= right < left + 3 * MINUTE)
    distances = {right.at - left.at for left, right in found}
    assert min(distances) < 0 < max(distances)


def in_shared_extents(flows: Sequence[Flow], sides: tuple[Side, Side], ranges: tuple[int, int], slide: int) -> Pairs:
    """Return the union of the joins of extents that have the same id, each pair once (equations 5.19 and 5.20)."""
    left, right = (
        sliding(
            [Packet(flow.link, "", 0, flow.at, n) for n, flow in enumerate(flows) if flow.link in of.links], size, slide
        )
        for of, size in zip(sides, ranges, strict=True)
    )
    found = {pair for id in {*left} & {*right} for pair in product(left[id], right[id])}
    met = ((flows[one.row], flows[other.row]) for one, other in found)
    return Counter((one, other) for one, other in met if sides[0].key(one) == sides[1].key(other))


@pytest.mark.cases(2)
@ALL_DISORDER
@pytest.mark.parametrize(
    ("size", "slide"), [(10 * MINUTE, 5 * MINUTE), (3 * MINUTE, MINUTE), (5 * MINUTE, 3 * MINUTE), (MINUTE, MINUTE)]
)
def test_packets_of_one_window_meet_once_however_many_windows_they_share(size: int, slide: int, seed: int) -> None:
    """Find the pairs of packets that are in one extent, where extents overlap (section 5.2.2)."""
    flows = random_flows(seed, "12")
    share = (ShareWindows(hopping(size, slide, offset=-size % slide)),)
    sides = (Side("1", forth, share), Side("2", back, share))
    found = pairs(flows, sides, seed)
    assert found == in_shared_extents(flows, sides, (size, size), slide)
    assert found


@ALL_DISORDER
def test_extents_that_slide_by_a_unit_are_bands_that_are_open_at_both_ends(seed: int) -> None:
    """Figure 5-3 and equation 5.20 find pairs of `-R_R < r - l < R_L`; the band of Q5-8 has one of its ends."""
    ranges = (6, 4)
    flows = [flow._replace(at=flow.at // 30) for flow in random_flows(seed, "12")]  # many are just a range apart
    sides = (Side("1", forth, (SetDuration(ranges[0]),)), Side("2", back, (SetDuration(ranges[1]),)))
    found = pairs(flows, sides, seed)
    assert found == in_shared_extents(flows, sides, ranges, 1)
    assert found == meant(flows, sides, lambda left, right: -ranges[1] < right - left < ranges[0])
    assert found != meant(flows, sides, lambda left, right: -ranges[1] <= right - left < ranges[0])


@ALL_DISORDER
def test_q7_1_counts_answers_for_each_pair_of_timestamps(seed: int) -> None:
    """Count the connections that are answered within two minutes, for each pair of minutes.

    The lifetime of a pair starts with the later of the two, so the count of a pair of minutes is complete when the
    output watermark of the join has passed both.
    """
    flows = random_flows(seed, "12")
    sides = (Side("1", forth, (Extend(2 * MINUTE),)), Side("2", back, ()))

    def counted() -> Iterator[tuple[list[tuple[Hashable, int]], str, int]]:
        for some, watermark in meet(flows, sides, seed):
            yield [((left.at // MINUTE, right.at // MINUTE), at) for left, right, at in some], "", watermark

    found = count(counted(), tumbling(MINUTE))
    expected = Counter(
        (left.at // MINUTE, right.at // MINUTE)
        for left, right in meant(flows, sides, lambda left, right: left <= right <= left + 2 * MINUTE).elements()
    )
    assert found == Counter((key, max(key) * MINUTE, number) for key, number in expected.items())
    assert len(found) > 3


@ALL_DISORDER
def test_q7_2_counts_the_pairs_of_each_minute_of_the_first_link(seed: int) -> None:
    """Count the packets of opposite directions within nine seconds, here a minute, per minute of the first one.

    What lasts from a minute before to a minute after meets points: so a pair has the time of the first one (TH-49).
    """
    flows = random_flows(seed, "12")
    near = MINUTE
    around = (Shift(-near), Extend(2 * near))
    sides = (Side("1", forth, ()), Side("2", back, around))

    def counted() -> Iterator[tuple[list[tuple[Hashable, int]], str, int]]:
        for some, watermark in meet(flows, sides, seed):
            assert all(pair.at == pair.left.at for pair in some)
            yield [(None, pair.at) for pair in some], "", watermark

    found = count(counted(), tumbling(MINUTE))
    expected = meant(flows, sides, lambda left, right: abs(left - right) <= near)
    of_minutes = Counter(left.at // MINUTE * MINUTE for left, _ in expected.elements())
    assert found == Counter((None, start, number) for start, number in of_minutes.items())
    assert found


@ALL_DISORDER
def test_q8_3_joins_the_union_of_two_links_with_that_of_two_others(seed: int) -> None:
    """Find the pairs of A and B with C and D, of opposite directions of a flow, in each ten minutes."""
    flows = random_flows(seed, "ABCD")
    whole = (Align(tumbling(10 * MINUTE)),)
    sides = (Side("AB", forth, whole), Side("CD", back, whole))
    found = pairs(flows, sides, seed)
    assert found == meant(flows, sides, in_one(10 * MINUTE))
    assert {(left.link, right.link) for left, right in found} == set(product("AB", "CD"))


@ALL_DISORDER
def test_q8_4_joins_a_link_with_the_union_of_two_of_which_one_is_almost_silent(seed: int) -> None:
    """Find the pairs of M1 with M2 and C, of opposite directions of a flow, in each minute."""
    flows = random_flows(seed, "12C", 120)
    whole = (Align(tumbling(MINUTE)),)
    sides = (Side("1", forth, whole), Side("2C", back, whole))
    found = pairs(flows, sides, seed)
    assert found == meant(flows, sides, in_one(MINUTE))
    assert found


@pytest.mark.parametrize(
    ("links", "size", "key"),
    [
        pytest.param("1", MINUTE, forth, id="q8_1"),
        pytest.param("12", MINUTE, forth, id="q8_2"),
        pytest.param("12C", 5 * MINUTE, lambda flow: None, id="q8_5"),
    ],
)
@ALL_DISORDER
def test_q8_1_q8_2_q8_5_count_the_packets_of_united_links(
    links: str, size: int, key: Callable[[Flow], Any], seed: int
) -> None:
    """Count the packets of each pair of hosts per minute, and all of the past five minutes every minute."""
    flows = random_flows(seed, links, 120)

    def counted() -> Iterator[tuple[list[tuple[Hashable, int]], str, int]]:
        for link, some, watermark in arriving(flows, seed):
            yield [(key(flow), flow.at) for flow in some], link, watermark

    window: WindowKind = hopping(size, MINUTE)
    expected: Counter[tuple[Any, ...]] = Counter()
    for flow in flows:
        first = flow.at // MINUTE * MINUTE
        expected.update((key(flow), start) for start in range(first, first - size, -MINUTE))
    found = count(counted(), window, links)
    assert found == Counter((*of, number) for of, number in expected.items())


def test_a_pair_is_there_when_the_later_of_the_two_packets_is() -> None:
    """No pair waits for a watermark: it comes in the micro-batch of its second packet."""
    flows = random_flows(0, "12")
    whole = (Align(tumbling(5 * MINUTE)),)
    sides = (Side("1", forth, whole), Side("2", back, whole))
    came: set[Flow] = set()
    expected = meant(flows, sides, in_one(5 * MINUTE))
    emitted: Pairs = Counter()
    for (_, some, _), (met, _) in zip(arriving(flows, 0), meet(flows, sides, 0), strict=True):
        came.update(some)
        emitted.update((pair.left, pair.right) for pair in met)
        assert emitted == Counter({pair: n for pair, n in expected.items() if came.issuperset(pair)})
