"""The laws of triggers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from hypothesis.strategies import SearchStrategy

from muntin.errors import PolicyError
from muntin.testing.equality import equal
from muntin.testing.laws.conformance import Conformance
from muntin.testing.laws.law import Law, law
from muntin.testing.laws.trigger_trial import TriggerTrial
from muntin.testing.plain_data import restored
from muntin.triggers.description import to_dict
from muntin.triggers.trigger import Trigger


class TriggerLaws(Conformance):
    """The laws of a trigger.

    Attributes:
        trigger: The trigger under test.
        values: By each expression that it reads, a strategy for its values.

    Example:
        >>> from muntin.triggers import after_count, any_of, every
        >>> class TestPatience(TriggerLaws):
        ...     trigger = any_of(after_count(100), every("1 minute"))
        >>> TestPatience().test_it_sleeps_until_it_is_woken()
    """

    trigger: ClassVar[Trigger]
    values: ClassVar[Mapping[str, SearchStrategy[Any]]] = {}

    _subject_name: ClassVar[str] = "trigger"
    _subject_type: ClassVar[type] = Trigger

    @classmethod
    def attempt(cls, law: Law, body: Callable[[Any, Any], None], data: Any) -> None:
        """Try a law once."""
        body(cls(), TriggerTrial(law, cls.subject(), cls.values, cls.tolerance, data))

    @law("make it a frozen dataclass with a name, whose fields are numbers, text or triggers", is_random=False)
    def test_definition_is_complete(self, trial: TriggerTrial) -> None:
        """The trigger can be written into a checkpoint, and be known again."""
        try:
            to_dict(trial.trigger)
        except PolicyError as error:
            raise trial.broken(str(error)) from None

    @law("build the state from numbers, text, lists and dicts")
    def test_states_are_plain_data(self, trial: TriggerTrial) -> None:
        """Every state can be stored in a checkpoint."""
        trial.decisions(trial.views(), sleeps=False)

    @law("return a new state; copy a list or a dict before you change it")
    def test_a_step_leaves_its_state_as_it_was(self, trial: TriggerTrial) -> None:
        """A step changes nothing in the state that it is given."""
        state = trial.create()
        for view in trial.views():
            before = restored(trial.stored(state))
            new, decision = trial.step(state, view)
            if not equal(state, before):
                raise trial.broken(f"state: {before!r}\nafterwards: {state!r}")
            state = new
            if decision.is_finished:
                break

    @law("decide from the state and the view alone: no clock, no random number, nothing kept in the trigger")
    def test_the_same_views_give_the_same_decisions(self, trial: TriggerTrial) -> None:
        """A window to which the same happens gets the same decisions."""
        views = trial.views()
        first = trial.decisions(views, sleeps=False)
        trial.expect_same(("at first", first), ("again", trial.decisions(views, sleeps=False)))

    @law("say in next_clock, next_event_time and signals what it waits for, and count nothing but members")
    def test_it_sleeps_until_it_is_woken(self, trial: TriggerTrial) -> None:
        """Called only when members come or leave, or at its wake-ups, it decides as if it were called each time."""
        views = trial.views()
        called = trial.decisions(views, sleeps=False)
        trial.expect_same(("called each time", called), ("called when woken", trial.decisions(views, sleeps=True)))
