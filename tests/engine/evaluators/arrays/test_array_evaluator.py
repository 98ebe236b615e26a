"""A bucket whose evaluator works on arrays: rows in, typed results of windows out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from muntin import INFINITY, ColumnarAggregate, Component, IncrementalAggregate, Instant
from muntin.errors import ModuleContractError
from muntin.schemas import describe
from muntin_engine.plan.worker_settings import WorkerSettings
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.store_cache import STORE_CACHE
from muntin_engine.tasks.bucket_task import run_bucket
from muntin_engine.wire.blobs import from_blob
from muntin_engine.wire.task_payload import TaskPayload
from tests.engine.wire.payloads import TICKS, bucket_input, rows, task_of


class ResultsOfSums(ColumnarAggregate[int, int]):
    """A sum whose results are computed from the array of all sums by a function that a test chooses."""

    name, version = "test.results_of_sums", "1"

    def __init__(self, compute: Callable[[Any], Any] = lambda sums: sums) -> None:
        self.compute = compute

    def components(self) -> Mapping[str, Component]:
        return {"sum": Component.sum("int64")}

    def lift(self, payloads: Any) -> Mapping[str, Any]:
        return {"sum": payloads}

    def compute_results(self, components: Mapping[str, Any]) -> Any:
        return self.compute(components["sum"])


class Largest(IncrementalAggregate[int, int, int]):
    name, version = "test.largest", "1"

    def create_state(self) -> int:
        return -(2**63)

    def add_events(self, state: int, payloads: Sequence[int]) -> int:
        return max([state, *payloads])

    def combine(self, state: int, other: int) -> int:
        return max(state, other)

    def compute_result(self, state: int) -> int:
        return state


def sliced(module: Any, result: Any = int, arrow_type: pa.DataType | None = None, **task_parts: Any) -> TaskPayload:
    """Return a task over point events and tumbling windows of ten ticks.

    Args:
        module: The module, whose result is the column `m`.
        result: The type of its results, as an annotation.
        arrow_type: The type of the column; None for integers.
        task_parts: Further arguments of `task_of`.
    """
    evaluator = "columnar" if isinstance(module, ColumnarAggregate) else "sliced"
    results = pa.schema([("key", pa.string()), ("window", TICKS), ("m", arrow_type or pa.int64())])
    defaults: dict[str, Any] = {"results": results, "result": describe(result)}
    return task_of(module, evaluator=evaluator, is_point=True, **(defaults | task_parts))


def run(task: TaskPayload, *batches: pa.RecordBatch, cells: MemoryCells | None = None) -> dict[str, Any]:
    """Run bucket 0 over projected rows, and return the output by the name of its stream: rows, or a count alone."""
    output: dict[str, Any] = {}
    for blob in run_bucket(task, 0, cells or MemoryCells(), bucket_input(task, *batches)):
        if blob.data is None:
            output[blob.stream] = blob.rows
        else:
            output.setdefault(blob.stream, []).extend(from_blob(blob.data).to_pylist())
    return output


def array_of_lists(element: list[int], count: int) -> Any:
    """Return an array whose elements are lists, where NumPy would make one of two dimensions."""
    array = np.empty(count, object)
    for place in range(count):
        array[place] = element
    return array


@pytest.mark.parametrize(
    ("compute", "result", "arrow_type", "expected"),
    [
        # the only sum is 5
        (lambda sums: sums / 2, float, pa.float64(), 2.5),
        (lambda sums: sums > 0, bool, pa.bool_(), True),
        (lambda sums: sums.astype("int32"), int, pa.int64(), 5),
        (lambda sums: np.full(len(sums), INFINITY), Instant, pa.int64(), None),
        (lambda sums: np.ma.MaskedArray(sums, sums > 0), int, pa.int64(), None),
        (
            lambda sums: sums.astype("datetime64[us]"),
            datetime,
            pa.timestamp("us", tz="UTC"),
            datetime(1970, 1, 1, microsecond=5, tzinfo=UTC),
        ),
        (lambda sums: array_of_lists([1, 2], len(sums)), list[int], pa.list_(pa.int64()), [1, 2]),
    ],
)
def test_arrays_of_results_become_columns_of_the_declared_type(
    compute: Callable[[Any], Any], result: Any, arrow_type: pa.DataType, expected: Any
) -> None:
    task = sliced(ResultsOfSums(compute), result, arrow_type, is_static=True)
    (row,) = run(task, rows(start=[3], i0=[5]))["results"]
    assert row["m"] == expected


@pytest.mark.parametrize(
    ("compute", "result", "message"),
    [
        (
            lambda sums: sums / 2,
            int,
            r"test.results_of_sums 1 returned a value that is not .*: 'm' is an array of float64",
        ),
        (lambda sums: sums, str, r"declares: 'm' is 5 of type int, declared string"),
    ],
)
def test_results_of_another_type_are_refused_with_the_value(
    compute: Callable[[Any], Any], result: Any, message: str
) -> None:
    arrow_type = pa.string() if result is str else pa.int64()
    with pytest.raises(ModuleContractError, match=message):
        run(sliced(ResultsOfSums(compute), result, arrow_type, is_static=True), rows(start=[3], i0=[5]))


@pytest.mark.parametrize(("number", "dtype"), [(2**70, object), (2**63, np.uint64)])
def test_an_integer_of_more_than_64_bits_becomes_null(number: int, dtype: Any) -> None:
    module = ResultsOfSums(lambda sums: np.full(len(sums), number, dtype))
    task = sliced(module, int, pa.int64(), is_static=True)
    (row,) = run(task, rows(start=[3], i0=[5]))["results"]
    assert row["m"] is None


@pytest.mark.parametrize(("cache_bytes", "is_cached"), [(0, False), (2**20, True)])
def test_a_worker_keeps_decoded_state_only_if_its_settings_leave_room_for_it(cache_bytes: int, is_cached: bool) -> None:
    task = sliced(Largest(), worker=WorkerSettings(cache_bytes=cache_bytes))
    run(task, rows(start=[3], i0=[5]))
    store_of_bucket_0 = (task.cache_token, 0)
    assert (store_of_bucket_0 in STORE_CACHE._stores) is is_cached
