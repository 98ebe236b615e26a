"""What a user sees when a module fails, ends its worker, never comes back, cannot travel, or is not there."""

from __future__ import annotations

import ctypes
import os
import re
import struct
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException, PythonException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from muntin import Aggregate, Module, tumbling
from muntin.errors import QueryError
from muntin_engine import Query, SetupError, ShippingError, WorkerEnvironmentError, events, module
from muntin_engine.backends.spark.failures.root_cause import root_cause
from muntin_engine.testing.streaming.job_on_spark import setting
from tests.installed import install
from tests.journeys.running import run, stream_of
from tests.modules.members import Count


class Picky(Aggregate[int, int]):
    """Refuses a window that holds a seven."""

    name, version = "show.picky", "3.1.0"

    def compute_result(self, payloads: Sequence[int]) -> int:
        return sum(self.checked(payload) for payload in payloads)

    def checked(self, payload: int) -> int:
        if payload == 7:
            raise ZeroDivisionError("seven is not liked here")
        return payload


class Liar(Aggregate[int, int]):
    """Declares an int and returns text."""

    name, version = "show.liar", "1.0.0"

    def compute_result(self, payloads: Sequence[int]) -> int:
        return "many"  # type: ignore[return-value]  # on purpose


class Locked(Aggregate[int, int]):
    """A module whose state cannot be pickled."""

    name, version = "show.locked", "1.0.0"

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def compute_result(self, payloads: Sequence[int]) -> int:
        return len(payloads)


def rows_with_a_seven(spark: SparkSession) -> DataFrame:
    """Return a table whose key "a" has a seven, which the modules here do not bear, in its first window."""
    return spark.createDataFrame([("a", 1, 3), ("a", 2, 7), ("b", 3, 4)], "key string, at bigint, payload bigint")


def query(df: DataFrame, cls: type[Module], delay: int | None = None) -> Query:
    """Return a query that runs a module on the payloads of each key and ten ticks.

    Args:
        df: The rows.
        cls: The module.
        delay: The delay of the watermark; None for a table.
    """
    stream = events(df, key="key", at="at", watermark=delay, buckets=2)
    return stream.window(tumbling(10)).aggregate(out=module(cls, "payload"))


def test_an_exception_inside_a_module_stops_the_query_and_is_shown_as_its_own(
    spark: SparkSession, tmp_path: Path
) -> None:
    batch = pa.table({"key": ["a", "a", "b"], "at": [1, 2, 30], "payload": [3, 7, 4]})
    stream = stream_of(spark, tmp_path / "stream", [batch])

    running = query(stream, Picky, delay=0).write(
        checkpoint=tmp_path / "checkpoint", results=tmp_path / "results", available_now=True
    )
    with pytest.raises(StreamingQueryException) as failure:
        running.awaitTermination()

    # The error that is raised, and the one that the query of Spark keeps.
    for error in (failure.value, running.exception()):
        cause, details, *_ = str(error).split("\n\n")
        assert cause == (
            "show.picky 3.1.0 failed in compute_result: ZeroDivisionError: seven is not liked here\n"
            "  key: ('a',)\n  window: [0, 10)\n"
            "  the module's own traceback is below; test it alone with muntin.testing"
        )
        assert details.endswith("ZeroDivisionError: seven is not liked here")
        assert len(str(error)) < 1800, "without what Spark has to say of its own frames"

    # What a user finds who looks for the cause.
    message = root_cause(failure.value)
    assert "ZeroDivisionError: seven is not liked here" in message
    assert "in checked" in message  # the module's own frame
    assert "show.picky 3.1.0 failed in compute_result" in message
    assert "key: ('a',)" in message
    assert "window: [0, 10)" in message
    assert "exited unexpectedly" not in message


def test_show_raises_an_error_that_begins_with_the_one_of_the_module(spark: SparkSession) -> None:
    with pytest.raises(PythonException) as failure:
        query(rows_with_a_seven(spark), Picky).show()

    assert str(failure.value).startswith("show.picky 3.1.0 failed in compute_result: ZeroDivisionError: seven is not")
    assert "in checked" in root_cause(failure.value)


@pytest.mark.parametrize(
    ("cls", "message", "last_frame"),
    [
        (Picky, "show.picky 3.1.0 failed in compute_result: ZeroDivisionError: seven is not liked here", ["checked"]),
        (Liar, "show.liar 1.0.0 returned a value that is not what it declares: 'out' is 'many' of type str", []),
    ],
    ids=["an exception, with the module's frames", "a wrong value, without frames"],
)
def test_an_error_over_a_table_begins_with_key_and_window_and_comes_once(
    spark: SparkSession, cls: type[Module], message: str, last_frame: list[str]
) -> None:
    """Spark alone makes 109 lines of it, and a warning that repeats them."""
    with warnings.catch_warnings(record=True) as caught_warnings:
        warnings.simplefilter("always")
        results = query(rows_with_a_seven(spark), cls).results()
        with pytest.raises(PythonException) as failure:
            results.toPandas()

    assert not caught_warnings
    text = str(failure.value)
    line_of_spark, line_of_module, *lines = text.splitlines()
    assert line_of_spark.endswith("An exception was thrown from the Python worker:")
    assert line_of_module.partition(": ")[2].startswith(message)
    assert re.fullmatch(r"  key: \('[ab]',\)", lines[0])
    assert lines[1] == "  window: [0, 10)"
    assert text.count(message) == 1
    assert re.findall(r"line \d+, in (\w+)", text)[-1:] == last_frame
    assert "muntin_engine" not in text, "the frames of the engine are left out"
    lines_on_screen = "".join(traceback.format_exception(failure.value)).splitlines()
    assert len(lines_on_screen) < 45


def test_calls_that_need_the_end_of_a_stream_say_that_results_are_written(spark: SparkSession, tmp_path: Path) -> None:
    stream = stream_of(spark, tmp_path / "stream", [pa.table({"key": ["a"], "at": [1], "payload": [3]})])
    stream_query = query(stream, Count, delay=0)

    for output in (stream_query.results(), stream_query.rejected_rows()):
        for action in ("collect", "count", "show", "toPandas"):
            with pytest.raises(
                QueryError, match=rf"{action}\(\) takes(.|\n)*query.write\(checkpoint='checkpoint', results="
            ):
                getattr(output, action)()
    with pytest.raises(AttributeError, match=r"no attribute 'toPandas'\n  the input is a stream(.|\n)*query.write"):
        stream_query.toPandas()  # type: ignore[attr-defined]  # on purpose


def test_results_of_a_stream_are_written_with_a_checkpoint_and_those_of_a_table_are_not_written(
    spark: SparkSession, tmp_path: Path
) -> None:
    stream = stream_of(spark, tmp_path / "stream", [pa.table({"key": ["a"], "at": [1], "payload": [3]})])

    with pytest.raises(QueryError, match=r"write\(\) needs a checkpoint(.|\n)*writes no result twice"):
        query(stream, Count, delay=0).write(results=tmp_path / "results")
    with pytest.raises(QueryError, match="the input is static"):
        query(rows_with_a_seven(spark), Count).write(results=tmp_path / "results")


def test_a_value_that_is_not_of_the_declared_type_is_named_with_its_module(spark: SparkSession) -> None:
    with pytest.raises(PySparkException) as failure:
        query(rows_with_a_seven(spark), Liar).results().collect()
    message = root_cause(failure.value)

    assert "show.liar 1.0.0 returned a value that is not what it declares" in message
    assert "'many'" in message


def test_a_module_that_cannot_travel_is_refused_when_the_query_is_built(spark: SparkSession) -> None:
    with pytest.raises(ShippingError, match=r"cannot travel to the workers(.|\n)*show\.locked 1\.0\.0"):
        query(rows_with_a_seven(spark), Locked).results()


def test_a_module_whose_package_only_the_driver_has_is_one_clear_error(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = (
        "from muntin import Aggregate\n"
        "class Far(Aggregate[int, int]):\n"
        "    name, version = 'far.away', '1.0.0'\n"
        "    def compute_result(self, payloads):\n"
        "        return len(payloads)\n"
    )
    install(tmp_path, "only-here", {"only_here.py": source})
    monkeypatch.syspath_prepend(str(tmp_path))
    import only_here  # type: ignore[import-not-found]  # written above

    try:
        with pytest.raises(WorkerEnvironmentError, match=r"only-here is missing(.|\n)*ship\(spark, 'only-here'\)"):
            query(rows_with_a_seven(spark), only_here.Far).results()
        # without the check before the query runs, the worker says it
        with setting(spark, "spark.muntin.preflight", "false"), pytest.raises(PySparkException) as failure:
            query(rows_with_a_seven(spark), only_here.Far).results().collect()
    finally:
        del sys.modules["only_here"]

    message = root_cause(failure.value)
    assert "a worker cannot load the query's modules" in message
    assert "No module named 'only_here'" in message
    assert "install the module's package" in message


def test_a_session_whose_state_store_will_not_do_is_refused_with_the_line_that_mends_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    stream = stream_of(spark, tmp_path / "stream", [pa.table({"key": ["a"], "at": [1], "payload": [3]})])
    hdfs = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
    provider = setting(spark, "spark.sql.streaming.stateStore.providerClass", hdfs)
    with provider, pytest.raises(SetupError, match="RocksDBStateStoreProvider"):
        query(stream, Count, delay=0).results()


def test_a_stream_without_a_delay_or_punctuation_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    stream = stream_of(spark, tmp_path / "stream", [pa.table({"key": ["a"], "at": [1], "payload": [3]})])

    with pytest.raises(QueryError, match=r"never says how complete it is(.|\n)*withWatermark\(\) of the input is not"):
        query(stream, Count).results()


# Modules that end their worker, or never come back, on Spark.


class Exits(Aggregate[int, int]):
    """Ends the process of its worker at once."""

    name, version = "show.exits", "1.0.0"

    def compute_result(self, payloads: Sequence[int]) -> int:
        return os._exit(3) if 7 in payloads else 1


class Leaves(Aggregate[int, int]):
    """Raises `SystemExit`."""

    name, version = "show.leaves", "1.0.0"

    def compute_result(self, payloads: Sequence[int]) -> int:
        return sys.exit("that is all") if 7 in payloads else 1


class Hangs(Aggregate[int, int]):
    """Never comes back."""

    name, version = "show.hangs", "1.0.0"

    def compute_result(self, payloads: Sequence[int]) -> int:
        while 7 in payloads:
            pass
        return 1


def rows_with_a_late_seven(spark: SparkSession) -> DataFrame:
    """Return a table whose key "b" has a seven in its second window, [20, 30)."""
    return spark.createDataFrame([("a", 1, 3), ("b", 22, 7), ("b", 3, 4)], "key string, at bigint, payload bigint")


def stream_with_a_late_seven(spark: SparkSession, folder: Path) -> DataFrame:
    """Return a stream of these rows, and one at 50 that closes their windows."""
    batch = pa.table({"key": ["a", "b", "b", "a"], "at": [1, 22, 3, 50], "payload": [3, 7, 4, 5]})
    return stream_of(spark, folder, [batch])


PLACE_OF_THE_SEVEN = "key: ('b',)\n  window: [20, 30)"
"""How errors say where the module failed."""


def test_a_module_that_ends_its_worker_is_named_with_key_and_window(spark: SparkSession, tmp_path: Path) -> None:
    stream = stream_with_a_late_seven(spark, tmp_path / "stream")

    with pytest.raises(PySparkException) as failure:
        run(query(stream, Exits, delay=0).results(), tmp_path / "checkpoint")

    message = root_cause(failure.value)
    assert "died while or after show.exits 1.0.0 ran" in message
    assert PLACE_OF_THE_SEVEN in message


class Breaks(Aggregate[int, int]):
    """Breaks a part of its worker: the file descriptors, or the module `struct`."""

    name, version = "show.breaks", "1.0.0"

    def __init__(self, part: str) -> None:
        self.part = part

    def compute_result(self, payloads: Sequence[int]) -> int:
        if 7 in payloads and self.part == "descriptors":
            os.closerange(3, 1000)
        elif 7 in payloads:
            struct.pack = struct.unpack = None  # type: ignore[assignment]  # the worker would wait for Spark for ever
        return 1


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ("descriptors", r"a worker \(process \d+\) died while or after show.breaks 1.0.0 ran"),
        ("struct", r"(.|\n)*ModuleContractError: show.breaks 1.0.0 replaced or removed struct.pack, struct.unpack"),
    ],
)
def test_a_module_that_breaks_the_means_by_which_its_worker_answers_is_named(
    spark: SparkSession, part: str, message: str
) -> None:
    stream = events(rows_with_a_late_seven(spark), key="key", at="at", buckets=1)
    query = stream.window(tumbling(10)).aggregate(out=module(Breaks, "payload", part=part))

    with pytest.raises((PySparkException, Py4JError)) as failure:
        query.results().collect()

    assert re.match(rf"{message}.*\n  {re.escape(PLACE_OF_THE_SEVEN)}", root_cause(failure.value))


def test_a_module_that_exits_is_an_error_like_any_other(spark: SparkSession) -> None:
    with pytest.raises(PySparkException) as failure:
        query(rows_with_a_late_seven(spark), Leaves).results().collect()

    message = root_cause(failure.value)
    assert "show.leaves 1.0.0 failed in compute_result: SystemExit: that is all" in message
    assert PLACE_OF_THE_SEVEN in message


@contextmanager
def worker_setting(spark: SparkSession, name: str, value: str) -> Iterator[None]:
    """Change a setting that Spark reads when a session starts, and again for each task of a stateful operator."""
    conf = spark.sparkContext._jsc.sc().conf()
    conf.set(name, value)
    try:
        yield
    finally:
        conf.remove(name)


def test_a_module_that_hangs_is_named_where_spark_ends_its_worker(spark: SparkSession, tmp_path: Path) -> None:
    stream = stream_with_a_late_seven(spark, tmp_path / "stream")
    time_limit = worker_setting(spark, "spark.python.worker.idleTimeoutSeconds", "3")
    kill_after_it = worker_setting(spark, "spark.python.worker.killOnIdleTimeout", "true")

    with time_limit, kill_after_it, pytest.raises(PySparkException) as failure:
        run(query(stream, Hangs, delay=0).results(), tmp_path / "checkpoint")

    message = root_cause(failure.value)
    assert "died while or after show.hangs 1.0.0 ran" in message
    assert PLACE_OF_THE_SEVEN in message
    assert "terminated due to idle timeout (timeout: 3 seconds)" in message
    assert "nothing is lost: mend the module, or allow more time" in message


class Crashes(Aggregate[int, int]):
    """Reads memory that is not its own, as faulty compiled code does."""

    name, version = "show.crashes", "1.0.0"

    def compute_result(self, payloads: Sequence[int]) -> int:
        return self.read_address(0) if 7 in payloads else 1

    def read_address(self, address: int) -> int:
        return len(ctypes.string_at(address))


def test_compiled_code_that_crashes_is_named_with_the_module_s_own_lines(spark: SparkSession, tmp_path: Path) -> None:
    stream = stream_with_a_late_seven(spark, tmp_path / "stream")

    with pytest.raises(PySparkException) as failure:
        run(query(stream, Crashes, delay=0).results(), tmp_path / "checkpoint")

    message = root_cause(failure.value)
    death = r"a worker \(process \d+\) died while or after show.crashes 1.0.0 ran"
    assert re.match(rf"{death}\n  {re.escape(PLACE_OF_THE_SEVEN)}", message)
    assert "Segmentation fault" in message
    assert "in read_address" in message


def test_a_setting_whose_text_is_no_size_is_refused(spark: SparkSession) -> None:
    with (
        setting(spark, "spark.muntin.cache.bytes", "much"),
        pytest.raises(SetupError, match=r"cache\.bytes is 'much'(.|\n)*such as 2"),
    ):
        query(rows_with_a_late_seven(spark), Exits).results()
