"""Policies as plain data: text and enumeration are one; progress, and what becomes of late rows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from muntin import ClipPolicy, EmitPolicy, Lateness, LatePolicy, TimestampPolicy, correct
from muntin.errors import DurationError, PolicyError
from muntin.policies import parse_lateness, parse_policy
from muntin.progress import (
    MOST_ROWS,
    BoundedDelay,
    Idle,
    Periodic,
    ProgressPolicy,
    bounded_delay,
    bounded_disorder,
    identity_of,
    ordered,
    punctuate_every,
    punctuated,
)

MINUTE = 60_000_000


@pytest.mark.parametrize("kind", [ClipPolicy, TimestampPolicy, EmitPolicy])
def test_a_policy_is_read_from_its_text_and_from_itself(kind: type[ClipPolicy]) -> None:
    assert len(kind) >= 3
    for member in kind:
        assert parse_policy(kind, str(member)) is parse_policy(kind, member) is member


def test_an_unknown_policy_is_refused_with_what_there_is() -> None:
    with pytest.raises(PolicyError) as refused:
        parse_policy(ClipPolicy, "both")
    assert str(refused.value) == "'both' is not a ClipPolicy; there are 'none', 'left', 'right', 'full'"


def test_each_policy_says_what_follows_from_it() -> None:
    assert [(str(clip), clip.clips_left, clip.clips_right) for clip in ClipPolicy] == [
        ("none", False, False),
        ("left", True, False),
        ("right", False, True),
        ("full", True, True),
    ]
    assert [str(policy) for policy in TimestampPolicy if policy.is_set_by_module] == ["unchanged", "clip"]
    assert [str(policy) for policy in EmitPolicy if policy.may_retract] == ["speculative", "eager"]


def test_policies_are_values() -> None:
    assert bounded_delay("1 minute") == bounded_delay(timedelta(minutes=1)) == BoundedDelay(MINUTE)
    assert ordered() == BoundedDelay(0)
    assert punctuate_every(rows=5, delay=2) == Periodic(2, rows=5)
    assert punctuate_every(span="1 minute") == Periodic(0, span=MINUTE)
    assert len({punctuated(), bounded_disorder(3), bounded_disorder(3)}) == 2


@pytest.mark.parametrize("policy", [punctuated(), ordered(), bounded_disorder(3), punctuate_every(rows=2)])
def test_every_policy_can_be_told_what_to_do_with_an_idle_source_and_that_keys_punctuate(
    policy: ProgressPolicy,
) -> None:
    assert policy.idle is None
    assert not policy.by_key
    changed = policy.with_idle("1 minute").with_idle("1 minute", lag=5).with_key_punctuation()
    assert (type(changed), changed.idle, changed.by_key) == (type(policy), Idle(MINUTE, 5), True)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: bounded_delay(-1), "a delay is at least 0 .* got -1"),
        (lambda: bounded_disorder(-1), "a disorder of -1 rows cannot be bounded"),
        (lambda: bounded_disorder(MOST_ROWS + 1), r"bounded_delay\('10 minutes'\)"),
        (punctuate_every, "got rows=None and span=None"),
        (lambda: punctuate_every(rows=3, span=5), "got rows=3 and span=5"),
        (lambda: punctuate_every(rows=0), "above zero; got rows=0"),
        (lambda: punctuate_every(span=-5), "got rows=None and span=-5"),
        (lambda: ordered().with_idle(0), "got after=0"),
        (lambda: ordered().with_idle(5, lag=-1), "a lag is at least 0 .* got -1"),
        (lambda: correct(0), "got 0"),
        (lambda: parse_lateness("correct"), r"use late=correct\('1 hour'\)"),
        (lambda: parse_lateness("sooner"), "'sooner' is not a LatePolicy; there are 'side', 'drop', 'adjust'"),
    ],
)
def test_what_makes_no_policy_is_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        make()


def test_a_time_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(DurationError):
        bounded_delay("a while")


def test_delays_may_change_from_run_to_run_and_what_is_kept_may_not() -> None:
    assert identity_of(bounded_delay(5)) == identity_of(bounded_delay(7).with_idle(3, lag=1))
    assert identity_of(bounded_disorder(5)) != identity_of(bounded_disorder(7))
    assert identity_of(ordered()) != identity_of(ordered().with_key_punctuation())


@pytest.mark.parametrize("policy", LatePolicy)
def test_lateness_is_named_by_text_by_member_or_given(policy: LatePolicy) -> None:
    if policy is LatePolicy.CORRECT:
        assert parse_lateness(correct(5)) == Lateness(policy, 5)
        assert (str(correct(5)), correct(5).corrects) == ("correct(5)", True)
    else:
        assert parse_lateness(str(policy)) == parse_lateness(policy) == Lateness(policy)
        assert (str(Lateness(policy)), Lateness(policy).corrects) == (str(policy), False)
