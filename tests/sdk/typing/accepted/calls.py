"""Modules in queries as query writers call them: nothing here is an error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, assert_type

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import muntin_patterns as patterns
import muntin_stats as stats
from muntin import Aggregate, tumbling, typed_call
from muntin_engine import ModuleCall, events, from_stream, module


class Above(Aggregate[float, int]):
    name, version = "tides.above", "1.0.0"

    def __init__(self, level: float, *, way: Literal["strict", "loose"] = "strict") -> None:
        self.level, self.way = level, way

    def compute_result(self, payloads: Sequence[float]) -> int:
        return sum(payload > self.level for payload in payloads)


def spread(km: list[float]) -> float:
    return max(km) - min(km)


above = typed_call(Above)
calls: list[ModuleCall] = [
    stats.average("km"),
    stats.quantile("km", q=0.9),
    stats.quantile(F.col("km") * 2, q=0.9),
    stats.count(),
    stats.count("km", skip_nulls=True),
    stats.linear_trend("x", F.col("y")),
    stats.linear_trend(F.struct("x", "y")),
    stats.average_difference(from_stream("inside", "celsius"), from_stream("outside", "celsius")),
    patterns.silence(after="10 minutes"),
    above("metres", level=2.0),
    above("metres", level=2.0, way="loose"),
    module(np.ptp, "km", returns=float),
    module(spread, "km"),
    module(lambda x, y: float(x @ y), "x", "y", returns=float | None),
    module(np.percentile, "km", q=90, returns=float),
]

assert_type(stats.average("km"), ModuleCall)
assert_type(above("metres", level=2.0), ModuleCall)


def hours(rides: DataFrame) -> DataFrame:
    windows = events(rides, key="station", at="leaves").window(tumbling("1 hour"))
    return windows.aggregate(km=stats.average("km"), above=above("km", level=2.0)).results()
