"""The laws of row windows."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, ClassVar

from hypothesis import strategies as st

from muntin.axis import INFINITY
from muntin.rows import RowWindows
from muntin.testing.laws.conformance import Conformance
from muntin.testing.laws.law import Law, law
from muntin.testing.laws.row_window_trial import FollowedMembers, RowWindowTrial
from muntin.testing.plain_data import restored


class RowWindowLaws(Conformance):
    """The laws of row windows, tried on random rows of one key.

    Attributes:
        windows: The windows under test, with lengths of a few rows or ticks.
        values: What the expressions that the windows read may be; small numbers by default.

    Example:
        >>> from muntin.rows import last
        >>> class TestLast(RowWindowLaws):
        ...     windows = last(3).trigger(2)
        >>> TestLast().test_only_members_leave()
    """

    windows: ClassVar[RowWindows]
    values: ClassVar[st.SearchStrategy[Any]] = st.integers(0, 4)

    _subject_name: ClassVar[str] = "windows"
    _subject_type: ClassVar[type] = RowWindows

    @classmethod
    def attempt(cls, law: Law, body: Callable[[Any, Any], None], data: Any) -> None:
        """Try a law once, on fresh windows."""
        body(cls(), RowWindowTrial(law, cls.subject(), cls.values, data))

    @law("insert a row when it comes, evict members alone, flush all of them; windows hold their members' times")
    def test_only_members_leave(self, trial: RowWindowTrial) -> None:
        """A row becomes a member once, when it comes; members leave once, and lie in the windows that have them."""
        windows, members = trial.windows, FollowedMembers(trial)
        state, newest = windows.create_state(), 0
        for row in trial.rows():
            members.take(trial.step(state, row), row)
            newest = row.time
        members.take(trial.advance(state, newest + trial.draw(st.integers(0, 9))), None)
        members.take(trial.done("close", lambda: windows.close(state, newest + 20)), None)

    @law("do what is due by a tick in advance, also for the tick of the next row, and name the next one in next_tick")
    def test_it_makes_no_difference_how_time_advances(self, trial: RowWindowTrial) -> None:
        """Time may come with the next row, at once or tick by tick; after it nothing is due any more."""
        windows, rows = trial.windows, trial.rows()
        state, stepwise = windows.create_state(), []
        for row in rows:
            while (tick := windows.next_tick(state)) <= row.time:
                stepwise += trial.advance(state, tick)
                later = windows.next_tick(state)
                trial.expect(later > tick, lambda tick=tick, later=later: f"after {tick} comes {later}")  # type: ignore[misc]
            stepwise += trial.advance(state, row.time)
            stepwise += trial.step(state, row)
        trial.expect_actions("tick by tick", stepwise, "with the rows", trial.all_of(rows, trial.another()))

    @law("make to_data return numbers, text and lists of these, from which from_data makes the state again")
    def test_the_state_and_the_windows_are_plain_data(self, trial: RowWindowTrial) -> None:
        """A state goes on after a checkpoint as it would have without; the windows themselves can be written too."""
        windows, rows = trial.windows, trial.rows()
        state, found = windows.create_state(), []
        for row in rows:
            try:
                state = windows.from_data(restored(windows.to_data(state)))
            except TypeError as error:
                raise trial.broken(f"{windows.to_data(state)!r} cannot be stored: {error}") from None
            found += trial.step(state, row)
        trial.expect_actions("with checkpoints", found, "without", trial.all_of(rows, trial.another()))
        data = windows.to_dict()
        try:
            again = windows.from_dict(json.loads(json.dumps(data)))
        except (TypeError, ValueError) as error:
            raise trial.broken(f"{data!r} cannot be stored: {error}") from None
        trial.expect(again == windows, lambda: f"{windows!r} is read as {again!r}")

    @law("follow the state alone: keep nothing on the windows, and start anew where is_empty says so")
    def test_only_the_state_is_remembered(self, trial: RowWindowTrial) -> None:
        """Other keys make no difference, nor does a state that is empty and forgotten."""
        windows, rows, others = trial.windows, trial.rows(), trial.rows()
        trial.all_of(others)
        state, found = windows.create_state(), []
        for row in rows:
            if windows.is_empty(state):
                state = windows.create_state()
            found += trial.step(state, row)
        computed = [action for action in found if action.window is not None]
        alone = [action for action in trial.all_of(rows, trial.another()) if action.window is not None]
        trial.expect_actions("among other keys", computed, "alone", alone)

    @law("return from earliest_start a time before which no window starts that is computed later")
    def test_later_windows_start_where_was_said(self, trial: RowWindowTrial) -> None:
        """A window computed after a tick starts no earlier than was said at that tick, and ends at it or later."""
        windows, rows = trial.windows, trial.rows()
        state, least, complete = windows.create_state(), -INFINITY, -INFINITY
        for row in rows:
            for _, _, _, window in [*trial.advance(state, row.time), *trial.step(state, row)]:
                if window is not None and (window.start < least or window.end < complete):
                    raise trial.broken(
                        f"after {complete}, {window} is computed; the least start was said to be {least}"
                    )
            complete = row.time
            least = windows.earliest_start(state, complete)
