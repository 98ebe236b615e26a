"""What an error of a Python call says to write is written here, and plans.

A case is a wrong call and a pattern of its message. Where the message gives code, the pattern has it in parentheses,
and the third part is the call in which that code is put in the place of CODE; without a third part the code is the
call. Where the message says in words what to do, the third part does it. A test at the end finds the places that
raise an error with advice and have no case.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from contextlib import chdir, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import pytest

import muntin
import muntin_engine
from muntin.errors import MuntinError
from tests.engine.api.advice import Names, plan_value

_Cases: TypeAlias = tuple[tuple[str, str] | tuple[str, str, str], ...]

WINDOWS: Final[_Cases] = (
    ("stream.window('1 hour')", r"for example, (tumbling\('1 hour'\))", "stream.window(CODE)"),
    ("stream.window('often')", r"for example, (.*)", "stream.window(CODE)"),
    ("stream.windows(day='1 day')", r"for example, (day=.*)", "stream.windows(CODE)"),
    ("stream.windows(tumbling('1 day'))", r"each with a name: (windows\(.*\))", "stream.CODE"),
    ("tumbling('10 minuts')", r"did you mean ('.*')\?", "tumbling(CODE)"),
    ("tumbling(1.5)", r"text such as ('10 minutes')", "tumbling(CODE)"),
    ("tumbling(1.5)", r"or ('1 hour 30 minutes')", "tumbling(CODE)"),
    ("tumbling('2 months')", r"windows of months are (.*)"),
    ("tumbling('1 year')", r"windows of months are (.*)"),
    ("tumbling('1.5 months')", r"windows of months are (.*)"),
    ("events(df, at='t', watermark='1 month')", r"such as ('30 days')", "events(df, at='t', watermark=CODE)"),
    ("session('1 month')", r"such as ('30 days')", "session(CODE)"),
    ("early(every='1 month')", r"such as ('30 days')", "early(every=CODE)"),
    ("correct('1 month')", r"such as ('30 days')", "correct(CODE)"),
    ("window('tumbling', size=10)", r"hopping ones whose hop is their size: (window\(.*\))"),
    ("window('tumbeling', size=10)", r"hopping ones whose hop is their size: (window\(.*\))"),
    ("window('sesion', gap=10)", r"did you mean ('.*')\?", "window(CODE, gap=10)"),
    ("cumulate('10 minutes', '1 hour')", r"the size comes first: write (.*)"),
    ("calendar('monthly')", r"did you mean ('.*')\?", "calendar(CODE)"),
    ("calendar('1 fortnight')", r"as in ('3 months')", "calendar(CODE)"),
    ("calendar('2 hours')", r"for hours use (tumbling)", "CODE('2 hours')"),
    ("calendar('month', start='2024-01-31')", r"one of the days 1 to 28", "calendar('month', start='2024-01-28')"),
    ("calendar('month', start='sunday')", r"a size of weeks", "calendar('week', start='sunday')"),
    ("calendar('month', start='sunday')", r"a date such as ('[-0-9]+')", "calendar('month', start=CODE)"),
    ("calendar('day', start='noon')", r"a time of day such as ('[:0-9]+')", "calendar('day', start=CODE)"),
    ("calendar('week', start='noon')", r"a day of the week such as ('\w+')", "calendar('week', start=CODE)"),
    ("calendar('year', start='noon')", r"a month such as ('\w+')", "calendar('year', start=CODE)"),
    ("calendar('month', '1 day')", r"months, quarters and years", "calendar('quarter', '1 month')"),
    ("calendar('day', '1 month')", r"days and weeks", "calendar('week', '1 day')"),
    ("calendar('day', zone='Europe/Pariss')", r"did you mean ('.*')\?", "calendar('day', zone=CODE)"),
    ("calendar('day', zone='home')", r"a name such as ('Europe/Berlin')", "calendar('day', zone=CODE)"),
    ("landmark('1 hour', since='yesterday')", r"a time such as ('.*')", "landmark('1 hour', since=CODE)"),
    # an evaluator, policies of windows
    ("stream.window(tumbling(10), clip='Full')", r"did you mean ('.*')\?", "windowed_with(clip=CODE)"),
    ("stream.window(tumbling(10), timestamps='aligned')", r"did you mean ('.*')\?", "windowed_with(timestamps=CODE)"),
    ("stream.window(tumbling(10), emit='append')", r"is (emit='final')", "windowed_with(CODE)"),
    ("stream.window(tumbling(10), emit='update')", r"(emit='eager')", "windowed_with(CODE)"),
    ("stream.window(tumbling(10), emit='update')", r"(emit=early\(every_count\(1\)\))", "windowed_with(CODE)"),
    ("stream.window(tumbling(10), emit='complete')", r"(emit='eager')", "windowed_with(CODE)"),
    ("stream.window(tumbling(10), evaluator='slow')", r"there are ('auto')", "windowed_with(evaluator=CODE)"),
    # row windows
    ("last(marker('a = 1'))", r"use batch\(marker\(\.\.\.\)\)", "batch(marker('a = 1'))"),
    ("last(10).trigger(marker('a = 1'))", r"use batch\(marker\(\.\.\.\)\)", "batch(marker('a = 1'))"),
    ("last(on_row('a = 1'))", r"write (last\(10\)\.trigger\(.*?\)\)), with"),
    ("last(1.5)", r"a length of time such as ('10 minutes')", "last(CODE)"),
    ("batch(on_row('a = 1'))", r"write (between\(.*?\)) for"),
    ("batch('1 hour', within='1 minute')", "leave one of them out", "batch('1 hour')"),
    ("batch('1 hour', within='1 minute')", "leave one of them out", "batch(100, within='1 minute')"),
    ("batch(3).partition('a').with_empty()", r"leave out \.with_empty\(\)", "batch(3).partition('a')"),
    ("batch(3).with_empty()", r"leave out \.with_empty\(\)", "batch(3)"),
    ("batch(3).with_empty()", "or flush by time", "batch('1 hour').with_empty()"),
    ("batch(3).with_empty()", "or by a marker", "batch(marker('a = 1')).with_empty()"),
    ("between()", r"or both: (between\(.*\))"),
    ("between(closes='a = 1', closing_row=False)", r"write (batch\(marker\(.*?\)\))"),
    ("between(closes='a = 1', reopens=True)", "leave out reopens=True", "between(closes='a = 1')"),
    ("between('a = 1').with_empty()", r"leave out \.with_empty\(\)", "between('a = 1')"),
)

TRIGGERS: Final[_Cases] = (
    ("stream.window(tumbling(10), emit='early')", r"(emit=early\(every_count\(100\)\))", "windowed_with(CODE)"),
    ("stream.window(tumbling(10), emit='early')", r"or a period, (.*?), for which", "windowed_on_a_clock(CODE)"),
    ("stream.window(tumbling(10), emit=early)", r"or a period, (.*?), for which", "windowed_on_a_clock(CODE)"),
    ("early()", r"for example (early\(every_count\(100\)\))"),
    ("early()", r"or (early\(every='1 minute'\)) on", "windowed_on_a_clock(emit=CODE)"),
    ("early(every_count(3), every='1 minute')", r"for example (early\(every_count\(100\)\))"),
    ("early('1 minute')", r"a period goes by name: (.*)"),
    ("early(every_count)", r"every_count is not a trigger; expected, for example, (every_count\(100\))", "early(CODE)"),
    (
        "early(every='1 minute', refinement='retracts')",
        r"did you mean ('.*')\?",
        "early(every='1 minute', refinement=CODE)",
    ),
    ("any_of()", r"for example, (any_of\(every_count\(100\)\))"),
    *(
        (wrong.replace("PART", "'1 minute'"), pattern, wrong.replace("PART", "CODE"))
        for wrong in (
            "any_of(PART)",
            "all_of(every_count(3), PART)",
            "each(PART)",
            "repeat(PART)",
            "until(when('a > b'), PART)",
        )
        for pattern in (r"for example, (every_count\(100\))", r"for a period (every\('1 minute'\))")
    ),
    ("any_of(every_count)", r"got every_count\n.*for example, (every_count\(100\))", "any_of(CODE)"),
    ("when(5)", r"for example (when\(.*\))"),
    (
        "reaches('n', '5')",
        r"for example (reaches\('total', 100\))",
        "stream.window(hours, emit=early(CODE)).aggregate(total=count)",
    ),
    ("percentile(50)", r"half of the extent is (percentile\(0\.5\))"),
    ("percentile('half')", r"half of the extent is (percentile\(0\.5\))"),
    ("percentile(1.5)", r"its end is (past_end\(\))"),
    ("past_part(50)", r"half of a window is (past_part\(0\.5\))"),
    # what a trigger waits for
    (
        "windowed_with(emit=early(every='1 minute'))",
        r"use (\.with_clock\(\))",
        "streamCODE.window(hours, emit=early(every='1 minute'))",
    ),
    (
        "windowed_with(emit=early(every='1 minute'))",
        "a change column",
        "rides.window(hours, emit=early(every='1 minute', refinement='retract'))",
    ),
    (
        "windowed_with(emit=early(on_signal('end')))",
        r"a change column, .*signal=\.\.\.",
        "events(df, at='t', change='op', signal='signal').window(hours, emit=early(on_signal('end')))",
    ),
    (
        "windowed_with(emit=early(reaches('total', 5)))",
        r"the query has (n)",
        "windowed_with(emit=early(reaches('CODE', 5)))",
    ),
    # a refinement
    (
        "stream.window(session('1 hour'), emit=early(every_count(3)))",
        r"use (refinement='retract')",
        "stream.window(session('1 hour'), emit=early(every_count(3), CODE))",
    ),
    (
        "rides.window(hours, emit=early(every_count(3), refinement='discard'))",
        r"use ('accumulate')",
        "rides.window(hours, emit=early(every_count(3), refinement=CODE))",
    ),
    (
        "rides.window(hours, emit=early(every_count(3), refinement='discard'))",
        r"or ('retract')",
        "rides.window(hours, emit=early(every_count(3), refinement=CODE))",
    ),
    (
        "rides.window(hours, emit=early(every_count(3), refinement='discard'))",
        "leave the id out",
        "trips.window(hours, emit=early(every_count(3), refinement='discard'))",
    ),
    (
        "samples.window(hours, emit=early(every_count(3), refinement='discard'))",
        r"use ('accumulate')",
        "samples.window(hours, emit=early(every_count(3), refinement=CODE))",
    ),
    (
        "windowed_with(forget_keys_after='1 day', emit=early(every_count(3)))",
        r"use (refinement='retract')",
        "windowed_with(forget_keys_after='1 day', emit=early(every_count(3), CODE))",
    ),
    # late rows and progress
    ("correct('-1 hour')", r"use (late_policy='side')", "stream_with(CODE)"),
    ("events(df, at='t', late_policy='correct')", r"use (late_policy=correct\('1 hour'\))", "stream_with(CODE)"),
    (
        "events(df, at='t', late_policy='1 hour')",
        r"for some time: (late_policy=correct\('1 hour'\))",
        "stream_with(CODE)",
    ),
    ("events(df, at='t', late_policy=correct)", r"(late_policy=correct\('1 hour'\))", "stream_with(CODE)"),
    ("events(df, at='t', late_policy='drp')", r"did you mean ('.*')\?", "stream_with(late_policy=CODE)"),
    ("bounded_disorder('3')", r"give a time: (bounded_delay\(.*\))"),
    ("punctuate_every(rows='3')", r"for example (punctuate_every\(rows=1000\))"),
    ("punctuate_every(rows=3, span='1 hour')", r"or (punctuate_every\(span='1 minute'\))"),
    (
        "bounded_delay('1 hour').with_idle(0)",
        "give a time above zero",
        "stream_with(watermark=bounded_delay('1 hour').with_idle('1 hour', lag='2 hours')).with_clock()",
    ),
    (
        "stream_with(watermark=bounded_delay('1 hour').with_idle('1 hour', lag='1 minute'))",
        r"give it a clock, events\(\.\.\.\)(\.with_clock\(\))",
        "stream_with(watermark=bounded_delay('1 hour').with_idle('1 hour', lag='1 minute'))CODE",
    ),
    (
        "stream_with(watermark=bounded_delay('1 hour').with_idle('1 hour', lag='1 minute'))",
        "whose change is 'clock'",
        "stream_with(watermark=bounded_delay('1 hour').with_idle('1 hour', lag='1 minute'), change='op')",
    ),
    (
        "stream_with(watermark=bounded_delay('1 hour').with_idle('1 hour')).with_clock()",
        r"with_idle\(\.\.\., (lag='10 minutes')\)",
        "stream_with(watermark=bounded_delay('1 hour').with_idle('1 hour', CODE)).with_clock()",
    ),
    (
        "stream_with(watermark=bounded_delay('1 hour').with_key_punctuation())",
        r"events needs (change)=",
        "stream_with(watermark=bounded_delay('1 hour').with_key_punctuation(), CODE='op')",
    ),
    ("stream_with(edge=True, late_policy='adjust')", r"use (late_policy='side')", "stream_with(edge=True, CODE)"),
    (
        "stream_with(edge=True, late_policy='adjust')",
        r"or (correct\('1 hour'\))",
        "stream_with(edge=True, late_policy=CODE)",
    ),
    ("stream_with(watermark=Unwritten())", r"make it a frozen dataclass", "stream_with(watermark=Written())"),
)

EVENTS: Final[_Cases] = (
    (
        "events(pandas_df, at='t')",
        r"make it one: events\((spark\.createDataFrame)\(df\), \.\.\.\)",
        "events(CODE(pandas_df), at='t')",
    ),
    ("events('trips', at='t')", r"spark\.(table)", "events(table, at='t')"),
    ("events(df, at=5)", r"a constant is (F\.lit\(5\))", "events(df, at=CODE, watermark=5).window(tumbling(10))"),
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
        "stream_with(source=F.col('ride').cast('string'), CODE)",
    ),
    ("events(df, at='km')", r"has no next one: (.*)", "events(df, at=CODE, watermark=5).window(tumbling(10))"),
    (
        "events(df, at='text').window(hours)",
        r"text that is a time: (.*?);",
        "events(df, at=CODE, watermark='1 hour').window(hours)",
    ),
    (
        "events(df, at='text').window(tumbling(1))",
        r"place in it, (.*\))$",
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
    ("stream_with(key='km * 2')", r"an expression is (F\.expr\('km \* 2'\))", "stream_with(key=CODE.cast('string'))"),
    (
        "stream_with(key='tags')",
        r"are equal where maps are: df(\..*)",
        "events(dfCODE, at='t', key='tags', watermark='1 hour').window(hours)",
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
        r"for example (F\.timestamp_millis\()'at'",
        "stream_with(at=CODE'ms'), watermark=idle).with_clock().window(hours)",
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
        r"give a column: (shift\(F\.col\('length'\), )\.\.\.\)",
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
    ("stream.shift(F.col('km'))", r"an interval: F\.expr\(", "stream.shift(F.expr(\"km * INTERVAL '1' MINUTE\"))"),
)

JOINS: Final[_Cases] = (
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
        r"a constant is (F\.lit\(5\))",
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
        r"cast them to timestamp, for example F\.timestamp_millis",
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
        r"for example df(\.withColumnRenamed\(.*\))",
        "union(a=keyed, b=events(dfCODE, at='t', key='line', watermark='1 hour'))",
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

MODULES: Final[_Cases] = (
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
    ("module(Spread, 0.5)", r"write (F\.lit\(0\.5\)) for a column", "module(Spread, CODE)"),
    ("module(Spread, 'km', 0.5)", "leave it out: there are no parameters", "module(Spread, 'km')"),
    ("module(Smooth, 0.5)", r"write (alpha=0.5), or", "module(Smooth, 'km', CODE)"),
    ("module(Smooth, 0.5, alpha=1)", r"or (F\.lit\(0\.5\)) for a column", "module(Smooth, CODE, alpha=1)"),
    (
        "module(np.percentile, 'km', 90, returns=float)",
        r"write (q=90), or",
        "module(np.percentile, 'km', CODE, returns=float)",
    ),
    ("module(Smooth, 'km', alpha='0.5')", r"write (alpha=0.5)", "module(Smooth, 'km', CODE)"),
    ("module(Smooth, 'km', alpha=1, steps='3')", r"write (steps=3)", "module(Smooth, 'km', alpha=1, CODE)"),
    ("module(Smooth, 'km', alhpa=1)", r"did you mean (alpha), not", "module(Smooth, 'km', CODE=1)"),
    ("module(Spread, ['km', 'hours'])", r"write (module\()\.\.\., 'km', 'hours'\)", "module(len, 'km', returns=int)"),
    ("module(Spread, None)", r"such as (F\.col\('a'\) \* 2)", "module(Spread, CODE)"),
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
    ("functions('stats.clamp')", r"write (functions\(spark, )\.\.\.\)", "CODE'stats.clamp')"),
    ("functions(spark, ['stats.clamp'])", r"write (functions\(spark, 'stats.clamp'\))"),
)

PLANS: Final[_Cases] = (
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
    ("query.rseults()", r"did you mean \.(\w+)\?", "query.CODE()"),
    # queries of scripts
    (
        "WindowedQuery(tumbling(10), [Computation(Spread)])",
        r"write (Computation\(Spread\(\)\)),",
        "WindowedQuery(tumbling(10), [CODE])",
    ),
    ("WindowedQuery(tumbling(10), Computation(Spread()))", r"write (WindowedQuery\(.*\))"),
)

OTHERS: Final[_Cases] = (
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

_ROOMS: Final = ("sdk/", "engine/api/", "engine/plan/", "engine/backends/spark/", "engine/sinks/")
"""The parts of the packages whose errors are looked at."""

_AUTHOR: Final = "it speaks to the author of a module, whose class is wrong; see tests/sdk/modules/test_slips.py"
_RESULT: Final = "it speaks to the author of a module, which returned something that it may not"
_PLUGIN: Final = "it speaks to the author of a plugin, or to who installed it"
_LAWS: Final = "laws and scripts test a module, and make no query"
_TEXT: Final = "a program wrote the text of the query, not a person"
_STATE: Final = "it is of the files of a checkpoint or of sinks, which no call makes right"
_SESSION: Final = "it is of the session, or of a machine"
_UNREACHED: Final = "another check refuses the same before"
EXCUSED: Final = {
    "sdk/testing/": _LAWS,
    "sdk/catalog.py": _PLUGIN,
    "sdk/changes.py": _LAWS,
    "sdk/columnar/": _RESULT,
    "sdk/components.py": _AUTHOR,
    "sdk/emission.py: define merge(self, states, window)": _AUTHOR,
    "sdk/modules/aggregate.py": _RESULT,
    "sdk/modules/attributes.py": _AUTHOR,
    "sdk/modules/columnar_aggregate.py": _AUTHOR,
    "sdk/modules/declared_types.py": _AUTHOR,
    "sdk/modules/function.py": _AUTHOR,
    "sdk/modules/methods.py": _AUTHOR,
    "sdk/modules/module.py": _AUTHOR,
    "sdk/query_checks.py: before its window": _RESULT,
    "sdk/query_checks.py: before its cause": _RESULT,
    "sdk/query_checks.py: from next_time": _RESULT,
    "sdk/query_checks.py: over windows, and the query has none": _UNREACHED,
    "sdk/rows/automaton.py": _AUTHOR,
    "sdk/schemas.py: tuple[int, ...]": _UNREACHED,
    "sdk/schemas.py: holds itself": _AUTHOR,
    "sdk/schemas.py: cannot be read": _AUTHOR,
    "sdk/triggers/description.py": _AUTHOR,
    "sdk/triggers/trigger.py": _AUTHOR,
    "sdk/windows/scheduled.py": _AUTHOR,
    "sdk/windows/specification.py: frozen dataclass": _AUTHOR,
    "sdk/windows/specification.py: set both": _AUTHOR,
    "sdk/windows/specification.py: set the class attribute": _AUTHOR,
    "sdk/windows/wall_clock.py: time zone database": _SESSION,
    "engine/api/shipping.py": "it makes no query; see test_wrong_calls.py",
    "engine/api/text/": _TEXT,
    "engine/plan/checks.py: is called when the watermark has passed an event": "apply() takes no emit",
    "engine/plan/input_binding.py: the result type of": _AUTHOR,
    "engine/plan/input_checks.py: needs a name of its own": _UNREACHED,
    "engine/plan/input_checks.py: cast them to the same type": _UNREACHED,
    "engine/plan/join_plan.py": _RESULT,
    "engine/plan/plain_data.py": _TEXT,
    "engine/plan/plain_plan.py": _TEXT,
    "engine/plan/planner.py: takes_inputs": "no call makes a query of so many inputs",
    "engine/backends/spark/session/": _SESSION,
    "engine/backends/spark/delivery/": _SESSION,
    "engine/backends/spark/checkpoints/checkpoint.py": _STATE,
    "engine/backends/spark/foreach_batch/closing.py: Connect": _SESSION,
    "engine/backends/spark/foreach_batch/closing.py: cannot be closed": _STATE,
    "engine/backends/spark/foreach_batch/recorded_queries.py: share": "no call records a pass over results of a query",
    "engine/backends/spark/foreach_batch/recorded_queries.py: Connect": _SESSION,
    "engine/backends/spark/checkpoints/sink_checks.py": _STATE,
    "engine/backends/spark/checkpoints/state_table.py": _STATE,
    "engine/backends/spark/checkpoints/stored_state.py": _STATE,
    "engine/backends/spark/foreach_batch/write.py: refuses to set": _SESSION,
    "engine/backends/spark/foreach_batch/write.py: Connect": _SESSION,
    "engine/sinks/batch_folders.py": _STATE,
    "engine/sinks/changelog_table.py: no micro-batch yet": _STATE,
    "engine/sinks/checkpoint_copy.py": _STATE,
    "engine/sinks/database_table.py": _STATE,
    "engine/sinks/databases.py: PostgreSQL": _SESSION,
    "engine/sinks/databases.py: cannot be": _SESSION,
    "engine/sinks/kafka_topic.py: messages were acknowledged": _SESSION,
    "engine/sinks/kafka_topic.py: does not take the option": "the option is named, and is left out",
    "engine/sinks/local_folder.py: gone": _STATE,
    "engine/sinks/local_folder.py: another query": _STATE,
    "engine/sinks/local_folder.py: is a file": _STATE,
    "engine/sinks/local_folder.py: no query wrote": _STATE,
    "engine/sinks/parquet_folder.py: adds a column": "a micro-batch finds it",
    "engine/sinks/parquet_folder.py: on this machine": _STATE,
    "engine/sinks/parquet_folder.py: no micro-batch yet": _STATE,
    "engine/sinks/recordings/": _STATE,
    "engine/sinks/stored_path.py": _SESSION,
    "engine/sinks/table_sink.py": "it speaks to the author of a sink",
    "engine/sinks/table_versions.py": _STATE,
}
"""Places that have no case, with the reason: files, folders, or words of one message after its file."""

_KINDS: Final = (
    "CalendarWindows",
    "CountWindows",
    "CumulateWindows",
    "GlobalWindows",
    "HoppingWindows",
    "LandmarkWindows",
    "SnapshotWindows",
    "TrailingWindows",
)
_ROWS: Final = ("LastRows", "RowBatches", "RowsBetween")
_NAMES: Final = ("hopping", "snapshot", "count", "session", "calendar", "cumulate", "landmark", "global", "trailing")
NEEDS: Final[_Cases] = (
    # windows by name
    *(
        (f"window({name!r}, wrong=5)", r"(?m)write for example (window\(.*?\))(?:, or|$)", "CODE")
        for name in (*_NAMES, "last", "batch", "between")
    ),
    ("window('sliding', size=10)", r"by a hop are (window\('hopping'.*?\)), and"),
    ("window('sliding', size=10)", r"at each event (window\('trailing'.*?\))"),
    ("window('rows', size=10)", r"of rows are (window\('last'.*?\)), "),
    ("window('rows', size=10)", r", (window\('batch'.*?\)) and"),
    ("window('daily')", r"days are (window\('calendar'.*?\)),"),
    ("window('global_windows')", r"they are (window\('global'\))"),
    # windows that a module needs
    *(
        (
            f"stream.window(session('1 hour')).aggregate(m=module(needing({kind}), 'km'))",
            r"write, for example: (.*)",
            f"stream.window(CODE).aggregate(m=module(needing({kind}), 'km'))",
        )
        for kind in _KINDS
    ),
    *(
        (
            f"in_order.window(session('1 hour')).aggregate(m=module(needing({kind}), 'km'))",
            r"write, for example: (.*)",
            f"in_order.window(CODE).aggregate(m=module(needing({kind}), 'km'))",
        )
        for kind in _ROWS
    ),
    (
        "stream.window(hours).aggregate(m=module(needing(SessionWindows), 'km'))",
        r"write, for example: (.*)",
        "stream.window(CODE).aggregate(m=module(needing(SessionWindows), 'km'))",
    ),
    *(
        (
            f"numbers.window(session(5)).aggregate(m=module(needing({kind}), 'km'))",
            r"write, for example: (.*)",
            f"numbers.window(CODE).aggregate(m=module(needing({kind}), 'km'))",
        )
        for kind in ("CountWindows", "CumulateWindows", "GlobalWindows", "HoppingWindows", "LandmarkWindows")
    ),
    *(
        (
            f"{stream}.window({windows}).aggregate(m=module(needing(reach={reach}), 'km'))",
            r"write: (.*)",
            f"{stream}.window(CODE).aggregate(m=module(needing(reach={reach}), 'km'))",
        )
        for stream, windows, reach in (
            ("stream", "tumbling('1 hour')", 1_000_001),
            ("stream", "hopping('1 hour', '10 minutes')", 7_000_000_000),
            ("stream", "hopping('1 hour', '10 minutes', reach='1 second')", 7_000_000_000),
            ("stream", "calendar('day', zone='Europe/Berlin')", 7_000_000),
            ("stream", "session('1 hour')", 7_000_000_000),
            ("stream", "cumulate('1 day', '1 hour')", 7_000_000),
            ("numbers", "tumbling(10)", 25),
            ("numbers", "session(10)", 25),
            ("stream_with(at='ms', unit='ms')", "hours", 7_000),
            ("stream_with(at='ms', unit='ms')", "session('1 hour')", 7_000_000),
        )
    ),
    (
        "events(df, at='units', watermark=5).window(tumbling(10)).aggregate(m=module(needing(reach=250), 'km'))",
        r"a reach of at least (.*)",
        "events(df, at='units', watermark=5).window(tumbling(10, reach=CODE))"
        ".aggregate(m=module(needing(reach=250), 'km'))",
    ),
    (
        "events(df.selectExpr('*', 'km AS KM'), at='t', watermark='1 hour').window(hours)"
        ".aggregate(m=module(Spread, 'km'))",
        r"for example with df\.(toDF\()\.\.\.\)",
        "events(df.select('t', 'km', F.col('km').alias('KM')).CODE't', 'km', 'miles'), at='t', watermark='1 hour')"
        ".window(hours).aggregate(m=module(Spread, 'km'))",
    ),
)

SINKS: Final[_Cases] = (
    ("query.write(checkpoint='c')", r"name one for any of (results)", "query.write(checkpoint='c', CODE='r')"),
    ("query.write(checkpoint='c', results=5)", "a path for Parquet files", "query.write(checkpoint='c', results='r')"),
    (
        "query.write(checkpoint='c', results=5)",
        "a function of a DataFrame and the\n  number",
        "query.write(checkpoint='c', results=lambda batch, batch_id: None)",
    ),
    (
        "query.write(checkpoint='c', results=lambda batch: None)",
        r"a function \((batch, batch_id)\)",
        "query.write(checkpoint='c', results=lambda CODE: None)",
    ),
    ("query.write(checkpoint='', results='r')", "one of its own", "query.write(checkpoint='c', results='r')"),
    (
        "query.write(checkpoint='c', results='sqlite:f.db?table=t', late_rows='sqlite:f.db?table=t')",
        "give each one of its own",
        "query.write(checkpoint='c', results='r', late_rows='l')",
    ),
    (
        "query.write(checkpoint='c', results='r', late_rows='r/l')",
        "give each a folder of its own",
        "query.write(checkpoint='c', results='r', late_rows='l')",
    ),
    (
        "query.write(checkpoint='c', results='r', every='1 minute', available_now=True)",
        "give one of them",
        "query.write(checkpoint='c', results='r', every='1 minute')",
    ),
    (
        "query.write(checkpoint='c', results='r', every='-1 second')",
        r"for example, (every='10 seconds')",
        "query.write(checkpoint='c', results='r', CODE)",
    ),
    (
        "query.write(checkpoint='c', results='~/r')",
        r"(os\.path\.expanduser\('~/r'\))",
        "query.write(checkpoint='c', results=CODE)",
    ),
    (
        "query.write(checkpoint='c', results='delta')",
        r"write (results='\./delta')",
        "query.write(checkpoint='c', CODE)",
    ),
    (
        "query.write(checkpoint='c', results='delta')",
        r"a function \((batch, batch_id)\)",
        "query.write(checkpoint='c', results=lambda CODE: None)",
    ),
    ("ChangelogTable('http://host/t')", r"a path such as ('results')", "ChangelogTable(CODE)"),
    ("ChangelogTable('http://host/t')", r"or ('file:/data/results')", "ChangelogTable(CODE)"),
    (
        "query.write(checkpoint='c', results='dleta:t')",
        "did you mean 'delta:'",
        "query.write(checkpoint='c', results='r')",
    ),
    ("ChangelogTable('t', key=5)", r"as in (key='station')", "ChangelogTable('t', CODE)"),
    (
        "query.write(checkpoint='c', results=ChangelogTable('t'))",
        "give a path alone",
        "query.write(checkpoint='c', results='t')",
    ),
    (
        "query.write(checkpoint='c', results=ChangelogTable('t'))",
        r"or ('eager')",
        "windowed_with(emit=CODE).aggregate(n=count).write(checkpoint='c', results=ChangelogTable('t'))",
    ),
    (
        "keyed.window(hours, emit='eager').aggregate(n=count)"
        ".write(checkpoint='c', results=ChangelogTable('t', key='window'))",
        "leave key= out",
        "keyed.window(hours, emit='eager').aggregate(n=count).write(checkpoint='c', results=ChangelogTable('t'))",
    ),
    ("IcebergTable('hours')", r"as in ('bikes\.hours')", "IcebergTable(CODE)"),
    (
        "query.write(checkpoint='c', results='kafka://host')",
        r"expected (kafka://host:)port(/topic)",
        "query.write(checkpoint='c', results='kafka://host:9092/topic')",
    ),
    (
        "query.write(checkpoint='c', results='sqlite:')",
        r"or (sqlite:path/of/file\.db\?table=name)",
        "query.write(checkpoint='c', results='CODE'.replace('path/of/', ''))",
    ),
)

CASES: Final[_Cases] = (*SINKS, *WINDOWS, *TRIGGERS, *EVENTS, *JOINS, *MODULES, *PLANS, *OTHERS, *NEEDS)


class Started(Exception):
    """A query was planned and written as far as to its start in Spark."""


@pytest.fixture(autouse=True)
def nothing_starts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Have `write` stop before it starts a query, with its folders in one that is thrown away."""

    def start(*_: object, **__: object) -> None:
        raise Started

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("muntin_engine.backends.spark.foreach_batch.write._start", start)


@pytest.fixture(scope="module")
def names(request: pytest.FixtureRequest) -> Names:
    def session() -> Any:
        # Its JVM outlives this test, and so does the folder that it starts in.
        with chdir(request.config.rootpath):
            return request.getfixturevalue("spark")

    return Names(session)


def _refusal(wrong: str, names: Names) -> tuple[Exception, bool]:
    """Return the error of a wrong call, or of the query that is made of its value; and whether results were asked for.

    Planning is tried first: Spark takes a tenth of a second to plan results.
    """
    for with_results in (False, True):
        try:
            plan_value(eval(wrong, {}, names), names, with_results=with_results)
        except (MuntinError, AttributeError) as error:
            return error, with_results
    pytest.fail(f"{wrong} is right")


@pytest.mark.cases(170)
@pytest.mark.parametrize("case", CASES, ids=[f"{wrong}: {said}" for wrong, said, *_ in CASES])
def test_what_a_message_says_to_write_plans(names: Names, case: tuple[str, ...]) -> None:
    wrong, pattern, *rest = case
    refusal, with_results = _refusal(wrong, names)
    found = re.search(pattern, str(refusal))
    assert found is not None, str(refusal)
    code = found.group(1) if found.groups() else ""
    right = rest[0].replace("CODE", code) if rest else code
    with suppress(Started):
        plan_value(eval(right, {}, names), names, with_results=with_results)


_PACKAGES: Final = {
    "sdk": Path(inspect.getfile(muntin)).parent,
    "engine": Path(inspect.getfile(muntin_engine)).parent,
}
_ADVISES: Final = re.compile(
    r"\n|\b(write|use|give|expected|leave|for example|did you mean|such as|say|call|cast|names?|named)\b"
)
"""Words of messages that say what to write instead."""


_PART: Final = re.compile(r"\{[^{}]*\}")
"""The name of a part in the template of a message."""


class Site(NamedTuple):
    """A statement that raises an error with advice."""

    file: str
    first: int
    last: int
    text: str

    def is_excused_by(self, excuse: str) -> bool:
        place, _, words = excuse.partition(": ")
        return self.file.startswith(place) and words in self.text


def _sites() -> list[Site]:
    sites: list[Site] = []
    for room, folder in _PACKAGES.items():
        for path in folder.rglob("*.py"):
            file = f"{room}/{path.relative_to(folder)}"
            if not file.startswith(_ROOMS):
                continue
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Raise) and node.exc is not None:
                    sites.append(Site(file, node.lineno, node.end_lineno or node.lineno, _text_of(node.exc)))
    return [site for site in sites if _ADVISES.search(site.text)]


def _text_of(node: ast.expr) -> str:
    """Return the words of a message, without the names of its parts."""
    parts = (part.value for part in ast.walk(node) if isinstance(part, ast.Constant))
    return " ".join(_PART.sub("", part) for part in parts if isinstance(part, str))


def _raised_at(error: BaseException) -> Iterator[tuple[str, int]]:
    """Yield the lines that an error, and those that it comes from, passed through."""
    link: BaseException | None = error
    while link is not None:
        traceback = link.__traceback__
        while traceback is not None:
            path = Path(traceback.tb_frame.f_code.co_filename)
            for room, folder in _PACKAGES.items():
                if path.is_relative_to(folder):
                    yield f"{room}/{path.relative_to(folder)}", traceback.tb_lineno
            traceback = traceback.tb_next
        link = link.__cause__ or link.__context__


def test_each_place_that_gives_advice_has_a_case_or_an_excuse(names: Names) -> None:
    lines = {line for wrong in {wrong for wrong, *_ in CASES} for line in _raised_at(_refusal(wrong, names)[0])}
    uncovered: list[Site] = []
    for site in _sites():
        if not any((site.file, line) in lines for line in range(site.first, site.last + 1)):
            uncovered.append(site)
    unexcused = [site for site in uncovered if not any(site.is_excused_by(excuse) for excuse in EXCUSED)]
    assert unexcused == []
    idle = [excuse for excuse in EXCUSED if not any(site.is_excused_by(excuse) for site in uncovered)]
    assert idle == [], "these excuse nothing"
