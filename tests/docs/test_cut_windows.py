"""Windows that events cut are refused the refinements that never retract, as the reference says of each."""

from __future__ import annotations

from typing import Any

import pytest

from muntin import Refinement, count_by_end, count_by_start, early, hopping, session, snapshot, trailing, tumbling
from muntin.errors import QueryError
from muntin.triggers import every_count
from tests.scenarios.feed import Feed, Total, at, query

CUT = {
    "sessions": session(10),
    "snapshots": snapshot(),
    "trailing": trailing(10),
    "count": count_by_start(2),
    "count windows": count_by_end(2),
}


@pytest.mark.parametrize("refinement", ["accumulate", "discard"])
@pytest.mark.parametrize("name", CUT)
def test_windows_that_events_cut_are_retracted_or_refused(name: str, refinement: str) -> None:
    with pytest.raises(QueryError, match="is cut by events"):
        Feed(
            query(CUT[name], Total(), lifetimes="points", emit=early(every_count(1), refinement=refinement)), "general"
        )
    retracting = query(CUT[name], Total(), lifetimes="points", emit=early(every_count(1), refinement="retract"))
    assert Feed(retracting, "general").batch(at(0, 1), at(5, 2)).changes


@pytest.mark.parametrize("window", [tumbling(10), hopping(10, 5)])
def test_other_windows_take_every_refinement(window: Any) -> None:
    for refinement in ("accumulate", "discard", "retract"):
        asked = query(window, Total(), lifetimes="points", emit=early(every_count(1), refinement=refinement))
        assert Feed(asked, "general").batch(at(0, 1)).changes


def test_the_reference_names_all_of_them() -> None:
    documented = (Refinement.__doc__ or "").lower()
    for name in CUT:
        assert name.split()[0] in documented
