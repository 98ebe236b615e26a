"""A query in words: what it computes, as one sees it where it is typed, and how it is evaluated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from muntin import EarlyEmission, JoinKind, LatePolicy, OutputContract, Refinement, ResultRefinement, TimestampPolicy
from muntin.axis import spell_ticks
from muntin.progress import ProgressPolicy, Punctuated
from muntin.rows import CountPolicy, ElapsedPolicy, RowWindows
from muntin.windows import WindowContext
from muntin_engine.plan import Input, ModulePlan, Plan
from muntin_engine.plan.plan_words import spell_emission, spell_windows


def explain_plan(plan: Plan, inner: Sequence[Plan] = (), memory: str = "") -> str:
    """Return the evaluation of a query in words, a line per topic.

    The topics of every query, in order:

    - `window`: the windows, their policies, and the emission;
    - `key`: the keys, and the number of buckets over which they are spread;
    - `progress`: the origins of the watermark, per input;
    - `late`: the treatment of rows behind the watermark, per input;
    - `evaluator`: the evaluator, and why it is this one;
    - `module`: the computation of a module, and why it is this one, per module;
    - `row`: the cost of a row;
    - `state`: the state that is kept between micro-batches, and its bound;
    - `output`: the time at which the output is complete;
    - `lag`: the distance of the output's watermark behind the input's, and why.

    The topics that only some queries have, between these:

    - `lifetimes`: those that a module returns are discarded;
    - `order`: the order of events at one time;
    - `where`: the conditions of a filter;
    - `samples`: which one of several at one time counts;
    - `events`: the changes of their lifetimes;
    - `shedding`: the number of events at which a key is full;
    - `join`, `results`: the pairs of two inputs, or the events themselves;
    - `forgetting`: the silence after which a key is forgotten;
    - `context`: the events that windows follow from;
    - `inputs`: the streams of a module that reads several;
    - `early`: the emission of open windows;
    - `memory`, after them all: the data that a run without Spark keeps.

    Args:
        plan: The query.
        inner: The queries whose results it reads, each after those that it reads itself; they are explained as well.
        memory: The data that a run keeps in memory, in words; empty where `state` says it.
    """
    explanations = []
    for query in (*inner, plan):
        lines = [f"{title:<12}{text}" for title, text in topics_of(query)]
        explanations.append("\n".join(lines))
    if memory:
        explanations[-1] += f"\n{MEMORY:<12}{memory}"
    return "\n\n".join(explanations)


MEMORY: Final = "memory"
"""The topic of the data that a run keeps in memory, which only queries without Spark have."""


def topics_of(plan: Plan) -> list[tuple[str, str]]:
    """Return the lines of `explain_plan` on one query, each as its topic and its text, in the order of the lines."""
    explanation = plan.explanation  # the words of the evaluator that was chosen
    emit = f"emit {spell_emission(plan)}"
    if plan.is_windowed:
        windows = f"{spell_windows(plan)}, {_explain_policies(plan)}"
        output = _explain_completeness(plan)
        lag = _explain_lag(plan)
    else:
        windows = "none, each event by itself"
        output = explanation.output
        lag = explanation.lag

    topics = [("window", f"{windows}, {emit}")]
    if _discards_lifetimes(plan):
        topics.append(("lifetimes", _DISCARDED))
    topics.append(("key", _explain_key(plan)))
    order = _explain_order(plan)
    if order:
        topics.append(("order", order))
    for input in plan.inputs:
        for title, text in _topics_of_input(plan, input):
            topics.append((title, f"{input.name}: {text}" if input.name else text))
    topics += _explain_join(plan)
    if plan.forget_keys_after is not None:
        topics.append(("forgetting", _explain_forgetting(plan, plan.forget_keys_after)))
    if plan.is_windowed:
        topics.append(("context", _CONTEXTS[_context(plan)]))
    topics.append(("evaluator", f"{plan.choice.evaluator}: {plan.choice.reason}"))
    topics += _explain_modules(plan)
    if plan.early is not None:
        topics.append(("early", _explain_early(plan.early)))
    topics += [("row", explanation.row), ("state", explanation.state), ("output", output), ("lag", lag)]
    return topics


def _topics_of_input(plan: Plan, input: Input) -> list[tuple[str, str]]:
    """Return the lines of `explain_plan` on one input, each as its topic and its text."""
    topics = []
    if input.columns.conditions:
        topics.append(("where", _explain_filter(input)))
    if input.has_samples:
        topics.append(("samples", _explain_samples(input)))
    topics += [("events", text) for text in _explain_changes(plan, input)]
    topics.append(("progress", explain_progress(plan, input)))
    late = _explain_late(plan, input) if plan.choice.keeps_state else "none, because there is no watermark"
    topics.append(("late", late))
    if input.most_held is not None:
        topics.append(("shedding", _explain_shedding(plan, input, input.most_held)))
    return topics


def _explain_samples(input: Input) -> str:
    """Explain which of several samples of a key at one time counts."""
    order = _spell_order(input)
    if not order:
        return "of one time, the greatest by what is read of it; events(..., order='offset') says which is the last"
    return f"of one time, the last by {order}"


def _spell_order(input: Input) -> str:
    """Name the columns that order the rows of one time, the one that decides first; empty if the input names none."""
    if input.order is None:
        return ""
    places = (input.order, *input.then_by)
    return ", then ".join(input.columns.payload[place].name for place in places)


def _context(plan: Plan) -> WindowContext:
    """Return whether the windows of an event follow from the event alone, or from earlier or later ones too."""
    if plan.forget_keys_after is not None:
        return WindowContext.FORWARD  # the next event of the key decides whether the key is forgotten between
    return plan.window.context


def _explain_forgetting(plan: Plan, age: int) -> str:
    """Explain when a key is forgotten, in a query that forgets keys after some ticks of silence."""
    silence = plan.words.spell_length(age)
    return (
        f"a key that is silent for longer than {silence} after its last event: "
        "its windows end then, and nothing is kept"
    )


_CONTEXTS: Final = {
    WindowContext.FREE: "the windows of an event follow from its own times",
    WindowContext.BACKWARD: "the windows of a row follow from it and from the rows before it",
    WindowContext.FORWARD: "the windows of an event also depend on events that come after it",
}


def _explain_modules(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield the computation of each module, and the columns of each stream if it reads several streams."""
    for module, computation in zip(plan.modules, plan.explanation.modules, strict=True):
        yield "module", f"{label_of(module)}: {computation}"
        if module.inputs:
            yield "inputs", _explain_streams(plan, module)


def _explain_streams(plan: Plan, module: ModulePlan) -> str:
    """Explain which columns a module reads of each of its streams, and of which sources a stream is."""
    columns = plan.inputs[module.side].columns.payload
    streams = []
    for stream in module.inputs:
        names = ", ".join(columns[place].name for place in stream.columns)
        streams.append(f"{stream.name} is {names or 'each event'} of {', '.join(stream.sources)}")
    return f"{'; '.join(streams)}; a window with events of one of them has a result as well"


def label_of(module: ModulePlan) -> str:
    """Return a module with its version and the column of its results: `km = stats.average 0.1.0`."""
    return f"{module.output} = {module.label}" if module.output else module.label


def _explain_policies(plan: Plan) -> str:
    """Name the policies for lifetimes; those that the query leaves open are what its modules are made for."""
    words = []
    for name, policy in (("clip", plan.clip), ("timestamps", plan.timestamps)):
        origin = " (as its modules ask)" if name in plan.from_modules else ""
        words.append(f"{name} {policy}{origin}")
    return ", ".join(words)


def _discards_lifetimes(plan: Plan) -> bool:
    """Return True if the query's module may return rows with lifetimes, and its timestamp policy discards these."""
    if not (plan.is_windowed and plan.modules):
        return False
    module = plan.modules[0].module
    return module.is_operator and module.is_time_sensitive and not plan.timestamps.is_set_by_module


_DISCARDED: Final = "those that the module returns are discarded; timestamps='unchanged' or 'clip' keeps them"


def _explain_key(plan: Plan) -> str:
    """Name the key columns, and say over how many buckets the keys are spread."""
    names = ", ".join(key.name for key in plan.keys)
    if not plan.choice.keeps_state:
        return f"{names or 'none'}; rows are not grouped"
    return f"{names}, over {plan.buckets} buckets" if names else "none: all rows are one group, in one task"


def _explain_join(plan: Plan) -> list[tuple[str, str]]:
    """Return the line of `explain_plan` on a join, or on events that are the results; no line for other queries."""
    join = plan.join
    if join is None:
        return []
    if plan.passes_events:
        names = ", ".join(column.field.name for column in join.columns)
        columns = f"with {names}" if names else "without other columns"
        return [("results", f"the events themselves, {columns}")]

    input_names = [input.name for input in plan.inputs]
    kind = _JOINS[join.kind].format(*input_names)
    condition = ""
    if join.on is not None:
        condition = f"; only events that meet {join.on} count, asked for each pair that may overlap"
    columns = ", ".join(f"{column.field.name} of {input_names[column.side]}" for column in join.columns)
    return [("join", f"{join.kind}, {kind}{condition}; {columns}")]


_JOINS: Final = {
    JoinKind.INNER: "each pair of events of a key, over the ticks that both live",
    JoinKind.LEFT: "each pair of events of a key, over the ticks that both live, and the parts of {0} without {1}",
    JoinKind.ANTI: "the parts of {0} that no event of {1} covers",
    JoinKind.SEMI: "the parts of {0} that events of {1} cover",
    JoinKind.CLIP: "each event of {0}, up to the first of {1} that starts after it does",
}


def _explain_order(plan: Plan) -> str:
    """Explain the order in which events are processed; empty where their order does not matter."""
    orders = [_spell_order(input) for input in plan.inputs if input.order is not None]

    # Windows over time: only some modules read the order.
    if plan.is_windowed and plan.rows is None:
        readers = ", ".join(module.label for module in plan.modules if module.module.reads_order)
        if not readers:
            return ""
        order = ", ".join(orders) or "the fields that the module reads; events(..., order='offset') says another order"
        return f"{readers}: events by time, and at one time by {order}"

    # Row windows, stream operators and joins.
    if not orders:
        return ""
    what_happens = "an event is handed over" if plan.rows is None else "a row is released"
    return f"by time, and at one time by {', '.join(orders)}; {what_happens} when the watermark passes it"


def _explain_filter(input: Input) -> str:
    """Name the conditions of a filter, and say whether events that do not meet them are kept."""
    names = " and ".join(condition.name for condition in input.columns.conditions)
    return f"{names}; events that it leaves out are kept for their revisions" if input.keeps_filtered else names


def _explain_changes(plan: Plan, input: Input) -> Iterator[str]:
    """Yield the changes of lifetimes in words: those of each source, then those of the whole input."""
    for rule in input.rules:
        if rule.lifetime_changes:
            yield f"{rule.source}: {rule.changes.explain(plan.words.spell_length, plan.words.spell_window)}"
    if input.lifetime_changes:
        yield input.changes.explain(plan.words.spell_length, plan.words.spell_window)


def explain_progress(plan: Plan, input: Input) -> str:
    """Return in words where the watermark of an input comes from."""
    if input.is_chained:
        return "up to where the results of the query before are settled"
    policy = input.progress
    spell = plan.words.spell_length
    if input.rules:
        # A union: each stream has a policy of its own.
        parts = [f"{rule.source} ({_explain_policy(rule.progress, spell)})" for rule in input.rules]
        return f"the least of {', '.join(parts)}"

    # Everything that may advance the watermark. `Punctuated` advances it by nothing but punctuation rows, and these
    # need a column that says which rows they are.
    origins = []
    if not isinstance(policy, Punctuated):
        origins.append(policy.describe(spell))
    if input.columns.change is not None:
        origins.append("punctuation rows")
    if input.heartbeats:  # the number of other streams that bring punctuation
        origins.append("another stream" if input.heartbeats == 1 else f"{input.heartbeats} other streams")
    parts = [", or ".join(origins) or "nothing but the end of a static input"]

    # What holds it back, and the progress of single keys and of idle sources.
    if input.sources:
        parts.append(f"the least of {', '.join(input.sources)}")
    if policy.by_key:
        bounded = " and ".join(key.name for key in input.columns.bounded_keys)
        by_range = f", also by ranges of {bounded}" if bounded else ""
        parts.append(f"keys may punctuate themselves{by_range}")
    if policy.idle:
        parts.append(policy.idle.describe(spell_ticks))  # its lengths are time of a clock, whatever the axis is
    return "; ".join(parts)


def _explain_policy(policy: ProgressPolicy, spell: Callable[[int], str]) -> str:
    """Explain the progress policy of one stream of a union.

    Args:
        policy: The policy.
        spell: Returns a length in words, given its ticks.
    """
    parts = ["punctuation" if isinstance(policy, Punctuated) else f"{policy.describe(spell)}, or punctuation"]
    if policy.idle:
        parts.append(policy.idle.describe(spell_ticks))  # its lengths are time of a clock, whatever the axis is
    return "; ".join(parts)


def _explain_late(plan: Plan, input: Input) -> str:
    """Explain which rows are late, and what becomes of them."""
    if not input.late.corrects:
        return _LATE[input.late.policy]
    allowed = plan.words.spell_length(input.late.allowed)
    # On a grid, where events keep their ends, windows are closed as wholes. A row is too late if its window is closed.
    closes_at_end_alone = plan.window.grid() is not None and not plan.event_ends_move
    if closes_at_end_alone:
        rows = f"rows of windows that ended less than {allowed} before the watermark"
    else:
        rows = f"rows up to {allowed} behind the watermark"
    return f"{rows} correct results, others go to late_rows()"


def _explain_shedding(plan: Plan, input: Input, most_held: int) -> str:
    """Explain at how many events a key is full, and what becomes of further events of a full key."""
    things = "events" if plan.rows is None else "rows"
    if input.fails_when_full:
        return f"a key that holds {most_held:,} {things} fails the micro-batch that brings it more"
    side_output = "" if input.late.policy is LatePolicy.DROP else " and go to late_rows()"
    may_stay_full = plan.rows is not None and not _makes_room(plan.rows)
    warning = "; rows leave when others come: a full key may stay full" if may_stay_full else ""
    return (
        f"a key that holds {most_held:,} {things} takes no new ones until some leave; those are counted as shed"
        f"{side_output}, and its results are of a part of its {things}, the earliest of each micro-batch{warning}"
    )


def _makes_room(windows: RowWindows) -> bool:
    """Return True if a full key is sure to hold fewer rows later, even if it accepts no new ones until then."""
    # Not every kind of row windows has these fields.
    evicts = getattr(windows, "evicts", None)
    partitions = getattr(windows, "partitions", None)
    if partitions is not None and partitions.age is not None:
        return True  # partitions end by time
    if isinstance(evicts, CountPolicy):
        # The count bounds the rows of one partition: a key has no bound if its rows are spread over several.
        return partitions is None
    return isinstance(evicts, ElapsedPolicy)  # rows leave by time; with other policies only newer rows push them out


def _explain_early(early: EarlyEmission) -> str:
    """Explain when the trigger of early results is called, and what is emitted of a window when it fires."""
    causes = ["its members change", "a time comes that it waits for"]
    causes += [f"a signal {name!r} does" for name in sorted(early.trigger.signals)]
    refinement = early.refinement
    if isinstance(refinement, ResultRefinement):
        refined = f"{refinement} says what is emitted of each result"
    else:
        refined = _REFINEMENTS[refinement]
    return f"a window's trigger is called when {' or '.join(causes)}; {refined}"


_REFINEMENTS: Final = {
    Refinement.ACCUMULATE: "each result is the whole so far",
    Refinement.DISCARD: "each result covers the members since the last one, the final one too",
    Refinement.RETRACT: "each result is the whole so far, and the last one is retracted",
}


_LATE: Final = {
    LatePolicy.SIDE: "rows behind the watermark go to late_rows()",
    LatePolicy.DROP: "rows behind the watermark are counted and dropped",
    LatePolicy.ADJUST: "insertions start at the watermark if they end after it; other rows behind it go to late_rows()",
}


def _explain_completeness(plan: Plan) -> str:
    """Explain when the results of a window are complete, in a query with windows."""
    if plan.contract is OutputContract.UNRESTRICTED:
        return "is never complete before the stream closes, as its module guarantees nothing about its lifetimes"
    if plan.contract is OutputContract.TIME_BOUND:
        return "is complete up to the watermark, as no result starts before its cause"
    if plan.waits_for_ends:
        return "a window waits until its members have ended, as a module sees ends outside it; clip='right' frees it"
    if plan.rows is not None:
        return "a window is complete when the watermark passes the row that it is computed for, or reaches that time"
    meets = "passes" if plan.window.ends_move else "reaches"
    after = ""
    if any(input.late.corrects for input in plan.inputs):
        after = f", and {plan.words.spell_length(_longest_correction(plan))} more"
    return f"a window is complete when the watermark {meets} its end{after}"


def _longest_correction(plan: Plan) -> int:
    """Return the longest allowed lateness of the inputs, in ticks; 0 if late rows never correct results."""
    return max(input.late.allowed for input in plan.inputs)


def _explain_lag(plan: Plan) -> str:
    """Explain how far the output watermark is behind the input watermark, in a query with windows."""
    if plan.contract is OutputContract.UNRESTRICTED:
        return "no output watermark before the stream closes"
    if plan.contract is OutputContract.TIME_BOUND:
        return "none"
    if plan.waits_for_ends:
        return "until the members of the earliest window have ended; one that never ends holds the output back forever"
    # Windows that are cut by the events of each key: windows over time, then row windows. Row windows with other
    # timestamps than `align` are among what remains.
    if plan.window.waits_for_events and plan.rows is None:
        return "as long as the earliest window of any key is open, as windows are cut by each key's own events"
    if plan.window.waits_for_events and plan.timestamps is TimestampPolicy.ALIGN:
        return "as long as any key's oldest row is in a window, as windows are cut by each key's own rows"

    # What remains has a bound: none for results at the ends of windows, else the length of the longest window. Late
    # rows may correct results for the allowed lateness longer.
    allowed = _longest_correction(plan)
    corrected = " and may be corrected" if allowed else ""
    if plan.timestamps is TimestampPolicy.POINT_AT_END:
        length = f"less than {plan.words.spell_length(allowed)}" if allowed else "none"
        return f"{length}, as results lie where their windows end{corrected}"
    longest = 0
    for window in plan.windows:
        if window.longest is None:
            return f"as long as a window, as results start where their windows do{corrected}"
        longest = max(longest, window.longest)
    length = plan.words.spell_length(longest + allowed)
    return f"less than {length}, as results start where their windows do{corrected}"


def text_of(plan: Plan) -> str:
    """Return a query in three lines: its windows and keys, its modules, and the columns of its results."""
    keys = [key.name for key in plan.keys]
    windows = f"over {spell_windows(plan)}" if plan.is_windowed else "without windows,"
    grouping = f"by {', '.join(keys)}" if keys else "of all rows"
    lines = [f"Query {windows} {grouping}, emit {spell_emission(plan)}"]
    if plan.passes_events:
        lines.append("  events: returned themselves")
    elif plan.join is not None:
        input_names = [input.name for input in plan.inputs]
        lines.append(f"  join: {plan.join.kind}, of {' and '.join(input_names)}")
    if plan.modules:
        lines.append(f"  modules: {', '.join(map(label_of, plan.modules))}")
    outputs = [field.name for field in plan.outputs]
    lines.append(f"  results: {', '.join([*keys, *plan.engine_columns, *outputs])}")
    return "\n".join(lines)
