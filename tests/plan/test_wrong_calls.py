"""What a newcomer types, and what the answer says: refused where it is written, with the call that works.

A line is a call and what its error must hold. No call needs Spark: what Spark must be asked for is in
`tests/spark/test_wrong_columns.py`.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pandas as pd
import pytest

import muntin
from muntin import Aggregate, hopping, progress, rows, triggers, tumbling, windows
from muntin.errors import MuntinError, ParameterError
from muntin.triggers import after_count
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
)
from muntin_engine.plan import plan_module
from tests.plan.plans import plan_of, planned


class Frame:
    """Stands for a DataFrame that nobody asks anything."""

    isStreaming = True


class Smooth(Aggregate[float, float]):
    name, version = "show.smooth", "1.0.0"

    def __init__(self, alpha: float, label: str = "", steps: int | None = None) -> None:
        self.alpha = alpha

    def compute_result(self, payloads: Any) -> float:
        return 0.0


class Spread(Aggregate[float, float]):
    name, version = "show.spread", "1.0.0"

    def compute_result(self, payloads: Any) -> float:
        return 0.0


class Nameless(Aggregate[float, float]):
    def compute_result(self, payloads: Any) -> float:
        return 0.0


class Numbered(Spread):
    version = 1  # type: ignore[assignment]  # that is the point


class Windowed(Aggregate[float, float]):
    name, version = "show.windowed", "1.0.0"

    def compute_result(self, payloads: Any, window: Any) -> float:
        return 0.0


class Misspelt(Aggregate[float, float]):
    name, version = "show.misspelt", "1.0.0"

    def computeReslt(self, payloads: Any) -> float:
        return 0.0


class Session:
    """Stands for a session that nobody asks anything."""

    readStream = udf = None


DF = cast(Any, Frame())
NAMES: dict[str, Any] = {
    **{name: getattr(room, name) for room in (muntin, progress, rows, triggers, windows) for name in room.__all__},
    "DF": DF,
    "ChangelogTable": ChangelogTable,
    "Nameless": Nameless,
    "Misspelt": Misspelt,
    "Numbered": Numbered,
    "ParquetFolder": ParquetFolder,
    "Smooth": Smooth,
    "Spread": Spread,
    "Windowed": Windowed,
    "after_count": after_count,
    "batch_metrics": batch_metrics,
    "events": events,
    "module": module,
    "monitor": monitor,
    "pandas_df": pd.DataFrame({"t": [1]}),
    "stream": events(DF, at="t"),
    "windowed": events(DF, at="t").window(tumbling(10)),
    "count": "stats.count",
    "functions": functions,
    "ship": ship,
    "query": Query((cast(Any, SimpleNamespace(df=DF)),), plan_of()),
    "spark": Session(),
}

CALLS = (
    # join
    ("stream.join(stream, on='km > most')", "on='km > most' is no condition", "equal columns are keys", "left='km'"),
    ("stream.join(stream, same_window=session(5))", "same_window(session(5))", "are on no grid", "hopping(...)"),
    ("stream.join(stream, same_window=hopping(5, 9))", "these windows have gaps"),
    ("stream.join(stream, same_window=5)", "5"),
    ("stream.join(stream, 'clip', same_window=tumbling(5))", "how='clip' goes by the starts", "leave one out"),
    # events
    ("events(pandas_df, at='t')", "got a DataFrame of pandas", "events(spark.createDataFrame(df), ...)"),
    ("events(None, at='t')", "events() reads a DataFrame of Spark's, got None", "spark.readStream"),
    ("events('trips', at='t')", "got 'trips'", "spark.table"),
    ("events(DF)", "either start (with end) or at"),
    ("events(DF, at=1)", "at=1 is no column", "F.lit(1)"),
    ("events(DF, at=['t'])", "at=['t'] is no column", "one by one"),
    ("events(DF, at='')", "at='' names no column"),
    ("events(DF, at='t', key=1)", "key=1 is no column"),
    ("events(DF, at='t', key=['a', None])", "key=None is no column", "leave out"),
    ("events(DF, at='t', key={'a'})", "key={'a'} is no column", "one by one"),
    ("events(DF, at='t', key='*')", "key='*' names several columns"),
    ("events(DF, at='t', id=['a', 'b'])", "id=['a', 'b'] is no column"),
    ("events(DF, at='t', edge='yes')", "edge is True or False, got 'yes'"),
    ("events(DF, at='t', delay='-10 minutes')", "at least 0", "'-10 minutes'"),
    ("events(DF, at='t', delay=1.5)", "1.5 is not a duration"),
    (
        "events(DF, at='t', progress='10 minutes')",
        "'10 minutes' is not a progress policy",
        "bounded_delay('10 minutes')",
    ),
    ("events(DF, at='t', progress=bounded_delay)", "progress=bounded_delay is not", "bounded_delay('10 minutes')"),
    ("events(DF, at='t', late='1 hour')", "'1 hour' is not a LatePolicy", "late=correct('1 hour')"),
    ("events(DF, at='t', late=correct)", "late=correct('1 hour')"),
    ("events(DF, at='t', late='correct')", "does not say for how long", "late=correct('1 hour')"),
    ("events(DF, at='t', late=None)", "there are 'side', 'drop', 'adjust'"),
    ("events(DF, at='t', buckets='4')", "1 to 256 buckets, got '4'"),
    ("events(DF, at='t', buckets=2.5)", "buckets, got 2.5"),
    ("events(DF, at='t', source='s', sources='north')", "sources='north' is one text", "sources=['north']"),
    ("stream.with_heartbeat(pandas_df, at='t')", "with_heartbeat() reads a DataFrame of Spark's"),
    ("stream.shedding(most_held=0)", "a whole number above zero, got 0", "shedding(most_held=100_000)"),
    ("stream.shedding(most_held='many')", "a whole number above zero, got 'many'"),
    (
        "stream.shedding(most_held=9, when_full='emit')",
        "says nothing of a key that is full",
        "early(every_count(1000))",
    ),
    ("stream.with_heartbeat(DF, at=3)", "at=3 is no column"),
    ("ParquetFolder(None)", "path=None is no path", "text or a pathlib.Path"),
    ("ChangelogTable(None)", "path=None is no path", "text or a pathlib.Path"),
    ("ChangelogTable(3, key='k')", "path=3 is no path"),
    ("ChangelogTable('table', key=5)", "key=5 names no columns", "a list of names"),
    ("ChangelogTable('table', key=['a', None])", "names no columns"),
    ("stream.with_clock(every=10)", "every=10 has no unit", "every='10 seconds'"),
    ("stream.with_clock('10 seconds')", "with_clock(every='10 seconds')"),
    # windows
    ("stream.window('10 minutes')", "is not a window specification", "tumbling('10 minutes')"),
    ("stream.window('session')", "'session' is not a window specification", "tumbling('10 minutes')"),
    ("stream.window(tumbling)", "tumbling is not a window specification", "tumbling('10 minutes')"),
    ("stream.window(600)", "600 is not a window specification"),
    ("stream.windows(tumbling(10))", "each with a name", "windows(day=tumbling('1 day'))"),
    ("stream.windows(day='1 day')", "day='1 day' is not a window", "day=tumbling('1 day')"),
    ("stream.windows()", "windows(day=tumbling('1 day'))"),
    ("stream.window(tumbling(10), clip='Full')", "there are 'none', 'left', 'right', 'full'", "did you mean 'full'?"),
    ("stream.window(tumbling(10), timestamps='aligned')", "did you mean 'align'?"),
    ("stream.window(tumbling(10), emit='append')", "is not an EmitPolicy", "'final', 'speculative', 'eager'"),
    ("stream.window(tumbling(10), emit='append')", "is emit='final', the default"),
    ("stream.window(tumbling(10), emit='Update')", "emit=early(every_count(1))", "emit='eager'"),
    ("stream.window(tumbling(10), emit='complete')", "emit='eager', written into a ChangelogTable"),
    ("stream.window(tumbling(10), emit='early')", "emit=early(every='1 minute')"),
    ("stream.window(tumbling(10), emit=early)", "early is not an EmitPolicy", "emit=early(every='1 minute')"),
    ("stream.window(tumbling(10), evaluator=None)", "is not an evaluator; there are 'auto'"),
    ("tumbling('-10 minutes')", "above zero, got '-10 minutes'"),
    ("tumbling('10')", "'10' is not a duration", "'10 minutes'"),
    ("tumbling('1 month')", "no fixed length"),
    ("tumbling(1.5)", "it is a float"),
    ("tumbling(None)", "it is a NoneType"),
    ("hopping('1 hour', 0)", "above zero"),
    ("hopping('1 hour', '10 minutes', reach='-1 hour')", "cannot be negative"),
    ("count_by_start('3')", "a whole number above zero, got '3'"),
    ("count_by_start(2.5)", "got 2.5"),
    ("count_by_start(True)", "got True"),
    ("early('1 minute')", "a period goes by name: early(every='1 minute')"),
    ("early()", "early(every='1 minute')"),
    ("early(every='-1 minute')", "above zero, got '-1 minute'"),
    ("early(every=0)", "above zero, got 0"),
    ("early(every='1 minute', refinement='retracts')", "did you mean 'retract'?"),
    ("after_count('3')", "one member or more, got '3'"),
    ("correct('-1 hour')", "late='side'"),
    ("bounded_disorder('3')", "a whole number from 0", "bounded_delay('10 minutes')"),
    ("punctuate_every(rows='3')", "rows='3'", "punctuate_every(rows=1000)"),
    # modules
    ("module(Spread())", "got an instance of Spread", "module(Spread, 'column', parameter=value)"),
    ("module(int)", "int is not a module class", "'stats.average'"),
    ("module(None)", "None is not a module class"),
    ("module(len)", "is not a module class"),
    ("module(Nameless, 'v')", "Nameless has no name", "name = '<plugin>.<module>'"),
    ("module(Numbered, 'v')", "show.spread has the version 1, which is no text", "version = '1.0.0'"),
    ("module(Windowed, 'v')", "compute_result(payloads, window) is called with (payloads)", "is_time_sensitive = True"),
    ("module(Aggregate)", "Aggregate has no name"),
    (
        "module(Misspelt)",
        "show.misspelt does not define compute_result",
        "it defines computeReslt, which nothing calls; did you mean compute_result?",
    ),
    ("module('stats.averge')", "no module is named 'stats.averge'", "did you mean 'stats.average'"),
    ("module(Spread, 'o.*')", "'o.*' names several columns", "'a.b'"),
    ("module(Spread, ['a', 'b'])", "columns one by one, got ['a', 'b']", "module(..., 'a', 'b')"),
    ("module(Smooth, 'v', 0.5)", "parameters by name, got 0.5", "write alpha=0.5, or F.lit(0.5)"),
    ("module(Spread, None)", "column=None is no column"),
    # aggregate and apply
    (
        "windowed.aggregate(m=Spread)",
        "Spread is not a module with its columns",
        "aggregate(m=module(Spread, 'column'))",
    ),
    ("windowed.aggregate(m=Spread())", "aggregate(m=module(Spread, 'column'))"),
    ("windowed.aggregate(m='stats.count')", "aggregate(m=module('stats.count', 'column'))"),
    ("windowed.aggregate(m=None)", "None is not a module", "aggregate(m=module('stats.average', 'column'))"),
    ("windowed.aggregate(module(count))", "each with the name of its result", "aggregate(n=module('stats.count'))"),
    ("windowed.aggregate({'m': module(count)})", "aggregate(n=module('stats.count'))"),
    ("windowed.aggregate()", "aggregate(n=module('stats.count'))"),
    ("windowed.aggregate(m=module('stats.top_k', 'v', k=3))", "use .apply(module('stats.top_k', ...))"),
    ("windowed.apply('stats.top_k')", "apply(module('stats.top_k', 'column'))"),
    ("windowed.apply(Spread)", "apply(module(Spread, 'column'))"),
    ("windowed.apply(module(Spread, 'v'))", "use .aggregate(name=module('show.spread', ...))"),
    # functions
    ("functions(stream, 'stats.clamp')", "functions() needs a session first", "functions(spark, ...)"),
    ("functions('stats.clamp')", "functions() needs a session first, got 'stats.clamp'"),
    ("functions(spark, ['stats.clamp'])", "names one by one", "functions(spark, 'stats.clamp')"),
    ("functions(spark, len)", "has no name in SQL", "@muntin.function('<plugin>.<function>', version='1.0.0')"),
    ("ship('stats')", "ship() needs a session first, got 'stats'", "ship(spark, 'stats')"),
    ("ship(spark, 1)", "'1' cannot be shipped: it is neither a name nor a path"),
    # what runs
    ("query.write(checkpoint=None, results='r')", "checkpoint=None is no path"),
    ("query.write(checkpoint='c', results='r', name=5)", "name is a name, got 5"),
    ("query.write(checkpoint='c', results='r', trigger='availableNow')", "trigger='available_now'"),
    ("query.write(checkpoint='c', results='r', trigger='once')", "trigger='available_now'"),
    ("query.write(checkpoint='c', results='r', trigger=10)", "trigger=10 has no unit", "trigger='10 seconds'"),
    ("query.write(checkpoint='c', results='r', trigger={'availableNow': True})", "has no unit"),
    ("query.write(checkpoint='c', results='r', trigger='-5 seconds')", "is negative"),
    ("query.write(checkpoint='c', results='r', trigger='often')", "'often' is not a duration"),
    ("query.named('')", "metrics_name is a name, got ''"),
    ("query.results(True)", "watermark is a name, got True"),
    ("monitor(None)", "monitor() watches a streaming query, got NoneType", "query.write(...)"),
    ("monitor(stream)", "got EventStream", "query.write(...)"),
)
"""Calls as text, each with what the error must say."""


@pytest.mark.parametrize(("call", "said"), [(call, said) for call, *said in CALLS], ids=[call for call, *_ in CALLS])
def test_a_wrong_call_is_refused_with_one_that_works(call: str, said: list[str]) -> None:
    with pytest.raises(MuntinError) as refused:
        eval(call, dict(NAMES))
    missing = [part for part in said if part not in str(refused.value)]
    assert not missing, f"{refused.value}\ndoes not say {missing}"
    assert " at 0x" not in str(refused.value)


@pytest.mark.parametrize(
    ("parameters", "said"),
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
def test_a_parameter_of_another_type_is_refused_where_the_query_is_built(parameters: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError) as refused:
        plan_module("m", Smooth, parameters, [muntin.schemas.describe(float, "v")], lambda place, _: place)
    assert said in str(refused.value)


@pytest.mark.parametrize("parameters", [{"alpha": 1}, {"alpha": 0.5, "steps": None}, {"alpha": 2.0, "steps": 3}])
def test_parameters_of_the_types_that_are_said_are_taken(parameters: dict[str, Any]) -> None:
    assert planned(Smooth, **parameters).parameters == parameters


@pytest.mark.parametrize(
    ("call", "name", "instead"),
    [
        ("stream.aggregate(n=1)", "aggregate", "choose windows first: .window(tumbling('10 minutes')).aggregate(...)"),
        ("stream.withWatermark('t', '1 hour')", "withWatermark", "events(df, delay='10 minutes', ...)"),
        ("windowed.writeStream", "writeStream", "say what to compute first: .aggregate(n=module('stats.count'))"),
        (
            "query.writeStream",
            "writeStream",
            "query.write(checkpoint=..., results=...), or with query.results().writeStr",
        ),
        ("query.toPandas()", "toPandas", "query.results().toPandas"),
    ],
)
def test_an_attribute_of_sparks_is_missing_with_a_note_of_ours(call: str, name: str, instead: str) -> None:
    with pytest.raises(AttributeError, match=f"object has no attribute '{name}'") as missing:
        eval(call, dict(NAMES))
    (note,) = missing.value.__notes__
    assert instead in note


@pytest.mark.parametrize(
    ("call", "meant"),
    [
        ("query.rseults()", "did you mean .results?"),
        ("stream.windw(tumbling(10))", "did you mean .window?"),
        ("windowed.agregate()", "did you mean .aggregate?"),
    ],
)
def test_a_misspelt_method_is_missing_with_a_note_on_the_one_meant(call: str, meant: str) -> None:
    with pytest.raises(AttributeError) as missing:
        eval(call, dict(NAMES))
    assert missing.value.__notes__ == [meant]


@pytest.mark.parametrize("name", ["_rseults", "nothing_like_it"])
def test_any_other_attribute_is_missing_as_in_python(name: str) -> None:
    with pytest.raises(AttributeError) as missing:
        getattr(NAMES["query"], name)
    assert not hasattr(missing.value, "__notes__")
    assert (missing.value.name, missing.value.obj) == (name, NAMES["query"])


def test_no_key_is_no_key_however_it_is_said() -> None:
    assert events(DF, at="t", key=None).keys == events(DF, at="t", key=[]).keys == events(DF, at="t").keys == ()


def test_an_offset_goes_either_way() -> None:
    assert hopping("1 hour", "10 minutes", offset="-2 hours").offset == -7_200_000_000
    assert tumbling("1 hour", "-15 minutes").offset == -900_000_000


def test_a_query_that_has_not_reported_yet_has_no_numbers() -> None:
    assert batch_metrics(None) == {}
