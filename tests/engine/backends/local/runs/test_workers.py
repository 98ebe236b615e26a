"""Several processes for one query: the same rows as one, the same errors, and nothing left behind."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import parent_process
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from muntin import hopping, session, snapshot, tumbling
from muntin.errors import ModuleFailedError, QueryError
from muntin_engine import Query, events, module
from muntin_engine.backends.local import cores
from muntin_engine.backends.local.expressions.duckdb_expression import DuckdbExpression
from muntin_engine.backends.local.frames import file_parts
from muntin_engine.backends.local.frames.local_frame import OpenFrame
from muntin_engine.backends.local.inputs import local_rows
from muntin_engine.backends.local.runs import run_input, static_run
from muntin_engine.backends.local.runs.worker_pool import WorkerPool
from muntin_engine.errors import SetupError
from muntin_engine.tasks import map_task
from tests.modules.members import Members

ROWS = 3_000


@pytest.fixture(autouse=True)
def shares_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers take all but the first piece, however small an input is."""
    monkeypatch.setattr(static_run, "START_SECONDS", 0.0)
    monkeypatch.setattr(static_run, "WARM_SECONDS", 0.0)
    monkeypatch.setattr(file_parts, "PART_ROWS", 700)
    monkeypatch.setattr(local_rows, "BATCH_ROWS", 400)
    monkeypatch.setattr(map_task, "MOST_ROWS", 400)
    monkeypatch.setattr(map_task, "MOST_LIFTED_ROWS", 400)
    monkeypatch.setattr(run_input, "BLOCK_ROWS", 800)


@pytest.fixture(scope="module", autouse=True)
def no_workers_afterwards() -> Iterator[None]:
    yield
    for workers in (2, 3):
        WorkerPool.acquire(workers).release(is_failed=True)


@pytest.fixture(scope="module")
def table() -> pa.Table:
    random = np.random.default_rng(3)
    starts = np.sort(random.integers(0, 10_000, ROWS))
    return pa.table(
        {
            "k": random.integers(0, 40, ROWS),
            "at": starts,
            "end": starts + random.integers(1, 20, ROWS),
            "x": pa.array(np.round(random.random(ROWS), 3), mask=random.random(ROWS) < 0.1),
            "n": random.integers(0, 9, ROWS),
        }
    )


@pytest.fixture(scope="module")
def files(table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("files")
    for number in range(3):
        pq.write_table(table.slice(number * 1_000, 1_000), folder / f"{number}.parquet", row_group_size=300)
    return str(folder)


def spread(values: list[float]) -> float:
    return max(values) - min(values)


def at_points(frame: Any) -> Any:
    return events(frame, key="k", at="at")


def at_lifetimes(frame: Any) -> Any:
    return events(frame, key="k", start="at", end="end")


QUERIES: dict[str, Callable[[Any], Query]] = {
    "columnar": lambda frame: at_points(frame).window(tumbling(100)).aggregate(mean=module("stats.average", "x")),
    "hopping": lambda frame: at_points(frame).window(hopping(300, 100)).aggregate(sum=module("stats.sum", "n")),
    "plain": lambda frame: at_points(frame).window(session(50)).aggregate(spread=module(spread, "x")),
    "members": lambda frame: at_points(frame).window(tumbling(100)).aggregate(all=module(Members, "n")),
    "snapshot": lambda frame: at_lifetimes(frame).window(snapshot()).aggregate(n=module("stats.count")),
    "without keys": lambda frame: events(frame, at="at").window(tumbling(500)).aggregate(all=module(Members, "n")),
    "join": lambda frame: at_lifetimes(frame).join(at_lifetimes(frame), left_columns="x", right_columns="n"),
    "filtered": lambda frame: at_points(frame).where("n > 3").window(tumbling(100)).aggregate(n=module("stats.count")),
}


@pytest.mark.parametrize("workers", [3, 2])  # in this order, as the tests below take 2
def test_the_rows_and_their_order_are_those_of_one_process(workers: int, table: pa.Table, files: str) -> None:
    for name, query in QUERIES.items():
        for frame in (table, files):
            expected: Any = query(frame).results(workers=1)
            assert expected.num_rows
            results: Any = query(frame).results(workers=workers)
            assert results.equals(expected), name


def test_a_block_of_a_table_travels_without_the_rest_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_input, "BATCH_ROWS", 400)
    table = pa.table({"at": np.arange(100_000), "x": np.arange(100_000)})
    frame = OpenFrame(table)
    columns = {"start": DuckdbExpression('"at"', pa.int64()), "i0": DuckdbExpression('"x"', pa.int64())}
    read = run_input.run_input(local_rows.LocalRows(frame, columns), run_input.InputSide(0, 1), 2, 90_000)
    first_batch = next(read.batches_until(lambda rows: True))
    assert len(first_batch) == 90_000

    pieces = list(read.pieces())
    assert [piece.rows for piece in pieces] == [800] * 12 + [400]
    assert max(len(pickle.dumps(piece)) for piece in pieces) < 2 * 8 * 800 + 2_000
    rows = pa.Table.from_batches([batch for piece in pieces for batch in piece.batches()])
    assert rows.column("i0").to_pylist() == list(range(90_000, 100_000))


def test_rows_are_read_by_workers_where_there_is_no_state(files: str) -> None:
    query = at_points(files).where("n = 1")
    expected: Any = query.results(workers=1)
    assert expected.num_rows
    assert query.results(workers=2).equals(expected)


def test_rejected_rows_and_warnings_are_those_of_one_process(table: pa.Table, caplog: pytest.LogCaptureFixture) -> None:
    times = pa.array(table["at"].to_pylist(), mask=np.arange(ROWS) % 7 == 0)
    broken = table.set_column(1, "at", times)
    query = at_points(broken).window(tumbling(100)).aggregate(spread=module(spread, "x"))
    query.results(workers=1)
    messages = list(caplog.messages)
    caplog.clear()
    query.results(workers=2)
    assert messages
    assert caplog.messages == messages
    rejected: Any = query.rejected_rows(workers=2)
    assert rejected.equals(query.rejected_rows(workers=1))


def test_rows_that_an_evaluator_rejects_come_in_the_order_of_one_process(table: pa.Table, files: str) -> None:
    for frame in (table, files):
        for evaluator in ("auto", "general"):
            stream = events(frame, key=["k", "n"], at="at", id="n")  # ids come many times
            query = stream.window(tumbling(100), evaluator=evaluator).aggregate(rows=module("stats.count"))
            expected: Any = query.rejected_rows(workers=1)
            assert expected.num_rows
            assert query.rejected_rows(workers=2).equals(expected), evaluator


def fail_late(values: list[int]) -> int:
    if len(values) > 3:
        raise LookupError("too many")
    return 0


def test_the_error_of_a_module_is_that_of_one_process(table: pa.Table) -> None:
    query = at_points(table).window(tumbling(100)).aggregate(x=module(fail_late, "n"))
    errors: list[ModuleFailedError] = []
    for workers in (1, 2):
        with pytest.raises(ModuleFailedError) as caught:
            query.results(workers=workers)
        errors.append(caught.value)
    assert str(errors[0]) == str(errors[1])
    assert isinstance(errors[1].__cause__, LookupError)
    assert "fail_late" in errors[1].__notes__[-1]


def test_queries_of_several_threads_share_workers_and_their_errors_are_their_own(table: pa.Table) -> None:
    def fails() -> str:
        with pytest.raises(ModuleFailedError) as caught:
            at_points(table).window(tumbling(100)).aggregate(x=module(fail_late, "n")).results(workers=2)
        return str(caught.value)

    with ThreadPoolExecutor(3) as threads:
        failures = [threads.submit(fails) for _ in range(2)]
        results: Any = threads.submit(lambda: QUERIES["members"](table).results(workers=2)).result()
    assert results.equals(QUERIES["members"](table).results(workers=1))
    assert len({failure.result() for failure in failures}) == 1


def die(values: list[int]) -> int:
    if parent_process() is not None:  # it is a worker, and not the process of the test, which evaluates parts too
        os.kill(os.getpid(), signal.SIGKILL)
    return 0


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
def test_a_worker_that_is_killed_is_one_error(table: pa.Table, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    query = at_points(table).window(tumbling(100)).aggregate(x=module(die, "n"))
    with pytest.raises(SetupError, match="a worker process of the query was killed"):
        query.results(workers=2)
    assert list(tmp_path.glob("muntin-run-*")) == []
    assert at_points(table).window(tumbling(100)).aggregate(n=module("stats.count")).results(workers=2).num_rows


def test_modules_that_cannot_travel_run_in_this_process(table: pa.Table, caplog: pytest.LogCaptureFixture) -> None:
    lock = __import__("threading").Lock()

    def count(values: list[int]) -> int:
        with lock:
            return len(values)

    results: Any = at_points(table).window(tumbling(100)).aggregate(n=module(count, "n")).results(workers=2)
    assert results.num_rows
    assert "the query runs in one process" in caplog.text


@pytest.mark.parametrize("workers", [0, -1, True, 1.5, "2"])
def test_what_is_no_number_of_processes_is_refused(workers: Any, table: pa.Table) -> None:
    query = QUERIES["columnar"](table)
    with pytest.raises(QueryError, match=r"workers=.* is no number of processes"):
        query.results(workers=workers)
    with pytest.raises(QueryError, match="workers="):
        query.show(workers=workers)


def test_spark_has_executors_and_refuses_workers() -> None:
    from muntin_engine.backends.spark.spark_backend import BACKEND

    with pytest.raises(QueryError, match=r"workers=4 is for tables in this process(.|\n)*leave it out"):
        BACKEND.check_workers(4)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("columnar", "what `state` says, of one 16th of the keys at a time"),
        ("join", "what `state` says, of one 16th of the keys at a time"),
        ("without keys", "of all keys at a time in each process; and the results"),
    ],
)
def test_explain_says_what_is_kept_in_memory(name: str, words: str, table: pa.Table) -> None:
    text = QUERIES[name](table).plan_text()
    (memory,) = [line for line in text.splitlines() if line.startswith("memory ")]
    assert words in memory
    assert "give events() a DataFrame of Spark's" in memory


def test_a_small_query_starts_no_workers(table: pa.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static_run, "START_SECONDS", 100.0)
    monkeypatch.setattr(static_run, "WARM_SECONDS", 100.0)
    monkeypatch.setattr(WorkerPool, "acquire", classmethod(lambda cls, workers: pytest.fail("workers were started")))
    assert QUERIES["columnar"](table).results(workers=2).num_rows


def test_a_process_of_a_pool_has_no_workers_itself() -> None:
    import loky

    with loky.ProcessPoolExecutor(1) as pool:
        assert pool.submit(workers_of_call, 4).result() == 1
    assert workers_of_call(4) == 4
    assert workers_of_call(None) == cores.available_cores()


def workers_of_call(workers: int | None) -> int:
    with cores.call_with_workers(workers):
        return cores.worker_count()


def test_the_queries_of_a_chain_have_the_workers_of_the_call(table: pa.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers: list[int] = []
    begin = static_run.StaticRun.__init__

    def note_workers_and_begin(run: Any, query: Any, task: Any, workers: int) -> None:
        numbers.append(workers)
        begin(run, query, task, workers)

    monkeypatch.setattr(static_run.StaticRun, "__init__", note_workers_and_begin)
    inner = at_points(table).window(tumbling(100)).aggregate(n=module("stats.count"))
    middle = (
        inner.as_events()
        .where("n > 0")
        .with_columns(m="n + 1")
        .window(tumbling(200))
        .aggregate(m=module("stats.sum", "m"))
    )
    outer = middle.as_events(key=None).window(tumbling(400)).aggregate(m=module("stats.sum", "m"))
    expected: Any = outer.results(workers=1)
    assert numbers == [1, 1, 1]
    assert outer.results(workers=3).equals(expected)
    assert numbers[3:] == [3, 3, 3]
    outer.results()
    assert numbers[6:] == [cores.available_cores()] * 3


SCRIPT = """
import sys, time
import pyarrow as pa
from muntin import tumbling
from muntin_engine import events, module
from muntin_engine.backends.local.runs import run_input, static_run
static_run.START_SECONDS = static_run.WARM_SECONDS = 0
run_input.BLOCK_ROWS = 100
frame = pa.table({"k": list(range(40)) * 50, "at": list(range(2000))})
query = events(frame, key="k", at="at").window(tumbling(10))
def length(values: list[int]) -> int:
    time.sleep(PAUSE)
    return len(values)
print("begins", flush=True)
print(query.aggregate(n=module(length, "at")).results(workers=2).num_rows, flush=True)
"""


@pytest.mark.parametrize("is_file", [True, False])
def test_a_script_needs_no_guard_and_standard_input_no_file(is_file: bool, tmp_path: Path) -> None:
    text = SCRIPT.replace("PAUSE", "0")
    script = tmp_path / "script.py"
    script.write_text(text)
    command = [sys.executable, str(script) if is_file else "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.split() == ["begins", "2000"]
    assert done.stderr == ""


def processes_of_group(group: int) -> list[str]:
    listed = subprocess.run(["ps", "-o", "pid=,args=", "-g", str(group)], capture_output=True, text=True, check=False)
    return listed.stdout.splitlines()


@pytest.mark.skipif(sys.platform != "linux", reason="processes are listed as Linux does")
def test_ctrl_c_ends_all_processes_and_removes_all_files(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    script = SCRIPT.replace("PAUSE", "0.5")
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=pipe, stderr=pipe, text=True, env=environment, start_new_session=True
    ) as running:
        try:
            assert running.stdout is not None
            assert running.stdout.readline() == "begins\n"
            wait_until(lambda: bool(list(tmp_path.glob("muntin-run-*/task"))), 300)
            time.sleep(1)
            os.killpg(running.pid, signal.SIGINT)  # as a terminal does
            _, errors = running.communicate(timeout=60)  # a moment, on a machine with nothing else to do
        finally:
            if running.poll() is None:
                os.killpg(running.pid, signal.SIGKILL)  # else the end of the block waits for all its windows
    assert "KeyboardInterrupt" in errors
    assert list(tmp_path.glob("muntin-*")) == []
    wait_until(lambda: processes_of_group(running.pid) == [], 10)


IDLE_PROGRAM = """
import sys
from muntin_engine.backends.local.runs import worker_pool
worker_pool.IDLE_SECONDS = PAUSE_OF_POOL
"""


@pytest.mark.skipif(sys.platform != "linux", reason="processes are listed as Linux does")
@pytest.mark.parametrize(("idle_seconds", "is_killed"), [(0.5, False), (1000.0, False), (1000.0, True)])
def test_workers_end_when_no_query_has_them_or_with_their_program(idle_seconds: float, is_killed: bool) -> None:
    program = (
        IDLE_PROGRAM.replace("PAUSE_OF_POOL", str(idle_seconds)) + SCRIPT.replace("PAUSE", "0") + "sys.stdin.read()"
    )
    command = [sys.executable, "-c", program]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, start_new_session=True) as running:
        try:
            assert running.stdout is not None
            assert [running.stdout.readline(), running.stdout.readline()] == ["begins\n", "2000\n"]
            if idle_seconds < 1:
                wait_until(lambda: workers_of_group(running.pid) == [], 60)
            else:
                assert len(workers_of_group(running.pid)) == 1
            if is_killed:
                running.kill()
            running.communicate("", timeout=60)  # the program ends
        finally:
            if running.poll() is None:
                os.killpg(running.pid, signal.SIGKILL)
    assert running.returncode == (-signal.SIGKILL if is_killed else 0)
    wait_until(lambda: processes_of_group(running.pid) == [], 60)


def workers_of_group(group: int) -> list[str]:
    return [process for process in processes_of_group(group) if "popen_loky" in process]


SLOW_EXPRESSION = """
import pyarrow as pa
from muntin import tumbling
from muntin_engine import events, module
frame = pa.table({"k": pa.array(range(2_000_000)), "at": pa.array(range(2_000_000))})
slow = " OR ".join(f"upper(repeat(cast(at as string), 1000)) LIKE '%x%y{n}%'" for n in range(4))
rows = events(frame, key="k", at="at").where(f"{slow} OR k >= 0")
query = rows.window(tumbling(10)).aggregate(n=module("stats.count"))
if IS_CHAIN:
    query = query.as_events().window(tumbling(20)).aggregate(n=module("stats.count"))
print("begins", flush=True)
query.results(workers=1)
"""
"""A query whose expression DuckDB computes for minutes."""


@pytest.mark.skipif(os.name == "nt", reason="SIGINT is sent as a terminal does elsewhere")
@pytest.mark.parametrize("is_chain", [False, True])
def test_ctrl_c_ends_a_query_while_duckdb_computes(is_chain: bool, tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", SLOW_EXPRESSION.replace("IS_CHAIN", str(is_chain))]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdout=pipe, stderr=pipe, text=True, env=environment, start_new_session=True
    ) as running:
        try:
            assert running.stdout is not None
            assert running.stdout.readline() == "begins\n"
            time.sleep(2)
            assert running.poll() is None
            os.killpg(running.pid, signal.SIGINT)
            _, errors = running.communicate(timeout=60)  # a moment; without an interrupt it would be minutes
        finally:
            if running.poll() is None:
                os.killpg(running.pid, signal.SIGKILL)
    assert (running.returncode, errors.splitlines()[-1]) == (-signal.SIGINT, "KeyboardInterrupt")
    assert list(tmp_path.glob("muntin-*")) == []


def wait_until(is_so: Callable[[], bool], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)
