"""The clock as a source of Spark, without Spark: what offsets it has, and what it reads."""

from __future__ import annotations

from datetime import UTC, datetime

from pyspark.sql.streaming.datasource import ReadAllAvailable

from muntin_engine.spark.clock import ClockReader, ClockSource

SECOND = 1_000_000


class Hands:
    """A clock that shows what it is set to."""

    def __init__(self, shown: int) -> None:
        self.shown = shown

    def __call__(self) -> int:
        return self.shown


def latest(reader: ClockReader, since: int = 0) -> int:
    return reader.latestOffset({"reading": since}, reader.getDefaultReadLimit())["reading"]


def test_a_reading_is_a_multiple_of_the_period_so_that_nothing_new_happens_in_between() -> None:
    hands = Hands(100 * SECOND + 7)
    reader = ClockReader(hands, 10 * SECOND)
    assert latest(reader) == 100 * SECOND
    hands.shown += 9 * SECOND
    assert latest(reader) == 100 * SECOND
    assert reader.partitions({"reading": 100 * SECOND}, {"reading": 100 * SECOND}) == []


def test_a_micro_batch_has_one_reading() -> None:
    reader = ClockReader(Hands(0), SECOND)
    (partition,) = reader.partitions(reader.initialOffset(), {"reading": 95 * SECOND})
    assert list(reader.read(partition)) == [(datetime.fromtimestamp(95, UTC),)]


def test_a_clock_that_is_set_back_stands_still() -> None:
    assert latest(ClockReader(Hands(50 * SECOND), SECOND), since=70 * SECOND) == 70 * SECOND


def test_under_available_now_the_clock_is_read_once() -> None:
    hands = Hands(100 * SECOND)
    reader = ClockReader(hands, SECOND)
    reader.prepareForTriggerAvailableNow()
    hands.shown += 500 * SECOND
    assert latest(reader) == 100 * SECOND
    assert isinstance(reader.getDefaultReadLimit(), ReadAllAvailable)


def test_the_clock_of_the_machine_shows_microseconds_since_the_epoch() -> None:
    source = ClockSource({"period": str(SECOND)})
    years = (source.now() - source.streamReader(None).initialOffset()["reading"]) / (365.25 * 86_400 * SECOND)
    assert 50 < years < 200
