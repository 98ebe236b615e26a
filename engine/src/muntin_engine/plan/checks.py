"""Checks of a query whose columns fit: policies, windows, names, triggers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from muntin import Axis, EmitPolicy, LatePolicy, Module, Needs, OutputContract, ResultRefinement, TimestampPolicy
from muntin.axis import DecimalAxis, DecimalLength
from muntin.errors import ModuleError, PolicyError, QueryError
from muntin.named_windows import check_windows
from muntin.progress import MOST_ROWS, ProgressPolicy, SourceProgress
from muntin.query_checks import LONGEST_WINDOW, QueryShape
from muntin.safe_text import safe_cause, safe_message, safe_repr
from muntin.windows import WindowSpecification
from muntin_engine.core.lifetimes import Align, LifetimeChange
from muntin_engine.plan.columns import NamedColumn
from muntin_engine.plan.inputs import Input
from muntin_engine.plan.lengths import in_microseconds, window_in_decimals, window_in_microseconds
from muntin_engine.plan.plan import Plan
from muntin_engine.progress.tracker import implied

MOST_BUCKETS: Final = 256
"""Buckets that a query may have."""

_NO_VALUE: Final = (
    "is no value: {}\n  make it a frozen dataclass: @dataclass(frozen=True), with fields for what it is given"
)
"""What is wrong with a policy that cannot be copied."""


def check_needs(
    label: str, needs: Needs, window: WindowSpecification, axis: Axis, unit: str | None, places: int | None = None
) -> None:
    """Refuse windows in which a module cannot find what it looks for, in the units in which they are written.

    Raises:
        PolicyError: The windows are of the wrong kind, or their reach is too short.
    """
    lacking = needs.lacks(window, axis)
    if lacking and unit is not None:
        in_time = replace(needs, reach=in_microseconds(needs.reach, unit))
        lacking = in_time.lacks(window_in_microseconds(window, unit), Axis.TIME) or lacking
    if lacking and places is not None and isinstance(window, needs.windows):
        words = DecimalAxis(places)
        lacking = (
            f"needs events to stay members for {words.spell_length(needs.reach)} after their end, and "
            f"{window_in_decimals(window, places)} keeps them for less\n"
            f"  give the windows a reach of at least {DecimalLength.of(needs.reach, places)}"
        )
    if lacking:
        raise PolicyError(f"{label} {lacking}")


def check_shape(plan: Plan, window: WindowSpecification) -> None:
    """Refuse what a script refuses too, in the words and units of the query.

    Raises:
        QueryError: Windows, modules and events do not belong together.
        PolicyError: A policy is not right for a module, or for the windows.
    """
    lasting = [
        "samples" if given.has_samples else "events with an end of their own"
        for given in plan.inputs
        if not given.is_point
    ]
    age = plan.forget_keys_after
    QueryShape(
        modules=[module.module for module in plan.modules],
        window=window,
        clip=plan.clip,
        timestamps=plan.timestamps,
        forget_keys_after=age,
        is_time_bound=plan.contract is OutputContract.TIME_BOUND,
        lasting=lasting[0] if lasting else "",
        written_window=plan.spelled_window,
        written_age="" if age is None else plan.spell_length(age),
    ).check()


def check_time_bound(plan: Plan) -> None:
    """Refuse time-bound results that wait for the ends of their windows.

    Raises:
        PolicyError: They do.
    """
    if plan.timestamps is TimestampPolicy.TIME_BOUND and plan.emit is not EmitPolicy.EAGER:
        emit = "early(...)" if plan.early is not None else repr(str(plan.emit))
        raise PolicyError(
            f"timestamps='time_bound' starts a result where it becomes known, and emit={emit} waits for its window\n"
            "  use emit='eager'"
        )


def check_forgetting(plan: Plan) -> None:
    """Refuse to forget keys that are never silent, or whose early results cannot be taken back.

    Raises:
        PolicyError: Events are samples, or early results are not retracted.
    """
    age = plan.forget_keys_after
    if age is None:
        return
    written = f"forget_keys_after={plan.spell_length(age)!r}"
    if any(given.has_samples for given in plan.inputs):
        raise PolicyError(
            f"{written} has nothing to forget: a sample lasts until the next one of its key, so no key is ever silent\n"
            "  leave it out; or give events an end of their own, with edge=False"
        )
    if plan.early is not None and not plan.early.may_retract:
        raise PolicyError(
            f"{written} cuts windows elsewhere when a key has another event, and "
            f"refinement={str(plan.early.refinement)!r} would never retract what was emitted of them\n"
            "  use refinement='retract'"
        )


def check_inputs(plan: Plan) -> None:
    """Refuse inputs that do not belong together, and what an input cannot say or do.

    Raises:
        QueryError: The keys or times of inputs are of different types, or their names are not different ones.
        PolicyError: The policies do not fit an input.
    """
    first, *others = plan.inputs
    names = [given.name for given in plan.inputs]
    if others and (not all(names) or len(set(names)) < len(names)):
        raise QueryError(f"each input of several needs a name of its own, got {', '.join(map(repr, names))}")
    for other in others:
        keys, own = ([key.type for key in given.columns.keys] for given in (first, other))
        if keys != own:
            raise QueryError(
                f"inputs meet by key, and the keys of {first.name} are of type {', '.join(keys) or 'none'}, those of "
                f"{other.name} {', '.join(own) or 'none'}\n  cast them to the same types, in the same order"
            )
        if first.columns.start.type != other.columns.start.type:
            raise QueryError(
                f"the times of {first.name} are {first.columns.start.type}, those of {other.name} "
                f"{other.columns.start.type}\n  cast them to the same type"
            )
    for given in plan.inputs:
        _check_input(given)


def _check_input(given: Input) -> None:
    for change in (*(change for rule in given.rules for change in rule.lifetime_changes), *given.lifetime_changes):
        _check_change(change, given)
    for policy in (given.progress, *(rule.progress for rule in given.rules)):
        _check_policy(policy)
    has_rows_of_progress = given.columns.change is not None
    if given.progress.idle is not None and not (has_rows_of_progress or given.has_clock):
        raise PolicyError(
            "this input never says what time it is, so no source of it is ever idle\n"
            "  give it a clock, events(...).with_clock(), or rows whose change is 'clock'"
        )
    if given.progress.idle is not None and given.progress.idle.lag is None and not given.sources:
        raise PolicyError(
            "the only source of an input cannot be left out while it is idle\n"
            "  say how far behind the clock it then is: with_idle(..., lag='10 minutes')"
        )
    if given.progress.by_key and not has_rows_of_progress:
        raise PolicyError("keys are punctuated by rows, and no column says what a row does: events needs change=")
    if given.late.policy is LatePolicy.ADJUST and given.has_samples:
        raise PolicyError(
            "samples last from one to the next, so late ones cannot be adjusted\n  use late='side' or correct('1 hour')"
        )


def _check_policy(policy: ProgressPolicy) -> None:
    """Refuse a progress policy that would fail in the workers, by asking it about one row.

    Raises:
        PolicyError: It cannot be copied or asked, or answers with what is no time.
    """
    name = f"the progress policy {type(policy).__name__}"
    try:
        is_value, kept = replace(policy) == policy, policy.starts_kept
    except Exception as error:
        raise PolicyError(f"{name} {_NO_VALUE.format(safe_message(error))}") from safe_cause(error)
    if not is_value:
        raise PolicyError(f"{name} {_NO_VALUE.format('a copy is not equal to it')}")
    if type(kept) is not int or not 0 <= kept <= MOST_ROWS + 1:
        raise PolicyError(
            f"{name} keeps {safe_repr(kept)} starts\n  expected: a whole number from 0 to {MOST_ROWS + 1}"
        )
    try:
        implied(policy, SourceProgress(newest=0, rows=1, latest=(0,)[:kept]))
    except ModuleError as error:
        raise PolicyError(f"{error}\n  test it with muntin.testing.ProgressPolicyLaws") from error.__cause__


def _check_change(change: LifetimeChange, given: Input) -> None:
    if isinstance(change, Align):
        check_windows(change.windows)
        change.windows.check_lengths(LONGEST_WINDOW)
        check_zone(change.windows, given.columns.start)
    for length in change.identity()[1:]:
        if isinstance(length, int) and abs(length) > LONGEST_WINDOW:
            raise QueryError(f"{change.call}() takes lengths of up to {LONGEST_WINDOW} ticks, got {length}")


def check_shedding(plan: Plan) -> None:
    """Refuse a limit to the events of a key that its windows reach by themselves: no event would ever leave then.

    Raises:
        PolicyError: A window needs more events than that to go on.
    """
    window, modules = plan.window, [module.module for module in plan.modules]
    folds = all(module.is_incremental and not module.is_time_sensitive for module in modules)
    least = 1 if plan.rows is not None and plan.rows.leaves_at_once and folds else window.least_events
    for given in plan.inputs:
        needed = max(least, 2) if given.has_samples else least
        if given.most_held is not None and given.most_held < needed:
            what = "a sample, which lasts until the next one," if given.has_samples and least < needed else str(window)
            raise PolicyError(
                f"{what} needs room for {needed:,} events of a key, and shedding(most_held={given.most_held:_}) would "
                f"shed all that come\n  give most_held={needed:_} at least, and better many times that"
            )


def check_names(names: Sequence[str]) -> None:
    """Refuse result columns that would have the same name; Spark does not tell upper from lower case.

    Raises:
        QueryError: Two result columns share a name.
    """
    folded = [name.casefold() for name in names]
    twice = next((name for name in reversed(names) if folded.count(name.casefold()) > 1), None)
    if twice is not None:
        raise QueryError(
            f"the result would have two columns named {twice!r}: {', '.join(names)}\n"
            "  name the module's result differently, or rename the key before events()"
        )


def check_zone(window: WindowSpecification, times: NamedColumn) -> None:
    """Refuse windows by the clock of a time zone over times that are no instants.

    Raises:
        QueryError: The times are local ones, of no zone.
    """
    if window.time_zone not in (None, "UTC") and times.type == "timestamp_ntz":
        raise QueryError(
            f"{window} asks what a clock shows at an instant, and the times in {times.name} are timestamp_ntz: "
            "some clock has shown them already\n"
            f"  cast them to timestamp; or, if that clock is the one of {window.time_zone}, leave the zone out"
        )


def check_buckets(buckets: int) -> None:
    """Refuse a number of buckets that cannot be spread.

    Raises:
        QueryError: It is not between 1 and `MOST_BUCKETS`.
    """
    if type(buckets) is not int or not 1 <= buckets <= MOST_BUCKETS:
        raise QueryError(f"a query has 1 to {MOST_BUCKETS} buckets, got {buckets!r}")


def check_kind(cls: type[Module], *, is_operator: bool) -> None:
    """Refuse an operator where an aggregate is wanted, and the other way round.

    Raises:
        QueryError: The module is of the other kind.
    """
    call = f"module({cls.name!r}, ...)"
    if cls.is_operator and not is_operator:
        raise QueryError(f"{cls.name} is an operator, which returns rows: use .apply({call})")
    if is_operator and not cls.is_operator:
        raise QueryError(f"{cls.name} is an aggregate, which returns one value: use .aggregate(name={call})")


def check_results_read(plan: Plan) -> None:
    """Refuse a trigger that reads results which the query does not have, and a refinement that has none to work on.

    Raises:
        PolicyError: It does.
    """
    if plan.early is not None and plan.is_operator and isinstance(plan.early.refinement, ResultRefinement):
        raise PolicyError(
            f"{plan.early.refinement} refines results by name, and the query is an operator, which returns rows\n"
            "  use refinement='accumulate', 'discard' or 'retract'"
        )
    results = [module.output for module in plan.modules if module.output]
    names = () if plan.early is None else plan.early.trigger.reads_results
    for name in (name for name in names if name not in results):
        told = f"has {', '.join(results)}" if results else "is an operator, whose rows have no such names"
        raise PolicyError(f"{plan.written_emit or plan.early} reads the result {name!r}\n  the query {told}")


def check_trigger(plan: Plan) -> None:
    """Refuse a trigger that waits for what the rows of a stream cannot say.

    Raises:
        PolicyError: It waits for a clock or a signal, and the query names no column for it.
    """
    if plan.early is None:
        return
    trigger, written = plan.early.trigger, plan.written_emit or plan.early
    if trigger.reads_clock and not any(given.may_read_clock for given in plan.inputs):
        raise PolicyError(
            f"{written} waits for a clock, and this input has none\n"
            "  give events() a change column, in which rows with 'clock' say what time it is, or use .with_clock()"
        )
    if trigger.signals and all(given.columns.signal is None for given in plan.inputs):
        names = ", ".join(map(repr, sorted(trigger.signals)))
        raise PolicyError(
            f"{written} waits for {names}, and this input has no signals\n"
            "  give events() a change column, in which rows with 'signal' bring one, and its name as signal=..."
        )
