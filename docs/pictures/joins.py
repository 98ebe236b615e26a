"""Streams that meet: what a join has of them, and how eager rows follow revisions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from docs.pictures.picture import Picture
from docs.pictures.runs import by_kind, output_bar
from muntin import EARLIEST, Event, JoinKind, Lifetime, tumbling
from muntin.drawings import Bar, Look
from muntin_engine.core.changes import InputChange, Progress
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.evaluators.joins.join_run import JoinRun
from muntin_engine.evaluators.joins.matching import JoinQuery
from muntin_engine.evaluators.keyed.bucket import KeyedBucket
from muntin_engine.progress.report import InputReport
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from muntin_engine.testing import join

LEFT: Final = (Event(1, 12, "x"), Event(15, 18, "y"))
RIGHT: Final = (Event(0, 4, "1"), Event(7, 16, "2"))

REVISED: Final = (
    (InputChange("x", 1, 12, ("x",)), InputChange("2", 7, 16, ("2",), side=1)),
    (InputChange("2", 7, 16, (), 10, side=1),),
    (InputChange("x", 1, 12, (), 1),),
)
"""The changes of each micro-batch, of the right stream where it says so."""


def pictures() -> Iterator[Picture]:
    """Yield a picture of all kinds of joins, and one of revisions."""
    rows: list[Bar | str] = ["left", *_events(LEFT), "right", *_events(RIGHT)]
    for kind in JoinKind:
        joined = sorted(join(kind, LEFT, RIGHT), key=lambda row: row.start)
        rows.append(f"how={str(kind)!r}")
        rows += [Bar(f"{row.left}{row.right or ''}", row.start, row.end, look=Look.RESULT) for row in joined]
    yield Picture("joins", "events of two streams with one key, and the rows that a join has of them", rows)
    title = "three micro-batches of two streams with ids, and how the rows of an eager join follow"
    yield Picture("joins-revised", title, list(_followed()))


def _events(events: Sequence[Event[str]]) -> list[Bar]:
    return [Bar(event.payload, event.start, event.end) for event in events]


def _followed() -> Iterator[Bar | str]:
    """Yield what comes in each micro-batch, and what an eager left join says of it."""
    side = EvaluatorQuery(tumbling(1), ())
    query = JoinQuery(JoinKind.LEFT, (side, side), ((0, 0), (1, 0)), is_eager=True)
    bucket = KeyedBucket(JoinRun, query, MemoryCells(), Codec(), {"query": "picture"})
    for number, came in enumerate(REVISED, 1):
        yield f"micro-batch {number}"
        yield from map(_came, came)
        result = bucket.run_batch([((None,), came)], [InputReport(Progress(EARLIEST))] * 2)
        for change in sorted((change for _, some in result.output for change in some), key=by_kind):
            left, right = change.value
            yield output_bar("result", change._replace(value=f"{left}{right or ''}"))


def _came(change: InputChange) -> Bar:
    label = f"{('left', 'right')[change.side]} {change.id}"
    assert change.end is not None, "samples are in no picture"
    if change.new_end is None:
        return Bar(label, change.start, change.end)
    if change.new_end == change.start:
        return Bar(label, change.start, change.end, is_struck=True)
    return Bar(label, change.start, change.new_end, whole=Lifetime(change.start, change.end))
