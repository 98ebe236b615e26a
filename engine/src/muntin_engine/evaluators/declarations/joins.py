"""The evaluators of two inputs that meet where their events overlap, and of events that are results themselves."""

from __future__ import annotations

from typing import Final

from muntin import EmitPolicy, JoinKind, LatePolicy
from muntin_engine.plan.chosen_evaluator import Explanation
from muntin_engine.plan.evaluator_declaration import Declaration
from muntin_engine.plan.plan import Plan

# Parts of sentences that several explanations have.
_LEAST_WATERMARK: Final = "the least watermark of the two inputs"
_FINAL_AT_ONCE: Final = f"a pair is final, and emitted, when both events are there; complete to {_LEAST_WATERMARK}"
_IN_A_LOG: Final = "in a log per bucket: a batch appends the changes of the keys that have rows or a timer"


# Inner joins of events whose ends stay, on arrays.


def joins_fixed_events(plan: Plan) -> str | None:
    """Demand an inner join of events whose ends do not move, so that pairs are final; return why not, or None."""
    if plan.join is None:
        return "its inputs are not joined"
    if plan.join.kind is not JoinKind.INNER:
        return f"rows of how={str(plan.join.kind)!r} wait for a watermark"
    for input in plan.inputs:
        if input.event_ends_move:
            return f"ends of events of {input.name} may move"
        if input.late.policy is LatePolicy.ADJUST:
            return f"late events of {input.name} start at the watermark"
    if plan.emit is not EmitPolicy.FINAL:
        return f"emit={str(plan.emit)!r} names each row"
    return None


def explain_pairs(plan: Plan) -> Explanation:
    """Return the evaluation of an inner join of events whose ends stay in words."""
    left, right = (input.name for input in plan.inputs)
    events = f"an event of {left} until the watermark of {right} has passed its end, and the other way round"
    return Explanation(
        row="a search among the kept events of its key, and a step for each that it may overlap, on arrays",
        state=f"{events}; a batch writes only its own rows",
        output=_FINAL_AT_ONCE,
        lag="none",
    )


PAIRING: Final = Declaration(
    name="pairing",
    advantage="pairs of events whose ends stay are final at once",
    explain=explain_pairs,
    demands=(joins_fixed_events,),
    takes_inputs=range(2, 3),
    takes_windows=False,
    lifts=True,
    unreported=frozenset({"windows_closed", "windows_open", "windows_revisable", "keys_held", "retractions"}),
)
"""Runs inner joins of events whose ends do not move: pairs are final when both events are there."""


# Joins of any kind, key by key.


def joins_inputs(plan: Plan) -> str | None:
    """Demand that two inputs are joined; return why not, or None."""
    return None if plan.joins_inputs else "its inputs are not joined"


def explain_join(plan: Plan) -> Explanation:
    """Return the evaluation of a join in words."""
    is_eager = plan.emit is EmitPolicy.EAGER
    if _pairs_are_final(plan):
        output = _FINAL_AT_ONCE
        lag = "none"
    elif is_eager:
        output = f"rows are emitted at once, and change until they are settled; complete to {_LEAST_WATERMARK}"
        lag = "none"
    else:
        output = (
            "a row is emitted when nothing can change it: the watermarks have passed the ends that may move, "
            f"and that of {plan.inputs[1].name} the part without its events"
        )
        lag = "as long as a row waits for that, as it starts before"

    row = "a search among the kept events of its key, and a step for each event that it overlaps"
    if not is_eager and not _pairs_are_final(plan):
        row = "a step for each kept event of its key, once in a batch, and for each event that it overlaps"
    return Explanation(row, _state_of_join(plan), output=output, lag=lag)


def _state_of_join(plan: Plan) -> str:
    """Return the words for the state of a join: for how long it keeps events."""
    assert plan.join is not None, "the planner gives it joins alone"
    left, right = (input.name for input in plan.inputs)
    state = f"an event of {left} until the watermark of {right} has passed its end"
    if plan.join.kind is JoinKind.INNER:
        state += ", and the other way round"
    elif plan.join.kind is JoinKind.CLIP:
        state += f", or the event that clips it; one of {right} until that of {left} has, and while it clips one"
    else:
        state += f", one of {right} until that of {left} has, and no kept event of {left} starts before its end"
    for input in plan.inputs:
        if input.event_ends_move:
            state += f"; one of {input.name} at least until its end can no longer move"
    if not _pairs_are_final(plan):
        state += "; which rows were emitted of kept events"
    return f"{state}; {_IN_A_LOG}"


def _pairs_are_final(plan: Plan) -> bool:
    """Return True if a row of the output never changes once its events are there: pairs of events whose ends stay."""
    return plan.join is not None and plan.join.kind is JoinKind.INNER and not plan.event_ends_move


JOINING: Final = Declaration(
    name="joining",
    advantage="two streams meet where their events overlap",
    explain=explain_join,
    demands=(joins_inputs,),
    takes_inputs=range(2, 3),
    takes_windows=False,
    takes_revisions=True,
    unreported=frozenset({"windows_closed", "windows_open", "windows_revisable", "early"}),
)
"""Runs temporal joins of two inputs, of any kind, with revisions in and retractions out."""


# Events that are the results.


def returns_events(plan: Plan) -> str | None:
    """Demand that the events themselves are the results; return why not, or None."""
    return None if plan.passes_events else "its results are not the events themselves"


def explain_events(plan: Plan) -> Explanation:
    """Return the evaluation of a query whose results are its events in words."""
    if plan.emit is EmitPolicy.EAGER:
        output = "events are emitted at once, and corrected when they are revised; complete to the watermark"
        lag = "none"
    elif not plan.input.event_ends_move:
        output = "an event is final, and emitted, when it comes; complete to the watermark"
        lag = "none"
    else:
        output = "an event is emitted when the watermark has passed its end, which may move until then"
        lag = "as long as an event waits for that, as it starts before"

    state = "none but the progress of the input, as nothing can change an event that came"
    if plan.input.event_ends_move:
        state = f"an event until its end can no longer move, {_IN_A_LOG}"
    row = "a step for itself, and one for each kept event of its key, once in a batch"
    return Explanation(row, state, output=output, lag=lag)


PASSING: Final = Declaration(
    name="passing",
    advantage="its events are its results",
    explain=explain_events,
    demands=(returns_events,),
    takes_windows=False,
    takes_revisions=True,
    unreported=JOINING.unreported,
)
"""Returns the events of one input as they are, changed and filtered, with revisions in and retractions out."""
