"""A plan: what it derives, and what it refuses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import muntin.errors
from muntin.errors import ParameterError, QueryError, TypeMismatchError
from muntin.query_checks import QueryShape
from muntin_engine.evaluators.declarations import DECLARATIONS
from muntin_engine.plan import NamedColumn, check_kind, check_trigger
from muntin_engine.plan.planner import with_choice
from tests.engine.plan.plans import plan_of, planned
from tests.engine.plan.queries import Scaled, query, value_of
from tests.modules.members import Count, Echo, Members
from tests.tables import entries, says

DERIVED = {
    # the columns of its results
    "names(query(planned(Count, 'n', inputs=0), planned(Members, 'm')))": ["n", "m"],
    "names(query(Spans))": ["low", "high"],
    "names(query(Echo))": ["value"],
    "names(query(planned(Count, 'change'), planned(Count, 'lifetime')))": ["change", "lifetime"],
    "query(Count).is_operator": False,
    "query(Echo).is_operator": True,
    "query(Bound, **CLIP_FULL).engine_columns": ("window",),
    "query(Bound, **CLIP_FULL, **TIMES_POINT_AT_END).engine_columns": ("window", "lifetime"),
    "query(Bound, **CLIP_FULL, **TIMES_UNCHANGED, **SPECULATIVE).engine_columns": (
        "window",
        "lifetime",
        "change",
        "event_id",
    ),
    "query(Bound, **CLIP_FULL, **TIMES_UNCHANGED, **EAGER).engine_columns[-1]": "new_end",
    "query(Bound, **CLIP_FULL, **EAGER).engine_columns": ("window", "change", "event_id"),
    "query(Count, **TIMES_TIME_BOUND, **EAGER).engine_columns": ("window", "lifetime", "change", "event_id", "new_end"),
    "query(emit=early(every_count(10))).engine_columns": ("window", "timing", "firing"),
    "query(emit=early(every_count(10), refinement='retract')).engine_columns[1:3]": ("change", "event_id"),
    "query(emit=early(every_count(3), refinement=OnlyIfMoved(2))).engine_columns": ("window", "timing", "firing"),
    # its input
    "query().input.lifetimes": "point",
    "query(**LASTING).input.lifetimes": "interval",
    "query(**EDGE).input.lifetimes": "edge",
    "query().says_when_complete": False,
    "query(input=bounded_delay(0)).says_when_complete": True,
    "query(**PUNCTUATED).says_when_complete": True,
    # the windows at whose ends alone output changes, which say what rows are late: none, where the watermark alone does
    "steps_of(query()) == (tumbling('10 minutes'),)": True,
    "steps_of(query(emit=early(every_count(10)))) == steps_of(query())": True,
    "steps_of(query(window=session('1 hour')))": (),
    "steps_of(query(window=snapshot()))": (),
    "steps_of(query(window=trailing('1 hour')))": (),
    "steps_of(query(**IDS))": (),
    "steps_of(query(**EDGE))": (),
    "steps_of(query(**SPECULATIVE))": (),
    "steps_of(query(**EAGER))": (),
    "steps_of(query(forget_keys_after=10))": (),
    "[step.size for step in steps_of(query(window=cumulate('1 day', '1 hour')))]": [3_600_000_000],
    "[step.size for step in steps_of(query(window=landmark('1 hour')))]": [3_600_000_000],
    # what its results promise
    "query(Echo, **CLIP_FULL, **TIMES_UNCHANGED, **EAGER).contract": "window_based",
    "query(Free, **CLIP_FULL, **TIMES_UNCHANGED).contract": "unrestricted",
    "query(Free, **CLIP_FULL, **TIMES_CLIP).contract": "window_based",
    "query(Free, **CLIP_FULL, **TIMES_CLIP, **EAGER).contract": "window_based",
    "query(Free, **CLIP_FULL).contract": "window_based",
    "query(Bound, **CLIP_FULL, **TIMES_CLIP, **EAGER).contract": "time_bound",
    "query(Bound, **CLIP_FULL, **TIMES_CLIP, **SPECULATIVE).contract": "window_based",
    "query(Bound, **CLIP_FULL, **EAGER).contract": "window_based",
    "query(Bound, **CLIP_FULL, **TIMES_TIME_BOUND, **EAGER).contract": "time_bound",
    "query(Echo, **CLIP_FULL, **TIMES_TIME_BOUND, **EAGER).contract": "time_bound",
    "query(Count, **TIMES_TIME_BOUND, **EAGER).contract": "time_bound",
    "query(Count, window=snapshot(), **TIMES_TIME_BOUND, **EAGER).contract": "time_bound",
    # its words
    "spell_windows(query(window=tumbling('10 minutes')))": "tumbling('10 minutes')",
    "spell_windows(query(window=hopping('1 hour', '10 minutes', '-15 minutes')))": (
        "hopping('1 hour', '10 minutes', offset='-15 minutes')"
    ),
    "spell_windows(query(window=hopping(6, 3, 1, reach=2), **TICKS))": "hopping(6, 3, offset=1, reach=2)",
    "spell_windows(query(window=snapshot()))": "snapshot()",
    "spell_grouping(query(window=tumbling(10), **TICKS))": "tumbling(10) by key",
    "spell_grouping(query(window=snapshot(), **keys(('a', 'string'), ('b', 'int'))))": "snapshot() by a, b",
    "spell_grouping(query(window=snapshot(), **keys()))": "snapshot()",
    "str(query(window=tumbling(5), emit=early(every='1 minute'), **TICKS).emit)": (
        "early(repeat(after('1 minute', aligned)), accumulate)"
    ),
}


@pytest.mark.parametrize("expression", DERIVED)
def test_a_property_of_a_plan_follows_from_its_query(expression: str) -> None:
    assert value_of(expression) == DERIVED[expression]


REFUSED = """
query(emit=early(every_count(10), refinement='discard'), **IDS)
    PolicyError: …would never retract…
query(emit=early(every_count(10), refinement='discard'), **EDGE)
    PolicyError: …would never retract…
query(emit=early(every_count(10), refinement='accumulate'), window=snapshot())
    PolicyError: …would never retract…
query(emit=early(every_count(10), refinement='discard'), window=count_by_start(3))
    PolicyError: …would never retract…
query(emit=early(every_count(3)), window=landmark('1 day'), forget_keys_after=DAY)
    PolicyError: …refinement='accumulate' would never retract…
query(Members, emit=early(all_of(every_count(5), reaches('y', 5))))
    PolicyError: …reads the result 'y'
      the query has m0
query(Echo, emit=early(reaches('m', 5)))
    PolicyError: …reads the result 'm'
      the query is an operator…
query(Echo, emit=early(every_count(3), refinement=OtherThanBefore()))
    PolicyError: …OtherThanBefore() refines results by name, and the query is an operator…

query(**TIMES_TIME_BOUND, **FINAL)
    PolicyError: …waits for its window
      use emit='eager'…
query(**TIMES_TIME_BOUND, **SPECULATIVE)
    PolicyError: …waits for its window
      use emit='eager'…
query(**TIMES_TIME_BOUND, emit=early(every_count(10)))
    PolicyError: …waits for its window
      use emit='eager'…
query(Bound, window=snapshot(), **CLIP_FULL, **TIMES_TIME_BOUND, **EAGER)
    PolicyError: …sees its window, and where a window of snapshot() ends is not known…
query(window=tumbling('1 day'), forget_keys_after=DAY, **TIMES_TIME_BOUND, **EAGER)
    PolicyError: …cannot be time-bound…
query(window=cumulate(9, 3), **TIMES_TIME_BOUND, **EAGER)
    PolicyError: …does not say
      use timestamps='align', or another window…
query(window=landmark(9), **TIMES_TIME_BOUND, **EAGER)
    PolicyError: …does not say
      use timestamps='align', or another window…
query(window=global_windows(), **TIMES_TIME_BOUND, **EAGER)
    PolicyError: …does not say
      use timestamps='align', or another window…
query(window=count_by_start(2, every=2), **TIMES_TIME_BOUND, **EAGER)
    PolicyError: …does not say
      use timestamps='align', or another window…
query(window=count_by_end(2, every=3), **TIMES_TIME_BOUND, **EAGER)
    PolicyError: …does not say
      use timestamps='align', or another window…
query(Bound)
    PolicyError: …show.bound 1.0.0 does not accept clip='none'
      it accepts 'full', 'right'
query(Count, **TIMES_UNCHANGED)
    PolicyError: …returns no lifetimes…
query(Lifetimes, **TIMES_UNCHANGED)
    PolicyError: …returns no lifetimes…
query(Spans, **TIMES_UNCHANGED)
    PolicyError: …returns no lifetimes…

query(planned(Count, 'key'))
    QueryError: …two columns named 'key'…
query(planned(Count, 'Key'))
    QueryError: …two columns named 'Key'…
query(planned(Count, 'WINDOW'))
    QueryError: …two columns named 'WINDOW'…
query(planned(Count, 'change'), **EAGER)
    QueryError: …two columns named 'change'…
query(Count, **keys(('window', 'string')))
    QueryError: …two columns named 'window'…rename the key…
query(Spans, **keys(('low', 'string')))
    QueryError: …two columns named 'low'…
query(buckets=0)
    QueryError: …1 to 256 buckets, got 0…
query(buckets=-1)
    QueryError: …1 to 256 buckets, got -1…
query(buckets=257)
    QueryError: …1 to 256 buckets, got 257…
query(window=tumbling(2**61))
    QueryError: …too long for a window…
query(window=hopping(10, 2**61))
    QueryError: …too long for a window…
query(window=tumbling(10, 2**61))
    QueryError: …too long for a window…
query(window=tumbling(10, reach=2**61))
    QueryError: …too long for a window…

query(input=ordered().with_idle(5, lag=1))
    PolicyError: …never says what time it is…
query(input=input_of(ordered().with_idle(5), has_clock=True))
    PolicyError: …the only source of an input cannot be left out…
query(input=ordered().with_key_punctuation())
    PolicyError: …no column says what a row does…
query(late='adjust', **EDGE)
    PolicyError: …late ones cannot be adjusted…
query(input=input_of(most_held=1), **EDGE)
    PolicyError: …a sample, which lasts until the next one, needs room for 2…
query(input=input_of(most_held=9), window=count_by_start(10))
    PolicyError: …shedding(most_held=9) would shed all that come
      give most_held=10 at least…
query(input=input_of(most_held=9, fails_when_full=True), window=count_by_start(10))
    PolicyError: …shedding(most_held=9, when_full='fail') would fail before a key holds them
      give most_held=10 at least…
query(window=landmark('1 day'), forget_keys_after=0)
    PolicyError: …would forget a key while it has events…
query(window=landmark('1 day'), forget_keys_after=-DAY)
    PolicyError: …would forget a key while it has events…
query(window=landmark('1 day'), forget_keys_after=DAY, **EDGE)
    PolicyError: …a sample lasts until the next one of its key…
query(window=last(3), order=0, forget_keys_after=DAY)
    PolicyError: …follows rows
      have its partitions evicted: last(3).partition(…

query(Sketch, requested_evaluator='columnar')
    QueryError: the columnar evaluator cannot run this query: show.sketch 1.0.0 has no columnar form…
query(Sketch, requested_evaluator='sliced', **EAGER)
    QueryError: the sliced evaluator cannot run this query: emit='eager'…
query(Sketch, requested_evaluator='sliced', input=input_of(most_held=9))
    QueryError: the sliced evaluator cannot run this query: shedding counts the events…
query(Sketch, requested_evaluator='sliced', forget_keys_after=DAY)
    QueryError: the sliced evaluator cannot run this query: keys are forgotten…
query(First, requested_evaluator='sliced')
    QueryError: the sliced evaluator cannot run this query: …reads the order of events…
query(First, requested_evaluator='sliced', window=session('1 minute'))
    QueryError: the sliced evaluator cannot run this query: …reads the order of events…
query(First, requested_evaluator='sliced', window=snapshot())
    QueryError: the sliced evaluator cannot run this query: …reads the order of events…
query(Members, named_windows={'a': hopping(9, 6), 'b': hopping(4, 4)}, **EAGER)
    QueryError: …this one has none: emit='eager' emits results that may change…
query(Statistics, window=BERLIN, named_windows={'a': BERLIN, 'b': calendar('month')})
    QueryError: …this one has none: the windows are made of different pieces, such as hours…
parse_evaluator('fast')
    PolicyError: 'fast' is not an evaluator of windows; there are 'auto', 'columnar', 'sliced'…
"""
REFUSALS = list(entries(REFUSED))


@pytest.mark.parametrize(("expression", "expected"), REFUSALS, ids=[expression for expression, _ in REFUSALS])
def test_a_query_that_cannot_be_run_is_refused_with_the_reason(expression: str, expected: str) -> None:
    error_name, _, message = expected.partition(": ")
    with pytest.raises(getattr(muntin.errors, error_name)) as refused:
        value_of(expression)
    assert says(str(refused.value), message), refused.value


def test_a_query_with_several_windows_has_an_evaluator_that_takes_them() -> None:
    several = "named_windows={'a': hopping(9, 6), 'b': hopping(4, 4)}"
    assert value_of(f"query(Members, Count, {several}).choice.evaluator") == "grouped"
    calendars = "named_windows={'a': BERLIN, 'b': calendar('week', zone='Europe/Berlin')}"
    assert value_of(f"query(Statistics, window=BERLIN, {calendars}).choice.uses_forms")


def test_an_evaluator_that_there_is_not_is_refused() -> None:
    """A checkpoint of an older engine may name one."""
    with pytest.raises(QueryError, match="there is no evaluator 'fast'; there are 'columnar', 'sliced', 'grouped'"):
        plan_of(requested_evaluator="fast")


SLICED_AND_GENERAL = [declaration for declaration in DECLARATIONS if declaration.name in ("sliced", "general")]
SLICED = SLICED_AND_GENERAL[:1]


def test_the_planner_chooses_from_the_evaluators_that_it_is_given_and_keeps_the_reason() -> None:
    plan = replace(plan_of(planned(Members)), requested_evaluator=None)
    choice = with_choice(plan, SLICED_AND_GENERAL).choice
    assert choice.evaluator == "general"
    assert choice.reason == "show.members 1.0.0 has no combine"


def test_a_query_that_no_given_evaluator_can_run_is_refused_with_the_reason() -> None:
    plan = replace(plan_of(planned(Members)), requested_evaluator=None)
    with pytest.raises(QueryError, match=r"no evaluator can run this query: show.members 1.0.0 has no combine"):
        with_choice(plan, SLICED)


def test_the_choice_has_the_properties_of_the_evaluator() -> None:
    choice = value_of("query(Statistics).choice")
    assert choice.evaluator == "columnar"
    assert choice.lifts
    assert choice.keeps_state
    assert choice.uses_forms
    assert choice.unreported == {"keys_held", "events_held"}
    assert choice.explanation.modules[0].startswith("keeps ")


def test_late_rows_are_named_by_an_evaluator_that_has_whole_rows_or_ids() -> None:
    assert not value_of("query(Statistics).choice.names_late_rows")
    assert value_of("query(Statistics, **IDS).choice.names_late_rows")
    assert value_of("query(Members, requested_evaluator='general').choice.names_late_rows")


def test_the_plan_for_workers_lacks_explanations_and_the_parameters_of_modules() -> None:
    plan = value_of("query(planned(Scaled, 'm', by=2))")
    assert plan.choice.explanation is not None

    plan_for_workers = plan.for_workers()
    assert plan_for_workers.choice == replace(plan.choice, explanation=None)
    (module,) = plan_for_workers.modules
    assert module.parameters == {}
    assert module.module is plan.modules[0].module


@pytest.mark.parametrize("name", [declaration.name for declaration in DECLARATIONS if declaration.takes_windows])
def test_an_evaluator_of_windows_refuses_a_query_without_windows(name: str) -> None:
    with pytest.raises(QueryError, match=f"the {name} evaluator cannot run this query: the query has no windows"):
        value_of(f"query(Steps, window=Unwindowed(), requested_evaluator={name!r})")


@pytest.mark.parametrize(
    ("trigger", "input", "message"),
    [
        ("every(60)", "", "waits for a clock, and this input has none\n  give events() a change column"),
        ("repeat(on_signal('dusk'))", "**PUNCTUATED", "waits for 'dusk', and this input has no"),
    ],
    ids=["clock", "signal"],
)
def test_a_trigger_that_waits_for_a_clock_or_a_signal_needs_columns_that_bring_it(
    trigger: str, input: str, message: str
) -> None:
    with pytest.raises(muntin.errors.PolicyError) as refused:
        check_trigger(value_of(f"query(emit=early({trigger}), {input})"))
    assert message in str(refused.value)

    columns = {"change": NamedColumn("what", "string"), "signal": NamedColumn("name", "string")}
    check_trigger(query(emit=value_of(f"early({trigger})"), columns=columns))


@pytest.mark.parametrize("window", ["10 minutes", 600, None])
def test_a_value_that_is_no_window_specification_is_refused(window: Any) -> None:
    with pytest.raises(QueryError, match="is not a window specification"):
        QueryShape([Count()], window).check()


@pytest.mark.parametrize("parameters", [{"by": 0}, {"times": 3}])
def test_parameters_that_a_module_does_not_take_are_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=r"show\.scaled\(by: Any = 1") as caught:
        planned(Scaled, **parameters)
    assert caught.value.parameters == parameters


def test_a_module_with_more_columns_than_it_reads_cannot_be_planned() -> None:
    with pytest.raises(TypeMismatchError):
        planned(Members, inputs=2)


def test_an_operator_as_an_aggregate_is_refused() -> None:
    check_kind(Count, is_operator=False)
    with pytest.raises(QueryError, match=r"show\.echo is an operator, which returns rows: use \.apply"):
        check_kind(Echo, is_operator=False)


def test_an_aggregate_as_an_operator_is_refused() -> None:
    check_kind(Echo, is_operator=True)
    with pytest.raises(QueryError, match=r"show\.count is an aggregate, which returns one value: use \.aggregate"):
        check_kind(Count, is_operator=True)
