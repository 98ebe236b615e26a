"""Module code that does not come back, and what is known of it when its process is gone."""

from __future__ import annotations

import io
import logging
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.util import handle_worker_exception

from muntin import Aggregate, Axis, ClipPolicy, ColumnarAggregate, Component, IncrementalAggregate, Window
from muntin.errors import ModuleFailedError
from muntin_engine.core.calls import RUNNING
from muntin_engine.core.evaluator_query import Binding
from muntin_engine.evaluators.keyed.computation import ModuleComputation
from muntin_engine.evaluators.keyed.event_index import StoredEvent
from muntin_engine.exchange.bucket_task import run_bucket
from muntin_engine.exchange.task_payload import TaskPayload
from muntin_engine.state.cells import MemoryCells
from muntin_engine.workers.settings import WorkerSettings
from muntin_engine.workers.traces import FileTrace, read_traces
from muntin_engine.workers.traces_folder import last_death
from muntin_engine.workers.watchdog import overseen
from tests.conftest import ROOT
from tests.engine.exchange.tasks import TICKS, arrived, rows, task_of
from tests.engine.test_metrics import sliced, timed

SCHEMA = pa.schema([("key", pa.string()), ("window", TICKS), ("m", pa.int64())])
SECONDS = 0.2


def spin(seconds: float) -> int:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass
    return 1


class Slow(Aggregate[int, int]):
    name, version = "test.slow", "1.2.3"

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def compute_result(self, payloads: Sequence[int]) -> int:
        return spin(self.seconds) if 7 in payloads else 1


class SlowParts(IncrementalAggregate[int, int, int]):
    name, version = "test.slow", "1.2.3"

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def create_state(self) -> int:
        return 0

    def add_events(self, state: int, payloads: Sequence[int]) -> int:
        return state + sum(payloads)

    def combine(self, state: int, other: int) -> int:
        return state + other

    def compute_result(self, state: int) -> int:
        return spin(self.seconds) if state == 7 else 1


class SlowArrays(ColumnarAggregate[int, int]):
    name, version = "test.sums", "1"

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def components(self) -> Mapping[str, Component]:
        return {"sum": Component.sum("int64")}

    def lift(self, payloads: Any) -> Mapping[str, Any]:
        return {"sum": payloads}

    def compute_results(self, components: Mapping[str, Any]) -> Any:
        if 7 in components["sum"]:
            spin(self.seconds)
        return components["sum"]


def run(kind: str, seconds: float, settings: WorkerSettings) -> dict[str, int]:
    """Evaluate a bucket whose window from 20 on of key `b` takes so long, and return its metrics."""
    if kind == "general":
        task: TaskPayload = task_of(Slow(seconds), results=SCHEMA, has_changes=True, worker=settings)
    else:
        module = SlowParts(seconds) if kind == "sliced" else SlowArrays(seconds)
        task = sliced(module, has_changes=True, worker=settings)
    task = timed(task)
    times = {"start": [3, 13, 23, 23, None], "end": [4, 14, 24, 24, None], "change": ["insert"] * 4 + ["close"]}
    batch = rows(**times, k0=["a", "b", "b", "c", None], i0=[5, 6, 7, 8, None])
    return {blob.stream: blob.rows for blob in run_bucket(task, 0, MemoryCells(), arrived(task, batch))}


PLACE = "\n  key: ('b',)\n  window: [20, 30)\n"


LABELS = {"general": "test.slow 1.2.3", "sliced": "test.slow 1.2.3", "arrays": "test.sums 1"}


@pytest.mark.parametrize("kind", LABELS)
def test_a_call_that_takes_long_is_told_of_with_module_key_and_window(
    kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "muntin.watchdog"):
        metrics = run(kind, 3 * SECONDS, WorkerSettings(watchdog_seconds=SECONDS, folder=str(tmp_path)))
    assert caplog.messages
    assert metrics["long_calls:m"] == 1
    assert metrics["longest_call_us:m"] >= SECONDS * 1e6
    first = caplog.messages[0]
    assert first.startswith(f"{LABELS[kind]} has been running for 0 seconds in compute_result")
    assert (PLACE in first) == (kind != "arrays")
    assert "in spin\n" in first
    (trace,) = read_traces(tmp_path)
    assert (trace.pid, trace.is_running, trace.notice) == (os.getpid(), False, caplog.messages[-1])


@pytest.mark.parametrize("kind", ["general", "sliced", "arrays"])
def test_the_watchdog_fails_the_batch_if_it_is_told_to(kind: str) -> None:
    started = time.monotonic()
    with pytest.raises(ModuleFailedError, match="RunsTooLongError: the watchdog") as caught:
        run(kind, 60.0, WorkerSettings(watchdog_seconds=SECONDS, watchdog_fails=True))
    assert time.monotonic() - started < 30
    assert caught.value.method.startswith("compute_result")
    if kind != "arrays":
        assert PLACE in str(caught.value)


def test_many_short_calls_are_not_one_long_one(caplog: pytest.LogCaptureFixture) -> None:
    binding = Binding(Slow(SECONDS / 20), itemgetter(0))
    computation = ModuleComputation(binding, ClipPolicy.NONE)
    settings = WorkerSettings(watchdog_seconds=SECONDS)
    with caplog.at_level(logging.WARNING, "muntin.watchdog"), overseen(settings, Axis.TICKS):
        for _ in range(40):
            computation.result_of_members([StoredEvent(1, 0, 1, (7,), 0, 1)], ("k",), Window(0, 10))
    assert caplog.messages == []
    assert binding.meter.take_long() == (0, 0)


def test_a_trace_says_what_ran_last_and_nothing_when_the_task_has_ended(tmp_path: Path) -> None:
    with overseen(WorkerSettings(folder=str(tmp_path)), Axis.TIME):
        RUNNING.one("m.odule 1.0", ("snö",), Window(0, 60_000_000))
        RUNNING.one("m.odule 1.0", ("snö",), Window(60_000_000, 120_000_000))
        (during,) = read_traces(tmp_path)
        RUNNING.many("ot.her 2.0")
        (bulk,) = read_traces(tmp_path)
    (after,) = read_traces(tmp_path)
    place = "  key: ('snö',)\n  window: [1970-01-01T00:01:00Z, 1970-01-01T00:02:00Z)"
    assert (during.label, during.place, during.is_running) == ("m.odule 1.0", place, True)
    assert (bulk.label, bulk.place) == ("ot.her 2.0", "")
    assert not after.is_running
    assert last_death([tmp_path]) == ""


def test_a_trace_holds_long_labels_and_keys_in_part(tmp_path: Path) -> None:
    trace = FileTrace(tmp_path)
    trace.begin(Axis.TICKS)
    trace.module("ö" * 5000)
    trace.place(("k" * 5000,), Window(-(2**63), 2**63 - 1))
    trace.notice("n" * 50_000)
    (found,) = read_traces(tmp_path)
    assert found.label.startswith("ö" * 100)
    assert "characters left out" in found.place
    assert found.notice.startswith("nnn")


def test_what_ran_last_is_known_however_the_process_ended(tmp_path: Path) -> None:
    ways = ["exit", "fault", "kill", "sliced"]
    story = [sys.executable, "-m", "tests.engine.workers.dying_story", str(tmp_path), *ways]
    told = subprocess.run(story, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    ended = {name: (int(pid), int(code)) for name, pid, code in (line.split() for line in told)}
    assert {name: code for name, (_, code) in ended.items()} == {"exit": 3, "fault": -11, "kill": -9, "sliced": 3}
    traces = {trace.pid: trace for trace in read_traces(tmp_path)}
    for way in ("exit", "fault", "kill"):
        trace = traces[ended[way][0]]
        assert trace.is_running
        assert not trace.is_alive
        assert (
            trace.death_message
            == f"a worker (process {trace.pid}) died while or after test.dying 1.2.3 ran{PLACE[:-1]}"
        )
    assert traces[ended["sliced"][0]].death_message.endswith("died while or after test.dying_parts 1.2.3 ran")
    message = last_death([tmp_path])
    assert message.startswith("one of these workers died, and Spark ended the others:\na worker (process ")
    assert all(traces[pid].death_message in message for pid, _ in ended.values())


def test_a_worker_that_spark_ended_does_not_hide_the_one_that_died(tmp_path: Path) -> None:
    """Its task began later; its window is not the one in which a module called `os._exit`."""
    for pid, module, tick in (("99999998", "m.exits 1.0", 20), ("99999999", "m.sleeps 1.0", 50)):
        trace = FileTrace(tmp_path)
        trace.begin(Axis.TICKS)
        trace.module(module)
        trace.place(("k",), Window(tick, tick + 10))
        (tmp_path / str(os.getpid())).rename(tmp_path / pid)  # processes that there are not
    exits = "a worker (process 99999998) died while or after m.exits 1.0 ran\n  key: ('k',)\n  window: [20, 30)"
    assert exits in last_death([tmp_path])
    (tmp_path / "99999999").unlink()
    assert last_death([tmp_path]) == exits


def test_spark_tells_the_module_s_own_traceback_also_where_it_simplifies_tracebacks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def raised_in_the_module() -> None:
        raise ZeroDivisionError("seven is not liked here")

    monkeypatch.setenv("SPARK_SIMPLIFIED_TRACEBACK", "1")
    told = io.BytesIO()
    try:
        with overseen(WorkerSettings(), Axis.TICKS):
            try:
                raised_in_the_module()
            except ZeroDivisionError as error:
                raise ModuleFailedError(
                    "show.picky", "1.0.0", ("a",), Window(0, 10), "compute_result", error
                ) from error
    except ModuleFailedError as error:
        handle_worker_exception(error, told)
    text = told.getvalue().decode("utf-8", "replace")
    assert "in raised_in_the_module" in text
    assert text.index("in raised_in_the_module") < text.index("show.picky 1.0.0 failed in compute_result")
