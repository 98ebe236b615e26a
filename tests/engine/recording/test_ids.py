"""A story knows the event of each row, and what became of it, whatever the type of ids."""

from __future__ import annotations

from pathlib import Path

import pytest

from muntin import EmitPolicy, tumbling
from muntin.changes import Revision
from muntin.events import Event
from muntin.testing import Script
from muntin_engine.recording.story import Fate
from tests.engine.recording.recorded import recorded
from tests.modules.merged_states import COLUMNAR
from tests.scenarios.columns import ID_TYPES
from tests.scenarios.query import Query
from tests.scenarios.scenario import Scenario
from tests.scenarios.stepping import NO_MISHAPS


@pytest.mark.cases(12)
@pytest.mark.parametrize("ids", ID_TYPES)
@pytest.mark.parametrize("is_filtered", [False, True])
def test_a_revision_is_told_of_its_event_and_one_of_an_unknown_event_is_rejected(
    ids: str, is_filtered: bool, tmp_path: Path
) -> None:
    # An id of the stream becomes one of the type; 0 becomes NaN in a type that has it, and no filter leaves out 4.
    stream = (
        Script(allow_illegal=True)
        .insert(0, 2, 6, 4, key="a")
        .batch()
        .add(Revision(0, Event(2, 6, 4), new_end=4), key="a")
        .add(Revision(1, Event(3, 6, 4), new_end=3), key="a")  # a retraction of an event that never came
        .batch()
        .punctuate(20)
        .close()
    )
    query = Query(tumbling(8), COLUMNAR["sums"], emit=EmitPolicy.EAGER, ids=ID_TYPES[ids], is_filtered=is_filtered)
    _, recording = recorded(Scenario(query, stream, NO_MISHAPS), next(iter(query.evaluators)), tmp_path)

    changes = [row for row in recording.story().rows if row.change in ("insert", "revise", "retract")]
    insertion, revision, retraction = changes
    assert insertion.fate is Fate.COUNTED
    assert revision.fate is Fate.COUNTED
    assert revision.event == insertion.number
    assert retraction.fate is Fate.REJECTED
