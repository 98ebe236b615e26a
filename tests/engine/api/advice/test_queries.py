"""Wrong calls of the methods of queries and passes. The code that each message advises makes a query."""

from __future__ import annotations

from typing import Final

import pytest

from tests.engine.api.advice.following import Cases, case_name, check_advice
from tests.engine.api.advice.planning import Names

CASES: Final[Cases] = (
    # the wrong call, the pattern of its message, and the right call
    (
        "stream.window(last(3))",
        r"such as an offset: events\(\.\.\., (order='offset')\)",
        "stream_with(CODE).window(last(3))",
    ),
    (
        "trips.window(last(3))",
        r"give their time as events\(\.\.\., (at=)\.\.\.\)",
        "events(df, CODE't', order='offset', watermark='1 hour').window(last(3))",
    ),
    (
        "in_order.set_duration('5 minutes').window(last(3))",
        r"make points of them last: (\.to_points\(\))",
        "in_order.set_duration('5 minutes')CODE.window(last(3))",
    ),
    (
        "in_order.window(last(3), timestamps='time_bound')",
        r"use ('align')",
        "in_order.window(last(3), timestamps=CODE)",
    ),
    (
        "in_order.window(last(3), timestamps='time_bound')",
        r"or ('point_at_end')",
        "in_order.window(last(3), timestamps=CODE)",
    ),
    ("in_order.window(last(3), clip='full')", "leave it out", "in_order.window(last(3))"),
    ("in_order.window(last(3), emit='eager')", r"part of them: (last\(10\)\.trigger\(2\))", "in_order.window(CODE)"),
    (
        "in_order.window(last(3), forget_keys_after='1 day')",
        r"evicted: (last\(3\)\.partition\()'<expression>', age=\.\.\.\)",
        "in_order.window(CODE'station', age='1 day'))",
    ),
    (
        "in_order.window(last('1 hour'), forget_keys_after='1 day')",
        r"evicted: (last\(.*\.partition\()'<expression>', age=\.\.\.\)",
        "in_order.window(CODE'station', age='1 day'))",
    ),
    (
        "stream_with(order='offset', late_policy='adjust').window(last(3))",
        r"use (late_policy='side') or",
        "stream_with(order='offset', CODE).window(last(3))",
    ),
    (
        "stream_with(order='offset', late_policy=correct('1 hour')).window(last(3))",
        r"or ('drop')",
        "stream_with(order='offset', late_policy=CODE).window(last(3))",
    ),
    (
        "stream_with(late_policy='adjust').apply(module(Follow, 'km'))",
        r"use (late_policy='side') or",
        "stream_with(CODE).apply(module(Follow, 'km'))",
    ),
    (
        "in_order.window(last(3).partition('km'))",
        r"for example with ('cast\(x as string\)')",
        "in_order.window(last(3).partition(CODE))",
    ),
    (
        "in_order.window(last(delta('station', 5)))",
        "expected: a number or a timestamp",
        "in_order.window(last(delta('km', 5)))",
    ),
    ("in_order.window(between('km'))", r'such as "(x = \'end\')"', "in_order.window(between(\"kind = 'end'\"))"),
    ("windowed_with(emit=early(when('km')))", r"such as ('price > 100')", "windowed_with(emit=early(when(CODE)))"),
    ("windowed_with(timestamps='time_bound')", r"use (emit='eager')", "windowed_with(timestamps='time_bound', CODE)"),
    (
        "windowed_with(timestamps='time_bound', emit='eager', forget_keys_after='1 day')",
        r"use (timestamps='align')",
        "windowed_with(CODE, emit='eager', forget_keys_after='1 day')",
    ),
    ("windowed_with(forget_keys_after=0)", "a length above zero", "windowed_with(forget_keys_after='1 day')"),
    ("samples.window(hours, forget_keys_after='1 day')", "leave it out", "samples.window(hours)"),
    (
        "samples.window(hours, forget_keys_after='1 day')",
        r"with (edge=False)",
        "events(df, start='leaves', end='returns', watermark='1 hour', CODE).window(hours, forget_keys_after='1 day')",
    ),
    (
        "windowed_with(evaluator='columnar').aggregate(m=module('stats.collect_list', 'km'))",
        r"open with (evaluator='auto')",
        "windowed_with(CODE).aggregate(m=module('stats.collect_list', 'km'))",
    ),
    (
        "stream.windows(a=hours, b=session('1 hour')).aggregate(n=count)",
        "run a query for each window",
        "stream.window(session('1 hour'))",
    ),
    # results, write, explain
    ("silent.window(hours)", r"such as (watermark='10 minutes')", "stream_with(CODE)"),
    ("silent.window(hours)", "a change column with punctuation rows", "events(df, at='t', change='op').window(hours)"),
    (
        "silent.window(hours).aggregate(n=count).as_events()",
        r"such as (watermark='10 minutes')",
        "stream_with(CODE).window(hours).aggregate(n=count).as_events()",
    ),
    (
        "windowed_with(emit=early(every_count(3))).aggregate(n=count).as_events()",
        r"use early\(\.\.\., (refinement='retract')\)",
        "windowed_with(emit=early(every_count(3), CODE)).aggregate(n=count).as_events()",
    ),
    (
        "windowed_with(emit=early(every_count(3))).aggregate(n=count).as_events()",
        r"or (emit='final')",
        "windowed_with(CODE).aggregate(n=count).as_events()",
    ),
    ("query.where('n > 10').as_events()", r"leave them out: (query\.as_events\(\)\.where\('n > 10'\))", "CODE"),
    ("query.as_events(output='late')", r"there are ('results')", "query.as_events(output=CODE)"),
    (
        "query.select()",
        r"select\(('station', start='window.start')\)",
        "keyed.window(hours).aggregate(n=count).select(CODE)",
    ),
    (
        "query.select(total='sum(n)')",
        r"another query: (query\.as_events\(\)\.window\()\.\.\.\)",
        "CODEdays).aggregate(total=module('stats.sum', 'n'))",
    ),
    ("query.evicted_rows()", r"RowOperator\[\.\.\., Left\]", "query"),
    (
        "stream_with(late_policy='drop').window(hours).aggregate(n=count).late_rows()",
        r"give events\(\) (late_policy='side')",
        "stream_with(CODE).window(hours).aggregate(n=count).late_rows()",
    ),
    (
        "numbers.window(tumbling(10)).aggregate(n=count).results('w')",
        "a column of type timestamp",
        "query.results('w')",
    ),
    (
        "windowed_with(timestamps='time_bound', emit='eager').aggregate(n=count).results('w')",
        r"use (timestamps='align')",
        "windowed_with(CODE, emit='eager').aggregate(n=count).results('w')",
    ),
    (
        "windowed_with(timestamps='time_bound', emit='eager').aggregate(n=count).results('w')",
        r"another query: (as_events\(\))",
        "windowed_with(timestamps='time_bound', emit='eager').aggregate(n=count).CODE",
    ),
    ("query.write(results='r')", r"for example (query\.write\(checkpoint='checkpoint', results='results'\))", "CODE"),
    (
        "query.write(checkpoint='c', results='r', every='once')",
        r"(available_now=True)",
        "query.write(checkpoint='c', results='r', CODE)",
    ),
    (
        "query.write(checkpoint='c', results='r', every=10)",
        r"(every='10 seconds')",
        "query.write(checkpoint='c', results='r', CODE)",
    ),
    (
        "query.write(checkpoint='c', results='r', on_end='stop')",
        r"expected: ('leave')",
        "query.write(checkpoint='c', results='r', on_end=CODE)",
    ),
    (
        "query.write(checkpoint='c', results='r', on_end='stop')",
        r"or ('close')",
        "query.write(checkpoint='c', results='r', on_end=CODE)",
    ),
    (
        "query.write(checkpoint='c', results='r', record=5)",
        r"the path of a folder",
        "query.write(checkpoint='c', results='r', record='recording')",
    ),
    (
        "query.write(checkpoint='c', results='r', record=5)",
        r"or (Recorder\()'<path>', \.\.\.\)",
        "query.write(checkpoint='c', results='r', record=CODE'recording'))",
    ),
    (
        "static_query.write(checkpoint='c', results='r')",
        r"rejected_rows\(\) return: (query\.results\(\)\.write)\.parquet\('results'\)",
        "static_CODE",
    ),
    ("query.show()", r"write them: (query\.write\(.*?\)), or", "CODE"),
    ("query.show()", r"(events\(spark\.read)\.\.\., \.\.\.\)", "static"),
    ("query.results().collect()", r"write it: (query\.write\(.*?\)), and", "CODE"),
    ("query.results().toPandas()", r"with (\.writeStream)", "query.results()CODE"),
    # one pass
    (
        "one_pass()",
        r"each with a name: (one_pass\()hourly=hourly",
        "CODEhourly=query, daily=stream.window(days).aggregate(n=count))",
    ),
    ("one_pass(a=stream)", r"expected what aggregate\(\)", "one_pass(a=stream.window(days).aggregate(n=count))"),
    ("one_pass(a=query, b=joined)", "write it with a query of its own", "joined"),
    ("one_pass(a=query, b=silent.to_query())", "write it with a query of its own", "silent.to_query()"),
    (
        "one_pass(a=query, b=events(df.where('km > 2'), at='t', watermark='1 hour').window(hours).aggregate(n=count))",
        r"events\(df, (rows=)'\.\.\.'\)",
        "one_pass(a=query, b=stream_with(CODE'km > 2').window(hours).aggregate(n=count))",
    ),
    (
        "one_pass(a=query.named('m'), b=stream.window(days).aggregate(n=count).named('m'))",
        r"another name: (\.named\()'\.\.\.'\)",
        "one_pass(a=query.named('m'), b=stream.window(days).aggregate(n=count)CODE'other'))",
    ),
    (
        "one_pass(a=query).write(checkpoint='c', results='r')",
        r"by name: (results=\{'a': )\.\.\.\}",
        "one_pass(a=query).write(checkpoint='c', CODE'r'})",
    ),
    (
        "one_pass(a=query).write(checkpoint='c', results={'aa': 'r'})",
        r"did you mean ('.*')\?",
        "one_pass(a=query).write(checkpoint='c', results={CODE: 'r'})",
    ),
    # changelogs
    ("fold(query.results())", r"(query\.write\(results=)\.\.\.\)", "CODE'r', checkpoint='c')"),
    ("final_rows(query.results(), 5)", r"let Spark follow: (results\(watermark=)\.\.\.\)", "query.CODE'w')"),
    (
        "fold(static_query.results(), key=())",
        r"with (emit='speculative') or",
        "fold(static.window(hours, CODE).aggregate(n=count).results())",
    ),
    # words of Spark's
    (
        "stream.aggregate(n=1)",
        r"windows first: (\.window\(tumbling\('10 minutes'\)\)\.aggregate\()\.\.\.\)",
        "streamCODEn=count)",
    ),
    ("stream.groupBy('station')", r"events\(df, (key='station'), \.\.\.\)", "stream_with(CODE)"),
    ("windowed.groupBy('station')", r"events\(df, (key='station'), \.\.\.\)", "stream_with(CODE)"),
    ("stream.withWatermark('t', '1 hour')", r"events\(df, (watermark='10 minutes'), \.\.\.\)", "stream_with(CODE)"),
    ("stream.filter('km > 2')", r"write (\.where\('km > 2'\))", "streamCODE"),
    ("stream.withColumn('miles', 'km')", r"write (\.with_columns\(miles='km / 1.6'\))", "streamCODE"),
    ("stream.writeStream", r"with \.(write\(checkpoint=)\.\.\., results=\.\.\.\)", "stream.CODE'c', results='r')"),
    ("windowed.writeStream", r"first: (\.aggregate\(n=module\('stats\.count'\)\))", "windowedCODE"),
    ("query.writeStream", r"or with (query\.results\(\)\.writeStream)"),
    ("query.toPandas()", r"write the results, (query\.write\(.*\))", "CODE"),
    ("static_query.toPandas()", r"are a DataFrame: (query\.results\(\)\.toPandas)", "static_CODE"),
    ("static_query.results(workers=2)", r"leave it out: the master of the session", "static_query.results()"),
    ("query.record('r')", r"while it runs: (query\.write\(checkpoint='checkpoint', .*\))", "CODE"),
    (
        "static_query.record('r')",
        r"give events\(\) its rows: events\(df(\.toArrow\(\)), \.\.\.\)",
        "events(tableCODE, at='t').window(hours).aggregate(n=count)",
    ),
    ("query.rseults()", r"did you mean \.(\w+)\?", "query.CODE()"),
    # queries of scripts
    (
        "WindowedQuery(tumbling(10), [Computation(Spread)])",
        r"write (Computation\(Spread\(\)\)),",
        "WindowedQuery(tumbling(10), [CODE])",
    ),
    ("WindowedQuery(tumbling(10), Computation(Spread()))", r"write (WindowedQuery\(.*\))"),
)


@pytest.mark.cases(20)
@pytest.mark.parametrize("case", CASES, ids=case_name)
def test_a_wrong_call_is_refused_with_advice_that_makes_a_query(names: Names, case: tuple[str, ...]) -> None:
    check_advice(names, case)
