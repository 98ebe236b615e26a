"""Kinds of windows of a plugin, without Spark: laws, other definitions, plans, checkpoints, and the oracle."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
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
from muntin_engine.plan.plan import Plan
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
    sources: list[Path] = []
    for folder in ("sdk", "engine", "cli"):
        sources += (ROOT / folder).rglob("*.py")
    assert len(sources) > 300
    for file in sources:
        assert "muntin_retail" not in file.read_text(encoding="utf-8"), file


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_of_windows_keeps_the_laws_of_its_kind(name: str) -> None:
    verdicts = list(try_laws(window(name, **KINDS[name])))
    assert [verdict.outcome for verdict in verdicts] == [Outcome.KEPT] * len(verdicts)
    assert len(verdicts) > 3


def _histories() -> Iterator[list[Event[str]]]:
    """Draw sixty histories of up to seven events."""
    for seed in range(60):
        random = Random(seed)
        starts = [random.randrange(-10, 40) for _ in range(random.randrange(8))]
        yield [Event(start, start + random.choice((1, 1, 3, 9)), "") for start in starts]


def _windows_with_members(kind: WindowKind, events: list[Event[str]]) -> list[Window]:
    """Return the windows of a kind that have a member among some events, in order."""
    windows: list[Window] = []
    for extent in reference.windows(kind, events, INFINITY):
        if any(reference.belongs(kind, event, extent) for event in events):
            windows.append(extent)
    return windows


def test_visits_are_those_of_a_loop_over_sorted_events() -> None:
    kind: Any = window("retail.visits", gap=4)
    for events in _histories():
        visits: list[Window] = []
        for event in sorted(events, key=lambda event: event.start):
            # another event belongs to the visit if it starts less than 4 ticks after the last tick of this one
            ends_without_another = event.end - 1 + 4
            if visits and event.start < visits[-1].end:
                visits[-1] = Window(visits[-1].start, max(visits[-1].end, ends_without_another))
            else:
                visits.append(Window(event.start, ends_without_another))

        assert _windows_with_members(kind, events) == visits


def test_shifts_are_those_that_have_a_tick_of_an_event() -> None:
    kind: Any = window("retail.shifts", day=7, night=4)
    for events in _histories():
        expected: set[Window] = set()
        for event in events:
            for tick in range(event.start, event.end):
                day_start = tick // (7 + 4) * (7 + 4)
                night_start = day_start + 7
                if tick < night_start:
                    expected.add(Window(day_start, night_start))
                else:
                    expected.add(Window(night_start, night_start + 4))

        assert _windows_with_members(kind, events) == sorted(expected)


def test_a_kind_is_spelled_with_its_name_and_its_parameters() -> None:
    kind = window("retail.visits", gap="10 minutes")
    assert str(kind) == "window('retail.visits', gap='10 minutes')"
    assert "window('retail.visits', gap='10 minutes'), version 1.2" in explain_plan(plan_of(window=kind))


def test_a_plan_says_why_a_kind_of_a_plugin_is_evaluated_key_by_key() -> None:
    visits = plan_of(window=window("retail.visits", gap="10 minutes"))
    assert visits.choice.evaluator == "general"
    assert "is cut by each key's own events" in visits.choice.reason

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
def test_a_kind_is_written_to_a_checkpoint_and_read_again(name: str) -> None:
    kind = window(name, **KINDS[name])
    assert from_dict(json.loads(json.dumps(kind.to_dict()))) == kind


def check_against_checkpoint(plan: Plan, **window_parts: Any) -> None:
    """Check that a query may go on from a checkpoint of visits with a gap of an hour.

    Args:
        plan: The plan of the query.
        window_parts: What is different of the windows in the checkpoint, such as the version of their kind.
    """
    visits = plan_of(window=window("retail.visits", gap="1 hour"))
    identity = json.loads(json.dumps(plan_identity(visits)))
    identity["window"] |= window_parts
    check_plans([plan], [identity], "s3://a/b", DECLARATIONS)


def test_a_checkpoint_of_an_older_version_is_continued_since_the_one_that_the_kind_says() -> None:
    plan = plan_of(window=window("retail.visits", gap="1 hour"))

    check_against_checkpoint(plan, version="1.2")
    check_against_checkpoint(plan, version="1.1")
    for version in ("1.0", "1.3"):
        with pytest.raises(StateMismatchError) as refusal:
            check_against_checkpoint(plan, version=version)
        (difference,) = refusal.value.differences
        assert difference.checkpoint == f"window('retail.visits', gap='1 hour'), version {version}"
        assert difference.query == "window('retail.visits', gap='1 hour'), version 1.2"


def test_a_checkpoint_of_other_parameters_is_refused_whatever_the_version() -> None:
    plan = plan_of(window=window("retail.visits", gap="2 hours"))
    with pytest.raises(StateMismatchError, match="gap='1 hour'"):
        check_against_checkpoint(plan, version="1.1")


def test_a_kind_that_is_not_installed_is_named_as_the_checkpoint_has_it() -> None:
    with pytest.raises(StateMismatchError, match=r"kind gone\.kind, version 1\.2, gap 3600000000"):
        check_against_checkpoint(plan_of(), kind="gone.kind")


def test_the_catalog_lists_the_kinds_of_the_plugin() -> None:
    (plugin,) = [plugin for plugin in installed().plugins()[0] if plugin.name == "retail"]
    assert sorted(plugin.windows) == sorted([*KINDS, "retail.baskets"])


def test_a_query_with_windows_of_ours_does_not_import_the_plugin() -> None:
    program = "import muntin, sys; muntin.tumbling(3); print('muntin_retail' in sys.modules)"
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert finished.stdout.strip() == "False"


@pytest.mark.cases(12)
@pytest.mark.parametrize("seed", range(16))
@pytest.mark.parametrize("name", KINDS)
def test_the_output_of_each_evaluator_is_that_of_the_reference(name: str, seed: int) -> None:
    windows: Any = {name: window(name, **KINDS[name])}
    # a query over these windows, a stream, and what goes wrong on the way; one of four queries has early results
    draw_scenario = early if seed % 4 == 3 else cutting
    scenario = draw_scenario(Random(f"{name} {seed}"), windows)

    scenario.check()
