"""What `explain()` says, for every strategy there is."""

from __future__ import annotations

from typing import Any

import pytest

from muntin import ClipPolicy, EmitPolicy, TimestampPolicy, snapshot
from muntin_engine.explanation import explain_plan
from muntin_engine.plan import Column
from tests.plan.plans import plan_of, planned
from tests.plan.test_plan import Bound, Free
from tests.sdk.query_modules import Count as CountWithoutRemove
from tests.spark.modules import Count, Echo, Lifetimes, Members

ID = {"id": Column("id", "bigint")}


def line(title: str, *modules: Any, **changed: Any) -> str:
    lines = explain_plan(plan_of(*modules, **changed)).splitlines()
    return next(text[12:] for text in lines if text.startswith(title))


def test_a_query_is_explained_line_by_line() -> None:
    plan = plan_of(planned(Count, "n", inputs=0), planned(Members, "m"), delay=60, buckets=8)
    assert explain_plan(plan) == (
        "window      tumbling(600000000), clip none, timestamps align, emit final\n"
        "key         key, over 8 buckets\n"
        "progress    60 ticks behind the newest start\n"
        "evaluator   general: show.count 1.0.0 has no combine\n"
        "module      n = show.count 1.0.0: its state slides from window to window\n"
        "module      m = show.members 1.0.0: computed from the members of each window, as it is not incremental\n"
        "row         a constant for each window that it is a member of\n"
        "state       the events of open windows; 64 cells per bucket, each read and written only when its keys are "
        "touched or due\n"
        "output      a window is complete when the punctuation reaches its end"
    )


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"columns": {"change": Column("what", "string")}}, "punctuation rows"),
        (
            {"columns": {"change": Column("what", "string")}, "delay": 5},
            "5 ticks behind the newest start, or punctuation rows",
        ),
        ({}, "the end of a static input"),
    ],
)
def test_it_says_what_moves_a_query_on(changed: dict[str, Any], expected: str) -> None:
    assert line("progress", **changed) == expected


def test_a_query_without_keys_says_so() -> None:
    assert line("key", columns={"keys": ()}) == "none: all rows are one group, in one task"


@pytest.mark.parametrize(
    ("cls", "emit", "expected"),
    [
        (Members, "final", "computed from the members of each window, as it is not incremental"),
        (Members, "eager", "computed from the members of each window, as it is not incremental"),
        (CountWithoutRemove, "final", "its state is built from the members of each window, as it has no remove_events"),
        (Count, "speculative", "the state of a window that changes after it was put out is updated with each change"),
        (
            CountWithoutRemove,
            "eager",
            "the state of a window that changes after it was put out is rebuilt when a member goes, "
            "as it has no remove_events",
        ),
    ],
)
def test_it_says_how_a_module_is_evaluated_and_why(cls: Any, emit: str, expected: str) -> None:
    assert line("module", planned(cls), emit=EmitPolicy(emit)).partition(": ")[2] == expected


def test_early_results_are_kept() -> None:
    assert "the last output of each window" not in line("state")
    assert "the last output of each window that may change" in line("state", emit=EmitPolicy.SPECULATIVE)


@pytest.mark.parametrize(
    ("module", "changed", "expected"),
    [
        (planned(Count), {"window": snapshot()}, "a window is complete when the punctuation passes its end"),
        (planned(Lifetimes), {}, "a window is complete when the punctuation reaches its end"),
        (planned(Lifetimes), {"columns": ID}, "a window waits until its members have ended"),
        (planned(Lifetimes), {"is_edge": True}, "a window waits until its members have ended"),
        (planned(Lifetimes), {"columns": ID, "clip": ClipPolicy.RIGHT}, "a window is complete when"),
        (planned(Echo, ""), {"timestamps": TimestampPolicy.CLIP}, "a window is complete when"),
        (planned(Free, ""), {"timestamps": TimestampPolicy.CLIP}, "is never complete before the stream closes"),
        (planned(Free, ""), {}, "a window is complete when"),
        (
            planned(Bound, ""),
            {"timestamps": TimestampPolicy.CLIP, "clip": ClipPolicy.FULL, "emit": EmitPolicy.EAGER},
            "is complete up to the punctuation",
        ),
    ],
)
def test_it_says_when_a_window_is_complete(module: Any, changed: dict[str, Any], expected: str) -> None:
    assert line("output", module, **changed).startswith(expected)
