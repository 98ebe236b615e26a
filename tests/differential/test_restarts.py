"""What a bucket stored is all it needs: a restart between any two batches changes nothing, to the byte."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from muntin import ClipPolicy, EmitPolicy, TimestampPolicy
from muntin.testing.scripts import Script
from muntin_engine.state.codec import Codec
from tests.differential.cases import WINDOWS, Case, under_one_emission
from tests.differential.drive import Run
from tests.differential.modules import SHAPES


@pytest.mark.parametrize("emit", EmitPolicy)
@pytest.mark.parametrize("window", WINDOWS)
def test_a_restart_between_any_two_batches_changes_neither_output_nor_state(window: str, emit: EmitPolicy) -> None:
    for shape in under_one_emission([shape for shape in SHAPES if shape != "operator that looks back"], window, emit):
        case = Case(window, shape, ClipPolicy.FULL, TimestampPolicy.ALIGN, emit)
        assert outcome(case, case.stream, restarts=True) == outcome(case, case.stream, restarts=False)


@pytest.mark.parametrize("window", WINDOWS)
def test_nor_does_it_where_results_are_time_bound(window: str) -> None:
    policies = (ClipPolicy.FULL, TimestampPolicy.TIME_BOUND, EmitPolicy.EAGER)
    case = Case(window, "incremental aggregate that removes", *policies)
    assert outcome(case, case.stream, restarts=True) == outcome(case, case.stream, restarts=False)


@pytest.mark.parametrize("emit", EmitPolicy)
@pytest.mark.parametrize("window", WINDOWS)
def test_what_is_stored_is_written_the_same_when_it_was_read(window: str, emit: EmitPolicy) -> None:
    case = Case(window, "time-sensitive incremental aggregate that removes", emit=emit)
    for cells, _ in outcome(case, case.stream, restarts=False):
        for data in cells.values():
            assert Codec().pack(Codec().unpack(data)) == data


def outcome(case: Case, stream: Script, *, restarts: bool, kind: type[Run] = Run) -> list[tuple[dict[str, bytes], Any]]:
    """Return the state after each batch, and what the batch gave."""
    running = kind(case)
    steps: list[tuple[dict[str, bytes], Any]] = []
    for batch in stream.batches():
        result = running.take(replace(batch, restart_before=restarts))
        steps.append((dict(running.cells.cells), (result.output, result.watermark, result.accepted)))
    assert steps
    return steps
