"""The parts of a plan in words, for explanations and messages."""

from __future__ import annotations

from muntin.errors.messages import Call
from muntin.windows.specification import WrittenWindows
from muntin_engine.plan.plan import Plan


def spell_windows(plan: Plan) -> str:
    """Return all windows of a query as it writes them, with lengths in time where the axis is time."""
    if not plan.named_windows:
        return plan.words.describe_window(plan.window)
    return ", ".join(f"{name}={plan.words.describe_window(window)}" for name, window in plan.named_windows.items())


def spell_grouping(plan: Plan) -> str:
    """Return a query in a few words: its windows and its keys.

    Without windows the names of its operators take their place, or else `join` or `events`.
    """
    if plan.is_windowed:
        grouping = spell_windows(plan)
    elif plan.modules:
        grouping = ", ".join(module.module.name for module in plan.modules)
    else:
        grouping = "events" if plan.passes_events else "join"
    if not plan.keys:
        return grouping
    return f"{grouping} by {', '.join(key.name for key in plan.keys)}"


def spell_emission(plan: Plan) -> str:
    """Return the emission of results as its query writes it, with lengths of time in words."""
    return plan.written_emit or str(plan.emit)


def spell_state_sizes(plan: Plan) -> str:
    """Return in words whether the sizes of the modules' states have a bound."""
    growing = [module.label for module in plan.modules if module.is_holistic]
    if not growing:
        return "a state has a bounded size"
    return f"a state of {' or '.join(growing)} may grow with its values"


def written_windows(plan: Plan) -> WrittenWindows:
    """Return the windows of a query as a part of an error message, written as a call of Python or as SQL."""
    return plan.words.written_window(plan.window, spell_windows(plan))


def written_emission(plan: Plan) -> str | Call:
    """Return the emission of results as a part of an error message, where it is the value of `emit`."""
    return str(plan.emit) if plan.early is None else Call("early", ...)
