"""The laws of sinks hold for sinks that keep them, and name what breaks in those that do not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any, ClassVar

import pytest

from muntin.errors import QueryError
from muntin_engine import Sink, WrittenBatch
from muntin_engine.testing import SinkLawError, check_sink


class Store(Sink):
    """Keeps rows in a dict of this process, by query and number."""

    guarantee = "exactly once"
    stores: ClassVar[defaultdict[str, dict[Any, Any]]] = defaultdict(dict)

    def __init__(self, name: str) -> None:
        self.rows = self.stores[name]
        self.query_id = ""

    def open(self, query_id: str) -> None:
        self.query_id = query_id

    @property
    def last_written(self) -> WrittenBatch:
        own_numbers = [number for query, number in self.rows if query == self.query_id]
        return WrittenBatch(max(own_numbers, default=-1))

    def write(self, batch: Any, batch_id: int) -> None:
        rows = batch.collect()
        self.rows[self.query_id, batch_id] = rows


class Appending(Store):
    """Appends each micro-batch, also one that it has."""

    def write(self, batch: Any, batch_id: int) -> None:
        super().write(batch, len(self.rows))


class ReportingTooEarly(Store):
    """Reports a micro-batch before it has the rows."""

    def write(self, batch: Any, batch_id: int) -> None:
        if (self.query_id, batch_id) not in self.rows:
            self.rows[self.query_id, batch_id] = []
            self.rows[self.query_id, batch_id] = batch.collect()


class RowByRow(Store):
    """Lets readers see a part of a micro-batch."""

    def write(self, batch: Any, batch_id: int) -> None:
        rows = self.rows[self.query_id, batch_id] = []
        for row in batch.collect():
            rows.append(row)


class MixingQueries(Store):
    """Takes the micro-batches of all queries for those of one."""

    def open(self, query_id: str) -> None:
        self.query_id = "any"


class ReportingLess(Store):
    """Reports the micro-batch before the one that it has."""

    @property
    def last_written(self) -> WrittenBatch:
        return WrittenBatch(super().last_written.number - 1)


class DroppingColumns(Store):
    """Leaves a new column out without a word."""

    def write(self, batch: Any, batch_id: int) -> None:
        self.rows[self.query_id, batch_id] = [{**row, "bikes": None} for row in batch.collect()]


class ReportingLostRows(Store):
    """Reports the last micro-batch whether or not its rows are there."""

    numbers: ClassVar[defaultdict[tuple[str, str], int]] = defaultdict(lambda: -1)

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name

    @property
    def last_written(self) -> WrittenBatch:
        return WrittenBatch(self.numbers[self.name, self.query_id])

    def write(self, batch: Any, batch_id: int) -> None:
        rows = batch.collect()
        self.rows[self.query_id, batch_id] = rows
        self.numbers[self.name, self.query_id] = batch_id


class Doubling(Appending):
    """Appends a micro-batch that it has, and promises no more."""

    guarantee = "at least once"
    last_written = None  # type: ignore[assignment]


class Losing(Doubling):
    """Loses rows with a null, though it promises none to be lost."""

    def write(self, batch: Any, batch_id: int) -> None:
        self.rows[batch_id] = [row for row in batch.collect() if row.station]


class Strict(Store):
    """Takes no new column."""

    def check(self, columns: Any) -> None:
        if "bikes" in columns:
            raise QueryError("no bikes here")


class NeedingWatermark(Store):
    """Expects a watermark before the first micro-batch."""

    def take_watermark(self, watermark: int) -> None:
        self.watermark = watermark

    def write(self, batch: Any, batch_id: int) -> None:
        super().write(batch, batch_id)
        self.rows["watermark", batch_id] = [self.watermark]


def read(name: str) -> list[Any]:
    """Return the rows of a store, as a reader finds them."""
    return list(chain.from_iterable(Store.stores[name].values()))


def take_away(name: str) -> None:
    """Remove the micro-batch that a store has got last."""
    Store.stores[name].popitem()


@pytest.fixture(autouse=True)
def _without_stores() -> None:
    """Begin each test without a store."""
    Store.stores.clear()
    ReportingLostRows.numbers.clear()


def other_verdicts(verdicts: Mapping[str, str]) -> dict[str, str]:
    """Return the verdicts on laws of which it is not said that they hold."""
    assert len(verdicts) == 7
    return {law: verdict for law, verdict in verdicts.items() if verdict != "holds"}


def test_all_laws_hold_for_a_sink_that_keeps_each_micro_batch_by_its_number() -> None:
    assert other_verdicts(check_sink(Store, read, take_away=take_away)) == {}


def test_a_sink_may_refuse_a_new_column() -> None:
    assert other_verdicts(check_sink(Strict, read, take_away=take_away)) == {
        "a new column is taken with its values, or refused": "a new column is refused: no bikes here"
    }


def test_a_sink_that_promises_rows_at_least_once_may_double_them_and_need_not_know_what_it_has() -> None:
    assert other_verdicts(check_sink(Doubling, read, take_away=take_away)).keys() == {
        "last_written is the last micro-batch",
        "what was written is taken away, and it is missed",
    }


@pytest.mark.parametrize(
    ("sink", "law", "fault"),
    [
        (Appending, "a micro-batch that comes again", r"micro-batch 0 came again: 3 are too many, such as \{km: 0.0"),
        (
            ReportingTooEarly,
            "a crash loses nothing",
            r"a crash in micro-batch \d at line \d+ of \S+test_sink_laws, in write",
        ),
        (RowByRow, "a crash loses nothing", r"in write readers see a part of it"),
        (MixingQueries, "another query's rows", r"numbers from 0, wrote its rows too: \d rows are missing"),
        (ReportingLess, "a crash loses nothing", r"last_written is WrittenBatch"),
        (DroppingColumns, "a new column", r"3 rows are missing, such as \{bikes: 2"),
        (
            ReportingLostRows,
            "what was written is taken away",
            r"of micro-batch 2 were taken away, and last_written is \S+=2",
        ),
        (Losing, "every row arrives", r"micro-batch 0 was written: 1 rows are missing, such as .*station: None"),
    ],
)
def test_the_error_of_a_sink_that_breaks_a_law_names_the_law_and_the_fault(
    sink: Callable[[str], Sink], law: str, fault: str
) -> None:
    with pytest.raises(SinkLawError, match=rf"breaks a law of sinks: {law}.*\n  found: .*{fault}") as caught:
        check_sink(sink, read, take_away=take_away)
    assert "\n  to do: " in str(caught.value)


def test_a_sink_is_tried_without_a_watermark() -> None:
    """As the engine calls it before there is any progress."""
    with pytest.raises(AttributeError, match="has no attribute 'watermark'"):
        check_sink(NeedingWatermark, read)


def test_the_law_of_missing_rows_is_not_tried_without_a_function_that_takes_rows_away() -> None:
    verdict = check_sink(Store, read)["what was written is taken away, and it is missed"]
    assert verdict.startswith("not tried: check_sink(..., take_away=")
