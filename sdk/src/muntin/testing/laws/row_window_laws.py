"""The laws of windows that follow rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from itertools import islice
from typing import Any, ClassVar, Final

from hypothesis import strategies as st

from muntin.axis import INFINITY
from muntin.drawings import Bar
from muntin.rows import Action, ActionKind, Row, RowWindows
from muntin.testing.laws.conformance import Conformance, law
from muntin.testing.laws.trial import Law, Trial
from muntin.windows.extent import Window

MOST_ACTIONS: Final = 10_000
"""The number of actions for a row beyond which windows are taken for endless."""

_ALL_LEAVE: Final = (ActionKind.FLUSH, ActionKind.REMOVE)
"""The actions with which all members of a partition leave."""


class RowWindowTrial(Trial):
    """Draws rows of one key, and collects the actions of windows.

    Attributes:
        windows: A fresh copy of the windows.
    """

    def __init__(self, law: Law, laws: Any, data: object) -> None:
        """Prepare an attempt; the arguments are those of `Trial`."""
        super().__init__(law, laws, data)
        self.windows = self.fresh_copy()

    def fresh_copy(self) -> RowWindows:
        """Return a fresh copy of the windows, without anything cached."""
        windows: RowWindows = replace(self.tested)
        return windows

    def rows(self) -> list[Row]:
        """Draw rows in the order of their times, several of them at one time now and then."""
        rows: list[Row] = []
        time = self.draw(st.integers(-20, 5))
        for number in range(1, self.draw(st.integers(0, 14)) + 1):
            time += self.draw(st.sampled_from([0, 1, 1, 2, 9]))
            values = tuple(self.draw(self.laws.values) for _ in self.windows.reads)
            rows.append(Row(number, time, values))
            text = ", ".join(map(repr, values))
            self.stream.append(Bar(f"row {number}", time, time + 1, text))
        return rows

    def step(self, state: object, row: Row, windows: RowWindows | None = None) -> list[Action]:
        """Return the actions of windows for a row; by default of the windows under test."""
        stepping_windows = windows or self.windows
        return self.actions("step", lambda: stepping_windows.step(state, row))

    def advance(self, state: object, tick: int) -> list[Action]:
        """Return the actions of time up to a tick."""
        return self.actions("advance", lambda: self.windows.advance(state, tick))

    def actions(self, method: str, call: Callable[[], Iterable[Action]]) -> list[Action]:
        """Return the actions that a call yields; an exception, or actions without end, break the law."""
        actions = self.call(method, lambda: [*islice(call(), MOST_ACTIONS)])
        self.expect(len(actions) < MOST_ACTIONS, f"{method} does {MOST_ACTIONS} things and more")
        return actions

    def all_of(self, rows: Iterable[Row], windows: RowWindows | None = None) -> list[Action]:
        """Return the actions of windows for the rows of a new key; by default of the windows under test."""
        stepping_windows = windows or self.windows
        state = stepping_windows.create_state()
        actions: list[Action] = []
        for row in rows:
            actions += self.step(state, row, stepping_windows)
        return actions

    def expect_actions(self, left: str, left_actions: list[Action], right: str, right_actions: list[Action]) -> None:
        """Raise unless two lists of actions, each with a description, are equal."""
        are_equal = left_actions == right_actions
        self.expect(are_equal, lambda: f"{left}: {_spell(left_actions)}\n{right}: {_spell(right_actions)}")


class FollowedMembers:
    """The members of each partition, as the actions of windows say."""

    def __init__(self, trial: RowWindowTrial) -> None:
        self._trial = trial
        # For each partition the times of its members, by the number of the row.
        self._times: dict[Hashable, dict[int, int]] = {}

    def add_actions(self, actions: Iterable[Action], row: Row | None) -> None:
        """Change the members by the actions of a step; raise where the actions do not fit the members.

        Args:
            actions: The actions.
            row: The row that came; None if time alone has passed.
        """
        expect = self._trial.expect
        inserted = 0
        for action in actions:
            # Follow the members by the actions alone; each action must fit those that came before.
            kind, partition, numbers, window = action
            spelled = _spell([action])
            members = self._times.setdefault(partition, {})

            # Only the row that came is inserted, and only once.
            if kind is ActionKind.INSERT:
                inserted += 1
                if row is None or numbers != (row.number,) or inserted > 1:
                    raise self._trial.broken(f"{spelled}, and the row is {row}")
                members[row.number] = row.time
            # A window that is computed has all members in it.
            elif kind in (ActionKind.TRIGGER, ActionKind.FLUSH):
                if window is None:
                    raise self._trial.broken(f"{spelled} has no window")
                outside = [number for number, time in members.items() if not window.start <= time < window.end]
                holds_members = window.start < window.end and not outside
                expect(holds_members, f"{spelled} has members outside its window: {outside}")
            # Only members leave.
            elif kind is ActionKind.EVICT:
                expect(set(numbers) <= set(members), f"{spelled}, and the members are {[*members]}")
                for number in numbers:
                    del members[number]
            if kind in _ALL_LEAVE:
                members.clear()


def _spell(actions: Iterable[Action]) -> str:
    """Describe actions in a line, for reports."""
    spelled: list[str] = []
    for kind, partition, rows, window in actions:
        text = str(kind)
        if rows:
            text += f" {[*rows]}"
        if partition != 0:  # the one partition of windows that have no partitions
            text += f" of {partition!r}"
        if window is not None:
            text += f" [{window.start}, {window.end})"
        spelled.append(text)
    return "; ".join(spelled) or "nothing"


class RowWindowLaws(Conformance, of=RowWindows, subject="windows", trial=RowWindowTrial):
    """The laws of row windows, tried on random rows of one key.

    Attributes:
        windows: The windows under test, with lengths of a few rows or ticks.
        values: A strategy for the values of the expressions that the windows read; small numbers by default.

    Example:
        >>> from muntin.rows import last
        >>> class TestLast(RowWindowLaws):
        ...     windows = last(3).trigger(2)
        >>> TestLast().test_only_members_leave()
    """

    windows: ClassVar[RowWindows]
    values: ClassVar[st.SearchStrategy[Any]] = st.integers(0, 4)

    @law("insert a row when it comes, evict members alone, flush all of them; windows hold their members' times")
    def test_only_members_leave(self, trial: RowWindowTrial) -> None:
        """A row becomes a member once, when it comes; members leave once, and lie in the windows that have them."""
        windows = trial.windows
        members = FollowedMembers(trial)
        state = windows.create_state()
        newest = 0
        for row in trial.rows():
            members.add_actions(trial.step(state, row), row)
            newest = row.time
        # Some time passes without a row; then the stream ends.
        later = newest + trial.draw(st.integers(0, 9))
        members.add_actions(trial.advance(state, later), row=None)
        end = newest + 20  # after that time
        last_actions = trial.actions("close", lambda: windows.close(state, end))
        members.add_actions(last_actions, row=None)

    @law("do what is due by a tick in advance, also for the tick of the next row, and name the next one in next_tick")
    def test_it_makes_no_difference_how_time_advances(self, trial: RowWindowTrial) -> None:
        """Time may advance to the next row at once or tick by tick; what was due by then is not due again."""
        windows = trial.windows
        rows = trial.rows()
        state = windows.create_state()
        stepwise: list[Action] = []
        for row in rows:
            while (tick := windows.next_tick(state)) <= row.time:
                stepwise += trial.advance(state, tick)
                next_tick = windows.next_tick(state)
                trial.expect(next_tick > tick, f"after {tick} comes {next_tick}")
            stepwise += trial.advance(state, row.time)
            stepwise += trial.step(state, row)
        trial.expect_actions("tick by tick", stepwise, "with the rows", trial.all_of(rows, trial.fresh_copy()))

    @law("make to_data return numbers, text and lists of these, from which from_data makes the state again")
    def test_the_state_and_the_windows_are_plain_data(self, trial: RowWindowTrial) -> None:
        """A state that comes back from a checkpoint goes on as if never stored; windows can be read back, too."""
        windows = trial.windows
        rows = trial.rows()
        state = windows.create_state()
        actions: list[Action] = []
        for row in rows:
            state = windows.from_data(trial.stored(windows.to_data(state)))
            actions += trial.step(state, row)
        trial.expect_actions("with checkpoints", actions, "without", trial.all_of(rows, trial.fresh_copy()))
        data = windows.to_dict()
        try:
            restored_windows = windows.from_dict(json.loads(json.dumps(data)))
        except (TypeError, ValueError) as error:
            raise trial.broken(f"{data!r} cannot be stored: {error}") from None
        trial.expect(restored_windows == windows, lambda: f"{windows!r} is read as {restored_windows!r}")

    @law("follow the state alone: keep nothing on the windows, and start anew where is_empty says so")
    def test_only_the_state_is_remembered(self, trial: RowWindowTrial) -> None:
        """Other keys make no difference, nor does a state that is empty and forgotten."""
        windows = trial.windows
        rows = trial.rows()
        rows_of_another_key = trial.rows()
        # The windows see another key first: whatever they keep of it outside its state changes the actions below.
        trial.all_of(rows_of_another_key)
        state = windows.create_state()
        actions: list[Action] = []
        for row in rows:
            if windows.is_empty(state):
                state = windows.create_state()
            actions += trial.step(state, row)
        # Only windows that are computed are compared, and not all actions: after a new start the action `full`, which
        # says that a window is full for the first time, may come once more.
        computed = [action for action in actions if action.window is not None]
        actions_alone = trial.all_of(rows, trial.fresh_copy())
        computed_alone = [action for action in actions_alone if action.window is not None]
        trial.expect_actions("among other keys", computed, "alone", computed_alone)

    @law("return from earliest_start a time before which no window starts that is computed later")
    def test_later_windows_start_where_was_said(self, trial: RowWindowTrial) -> None:
        """A window computed after a tick starts no earlier than `earliest_start` said then, and ends at it or later."""
        windows = trial.windows
        rows = trial.rows()
        state = windows.create_state()
        earliest_start = -INFINITY
        complete_to = -INFINITY
        for row in rows:
            for _, _, _, window in [*trial.advance(state, row.time), *trial.step(state, row)]:
                if window is not None and (window.start < earliest_start or window.end < complete_to):
                    raise trial.broken(
                        f"after {complete_to}, {window} is computed; the least start was said to be {earliest_start}"
                    )
            complete_to = row.time
            earliest_start = windows.earliest_start(state, complete_to)

    @law("compute the windows that by_rank returns, if it returns any: of the rows of those ranks, and no others")
    def test_windows_are_those_by_rank(self, trial: RowWindowTrial) -> None:
        """Windows that `by_rank` returns are computed at the rows of its ranks, and hold the last rows up to these."""
        windows = trial.windows
        ranked = windows.by_rank()
        if ranked is None:
            return
        rows = trial.rows()
        last_tick = rows[-1].time + 20 if rows else 0  # the stream ends some time after the last row
        state = windows.create_state()
        actions: list[Action] = []
        for row in rows:
            actions += trial.step(state, row)
        actions += trial.advance(state, last_tick)
        actions += trial.actions("close", lambda: windows.close(state, last_tick))

        members: list[int] = []
        computed: list[tuple[list[int], Window]] = []
        for kind, _, numbers, window in actions:
            if kind is ActionKind.INSERT:
                members = [*members, *numbers]
            elif kind is ActionKind.EVICT:
                members = [number for number in members if number not in numbers]
            elif window is not None:  # an action that computes a window gives its extent
                computed.append((members, window))

        expected: list[tuple[list[int], Window]] = []
        for rank, row in enumerate(rows, 1):
            if rank % ranked.every == 0 and (rank >= ranked.size or not ranked.only_full):
                last_rows = rows[max(0, rank - ranked.size) : rank]
                numbers_of_last = [last_row.number for last_row in last_rows]
                expected.append((numbers_of_last, Window(last_rows[0].time, row.time + 1)))
        trial.expect(computed == expected, lambda: f"computed {computed}\nby rank: {expected}")
