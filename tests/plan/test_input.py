"""What a plan says of its input: how complete it is, and what becomes of late rows."""

from __future__ import annotations

from typing import Any

import pytest

from muntin import EmitPolicy, correct, count_by_start, cumulate, landmark, session, snapshot, trailing, tumbling
from muntin.errors import PolicyError
from muntin.lateness import parse_lateness
from muntin.progress import bounded_delay, bounded_disorder, ordered, punctuate_every
from muntin_engine.plan import Input, NamedColumn
from muntin_engine.plan.identity import plan_identity
from tests.differential.forms import Statistics
from tests.plan.plans import input_of, plan_of, planned
from tests.plan.test_explanation import Sketch, line


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (input_of(bounded_disorder(3)), "at most 3 rows that start later come before a row"),
        (input_of(punctuate_every(span="1 hour")), "0 seconds behind the newest start, every 1 hour"),
        (input_of(ordered(), ("a", "b")), "0 seconds behind the newest start; the least of a, b"),
        (input_of(heartbeats=1), "another stream"),
        (input_of(heartbeats=2), "2 other streams"),
        (
            input_of(ordered().with_idle("1 minute"), ("a", "b"), has_clock=True),
            "0 seconds behind the newest start; the least of a, b; a source that is silent for 1 minute is left out",
        ),
        (
            input_of(ordered().with_idle("1 minute", lag="2 minutes"), has_clock=True),
            "0 seconds behind the newest start; "
            "a source that is silent for 1 minute is taken to be 2 minutes behind the clock",
        ),
    ],
)
def test_it_says_what_the_rows_and_the_sources_imply(given: Input, expected: str) -> None:
    assert line("progress", input=given) == expected


def test_it_says_that_keys_may_be_further() -> None:
    given = input_of(ordered().with_key_punctuation())
    changed: dict[str, Any] = {"columns": {"change": NamedColumn("what", "string")}, "input": given}
    assert line("progress", **changed).endswith("; keys may punctuate themselves")
    assert line("evaluator", planned(Statistics), **changed) == (
        "general: keys may punctuate themselves, so each closes windows of its own"
    )


@pytest.mark.parametrize(
    ("late", "expected", "evaluator"),
    [
        ("side", "rows behind the watermark go to late()", "sliced: "),
        ("drop", "rows behind the watermark are counted and dropped", "sliced: "),
        ("adjust", "insertions start at the watermark", "general: late='adjust' takes late rows in"),
        (
            correct("1 hour"),
            "rows of windows that ended less than 1 hour before the watermark correct results",
            "general: late='correct(3600000000)' takes late rows in",
        ),
    ],
)
def test_it_says_what_becomes_of_late_rows(late: Any, expected: str, evaluator: str) -> None:
    given = input_of(ordered(), late=parse_lateness(late))
    assert line("late", planned(Sketch), input=given).startswith(expected)
    assert line("evaluator", planned(Sketch), input=given).startswith(evaluator)


def test_off_the_grid_late_rows_correct_results_by_the_watermark_alone() -> None:
    given = input_of(ordered(), late=correct("1 hour"))
    said = "rows up to 1 hour behind the watermark correct results, others go to late()"
    assert line("late", planned(Sketch), input=given, window=session("1 hour")) == said


def test_results_that_may_be_corrected_are_complete_later() -> None:
    given = input_of(ordered(), late=correct("1 hour"))
    assert line("output", input=given) == "a window is complete when the watermark reaches its end, and 1 hour more"
    assert line("lag", input=given).startswith("less than 1 hour 10 minutes, ")
    assert "the last output of each window that may change" in line("state", input=given)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"input": input_of(ordered().with_idle(5, lag=1))}, "never says what time it is"),
        ({"input": input_of(ordered().with_idle(5), has_clock=True)}, "the only source of an input cannot be left out"),
        ({"input": input_of(ordered().with_key_punctuation())}, "no column says what a row does"),
        ({"input": input_of(late=parse_lateness("adjust")), "is_edge": True}, "late ones cannot be adjusted"),
        (
            {"input": input_of(most_held=1), "is_edge": True},
            "a sample, which lasts until the next one, needs room for 2",
        ),
        ({"input": input_of(most_held=9), "window": count_by_start(10)}, r"give most_held=10 at least"),
    ],
)
def test_what_does_not_fit_the_input_is_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        plan_of(**changed)


@pytest.mark.parametrize(
    ("before", "after", "differs"),
    [
        (input_of(ordered()), input_of(bounded_delay(7).with_idle(5, lag=3), has_clock=True), []),
        (input_of(ordered(), late=parse_lateness("side")), input_of(ordered(), late=parse_lateness("drop")), []),
        (input_of(bounded_disorder(3)), input_of(bounded_disorder(4)), ["progress"]),
        (input_of(ordered(), ("a", "b")), input_of(ordered(), ("a",)), ["sources"]),
        (input_of(late=correct(5)), input_of(late=correct(6)), ["late"]),
        (input_of(most_held=5), input_of(most_held=6), []),
    ],
)
def test_a_checkpoint_remembers_what_it_keeps_and_no_delay(before: Input, after: Input, differs: list[str]) -> None:
    old, new = (plan_identity(plan_of(input=given)) for given in (before, after))
    assert [name for name in old if old[name] != new[name]] == differs


@pytest.mark.parametrize(
    "changed",
    [
        {"window": session("1 hour")},
        {"window": cumulate("1 day", "1 hour")},
        {"window": landmark("1 hour")},
        {"window": snapshot()},
        {"window": trailing("1 hour")},
        {"columns": {"id": NamedColumn("id", "string")}},
        {"is_edge": True},
        {"emit": EmitPolicy.SPECULATIVE},
        {"emit": EmitPolicy.EAGER},
        {"forget_keys_after": 10},
    ],
    ids=str,
)
def test_off_the_grid_or_with_ids_a_row_behind_the_watermark_is_late_in_an_open_window_too(
    changed: dict[str, Any],
) -> None:
    assert plan_of(**changed).steps == ()
    assert plan_of().steps == (tumbling("10 minutes"),)
