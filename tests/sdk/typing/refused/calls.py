"""Modules in queries with mistakes; each is refused where it is made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import muntin_patterns as patterns
import muntin_stats as stats
from muntin import Aggregate, typed_call
from muntin_engine import module


class Above(Aggregate[float, int]):
    name, version = "tides.above", "1.0.0"

    def __init__(self, level: float, *, way: Literal["strict", "loose"] = "strict") -> None:
        self.level, self.way = level, way

    def compute_result(self, payloads: Sequence[float]) -> int:
        return sum(payload > self.level for payload in payloads)


above = typed_call(Above)
stats.quantile("km", p=0.9)  # E: [call-arg] Unexpected keyword argument "p"
stats.quantile("km", q="high")  # E: [arg-type] expected "float"
stats.quantile("km")  # E: [call-arg] Missing named argument "q" for "quantile"
stats.quantile("km", 0.9)  # E: [call-arg] Too many positional arguments for "quantile"
stats.average("km", "miles")  # E: [call-arg] Too many arguments for "average"
stats.quantile("km", q=0.9, largest=True)  # E: [call-arg] Unexpected keyword argument "largest"
stats.average(1)  # E: [arg-type] expected "str | ColumnExpression"
stats.averge("km")  # E: [attr-defined] "averge"
patterns.silence("km", before="10 minutes")  # E: [call-arg] Unexpected keyword argument "before"
above("metres", level=2.0, way="strong")  # E: [arg-type] Literal['strict', 'loose']
typed_call(len)  # E: [arg-type] expected "Callable[[Sized], Module]"
module(0.9, "km")  # E: [arg-type] expected
