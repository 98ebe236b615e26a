"""Code that was written for other frameworks, unmodified, as modules.

Each function takes code by its structure, without importing where it came from, and returns a module class with a name,
a version, types, and the capabilities that the code has. Such a class is used like any other: `module(Mean, "delay")`
in a query, or offered by a plugin.
"""

from muntin_adapters.aggregate_function import from_aggregate_function
from muntin_adapters.aggregator import from_aggregator
from muntin_adapters.combine_fn import from_combine_fn
from muntin_adapters.functions import from_array_function, from_function, from_series_function
from muntin_adapters.options import AdapterOptions, FunctionOptions
from muntin_adapters.sketch import from_sketch
from muntin_adapters.sqlite_aggregate import from_sqlite_aggregate
from muntin_adapters.statistic import from_statistic

__all__ = [
    "AdapterOptions",
    "FunctionOptions",
    "from_aggregate_function",
    "from_aggregator",
    "from_array_function",
    "from_combine_fn",
    "from_function",
    "from_series_function",
    "from_sketch",
    "from_sqlite_aggregate",
    "from_statistic",
]
