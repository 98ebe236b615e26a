"""What results of different refinements have to do with each other, and with speculative output."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import replace
from random import Random

import pytest

from muntin import EarlyEmission, EmitPolicy, Refinement, Window, early
from muntin.triggers import Trigger, any_of, every, every_count, past_end, repeat, when
from muntin_engine.core.changes import OutputChange, OutputKind, Progress
from muntin_engine.core.evaluator_query import Binding, EvaluatorQuery
from muntin_engine.evaluators.general.bucket import Bucket
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from muntin_engine.testing.meaning import progress_of
from tests.core.build import Total, first_value
from tests.differential.cases import WINDOWS, Case
from tests.differential.drive import by_key
from tests.differential.early import EXPRESSIONS, tell
from tests.differential.test_early import HOPPING
from tests.differential.test_inputs import insertions

TRIGGERS = (every_count(1), every_count(3), every(15), repeat(any_of(when("x > 5"), every_count(4))), past_end())


def batches(query: EvaluatorQuery, case: Case) -> Iterator[list[tuple[Hashable, OutputChange]]]:
    """Yield what each micro-batch of a stream of insertions puts out."""
    cells, random = MemoryCells(), Random(case.seed)
    for batch in insertions(case).batches():
        told = tell(random, Progress())
        arrived = replace(progress_of(case.query.window, batch), clock=told.clock)
        bucket = Bucket(query, cells, Codec(), {})
        result = bucket.process(by_key(case, batch, random), arrived, signals=told.signals)
        assert result.accepted == len(batch.changes)
        yield [(key, change) for (key,), changes in result.output for change in changes]


def totals(case: Case, *, emit: EmitPolicy | EarlyEmission) -> EvaluatorQuery:
    bindings = (Binding(Total(), first_value),)
    return replace(case.query, bindings=bindings, emit=emit, expressions=EXPRESSIONS)


@pytest.mark.parametrize("trigger", TRIGGERS, ids=str)
def test_what_discarding_puts_out_of_a_sum_adds_up_to_the_final_sum(trigger: Trigger) -> None:
    compared = 0
    for window in HOPPING:
        case = Case(window, "aggregate", has_ids=False)
        sums: Counter[tuple[Hashable, Window]] = Counter()
        for batch in batches(totals(case, emit=early(trigger, refinement=Refinement.DISCARD)), case):
            for key, change in batch:
                sums[key, change.window] += change.value[0]
        final = [pair for batch in batches(totals(case, emit=EmitPolicy.FINAL), case) for pair in batch]
        assert all(sums[key, change.window] == change.value[0] for key, change in final)
        compared += len(final)
    assert compared > 50


@pytest.mark.parametrize("window", WINDOWS)
def test_retracting_after_each_member_stands_for_what_eager_output_does(window: str) -> None:
    compared = 0
    for shape in ("aggregate", "operator", "incremental aggregate"):
        case = Case(window, shape, has_ids=False)
        by_count = standing(totals(case, emit=early(every_count(1), refinement=Refinement.RETRACT)), case)
        assert by_count == standing(totals(case, emit=EmitPolicy.EAGER), case)
        compared += len(by_count)
    assert compared > 3


def standing(query: EvaluatorQuery, case: Case) -> list[Counter[tuple[Hashable, Window, object]]]:
    """Return what stands after each micro-batch."""
    rows: dict[tuple[Hashable, int], tuple[Hashable, Window, object]] = {}
    after: list[Counter[tuple[Hashable, Window, object]]] = []
    for batch in batches(query, case):
        for key, change in batch:
            if change.kind is OutputKind.INSERT:
                rows[key, change.id] = (key, change.window, change.value)
            else:
                del rows[key, change.id]
        after.append(Counter(rows.values()))
    return after
