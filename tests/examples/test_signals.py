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
from muntin import Event, Module, tumbling
from muntin.testing import Computation, Script, WindowedQuery, evaluate
from muntin_engine import EventStream, Query, events
from tests.docs.pages import DOCS, blocks
from tests.plugins.forms import broken_laws

QUESTIONS = ("trend", "strength", "normalised", "imputed", "resampled", "beats", "vibration", "unusual")
"""The functions of `questions`, in the order of the page."""

PAGE = DOCS / "how-to/signals-and-payments.md"
SECOND = 1_000_000
FILES = [name for _, name, _ in pkgutil.iter_modules(examples.signals.__path__, "examples.signals.")]
LEVELS = st.sampled_from([0.0, 1.5, -8.25, 3.0, inf, nan, None])
"""Few enough that levels are equal now and then, and what is no number."""

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
def test_a_module_of_the_example_keeps_all_laws(module: Module, payloads: Any) -> None:
    options: dict[str, Any] = {}
    if isinstance(module, Kurtosis):
        options["tolerance"] = 1e-9  # its states round
    assert broken_laws(module, payloads=payloads, **options) == []


@pytest.mark.parametrize("name", FILES)
def test_the_examples_in_the_docstrings_run(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_the_page_shows_the_queries_as_they_are() -> None:
    texts = [block.text for block in blocks(PAGE) if block.is_not_run]
    queries_of_page = [text.removeprefix("import muntin_stats as stats\n\n\n") for text in texts]

    queries = []
    for question in QUESTIONS:
        source = getsource(getattr(questions, question))
        without_docstring = re.sub(r' +""".*?"""\n', "", source, flags=re.DOTALL)
        queries.append(without_docstring)
    assert queries_of_page == queries


def result(module: Module, payloads: list[float | None]) -> float | None:
    """Return the result of a module for a window, whose members come one by one."""
    script = Script()
    for place, payload in enumerate(payloads):
        script = script.point(place, place, payload)
    (row,) = script.close().run(WindowedQuery(tumbling(len(payloads)), [Computation(module)]))[None]
    value: float | None = row.value[0]
    return value


def test_a_sine_and_a_square_wave_have_the_figures_that_the_books_give() -> None:
    turn = np.arange(100) * 2 * pi / 100
    sine_up_to_3 = (np.sin(turn) * 3).tolist()
    assert result(Kurtosis(), sine_up_to_3) == pytest.approx(1.5)
    assert result(RootMeanSquare(), sine_up_to_3) == pytest.approx(3 / 2**0.5)
    assert result(CrestFactor(), sine_up_to_3) == pytest.approx(2**0.5)

    square_up_to_2 = np.where(turn < pi, 2.0, -2.0).tolist()
    assert result(Kurtosis(), square_up_to_2) == pytest.approx(1)
    assert result(RootMeanSquare(), square_up_to_2) == pytest.approx(2)
    assert result(CrestFactor(), square_up_to_2) == pytest.approx(1)


@pytest.mark.parametrize("centre", [0.0, -3e7])
def test_kurtosis_is_that_of_the_definition_also_far_from_zero_and_in_pieces(centre: float) -> None:
    values = np.random.default_rng(7).gamma(1.5, size=500) + centre

    kurtosis = Kurtosis()
    state = kurtosis.create_state()
    for first, stop in pairwise((0, 1, 3, 200, 201, 500)):  # pieces of one value, and of many
        part = kurtosis.add_events(kurtosis.create_state(), values[first:stop].tolist())
        state = kurtosis.combine(state, part)

    deviations = values - values.mean()
    expected = (deviations**4).mean() / (deviations**2).mean() ** 2
    assert expected > 4, "far from that of a normal distribution"
    assert kurtosis.compute_result(state) == pytest.approx(expected, rel=1e-7 if centre else 1e-12)


@pytest.mark.parametrize("unit", [1e-300, 1e-160, 1e-90, 1e-81, 1e90, 1e300])
def test_kurtosis_is_the_same_in_every_unit(unit: float) -> None:
    """The fourth powers of most of these distances are no floats, and some of the squares are none."""
    values = np.random.default_rng(7).gamma(1.5, size=100)
    expected = result(Kurtosis(), values.tolist())
    assert result(Kurtosis(), (values * unit).tolist()) == pytest.approx(expected, rel=1e-12)


def test_kurtosis_of_distances_beyond_the_largest_float_is_nan() -> None:
    kurtosis = result(Kurtosis(), [1.7e308, -1.7e308, 0.0])
    assert kurtosis is not None
    assert np.isnan(kurtosis)


RATE = 200
"""Samples per second of the signal of a heart."""


def wave(at: Any, centre: int, width: int) -> Any:
    """Return a bump of height 1 around a time, over an array of times."""
    return np.exp(-(((at - centre) / width) ** 2))


def test_each_beat_of_a_noisy_heart_is_found_once() -> None:
    """A QRS complex goes far up and down within 80 ms; a slow T wave as high as a third follows it."""
    random = np.random.default_rng(11)
    at = np.arange(30 * RATE)
    starts = np.cumsum(random.integers(130, 210, 34))
    noise = random.normal(scale=0.05, size=len(at))
    drift = 0.3 * np.sin(at / 300)
    heart = noise + drift
    for start in starts.tolist():
        heart += 1.2 * wave(at, start, 3) - 0.3 * wave(at, start + 7, 3)
        heart += 0.4 * wave(at, start + 60, 14)

    events = [Event.point(time, value) for time, value in enumerate(heart.tolist())]
    beats = [row.value.at for row in evaluate(WindowedQuery.unwindowed(HeartBeats(rate=RATE)), events)]

    # The module learns for two seconds; a beat in the last half of a second may be found after the end.
    expected = [start for start in starts.tolist() if 2 * RATE <= start < 29.5 * RATE]
    assert len(expected) > 25
    assert len(beats) - len(expected) in (0, 1), "one that began in the first two seconds may be among them"
    delays = np.array(beats[-len(expected) :]) - expected
    assert delays.min() > 10
    assert delays.max() < 50


def test_a_heart_beats_on_after_samples_that_are_no_numbers() -> None:
    # a pulse every 160 samples
    pulses = [1.0 if at % 160 in (80, 81) else 0.001 * (at % 3) for at in range(1_400)]

    def beats_with(replaced_samples: dict[int, float]) -> list[Beat]:
        """Return the beats of the pulses, of which some samples, by their times, have other values."""
        events = [Event.point(at, replaced_samples.get(at, value)) for at, value in enumerate(pulses)]
        return [row.value for row in evaluate(WindowedQuery.unwindowed(HeartBeats()), events)]

    usual_times = [beat.at for beat in beats_with({})]
    assert len(usual_times) == 7
    for no_number in (nan, inf):
        beats = beats_with({100: no_number, 900: -no_number})
        # around the sample at 900 a beat may be found or not; all others are the usual ones
        times_elsewhere = [beat.at for beat in beats if not 899 <= beat.at <= 1_000]
        assert times_elsewhere == [at for at in usual_times if not 899 <= at <= 1_000]
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
    """The readings as events."""
    return events(spark.createDataFrame(readings), key="key", at="at", buckets=2)


def evaluators_of(query: Query) -> list[str]:
    """Return the evaluator of each query of a chain, by their plans as text."""
    evaluators: list[str] = []
    for line in query.plan_text().splitlines():
        if line.startswith("evaluator "):
            evaluators.append(line.split()[1].rstrip(":"))
    return evaluators


def test_each_question_has_the_evaluators_that_the_page_says(stream: EventStream) -> None:
    last_cells = []  # of the table of questions
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if "| [" in line:
            last_cells.append(line.strip("| ").split(" | ")[-1].replace("event by event", "event_by_event"))

    for question, cell in zip(QUESTIONS, last_cells, strict=True):
        evaluators = evaluators_of(getattr(questions, question)(stream))
        assert ", ".join(dict.fromkeys(evaluators)) == cell, question


def test_the_trend_is_found_by_a_chain_of_four_queries(stream: EventStream) -> None:
    assert evaluators_of(questions.trend(stream)) == ["columnar", "columnar", "pairing", "event_by_event"]


def test_the_trend_that_a_chain_of_four_queries_finds_is_that_of_plain_arithmetic(
    stream: EventStream, readings: pa.Table
) -> None:
    crossings = questions.trend(stream).results()
    results = sorted(crossings.selectExpr("unix_micros(lifetime.start)", "short - long").collect())

    # Where the average of 20 readings rises above that of 50, and by how much.
    in_order = readings.sort_by("at")
    times = in_order["at"].cast(pa.int64()).to_pylist()
    values = in_order["value"].to_pylist()
    expected_times = []
    expected_differences = []
    was_above = True  # the first reading crosses nothing
    for count, time in enumerate(times, 1):
        short = fmean(values[max(0, count - 20) : count])
        long = fmean(values[max(0, count - 50) : count])
        if short > long and not was_above:
            expected_times.append(time + SECOND)
            expected_differences.append(short - long)
        was_above = short > long

    end_of_readings = times[-1] + SECOND  # later windows run empty
    results = [(start, difference) for start, difference in results if start <= end_of_readings]
    assert [start for start, _ in results] == expected_times
    assert [difference for _, difference in results] == pytest.approx(expected_differences, rel=1e-9)
    assert len(expected_times) > 20
