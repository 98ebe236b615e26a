"""Sessions with Python states say what the reference says, on random streams with late rows, restarts and failures.

Each stream arrives in any legal order, cut into micro-batches anywhere, on up to three tasks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from muntin import INFINITY, session
from muntin_engine.evaluators.columnar import coding, key_table
from muntin_engine.evaluators.columnar.key_table import KeyTable
from muntin_engine.evaluators.fused import fusing, held_sessions, session_store, state_store
from muntin_engine.evaluators.fused.fusing import sessions_of
from muntin_engine.evaluators.fused.held_sessions import HeldSessions
from muntin_engine.evaluators.slices.modules import SlicedModule
from muntin_engine.state import log as state_log
from muntin_engine.state.kept_stores import KeptStores
from tests.differential.drive import check, failure
from tests.differential.state_sessions import MODULES, StateSessionCase, run_states

GAPS = (1, 4, 15)


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
    (state_store, "ENTRY_BYTES"): 1200,
    (state_store, "ENTRY_SESSIONS"): 3,
    (key_table, "FEW_KEYS"): 1,
    (coding, "_FEW"): 0,
    (coding, "DENSE"): 0,
    (state_log, "MOST_ALIKE"): 2,
    (fusing, "_MOST"): 0,
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


_running_maximum = fusing._running_maximum


def _last_places(codes: Any, size: int) -> Any:
    places = np.empty(size, np.int64)
    places[codes] = np.arange(len(codes))
    return places


FAULTS: dict[str, tuple[Any, str, Any]] = {
    "late rows are taken": (session_store, "_from", lambda rows, _: rows),
    "what touches is apart": (fusing, "_running_maximum", lambda values, groups: _running_maximum(values, groups) - 1),
    "sessions are forgotten early": (
        held_sessions,
        "_ends_before",
        lambda sessions, watermark: sessions.lasts < min(watermark, INFINITY - 1) + 3,
    ),
    "sessions of other keys are joined": (
        state_store,
        "sessions_of",
        lambda keys, lows, highs: sessions_of(np.zeros_like(keys), lows, highs),
    ),
    "rows are added to any session": (state_store, "stable_order", lambda codes, _: np.arange(len(codes))),
    "states of what touches are lost": (SlicedModule, "combine_into", lambda *_: None),
    "what was not written yet is changed": (state_store, "first_places", _last_places),
    "stale stores are kept": (
        KeptStores,
        "take",
        lambda self, name, _: getattr(self._stores.pop(name, None), "store", None),
    ),
    "what is written is all dead": (HeldSessions, "hold", lambda self, piece: np.zeros(len(piece), np.bool_)),
    "keys get lost": (KeyTable, "codes", lambda _self, keys: np.zeros(len(keys), np.int64)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_sessions_of_states_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [StateSessionCase((session(gap),), "several", True, number) for gap in GAPS for number in range(6)]
    monkeypatch.setattr(*FAULTS[fault])
    assert any(failure(case, case.stream, run_states) for case in cases)
