"""The rows in a checkpoint are read after each micro-batch of drawn streams, and compared with metrics and output."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from muntin_engine.state.bucket_reader import StateRow
from muntin_engine.state.cells import METADATA
from tests.engine.state.held import held
from tests.scenarios import scenario
from tests.scenarios.drawing import FAMILIES, drawn
from tests.scenarios.kinds import CUSTOM_KINDS
from tests.scenarios.running import Run

OWN_KINDS = set(map(type, CUSTOM_KINDS.values()))
READ: Counter[str] = Counter()
"""The rows that were read, by their kinds."""

OF_EVENTS = ("event", "filtered", "member")


class Read(Run):
    """A run whose state is read, without its query, after each micro-batch."""

    def process(self, arrival: Any, extra_rows: Any = ()) -> None:
        """Evaluate a micro-batch, and read what is held."""
        super().process(arrival, extra_rows)
        windows = getattr(self.query, "named", {}).values()
        if any(type(window) in OWN_KINDS for window in windows):
            return  # no plugin offers them, so a reader cannot find them by name
        rows: list[StateRow] = []
        for cells in self.cells.values():
            if METADATA in cells.cells:
                rows += held(cells)
        READ.update(row.kind for row in rows)
        if "events_held" in self.last:
            events = [row for row in rows if row.kind in OF_EVENTS]
            assert len(events) == self.last["events_held"], rows
        live = Counter((row.key, *row.lifetime) for row in self.output.elements())
        held_results = Counter((row.key[0], row.start, row.end) for row in rows if row.kind == "result")
        assert held_results <= live, held_results - live


@pytest.mark.cases(14)
@pytest.mark.parametrize("family", FAMILIES)
def test_held_events_are_those_reported_and_held_results_are_live(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scenario, "Run", Read)
    READ.clear()
    for seed in range(1, 6):
        drawn(family, seed).run()
        if READ:
            return
    # of a join or of passing events, some seed holds something; a hostile query may have windows that no reader finds
    assert type(drawn(family, 1).query).__name__ == "Query", "nothing was held"
