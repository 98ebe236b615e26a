"""Advice for attributes of Spark's DataFrames, which query writers look for on the classes of a query.

Who queries a table in this process knows these words from Spark as well, and gets the advice that is right there.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from muntin_engine.backends.choosing import is_stream, is_table

_RESULTS: Final = "the results are a DataFrame: query.results().{name}"
_TABLE: Final = "the results are a table of the input's kind, with the methods of its library: query.results()"
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

_ADVICE_OVER_TABLES: Final[Mapping[str, Mapping[str, str]]] = {
    "EventStream": {
        "writeStream": "the input is a table, which has an end: .to_query().results() are the events themselves, "
        "or .window(...) first",
    },
    "Query": {
        "writeStream": "the input is a table, which has an end: query.results() are all results",
        **dict.fromkeys(("collect", "count", "filter", "toArrow", "toPandas"), _TABLE),
    },
}
"""The advice where a query reads a table in this process, as far as it differs."""


class KnowsSparkWords:
    """Adds advice to Python's error of a missing attribute; type checkers do not see the method.

    A class of which `_ADVICE_OVER_TABLES` knows has a property `_first_input`, by which its advice is chosen.

    Python itself names the closest attribute only when it prints an uncaught error, which notebooks print themselves.
    """

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Raise Python's error of a missing attribute, with advice in its message."""
            try:
                return object.__getattribute__(self, name)  # raises Python's own error: the attribute is missing
            except AttributeError as error:
                advice = self._advice_on(name)
                if advice:
                    error.args = (f"{error}\n  {advice}",)
                raise

        def _advice_on(self, name: str) -> str:
            """Return advice on an attribute that does not exist; empty if there is none.

            A word of Spark has advice of its own, and some words have another advice over tables in this process than
            over DataFrames of Spark's. For other names the advice is the closest attribute.
            """
            owner = type(self).__name__
            advice = _ADVICE.get(owner, {}).get(name)
            advice_over_tables = _ADVICE_OVER_TABLES.get(owner, {}).get(name)
            if advice_over_tables is not None and is_table(self._first_input) and not is_stream(self._first_input):
                return advice_over_tables
            if advice is _RESULTS and self.is_stream:  # of a stream, `collect` and the like would never end
                return _WRITE
            if advice is not None:
                return advice.format(name=name)
            if name.startswith("_"):
                return ""
            public_names = [attribute for attribute in dir(type(self)) if not attribute.startswith("_")]
            close_names = difflib.get_close_matches(name, public_names, n=1)
            return f"did you mean .{close_names[0]}?" if close_names else ""
