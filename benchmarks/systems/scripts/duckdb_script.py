"""The spread of each key and minute in DuckDB, with a plain function; a second argument is a file for the answers."""

import sys

import duckdb


def spread(values: list[float]) -> float:
    """Return the largest value less the smallest."""
    return max(values) - min(values)


duckdb.sql("SET TimeZone = 'UTC'")
duckdb.create_function("spread", spread, ["DOUBLE[]"], "DOUBLE")
rows = duckdb.read_parquet(sys.argv[1])
minutes = rows.aggregate("""key, time_bucket(INTERVAL 1 MINUTE, "at") AS start, spread(list(value)) AS value""")
duckdb.sql("CREATE TEMP TABLE results AS FROM minutes")
results = duckdb.table("results")
results.show()

if len(sys.argv) > 2:
    results.write_parquet(sys.argv[2])
