"""Forgetting keys, as a query is planned: what is refused and why, what is explained, and what a checkpoint keeps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from muntin import (
    EmitPolicy,
    TimestampPolicy,
    count_by_start,
    early,
    global_windows,
    landmark,
    session,
    snapshot,
    tumbling,
)
from muntin.errors import PolicyError, QueryError
from muntin.rows import last
from muntin.triggers import every_count
from muntin.windows import WindowSpecification
from muntin_engine.errors import Difference
from muntin_engine.metrics import metrics_of
from muntin_engine.plan.explanation import topics_of
from muntin_engine.plan.identity import plan_identity
from muntin_engine.state.differences import differences_between
from tests.plan.plans import input_of, plan_of

DAY = 24 * 3600 * 1_000_000


@pytest.mark.parametrize(
    "window",
    [landmark("1 day"), global_windows(), count_by_start(3), tumbling("1 hour"), session("1 hour"), snapshot()],
    ids=str,
)
def test_the_general_evaluator_forgets_keys_and_says_so(window: WindowSpecification) -> None:
    plan = plan_of(window=window, forget_keys_after=30 * DAY)
    told = dict(topics_of(plan))
    assert plan.choice.evaluator == "general"
    assert told["forgetting"] == (
        "a key that is silent for longer than 30 days after its last event: its windows end then, and nothing is kept"
    )
    assert told["context"] == "the windows of an event also depend on events that come after it"
    assert "until the key has been silent for long enough" in told["state"]
    assert "keys_forgotten" in {metric.name for metric in metrics_of(plan)}


def test_a_grid_is_not_sliced_because_keys_are_forgotten() -> None:
    told = dict(topics_of(plan_of(window=tumbling("1 hour"), forget_keys_after=DAY)))
    assert told["evaluator"] == "general: keys are forgotten, so where a window ends depends on all events of its key"
    with pytest.raises(QueryError, match="the sliced evaluator cannot run this query: keys are forgotten"):
        plan_of(window=tumbling("1 hour"), forget_keys_after=DAY, wanted="sliced")


def test_without_it_nothing_is_said_or_counted() -> None:
    plan = plan_of(window=landmark("1 day"))
    assert "forgetting" not in dict(topics_of(plan))
    assert "keys_forgotten" not in {metric.name for metric in metrics_of(plan)}
    assert "forget_keys_after" not in plan_identity(plan)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"forget_keys_after": 0}, "would forget a key while it has events"),
        ({"forget_keys_after": -DAY}, "would forget a key while it has events"),
        ({"emit": early(every_count(3))}, "refinement='accumulate' would never retract"),
        ({"is_edge": True}, "a sample lasts until the next one of its key"),
        (
            {"timestamps": TimestampPolicy.TIME_BOUND, "emit": EmitPolicy.EAGER, "window": tumbling("1 day")},
            "cannot be time-bound",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(changed: dict[str, Any], message: str) -> None:
    settings: dict[str, Any] = {"window": landmark("1 day"), "forget_keys_after": DAY}
    with pytest.raises(PolicyError, match=message):
        plan_of(**{**settings, **changed})


def test_row_windows_have_partitions_for_that() -> None:
    given = replace(input_of(), order=0)
    with pytest.raises(PolicyError, match=r"follows rows\n  have its partitions evicted: last\(3\)\.partition\("):
        plan_of(window=last(3), input=given, forget_keys_after=DAY)


def test_a_checkpoint_is_of_one_age() -> None:
    before, after = (plan_identity(plan_of(window=landmark("1 day"), forget_keys_after=age * DAY)) for age in (30, 7))
    assert differences_between(before, after) == (
        Difference("silence after which keys are forgotten", "30 days", "7 days"),
    )
    without = plan_identity(plan_of(window=landmark("1 day")))
    assert differences_between(without, after) == (
        Difference("silence after which keys are forgotten", "none", "7 days"),
    )
