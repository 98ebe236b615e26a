"""Refinements of one's own: what is emitted of a window is what its refinement makes of each result."""

from __future__ import annotations

from typing import Any

import pytest

from muntin import ResultRefinement, early, hopping, snapshot
from muntin.errors import ModuleContractError, ModuleFailedError, PolicyError
from muntin.triggers import every_count
from tests.core.build import revision, row
from tests.core.early import at, fed, fired
from tests.core.refinements import Change, Fails, OnlyIfMoved, Renames, Undescribed


def refined(refinement: ResultRefinement, count: int = 1, **properties: Any) -> Any:
    return fed(early(every_count(count), refinement=refinement), **properties)


def test_changes_of_a_sum_add_up_to_it_in_each_window() -> None:
    """
                  0    5    10   15
    events         3  4  2              three batches, in [0, 10) and [5, 15)
    """
    feed = refined(Change(), window=hopping(10, 5))
    assert fired(feed.batch(at(1, 3))) == ["early 0 [-5,5) 3", "early 0 [0,10) 3"]
    assert fired(feed.batch(at(5, 4))) == ["early 1 [0,10) 4", "early 0 [5,15) 4"]
    assert fired(feed.batch(at(8, 2), watermark=12)) == [
        "final 1 [-5,5) 0",
        "final 2 [0,10) 2",
        "early 1 [5,15) 2",
    ]
    assert fired(feed.batch(watermark=15)) == ["final 2 [5,15) 0"]


def test_changes_of_events_that_are_revised_add_up_too() -> None:
    """
                  0    5    10
    a             |------------->       7
    b             |------|---|          2, which is cut from 9 to 4
    c                 |---|             1, which comes with the revision
    """
    feed = refined(Change(), window=hopping(5, 5), has_ids=True)
    assert fired(feed.batch(row("a", 0, 8, 7), row("b", 0, 9, 2))) == ["early 0 [0,5) 9", "early 0 [5,10) 9"]
    assert fired(feed.batch(revision("b", 0, 9, 4), row("c", 3, 6, 1))) == ["early 1 [0,5) 1", "early 1 [5,10) -1"]


def test_a_result_that_hardly_moved_is_not_emitted_and_the_final_one_is() -> None:
    """
                  0                10
    events         4  1  1  1           each in a batch; a result more than 2 away from the last is emitted
    """
    feed = refined(OnlyIfMoved(2))
    results = [fired(feed.batch(at(1, value))) for value in (4, 1, 1, 1)]
    assert results == [["early 0 [0,10) 4"], [], [], ["early 3 [0,10) 7"]]
    assert fired(feed.batch(watermark=10)) == ["final 4 [0,10) 7"]


def test_a_window_that_lost_all_members_is_refined_as_a_new_one() -> None:
    """
                  0    5    10
    a             |----------->         revised to [0, 3), so that [5, 10) is empty until b comes
    b                  |--|
    """
    feed = refined(Change(), window=hopping(5, 5), has_ids=True)
    assert fired(feed.batch(row("a", 0, 9, 7))) == ["early 0 [0,5) 7", "early 0 [5,10) 7"]
    assert fired(feed.batch(revision("a", 0, 9, 3))) == []
    assert fired(feed.batch(row("b", 5, 8, 2))) == ["early 0 [5,10) 2"]


def test_a_failure_names_the_refinement_the_key_and_the_window() -> None:
    with pytest.raises(ModuleFailedError, match=r"test\.fails 1 failed in refine: ZeroDivisionError: at all") as failed:
        refined(Fails()).batch(at(1))
    assert "window: Window(start=0, end=10)" in str(failed.value)


def test_an_answer_with_other_columns_is_refused() -> None:
    with pytest.raises(ModuleContractError, match=r"the refinement test\.renames 1 answered .*\n  expected: a pair"):
        refined(Renames()).batch(at(1))


def test_windows_that_may_cease_to_exist_take_no_refinement_that_never_retracts() -> None:
    with pytest.raises(PolicyError, match="may cease to exist"):
        refined(Change(), window=snapshot())


def test_a_refinement_that_no_checkpoint_can_know_again_is_refused() -> None:
    with pytest.raises(PolicyError, match="expected: a frozen dataclass with a class attribute name"):
        early(every_count(1), refinement=Undescribed())
