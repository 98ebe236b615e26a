"""Laws of time-sensitive modules: the clips that they accept and the lifetimes that they return."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hypothesis import strategies as st

from muntin.axis import EARLIEST
from muntin.events import Event
from muntin.policies import ClipPolicy, OutputContract
from muntin.testing.equality import same_bag
from muntin.testing.laws.law import law, named
from muntin.testing.laws.module_laws import ModuleLaws
from muntin.testing.laws.module_trial import ModuleTrial


def _sees_no_times(module: Any) -> str | None:
    return None if module.is_time_sensitive else f"{named(module)} is not time-sensitive"


def _is_unrestricted(module: Any) -> str | None:
    is_bound = module.contract is not OutputContract.UNRESTRICTED
    return _sees_no_times(module) or (None if is_bound else f"{named(module)} declares the contract {module.contract}")


def _reads_times(module: Any) -> str | None:
    return _sees_no_times(module) or (f"{named(module)} says that it reads times" if module.reads_times else None)


class ClipLaws(ModuleLaws):
    """A time-sensitive module is correct under every clip that it accepts, and reads no times if it says so."""

    @law(
        "make it work, or name in accepted_clips only the policies under which it does",
        does_not_apply=_sees_no_times,
        is_for_some=True,
    )
    def test_accepted_clips_work(self, trial: ModuleTrial) -> None:
        """Under each clip in accepted_clips the module computes a result, also of events without an end."""
        window = trial.subject.window
        for policy in ClipPolicy:
            if policy in trial.subject.module.accepted_clips:
                trial.place(window, policy)
                trial.subject.result(trial.members())

    @law("do not look at lifetimes, or leave reads_times as it is", does_not_apply=_reads_times, is_for_some=True)
    def test_unread_times_do_not_matter(self, trial: ModuleTrial) -> None:
        """A module that declares reads_times = False gives the same result whatever the lifetimes of its members."""
        members, others = trial.members("member"), trial.members("with times of")
        times = [others[place % len(others)].lifetime for place in range(len(members))]
        moved = [Event(time.start, time.end, event.payload) for time, event in zip(times, members, strict=True)]
        trial.expect_same(
            ("as drawn", trial.subject.result(members)), ("with other times", trial.subject.result(moved))
        )


class LifetimeLaws(ModuleLaws):
    """An operator that writes times keeps its contract."""

    @law(
        "start no output before the window and, if time-bound, before the change that causes it; or declare less",
        does_not_apply=_is_unrestricted,
        is_for_some=True,
    )
    def test_outputs_obey_the_contract(self, trial: ModuleTrial) -> None:
        """No output starts before its window; if time-bound, a change alters no output before its sync time."""
        members = trial.members("member")
        rows = _events(trial, members)
        early = [row for row in rows if row.start < trial.subject.window.start]
        trial.expect(not early, lambda: f"outputs that start before their window: {early}")
        if trial.subject.module.contract is OutputContract.TIME_BOUND:
            _expect_time_bound(trial, members, rows)


def _expect_time_bound(trial: ModuleTrial, members: list[Event[object]], rows: list[Event[object]]) -> None:
    changed, sync_time = _changed(trial, members)
    before, after = _until(sync_time, rows), _until(sync_time, _events(trial, changed))
    trial.expect(
        same_bag(before, after, trial.tolerance),
        lambda: f"output before {sync_time}, the change's sync time: {before}\nwith the change: {after}",
    )


def _changed(trial: ModuleTrial, members: list[Event[object]]) -> tuple[list[Event[object]], int]:
    """Return the members after one more came, or one of them got another end, and the change's sync time."""
    more, *_ = trial.members("change")
    if trial.draw(st.booleans()):
        return [*members, more], more.start
    first, *rest = members
    end = max(more.end, first.start + 1)
    trial.stream.append(f"the change is a new end for the first member: {end}")
    return [Event(first.start, end, first.payload), *rest], min(first.end, end)


def _events(trial: ModuleTrial, members: list[Event[object]]) -> list[Event[Any]]:
    window = trial.subject.window
    rows = trial.subject.result(members)
    return [row if isinstance(row, Event) else Event(window.start, window.end, row) for row in rows]


def _until(time: int, rows: Iterable[Event[object]]) -> list[Event[object]]:
    """Cut rows to the part of the axis before a time."""
    return [Event(row.start, min(row.end, time), row.payload) for row in rows if EARLIEST < row.start < time]
