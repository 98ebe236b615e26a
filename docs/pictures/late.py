"""A late row, and what becomes of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from docs.pictures.modules import Seen
from docs.pictures.picture import Picture
from docs.pictures.runs import first_column, inputs, outputs, play
from muntin import (
    ClipPolicy,
    EmitPolicy,
    Lateness,
    LatePolicy,
    Module,
    OutputContract,
    TimestampPolicy,
    correct,
    tumbling,
)
from muntin.drawings import Bar
from muntin.testing import Script
from muntin_engine.core.changes import OutputKind
from muntin_engine.core.evaluator_query import Binding, EvaluatorQuery
from muntin_engine.evaluators.keyed.bucket import BatchResult
from muntin_stats import Count

LATE: Final = "ride 2"

STREAM: Final = (
    Script(allow_illegal=True).insert(1, 2, 15, "ride 1").punctuate(10).batch().insert(2, 9, 12, LATE).batch().close()
)
"""The rides of the guide about late rows: the second left at 9, and came when all before 10 was said to be there."""


def pictures() -> Iterator[Picture]:
    """Yield one picture of all policies."""
    rows: list[Bar | str] = ["what comes", *inputs(STREAM)]
    for policy in LatePolicy:
        late = correct(5) if policy is LatePolicy.CORRECT else Lateness(policy)
        rows += [f"late_policy={late}" if late.corrects else f"late_policy={str(policy)!r}", *_fate(late)]
    title = "a row behind the watermark, what is seen of it, and counts in windows of 10 ticks, under each policy"
    yield Picture("late", title, rows, tuple(LatePolicy))


def _fate(late: Lateness) -> Iterator[Bar]:
    """Yield what becomes of the late row, and the counts."""
    seen = play(_query(Seen(), late), STREAM)
    rejected = [rejection.change for result in seen for _, rejection in result.rejections]
    for row in rejected:
        assert row.end is not None
        fate = "dropped" if late.policy is LatePolicy.DROP else "side output"
        yield Bar("late row", row.start, row.end, fate, is_struck=True)
    if not rejected:
        yield _as_seen(seen)
    yield from outputs(play(_query(Count(), late), STREAM))


def _as_seen(results: list[BatchResult]) -> Bar:
    """Return the late row from the first to the last tick that a module sees, with what it said itself."""
    (said,) = (step.change.event for step in STREAM.changes() if step.change.event.payload == LATE)
    changes = [change for result in results for _, changes in result.output for change in changes]
    seen = [change for change in changes if change.value == LATE and change.kind is OutputKind.INSERT]
    first, last = min(change.start for change in seen), max(change.end for change in seen)
    return Bar("late row", first, last, whole=said.lifetime)


def _query(module: Module, late: Lateness) -> EvaluatorQuery:
    timestamps = TimestampPolicy.UNCHANGED if module.is_operator else TimestampPolicy.ALIGN
    return EvaluatorQuery(
        tumbling(10),
        (Binding(module, first_column),),
        ClipPolicy.FULL,
        timestamps,
        EmitPolicy.SPECULATIVE if late.corrects else EmitPolicy.FINAL,
        OutputContract.WINDOW_BASED,
        late=late,
        waits_for_watermark=late.corrects,
    )
