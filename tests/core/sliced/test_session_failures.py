"""What is said of a module that fails over sessions, and of a state that cannot be stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from muntin import EARLIEST, INFINITY, Axis, IncrementalAggregate, Window
from muntin.errors import ModuleFailedError
from muntin_engine.core.calls import RUNNING
from muntin_engine.core.changes import Progress
from muntin_engine.core.evaluator_query import Binding
from muntin_engine.errors import StateError
from muntin_engine.evaluators.arrays.array_bucket import ArrayBucket
from muntin_engine.evaluators.arrays.lifting import Rows
from muntin_engine.evaluators.arrays.row_lifting import Fusing, lift_each
from muntin_engine.evaluators.arrays.session_store import session_query
from muntin_engine.evaluators.arrays.state_entries import StateEntries
from muntin_engine.evaluators.arrays.state_modules import StateModules
from muntin_engine.evaluators.batch import InputReport
from muntin_engine.progress import ProgressTracker
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from muntin_engine.state.compatibility import Compatibility
from muntin_engine.state.kept_stores import KeptStores
from tests.core.sliced.build import Members, Total
from tests.differential.schema_versions import identity_of, schema_version

GAP = 10


class Fragile(Members):
    """Fails where it is told to, of a state or payloads with a seven in them."""

    name = "test.fragile"

    def __init__(self, method: str) -> None:
        super().__init__()
        self.method = method

    def __getattribute__(self, name: str) -> Any:
        found = object.__getattribute__(self, name)
        return self.failing(found) if name == object.__getattribute__(self, "__dict__").get("method") else found

    def failing(self, found: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            if any(isinstance(one, Sequence) and 7 in one for one in given) or not given:
                raise StopIteration("as a bare next() does")
            return found(*given)

        return call


class Sessions:
    """A bucket of sessions, fed batch by batch."""

    def __init__(self, *modules: Any, cells: MemoryCells | None = None) -> None:
        self.cells = cells or MemoryCells()
        self.modules = modules
        self.kept = KeptStores()

    def batch(self, rows: Sequence[tuple[str | None, int, int]], watermark: int = EARLIEST) -> list[Any]:
        """Return key, start, end and values of the sessions that a batch completes."""
        bindings = [Binding(module, itemgetter(0)) for module in self.modules]

        def entries() -> StateEntries:
            return StateEntries(StateModules(bindings, Codec(), Axis.TICKS))

        compatibility = Compatibility(identity_of(self.modules), self.modules)
        query = session_query(entries, at_end=False, is_cut=False)
        bucket = ArrayBucket(query, [ProgressTracker()], self.cells, Codec(), compatibility, self.kept, "bucket")
        lifted = Rows(
            1,
            np.array([tick for _, tick, _ in rows], np.int64),
            None,
            [pa.array([key for key, _, _ in rows], pa.string())],
            [pa.array([payload for *_, payload in rows], pa.int64())],
        )
        blobs = [blob.blob for blob in lift_each(Fusing(GAP), lifted)]
        result = bucket.process(blobs, [InputReport(Progress(watermark))]).outcome
        return [
            row
            for closed in result.output
            for row in zip(
                closed.keys.column("k0").to_pylist(),
                closed.windows.low.tolist(),
                closed.windows.high.tolist(),
                *(closed.values or ()),
                strict=True,
            )
        ]


@pytest.mark.parametrize("method", ["create_state", "add_events", "combine", "compute_result"])
def test_a_failure_names_module_key_session_and_method(method: str) -> None:
    sessions = Sessions(Total(), Fragile(method))
    first = [("a", 0, 1), (None, 0, 2), ("b", 40, 3)]
    if method != "create_state":
        sessions.batch(first)
    before = dict(sessions.cells.cells)
    rows = [("a", 5, 1), (None, 9, 7), (None, 4, 2), ("b", 45, 3)]
    with pytest.raises(ModuleFailedError, match=f"test.fragile 1.0.0 failed in {method}: StopIteration") as caught:
        sessions.batch(rows, INFINITY)
    merged = Window(0, 19) if method in {"combine", "compute_result"} else Window(4, 19)
    expected = (("a",), Window(5, 15)) if method == "create_state" else ((None,), merged)
    assert (caught.value.key, caught.value.window) == expected
    assert isinstance(caught.value.__cause__, StopIteration)
    assert sessions.cells.cells == before


def test_a_failing_upgrade_names_the_session_whose_state_it_is() -> None:
    sessions = Sessions(schema_version(Total(), 1))
    sessions.batch([("a", 0, 1), ("b", 40, 3)])

    class Newer(Total):
        version = "3.0.0"
        continues_since = "1.0"

        def upgrade_state(self, state: int, version: str) -> int:
            return 6 // (state - 3)

    with pytest.raises(ModuleFailedError, match=r"test.total 3.0.0 failed in upgrade_state") as caught:
        Sessions(Newer(), cells=sessions.cells).batch([("a", 3, 4)])
    assert (caught.value.key, caught.value.window) == (("b",), Window(40, 50))


def test_a_state_that_cannot_be_stored_is_told_with_its_session() -> None:
    class Opaque(IncrementalAggregate[int, object, int]):
        name, version = "test.opaque", "1.0.0"

        def create_state(self) -> object:
            return None

        def add_events(self, state: object, payloads: Sequence[int]) -> object:
            return object() if 7 in payloads else len(payloads)

        def combine(self, state: object, other: object) -> object:
            return state

        def compute_result(self, state: object) -> int:
            return 0

    with pytest.raises(StateError, match=r"test.opaque 1.0.0 made a state that cannot be stored") as caught:
        Sessions(Opaque()).batch([("a", 0, 1), ("b", 40, 7)])
    assert "key: ('b',)" in str(caught.value)
    assert "window: [40, 50)" in str(caught.value)


def test_rows_of_a_session_are_added_in_one_call_and_combined_once() -> None:
    members = Members()
    sessions = Sessions(members)
    sessions.batch([("a", tick, tick) for tick in range(20)] + [("b", 100, 1)])
    assert members.calls == {"create_state": 2, "add_events": 2, "payloads": 21}
    members.calls.clear()
    assert sessions.batch([("a", 21, 21), ("a", 25, 25), ("c", 26, 0)], 60) == [
        ("a", 0, 35, (*range(20), 21, 25)),
        ("c", 26, 36, (0,)),
    ]
    assert members.calls == {"create_state": 2, "add_events": 2, "payloads": 3, "combine": 1, "compute_result": 2}


def test_a_watchdog_knows_whose_session_is_computed() -> None:
    seen: list[tuple[object, Window]] = []

    class Watched(Total):
        name = "test.watched"

        def combine(self, state: int, other: int) -> int:
            assert RUNNING.locate is not None
            seen.append(RUNNING.locate(len(seen)))
            return state + other

    sessions = Sessions(Watched())
    sessions.batch([("a", 0, 1), ("b", 40, 3)])
    sessions.batch([("c", 0, 1), ("b", 45, 3), ("a", 5, 1)])
    assert sorted(seen, key=str) == [(("a",), Window(0, 15)), (("b",), Window(40, 55))]
