"""Measuring what the engine does with a script: its results, when they come, and the state it keeps."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from muntin import EmitPolicy
from muntin.errors import QueryError
from muntin.policies import parse_policy
from muntin.testing import OutputEvent, Script, WindowedQuery, latencies
from muntin_engine.core.changes import OutputKind
from muntin_engine.state.cells import MemoryCells
from muntin_engine.testing.following import LiveOutput, rows_of, start
from muntin_engine.testing.meaning import progress_of
from muntin_engine.testing.query_under_test import QueryUnderTest


@dataclass(frozen=True, slots=True)
class Measured:
    """The answer of an evaluator to a script, and its cost.

    Attributes:
        evaluator: Its name.
        output: The live results at the end, by key.
        latencies: Of each result that was emitted, how many steps it came after the punctuation that covers its window;
            negative for a result that came early.
        memory: The most bytes of state that it kept between two steps.
    """

    evaluator: str
    output: Mapping[Hashable, list[OutputEvent]]
    latencies: list[int]
    memory: int


def measure(
    script: Script, query: WindowedQuery, *, evaluator: str | None = None, emit: EmitPolicy | str = EmitPolicy.FINAL
) -> Measured:
    """Run a script through an evaluator of the engine, without Spark, and measure it.

    Each step of the script is a micro-batch of its own, whose state is written as in a checkpoint.

    Args:
        script: The stream. Its own boundaries of micro-batches do not count.
        query: The query.
        evaluator: What evaluates it: `"general"`, `"grouped"`, `"sliced"` or `"columnar"`; the cheapest that can,
            unless given.
        emit: The emission of results: `"final"`, `"speculative"` or `"eager"`.

    Raises:
        QueryError: The evaluator cannot run the query.
        StreamError: The script has illegal steps.

    Example:
        >>> from muntin import Aggregate, tumbling
        >>> from muntin.testing import Computation
        >>> class Largest(Aggregate[int, int]):
        ...     name, version = "demo.largest", "1.0.0"
        ...     def compute_result(self, payloads):
        ...         return max(payloads)
        >>> script = Script().point("a", 1, 2).point("b", 12, 3).punctuate(10).close()
        >>> measure(script, WindowedQuery(tumbling(10), [Computation(Largest())])).latencies
        [0, 0]
    """
    tested = QueryUnderTest(script, query, parse_policy(EmitPolicy, emit))
    name = tested.evaluators[-1] if evaluator is None else evaluator
    if name not in tested.evaluators:
        can = ", ".join(map(repr, tested.evaluators))
        raise QueryError(f"the evaluator {name!r} cannot run this query over this stream\n  those that can: {can}")
    cells, live, names = MemoryCells(), LiveOutput(), {number: key for key, number in tested.keys.items()}
    process, memory = start(tested, name, cells), 0
    emitted: list[tuple[int, int]] = []
    for place, batch in enumerate(tested.batches, 1):
        for (key,), change in process.take(list(rows_of(tested, batch)), progress_of(query.window, batch)):
            live.apply(key, names[key], change)
            if change.kind is OutputKind.INSERT:
                emitted.append((place, change.window.end + query.window.ends_move))
        memory = max(memory, sum(map(len, cells.cells.values())))
    output: dict[Hashable, list[OutputEvent]] = {}
    for line in live.lines():
        output.setdefault(line.key, []).append(OutputEvent(line.window, line.start, line.end, line.value))
    return Measured(name, output, latencies(script, emitted), memory)
