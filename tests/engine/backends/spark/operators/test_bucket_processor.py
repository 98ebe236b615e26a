"""How cells are read from Spark's state store, in which each call costs time."""

from __future__ import annotations

from muntin_engine.backends.spark.operators.bucket_processor import MapCells


class Store:
    """Stands for a map of Spark's state store, and counts what it is asked."""

    def __init__(self) -> None:
        self.cells: dict[tuple[str], tuple[bytes]] = {}
        self.calls: list[str] = []

    def containsKey(self, key: tuple[str]) -> bool:
        self.calls.append("contains")
        return key in self.cells

    def getValue(self, key: tuple[str]) -> tuple[bytes] | None:
        self.calls.append("get")
        return self.cells.get(key)

    def updateValue(self, key: tuple[str], value: tuple[bytes]) -> None:
        self.cells[key] = value


def test_a_missing_cell_of_a_new_bucket_is_not_read() -> None:
    """Spark would log a warning."""
    store = Store()
    assert MapCells(store).get("metadata") is None
    assert store.calls == ["contains"]


def test_a_bucket_that_had_state_costs_one_call_per_cell() -> None:
    store = Store()
    cells = MapCells(store)
    cells.put("metadata", b"so far")
    cells.may_be_new = False
    assert cells.get("metadata") == b"so far"
    assert store.calls == ["get"]


def test_a_cell_of_a_bucket_that_may_be_new_costs_two_calls() -> None:
    store = Store()
    cells = MapCells(store)
    cells.put("metadata", b"so far")
    assert cells.get("metadata") == b"so far"
    assert store.calls == ["contains", "get"]


def test_a_cell_that_is_missing_although_the_bucket_had_state_is_empty() -> None:
    """As where its first micro-batch was not committed and comes again; Spark logs a warning then."""
    cells = MapCells(Store())
    cells.may_be_new = False
    assert cells.get("metadata") is None
