"""The laws of kinds of windows: Muntin's own kinds keep them, and for each there is a kind that breaks it alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from muntin import (
    INFINITY,
    count_by_end,
    count_by_start,
    cumulate,
    global_windows,
    hopping,
    landmark,
    session,
    snapshot,
    trailing,
    tumbling,
)
from muntin.testing import LawError, WindowKindLaws, laws_of
from muntin.windows import TrailingWindows, WindowKind
from tests.hostile.muntin_hostile.windows import HOSTILE_GRIDS, HOSTILE_KINDS, Each, Growing

LAWS = list(laws_of(WindowKindLaws))
OWN: list[WindowKind] = [
    tumbling(8),
    hopping(10, 3, -5),
    hopping(4, 9, 1),
    hopping(3, 8, reach=4),
    snapshot(),
    count_by_start(1),
    count_by_start(3),
    count_by_end(2),
    count_by_start(1, every=2),
    count_by_start(3, every=3),
    count_by_start(3, every=2),
    count_by_start(2, every=5),
    count_by_end(1, every=3),
    count_by_end(2, every=2),
    count_by_end(4, every=3),
    session(1),
    session(5),
    cumulate(9, 3, 1),
    cumulate(4, 1),
    trailing(6),
    trailing(7, every=3),
    landmark(4, -3),
    global_windows(),
    Each(),
    Growing(),
    Growing(3, 2),
    Growing(1, 1),
    Growing(1, 3),
]


def laws_for(kind: WindowKind) -> Any:
    return type("TestKind", (WindowKindLaws,), {"kind": kind})()


def broken_by(kind: WindowKind) -> list[str]:
    found: list[str] = []
    for law in LAWS:
        try:
            getattr(laws_for(kind), law)()
        except LawError:
            found.append(law)
    return found


def test_there_are_twelve_laws() -> None:
    assert len(LAWS) == 12
    assert set(LAWS) == set(HOSTILE_KINDS)


@pytest.mark.parametrize("kind", OWN, ids=str)
def test_a_kind_keeps_all_laws(kind: WindowKind) -> None:
    """Duality (TH-08) is one: an event is in the extent of a window if, and only if, the window is among its ids."""
    assert broken_by(kind) == []


@pytest.mark.parametrize("law", HOSTILE_KINDS)
def test_a_kind_that_breaks_one_law_is_found_by_that_law_alone(law: str) -> None:
    assert broken_by(HOSTILE_KINDS[law]) == [law]


@pytest.mark.parametrize("kind", HOSTILE_GRIDS, ids=lambda kind: type(kind).__name__)
def test_a_grid_of_other_periods_than_those_of_the_windows_is_found(kind: WindowKind) -> None:
    assert broken_by(kind) == ["test_a_shortcut_makes_the_same_windows"]


@dataclass(frozen=True)
class _Backwards(Each):
    """Says that later windows begin earlier."""

    def extent_start(self, start: int) -> int:
        return -abs(start)


def test_extents_that_do_not_ascend_break_the_order() -> None:
    assert broken_by(_Backwards()) == ["test_windows_ascend_in_start_and_in_end"]


def test_a_kind_that_counts_on_for_a_key_without_events_has_to_say_so() -> None:
    class Restarting(TrailingWindows):
        def outlives(self, carried: tuple[int, int] | None) -> bool:
            return False

    assert broken_by(Restarting(4, every=3)) == ["test_what_is_carried_replaces_what_is_forgotten"]


@pytest.mark.parametrize(
    ("kind", "method", "wrong"),
    [
        (trailing(6), "membership", lambda kind, start, end: (start, min(end + kind.length, INFINITY))),
        (hopping(3, 8, reach=4), "membership", lambda kind, start, end: (start, min(end + kind.reach + 1, INFINITY))),
        (cumulate(9, 3, 1), "extent_start", lambda kind, start: start // kind.size * kind.size),
    ],
    ids=["a tick too long", "a reach too long", "another offset"],
)
def test_a_kind_of_muntin_is_compared_with_its_definition(
    kind: WindowKind, method: str, wrong: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Members that follow from the same membership as the windows of an event would agree with these."""
    monkeypatch.setattr(type(kind), method, wrong)
    with pytest.raises(LawError, match="members and windows are dual"):
        laws_for(kind).test_members_and_windows_are_dual()


def test_a_broken_law_shows_a_stream_and_what_to_do() -> None:
    with pytest.raises(LawError) as broken:
        laws_for(
            HOSTILE_KINDS["test_what_is_carried_replaces_what_is_forgotten"]
        ).test_what_is_carried_replaces_what_is_forgotten()
    told = str(broken.value)
    assert told.startswith("snapshot 1.0 breaks the law: what is carried replaces what is forgotten")
    assert "watermark" in told
    assert "to do: return from carried what cut needs" in told
