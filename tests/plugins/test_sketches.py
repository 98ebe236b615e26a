"""The approximate modules: how far from the exact result they may be, and what does not depend on chance at all."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from math import ceil, inf, isnan, nan
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.errors import PluginError
from muntin_stats import ApproximateDistinctCount, ApproximateMedian, ApproximateQuantile, MissingSketchesError
from muntin_stats.sketch_library import sketch_library
from muntin_stats.stand_ins import stand_in
from tests.plugins.forms import result, same, tree_result

pytest.importorskip("datasketches", reason="datasketches is not installed, or has no wheel for this Python")

REPEATABLY = settings(max_examples=40)
RANDOMS = st.randoms(use_true_random=False)
FLOATS = st.floats() | st.sampled_from([inf, -inf, nan, 0.0, 1.0])

RANK_ERROR = {50: 0.0512, 200: 0.0133, 800: 0.0035}
"""For each size of a sketch the share of the members by which any rank is off at most, in 99 of 100 sketches."""

SHAPES: dict[str, Callable[[Random], float]] = {
    "uniform": Random.random,
    "normal": lambda random: random.gauss(0, 1),
    "with ties": lambda random: float(random.randrange(10)),
    "heavy": lambda random: random.paretovariate(0.5),
}


def merged(module: Any, values: list[Any], parts: int, random: Random) -> Any:
    """Return the state of values in some parts of uneven sizes, merged in a random order."""
    cuts = sorted(random.sample(range(1, len(values)), parts - 1))
    ends = zip([0, *cuts], [*cuts, len(values)], strict=True)
    states = [module.add_events(module.create_state(), values[start:end]) for start, end in ends]
    while len(states) > 1:
        random.shuffle(states)
        states.append(module.combine(states.pop(), states.pop()))
    return states[0]


def rank_distance(found: float, values: list[float], q: float) -> float:
    """Return by which share of the members the ranks that a value has lie away from the one that is wanted."""
    wanted = max(1, ceil(q * len(values)))
    first, last = sum(value < found for value in values) + 1, sum(value <= found for value in values)
    assert first <= last, f"{found} is no member"
    return max(first - wanted, wanted - last, 0) / len(values)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("k", RANK_ERROR)
def test_a_quantile_has_a_rank_within_the_bound_whatever_is_merged_with_what(shape: str, k: int) -> None:
    random = Random(f"{shape} {k}")
    values = [SHAPES[shape](random) for _ in range(10_000)]
    for parts in (1, 2, 40):
        for q in (0.01, 0.5, 0.9):
            module = ApproximateQuantile(q, k)
            found = module.compute_result(merged(module, values, parts, random))
            assert found is not None
            # The coins cannot be seeded. The bound is for all ranks at once: nearly five standard deviations of one.
            # Half as much again is seven, so chance does not fail this.
            assert rank_distance(found, values, q) <= 1.5 * RANK_ERROR[k]


def test_the_bounds_are_those_of_the_library() -> None:
    for k, error in RANK_ERROR.items():
        assert sketch_library().kll_doubles_sketch(k).normalized_rank_error(False) == pytest.approx(error, rel=0.02)


@REPEATABLY
@given(st.lists(FLOATS | st.none(), max_size=30), st.sampled_from([0, 0.1, 0.5, 0.9, 1.0]), RANDOMS)
def test_up_to_k_members_a_quantile_is_the_member_of_the_rank_itself(
    payloads: list[float | None], q: float, random: Random
) -> None:
    values = sorted((value for value in payloads if value is not None), key=lambda value: (isnan(value), value))
    expected = values[max(1, ceil(q * len(values))) - 1] if values else None
    assert same(tree_result(ApproximateQuantile(q, k=30), payloads, random), expected)


@pytest.mark.parametrize("parts", [1, 7, 60])
def test_the_smallest_and_the_largest_of_many_are_exact(parts: int) -> None:
    random = Random(parts)
    values = [random.gauss(0, 1) for _ in range(5000)]
    for q, extreme in ((0, min), (1, max)):
        module = ApproximateQuantile(q, k=8)
        assert module.compute_result(merged(module, values, parts, random)) == extreme(values)


def test_nan_is_larger_than_any_number() -> None:
    assert result(ApproximateMedian(), [nan, 1.0, inf]) == inf
    assert isnan(result(ApproximateQuantile(0.9), [nan, 1.0, inf]) or 0.0)
    assert isnan(result(ApproximateQuantile(0.0), [nan, None]) or 0.0)
    assert isnan(result(ApproximateQuantile(0.995), [*map(float, range(990)), *[nan] * 10]) or 0.0)
    assert result(ApproximateQuantile(0.99), [*map(float, range(990)), *[nan] * 10]) == 989.0


def test_a_median_is_the_lower_one_of_the_two_in_the_middle() -> None:
    assert result(ApproximateMedian(), [9.0, 1.0, 2.0, 4.0]) == 2.0
    assert result(ApproximateMedian(), [None]) is None


@pytest.mark.parametrize("k", [8, 200, 1000])
def test_a_sketch_of_numbers_stays_about_as_small_as_it_says(k: int) -> None:
    module = ApproximateMedian(k)
    random = Random(k)
    state = module.create_state()
    for _ in range(10):
        state = module.add_events(state, [random.random() for _ in range(10_000)])
    assert module.state_bytes / 2 < len(state.sketch) < module.state_bytes * 2


@pytest.mark.parametrize("count", [0, 1, 8, 9, 383, 384, 385, 386, 400, 1000, 20_000])
def test_an_estimate_depends_on_the_set_of_values_alone(count: int) -> None:
    random, module = Random(count), ApproximateDistinctCount()
    values = [random.random() for _ in range(count)]
    expected = result(module, values)
    for parts in (2, 5, 30):
        repeated = random.sample(values, count) + random.choices(values or [0.0], k=parts if values else 0)
        if len(repeated) > parts:
            assert module.compute_result(merged(module, repeated, parts, random)) == expected


@pytest.mark.parametrize("lg_k", [7, 12, 14])
@pytest.mark.parametrize("count", [100, 1000, 10_000])
def test_an_estimate_is_within_four_standard_errors(lg_k: int, count: int) -> None:
    for values in (
        range(count),
        [f"value {number}" for number in range(count)],
        [number / 7 for number in range(count)],
    ):
        assert abs(result(ApproximateDistinctCount(lg_k), values) - count) <= 4 * 1.04 / 2 ** (lg_k / 2) * count


@REPEATABLY
@given(st.lists(st.none() | st.text() | st.integers(), max_size=30), RANDOMS)
def test_few_different_values_are_counted_exactly(payloads: list[Any], random: Random) -> None:
    assert tree_result(ApproximateDistinctCount(), payloads, random) == len({*payloads} - {None})


@pytest.mark.parametrize(
    "payloads",
    [
        [nan, float("nan"), -nan, 0.0, -0.0],
        ["", "a", "", None],
        [b"", b"a", b""],
        [2**64, 2**64 + 1, 2**64],
        [-(2**63), 2**63 - 1],
        [Decimal("1.10"), Decimal("1.1"), Decimal("1e40")],
        [date(2024, 1, 1), date(2024, 1, 2), date(2024, 1, 1)],
        [datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 1, 0, 0, 0, 1, tzinfo=UTC)],
        [timedelta(days=1), timedelta(hours=24), timedelta(microseconds=1)],
        [True, False, True],
    ],
)
def test_values_of_every_type_are_told_apart(payloads: list[Any]) -> None:
    assert result(ApproximateDistinctCount(), payloads) == 2


def test_a_datetime_without_a_zone_is_in_utc() -> None:
    aware = datetime(2024, 1, 1, tzinfo=UTC)
    assert stand_in(aware.replace(tzinfo=None)) == stand_in(aware)


def test_a_type_that_has_no_stand_in_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match=r"values of type Fraction cannot be counted approximately\n  expected: str, "):
        result(ApproximateDistinctCount(), [Fraction(1, 2)])


def test_a_sketch_of_values_is_as_small_as_it_says() -> None:
    module = ApproximateDistinctCount()
    assert len(module.add_events(b"", range(20_000))) == module.state_bytes == 4136
    assert len(module.add_events(b"", range(10))) == 52


def test_without_the_library_a_module_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasketches", None)
    sketch_library.cache_clear()
    for module in (ApproximateMedian, ApproximateDistinctCount):
        with pytest.raises(MissingSketchesError, match=r"pip install 'muntin-stats\[sketches\]'") as raised:
            module()
        assert isinstance(raised.value, PluginError)
        assert raised.value.reason
    monkeypatch.undo()
    assert result(ApproximateMedian(), [1.0]) == 1.0
