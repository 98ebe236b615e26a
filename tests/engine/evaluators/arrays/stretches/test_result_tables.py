"""Results of forms for windows some of which have no payloads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from muntin import ColumnarAggregate, Component
from muntin.columnar.arrays import Array
from muntin.schemas import describe
from muntin_engine.evaluators.arrays.stretches.bound_form import PAYLOADS, BoundForm
from muntin_engine.evaluators.arrays.stretches.component_values import COUNTED, Dense
from muntin_engine.evaluators.arrays.stretches.result_tables import form_results
from muntin_engine.evaluators.arrays.stretches.stretch_table import Part, StretchTable


class Judged(ColumnarAggregate[float, Any]):
    """A sum, of which a test says the results, and the result of a window without payloads."""

    name, version = "test.judged", "1"

    def __init__(self, results: Array) -> None:
        self.results = results

    def components(self) -> Mapping[str, Component]:
        return {"sum": Component.sum("int64")}

    def lift(self, payloads: Any) -> Mapping[str, Any]:
        return {"sum": payloads}

    def compute_results(self, components: Mapping[str, Any]) -> Any:
        return self.results[: len(components["sum"])]


def results_beside_an_empty_window(results: Array, empty: object) -> list[object]:
    """Return the results of two windows, the first of which has no payloads."""
    form = BoundForm(Judged(results), "test.judged 1", (0,), (describe(float),), empty_result=empty)
    numbers = np.arange(2)
    parts = {
        Part(0, PAYLOADS): Dense(COUNTED, np.array([0, 1])),
        Part(0, "sum"): Dense(Component.sum("int64"), np.array([0, 5])),
    }
    keys = np.zeros(2, np.int64)
    windows = StretchTable(keys, low=numbers, high=numbers, weight=np.ones(2, np.int64), parts=parts)
    return list(form_results(form, 0, windows).tolist())


@pytest.mark.parametrize(
    ("results", "empty"),
    [
        (np.array(["up"]), "unknown"),  # longer than every result
        (np.array([7]), 0.5),  # results of a float may come as whole numbers
        (np.array([7]), float("inf")),
        (np.array([7]), -1),
        (np.array([1.5]), 0),
        (np.array(["up"]), None),
        (np.array([7]), None),
    ],
)
def test_empty_result_is_written_as_it_is_beside_other_results(results: Array, empty: object) -> None:
    """The type of array of the other results neither cuts off the empty result nor rounds it."""
    assert results_beside_an_empty_window(results, empty) == [empty, results[0]]
