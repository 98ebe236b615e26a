"""Queries as tables of tests write them: `query(First, window=session(9), **IDS)` is a plan, without Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from types import ModuleType
from typing import Any, Final, NamedTuple

import muntin
import muntin_stats
from muntin import (
    Aggregate,
    Axis,
    ClipPolicy,
    ColumnarAggregate,
    Component,
    EmitPolicy,
    Event,
    IncrementalAggregate,
    Operator,
    OutputContract,
    StreamOperator,
    TimestampPolicy,
    Window,
    calendar,
    progress,
    rows,
    triggers,
    tumbling,
)
from muntin.policies import parse_lateness
from muntin.progress import ordered
from muntin.windows.specification import Unwindowed
from muntin_engine.evaluators.declarations import parse_evaluator
from muntin_engine.plan import ModulePlan, NamedColumn, Plan
from muntin_engine.plan.lengths import AxisScale
from muntin_engine.plan.plan_words import spell_grouping, spell_windows
from muntin_engine.plan.window_steps import steps_of
from muntin_patterns import FollowedBy
from tests.engine.plan.plans import AT, input_of, plan_of, planned
from tests.modules.columnar import Statistics
from tests.modules.members import Count, Echo, Lifetimes, Members
from tests.modules.merged_states import Joined
from tests.modules.progress_policies import Guarded, Outvoted
from tests.modules.refinements import OnlyIfMoved, OtherThanBefore
from tests.modules.small import Count as CountWithoutRemove


class Span(NamedTuple):
    low: int
    high: int


class Scaled(Aggregate[int, int]):
    """A module with parameters, of which it refuses one value."""

    name, version = "show.scaled", "1.0.0"

    def __init__(self, by: Any = 1, *, labels: Any = ()) -> None:
        if by == 0:
            raise ValueError("by must not be 0")
        self.by = by

    def compute_result(self, payloads: Sequence[int]) -> int:
        return sum(payloads)


class Spans(Operator[int, Span]):
    """An operator whose rows are records: each field is a column."""

    name, version = "show.spans", "1.0.0"

    def compute_result(self, payloads: Sequence[int]) -> list[Span]:
        return []


class Bound(Operator[int, int]):
    """An operator with time-bound results, which accepts two clips."""

    name, version = "show.bound", "1.0.0"
    is_time_sensitive = True
    accepted_clips = frozenset({ClipPolicy.FULL, ClipPolicy.RIGHT})
    contract = OutputContract.TIME_BOUND

    def compute_result(self, events: Sequence[Event[int]], window: Window) -> list[int]:
        return []


class Free(Bound):
    """An operator that promises nothing of its results."""

    name = "show.free"
    accepted_clips = frozenset(ClipPolicy)
    contract = OutputContract.UNRESTRICTED


class Sketch(IncrementalAggregate[int, list[int], int]):
    """A module whose states can be combined, and have a bounded size."""

    name, version = "show.sketch", "1.0.0"
    state_bytes = 900

    def create_state(self) -> list[int]:
        return []

    def add_events(self, state: list[int], payloads: Sequence[int]) -> list[int]:
        return [*state, *payloads]

    def combine(self, state: list[int], other: list[int]) -> list[int]:
        return [*state, *other]

    def compute_result(self, state: list[int]) -> int:
        return len(state)


class Listing(Sketch):
    """A module whose states grow with their values."""

    name = "show.listing"
    state_bytes = None  # type: ignore[assignment]  # nobody knows


class Peeled(Sketch):
    """A module whose states can be taken away from merged ones."""

    def deduct(self, state: list[int], other: list[int]) -> list[int]:
        return state[len(other) :]


class Whole(ColumnarAggregate[int, int]):
    """A sum on arrays, which can be subtracted exactly."""

    name, version = "show.whole", "1.0.0"

    def components(self) -> Mapping[str, Component]:
        return {"total": Component.sum("int64")}

    def lift(self, payloads: Any) -> Mapping[str, Any]:
        return {"total": payloads}

    def compute_results(self, components: Mapping[str, Any]) -> Any:
        return components["total"]


class Steps(StreamOperator[int, list[int], int]):
    """A stream operator that emits each payload."""

    name, version = "test.steps", "1.0.0"

    def create_state(self) -> list[int]:
        return []

    def on_event(self, state: list[int], payload: int, time: int) -> list[int]:
        return [payload]


def query(*modules: Any, input: Any = None, late: Any = None, order: int | None = None, **fields: Any) -> Plan:
    """Return the plan of a query, by default of the plainest one.

    Args:
        modules: Classes of modules, or plans of modules.
        input: Input, or its progress policy.
        late: Policy for late rows.
        order: Place of the payload's column that orders events of one time.
        fields: Further arguments of `plan_of`.
    """
    if late is not None:
        input = input_of(ordered(), late=parse_lateness(late))
    elif order is not None:
        input = input_of(order=order)
    elif input is not None and not hasattr(input, "columns"):
        input = input_of(input)
    module_plans: list[ModulePlan] = []
    for place, module in enumerate(modules):
        module_plans.append(module if isinstance(module, ModulePlan) else _planned(module, f"m{place}"))
    return plan_of(*module_plans, input=input, **fields)


def _planned(cls: Any, output: str) -> ModulePlan:
    """Return a module with the parameters that it cannot do without."""
    parameters = {"within": 10} if cls is FollowedBy else {}
    return planned(cls, "" if cls.is_operator else output, **parameters)


def names(plan: Plan) -> list[str]:
    """Return the columns of a query's results."""
    return [output.name for output in plan.outputs]


def resolved(policy: Any) -> Any:
    """Return a policy whose lengths are ticks of an axis of time."""
    return AxisScale(Axis.TIME).resolve(policy)


def column(role: str, name: str, type: str = "string") -> dict[str, Any]:
    """Return a change of the columns of a query."""
    return {"columns": {role: NamedColumn(name, type)}}


def keys(*columns: tuple[str, str]) -> dict[str, Any]:
    """Return a change of the keys of a query, each of a name and a type."""
    return {"columns": {"keys": tuple(NamedColumn(name, type) for name, type in columns)}}


def _public(module: ModuleType) -> dict[str, Any]:
    """Return what a module offers, by name."""
    return {name: getattr(module, name) for name in module.__all__}


_MODULES = (Bound, Count, Echo, FollowedBy, Free, Joined, Lifetimes, Listing, Members, Peeled)
_POLICIES = (EmitPolicy.FINAL, EmitPolicy.EAGER, EmitPolicy.SPECULATIVE)

NAMES: Final[dict[str, Any]] = {
    **_public(muntin_stats),
    **_public(muntin),
    **_public(progress),
    **_public(triggers),
    **_public(rows),
    **{cls.__name__: cls for cls in (*_MODULES, Scaled, Sketch, Spans, Statistics, Steps, Whole)},
    **{cls.__name__: cls for cls in (Decimal, Guarded, OnlyIfMoved, OtherThanBefore, Outvoted, Unwindowed)},
    **{
        function.__name__: function
        for function in (column, input_of, keys, names, parse_evaluator, planned, query, resolved)
    },
    **{derived.__name__: derived for derived in (spell_grouping, spell_windows, steps_of)},
    **{policy.name: {"emit": policy} for policy in _POLICIES},
    **{f"CLIP_{clip.name}": {"clip": clip} for clip in ClipPolicy},
    **{f"TIMES_{policy.name}": {"timestamps": policy} for policy in TimestampPolicy},
    "BERLIN": calendar("day", zone="Europe/Berlin"),
    "SAMOA": calendar("day", zone="Pacific/Apia"),
    "CountWithoutRemove": CountWithoutRemove,
    "DAY": muntin.ticks("1 day"),
    "EDGE": {"is_edge": True},
    "IDS": column("id", "id", "bigint"),
    "LASTING": {"columns": {"end": AT}},
    "PUNCTUATED": column("change", "what"),
    "SEQ": {"columns": {"payload": (NamedColumn("c0", "bigint"), NamedColumn("seq", "bigint"))}},
    "LOOKS_BACK": {"window": tumbling(20, reach=11), "axis": Axis.TICKS, "clip": ClipPolicy.RIGHT},
    "ASKED": {"from_modules": frozenset({"clip", "timestamps"})},
    "TICKS": {"axis": Axis.TICKS},
}
"""What an expression of a table may name: all of the SDK, the modules here, and changes of a query in capitals."""


def value_of(expression: str) -> Any:
    """Return the value of an expression of a table."""
    return eval(expression, dict(NAMES))
