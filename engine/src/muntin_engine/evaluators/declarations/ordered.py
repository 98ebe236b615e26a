"""The evaluators that follow rows in their order: row windows, and stream operators with state and without."""

from __future__ import annotations

from typing import Final

from muntin import EmitPolicy, IntervalOperator, RowOperator, StreamOperator
from muntin_engine.modules.abilities import states_replace_rows
from muntin_engine.plan.chosen_evaluator import Explanation
from muntin_engine.plan.evaluator_declaration import Declaration
from muntin_engine.plan.module_plan import ModulePlan
from muntin_engine.plan.plan import Plan
from muntin_engine.plan.plan_words import spell_state_sizes, spell_windows

# Windows that follow rows.


def follows_rows(plan: Plan) -> str | None:
    """Demand that windows follow rows in their order; return why not, or None."""
    return f"{spell_windows(plan)} does not follow rows in their order" if plan.rows is None else None


def explain_row_windows(plan: Plan) -> Explanation:
    """Return the evaluation of windows that follow rows in words."""
    return Explanation(
        row="a step of its key's windows, when the watermark passes it; a window that is computed, what modules cost",
        state=_state_of_row_windows(plan),
        modules=tuple(_module_over_rows(plan, module) for module in plan.modules),
    )


def _state_of_row_windows(plan: Plan) -> str:
    """Return the words for the state of row windows."""
    in_windows = "those in windows"
    if _states_replace_rows(plan):
        in_windows = f"a state per module and open window ({spell_state_sizes(plan)})"
    log = "in a log per bucket: a batch appends the keys that have rows or a timer"
    return f"the rows that wait for the watermark, and {in_windows}, {log}"


def _module_over_rows(plan: Plan, module: ModulePlan) -> str:
    """Return the words for the computation of a module over row windows."""
    if isinstance(module.module, RowOperator):
        return "told of each row that comes, passes or leaves, and of each window that is computed"
    if not module.module.is_incremental:
        return "computed from the rows of each window, as it is not incremental"
    if _states_replace_rows(plan):
        return "rows are added to its state when they come, and not kept"
    if hasattr(module.module, "remove_events") and not module.module.is_time_sensitive:
        return "its state follows the rows that come and go"
    return "its state is built from each window's rows"


def _states_replace_rows(plan: Plan) -> bool:
    """Return True if row windows keep states of modules in the place of rows."""
    return plan.rows is not None and states_replace_rows(plan.rows, [module.module for module in plan.modules])


IN_ORDER: Final = Declaration(
    name="in_order",
    advantage="its windows follow rows in their order",
    explain=explain_row_windows,
    demands=(follows_rows,),
    takes_revisions=True,
    unreported=frozenset({"windows_revisable"}),
)
"""Runs windows that follow rows in their order. Rows wait in a delay buffer until the watermark has passed them."""


# Stream operators that keep a state.


def has_stream_operator(plan: Plan) -> str | None:
    """Demand that the one module is a stream operator; return why not, or None."""
    if plan.passes_events:
        # No operator is called, as the events are the results: what helps is the reason why these need a state.
        return needs_no_state(plan) or "it has no stream operator"
    modules = [module.module for module in plan.modules]
    return None if len(modules) == 1 and isinstance(modules[0], StreamOperator) else "it has no stream operator"


def explain_stream_operator(plan: Plan) -> Explanation:
    """Return the evaluation of a stream operator in words."""
    follows_intervals = any(isinstance(module.module, IntervalOperator) for module in plan.modules)
    waiting_events = "the events whose ends wait" if follows_intervals else "the events that wait"
    return Explanation(
        row="a call of the operator, as for a wake-up; a key without either costs nothing",
        state=(
            f"{waiting_events} for the watermark, and the operator's state of each key until it is empty, in a log "
            "per bucket: a batch appends the keys that have rows or a wake-up"
        ),
        modules=tuple(map(_operator, plan.modules)),
        output="is complete up to the watermark, as no row starts before the event or the wake-up it comes from",
        lag="none",
    )


def _operator(module: ModulePlan) -> str:
    """Return the words for the times at which a stream operator is called."""
    events = "with each event of a key when the watermark has passed it"
    if isinstance(module.module, IntervalOperator):
        events = "with the start and the end of each event of a key, each when the watermark has passed it"
    return f"called {events}, and at the times that it asks for"


EVENT_BY_EVENT: Final = Declaration(
    name="event_by_event",
    advantage="it has no windows",
    explain=explain_stream_operator,
    demands=(has_stream_operator,),
    takes_windows=False,
    takes_revisions=True,
    unreported=frozenset({"windows_revisable", "windows_closed"}),
)
"""Runs a stream operator. Events wait in a delay buffer until the watermark has passed them.

A key's timer is its first waiting event, or its wake-up.
"""


# Queries that keep no state.


def calls_no_state(plan: Plan) -> str | None:
    """Demand that the one module is a stream operator of points that keeps no state; return why not, or None.

    A query whose results are the events themselves calls no operator, and meets this too.
    """
    if plan.passes_events:
        return None
    modules = [module.module for module in plan.modules]
    if len(modules) != 1 or not isinstance(modules[0], StreamOperator) or isinstance(modules[0], IntervalOperator):
        return "it has no operator that follows points"
    operator = type(modules[0])
    has_state = operator.create_state is not StreamOperator.create_state
    if has_state or operator.next_time is not StreamOperator.next_time:
        return f"{plan.modules[0].label} keeps a state, or asks for wake-ups"
    return None


def needs_no_state(plan: Plan) -> str | None:
    """Demand that no row is late, and that none says anything of another row; return why not, or None."""
    if plan.says_when_complete:
        return "the input has a watermark, by which rows may be late; without a delay no row is"
    if plan.passes_events and plan.input.has_samples:
        return "samples last until the next one of their key"
    if plan.passes_events and plan.emit is not EmitPolicy.FINAL:
        return f"emit={str(plan.emit)!r} names each row"
    return "events have ids, so they may be revised" if plan.input.columns.id is not None else None


def explain_stateless(plan: Plan) -> Explanation:
    """Return the evaluation of a query without state in words."""
    call = "nothing but its columns" if plan.passes_events else "a call of the operator"
    return Explanation(
        row=f"{call}, in the task that reads the row, without a shuffle",
        state="none",
        modules=("called with each event at once, in the order in which rows come",) * len(plan.modules),
        output="each row is final at once; as for the input, nothing says how complete it is",
        lag="no output watermark",
    )


STATELESS: Final = Declaration(
    name="stateless",
    advantage="nothing is kept from one row to another, and no row is late",
    explain=explain_stateless,
    demands=(calls_no_state, needs_no_state),
    takes_windows=False,
    keeps_state=False,
    unreported=frozenset(
        {"keys", "windows_closed", "windows_revisable", "keys_held", "events_held", "state_bytes", "bytes_written"}
        | {"watermark", "output_watermark", "late_by", "intake_us", "lift_us"}
    ),
)
"""Runs a stream operator that keeps no state over events that have no watermark, or returns such events themselves."""
