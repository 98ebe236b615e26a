"""The laws of aggregates that keep a state."""

from __future__ import annotations

from typing import ClassVar

from muntin.modules.incremental_aggregate import IncrementalAggregate, TimeSensitiveIncrementalAggregate
from muntin.testing.laws.columnar_form import ColumnarFormLaws
from muntin.testing.laws.combining import CombiningLaws
from muntin.testing.laws.definition import DefinitionLaws
from muntin.testing.laws.lifetimes import ClipLaws
from muntin.testing.laws.purity import PurityLaws
from muntin.testing.laws.removing import RemovingLaws
from muntin.testing.laws.several_inputs import SeveralInputsLaws
from muntin.testing.laws.states import StateLaws
from muntin.testing.laws.upgrading import UpgradingLaws


class IncrementalAggregateLaws(
    DefinitionLaws,
    PurityLaws,
    SeveralInputsLaws,
    StateLaws,
    RemovingLaws,
    CombiningLaws,
    UpgradingLaws,
    ColumnarFormLaws,
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


class TimeSensitiveIncrementalAggregateLaws(
    DefinitionLaws,
    PurityLaws,
    SeveralInputsLaws,
    StateLaws,
    RemovingLaws,
    UpgradingLaws,
    ColumnarFormLaws,
    ClipLaws,
):
    """The laws of a `TimeSensitiveIncrementalAggregate`; used as `IncrementalAggregateLaws`."""

    _subject_type: ClassVar[type] = TimeSensitiveIncrementalAggregate
