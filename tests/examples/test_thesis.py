"""The numbered queries of Jin Li's *Window Queries over Data Streams* (2008), those of one stream.

Each answer is compared with what follows from the definition of the extents. The engine's evaluators must agree on the
first packets, and on those on the edges of extents.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pytest

from examples.thesis import __main__ as program
from examples.thesis.packets import EDGES, MINUTE, Packet, random_packets, stream_of
from examples.thesis.queries import EVERY, QUESTIONS, ROWS, Question, by_row
from muntin import hopping, trailing
from muntin.rows import ActionKind, Row, last
from muntin.testing import Computation, Script, WindowedQuery
from muntin_engine.testing import crash_everywhere
from muntin_stats import Count
from tests.examples import thesis_extents as extents
from tests.examples.thesis_extents import Extents

FEW = 12
"""The number of packets with which all crashes are tried."""

Answer = Counter[tuple[Any, ...]]
"""How often an answer has each row: key, end of the extent, and the result or its parts."""

Rows = list[Packet]

SEEDS = pytest.mark.parametrize("seed", range(2))
"""A seed for each of two kinds of disorder."""


def answer(question: Question, packets: Sequence[Packet], seed: int) -> Answer:
    """Return (key, end of the extent, result) of each row."""
    return Counter((key, row.window.end, *as_tuple(row.value)) for key, row in question.run(packets, seed))


def as_tuple(value: Any) -> tuple[Any, ...]:
    """Return the parts of a result of several; one of a single part as its only part."""
    return value if isinstance(value, tuple) else (value,)


def few_of(packets: Sequence[Packet]) -> list[Packet]:
    """Return the first packets, and those on the edges of extents."""
    return [packet for place, packet in enumerate(packets) if place < FEW or packet.at in EDGES]


def answer_of(windows: Extents, results: Callable[[Rows], Iterable[tuple[Any, ...]]]) -> Answer:
    """Return (key, end, result) of the extents, by a function from the rows of an extent to (key, result)."""
    answer: Answer = Counter()
    for end, rows in windows.items():
        answer.update((key, end, *result) for key, *result in results(rows))
    return answer


def for_all(reduce: Callable[[list[int]], int]) -> Callable[[Rows], Iterable[tuple[Any, ...]]]:
    """Reduce the lengths of all packets."""
    return lambda rows: [(None, reduce([row.length for row in rows]))]


def by_source(reduce: Callable[[list[int]], int]) -> Callable[[Rows], Iterable[tuple[Any, ...]]]:
    """Reduce the lengths of each source's packets."""

    def results(rows: Rows) -> Iterator[tuple[Any, ...]]:
        for source in {row.source for row in rows}:
            yield source, reduce([row.length for row in rows if row.source == source])

    return results


def heavy(rows: Rows) -> Iterator[tuple[Any, ...]]:
    """Yield the sources of at least 5 % of the packets, without a key."""
    for source, count in Counter(row.source for row in rows).items():
        if count / len(rows) >= 0.05:
            yield None, source


def one_tick_later(answer: Answer) -> Answer:
    """Return the answer of windows that end after a row, where the extents name the row itself."""
    return Counter({(key, end + 1, *result): count for (key, end, *result), count in answer.items()})


def longest_of_each_source(packets: Sequence[Packet]) -> Answer:
    """Return the longest among the last packets of each source (query 5-2)."""
    expected: Answer = Counter()
    for source, windows in extents.partitioned(packets, ROWS, EVERY).items():
        for _, end, longest in answer_of(windows, for_all(max)).elements():
            expected[source, end, longest] += 1
    return expected


EXPECTED: Mapping[str, Callable[[Sequence[Packet]], Answer]] = {
    "1-1": lambda packets: answer_of(extents.sliding(packets, 10 * MINUTE, MINUTE), by_source(len)),
    "1-2": lambda packets: answer_of(extents.sliding(packets, MINUTE, MINUTE), for_all(len)),
    "2-1": lambda packets: answer_of(extents.sliding(packets, MINUTE, MINUTE), by_source(len)),
    "5-2": longest_of_each_source,
    "5-3": lambda packets: answer_of(extents.sliding(packets, ROWS, EVERY, by_row), by_source(max)),
    "5-4": lambda packets: answer_of(extents.landmark(packets, MINUTE), by_source(len)),
    "5-5": lambda packets: one_tick_later(answer_of(extents.slide_by_row(packets, 5 * MINUTE), for_all(max))),
    "5-6": lambda packets: one_tick_later(answer_of(extents.slide_by_row(packets, 5 * MINUTE, 5), for_all(len))),
    "5-6 by arrival": lambda packets: one_tick_later(
        answer_of(extents.slide_by_arrival(packets, 5 * MINUTE, 5), for_all(len))
    ),
    "6-2": lambda packets: answer_of(extents.sliding(packets, 4 * MINUTE, MINUTE), for_all(max)),
    "6-3": lambda packets: answer_of(extents.sliding(packets, 4 * MINUTE, MINUTE), by_source(len)),
    "6-4": lambda packets: answer_of(extents.sliding(packets, 10 * MINUTE, MINUTE), heavy),
    "6-5": lambda packets: answer_of(extents.sliding(packets, 5 * MINUTE, MINUTE), by_source(len)),
    "6-6": lambda packets: answer_of(extents.sliding(packets, 10, 1), by_source(sum)),
    "6-8": lambda packets: answer_of(extents.sliding(packets, 10, 1), by_source(len)),
}
"""What each query means, by the extents of its windows."""


@SEEDS
@pytest.mark.parametrize("number", EXPECTED)
def test_a_numbered_query_has_the_rows_of_its_extents(number: str, seed: int) -> None:
    question = QUESTIONS[number]
    has_many_windows = number in ("6-6", "6-8")  # one for each tick
    packets = random_packets(seed, count=30 if has_many_windows else 120)

    results = answer(question, packets, seed)

    packets_of_question = [packet for packet in packets if question.where(packet)]
    assert results == EXPECTED[number](packets_of_question)
    assert sum(results.values()) > 20


@pytest.mark.parametrize("number", EXPECTED)
def test_all_evaluators_agree_on_a_numbered_query_wherever_they_crash(number: str) -> None:
    question = QUESTIONS[number]
    packets = random_packets(seed=0, count=30 if number in ("6-6", "6-8") else 120)
    few_packets = few_of([packet for packet in packets if question.where(packet)])

    crash_everywhere(stream_of(few_packets, 0, key=question.key, at=question.at), question.query)


def test_every_numbered_query_has_an_expected_answer() -> None:
    assert {*EXPECTED} == {*QUESTIONS}


@SEEDS
def test_5_2_is_also_answered_by_the_last_rows_of_each_source(seed: int) -> None:
    """The id of a window is its number and the source (TH-12)."""
    packets = random_packets(seed)

    expected: list[tuple[str, int]] = []  # in the order of the packets at which windows end
    answers = longest_of_each_source(packets)
    for packet in packets:
        for source, end, longest in answers:
            if source == packet.source and end == packet.rank + 1:
                expected.append((source, longest))

    assert list(by_last_rows(packets)) == expected


def by_last_rows(packets: Sequence[Packet]) -> Iterator[tuple[str, int]]:
    """Yield the source and the longest packet at each trigger of the last rows."""
    windows = last(ROWS).trigger(EVERY)
    states = {packet.source: windows.create_state() for packet in packets}
    members: dict[str, dict[int, int]] = {source: {} for source in states}
    for packet in packets:
        lengths = members[packet.source]
        for action in windows.step(states[packet.source], Row(packet.row, packet.row)):
            if action.kind is ActionKind.INSERT:
                lengths[packet.row] = packet.length
            elif action.kind is ActionKind.EVICT:
                for number in action.rows:
                    del lengths[number]
            elif action.kind is ActionKind.TRIGGER:
                yield packet.source, max(lengths.values())


def test_5_2_and_5_3_differ_where_a_source_falls_silent() -> None:
    """The last four rows of all have none of a's, the last four of a have both (TH-13)."""
    # row         0 1 2 3 4 5 6 7
    # length  a   9 1
    #         b       2 2 2 2 2 2
    packets = [
        Packet(link="1", source="a", length=9, at=0, row=0, rank=0),
        Packet(link="1", source="a", length=1, at=1, row=1, rank=1),
    ]
    for row in range(2, 8):
        packets.append(Packet(link="1", source="b", length=2, at=row, row=row, rank=row - 2))
    longest = QUESTIONS["5-2"].query.computations
    query = WindowedQuery(hopping(4, 2), longest)

    def rows_by(at: Callable[[Packet], int]) -> set[tuple[Hashable, int, int]]:
        """Return source, end and longest packet of each window, where packets lie on an axis of rows."""
        results: set[tuple[Hashable, int, int]] = set()
        for key, rows in stream_of(packets, 0, key=lambda packet: packet.source, at=at).run(query).items():
            results.update((key, row.window.end, row.value[0]) for row in rows)
        return results

    of_each_source = {("a", 2, 9), ("a", 4, 9), ("b", 2, 2), ("b", 4, 2), ("b", 6, 2), ("b", 8, 2)}
    of_all = {("a", 2, 9), ("a", 4, 9), ("b", 4, 2), ("b", 6, 2), ("b", 8, 2), ("b", 10, 2)}
    assert rows_by(lambda packet: packet.rank) == of_each_source
    assert rows_by(lambda packet: packet.row) == of_all


@SEEDS
def test_5_6_by_time_has_other_rows_than_by_arrival(seed: int) -> None:
    packets = random_packets(seed)
    by_arrival = extents.slide_by_arrival(packets, 5 * MINUTE, 5)
    by_time = extents.slide_by_row(packets, 5 * MINUTE, 5)
    assert len(by_arrival) == len(packets) // 5
    assert {*by_arrival} != {*by_time}


def test_the_example_of_figure_6_5_counts_a_packet_that_comes_late() -> None:
    """TH-28, whose figure 6-7 is wrong as printed: a window counts what came before any row that is kept."""
    # t1 at 0, t2 at 3, t3 at 6, t4 at 12 and then t5 at 1, with a range of 10
    script = Script().point("t1", 0).point("t2", 3).point("t3", 6).point("t4", 12).point("t5", 1).punctuate(4)
    query = WindowedQuery(trailing(10), [Computation(Count())])

    def counts(stream: Script) -> list[tuple[int, int]]:
        """Return the time of each packet, and how many came in the range before it."""
        return [(row.end - 1, row.value[0]) for row in stream.run(query)[None]]

    assert counts(script) == [(0, 1), (1, 2), (3, 3)]
    assert counts(script.close()) == [(0, 1), (1, 2), (3, 3), (6, 4), (12, 3)]
    crash_everywhere(script.close(), query)


def test_the_program_prints_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    program.main(["1-2", "--rows", "1"])
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("Query 1-2: Count the packets of all three links")
    assert printed[1:] == ["  Window(start=0, end=60) (4,)", "  25 rows"]
