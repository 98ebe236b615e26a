"""Policies and triggers as plain data: what they refuse, how they are spelled, and when triggers fire."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

import pytest

from muntin import (
    EARLIEST,
    INFINITY,
    ClipPolicy,
    EarlyEmission,
    EmitPolicy,
    Lateness,
    LatePolicy,
    Refinement,
    TimestampPolicy,
    Window,
    correct,
    early,
    triggers,
)
from muntin.errors import DurationError, ParameterError, PolicyError
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
from muntin.triggers import (
    Decision,
    Trigger,
    TriggerView,
    after,
    after_count,
    all_of,
    any_of,
    each,
    every,
    every_count,
    named,
    on_signal,
    past_end,
    past_part,
    percentile,
    repeat,
    to_dict,
    until,
    when,
)
from muntin.triggers.elementary import Past

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


def test_a_clip_policy_clips_the_left_the_right_or_both_ends() -> None:
    assert [str(clip) for clip in ClipPolicy if clip.clips_left] == ["left", "full"]
    assert [str(clip) for clip in ClipPolicy if clip.clips_right] == ["right", "full"]


def test_some_policies_leave_timestamps_to_the_module() -> None:
    assert [str(policy) for policy in TimestampPolicy if policy.is_set_by_module] == ["unchanged", "clip"]


def test_some_policies_of_emission_may_retract() -> None:
    assert [str(policy) for policy in EmitPolicy if policy.may_retract] == ["speculative", "eager"]


def test_policies_of_progress_are_values() -> None:
    assert bounded_delay("1 minute") == bounded_delay(timedelta(minutes=1)) == BoundedDelay(MINUTE)
    assert ordered() == BoundedDelay(0)
    assert punctuate_every(rows=5, delay=2) == Periodic(2, rows=5)
    assert punctuate_every(span="1 minute") == Periodic(0, span=MINUTE)
    assert len({punctuated(), bounded_disorder(3), bounded_disorder(3)}) == 2


EACH_PROGRESS_POLICY = pytest.mark.parametrize(
    "policy", [punctuated(), ordered(), bounded_disorder(3), punctuate_every(rows=2)], ids=str
)


@EACH_PROGRESS_POLICY
def test_a_policy_waits_for_idle_sources_and_is_not_by_key_unless_it_is_told_to(policy: ProgressPolicy) -> None:
    assert policy.idle is None
    assert not policy.by_key


@EACH_PROGRESS_POLICY
def test_a_policy_may_pass_over_idle_sources_and_take_punctuation_of_keys(policy: ProgressPolicy) -> None:
    changed = policy.with_idle("1 minute").with_idle("1 minute", lag=5).with_key_punctuation()
    assert type(changed) is type(policy)
    assert changed.idle == Idle(MINUTE, 5)
    assert changed.by_key


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
        (lambda: parse_lateness("correct"), r"use late_policy=correct\('1 hour'\)"),
        (lambda: parse_lateness("sooner"), "'sooner' is not a LatePolicy; there are 'side', 'drop', 'adjust'"),
    ],
)
def test_a_policy_without_a_meaning_is_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        make()


def test_a_delay_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(DurationError):
        bounded_delay("a while")


def test_a_checkpoint_fits_another_delay_and_no_other_disorder_or_punctuation_of_keys() -> None:
    assert identity_of(bounded_delay(5)) == identity_of(bounded_delay(7).with_idle(3, lag=1))
    assert identity_of(bounded_disorder(5)) != identity_of(bounded_disorder(7))
    assert identity_of(ordered()) != identity_of(ordered().with_key_punctuation())


@pytest.mark.parametrize("policy", [policy for policy in LatePolicy if policy is not LatePolicy.CORRECT])
def test_a_late_policy_without_a_length_is_read_from_its_text_and_from_itself(policy: LatePolicy) -> None:
    assert parse_lateness(str(policy)) == parse_lateness(policy) == Lateness(policy)
    assert str(Lateness(policy)) == str(policy)
    assert not Lateness(policy).corrects


def test_the_late_policy_that_corrects_has_a_length() -> None:
    assert parse_lateness(correct(5)) == correct(5) == Lateness(LatePolicy.CORRECT, 5)
    assert str(correct(5)) == "correct(5)"
    assert correct(5).corrects


@pytest.mark.parametrize("policy", [policy for policy in LatePolicy if policy is not LatePolicy.CORRECT])
def test_a_late_policy_that_corrects_nothing_has_no_length(policy: LatePolicy) -> None:
    with pytest.raises(PolicyError, match=f"the policy {policy} corrects no late rows, got 5 for allowed\n  use "):
        Lateness(policy, 5)


def test_the_late_policy_that_corrects_is_refused_without_a_length() -> None:
    with pytest.raises(PolicyError, match="late rows correct results for some time, got 0"):
        Lateness(LatePolicy.CORRECT)


# Triggers.

WINDOW = Window(0, 60)
MEMBER_CAME = TriggerView(arrivals=1)


@dataclass(frozen=True)
class GiveUp(Trigger):
    """Finishes without firing, at once."""

    name: ClassVar[str] = "test.give_up"

    def step(self, state: Any, window: Window, view: TriggerView) -> tuple[Any, Decision]:
        return None, Decision.STOP


def decisions(trigger: Trigger, *views: TriggerView) -> list[str]:
    """Return what a trigger decides at each step of a window, until it has finished."""
    state = trigger.create_state(WINDOW)
    decisions = []
    for view in views:
        state, decision = trigger.step(state, WINDOW, view)
        decisions.append(decision.value)
        if decision.is_finished:
            break
    return decisions


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: after_count(0), "after one member or more, got 0"),
        (lambda: every(0), "a period above zero, got 0"),
        (lambda: after(-5), "a period above zero, got -5"),
        (lambda: past_part(1.5), "lies between 0 and 1, got 1.5"),
        (lambda: Past(0.5, delay=3), r"only the end of a window has a delay, got delay=3 after the part 0\.5\n  use "),
        (lambda: percentile(0), r"got 0\n  half of the extent is percentile\(0\.5\); its end is past_end"),
        (all_of, r"all_of\(\) needs at least one trigger"),
        (any_of, r"any_of\(\) needs at least one trigger"),
        (each, r"each\(\) needs at least one trigger"),
        (early, "needs either a trigger or a period.*; got neither"),
        (lambda: early(past_end(), every="1 minute"), "got both"),
        (lambda: early(past_end(), refinement="refine"), "'refine' is not a Refinement"),
        (lambda: early("past_end"), "'past_end' is not a trigger; expected, for example, every_count"),  # type: ignore[arg-type]  # on purpose
    ],
)
def test_a_trigger_without_a_meaning_is_refused_with_what_was_expected(make: Any, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        make()


def test_a_decision_fires_or_not_and_is_the_last_or_not() -> None:
    assert {decision.name for decision in Decision} == {"WAIT", "FIRE", "FIRE_LAST", "STOP"}
    assert {decision.name for decision in Decision if decision.fires} == {"FIRE", "FIRE_LAST"}
    assert {decision.name for decision in Decision if decision.is_finished} == {"FIRE_LAST", "STOP"}


def test_a_plain_trigger_fires_once_and_a_repetition_does_not_end() -> None:
    assert decisions(after_count(1), MEMBER_CAME, MEMBER_CAME) == ["fire last"]
    assert decisions(every_count(1), MEMBER_CAME, MEMBER_CAME) == ["fire", "fire"]
    assert decisions(repeat(GiveUp()), MEMBER_CAME, MEMBER_CAME) == ["wait", "wait"]


def test_all_of_gives_up_with_one_of_its_parts() -> None:
    assert decisions(all_of(GiveUp(), after_count(1)), MEMBER_CAME) == ["stop"]


def test_any_of_goes_on_with_the_parts_that_do_not_give_up() -> None:
    assert decisions(any_of(GiveUp(), after_count(2)), MEMBER_CAME, MEMBER_CAME) == ["wait", "fire last"]
    assert decisions(any_of(GiveUp(), GiveUp()), MEMBER_CAME) == ["stop"]


def test_each_goes_on_with_the_part_after_the_one_that_gives_up() -> None:
    assert decisions(each(GiveUp(), after_count(1)), MEMBER_CAME, MEMBER_CAME) == ["wait", "fire last"]


def test_until_goes_on_when_its_condition_gives_up_and_gives_up_with_its_trigger() -> None:
    views = [MEMBER_CAME, MEMBER_CAME, MEMBER_CAME]
    assert decisions(until(every_count(2), GiveUp()), *views) == ["wait", "fire", "wait"]
    assert decisions(until(GiveUp(), after_count(2)), *views) == ["stop"]


@pytest.mark.parametrize(
    ("trigger", "due"), [(every(60), 120), (after(60), 130)], ids=["at full periods", "a period later"]
)
def test_a_timer_is_due_at_the_next_full_period_if_it_is_aligned_and_a_period_later_otherwise(
    trigger: Trigger, due: int
) -> None:
    at_70 = TriggerView(clock=70, arrivals=1)
    state, _ = trigger.step(trigger.create_state(WINDOW), WINDOW, at_70)
    assert trigger.next_clock(state, WINDOW) == due


def test_a_timer_sleeps_until_a_member_comes_and_then_until_its_time() -> None:
    trigger = after(60)
    state = trigger.create_state(WINDOW)
    assert trigger.next_clock(state, WINDOW) == INFINITY
    state, _ = trigger.step(state, WINDOW, TriggerView(clock=100, arrivals=1))
    assert trigger.next_clock(state, WINDOW) == 160


def test_a_timer_of_a_stream_without_a_clock_has_a_time_that_any_clock_has_passed() -> None:
    trigger = after(60)
    state, _ = trigger.step(trigger.create_state(WINDOW), WINDOW, TriggerView(arrivals=1))
    assert EARLIEST < trigger.next_clock(state, WINDOW) < 0


def test_a_composition_is_woken_for_the_first_of_its_parts_that_still_waits() -> None:
    trigger = all_of(past_part(0.5), past_end(10), after(60), on_signal("a"))
    assert trigger.signals == {"a"}

    state = trigger.create_state(WINDOW)
    assert trigger.next_event_time(state, WINDOW) == 30, "half of the window"
    assert trigger.next_clock(state, WINDOW) == INFINITY

    state, _ = trigger.step(state, WINDOW, TriggerView(max_event_time=30, clock=5, arrivals=1))
    assert trigger.next_event_time(state, WINDOW) == 70, "ten ticks past its end"
    assert trigger.next_clock(state, WINDOW) == 65, "60 after the first member"


def test_the_end_and_the_half_of_a_window_without_an_end_are_never_passed() -> None:
    endless = Window(0, INFINITY)
    state = past_end().create_state(endless)
    assert past_end().next_event_time(state, endless) == INFINITY

    _, decision = percentile(0.5).step(None, endless, TriggerView(arrivals=1, newest=2**62))
    assert decision is Decision.WAIT


def test_a_condition_that_is_null_does_not_fire() -> None:
    view = TriggerView(arrivals=2, values={"x > 5": [None, False]})
    assert decisions(when("x > 5"), view) == ["wait"]


def test_a_composition_reads_each_condition_of_its_parts_once() -> None:
    assert each(when("a"), any_of(when("b"), when("a"))).reads == ("a", "b")


def test_triggers_are_values_and_plain_data_and_spelled_with_lengths_of_time() -> None:
    trigger = until(repeat(any_of(every("1 minute"), when("x > 5"))), past_end("1 second"))
    assert trigger == until(repeat(any_of(every(60_000_000), when("x > 5"))), past_end(1_000_000))
    data = to_dict(trigger)
    assert json.loads(json.dumps(data)) == data
    repetition = "repeat(any_of(repeat(after('1 minute', aligned)), when('x > 5')))"
    assert str(trigger) == f"until({repetition}, past_end('1 second'))"


def test_a_trigger_of_ones_own_has_its_parts_and_its_spelling_from_its_fields() -> None:
    @dataclass(frozen=True)
    class Delayed(GiveUp):
        name: ClassVar[str] = "test.delayed"

        trigger: Trigger
        others: tuple[Trigger, ...]
        column: str

    trigger = Delayed(when("a"), (on_signal("b"), every("1 minute")), "price")
    assert trigger.parts == (when("a"), on_signal("b"), every("1 minute"))
    assert trigger.reads == ("a",)
    assert trigger.signals == frozenset({"b"})
    assert trigger.reads_clock
    assert str(trigger) == "test.delayed(when('a'), on_signal('b'), repeat(after('1 minute', aligned)), 'price')"


class Bare(Trigger):
    """A trigger that is no frozen dataclass."""

    name: ClassVar[str] = "test.bare"

    def step(self, state: Any, window: Window, view: TriggerView) -> tuple[Any, Decision]:
        return None, Decision.WAIT


@dataclass(frozen=True)
class Holding(Bare):
    """A trigger with a field that may have any object."""

    held: Any


def test_a_trigger_that_is_no_frozen_dataclass_of_plain_data_is_refused() -> None:
    with pytest.raises(PolicyError, match="Bare cannot be stored with a query\n  expected: a frozen dataclass"):
        early(Bare())
    with pytest.raises(PolicyError, match=r"the held of .*Holding is <object .*, which a checkpoint cannot hold"):
        early(repeat(Holding(object())))
    with pytest.raises(PolicyError, match=r"the held of .*Holding is \(1, <object .*, which a checkpoint cannot hold"):
        early(repeat(Holding((1, object()))))


def test_early_emission_is_a_value_and_may_retract_where_it_refines_by_retraction() -> None:
    assert early(every="1 minute") == EarlyEmission(every("1 minute"), Refinement.ACCUMULATE)
    assert early(past_end(), refinement="retract").may_retract
    assert not early(past_end(), refinement="discard").may_retract


class InstalledCatalog:
    """A catalog with one trigger."""

    def trigger(self, name: str) -> type[Trigger]:
        return {"test.after_count": type(after_count(1))}[name]


def test_the_trigger_of_a_plugin_is_made_by_its_name_and_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muntin.catalog.installed", InstalledCatalog)
    assert named("test.after_count", count=3) == after_count(3)
    with pytest.raises(ParameterError, match="does not accept its parameters: missing a required argument: 'count'"):
        named("test.after_count")


@pytest.mark.parametrize("name", triggers.__all__)
def test_every_public_trigger_has_a_docstring(name: str) -> None:
    assert getattr(triggers, name).__doc__
