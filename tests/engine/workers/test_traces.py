"""What is known of the module that a worker runs, while it runs and when its process is gone."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from pyspark.util import handle_worker_exception

from muntin import Axis, Window
from muntin.errors import ModuleFailedError
from muntin_engine.modules.current_call import CURRENT_CALL
from muntin_engine.plan.worker_settings import WorkerSettings
from muntin_engine.workers import traces_folder
from muntin_engine.workers.oversight import overseen
from muntin_engine.workers.traces import FileTrace, read_traces
from muntin_engine.workers.traces_folder import describe_workers, last_death
from tests.conftest import ROOT

PLACE = "\n  key: ('b',)\n  window: [20, 30)"


def test_a_trace_says_what_ran_last_and_nothing_when_the_task_has_ended(tmp_path: Path) -> None:
    with overseen(WorkerSettings(traces_folder=str(tmp_path)), Axis.TIME):
        CURRENT_CALL.set_window("m.odule 1.0", ("snö",), Window(0, 60_000_000))
        CURRENT_CALL.set_window("m.odule 1.0", ("snö",), Window(60_000_000, 120_000_000))
        (trace_in_window,) = read_traces(tmp_path)
        CURRENT_CALL.set_module("ot.her 2.0")  # for all windows at once
        (trace_of_all_windows,) = read_traces(tmp_path)
    (trace_after_task,) = read_traces(tmp_path)

    assert trace_in_window.label == "m.odule 1.0"
    assert trace_in_window.place == "  key: ('snö',)\n  window: [1970-01-01T00:01:00Z, 1970-01-01T00:02:00Z)"
    assert trace_in_window.is_running
    assert (trace_of_all_windows.label, trace_of_all_windows.place) == ("ot.her 2.0", "")
    assert not trace_after_task.is_running
    assert last_death([tmp_path]) == ""


def test_a_trace_holds_long_labels_and_keys_in_part(tmp_path: Path) -> None:
    trace = FileTrace(tmp_path)
    trace.begin_task(Axis.TICKS)
    trace.set_module("ö" * 5000)
    trace.set_window(("k" * 5000,), Window(-(2**63), 2**63 - 1))
    (read_back,) = read_traces(tmp_path)
    assert read_back.label.startswith("ö" * 100)
    assert "characters left out" in read_back.place


def test_the_workers_of_all_programs_on_a_machine_are_described(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that another program's driver has lost, and one whose task began 90 seconds ago."""
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    assert describe_workers() == "no worker on this machine is in a task"

    folder_of_other_program = tmp_path / "muntin-running-a"
    trace_of_dead_worker = FileTrace(folder_of_other_program)
    trace_of_dead_worker.begin_task(Axis.TICKS)
    trace_of_dead_worker.set_module("o.ther 2.0")
    own_trace = folder_of_other_program / str(os.getpid())
    own_trace.rename(folder_of_other_program / "99999999")  # a process that there is not
    death = "a worker (process 99999999) died while or after o.ther 2.0 ran"

    folder = tmp_path / "muntin-running-b"
    with overseen(WorkerSettings(traces_folder=str(folder)), Axis.TICKS):
        CURRENT_CALL.set_window("m.odule 1.0", ("a",), Window(20, 30))
        (trace,) = read_traces(folder)
        time_after_90_seconds = SimpleNamespace(time_ns=lambda: trace.began + 90 * 10**9)
        monkeypatch.setattr(traces_folder, "time", time_after_90_seconds)
        assert describe_workers() == (
            f"{death}\na worker (process {os.getpid()}) has been in a task for 90 seconds: m.odule 1.0\n"
            "  key: ('a',)\n  window: [20, 30)"
        )
    assert describe_workers() == death


def test_the_package_of_workers_prints_their_description_as_a_program(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "muntin_engine.workers"]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with overseen(WorkerSettings(traces_folder=str(tmp_path / "muntin-running-x")), Axis.TICKS):
        CURRENT_CALL.set_module("m.odule 1.0")
        printed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert printed.startswith(f"a worker (process {os.getpid()}) has been in a task for ")
    assert printed.endswith(" seconds: m.odule 1.0\n")


@pytest.mark.nightly
def test_the_module_that_ran_last_is_known_however_the_process_ended(tmp_path: Path) -> None:
    ways = ["exit", "fault", "kill", "sliced"]
    command = [sys.executable, "-m", "tests.engine.workers.dying_story", str(tmp_path), *ways]
    program_run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    pids: dict[str, int] = {}
    exit_codes: dict[str, int] = {}
    for line in program_run.stdout.splitlines():
        way, pid, code = line.split()
        pids[way] = int(pid)
        exit_codes[way] = int(code)
    assert exit_codes == {"exit": 3, "fault": -signal.SIGSEGV, "kill": -signal.SIGKILL, "sliced": 3}

    traces = {trace.pid: trace for trace in read_traces(tmp_path)}
    for way in ("exit", "fault", "kill"):
        trace = traces[pids[way]]
        assert trace.is_running
        assert not trace.is_alive
        death = f"a worker (process {trace.pid}) died while or after test.dying 1.2.3 ran{PLACE}"
        assert trace.death_message == death
    # Over slices a module runs for all windows at once.
    assert traces[pids["sliced"]].death_message.endswith("died while or after test.dying_parts 1.2.3 ran")

    message = last_death([tmp_path])
    assert message.startswith("one of these workers died, and Spark ended the others:\na worker (process ")
    assert all(traces[pid].death_message in message for pid in pids.values())


def test_a_worker_that_spark_ended_does_not_hide_the_one_that_died(tmp_path: Path) -> None:
    """A module called `os._exit`, and Spark then ended the worker of another task, which had begun later."""
    for pid, module, tick in (("99999998", "m.exits 1.0", 20), ("99999999", "m.sleeps 1.0", 50)):
        trace = FileTrace(tmp_path)
        trace.begin_task(Axis.TICKS)
        trace.set_module(module)
        trace.set_window(("k",), Window(tick, tick + 10))
        (tmp_path / str(os.getpid())).rename(tmp_path / pid)  # processes that there are not
    exits = "a worker (process 99999998) died while or after m.exits 1.0 ran\n  key: ('k',)\n  window: [20, 30)"
    assert exits in last_death([tmp_path])
    (tmp_path / "99999999").unlink()
    assert last_death([tmp_path]) == exits


def test_the_traceback_of_a_module_reaches_spark_also_where_spark_simplifies_tracebacks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def raised_in_the_module() -> None:
        raise ZeroDivisionError("seven is not liked here")

    monkeypatch.setenv("SPARK_SIMPLIFIED_TRACEBACK", "1")
    output = io.BytesIO()
    try:
        with overseen(WorkerSettings(), Axis.TICKS):
            try:
                raised_in_the_module()
            except ZeroDivisionError as error:
                key = ("a",)
                raise ModuleFailedError("show.picky", "1.0.0", key, Window(0, 10), "compute_result", error) from error
    except ModuleFailedError as error:
        handle_worker_exception(error, output)
    text = output.getvalue().decode("utf-8", "replace")
    assert "in raised_in_the_module" in text
    assert text.index("in raised_in_the_module") < text.index("show.picky 1.0.0 failed in compute_result")
