"""Random chains of queries: over a table and over a stream, against the reference that evaluates them one by one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from muntin import Event, Module, hopping, session, snapshot, tumbling
from muntin.testing import Computation, WindowedQuery, evaluate
from muntin.windows import WindowSpecification
from muntin_engine import EventStream, Query, events, module
from muntin_engine.backends.local.streams.stream_schema import schema_of
from muntin_engine.testing.streaming import StartsJob, streaming
from tests.modules.members import Members
from tests.modules.restarts import Total

__all__ = ["streaming"]

SCHEMA = "change string, k string, start long, end long, x long"
DELAY = 7
OutputRow = tuple[Hashable, int, int, Any]


@dataclass(frozen=True)
class Link:
    """One query of a chain.

    Attributes:
        window: Its windows.
        emit: When its results are emitted.
        is_grouped: True if its results keep their key for the next query.
    """

    window: WindowSpecification
    emit: str
    is_grouped: bool


def random_links(random: Random) -> list[Link]:
    """Return a chain of two or three queries."""
    windows = (tumbling(5), tumbling(12), hopping(12, 4), session(6), snapshot())
    emissions = ("final", "speculative", "eager")
    count = random.choice((2, 2, 3))
    return [Link(random.choice(windows), random.choice(emissions), random.random() < 0.5) for _ in range(count)]


def random_rows(random: Random) -> list[dict[str, Any]]:
    """Return rows of events that come up to `DELAY` ticks out of order, so that none is late."""
    rows: list[dict[str, Any]] = []
    for _ in range(random.randrange(1, 30)):
        start = random.randrange(60)
        end = start + random.choice((1, 1, 2, 9))
        key = random.choice(("a", "b", None))
        rows.append({"change": "insert", "k": key, "start": start, "end": end, "x": random.randrange(5)})
    arrivals = {id(row): row["start"] + random.uniform(0, DELAY) for row in rows}
    return sorted(rows, key=lambda row: arrivals[id(row)])


def chained(rows: Any, links: Sequence[Link]) -> Query:
    """Return the last query of a chain: the others sum up, and it lists the members of its windows."""
    stream: EventStream = events(rows, key="k", start="start", end="end", change="change", watermark=DELAY)
    column = "x"
    *inner_links, last_link = links
    for link in inner_links:
        query = stream.window(link.window, emit=link.emit).aggregate(total=module(Total, column))
        stream = query.as_events() if link.is_grouped and stream.keys else query.as_events(key=None)
        column = "total"
    return stream.window(last_link.window).aggregate(members=module(Members, column))


def expected_rows(rows: Sequence[Mapping[str, Any]], links: Sequence[Link]) -> Counter[OutputRow]:
    """Return the output of a chain by the reference evaluator of the SDK, which knows no streams.

    The queries are evaluated one after the other, each over all results of the one before as its events.
    """
    events_by_key: dict[Hashable, list[Event[Any]]] = defaultdict(list)
    for row in rows:
        events_by_key[row["k"]].append(Event(row["start"], row["end"], row["x"]))

    for number, link in enumerate(links, 1):
        is_last = number == len(links)
        computed: Module = Members() if is_last else Total()
        query = WindowedQuery(link.window, [Computation(computed)])
        results_by_key: dict[Hashable, list[Event[Any]]] = defaultdict(list)
        for key, key_events in events_by_key.items():
            next_key = key if link.is_grouped or is_last else None
            for result in evaluate(query, key_events):
                (value,) = result.value
                results_by_key[next_key].append(Event(result.start, result.end, value))
        events_by_key = results_by_key

    output: Counter[OutputRow] = Counter()
    for key, key_results in events_by_key.items():
        output.update((key, result.start, result.end, tuple(result.payload)) for result in key_results)
    return output


def output_of(rows: Sequence[Mapping[str, Any]]) -> Counter[OutputRow]:
    """Return rows of results as key, start, end and members, each with how often it comes."""
    return Counter((row.get("k"), row["start"], row["end"], tuple(row["members"])) for row in rows)


@pytest.mark.cases(8)
@pytest.mark.parametrize("seed", range(40))
def test_a_chain_over_a_table_and_over_a_stream_means_what_its_queries_mean(seed: int, streaming: StartsJob) -> None:
    random = Random(seed)
    links = random_links(random)
    rows = random_rows(random)
    expected = expected_rows(rows, links)

    table = pa.Table.from_pylist(rows, schema_of(SCHEMA))
    results: Any = chained(table, links).results()
    assert output_of([{**row, **row["window"]} for row in results.to_pylist()]) == expected

    job = streaming(lambda stream: chained(stream, links), SCHEMA, backend="local")
    remaining_rows = rows
    while remaining_rows:
        size = random.randrange(1, 8)
        job.feed(*remaining_rows[:size])
        remaining_rows = remaining_rows[size:]
    job.feed({"change": "close"})
    assert output_of(job.results) == expected
    assert job.late_rows == job.rejected_rows == []
