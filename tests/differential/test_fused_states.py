"""Sessions with Python states say what the reference says, on random streams with late rows, restarts and failures.

Each stream arrives in any legal order, cut into micro-batches anywhere, on up to three tasks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from muntin import session
from muntin_engine.evaluators.arrays import session_store, state_entries, states
from muntin_engine.evaluators.arrays.fusing import sessions_of
from muntin_engine.evaluators.slices.modules import SlicedModule
from muntin_engine.state import log as state_log
from tests.differential import session_faults
from tests.differential.drive import check, failure
from tests.differential.session_faults import GAPS
from tests.differential.state_sessions import MODULES, StateSessionCase, run_states


@pytest.mark.parametrize("skips_nulls", [False, True], ids=["all", "some skipped"])
@pytest.mark.parametrize("is_point", [True, False], ids=["points", "lifetimes"])
@pytest.mark.parametrize("modules", MODULES)
@pytest.mark.parametrize("gap", GAPS)
def test_the_output_is_that_of_the_reference_after_every_batch(
    gap: int, modules: str, is_point: bool, skips_nulls: bool
) -> None:
    for number in range(4):
        case = StateSessionCase((session(gap),), modules, is_point, number, skips_nulls=skips_nulls)
        check(case, case.stream, run_states)


SMALL = {
    **session_faults.SMALL,
    (state_entries, "ENTRY_BYTES"): 1200,
    (state_entries, "ENTRY_STATES"): 3,
}


@pytest.mark.parametrize("least", [-(1 << 40), 1 << 20], ids=["written anew", "kept"])
@pytest.mark.parametrize("is_point", [True, False], ids=["points", "lifetimes"])
@pytest.mark.parametrize("gap", GAPS)
def test_what_is_done_only_with_much_makes_no_difference(
    gap: int, is_point: bool, least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for (module, name), value in SMALL.items():
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(state_log, "MOST_DEAD", least)
    for number in range(4):
        case = StateSessionCase((session(gap),), "several", is_point, number)
        check(case, case.stream, run_states)


def _last_places(codes: Any, size: int) -> Any:
    places = np.empty(size, np.int64)
    places[codes] = np.arange(len(codes))
    return places


FAULTS: dict[str, tuple[Any, str, Any]] = {
    **session_faults.FAULTS,
    "sessions of other keys are joined": (
        session_store,
        "sessions_of",
        lambda batch: sessions_of(batch.with_keys(np.zeros(len(batch), np.int64))),
    ),
    "rows are added to any session": (state_entries, "stable_order", lambda codes, _: np.arange(len(codes))),
    "states of what touches are lost": (SlicedModule, "combine_into", lambda *_: None),
    "what was not written yet is changed": (states, "first_places", _last_places),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_sessions_of_states_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [StateSessionCase((session(gap),), "several", True, number) for gap in GAPS for number in range(6)]
    monkeypatch.setattr(*FAULTS[fault])
    assert any(failure(case, case.stream, run_states) for case in cases)
