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

MOST_ACTIONS: Final = 10_000
"""Windows that do more than this for a row are taken for ones that never come to an end."""

_ALL_LEAVE: Final = (ActionKind.FLUSH, ActionKind.REMOVE)


class RowWindowTrial(Trial):
    """Draws rows of one key, and looks at what windows do.

    Attributes:
        windows: A fresh copy of the windows.
    """

    def __init__(self, law: Law, laws: Any, data: object) -> None:
        """Prepare an attempt."""
        super().__init__(law, laws, data)
        self.windows = self.another()

    def another(self) -> RowWindows:
        """Return a fresh copy of the windows, without anything cached."""
        windows: RowWindows = replace(self.tested)
        return windows

    def rows(self) -> list[Row]:
        """Draw rows in order, several at a time now and then."""
        rows, time = [], self.draw(st.integers(-20, 5))
        for number in range(1, self.draw(st.integers(0, 14)) + 1):
            time += self.draw(st.sampled_from([0, 1, 1, 2, 9]))
            values = tuple(self.draw(self.laws.values) for _ in self.windows.reads)
            rows.append(Row(number, time, values))
            self.stream.append(Bar(f"row {number}", time, time + 1, ", ".join(map(repr, values))))
        return rows

    def step(self, state: object, row: Row, windows: RowWindows | None = None) -> list[Action]:
        """Return the actions that a row brings."""
        asked = windows or self.windows
        return self.done("step", lambda: asked.step(state, row))

    def advance(self, state: object, tick: int) -> list[Action]:
        """Return the actions that time brings."""
        return self.done("advance", lambda: self.windows.advance(state, tick))

    def done(self, method: str, call: Callable[[], Iterable[Action]]) -> list[Action]:
        """Return the actions of a call; an exception, or no end of them, breaks the law."""
        found = self.call(method, lambda: [*islice(call(), MOST_ACTIONS)])
        self.expect(len(found) < MOST_ACTIONS, f"{method} does {MOST_ACTIONS} things and more")
        return found

    def all_of(self, rows: Iterable[Row], windows: RowWindows | None = None) -> list[Action]:
        """Return the actions for the rows of a new key."""
        asked = windows or self.windows
        state = asked.create_state()
        return [action for row in rows for action in self.step(state, row, asked)]

    def expect_actions(self, left: str, some: list[Action], right: str, others: list[Action]) -> None:
        """Raise unless two lists of actions are equal."""
        self.expect(some == others, lambda: f"{left}: {_told(some)}\n{right}: {_told(others)}")


class FollowedMembers:
    """Follows who is a member of which partition."""

    def __init__(self, trial: RowWindowTrial) -> None:
        self._trial = trial
        self._held: dict[Hashable, dict[int, int]] = {}

    def take(self, actions: Iterable[Action], row: Row | None) -> None:
        """Take what is done for a row, or for time; raise where members are not what they must be."""
        expect, inserted = self._trial.expect, 0
        for action in actions:
            (kind, partition, numbers, window), told = action, _told([action])
            held = self._held.setdefault(partition, {})
            if kind is ActionKind.INSERT:
                inserted += 1
                expect(row is not None and numbers == (row.number,) and inserted == 1, f"{told}, and the row is {row}")
                held[numbers[0]] = 0 if row is None else row.time
            elif kind in (ActionKind.TRIGGER, ActionKind.FLUSH):
                if window is None:
                    raise self._trial.broken(f"{told} has no window")
                outside = [number for number, time in held.items() if not window.start <= time < window.end]
                is_around = window.start < window.end and not outside
                expect(is_around, f"{told} has members outside its window: {outside}")
            elif kind is ActionKind.EVICT:
                expect(set(numbers) <= set(held), f"{told}, and the members are {[*held]}")
            gone = numbers if kind is ActionKind.EVICT else [*held] if kind in _ALL_LEAVE else ()
            for number in gone:
                del held[number]


def _told(actions: Iterable[Action]) -> str:
    return (
        "; ".join(
            f"{kind}{f' {[*rows]}' if rows else ''}{f' of {partition!r}' if partition != 0 else ''}"
            f"{f' [{window.start}, {window.end})' if window else ''}"
            for kind, partition, rows, window in actions
        )
        or "nothing"
    )


class RowWindowLaws(Conformance, of=RowWindows, subject="windows", trial=RowWindowTrial):
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
                trial.expect(later > tick, f"after {tick} comes {later}")
            stepwise += trial.advance(state, row.time)
            stepwise += trial.step(state, row)
        trial.expect_actions("tick by tick", stepwise, "with the rows", trial.all_of(rows, trial.another()))

    @law("make to_data return numbers, text and lists of these, from which from_data makes the state again")
    def test_the_state_and_the_windows_are_plain_data(self, trial: RowWindowTrial) -> None:
        """A state goes on after a checkpoint as it would have without; the windows themselves can be written too."""
        windows, rows = trial.windows, trial.rows()
        state, found = windows.create_state(), []
        for row in rows:
            state = windows.from_data(trial.stored(windows.to_data(state)))
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
