"""Wrong calls of `events` and of the methods of event streams. The code that each message advises makes a query."""

from __future__ import annotations

from typing import Final

import pytest

from tests.engine.api.advice.following import Cases, case_name, check_advice
from tests.engine.api.advice.planning import Names

CASES: Final[Cases] = (
    # the wrong call, the pattern of its message, and the right call
    ("events(None, at='t')", r"spark\.(table)", "events(table, at='t')"),
    ("events('trips', at='t')", r"spark\.(table)", "events(table, at='t')"),
    ("events(df, at=5)", r"a constant is ('\(5\)')", "events(df, at=CODE, watermark=5).window(tumbling(10))"),
    ("events(df, at=['t'])", "name columns one by one", "stream_with()"),
    ("events(df, at='t', key='*')", r"name each one: ('a'), or", "stream_with(key=CODE)"),
    ("events(df, at='t', key=['a', None])", "leave out what there is not", "stream_with(key=['a'])"),
    ("events(df, at='t', key={'a', 'b'})", "name columns one by one", "stream_with(key=['a', 'b'])"),
    ("events(df, at='t', order=[])", r"leave order out", "stream_with()"),
    ("events(df, at='t', order=[])", r"such as (order='offset')", "stream_with(CODE)"),
    ("stream_with(order='tags').window(last(3))", r"such as an (offset)", "stream_with(order='CODE').window(last(3))"),
    ("events(df, at='t', edge='yes')", "edge is (True) or False", "stream_with(edge=CODE)"),
    ("stream_with(watermark=1.5)", r"for example, (watermark='10 minutes')", "stream_with(CODE)"),
    ("stream_with(watermark=1.5)", r"or (watermark=bounded_disorder\(rows=100\))", "stream_with(CODE)"),
    (
        "stream_with(key='sensor', key_ranges=5)",
        r"for example, (key_ranges=.*)",
        "by_sensor(CODE)",
    ),
    (
        "stream_with(key='sensor', key_ranges={'sensor': 'a'})",
        r"two columns: (key_ranges=.*)",
        "by_sensor(CODE)",
    ),
    (
        "stream_with(key='sensor', key_ranges={'sensor': ('first_sensor', 'end_sensor')})",
        r"for example (watermark=.*)",
        "stream_with(key='sensor', change='op', key_ranges={'sensor': ('first_sensor', 'end_sensor')}, CODE)",
    ),
    (
        "by_sensor(key_ranges={'line': ('a', 'b')})",
        r"the keys are (\w+)",
        "by_sensor(key_ranges={'CODE': ('first_sensor', 'end_sensor')})",
    ),
    (
        "by_sensor(key_ranges={'sensor': ('a', 'b')})",
        r"of the type of the key",
        "by_sensor(key_ranges={'sensor': (F.col('a').cast('string'), F.col('b').cast('string'))})",
    ),
    ("events(df)", r"either (start) \(with (end)\) or (at), for points", "trips"),
    ("events(df, start='leaves', end='returns', at='t')", "either start .with end. or at", "stream"),
    ("events(df, at='t', end='returns')", "use start and end for lifetimes", "trips"),
    ("events(df, start='leaves')", "give at instead", "events(df, at='leaves', watermark='1 hour')"),
    ("events(df, start='leaves', end='returns', edge=True)", "give that time as at", "samples"),
    ("events(df, at='t', edge=True, id='ride')", r"leave id out; (order)=", "stream_with(edge=True, CODE='offset')"),
    ("events(df, start='leaves', end='returns', new_end='back')", "needs id and change", "rides"),
    ("events(df, at='t', signal='signal')", "signal needs (change) as well", "stream_with(signal='signal', CODE='op')"),
    (
        "stream_with(source='link')",
        r"for example events\(\.\.\., source='link', (sources=.*)\)",
        "stream_with(source='link', CODE)",
    ),
    (
        "stream_with(source='link', sources='north')",
        r"a list of names, (sources=.*)",
        "stream_with(source='link', CODE)",
    ),
    (
        "stream_with(source='ride', sources=[1])",
        r"write (sources=\['1'\]), and cast",
        "stream_with(source='CAST(ride AS string)', CODE)",
    ),
    ("events(df, at='km')", r"has no next one: (.*)", "events(df, at=CODE, watermark=5).window(tumbling(10))"),
    (
        "events(df, at='text').window(hours)",
        r"text that is a time: (.*?);",
        "events(df, at=CODE, watermark='1 hour').window(hours)",
    ),
    (
        "events(df, at='text').window(tumbling(1))",
        r"place in it, (.*)$",
        "events(df, at=CODE, watermark=5).window(tumbling(1))",
    ),
    (
        "events(df, at='tags')",
        "cast it, for example to timestamp",
        "events(df, at=F.col('text').cast('timestamp'), watermark='1 hour').window(hours)",
    ),
    (
        "events(df, at='day')",
        "cast it, for example to timestamp",
        "events(df, at=F.col('day').cast('timestamp'), watermark='1 hour').window(hours)",
    ),
    ("stream_with(rows='km')", r"such as ('km > 2')", "stream_with(rows=CODE)"),
    ("stream_with(rows=5)", r"such as ('km > 2')", "stream_with(rows=CODE)"),
    ("stream_with(key='statoin')", r"did you mean ('.*')\?", "stream_with(key=CODE)"),
    (
        "stream_with(key='tags')",
        r"are equal where maps are: (key='.*')",
        "events(df, at='t', CODE, watermark='1 hour').window(hours)",
    ),
    ("stream_with(key='spelling')", r"for example (F\.lower\(.*)", "stream_with(key=CODE)"),
    ("stream_with(key='spelling')", r"to tell them apart give (.*)", "stream_with(key=CODE)"),
    ("stream_with(unit='ms')", "leave it out", "stream_with()"),
    ("events(df, at='ms', unit='ticks')", r"there are ('ns')", "events(df, at='ms', unit=CODE, watermark='1 hour')"),
    (
        "events(df, at='units', unit='s').window(tumbling(3))",
        "leave it out",
        "events(df, at='units', watermark=5).window(tumbling(3))",
    ),
    (
        "events(df, at='units', unit='s').window(tumbling(3))",
        "if they are seconds, cast them to timestamp",
        "events(df, at=F.col('units').cast('timestamp'), watermark='1 hour').window(hours)",
    ),
    (
        "numbers.window(hours)",
        r"as in events\(\.\.\., (unit='ms')\)",
        "events(df, at='ms', watermark='1 hour', CODE).window(hours)",
    ),
    ("numbers.window(hours)", "give lengths as integers", "numbers.window(tumbling(3600))"),
    (
        "events(df, at='units', watermark=5).window(hours)",
        r"such as (5) or",
        "events(df, at='units', watermark=5).window(tumbling(CODE))",
    ),
    (
        "events(df, at='units', watermark=5).window(hours)",
        r"or (Decimal\('0.25'\))",
        "events(df, at='units', watermark=5).window(tumbling(CODE))",
    ),
    ("stream.window(tumbling(Decimal('1.5')))", r"for example ('1.5 seconds')", "stream.window(tumbling(CODE))"),
    ("stream.window(tumbling(Decimal('1.5')))", r"or (timedelta\(seconds=1.5\))", "stream.window(tumbling(CODE))"),
    ("stream.window(tumbling(5))", r"for example ('.*?')", "stream.window(tumbling(CODE))"),
    ("stream_with(watermark=5)", r"for example ('.*?')", "stream_with(watermark=CODE)"),
    (
        "events(df, at='local', watermark='1 hour').window(calendar('day', zone='Europe/Berlin'))",
        "cast them to timestamp",
        "stream_with(at=F.col('local').cast('timestamp')).window(calendar('day', zone='Europe/Berlin'))",
    ),
    (
        "events(df, at='local', watermark='1 hour').window(calendar('day', zone='Europe/Berlin'))",
        "leave the zone out",
        "events(df, at='local', watermark='1 hour').window(calendar('day'))",
    ),
    # changes of events, clocks and heartbeats
    ("stream.shedding(most_held='many')", r"for example (shedding\(.*\))", "stream.CODE"),
    (
        "stream.shedding(most_held=9, when_full='emit')",
        r"expected: ('shed')",
        "stream.shedding(most_held=9, when_full=CODE)",
    ),
    ("stream.shedding(most_held=9, when_full='emit')", r"while windows fill up: (emit=.*)", "windowed_with(CODE)"),
    ("samples.shedding(most_held=1)", r"give (most_held=2) at least", "samples.shedding(CODE)"),
    (
        "stream.shedding(most_held=1).window(count_by_start(3))",
        r"give (most_held=\d+) at least",
        "stream.shedding(CODE).window(count_by_start(3))",
    ),
    (
        "stream.shift('5 minutes').with_heartbeat(df, at='t')",
        r"call with_heartbeat\(\) first",
        "stream.with_heartbeat(df, at='t').shift('5 minutes')",
    ),
    (
        "stream.with_heartbeat(df, at='t', source='link')",
        "give events.. a source and sources",
        "stream_with(source='link', sources=['north']).with_heartbeat(df, at='t', source='link')",
    ),
    ("stream.with_heartbeat(df, at='t', source='link')", "or leave it out", "stream.with_heartbeat(df, at='t')"),
    (
        "stream.with_heartbeat(df, at='ms')",
        "cast them to the same type",
        "stream.with_heartbeat(df, at=F.timestamp_millis('ms'))",
    ),
    ("stream.with_clock('10 seconds')", r"a period goes by name: (.*)", "stream.CODE"),
    ("stream.with_clock(every=10)", r"for example, (every='10 seconds')", "stream.with_clock(CODE)"),
    ("stream.with_clock(every='-1 second')", "give a time above zero", "stream.with_clock(every='1 second')"),
    (
        "stream.with_clock(df, every='1 minute')",
        r"leave one of them out: (with_clock\()clock\)",
        "stream.CODEdf.select('t'))",
    ),
    ("stream.with_clock(df, every='1 minute')", r"or (with_clock\(every=)\.\.\.\)", "stream.CODE'1 minute')"),
    ("static.with_clock()", "leave the clock out", "static"),
    (
        "events(df, at='units', watermark=5).with_clock().window(tumbling(5))",
        r"(change='clock')",
        "events(df, at='units', change='op', watermark=5).window(tumbling(5))",
    ),
    (
        "stream_with(at='ms', unit='ms', watermark=idle).with_clock()",
        r"for example ('timestamp_millis\()at\)'",
        "stream_with(at=CODEms)', watermark=idle).with_clock().window(hours)",
    ),
    ("stream.select()", r"to keep: (select\(.*\))", "stream.CODE"),
    ("stream.with_columns(t='km')", "give the new column another name", "stream.with_columns(other='km')"),
    (
        "stream.with_columns(t='km')",
        r"or change it before events\(\)",
        "events(df.withColumn('t', F.col('leaves')), at='t', watermark='1 hour')",
    ),
    ("stream.where('km')", r"such as ('km > 2')", "stream.where(CODE)"),
    # lifetimes
    ("rides.to_points('end')", r"say so: (to_points\('end', repeated=True\))", "rides.CODE"),
    ("rides.to_points('end')", "take the points at the start", "rides.to_points('start')"),
    ("rides.to_points('end')", "ends that are never revised", "trips.to_points('end')"),
    ("rides.to_points('middle')", r"there are ('start') and", "rides.to_points(CODE)"),
    ("rides.to_points('middle')", r"and ('end')", "trips.to_points(CODE)"),
    ("rides.to_points('start', repeated=True)", r"leave repeated out: (.*)", "rides.CODE"),
    ("rides.to_edges()", r"call (to_points\('start'\)\.to_edges\(\))", "rides.CODE"),
    (
        "rides.shift(F.col('length'))",
        r"say so: (shift\()\.\.\.(, repeated=True\))",
        "rides.shift(F.col('length'), repeated=True)",
    ),
    ("rides.set_duration(F.col('length'))", r"repeated=True", "rides.set_duration(F.col('length'), repeated=True)"),
    ("stream.shift('5 minutes', repeated=True)", r"leave repeated out: (.*?);", "stream.CODE"),
    (
        "trips.shift('5 minutes', repeated=True)",
        r"give a column: (shift\(expression\('length'\), )\.\.\.\)",
        "trips.CODErepeated=True)",
    ),
    ("stream.shift('1 hour', at_least='1 minute')", r"leave at_least out: (.*?);", "stream.CODE"),
    ("trips.extend('1 hour', repeated=True)", r"leave repeated out: (.*?);", "trips.CODE"),
    ("stream.extend('-1 hour')", "a length above zero", "stream.extend('1 hour')"),
    ("rides.align_to(session('1 hour'))", r"expected: (tumbling\()\.\.\.\)", "rides.align_to(CODE'1 hour'))"),
    (
        "rides.align_to(hopping('1 hour', '10 minutes'))",
        r"expected: (tumbling\()\.\.\.\)",
        "rides.align_to(CODE'1 hour'))",
    ),
    (
        "rides.align_to(hopping('1 hour', '10 minutes'))",
        r"join\(\.\.\., (same_window=)\.\.\.\)",
        "rides.join(trips, left_columns='km', CODEhopping('1 hour', '10 minutes'))",
    ),
    ("rides.align_to('1 hour')", r"for example, (.*)", "rides.align_to(CODE)"),
    (
        "samples.extend('1 hour')",
        r"(set_duration\()\.\.\.\) gives samples one",
        "samples.CODE'1 hour').extend('1 hour')",
    ),
    ("stream.shift(expression(' '))", r"such as (expression\('km / 1\.6'\))", "stream_with(key=CODE)"),
    ("stream.shift(F.col('km'))", r"an interval: expression\(", "stream.shift(F.expr(\"km * INTERVAL '1' MINUTE\"))"),
)


@pytest.mark.cases(20)
@pytest.mark.parametrize("case", CASES, ids=case_name)
def test_a_wrong_call_is_refused_with_advice_that_makes_a_query(names: Names, case: tuple[str, ...]) -> None:
    check_advice(names, case)
