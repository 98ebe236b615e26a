"""Changes of the output to typed tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest

from muntin import INFINITY, Aggregate, Event, Operator, Window
from muntin.errors import ModuleContractError
from muntin_engine.core.changes import OutputChange, OutputKind
from muntin_engine.evaluators.keyed import result_tables as output
from muntin_engine.evaluators.keyed.result_tables import result_tables
from tests.spark_units.tasks import TICKS, X, task_of

W = Window(0, 10)


@dataclass
class Pair:
    left: int
    right: str | None


class Pairs(Operator[int, Pair]):
    name, version = "show.pairs", "1.0.0"

    def compute_result(self, payloads: Sequence[int]) -> list[Pair]:
        return []


class Numbers(Operator[int, int]):
    name, version = "show.numbers", "1.0.0"
    is_time_sensitive = True

    def compute_result(self, events: Sequence[Event[int]], window: Window) -> list[int]:
        return []


class Largest(Aggregate[int, int]):
    name, version = "show.largest", "2.0.0"

    def compute_result(self, payloads: Sequence[int]) -> int:
        return max(payloads)


def insertion(value: Any, window: Window = W, start: int = 0, end: int = 10, id: int = 1) -> OutputChange:
    return OutputChange(OutputKind.INSERT, id, window, start, end, value)


def schema(*columns: tuple[str, pa.DataType], of: pa.DataType = TICKS) -> pa.Schema:
    return pa.schema([("key", pa.string()), ("window", of), *columns])


def rows_of(task: Any, *changes: OutputChange, key: Any = "a") -> list[dict[str, Any]]:
    return [row for table in result_tables(task, [((key,), changes)]) for row in table.to_pylist()]


def test_the_fields_of_an_operators_row_become_columns() -> None:
    task = task_of(
        Pairs(),
        results=schema(("left", pa.int64()), ("right", pa.string())),
    )
    shown = {"key": "a", "window": {"start": 0, "end": 10}}
    assert rows_of(task, insertion(Pair(1, "x")), insertion(Pair(2, None))) == [
        shown | {"left": 1, "right": "x"},
        shown | {"left": 2, "right": None},
    ]


def test_a_plain_row_is_one_column_and_changes_carry_lifetime_id_and_new_end() -> None:
    columns = [("lifetime", TICKS), ("change", pa.string()), ("event_id", pa.int64()), ("new_end", pa.int64())]
    task = task_of(Numbers(), results=schema(*columns, ("value", pa.int64())))
    revision = OutputChange(OutputKind.REVISE, 5, W, 3, INFINITY, 7, 8)
    shown = {"key": "a", "window": {"start": 0, "end": 10}, "value": 7}
    assert rows_of(task, insertion(7, start=3, end=INFINITY, id=5), revision) == [
        shown | {"lifetime": {"start": 3, "end": None}, "change": "insert", "event_id": 5, "new_end": None},
        shown | {"lifetime": {"start": 3, "end": None}, "change": "revise", "event_id": 5, "new_end": 8},
    ]


@pytest.mark.parametrize(
    ("of", "key"),
    [
        (pa.list_(pa.int64()), [1, None]),
        (pa.struct([("x", pa.int64()), ("y", pa.list_(pa.string()))]), {"x": None, "y": ["a"]}),
        (pa.binary(), b"\xff"),
    ],
)
def test_a_key_of_any_type_comes_back_as_it_was(of: pa.DataType, key: Any) -> None:
    results = pa.schema([("key", of), ("window", TICKS), ("m", pa.list_(pa.int64()))])
    assert rows_of(task_of(keys=(of,), results=results), insertion(([],)), key=key)[0]["key"] == key


def test_blobs_of_output_are_bounded_by_rows_and_by_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [(("a",), [insertion(([place],)) for place in range(10)])]
    monkeypatch.setattr(output, "MOST_ROWS", 4)
    assert [table.num_rows for table in result_tables(task_of(), lines)] == [4, 4, 2]
    monkeypatch.setattr(output, "MOST_BYTES", 1)
    assert [table.num_rows for table in result_tables(task_of(), lines)] == [1] * 10


def test_a_value_of_another_type_names_module_key_window_and_value() -> None:
    task = task_of(Largest(), results=schema(("m", pa.int64())))
    with pytest.raises(ModuleContractError) as caught:
        rows_of(task, insertion((1,)), insertion(("two",), Window(10, 20)), key="north")
    assert str(caught.value) == (
        "show.largest 2.0.0 returned a value that is not what it declares: "
        "'m' is 'two' of type str, declared integer | None\n"
        "  key: ('north',)\n  window: [10, 20)\n"
        "  return what the class declares in its brackets, or declare what it returns"
    )


@pytest.mark.parametrize("row", [5, {"left": 1}, ("a", "b", "c")])
def test_a_row_without_the_declared_fields_is_no_row(row: Any) -> None:
    results = schema(("left", pa.int64()), ("right", pa.string()))
    task = task_of(Pairs(), (X,), results=results)
    with pytest.raises(ModuleContractError, match=r"show\.pairs 1\.0\.0 .*declared struct<left: integer"):
        rows_of(task, insertion(Pair(1, "x")), insertion(row))
