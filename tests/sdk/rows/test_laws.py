"""The laws of row windows: Muntin's own keep them, and for each law there are windows that break it alone.

The state of the windows here has the number and the time of each member, from the oldest on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest

from muntin import Window
from muntin.rows import Action, ActionKind, RankedWindows, Row, RowWindows, batch, between, delta, elapsed, last, marker
from muntin.testing import LawError, RowWindowLaws, laws_of


@dataclass(frozen=True)
class Pairs(RowWindows):
    """Keeps all laws: each row together with the row before it, as soon as there is one."""

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
    """Has rows for three ticks, and forgets to advance time when a row comes, though another has to leave first."""

    def step(self, state: Any, row: Row) -> Iterator[Action]:
        state.append([row.number, row.time])
        yield Action(ActionKind.INSERT, rows=(row.number,))

    def next_tick(self, state: Any) -> int:
        return state[0][1] + 3 if state else super().next_tick(state)

    def advance(self, state: Any, tick: int) -> Iterator[Action]:
        while state and state[0][1] + 3 <= tick:
            yield Action(ActionKind.EVICT, rows=(state.pop(0)[0],))


class Forgetful(Pairs):
    """Leaves the row that it holds out of the data of a state."""

    def to_data(self, state: Any) -> Any:
        return []


@dataclass(frozen=True)
class Counting(Pairs):
    """Counts the keys on itself, and drops the rows of all keys but the first."""

    keys: list[None] = field(default_factory=list, compare=False, repr=False, init=False)

    def create_state(self) -> Any:
        self.keys.append(None)
        return []

    def step(self, state: Any, row: Row) -> Iterator[Action]:
        is_first_key = len(self.keys) == 1
        return super().step(state, row) if is_first_key else iter(())

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.name, "version": self.version}


class Hasty(Pairs):
    """Says that its later windows start after the row that it holds."""

    def earliest_start(self, state: Any, tick: int) -> int:
        return tick + 1


class Misranked(Pairs):
    """Says that windows have one row, at every second one; and has two in each, at every row but the first."""

    def by_rank(self) -> RankedWindows:
        return RankedWindows(size=1, every=2)


HOSTILE = {
    "test_only_members_leave": Leaky(),
    "test_it_makes_no_difference_how_time_advances": Slow(),
    "test_the_state_and_the_windows_are_plain_data": Forgetful(),
    "test_only_the_state_is_remembered": Counting(),
    "test_later_windows_start_where_was_said": Hasty(),
    "test_windows_are_those_by_rank": Misranked(),
}
"""By law: windows that break it alone."""

LAWS = list(laws_of(RowWindowLaws))
HONEST: list[RowWindows] = [
    last(3).trigger(2),
    last(2).trigger(3).when_full(),
    last(4),
    last(elapsed(4)).trigger(elapsed(3)).with_empty(),
    last(delta("v", 1)).trigger(delta("v", 2, start=0)).when_full(),
    last(2).trigger(elapsed(2)).partition("p", age=4, most=2, most_rows=3),
    batch(3).partition("p", most=2),
    last(2).admit("a").partition("p"),
    between("o", "c").admit("a"),
    batch(elapsed(5)),
    batch(delta("v", 2)),
    batch(3, within=4).partition("p", most=2),
    batch(marker("m"), within=3).partition("p", age=2),
    batch(marker("m")).with_empty(),
    between("o", "c", within=6),
    between("o", "c", closing_row=False, reopens=True, closed_only=True).partition("p", age=4, most=2),
    between("o"),
    between(closes="c").partition("p", most_rows=3),
    Pairs(),
]


def laws_broken_by(windows: RowWindows) -> list[str]:
    """Try all laws on windows, as a test class of a module writer would, and return the names of those that fail."""
    laws: Any = type("TestWindows", (RowWindowLaws,), {"windows": windows})()
    broken_laws: list[str] = []
    for law in LAWS:
        try:
            getattr(laws, law)()
        except LawError:
            broken_laws.append(law)
    return broken_laws


def test_each_of_the_six_laws_has_windows_that_break_it() -> None:
    assert len(LAWS) == 6
    assert set(LAWS) == set(HOSTILE)


@pytest.mark.parametrize("windows", HONEST, ids=str)
def test_row_windows_keep_all_laws(windows: RowWindows) -> None:
    assert laws_broken_by(windows) == []


@pytest.mark.parametrize("law", HOSTILE)
def test_windows_that_break_one_law_are_found_by_that_law_alone(law: str) -> None:
    assert laws_broken_by(HOSTILE[law]) == [law]
