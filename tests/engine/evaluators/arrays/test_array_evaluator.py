"""A bucket over slices: partial states in, typed windows out."""

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
    """A sum with a form that a test chooses."""

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


def sliced(module: Any, result: Any = int, arrow_type: pa.DataType | None = None, **changed: Any) -> TaskPayload:
    """Return a task over point events and tumbling windows of ten ticks."""
    evaluator = "columnar" if isinstance(module, ColumnarAggregate) else "sliced"
    results = pa.schema([("key", pa.string()), ("window", TICKS), ("m", arrow_type or pa.int64())])
    settings: dict[str, Any] = {"results": results, "result": describe(result)}
    return task_of(module, evaluator=evaluator, is_point=True, **(settings | changed))


def run(task: TaskPayload, *batches: pa.RecordBatch, cells: MemoryCells | None = None) -> dict[str, Any]:
    """Return the output of a bucket by stream: rows, or a count alone."""
    output: dict[str, Any] = {}
    for blob in run_bucket(task, 0, cells or MemoryCells(), bucket_input(task, *batches)):
        if blob.data is None:
            output[blob.stream] = blob.rows
        else:
            output.setdefault(blob.stream, []).extend(from_blob(blob.data).to_pylist())
    return output


@pytest.mark.parametrize(
    ("compute", "result", "arrow_type", "expected"),
    [
        (lambda sums: sums / 2, float, pa.float64(), 2.5),
        (lambda sums: sums > 0, bool, pa.bool_(), True),
        (lambda sums: sums.astype("int32"), int, pa.int64(), 5),
        (lambda sums: np.full(len(sums), INFINITY), Instant, pa.int64(), None),
        (lambda sums: np.ma.MaskedArray(sums, sums > 0), int, pa.int64(), None),
        (lambda sums: sums.astype("datetime64[us]"), datetime, pa.timestamp("us", tz="UTC"), 5),
        (lambda sums: np.array([[1, 2]] * len(sums) + [None], object)[:-1], list[int], pa.list_(pa.int64()), [1, 2]),
    ],
)
def test_arrays_become_columns_of_the_declared_type(
    compute: Callable[[Any], Any], result: Any, arrow_type: pa.DataType, expected: Any
) -> None:
    task = sliced(ResultsOfSums(compute), result, arrow_type, is_static=True)
    (row,) = run(task, rows(start=[3], i0=[5]))["results"]
    is_time = isinstance(row["m"], datetime)
    assert (row["m"] - datetime(1970, 1, 1, tzinfo=UTC)).microseconds == expected if is_time else row["m"] == expected


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


@pytest.mark.parametrize("dtype", [object, np.uint64])
def test_a_result_beyond_its_column_is_null(dtype: Any) -> None:
    beyond = 2**70 if dtype is object else 2**63
    task = sliced(ResultsOfSums(lambda sums: np.full(len(sums), beyond, dtype)), int, pa.int64(), is_static=True)
    assert [row["m"] for row in run(task, rows(start=[3], i0=[5]))["results"]] == [None]


def test_a_session_says_how_much_decoded_state_a_worker_keeps() -> None:
    batch = rows(start=[3], i0=[5])
    cached_stores = {}
    for most in (0, 2**20):
        task = sliced(Largest(), worker=WorkerSettings(cache_bytes=most))
        run(task, batch)
        cached_stores[most] = [name for name in STORE_CACHE._stores if name == (task.cache_token, 0)]
    assert [len(names) for names in cached_stores.values()] == [0, 1]
