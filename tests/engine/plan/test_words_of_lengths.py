"""Messages show lengths as a query writes them: `session('10 minutes')`, and never microseconds."""

from __future__ import annotations

import re
from typing import Any, Final

import pytest

from muntin import (
    Aggregate,
    Axis,
    ClipPolicy,
    EmitPolicy,
    LatePolicy,
    Module,
    TimestampPolicy,
    calendar,
    correct,
    count_by_start,
    cumulate,
    early,
    global_windows,
    hopping,
    landmark,
    session,
    snapshot,
    ticks,
    trailing,
    triggers,
    tumbling,
)
from muntin.errors import MuntinError
from muntin.modules.needs import Needs
from muntin.progress import bounded_delay, bounded_disorder, ordered
from muntin.rows import batch, between, elapsed, last
from muntin_engine.plan import NamedColumn
from muntin_engine.plan.explanation import explain_plan
from muntin_engine.plan.lengths import AxisScale
from tests.engine.plan.plans import input_of, plan_of, planned
from tests.modules.members import Count, Echo

TICKS: Final = re.compile(r"\d{6,}")
"""A number of ticks: lengths of a query by time have no such figures."""

WINDOWS: Final = (
    *(tumbling("10 minutes"), hopping("1 hour", "10 minutes", offset="5 minutes"), tumbling("1 day", reach="2 hours")),
    *(session("10 minutes"), cumulate("1 hour", "10 minutes"), landmark("10 minutes"), trailing("90 seconds")),
    *(calendar("1 month", reach="1 hour"), snapshot(), count_by_start(3), global_windows()),
    *(last("10 minutes"), last(10).trigger(elapsed("1 minute")), batch(elapsed("10 minutes"))),
    *(last(5).partition("x", age="10 minutes"), between("c0 = 1", "c0 = 2", within="10 minutes")),
)


class Far(Aggregate[int, int]):
    """A module that needs session windows with a reach of two hours."""

    name, version = "far.far", "1.0.0"
    needs = Needs(windows=(type(session("1 hour")),), reach=7_200_000_000)

    def compute_result(self, payloads: Any) -> int:
        return 0


class Near(Far):
    """A module that needs any windows with a reach of two hours."""

    name = "far.near"
    needs = Needs(reach=7_200_000_000)


MODULES: Final[tuple[type[Module], ...]] = (Count, Echo, Far, Near)
EARLY: Final = early(triggers.past_end("10 minutes"))

SETTINGS: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"timestamps": TimestampPolicy.TIME_BOUND},
    {"timestamps": TimestampPolicy.UNCHANGED},
    {"clip": ClipPolicy.FULL},
    {"emit": EmitPolicy.SPECULATIVE},
    {"emit": early(every="10 minutes", refinement="discard")},
    {"emit": EARLY, "written_emit": str(EARLY)},
    {"forget_keys_after": ticks("10 minutes")},
    {"input": input_of(late=correct("10 minutes"))},
    {"input": input_of(late=correct("10 minutes")), "forget_keys_after": ticks("10 minutes")},
    {"is_edge": True},
    *({"requested_evaluator": name} for name in ("columnar", "general")),
)


SCALES: Final = {
    "timestamps": (AxisScale(Axis.TIME, None, "at"), {}),
    "seconds": (
        AxisScale(Axis.TICKS, "s", "at"),
        {"axis": Axis.TICKS, "unit": "s", "columns": {"start": NamedColumn("at", "bigint")}},
    ),
}
"""Axes on which lengths are given as time, each with the parts that a plan has there."""


@pytest.mark.parametrize("name", list(SCALES))
@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_explanations_and_errors_of_a_query_have_no_lengths_in_ticks(window: Any, name: str) -> None:
    scale, axis_parts = SCALES[name]
    for module in MODULES:
        for settings in SETTINGS:
            resolved_settings = {key: scale.resolve(value) for key, value in settings.items()}
            plan_parts = {"window": scale.resolve(window), **axis_parts, **resolved_settings}
            text = explanation_or_error(module, plan_parts)
            assert TICKS.search(text) is None, f"{module.name} {settings}: {text}"


def explanation_or_error(module: type[Module], plan_parts: dict[str, Any]) -> str:
    """Return the explanation of a query, or the error if it is refused."""
    try:
        plan = plan_of(planned(module), **plan_parts)
    except MuntinError as error:
        return str(error)
    return explain_plan(plan)


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_windows_are_shown_as_they_are_written(window: Any) -> None:
    assert str(window) == window.spell(Axis.TIME)


@pytest.mark.parametrize(
    ("policy", "text"),
    [
        (correct("10 minutes"), "correct('10 minutes')"),
        (bounded_delay("10 minutes"), "10 minutes behind the newest start"),
        (bounded_delay(5), "5 ticks behind the newest start"),
        (early(triggers.past_end("10 minutes")), "early(past_end('10 minutes'), accumulate)"),
        (LatePolicy.SIDE, "side"),
    ],
)
def test_policies_are_shown_with_lengths_as_they_are_written(policy: Any, text: str) -> None:
    assert str(policy) == text


@pytest.mark.parametrize("policy", [ordered(), bounded_disorder(3), early(every="10 minutes")], ids=str)
def test_no_policy_is_shown_with_a_length_in_ticks(policy: Any) -> None:
    assert TICKS.search(str(policy)) is None
