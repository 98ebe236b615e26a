"""Stream operators without state: each event is handed over where its row is read, and nothing is remembered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from random import Random
from typing import Any, NamedTuple

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


def stateless_task(module: StreamOperator[Any, Any, Any] | None = None, **task_parts: Any) -> TaskPayload:
    """Return the task of an operator, by default `Signs`, over points without windows."""
    schema = pa.schema([("key", pa.string()), ("lifetime", TICKS), ("value", pa.int64())])
    defaults = {"evaluator": "stateless", "is_point": True, "plan": {"window": Unwindowed()}, "results": schema}
    return task_of(module or Signs(), **defaults | task_parts)


def results(blobs: Iterable[OutputBlob]) -> list[tuple[Any, ...]]:
    """Return the start, end, key and value of each result."""
    output: list[tuple[Any, ...]] = []
    for blob in blobs:
        if blob.stream == RESULTS and blob.data is not None:
            for row in from_blob(blob.data).to_pylist():
                output.append((*row["lifetime"].values(), row["key"], row["value"]))
    return output


def counts_by_stream(blobs: Iterable[OutputBlob]) -> dict[str, int]:
    """Return the numbers of rows, and the metrics, of a task by the names of their streams."""
    return {blob.stream: blob.rows for blob in blobs}


class KeyedPoint(NamedTuple):
    key: str
    time: int
    value: int


@pytest.mark.parametrize("seed", range(10))
def test_the_results_of_a_task_are_those_of_the_reference_for_its_rows_in_any_order(seed: int) -> None:
    random = Random(seed)
    points: list[KeyedPoint] = []
    for _ in range(30):
        points.append(KeyedPoint(random.choice("ab"), time=random.randint(-9, 9), value=random.randint(-9, 9)))

    expected: list[tuple[Any, ...]] = []
    for key in "ab":
        events = [Event.point(point.time, point.value) for point in points if point.key == key]
        for row in evaluate(WindowedQuery.unwindowed(Signs()), events):
            expected.append((row.start, row.end, key, row.value))
    assert len(expected) > 10

    batches = [batch_of(points[:10]), batch_of(points[10:11]), batch_of(points[11:])]
    assert sorted(results(run_task(stateless_task(), batches))) == sorted(expected)


def batch_of(points: Sequence[KeyedPoint]) -> pa.RecordBatch:
    return rows(
        start=[point.time for point in points],
        k0=[point.key for point in points],
        i0=[point.value for point in points],
    )


def test_an_operator_without_state_that_asks_for_a_wake_up_gets_it() -> None:
    r"""
    event         |            1
    wake-up              !     20
    """
    script = Script().point("a", 1, 3).punctuate(9).close()
    report = crash_everywhere(script, WindowedQuery.unwindowed(Alarm()))  # raises if results are not the reference's
    assert report.evaluators == ("event_by_event",)


def test_rows_without_a_time_are_rejected_and_rows_that_a_filter_or_a_null_leaves_out_are_counted() -> None:
    batch = rows(
        #      accepted, rejected, filtered, skipped by the module
        start=[1, None, 3, 4],
        kept=pa.array([True, True, False, True]),
        i0=[1, 3, 5, None],
    )
    blobs = run_task(stateless_task(is_filtered=True), [batch])
    assert counts_by_stream(blobs) == {
        "results": 2,
        "rejected": 1,
        "accepted": 2,
        "filtered": 1,
        "skipped:test.signs": 1,
        "newest": 4,
    }


class Doubling(StreamOperator[int, None, int]):
    """Twice the value of each row."""

    name, version = "test.doubling", "1.0.0"

    def on_event(self, state: None, payload: int, time: int) -> list[int]:
        return [2 * payload]


def test_results_that_their_column_cannot_hold_become_null_and_are_counted_in_each_batch() -> None:
    task = stateless_task(Doubling())
    for _ in range(2):
        blobs = list(run_task(task, [rows(start=[1, 2, 3], i0=[2**62, 4, -(2**63)])]))
        assert [value for _, _, _, value in results(blobs)] == [None, 8, None]
        assert counts_by_stream(blobs)["overflows:value"] == 2


def test_a_worker_warns_once_of_results_that_their_column_cannot_hold(caplog: pytest.LogCaptureFixture) -> None:
    task = stateless_task(Doubling())
    for _ in range(2):
        list(run_task(task, [rows(start=[1, 2, 3], i0=[2**62, 4, -(2**63)])]))
    (warning,) = caplog.messages
    assert warning.startswith("test.doubling 1.0.0 returned a value that its column 'value', of int64, cannot hold")
    assert f"value: {2**63}\n" in warning
    assert "window: [1, 2)" in warning


def test_a_result_that_its_column_cannot_hold_fails_the_task_if_a_setting_says_so() -> None:
    task = stateless_task(Doubling(), worker=WorkerSettings(overflow_fails=True))
    with pytest.raises(ResultOverflowError, match=f"value: {2**63}(.|\n)*spark.muntin.overflow.fail is true"):
        list(run_task(task, [rows(start=[1], i0=[2**62])]))


def test_nan_and_null_are_keys() -> None:
    results_by_float = pa.schema([("key", pa.float64()), ("lifetime", TICKS), ("value", pa.int64())])
    task = stateless_task(keys=(pa.float64(),), results=results_by_float)
    blobs = run_task(task, [rows(start=[1, 2], k0=pa.array([float("nan"), None]), i0=[1, 1])])
    assert [repr(key) for _, _, key, _ in results(blobs)] == ["nan", "nan", "None", "None"]


def test_the_rows_of_each_source_are_counted() -> None:
    names = {"k0": "key", "start": "at", "i0": "x", "source": "of"}
    task = stateless_task(sources=("x", "y"), names=names)
    blobs = run_task(task, [rows(start=[1, 2], source=pa.array(["x", "y"]))])
    counts = counts_by_stream(blobs)
    assert counts["rows_x"] == 1
    assert counts["rows_y"] == 1


class Broken(Signs):
    """An operator that divides by zero at tick 8."""

    name = "test.broken"

    def on_event(self, state: None, payload: int, time: int) -> Iterable[int]:
        yield 1 // (8 - time)


class Early(Signs):
    """An operator whose results start as many ticks before their cause as the payload says."""

    name = "test.early"

    def on_event(self, state: None, payload: int, time: int) -> list[Event[int]]:
        return [Event(time - payload, time + 1, payload)]


class Misfit(Signs):
    """An operator that returns a text at tick 8, where it declares integers."""

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
        list(run_task(stateless_task(module), [rows(start=[2, 8], k0=["a", "b"], i0=[0, 7])]))


class Remembers(Signs):
    """An operator with a state."""

    name = "test.remembers"

    def create_state(self) -> Any:
        return []


def test_a_query_of_events_alone_needs_no_state_and_cannot_be_evaluated_event_by_event() -> None:
    query = passing("points")
    columns = replace(query.stream.input.columns, change=None, new_end=None)
    plan = replace(query.plan(), inputs=(replace(query.stream.input, columns=columns),))
    assert with_choice(plan, DECLARATIONS).choice.evaluator == "stateless"
    with pytest.raises(QueryError, match="event_by_event evaluator cannot run this query: it has no stream operator"):
        with_choice(replace(plan, requested_evaluator="event_by_event"), DECLARATIONS)


def explanation_of(
    module: StreamOperator[Any, Any, Any], *, has_ids: bool = False, **input_parts: Any
) -> dict[str, str]:
    """Return the explanation, by topic, of an operator over a stream without punctuation."""
    query = Query(Unwindowed(), (module,), lifetimes="retracted" if has_ids else "points")
    columns = replace(query.input.columns, change=None, new_end=None)
    unchecked_plan = replace(query.unchecked, inputs=(replace(query.input, columns=columns, **input_parts),))
    plan = checked_plan(unchecked_plan, DECLARATIONS)
    return dict(line.split(maxsplit=1) for line in explain_plan(plan).splitlines())


@pytest.mark.parametrize(
    ("module", "options", "evaluator"),
    [
        (Signs(), {}, "stateless: the query has no windows"),
        (Remembers(), {}, "event_by_event: test.remembers 1.0.0 keeps a state, or asks for wake-ups"),
        (Alarm(), {}, "event_by_event: test.alarm 1.0.0 keeps a state, or asks for wake-ups"),
        (
            Signs(),
            {"progress": bounded_delay(5)},
            "event_by_event: the input has a watermark, by which rows may be late; without a delay no row is",
        ),
        (Signs(), {"has_ids": True}, "event_by_event: events have ids, so they may be revised"),
    ],
    ids=["no state", "a state", "wake-ups", "a watermark", "ids"],
)
def test_the_plan_says_why_it_keeps_a_state_or_none(
    module: StreamOperator[Any, Any, Any], options: dict[str, Any], evaluator: str
) -> None:
    assert explanation_of(module, **options)["evaluator"] == evaluator


def test_the_explanation_of_a_stateless_query_has_neither_a_state_nor_late_rows_nor_a_shuffle() -> None:
    explanation = explanation_of(Signs())
    assert explanation["state"] == "none"
    assert explanation["late"] == "none, because there is no watermark"
    assert explanation["row"] == "a call of the operator, in the task that reads the row, without a shuffle"
    assert explanation["key"] == "key; rows are not grouped"
