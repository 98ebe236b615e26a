"""Policies and triggers as plain data: what they refuse, what they say of themselves, corners of their meaning."""

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
        (lambda: parse_lateness("correct"), r"use late_policy=correct\('1 hour'\)"),
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


WINDOW = Window(0, 60)
CAME = TriggerView(arrivals=1)


@dataclass(frozen=True)
class GiveUp(Trigger):
    """Finishes without firing, at once."""

    name: ClassVar[str] = "test.give_up"

    def step(self, state: Any, window: Window, view: TriggerView) -> tuple[Any, Decision]:
        return None, Decision.STOP


def decisions(trigger: Trigger, *views: TriggerView) -> list[str]:
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
def test_what_makes_no_trigger_is_refused_with_what_was_expected(make: Any, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        make()


def test_a_decision_says_whether_it_fires_and_whether_it_is_the_last() -> None:
    meanings = {decision.name: (decision.fires, decision.is_finished) for decision in Decision}
    assert meanings == {"WAIT": (False, False), "FIRE": (True, False), "FIRE_LAST": (True, True), "STOP": (False, True)}


def test_plain_triggers_fire_once_and_repetitions_do_not_end() -> None:
    assert decisions(after_count(1), CAME, CAME) == ["fire last"]
    assert decisions(every_count(1), CAME, CAME) == ["fire", "fire"]
    assert decisions(repeat(GiveUp()), CAME, CAME) == ["wait", "wait"]


def test_a_trigger_that_gives_up_ends_all_drops_out_of_any_and_passes_its_turn() -> None:
    assert decisions(all_of(GiveUp(), after_count(1)), CAME) == ["stop"]
    assert decisions(any_of(GiveUp(), after_count(2)), CAME, CAME) == ["wait", "fire last"]
    assert decisions(any_of(GiveUp(), GiveUp()), CAME) == ["stop"]
    assert decisions(each(GiveUp(), after_count(1)), CAME, CAME) == ["wait", "fire last"]
    assert decisions(until(every_count(2), GiveUp()), CAME, CAME, CAME) == ["wait", "fire", "wait"]
    assert decisions(until(GiveUp(), after_count(2)), CAME) == ["stop"]


def test_aligned_timers_fire_on_full_periods_and_others_a_period_later() -> None:
    for trigger, due in ((every(60), 120), (after(60), 130)):
        state, _ = trigger.step(trigger.create_state(WINDOW), WINDOW, TriggerView(clock=70, arrivals=1))
        assert trigger.next_clock(state, WINDOW) == due


def test_a_timer_sleeps_until_a_member_comes_and_then_until_its_time() -> None:
    trigger = after(60)
    state = trigger.create_state(WINDOW)
    assert trigger.next_clock(state, WINDOW) == INFINITY
    state, _ = trigger.step(state, WINDOW, TriggerView(arrivals=1))
    assert EARLIEST < trigger.next_clock(state, WINDOW) < 0


def test_a_composition_is_woken_for_the_first_of_its_parts_that_still_waits() -> None:
    trigger = all_of(past_part(0.5), past_end(10), after(60), on_signal("a"))
    state = trigger.create_state(WINDOW)
    assert (trigger.next_event_time(state, WINDOW), trigger.next_clock(state, WINDOW)) == (30, INFINITY)
    state, _ = trigger.step(state, WINDOW, TriggerView(max_event_time=30, clock=5, arrivals=1))
    assert (trigger.next_event_time(state, WINDOW), trigger.next_clock(state, WINDOW)) == (70, 65)
    assert trigger.signals == {"a"}


def test_the_place_of_a_window_without_an_end_is_never_passed() -> None:
    state = past_end().create_state(Window(0, INFINITY))
    assert past_end().next_event_time(state, Window(0, INFINITY)) == INFINITY
    assert percentile(0.5).step(None, Window(0, INFINITY), TriggerView(arrivals=1, newest=2**62))[1] is Decision.WAIT


def test_a_null_condition_is_not_true() -> None:
    view = TriggerView(arrivals=2, values={"x > 5": [None, False]})
    assert decisions(when("x > 5"), view) == ["wait"]


def test_a_composition_reads_what_its_parts_read_once() -> None:
    assert each(when("a"), any_of(when("b"), when("a"))).reads == ("a", "b")


def test_triggers_are_plain_data() -> None:
    trigger = until(repeat(any_of(every("1 minute"), when("x > 5"))), past_end("1 second"))
    assert trigger == until(repeat(any_of(every(60_000_000), when("x > 5"))), past_end(1_000_000))
    data = to_dict(trigger)
    assert json.loads(json.dumps(data)) == data
    repeated = "repeat(any_of(repeat(after('1 minute', aligned)), when('x > 5')))"
    assert str(trigger) == f"until({repeated}, past_end('1 second'))"


def test_a_trigger_of_ones_own_has_its_parts_and_its_spelling_from_its_fields() -> None:
    @dataclass(frozen=True)
    class Delayed(GiveUp):
        name: ClassVar[str] = "test.delayed"

        trigger: Trigger
        others: tuple[Trigger, ...]
        column: str

    trigger = Delayed(when("a"), (on_signal("b"), every("1 minute")), "price")
    assert trigger.parts == (when("a"), on_signal("b"), every("1 minute"))
    assert (trigger.reads, trigger.signals, trigger.reads_clock) == (("a",), frozenset({"b"}), True)
    assert str(trigger) == "test.delayed(when('a'), on_signal('b'), repeat(after('1 minute', aligned)), 'price')"


def test_a_trigger_that_a_checkpoint_cannot_know_again_is_refused() -> None:
    class Bare(Trigger):
        name: ClassVar[str] = "test.bare"

        def step(self, state: Any, window: Window, view: TriggerView) -> tuple[Any, Decision]:
            return None, Decision.WAIT

    @dataclass(frozen=True)
    class Holding(Bare):
        held: Any

    with pytest.raises(PolicyError, match="Bare cannot be stored with a query\n  expected: a frozen dataclass"):
        early(Bare())
    with pytest.raises(PolicyError, match=r"the held of .*Holding is <object .*, which a checkpoint cannot hold"):
        early(repeat(Holding(object())))
    with pytest.raises(PolicyError, match=r"the held of .*Holding is \(1, <object .*, which a checkpoint cannot hold"):
        early(repeat(Holding((1, object()))))


def test_emission_is_plain_data_too() -> None:
    assert early(every="1 minute") == EarlyEmission(every("1 minute"), Refinement.ACCUMULATE)
    assert early(past_end(), refinement="retract").may_retract
    assert not early(past_end(), refinement="discard").may_retract


def test_the_trigger_of_a_plugin_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    class Installed:
        def trigger(self, name: str) -> type[Trigger]:
            return {"test.after_count": type(after_count(1))}[name]

    monkeypatch.setattr("muntin.catalog.installed", Installed)
    assert named("test.after_count", count=3) == after_count(3)
    with pytest.raises(ParameterError, match="does not accept its parameters: missing a required argument: 'count'"):
        named("test.after_count")


def test_every_public_trigger_explains_itself() -> None:
    assert [name for name in triggers.__all__ if not getattr(triggers, name).__doc__] == []
