"""The laws of aggregates that are computed from all members at once."""

from __future__ import annotations

from typing import ClassVar

from muntin.modules.aggregate import Aggregate, TimeSensitiveAggregate
from muntin.testing.laws.definition import DefinitionLaws
from muntin.testing.laws.lifetimes import ClipLaws
from muntin.testing.laws.purity import PurityLaws
from muntin.testing.laws.several_inputs import SeveralInputsLaws


class AggregateLaws(DefinitionLaws, PurityLaws, SeveralInputsLaws):
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


class TimeSensitiveAggregateLaws(AggregateLaws, ClipLaws):
    """The laws of a `TimeSensitiveAggregate`, under every clip it accepts; used as `AggregateLaws`."""

    _subject_type: ClassVar[type] = TimeSensitiveAggregate
