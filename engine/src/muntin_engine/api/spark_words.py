"""What to write instead of the attributes that a user of Spark's DataFrames looks for on the classes of a query."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

_RESULTS: Final = "the results are a DataFrame: query.results().{name}"
_WRITE: Final = (
    "the input is a stream, which has no end: write the results, "
    "query.write(checkpoint='checkpoint', results='results')"
)
_WINDOWS_FIRST: Final = "choose windows first: .window(tumbling('10 minutes')).aggregate(...)"
_MODULES_FIRST: Final = "say what to compute first: .aggregate(n=module('stats.count'))"

_INSTEAD: Final[Mapping[str, Mapping[str, str]]] = {
    "EventStream": {
        **dict.fromkeys(("aggregate", "agg"), _WINDOWS_FIRST),
        "writeStream": "write the events themselves with .write(checkpoint=..., results=...), or .window(...) first",
        "groupBy": "keys are named with the events: events(df, key='station', ...)",
        "withWatermark": "the delay is named with the events: events(df, watermark='10 minutes', ...)",
        "filter": "write .where('km > 2')",
        "withColumn": "write .with_columns(miles='km / 1.6')",
    },
    "WindowedStream": {
        "agg": _MODULES_FIRST,
        **dict.fromkeys(("results", "write", "writeStream"), _MODULES_FIRST),
        "groupBy": "keys are named with the events: events(df, key='station', ...)",
    },
    "Query": {
        "writeStream": "write it with query.write(checkpoint=..., results=...), or with query.results().writeStream",
        **dict.fromkeys(("collect", "count", "filter", "toArrow", "toPandas"), _RESULTS),
    },
}


class KnowsSparkWords:
    """Adds to Python's error of a missing attribute what to write instead; type checkers see no such method.

    Python itself names the closest attribute only where it prints an error that nothing caught, and no notebook does.
    """

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Fail as Python does, and say what to write instead."""
            try:
                return object.__getattribute__(self, name)
            except AttributeError as error:
                instead = _INSTEAD.get(type(self).__name__, {}).get(name)
                if instead is _RESULTS and self.is_stream:
                    instead = _WRITE
                close = difflib.get_close_matches(name, [known for known in dir(type(self)) if known[0] != "_"], n=1)
                if instead is None and close and not name.startswith("_"):
                    instead = f"did you mean .{close[0]}?"
                if instead is not None:
                    error.args = (f"{error}\n  {instead.format(name=name)}",)
                raise
