"""What stands between a session and the engine: clock, functions, settings, progress of batches, interrupts."""

from __future__ import annotations

import os
import signal
import sys
import threading
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pandas as pd
import pytest
from pyspark.sql import types as spark_types

from muntin import EARLIEST, INFINITY, function
from muntin.errors import ModuleError
from muntin_engine import functions
from muntin_engine.backends.spark.foreach_batch.batch_progress import COUNTED, progress_of
from muntin_engine.backends.spark.foreach_batch.write import free_name
from muntin_engine.backends.spark.foreach_batch.written_query import WrittenQuery
from muntin_engine.backends.spark.inputs.clock_source import ClockReader, ClockSource
from muntin_engine.backends.spark.session.worker_settings import settings_of
from muntin_engine.errors import SetupError

SECOND = 1_000_000


class SetClock:
    """A clock that shows what it is set to."""

    def __init__(self, shown: int) -> None:
        self.shown = shown

    def __call__(self) -> int:
        return self.shown


def latest(reader: ClockReader, since: int = 0) -> int:
    """Return the reading that Spark gets when the last micro-batch ended with the reading `since`."""
    return reader.latestOffset({"reading": since})["reading"]


def test_a_reading_is_a_multiple_of_the_period_so_that_nothing_new_happens_in_between() -> None:
    clock = SetClock(100 * SECOND + 7)
    reader = ClockReader(clock, 10 * SECOND)
    assert latest(reader) == 100 * SECOND
    clock.shown += 9 * SECOND
    assert latest(reader) == 100 * SECOND
    assert reader.partitions({"reading": 100 * SECOND}, {"reading": 100 * SECOND}) == []


def test_a_micro_batch_has_one_reading() -> None:
    reader = ClockReader(SetClock(0), SECOND)
    (partition,) = reader.partitions(reader.initialOffset(), {"reading": 95 * SECOND})
    assert list(reader.read(partition)) == [(datetime.fromtimestamp(95, UTC),)]


def test_a_clock_that_is_set_back_stands_still() -> None:
    clock = SetClock(50 * SECOND)
    reader = ClockReader(clock, SECOND)
    assert latest(reader, since=70 * SECOND) == 70 * SECOND
    clock.shown = 60 * SECOND
    assert reader.latestOffset() == {"reading": 70 * SECOND}  # as PySpark 4.1 asks for it


def test_under_available_now_the_clock_is_read_once() -> None:
    clock = SetClock(100 * SECOND)
    reader = ClockReader(clock, SECOND)
    reader.prepareForTriggerAvailableNow()
    clock.shown += 500 * SECOND
    assert latest(reader) == 100 * SECOND


def test_a_clock_is_read_up_to_its_latest_reading_by_default() -> None:
    limits = pytest.importorskip("pyspark.sql.streaming.datasource", reason="PySpark 4.1 asks for no limit")
    assert isinstance(ClockReader(SetClock(0), SECOND).getDefaultReadLimit(), limits.ReadAllAvailable)


def test_the_clock_of_the_machine_shows_microseconds_since_the_epoch() -> None:
    source = ClockSource({"period": str(SECOND)})
    epoch = source.streamReader(None).initialOffset()["reading"]
    year = 365.25 * 86_400 * SECOND
    years_since_epoch = (source.now() - epoch) / year
    assert 50 < years_since_epoch < 200


# A function of a plugin that fails names itself and what it was called with.


class Session:
    """Stands for a session of Spark's, by the name of its module, and keeps what is registered."""

    __module__ = "pyspark.sql.connect.session"
    readStream = None
    session_id = "a session of Connect"

    def __init__(self) -> None:
        self.registered: dict[str, Any] = {}

    @property
    def udf(self) -> Session:
        return self

    def register(self, name: str, registered: Any) -> None:
        self.registered[name] = registered


@function("rides.fare", version="2.1.0")
def fare(km: float, rate: float) -> float:
    return km / rate


@function("rides.fares", version="1.0.0", result=float, vectorized=True)
def fares(km: pd.Series) -> pd.Series:
    return km / km["no such row"]


def test_a_function_that_fails_says_which_it_is_and_with_what() -> None:
    session = Session()
    registered = session.registered
    assert functions(cast(Any, session), fare, fares) == ["rides_fare", "rides_fares"]
    assert registered["rides_fare"].func(6.0, 2.0) == 3.0
    with pytest.raises(ModuleError, match=r"rides.fare 2.1.0 failed: .*division by zero\n  arguments: \(6.0, 0.0\)"):
        registered["rides_fare"].func(6.0, 0.0)
    with pytest.raises(ModuleError, match=r"rides.fares 1.0.0 failed: .*no such row(?s:.*)arguments: \("):
        registered["rides_fares"].func(pd.Series([1.0]))


# What a session says of its workers.


class Configured:
    """A session with settings of Muntin: `wakeups_limit` is `spark.muntin.wakeups.limit`."""

    def __init__(self, **settings: str) -> None:
        self._settings = {f"spark.muntin.{name.replace('_', '.')}": value for name, value in settings.items()}

    @property
    def conf(self) -> Configured:
        return self

    def get(self, name: str, default: str) -> str:
        return self._settings.get(name, default)


def test_a_session_limits_the_wake_ups_of_a_key_and_the_patterns() -> None:
    session: Any = Configured(wakeups_limit="25", patterns_limit="7")
    settings = settings_of(session)
    assert settings.most_wake_ups == 25
    assert settings.most_patterns == 7


def test_a_session_without_a_limit_allows_a_key_a_million_wake_ups() -> None:
    session: Any = Configured()
    assert settings_of(session).most_wake_ups == 1_000_000


def test_a_limit_that_is_no_number_is_refused() -> None:
    wrong: Any = Configured(wakeups_limit="many")
    with pytest.raises(SetupError, match=r"spark.muntin.wakeups.limit is 'many'"):
        settings_of(wrong)


# A query that runs, when somebody presses Ctrl-C.


class InterruptedWhileItWaits:
    """Stands for Spark's query in its JVM: it ends when it is stopped."""

    def __init__(self) -> None:
        self.stopped = threading.Event()
        self.waits_in_main = False

    def awaitTermination(self) -> None:
        self.waits_in_main = threading.current_thread() is threading.main_thread()
        os.kill(os.getpid(), signal.SIGINT)  # to the process, as Ctrl-C does: the main thread wakes up of it
        self.stopped.wait()

    def stop(self) -> None:
        self.stopped.set()


@pytest.mark.parametrize(
    ("running", "expected_name"),
    [([], "daily"), ([None, "other"], "daily"), (["daily"], "daily (2)"), (["daily (2)", "daily"], "daily (3)")],
)
def test_a_query_gets_a_name_that_no_running_query_has(running: list[str | None], expected_name: str) -> None:
    running_queries = [SimpleNamespace(name=name) for name in running]
    session: Any = SimpleNamespace(streams=SimpleNamespace(active=running_queries))
    assert free_name(session, "daily") == expected_name


def test_an_interrupt_stops_the_query_and_ends_a_program_with_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Spark's own handler calls the JVM, so the main thread must not be in such a call itself."""
    unhandled: list[Any] = []
    monkeypatch.setattr(sys, "excepthook", lambda *error: unhandled.append(error))
    running = InterruptedWhileItWaits()
    # The background jobs of a shell ignore interrupts.
    previous_handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt) as caught:
            WrittenQuery(cast(Any, SimpleNamespace(_jsq=running)), "checkpoint", ()).awaitTermination()
    finally:
        signal.signal(signal.SIGINT, previous_handler)
    assert running.stopped.is_set()
    assert not running.waits_in_main

    # The hook of the program says one line of an interrupt, and passes other errors on to the hook before it.
    sys.excepthook(caught.type, caught.value, caught.tb)
    sys.excepthook(ValueError, ValueError("another"), None)
    assert capsys.readouterr().err == (
        "muntin: interrupted: the query has stopped, and goes on from its checkpoint when it is started again\n"
    )
    assert [error_type for error_type, *_ in unhandled] == [ValueError]


def test_an_error_of_a_query_is_raised_where_it_is_waited_for() -> None:
    class Broken(InterruptedWhileItWaits):
        def awaitTermination(self) -> None:
            raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        WrittenQuery(cast(Any, SimpleNamespace(_jsq=Broken())), "checkpoint", ()).awaitTermination()


# What a micro-batch did, out of what its buckets say.


TIMESTAMP = spark_types.TimestampType()
NAIVE = spark_types.TimestampNTZType()
TICKS = spark_types.LongType()


def schema(time: spark_types.DataType) -> spark_types.StructType:
    """Return the schema of progress, of which only the type of the watermark counts here."""
    return spark_types.StructType([spark_types.StructField("watermark", time)])


def test_counts_of_all_buckets_add_up_and_the_slowest_sets_the_punctuation() -> None:
    numbers_of_first_bucket = [("accepted", 3), ("output_watermark", 20), ("results", 2), ("windows_closed", 7)]
    numbers_of_second_bucket = [("accepted", 4), ("output_watermark", 10), ("results", 1), ("windows_closed", 2)]
    other_numbers = [("late", 1), ("newest", 99), ("evaluate_us", 5)]
    numbers = [*numbers_of_first_bucket, *numbers_of_second_bucket, *other_numbers]

    assert COUNTED == ("accepted", "late", "rejected", "results")
    batch_id, accepted, late, rejected, results, watermark, other_counts = progress_of(5, numbers, schema(TICKS))
    assert batch_id == 5
    assert (accepted, late, rejected, results) == (3 + 4, 1, 0, 2 + 1)
    assert watermark == 10
    assert other_counts == {"windows_closed": 7 + 2}


def test_a_micro_batch_without_numbers_has_counts_of_zero_and_no_watermark() -> None:
    assert progress_of(0, [], schema(TICKS)) == (0, 0, 0, 0, 0, None, {})


@pytest.mark.parametrize(
    ("tick", "time", "expected"),
    [
        (EARLIEST, TIMESTAMP, None),
        (1_000_000, TIMESTAMP, datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)),
        (1_000_000, NAIVE, datetime(1970, 1, 1, 0, 0, 1)),  # noqa: DTZ001  # as such columns hold it
        (INFINITY, TIMESTAMP, datetime.max.replace(tzinfo=UTC)),
        (-(2**62), TIMESTAMP, datetime.min.replace(tzinfo=UTC)),
        (INFINITY, TICKS, INFINITY),
    ],
)
def test_punctuation_is_a_time_where_the_axis_is(tick: int, time: spark_types.DataType, expected: Any) -> None:
    assert progress_of(0, [("output_watermark", tick)], schema(time))[5] == expected
