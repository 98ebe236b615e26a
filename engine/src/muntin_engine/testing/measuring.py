"""Measuring an answer to a script: how wrong it is, how long after it could be known it came, and the state it took.

The measures are those of Li, *Window Queries over Data Streams* (2008), section 6.1.5. `measure` takes them of the
engine; the functions measure other ways to answer a query too.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from muntin import EmitPolicy
from muntin.changes import Punctuation
from muntin.errors import QueryError
from muntin.policies import parse_policy
from muntin.testing import Boundary, OutputEvent, Script, WindowedQuery, equal
from muntin_engine.state.cells import MemoryCells
from muntin_engine.testing.following import LiveOutput, rows_of, start
from muntin_engine.testing.meaning import progress_of
from muntin_engine.testing.query_under_test import QueryUnderTest
from muntin_engine.time.changes import OutputKind

WindowT = TypeVar("WindowT", bound=Hashable)
"""The name of a window: its key and extent, say."""


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
        for (key,), change in process.process(list(rows_of(tested, batch)), progress_of(query.window, batch)):
            live.apply(key, names[key], change)
            if change.kind is OutputKind.INSERT:
                emitted.append((place, change.window.end + query.window.ends_move))
        memory = max(memory, sum(map(len, cells.cells.values())))
    output: dict[Hashable, list[OutputEvent]] = {}
    for line in live.lines():
        output.setdefault(line.key, []).append(OutputEvent(line.window, line.start, line.end, line.value))
    return Measured(name, output, latencies(script, emitted), memory)


def mean_error(found: Mapping[WindowT, float], truth: Mapping[WindowT, float]) -> float:
    """Return by how many percent the results are wrong, on average over the windows.

    The error of a window is the distance from the true result, in percent of it: 100 where the result is missing, and
    where it ought to be 0 and is not. Windows that ought not to be there do not count.

    Args:
        found: The result of each window.
        truth: The true one.

    Example:
        >>> mean_error({"a": 9.0, "b": 4.0}, {"a": 10.0, "b": 4.0})
        5.0
    """
    errors = [_error(found.get(window), true) for window, true in truth.items()]
    return sum(errors) / len(errors) if errors else 0.0


def wrong_share(found: Mapping[WindowT, object], truth: Mapping[WindowT, object], tolerance: float = 0.0) -> float:
    """Return the percentage of windows that have a wrong result, no result, or ought not to be there.

    Args:
        found: The result of each window.
        truth: The true one.
        tolerance: Within which numbers are equal.

    Example:
        >>> wrong_share({"a": 9, "b": 4, "c": 1}, {"a": 10, "b": 4, "d": 2, "c": 1})
        50.0
    """
    windows = found.keys() | truth.keys()
    right = [w for w in found.keys() & truth.keys() if equal(found[w], truth[w], tolerance)]
    return 100.0 * (len(windows) - len(right)) / len(windows) if windows else 0.0


def latencies(script: Script, emitted: Iterable[tuple[int, int]]) -> list[int]:
    """Return the number of steps by which each result came after the punctuation that covers its window.

    0 means that it came as soon as it could be known, a negative number that it was a guess. Results of windows that
    no punctuation covers are left out.

    Args:
        script: The stream; boundaries of micro-batches are no steps.
        emitted: Of each result, how many steps had arrived when it came, and the watermark that its window waits for:
            its end, as a rule.

    Example:
        >>> script = Script().point("a", 1).point("b", 4).punctuate(5).point("c", 6).close()
        >>> latencies(script, [(2, 5), (4, 5), (5, 10)])
        [-1, 1, 0]
    """
    steps = [step for step in script.steps if not isinstance(step, Boundary)]
    marks = [(place, step.time) for place, step in enumerate(steps, 1) if isinstance(step, Punctuation)]
    found = ((place, next((at for at, time in marks if time >= needed), None)) for place, needed in emitted)
    return [place - covered for place, covered in found if covered is not None]


def _error(found: float | None, true: float) -> float:
    if found is None:
        return 100.0
    if true == 0:
        return 0.0 if found == 0 else 100.0
    return 100.0 * abs(found - true) / abs(true)
