"""The numbered queries of Jin Li's *Window Queries over Data Streams* (2008), those of one stream.

Each test says its query in a sentence, names the window and the module that answer it, and compares with the answer
that follows from the definition of the extents. The engine's evaluators must agree on the first packets, and on those
on the edges of extents.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import pytest

from muntin import IncrementalOperator, hopping, landmark, trailing, tumbling
from muntin.rows import ActionKind, Row, elapsed, last, on_row
from muntin.testing import Computation, Script, WindowedQuery
from muntin_engine.testing import crash_everywhere
from muntin_stats import Count, Max, Sum
from tests.thesis import extents
from tests.thesis.extents import Extents
from tests.thesis.packets import EDGES, MINUTE, Packet, random_packets, stream_of

FEW = 12
Answer = Counter[tuple[Any, ...]]

ALL_DISORDER = pytest.mark.parametrize("seed", range(2))
"""A seed for each of the kinds of disorder."""

COUNT = Computation(Count(), lambda packet: packet.length)
LONGEST = Computation(Max(), lambda packet: packet.length)
SIZE = Computation(Sum(), lambda packet: packet.length)


def source_of(packet: Packet) -> Hashable:
    return packet.source


def answer(query: WindowedQuery, packets: Sequence[Packet], seed: int, **given: Any) -> Answer:
    """Return (key, end of the extent, result) of each row, and let the engine run some packets."""
    crash_everywhere(stream_of(some_of(packets), seed, **given), query)
    output = stream_of(packets, seed, **given).run(query)
    return Counter((key, row.window.end, *_parts(row.value)) for key, rows in output.items() for row in rows)


def some_of(packets: Sequence[Packet]) -> list[Packet]:
    """Return the first packets, and those on the edges of extents."""
    return [packet for place, packet in enumerate(packets) if place < FEW or packet.at in EDGES]


def meant(found: Extents, of_rows: Callable[[list[Packet]], Iterable[tuple[Any, ...]]]) -> Answer:
    """Return what the extents mean: (key, end, result) by a function from the rows of an extent."""
    return Counter((key, end, *result) for end, rows in found.items() for key, *result in of_rows(rows))


def by_source(reduce: Callable[[list[int]], int]) -> Callable[[list[Packet]], Iterable[tuple[Any, ...]]]:
    """Reduce the lengths of each source's packets."""

    def of_rows(rows: list[Packet]) -> Iterable[tuple[Any, ...]]:
        return [(key, reduce([row.length for row in rows if row.source == key])) for key in {r.source for r in rows}]

    return of_rows


def all_together(reduce: Callable[[list[int]], int]) -> Callable[[list[Packet]], Iterable[tuple[Any, ...]]]:
    """Reduce the lengths of all packets."""
    return lambda rows: [(None, reduce([row.length for row in rows]))]


def _parts(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


@pytest.mark.parametrize("minutes", [10, 4, 5], ids=["q1_1_q5_1_q6_1", "q6_3", "q6_5"])
@ALL_DISORDER
def test_q1_1_q5_1_q6_1_q6_3_q6_5_count_the_packets_of_each_source_in_the_last_minutes(minutes: int, seed: int) -> None:
    """Count each source's packets of the past ten (four, five) minutes, every minute."""
    packets = random_packets(seed)
    found = answer(WindowedQuery(hopping(minutes * MINUTE, MINUTE), [COUNT]), packets, seed, key=source_of)
    assert found == meant(extents.sliding(packets, minutes * MINUTE, MINUTE), by_source(len))
    assert len({end for _, end, _ in found}) > 20


@ALL_DISORDER
def test_q1_2_counts_the_packets_of_three_links_every_minute(seed: int) -> None:
    """Count the packets of all three links, one of them almost silent, per minute."""
    packets = random_packets(seed)
    found = answer(WindowedQuery(tumbling(MINUTE), [COUNT]), packets, seed)
    assert found == meant(extents.sliding(packets, MINUTE, MINUTE), all_together(len))


@ALL_DISORDER
def test_q2_1_counts_the_packets_of_two_sources_every_minute(seed: int) -> None:
    """Count the packets of one link from two sources, each per minute."""
    packets = [p for p in random_packets(seed, 200) if p.link == "main 1" and p.source in ("10.0.0.0", "10.0.0.1")]
    found = answer(WindowedQuery(tumbling(MINUTE), [COUNT]), packets, seed, key=source_of)
    assert found == meant(extents.sliding(packets, MINUTE, MINUTE), by_source(len))


@ALL_DISORDER
def test_q5_2_finds_the_longest_of_the_last_thousand_packets_of_each_source(seed: int) -> None:
    """Find the longest of each source's last thousand packets, at every tenth of that source; here of twenty, at four.

    Two windows answer it: hopping ones over the rank of a packet in its source, and the last rows of each source.
    The id of a window is its number and the source (TH-12).
    """
    packets = random_packets(seed)
    over_ranks = WindowedQuery(hopping(20, 4), [LONGEST])
    found = answer(over_ranks, packets, seed, key=source_of, at=lambda packet: packet.rank)
    of_sources = extents.partitioned(packets, 20, 4)
    maxima = all_together(max)
    expected = Counter(
        (source, *row[1:]) for source, windows in of_sources.items() for row in meant(windows, maxima).elements()
    )
    assert found == expected

    assert list(by_rows(packets)) == [
        (source, longest)
        for packet in packets
        for source, end, longest in expected
        if source == packet.source and end == packet.rank + 1
    ]


def by_rows(packets: Sequence[Packet]) -> Iterable[tuple[str, int]]:
    """Yield the source and the longest packet at each trigger of the last twenty rows, every four."""
    windows = last(20).trigger(4)
    states = {packet.source: windows.create_state() for packet in packets}
    members: dict[str, dict[int, int]] = {source: {} for source in states}
    for packet in packets:
        inside = members[packet.source]
        for action in windows.step(states[packet.source], Row(packet.row, packet.row)):
            if action.kind is ActionKind.INSERT:
                inside[packet.row] = packet.length
            elif action.kind is ActionKind.EVICT:
                for number in action.rows:
                    del inside[number]
            elif action.kind is ActionKind.TRIGGER:
                yield packet.source, max(inside.values())


@ALL_DISORDER
def test_q5_3_finds_the_longest_packet_of_each_source_among_the_last_thousand_of_all(seed: int) -> None:
    """Find each source's longest among the last thousand packets of all, at every tenth; here of twenty, at four.

    It is not the query before: a source that falls silent leaves these windows, and never those (TH-13). The answers
    to both differ in how many windows a source has, and in what is the longest.
    """
    packets = random_packets(seed)
    given: Any = {"key": source_of, "at": lambda packet: packet.row}
    found = answer(WindowedQuery(hopping(20, 4), [LONGEST]), packets, seed, **given)
    assert found == meant(extents.sliding(packets, 20, 4, lambda row: row.row), by_source(max))
    of_each = answer(WindowedQuery(hopping(20, 4), [LONGEST]), packets, seed, **given | {"at": lambda p: p.rank})
    some, others = (Counter((source, longest) for source, _, longest in rows.elements()) for rows in (of_each, found))
    assert some != others
    assert {source for source, _ in some} == {source for source, _ in others}


def test_q5_2_and_q5_3_differ_where_a_source_falls_silent() -> None:
    """Row   0 1 2 3 4 5 6 7
    a        9 1
    b            2 2 2 2 2 2    the last four rows of all have none of a's, the last four of a have both
    """
    packets = [Packet("1", "a" if row < 2 else "b", (9, 1, 2)[min(row, 2)], row, row, row % 2) for row in range(8)]
    packets = [packet._replace(rank=row if row < 2 else row - 2) for row, packet in enumerate(packets)]
    query = WindowedQuery(hopping(4, 2), [LONGEST])
    of_each, of_all = (answer(query, packets, 0, key=source_of, at=at) for at in (lambda p: p.rank, lambda p: p.row))
    assert of_each == Counter(
        {("a", 2, 9): 1, ("a", 4, 9): 1, ("b", 2, 2): 1, ("b", 4, 2): 1, ("b", 6, 2): 1, ("b", 8, 2): 1}
    )
    assert of_all == Counter(
        {("a", 2, 9): 1, ("a", 4, 9): 1, ("b", 4, 2): 1, ("b", 6, 2): 1, ("b", 8, 2): 1, ("b", 10, 2): 1}
    )


@ALL_DISORDER
def test_q5_4_counts_the_packets_of_each_source_from_the_start_on(seed: int) -> None:
    """Count each source's packets since the start, every minute (TH-14)."""
    packets = random_packets(seed)
    found = answer(WindowedQuery(landmark(MINUTE), [COUNT]), packets, seed, key=source_of)
    assert found == meant(extents.landmark(packets, MINUTE), by_source(len))


@ALL_DISORDER
def test_q5_5_finds_the_longest_packet_of_the_last_minutes_at_every_packet(seed: int) -> None:
    """Find the longest packet of the past five minutes, at every packet (TH-15)."""
    packets = random_packets(seed)
    found = answer(WindowedQuery(trailing(5 * MINUTE), [LONGEST]), packets, seed)
    expected = meant(extents.slide_by_row(packets, 5 * MINUTE), all_together(max))
    assert found == Counter((key, end + 1, longest) for key, end, longest in expected)


@ALL_DISORDER
def test_q5_6_counts_the_packets_of_the_last_minutes_at_every_fifth_by_time(seed: int) -> None:
    """Count the packets of the past five minutes, at every fifth packet in the order of their times (TH-17, TH-29)."""
    packets = random_packets(seed)
    found = answer(WindowedQuery(trailing(5 * MINUTE, every=5), [COUNT]), packets, seed)
    expected = meant(extents.slide_by_row(packets, 5 * MINUTE, 5), all_together(len))
    assert found == Counter((key, end + 1, count) for key, end, count in expected)
    assert len(found) == -(-len(packets) // 5)


@ALL_DISORDER
def test_th_16_counts_the_packets_of_the_last_minutes_at_every_fifth_that_arrives(seed: int) -> None:
    """Count the packets of the past five minutes, at every fifth packet in the order of arrival (TH-16).

    The order of arrival is a number in the data, which says which rows trigger; the windows follow time, so that a row
    that comes late counts where it lies. A range of five minutes leaves out what lies five minutes back.
    """
    packets = random_packets(seed)
    stream = stream_of(packets, seed)
    windows = last(elapsed(5 * MINUTE - 1)).trigger(on_row("is_fifth"))
    query = WindowedQuery(windows, [Computation(Count(), lambda packet: packet.length)])
    found = {row.window.end - 1: row.value[0] for row in stream.run(query)[None]}
    assert found == {end: len(rows) for end, rows in extents.slide_by_arrival(packets, 5 * MINUTE, 5).items()}
    assert len(found) == len(packets) // 5
    by_rank = extents.slide_by_row(packets, 5 * MINUTE, 5)
    assert set(found) != set(by_rank), "in disorder these are other rows than every fifth by time"
    crash_everywhere(stream_of(some_of(packets), seed), query)


def test_the_example_of_figure_6_5_counts_a_packet_that_comes_late() -> None:
    """TH-28, whose figure 6-7 is wrong as printed: a window counts what came before any row that is kept."""
    # t1 at 0, t2 at 3, t3 at 6, t4 at 12 and then t5 at 1, with a range of 10
    script = Script().point("t1", 0).point("t2", 3).point("t3", 6).point("t4", 12).point("t5", 1).punctuate(4)
    query = WindowedQuery(trailing(10), [Computation(Count())])
    assert [(row.end - 1, row.value[0]) for row in script.run(query)[None]] == [(0, 1), (1, 2), (3, 3)]
    assert [(row.end - 1, row.value[0]) for row in script.close().run(query)[None]][3:] == [(6, 4), (12, 3)]
    crash_everywhere(script.close(), query)


@ALL_DISORDER
def test_q6_2_finds_the_longest_packet_of_the_last_four_minutes(seed: int) -> None:
    """Find the longest packet of the past four minutes, every minute."""
    packets = random_packets(seed)
    found = answer(WindowedQuery(hopping(4 * MINUTE, MINUTE), [LONGEST]), packets, seed)
    assert found == meant(extents.sliding(packets, 4 * MINUTE, MINUTE), all_together(max))


@ALL_DISORDER
def test_q6_4_finds_the_sources_that_send_a_twentieth_of_all_packets(seed: int) -> None:
    """Find the sources of at least 5 % of the packets of the past ten minutes, every minute."""
    packets = random_packets(seed)
    computation = Computation(HeavyHitters(5), lambda packet: packet.source)
    found = answer(WindowedQuery(hopping(10 * MINUTE, MINUTE), [computation]), packets, seed)

    def heavy(rows: list[Packet]) -> Iterable[tuple[Any, ...]]:
        counts = Counter(row.source for row in rows)
        return [(None, source) for source, count in counts.items() if count / len(rows) >= 0.05]

    windows = extents.sliding(packets, 10 * MINUTE, MINUTE)
    assert found == meant(windows, heavy)
    assert sum(found.values()) < sum(len({row.source for row in rows}) for rows in windows.values())


@ALL_DISORDER
def test_q6_6_q6_7_add_up_the_packets_of_each_source_in_the_last_ten_seconds(seed: int) -> None:
    """Add up the sizes of each source's packets of the past ten seconds, every second."""
    packets = random_packets(seed, 30)
    found = answer(WindowedQuery(hopping(10, 1), [SIZE]), packets, seed, key=source_of)
    assert found == meant(extents.sliding(packets, 10, 1), by_source(sum))


@ALL_DISORDER
def test_q6_8_counts_the_packets_of_each_source_on_three_links(seed: int) -> None:
    """Count each source's packets on all three links in the past ten seconds, every second."""
    packets = random_packets(seed, 30)
    found = answer(WindowedQuery(hopping(10, 1), [COUNT]), packets, seed, key=source_of)
    assert found == meant(extents.sliding(packets, 10, 1), by_source(len))


class HeavyHitters(IncrementalOperator[str, dict[str, int], str]):
    """Return the values that make up at least a share of all; the state counts each."""

    name, version = "thesis.heavy_hitters", "1.0"

    def __init__(self, percent: int = 5) -> None:
        self.percent = percent

    def create_state(self) -> dict[str, int]:
        return {}

    def add_events(self, state: dict[str, int], payloads: Sequence[str]) -> dict[str, int]:
        return dict(Counter(state) + Counter(payloads))

    def remove_events(self, state: dict[str, int], payloads: Sequence[str]) -> dict[str, int]:
        return dict(Counter(state) - Counter(payloads))

    def combine(self, state: dict[str, int], other: dict[str, int]) -> dict[str, int]:
        return dict(Counter(state) + Counter(other))

    def compute_result(self, state: dict[str, int]) -> list[str]:
        total = sum(state.values())
        return sorted(value for value, count in state.items() if 100 * count >= self.percent * total)
