"""Windows of events with ids on arrays: of each row and each window both evaluators say the same, to the bit.

Rows are random, legal and illegal ones in any order: revised several times, deleted and inserted again, late, of events
that never came, and waiting for others. They are cut into micro-batches anywhere, on up to three tasks, with restarts
between some; some batches fail after they were evaluated, and are run again. The general evaluator is held against the
reference elsewhere; legal streams are held against it here too.
"""

from __future__ import annotations

from datetime import UTC, datetime
from math import inf
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from muntin import INFINITY, ClipPolicy, EmitPolicy, TimestampPolicy, hopping, snapshot, tumbling
from muntin.testing import Computation, WindowedQuery, random_stream
from muntin.windows import HoppingWindows
from muntin_engine.core.changes import InputChange
from muntin_engine.evaluators.arrays import closing, coding, entries, key_table
from muntin_engine.evaluators.revised import identities
from muntin_engine.state import log as state_log
from muntin_engine.testing import crash_everywhere
from muntin_stats import TimeWeightedAverage
from tests.differential.calendars import SLICED
from tests.differential.cases import until_closed
from tests.differential.forms import INVERTIBLE
from tests.differential.revised import RevisedCase, RevisedRun, RowBatch, run

STRUCTS = pa.struct([("station", pa.string()), ("number", pa.int32())])


@pytest.mark.parametrize("hostile", [0.0, 0.15, 0.5])
@pytest.mark.parametrize("ids", [pa.int64(), pa.string()], ids=str)
def test_both_evaluators_say_the_same_of_each_row_and_each_window(ids: pa.DataType, hostile: float) -> None:
    found = [run(RevisedCase(number, forms, ids, hostile, live=12)) for number, forms in enumerate(INVERTIBLE)]
    assert all(some.put_out for some in found)
    assert any(some.rejected for some in found) or not hostile


GRIDS = (tumbling(8), hopping(12, 2, -5), hopping(3, 5))


@pytest.mark.parametrize("windows", GRIDS, ids=str)
def test_both_say_the_same_of_windows_on_a_grid_whatever_forms_keep(windows: HoppingWindows) -> None:
    found = [
        run(RevisedCase(forms=forms, live=12, windows=windows, timestamps=stamp, is_filtered=forms == "hostile"))
        for forms, stamp in (("all", TimestampPolicy.ALIGN), ("hostile", TimestampPolicy.POINT_AT_END))
    ]
    assert all(some.put_out for some in found)
    assert any(some.rejected for some in found)


@pytest.mark.parametrize("windows", [tumbling(8), hopping(12, 2, -5)], ids=str)
def test_both_correct_the_results_that_they_emitted_early(windows: HoppingWindows) -> None:
    found = [
        run(RevisedCase(number, forms, live=12, windows=windows, timestamps=stamp, emit=EmitPolicy.SPECULATIVE))
        for number, forms in enumerate(("all", "hostile"))
        for stamp in (TimestampPolicy.ALIGN, TimestampPolicy.POINT_AT_END)
    ]
    assert any(some.retracted for some in found)
    assert any(some.rejected for some in found)


@pytest.mark.parametrize("name", ["three days, by two", "months"])
def test_both_say_the_same_of_windows_of_a_calendar(name: str) -> None:
    kind, origin, scale = SLICED[name]
    first = int(datetime.fromisoformat(origin).replace(tzinfo=UTC).timestamp())
    found = run(RevisedCase(forms="several", hostile=0.2, live=12, windows=kind, spread=(first, scale)))
    assert found.put_out


def test_events_that_a_filter_leaves_out_are_revised_and_never_members() -> None:
    found = [run(RevisedCase(number, hostile=0.2, live=12, is_filtered=True)) for number in range(6)]
    assert any(some.put_out for some in found)
    assert any(some.rejected for some in found)


def test_windows_of_hundreds_of_members_and_hot_keys() -> None:
    found = run(RevisedCase(2, hostile=0.05, live=400, rows=400))
    assert found.put_out > 40


def test_rows_that_wait_are_looked_at_again_when_their_key_has_rows_or_the_watermark_moves() -> None:
    found = run(RevisedCase(1645235325, "counts", ids=pa.string(), hostile=0.2, live=400, rows=400))
    assert found.put_out > 40


def test_legal_streams_are_evaluated_as_the_reference_does() -> None:
    for seed, windows in enumerate((snapshot(), hopping(10, 4))):
        emit = EmitPolicy.FINAL if windows == snapshot() else EmitPolicy.SPECULATIVE
        stream = random_stream(seed, keys=("a", None), events=9, starts=range(-5, 15), again=0.3, disorder=9)
        (module,) = INVERTIBLE["several"][:1]
        survived = crash_everywhere(until_closed(stream), WindowedQuery(windows, [Computation(module)]), emit=emit)
        assert survived.evaluators == ("general", "columnar")


def test_a_time_weighted_average_of_snapshots_is_a_sum_to_the_bit() -> None:
    values = (None, 0.1, 1 / 3, 1e300, -1e300, 1e-300, inf, 1e16)
    average = Computation(TimeWeightedAverage())
    for seed in range(2):
        stream = random_stream(seed, events=9, starts=range(12), payload=lambda random: random.choice(values))
        survived = crash_everywhere(
            until_closed(stream), WindowedQuery(snapshot(), [average], ClipPolicy.FULL), tolerance=0.0
        )
        assert survived.evaluators == ("general", "columnar")


@pytest.mark.parametrize("least", [-(1 << 40), 1 << 20], ids=["written anew", "kept"])
def test_what_is_done_only_with_much_makes_no_difference(least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identities, "_mixed", lambda numbers: numbers % np.uint64(3))  # most identities clash
    for module, name, value in ((key_table, "FEW_KEYS", 1), (coding, "_FEW", 0), (coding, "DENSE", 0)):
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(state_log, "MOST_ALIKE", 2)
    monkeypatch.setattr(state_log, "MOST_DEAD", least)
    monkeypatch.setattr(entries, "ENTRY_BYTES", 64)
    monkeypatch.setattr(closing, "MOST_WINDOWS", 3)
    for number, windows in enumerate((snapshot(), hopping(10, 4), snapshot(), tumbling(8))):
        run(RevisedCase(number, live=20, windows=windows))
    run(RevisedCase(4, live=20, windows=hopping(10, 4), emit=EmitPolicy.SPECULATIVE))


def test_ids_may_be_structs() -> None:
    class StructRun(RevisedRun):
        def _table(self, rows: Any) -> pa.Table:
            named = [(key, row._replace(id={"station": "s", "number": row.id})) for key, row in rows]
            return super()._table(named)

        def _general(self, batch: RowBatch, arrived: Any) -> Any:
            named = [(key, row._replace(id=("s", row.id))) for key, row in batch.rows]
            return super()._general(batch._replace(rows=named), arrived)

    case = RevisedCase(3, ids=STRUCTS)
    running = StructRun(case)
    for batch in case.batches:
        running.take(batch)
    assert running.put_out
    assert running.rejected


def test_rows_that_wait_survive_a_restart_alone() -> None:
    """The revision of an event that comes before it waits; a new process has nothing else of the stream."""
    early = ("a", InputChange("e", 10, 20, (None,), 15))
    event = ("a", InputChange("e", 10, 20, (4,)))
    running = RevisedRun(RevisedCase(ids=pa.string()))
    running.take(RowBatch([early], 5, is_restarted=False))
    running.take(RowBatch([], 6, is_restarted=True))
    running.take(RowBatch([event], 30, is_restarted=True))
    running.take(RowBatch([], INFINITY, is_restarted=True))
    assert (running.put_out, running.rejected) == (1, 0)


def test_a_row_stops_waiting_when_its_event_has_ended_whether_or_not_a_window_closes() -> None:
    """The revision of another end waits for one that leads there; past the end of the event none can come."""
    event, revision = InputChange("e", 15, 16, (4,)), InputChange("e", 15, 19, (None,), 20)
    running = RevisedRun(RevisedCase(ids=pa.string(), windows=hopping(26, 4, 6)))
    running.take(RowBatch([("a", event), ("a", revision)], 15, is_restarted=False))
    running.take(RowBatch([], 16, is_restarted=False))
    assert running.rejected == 0
    running.take(RowBatch([], 17, is_restarted=False))
    assert running.rejected == 1


def test_a_retraction_of_another_payload_waits_for_it() -> None:
    event, other = (InputChange("e", 10, 20, (payload,)) for payload in (4, 3))
    running = RevisedRun(RevisedCase(ids=pa.string()))
    running.take(RowBatch([("a", event)], 5, is_restarted=False))
    running.take(RowBatch([("a", event._replace(new_end=10, payload=(3,)))], 6, is_restarted=False))
    running.take(RowBatch([("a", other)], 7, is_restarted=True))
    running.take(RowBatch([], INFINITY, is_restarted=False))
    assert (running.put_out, running.rejected) == (1, 0)
