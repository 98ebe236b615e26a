"""Running a script with a restart after each step."""

from __future__ import annotations

from dataclasses import dataclass

from muntin import EarlyEmission, EmitPolicy
from muntin.errors import StreamError
from muntin.policies import parse_policy
from muntin.testing import Script, WindowedQuery
from muntin_engine.testing.difference_search import Search, smallest
from muntin_engine.testing.query_under_test import QueryUnderTest
from muntin_engine.testing.restart_error import RestartError


@dataclass(frozen=True, slots=True)
class Survived:
    """The restarts that a query survived.

    Attributes:
        evaluators: The evaluators that can run the query; each of them survived.
        steps: The number of steps of the stream. There was a restart after each, and a crash in each.
    """

    evaluators: tuple[str, ...]
    steps: int


def crash_everywhere(
    script: Script,
    query: WindowedQuery,
    *,
    emit: EmitPolicy | EarlyEmission | str = EmitPolicy.FINAL,
    tolerance: float = 1e-6,
) -> Survived:
    """Run a script through the engine's evaluators, without Spark, and see whether restarts show in the output.

    Each step of the script is a micro-batch of its own. There are four runs for each evaluator that can run the query:

    * one undisturbed;
    * one with a restart after each step, where only the stored state is left;
    * one with a crash in each step, where the writes of the step are lost and the same process runs the step again;
    * one by the reference evaluator.

    After each step the live output of all runs must be the same; of early results, the final ones are compared. Where
    the output differs, the query runs undisturbed once more, to tell chance from the effect of the mishap.

    If a module declares `contract = OutputContract.TIME_BOUND` and its output differs from the reference's, the query
    runs without that promise, too. If that output does not differ, the report says that the module breaks its promise.

    The evaluators over slices take part where a query could use them: for final results of windows with slices,
    without revisions. Row windows read rows by time, and at one time in the order in which their ids came. They read
    the fields of a payload by name. The second output, of rows that leave windows, is compared as results are.

    A restarted process has modules as they were when the query was made: the values that they kept on themselves are
    gone. The values in their classes or in global variables remain, since all runs share one Python process.

    Args:
        script: The stream. Its own boundaries of micro-batches do not count.
        query: The query.
        emit: The emission of results: `"final"`, `"speculative"`, `"eager"`, or `early(...)` on a trigger that waits
            for neither a clock nor a column.
        tolerance: The relative and absolute tolerance for numbers in results.

    Raises:
        RestartError: A restart or a crash shows; the message draws the smallest stream on which it does.
        QueryError: The engine refuses the query.
        StreamError: The script has no steps, or illegal ones.

    Example:
        >>> from muntin import IncrementalAggregate, tumbling
        >>> from muntin.testing import Computation
        >>> class Total(IncrementalAggregate[int, int, int]):
        ...     name, version = "demo.total", "1.0.0"
        ...     def create_state(self):
        ...         return 0
        ...     def add_events(self, state, payloads):
        ...         return state + sum(payloads)
        ...     def compute_result(self, state):
        ...         return state
        >>> script = Script().point("a", 1, 2).point("b", 4, 3).close()
        >>> crash_everywhere(script, WindowedQuery(tumbling(10), [Computation(Total())])).steps
        3
    """
    emission = emit if isinstance(emit, EarlyEmission) else parse_policy(EmitPolicy, emit)
    tested = QueryUnderTest(script, query, emission)
    if not tested.batches:
        raise StreamError("the script has no steps, so nothing can happen between them\n  add some, and .close() it")
    difference = Search(tested, tolerance).first(tested.evaluators)
    if difference is not None:
        smallest_difference = smallest(difference, tolerance)
        raise RestartError(smallest_difference) from smallest_difference.error
    return Survived(tested.evaluators, len(tested.batches))
