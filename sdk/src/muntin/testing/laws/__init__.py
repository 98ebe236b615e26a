"""The laws of the base classes, as classes that a module writer's tests subclass.

What they do not see is listed in docs/reference/laws.md.
"""

from muntin.testing.laws.aggregate_laws import (
    AggregateLaws,
    ColumnarAggregateLaws,
    IncrementalAggregateLaws,
    IncrementalOperatorLaws,
    OperatorLaws,
)
from muntin.testing.laws.conformance import laws_of
from muntin.testing.laws.following_laws import RowOperatorLaws, StreamOperatorLaws
from muntin.testing.laws.function_laws import FunctionLaws
from muntin.testing.laws.progress_policy_laws import ProgressPolicyLaws
from muntin.testing.laws.result_refinement_laws import ResultRefinementLaws
from muntin.testing.laws.row_window_laws import RowWindowLaws
from muntin.testing.laws.state_laws import OldState
from muntin.testing.laws.trial import LawError
from muntin.testing.laws.trigger_laws import TriggerLaws
from muntin.testing.laws.verdicts import Outcome, Verdict, laws_applying_to, laws_for, try_laws
from muntin.testing.laws.window_kind_laws import WindowKindLaws

__all__ = [
    "AggregateLaws",
    "ColumnarAggregateLaws",
    "FunctionLaws",
    "IncrementalAggregateLaws",
    "IncrementalOperatorLaws",
    "LawError",
    "OldState",
    "OperatorLaws",
    "Outcome",
    "ProgressPolicyLaws",
    "ResultRefinementLaws",
    "RowOperatorLaws",
    "RowWindowLaws",
    "StreamOperatorLaws",
    "TriggerLaws",
    "Verdict",
    "WindowKindLaws",
    "laws_applying_to",
    "laws_for",
    "laws_of",
    "try_laws",
]
