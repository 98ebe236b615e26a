"""Stream operators without state: each event is handed over where its row is read, and nothing is remembered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from muntin import Event, StreamOperator
from muntin.errors import ModuleContractError, ModuleFailedError, QueryError
from muntin.progress import bounded_delay
from muntin.testing import Script, WindowedQuery, evaluate
from muntin.windows.specification import Unwindowed
from muntin_engine import ResultOverflowError
from muntin_engine.evaluators.declarations import DECLARATIONS
from muntin_engine.plan.explanation import explain_plan
from muntin_engine.plan.planner import checked_plan, with_choice
from muntin_engine.plan.worker_settings import WorkerSettings
from muntin_engine.tasks.output_blobs import RESULTS, OutputBlob
from muntin_engine.tasks.stateless_task import run_task
from muntin_engine.testing import crash_everywhere
from muntin_engine.wire.blobs import from_blob
from muntin_engine.wire.task_payload import TaskPayload
from tests.engine.wire.payloads import TICKS, rows, task_of
from tests.modules.merged_states import Signs
from tests.scenarios.passing import passing
from tests.scenarios.query import Query


class Alarm(StreamOperator[int, None, int]):
    """An operator without a state that is woken all the same, because it claims not to be empty."""

    name, version = "test.alarm", "1.0.0"

    def on_event(self, state: None, payload: int, time: int) -> None:
        pass

    def next_time(self, state: None) -> int:
        return 20

    def on_time(self, state: None, time: int) -> list[int]:
        return [time]

    def is_empty(self, state: None) -> bool:
        return False


def task(module: StreamOperator[Any, Any, Any] | None = None, **changed: Any) -> TaskPayload:
    schema = pa.schema([("key", pa.string()), ("lifetime", TICKS), ("value", pa.int64())])
    parts = {"evaluator": "stateless", "is_point": True, "plan": {"window": Unwindowed()}, "results": schema}
    return task_of(module or Signs(), **parts | changed)


def results(blobs: Iterable[OutputBlob]) -> list[tuple[Any, ...]]:
    """Return the start, end, key and value of each result."""
    output: list[tuple[Any, ...]] = []
    for blob in blobs:
        if blob.stream == RESULTS and blob.data is not None:
            for row in from_blob(blob.data).to_pylist():
                output.append((*row["lifetime"].values(), row["key"], row["value"]))
    return output


def test_the_results_of_a_task_are_those_of_the_reference_for_its_rows_in_any_order() -> None:
    compared = 0
    for seed in range(10):
        random = Random(seed)
        events = [(random.choice("ab"), random.randint(-9, 9), random.randint(-9, 9)) for _ in range(30)]
        expected: list[tuple[Any, ...]] = []
        for key in "ab":
            points = [Event.point(time, value) for of, time, value in events if of == key]
            for row in evaluate(WindowedQuery.unwindowed(Signs()), points):
                expected.append((row.start, row.end, key, row.value))

        batches = [batch_of(events[:10]), batch_of(events[10:11]), batch_of(events[11:])]
        output = results(run_task(task(), batches))
        assert sorted(output) == sorted(expected)
        compared += len(output)
    assert compared > 100


def batch_of(events: Sequence[tuple[str, int, int]]) -> pa.RecordBatch:
    """Return the rows of (key, time, value)."""
    keys, times, values = map(list, zip(*events, strict=True))
    return rows(start=times, k0=keys, i0=values)


def test_an_operator_without_state_that_asks_for_a_wake_up_gets_it() -> None:
    r"""
    event         |            1
    wake-up              !     20
    """
    script = Script().point("a", 1, 3).punctuate(9).close()
    assert crash_everywhere(script, WindowedQuery.unwindowed(Alarm())).evaluators == ("event_by_event",)


def test_bad_rows_are_rejected_filtered_ones_and_nulls_are_counted() -> None:
    batch = rows(start=[1, None, 3, 4], kept=pa.array([True, True, False, True]), i0=[1, 3, 5, None])
    counts = {blob.stream: blob.rows for blob in run_task(task(is_filtered=True), [batch])}
    expected = {"results": 2, "rejected": 1, "accepted": 2, "filtered": 1, "skipped:test.signs": 1, "newest": 4}
    assert counts == expected


class Doubling(StreamOperator[int, None, int]):
    """Twice the value of each row."""

    name, version = "test.doubling", "1.0.0"

    def on_event(self, state: None, payload: int, time: int) -> list[int]:
        return [2 * payload]


def test_results_that_their_column_cannot_hold_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    doubling = task(Doubling())
    for _ in range(2):
        blobs = list(run_task(doubling, [rows(start=[1, 2, 3], i0=[2**62, 4, -(2**63)])]))
        assert [value for *_, value in results(blobs)] == [None, 8, None]
        assert {blob.stream: blob.rows for blob in blobs}["overflows:value"] == 2
    (warning,) = caplog.messages  # once in a worker
    assert warning.startswith("test.doubling 1.0.0 returned a value that its column 'value', of int64, cannot hold")
    assert f"value: {2**63}\n" in warning
    assert "window: [1, 2)" in warning


def test_a_result_that_its_column_cannot_hold_fails_the_task_if_it_is_told_to() -> None:
    strict = task(Doubling(), worker=WorkerSettings(overflow_fails=True))
    with pytest.raises(ResultOverflowError, match=f"value: {2**63}(.|\n)*spark.muntin.overflow.fail is true"):
        list(run_task(strict, [rows(start=[1], i0=[2**62])]))


def test_keys_that_differ_in_bits_and_sources_are_as_elsewhere() -> None:
    floats = pa.schema([("key", pa.float64()), ("lifetime", TICKS), ("value", pa.int64())])
    of_two = task(
        keys=(pa.float64(),),
        results=floats,
        sources=("x", "y"),
        names={"k0": "key", "start": "at", "i0": "x", "source": "of"},
    )
    batch = rows(start=[1, 2], k0=pa.array([float("nan"), None]), i0=[1, 1], source=pa.array(["x", "y"]))
    blobs = list(run_task(of_two, [batch]))
    assert [repr(key) for _, _, key, _ in results(blobs)] == ["nan", "nan", "None", "None"]
    assert {blob.stream: blob.rows for blob in blobs if blob.stream.startswith("rows_")} == {"rows_x": 1, "rows_y": 1}


class Broken(Signs):
    name = "test.broken"

    def on_event(self, state: None, payload: int, time: int) -> Iterable[int]:
        yield 1 // (8 - time)


class Early(Signs):
    name = "test.early"

    def on_event(self, state: None, payload: int, time: int) -> list[Event[int]]:
        return [Event(time - payload, time + 1, payload)]


class Misfit(Signs):
    name = "test.misfit"

    def on_event(self, state: None, payload: int, time: int) -> list[Any]:
        return [payload, "text"] if time == 8 else [payload]


@pytest.mark.parametrize(
    ("module", "error", "message"),
    [
        (
            Broken(),
            ModuleFailedError,
            r"test.broken 1.0.0 failed in on_event: ZeroDivisionError(.|\n)*'b'(.|\n)*\[8, 9\)",
        ),
        (Early(), ModuleContractError, r"starts at 1, before its cause at 8(.|\n)*'b'"),
        (Misfit(), ModuleContractError, r"'text'(.|\n)*'b'(.|\n)*\[8, 9\)"),
    ],
    ids=["raises", "too early", "another type"],
)
def test_an_error_names_module_key_and_time(module: Signs, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        list(run_task(task(module), [rows(start=[2, 8], k0=["a", "b"], i0=[0, 7])]))


class Remembers(Signs):
    name = "test.remembers"

    def create_state(self) -> Any:
        return []


def test_events_that_need_no_state_have_no_operator_that_could_be_called_event_by_event() -> None:
    query = passing("points")
    columns = replace(query.stream.input.columns, change=None, new_end=None)
    plan = replace(query.plan(), inputs=(replace(query.stream.input, columns=columns),))
    assert with_choice(plan, DECLARATIONS).choice.evaluator == "stateless"
    with pytest.raises(QueryError, match="event_by_event evaluator cannot run this query: it has no stream operator"):
        with_choice(replace(plan, requested_evaluator="event_by_event"), DECLARATIONS)


def explained(module: StreamOperator[Any, Any, Any], *, has_ids: bool = False, **options: Any) -> dict[str, str]:
    """Return the explanation of an operator over a stream without punctuation, by topic."""
    query = Query(Unwindowed(), (module,), lifetimes="retracted" if has_ids else "points")
    columns = replace(query.input.columns, change=None, new_end=None)
    plan = checked_plan(
        replace(query.unchecked, inputs=(replace(query.input, columns=columns, **options),)), DECLARATIONS
    )
    return dict(line.split(maxsplit=1) for line in explain_plan(plan).splitlines())


def test_the_plan_says_why_it_keeps_a_state_or_none() -> None:
    assert explained(Signs())["evaluator"] == "stateless: the query has no windows"
    remembers = "event_by_event: test.remembers 1.0.0 keeps a state, or asks for wake-ups"
    assert explained(Remembers())["evaluator"] == remembers
    assert explained(Alarm())["evaluator"].startswith("event_by_event: test.alarm")
    delayed = "event_by_event: the input has a watermark, by which rows may be late; without a delay no row is"
    assert explained(Signs(), progress=bounded_delay(5))["evaluator"] == delayed
    of_ids = explained(Signs(), has_ids=True)["evaluator"]
    assert of_ids == "event_by_event: events have ids, so they may be revised"
    stateless = explained(Signs())
    assert stateless["state"] == "none"
    assert stateless["row"] == "a call of the operator, in the task that reads the row, without a shuffle"
    assert stateless["late"] == "none, because there is no watermark"
    assert stateless["key"] == "key; rows are not grouped"
