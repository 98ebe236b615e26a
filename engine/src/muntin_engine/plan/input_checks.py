"""Checks of the inputs of a query: that they belong together, and that policies fit each of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from muntin import Axis, LatePolicy
from muntin.catalog.named_windows import check_windows
from muntin.errors import ModuleError, PolicyError, QueryError
from muntin.errors.messages import Alternatives, Argument, Call, ParameterName, StreamCall
from muntin.errors.safe_text import safe_cause, safe_message, safe_repr
from muntin.progress import MOST_ROWS, ProgressPolicy, SourceProgress
from muntin.query_checks import LONGEST_WINDOW
from muntin.windows import WindowSpecification
from muntin.windows.specification import WrittenWindows
from muntin_engine.modules.abilities import states_replace_rows
from muntin_engine.plan.columns import NamedColumn
from muntin_engine.plan.inputs import Input
from muntin_engine.plan.plan import Plan
from muntin_engine.time.lifetimes import LifetimeChange, least_of
from muntin_engine.time.progress_tracker import watermark_by_policy

_NO_VALUE: Final = (
    "is not a value: {}\n  make it a frozen dataclass: @dataclass(frozen=True), with fields for what it is given"
)
"""The reason why a policy that cannot be copied is refused."""


def check_inputs(plan: Plan) -> None:
    """Refuse inputs that do not belong together, and policies that an input does not fit.

    Raises:
        QueryError: The keys or the times of two inputs are of different types, or two inputs have the same name.
        PolicyError: A policy does not fit an input.
    """
    first, *further_inputs = plan.inputs

    # Several inputs need names, and events that can meet.
    names = [input.name for input in plan.inputs]
    if further_inputs and (not all(names) or len(set(names)) < len(names)):
        raise QueryError(f"each input of several needs a name of its own, got {', '.join(map(repr, names))}")
    first_keys = [key.type for key in first.columns.keys]
    for input in further_inputs:
        keys = [key.type for key in input.columns.keys]
        if first_keys != keys:
            raise QueryError(
                f"inputs meet by key, and the keys of {first.name} are of type {', '.join(first_keys) or 'none'}, "
                f"those of {input.name} {', '.join(keys) or 'none'}\n"
                "  cast them to the same types, in the same order"
            )
        if first.columns.start.type != input.columns.start.type:
            raise QueryError(
                f"the times of {first.name} are {first.columns.start.type}, those of {input.name} "
                f"{input.columns.start.type}\n  cast them to the same type"
            )

    for input in plan.inputs:
        _check_input(input)


def _check_input(input: Input) -> None:
    """Refuse changes of lifetimes and policies that do not fit an input and its rows.

    Raises:
        QueryError: A change of lifetimes has a length that is too long, or windows that do not fit the times.
        PolicyError: A policy does not fit.
    """
    # The rules of an input are those of the single streams of a union.
    for rule in input.rules:
        for change in rule.lifetime_changes:
            _check_lifetime_change(change, input)
    for change in input.lifetime_changes:
        _check_lifetime_change(change, input)
    _check_policy(input.progress)
    for rule in input.rules:
        _check_policy(rule.progress)

    # The progress policy needs rows that bring punctuation or readings of a clock.
    has_rows_of_progress = input.columns.change is not None
    if input.progress.idle is not None and not (has_rows_of_progress or input.has_clock):
        raise PolicyError(
            "this input never says what time it is, so no source of it is ever idle\n"
            "  give it a clock, {with_clock}, or rows whose change is 'clock'",
            with_clock=StreamCall(Call("with_clock"), Call("events", ...)),
        )
    if input.progress.idle is not None and input.progress.idle.lag is None and not input.sources:
        raise PolicyError(
            "the only source of an input cannot be left out while it is idle\n"
            "  say how far behind the clock it then is: {with_idle}",
            with_idle=Call("with_idle", ..., Argument("lag", "10 minutes")),
        )
    if input.progress.by_key and not has_rows_of_progress:
        raise PolicyError(
            "keys are punctuated by rows, and no column says what a row does: events needs {change}",
            change=ParameterName("change"),
        )

    if input.late.policy is LatePolicy.ADJUST and input.has_samples:
        raise PolicyError(
            "samples last from one to the next, so late ones cannot be adjusted\n  use {right}",
            argument="late_policy",
            value=str(input.late),
            right=Alternatives("late_policy", ("side", Call("correct", "1 hour"))),
        )


def _check_policy(policy: ProgressPolicy) -> None:
    """Refuse a progress policy that would fail in the workers: it is called here with one row.

    Raises:
        PolicyError: The policy cannot be copied, keeps a wrong number of starts, raises an exception, or returns
            something that is not a time.
    """
    name = f"the progress policy {type(policy).__name__}"
    try:
        is_value = replace(policy) == policy  # a copy of it, as workers get one, is equal to it
        starts_kept = policy.starts_kept
    except Exception as error:
        raise PolicyError(f"{name} {_NO_VALUE.format(safe_message(error))}") from safe_cause(error)
    if not is_value:
        raise PolicyError(f"{name} {_NO_VALUE.format('a copy is not equal to it')}")
    # The policy for a disorder of `MOST_ROWS` rows keeps one start more than that.
    if type(starts_kept) is not int or not 0 <= starts_kept <= MOST_ROWS + 1:
        raise PolicyError(
            f"{name} keeps {safe_repr(starts_kept)} starts\n  expected: a whole number from 0 to {MOST_ROWS + 1}"
        )
    # A source with one row, which starts at 0. The policy sees that start among the latest ones if it keeps any.
    latest_starts = (0,) if starts_kept > 0 else ()
    progress_of_one_row = SourceProgress(newest=0, rows=1, latest=latest_starts)
    try:
        # The watermark itself does not matter here: what counts is that the policy returns one.
        watermark_by_policy(policy, progress_of_one_row)
    except ModuleError as error:
        raise PolicyError(f"{error}\n  test it with muntin.testing.ProgressPolicyLaws") from error.__cause__


def _check_lifetime_change(change: LifetimeChange, input: Input) -> None:
    """Refuse a change of lifetimes by a length that is too long, or to windows that do not fit the times.

    Raises:
        QueryError: The change is refused.
    """
    windows = change.aligned_to
    if windows is not None:
        check_windows(windows)
        windows.check_lengths(LONGEST_WINDOW)
        check_zone(windows, input.columns.start)
    if change.length is not None:
        length = least_of(change.length)
        if abs(length) > LONGEST_WINDOW:
            raise QueryError(f"{change.call}() takes lengths of up to {LONGEST_WINDOW} ticks, got {length}")


def check_shedding(plan: Plan) -> None:
    """Refuse a limit of `shedding` that is too low for one window of a key, which would never have all of its events.

    Raises:
        PolicyError: A window needs more events of a key than the limit allows.
    """
    # Some row windows keep states of their modules in the place of rows: these need room for one row alone.
    modules = [module.module for module in plan.modules]
    replaces_rows = plan.rows is not None and states_replace_rows(plan.rows, modules)
    least_for_window = 1 if replaces_rows else plan.window.least_events
    for input in plan.inputs:
        # A sample lasts until the next one of its key, so a key has to hold two.
        needed = max(least_for_window, 2) if input.has_samples else least_for_window
        if input.most_held is not None and input.most_held < needed:
            is_for_sample = input.has_samples and least_for_window < needed
            raise PolicyError(
                "{what} needs room for {needed:,} events of a key, and shedding(most_held={value:_}{when_full}) would "
                "{outcome}\n  give most_held={needed:_} at least, and better many times that",
                argument="most_held",
                value=input.most_held,
                what="a sample, which lasts until the next one," if is_for_sample else WrittenWindows(plan.window),
                needed=needed,
                when_full=", when_full='fail'" if input.fails_when_full else "",
                outcome="fail before a key holds them" if input.fails_when_full else "shed all that come",
            )


def check_zone(window: WindowSpecification, times: NamedColumn) -> None:
    """Refuse windows by the clock of a time zone over times that are no instants.

    Args:
        window: The windows.
        times: The column of times.

    Raises:
        QueryError: The times are timestamps without a time zone, and the windows name another zone than UTC.
    """
    # Times without a zone count as times of UTC, so windows by the clock of UTC fit them.
    if window.time_zone not in (None, "UTC") and times.type == "timestamp_ntz":
        raise QueryError(
            "{windows} asks what a clock shows at an instant, and the times in {times} are timestamp_ntz: some clock "
            "has shown them already\n  cast them to timestamp; or, if that clock is the one of {value}, leave the zone "
            "out",
            argument="zone",
            value=window.time_zone,
            windows=WrittenWindows(window, Axis.TIME),
            times=times.name,
        )
