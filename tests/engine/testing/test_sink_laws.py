"""The laws of sinks hold for sinks that keep them, and name what breaks in those that do not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
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
        return WrittenBatch(max((number for query, number in self.rows if query == self.query_id), default=-1))

    def write(self, batch: Any, batch_id: int) -> None:
        rows = batch.collect()
        self.rows[self.query_id, batch_id] = rows


class Appending(Store):
    """Appends what comes, whether or not it has it."""

    def write(self, batch: Any, batch_id: int) -> None:
        super().write(batch, len(self.rows))


class InTwoSteps(Store):
    """A sink that reports a micro-batch before it is written."""

    def write(self, batch: Any, batch_id: int) -> None:
        if (self.query_id, batch_id) not in self.rows:
            self.rows[self.query_id, batch_id] = []
            self.rows[self.query_id, batch_id] = batch.collect()


class RowByRow(Store):
    """Lets readers see a part."""

    def write(self, batch: Any, batch_id: int) -> None:
        rows = self.rows[self.query_id, batch_id] = []
        for row in batch.collect():
            rows.append(row)


class Forgetting(Store):
    """Takes the numbers of all queries for one's."""

    def open(self, query_id: str) -> None:
        self.query_id = "any"


class Behind(Store):
    """Says less than it has."""

    @property
    def last_written(self) -> WrittenBatch:
        return WrittenBatch(super().last_written.number - 1)


class Narrow(Store):
    """Leaves a new column out without a word."""

    def write(self, batch: Any, batch_id: int) -> None:
        self.rows[self.query_id, batch_id] = [{**row, "bikes": None} for row in batch.collect()]


class Remembering(Store):
    """A sink that reports the last micro-batch whether or not its rows are there."""

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
    """Doubles rows, and says so."""

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


def read(name: str) -> list[Any]:
    return list(chain.from_iterable(Store.stores[name].values()))


def take_away(name: str) -> None:
    Store.stores[name].popitem()


@pytest.fixture(autouse=True)
def _empty() -> None:
    Store.stores.clear()
    Remembering.numbers.clear()


@pytest.mark.parametrize("sink", [Store, Strict, Doubling])
def test_a_sink_that_keeps_the_laws_passes(sink: Callable[[str], Sink]) -> None:
    verdicts = check_sink(sink, read, take_away=take_away)
    assert len(verdicts) == 7
    broken = {law: verdict for law, verdict in verdicts.items() if verdict != "holds"}
    expected: dict[Any, Any] = {
        Strict: {"a new column is taken with its values, or refused": "a new column is refused: no bikes here"},
        Doubling: {"last_written is the last micro-batch", "what was written is taken away, and it is missed"},
    }
    assert broken == expected.get(sink, {}) or set(broken) == expected[sink]


@pytest.mark.parametrize(
    ("sink", "law", "fault"),
    [
        (Appending, "a micro-batch that comes again", r"micro-batch 0 came again: 3 are too many, such as \{km: 0.0"),
        (InTwoSteps, "a crash loses nothing", r"a crash in micro-batch \d at line \d+ of \S+test_sink_laws, in write"),
        (RowByRow, "a crash loses nothing", r"in write readers see a part of it"),
        (Forgetting, "another query's rows", r"numbers from 0, wrote its rows too: \d rows are missing"),
        (Behind, "a crash loses nothing", r"last_written is WrittenBatch"),
        (Narrow, "a new column", r"3 rows are missing, such as \{bikes: 2"),
        (Remembering, "what was written is taken away", r"of micro-batch 2 were taken away, and last_written is \S+=2"),
        (Losing, "every row arrives", r"micro-batch 0 was written: 1 rows are missing, such as .*station: None"),
    ],
)
def test_a_sink_that_breaks_a_law_is_told_which_and_where(sink: Callable[[str], Sink], law: str, fault: str) -> None:
    with pytest.raises(SinkLawError, match=rf"breaks a law of sinks: {law}.*\n  found: .*{fault}") as caught:
        check_sink(sink, read, take_away=take_away)
    assert "\n  to do: " in str(caught.value)


def test_a_law_that_needs_more_says_so() -> None:
    verdicts = check_sink(Store, read)
    assert verdicts["what was written is taken away, and it is missed"].startswith(
        "not tried: check_sink(..., take_away="
    )
