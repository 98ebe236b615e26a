"""The rows of an event add up to the same in every order and however they are cut into batches.

The oracle knows nothing of graphs: it tries every order in which the rows could be applied one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from itertools import permutations, product
from random import Random

import pytest

from muntin import EARLIEST, INFINITY
from muntin_engine.core.changes import InputChange
from tests.core.build import Taken, revision, row

START = -2
State = tuple[int, str] | None
"""An end and a payload, or None for an event that is absent."""


class DoesNotApplyError(Exception):
    """A row does not apply to an event as it is."""


def applied(change: InputChange, state: State) -> State:
    """Return what a row makes of an event."""
    if change.new_end is None:
        if state is not None:
            raise DoesNotApplyError
        return INFINITY if change.end is None else change.end, change.payload[0]
    if state is None or change.end not in (None, state[0]):
        raise DoesNotApplyError
    if change.new_end > change.start:
        return change.new_end, state[1]
    if change.payload not in ((), (state[1],)):
        raise DoesNotApplyError
    return None


def after_all(rows: Iterable[InputChange]) -> State:
    """Return what rows make of an event, one after the other."""
    state: State = None
    for change in rows:
        state = applied(change, state)
    return state


def outcomes(rows: list[InputChange]) -> set[State]:
    """Return what an event can be after all rows, over every order in which all of them apply."""
    found: set[State] = set()
    for order in permutations(rows):
        with suppress(DoesNotApplyError):
            found.add(after_all(order))
    return found


def random_life(random: Random, longest: int) -> list[InputChange]:
    """Return rows in an order in which they apply, with few different ends, so that many are had again."""
    ends = [random.choice((0, 3, 5, 9, INFINITY)) for _ in range(3)]
    rows: list[InputChange] = []
    state: State = None
    for number in range(random.randint(1, longest)):
        end = random.choice([*ends, START])
        if state is None:
            change = row("x", START, random.choice(ends), f"P{number}")
        elif end == START:
            change = InputChange("x", START, state[0], (state[1],), START)
        else:
            change = revision("x", START, state[0], end)
        rows.append(change)
        state = applied(change, state)
    return rows


def syncs(rows: list[InputChange]) -> list[int]:
    return [
        START if change.new_end is None else min(change.new_end, change.new_end if change.end is None else change.end)
        for change in rows
    ]


def standing(taken: Taken) -> State:
    events = list(taken.state.events)
    assert len(events) < 2
    return (events[0].end, events[0].payload[0]) if events else None


@pytest.mark.parametrize("seed", range(300))
def test_a_life_adds_up_to_the_same_in_every_order_and_cut(seed: int) -> None:
    """Rows in any order, cut anywhere, with punctuation as high as the rows that are still to come allow."""
    random = Random(seed)
    rows = random_life(random, 7 if seed % 5 else 5)
    truth = after_all(rows)
    if len(rows) < 6:
        assert outcomes(rows) == {truth}
    for _ in range(4):
        order = random.sample(range(len(rows)), len(rows))
        taken, watermark = Taken(), EARLIEST
        while order:
            size = random.randint(1, len(order))
            batch, order = order[:size], order[size:]
            missing = min(order, default=len(rows))  # what comes after a missing row needs it
            highest = min(syncs(rows)[missing:], default=truth[0] if truth else START)
            after = random.choice((watermark, max(watermark, highest)))
            taken.take([rows[place] for place in batch], watermark, after)
            watermark = after
            assert taken.rejected == [], rows
            shown, meant = standing(taken), truth
            assert min(shown[0] if shown else START, watermark) == min(meant[0] if meant else START, watermark)
        assert standing(taken) == truth, rows
        taken.take([], watermark, INFINITY)
        assert (taken.rejected, len(taken.state.waiting), taken.state.pending) == ([], 0, {}), rows


@pytest.mark.parametrize("seed", range(150))
def test_rows_that_contradict_each_other_are_refused_alike_in_every_order(seed: int) -> None:
    random = Random(seed)
    rows = random_life(random, 4)
    for _ in range(random.randint(1, 3)):
        ends = random.sample((0, 3, 5, 9, 12, None), 2)
        wrong = revision("x", START, ends[0], START if ends[1] is None else ends[1])
        rows.append(random.choice([wrong, wrong, row("x", START, ends[1], "again"), random.choice(rows)]))
    watermark = random.choice((EARLIEST, 1, 4, 6, 10, INFINITY))
    found = set()
    for order in list(permutations(rows))[:: 1 if len(rows) < 5 else 41]:
        taken = Taken()
        taken.take(list(order), EARLIEST, watermark)
        rejected = sorted(taken.rejected, key=str)
        found.add((standing(taken), str(rejected), len(taken.state.waiting)))
        taken.take([], watermark, INFINITY)
        assert taken.state.pending == {}
        assert len(taken.rejected) <= len(rows)
    assert len(found) == 1, rows


@pytest.mark.parametrize(("first", "second"), list(product(range(3, 6), repeat=2)))
def test_two_events_of_one_id_live_beside_each_other(first: int, second: int) -> None:
    rows = [row("x", 1, 8), row("x", 2, 9), revision("x", 1, 8, first), revision("x", 2, 9, second)]
    for order in permutations(rows):
        taken = Taken(list(order))
        assert sorted((event.start, event.end) for event in taken.state.events) == [(1, first), (2, second)]
        assert taken.rejected == []
