"""Small states take every way that large ones take."""

from __future__ import annotations

import pytest

from muntin_engine.evaluators.keyed import key_store
from muntin_engine.state import log


@pytest.fixture(autouse=True)
def small_states(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have states written as changes, logs merged and written anew, from the first bytes on."""
    monkeypatch.setattr(key_store, "LARGE", 48)
    monkeypatch.setattr(log, "MOST_DEAD", 256)
    monkeypatch.setattr(log, "MOST_ALIKE", 2)
