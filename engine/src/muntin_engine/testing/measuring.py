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
from muntin_engine.testing.live_results import LiveOutput
from muntin_engine.testing.query_under_test import QueryUnderTest
from muntin_engine.testing.reference_output import progress_of
from muntin_engine.testing.stepwise_run import new_process, rows_of
from muntin_engine.time.changes import OutputKind

WindowT = TypeVar("WindowT", bound=Hashable)
"""The name of a window: its key and extent, say."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The answer of an evaluator to a script, and its cost.

    Attributes:
        evaluator: The name of the evaluator.
        output: The live results at the end, by key.
        latencies: The number of steps by which each result came after the punctuation that covers its window; negative
            for a result that came early.
        memory: The largest size of the state between two steps, in bytes.
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
        evaluator: The name of the evaluator, such as `"general"`, `"grouped"`, `"sliced"` or `"columnar"`; None for the
            cheapest that can run the query.
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
    name = tested.evaluators[-1] if evaluator is None else evaluator  # the cheapest is the last
    if name not in tested.evaluators:
        able = ", ".join(map(repr, tested.evaluators))
        raise QueryError(f"the evaluator {name!r} cannot run this query over this stream\n  those that can: {able}")

    # Run the evaluator, and note when each result comes and how large the state becomes.
    key_by_number = {number: key for key, number in tested.keys.items()}
    cells = MemoryCells()
    process = new_process(tested, name, cells)
    live = LiveOutput()
    largest_size = 0
    # For each result the step at which it came, and the watermark that its window waits for.
    emitted: list[tuple[int, int]] = []
    for step, batch in enumerate(tested.batches, 1):
        rows = list(rows_of(tested, batch))
        # The key of an evaluator is the number of a key of the script.
        for (key_number,), change in process.process(rows, progress_of(query.window, batch)):
            live.apply(key_number, key_by_number[key_number], change)
            if change.kind is OutputKind.INSERT:
                # A window whose end may move is not complete at its end, but one tick later.
                awaited_watermark = change.window.end + (1 if query.window.ends_move else 0)
                emitted.append((step, awaited_watermark))
        size = sum(map(len, cells.cells.values()))
        largest_size = max(largest_size, size)

    output: dict[Hashable, list[OutputEvent]] = {}
    for result in live.results():
        event = OutputEvent(result.window, result.start, result.end, result.value)
        output.setdefault(result.key, []).append(event)
    return Measured(name, output, latencies(script, emitted), largest_size)


def mean_error(results: Mapping[WindowT, float], truth: Mapping[WindowT, float]) -> float:
    """Return the error of the results in percent, on average over the windows.

    The error of a window is the distance of its result from the true one, in percent of the true one. It is 100 where
    the result is missing, and where the true result is 0 and the result is not. Windows without a true result do not
    count.

    Args:
        results: The result of each window.
        truth: The true result of each window.

    Example:
        >>> mean_error({"a": 9.0, "b": 4.0}, {"a": 10.0, "b": 4.0})
        5.0
    """
    errors = [_error(results.get(window), true_result) for window, true_result in truth.items()]
    return sum(errors) / len(errors) if errors else 0.0


def wrong_share(results: Mapping[WindowT, object], truth: Mapping[WindowT, object], tolerance: float = 0.0) -> float:
    """Return the percentage of windows that have a wrong result, no result, or ought not to be there.

    Args:
        results: The result of each window.
        truth: The true result of each window.
        tolerance: The distance within which numbers are equal.

    Example:
        >>> wrong_share({"a": 9, "b": 4, "c": 1}, {"a": 10, "b": 4, "d": 2, "c": 1})
        50.0
    """
    windows = results.keys() | truth.keys()
    if not windows:
        return 0.0
    in_both = results.keys() & truth.keys()
    right = [window for window in in_both if equal(results[window], truth[window], tolerance)]
    return 100.0 * (len(windows) - len(right)) / len(windows)


def latencies(script: Script, emitted: Iterable[tuple[int, int]]) -> list[int]:
    """Return the number of steps by which each result came after the punctuation that covers its window.

    0 means that it came as soon as it could be known, a negative number that it was a guess. Results of windows that
    no punctuation covers are left out.

    Args:
        script: The stream; boundaries of micro-batches are no steps.
        emitted: For each result the number of steps that had arrived when it came, and the watermark that its window
            waits for, which as a rule is the window's end.

    Example:
        >>> script = Script().point("a", 1).point("b", 4).punctuate(5).point("c", 6).close()
        >>> latencies(script, [(2, 5), (4, 5), (5, 10)])
        [-1, 1, 0]
    """
    steps = [step for step in script.steps if not isinstance(step, Boundary)]
    punctuation = [(place, step.time) for place, step in enumerate(steps, 1) if isinstance(step, Punctuation)]
    distances: list[int] = []
    for emitted_at, awaited_watermark in emitted:
        covered_at = next((place for place, time in punctuation if time >= awaited_watermark), None)
        if covered_at is not None:
            distances.append(emitted_at - covered_at)
    return distances


def _error(result: float | None, true_result: float) -> float:
    """Return the distance of a result from the true one, in percent of the true one; None is a missing result."""
    if result is None:
        return 100.0
    if true_result == 0:
        return 0.0 if result == 0 else 100.0
    return 100.0 * abs(result - true_result) / abs(true_result)
