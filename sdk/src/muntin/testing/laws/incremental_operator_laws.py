"""The laws of operators that keep a state."""

from __future__ import annotations

from typing import ClassVar

from muntin.modules.incremental_operator import IncrementalOperator, TimeSensitiveIncrementalOperator
from muntin.testing.laws.combining import CombiningLaws
from muntin.testing.laws.definition import DefinitionLaws
from muntin.testing.laws.lifetimes import ClipLaws, LifetimeLaws
from muntin.testing.laws.purity import PurityLaws
from muntin.testing.laws.removing import RemovingLaws
from muntin.testing.laws.several_inputs import SeveralInputsLaws
from muntin.testing.laws.states import StateLaws
from muntin.testing.laws.upgrading import UpgradingLaws


class IncrementalOperatorLaws(
    DefinitionLaws, PurityLaws, SeveralInputsLaws, StateLaws, RemovingLaws, CombiningLaws, UpgradingLaws
):
    """The laws of an `IncrementalOperator`, rows compared as a bag; used as `IncrementalAggregateLaws`."""

    _subject_type: ClassVar[type] = IncrementalOperator


class TimeSensitiveIncrementalOperatorLaws(
    DefinitionLaws, PurityLaws, SeveralInputsLaws, StateLaws, RemovingLaws, UpgradingLaws, ClipLaws, LifetimeLaws
):
    """The laws of a `TimeSensitiveIncrementalOperator`; used as `IncrementalAggregateLaws`."""

    _subject_type: ClassVar[type] = TimeSensitiveIncrementalOperator
