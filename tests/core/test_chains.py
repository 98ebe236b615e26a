"""The revisions of one event, whatever order they come in."""

from __future__ import annotations

from itertools import pairwise, permutations

import pytest

from muntin_engine.core.chains import in_order
from muntin_engine.core.changes import InputChange


def steps(*pairs: tuple[int | None, int]) -> list[InputChange]:
    return [InputChange("e", 0, end, (), new_end) for end, new_end in pairs]


def ends(revisions: list[InputChange]) -> list[tuple[int | None, int | None]]:
    return [(revision.end, revision.new_end) for revision in revisions]


@pytest.mark.parametrize(
    "chain",
    [
        [(9, 5)],
        [(9, 5), (5, 7), (7, 3)],
        [(9, 12), (12, 9), (9, 4)],  # back to where it was
        [(9, 9), (9, 5), (5, 5)],  # and steps that stay
        [(9, 5), (5, 9), (9, 7), (7, 9), (9, 2)],
    ],
)
def test_every_order_of_arrival_gives_a_chain_to_the_same_end(chain: list[tuple[int, int]]) -> None:
    for arrival in permutations(chain):
        ordered = in_order(steps(*arrival), 9)
        assert sorted(ends(ordered)) == sorted(chain)
        assert ordered[0].end == 9
        assert all(before.new_end == after.end for before, after in pairwise(ordered))
        assert ordered[-1].new_end == chain[-1][1]


def test_a_revision_that_expects_nothing_comes_where_no_other_fits() -> None:
    assert ends(in_order(steps((7, 5), (None, 7)), 20)) == [(None, 7), (7, 5)]
    assert ends(in_order(steps((None, 7), (20, 10)), 20)) == [(20, 10), (None, 7)]
    assert ends(in_order(steps((None, 7), (None, 8)), 20)) == [(None, 7), (None, 8)]


def test_revisions_that_contradict_each_other_are_all_there_the_misfits_last() -> None:
    ordered = in_order(steps((4, 3), (9, 5), (1, 2)), 9)
    assert ends(ordered)[0] == (9, 5)
    assert sorted(ends(ordered)[1:]) == [(1, 2), (4, 3)]
