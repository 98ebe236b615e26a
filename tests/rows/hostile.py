"""Row windows that break the laws of `RowWindowLaws`: one for each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from muntin import Window
from muntin.rows import Action, ActionKind, Row, RowWindows


@dataclass(frozen=True)
class Pairs(RowWindows):
    """Keeps all laws: each row with the one before it."""

    name: ClassVar[str] = "hostile.pairs"
    version: ClassVar[str] = "1.0"

    def create_state(self) -> Any:
        return []

    def step(self, state: Any, row: Row) -> Iterator[Action]:
        yield from self.advance(state, row.time)
        state.append([row.number, row.time])
        yield Action(ActionKind.INSERT, rows=(row.number,))
        if len(state) == 2:
            yield Action(ActionKind.TRIGGER, window=Window(state[0][1], row.time + 1))
            yield from self.drop(state)

    def drop(self, state: Any) -> Iterator[Action]:
        yield Action(ActionKind.EVICT, rows=(state.pop(0)[0],))

    def earliest_start(self, state: Any, tick: int) -> int:
        return state[0][1] if state else tick


class Leaky(Pairs):
    """Evicts a row that is no member any more."""

    def drop(self, state: Any) -> Iterator[Action]:
        yield from super().drop(state)
        yield Action(ActionKind.EVICT, rows=(state[0][0] - 1,))


class Slow(Pairs):
    """Forgets to advance time when a row comes, though something is due."""

    def step(self, state: Any, row: Row) -> Iterator[Action]:
        state.append([row.number, row.time])
        yield Action(ActionKind.INSERT, rows=(row.number,))

    def next_tick(self, state: Any) -> int:
        return state[0][1] + 3 if state else super().next_tick(state)

    def advance(self, state: Any, tick: int) -> Iterator[Action]:
        while state and state[0][1] + 3 <= tick:
            yield Action(ActionKind.EVICT, rows=(state.pop(0)[0],))


class Forgetful(Pairs):
    """Does not write the row that it holds."""

    def to_data(self, state: Any) -> Any:
        return []


@dataclass(frozen=True)
class Counting(Pairs):
    """Drops the rows of all keys but the first."""

    seen: list[int] = field(default_factory=list, compare=False, repr=False, init=False)

    def create_state(self) -> Any:
        self.seen.append(1)
        return []

    def step(self, state: Any, row: Row) -> Iterator[Action]:
        return super().step(state, row) if len(self.seen) < 2 else iter(())

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.name, "version": self.version}


class Hasty(Pairs):
    """Says that its windows start after the row that it holds."""

    def earliest_start(self, state: Any, tick: int) -> int:
        return tick + 1


HOSTILE = {
    "test_only_members_leave": Leaky(),
    "test_it_makes_no_difference_how_time_advances": Slow(),
    "test_the_state_and_the_windows_are_plain_data": Forgetful(),
    "test_only_the_state_is_remembered": Counting(),
    "test_later_windows_start_where_was_said": Hasty(),
}
