"""The names that wrong calls and right calls read, and the planning of a query with the value of a call."""

from __future__ import annotations

import datetime
import functools
import os
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import pandas as pd
import pyarrow as pa

import muntin
import muntin_engine
import muntin_stats
from muntin import (
    Aggregate,
    ClipPolicy,
    EarlyEmission,
    Lateness,
    Needs,
    Operator,
    OutputContract,
    ResultRefinement,
    StreamOperator,
    function,
    progress,
    rows,
    triggers,
    tumbling,
    windows,
)
from muntin.modules.call import ModuleCall
from muntin.progress import ProgressPolicy
from muntin.testing import reference
from muntin.triggers import Trigger
from muntin.triggers.elementary import Past
from muntin.windows import WindowSpecification
from muntin_engine import EventStream, OnePass, Query, WindowedStream, module
from tests.engine.plan.plans import input_of, plan_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Smooth(Aggregate[float, float]):
    """A module with parameters."""

    name, version = "advice.smooth", "1.0.0"

    def __init__(self, alpha: float, steps: int | None = None) -> None:
        self.alpha = alpha

    def compute_result(self, payloads: Any) -> float:
        return 0.0


class Spread(Aggregate[float, float]):
    """A module without parameters."""

    name, version = "advice.spread", "1.0.0"

    def compute_result(self, payloads: Any) -> float:
        return 0.0


class Clipped(Aggregate[float, float]):
    """A module that accepts only one clip."""

    name, version = "advice.clipped", "1.0.0"
    is_time_sensitive = True
    accepted_clips = frozenset({ClipPolicy.FULL})

    def compute_result(self, payloads: Any, window: Any) -> float:
        return 0.0


def needing(*kinds: type[WindowSpecification], reach: int = 0) -> type[Spread]:
    """Return a module class that needs windows of these kinds, or of any kind, with a reach."""
    needs = Needs(kinds or (WindowSpecification,), reach)
    return type("Needing", (Spread,), {"name": "advice.needing", "needs": needs})


class ClippedLeft(Clipped):
    """A module that accepts two clips."""

    name = "advice.clipped_left"
    accepted_clips = frozenset({ClipPolicy.LEFT, ClipPolicy.FULL})


class Anywhere(Operator[float, float]):
    """An operator whose rows have lifetimes of their own, which may start before the window."""

    name, version = "advice.anywhere", "1.0.0"
    is_time_sensitive = True
    contract = OutputContract.UNRESTRICTED

    def compute_result(self, payloads: Any, window: Any) -> Any:
        return list(payloads)


@dataclass(frozen=True)
class Twice(ResultRefinement):
    """A refinement of early results, which works for aggregates alone."""

    name = "advice.twice"

    def refine(self, state: Any, result: Any, is_final: bool) -> Any:
        return state, result


def series_doubled(km: pd.Series) -> pd.Series:
    return km * 2


series_doubled.__name__ = "doubled"


def spread_of_series(km: pd.Series) -> float:
    return float(km.max() - km.min())


def spread_of_frame(km: pd.DataFrame) -> float:
    return 0.0


class Double(Operator[float, float]):
    """An operator."""

    name, version = "advice.double", "1.0.0"

    def compute_result(self, payloads: Any) -> Any:
        return [2 * payload for payload in payloads]


class Follow(StreamOperator[float, int, float]):
    """An operator that follows a stream without windows."""

    name, version = "advice.follow", "1.0.0"

    def create_state(self) -> int:
        return 0

    def on_event(self, state: int, payload: float, time: int) -> Any:
        return [payload]


@function("advice.near", version="1.0.0")
def near(left: float, right: float, within: float = 5) -> bool:
    return abs(left - right) <= within


@function("advice.added", version="1.0.0")
def added(left: float, right: float) -> float:
    return left + right


@function("date.add", version="1.0.0")
def added_to_dates(day: datetime.date, days: int) -> datetime.date:
    return day + datetime.timedelta(days=days)


_TABLE: Final = pa.schema(
    [
        ("t", pa.timestamp("us", "UTC")),
        ("c", pa.timestamp("us")),
        ("day", pa.date32()),
        ("s", pa.string()),
        ("i", pa.int32()),
        ("b", pa.int64()),
        ("d", pa.float64()),
        ("f", pa.float32()),
        ("m", pa.decimal128(38, 18)),
        ("k", pa.bool_()),
        ("xs", pa.list_(pa.int32())),
        ("p", pa.struct([("lat", pa.float64())])),
    ]
).empty_table()
"""A table in this process, with columns of many types."""


@dataclass(frozen=True)
class Written(ProgressPolicy):
    """A progress policy as it has to be written."""

    def watermark(self, source: Any) -> int:
        return 0

    def describe(self, spell_length: Any) -> str:
        return "never"


@dataclass(frozen=True)
class Counting(Written):
    """A policy whose number of starts is no number."""

    @property
    def starts_kept(self) -> Any:
        return "all"


@dataclass(frozen=True)
class Failing(Written):
    """A policy that fails."""

    def watermark(self, source: Any) -> int:
        raise ZeroDivisionError


class Unwritten(ProgressPolicy):
    """A policy that is no dataclass, so that its copies are not equal to it."""

    def __init__(self) -> None:
        super().__init__()

    def watermark(self, source: Any) -> int:
        return 0

    def describe(self, spell_length: Any) -> str:
        return "never"


_COLUMNS: Final = (
    "timestamp AS t",
    "timestamp AS at",
    "timestamp AS leaves",
    "timestamp + INTERVAL '1' HOUR AS returns",
    "timestamp AS back",
    "CAST(timestamp AS timestamp_ntz) AS local",
    "CAST(timestamp AS date) AS day",
    "CAST(timestamp AS string) AS text",
    "value AS offset",
    "value AS ride",
    "value AS ms",
    "CAST(value AS decimal(10, 2)) AS units",
    *(f"'x' AS {name}" for name in ("station", "line", "link", "city", "sensor", "first_sensor", "end_sensor", "kind")),
    *(f"'x' AS {name}" for name in ("signal", "op")),
    *(f"CAST(value AS double) AS {name}" for name in ("km", "hours", "price", "column", "a", "b", "x")),
    *(f"CAST(value AS double) AS `{name}`" for name in ("left", "right", "limit")),
    "make_dt_interval(0, 1) AS length",
    "map('a', value) AS tags",
    "'x' COLLATE UTF8_LCASE AS spelling",
)

_STREAMS: Final = {
    "df": "frame()",
    "table": "spark.range(3).selectExpr('id AS value', 'timestamp_seconds(id) AS timestamp').selectExpr(*columns)",
    "stream": "events(df, at='t', watermark='10 minutes')",
    "keyed": "events(df, at='t', key='station', watermark='10 minutes')",
    "in_order": "events(df, at='t', order='offset', watermark='10 minutes')",
    "silent": "events(df, at='t')",
    "rides": (
        "events(df, id='ride', start='leaves', end='returns', change='op', new_end='back', watermark='10 minutes')"
    ),
    "trips": "events(df, start='leaves', end='returns', watermark='10 minutes')",
    "samples": "events(df, at='t', edge=True, watermark='10 minutes')",
    "numbers": "events(df, at='ms', watermark=10)",
    "stream_with": "functools.partial(events, df, **{'at': 't', 'watermark': '10 minutes'})",
    "by_sensor": (
        "functools.partial(stream_with, key='sensor', change='op', watermark=punctuated().with_key_punctuation())"
    ),
    "windowed_with": "functools.partial(stream.window, tumbling('10 minutes'))",
    "windowed_on_a_clock": "functools.partial(stream.with_clock().window, tumbling('10 minutes'))",
    "hours_of_sensors": "stream_with(key='sensor').window(tumbling('1 hour')).aggregate(n=count)",
    "trips_by_hour": "trips.window(tumbling('1 hour')).aggregate(n=count)",
    "doubled": "F.pandas_udf(series_doubled, 'double')",
    "static_eager": (
        "events(table, at='t', key='station').window(tumbling('1 hour'), emit='eager').aggregate(n=count)"
    ),
    "joined": "stream.join(trips, left_columns='km')",
    "static": "events(table, at='t')",
    "rows": "events(table_of_arrow, at='t')",
    "tens": "rows.window(hours).aggregate(n=count)",
    "windowed": "stream.window(tumbling('10 minutes'))",
    "query": "windowed.aggregate(n=count)",
    "static_query": "static.window(tumbling('10 minutes')).aggregate(n=count)",
}
"""Streams and queries by name, made when a call first reads them: a call without one needs no Spark."""

_PLAIN: Final[dict[str, Any]] = {
    **{name: getattr(muntin, name) for name in muntin.__all__},
    **{name: getattr(room, name) for room in (progress, rows, triggers, windows) for name in room.__all__},
    **{name: getattr(muntin_engine, name) for name in muntin_engine.__all__},
    **{cls.__name__: cls for cls in (Smooth, Spread, Clipped, ClippedLeft, Double, Follow, Anywhere)},
    **{cls.__name__: cls for cls in (Written, Unwritten, Counting, Failing, Twice)},
    **{public.__name__: public for public in (datetime.timedelta, Decimal, datetime.datetime)},
    "Past": Past,
    "Computation": reference.Computation,
    "WindowedQuery": reference.WindowedQuery,
    "pd": pd,
    "np": np,
    "os": os,
    "statistics": statistics,
    "functools": functools,
    "Literal": Literal,
    "idle": progress.bounded_delay("1 hour").with_idle("1 hour", lag="1 hour"),
    "hours": tumbling("1 hour"),
    "days": tumbling("1 day"),
    "count": module("stats.count"),
    "difference": "stats.average_difference",
    "average": muntin_stats.average,
    "spread_of_series": spread_of_series,
    "spread_of_frame": spread_of_frame,
    "series_doubled": series_doubled,
    "needing": needing,
    "near": near,
    "added": added,
    "pandas_df": pd.DataFrame({"t": [1]}),
    "columns": _COLUMNS,
    "table_of_arrow": _TABLE,
    "other_table": _TABLE.set_column(3, "s", pa.array([], pa.int32())),
    "alike_table": _TABLE.append_column("S", pa.array([], pa.string())),
    "added_to_dates": added_to_dates,
}


class Names(dict[str, Any]):
    """The names that a call may read.

    Args:
        session: Returns the Spark session; it is asked for when a call first reads a stream.
    """

    def __init__(self, session: Callable[[], SparkSession]) -> None:
        super().__init__(_PLAIN)
        self._session = session

    def __missing__(self, name: str) -> Any:
        if name == "spark":
            value: Any = self._session()
        elif name == "F":
            self._session()  # an expression needs one that runs
            from pyspark.sql import functions as value
        elif name == "frame":
            return self._frame
        elif name in _STREAMS:
            value = eval(_STREAMS[name], {}, self)
        else:
            raise KeyError(name)
        self[name] = value
        return value

    def _frame(self) -> DataFrame:
        return self._session().readStream.format("rate").load().selectExpr(*_COLUMNS)


def plan_value(value: object, names: Names, *, with_results: bool) -> None:
    """Plan a query with the value of a call.

    Args:
        value: The value of the call.
        names: The names that the call may read.
        with_results: Have Spark plan the results of the query too, where a query is refused that is planned already.

    Raises:
        MuntinError: There is no such query.
        AssertionError: The value is nothing that a query is made of.
    """
    match value:
        case Query():
            if with_results:
                value.results()
        case OnePass():
            for query in value.queries.values():
                plan_value(query, names, with_results=with_results)
        case WindowedStream():
            plan_value(value.aggregate(n=module("stats.count")), names, with_results=with_results)
        case EventStream():
            time_type = value.df.select(value.start).schema[0].dataType.simpleString()
            is_time = value.unit is not None or time_type.startswith("timestamp")
            windowed = value.window(tumbling("10 minutes" if is_time else 10))
            plan_value(windowed, names, with_results=with_results)
        case ModuleCall() if value.cls.is_operator:
            applied = names["keyed"].window(tumbling("10 minutes")).apply(value)
            plan_value(applied, names, with_results=with_results)
        case ModuleCall():
            aggregated = names["windowed"].aggregate(n=value)
            plan_value(aggregated, names, with_results=with_results)
        case _:
            _plan_part(value)


def _plan_part(value: object) -> None:
    """Plan a query that has the value as its windows, its trigger or a policy of it, without Spark."""
    match value:
        case WindowSpecification():
            plan_of(window=value, input=input_of(order=0))
        case Trigger():
            plan_of(emit=muntin.early(value))
        case EarlyEmission():
            plan_of(emit=value)
        case ProgressPolicy():
            plan_of(input=input_of(value))
        case Lateness():
            plan_of(input=input_of(late=value))
        case _:
            assert value is not None, "there is nothing to plan"
