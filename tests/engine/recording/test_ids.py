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
from tests.scenarios.running import Mishaps
from tests.scenarios.scenario import Scenario


# id 0, which is NaN where there is one:  [2 ----- 6)       inserted, then ended at 4
# id 1:                                                     retracted, and it never came
@pytest.mark.cases(12)
@pytest.mark.parametrize("ids", ID_TYPES)
@pytest.mark.parametrize("is_filtered", [False, True])
def test_a_rejected_row_is_told_by_its_id(ids: str, is_filtered: bool, tmp_path: Path) -> None:
    script = Script(allow_illegal=True).insert(0, 2, 6, 4, key="a").batch()
    script = script.add(Revision(0, Event(2, 6, 4), 4), key="a").add(Revision(1, Event(3, 6, 4), 3), key="a")
    script = script.batch().punctuate(20).close()
    query = Query(tumbling(8), COLUMNAR["sums"], emit=EmitPolicy.EAGER, ids=ID_TYPES[ids], is_filtered=is_filtered)
    scenario = Scenario(query, script, Mishaps(disorder=False, cuts=None, restarts=0.0, crashes=0.0))
    _, recording = recorded(scenario, next(iter(query.evaluators)), tmp_path)
    rows = [row for row in recording.story().rows if row.change in ("insert", "revise", "retract")]
    assert [row.fate for row in rows] == [Fate.COUNTED, Fate.COUNTED, Fate.REJECTED]
    assert rows[1].event == rows[0].number
