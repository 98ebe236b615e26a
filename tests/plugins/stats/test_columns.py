"""Every array form of muntin-stats gives the result of its module, whatever is merged with what."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from math import inf, nan
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from muntin import Instant, moment
from muntin.schemas import describe, spell
from muntin_stats import (
    Average,
    Correlation,
    Count,
    Covariance,
    DistinctCount,
    LinearTrend,
    Max,
    Median,
    Min,
    Point,
    Quantile,
    StandardDeviation,
    Sum,
    Variance,
)
from tests.plugins.forms import equal_results, form_of, result, results_at_once, tree_result

REPEATABLY = settings(max_examples=25)

LEAST = -(2**63)
MOST = 2**63 - 1

FLOATS = st.floats() | st.sampled_from([1e16, -1e16, 1.0, 0.1, -0.0, 5e-324, 1.7e308, -1.7e308, inf, -inf, nan])
INTEGERS = st.integers(LEAST, MOST) | st.sampled_from([LEAST, MOST, 0, -1, 1, 2**32 - 1, -(2**32)])
POINTS = st.builds(Point, st.none() | INTEGERS, INTEGERS)
TIMES: dict[Any, SearchStrategy[Any]] = {
    date: st.dates(),
    datetime: st.datetimes(timezones=st.just(UTC)) | st.sampled_from([moment(0), moment(-1)]),
    timedelta: st.integers(-(2**62), 2**62).map(lambda length: timedelta(microseconds=length)),
    Instant: INTEGERS,
}


@dataclass(frozen=True)
class Case:
    """A module with an array form.

    Attributes:
        module: The module.
        annotation: The type of its payloads.
        values: The strategy that draws them.
    """

    module: Any
    annotation: Any
    values: SearchStrategy[Any]

    def __str__(self) -> str:
        parameters = ", ".join(f"{name}={value}" for name, value in vars(self.module).items())
        return f"{self.module.name}({parameters}) of {spell(describe(self.annotation))}"


EXACT = [
    Case(Count(), str, st.text()),
    Case(Count(), Point, st.builds(Point, st.none(), st.floats())),
    Case(Count(skip_nulls=True), str, st.text()),
    Case(Count(skip_nulls=True), float, FLOATS),
    Case(Sum(), int, INTEGERS),
    Case(Sum(), float, FLOATS),
    Case(Average(), float, FLOATS),
    Case(Average(), int, INTEGERS),
    Case(Median(), float, FLOATS),
    Case(Median(), int, INTEGERS),
    *(Case(Quantile(q), float, FLOATS) for q in (0, 0.1, 0.25, 1 / 3, 0.9, 1)),
    *(Case(Quantile(q), int, INTEGERS) for q in (0, 0.1, 0.25, 1 / 3, 0.9, 1)),
    *(Case(Variance(ddof), int, INTEGERS) for ddof in (0, 1, 2)),
    *(Case(StandardDeviation(ddof), int, INTEGERS) for ddof in (0, 1, 2)),
    *(Case(cls(), Point[int, int], POINTS) for cls in (LinearTrend, Covariance, Correlation)),
    Case(DistinctCount(), float, FLOATS | st.sampled_from([1.0, nan, 0.0])),
    Case(DistinctCount(), int, INTEGERS),
    *(Case(cls(), float, FLOATS) for cls in (Min, Max)),
    *(Case(cls(), int, INTEGERS) for cls in (Min, Max)),
    *(Case(cls(), bool, st.booleans()) for cls in (Min, Max)),
    *(Case(Min(), annotation, values) for annotation, values in TIMES.items()),
    *(Case(Max(), annotation, values) for annotation, values in TIMES.items()),
]
"""Forms whose results are those of their modules to the bit."""

WITH_A_FORM = [
    *EXACT,
    Case(Variance(), float, FLOATS),
    Case(StandardDeviation(), float, FLOATS),
    Case(Covariance(), Point[float, float], st.builds(Point, st.none() | FLOATS, FLOATS)),
    Case(Correlation(), Point[float, float], st.builds(Point, st.none() | FLOATS, FLOATS)),
    Case(LinearTrend(), Point[float, float], st.builds(Point, st.none() | FLOATS, FLOATS)),
    Case(LinearTrend(), Point[int, float], st.builds(Point, st.none() | INTEGERS, FLOATS)),
]
"""All forms, also those that round; `test_rounding.py` says how far."""

WITHOUT_A_FORM = [
    (Sum(), Decimal),
    (Sum(), str),
    (Average(), Any),
    (Variance(), list[float]),
    (Median(), str),
    (Min(), str),
    (Max(), Decimal),
    (Max(), list[int]),
    (DistinctCount(), str),
    (LinearTrend(), float),
    (Count(skip_nulls=True), Point),
    (LinearTrend(), Point),
    (Covariance(), Point[Decimal, float]),
    (Variance(), Decimal),
    (Median(), Decimal),
]
"""Modules with types of payloads for which they have no array form."""


def payload_lists(case: Case) -> SearchStrategy[list[Any]]:
    """Draw the payloads of a window, with nulls."""
    return st.lists(st.none() | case.values, max_size=8)


@pytest.mark.cases(24)
@pytest.mark.parametrize("case", EXACT, ids=str)
def test_a_form_gives_the_result_of_its_module_whatever_is_merged_with_what(case: Case) -> None:
    form = form_of(case.module, case.annotation)

    @REPEATABLY
    @given(payload_lists(case), st.randoms(use_true_random=False))
    def assert_form_gives_result(payloads: list[Any], random: Random) -> None:
        expected = result(case.module, payloads)
        assert equal_results(result(form, payloads), expected)
        assert equal_results(tree_result(form, payloads, random), expected)

    assert_form_gives_result()


@pytest.mark.parametrize("case", WITH_A_FORM, ids=str)
def test_a_result_does_not_depend_on_those_computed_along_with_it(case: Case) -> None:
    form = form_of(case.module, case.annotation)
    groups = st.lists(st.lists(case.values, min_size=1, max_size=5), min_size=1, max_size=4)

    @settings(REPEATABLY, max_examples=10)
    @given(groups)
    def assert_groups_are_independent(groups: list[list[Any]]) -> None:
        if form.skips_nulls:  # a group of which nothing is left has no result
            groups = [group for group in groups if any(map(_has_no_null, group))]
        assume(groups)

        at_once = results_at_once(form, groups)
        alone = [results_at_once(form, [group])[0] for group in groups]
        assert all(map(equal_results, at_once, alone)), (at_once, alone)

    assert_groups_are_independent()


def _has_no_null(payload: Any) -> bool:
    """Return False for a record with a null, which forms that skip nulls leave out."""
    return not isinstance(payload, tuple) or None not in payload


@pytest.mark.parametrize("case", WITH_A_FORM, ids=str)
@pytest.mark.parametrize("payloads", [[], [None], [None, None]])
def test_of_nulls_alone_a_form_gives_what_its_module_gives(case: Case, payloads: list[None]) -> None:
    form = form_of(case.module, case.annotation)
    assert equal_results(result(form, payloads), result(case.module, payloads))


@pytest.mark.parametrize("case", WITH_A_FORM, ids=str)
def test_a_form_is_named_and_typed_as_its_module(case: Case) -> None:
    form = form_of(case.module, case.annotation)
    form.check_definition()
    assert (form.name, form.version) == (case.module.name, case.module.version)
    assert form.result_field().is_nullable == case.module.result_field().is_nullable


@pytest.mark.parametrize("case", WITH_A_FORM, ids=str)
def test_a_form_travels_to_workers(case: Case) -> None:
    form = form_of(case.module, case.annotation)
    travelled = pickle.loads(pickle.dumps(form))
    assert vars(travelled) == vars(form)
    assert travelled.components() == form.components()


@pytest.mark.parametrize(("module", "annotation"), WITHOUT_A_FORM)
def test_payloads_of_other_types_have_no_form(module: Any, annotation: Any) -> None:
    assert module.columnar_form(describe(annotation, "input")) is None


def test_importing_the_plugin_loads_neither_numpy_nor_sketches() -> None:
    program = "import sys, muntin_stats.plugin; print(*sorted({'numpy', 'pandas', 'datasketches'} & {*sys.modules}))"
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert finished.stdout.split() == []
