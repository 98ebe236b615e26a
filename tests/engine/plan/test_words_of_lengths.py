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
    """Needs windows that keep events."""

    name, version = "far.far", "1.0.0"
    needs = Needs(windows=(type(session("1 hour")),), reach=7_200_000_000)

    def compute_result(self, payloads: Any) -> int:
        return 0


class Near(Far):
    """Needs a reach alone."""

    name = "far.near"
    needs = Needs(reach=7_200_000_000)


MODULES: Final[tuple[type[Module], ...]] = (Count, Echo, Far, Near)
SETTINGS: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"timestamps": TimestampPolicy.TIME_BOUND},
    {"timestamps": TimestampPolicy.UNCHANGED},
    {"clip": ClipPolicy.FULL},
    {"emit": EmitPolicy.SPECULATIVE},
    {"emit": early(every="10 minutes", refinement="discard")},
    {"emit": (late := early(triggers.past_end("10 minutes"))), "written_emit": str(late)},
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
"""Axes on which lengths are given as time, and what plans have there."""


@pytest.mark.parametrize("name", list(SCALES))
@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_what_is_said_of_a_query_has_its_lengths_as_they_are_written(window: Any, name: str) -> None:
    scale, columns = SCALES[name]
    answers: dict[str, str] = {}
    for module in MODULES:
        for settings in SETTINGS:
            resolved = {key: scale.resolve(value) for key, value in settings.items()}
            try:
                plan = plan_of(planned(module), **{"window": scale.resolve(window), **columns, **resolved})
            except MuntinError as error:
                answer = str(error)
            else:
                answer = explain_plan(plan)
            answers[f"{module.name} {settings}"] = answer
    in_ticks = {query: answer for query, answer in answers.items() if TICKS.search(answer)}
    assert in_ticks == {}
    assert len(answers) == len(MODULES) * len(SETTINGS)


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_windows_are_shown_as_they_are_written(window: Any) -> None:
    assert str(window) == window.spell(Axis.TIME)


def test_policies_are_shown_as_they_are_written() -> None:
    shown = {
        "correct('10 minutes')": correct("10 minutes"),
        "10 minutes behind the newest start": bounded_delay("10 minutes"),
        "5 ticks behind the newest start": bounded_delay(5),
        "early(past_end('10 minutes'), accumulate)": early(triggers.past_end("10 minutes")),
        "side": LatePolicy.SIDE,
    }
    for words, policy in shown.items():
        assert str(policy) == words
    for policy in (ordered(), bounded_disorder(3), early(every="10 minutes")):
        assert TICKS.search(str(policy)) is None
