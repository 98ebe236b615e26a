"""The root cause of a failure, out of the messages that Spark wraps around it."""

from __future__ import annotations

import socket
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.clientserver import ClientServer, JavaParameters, PythonParameters
from py4j.protocol import Py4JNetworkError
from pyspark import SparkContext

from muntin_engine.backends.spark.failures import root_cause as failures
from muntin_engine.backends.spark.failures.root_cause import cause_first, root_cause
from muntin_engine.backends.spark.session.ended import in_session
from muntin_engine.errors import SessionEndedError, StateError
from muntin_engine.workers import traces_folder

WORKER_TRACEBACK = """\
Traceback (most recent call last):
  File "/env/site-packages/pyspark/python/lib/pyspark.zip/pyspark/worker.py", line 4327, in invoke_udf
    run_process()
  File "/home/ann/pyspark/prices.py", line 15, in compute_result
    return total / count
           ~~~~~~^~~~~~~
ZeroDivisionError: division by zero"""
"""What a worker tells Spark."""

USER_TRACEBACK = """\
Traceback (most recent call last):
  File "/home/ann/pyspark/prices.py", line 15, in compute_result
    return total / count
           ~~~~~~^~~~~~~
ZeroDivisionError: division by zero"""
"""The same without PySpark's frame, as a user is to see it."""

LINK = "\n\nThe above exception was the direct cause of the following exception:\n\n"


@pytest.fixture(autouse=True)
def no_worker_has_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the workers of other tests: an error names the module that ran last in one."""
    monkeypatch.setattr(traces_folder, "_FOLDERS", [])


class Captured(Exception):
    """An error as PySpark raises it for one of the JVM: its cause is an attribute, not `__cause__`."""

    def __init__(self, message: str, cause: Exception | None = None) -> None:
        self._cause = cause
        super().__init__(message)


def test_the_innermost_traceback_wins_over_the_message_on_top() -> None:
    inner = Captured(f"a.b.InitException: [INIT_FAILURE] returned -2. Cause: {WORKER_TRACEBACK}\n SQLSTATE: XXKST")
    error = Captured("[STREAM_FAILED] driver worker exited unexpectedly", Captured("org.Failure: crashed", inner))
    assert root_cause(error) == USER_TRACEBACK


def test_what_the_jvm_adds_after_a_traceback_is_left_out() -> None:
    for noise in (" SQLSTATE: 38000 SQLSTATE: XXKST\n=== Streaming Query ===\nId: 7", "\n\nJVM stacktrace:\norg.A"):
        assert root_cause(Captured(WORKER_TRACEBACK + noise)) == USER_TRACEBACK


def test_the_workers_traceback_wins_over_the_drivers_around_it() -> None:
    driver = 'Traceback (most recent call last):\n  File "/home/ann/app.py", line 3, in batch\n    df.count()\n'
    worker = f"pyspark.PythonException: An exception was thrown from the Python worker:\n{WORKER_TRACEBACK}"
    error = Captured(driver + worker)
    assert root_cause(error) == USER_TRACEBACK


def test_both_tracebacks_of_a_chained_error_are_kept() -> None:
    error = Captured(f"An exception was thrown from the Python worker:\n{WORKER_TRACEBACK}{LINK}{WORKER_TRACEBACK}")
    assert root_cause(error) == USER_TRACEBACK + LINK + USER_TRACEBACK


def test_without_a_traceback_the_innermost_error_with_a_message_wins() -> None:
    without_message = Captured("java.io.EOFException")
    crashed = Captured("org.apache.spark.SparkException: Python worker crashed", without_message)
    assert root_cause(Captured("Task aborted", crashed)) == "Python worker crashed"


def test_what_a_sink_says_is_kept_where_spark_failed_inside_of_it() -> None:
    text_of_java_error = (
        "py4j.protocol.Py4JJavaError: An error occurred while calling o87.parquet.\n: org.apache.SparkException: Job "
        "aborted: java.io.IOException: No space left on device\n\tat org.apache.spark.Writer.write(Writer.scala:77)\n"
        "\tat java.base/java.lang.Thread.run(Thread.java:840)\n\nDriver stacktrace:\n\tat org.a.B$.$c(D.scala:1)\n"
        "Caused by: java.io.IOException: No space left on device\n\t... 1 more\n"
    )
    sink_error = (
        "muntin_engine.errors.SinkError: results=Folder('x') failed in micro-batch 1: No space left on device\n"
        "  nothing is lost: when the sink works again, start the query with the same checkpoint"
    )
    frames, _, _ = USER_TRACEBACK.rpartition("\n")
    chained_traceback = f"{frames}\n{text_of_java_error}{LINK}{frames}\n{sink_error}"
    added_by_the_jvm = " SQLSTATE: 39000 SQLSTATE: XXKST\n=== Streaming Query ===\nId"
    error = Captured(f"[FAILED] Return Message: {chained_traceback}\n{added_by_the_jvm}")
    cause = root_cause(Captured("[STREAM_FAILED] something", error))
    assert cause.endswith(sink_error)
    assert cause.startswith(frames)
    assert "\tat " not in cause
    assert "stacktrace" not in cause


def test_what_a_sink_says_is_kept_where_a_worker_failed_inside_of_it() -> None:
    frames, _, _ = USER_TRACEBACK.rpartition("\n")
    worker_error = f"pyspark.PythonException: An exception was thrown from the Python worker:\n{WORKER_TRACEBACK}"
    sink_error = (
        "muntin_engine.errors.SinkError: late_rows=a function failed in micro-batch 1: "
        f"{USER_TRACEBACK}\n  nothing is lost"
    )
    error = Captured(f"{frames}\n{worker_error}{LINK}{WORKER_TRACEBACK}\n{sink_error}")
    assert root_cause(error).endswith(sink_error)


def test_a_full_disk_has_advice() -> None:
    error = Captured("Task aborted", Captured("java.io.IOException: No space left on device"))
    assert root_cause(error).startswith("No space left on device\n  the disk of the checkpoint, of an output")


def test_a_python_process_that_came_too_late_has_advice() -> None:
    timeout = Captured("java.net.SocketTimeoutException: Timed out while waiting for the Python worker to connect back")
    late = Captured("org.apache.spark.SparkException: Python worker failed to connect back.", timeout)
    cause = root_cause(Captured("[STREAM_FAILED] Query terminated with exception\n=== Streaming Query ===\nplan", late))
    assert cause.splitlines()[0] == "Timed out while waiting for the Python worker to connect back"
    assert "the machine is too busy: Spark waits ten seconds" in cause
    assert cause.endswith("nothing is lost: start the query with the same checkpoint")


def test_a_connection_to_a_jvm_that_is_gone_has_advice() -> None:
    with socket.socket() as bound_socket:
        bound_socket.bind(("127.0.0.1", 0))
        nobody_listens = JavaParameters(port=bound_socket.getsockname()[1])
        client = ClientServer(nobody_listens, PythonParameters(port=0, daemonize=True))
        with pytest.raises(ConnectionRefusedError) as refused:
            client.jvm.java.lang.System.currentTimeMillis()
    for error in (Py4JNetworkError("Answer from Java side is empty"), refused.value):
        assert root_cause(error).startswith("the Spark session has ended: its JVM does not answer (")
        assert "go on with the same checkpoint" in root_cause(error)


def test_a_connection_of_somebody_else_is_no_sign_of_the_session() -> None:
    with pytest.raises(ConnectionRefusedError, match="a database"), in_session():
        raise ConnectionRefusedError("a database refused")
    assert root_cause(ConnectionRefusedError("a database refused")) == "a database refused"


def test_the_root_cause_of_an_error_without_spark_is_its_message() -> None:
    assert root_cause(ValueError("no such file")) == "no such file"
    assert root_cause(KeyError("k")) == "'k'"


def test_a_python_cause_is_followed_too() -> None:
    error = RuntimeError("the demo failed")
    error.__cause__ = Captured(f"outer {WORKER_TRACEBACK}")
    assert root_cause(error) == USER_TRACEBACK


def test_a_session_that_has_ended_is_recognized_by_the_errors_of_pyspark() -> None:
    stopped: Any = SimpleNamespace(_jsc=None)  # a stopped context has let go of the JVM's
    with (
        pytest.raises(SessionEndedError, match=r"has ended: it was stopped\n.*\n  start a session, build") as caught,
        in_session(),
    ):
        SparkContext.setLogLevel(stopped, "INFO")
    assert isinstance(caught.value.__cause__, AttributeError)
    with pytest.raises(AttributeError, match="setLogLevel"), in_session():
        stopped._jsc.setLogLevel("INFO")  # the same error, raised here and not in PySpark
    with pytest.raises(SessionEndedError, match="its JVM does not answer"), in_session():
        raise Py4JNetworkError("Answer from Java side is empty")


FAILED = (
    "rides.boom 1.0.0 failed in compute_result: ZeroDivisionError: division by zero\n  key: ('a',)\n  window: [0, 10)\n"
    "  the module's own traceback is below; test it alone with muntin.testing"
)


def test_the_cause_comes_first_and_its_own_traceback_after_it() -> None:
    frames, _, _ = WORKER_TRACEBACK.partition("ZeroDivision")
    state_error = f"{frames}muntin_engine.errors.StateError: a state is damaged\n  restore it"
    error = Captured(WORKER_TRACEBACK + LINK + state_error)
    assert cause_first(error) == f"a state is damaged\n  restore it\n\n{USER_TRACEBACK}"
    assert cause_first(Captured(WORKER_TRACEBACK)) == f"ZeroDivisionError: division by zero\n\n{USER_TRACEBACK}"


def test_the_error_of_a_module_is_kept_from_its_first_line_on() -> None:
    """A worker tells Spark of it with the module's frames in its text, and without any traceback before it."""
    module_error = (
        f"{FAILED}\n\nTraceback of the module (most recent call last):\n  File 'prices.py', line 15\nZeroDivisionError"
    )
    worker = f"An exception was thrown from the Python worker:\nmuntin.errors.ModuleFailedError: {module_error}"
    driver = "Traceback (most recent call last):\n  File '/home/ann/app.py', line 3, in batch\n    df.count()\n"
    for message in (worker, f"{driver}py4j.protocol.Py4JJavaError: org.apache.spark.SparkException: {worker}"):
        assert root_cause(Captured(message)) == f"muntin.errors.ModuleFailedError: {module_error}"
        assert cause_first(Captured(message)) == module_error


def test_the_error_of_a_module_is_found_in_the_line_that_spark_connect_makes_of_it() -> None:
    module_error = "muntin.errors.ModuleFailedError: test.level failed in compute_result: no level\n  window: [10, 20)"
    worker = f"[PYTHON_EXCEPTION] An exception was thrown from the Python worker: {module_error}\n SQLSTATE: 38000"
    around = "[STREAM_FAILED] Query terminated with exception: Found error inside foreachBatch Python process: "
    assert root_cause(Captured(f"{around}{WORKER_TRACEBACK}{worker}")) == module_error


def test_an_error_of_ours_on_the_driver_is_told_instead_of_its_cause() -> None:
    """A StateError names the file and the way on; the JSON error that it was raised from does not."""
    damage = StateError("the file checkpoint/metadata is damaged\n  put back a copy")
    damage.__cause__ = ValueError("Expecting ',' delimiter: line 1 column 9 (char 8)")
    assert root_cause(damage) == str(damage)
    around = RuntimeError("the program failed")
    around.__cause__ = damage
    assert root_cause(around) == str(damage)


def state_store_error(reader: str) -> str:
    """Return the message of a JVM in which a class of Spark, the reader, met the end of a stream."""
    return (
        "[CANNOT_LOAD_STATE_STORE.UNCATEGORIZED] An error occurred during loading state.\n"
        "\tat org.apache.spark.api.python.PythonRunner.compute(PythonRunner.scala:1)\n"
        "Caused by: java.io.EOFException: Stream ended prematurely\n"
        f"\tat java.base/java.io.DataInputStream.readFully(DataInputStream.java:203)\n\tat {reader}\n"
    )


def test_a_worker_has_died_where_sparks_python_code_met_the_end_of_a_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failures, "last_death", lambda: "a worker (process 7) died while or after show.exits ran")
    of_file = "org.apache.spark.sql.execution.streaming.state.StateStoreChangelogReader.fill(Reader.scala:1)"
    assert "died" not in root_cause(Captured(state_store_error(of_file)))
    of_worker = "org.apache.spark.api.python.BasePythonRunner$ReaderIterator.read(PythonRunner.scala:1)"
    assert root_cause(Captured(state_store_error(of_worker))).startswith(
        "a worker (process 7) died while or after show.exits ran\n"
    )


def test_a_worker_that_spark_ended_for_its_silence_is_named_and_has_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failures, "last_death", lambda: "a worker (process 7) died while or after show.hangs ran")
    idle_timeout = "Python worker process terminated due to idle timeout (timeout: 600 seconds)"
    error = Captured("Task failed", Captured(f"org.a.PythonWorkerException: {idle_timeout}"))
    assert root_cause(error) == (
        f"a worker (process 7) died while or after show.hangs ran\n{idle_timeout}\n"
        "  Spark ended a worker that had sent nothing for so long, as spark.python.worker.killOnIdleTimeout has it\n"
        "  nothing is lost: mend the module, or allow more time, and start the query with the same checkpoint"
    )


def test_of_the_stack_of_a_segmentation_fault_the_lines_of_the_module_are_kept() -> None:
    crash = (
        "Python worker exited unexpectedly (crashed): Fatal Python error: Segmentation fault\n\n"
        'Thread 0x1 (most recent call first):\n  File "/usr/lib/python3.11/threading.py", line 331 in wait\n\n'
        "Current thread 0x2 (most recent call first):\n"
        '  File "/home/ann/prices.py", line 7 in fast_sum\n'
        '  File "/home/ann/prices.py", line 12 in compute_result\n'
        '  File "/env/site-packages/muntin_engine/modules/meter.py", line 80 in call\n'
        '  File "/env/site-packages/pyspark/worker.py", line 4327 in invoke_udf\n'
        '  File "<frozen runpy>", line 88 in _run_code\n\n'
        "Extension modules: numpy._core._multiarray_umath (total: 1)\n\n"
        "\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.read(PythonRunner.scala:1)\n"
    )
    task_error = Captured(f"{WORKER_TRACEBACK}\nCaused by: org.a.SparkException: {crash}")
    assert root_cause(Captured("[STREAM_FAILED]", task_error)) == (
        "Python worker exited unexpectedly (crashed): Fatal Python error: Segmentation fault\n"
        '  File "/home/ann/prices.py", line 7 in fast_sum\n'
        '  File "/home/ann/prices.py", line 12 in compute_result'
    )


def test_state_that_cannot_be_read_has_advice() -> None:
    of_file = "org.apache.spark.sql.execution.streaming.state.StateStoreChangelogReader.fill(Reader.scala:1)"
    cause = root_cause(Captured(state_store_error(of_file)))
    assert (
        "because of java.io.EOFException: Stream ended prematurely\n  this is about a file of the checkpoint" in cause
    )
    assert "query.check(checkpoint) looks for it\n  put back the checkpoint from a copy" in cause


@pytest.mark.parametrize(
    "words",
    ["Unexpected end-of-input in field name\n at [Source: REDACTED]", "Incomplete log file", "batch 2 doesn't exist"],
)
def test_a_log_that_cannot_be_read_has_advice(words: str) -> None:
    """A query that was not started by `write` does not know where its checkpoint is."""
    log_error = Captured(f"java.lang.IllegalStateException: {words}")
    cause = root_cause(Captured("[STREAM_FAILED] Query terminated", log_error))
    assert cause.startswith(f"{words}\n  this is about a file of the checkpoint")


def test_a_cause_without_a_traceback_stands_alone() -> None:
    assert cause_first(ValueError("no such file")) == "no such file"
