"""What a module says of nothing."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from muntin import IncrementalAggregate, tumbling
from muntin.testing import reference
from muntin.testing.scripts import Script
from muntin_adapters.combinators import with_default
from muntin_engine.modules.skipping import CountingModule

pytestmark = pytest.mark.usefixtures("all_states_small")


def test_what_a_module_says_of_nothing_holds_where_it_is_given_nothing() -> None:
    class Largest(IncrementalAggregate[int, int, int]):
        name, version = "test.largest", "1"

        def create_state(self) -> int:
            return -(2**40)

        def add_events(self, state: int, payloads: Sequence[int]) -> int:
            return max(state, *payloads)

        def compute_result(self, state: int) -> int:
            return state

    for module, expected in ((Largest(), None), (with_default(Largest, 7)(), 7)):
        query = reference.WindowedQuery(tumbling(10), [reference.Computation(module, accepts=is_present)])
        stream = Script().point("a", 3).close()
        assert [row.value for row in stream.run(query)[None]] == [(expected,)]
        counting = CountingModule(module)
        assert counting.compute_result(counting.add_events(counting.create_state(), [])) == expected


def is_present(payload: object) -> bool:
    return payload is not None
