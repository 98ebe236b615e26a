"""Sketches of the real package as modules: as good as the package's own, merged or not."""

from __future__ import annotations

from functools import reduce
from typing import Any

import pytest
from hypothesis import strategies as st

from muntin.errors import ModuleDefinitionError
from muntin_adapters import from_sketch
from muntin_adapters.combinators import skipping_nulls
from tests.plugins.forms import broken_laws

ds = pytest.importorskip("datasketches", reason="datasketches is not installed, or has no wheel for this Python")

NUMBERS = [float(value * 7919 % 10_007) for value in range(10_000)]


def middle(sketch: Any) -> float | None:
    return None if sketch.is_empty() else float(sketch.get_quantile(0.5))


def common(sketch: Any) -> dict[str, int]:
    found = sketch.get_frequent_items(ds.frequent_items_error_type.NO_FALSE_NEGATIVES)
    return {item: estimate for item, estimate, *_ in found}


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
    """Return the result of a module whose windows are made of ten slices."""
    states = [module.add_events(module.create_state(), values[start::10]) for start in range(10)]
    return module.compute_result(reduce(module.combine, states))


def test_a_quantile_sketch_is_as_good_as_the_packages_own() -> None:
    own = ds.kll_doubles_sketch(200)
    for value in NUMBERS:
        own.update(value)
    bound = own.normalized_rank_error(False) * 1.5
    for result in (in_parts(MEDIAN(200), NUMBERS), own.get_quantile(0.5)):
        assert abs(sum(value <= result for value in NUMBERS) / len(NUMBERS) - 0.5) <= bound


@pytest.mark.parametrize("module", [DISTINCT(12), THETA(12), CPC(11)], ids=lambda module: str(module.name))
def test_a_distinct_count_of_merged_sketches_is_close(module: Any) -> None:
    texts: list[Any] = [int(value) if "cpc" in module.name else str(value) for value in NUMBERS]
    assert in_parts(module, texts + texts) == pytest.approx(len(set(NUMBERS)), rel=0.08)


def test_few_values_are_counted_exactly_as_the_package_does() -> None:
    own = ds.update_theta_sketch()
    for text in ("a", "b", "a", "c"):
        own.update(text)
    assert in_parts(THETA(), ["a", "b", "a", "c"]) == own.get_estimate() == 3.0


def test_fields_of_a_record_are_arguments_of_update() -> None:
    own = ds.frequent_strings_sketch(8)
    own.update("a", 5)
    own.update("b", 2)
    module = COMMON(8)
    state = module.add_events(module.create_state(), [("a", 3), ("b", 2), ("a", 2)])
    assert module.compute_result(state) == common(own) == {"a": 5, "b": 2}


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


@pytest.mark.parametrize(("module", "given"), LAWFUL, ids=lambda value: getattr(value, "name", ""))
def test_what_an_adapter_makes_keeps_all_laws(module: Any, given: dict[str, Any]) -> None:
    assert broken_laws(module, **given) == []
