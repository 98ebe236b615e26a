"""A module in a query over a file, which runs in this process; on a stream in Spark it means the same."""

from pathlib import Path

import pytest
from muntin import tumbling

from muntin_myplugin.spread import Spread

READINGS = """\
sensor,at,value
a,2024-05-01 08:00:00,1.0
a,2024-05-01 08:30:00,3.0
a,2024-05-01 09:00:00,7.0
b,2024-05-01 09:00:00,5.0
b,2024-05-01 09:30:00,8.5
"""


def test_a_query_computes_the_spread_of_each_hour(tmp_path: Path) -> None:
    pytest.importorskip("duckdb", reason="pip install 'muntin-engine[local]' brings queries in this process")
    engine = pytest.importorskip("muntin_engine")
    file = tmp_path / "readings.csv"
    file.write_text(READINGS, encoding="utf-8")

    hours = engine.events(file, key="sensor", at="at").window(tumbling("1 hour"))
    results = hours.aggregate(spread=engine.module(Spread, "value")).results()

    spreads = [(row["sensor"], row["window"]["start"].hour, row["spread"]) for row in results.to_pylist()]
    assert sorted(spreads) == [("a", 8, 2.0), ("a", 9, 0.0), ("b", 9, 3.5)]
