"""The spread of each key and minute in Polars, with a plain function; a second argument is a file for the answers."""

import sys
from collections.abc import Sequence

import polars as pl


def spread(columns: Sequence[pl.Series]) -> float:
    """Return the largest value less the smallest."""
    values: list[float] = columns[0].to_list()
    return max(values) - min(values)


rows = pl.read_parquet(sys.argv[1])
minutes = rows.group_by("key", pl.col("at").dt.truncate("1m").alias("start"))
results = minutes.agg(value=pl.map_groups("value", spread, return_dtype=pl.Float64, returns_scalar=True))
print(results)

if len(sys.argv) > 2:
    results.write_parquet(sys.argv[2])
