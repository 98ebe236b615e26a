"""A filter makes the output as if the events that it leaves out had never been, whatever is said of them later."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from muntin import INFINITY, EmitPolicy, Event
from muntin.changes import Insertion
from muntin.testing.batches import Boundary, KeyedChange
from muntin.testing.scripts import Script
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.evaluators.keyed.admission import Filter
from tests.differential.cases import WINDOWS, Case, policies
from tests.differential.drive import Run, check, failure, follow
from tests.differential.modules import SHAPES
from tests.differential.test_inputs import samples


def is_kept(payload: int) -> bool:
    return payload % 3 != 0


def keeps(row: Sequence[int]) -> bool:
    return is_kept(row[0])


class FilteredCase(Case):
    @property
    def query(self) -> EvaluatorQuery:
        return replace(super().query, keeps=keeps)


class FilteredRun(Run):
    def histories(self) -> Mapping[Hashable, list[Event[Any]]]:
        known = super().histories()
        return {key: [event for event in events if is_kept(event.payload)] for key, events in known.items()}


def run(case: Case, stream: Script) -> None:
    """Run a stream and compare with the reference after each batch; each row is refused for what it is, or not."""
    follow(FilteredRun(case), stream)


def cases(window: str, emit: EmitPolicy, *, is_edge: bool = False, count: int = 6) -> list[Case]:
    shapes = [shape for shape in SHAPES if shape != "operator that looks back"]
    chosen = Random(f"{window} {emit}").sample(shapes, count)
    return [FilteredCase(window, shape, *next(iter(policies(shape))), emit, is_edge=is_edge) for shape in chosen]


@pytest.mark.parametrize("emit", EmitPolicy)
@pytest.mark.parametrize("window", WINDOWS)
def test_the_output_is_that_of_the_events_that_are_kept(window: str, emit: EmitPolicy) -> None:
    for case in cases(window, emit):
        check(case, case.stream, run)


@pytest.mark.parametrize("window", WINDOWS)
def test_a_sample_that_is_left_out_ends_the_one_before_it(window: str) -> None:
    for emit in EmitPolicy:
        for case in cases(window, emit, is_edge=True, count=2):
            check(case, samples(case.seed), run)


def test_a_window_that_a_sample_reaches_stays_when_one_without_an_end_comes() -> None:
    def sample(id: int, at: int, payload: int) -> KeyedChange:
        return KeyedChange("a", Insertion(id, Event(at, INFINITY, payload)))

    kept, left_out = sample(1, 1, payload=1), sample(2, 27, payload=6)
    stream = Script((kept, left_out, Boundary.BATCH, sample(3, 29, payload=-4)))
    for case in cases("reach", EmitPolicy.EAGER, is_edge=True):
        run(case, stream)


def test_a_fault_in_the_filter_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    found = cases("snapshot", EmitPolicy.SPECULATIVE)
    monkeypatch.setattr(Filter, "leave_out", lambda *_: None)
    assert all(failure(case, case.stream, run) for case in found[:2])
