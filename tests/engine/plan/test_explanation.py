"""What `explain()` says of a query, topic by topic: which evaluator runs it and why, what it costs, how far it is."""

from __future__ import annotations

import pytest

from muntin import count_by_start, global_windows, landmark, session, snapshot, tumbling
from muntin.progress import bounded_delay
from muntin.windows import WindowSpecification
from muntin_engine.plan import Input, NamedColumn
from muntin_engine.plan.explanation import explain_plan, topics_of
from muntin_engine.plan.metrics import metrics_of
from tests.engine.plan.plans import input_of, plan_of, planned
from tests.engine.plan.queries import value_of
from tests.modules.members import Count, Members
from tests.tables import entries, says

EXPLAINED = """
query(Count)
    progress    nothing but the end of a static input
    forgetting  (not a line)
    output      a window is complete when the watermark reaches its end
query(Count, **PUNCTUATED)
    progress    punctuation rows
query(Count, input=bounded_delay(5), **PUNCTUATED)
    progress    5 microseconds behind the newest start, or punctuation rows
query(Count, input=bounded_disorder(3))
    progress    at most 3 rows that start later come before a row
query(Count, input=punctuate_every(span='1 hour'))
    progress    0 seconds behind the newest start, every 1 hour
query(Count, input=input_of(ordered(), ('a', 'b')))
    progress    0 seconds behind the newest start; the least of a, b
query(Count, input=input_of(heartbeats=1))
    progress    another stream
query(Count, input=input_of(heartbeats=2))
    progress    2 other streams
query(Count, input=input_of(ordered().with_idle('1 minute'), ('a', 'b'), has_clock=True))
    progress    0 seconds behind the newest start; the least of a, b; a source that is silent for 1 minute is left out
query(Count, input=input_of(ordered().with_idle('1 minute', lag='2 minutes'), has_clock=True))
    progress    …; a source that is silent for 1 minute is taken to be 2 minutes behind the clock
query(Count, input=resolved(Guarded(ticks('5 minutes'))))
    progress    5 minutes behind the newest start, or behind the clock…
query(Statistics, input=ordered().with_key_punctuation(), **PUNCTUATED)
    progress    …; keys may punctuate themselves
    evaluator   general: keys may punctuate themselves, so each closes windows of its own

query(Sketch, late='side')
    late        rows behind the watermark go to late_rows()…
    evaluator   sliced: …
query(Sketch, late='drop')
    late        rows behind the watermark are counted and dropped…
    evaluator   sliced: …
query(Sketch, late='adjust')
    late        insertions start at the watermark…
    evaluator   general: late_policy='adjust' takes late rows in…
query(Sketch, late=correct('1 hour'))
    late        rows of windows that ended less than 1 hour before the watermark correct results…
    evaluator   general: late_policy=correct('1 hour') takes late rows in…
    state       …the last output of each window that may change…
    output      a window is complete when the watermark reaches its end, and 1 hour more
    lag         less than 1 hour 10 minutes, …
query(Sketch, late=correct('1 hour'), window=session('1 hour'))
    late        rows up to 1 hour behind the watermark correct results, others go to late_rows()
query(Statistics, keeps_late_rows=True)
    evaluator   columnar: …
query(Statistics, input=input_of(most_held=9))
    evaluator   general: shedding counts the events that a key…
query(Members, input=input_of(most_held=9_000))
    shedding    a key that holds 9,000 events takes no new ones until some leave; those are counted as shed and go to late_rows(), and its results are of a part of its events, the earliest of each micro-batch

query(Count, window=tumbling('1 hour'), forget_keys_after=30 * DAY)
    forgetting  a key that is silent for longer than 30 days after its last event: its windows end then, and nothing is kept
    context     the windows of an event also depend on events that come after it
    evaluator   general: keys are forgotten, so where a window ends depends on all events of its key
    state       …until the key has been silent for long enough…

query(Count, **keys())
    key         none: all rows are one group, in one task
query(Count, window=hopping('10 minutes', '1 minute'))
    context     the windows of an event follow from its own times
query(Count, window=snapshot())
    context     the windows of an event also depend on events that come after it
    evaluator   general: show.count 1.0.0 slides from window to window…
    output      a window is complete when the watermark passes its end
    lag         as long as the earliest window of any key is open…
query(Members, **EAGER)
    module      …: computed from the members of each window, as it is not incremental
query(CountWithoutRemove)
    module      …: its state is built from the members of each window
query(Count, **SPECULATIVE)
    module      …: the state of a window that changes after it was emitted is updated with each change
    state       …the last output of each window that may change…
query(CountWithoutRemove, **EAGER)
    module      …: the state of a window that changes after it was emitted is rebuilt when a member goes, as it has no remove_events

query(Count, emit=early(repeat(any_of(every_count(10), on_signal('dusk'))), refinement='retract'))
    evaluator   general: a trigger watches each window by itself
    early       a window's trigger is called when its members change or a time comes that it waits for or a signal 'dusk' does; each result is the whole so far, and the last one is retracted
    row         …a firing costs what a closing does…
    state       …the trigger's state of each open window with members, with its last output…
query(Count, emit=early(every_count(10), refinement='discard'))
    module      …members that came since the window was last emitted…
query(Count, emit=early(every_count(3), refinement=OnlyIfMoved(2)))
    early       …; OnlyIfMoved(threshold=2) says what is emitted of each result…
    state       …open window with members, with the state of its refinement…

query(Count, **TIMES_POINT_AT_END)
    lag         none, as results lie where their windows end
query(Count, window=hopping(600, 60), **TICKS)
    lag         less than 600 ticks, as results start…
query(Count, **TIMES_TIME_BOUND, **EAGER)
    output      …is complete up to the watermark, as no result starts before its cause
query(Lifetimes)
    output      a window is complete when the watermark reaches its end
query(Lifetimes, **IDS)
    output      a window waits until its members have ended…
    lag         until the members of the earliest window have ended…
query(Lifetimes, **EDGE)
    output      a window waits until its members have ended…
query(Lifetimes, **IDS, **CLIP_RIGHT)
    output      a window is complete when…
query(Echo, **TIMES_CLIP)
    output      a window is complete when…
query(Free, **TIMES_UNCHANGED)
    output      …is never complete before the stream closes…
    lag         no output watermark before the stream…
query(Free, **TIMES_CLIP)
    output      a window is complete when…
    lag         less than 10 minutes, as results start…
query(Free)
    output      a window is complete when…
query(Bound, **TIMES_CLIP, **CLIP_FULL, **EAGER)
    output      …is complete up to the watermark…
    lag         none…
query(FollowedBy, **LOOKS_BACK)
    lifetimes   those that the module returns are discarded; timestamps='unchanged' or 'clip' keeps them
query(FollowedBy, **LOOKS_BACK, **TIMES_UNCHANGED, **ASKED)
    window      …, clip right (as its modules ask), timestamps unchanged (as its modules ask), emit final
    lifetimes   (not a line)

query(Members)
    evaluator   grouped: show.members 1.0.0 has no combine
    state       the rows of open windows, in columns as they came; a batch writes only its own rows
query(Members, window=hopping(9, 3))
    evaluator   grouped: show.members 1.0.0 has no combine
query(Members, window=hopping(9, 3), requested_evaluator='general')
    row         a constant for each window that it is a member of
query(Members, window=snapshot(), **LASTING)
    row         a constant for each window that it is a member of, when…
query(Members, window=session(9))
    evaluator   grouped: show.members 1.0.0 has no combine
    state       the rows of open windows, in columns as they came; a batch…
query(Count, window=hopping(99, 3))
    evaluator   grouped: show.count 1.0.0 has no combine
    module      …its state goes on from window to window, as rows come and go
    row         a constant, as it is added to a state once, and removed at most once
query(Count, window=hopping(99, 3), requested_evaluator='general')
    module      …a micro-batch closes, and is built anew in the next one
    state       the events of open windows, in…
    row         a constant in each micro-batch that closes windows that it is a member of, however many these are
query(Count, window=landmark(9))
    state       all rows, as none ever leaves its windows, in columns as they came…
query(Count, window=landmark(9), requested_evaluator='general')
    state       all events, as none ever leaves its windows, in…
query(Count, window=global_windows())
    state       all events, as none ever leaves its windows, in…

query(Sketch)
    evaluator   sliced: show.sketch 1.0.0 has no columnar form for its input
    module      m0 = show.sketch 1.0.0: its states are combined per slice, each window has…
    state       a partial state per key and slice of the open windows; a state has a bounded size; a batch writes only…
query(Sketch, requested_evaluator='general')
    evaluator   general: asked for
query(Sketch, window=hopping(9, 3))
    module      m0 = show.sketch 1.0.0: its states are combined per slice; windows…
query(Peeled, window=hopping(9, 3))
    module      m0 = show.sketch 1.0.0: its states are combined per slice; a window…
query(Sketch, window=snapshot())
    evaluator   grouped: show.sketch 1.0.0 has no columnar form for its input
query(Sketch, **IDS)
    evaluator   general: show.sketch 1.0.0 has no columnar form for its input
query(Sketch, **LASTING)
    evaluator   grouped: show.sketch 1.0.0 has no columnar form for its input
query(Sketch, window=session(9))
    evaluator   sliced: show.sketch 1.0.0 has no columnar form for its input
    module      m0 = show.sketch 1.0.0: adds a session's rows of a batch in one call, and combines its states where…
    row         crosses the shuffle as it is, and is added there to the state of its…
    state       a partial state per key and open session; a state has a bounded size; a…
query(Sketch, window=session(9), **LASTING)
    evaluator   sliced: show.sketch 1.0.0 has no columnar form…
query(Sketch, window=session(9), **IDS)
    evaluator   general: events have ids, so they may be…
query(Sketch, window=BERLIN)
    evaluator   sliced: show.sketch 1.0.0 has no columnar form for its input
    row         merged once into its slice of 1 day, before the shuffle…

query(Whole)
    module      m0 = show.whole 1.0.0: keeps total (add int64); added where its first…
    state       …; a state has a bounded size; a batch…
query(Whole, window=snapshot())
    evaluator   columnar: all modules have a columnar form
    module      m0 = show.whole 1.0.0: keeps total (add int64); added where…
    row         lifted before the shuffle; its start and its end are sorted among…
    state       a partial state per event until the watermark passes its end; a state has a bounded size; a…
query(Whole, window=snapshot(), **IDS)
    evaluator   columnar: all modules have a columnar form
    row         admitted by the sorted ids of its bucket; its start…
    state       an event until the watermark passes its end, and…
query(Whole, window=snapshot(), **IDS, **EAGER)
    evaluator   general: emit='eager' emits results that may change
query(Whole, **IDS)
    module      m0 = show.whole 1.0.0: keeps total (add int64); added where its first…
    row         admitted by the sorted ids of its bucket; its event is merged once into…
    state       an event until the watermark passes its end, and…
query(Whole, **IDS, **SPECULATIVE)
    state       an event until the watermark passes its end, and the last output of each window that may change, and…
query(Whole, **IDS, **EAGER)
    evaluator   columnar: all modules have a columnar form

query(Statistics)
    evaluator   columnar: all modules have a columnar form
    module      m0 = test.statistics 1: keeps count (count int64), whole (add int64), total…
query(Statistics, requested_evaluator='sliced')
    evaluator   sliced: asked for
query(Statistics, **IDS)
    evaluator   columnar: all modules have a columnar form
query(Statistics, **LASTING)
    row         merged once into the range of windows that it overlaps, before the shuffle…
query(Statistics, window=hopping(9, 6))
    row         merged once into its slice of 3 microseconds, before the…
query(Statistics, window=hopping(9, 7))
    row         merged once into its slice, one of 2 in 7 microseconds, b…
query(Statistics, window=snapshot())
    evaluator   grouped: test.statistics 1 keeps least (fmin int64), which cannot be subtracted where an event of a…
query(Statistics, window=snapshot(), **IDS)
    evaluator   general: test.statistics 1 keeps least (fmin int64), which cannot be subtracted where an event of a…
query(Statistics, window=session(9))
    row         lifted before the shuffle, and fused with its session after it…
    state       a partial state per key and open session; a state has a bounded size; a…
query(Statistics, window=BERLIN)
    evaluator   columnar: all modules have a columnar form
query(Statistics, window=BERLIN, **LASTING)
    evaluator   columnar: all modules have a columnar form
query(Statistics, window=calendar('2 months', 'month'))
    row         merged once into its slice of 1 month, before…
query(Statistics, window=calendar('week', zone='Asia/Tokyo'))
    row         merged once into its slice of 1 week,…
query(Statistics, window=SAMOA)
    evaluator   columnar: all modules have a columnar form
query(Statistics, window=SAMOA, **LASTING)
    evaluator   columnar: all modules have a columnar form
query(Statistics, window=calendar('week', zone='Pacific/Apia'), **LASTING)
    row         merged once into the range of windows that it overlaps…
query(Statistics, window=calendar('2 days', 'day', zone='Pacific/Apia'))
    evaluator   general: calendar('2 days', 'day', zone='Pacific/Apia') is not a regular grid

query(Average, requested_evaluator='sliced')
    state       …; a state has a bounded size; a batch…
query(ApproximateMedian)
    state       …; a state has a bounded size; a batch…
query(Whole, Listing)
    state       …; a state of show.listing 1.0.0 may grow with its values; a batch…
query(Whole, Median)
    state       …; a state of stats.median 0.1.0 may grow with its values; a batch…
query(Whole, Mode)
    state       …; a state of stats.mode 0.1.0 may grow with its values; a batch…

query(First, Sum, Last, order=1, **SEQ)
    order       stats.first 0.1.0, stats.last 0.1.0: events by time, and at one time by seq
query(Joined, **SEQ)
    order       test.joined 1: events by time, and at one time by the fields that the module reads; events(..., order='offset') says another order
query(Sum, **SEQ)
    order       (not a line)
query(First, **SEQ)
    evaluator   grouped: stats.first 0.1.0 reads the order of events, and the rows of a partial state come in any
    module      …computed from the members of each window in their order
query(First, window=session('1 minute'), **SEQ)
    evaluator   grouped: stats.first 0.1.0 reads the order of events, and the rows of a partial state come in any
query(First, window=snapshot(), **SEQ)
    evaluator   grouped: stats.first 0.1.0 reads the order of events, and the rows of a partial state come in any
query(CollectList, order=1, window=last(3), **SEQ)
    order       by time, and at one time by seq; a row is released when the watermark passes it
    evaluator   sliding: stats.collect_list 0.1.0 reads the order of events, and the rows of a partial state come in any
    module      …its state goes on from window to window of a key, as rows come and go
    state       …the last 3 rows of each key…
query(Sum, order=1, window=last(1), **SEQ)
    evaluator   ranked: …
    module      …a window is the difference of two running sums
    state       …the last row of each key…
query(Max, order=1, window=last(3).when_full(), **SEQ)
    module      …windows are merged of runs of 1, 2, 4 and so on rows, as not all of it can be subtracted exactly
query(Sum, order=1, window=last(3).with_marks(), **SEQ)
    evaluator   in_order: results say where the output of a window ends
    module      …its state follows the rows that come and go
query(Sum, order=1, window=last('1 minute'), **SEQ)
    evaluator   in_order: …is not decided by numbers of rows alone
"""  # noqa: E501  # as they are told
EXPLANATIONS = list(entries(EXPLAINED))


@pytest.mark.parametrize(("query", "lines"), EXPLANATIONS, ids=[query for query, _ in EXPLANATIONS])
def test_a_query_is_explained_topic_by_topic(query: str, lines: str) -> None:
    topics = dict(topics_of(value_of(query)))
    for line in lines.splitlines():
        topic, text = line.split(maxsplit=1)
        assert says(topics.get(topic, "(not a line)"), text), f"{topic}: {topics.get(topic)}"


def explanation_of_samples(input: Input) -> str:
    payload = (NamedColumn("c0", "bigint"), NamedColumn("c1", "bigint"))
    return dict(topics_of(plan_of(input=input, is_edge=True, columns={"payload": payload})))["samples"]


def test_the_explanation_says_which_of_several_samples_at_one_time_holds() -> None:
    ordered_by_c0 = input_of(bounded_delay("1 minute"), order=0)
    ordered_by_both = input_of(bounded_delay("1 minute"), order=1, then_by=(0,))
    without_order = input_of(bounded_delay("1 minute"))
    assert explanation_of_samples(ordered_by_c0) == "of one time, the last by c0"
    assert explanation_of_samples(ordered_by_both) == "of one time, the last by c1, then c0"
    assert explanation_of_samples(without_order).startswith(
        "of one time, the greatest by what is read of it; events(..., order="
    )


def test_the_explanation_of_events_has_no_line_on_samples() -> None:
    assert "samples" not in dict(topics_of(plan_of(is_edge=False)))


def test_the_explanation_of_a_query_has_a_line_per_topic() -> None:
    plan = plan_of(planned(Count, "n", inputs=0), planned(Members, "m"), input=input_of(bounded_delay(60)), buckets=8)
    assert explain_plan(plan) == (
        "window      tumbling('10 minutes'), clip none, timestamps align, emit final\n"
        "key         key, over 8 buckets\n"
        "progress    60 microseconds behind the newest start\n"
        "late        rows behind the watermark go to late_rows()\n"
        "context     the windows of an event follow from its own times\n"
        "evaluator   grouped: show.count 1.0.0 has no combine\n"
        "module      n = show.count 1.0.0: its state is built from the members of each window\n"
        "module      m = show.members 1.0.0: computed from the members of each window, as it is not incremental\n"
        "row         a constant for each window that it is a member of, when that closes\n"
        "state       the rows of open windows, in columns as they came; a batch writes only its own rows\n"
        "output      a window is complete when the watermark reaches its end\n"
        "lag         less than 10 minutes, as results start where their windows do"
    )


@pytest.mark.parametrize(
    "window",
    [landmark("1 day"), global_windows(), count_by_start(3), tumbling("1 hour"), session("1 hour"), snapshot()],
    ids=str,
)
def test_a_query_that_forgets_keys_is_run_by_the_general_evaluator_and_has_a_metric_and_a_topic_for_it(
    window: WindowSpecification,
) -> None:
    forgetting_plan = plan_of(window=window, forget_keys_after=5)
    assert forgetting_plan.choice.evaluator == "general"
    assert "keys_forgotten" in {metric.name for metric in metrics_of(forgetting_plan)}
    assert "forgetting" in dict(topics_of(forgetting_plan))

    remembering_plan = plan_of(window=window)
    assert "keys_forgotten" not in {metric.name for metric in metrics_of(remembering_plan)}
    assert "forgetting" not in dict(topics_of(remembering_plan))
