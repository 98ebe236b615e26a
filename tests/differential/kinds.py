"""Checks that every kind of windows has on random streams, whatever its windows are."""

from __future__ import annotations

from itertools import product

from muntin import ClipPolicy, EmitPolicy, OutputContract, TimestampPolicy
from tests.differential.cases import Case, policies
from tests.differential.drive import check, run
from tests.differential.modules import SHAPES
from tests.differential.test_inputs import insertions, samples


def cases_of(window: str, emit: EmitPolicy) -> list[Case]:
    """Return a case of a kind for each module under all of its policies."""
    return [Case(window, shape, *both, emit) for shape in SHAPES for both in policies(shape)]


def check_looking_back(window: str) -> None:
    """Check that without a contract output may lie before its window, and is never final."""
    contract = OutputContract.UNRESTRICTED
    case = Case(window, "operator that looks back", timestamps=TimestampPolicy.UNCHANGED, contract=contract)
    check(case, case.stream, run)


def check_samples_and_events_without_ids(window: str, emit: EmitPolicy) -> None:
    """Check the output for samples, and for events that nothing can refer to."""
    shapes = ("time-sensitive aggregate", "incremental aggregate", "operator with own lifetimes")
    for number, (shape, clip) in enumerate(product(shapes, ClipPolicy)):
        if shape != "incremental aggregate" or clip is ClipPolicy.NONE:
            sampled = Case(window, shape, clip, emit=emit, is_edge=True)
            check(sampled, samples(number), run)
            anonymous = Case(window, shape, clip, emit=emit, has_ids=False)
            check(anonymous, insertions(anonymous), run)
