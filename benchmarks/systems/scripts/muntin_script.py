"""The spread of each key and minute in Muntin, with a plain function; a second argument is a file for the answers."""

import sys

from muntin import tumbling
from muntin_engine import events, module


def spread(values: list[float]) -> float:
    """Return the largest value less the smallest."""
    return max(values) - min(values)


minutes = events(sys.argv[1], key="key", at="at").window(tumbling("1 minute"))
results = minutes.aggregate(value=module(spread, "value", returns=float)).results()
print(results)

if len(sys.argv) > 2:
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    results = results.set_column(1, "start", pc.struct_field(results["window"], "start"))
    pq.write_table(results, sys.argv[2])
