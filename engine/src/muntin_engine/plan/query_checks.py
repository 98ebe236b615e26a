"""Checks of a query whose columns fit: policies, windows, names, triggers; `input_checks` has those of its inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from muntin import (
    Axis,
    EmitPolicy,
    LatePolicy,
    Module,
    OutputContract,
    ResultRefinement,
    StreamOperator,
    TimestampPolicy,
)
from muntin.axis import DecimalLength
from muntin.errors import PolicyError, QueryError
from muntin.errors.messages import Alternatives, Argument, Call, Earlier, ErrorMessage, ParameterName, StreamCall
from muntin.query_checks import STARTS_AS_POINTS, TIME_AS_POINT, QueryShape
from muntin.rows import last
from muntin.windows import WindowSpecification
from muntin.windows.specification import WrittenWindows
from muntin_engine.plan.input_checks import check_inputs, check_shedding, check_zone
from muntin_engine.plan.inputs import Input
from muntin_engine.plan.join_plan import JoinPlan
from muntin_engine.plan.lengths import in_microseconds, window_in_decimals, window_in_microseconds
from muntin_engine.plan.module_plan import ModulePlan
from muntin_engine.plan.plan import Plan
from muntin_engine.plan.plan_words import spell_emission, written_emission, written_windows

MOST_BUCKETS: Final = 256
"""Buckets that a query may have."""

_LATE_ROWS_CHANGE_NOTHING: Final = Alternatives("late_policy", ("side", "drop"))
"""The policies under which a late row changes nothing."""


def check_query(plan: Plan) -> None:
    """Refuse a query whose windows, modules, policies, names or inputs do not fit each other.

    The types of its columns are checked before, when modules are bound to them.

    Raises:
        QueryError: The windows, the buckets or the names of result columns are refused, or the inputs do not belong
            together.
        PolicyError: A module cannot run under the policies or over the windows, or the policies contradict each other.
    """
    for window in plan.windows:
        check_shape(plan, window)
        check_zone(window, plan.inputs[0].columns.start)
        for module in plan.modules:
            check_needs(plan, module, window)
    check_buckets(plan.buckets)

    # Names have to differ among the columns of results; and among those of the second output, if the query has one.
    keys = [key.name for key in plan.keys]
    outputs = [column.name for column in plan.outputs]
    evicted = [column.name for column in plan.evicted]
    check_names([*keys, *plan.engine_columns, *outputs])
    check_names([*keys, *plan.engine_columns_of_evicted, *evicted])

    check_rows(plan)
    check_stream_operator(plan)
    check_forgetting(plan)
    check_time_bound(plan)
    if plan.early is not None:
        plan.early.check_windows(plan.window, is_revised=plan.event_ends_move, written_window=written_windows(plan))
    check_results_read(plan)
    check_inputs(plan)
    check_join(plan)
    check_shedding(plan)


def check_needs(plan: Plan, module: ModulePlan, window: WindowSpecification) -> None:
    """Refuse windows that a module cannot run over; the message has lengths in the units in which they are written.

    Raises:
        PolicyError: The windows are of the wrong kind, or their reach is too short.
    """
    needs = module.module.needs
    lacking = needs.lacks(window, plan.axis)
    if not lacking:
        return

    # `lacking` has lengths in ticks. Where ticks are not what the query writes, make the reason again: in time for
    # integers with a unit, and as decimals for decimals.
    if plan.unit is not None:
        in_time = replace(needs, reach=in_microseconds(needs.reach, plan.unit))
        lacking_in_time = in_time.lacks(window_in_microseconds(window, plan.unit), Axis.TIME)
        # Rounded to microseconds, the windows may seem to meet the need: then the reason in ticks stays.
        lacking = lacking_in_time or lacking
    # The windows are of a right kind here, so what they lack is reach.
    is_reach_too_short = isinstance(window, needs.windows)
    if plan.decimal_places is not None and is_reach_too_short:
        lacking = ErrorMessage(
            "needs events to stay members for {reach} after their end, and {windows} keeps them for less\n"
            "  give the windows a reach of at least {least}",
            reach=plan.words.spell_length(needs.reach),
            windows=WrittenWindows(window_in_decimals(window, plan.decimal_places)),
            least=DecimalLength.of(needs.reach, plan.decimal_places),
        )
    raise PolicyError("{module} {lacking}", module=module.label, lacking=lacking)


def check_shape(plan: Plan, window: WindowSpecification) -> None:
    """Refuse windows, modules, events and policies that do not go together.

    `QueryShape` has the checks, since scripts that run modules without a query refuse the same.

    Raises:
        QueryError: Windows, modules and events do not belong together.
        PolicyError: A policy is not right for a module, or for the windows.
    """
    # Windows and modules that need points refuse other events. Their errors say in words what these events are, and how
    # to make points of them. The first input that has no points decides what is said.
    lasting = ""
    points_advice = TIME_AS_POINT
    for input in plan.inputs:
        if not input.is_point:
            lasting = "samples" if input.has_samples else "events with an end of their own"
            if input.changes_lifetimes:
                points_advice = STARTS_AS_POINTS
            break
    age = plan.forget_keys_after  # in ticks; the message has it in words
    QueryShape(
        modules=[module.module for module in plan.modules],
        window=window,
        clip=plan.clip,
        timestamps=plan.timestamps,
        forget_keys_after=age,
        is_time_bound=plan.contract is OutputContract.TIME_BOUND,
        lasting=lasting,
        points_advice=points_advice,
        written_window=written_windows(plan),
        written_age="" if age is None else plan.words.spell_length(age),
    ).check()


def check_time_bound(plan: Plan) -> None:
    """Refuse time-bound results of a query whose emission waits for windows to end.

    Raises:
        PolicyError: The results are time-bound, and the emission is not eager.
    """
    if plan.timestamps is TimestampPolicy.TIME_BOUND and plan.emit is not EmitPolicy.EAGER:
        raise PolicyError(
            "{argument} starts a result where it becomes known, and {emit} waits for its window\n  use {eager}",
            argument="timestamps",
            value="time_bound",
            emit=Argument("emit", written_emission(plan)),
            eager=Argument("emit", "eager"),
        )


def check_forgetting(plan: Plan) -> None:
    """Refuse to forget keys that are never silent, or whose early results cannot be retracted or merged.

    Raises:
        PolicyError: Events are samples, early results are not retracted, or their trigger cannot be merged.
    """
    age = plan.forget_keys_after
    if age is None:
        return
    written_age = plan.words.spell_length(age)
    if any(input.has_samples for input in plan.inputs):
        raise PolicyError(
            "{argument} has nothing to forget: a sample lasts until the next one of its key, so no key is ever silent\n"
            "  leave it out; or give events an end of their own, with {no_edge}",
            argument="forget_keys_after",
            value=written_age,
            no_edge=Argument("edge", False),
        )
    if plan.early is not None and not plan.early.may_retract:
        raise PolicyError(
            "{argument} cuts windows elsewhere when a key has another event, and {refinement} would never retract "
            "what was emitted of them\n  use {retract}",
            argument="forget_keys_after",
            value=written_age,
            refinement=Argument("refinement", str(plan.early.refinement)),
            retract=Argument("refinement", "retract"),
        )
    # An event that comes out of order may fill the silence: windows that were cut there become one again.
    if plan.early is not None:
        forgetting = Argument("forget_keys_after", written_age)
        plan.early.check_merging(
            ErrorMessage("{forgetting} cuts windows where a key is forgotten", forgetting=forgetting)
        )


def check_names(names: Sequence[str]) -> None:
    """Refuse result columns that would have the same name; Spark does not tell upper from lower case.

    Args:
        names: The names of all columns of a result: the keys, then those of the engine, then those of modules.

    Raises:
        QueryError: Two result columns share a name.
    """
    folded_names = [name.casefold() for name in names]
    # Backwards, so that the error spells the name as the module's column has it, which the query can change.
    for name in reversed(names):
        if folded_names.count(name.casefold()) > 1:
            raise QueryError(
                "the result would have two columns named {value!r}: {names}\n"
                "  give one of them another name here, or rename the key {before_events}",
                value=name,
                names=", ".join(names),
                before_events=Earlier("events"),
            )


def check_buckets(buckets: int) -> None:
    """Refuse a number of buckets that is not between 1 and `MOST_BUCKETS`.

    Raises:
        QueryError: The number is refused.
    """
    if type(buckets) is not int or not 1 <= buckets <= MOST_BUCKETS:
        raise QueryError(
            "a query has 1 to {most} buckets, got {value!r}", argument="buckets", value=buckets, most=MOST_BUCKETS
        )


def check_kind(cls: type[Module], *, is_operator: bool) -> None:
    """Refuse an operator where a query takes aggregates, and an aggregate where it takes an operator.

    Args:
        cls: The class of the module.
        is_operator: True where the query takes an operator.

    Raises:
        QueryError: The module is of the other kind.
    """
    call = f"module({cls.name!r}, ...)"
    if cls.is_operator and not is_operator:
        raise QueryError(f"{cls.name} is an operator, which returns rows: use .apply({call})")
    if is_operator and not cls.is_operator:
        raise QueryError(f"{cls.name} is an aggregate, which returns one value: use .aggregate(name={call})")


def check_results_read(plan: Plan) -> None:
    """Refuse early results whose trigger or refinement reads results that the query does not have.

    Raises:
        PolicyError: The trigger reads a result of another name, or the refinement is by results and the query is an
            operator, whose rows are no results with names.
    """
    if plan.early is None:
        return
    if plan.is_operator and isinstance(plan.early.refinement, ResultRefinement):
        raise PolicyError(
            "{refinement} refines results by name, and the query is an operator, which returns rows\n"
            "  use {accumulate}, {others}",
            refinement=plan.early.refinement,
            accumulate=Argument("refinement", "accumulate"),
            others=Alternatives("refinement", ("discard", "retract"), is_named=False),
        )
    results = [module.output for module in plan.modules if module.output]
    for name in plan.early.trigger.reads_results:
        if name not in results:
            has = f"has {', '.join(results)}" if results else "is an operator, whose rows have no such names"
            raise PolicyError(f"{spell_emission(plan)} reads the result {name!r}\n  the query {has}")


def check_trigger(plan: Plan) -> None:
    """Refuse a trigger of early results that waits for a clock or a signal which no row of the inputs can bring.

    Raises:
        PolicyError: No input has a clock, or none has signals.
    """
    if plan.early is None:
        return
    trigger = plan.early.trigger
    if trigger.reads_clock and not any(input.may_read_clock for input in plan.inputs):
        raise PolicyError(
            "{early} waits for a clock, and this input has none\n"
            "  give {events} a change column, in which rows with 'clock' say what time it is, or use {with_clock}",
            early=spell_emission(plan),
            events=Call("events"),
            with_clock=StreamCall(Call("with_clock")),
        )
    if trigger.signals and all(input.columns.signal is None for input in plan.inputs):
        names = ", ".join(map(repr, sorted(trigger.signals)))
        raise PolicyError(
            "{early} waits for {signals}, and this input has no signals\n"
            "  give {events} a change column, in which rows with 'signal' bring one, and its name as {signal}",
            early=spell_emission(plan),
            signals=names,
            events=Call("events"),
            signal=Argument("signal", ...),
        )


def check_rows(plan: Plan) -> None:
    """Refuse row windows, such as `last(10)`, over rows without an order, or with results that may be corrected.

    A row window is computed once, when the watermark has passed its row. So no late row can be added to it.

    Raises:
        QueryError: An input has no order of the rows of one time.
        PolicyError: The policy for late rows or the emission would correct results.
    """
    if plan.rows is None:
        return
    windows = written_windows(plan)
    for input in plan.inputs:
        if input.order is None:
            raise QueryError(
                "{windows} follows rows in their order, and no column says it\n"
                "  name one that tells rows of one time apart, such as an offset: {ordered}",
                windows=windows,
                ordered=Call("events", ..., Argument("order", "offset")),
            )
        if input.late.policy is LatePolicy.ADJUST or input.late.corrects:
            raise PolicyError(
                "{argument} would change windows of {windows} that later rows have followed already\n"
                "  use {right}, and a delay that is long enough",
                argument="late_policy",
                value=plan.words.written_lateness(input.late),
                windows=windows,
                right=_LATE_ROWS_CHANGE_NOTHING,
            )
    if plan.emit is not EmitPolicy.FINAL:
        raise PolicyError(
            "{windows} is computed when the watermark has passed the row, and {argument} would be before that, in an "
            "order that may not be the final one\n"
            "  leave emit out; when windows are computed is part of them: {example}",
            argument="emit",
            value=written_emission(plan),
            windows=windows,
            example=WrittenWindows(last(10).trigger(2)),
        )


def check_stream_operator(plan: Plan) -> None:
    """Refuse policies under which an operator that follows a stream would have to correct its results.

    Such an operator gets each event once, in order, when the watermark has passed it.

    Raises:
        PolicyError: The policy for late rows or the emission would correct results.
    """
    if plan.is_windowed or not any(isinstance(module.module, StreamOperator) for module in plan.modules):
        return
    label = plan.modules[0].label
    for input in plan.inputs:
        if input.late.policy is LatePolicy.ADJUST or input.late.corrects:
            raise PolicyError(
                "{argument} would hand events over to {module} after later ones\n"
                "  use {right}, and a delay that is long enough",
                argument="late_policy",
                value=plan.words.written_lateness(input.late),
                module=label,
                right=_LATE_ROWS_CHANGE_NOTHING,
            )
    if plan.emit is not EmitPolicy.FINAL:
        raise PolicyError(
            "{module} is called when the watermark has passed an event, and {argument} would be before that, in an "
            "order that may not be the final one\n  leave emit out",
            module=label,
            argument="emit",
            value=str(plan.emit),
        )


def check_join(plan: Plan) -> None:
    """Refuse policies and columns that a join cannot have; for queries that return events themselves, the policies.

    Raises:
        QueryError: A join has no columns, or it names columns of the right stream though its kind returns rows of the
            left stream alone.
        PolicyError: The emission is neither final nor eager, late rows correct results, keys punctuate themselves, or
            an input limits the events of a key.
    """
    if plan.join is None:
        return
    # Events without windows are planned as a join, too: see `Plan.passes_events`.
    what = "events without windows" if plan.passes_events else "a join"
    _check_join_columns(plan, plan.join)
    if plan.emit not in (EmitPolicy.FINAL, EmitPolicy.EAGER):
        raise PolicyError(
            "{what} {have} no windows to be early for, got {argument}\n  use {right}",
            what=what,
            have="have" if plan.passes_events else "has",
            argument="emit",
            value=written_emission(plan),
            right=Alternatives("emit", ("final", "eager")),
        )
    for input in plan.inputs:
        of_input = f" of {input.name}" if input.name else ""
        if input.late.corrects:
            raise PolicyError(
                "{argument}{of_input} corrects windows, and there are none\n"
                "  use {side} and a longer delay, with {eager} to have rows at once",
                argument="late_policy",
                value=plan.words.written_lateness(input.late),
                of_input=of_input,
                side=Argument("late_policy", "side"),
                eager=Argument("emit", "eager"),
            )
        if input.progress.by_key:
            raise PolicyError(
                f"keys{of_input} punctuate themselves, and {what} would be complete only as far as the whole input is\n"
                "  leave out with_key_punctuation()"
            )
        if input.most_held is not None:
            raise PolicyError(_why_no_shedding(plan, input))


def _check_join_columns(plan: Plan, join: JoinPlan) -> None:
    """Refuse a join without columns, or with columns of the right stream where its rows are of the left one.

    Raises:
        QueryError: The columns are refused.
    """
    if plan.passes_events:
        return  # events need no columns besides their keys and lifetimes
    if not join.kind.pairs and any(column.side == 1 for column in join.columns):  # 1 is the right stream
        raise QueryError(
            "{argument} has rows of the left stream alone, and {right_columns} names columns of the other\n"
            "  leave {right_columns} out, or use {inner} or {left}",
            argument="how",
            value=str(join.kind),
            right_columns=ParameterName("right_columns"),
            inner=Argument("how", "inner"),
            left=Argument("how", "left"),
        )
    if not join.columns:
        raise QueryError(
            "a join has no columns besides its keys\n  expected, for example: {left_columns}",
            left_columns=Argument("left_columns", ["km"]),
        )


def _why_no_shedding(plan: Plan, input: Input) -> str:
    """Return the message for an input of a query without windows that limits the events of a key.

    Args:
        plan: The plan of the query.
        input: The input.
    """
    fails = input.fails_when_full
    if plan.passes_events:
        act = "fails at a key that is full" if fails else "sheds events of a key that is full"
        return (
            f"the stream {act}, and events without windows are kept only while they can change\n  leave out shedding()"
        )
    if fails:
        reason = f"{input.name} fails at a key that is full, and a join does not count the events that a key holds"
    else:
        reason = f"{input.name} sheds events, and a join would lose rows of the other stream with them"
    return f"{reason}\n  leave out shedding(); end lifetimes sooner to hold less"


def check_progress(plan: Plan) -> None:
    """Refuse a query that keeps state of an input whose watermark never advances: no window would ever be final.

    Raises:
        QueryError: The query is refused.
    """
    if not plan.says_when_complete and plan.choice.keeps_state:
        raise QueryError(
            "this stream never says how complete it is, so no window would ever be final\n"
            "  give {events} a delay, such as {delay}, another progress policy, or a change column with punctuation "
            "rows\n  a withWatermark() of the input is not read",
            events=Call("events"),
            delay=Argument("watermark", "10 minutes"),
        )
