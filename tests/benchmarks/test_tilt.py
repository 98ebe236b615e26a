"""The modules of TiLT's applications obey their laws, and say what NumPy and plain arithmetic say."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from inspect import getsource
from itertools import pairwise
from math import inf, isfinite, nan, pi
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import benchmarks.tilt
from benchmarks.checking import closed, compare, expected_answers
from benchmarks.data import MICROSECONDS, Data, write_data
from benchmarks.question import Question
from benchmarks.systems.in_pandas import InPandas
from benchmarks.systems.tilt_in_process import TiltInProcess
from benchmarks.tilt import (
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
from benchmarks.windows import ANSWERS, Tilt
from benchmarks.windows.tilt import APPLICATIONS, Application
from benchmarks.windows.windows import Rows
from muntin import Aggregate, Event, Module, tumbling
from muntin.testing import Computation, Outcome, Script, WindowedQuery, evaluate, try_laws
from tests.docs.pages import DOCS, blocks

FILES = [name for _, name, _ in pkgutil.iter_modules(benchmarks.tilt.__path__, "benchmarks.tilt.")]
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
    assert [str(one) for one in verdicts if one.outcome in (Outcome.BROKEN, Outcome.UNTRIED)] == []
    assert len(verdicts) > 5


@pytest.mark.parametrize("name", FILES)
def test_the_examples_in_the_docstrings_run(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_the_page_shows_the_queries_as_they_are() -> None:
    texts = [block.text for block in blocks(DOCS / "how-to/signals-and-payments.md") if block.is_not_run]
    shown = [text.removeprefix("import muntin_stats as stats\n\n\n") for text in texts]
    functions = [getattr(questions, application) for application in APPLICATIONS]
    assert shown == [re.sub(r' +""".*?"""\n', "", getsource(function), flags=re.DOTALL) for function in functions]


def result(module: Aggregate[float | None, float | None], payloads: list[float | None]) -> float | None:
    """Return what a module says of a window; its members come one by one."""
    script = Script()
    for place, payload in enumerate(payloads):
        script = script.point(place, place, payload)
    (row,) = script.close().run(WindowedQuery(tumbling(len(payloads)), [Computation(module)]))[None]
    value: float | None = row.value[0]
    return value


def test_a_sine_and_a_square_wave_have_the_figures_that_the_books_give() -> None:
    turn = np.arange(100) * 2 * pi / 100
    shapes = {"sine": np.sin(turn) * 3, "square": np.where(turn < pi, 2.0, -2.0)}
    figures = {
        name: [result(module, wave.tolist()) for module in (Kurtosis(), RootMeanSquare(), CrestFactor())]  # type: ignore[arg-type]  # a columnar aggregate is one too
        for name, wave in shapes.items()
    }
    assert figures["sine"] == pytest.approx([1.5, 3 / 2**0.5, 2**0.5])
    assert figures["square"] == pytest.approx([1, 2, 1])


@pytest.mark.parametrize("centre", [0.0, -3e7])
def test_kurtosis_is_that_of_the_definition_also_far_from_zero_and_in_pieces(centre: float) -> None:
    values = np.random.default_rng(7).gamma(1.5, size=500) + centre
    away = values - values.mean()
    expected = (away**4).mean() / (away**2).mean() ** 2
    kurtosis, cuts = Kurtosis(), (0, 1, 3, 200, 201, 500)
    state = kurtosis.create_state()
    for first, stop in pairwise(cuts):
        part = kurtosis.add_events(kurtosis.create_state(), values[first:stop].tolist())
        state = kurtosis.combine(state, part)
    assert expected > 4
    assert kurtosis.compute_result(state) == pytest.approx(expected, rel=1e-7 if centre else 1e-12)


def test_each_beat_of_a_noisy_heart_is_found_once() -> None:
    """A QRS complex goes down, far up and down within 80 ms; a slow T wave as high as a third follows it."""
    random = np.random.default_rng(11)
    at, starts = np.arange(6_000), np.cumsum(random.integers(130, 210, 34))
    heart = random.normal(scale=0.05, size=len(at)) + 0.3 * np.sin(at / 300)
    for start in starts.tolist():
        heart += 1.2 * np.exp(-(((at - start) / 3) ** 2)) - 0.3 * np.exp(-(((at - start - 7) / 3) ** 2))
        heart += 0.4 * np.exp(-(((at - start - 60) / 14) ** 2))
    events = [Event.point(time, value) for time, value in enumerate(heart.tolist())]
    found = [row.value.at for row in evaluate(WindowedQuery.unwindowed(HeartBeats(rate=200)), events)]
    expected = [start for start in starts.tolist() if 400 <= start < 5_900]
    assert len(expected) > 25
    late = np.array(found[-len(expected) :]) - expected
    assert len(found) - len(expected) in (0, 1), "one that began before the first two seconds ended may be told"
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
        found = beats_with({100: odd, 900: -odd})
        assert [beat.at for beat in found if not 899 <= beat.at <= 1_000] == [at for at in usual if at != 911]
        assert all(isfinite(beat.energy) for beat in found)


@pytest.mark.parametrize("application", APPLICATIONS)
def test_pandas_and_the_evaluators_say_what_a_walk_over_the_rows_says(application: Application, tmp_path: Path) -> None:
    files = write_data(Data(100, 1_000, 2, "regular"), tmp_path)
    question = Question("readings", Tilt(application))
    right = expected_answers(question, files)
    assert len(right) >= (1 if application == "unusual" else 9)
    in_pandas, in_process = InPandas().answer(question, files), TiltInProcess().answer(question, files)
    assert right.schema == in_pandas.schema == in_process.schema == ANSWERS
    assert compare(right, in_pandas) == []
    assert compare(*(closed(answers, question, files) for answers in (right, in_process))) == []


@pytest.mark.parametrize(
    ("application", "expected"),
    [
        ("imputed", [(0, 90.0), (1, 95.0), (2, 100.0)]),
        ("normalised", [(0, 0.0), (1, -(1.5**0.5)), (2, 1.5**0.5)]),
        ("resampled", [(0, 90.0), (0.8, 82.0)]),
    ],
)
def test_the_answers_about_three_readings(application: Application, expected: list[tuple[float, float]]) -> None:
    at = np.array([2, 0, 1]) * MICROSECONDS
    rows = Rows(np.array([7, 7, 7]), at, at + 1, np.array([100.0, 90.0, 80.0]))
    found = Tilt(application).answers("readings", rows).to_pydict()
    assert found["key"] == [7] * len(expected)
    assert [start.timestamp() for start in found["start"]] == [start for start, _ in expected]
    assert found["value"] == pytest.approx([value for _, value in expected])
