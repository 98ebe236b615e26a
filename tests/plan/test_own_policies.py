"""A progress policy that would fail in the workers is refused where the query is planned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from muntin.errors import PolicyError
from muntin.progress import ProgressPolicy, SourceProgress
from muntin_engine.core.source_rules import SourceRules
from tests.plan.plans import input_of, plan_of


@dataclass(frozen=True)
class Following(ProgressPolicy):
    def watermark(self, seen: SourceProgress) -> Any:
        return seen.newest

    def describe(self, spell: Callable[[int], str]) -> str:
        return "the newest start"


class Unlike(Following):
    def __init__(self, delay: int) -> None:
        object.__setattr__(self, "delay", delay)


class Greedy(Following):
    starts_kept = 2

    def watermark(self, seen: SourceProgress) -> Any:
        return seen.latest[1]


class Fraction(Following):
    def watermark(self, seen: SourceProgress) -> Any:
        return seen.newest / 2


class Many(Following):
    starts_kept = 100_000


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (Unlike(3), r"policy Unlike is no value: .*\n  make it a frozen dataclass"),
        (Greedy(), r"policy Greedy failed in watermark: IndexError.*\n.*rows=1.*\n  test it with .*ProgressPolicyLaws"),
        (Fraction(), r"policy Fraction returned 0.0 from watermark"),
        (Many(), r"policy Many keeps 100000 starts\n  expected: a whole number from 0 to 10001"),
    ],
    ids=lambda part: type(part).__name__,
)
def test_a_policy_that_cannot_work_is_refused(policy: ProgressPolicy, said: str) -> None:
    with pytest.raises(PolicyError, match=said):
        plan_of(input=input_of(policy))
    with pytest.raises(PolicyError, match=said):
        plan_of(input=input_of(rules=(SourceRules("north", policy),)))
