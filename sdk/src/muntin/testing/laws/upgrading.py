"""Laws of modules that go on with the states of their older versions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from muntin.events import Event
from muntin.testing.laws.law import lacks, law
from muntin.testing.laws.module_laws import ModuleLaws
from muntin.testing.laws.module_trial import ModuleTrial
from muntin.windows.extent import Window


@dataclass(frozen=True, slots=True)
class OldState:
    """A state that an older version of a module had, for the laws to upgrade.

    Attributes:
        version: That version.
        members: The members that it had seen: payloads, or events as a time-sensitive module gets them.
        state: The state as plain data, with dicts of their fields for dataclasses and named tuples.
        window: The window, for a time-sensitive module.

    Example:
        >>> OldState("1.0.0", [2.0, 3.0], 5.0)
        OldState(version='1.0.0', members=[2.0, 3.0], state=5.0, window=Window(start=0, end=10))
    """

    version: str
    members: Sequence[Any]
    state: Any
    window: Window = Window(0, 10)  # noqa: RUF009  # it is frozen


class UpgradingLaws(ModuleLaws):
    """A query does not notice that a module is a newer version.

    Attributes:
        old_states: States of older versions; the law is skipped where there are none.
    """

    old_states: ClassVar[Sequence[OldState]] = ()

    @law(
        "let upgrade_state return what create_state and add_events of today make of the same members",
        does_not_apply=lacks("upgrade_state"),
    )
    def test_old_states_are_upgraded(self, trial: ModuleTrial) -> None:
        """A state of an older version, upgraded, gives the result of a new state of its members, now and with more."""
        if not self.old_states:
            pytest.skip(f"does not apply: no old_states of {trial.module} are given")
        for old in self.old_states:
            _upgrade(trial, old)


def _upgrade(trial: ModuleTrial, old: OldState) -> None:
    module = trial.subject.module
    if module.is_time_sensitive:
        trial.place(old.window, trial.clip)
    trial.expect(module.continues_from(old.version), lambda: f"it does not continue from its version {old.version}")
    before = [member if module.is_time_sensitive else Event.point(0, member) for member in old.members]
    later = trial.members("later")
    subject = trial.subject
    upgraded = subject.stored(subject.upgrade(subject.plain(old.state), old.version))
    new = subject.state_of(before)
    if before:
        told = f"a state of {old.version}, upgraded"
        trial.expect_same((told, subject.result_of(upgraded)), ("a new state", subject.result_of(new)))
    more = subject.add(upgraded, later)
    trial.expect_same(
        (f"a state of {old.version}, upgraded, then more", subject.result_of(subject.stored(more))),
        ("a new state", subject.result_of(subject.add(new, later))),
    )
