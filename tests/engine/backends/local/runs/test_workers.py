"""Several processes for one query: the same rows as one, the same errors, and nothing left behind."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
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

ROW_COUNT = 3_000


@pytest.fixture(autouse=True)
def workers_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut inputs into small pieces, and let workers take all but the first one, however little work there is."""
    monkeypatch.setattr(static_run, "START_SECONDS", 0.0)
    monkeypatch.setattr(static_run, "WARM_SECONDS", 0.0)
    monkeypatch.setattr(file_parts, "PART_ROWS", 700)
    monkeypatch.setattr(local_rows, "BATCH_ROWS", 400)
    monkeypatch.setattr(map_task, "MOST_ROWS", 400)
    monkeypatch.setattr(map_task, "MOST_LIFTED_ROWS", 400)
    monkeypatch.setattr(run_input, "BLOCK_ROWS", 800)


@pytest.fixture(scope="module", autouse=True)
def no_workers_afterwards() -> Iterator[None]:
    """End the workers that the tests of this file have started."""
    yield
    for workers in (2, 3):
        WorkerPool.acquire(workers).release(is_failed=True)


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """Random rows of 40 keys in the order of their starts; a tenth have no x."""
    random = np.random.default_rng(3)
    starts = np.sort(random.integers(0, 10_000, ROW_COUNT))
    return pa.table(
        {
            "k": random.integers(0, 40, ROW_COUNT),
            "at": starts,
            "end": starts + random.integers(1, 20, ROW_COUNT),
            "x": pa.array(np.round(random.random(ROW_COUNT), 3), mask=random.random(ROW_COUNT) < 0.1),
            "n": random.integers(0, 9, ROW_COUNT),
        }
    )


@pytest.fixture(scope="module")
def files(table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder with the same rows as three files."""
    folder = tmp_path_factory.mktemp("files")
    for number in range(3):
        pq.write_table(table.slice(number * 1_000, 1_000), folder / f"{number}.parquet", row_group_size=300)
    return str(folder)


def spread(values: list[float]) -> float:
    return max(values) - min(values)


def points(frame: Any) -> Any:
    return events(frame, key="k", at="at")


def lifetimes(frame: Any) -> Any:
    return events(frame, key="k", start="at", end="end")


QUERIES: dict[str, Callable[[Any], Query]] = {
    "columnar": lambda frame: points(frame).window(tumbling(100)).aggregate(mean=module("stats.average", "x")),
    "hopping": lambda frame: points(frame).window(hopping(300, 100)).aggregate(sum=module("stats.sum", "n")),
    "plain": lambda frame: points(frame).window(session(50)).aggregate(spread=module(spread, "x")),
    "members": lambda frame: points(frame).window(tumbling(100)).aggregate(all=module(Members, "n")),
    "snapshot": lambda frame: lifetimes(frame).window(snapshot()).aggregate(n=module("stats.count")),
    "without keys": lambda frame: events(frame, at="at").window(tumbling(500)).aggregate(all=module(Members, "n")),
    "join": lambda frame: lifetimes(frame).join(lifetimes(frame), left_columns="x", right_columns="n"),
    "filtered": lambda frame: points(frame).where("n > 3").window(tumbling(100)).aggregate(n=module("stats.count")),
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
    monkeypatch.setattr(run_input, "BLOCK_ROWS", 800)
    table = pa.table({"at": np.arange(100_000), "x": np.arange(100_000)})
    columns = {"start": DuckdbExpression('"at"', pa.int64()), "i0": DuckdbExpression('"x"', pa.int64())}
    rows = local_rows.LocalRows(OpenFrame(table), columns)

    # This process reads the first 90,000 rows, and workers get the others as blocks.
    only_input = run_input.InputSide(side=0, inputs=1)
    running_input = run_input.run_input(rows, only_input, 2, 90_000)
    first_batch = next(running_input.batches_until(lambda rows: True))
    assert len(first_batch) == 90_000
    pieces = list(running_input.pieces())
    assert [piece.rows for piece in pieces] == [800] * 12 + [400]

    # A row has two numbers of eight bytes each; a pickle has some bytes besides, and the rest of the table 160,000.
    assert max(len(pickle.dumps(piece)) for piece in pieces) < 800 * 2 * 8 + 2_000
    batches: list[pa.RecordBatch] = []
    for piece in pieces:
        batches += piece.batches()
    assert pa.Table.from_batches(batches).column("i0").to_pylist() == list(range(90_000, 100_000))


def test_rows_that_only_pass_a_filter_are_those_of_one_process(files: str) -> None:
    query = points(files).where("n = 1")
    expected: Any = query.results(workers=1)
    assert expected.num_rows
    assert query.results(workers=2).equals(expected)


def test_rejected_rows_and_warnings_are_those_of_one_process(table: pa.Table, caplog: pytest.LogCaptureFixture) -> None:
    has_no_time = np.arange(ROW_COUNT) % 7 == 0
    times = pa.array(table["at"].to_pylist(), mask=has_no_time)
    broken_table = table.set_column(1, "at", times)
    query = points(broken_table).window(tumbling(100)).aggregate(spread=module(spread, "x"))

    query.results(workers=1)
    expected_messages = list(caplog.messages)
    assert expected_messages
    caplog.clear()
    query.results(workers=2)
    assert caplog.messages == expected_messages

    rejected: Any = query.rejected_rows(workers=2)
    assert rejected.equals(query.rejected_rows(workers=1))


def test_rows_that_an_evaluator_rejects_come_in_the_order_of_one_process(table: pa.Table, files: str) -> None:
    for frame in (table, files):
        for evaluator in ("auto", "general"):
            stream = events(frame, key=["k", "n"], at="at", id="n")  # rows that repeat an id are rejected
            query = stream.window(tumbling(100), evaluator=evaluator).aggregate(rows=module("stats.count"))
            expected: Any = query.rejected_rows(workers=1)
            assert expected.num_rows
            assert query.rejected_rows(workers=2).equals(expected), evaluator


def fail_for_many(values: list[int]) -> int:
    if len(values) > 3:
        raise LookupError("too many")
    return 0


def test_the_error_of_a_module_is_that_of_one_process(table: pa.Table) -> None:
    query = points(table).window(tumbling(100)).aggregate(x=module(fail_for_many, "n"))
    with pytest.raises(ModuleFailedError) as in_one_process:
        query.results(workers=1)
    with pytest.raises(ModuleFailedError) as in_two_workers:
        query.results(workers=2)

    error = in_two_workers.value
    assert str(error) == str(in_one_process.value)
    assert isinstance(error.__cause__, LookupError)
    assert "fail_for_many" in error.__notes__[-1]  # the traceback in the worker


def test_queries_of_several_threads_share_workers_and_their_errors_are_their_own(table: pa.Table) -> None:
    failing_query = points(table).window(tumbling(100)).aggregate(x=module(fail_for_many, "n"))
    query = QUERIES["members"](table)

    def error_of_failing_query() -> str:
        with pytest.raises(ModuleFailedError) as caught:
            failing_query.results(workers=2)
        return str(caught.value)

    with ThreadPoolExecutor(3) as threads:
        first_error = threads.submit(error_of_failing_query)
        second_error = threads.submit(error_of_failing_query)
        results: Any = threads.submit(lambda: query.results(workers=2)).result()

    assert results.equals(query.results(workers=1))
    assert first_error.result() == second_error.result()


def kill_worker(values: list[int]) -> int:
    if parent_process() is not None:  # it is a worker, and not the process of the test, which evaluates parts too
        os.kill(os.getpid(), signal.SIGKILL)
    return 0


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
def test_a_worker_that_is_killed_is_an_error_that_leaves_no_files_and_lets_the_next_query_run(
    table: pa.Table, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    query = points(table).window(tumbling(100)).aggregate(x=module(kill_worker, "n"))
    with pytest.raises(SetupError, match="a worker process of the query was killed"):
        query.results(workers=2)
    assert list(tmp_path.glob("muntin-run-*")) == []
    next_query = points(table).window(tumbling(100)).aggregate(n=module("stats.count"))
    assert next_query.results(workers=2).num_rows


def test_modules_that_cannot_travel_run_in_this_process(table: pa.Table, caplog: pytest.LogCaptureFixture) -> None:
    lock = threading.Lock()  # cannot be pickled

    def count(values: list[int]) -> int:
        with lock:
            return len(values)

    results: Any = points(table).window(tumbling(100)).aggregate(n=module(count, "n")).results(workers=2)
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
    def fail_instead_of_starting(cls: type, workers: int) -> None:
        pytest.fail("workers were started")

    # Workers pay off for more than 100 seconds of work.
    monkeypatch.setattr(static_run, "START_SECONDS", 100.0)
    monkeypatch.setattr(static_run, "WARM_SECONDS", 100.0)
    monkeypatch.setattr(WorkerPool, "acquire", classmethod(fail_instead_of_starting))
    assert QUERIES["columnar"](table).results(workers=2).num_rows


def workers_of_call(workers: int | None) -> int:
    """Return the workers that a query in this process has if its call says `workers=`."""
    with cores.call_with_workers(workers):
        return cores.worker_count()


def test_a_call_has_the_workers_that_it_names_or_one_for_each_core() -> None:
    assert workers_of_call(4) == 4
    assert workers_of_call(None) == cores.available_cores()


def test_a_process_of_a_pool_has_no_workers_itself() -> None:
    import loky

    with loky.ProcessPoolExecutor(1) as pool:
        assert pool.submit(workers_of_call, 4).result() == 1


def test_the_queries_of_a_chain_have_the_workers_of_the_call(table: pa.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    workers_of_runs: list[int] = []
    begin = static_run.StaticRun.__init__

    def note_workers_and_begin(run: Any, query: Any, task: Any, workers: int) -> None:
        workers_of_runs.append(workers)
        begin(run, query, task, workers)

    monkeypatch.setattr(static_run.StaticRun, "__init__", note_workers_and_begin)
    inner = points(table).window(tumbling(100)).aggregate(n=module("stats.count"))
    events_of_middle = inner.as_events().where("n > 0").with_columns(m="n + 1")
    middle = events_of_middle.window(tumbling(200)).aggregate(m=module("stats.sum", "m"))
    outer = middle.as_events(key=None).window(tumbling(400)).aggregate(m=module("stats.sum", "m"))

    expected: Any = outer.results(workers=1)
    assert workers_of_runs == [1, 1, 1]

    workers_of_runs.clear()
    assert outer.results(workers=3).equals(expected)
    assert workers_of_runs == [3, 3, 3]

    workers_of_runs.clear()
    outer.results()
    assert workers_of_runs == [cores.available_cores()] * 3


QUERY_OF_TWO_WORKERS = """
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
"""A program that prints the number of its 2000 results; its module takes PAUSE seconds for each."""


@pytest.mark.parametrize("is_file", [True, False], ids=["a file", "standard input"])
def test_a_program_with_workers_needs_no_guard_and_no_file(is_file: bool, tmp_path: Path) -> None:
    text = QUERY_OF_TWO_WORKERS.replace("PAUSE", "0")
    script = tmp_path / "script.py"
    script.write_text(text)
    command = [sys.executable, str(script) if is_file else "-"]
    process = subprocess.run(command, input=text, capture_output=True, text=True, check=True, timeout=120)
    assert process.stdout.split() == ["begins", "2000"]
    assert process.stderr == ""


def processes_of_group(group: int) -> list[str]:
    """Return a line for each process that runs in a group: its number and its command."""
    listing = subprocess.run(["ps", "-o", "pid=,args=", "-g", str(group)], capture_output=True, text=True, check=False)
    return listing.stdout.splitlines()


def workers_of_group(group: int) -> list[str]:
    """Return the lines of the processes that are workers."""
    return [process for process in processes_of_group(group) if "popen_loky" in process]


def wait_until(condition: Callable[[], bool], seconds: float) -> None:
    """Wait until a condition holds, and fail if it takes longer than some seconds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@contextmanager
def running_program(text: str, **arguments: Any) -> Iterator[subprocess.Popen[str]]:
    """Start a program in a group of processes of its own, and kill the group if the program has not ended in time.

    Its output can be read; when the block begins, the program has printed that it begins, too.
    """
    command = [sys.executable, "-c", text]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True, **arguments) as process:
        try:
            assert next_line(process) == "begins\n"
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)  # else the end of the block would wait for all results


def next_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


@pytest.mark.skipif(sys.platform != "linux", reason="processes are listed as Linux does")
def test_ctrl_c_ends_all_processes_and_removes_all_files(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    slow_program = QUERY_OF_TWO_WORKERS.replace("PAUSE", "0.5")
    with running_program(slow_program, stderr=subprocess.PIPE, env=environment) as process:
        wait_until(lambda: bool(list(tmp_path.glob("muntin-run-*/task"))), 300)  # workers have the query
        time.sleep(1)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        _, errors = process.communicate(timeout=60)  # a moment, on a machine with nothing else to do
    assert "KeyboardInterrupt" in errors
    assert list(tmp_path.glob("muntin-*")) == []
    wait_until(lambda: processes_of_group(process.pid) == [], 10)


def program_that_idles_after_its_query(idle_seconds: float) -> str:
    """Return a program that waits after its query until its standard input ends.

    Args:
        idle_seconds: The seconds after which its workers end, if no query has them.
    """
    setting = f"from muntin_engine.backends.local.runs import worker_pool\nworker_pool.IDLE_SECONDS = {idle_seconds}\n"
    return setting + QUERY_OF_TWO_WORKERS.replace("PAUSE", "0") + "sys.stdin.read()"


@pytest.mark.skipif(sys.platform != "linux", reason="processes are listed as Linux does")
def test_a_query_gets_no_workers_that_are_ended_after_another_one_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    class LockBeforeAQuery:
        """Lets a query acquire workers as soon as the lock is free."""

        def __enter__(self) -> None: ...

        def __exit__(self, *_: object) -> None:
            monkeypatch.undo()
            next_pools.append(WorkerPool.acquire(7))

    next_pools: list[WorkerPool] = []
    pool = WorkerPool.acquire(7)
    monkeypatch.setattr(WorkerPool, "_lock", LockBeforeAQuery())
    pool.release(is_failed=True)
    (next_pool,) = next_pools
    assert next_pool is not pool
    next_pool.release(is_failed=True)


def test_workers_end_when_no_query_has_had_them_for_a_while() -> None:
    with running_program(program_that_idles_after_its_query(0.5), stdin=subprocess.PIPE) as process:
        assert next_line(process) == "2000\n"
        wait_until(lambda: workers_of_group(process.pid) == [], 60)
        process.communicate("", timeout=60)  # the program ends
    assert process.returncode == 0
    wait_until(lambda: processes_of_group(process.pid) == [], 60)


@pytest.mark.skipif(sys.platform != "linux", reason="processes are listed as Linux does")
@pytest.mark.parametrize("is_killed", [False, True])
def test_workers_end_with_their_program(is_killed: bool) -> None:
    with running_program(program_that_idles_after_its_query(1000.0), stdin=subprocess.PIPE) as process:
        assert next_line(process) == "2000\n"
        assert len(workers_of_group(process.pid)) == 1  # the other one is the program itself
        if is_killed:
            process.kill()
        process.communicate("", timeout=60)  # the program ends
    assert process.returncode == (-signal.SIGKILL if is_killed else 0)
    wait_until(lambda: processes_of_group(process.pid) == [], 60)


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
    program = SLOW_EXPRESSION.replace("IS_CHAIN", str(is_chain))
    with running_program(program, stderr=subprocess.PIPE, env=environment) as process:
        time.sleep(2)  # meanwhile the expression is computed
        assert process.poll() is None
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=60)  # a moment; without an interrupt it would be minutes
    assert process.returncode == -signal.SIGINT
    assert errors.splitlines()[-1] == "KeyboardInterrupt"
    assert list(tmp_path.glob("muntin-*")) == []
