"""The map side: what becomes of grouped rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import pytest

from muntin import IncrementalAggregate, Window, hopping, tumbling
from muntin.errors import ModuleDefinitionError, ModuleFailedError
from muntin_engine.core.evaluator_query import Binding, whole_payload
from muntin_engine.core.slice_grid import SliceGrid
from muntin_engine.core.window_grid import NEVER
from muntin_engine.evaluators.slices.groups import CHUNK_GROUPS, Blob, EntryKind, SliceGroups
from muntin_engine.evaluators.slices.modules import SlicedModule
from muntin_engine.evaluators.slices.sliced_query import SlicedQuery
from muntin_engine.evaluators.slices.state_lifting import GroupedRows, lift
from muntin_engine.state.codec import Codec
from muntin_engine.state.log import StoredEntry
from tests.core.sliced.build import DeductingMembers, Members, SizedMembers, Total, sliced


def rows(*groups: tuple[int, list[int]]) -> GroupedRows:
    """Return groups of one key each, given as slice and payloads."""
    bounds = [0]
    for _, payloads in groups:
        bounds.append(bounds[-1] + len(payloads))
    return GroupedRows(
        [(f"k{place}",) for place in range(len(groups))],
        list(range(len(groups))),
        [number for number, _ in groups],
        bounds,
        [[payload for _, payloads in groups for payload in payloads]],
    )


def decoded(query: SlicedQuery, blob: bytes) -> list[SliceGroups]:
    return [chunk.decode(query.codec) for chunk in Blob(blob, query.codec).chunks]


def test_a_module_gets_all_rows_of_a_group_in_one_call() -> None:
    module = Members()
    query = sliced(tumbling(10), module)
    (groups,) = decoded(query, lift(query, rows((0, [3, 1]), (0, [2, 2, 9]), (4, [5, 6]))))
    assert groups == SliceGroups(EntryKind.STATES, [0, 4], [2, 1], [0, 1, 2], [2, 3, 2], [[[1, 3], [2, 2, 9], [5, 6]]])
    assert module.calls == {"create_state": 3, "add_events": 3, "payloads": 7}


def test_few_rows_per_group_travel_as_they_are() -> None:
    module = Members()
    query = sliced(tumbling(10), module)
    (groups,) = decoded(query, lift(query, rows((-3, [3]), (0, [2, 2]), (4, [5]))))
    assert groups == SliceGroups(EntryKind.ROWS, [-3, 0, 4], [1, 1, 1], [0, 1, 2], [1, 2, 1], [[3, 2, 2, 5]])
    assert not module.calls


def test_a_module_that_says_what_a_state_takes_decides_group_by_group() -> None:
    query = sliced(tumbling(10), SizedMembers())
    states, left = decoded(query, lift(query, rows((0, [1] * 30), (1, [2]), (1, [3] * 40), (2, [4, 5]))))
    assert (states.kind, states.slices, states.places, states.counts) == (EntryKind.STATES, [0, 1], [0, 2], [30, 40])
    assert left == SliceGroups(EntryKind.ROWS, [1, 2], [1, 1], [1, 3], [1, 2], [[2, 4, 5]])


@pytest.mark.parametrize(("mode", "kind"), [("eager", EntryKind.STATES), ("lazy", EntryKind.ROWS)])
@pytest.mark.parametrize("module", [Members(), SizedMembers()])
def test_a_mode_forces_the_choice(mode: Any, kind: EntryKind, module: Any) -> None:
    query = sliced(tumbling(10), module, mode=mode)
    assert {groups.kind for groups in decoded(query, lift(query, rows((0, [1]), (1, [2] * 50))))} == {kind}


def test_of_rows_in_a_gap_only_the_number_travels() -> None:
    query = sliced(hopping(3, 8), Members())
    gaps, left = decoded(query, lift(query, rows((0, [1]), (1, [2, 2]), (2, [4]), (3, [3]))))
    assert gaps == SliceGroups(EntryKind.GAPS, [1, 3], [1, 1], [1, 3], [2, 1], [])
    assert left == SliceGroups(EntryKind.ROWS, [0, 2], [1, 1], [0, 2], [1, 1], [[1, 4]])
    assert Blob(lift(query, rows((1, [2]))), query.codec).last < -NEVER


def test_a_slice_that_one_specification_skips_and_another_has_is_no_gap() -> None:
    query = sliced([hopping(3, 8), hopping(3, 8, 3)], Members())
    assert [query.is_gap(number) for number in range(6)] == [False, False, True] * 2
    assert not sliced([hopping(3, 8), tumbling(8)], Members()).has_gaps


@dataclass
class Trade:
    price: float
    size: int


class Turnover(IncrementalAggregate[Trade, float, float]):
    name, version = "test.turnover", "1.0.0"

    def create_state(self) -> float:
        return 0.0

    def add_events(self, state: float, payloads: Sequence[Trade]) -> float:
        return state + sum(trade.price * trade.size for trade in payloads)

    def combine(self, state: float, other: float) -> float:
        return state + other

    def compute_result(self, state: float) -> float:
        return state


class Many(IncrementalAggregate[None, int, int]):
    name, version = "test.many", "1.0.0"

    def create_state(self) -> int:
        return 0

    def add_events(self, state: int, payloads: Sequence[None]) -> int:
        assert set(payloads) == {None}
        return state + len(payloads)

    def combine(self, state: int, other: int) -> int:
        return state + other

    def compute_result(self, state: int) -> int:
        return state


@pytest.mark.parametrize("mode", ["eager", "lazy"])
def test_modules_read_their_own_columns(mode: Any) -> None:
    bindings = [
        Binding(Turnover(), lambda row: Trade(row[0], row[1])),
        Binding(Members(), itemgetter(1)),
        Binding(Many(), lambda row: None),
    ]
    query = SlicedQuery.of([SliceGrid.of(tumbling(10))], bindings, 2, Codec(), mode)
    given = GroupedRows([("k",)], [0, 0], [0, 1], [0, 2, 3], [[1.5, 2.0, 4.0], [10, 20, 30]])
    assert results(query, lift(query, given)) == [(("k",), 0, (55.0, (10, 20), 2)), (("k",), 1, (120.0, (30,), 1))]


@pytest.mark.parametrize("mode", ["eager", "lazy"])
def test_a_query_may_read_no_column_at_all(mode: Any) -> None:
    query = SlicedQuery.of([SliceGrid.of(tumbling(10))], [Binding(Many(), lambda row: None)], 0, Codec(), mode)
    blob = lift(query, GroupedRows([("k",)], [0, 0], [0, 1], [0, 2, 3], []))
    assert results(query, blob) == [(("k",), 0, (2,)), (("k",), 1, (1,))]


def results(query: SlicedQuery, blob: bytes) -> list[Any]:
    from muntin_engine.evaluators.slices.states import StateStore

    store = StateStore(query)
    store.take([blob], -NEVER)
    (entry,) = store.write(store.take([blob], -NEVER).delta, -NEVER)  # type: ignore[arg-type]  # there is one
    restored = StateStore(query)
    restored.restore(StoredEntry(entry.data))
    return [row for runs in restored.close(0, -NEVER, NEVER) for row in runs.rows()]


def test_a_selector_of_one_column_costs_nothing_per_row() -> None:
    columns = [[1, 2], [3, 4]]
    assert SlicedModule(Binding(Members(), itemgetter(1))).payloads(columns, 2) is columns[1]
    assert SlicedModule(Binding(Members(), itemgetter(1, 0))).payloads(columns, 2) == [(3, 1), (4, 2)]
    assert SlicedModule(Binding(Members(), whole_payload)).payloads(columns, 2) == [(1, 3), (2, 4)]


def test_groups_are_cut_into_chunks_in_the_order_of_their_slices() -> None:
    query = sliced(tumbling(10), Members(), mode="lazy")
    count = 2 * CHUNK_GROUPS + 5
    blob = Blob(lift(query, rows(*((place // 3, [place]) for place in range(count)))), query.codec)
    assert [(chunk.first, chunk.last, chunk.rows) for chunk in blob.chunks] == [
        (0, (CHUNK_GROUPS - 1) // 3, CHUNK_GROUPS),
        (CHUNK_GROUPS // 3, (2 * CHUNK_GROUPS - 1) // 3, CHUNK_GROUPS),
        (2 * CHUNK_GROUPS // 3, (count - 1) // 3, 5),
    ]
    assert len(blob.names) == count


@pytest.mark.parametrize("numbers", [[1, 0], [0, 1, 0], [*range(CHUNK_GROUPS), 5]], ids=["2", "3", "many"])
def test_groups_out_of_order_are_refused(numbers: list[int]) -> None:
    query = sliced(tumbling(10), Members())
    with pytest.raises(ValueError, match="in the order of their slices"):
        lift(query, rows(*((number, [1]) for number in numbers)))


def test_a_chunk_of_huge_states_is_cut() -> None:
    class Huge(Total):
        name = "test.huge"

        def create_state(self) -> Any:
            return "x" * 400_000

        def add_events(self, state: Any, payloads: Sequence[int]) -> Any:
            return state

    query = sliced(tumbling(10), Huge(), mode="eager")
    blob = Blob(lift(query, rows(*((number, [1]) for number in range(9)))), query.codec)
    assert all(len(chunk.body) < 2**20 for chunk in blob.chunks)
    assert [chunk.first for chunk in blob.chunks] == sorted({chunk.first for chunk in blob.chunks})
    assert sum(chunk.rows for chunk in blob.chunks) == 9


def test_no_rows_make_an_empty_blob() -> None:
    query = sliced(tumbling(10), Members())
    assert Blob(lift(query, GroupedRows([], [], [], [0], [[]])), query.codec).chunks == []


@pytest.mark.parametrize("method", ["create_state", "add_events"])
def test_a_failure_names_module_key_and_slice(method: str) -> None:
    class Fragile(Total):
        name = "test.fragile"
        calls = 0

        def create_state(self) -> int:
            type(self).calls += 1
            if method == "create_state" and self.calls == 3:
                raise KeyError("no")
            return 0

        def add_events(self, state: int, payloads: Sequence[int]) -> int:
            if method == "add_events" and 13 in payloads:
                raise KeyError("no")
            return state

    query = sliced(tumbling(10, 3), Members(), Fragile(), mode="eager")
    with pytest.raises(ModuleFailedError, match=f"test.fragile 2.0.0 failed in {method}: KeyError") as caught:
        lift(query, rows((0, [1]), (2, [2]), (7, [13, 4]), (9, [1])))
    assert (caught.value.module, caught.value.key, caught.value.method) == ("test.fragile", ("k2",), method)
    assert caught.value.window == Window(73, 83)
    assert isinstance(caught.value.__cause__, KeyError)


def test_combine_is_required() -> None:
    class Alone(IncrementalAggregate[int, int, int]):
        name, version = "test.alone", "1.0.0"

        def create_state(self) -> int:
            return 0

        def add_events(self, state: int, payloads: Sequence[int]) -> int:
            return state

        def compute_result(self, state: int) -> int:
            return state

    with pytest.raises(ModuleDefinitionError, match="does not define combine"):
        sliced(tumbling(10), DeductingMembers(), Alone())
