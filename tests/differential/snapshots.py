"""Runs a stream through buckets of snapshots on arrays, with late rows among the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from muntin import ColumnarAggregate, snapshot
from muntin.testing.scripts import Script
from muntin.windows import SnapshotWindows
from muntin_engine.evaluators.arrays.entries import FormEntries
from muntin_engine.evaluators.arrays.row_lifting import Fusing
from muntin_engine.evaluators.arrays.session_store import SessionStore
from tests.differential.forms import INVERTIBLE
from tests.differential.sessions import SessionRun
from tests.differential.slices import SliceCase, follow


@dataclass(frozen=True)
class SnapshotCase(SliceCase):
    """Columnar aggregates over snapshots."""

    windows: tuple[SnapshotWindows, ...] = (snapshot(),)
    forms: str = "several"

    @property
    def modules(self) -> tuple[ColumnarAggregate[Any, Any], ...]:
        """The aggregates."""
        return INVERTIBLE[self.forms]


class SnapshotRun(SessionRun):
    """A stream on its way through buckets of snapshots."""

    def _fusing(self) -> Fusing:
        return Fusing(1)

    def _store(self) -> SessionStore:
        return SessionStore(FormEntries(self.forms), at_end=False, is_cut=True)


def run(case: SnapshotCase, stream: Script) -> None:
    """Run a stream and compare with the reference after each batch.

    Raises:
        AssertionError: The two differ.
    """
    follow(SnapshotRun(case), stream)  # type: ignore[arg-type]
