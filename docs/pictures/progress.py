"""How far an input is: a delay, and the least of several sources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from docs.pictures.picture import Picture
from docs.pictures.runs import output_bar
from muntin import EARLIEST, tumbling
from muntin.drawings import Bar
from muntin.progress import bounded_delay, ordered
from muntin_engine.core.changes import InputChange, Progress
from muntin_engine.core.evaluator_query import Binding, EvaluatorQuery
from muntin_engine.evaluators.general.general_run import GeneralRun
from muntin_engine.evaluators.keyed.bucket import KeyedBucket
from muntin_engine.progress import Observation, ProgressTracker
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from muntin_stats import Count

CARS: Final = ({"north": (3, 14)}, {"south": (5, 12)}, {"north": (25,)}, {"south": (22,)})
"""When cars came in each micro-batch, by source."""


def pictures() -> Iterator[Picture]:
    """Yield one picture of a delay, and one of two sources."""
    title = "counts of windows of 10 ticks, where the input is complete up to 10 ticks behind the newest row"
    cars = [{"cars": times} for times in ((3, 14), (8, 19), (21,), (12, 33))]
    yield Picture("delay", title, _played(ProgressTracker(bounded_delay(10)), cars))
    title = "counts of windows of 10 ticks over two sources, complete as far as the lesser of them"
    yield Picture("sources", title, _played(ProgressTracker(ordered(), ("north", "south")), CARS))


def _played(tracker: ProgressTracker, batches: Sequence[Mapping[str, Sequence[int]]]) -> list[Bar | str]:
    query = EvaluatorQuery(tumbling(10), (Binding(Count()),), has_ids=False)
    bucket = KeyedBucket(GeneralRun, query, MemoryCells(), Codec(), {}, [tracker])
    rows: list[Bar | str] = []
    known = EARLIEST
    for number, brought in enumerate(batches, 1):
        result = bucket.process(
            [((None,), [InputChange(None, at, at + 1, ()) for times in brought.values() for at in times])],
            Progress(),
            observed=[_observed(tracker, source, times) for source, times in brought.items()],
        )
        rows += [f"micro-batch {number}"]
        rows += [Bar(source, at, at + 1) for source, times in brought.items() for at in times]
        if result.progress.watermark > known:
            known = result.progress.watermark
            rows += [Bar("complete to", known, known, str(known))]
        rows += [output_bar("result", change) for _, changes in result.output for change in changes]
    return rows


def _observed(tracker: ProgressTracker, source: str, times: Sequence[int]) -> Observation:
    return Observation(source if tracker.sources else None, max(times), len(times))
