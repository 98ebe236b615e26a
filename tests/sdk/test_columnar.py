"""Columnar aggregates as incremental ones, of one window at a time."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, ClassVar

import numpy as np
import pytest

from muntin import ColumnarAggregate, Component
from muntin.errors import ModuleContractError
from muntin.schemas import spell
from muntin.testing.plain_data import restored
from tests.sdk import columnar_modules as modules

NOON = datetime(2024, 2, 29, 12, tzinfo=UTC)


def result(module: ColumnarAggregate[Any, Any], *calls: list[Any]) -> Any:
    """Return the result of a window whose payloads come in several calls; the state is stored in between."""
    state = module.create_state()
    for payloads in calls:
        state = module.add_events(state, payloads)
    return module.compute_result(state)


@pytest.mark.parametrize(
    ("module", "calls", "expected"),
    [
        (modules.Total(), [[1, 2], [3]], 6),
        (modules.Mean(), [[1.0], [2.0, 6.0]], 3.0),
        (modules.Histogram(), [[-1e9, 0.0], [1e9]], [1, 0, 0, 0, 1, 0, 0, 1]),
        (modules.Variance(), [[1.0, 2.0], [3.0]], pytest.approx(2 / 3)),
        (modules.LogSum(), [[0.0], [0.0]], pytest.approx(0.6931471805599453)),
        (modules.Median(), [[5.0, 1.0], [3.0]], 3.0),
        (modules.Words(), [["a", "b"], ["a"]], 2),
        (modules.Earliest(), [[NOON], [NOON - timedelta(days=1)]], NOON - timedelta(days=1)),
        (modules.Busiest(), [[modules.Stay(NOON.date(), timedelta(1))] * 2, [None]], timedelta(2)),
        (modules.WeightedMean(), [[modules.Reading(1.0, 1.0)], [modules.Reading(4.0, 2.0)]], 3.0),
        (modules.NullShare(), [[None, 1.0], [None, None]], 0.75),
        (modules.Bits(), [[0b110], [0b011]], (0b010, 0b111, 0b101)),
        (modules.Count(), [["a", None], [1]], 2),
        (modules.Account(), [[Decimal("0.1")], [Decimal("0.2")]], Decimal("0.3")),
    ],
    ids=lambda value: value.name if isinstance(value, ColumnarAggregate) else None,
)
def test_a_columnar_aggregate_computes_one_window_at_a_time(
    module: ColumnarAggregate[Any, Any], calls: list[list[Any]], expected: Any
) -> None:
    assert result(module, *calls) == expected
    assert type(result(module, *calls)) is type(getattr(expected, "expected", expected))


@pytest.mark.parametrize("module", [modules.Histogram(), modules.Earliest(), modules.Median(), modules.Mean()])
def test_a_state_is_plain_data(module: ColumnarAggregate[Any, Any]) -> None:
    payloads = [NOON] if isinstance(module, modules.Earliest) else [1.5, 2.5]
    state = module.add_events(module.create_state(), payloads)
    assert restored(state) == state
    assert module.compute_result(restored(state)) == result(module, payloads)


def test_the_result_of_nothing_but_nulls_is_the_empty_result() -> None:
    assert result(modules.Busiest(), [None], [None]) is None
    assert result(modules.Count(), [None]) == 0
    assert result(modules.NullShare(), [None]) == 1.0


def test_masked_results_are_null() -> None:
    assert result(modules.Busiest(), [modules.Stay(datetime(2040, 1, 1, tzinfo=UTC).date(), timedelta(1))]) is None


def test_states_are_combined_and_left_as_they_were() -> None:
    median = modules.Median()
    first, second = (median.add_events(median.create_state(), payloads) for payloads in ([1.0], [2.0, 3.0]))
    assert median.compute_result(median.combine(first, second)) == 2.0
    assert (first["payloads"], second["kept"]) == (1, {"values": [2.0, 3.0]})
    assert median.combine(first, median.create_state()) == first


def test_a_columnar_aggregate_has_the_capabilities_that_it_has() -> None:
    mean = modules.Mean()
    assert hasattr(mean, "columnar_form")
    assert hasattr(mean, "combine")
    assert not hasattr(mean, "remove_events")
    assert mean.columnar_form(mean.input_field()) is mean


def test_a_columnar_aggregate_says_what_it_is() -> None:
    modules.Mean.check_definition()
    assert spell(modules.Mean.input_field()) == "float"
    assert spell(modules.Histogram.result_field()) == "list[integer]"
    assert modules.Mean.state_type() == dict[str, Any]
    assert modules.Mean.is_incremental
    assert not modules.Mean.is_time_sensitive


class Texts(ColumnarAggregate[list[str], list[str]]):
    """Collects lists, all of one length, which NumPy would make one array of."""

    name, version = "demo.texts", "1.0.0"
    longest: ClassVar[Component] = Component.merged(np.frompyfunc(max, 2, 1), [], "object")

    def components(self) -> Mapping[str, Component]:
        return {"longest": self.longest}

    def lift(self, payloads: Any) -> Mapping[str, Any]:
        return {"longest": payloads}

    def compute_results(self, components: Mapping[str, Any]) -> Any:
        return components["longest"]


def test_lists_as_values_stay_lists() -> None:
    assert result(Texts(), [["b", "a"], ["a", "b"]], [["a", "a"]]) == ["b", "a"]


class Off(modules.Mean):
    """Returns whatever it is made with."""

    name = "demo.off"

    def __init__(self, lifted: Any = None, results: Any = None) -> None:
        self.lifted = lifted
        self.results = results

    def lift(self, payloads: Any) -> Any:
        return super().lift(payloads) if self.lifted is None else self.lifted

    def compute_results(self, components: Mapping[str, Any]) -> Any:
        return self.results


@pytest.mark.parametrize(
    ("module", "complaint"),
    [
        (Off(lifted={}), r"lift returned \[\]\n  expected: an array for each of \['total'\]"),
        (Off(lifted=[1.0]), r"lift returned \[1.0\]\n  expected: an array"),
        (Off(lifted={"total": [1.0], "count": [1]}), r"lift returned \['count', 'total'\]"),
        (Off(lifted={"total": [1.0]}), r"'total' from lift has the shape \(1,\)\n  expected: \(2,\)"),
        (Off(lifted={"total": 1.0}), r"'total' from lift has the shape \(\)"),
        (Off(lifted={"total": ["a", "b"]}), "'total' from lift is of type <U1\n  expected: float64"),
        (Off(lifted={"total": np.ma.MaskedArray([1.0, 2.0], [False, True])}), "'total' from lift has masked entries"),
        (Off(results=[1.0, 2.0]), r"compute_results returned results of the shape \(2,\)\n  expected: \(1,\)"),
        (Off(results=1.0), r"compute_results returned results of the shape \(\)"),
        (Off(results=[[1.0]]), r"compute_results returned results of the shape \(1, 1\)"),
    ],
)
def test_what_a_module_must_not_return_is_refused(module: Off, complaint: str) -> None:
    with pytest.raises(ModuleContractError, match=complaint):
        result(module, [1.0, 2.0])


def test_narrower_types_and_objects_are_cast() -> None:
    assert result(Off(lifted={"total": [True, True]}, results=[1.0]), [1.0, 2.0]) == 1.0
    lifted = {"total": np.array([Decimal("0.5"), 1], object)}
    state = Off(lifted=lifted).add_events(Off().create_state(), [1.0, 2.0])
    assert state["kept"] == {"total": 1.5, "count": 2}
