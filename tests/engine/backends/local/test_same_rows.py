"""The same random rows as tables of every kind, in other types and in another order: a query gives the same of all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any, Final

import pyarrow as pa
import pytest

from muntin import calendar, hopping, session, tumbling
from muntin_engine import Query, events, module
from tests.modules.members import Count
from tests.scenarios.frame_kinds import FRAME_MAKERS, arrow_of

ROW_COUNT: Final = 300
SEEDS: Final = 12
MINUTES_OF_DAY: Final = 24 * 60

INSTANT: Final = pa.timestamp("us", "UTC")

KEYS: Final[Mapping[str, tuple[pa.DataType, list[Any]]]] = {
    "text": (pa.string(), ["a", "", "é", None]),
    "whole number": (pa.int64(), [0, -1, 2**62, None]),
    "flag": (pa.bool_(), [True, False, None]),
    "day": (pa.date32(), [date(1969, 12, 31), date(2024, 2, 29), None]),
    "decimal": (pa.decimal128(20, 2), [Decimal("-0.01"), Decimal("123456789012345678.25"), None]),
    "instant": (INSTANT, [datetime(1900, 1, 1, tzinfo=UTC), datetime(2024, 10, 27, 1, tzinfo=UTC), None]),
    "time on a clock": (pa.timestamp("us"), [datetime(1, 1, 1), datetime(2024, 3, 31, 2, 30), None]),  # noqa: DTZ001
}
"""By a name, a type of keys and keys of that type, each of which many rows have."""

VALUES: Final[Mapping[str, tuple[pa.DataType, list[Any]]]] = {
    "float": (pa.float64(), [0.5, -0.25, 1e300, None]),
    "whole number": (pa.int64(), [2**62, -(2**62), 1, None]),
    "decimal": (pa.decimal128(20, 2), [Decimal("0.01"), Decimal("-99999999999999999.99"), None]),
}
"""By a name, a type whose values can be added and values of it, many of which would not be exact as floats."""

WINDOWS: Final[tuple[Any, ...]] = (
    tumbling("1 hour"),
    hopping("90 minutes", "40 minutes"),
    session("20 minutes"),
    calendar("day", zone="Europe/Berlin"),
)


def random_rows(random: Random) -> pa.Table:
    """Draw rows of four days around a change of clocks, or around 1970; many of one time, some without one."""
    key_type, keys = KEYS[random.choice(list(KEYS))]
    value_type, values = VALUES[random.choice(list(VALUES))]
    begin = random.choice((datetime(2024, 10, 25, tzinfo=UTC), datetime(1969, 12, 30, tzinfo=UTC)))
    times: list[datetime | None] = []
    for _ in range(ROW_COUNT):
        # Any minute, or a full hour, at which windows begin; now and then the microsecond before it.
        any_minute = random.randrange(4 * MINUTES_OF_DAY)
        full_hour = random.randrange(0, 4 * MINUTES_OF_DAY, 60)
        minutes = random.choice((any_minute, full_hour))
        time = begin + timedelta(minutes=minutes, microseconds=random.choice((0, 0, 0, -1)))
        has_time = random.random() < 0.97
        times.append(time if has_time else None)
    return pa.table(
        {
            "key": pa.array(random.choices(keys, k=ROW_COUNT), key_type),
            "at": pa.array(times, INSTANT),
            "x": pa.array(random.choices(values, k=ROW_COUNT), value_type),
        }
    )


def in_zone(rows: pa.Table) -> pa.Table:
    """Return the rows with their instants as a clock in Berlin shows them."""
    return with_type(rows, INSTANT, pa.timestamp("us", "Europe/Berlin"))


def in_nanoseconds(rows: pa.Table) -> pa.Table:
    """Return the rows with their times in nanoseconds of Berlin; keys may be in years that nanoseconds do not reach."""
    return rows.set_column(1, "at", rows["at"].cast(pa.timestamp("ns", "Europe/Berlin")))


def with_dictionaries(rows: pa.Table) -> pa.Table:
    """Return the rows with keys that are text as numbers of a dictionary."""
    if rows.schema.field("key").type != pa.string():
        return rows
    return rows.set_column(0, "key", rows["key"].dictionary_encode())


def with_views(rows: pa.Table) -> pa.Table:
    """Return the rows with text as views."""
    return with_type(rows, pa.string(), pa.string_view())


def in_chunks(rows: pa.Table) -> pa.Table:
    """Return the rows in many chunks, some of them empty."""
    pieces = [rows.slice(start, 7) for start in range(0, len(rows), 7)]
    return pa.concat_tables([rows.slice(0, 0), *pieces, rows.slice(0, 0)])


def with_type(rows: pa.Table, old_type: pa.DataType, new_type: pa.DataType) -> pa.Table:
    """Return rows with all columns of one type in another type."""
    fields = [field.with_type(new_type) if field.type == old_type else field for field in rows.schema]
    return rows.cast(pa.schema(fields))


FORMS: Final[tuple[Callable[[pa.Table], pa.Table], ...]] = (
    in_zone,
    in_nanoseconds,
    with_dictionaries,
    with_views,
    in_chunks,
)


def query_over(frame: Any, window: Any, evaluator: str = "auto") -> Query:
    """Return a query of a count, a sum, a maximum and the most frequent value of each key and window."""
    windowed = events(frame, key="key", at="at").window(window, evaluator=evaluator)
    return windowed.aggregate(
        n=module(Count), total=module("stats.sum", "x"), most=module("stats.max", "x"), all=module("stats.mode", "x")
    )


def rows_of(results: Any, schema: pa.Schema) -> list[str]:
    """Return the rows of results of any library, which must have the columns of a schema, as text and in order."""
    return sorted(map(repr, arrow_of(results, schema).to_pylist()))


@pytest.mark.cases(3)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_the_same_rows_give_the_same_results_as_a_table_of_any_kind_and_form(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    rows = random_rows(random)
    window = random.choice(WINDOWS)
    results: Any = query_over(rows, window).results()
    schema = results.schema
    expected = rows_of(results, schema)
    assert len(expected) > 10
    assert rows_of(query_over(rows, window, "general").results(), schema) == expected

    shuffled = rows.take(random.sample(range(ROW_COUNT), ROW_COUNT))
    for kind, make_frame in FRAME_MAKERS.items():
        form = random.choice(FORMS)
        table = form(shuffled) if kind != "pandas" else shuffled  # pandas has types of its own
        frame = make_frame(table, tmp_path)
        assert rows_of(query_over(frame, window).results(), schema) == expected, kind
    for form in FORMS:
        assert rows_of(query_over(form(shuffled), window).results(), schema) == expected, form.__name__
