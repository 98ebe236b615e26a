"""A plugin's kinds of windows on random streams with revisions, ties and restarts, against the oracle."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from unittest.mock import patch

import pytest

from muntin import EmitPolicy, Refinement, window
from muntin.testing import Script
from muntin_engine.evaluators.keyed.bucket import BatchResult
from tests.differential import cases
from tests.differential.cases import Case, policies
from tests.differential.drive import Run, check, follow
from tests.differential.early import EarlyCase, run_early
from tests.differential.modules import SHAPES
from tests.retail.test_kinds import KINDS

EVERY_KIND = pytest.mark.parametrize("name", KINDS)


class PluginRun(Run):
    """Also checks that the output watermark does not go back; how far it could be is known of Muntin's kinds alone."""

    def _check_promise(self, result: BatchResult) -> None:
        assert result.watermark >= self.promised
        self.promised = result.watermark


def run(case: Case, stream: Script) -> None:
    follow(PluginRun(case), stream)


@pytest.fixture(autouse=True)
def _named(_retail: None) -> Iterator[None]:
    with patch.dict(cases.BY_NAME, {name: window(name, **given) for name, given in KINDS.items()}):
        yield


@pytest.mark.parametrize("emit", EmitPolicy)
@EVERY_KIND
def test_the_output_is_that_of_the_reference(name: str, emit: EmitPolicy) -> None:
    every = [Case(name, shape, *both, emit) for shape in SHAPES for both in policies(shape)]
    for case in Random(f"{name} {emit}").sample(every, 12):
        check(case, case.stream, run)


@pytest.mark.parametrize("inputs", ["anonymous", "samples"])
@EVERY_KIND
def test_events_without_ids_and_samples_are_as_good(name: str, inputs: str) -> None:
    from tests.differential.test_inputs import insertions, samples

    case = Case(name, "aggregate", has_ids=inputs != "anonymous", is_edge=inputs == "samples")
    check(case, samples(7) if case.is_edge else insertions(case), run)


@pytest.mark.parametrize("number", range(4))
@EVERY_KIND
def test_early_results_are_those_of_the_reference(name: str, number: int) -> None:
    case = EarlyCase(Case(name, "time-sensitive aggregate"), Refinement.RETRACT, number)
    check(case, case.stream, run_early)
