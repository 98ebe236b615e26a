"""What a newcomer types, and what the answer says: refused where it is written, with the call that works.

A line is a call and what its error must hold. No call needs Spark: what Spark must be asked for is in
`tests/engine/backends/planning/test_query_plan.py`.
"""

from __future__ import annotations

import statistics
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pandas as pd
import pytest

import muntin
from muntin import Aggregate, progress, rows, triggers, tumbling, windows
from muntin.errors import MuntinError, ParameterError
from muntin.progress import bounded_delay
from muntin_engine import (
    ChangelogTable,
    ParquetFolder,
    Query,
    batch_metrics,
    events,
    functions,
    module,
    monitor,
    ship,
    union,
)
from muntin_engine.plan import plan_module
from tests.engine.api.frames import Frame, StaticFrame
from tests.engine.plan.plans import plan_of, planned
from tests.modules.members import Count, Echo


class Smooth(Aggregate[float, float]):
    """A module with parameters."""

    name, version = "show.smooth", "1.0.0"

    def __init__(self, alpha: float, label: str = "", steps: int | None = None) -> None:
        self.alpha = alpha

    def compute_result(self, payloads: Any) -> float:
        return 0.0


class Spread(Aggregate[float, float]):
    """A module without parameters."""

    name, version = "show.spread", "1.0.0"

    def compute_result(self, payloads: Any) -> float:
        return 0.0


class Nameless(Aggregate[float, float]):
    def compute_result(self, payloads: Any) -> float:
        return 0.0


class Numbered(Spread):
    version = 1  # type: ignore[assignment]  # that is the point


class Windowed(Spread):
    name = "show.windowed"

    def compute_result(self, payloads: Any, window: Any) -> float:  # type: ignore[override]  # that is the point
        return 0.0


class Misspelt(Aggregate[float, float]):
    name, version = "show.misspelt", "1.0.0"

    def computeReslt(self, payloads: Any) -> float:
        return 0.0


DF = cast(Any, Frame())
POINTS = events(DF, at="t", watermark=5)
NAMES: dict[str, Any] = {
    **{name: getattr(room, name) for room in (muntin, progress, rows, triggers, windows) for name in room.__all__},
    "batch_metrics": batch_metrics,
    "statistics": statistics,
    **{cls.__name__: cls for cls in (Misspelt, Nameless, Numbered, Smooth, Spread, Windowed, Count, Echo)},
    **{public.__name__: public for public in (ChangelogTable, ParquetFolder, events, functions, module, monitor, ship)},
    "DF": DF,
    "count": "stats.count",
    "keyed": replace(POINTS, keys=("k",)),
    "idle": bounded_delay(5).with_idle(9),
    "of_keys": bounded_delay(5).with_key_punctuation(),
    "pandas_df": pd.DataFrame({"t": [1]}),
    "points": POINTS,
    "query": Query((cast(Any, SimpleNamespace(df=DF)),), plan_of()),
    "static_query": Query((cast(Any, SimpleNamespace(df=StaticFrame())),), plan_of()),
    "rides": events(DF, id="ride", start="leaves", end="returns", change="change", new_end="back"),
    "samples": events(DF, at="t", edge=True),
    "spark": DF,
    "static": events(cast(Any, StaticFrame()), at="t"),
    "stream": events(DF, at="t"),
    "union": union,
    "windowed": events(DF, at="t").window(tumbling(10)),
}

CALLS = (
    # the wrong call, and parts of its error
    # join
    ("stream.join(stream, on='km > most')", "on='km > most' is not a condition", "equal columns are keys", "left='km'"),
    ("stream.join(stream, left_columns=['km', 5])", "has an expression without a name", "left_columns=['km']"),
    ("stream.join(stream, right_columns={'km': 5})", "right_columns=5 is not a column", "'(5)'"),
    ("stream.join(stream, same_window=session(5))", "same_window(session(5))", "are on no grid", "hopping(...)"),
    ("stream.join(stream, same_window=hopping(5, 9))", "these windows have gaps"),
    ("stream.join(stream, same_window=5)", "5"),
    ("stream.join(stream, 'clip', same_window=tumbling(5))", "how='clip' goes by the starts", "leave one out"),
    # events
    ("events(None, at='t')", "events() reads a DataFrame of Spark's, or a table", "got None", "spark.readStream"),
    ("events('trips', at='t')", "there is no file 'trips'", "spark.table('trips')"),
    ("events(DF, at=1)", "at=1 is not a column", "'(1)'"),
    ("events(DF, at=['t'])", "at=['t'] is not a column", "one by one"),
    ("events(DF, at='')", "at='' names no column"),
    ("events(DF, at='t', key=1)", "key=1 is not a column"),
    ("events(DF, at='t', key=['a', None])", "key=None is not a column", "leave out"),
    ("events(DF, at='t', key={'a'})", "key={'a'} is not a column", "one by one"),
    ("events(DF, at='t', key='*')", "key='*' names several columns"),
    ("events(DF, at='t', id=['a', 'b'])", "id=['a', 'b'] is not a column"),
    ("events(DF, at='t', edge='yes')", "edge is True or False, got 'yes'"),
    ("events(DF, at='t', watermark=1.5)", "watermark=1.5 is neither a delay nor", "watermark='10 minutes'"),
    ("events(DF, at='t', watermark=bounded_delay)", "watermark=bounded_delay is neither a delay nor a progress policy"),
    ("events(DF, at='t', watermark=True)", "watermark=True is neither a delay nor a progress policy"),
    ("events(DF, at='t', late_policy='1 hour')", "'1 hour' is not a LatePolicy", "late_policy=correct('1 hour')"),
    ("events(DF)", "either start (with end) or at", "got neither"),
    ("events(DF, start='a', end='b', at='c')", "got both"),
    ("events(DF, start='a')", "events with a start need an end"),
    ("events(DF, start='a', end='b', edge=True)", "give that time as at"),
    ("events(DF, at='c', end='b')", "an event with at has no end of its own"),
    ("events(DF, at='c', id='i', edge=True)", "samples have no ids", "leave id out; order="),
    ("events(DF, at='c', new_end='d', id='i')", "new_end needs id and change as well"),
    ("events(DF, at='t', watermark='-10 minutes')", "a delay is at least 0 and at most", "ticks, got '-10 minutes'"),
    ("events(DF, at='t', watermark='a while')", "'a while' is not a duration"),
    ("events(DF, at='t', source='link')", "got a column and no sources"),
    ("events(DF, at='t', sources=['a'])", "got sources and no column"),
    ("events(DF, at='t', source='link', sources=['a', 'a'])", "with different names, got a, a"),
    (
        "events(DF, at='t', source='link', sources=[1])",
        "are text, got [1]\n  write sources=['1'], and cast",
        "source='CAST(... AS string)'",
    ),
    ("events(DF, at='t', late_policy=correct)", "late_policy=correct('1 hour')"),
    ("events(DF, at='t', late_policy='correct')", "does not say for how long", "late_policy=correct('1 hour')"),
    ("events(DF, at='t', buckets='4')", "1 to 256 buckets, got '4'"),
    ("events(DF, at='t', source='s', sources='north')", "sources='north' is one text", "sources=['north']"),
    ("stream.with_heartbeat(pandas_df, at='t')", "all DataFrames of Spark's, or all tables in this process; got both"),
    ("stream.shedding(most_held=0)", "a whole number above zero, got 0", "shedding(most_held=100_000)"),
    ("stream.shedding(most_held='many')", "a whole number above zero, got 'many'"),
    (
        "stream.shedding(most_held=9, when_full='emit')",
        "says nothing of a key that is full",
        "early(every_count(1000))",
    ),
    ("stream.with_heartbeat(DF, at=3)", "at=3 is not a column"),
    ("ParquetFolder(None)", "path=None is not a path", "text or a pathlib.Path"),
    ("ChangelogTable(None)", "path=None is not a path", "text or a pathlib.Path"),
    ("ChangelogTable(3, key='k')", "path=3 is not a path"),
    ("ChangelogTable('table', key=5)", "key=5 names no columns", "a list of names"),
    ("ChangelogTable('table', key=['a', None])", "names no columns"),
    ("stream.with_clock(every=10)", "every=10 has no unit", "every='10 seconds'"),
    ("stream.with_clock('10 seconds')", "with_clock(every='10 seconds')"),
    ("stream.with_clock(DF, every='1 minute')", "has two clocks", "with_clock(clock)"),
    # unions and lifetimes
    ("union(a=points)", "at least two streams"),
    ("union(a=points, b=DF)", "union(b=...) takes streams of events"),
    ("union(a=points, b=stream)", "b never says how complete it is"),
    ("union(a=points, b=static)", "the same kind of input, got a is a stream, b is static"),
    ("union(a=points, b=events(DF, at='t', watermark=idle))", "b never says what time it is"),
    ("union(a=points, b=keyed)", "the same number of keys, got a 0, b 1"),
    ("union(a=points, b=events(DF, at='t', id='x', watermark=5))", "the same ids or no ids, got a has none, b has ids"),
    ("union(a=points, b=events(DF, at='t', watermark=5, late_policy='drop'))", "the same policy for late rows"),
    ("union(a=points, b=events(DF, at='t', watermark=5, unit='ms'))", "the same unit, got a None, b ms"),
    ("union(a=points, b=events(DF, at='t', watermark=5, edge=True))", "give the samples a duration"),
    ("union(a=points, b=events(DF, at='t', change='c', watermark=of_keys))", "the keys of b punctuate themselves"),
    ("stream.set_duration(0)", "set_duration(0) is not above zero"),
    ("stream.extend('-1 hour')", "extend('-1 hour') is not above zero"),
    ("rides.to_points('end')", "say so: to_points('end', repeated=True"),
    ("rides.to_points('middle')", "there are 'start' and 'end'"),
    ("rides.to_points('start', repeated=True)", "leave repeated out: to_points('start')"),
    ("stream.shift('1 hour', at_least='1 minute')", "at_least is for lengths from a column", "shift('1 hour')"),
    ("stream.shift(5, repeated=True)", "repeated is for lengths from a column", "leave repeated out: shift(5)"),
    ("stream.set_duration(5, repeated=True)", "repeated is for lengths from a column", "set_duration(5)"),
    ("stream.extend(5, repeated=True)", "repeated is for lengths from a column", "extend(5)"),
    ("rides.to_edges()", "call to_points('start').to_edges()"),
    ("rides.align_to(session(5))", "align_to(session(5)) cannot align lifetimes: ", " are on no grid"),
    ("rides.align_to(hopping(2, 5))", "these windows have gaps\n  expected: tumbling"),
    ("rides.align_to(hopping(10, 5))", "these windows overlap", "expected: tumbling(...)", "same_window="),
    ("rides.align_to('1 hour')", "is not a window specification"),
    ("samples.extend(1)", "extend() reads the ends of events, and a sample lasts until the next one"),
    ("samples.to_points('end')", "reads the ends of events"),
    ("stream.to_edges().align_to(tumbling(5))", "reads the ends of events"),
    ("stream.shift(5).with_heartbeat(DF, at='t')", "call with_heartbeat() first"),
    # windows
    ("stream.window('10 minutes')", "is not a window specification", "tumbling('10 minutes')"),
    ("stream.window('session')", "'session' is not a window specification", "tumbling('10 minutes')"),
    ("stream.window(tumbling)", "tumbling is not a window specification", "tumbling('10 minutes')"),
    ("stream.window(600)", "600 is not a window specification"),
    ("stream.windows(tumbling(10))", "each with a name", "windows(day=tumbling('1 day'))"),
    ("stream.windows(day='1 day')", "day='1 day' is not a window", "day=tumbling('1 day')"),
    ("stream.windows()", "windows(day=tumbling('1 day'))"),
    (
        "stream.window(tumbling(10), clip='Full')",
        "is not a ClipPolicy; there are 'none', 'left', 'right', 'full'",
        "did you mean 'full'?",
    ),
    ("stream.window(tumbling(10), timestamps='aligned')", "did you mean 'align'?"),
    (
        "stream.window(tumbling(10), emit='append')",
        "there are 'final', 'speculative', 'eager'",
        "is emit='final', the default",
    ),
    ("stream.window(tumbling(10), emit='Update')", "emit=early(every_count(1))", "emit='eager'"),
    ("stream.window(tumbling(10), emit='complete')", "emit='eager', written into a ChangelogTable"),
    ("stream.window(tumbling(10), emit='early')", "emit=early(every='1 minute')"),
    ("stream.window(tumbling(10), emit=early)", "early is not an EmitPolicy", "emit=early(every='1 minute')"),
    ("stream.window(tumbling(10), evaluator=None)", "is not an evaluator of windows; there are 'auto'"),
    ("count_by_start('3')", "a whole number above zero, got '3'"),
    ("count_by_start(2.5)", "got 2.5"),
    ("count_by_start(True)", "got True"),
    ("early('1 minute')", "a period goes by name: early(every='1 minute')"),
    ("early()", "early(every='1 minute')"),
    ("early(every='-1 minute')", "above zero, got '-1 minute'"),
    ("early(every=0)", "above zero, got 0"),
    ("early(every='1 minute', refinement='retracts')", "did you mean 'retract'?"),
    ("after_count('3')", "one member or more, got '3'"),
    ("correct('-1 hour')", "late_policy='side'"),
    ("bounded_disorder('3')", "a whole number from 0", "bounded_delay('10 minutes')"),
    ("punctuate_every(rows='3')", "rows='3'", "punctuate_every(rows=1000)"),
    # modules
    ("module(Spread())", "got an instance of Spread", "module(Spread, 'column', parameter=value)"),
    ("module(int)", "int is not a module class", "'stats.average'"),
    ("module(None)", "None is not a module class"),
    ("module(len)", "the function len is given no column", "module(len, 'km', returns=float)"),
    ("module(len, 'v')", "what the function len returns is not known", "module(len, 'km', returns=float)"),
    ("module(len, 'v', returns='int')", "returns='int' is a text", "returns=float or returns=list[str]"),
    ("module(len, 'v', returns=list)", "list does not say what it holds", "list[float]"),
    ("module(len, 'v', returns=complex)", "has no column type"),
    ("module(len, 'v', 'w', returns=int)", "the function len(obj, /) is given 2 columns", "others go by name"),
    ("module(statistics.quantiles, 'v', 4, returns=float)", "parameters by name, got 4", "write n=4"),
    ("module(len, 'v', returns=int, q=1)", "builtins.len() does not accept its parameters", "given: q=1"),
    ("typed_call(len)", "typed_call() takes a module class, got <built-in function len>"),
    ("typed_call(Smooth)('v', 0.5)", "parameters by name, got 0.5 by place\n  write alpha=0.5"),
    ("typed_call(Smooth)(0.5)", "write alpha=0.5, or '(0.5)'"),
    ("module(Spread, 'v', 0.5)", "leave it out: there are no parameters"),
    ("typed_call(Smooth)('v', beta=0.5)", "show.smooth(alpha: float, label"),
    ("module('stats.average_difference', 'a', 'b')", "columns by place do not say of which", "left='<column>'"),
    ("module('stats.average_difference', left='a')", "the query does not say what right is"),
    ("module(Nameless, 'v')", "Nameless has no name", "name = '<plugin>.<module>'"),
    ("module(Numbered, 'v')", "show.spread has the version 1, which is not text", "version = '1.0.0'"),
    ("module(Windowed, 'v')", "compute_result(payloads, window) is called with (payloads)", "is_time_sensitive = True"),
    ("module(Aggregate)", "Aggregate has no name"),
    (
        "module(Misspelt)",
        "show.misspelt does not define compute_result",
        "it defines computeReslt, which nothing calls; did you mean compute_result?",
    ),
    ("module(Smooth, 'v', alhpa=0.5)", "missing a required argument: 'alpha'; did you mean alpha, not alhpa?"),
    ("module('stats.averge')", "no module is named 'stats.averge'", "did you mean 'stats.average'"),
    ("module('nobody.knows')", "no module is named 'nobody.knows'"),
    ("module(Spread, 'o.*')", "'o.*' names several columns", "'a.b'"),
    ("module(Spread, ['a', 'b'])", "columns one by one, got ['a', 'b']", "module(..., 'a', 'b')"),
    ("module(Smooth, 'v', 0.5)", "parameters by name, got 0.5 by place\n  write alpha=0.5"),
    ("module(Spread, None)", "column=None is not a column"),
    # aggregate and apply
    ("windowed.aggregate(m=Spread)", "Spread is not a module with its columns", "m=module(Spread, 'column'))"),
    ("windowed.aggregate(m=Spread())", "aggregate(m=module(Spread, 'column'))"),
    ("windowed.aggregate(m='stats.count')", "aggregate(m=module('stats.count', 'column'))"),
    ("windowed.aggregate(m=len)", "is not a module with its columns", "m=module(len, 'column', returns=float))"),
    ("windowed.aggregate(m=typed_call(Spread))", "spread is not a module with its columns", "m=spread('column'))"),
    ("windowed.aggregate(m=None)", "None is not a module", "aggregate(m=module('stats.average', 'column'))"),
    ("windowed.aggregate(module(count))", "each with the name of its result", "aggregate(n=module('stats.count'))"),
    ("windowed.aggregate({'m': module(count)})", "aggregate(n=module('stats.count'))"),
    ("windowed.aggregate()", "aggregate(n=module('stats.count'))"),
    ("windowed.aggregate(m=module('stats.top_k', 'v', k=3))", "use .apply(module('stats.top_k', ...))"),
    ("windowed.apply('stats.top_k')", "apply(module('stats.top_k', 'column'))"),
    ("windowed.apply(Spread)", "apply(module(Spread, 'column'))"),
    ("windowed.apply(module(Spread, 'v'))", "use .aggregate(name=module('show.spread', ...))"),
    ("windowed.aggregate(m=module(Echo))", "use .apply"),
    ("windowed.apply(module(Count))", "use .aggregate"),
    # functions
    ("functions(stream, 'stats.clamp')", "functions() needs a session of Spark", "functions(spark, ...)"),
    ("functions(['stats.clamp'])", "functions() needs a session of Spark, or a function, first, got ['stats.clamp']"),
    ("functions('stats.clamp', len)", "has no name in SQL"),
    ("functions(spark, ['stats.clamp'])", "names one by one", "functions(spark, 'stats.clamp')"),
    ("functions(spark, len)", "has no name in SQL", "@muntin.function('<plugin>.<function>', version='1.0.0')"),
    ("ship('stats')", "ship() needs a session first, got 'stats'", "ship(spark, 'stats')"),
    ("ship(spark, 1)", "'1' cannot be shipped: it is neither a name nor a path"),
    # what runs
    (
        "query.write(results='r')",
        "write() needs a checkpoint",
        "query.write(checkpoint='checkpoint', results='results')",
    ),
    ("query.write(checkpoint=None, results='r')", "write() needs a checkpoint"),
    ("query.write(checkpoint=5, results='r')", "checkpoint=5 is not a path"),
    ("query.write(checkpoint='c', results='r', name=5)", "name is a name, got 5"),
    ("query.write(checkpoint='c', results='r', every='availableNow')", "available_now=True"),
    ("query.write(checkpoint='c', results='r', every='once')", "available_now=True"),
    ("query.write(checkpoint='c', results='r', every=10)", "every=10 has no unit", "every='10 seconds'"),
    ("query.write(checkpoint='c', results='r', every={'availableNow': True})", "has no unit"),
    ("query.write(checkpoint='c', results='r', every='-5 seconds')", "is negative"),
    ("query.write(checkpoint='c', results='r', every='often')", "'often' is not a duration"),
    ("query.named('')", "metrics_name is a name, got ''"),
    ("query.results(True)", "watermark is a name, got True"),
    ("monitor(None)", "monitor() watches a streaming query, got NoneType", "query.write(...)"),
    ("monitor(stream)", "got EventStream", "query.write(...)"),
)

ANSWERS = {
    # a right call, and an expression of its value
    "stream.progress": "punctuated()",
    "events(DF, at='t', watermark=0).progress": "bounded_delay(0)",
    "events(DF, at='t', watermark='1 minute').progress": "bounded_delay(60_000_000)",
    "stream.keys": "()",
    "events(DF, at='t', key=None).keys": "()",
    "events(DF, at='t', key=[]).keys": "()",
    "stream.late": "Lateness(LatePolicy.SIDE)",
    "events(DF, at='t', late_policy=correct(5)).late": "correct(5)",
    "rides.shift('1 hour').lifetimes": "'interval'",
    "rides.to_points().lifetimes": "'point'",
    "rides.to_points().shift(5).extend('1 hour').lifetimes": "'interval'",
    "rides.to_points('end', repeated=True).lifetimes": "'point'",
    "rides.set_duration('1 hour').to_points('end').lifetimes": "'point'",
    "rides.to_points('start').to_edges().lifetimes": "'edge'",
    "stream.align_to(tumbling('1 hour')).lifetimes": "'interval'",
    "samples.shift('-1 hour').lifetimes": "'edge'",
    "samples.set_duration('1 hour').shorten('1 minute').lifetimes": "'interval'",
    "hopping('1 hour', '10 minutes', offset='-2 hours').offset": "-7_200_000_000",
    "tumbling('1 hour', '-15 minutes').offset": "-900_000_000",
    "module(Count, 'a', 'b').cls": "Count",
    "module(Count, 'a', 'b').inputs": "('a', 'b')",
    "module('stats.quantile', 'a', q=1).parameters": "{'q': 1}",
    "batch_metrics(None)": "{}",
}


@pytest.mark.parametrize("call", ANSWERS)
def test_a_right_call_has_the_value_that_it_says(call: str) -> None:
    assert eval(call, dict(NAMES)) == eval(ANSWERS[call], dict(NAMES))


@pytest.mark.parametrize(
    ("call", "expected_parts"),
    [(call, expected_parts) for call, *expected_parts in CALLS],
    ids=[call for call, *_ in CALLS],
)
def test_a_wrong_call_is_refused_with_the_call_that_works(call: str, expected_parts: list[str]) -> None:
    with pytest.raises(MuntinError) as refused:
        eval(call, dict(NAMES))
    message = str(refused.value)
    for part in expected_parts:
        assert part in message
    assert " at 0x" not in message, "no address of an object"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": "0.5"}, "alpha must be a float, got '0.5'; write alpha=0.5"),
        ({"alpha": True}, "alpha must be a float, got True"),
        ({"alpha": None}, "alpha must be a float, got None"),
        ({"alpha": 1, "label": 3}, "label must be a str, got 3"),
        ({"alpha": 1, "steps": "3"}, "steps must be of type int | None, got '3'; write steps=3"),
        ({"alhpa": 1}, "missing a required argument: 'alpha'"),
        ({}, "missing a required argument: 'alpha'"),
    ],
)
def test_a_parameter_that_is_missing_or_of_another_type_is_refused_where_the_query_is_built(
    parameters: dict[str, Any], message: str
) -> None:
    with pytest.raises(ParameterError) as refused:
        plan_module("m", Smooth, parameters, [muntin.schemas.describe(float, "v")], lambda place, _: place)
    assert message in str(refused.value)


@pytest.mark.parametrize("parameters", [{"alpha": 1}, {"alpha": 0.5, "steps": None}, {"alpha": 2.0, "steps": 3}])
def test_parameters_of_the_declared_types_are_taken(parameters: dict[str, Any]) -> None:
    assert planned(Smooth, **parameters).parameters == parameters


@pytest.mark.parametrize(
    ("call", "expected_advice"),
    [
        ("stream.aggregate(n=1)", "choose windows first: .window(tumbling('10 minutes')).aggregate(...)"),
        ("stream.withWatermark('t', '1 hour')", "events(df, watermark='10 minutes', ...)"),
        ("windowed.writeStream", "say what to compute first: .aggregate(n=module('stats.count'))"),
        ("query.writeStream", "query.write(checkpoint=..., results=...), or with query.results().writeStr"),
        ("static_query.toPandas()", "query.results().toPandas"),
        ("query.toPandas()", "write the results, query.write(checkpoint='checkpoint', results='results')"),
        ("query.rseults()", "did you mean .results?"),
        ("stream.windw(tumbling(10))", "did you mean .window?"),
        ("windowed.agregate()", "did you mean .aggregate?"),
    ],
)
def test_the_error_for_a_method_of_spark_or_a_misspelt_one_says_what_to_write(call: str, expected_advice: str) -> None:
    error = error_of_missing_attribute(call)
    _, _, advice = str(error).partition("\n  ")
    assert expected_advice in advice


@pytest.mark.parametrize("call", ["query._rseults", "query.nothing_like_it"])
def test_the_error_for_a_private_attribute_or_one_like_no_other_advises_nothing(call: str) -> None:
    assert "\n" not in str(error_of_missing_attribute(call))


def error_of_missing_attribute(call: str) -> AttributeError:
    """Return the error of a call such as `query.rseults()`, which has the object and the name of the attribute."""
    owner, name = call.partition("(")[0].split(".")
    with pytest.raises(AttributeError, match=f"object has no attribute '{name}'") as missing:
        eval(call, dict(NAMES))
    assert missing.value.obj is NAMES[owner]
    assert missing.value.name == name
    return missing.value
