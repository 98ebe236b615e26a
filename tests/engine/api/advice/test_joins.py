"""Wrong calls of `join`, `union` and their like. The code that each message advises makes a query."""

from __future__ import annotations

from typing import Final

import pytest

from tests.engine.api.advice.following import Cases, case_name, check_advice
from tests.engine.api.advice.planning import Names

CASES: Final[Cases] = (
    # the wrong call, the pattern of its message, and the right call
    (
        "stream.join(df)",
        r"write \.(join\(events\(df, )\.\.\.\), \.\.\.\)",
        "stream.CODEat='t', watermark='1 hour'), left_columns='km')",
    ),
    (
        "stream.join(stream, on='km > limit')",
        r"write (on=condition\()function(, left='km', right='limit'\))",
        "stream.join(trips, on=condition(near, left='km', right='limit'), left_columns='km')",
    ),
    ("stream.join(stream)", r"for example: (left_columns=\['km'\])", "stream.join(trips, CODE)"),
    ("stream.join(stream, left_columns=['km', 5])", r"such as (left_columns=\['km'\])", "stream.join(trips, CODE)"),
    ("stream.join(stream, left_columns=['km', 5])", r"or by name (left_columns=.*\})", "stream.join(trips, CODE)"),
    (
        "stream.join(stream, right_columns={'km': 5})",
        r"a constant is ('\(5\)')",
        "stream.join(trips, right_columns={'km': CODE})",
    ),
    (
        "stream.join(stream, same_window=session(5))",
        r"expected: (tumbling\()\.\.\.\), or (?:hopping\()",
        "stream.join(trips, left_columns='km', same_window=CODE'1 hour'))",
    ),
    (
        "stream.join(stream, same_window=session(5))",
        r"(hopping\()\.\.\.\) with windows that overlap",
        "stream.join(trips, left_columns='km', same_window=CODE'1 hour', '10 minutes'))",
    ),
    (
        "stream.join(stream, same_window=5)",
        r"for example, (tumbling\('10 minutes'\))",
        "stream.join(trips, left_columns='km', same_window=CODE)",
    ),
    (
        "stream.join(stream, 'clip', same_window=tumbling(5))",
        "leave one out",
        "stream.join(trips, 'clip', left_columns='km')",
    ),
    (
        "stream.join(stream, 'clip', same_window=tumbling(5))",
        "leave one out",
        "stream.join(trips, left_columns='km', same_window=tumbling('5 minutes'))",
    ),
    (
        "stream.join(trips, 'iner', left_columns='km')",
        r"did you mean ('.*')\?",
        "stream.join(trips, CODE, left_columns='km')",
    ),
    (
        "stream.join(trips, 'anti', left_columns='km', right_columns='limit')",
        r"leave right_columns= out",
        "stream.join(trips, 'anti', left_columns='km')",
    ),
    (
        "stream.join(trips, 'anti', left_columns='km', right_columns='limit')",
        r"use (how='inner') or",
        "stream.join(trips, CODE, left_columns='km', right_columns='limit')",
    ),
    (
        "stream.join(trips, 'anti', left_columns='km', right_columns='limit')",
        r"or (how='left')",
        "stream.join(trips, CODE, left_columns='km', right_columns='limit')",
    ),
    (
        "stream.join(trips, left_columns='km', emit='speculative')",
        r"use (emit='final') or",
        "stream.join(trips, left_columns='km', CODE)",
    ),
    (
        "stream.join(trips, left_columns='km', emit='speculative')",
        r"or ('eager')",
        "stream.join(trips, left_columns='km', emit=CODE)",
    ),
    (
        "stream_with(late_policy=correct('1 hour')).join(trips, left_columns='km')",
        r"use (late_policy='side').*(emit='eager')",
        "stream_with(CODE).join(trips, left_columns='km', emit='eager')",
    ),
    (
        "stream_with(change='op', watermark=punctuated().with_key_punctuation()).join(trips, left_columns='km')",
        r"leave out with_key_punctuation",
        "stream_with(change='op', watermark=punctuated()).join(trips, left_columns='km')",
    ),
    (
        "stream.shedding(most_held=9).join(trips, left_columns='km')",
        r"leave out shedding",
        "stream.join(trips, left_columns='km')",
    ),
    ("stream.shedding(most_held=9).to_query()", r"leave out shedding", "stream.to_query()"),
    (
        "keyed.join(trips, left_columns='km')",
        "cast them to the same types",
        "keyed.join(events(df, start='leaves', end='returns', key='line', watermark='1 hour'), left_columns='km')",
    ),
    (
        "stream.join(static, left_columns='km')",
        r"before events\(\): (events\(df\.join\(table, 'station'\), )\.\.\.\)",
        "CODEat=df['t'], watermark='1 hour')",
    ),
    (
        "stream.join(numbers, left_columns='km')",
        r"the same unit",
        "stream_with(at='ms', unit='ms').join(stream_with(at='ms', unit='ms'), left_columns='km')",
    ),
    (
        "stream.join(numbers, left_columns='km')",
        r"cast them to timestamp, for example 'timestamp_millis",
        "stream.join(events(df, at=F.timestamp_millis('ms'), watermark='1 hour'), left_columns='km')",
    ),
    (
        "condition(['stats.clamp'], left='km')",
        r"condition\(\) takes a function.*\n.*such as (condition\(.*\))",
        "stream.join(trips, left_columns='km', on=CODE)",
    ),
    (
        "condition(added, left='km', right='limit')",
        r"such as (condition\(.*\))",
        "stream.join(trips, left_columns='km', on=CODE)",
    ),
    (
        "condition(added, left='km', right='limit')",
        "a function of single values that returns bool or None",
        "stream.join(trips, left_columns='km', on=condition(near, left='km', right='limit'))",
    ),
    # unions
    ("union(a=stream)", r"each with a name: (union\()bikes=bikes", "union(a=stream, b=trips)"),
    (
        "union(a=stream, b=df)",
        r"expected: (events\(df, )\.\.\.\)",
        "union(a=stream, b=CODEat='t', watermark='1 hour'))",
    ),
    (
        "union(a=stream, b=silent)",
        r"give it a delay, events\(\.\.\., (watermark='10 minutes')\)",
        "union(a=stream, b=events(df, at='t', CODE))",
    ),
    ("union(a=stream, b=silent)", "or a heartbeat", "union(a=stream, b=silent.with_heartbeat(df, at='t'))"),
    ("union(a=stream, b=silent)", "punctuation rows", "union(a=stream, b=events(df, at='t', change='op'))"),
    (
        "union(a=stream, b=stream_with(watermark=bounded_delay('1 hour').with_idle('1 hour')))",
        r"give it a clock: (with_clock\(\))",
        "union(a=stream, b=stream_with(watermark=bounded_delay('1 hour').with_idle('1 hour')).CODE)",
    ),
    (
        "union(a=union(b=stream, c=trips), d=stream)",
        "write one union of all its streams",
        "union(b=stream, c=trips, d=stream)",
    ),
    ("union(a=stream, b=samples)", r"(set_duration\()\.\.\.\)", "union(a=stream, b=samples.CODE'1 hour'))"),
    ("union(a=stream, b=samples)", r"make samples of all, (to_edges\(\))", "union(a=stream.CODE, b=samples)"),
    (
        "union(a=stream, b=stream_with(change='op', watermark=punctuated().with_key_punctuation()))",
        "leave with_key_punctuation.. out",
        "union(a=stream, b=stream_with(change='op', watermark=punctuated()))",
    ),
    (
        "union(a=keyed, b=stream_with(key='line'))",
        r"rename it before events\(\), for example to (\w+)",
        "union(a=keyed, b=events(df.withColumnRenamed('station', 'CODE'), at='t', key='line', watermark='1 hour'))",
    ),
    (
        "union(a=keyed, b=events(df.drop('station'), at='t', key='ms', watermark='1 hour'))",
        "cast them",
        "union(a=keyed, b=events(df.drop('station'), at='t', key=F.col('ms').cast('string'), watermark='1 hour'))",
    ),
    (
        "union(a=stream, b=events(df.withColumn('km', F.array('km')), at='t', watermark='1 hour'))",
        r"for example with (select)\(",
        "union(a=stream, b=events(df.withColumn('km', F.array('km')), at='t', watermark='1 hour').CODE('line'))",
    ),
)


@pytest.mark.cases(20)
@pytest.mark.parametrize("case", CASES, ids=case_name)
def test_a_wrong_call_is_refused_with_advice_that_makes_a_query(names: Names, case: tuple[str, ...]) -> None:
    check_advice(names, case)
