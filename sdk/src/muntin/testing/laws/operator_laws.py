"""The laws of operators that are computed from all members at once."""

from __future__ import annotations

from typing import ClassVar

from muntin.modules.operator import Operator, TimeSensitiveOperator
from muntin.testing.laws.definition import DefinitionLaws
from muntin.testing.laws.lifetimes import ClipLaws, LifetimeLaws
from muntin.testing.laws.purity import PurityLaws
from muntin.testing.laws.several_inputs import SeveralInputsLaws


class OperatorLaws(DefinitionLaws, PurityLaws, SeveralInputsLaws):
    """The laws of an `Operator`, rows compared as a bag; used as `AggregateLaws`."""

    _subject_type: ClassVar[type] = Operator


class TimeSensitiveOperatorLaws(OperatorLaws, ClipLaws, LifetimeLaws):
    """The laws of a `TimeSensitiveOperator`, under every clip it accepts; used as `AggregateLaws`."""

    _subject_type: ClassVar[type] = TimeSensitiveOperator
