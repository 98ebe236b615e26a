"""The differential test bites: an evaluator with a fault is found, and the stream that shows it is small."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from muntin import EmitPolicy
from muntin.testing import smallest_failing
from muntin_engine.evaluators.general import closing, speculative
from muntin_engine.evaluators.general.assignment.assigner import GridAssigner
from muntin_engine.evaluators.general.key_state import KeyState
from muntin_engine.evaluators.keyed import admission
from muntin_engine.evaluators.keyed.computation import ModuleComputation
from muntin_engine.evaluators.keyed.event_index import EventIndex
from muntin_engine.evaluators.keyed.row_chain import PendingRows, chain_rows
from tests.differential.cases import Case, policies
from tests.differential.drive import failure, run
from tests.differential.modules import SHAPES

_forget = EventIndex.forget

FAULTS: dict[str, tuple[Any, str, Callable[..., Any]]] = {
    "windows close a tick early": (
        closing,
        "closing_limit",
        lambda _query, _state, watermark: watermark + 1,
    ),
    "windows close a tick late": (
        closing,
        "closing_limit",
        lambda _query, _state, watermark: watermark - 1,
    ),
    "nothing is forgotten": (EventIndex, "forget", lambda *_: []),
    "all is forgotten": (EventIndex, "forget", lambda self, until, *_: _forget(self, until)),
    "lifetimes are not clipped": (ModuleComputation, "lifetime", lambda _self, start, end, _window: (start, end)),
    "every change looks the same": (ModuleComputation, "looks_alike", lambda *_: True),
    "rows that wait are dropped": (
        admission,
        "chain_rows",
        lambda *given: chain_rows(*given)._replace(pending=PendingRows()),
    ),
    "the watermark wakes nobody": (GridAssigner, "next_end", lambda *_: 2**63),
    "ids start anew": (KeyState, "next_serial", lambda _self: 1),
    "the end of the axis is its beginning": (GridAssigner, "frontier_at", lambda self, _limit: self.frontier),
    "rows are put out again": (speculative, "replace_rows", lambda _window, old, _rows, _next_id: (old, [])),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_the_evaluator_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [
        Case(window, shape, *both, emit)
        for shape in SHAPES
        for window in ("tumbling", "gaps", "snapshot")
        for emit in EmitPolicy
        for both in policies(shape)
    ][::5]
    assert not any(failure(case, case.stream, run) for case in cases[::9])
    monkeypatch.setattr(*FAULTS[fault])
    case = next(case for case in cases if failure(case, case.stream, run))
    small = smallest_failing(case.stream, lambda stream: failure(case, stream, run) is not None)
    assert len(small.changes()) <= 4
