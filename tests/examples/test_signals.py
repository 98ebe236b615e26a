"""The modules of the signals example obey their laws, and its queries and modules say what plain arithmetic says."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from inspect import getsource
from itertools import pairwise
from math import inf, isfinite, nan, pi
from statistics import fmean
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import examples.signals
from examples.signals import (
    Averages,
    Beat,
    CrestFactor,
    Crossings,
    HeartBeats,
    Interpolation,
    Kurtosis,
    RelativeStrength,
    RootMeanSquare,
    questions,
)
from muntin import Aggregate, Event, Module, tumbling
from muntin.testing import Computation, Outcome, Script, WindowedQuery, evaluate, try_laws
from muntin_engine import EventStream, Query, events
from tests.docs.pages import DOCS, blocks

QUESTIONS = ("trend", "strength", "normalised", "imputed", "resampled", "beats", "vibration", "unusual")
"""The functions of `questions`, in the order of the page."""

PAGE = DOCS / "how-to/signals-and-payments.md"
SECOND = 1_000_000
FILES = [name for _, name, _ in pkgutil.iter_modules(examples.signals.__path__, "examples.signals.")]
LEVELS = st.sampled_from([0.0, 1.5, -8.25, 3.0, inf, nan, None])


LAWFUL: dict[Module, Any] = {
    CrestFactor(): LEVELS,
    Crossings(): st.builds(Averages, st.sampled_from([1.0, 2.0, 3.0, nan]), st.just(2.0)),
    HeartBeats(rate=50): st.sampled_from([0.0, 1.0, 9.0]),
    Interpolation(step=3): LEVELS,
    Kurtosis(): st.none() | st.sampled_from([0.0, 1.5, -8.25, 3.0, nan]),
    RelativeStrength(): LEVELS,
    RootMeanSquare(): LEVELS,
}


@pytest.mark.parametrize(("module", "payloads"), LAWFUL.items(), ids=lambda value: getattr(value, "name", ""))
def test_a_module_keeps_all_laws(module: Module, payloads: Any) -> None:
    tolerance = {"tolerance": 1e-9} if isinstance(module, Kurtosis) else {}
    verdicts = list(try_laws(module, payloads=payloads, **tolerance))
    assert [str(verdict) for verdict in verdicts if verdict.outcome in (Outcome.BROKEN, Outcome.UNTRIED)] == []
    assert len(verdicts) > 5


@pytest.mark.parametrize("name", FILES)
def test_the_examples_in_the_docstrings_run(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_the_page_shows_the_queries_as_they_are() -> None:
    texts = [block.text for block in blocks(PAGE) if block.is_not_run]
    shown = [text.removeprefix("import muntin_stats as stats\n\n\n") for text in texts]
    functions = [getattr(questions, question) for question in QUESTIONS]
    assert shown == [re.sub(r' +""".*?"""\n', "", getsource(function), flags=re.DOTALL) for function in functions]


def result(module: Aggregate[float | None, float | None], payloads: list[float | None]) -> float | None:
    """Return the result of a module for a window, whose members come one by one."""
    script = Script()
    for place, payload in enumerate(payloads):
        script = script.point(place, place, payload)
    (row,) = script.close().run(WindowedQuery(tumbling(len(payloads)), [Computation(module)]))[None]
    value: float | None = row.value[0]
    return value


def test_a_sine_and_a_square_wave_have_the_figures_that_the_books_give() -> None:
    turn = np.arange(100) * 2 * pi / 100
    sine = (np.sin(turn) * 3).tolist()
    square = np.where(turn < pi, 2.0, -2.0).tolist()
    modules: list[Any] = [Kurtosis(), RootMeanSquare(), CrestFactor()]
    assert [result(module, sine) for module in modules] == pytest.approx([1.5, 3 / 2**0.5, 2**0.5])
    assert [result(module, square) for module in modules] == pytest.approx([1, 2, 1])


@pytest.mark.parametrize("centre", [0.0, -3e7])
def test_kurtosis_is_that_of_the_definition_also_far_from_zero_and_in_pieces(centre: float) -> None:
    values = np.random.default_rng(7).gamma(1.5, size=500) + centre
    away = values - values.mean()
    expected = (away**4).mean() / (away**2).mean() ** 2
    kurtosis = Kurtosis()
    cuts = (0, 1, 3, 200, 201, 500)
    state = kurtosis.create_state()
    for first, stop in pairwise(cuts):
        part = kurtosis.add_events(kurtosis.create_state(), values[first:stop].tolist())
        state = kurtosis.combine(state, part)
    assert expected > 4
    assert kurtosis.compute_result(state) == pytest.approx(expected, rel=1e-7 if centre else 1e-12)


def test_each_beat_of_a_noisy_heart_is_found_once() -> None:
    """A QRS complex goes down, far up and down within 80 ms; a slow T wave as high as a third follows it."""
    random = np.random.default_rng(11)
    at = np.arange(6_000)
    starts = np.cumsum(random.integers(130, 210, 34))
    heart = random.normal(scale=0.05, size=len(at)) + 0.3 * np.sin(at / 300)
    for start in starts.tolist():
        heart += 1.2 * np.exp(-(((at - start) / 3) ** 2)) - 0.3 * np.exp(-(((at - start - 7) / 3) ** 2))
        heart += 0.4 * np.exp(-(((at - start - 60) / 14) ** 2))
    events = [Event.point(time, value) for time, value in enumerate(heart.tolist())]
    beats = [row.value.at for row in evaluate(WindowedQuery.unwindowed(HeartBeats(rate=200)), events)]
    expected = [start for start in starts.tolist() if 400 <= start < 5_900]
    assert len(expected) > 25
    late = np.array(beats[-len(expected) :]) - expected
    assert len(beats) - len(expected) in (0, 1), "one that began before the first two seconds ended may be told"
    assert late.min() > 10
    assert late.max() < 50


def test_a_heart_beats_on_after_samples_that_are_no_numbers() -> None:
    pulses = [1.0 if at % 160 in (80, 81) else 0.001 * (at % 3) for at in range(1_400)]

    def beats_with(spoilt: dict[int, float]) -> list[Beat]:
        events = [Event.point(at, spoilt.get(at, value)) for at, value in enumerate(pulses)]
        return [row.value for row in evaluate(WindowedQuery.unwindowed(HeartBeats()), events)]

    usual = [beat.at for beat in beats_with({})]
    assert len(usual) == 7
    for odd in (nan, inf):
        beats = beats_with({100: odd, 900: -odd})
        assert [beat.at for beat in beats if not 899 <= beat.at <= 1_000] == [at for at in usual if at != 911]
        assert all(isfinite(beat.energy) for beat in beats)


@pytest.fixture(scope="module")
def readings() -> pa.Table:
    """A reading a second of one key, each up to two seconds late."""
    random = np.random.default_rng(1)
    at = 1_700_000_000_000_000 + np.arange(1_000) * SECOND
    order = np.argsort(at + random.integers(0, 2 * SECOND, len(at)))
    times = pa.array(at[order], pa.timestamp("us", "UTC"))
    return pa.table({"key": np.zeros(len(at), np.int64), "at": times, "value": random.normal(100, 15, len(at))})


@pytest.fixture(scope="module")
def stream(spark: SparkSession, readings: pa.Table) -> EventStream:
    return events(spark.createDataFrame(readings), key="key", at="at", buckets=2)


def evaluators_of(query: Query) -> list[str]:
    return [line.split()[1].rstrip(":") for line in query.plan_text().splitlines() if line.startswith("evaluator ")]


def test_each_question_has_the_evaluators_that_the_page_says(stream: EventStream) -> None:
    rows = [line.strip("| ").split(" | ") for line in PAGE.read_text(encoding="utf-8").splitlines() if "| [" in line]
    named_evaluators = [row[-1].replace("event by event", "event_by_event") for row in rows]
    evaluators = {name: evaluators_of(getattr(questions, name)(stream)) for name in QUESTIONS}
    assert [", ".join(dict.fromkeys(names)) for names in evaluators.values()] == named_evaluators
    assert evaluators["trend"] == ["columnar", "columnar", "pairing", "event_by_event"]


def test_the_trend_that_a_chain_of_four_queries_finds_is_that_of_plain_arithmetic(
    stream: EventStream, readings: pa.Table
) -> None:
    crossings = questions.trend(stream).results()
    results = sorted(crossings.selectExpr("unix_micros(lifetime.start)", "short - long").collect())

    in_order = readings.sort_by("at")
    at = in_order["at"].cast(pa.int64()).to_pylist()
    value = in_order["value"].to_pylist()
    expected = []
    was_above = True  # the first reading crosses nothing
    for place, time in enumerate(at, 1):
        short = fmean(value[max(0, place - 20) : place])
        long = fmean(value[max(0, place - 50) : place])
        if short > long and not was_above:
            expected.append((time + SECOND, short - long))
        was_above = short > long

    of_whole_windows = [tuple(row) for row in results if row[0] <= at[-1] + SECOND]  # at the end windows run empty
    assert [time for time, _ in of_whole_windows] == [time for time, _ in expected]
    assert [gap for _, gap in of_whole_windows] == pytest.approx([gap for _, gap in expected], rel=1e-9)
    assert len(expected) > 20
