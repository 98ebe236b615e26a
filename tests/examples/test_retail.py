"""Kinds of windows of a plugin, without Spark: laws, other definitions, plans, checkpoints, and the oracle."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from muntin import INFINITY, EmitPolicy, Event, TimestampPolicy, Window, window
from muntin.catalog import installed
from muntin.catalog.named_windows import from_dict
from muntin.errors import DurationError, ParameterError, PolicyError, UnknownModuleError, WindowError
from muntin.testing import Outcome, reference, try_laws
from muntin.windows import WindowKind
from muntin_engine.errors import StateMismatchError
from muntin_engine.evaluators.declarations import DECLARATIONS
from muntin_engine.plan.continuing import check_plans
from muntin_engine.plan.explanation import explain_plan
from muntin_engine.plan.identity import plan_identity
from tests.conftest import ROOT
from tests.engine.plan.plans import plan_of
from tests.scenarios.drawing import cutting
from tests.scenarios.inputs import early

pytestmark = pytest.mark.usefixtures("retail")

KINDS: dict[str, dict[str, Any]] = {
    "retail.visits": {"gap": 4},
    "retail.shifts": {"day": 7, "night": 4},
    "retail.between_starts": {},
}


def test_the_engine_and_the_sdk_do_not_know_the_plugin() -> None:
    sources: list[Any] = []
    for folder in ("sdk", "engine", "cli"):
        sources += (ROOT / folder).rglob("*.py")
    assert len(sources) > 300
    assert [file for file in sources if "muntin_retail" in file.read_text(encoding="utf-8")] == []


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_keeps_the_laws(name: str) -> None:
    outcomes = {verdict.law: verdict.outcome for verdict in try_laws(window(name, **KINDS[name]))}
    assert outcomes == dict.fromkeys(outcomes, Outcome.KEPT)
    assert len(outcomes) > 3


def _histories() -> Iterator[list[Event[str]]]:
    for seed in range(60):
        random = Random(seed)
        starts = [random.randrange(-10, 40) for _ in range(random.randrange(8))]
        yield [Event(start, start + random.choice((1, 1, 3, 9)), "") for start in starts]


def _with_members(kind: WindowKind, events: list[Event[str]]) -> list[Window]:
    """Return the windows of events that have a member."""
    with_members: list[Window] = []
    for cut_window in reference.windows(kind, events, INFINITY):
        if any(reference.belongs(kind, event, cut_window) for event in events):
            with_members.append(cut_window)
    return with_members


def test_visits_are_those_of_a_loop_over_sorted_events() -> None:
    kind: Any = window("retail.visits", gap=4)
    for events in _histories():
        visits: list[Window] = []
        for event in sorted(events, key=lambda event: event.start):
            last = event.end + 3
            if visits and event.start < visits[-1].end:
                visits[-1] = Window(visits[-1].start, max(visits[-1].end, last))
            else:
                visits.append(Window(event.start, last))
        assert _with_members(kind, events) == visits


def test_shifts_are_those_that_have_a_tick_of_an_event() -> None:
    kind: Any = window("retail.shifts", day=7, night=4)
    for events in _histories():
        ticks: set[int] = set()
        for event in events:
            ticks.update(range(event.start, event.end))
        days = {tick // 11 * 11 for tick in ticks if tick % 11 < 7}
        nights = {tick // 11 * 11 + 7 for tick in ticks if tick % 11 >= 7}
        expected = [*(Window(day, day + 7) for day in days), *(Window(night, night + 4) for night in nights)]
        assert _with_members(kind, events) == sorted(expected)


def test_a_kind_is_named_with_parameters_and_spelled_that_way() -> None:
    kind = window("retail.visits", gap="10 minutes")
    assert str(kind) == "window('retail.visits', gap='10 minutes')"
    plan = plan_of(window=kind)
    assert "window('retail.visits', gap='10 minutes'), version 1.2" in explain_plan(plan)
    assert plan.choice.evaluator == "general"
    assert "is cut by each key's own events" in plan.choice.reason
    shifts = plan_of(window=window("retail.shifts", day="8 hours", night="16 hours"))
    assert "is not a regular grid" in shifts.choice.reason


def test_a_name_or_parameters_that_are_wrong_are_refused() -> None:
    with pytest.raises(UnknownModuleError, match=r"no window kind is named 'retail.visit'") as unknown:
        window("retail.visit", gap=4)
    assert unknown.value.suggestion == "'retail.visits' (muntin-retail 1.0)"
    with pytest.raises(ParameterError, match="it lacks gap"):
        window("retail.visits")
    with pytest.raises(DurationError):
        window("retail.visits", gap="10 parsecs")
    with pytest.raises(WindowError, match="above zero"):
        window("retail.visits", gap=0)


def test_time_bound_results_are_refused_with_the_reason() -> None:
    with pytest.raises(PolicyError, match="needs to know when what a window holds becomes known"):
        plan_of(
            window=window("retail.visits", gap="1 hour"), timestamps=TimestampPolicy.TIME_BOUND, emit=EmitPolicy.EAGER
        )


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_survives_a_checkpoint(name: str) -> None:
    kind = window(name, **KINDS[name])
    assert from_dict(json.loads(json.dumps(kind.to_dict()))) == kind


def _identity_of_visits(**changed: Any) -> dict[str, Any]:
    identity: dict[str, Any] = json.loads(
        json.dumps(plan_identity(plan_of(window=window("retail.visits", gap="1 hour"))))
    )
    identity["window"] |= changed
    return identity


def test_a_checkpoint_of_an_older_version_is_continued_since_the_one_that_the_kind_says() -> None:
    plan = plan_of(window=window("retail.visits", gap="1 hour"))
    check_plans([plan], [_identity_of_visits(version="1.2")], "s3://a/b", DECLARATIONS)
    check_plans([plan], [_identity_of_visits(version="1.1")], "s3://a/b", DECLARATIONS)
    for version in ("1.0", "1.3"):
        with pytest.raises(StateMismatchError) as refused:
            check_plans([plan], [_identity_of_visits(version=version)], "s3://a/b", DECLARATIONS)
        (difference,) = refused.value.differences
        assert difference.checkpoint == f"window('retail.visits', gap='1 hour'), version {version}"
        assert difference.query == "window('retail.visits', gap='1 hour'), version 1.2"


def test_a_checkpoint_of_other_parameters_is_refused_whatever_the_version() -> None:
    plan = plan_of(window=window("retail.visits", gap="2 hours"))
    with pytest.raises(StateMismatchError, match="gap='1 hour'"):
        check_plans([plan], [_identity_of_visits(version="1.1")], "s3://a/b", DECLARATIONS)


def test_a_checkpoint_of_a_kind_that_is_gone_is_told_as_it_stands() -> None:
    with pytest.raises(StateMismatchError, match=r"kind gone\.kind, version 1\.2, gap 3600000000"):
        check_plans([plan_of()], [_identity_of_visits(kind="gone.kind")], "s3://a/b", DECLARATIONS)


def test_the_catalog_lists_kinds_and_does_not_need_them_to_start() -> None:
    (plugin,) = [plugin for plugin in installed().plugins()[0] if plugin.name == "retail"]
    assert sorted(plugin.windows) == sorted([*KINDS, "retail.baskets"])
    code = "import muntin, sys; muntin.tumbling(3); print('muntin_retail' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.cases(12)
@pytest.mark.parametrize("seed", range(16))
@pytest.mark.parametrize("name", KINDS)
def test_the_output_is_that_of_the_reference(name: str, seed: int) -> None:
    draw = early if seed % 4 == 3 else cutting
    windows: Any = {name: window(name, **KINDS[name])}
    draw(Random(f"{name} {seed}"), windows).check()
