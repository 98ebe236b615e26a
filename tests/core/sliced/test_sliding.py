"""Merged states of queues of states."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from random import Random

import pytest

from muntin_engine.core.evaluator_query import Binding
from muntin_engine.evaluators.arrays.sliding import Deducting, TwoStacks, slide
from muntin_engine.evaluators.arrays.state_module import StateModule
from tests.core.sliced.build import Counted, CountedDeducting, DeductingMembers, Members

WAYS = [pytest.param(TwoStacks, id="two stacks"), pytest.param(Deducting, id="deducting")]


def test_a_module_that_can_deduct_does() -> None:
    assert type(slide(StateModule(Binding(Members())))) is TwoStacks
    assert isinstance(slide(StateModule(Binding(DeductingMembers()))), Deducting)


@pytest.mark.parametrize("make", WAYS)
@pytest.mark.parametrize("seed", range(30))
def test_the_merged_state_is_that_of_the_queue_and_no_part_is_changed(
    make: Callable[[StateModule], TwoStacks], seed: int
) -> None:
    random = Random(seed)
    sliding = make(StateModule(Binding(DeductingMembers())))
    queue: list[list[int]] = []
    given: list[tuple[list[int], list[int]]] = []
    for _ in range(200):
        gone = random.randint(0, random.choice([1, 1, len(queue)])) if queue else 0
        sliding.pop(gone)
        del queue[:gone]
        for _ in range(random.choice([0, 1, 1, 2, 5])):
            state = sorted(random.randint(0, 99) for _ in range(random.randint(1, 3)))
            sliding.push(state)
            queue.append(state)
            given.append((state, deepcopy(state)))
        if queue:
            assert sliding.state() == sorted(payload for state in queue for payload in state)
    assert all(state == before for state, before in given)


@pytest.mark.parametrize("size", [1, 2, 10, 60, 600])
@pytest.mark.parametrize(("module", "most"), [(Counted(), 7), (CountedDeducting(), 5)], ids=["combine", "deduct"])
def test_the_calls_per_window_do_not_grow_with_its_size(module: Counted, most: int, size: int) -> None:
    sliding = slide(StateModule(Binding(module)))
    module.calls.clear()
    windows = 3000
    for number in range(windows):
        if number >= size:
            sliding.pop(1)
        sliding.push(1)
        assert sliding.state() == min(number + 1, size)
    assert module.calls["combine"] + module.calls["deduct"] + module.calls["create_state"] <= most * windows


def test_nothing_is_left_of_what_was_deducted_last() -> None:
    class Drifting(DeductingMembers):
        """Deducts wrongly, as floats do."""

        name = "test.drifting"

        def deduct(self, state: list[int], other: list[int]) -> list[int]:
            return [*super().deduct(state, other), 1000]

    sliding = Deducting(StateModule(Binding(Drifting())))
    for number in range(10):
        sliding.push([number])
    sliding.pop(1)
    assert 1000 in sliding.state()
    sliding.pop(5)  # so that more were deducted than are left
    assert sliding.state() == [6, 7, 8, 9]
    sliding.pop(4)
    sliding.push([11])
    assert sliding.state() == [11]


def test_leaving_all_at_once_is_not_deducted_piece_by_piece() -> None:
    module = DeductingMembers()
    sliding = Deducting(StateModule(Binding(module)))
    for number in range(100):
        sliding.push([number])
    sliding.pop(99)
    assert module.calls["deduct"] == 0
    assert sliding.state() == [99]
