"""The laws classes of modules that compute on the events of a window, one for each base class."""

from __future__ import annotations

from muntin.modules.aggregate import Aggregate, Operator
from muntin.modules.columnar_aggregate import ColumnarAggregate
from muntin.modules.incremental import IncrementalAggregate, IncrementalOperator
from muntin.testing.laws.array_laws import ColumnarFormLaws, LiftingLaws, MergingLaws
from muntin.testing.laws.module_laws import ClipLaws, DefinitionLaws, LifetimeLaws, PurityLaws, SeveralInputsLaws
from muntin.testing.laws.state_laws import CombiningLaws, RemovingLaws, StateLaws, UpgradingLaws


class WholeLaws(DefinitionLaws, PurityLaws, SeveralInputsLaws, ClipLaws):
    """The laws of all modules that compute on the events of a window."""


class IncrementalLaws(WholeLaws, StateLaws, RemovingLaws, CombiningLaws, UpgradingLaws):
    """The laws of all modules that keep a state of a window."""


class AggregateLaws(WholeLaws, of=Aggregate):
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


class OperatorLaws(WholeLaws, LifetimeLaws, of=Operator):
    """The laws of an `Operator`, rows compared as a bag; used as `AggregateLaws`."""


class IncrementalAggregateLaws(IncrementalLaws, ColumnarFormLaws, of=IncrementalAggregate):
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


class IncrementalOperatorLaws(IncrementalLaws, LifetimeLaws, of=IncrementalOperator):
    """The laws of an `IncrementalOperator`, rows compared as a bag; used as `IncrementalAggregateLaws`."""


class ColumnarAggregateLaws(LiftingLaws, MergingLaws, IncrementalAggregateLaws, of=ColumnarAggregate):
    """The laws of a `ColumnarAggregate`: the laws of its arrays, and those of an `IncrementalAggregate`.

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
