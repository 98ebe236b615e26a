"""A micro-batch in which a module failed is in the recording, and fails again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from muntin import IncrementalAggregate, tumbling
from muntin.errors import ModuleFailedError
from muntin.testing import Script
from muntin_engine import Recording
from tests.engine.recording.recorded import RecordedRun, arrivals, program_modules, recorded_insertions
from tests.scenarios.query import Query
from tests.scenarios.scenario import Scenario
from tests.scenarios.stepping import NO_MISHAPS

BAD = 13


class Picky(IncrementalAggregate[int, list[int], int]):
    """A sum that fails on one number, `BAD`."""

    name, version = "test.picky", "1"

    def create_state(self) -> list[int]:
        return [0]

    def add_events(self, state: list[int], payloads: Sequence[int]) -> list[int]:
        if BAD in payloads:
            raise ValueError("an unlucky number")
        return [state[0] + sum(payloads)]

    def combine(self, state: list[int], other: list[int]) -> list[int]:
        return [state[0] + other[0]]

    def compute_result(self, state: list[int]) -> int:
        return state[0]


QUERY = Query(tumbling(10), (Picky(),), lifetimes="points")
STREAM = (
    Script()
    .point("e1", 1, 4)
    .point("e2", 3, 5, key="b")
    .punctuate(5)
    .batch()
    .point("e3", 12, 6)
    .point("e4", 14, BAD)
    .point("e5", 15, 7, key="b")
    .punctuate(20)
    .close()
)


def record_the_failure(evaluator: str, folder: Path) -> Recording:
    """Record the query over the stream until its second micro-batch fails, and return the recording."""
    scenario = Scenario(QUERY, STREAM, NO_MISHAPS)
    run = RecordedRun(scenario, evaluator, folder)
    first, second, *_ = arrivals(scenario)
    run.process(first)
    with pytest.raises(ModuleFailedError, match="unlucky"):
        run.process(second)
    return Recording(folder, modules=program_modules(QUERY.evaluators[evaluator]))


@pytest.mark.parametrize("evaluator", QUERY.evaluators)
def test_a_micro_batch_that_failed_is_recorded_as_unfinished_and_fails_again(evaluator: str, tmp_path: Path) -> None:
    recording = record_the_failure(evaluator, tmp_path)
    assert [batch.number for batch in recording.batches] == [0]
    assert recording.unfinished is not None
    assert recording.unfinished.number == 1
    with pytest.raises(ModuleFailedError, match="unlucky"):
        recording.replay()


@pytest.mark.parametrize("evaluator", QUERY.evaluators)
def test_a_micro_batch_that_failed_shrinks_to_the_row_that_made_it_fail(evaluator: str, tmp_path: Path) -> None:
    recording = record_the_failure(evaluator, tmp_path / "whole")
    recording.shrink().save(tmp_path / "small")
    saved = Recording(tmp_path / "small", modules=program_modules(QUERY.evaluators[evaluator]))
    assert [row["i0"] for row in recorded_insertions(saved)] == [BAD]
    with pytest.raises(ModuleFailedError, match="unlucky"):
        saved.replay()
