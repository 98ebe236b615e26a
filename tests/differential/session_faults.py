"""What both ways of evaluating fused sessions are tried with: gaps, limits that small streams reach, and faults."""

from __future__ import annotations

from typing import Any

import numpy as np

from muntin import INFINITY
from muntin_engine.evaluators.arrays import coding, fusing, held_sessions, key_table, session_store
from muntin_engine.evaluators.arrays.held_sessions import HeldSessions
from muntin_engine.evaluators.arrays.key_table import KeyTable
from muntin_engine.evaluators.arrays.stretch_table import StretchTable
from muntin_engine.state import log as state_log
from muntin_engine.state.kept_stores import KeptStores

GAPS = (1, 4, 15)

SMALL: dict[tuple[Any, str], int] = {
    (key_table, "FEW_KEYS"): 1,
    (coding, "_FEW"): 0,
    (coding, "DENSE"): 0,
    (state_log, "MOST_ALIKE"): 2,
    (fusing, "_MOST"): 0,
}

_running_maximum = fusing._running_maximum

FAULTS: dict[str, tuple[Any, str, Any]] = {
    "late rows are taken": (session_store, "_since", lambda rows, _: rows),
    "what touches is apart": (fusing, "_running_maximum", lambda values, groups: _running_maximum(values, groups) - 1),
    "sessions are forgotten early": (
        StretchTable,
        "alive",
        lambda self, watermark: self.where(self.high >= min(watermark, INFINITY - 1) + 3),
    ),
    "sessions at the watermark close": (
        held_sessions,
        "ends_before",
        lambda places, watermark: places <= watermark,
    ),
    "stale stores are kept": (
        KeptStores,
        "take",
        lambda self, name, _: getattr(self._stores.pop(name, None), "store", None),
    ),
    "what is written is all dead": (HeldSessions, "hold", lambda self, piece: np.zeros(len(piece), np.bool_)),
    "keys get lost": (KeyTable, "codes", lambda _self, keys: np.zeros(len(keys), np.int64)),
}
