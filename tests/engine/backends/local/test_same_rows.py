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
from tests.scenarios.frame_kinds import FRAME_MAKERS

COUNT: Final = 300
SEEDS: Final = 12

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
"""Keys of each type."""

VALUES: Final[Mapping[str, tuple[pa.DataType, list[Any]]]] = {
    "float": (pa.float64(), [0.5, -0.25, 1e300, None]),
    "whole number": (pa.int64(), [2**62, -(2**62), 1, None]),
    "decimal": (pa.decimal128(20, 2), [Decimal("0.01"), Decimal("-99999999999999999.99"), None]),
}
"""Values of each type that can be added."""

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
    for _ in range(COUNT):
        minutes = random.choice((random.randrange(4 * 1440), random.randrange(0, 4 * 1440, 60)))
        at = begin + timedelta(minutes=minutes, microseconds=random.choice((0, 0, 0, -1)))
        times.append(at if random.random() < 0.97 else None)
    return pa.table(
        {
            "key": pa.array(random.choices(keys, k=COUNT), key_type),
            "at": pa.array(times, INSTANT),
            "x": pa.array(random.choices(values, k=COUNT), value_type),
        }
    )


def in_zone(rows: pa.Table) -> pa.Table:
    """Return the same instants as a clock in Berlin shows them."""
    return cast(rows, INSTANT, pa.timestamp("us", "Europe/Berlin"))


def in_nanoseconds(rows: pa.Table) -> pa.Table:
    """Return times of Berlin in nanoseconds, but for keys of which there are no such ones."""
    return rows.set_column(1, "at", rows["at"].cast(pa.timestamp("ns", "Europe/Berlin")))


def with_dictionaries(rows: pa.Table) -> pa.Table:
    """Return text as numbers of a dictionary, and as large text where that is not."""
    if rows.schema.field("key").type != pa.string():
        return rows
    return rows.set_column(0, "key", rows["key"].dictionary_encode())


def with_views(rows: pa.Table) -> pa.Table:
    """Return text as views."""
    return cast(rows, pa.string(), pa.string_view())


def in_chunks(rows: pa.Table) -> pa.Table:
    """Return the rows in many chunks, some of them empty."""
    pieces = [rows.slice(start, 7) for start in range(0, len(rows), 7)]
    return pa.concat_tables([rows.slice(0, 0), *pieces, rows.slice(0, 0)])


def cast(rows: pa.Table, of: pa.DataType, to: pa.DataType) -> pa.Table:
    """Return rows with the columns of one type in another one."""
    fields = [field.with_type(to) if field.type == of else field for field in rows.schema]
    return rows.cast(pa.schema(fields))


FORMS: Final[tuple[Callable[[pa.Table], pa.Table], ...]] = (
    in_zone,
    in_nanoseconds,
    with_dictionaries,
    with_views,
    in_chunks,
)


def query_over(frame: Any, window: Any, evaluator: str = "auto") -> Query:
    windowed = events(frame, key="key", at="at").window(window, evaluator=evaluator)
    return windowed.aggregate(
        n=module(Count), total=module("stats.sum", "x"), most=module("stats.max", "x"), all=module("stats.mode", "x")
    )


def rows_of(results: Any, schema: pa.Schema) -> list[str]:
    """Return results of any kind in order, each row as text."""
    if hasattr(results, "collect"):
        results = results.collect()
    if hasattr(results, "to_arrow_table"):
        results = results.to_arrow_table()
    is_of_pandas = type(results).__module__.startswith("pandas")
    table = pa.Table.from_pandas(results, schema, preserve_index=False) if is_of_pandas else pa.table(results)
    assert table.schema.names == schema.names
    return sorted(map(repr, table.cast(schema).to_pylist()))


@pytest.mark.cases(3)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_the_same_rows_give_the_same_results(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    rows = random_rows(random)
    window = random.choice(WINDOWS)
    results: Any = query_over(rows, window).results()
    expected = rows_of(results, results.schema)
    assert expected == rows_of(query_over(rows, window, "general").results(), results.schema)
    assert len(expected) > 10

    shuffled = rows.take(random.sample(range(COUNT), COUNT))
    for kind, make_frame in FRAME_MAKERS.items():
        frame = make_frame(random.choice(FORMS)(shuffled) if kind != "pandas" else shuffled, tmp_path)
        assert rows_of(query_over(frame, window).results(), results.schema) == expected, kind
    for form in FORMS:
        assert rows_of(query_over(form(shuffled), window).results(), results.schema) == expected, form.__name__
