"""The evaluators on arrays: rows become values that are merged, and windows are made of them for all keys at once.

The values that stretches hold are the one difference between them: components of forms, Python states, or rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from muntin import Component, Merge
from muntin.windows.regular import GrowingSteps
from muntin_engine.evaluators.declarations.combinations import COMBINATIONS, can_be_subtracted
from muntin_engine.plan.chosen_evaluator import Arrivals, Explanation, Geometry, Held
from muntin_engine.plan.evaluator_declaration import Declaration
from muntin_engine.plan.module_plan import ModulePlan
from muntin_engine.plan.plan import Plan
from muntin_engine.plan.plan_words import spell_state_sizes
from muntin_engine.plan.window_steps import steps_of


class Words(NamedTuple):
    """The words for queries that a combination of parts evaluates.

    Attributes:
        row: Returns the cost of a row.
        state: Returns what is kept between micro-batches, and its bound.
        module: Returns how a module is computed, and why so.
    """

    row: Callable[[Plan], str]
    state: Callable[[Plan], str]
    module: Callable[[Plan, ModulePlan], str]


def explain(plan: Plan) -> Explanation:
    """Return the evaluation of a query on arrays in words."""
    parts = plan.arrays
    # The functions for the words on a row, on the state and on a module.
    words = WORDS[parts.geometry, parts.arrivals, parts.held]
    modules = tuple(words.module(plan, module) for module in plan.modules)
    return Explanation(words.row(plan), words.state(plan), modules)


# The cost of a row.


def _row_into_slice(plan: Plan) -> str:
    """Return the words for the cost of a row that is merged into its slice."""
    slices = plan.arrays.grids[0]  # the grids of all windows have the same slices
    spell_length = plan.words.spell_length if slices.periods is None else slices.periods.spell
    cycle = spell_length(slices.cycle)
    count = len(slices.cuts)
    unit = f"its slice of {cycle}" if count == 1 else f"its slice, one of {count} in {cycle}"
    return f"merged once into {unit}, before the shuffle, whatever size/hop"


def _row_into_run(plan: Plan) -> str:
    """Return the words for the cost of a row that is merged into a range of windows."""
    del plan
    return "merged once into the range of windows that it overlaps, before the shuffle, whatever size/hop"


def _row_into_session(plan: Plan) -> str:
    """Return the words for the cost of a row that is merged into a session as components of a form."""
    del plan
    return "lifted before the shuffle, and fused with its session after it"


def _row_into_session_state(plan: Plan) -> str:
    """Return the words for the cost of a row that is added to the Python state of its session."""
    del plan
    return "crosses the shuffle as it is, and is added there to the state of its session"


def _row_between_edges(plan: Plan) -> str:
    """Return the words for the cost of a row whose start and end cut snapshots."""
    del plan
    return "lifted before the shuffle; its start and its end are sorted among those of its key after it"


def _row_of_event_into_run(plan: Plan) -> str:
    """Return the words for the cost of a row of an event that may be revised, over windows on a grid."""
    del plan
    return (
        "admitted by the sorted ids of its bucket; its event is merged once into the range of windows that it overlaps"
    )


def _row_of_event_between_edges(plan: Plan) -> str:
    """Return the words for the cost of a row of an event that may be revised, over snapshots."""
    del plan
    return "admitted by the sorted ids of its bucket; its start and its end are sorted among those of its key"


def _row_in_columns(plan: Plan) -> str:
    """Return the words for the cost of a row that is kept as it is."""
    if plan.arrays.slides:
        return "a constant, as it is added to a state once, and removed at most once"
    return "a constant for each window that it is a member of, when that closes"


# What is kept between micro-batches.


def _state_of_slices(plan: Plan) -> str:
    """Return the words for the state of windows on slices."""
    if plan.window.growing() is not None:
        partial_states = "a partial state per key, of all that came before, and one per slice after it"
        return f"{partial_states}; {spell_state_sizes(plan)}"
    return _partial_states_per("key and slice of the open windows", plan)


def _state_of_runs(plan: Plan) -> str:
    """Return the words for the state of windows on ranges of slices."""
    return _partial_states_per("key and range of windows of the open windows", plan)


def _state_of_sessions(plan: Plan) -> str:
    """Return the words for the state of sessions."""
    return _partial_states_per("key and open session", plan)


def _partial_states_per(stretch: str, plan: Plan) -> str:
    """Return the words for a state that has a partial state per `stretch`, which is in words too."""
    return f"a partial state per {stretch}; {spell_state_sizes(plan)}; a batch writes only its own partial states"


def _state_of_snapshots(plan: Plan) -> str:
    """Return the words for the state of snapshots of events that are never revised."""
    events = "a partial state per event until the watermark passes its end"
    return f"{events}; {spell_state_sizes(plan)}; a batch writes only its own"


def _state_of_events_on_grid(plan: Plan) -> str:
    """Return the words for the state of events that may be revised, over windows on a grid."""
    after_end = "from then on a partial state per key and range of the open windows"
    return (
        f"{_kept_events(plan)}; {after_end}; {spell_state_sizes(plan)}; a batch writes only the events that it changed"
    )


def _state_of_events(plan: Plan) -> str:
    """Return the words for the state of events that may be revised, over snapshots."""
    return f"{_kept_events(plan)}; a batch writes only the events that it changed"


def _kept_events(plan: Plan) -> str:
    """Return the words for how long an event that may be revised is kept, with its live results and waiting rows."""
    live_results = " and the last output of each window that may change," if plan.emission.may_retract else ""
    return (
        f"an event until the watermark passes its end,{live_results} and the rows that wait for others of their event"
    )


def _state_of_rows(plan: Plan) -> str:
    """Return the words for a state that has the rows as they came."""
    rows = "all rows, as none ever leaves its windows" if plan.window.keeps_all else "the rows of open windows"
    return f"{rows}, in columns as they came; a batch writes only its own rows"


# How a module is computed.


def _form_on_slices(plan: Plan, module: ModulePlan) -> str:
    """Return the words for a form that is computed on slices."""
    del plan
    otherwise = "windows are merged from running values, as not all of it can be subtracted exactly"
    return _form_on_grid(module, otherwise)


def _form_on_runs(plan: Plan, module: ModulePlan) -> str:
    """Return the words for a form that is computed on ranges of windows."""
    del plan
    otherwise = "windows share the blocks of a tree, as not all of it can be subtracted exactly"
    return _form_on_grid(module, otherwise)


def _form_on_grid(module: ModulePlan, otherwise: str) -> str:
    """Return the words for a form on a grid; they end with `otherwise` if not all of it can be subtracted."""
    if all(map(can_be_subtracted, _components(module).values())):
        return _keeps(module, "added where its first window starts, and subtracted after its last one")
    return _keeps(module, otherwise)


def _form_in_sessions(plan: Plan, module: ModulePlan) -> str:
    """Return the words for a form that is computed in sessions."""
    del plan
    return _keeps(module, "what is near each other is fused")


def _form_in_snapshots(plan: Plan, module: ModulePlan) -> str:
    """Return the words for a form that is computed in snapshots."""
    del plan
    return _keeps(module, "added where an event starts, and subtracted where it ends")


def _keeps(module: ModulePlan, merging: str) -> str:
    """Return the words for the components of a form, and for their merging.

    Args:
        module: The module that has the form.
        merging: The words for the merging; others are used if a component collects values, which no merging shares.
    """
    words = []
    for name, component in _components(module).items():
        words.append(f"{name} ({component.merge} {component.dtype})")
        if component.merge is Merge.COLLECT:
            merging = "each window sorts all its values"
    return f"keeps {', '.join(words)}; {merging}"


def _components(module: ModulePlan) -> Mapping[str, Component]:
    """Return the components of the columnar form of a module, by name; none without a form."""
    return {} if module.form is None else module.form.components()


def _states_on_slices(plan: Plan, module: ModulePlan) -> str:
    """Return the words for Python states of a module that are combined on slices."""
    (grid, *_) = steps_of(plan)
    if isinstance(grid, GrowingSteps):
        return "its states are combined per slice, and into one state for each key that windows grow from"
    if grid.hop >= grid.size:
        return "its states are combined per slice, each window has slices of its own"
    if hasattr(module.module, "deduct"):
        return "its states are combined per slice; a window deducts the slices that leave it"
    return "its states are combined per slice; windows share them on two stacks, as it has no deduct"


def _states_in_sessions(plan: Plan, module: ModulePlan) -> str:
    """Return the words for Python states of a module that are combined in sessions."""
    del plan, module
    return "adds a session's rows of a batch in one call, and combines its states where sessions touch"


def _members_of_windows(plan: Plan, module: ModulePlan) -> str:
    """Return the words for a module that is computed from rows as they came."""
    if plan.arrays.slides:
        return "its state goes on from window to window, as rows come and go"
    if not module.module.is_incremental:
        return "computed from the members of each window, as it is not incremental"
    if module.module.reads_order:
        return "computed from the members of each window in their order"
    return "its state is built from the members of each window"


_ROWS: Final = Words(_row_in_columns, _state_of_rows, _members_of_windows)
"""The words for rows that are kept as they are, whatever the windows."""

WORDS: Final[Mapping[tuple[Geometry, Arrivals, Held], Words]] = {
    (Geometry.SLICES, Arrivals.INSERTIONS, Held.COMPONENTS): Words(_row_into_slice, _state_of_slices, _form_on_slices),
    (Geometry.SLICES, Arrivals.INSERTIONS, Held.STATES): Words(_row_into_slice, _state_of_slices, _states_on_slices),
    (Geometry.SLICES, Arrivals.INSERTIONS, Held.ROWS): _ROWS,
    (Geometry.RUNS, Arrivals.INSERTIONS, Held.COMPONENTS): Words(_row_into_run, _state_of_runs, _form_on_runs),
    (Geometry.RUNS, Arrivals.INSERTIONS, Held.ROWS): _ROWS,
    (Geometry.RUNS, Arrivals.IDENTIFIED, Held.COMPONENTS): Words(
        _row_of_event_into_run, _state_of_events_on_grid, _form_on_runs
    ),
    (Geometry.SESSIONS, Arrivals.INSERTIONS, Held.COMPONENTS): Words(
        _row_into_session, _state_of_sessions, _form_in_sessions
    ),
    (Geometry.SESSIONS, Arrivals.INSERTIONS, Held.STATES): Words(
        _row_into_session_state, _state_of_sessions, _states_in_sessions
    ),
    (Geometry.SESSIONS, Arrivals.INSERTIONS, Held.ROWS): _ROWS,
    (Geometry.SNAPSHOTS, Arrivals.INSERTIONS, Held.COMPONENTS): Words(
        _row_between_edges, _state_of_snapshots, _form_in_snapshots
    ),
    (Geometry.SNAPSHOTS, Arrivals.INSERTIONS, Held.ROWS): _ROWS,
    (Geometry.SNAPSHOTS, Arrivals.IDENTIFIED, Held.COMPONENTS): Words(
        _row_of_event_between_edges, _state_of_events, _form_in_snapshots
    ),
}
"""The words for each of `COMBINATIONS`."""


COLUMNAR: Final = Declaration(
    name="columnar",
    advantage="all modules have a columnar form",
    explain=explain,
    holds=Held.COMPONENTS,
    combinations=COMBINATIONS,
    takes_several_windows=True,
    takes_revisions=True,
    lifts=True,
    unreported=frozenset({"keys_held", "events_held"}),
)
"""Merges components of columnar forms."""

SLICED: Final = replace(
    COLUMNAR,
    name="sliced",
    advantage="all modules define combine",
    holds=Held.STATES,
    takes_revisions=False,
)
"""Merges the Python states of modules that define `combine`."""

GROUPED: Final = replace(
    SLICED,
    name="grouped",
    advantage="its rows wait in columns until their windows close",
    holds=Held.ROWS,
)
"""Calls any module with the rows of each window, which wait in columns until it closes."""
