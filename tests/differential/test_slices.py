"""Evaluation over slices says what the reference says, for windows of every ratio, on random streams.

Point events lie in one slice each; events with lifetimes belong to a range of windows. Each stream arrives in any legal
order, cut into micro-batches anywhere, with restarts between some, on up to three tasks; some batches fail after they
were evaluated, and are run again. A failure prints the smallest stream that fails.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from muntin import hopping, tumbling
from muntin.windows import HoppingWindows
from muntin_engine.core.slice_grid import SliceGrid
from muntin_engine.evaluators.arrays import (
    closing,
    coding,
    entries,
    held_partials,
    key_table,
    scans,
)
from muntin_engine.evaluators.arrays.key_table import KeyTable
from muntin_engine.state import log as state_log
from muntin_engine.state.kept_stores import KeptStores
from muntin_engine.state.log import StateLog
from tests.differential.drive import check, failure
from tests.differential.forms import FORMS
from tests.differential.slices import SliceCase, run

WINDOWS = {
    "tumbling": tumbling(8),
    "one tick": tumbling(1),
    "wide": tumbling(50),
    "offset": tumbling(7, 3),
    "twice": hopping(10, 5),
    "overlapping": hopping(10, 3),
    "overlapping by much": hopping(13, 1, -5),
    "nine by six": hopping(9, 6),
    "gaps": hopping(4, 9, 1),
    "gaps of whole slices": hopping(4, 12),
}


@pytest.mark.parametrize("is_point", [True, False], ids=["points", "lifetimes"])
@pytest.mark.parametrize("forms", FORMS)
@pytest.mark.parametrize("window", WINDOWS)
def test_the_output_is_that_of_the_reference_after_every_batch(window: str, forms: str, is_point: bool) -> None:
    for number in range(2 if forms == "all" else 1):
        case = SliceCase((WINDOWS[window],), forms, is_point, number)
        check(case, case.stream, run)


@pytest.mark.parametrize(
    "windows",
    [
        (tumbling(6), tumbling(10)),
        (hopping(9, 6), tumbling(4, 1), hopping(3, 7, -2)),
        (hopping(20, 5), hopping(5, 5), hopping(10, 5, 5)),
        (tumbling(30), tumbling(1)),
    ],
    ids=str,
)
def test_several_windows_share_their_slices(windows: tuple[HoppingWindows, ...]) -> None:
    for number in range(4):
        case = SliceCase(windows, "all", True, number)
        check(case, case.stream, run)


SMALL = {
    (closing, "MOST_CELLS"): 4,
    (closing, "_EXPANDING"): 0.5,
    (closing, "MOST_WINDOWS"): 3,
    (scans, "_NARROW"): 0,
    (entries, "ENTRY_BYTES"): 64,
    (key_table, "FEW_KEYS"): 1,
    (held_partials, "_MOST_PIECES"): 1,
    (coding, "_FEW"): 0,
    (coding, "DENSE"): 0,
    (state_log, "MOST_ALIKE"): 2,
}
"""What is split, merged or hashed only where there is much of it, from the first on."""


@pytest.mark.parametrize("is_point", [True, False], ids=["points", "lifetimes"])
@pytest.mark.parametrize("window", WINDOWS)
def test_what_is_done_only_with_much_makes_no_difference(
    window: str, is_point: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for (module, name), value in SMALL.items():
        monkeypatch.setattr(module, name, value)
    for forms in ("all", "statistics", "hostile"):
        case = SliceCase((WINDOWS[window],), forms, is_point)
        check(case, case.stream, run)


_running = closing._Table._running


def _never_subtracted(table: Any, values: Any) -> Any:
    table._ended, table._after = table._ended[:0], table._after[:0]
    return _running(table, values)


FAULTS: dict[str, tuple[Any, str, Any]] = {
    "what ended is not subtracted": (closing._Table, "_running", _never_subtracted),
    "windows close a slice early": (SliceGrid, "first_legal", lambda self, first_open: self.start_of(first_open)),
    "slices are forgotten early": (SliceGrid, "first_live", lambda self, first_open: self.start_of(first_open) + 1),
    "the last slice is left out": (SliceGrid, "slices_at", lambda self, ticks: (ticks - self.offset - 1) // self.width),
    "stale stores are kept": (
        KeptStores,
        "take",
        lambda self, bucket, _: getattr(self._stores.pop(bucket, None), "store", None),
    ),
    "entries die early": (StateLog, "forget", lambda self, _: self._segments.clear()),
    "keys get lost": (KeyTable, "codes", lambda _self, keys: np.zeros(len(keys), np.int64)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_evaluation_over_slices_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    forms = "hostile" if fault == "what ended is not subtracted" else "all"  # collected values have no table
    cases = [SliceCase((WINDOWS[window],), forms, True, number) for window in WINDOWS for number in range(3)]
    monkeypatch.setattr(*FAULTS[fault])
    assert any(failure(case, case.stream, run) for case in cases)
