"""Physical streams and the canonical history table they add up to (SI-11 to SI-17)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import pytest

from muntin import INFINITY, Event
from muntin.changes import Change, Insertion, Punctuation, Revision, fold, retraction
from muntin.errors import StreamError

P1, P2 = "P1", "P2"


def meaning(*changes: Change[str]) -> Mapping[tuple[Hashable, int], Event[str]]:
    return fold(changes)


#          1    5    10
# E0       [---------------->   inserted
# E0       [--------)           ended at 10
# E0       [---)                ended at 5
# E1          [----)            inserted
def test_table_2_of_the_paper_folds_to_table_1() -> None:
    table = meaning(
        Insertion("E0", Event(1, INFINITY, P1)),
        Revision("E0", Event(1, INFINITY, P1), 10),
        Revision("E0", Event(1, 10, P1), 5),
        Insertion("E1", Event(4, 9, P2)),
    )
    assert table == {("E0", 1): Event(1, 5, P1), ("E1", 4): Event(4, 9, P2)}


def test_punctuation_does_not_change_the_table() -> None:
    assert meaning(Insertion(1, Event(4, 9, P1)), Punctuation(9), Punctuation(INFINITY)) == {(1, 4): Event(4, 9, P1)}


def test_a_new_end_equal_to_the_start_deletes_the_event() -> None:
    event = Event(4, 9, P1)
    assert retraction(1, event) == Revision(1, event, 4)
    assert retraction(1, event).is_retraction
    assert meaning(Insertion(1, event), retraction(1, event)) == {}


def test_a_deleted_event_may_be_inserted_anew() -> None:
    event = Event(4, 9, P1)
    assert meaning(Insertion(1, event), retraction(1, event), Insertion(1, Event(5, 6, P2))) == {
        (1, 5): Event(5, 6, P2)
    }


def test_a_new_end_before_the_start_is_refused() -> None:
    with pytest.raises(StreamError, match="event 'E0' starts at 4 and cannot end at 3"):
        Revision("E0", Event(4, 9, P1), 3)


@pytest.mark.parametrize(
    ("change", "sync_time"),
    [
        (Insertion(1, Event(4, 9, P1)), 4),
        (Revision(1, Event(4, 9, P1), 6), 6),
        (Revision(1, Event(4, 9, P1), 12), 9),
        (Revision(1, Event(4, INFINITY, P1), 12), 12),
        (Revision(1, Event(4, 9, P1), 4), 4),
        (Punctuation(7), 7),
    ],
    ids=str,
)
def test_the_sync_time_is_where_the_axis_changes_first(change: Change[Any], sync_time: int) -> None:
    assert change.sync_time == sync_time


def test_an_id_that_is_alive_cannot_be_inserted() -> None:
    with pytest.raises(StreamError, match="event 1 is inserted twice"):
        meaning(Insertion(1, Event(4, 9, P1)), Insertion(1, Event(4, 7, P1)))


def test_two_events_of_one_id_start_at_different_ticks() -> None:
    first, second = Event(4, 9, P1), Event(5, 9, P2)
    table = meaning(Insertion(1, first), Insertion(1, second), Revision(1, second, 7))
    assert table == {(1, 4): first, (1, 5): Event(5, 7, P2)}


def test_a_revision_must_know_the_event_it_revises() -> None:
    with pytest.raises(StreamError, match=r"a revision of event 1 expects .*end=8.*, the table has .*end=9"):
        meaning(Insertion(1, Event(4, 9, P1)), Revision(1, Event(4, 8, P1), 6))
    with pytest.raises(StreamError, match="the table has None"):
        meaning(Revision(1, Event(4, 8, P1), 6))
