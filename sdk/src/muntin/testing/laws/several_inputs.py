"""The laws of modules that read several inputs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

from muntin.errors import ModuleDefinitionError
from muntin.events import Event
from muntin.schemas import OneOf
from muntin.testing.laws.law import Reason, law, named, reads_order
from muntin.testing.laws.module_laws import ModuleLaws
from muntin.testing.laws.module_trial import ModuleTrial
from muntin.testing.laws.subject import CallError


def _reads_one_or_lacks(*methods: str, in_any_order: bool = True) -> Reason:
    """Say of a module that it reads one input or the order, or which of some optional methods it has not defined."""

    def reason(module: Any) -> str | None:
        try:
            several = module.input_fields()
        except ModuleDefinitionError as error:  # a law says so in better words
            return str(error)
        if not several:
            return f"{named(module)} reads one input"
        missing = [method for method in methods if not hasattr(module, method)]
        if missing:
            return f"{named(module)} has no {missing[0]}"
        return reads_order(module) if in_any_order else None

    return reason


class SeveralInputsLaws(ModuleLaws):
    """The events of several inputs are one set, and any input may have no event in it.

    A laws class of a module that reads one input does not have these.
    """

    @law(
        "give a result, for example None, where an input has no event",
        does_not_apply=_reads_one_or_lacks(in_any_order=False),
        is_for_some=True,
    )
    def test_a_silent_input_is_handled(self, trial: ModuleTrial) -> None:
        """A window has a result if all of its events are of one input."""
        (name, alone), *_ = _by_input(trial, trial.members()).items()
        try:
            trial.subject.result(alone)
        except CallError as error:
            broken = trial.broken(f"with events of the input {name} alone, {error}")
            broken.method = error.method
            raise broken from error.__cause__

    @law(
        "tell inputs apart by the class of a payload, not by its place among others or by the call it comes in",
        does_not_apply=_reads_one_or_lacks(),
        is_for_some=True,
    )
    def test_inputs_interleave_in_any_way(self, trial: ModuleTrial) -> None:
        """The events of one input may come before those of another or among them, in one call or in several."""
        subject, members = trial.subject, trial.members()
        parts, mixed = list(_by_input(trial, members).values()), ("as listed below", subject.result(members))
        trial.expect_same(mixed, ("input after input", subject.result([*chain.from_iterable(parts)])))
        if subject.module.is_incremental:
            trial.expect_same(mixed, ("in a call for each input", subject.result_of(subject.state_of(*parts))))
        if hasattr(subject.module, "combine"):
            state = subject.create()
            for part in parts:
                state = subject.combine(state, subject.state_of(part))
            trial.expect_same(mixed, ("with a state for each input, combined", subject.result_of(state)))

    @law(
        "undo in remove_events all that the events of an input did to the state, also if no other input has any",
        does_not_apply=_reads_one_or_lacks("remove_events"),
        is_for_some=True,
    )
    def test_an_input_leaves_no_trace(self, trial: ModuleTrial) -> None:
        """The result without the events of an input is that of the other inputs alone."""
        subject, members = trial.subject, trial.members()
        (name, gone), *others = _by_input(trial, members).items()
        kept = [event for _, part in others for event in part]
        if kept:
            state = subject.remove(subject.state_of(members), gone)
            trial.expect_same((f"{name} removed", subject.result_of(state)), ("never added", subject.result(kept)))


def _by_input(trial: ModuleTrial, members: Sequence[Event[Any]]) -> dict[str, list[Event[Any]]]:
    """Return members by the name of their input, that of the first one first.

    Raises:
        LawError: A payload, as the strategy of the laws class gives it, is of none of the module's inputs.
    """
    kind, found = trial.subject.module.input_field().type, dict[str, list[Event[Any]]]()
    assert isinstance(kind, OneOf)
    for event in members:
        part = kind.input_of(event.payload)
        if part is None:
            names = ", ".join(some.name for some in kind.inputs)
            raise trial.broken(f"{event.payload!r} is of no input of the module: {names}", "give other payloads = ...")
        found.setdefault(part.name, []).append(event)
    return found
