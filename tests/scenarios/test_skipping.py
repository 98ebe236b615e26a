"""What a module computes of nothing: `None`, unless it says what else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from muntin import IncrementalAggregate, Module, tumbling
from muntin.testing import reference
from muntin.testing.scripts import Script
from muntin_adapters.combinators import with_default
from muntin_engine.modules.skipping import CountingModule

pytestmark = pytest.mark.usefixtures("all_states_small")


class Largest(IncrementalAggregate[int, int, int]):
    """The largest payload; the state without any payload is no result."""

    name, version = "test.largest", "1"

    def create_state(self) -> int:
        return -(2**40)

    def add_events(self, state: int, payloads: Sequence[int]) -> int:
        return max(state, *payloads)

    def compute_result(self, state: int) -> int:
        return state


def is_present(payload: object) -> bool:
    return payload is not None


RESULT_OF_NOTHING = pytest.mark.parametrize(
    ("module", "expected"),
    [(Largest(), None), (with_default(Largest, 7)(), 7)],
    ids=["without a default", "with a default of 7"],
)


@RESULT_OF_NOTHING
def test_a_window_whose_payloads_are_all_skipped_has_the_result_of_nothing(
    module: Module, expected: int | None
) -> None:
    query = reference.WindowedQuery(tumbling(10), [reference.Computation(module, accepts=is_present)])
    stream = Script().point("a", 3, payload=None).close()
    (result,) = stream.run(query)[None]
    assert result.value == (expected,)


@RESULT_OF_NOTHING
def test_a_state_to_which_nothing_was_added_has_the_result_of_nothing(module: Any, expected: int | None) -> None:
    counting = CountingModule(module)
    state = counting.add_events(counting.create_state(), [])
    assert counting.compute_result(state) == expected
