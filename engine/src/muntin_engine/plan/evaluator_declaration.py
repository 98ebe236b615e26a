"""What an evaluator declares: the queries that it can run, as data, and their evaluation in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from muntin import EmitPolicy
from muntin_engine.plan.chosen_evaluator import Arrivals, Explanation, Geometry, Held
from muntin_engine.plan.plan import Plan

Demand: TypeAlias = Callable[[Plan], str | None]
"""A condition of an evaluator: returns the reason why a query does not meet it, None if it does.

The docstring of such a function says what the evaluator demands.
"""


class Combination(NamedTuple):
    """A combination of parts on arrays: its conditions, and the emissions that it is capable of.

    Attributes:
        demands: The conditions that the modules of a query have to meet.
        emits: The emissions that it is capable of.
    """

    demands: tuple[Demand, ...]
    emits: tuple[EmitPolicy, ...] = (EmitPolicy.FINAL,)


Combinations: TypeAlias = Mapping[tuple[Geometry, Arrivals, Held], Combination]
"""The combinations of parts that evaluation on arrays has; a query that needs another one cannot be run there."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """An evaluator, as the planner sees it. All evaluators give the same results.

    Whoever plans a query hands the declarations of all evaluators to the planner, the cheapest first.

    Attributes:
        name: The name of the evaluator, in queries and checkpoints.
        advantage: The reason to choose it, where no cheaper evaluator can run the query.
        explain: Returns the evaluation of a query in words, given a plan that has this choice.
        demands: The conditions that a query has to meet; the first that it does not meet is why it cannot be run.
        holds: The values of stretches, if it works on arrays of these.
        combinations: The combinations of parts on arrays, from which its own are those that hold such values.
        takes_inputs: The numbers of inputs that a query may have.
        takes_windows: True if it runs queries with windows; otherwise it runs those without, and no others.
        takes_several_windows: True if a query may have several specifications of windows.
        takes_revisions: True if events may have ids, by which they are revised.
        lifts: True if map tasks turn rows into its blobs, merged or as columns; otherwise buckets get the rows.
        lifts_in_buckets: True if buckets keep rows, and compute results of these with columnar forms.
        keeps_state: False if each task has the results of its rows, so that there are neither buckets nor a shuffle.
        unreported: The metrics that it cannot report.
    """

    name: str
    advantage: str
    explain: Callable[[Plan], Explanation]
    demands: tuple[Demand, ...] = ()
    holds: Held | None = None
    combinations: Combinations = field(default_factory=dict)
    takes_inputs: range = range(1, 2)
    takes_windows: bool = True
    takes_several_windows: bool = False
    takes_revisions: bool = False
    lifts: bool = False
    lifts_in_buckets: bool = False
    keeps_state: bool = True
    unreported: frozenset[str] = frozenset()
