"""What is said of a module that fails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from muntin import INFINITY, Window, hopping, tumbling
from muntin.errors import ModuleFailedError
from tests.core.sliced.build import DeductingMembers, Feed, Members, Row, Total, blobs_of, sliced


@pytest.mark.parametrize(
    ("windows", "method"),
    [
        *((tumbling(10), method) for method in ("combine", "compute_result")),
        *((hopping(30, 10), method) for method in ("create_state", "combine", "deduct", "compute_result")),
    ],
    ids=str,
)
def test_a_failure_names_module_key_place_and_method(windows: Any, method: str) -> None:
    class Fragile(DeductingMembers):
        name = "test.fragile"
        armed = False

        def __getattribute__(self, name: str) -> Any:
            if name == method and object.__getattribute__(self, "armed"):
                return self.fail
            return object.__getattribute__(self, name)

        def fail(self, *arguments: Any) -> Any:
            raise StopIteration("as a bare next() does")

    module = Fragile()
    query = sliced(windows, Members(), module)
    rows = [Row(("k",), 10 * number, number) for number in range(8)] * (1 if method == "deduct" else 2)
    blobs = [blob for row in rows for blob in blobs_of(query, [row])]
    feed = Feed(query)
    module.armed = True
    with pytest.raises(ModuleFailedError, match=f"test.fragile 1.0.0 failed in {method}: StopIteration") as caught:
        feed.batch(rows, INFINITY, blobs)
    assert caught.value.key == ("k",)
    assert isinstance(caught.value.window, Window)
    assert caught.value.window.duration in (10, 30)
    assert isinstance(caught.value.__cause__, StopIteration)
    assert feed.cells.cells == {}


def test_a_failing_key_among_many_is_the_one_that_is_named() -> None:
    class Picky(Total):
        name = "test.picky"

        def add_events(self, state: int, payloads: Sequence[int]) -> int:
            return state + sum(payloads)

        def compute_result(self, state: int) -> int:
            return 1 // (state - 30)

    feed = Feed(sliced(tumbling(10), Picky()))
    with pytest.raises(ModuleFailedError) as caught:
        feed.batch([Row((key,), 25, 10 * key) for key in range(6)], INFINITY)
    assert (caught.value.key, caught.value.window) == ((3,), Window(20, 30))
