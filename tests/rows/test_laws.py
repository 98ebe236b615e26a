"""The laws of row windows: Muntin's own keep them, and for each there are windows that break it alone."""

from __future__ import annotations

from typing import Any

import pytest

from muntin.rows import RowWindows, batch, between, delta, elapsed, last, marker
from muntin.testing import LawError, RowWindowLaws, laws_of
from tests.rows.hostile import HOSTILE, Pairs

LAWS = list(laws_of(RowWindowLaws))
OWN: list[RowWindows] = [
    last(3).trigger(2),
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


def broken_by(windows: RowWindows) -> list[str]:
    laws: Any = type("TestWindows", (RowWindowLaws,), {"windows": windows})()
    found: list[str] = []
    for law in LAWS:
        try:
            getattr(laws, law)()
        except LawError:
            found.append(law)
    return found


def test_there_are_five_laws() -> None:
    assert len(LAWS) == 5
    assert set(LAWS) == set(HOSTILE)


@pytest.mark.parametrize("windows", OWN, ids=str)
def test_row_windows_keep_all_laws(windows: RowWindows) -> None:
    assert broken_by(windows) == []


@pytest.mark.parametrize("law", HOSTILE)
def test_windows_that_break_one_law_are_found_by_that_law_alone(law: str) -> None:
    assert broken_by(HOSTILE[law]) == [law]
