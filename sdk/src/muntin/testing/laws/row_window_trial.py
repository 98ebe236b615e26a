"""One attempt to break a law of row windows."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from typing import Any, Final

from hypothesis import strategies as st

from muntin.rows import Action, ActionKind, Row, RowWindows
from muntin.testing.drawings import Bar
from muntin.testing.laws.law import Law
from muntin.testing.laws.trial import Trial

MOST_ACTIONS: Final = 10_000
"""Windows that do more than this for a row are taken for ones that never come to an end."""

_ALL_LEAVE: Final = (ActionKind.FLUSH, ActionKind.REMOVE)


class RowWindowTrial(Trial):
    """Draws rows of one key, and looks at what windows do.

    Attributes:
        windows: The windows.
    """

    def __init__(self, law: Law, windows: RowWindows, values: st.SearchStrategy[Any], data: object) -> None:
        """Prepare an attempt."""
        super().__init__(law, f"{windows.name} {windows.version}", 0.0, data)
        self._given: Any = windows
        self._values = values
        self.windows = self.another()

    def another(self) -> RowWindows:
        """Return a fresh copy of the windows, without anything cached."""
        windows: RowWindows = replace(self._given)
        return windows

    def rows(self) -> list[Row]:
        """Draw rows in order, several at a time now and then."""
        rows, time = [], self.draw(st.integers(-20, 5))
        for number in range(1, self.draw(st.integers(0, 14)) + 1):
            time += self.draw(st.sampled_from([0, 1, 1, 2, 9]))
            values = tuple(self.draw(self._values) for _ in self.windows.reads)
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
        found: list[Action] = []
        try:
            for action in call():
                found.append(action)
                self.expect(len(found) < MOST_ACTIONS, lambda: f"{method} does {MOST_ACTIONS} things and more")
        except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
            raise self.broken(f"{method} raised {type(error).__name__}: {error}") from error
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
        trial, inserted = self._trial, 0
        for action in actions:
            held, told = self._held.setdefault(action.partition, {}), _told([action])
            if action.kind is ActionKind.INSERT:
                inserted += 1
                is_it = row is not None and action.rows == (row.number,) and inserted == 1
                trial.expect(is_it, lambda told=told: f"{told}, and the row is {row}")  # type: ignore[misc]
                held[action.rows[0]] = 0 if row is None else row.time
            elif action.kind in (ActionKind.TRIGGER, ActionKind.FLUSH):
                window = action.window
                trial.expect(window is not None, lambda told=told: f"{told} has no window")  # type: ignore[misc]
                assert window is not None
                outside = [number for number, time in held.items() if not window.start <= time < window.end]
                trial.expect(
                    window.start < window.end and not outside,
                    lambda told=told, outside=outside: f"{told} has members outside its window: {outside}",  # type: ignore[misc]
                )
            if action.kind is ActionKind.EVICT:
                is_known = set(action.rows) <= set(held)
                trial.expect(is_known, lambda told=told, held=held: f"{told}, and the members are {[*held]}")  # type: ignore[misc]
            gone = action.rows if action.kind is ActionKind.EVICT else [*held] if action.kind in _ALL_LEAVE else ()
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
