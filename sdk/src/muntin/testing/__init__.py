"""Testing without Spark: the laws as test classes, streams as data, and the reference evaluator.

A module is tested against the laws of its base class in milliseconds. Two files, `average.py`:

    from dataclasses import dataclass
    from muntin import IncrementalAggregate

    @dataclass
    class Sum:
        total: float = 0.0
        count: int = 0

    class Average(IncrementalAggregate[float, Sum, float]):
        name, version = "demo.average", "1.0.0"

        def create_state(self):
            return Sum()

        def add_events(self, state, payloads):
            return Sum(state.total + sum(payloads), state.count + len(payloads))

        def remove_events(self, state, payloads):
            return Sum(state.total - sum(payloads), state.count - len(payloads))

        def compute_result(self, state):
            return state.total / state.count

and `test_average.py`:

    from average import Average
    from muntin.testing import Computation, IncrementalAggregateLaws, Script, WindowedQuery
    from muntin import tumbling

    class TestAverage(IncrementalAggregateLaws):
        module = Average()

    def test_an_average_per_window():
        script = Script().point("a", 1, 2.0).point("b", 4, 3.0).point("c", 12, 7.0).close()
        output = script.run(WindowedQuery(tumbling(10), [Computation(Average())]))
        assert [row.value for row in output[None]] == [(2.5,), (7.0,)]

An engine is tested with the same scripts: `Script.run` says what the output must fold to.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

from muntin.testing.batches import Batch, Boundary, KeyedChange, KeyPunctuation, KeyRange
from muntin.testing.equality import equal, same_bag
from muntin.testing.reference import Computation, OutputEvent, WindowedQuery, evaluate, evaluate_evicted, horizon_of
from muntin.testing.scripts import Script
from muntin.testing.timeline import draw_steps

if TYPE_CHECKING:
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
else:
    _LAW_FILES: Final = {
        "aggregate_laws": (
            *("AggregateLaws", "ColumnarAggregateLaws", "IncrementalAggregateLaws"),
            *("IncrementalOperatorLaws", "OperatorLaws"),
        ),
        "conformance": ("laws_of",),
        "following_laws": ("RowOperatorLaws", "StreamOperatorLaws"),
        "function_laws": ("FunctionLaws",),
        "progress_policy_laws": ("ProgressPolicyLaws",),
        "result_refinement_laws": ("ResultRefinementLaws",),
        "row_window_laws": ("RowWindowLaws",),
        "state_laws": ("OldState",),
        "trial": ("LawError",),
        "trigger_laws": ("TriggerLaws",),
        "verdicts": ("Outcome", "Verdict", "laws_applying_to", "laws_for", "try_laws"),
        "window_kind_laws": ("WindowKindLaws",),
    }
    _LAW_FILE_OF: Final = {name: file for file, names in _LAW_FILES.items() for name in names}

    def __getattr__(name):
        """Import the laws when one of them is first used.

        Laws need Hypothesis and pytest. Scripts and the reference evaluator do not, and `muntin run` has only those.
        """
        if name not in _LAW_FILE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        law_file = import_module(f"{__name__}.laws.{_LAW_FILE_OF[name]}")
        value = getattr(law_file, name)
        globals()[name] = value  # the next use finds the name without this function
        return value

    def __dir__():
        """Return the names of everything that is there, used or not."""
        return sorted({*globals(), *__all__})


__all__ = [
    "AggregateLaws",
    "Batch",
    "Boundary",
    "ColumnarAggregateLaws",
    "Computation",
    "FunctionLaws",
    "IncrementalAggregateLaws",
    "IncrementalOperatorLaws",
    "KeyPunctuation",
    "KeyRange",
    "KeyedChange",
    "LawError",
    "OldState",
    "OperatorLaws",
    "Outcome",
    "OutputEvent",
    "ProgressPolicyLaws",
    "ResultRefinementLaws",
    "RowOperatorLaws",
    "RowWindowLaws",
    "Script",
    "StreamOperatorLaws",
    "TriggerLaws",
    "Verdict",
    "WindowKindLaws",
    "WindowedQuery",
    "draw_steps",
    "equal",
    "evaluate",
    "evaluate_evicted",
    "horizon_of",
    "laws_applying_to",
    "laws_for",
    "laws_of",
    "same_bag",
    "try_laws",
]
