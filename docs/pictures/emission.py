"""When results are emitted, and which are retracted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, pairwise
from typing import Final

from docs.pictures.picture import Picture
from docs.pictures.runs import by_kind, inputs, output_bar, outputs, play
from muntin import INFINITY, EmitPolicy, snapshot, tumbling
from muntin.drawings import Bar
from muntin.testing import Boundary, Script
from muntin_engine.core.evaluator_query import Binding, EvaluatorQuery
from muntin_stats import Count

RIDES: Final = (
    Script()
    .insert(1, 0, INFINITY)
    .insert(2, 10, INFINITY)
    .punctuate(12)
    .batch()
    .revise(1, 20)
    .insert(3, 15, INFINITY)
    .punctuate(25)
    .batch()
    .revise(2, 30)
    .revise(3, 28)
    .close()
)
"""The rides of the guide about revisions."""


def pictures() -> Iterator[Picture]:
    """Yield one picture of all policies, and one of revisions that eager results follow."""
    script = Script().point("a", 3).point("b", 12).batch().point("c", 7).punctuate(10).batch().point("d", 15).close()
    rows: list[Bar | str] = ["what comes", *inputs(script)]
    for policy in EmitPolicy:
        query = EvaluatorQuery(tumbling(10), (Binding(Count()),), emit=policy)
        rows += [f"emit={str(policy)!r}", *outputs(play(query, script))]
    title = "three micro-batches of points, and when counts of tumbling windows of 10 ticks are emitted and retracted"
    yield Picture("emission", title, rows, tuple(EmitPolicy))
    yield _revisions()


def _revisions() -> Picture:
    results = play(EvaluatorQuery(snapshot(), (Binding(Count()),), emit=EmitPolicy.EAGER), RIDES)
    rows: list[Bar | str] = []
    for number, (taken, given) in enumerate(zip(_changes(), results, strict=True), 1):
        changes = sorted(chain.from_iterable(changes for _, changes in given.output), key=by_kind)
        rows += [f"micro-batch {number}", *taken, *(output_bar("bikes", change) for change in changes)]
    title = "rides that end later than they start, and how eager counts of snapshot windows follow"
    return Picture("revisions", title, rows, (snapshot,))


def _changes() -> Iterator[list[Bar]]:
    """Yield the changes and the watermark of each micro-batch."""
    seams = [place for place, step in enumerate(RIDES.steps) if isinstance(step, Boundary)]
    for first, last in pairwise([-1, *seams, len(RIDES.steps)]):
        drawn = Script(RIDES.steps[first + 1 : last], allow_illegal=True).drawing().rows
        yield [bar if bar.is_mark else replace(bar, note="") for bar in drawn if isinstance(bar, Bar)]
