"""The approximate modules: how far from the exact result they may be; and sketches of the package as modules."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from math import ceil, inf, isnan, nan
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.errors import ModuleDefinitionError, PluginError
from muntin_adapters import from_sketch
from muntin_adapters.combinators import skipping_nulls
from muntin_stats import ApproximateDistinctCount, ApproximateMedian, ApproximateQuantile, MissingSketchesError
from muntin_stats.sketch_library import sketch_library
from muntin_stats.stand_ins import stand_in
from tests.plugins.forms import broken_laws, equal_results, result, tree_result

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


def rank_distance(estimate: float, values: list[float], q: float) -> float:
    """Return by which share of the members the ranks that a value has lie away from the one that is wanted."""
    target_rank = max(1, ceil(q * len(values)))
    first = sum(value < estimate for value in values) + 1
    last = sum(value <= estimate for value in values)
    assert first <= last, f"{estimate} is no member"
    return max(first - target_rank, target_rank - last, 0) / len(values)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("k", RANK_ERROR)
def test_a_quantile_has_a_rank_within_the_bound_whatever_is_merged_with_what(shape: str, k: int) -> None:
    random = Random(f"{shape} {k}")
    values = [SHAPES[shape](random) for _ in range(10_000)]
    for parts in (1, 2, 40):
        for q in (0.01, 0.5, 0.9):
            module = ApproximateQuantile(q, k)
            estimate = module.compute_result(merged(module, values, parts, random))
            assert estimate is not None
            # The coins cannot be seeded. The bound is for all ranks at once: nearly five standard deviations of one.
            # Half as much again is seven, so chance does not fail this.
            assert rank_distance(estimate, values, q) <= 1.5 * RANK_ERROR[k]


def test_the_bounds_are_those_of_the_library() -> None:
    for k, error in RANK_ERROR.items():
        assert sketch_library().kll_doubles_sketch(k).normalized_rank_error(False) == pytest.approx(error, rel=0.02)


@REPEATABLY
@given(st.lists(FLOATS | st.none(), max_size=30), st.sampled_from([0, 0.1, 0.5, 0.9, 1.0]), RANDOMS)
def test_up_to_k_members_a_quantile_is_the_member_of_the_rank_itself(
    payloads: list[float | None], q: float, random: Random
) -> None:
    quantile = tree_result(ApproximateQuantile(q, k=30), payloads, random)

    values = [value for value in payloads if value is not None]
    values.sort(key=lambda value: (isnan(value), value))
    if not values:
        assert quantile is None
    else:
        rank = max(1, ceil(q * len(values)))
        assert equal_results(quantile, values[rank - 1])


@pytest.mark.parametrize("parts", [1, 7, 60])
def test_the_smallest_and_the_largest_of_many_are_exact(parts: int) -> None:
    random = Random(parts)
    values = [random.gauss(0, 1) for _ in range(5000)]
    for q, extreme in ((0, min), (1, max)):
        module = ApproximateQuantile(q, k=8)
        assert module.compute_result(merged(module, values, parts, random)) == extreme(values)


def test_nan_is_larger_than_any_number() -> None:
    assert result(ApproximateMedian(), [nan, 1.0, inf]) == inf
    assert repr(result(ApproximateQuantile(0.9), [nan, 1.0, inf])) == "nan"
    assert repr(result(ApproximateQuantile(0.0), [nan, None])) == "nan"
    one_percent_nan = [*map(float, range(990)), *[nan] * 10]
    assert repr(result(ApproximateQuantile(0.995), one_percent_nan)) == "nan"
    assert result(ApproximateQuantile(0.99), one_percent_nan) == 989.0


@pytest.mark.parametrize("k", [8, 200, 1000])
def test_a_sketch_of_numbers_stays_about_as_small_as_it_says(k: int) -> None:
    module = ApproximateMedian(k)
    random = Random(k)
    state = module.create_state()
    for _ in range(10):
        state = module.add_events(state, [random.random() for _ in range(10_000)])
    assert module.state_bytes / 2 < len(state.sketch) < module.state_bytes * 2


# Around 8 and around 384 values the form of a sketch changes.
@pytest.mark.parametrize("count", [1, 8, 9, 383, 384, 385, 386, 400, 1000, 20_000])
def test_an_estimate_depends_on_the_set_of_values_alone(count: int) -> None:
    random = Random(count)
    module = ApproximateDistinctCount()
    values = [random.random() for _ in range(count)]
    expected = result(module, values)
    for parts in (2, 5, 30):
        in_any_order = random.sample(values, count)
        repetitions = random.choices(values, k=parts)
        state = merged(module, in_any_order + repetitions, parts, random)
        assert module.compute_result(state) == expected


def test_the_estimate_of_no_values_is_zero() -> None:
    assert result(ApproximateDistinctCount(), []) == 0


@pytest.mark.parametrize("lg_k", [7, 12, 14])
@pytest.mark.parametrize("count", [100, 1000, 10_000])
def test_an_estimate_is_within_four_standard_errors(lg_k: int, count: int) -> None:
    integers = range(count)
    texts = [f"value {number}" for number in range(count)]
    floats = [number / 7 for number in range(count)]
    relative_standard_error = 1.04 / 2 ** (lg_k / 2)  # of HyperLogLog with 2 ** lg_k registers
    for values in (integers, texts, floats):
        estimate = result(ApproximateDistinctCount(lg_k), values)
        assert abs(estimate - count) <= 4 * relative_standard_error * count


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
    ids=["floats", "text", "bytes", "large integers", "bigints", "decimals", "dates", "times", "durations", "booleans"],
)
def test_values_of_every_type_are_told_apart(payloads: list[Any]) -> None:
    assert result(ApproximateDistinctCount(), payloads) == 2


def test_a_datetime_without_a_zone_is_in_utc() -> None:
    aware = datetime(2024, 1, 1, tzinfo=UTC)
    assert stand_in(aware.replace(tzinfo=None)) == stand_in(aware)


def test_a_type_that_cannot_be_counted_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match=r"values of type Fraction cannot be counted approximately\n  expected: str, "):
        result(ApproximateDistinctCount(), [Fraction(1, 2)])


def test_a_sketch_of_values_is_as_small_as_it_says() -> None:
    module = ApproximateDistinctCount()
    state_of_many = module.add_events(b"", range(20_000))
    state_of_few = module.add_events(b"", range(10))
    assert len(state_of_many) == module.state_bytes == 4136
    assert len(state_of_few) == 52


def test_without_the_library_a_module_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasketches", None)
    sketch_library.cache_clear()
    for module in (ApproximateMedian, ApproximateDistinctCount):
        with pytest.raises(MissingSketchesError, match=r"pip install 'muntin-stats\[sketches\]'") as failure:
            module()
        assert isinstance(failure.value, PluginError)
        assert failure.value.reason

    monkeypatch.undo()
    assert result(ApproximateMedian(), [1.0]) == 1.0


ds = pytest.importorskip("datasketches", reason="datasketches is not installed, or has no wheel for this Python")

# Sketches of the package that `from_sketch` makes modules of.

NUMBERS = [float(value * 7919 % 10_007) for value in range(10_000)]
"""Ten thousand different numbers in no order: the factor and the modulus are prime."""


def middle(sketch: Any) -> float | None:
    """Return the median of a sketch of quantiles."""
    return None if sketch.is_empty() else float(sketch.get_quantile(0.5))


def common(sketch: Any) -> dict[str, int]:
    """Return the frequent items of a sketch, with their counts."""
    frequent = sketch.get_frequent_items(ds.frequent_items_error_type.NO_FALSE_NEGATIVES)
    return {item: estimate for item, estimate, *_ in frequent}


NAMED: Any = {"version": ds.__name__ + " 5"}
MEDIAN = from_sketch(ds.kll_doubles_sketch, get=middle, name="sketches.median", input=float, **NAMED)
DISTINCT = from_sketch(
    ds.hll_sketch,
    get="get_estimate",
    union=lambda: ds.hll_union(12),
    name="sketches.hll",
    input=str,
    result=float,
    **NAMED,
)
THETA = from_sketch(
    ds.update_theta_sketch,
    get="get_estimate",
    union=ds.theta_union,
    name="sketches.theta",
    input=str,
    result=float,
    **NAMED,
)
CPC = from_sketch(
    ds.cpc_sketch,
    get="get_estimate",
    union=lambda: ds.cpc_union(11),
    name="sketches.cpc",
    input=int,
    result=float,
    **NAMED,
)
COMMON = from_sketch(ds.frequent_strings_sketch, get=common, name="sketches.common", input=tuple[str, int], **NAMED)


class SmallMedian(MEDIAN):  # type: ignore[misc,valid-type]  # the adapter makes the class
    """Holds 100 members; beyond that it tosses coins."""

    exact_up_to = 100

    def __init__(self) -> None:
        super().__init__(k=100)


def in_parts(module: Any, values: list[Any]) -> Any:
    """Return the result of a module for values of which ten states have a tenth each."""
    states = [module.add_events(module.create_state(), values[start::10]) for start in range(10)]
    return module.compute_result(reduce(module.combine, states))


def test_a_quantile_sketch_is_as_good_as_the_packages_own() -> None:
    sketch = ds.kll_doubles_sketch(200)
    for value in NUMBERS:
        sketch.update(value)

    bound = sketch.normalized_rank_error(False) * 1.5
    for median in (in_parts(MEDIAN(200), NUMBERS), sketch.get_quantile(0.5)):
        rank = sum(value <= median for value in NUMBERS)
        assert abs(rank / len(NUMBERS) - 0.5) <= bound


@pytest.mark.parametrize("module", [DISTINCT(12), THETA(12), CPC(11)], ids=lambda module: str(module.name))
def test_a_distinct_count_of_merged_sketches_is_close(module: Any) -> None:
    read_type = int if "cpc" in module.name else str
    values: list[Any] = [read_type(value) for value in NUMBERS]
    assert in_parts(module, values + values) == pytest.approx(len(set(NUMBERS)), rel=0.08)


def test_few_values_are_counted_exactly_as_the_package_does() -> None:
    theta = ds.update_theta_sketch()
    for text in ("a", "b", "a", "c"):
        theta.update(text)
    assert in_parts(THETA(), ["a", "b", "a", "c"]) == theta.get_estimate() == 3.0


def test_fields_of_a_record_are_arguments_of_update() -> None:
    frequent = ds.frequent_strings_sketch(8)
    frequent.update("a", 5)
    frequent.update("b", 2)
    module = COMMON(8)
    state = module.add_events(module.create_state(), [("a", 3), ("b", 2), ("a", 2)])
    assert module.compute_result(state) == common(frequent) == {"a": 5, "b": 2}


def test_a_state_is_what_the_package_reads() -> None:
    module = MEDIAN(100)
    state = module.add_events(module.create_state(), [3.0, 1.0, 2.0])
    assert ds.kll_doubles_sketch.deserialize(state).n == 3


def test_parameters_that_the_package_refuses_are_refused_where_the_module_is_made() -> None:
    with pytest.raises(TypeError):
        MEDIAN(size=3)
    with pytest.raises(ValueError, match="K must be"):
        MEDIAN(k=1)


def test_a_sketch_that_is_stored_in_another_form_needs_a_union() -> None:
    with pytest.raises(ModuleDefinitionError, match="to do: give union="):
        from_sketch(ds.update_theta_sketch, get="get_estimate", name="sketches.theta", input=str, result=float, **NAMED)


LAWFUL: tuple[tuple[Any, dict[str, Any]], ...] = (
    (skipping_nulls(SmallMedian)(), {}),
    (THETA(), {}),
    (COMMON(8), {"payloads": st.tuples(st.text("ab", max_size=2), st.integers(1, 9))}),
)


@pytest.mark.parametrize(("module", "attributes"), LAWFUL, ids=lambda value: getattr(value, "name", ""))
def test_a_module_that_is_made_of_a_sketch_keeps_all_laws(module: Any, attributes: dict[str, Any]) -> None:
    assert broken_laws(module, **attributes) == []
