"""The laws of progress policies: ours and honest ones keep them, and each law has a policy that breaks it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from muntin.progress import (
    ProgressPolicy,
    SourceProgress,
    bounded_delay,
    bounded_disorder,
    ordered,
    punctuate_every,
    punctuated,
)
from muntin.testing import LawError, Outcome, ProgressPolicyLaws, laws_for, laws_of, try_laws
from tests.core.progress.own_policies import Elapsing, Guarded, Outvoted

LAWS = list(laws_of(ProgressPolicyLaws))
HONEST = [
    punctuated(),
    ordered(),
    bounded_delay(5).with_idle(3, lag=1),
    bounded_disorder(2),
    punctuate_every(span=10, delay=3),
    Guarded(3),
    Elapsing(4),
    Outvoted(2),
]


@dataclass(frozen=True)
class Quiet(ProgressPolicy):
    """Says nothing of itself."""

    def watermark(self, seen: SourceProgress) -> int | None:
        return seen.newest

    def describe(self, spell: Callable[[int], str]) -> str:
        return ""


class Greedy(Quiet):
    """Reads more starts than came."""

    starts_kept = 3

    def watermark(self, seen: SourceProgress) -> int:
        return seen.latest[2]


class Halved(Quiet):
    """Answers with a fraction."""

    def watermark(self, seen: SourceProgress) -> int:
        return seen.newest / 2  # type: ignore[return-value]  # that is the point


class Batched(Quiet):
    """Answers from the last micro-batch."""

    def watermark(self, seen: SourceProgress) -> int | None:
        return seen.newest if seen.rows - seen.rows_before > 1 else None


class Counting(Quiet):
    """Remembers how often it was asked."""

    asked = itertools.count()

    def watermark(self, seen: SourceProgress) -> int:
        return seen.newest - 1000 + next(self.asked)


HOSTILE: dict[str, list[ProgressPolicy]] = {
    "test_definition_is_complete": [Quiet()],
    "test_answers_are_ticks_or_none": [Greedy(), Halved()],
    "test_it_makes_no_difference_where_micro_batches_end": [Batched(), punctuate_every(rows=2)],
    "test_nothing_else_is_remembered": [Counting()],
}


def attempt(law: str, policy: ProgressPolicy, **attributes: Any) -> None:
    laws: Any = type("TestPolicy", (ProgressPolicyLaws,), {"policy": policy, **attributes})()
    getattr(laws, law)()


def test_each_law_has_a_policy_that_breaks_it() -> None:
    assert set(LAWS) == set(HOSTILE)
    assert laws_for(ordered()) is ProgressPolicyLaws
    assert [verdict.outcome for verdict in try_laws(Guarded(3))] == [Outcome.KEPT] * len(LAWS)


@pytest.mark.parametrize("policy", HONEST, ids=str)
@pytest.mark.parametrize("law", LAWS)
def test_an_honest_policy_keeps_all_laws(law: str, policy: ProgressPolicy) -> None:
    attempt(law, policy)


@pytest.mark.parametrize(("law", "policy"), [(law, policy) for law in HOSTILE for policy in HOSTILE[law]])
def test_one_that_breaks_a_law_is_told_what_to_do(law: str, policy: ProgressPolicy) -> None:
    with pytest.raises(LawError) as broken:
        attempt(law, policy)
    assert broken.value.law == law.removeprefix("test_").replace("_", " ")
    assert "to do: " in str(broken.value)
    assert f"the progress policy {type(policy).__name__}" in str(broken.value)


def test_one_that_looks_at_micro_batches_may_say_so() -> None:
    attempt(LAWS[2], punctuate_every(rows=2), depends_on_batches=True)
    assert LAWS[2] == "test_it_makes_no_difference_where_micro_batches_end"
