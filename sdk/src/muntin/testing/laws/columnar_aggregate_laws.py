"""The laws of aggregates that are computed on arrays."""

from __future__ import annotations

from typing import ClassVar

from muntin.modules.columnar_aggregate import ColumnarAggregate
from muntin.testing.laws.incremental_aggregate_laws import IncrementalAggregateLaws
from muntin.testing.laws.lifting import LiftingLaws
from muntin.testing.laws.merging import MergingLaws


class ColumnarAggregateLaws(LiftingLaws, MergingLaws, IncrementalAggregateLaws):
    """The laws of a `ColumnarAggregate`: those of what it does on arrays, and those of an `IncrementalAggregate`.

    Example:
        >>> from muntin import ColumnarAggregate, Component
        >>> class Mean(ColumnarAggregate[float, float]):
        ...     name, version = "demo.mean", "1.0.0"
        ...     def components(self):
        ...         return {"total": Component.sum(), "count": Component.count()}
        ...     def lift(self, payloads):
        ...         return {"total": payloads}
        ...     def compute_results(self, components):
        ...         return components["total"] / components["count"]
        >>> class TestMean(ColumnarAggregateLaws):
        ...     module = Mean()
        >>> TestMean().test_rows_are_independent()
    """

    _subject_type: ClassVar[type] = ColumnarAggregate
