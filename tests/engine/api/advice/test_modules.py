"""Wrong calls of `module`, `aggregate` and `apply`. The code that each message advises makes a query."""

from __future__ import annotations

from typing import Final

import pytest

from tests.engine.api.advice.following import Cases, case_name, check_advice
from tests.engine.api.advice.planning import Names

CASES: Final[Cases] = (
    # the wrong call, the pattern of its message, and the right call
    ("module(Spread())", r"after the columns: (module\(Spread, 'column', )parameter=value\)", "CODE)"),
    ("module(int)", r"such as ('stats.average')", "module(CODE, 'km')"),
    ("module('stats.averge', 'km')", r"did you mean ('.*?')", "module(CODE, 'km')"),
    ("module(len)", r"name one or several: (module\(len, 'km', returns=float\))"),
    ("module(len, 'km')", r"or (module\(len, 'km', returns=float\))"),
    ("module(len, 'km', returns='int')", r"such as (returns=float) or", "module(len, 'km', CODE)"),
    ("module(len, 'km', returns='int')", r"or (returns=list\[str\])", "module(len, 'station', CODE)"),
    ("module(len, 'km', returns=list)", r"as in (list\[.*?\])", "module(len, 'km', returns=CODE)"),
    (
        "module(len, 'km', 'hours', returns=int)",
        "a column for each argument that holds values",
        "module(len, 'km', returns=int)",
    ),
    (
        "module(statistics.quantiles, 'km', 4, returns=list[float])",
        r"write (n=4)$",
        "module(statistics.quantiles, 'km', CODE, returns=list[float])",
    ),
    ("module(Smooth, 'km', 0.5)", r"write (alpha=0.5)$", "module(Smooth, 'km', CODE)"),
    ("typed_call(Smooth)('km', 0.5)", r"write (alpha=0.5)$", "typed_call(Smooth)('km', CODE)"),
    ("module(Spread, 0.5)", r"write ('\(0\.5\)') for a column", "module(Spread, CODE)"),
    ("module(Spread, 'km', 0.5)", "leave it out: there are no parameters", "module(Spread, 'km')"),
    ("module(Smooth, 0.5)", r"write (alpha=0.5), or", "module(Smooth, 'km', CODE)"),
    ("module(Smooth, 0.5, alpha=1)", r"or ('\(0\.5\)') for a column", "module(Smooth, CODE, alpha=1)"),
    (
        "module(np.percentile, 'km', 90, returns=float)",
        r"write (q=90), or",
        "module(np.percentile, 'km', CODE, returns=float)",
    ),
    ("module(Smooth, 'km', alpha='0.5')", r"write (alpha=0.5)", "module(Smooth, 'km', CODE)"),
    ("module(Smooth, 'km', alpha=1, steps='3')", r"write (steps=3)", "module(Smooth, 'km', alpha=1, CODE)"),
    ("module(Smooth, 'km', alhpa=1)", r"did you mean (alpha), not", "module(Smooth, 'km', CODE=1)"),
    ("module(Spread, ['km', 'hours'])", r"write (module\()\.\.\., 'km', 'hours'\)", "module(len, 'km', returns=int)"),
    ("module(Spread, None)", r"such as ('a \* 2')", "module(Spread, CODE)"),
    ("module(Spread, 'x.*')", r"name each one: ('a'), or", "module(Spread, CODE)"),
    ("module('stats.average')", r"the column after the module: (module\('stats.average', )'<column>'\)", "CODE'km')"),
    ("module('stats.average', 'station')", r"cast the column, for example (.*?), or", "module('stats.average', CODE)"),
    ("module(Spread, 'station')", r"cast the column, for example (.*?), or", "module(Spread, CODE)"),
    ("module('stats.average', 'kmm')", r"did you mean ('.*')\?", "module('stats.average', CODE)"),
    ("module('stats.average', 'length')", "cast", "module('stats.average', F.col('length').cast('long'))"),
    (
        "windowed.apply(module(Follow, 'km'))",
        r"events\(\.\.\.\)(\.apply\(module\()\.\.\.\)\), without",
        "streamCODEFollow, 'km'))",
    ),
    (
        "module(difference, 'km', 'hours')",
        r"write (module\('stats.average_difference', left=)'<column>', right='<column>'\)",
        "union(left=stream, right=trips).window(hours).aggregate(m=CODE'km', right='hours'))",
    ),
    (
        "module(difference, left='km')",
        r"(right)='<column>'",
        "union(left=stream, right=trips).window(hours).aggregate(m=module(difference, left='km', CODE='km'))",
    ),
    (
        "module(difference, left='km', right='km')",
        r"make one stream of all: (union\(left=)\.\.\., (right=)\.\.\.\)\.window\(\.\.\.\)",
        "union(left=stream, right=trips).window(hours).aggregate(m=module(difference, left='km', right='km'))",
    ),
    (
        "union(a=stream, right=trips).window(hours).aggregate(m=module(difference, left='km', right='km'))",
        r"or say which it is: (left=from_stream\()'<stream>', '<column>'\)",
        "union(a=stream, right=trips).window(hours).aggregate(m=module(difference, CODE'a', 'km'), right='km'))",
    ),
    (
        "union(a=stream, right=trips).window(hours).aggregate(m=module(difference, left='km', right='km'))",
        r"name it so, union\((left)=",
        "union(CODE=stream, right=trips).window(hours).aggregate(m=module(difference, left='km', right='km'))",
    ),
    (
        "union(a=stream, b=trips).window(hours)"
        ".aggregate(m=module(difference, left=from_stream('a', 'km'), right=from_stream('a', 'km')))",
        "a stream for each of them",
        "union(a=stream, b=stream).window(hours)"
        ".aggregate(m=module(difference, left=from_stream('a', 'km'), right=from_stream('b', 'km')))",
    ),
    # aggregate and apply
    ("windowed.aggregate(m=Spread)", r"write (aggregate\(m=module\(Spread, )'column'\)\)", "windowed.CODE'km'))"),
    ("windowed.aggregate(m=Spread())", r"write (.*)", "windowed.CODE"),
    ("windowed.aggregate(m='stats.average')", r"write (.*)", "windowed.CODE"),
    ("windowed.aggregate(m=len)", r"write (.*)", "windowed.CODE"),
    ("windowed.aggregate(m=None)", r"write (.*)", "windowed.CODE"),
    ("windowed.aggregate(count)", r"name of its result: (.*)", "windowed.CODE"),
    ("windowed.aggregate()", r"name of its result: (.*)", "windowed.CODE"),
    (
        "windowed.aggregate(m=module('stats.top_k', 'km', k=3))",
        r"use \.(apply\(module\('stats.top_k', )\.\.\.\)\)",
        "windowed.CODE'km', k=3))",
    ),
    ("windowed.apply('stats.top_k')", r"write (apply\(module\('stats.top_k', 'column')\)\)", "windowed.CODE, k=3))"),
    ("windowed.apply(Double)", r"write (.*)", "windowed.CODE"),
    (
        "windowed.apply(module(Spread, 'km'))",
        r"use \.aggregate\(name=module\('advice\.spread', \.\.\.\)\)",
        "windowed.aggregate(name=module(Spread, 'km'))",
    ),
    (
        "stream.apply(module(Spread, 'km'))",
        r"first: (\.window\(tumbling\('10 minutes'\)\))",
        "streamCODE.aggregate(m=module(Spread, 'km'))",
    ),
    (
        "stream.apply(module(Double, 'km'))",
        r"first: (\.window\(tumbling\('10 minutes'\)\))",
        "streamCODE.apply(module(Double, 'km'))",
    ),
    (
        "trips.apply(module(Follow, 'km'))",
        r"give their time as events\(\.\.\., (at=)\.\.\.\)",
        "events(df, CODE't', watermark='1 hour').apply(module(Follow, 'km'))",
    ),
    (
        "query.as_events().apply(module(Follow, 'n'))",
        r"(timestamps='point_at_end')",
        "windowed_with(CODE).aggregate(n=module('stats.average', 'km')).as_events().apply(module(Follow, 'n'))",
    ),
    (
        "windowed_with(clip='none').aggregate(m=module(Clipped, 'km'))",
        r"it accepts ('full')",
        "windowed_with(clip=CODE).aggregate(m=module(Clipped, 'km'))",
    ),
    (
        "windowed_with(timestamps='clip').aggregate(m=module(Spread, 'km'))",
        r"use ('align')",
        "windowed_with(timestamps=CODE).aggregate(m=module(Spread, 'km'))",
    ),
    (
        "windowed_with(timestamps='clip').aggregate(m=module(Spread, 'km'))",
        r"or ('point_at_end')",
        "windowed_with(timestamps=CODE).aggregate(m=module(Spread, 'km'))",
    ),
    (
        "keyed.window(hours).apply(module('patterns.followed_by', 'kind', within='1 minute'))",
        r"write: (tumbling\(.*\))",
        "keyed.window(CODE).apply(module('patterns.followed_by', 'kind', within='1 minute'))",
    ),
    (
        "keyed.window(hours).aggregate(station=count)",
        "give one of them another name here",
        "keyed.window(hours).aggregate(n=count)",
    ),
    (
        "keyed.window(hours).aggregate(station=count)",
        "rename the key before events",
        "events(df.withColumnRenamed('station', 'place'), at='t', key='place', watermark='1 hour')"
        ".window(hours).aggregate(station=count)",
    ),
    ("functions(spark, len)", r"such as ('stats.clamp')", "functions(spark, CODE)"),
    ("functions(stream, 'stats.clamp')", r"write (functions\(spark, )\.\.\.\)", "CODE'stats.clamp')"),
    ("functions(stream, 'stats.clamp')", r"or (functions\('stats.clamp'\)) for tables"),
    ("functions(spark, ['stats.clamp'])", r"write (functions\(spark, 'stats.clamp'\))"),
)


@pytest.mark.cases(20)
@pytest.mark.parametrize("case", CASES, ids=case_name)
def test_a_wrong_call_is_refused_with_advice_that_makes_a_query(names: Names, case: tuple[str, ...]) -> None:
    check_advice(names, case)
