"""Sessions on arrays say what the reference says, on random streams; late rows change nothing, whatever task has them.

Each stream arrives in any legal order, cut into micro-batches anywhere, with restarts between some, on up to three
tasks; some batches fail after they were evaluated, and are run again. Rows behind the watermark come among the others.
"""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from muntin import session
from muntin_engine.evaluators.arrays import entries, session_store
from muntin_engine.evaluators.arrays.fused_bucket import FusedBucket
from muntin_engine.evaluators.arrays.fusing import sessions_of
from muntin_engine.evaluators.arrays.stretch_table import StretchTable
from muntin_engine.state import log as state_log
from tests.differential import session_faults
from tests.differential.drive import check, failure
from tests.differential.forms import FORMS
from tests.differential.session_faults import GAPS
from tests.differential.sessions import SessionCase, run


@pytest.mark.parametrize("is_point", [True, False], ids=["points", "lifetimes"])
@pytest.mark.parametrize("forms", FORMS)
@pytest.mark.parametrize("gap", GAPS)
def test_the_output_is_that_of_the_reference_after_every_batch(gap: int, forms: str, is_point: bool) -> None:
    for number in range(2):
        case = SessionCase((session(gap),), forms, is_point, number)
        check(case, case.stream, run)


SMALL = {
    **session_faults.SMALL,
    (entries, "ENTRY_BYTES"): 64,
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
    for number in range(2):
        case = SessionCase((session(gap),), "all", is_point, number)
        check(case, case.stream, run)


FAULTS: dict[str, tuple[Any, str, Any]] = {
    **session_faults.FAULTS,
    "sessions of other keys are joined": (
        session_store,
        "sessions_of",
        lambda batch: sessions_of(batch.with_keys(np.zeros(len(batch), np.int64))),
    ),
    "entries die with the watermark": (
        FusedBucket,
        "_append",
        lambda self, log, some, delta, opened: (
            (log.forget(opened[0]), log.append(some.write(delta, 0))) if delta is not None else log.forget(opened[0])
        ),
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_sessions_on_arrays_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [SessionCase((session(gap),), "all", True, number) for gap in GAPS for number in range(6)]
    monkeypatch.setattr(*FAULTS[fault])
    assert any(failure(case, case.stream, run) for case in cases)


def test_fusing_is_a_loop_over_sorted_stretches_also_when_fused_in_parts() -> None:
    for seed in range(300):
        random = Random(seed)
        rows = [
            (random.randrange(3), low, low + random.randint(1, 9)) for low in random.choices(range(60), k=seed % 30)
        ]
        expected: list[list[int]] = []
        for key, low, high in sorted(rows):
            if expected and expected[-1][0] == key and low <= expected[-1][2]:
                expected[-1][2] = max(expected[-1][2], high)
            else:
                expected.append([key, low, high])
        cut = random.randint(0, len(rows))
        parts = [part for some in (rows[:cut], rows[cut:]) for part in _sessions(some)]
        assert _sessions(rows) == _sessions(parts) == [tuple(session) for session in expected]


def _sessions(rows: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    table = np.array(rows, np.int64).reshape(-1, 3)
    keys, low, high = table.T
    found = sessions_of(StretchTable(keys, low, high, keys, {}))
    return list(zip(found.keys.tolist(), found.lows.tolist(), found.highs.tolist(), strict=True))
