"""The laws classes of what computes on the events of a window, one for each base class."""

from __future__ import annotations

from typing import ClassVar

from muntin.modules.aggregate import Aggregate
from muntin.modules.columnar_aggregate import ColumnarAggregate
from muntin.modules.incremental_aggregate import IncrementalAggregate
from muntin.modules.incremental_operator import IncrementalOperator
from muntin.modules.operator import Operator
from muntin.testing.laws.columnar_form import ColumnarFormLaws
from muntin.testing.laws.combining import CombiningLaws, RemovingLaws
from muntin.testing.laws.definition import DefinitionLaws
from muntin.testing.laws.lifetimes import ClipLaws, LifetimeLaws
from muntin.testing.laws.lifting import LiftingLaws
from muntin.testing.laws.merging import MergingLaws
from muntin.testing.laws.purity import PurityLaws
from muntin.testing.laws.several_inputs import SeveralInputsLaws
from muntin.testing.laws.states import StateLaws, UpgradingLaws


class AggregateLaws(DefinitionLaws, PurityLaws, SeveralInputsLaws, ClipLaws):
    """The laws of an `Aggregate`: subclass it, give it a module, and pytest does the rest.

    Example:
        >>> from muntin import Aggregate
        >>> class Largest(Aggregate[int, int]):
        ...     name, version = "demo.largest", "1.0.0"
        ...     def compute_result(self, payloads):
        ...         return max(payloads)
        >>> class TestLargest(AggregateLaws):
        ...     module = Largest()
        >>> TestLargest().test_order_does_not_matter()
    """

    _subject_type: ClassVar[type] = Aggregate


class OperatorLaws(DefinitionLaws, PurityLaws, SeveralInputsLaws, ClipLaws, LifetimeLaws):
    """The laws of an `Operator`, rows compared as a bag; used as `AggregateLaws`."""

    _subject_type: ClassVar[type] = Operator


class IncrementalAggregateLaws(
    DefinitionLaws,
    PurityLaws,
    SeveralInputsLaws,
    StateLaws,
    RemovingLaws,
    CombiningLaws,
    UpgradingLaws,
    ColumnarFormLaws,
    ClipLaws,
):
    """The laws of an `IncrementalAggregate`; those of an absent capability are skipped with a reason.

    Example:
        >>> from hypothesis import strategies as st
        >>> from muntin import IncrementalAggregate
        >>> class Total(IncrementalAggregate[int, int, int]):
        ...     name, version = "demo.total", "1.0.0"
        ...     def create_state(self):
        ...         return 0
        ...     def add_events(self, state, payloads):
        ...         return state + sum(payloads)
        ...     def remove_events(self, state, payloads):
        ...         return state - sum(payloads)
        ...     def compute_result(self, state):
        ...         return state
        >>> class TestTotal(IncrementalAggregateLaws):
        ...     module = Total()
        ...     payloads = st.integers(0, 99)
        >>> TestTotal().test_removing_undoes_adding()
    """

    _subject_type: ClassVar[type] = IncrementalAggregate


class IncrementalOperatorLaws(
    DefinitionLaws,
    PurityLaws,
    SeveralInputsLaws,
    StateLaws,
    RemovingLaws,
    CombiningLaws,
    UpgradingLaws,
    ClipLaws,
    LifetimeLaws,
):
    """The laws of an `IncrementalOperator`, rows compared as a bag; used as `IncrementalAggregateLaws`."""

    _subject_type: ClassVar[type] = IncrementalOperator


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
