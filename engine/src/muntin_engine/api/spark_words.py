"""Advice for attributes of Spark's DataFrames, which query writers look for on the classes of a query."""

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

_ADVICE: Final[Mapping[str, Mapping[str, str]]] = {
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
    """Adds advice to Python's error of a missing attribute; type checkers do not see the method.

    Python itself names the closest attribute only when it prints an uncaught error, which notebooks print themselves.
    """

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Fail as Python does, with advice in the message."""
            try:
                return object.__getattribute__(self, name)
            except AttributeError as error:
                advice = self._advice_on(name)
                if advice:
                    error.args = (f"{error}\n  {advice}",)
                raise

        def _advice_on(self, name: str) -> str:
            """Return advice on an attribute that does not exist; empty if there is none."""
            advice = _ADVICE.get(type(self).__name__, {}).get(name)
            if advice is _RESULTS and self.is_stream:
                return _WRITE
            if advice is not None:
                return advice.format(name=name)
            if name.startswith("_"):
                return ""
            public_names = [attribute for attribute in dir(type(self)) if not attribute.startswith("_")]
            close_names = difflib.get_close_matches(name, public_names, n=1)
            return f"did you mean .{close_names[0]}?" if close_names else ""
