"""Modules that adapters and combinators made are planned as any other: by their capabilities, types and parameters."""

from __future__ import annotations

from typing import Any

import pytest

from muntin.errors import ParameterError
from muntin_adapters import from_aggregator
from muntin_adapters.combinators import all_of, filtering, preset, skipping_nulls, with_default
from muntin_engine.plan.identity import plan_identity
from tests.plan.plans import plan_of, planned


class Scaled:
    zero = 0

    def __init__(self, factor: int = 1) -> None:
        self.factor = factor

    def reduce(self, buffer: int, value: int) -> int:
        return buffer + value * self.factor

    def merge(self, buffer: int, other: int) -> int:
        return buffer + other

    def finish(self, buffer: int) -> int:
        return buffer


SCALED = from_aggregator(Scaled, name="spark.scaled", version="1.0.0")


def is_even(value: int) -> bool:
    return value % 2 == 0


@pytest.mark.parametrize(
    ("cls", "evaluator"),
    [
        (SCALED, "sliced"),
        (filtering(SCALED, is_even), "sliced"),
        (filtering("stats.average", is_even), "sliced"),
        (preset("stats.average"), "columnar"),
        (skipping_nulls("stats.average"), "columnar"),
        (all_of(mean="stats.average", deviation="stats.variance"), "columnar"),
        (with_default(skipping_nulls("stats.average"), 0.0), "columnar"),
        (all_of(mean="stats.average", twice=preset(filtering("stats.average", is_even))), "sliced"),
    ],
)
def test_the_evaluator_goes_by_the_capabilities(cls: Any, evaluator: str) -> None:
    assert plan_of(planned(cls)).choice.evaluator == evaluator


def test_a_checkpoint_tells_conditions_and_parameters_apart() -> None:
    plans = [
        plan_of(planned(SCALED)),
        plan_of(planned(SCALED, factor=2)),
        plan_of(planned(filtering(SCALED, is_even))),
        plan_of(planned(filtering(SCALED, bool))),
        plan_of(planned(preset(SCALED, factor=2))),
    ]
    identities = [str(plan_identity(plan)) for plan in plans]
    assert len(set(identities)) == len(identities)


def test_a_wrong_parameter_is_refused_with_those_there_are() -> None:
    with pytest.raises(ParameterError, match=r"spark\.scaled_filtered\(factor: int = 1\) does not accept"):
        planned(filtering(SCALED, is_even), scale=2)
