"""Other wrong calls: parameters of modules, policies and tests. The code that each message advises makes a query."""

from __future__ import annotations

from typing import Final

import pytest

from tests.engine.api.advice.following import Cases, case_name, check_advice
from tests.engine.api.advice.planning import Names

CASES: Final[Cases] = (
    # the wrong call, the pattern of its message, and the right call
    *(
        (
            "keyed.window(hours, emit=early(every_count(3), refinement=Twice())).apply(module(Double, 'km'))",
            rf"use .*({policy})",
            "keyed.window(hours, emit=early(every_count(3), refinement=CODE)).apply(module(Double, 'km'))",
        )
        for policy in ("'discard'", "'retract'")
    ),
    (
        "stream_with(order='offset', late_policy='adjust').window(last(3))",
        r"or ('drop')",
        "stream_with(order='offset', late_policy=CODE).window(last(3))",
    ),
    (
        "stream_with(late_policy='adjust').apply(module(Follow, 'km'))",
        r"or ('drop')",
        "stream_with(late_policy=CODE).apply(module(Follow, 'km'))",
    ),
    ("stream.window(tumbling(5))", r"or (timedelta\(seconds=5\))", "stream.window(tumbling(CODE))"),
    ("stream.shedding(most_held=9, when_full='emit')", r"or ('fail')", "stream.shedding(most_held=9, when_full=CODE)"),
    (
        "fold(static_query.results(), key=())",
        r"or ('eager')",
        "fold(static.window(hours, emit=CODE).aggregate(n=count).results())",
    ),
    *(
        ("stream.window(hours, evaluator='slow')", rf"there are .*({name})", "windowed_with(evaluator=CODE)")
        for name in ("'columnar'", "'sliced'", "'grouped'", "'general'")
    ),
    (
        "stream.window(hours, evaluator='slow')",
        r"there are .*('in_order')$",
        "in_order.window(last(3), evaluator=CODE)",
    ),
    *(
        ("events(df, at='ms', unit='ticks')", rf"there are .*({unit})", "stream_with(at='ms', unit=CODE)")
        for unit in ("'us'", "'ms'", "'s'")
    ),
    *(
        ("calendar('fortnight')", rf"expected: .*({size})", "calendar(CODE)")
        for size in ("'day'", "'week'", "'month'", "'quarter'", "'year'")
    ),
    ("query.named('')", "text that is not empty", "query.named('rides')"),
    ("ParquetFolder(None)", "expected: text or", "ParquetFolder('results')"),
    ("query.write(checkpoint=5, results='r')", "expected: text or", "query.write(checkpoint='c', results='r')"),
    ("module(doubled, 'km')", r"goes into a column: stats\.(average\(doubled\('km'\)\))", "windowed.aggregate(m=CODE)"),
    ("module(doubled, 'km')", r"such as \(km: pd\.Series\) -> float", "module(spread_of_series, 'km')"),
    ("module(spread_of_frame, 'km')", r"such as km: pd\.Series", "module(spread_of_series, 'km')"),
    ("module(len, 'km', returns=complex)", r"expected: bool, int, (float)", "module(len, 'km', returns=CODE)"),
    ("module(len, 'km', returns=int | str)", r"only (X \| None) is a union", "module(len, 'km', returns=int | None)"),
    (
        "module(len, 'km', returns=Literal['a', 1])",
        "must be of one, and None",
        "module(len, 'km', returns=Literal['a', 'b', None])",
    ),
    (
        "stream_with(source='link', sources=['a', 'a'])",
        "with different names",
        "stream_with(source='link', sources=['a', 'b'])",
    ),
    ("module(len, 'km', returns=tuple)", r"as in (tuple\[.*?\])", "module(len, 'km', returns=CODE)"),
    (
        "windowed.aggregate(m=module(Clipped, 'km'), n=module(ClippedLeft, 'km'))",
        r"say which: (clip='full')",
        "windowed_with(CODE).aggregate(m=module(Clipped, 'km'), n=module(ClippedLeft, 'km'))",
    ),
    (
        "keyed.window(hours, timestamps='unchanged').apply(module(Anywhere, 'km')).results('w')",
        r"use (timestamps='clip')",
        "keyed.window(hours, CODE).apply(module(Anywhere, 'km')).results('w')",
    ),
    (
        "keyed.window(hours, emit=early(every_count(3), refinement=Twice())).apply(module(Double, 'km'))",
        r"use (refinement='accumulate')",
        "keyed.window(hours, emit=early(every_count(3), CODE)).apply(module(Double, 'km'))",
    ),
    (
        "stream.window(trailing('1 hour'), timestamps='time_bound', emit='eager')",
        r"use (timestamps='align')",
        "stream.window(trailing('1 hour'), CODE, emit='eager')",
    ),
    (
        "stream.window(session('1 hour'), timestamps='time_bound', emit='eager').aggregate(m=module(Clipped, 'km'))",
        r"use (timestamps='align')",
        "stream.window(session('1 hour'), CODE, emit='eager').aggregate(m=module(Clipped, 'km'))",
    ),
    ("tumbling('40000000 days')", r"which are (\d+) days", "tumbling('CODE days')"),
    ("calendar('100000000 years')", r"at most \d+ ticks", "calendar('1 year')"),
    ("stream_with(key=F.col('*'))", "name each one", "stream_with(key=['station', 'line'])"),
    (
        "stream_with(key=F.expr('make_ym_interval(1)'))",
        "cast it first",
        "stream_with(key=F.expr('make_ym_interval(1)').cast('string'))",
    ),
    (
        "query.named('m').as_events().window(days).aggregate(n=module('stats.sum', 'n')).named('m.input')",
        r"another name: (\.named\()'\.\.\.'\)",
        "query.named('m').as_events().window(days).aggregate(n=module('stats.sum', 'n'))CODE'other')",
    ),
    (
        "silent.to_query().write(checkpoint='c', results='r', on_end='close')",
        "leave on_end out",
        "silent.to_query().write(checkpoint='c', results='r')",
    ),
    (
        "query.as_events().to_query().write(checkpoint='c', results='r', on_end='close')",
        r"a row with change='close'",
        "stream_with(change='op').window(hours).aggregate(n=count).as_events().to_query()"
        ".write(checkpoint='c', results='r')",
    ),
    (
        "one_pass(a=query).write(checkpoint='c', results={'a': 'r'}, record={'b': 'x'})",
        r"there are: (a)",
        "one_pass(a=query).write(checkpoint='c', results={'a': 'r'}, record={'CODE': 'x'})",
    ),
    ("fold(static_eager.results(), key=())", r"leave key= out", "fold(static_eager.results())"),
    ("fold(static_eager.results().drop('station'))", r"and their key columns", "fold(static_eager.results())"),
    (
        "fold(static_eager.results().withColumn('event_id', F.col('event_id') + 1))",
        r"as in (key='station') or",
        "fold(static_eager.results(), CODE)",
    ),
    (
        "final_rows(static_eager.results().drop('window'), 5)",
        r"expected the column 'lifetime', or '(window)'",
        "final_rows(static_eager.results(), 5)",
    ),
    ("final_rows(query.results(), 5)", r"write them with (query\.write\(results=)\.\.\.\)", "CODE'r', checkpoint='c')"),
    (
        "WindowedQuery(tumbling(10), [Computation(Double()), Computation(Double())])",
        "give each operator a query of its own",
        "WindowedQuery(tumbling(10), [Computation(Double())])",
    ),
    (
        "WindowedQuery(5, [Computation(Spread())])",
        r"for example, (tumbling\('10 minutes'\))",
        "WindowedQuery(CODE, [Computation(Spread())])",
    ),
    (
        "union(a=union(b=stream, c=trips), d=stream)",
        "write one union of all its streams",
        "union(b=stream, c=trips, d=stream)",
    ),
    ("stream_with(watermark=Counting())", r"a whole number from 0 to", "stream_with(watermark=Written())"),
    ("stream_with(watermark=Failing())", r"muntin\.testing\.ProgressPolicyLaws", "stream_with(watermark=Written())"),
)


@pytest.mark.cases(20)
@pytest.mark.parametrize("case", CASES, ids=case_name)
def test_a_wrong_call_is_refused_with_advice_that_makes_a_query(names: Names, case: tuple[str, ...]) -> None:
    check_advice(names, case)
