"""Changed lifetimes make the output as if the events had come with them, whatever the order of revisions."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from muntin import INFINITY, Window, calendar, hopping, tumbling
from muntin.axis import instant
from muntin.progress import bounded_delay, ordered
from muntin.windows import WindowKind
from muntin.windows.stretches import Stretches
from muntin_engine.errors import Difference
from muntin_engine.plan import NamedColumn
from muntin_engine.plan.explanation import topics_of
from muntin_engine.plan.identity import plan_identity
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.differences import differences_between
from muntin_engine.tasks.bucket_task import run_bucket
from muntin_engine.tasks.input_rows import read_rows
from muntin_engine.tasks.map_task import distribute
from muntin_engine.tasks.row_problems import PROBLEMS
from muntin_engine.time.changes import LATEST, Progress
from muntin_engine.time.lifetimes import (
    Align,
    Extend,
    LengthColumn,
    LifetimeChange,
    LifetimeChanges,
    PointsAtEnd,
    PointsAtStart,
    SetDuration,
    ShareWindows,
    Shift,
    Shorten,
    ToEdges,
    length_columns,
)
from muntin_engine.time.progress_tracker import Observation
from muntin_engine.wire.blobs import from_blob
from muntin_engine.wire.shuffle import collect
from muntin_engine.wire.task_payload import TaskPayload
from tests.engine.wire.payloads import rows, task_of
from tests.scenarios.lifetimes import Life, Row, changed, length_of, random_lives, random_stream
from tests.scenarios.shared_rows import COUNTED

pytestmark = pytest.mark.usefixtures("all_states_small")

NAMES = {name: name for name in ("start", "end", "id", "change", "new_end", "k0", "i0")}
HOUR = 3_600_000_000

CHANGES: dict[str, tuple[LifetimeChange, ...]] = {
    "shift": (Shift(7),),
    "shift back": (Shift(-13),),
    "duration": (SetDuration(12),),
    "extend": (Extend(9),),
    "shorten": (Shorten(8),),
    "points at start": (PointsAtStart(),),
    "points at end": (PointsAtEnd(is_repeated=True),),
    "align": (Align(tumbling(10, 3)),),
    "align to windows that overlap": (Align(hopping(12, 5)),),
    "share windows that overlap": (ShareWindows(hopping(12, 5)),),
    "shorten what was extended": (Extend(4), Shorten(11), Shift(2)),
    "align, then shorten": (Align(tumbling(10)), Shorten(4), Align(tumbling(3))),
    "lasting from the end": (PointsAtEnd(is_repeated=True), SetDuration(6), Shorten(2), Shift(-1)),
    "shift by a column": (Shift(LengthColumn("length_0", "wait", 0)),),
    "shift by a column, back": (Shift(LengthColumn("length_0", "wait", -9)),),
    "duration of a column": (SetDuration(LengthColumn("length_0", "wait", 1)),),
    "extend by a column": (Extend(LengthColumn("length_0", "wait", 0)),),
    "shift and extend by columns": (
        Shift(LengthColumn("length_0", "wait", -4)),
        Extend(LengthColumn("length_1", "more", 2)),
        Shorten(3),
    ),
    "ends of a duration of a column": (
        SetDuration(LengthColumn("length_0", "wait", 1)),
        PointsAtEnd(is_repeated=True),
        Shift(LengthColumn("length_1", "more", -5)),
    ),
    "ends of a duration": (Shift(5), SetDuration(9), PointsAtEnd(is_repeated=True)),
}


def task(
    changes: Sequence[LifetimeChange], window: WindowKind, *, are_revised: bool = True, **input_parts: Any
) -> TaskPayload:
    """Return a query of one bucket whose events have other lifetimes."""
    names = NAMES if are_revised else {name: name for name in NAMES if name not in ("id", "new_end")}
    task = task_of(names=names, has_ids=are_revised, has_changes=True, buckets=1, plan={"window": window})
    (plain,) = task.plan.inputs
    changed = replace(plain, lifetime_changes=tuple(changes), **input_parts)
    return replace(task, plan=replace(task.plan, inputs=(changed,)))


def batch(
    changes: Sequence[Row], *, are_revised: bool = True, lengths: Iterable[LengthColumn] = (), **further: Any
) -> pa.RecordBatch:
    """Return rows as they are projected, with their lengths and further columns."""
    columns: dict[str, Any] = {
        "change": [row.change for row in changes],
        "start": [row.start for row in changes],
        "end": [row.end for row in changes],
        "i0": [row.payload for row in changes],
    }
    if are_revised:
        columns["id"] = [row.id for row in changes]
        columns["new_end"] = [row.new_end for row in changes]
    for column in lengths:
        columns[column.name] = [None if row.payload is None else length_of(column, row.payload) for row in changes]
    return rows(**columns, **further)


Result = tuple[int, int, list[int]]
"""The start and the end of a window, and the payloads of its members."""


class Run:
    """A query with the cells of its bucket, and what it emitted and rejected.

    Attributes:
        sent: Number of rows of events; one that retracts a point and inserts another counts twice.
        counted: Numbers of rows by what became of them.
    """

    def __init__(self, task: TaskPayload) -> None:
        self.task = task
        self.cells = MemoryCells()
        self.results: list[Result] = []
        self.refused: list[str] = []
        self.held = 0
        self.sent = 0
        self.counted = Counter[str]()

    def process(self, batch: pa.RecordBatch) -> None:
        """Run a micro-batch."""
        for row in batch.to_pylist():
            if row["change"] not in ("punctuate", "close"):
                self.sent += 1
            if row["change"] == "revise" and self._moves_a_point(row):
                self.sent += 1
        map_output: list[dict[str, Any]] = []
        for blob_rows in distribute(self.task, [batch]):
            map_output += blob_rows.to_pylist()
        for blob in run_bucket(self.task, 0, self.cells, collect(map_output)):
            table = [] if blob.data is None else from_blob(blob.data).to_pylist()
            if blob.stream == "results":
                self.results += map(self._result, table)
            else:
                self.refused += [f"{blob.stream}: {row['reason']}" for row in table]
            if blob.stream == "events_held":
                self.held = blob.rows
            if blob.stream in COUNTED and blob.rows:
                self.counted[blob.stream] += blob.rows

    @staticmethod
    def _result(row: Mapping[str, Any]) -> Result:
        window = row["window"]
        end = INFINITY if window["end"] is None else window["end"]
        return window["start"], end, sorted(row["m"])

    def _moves_a_point(self, row: Mapping[str, Any]) -> bool:
        """True if a revision moves a point that stands at the end of its event."""
        previous: Life | None = Life(row["start"], INFINITY if row["end"] is None else row["end"], row["i0"])
        revised: Life | None = Life(row["start"], INFINITY if row["new_end"] is None else row["new_end"], row["i0"])
        for change in self.task.input.plan_input.lifetime_changes:
            assert previous is not None
            assert revised is not None
            if isinstance(change, PointsAtEnd):
                return previous.end != revised.end and INFINITY not in (previous.end, revised.end)
            previous = changed(change, previous)
            revised = changed(change, revised)
        return False


@pytest.mark.parametrize("name", CHANGES)
def test_each_row_is_counted_once_whatever_becomes_of_it(name: str) -> None:
    for seed in range(4):
        random = Random(seed)
        run = Run(task(CHANGES[name], tumbling(10)))
        lengths = length_columns(CHANGES[name])
        events = random_lives(random, 8, are_revised=True)
        rows_that_come = [random.sample(rows, random.randint(0, len(rows))) for _, rows in events]
        for changes in random_stream(random, rows_that_come):
            run.process(batch(changes, lengths=lengths))
            hasty_punctuation = Row("punctuate", start=random.randint(-40, 60))  # behind which rows are late
            run.process(batch([hasty_punctuation], lengths=lengths))
        run.process(batch([Row("close")], lengths=lengths))
        assert run.counted.total() == run.sent, (seed, run.counted)


def test_samples_are_made_of_events_and_have_their_starts_moved() -> None:
    """
            0     6    10       18 20      30  33    40
    4             [-------------)
    16                          [--------------)         each lasts until the next one, two ticks later than it came
    31                                         [---
    """
    run = Run(task((Extend(4), ToEdges(), Shift(2)), tumbling(10), are_revised=False))
    run.process(batch([Row("insert", start=at, end=at + 1, payload=at) for at in (4, 16, 31)], are_revised=False))
    run.process(batch([Row("punctuate", start=40)], are_revised=False))
    assert sorted(run.results) == [(0, 10, [4]), (10, 20, [4, 16]), (20, 30, [16]), (30, 40, [16, 31])]


def test_samples_that_get_a_duration_are_events_with_ends() -> None:
    """They last five ticks less two: the one at 18 ends at 21, and the one at 4 ends before it."""
    run = Run(task((SetDuration(5), Shorten(2)), tumbling(10), are_revised=False, is_edge=True))
    run.process(batch([Row("insert", start=at, payload=at) for at in (4, 18)], are_revised=False))
    run.process(batch([Row("close")], are_revised=False))
    assert sorted(run.results) == [(0, 10, [4]), (10, 20, [18]), (20, 30, [18])]


def read(changes: Sequence[LifetimeChange], *rows: Row) -> dict[str, list[Any]]:
    """Read rows under changes of lifetimes; return the columns of their times, and the codes of their problems."""
    table = read_rows(task(changes, tumbling(10)).input, batch(rows)).rows
    return {name: table.column(name).to_pylist() for name in ("change", "start", "end", "new_end", "problem")}


def test_a_lifetime_beyond_the_axis_is_rejected_as_it_came() -> None:
    far_event = Row("insert", 1, start=LATEST - 5, end=LATEST - 2, payload=1)
    near_event = Row("insert", 2, start=5, payload=2)
    columns = read((Extend(300), Shift(-100)), far_event, near_event)
    assert columns["start"] == [LATEST - 5, 5 - 100]
    assert columns["end"] == [LATEST - 2, INFINITY]
    assert [code is None for code in columns["problem"]] == [False, True]

    too_far_together = (Shift(-LATEST // 2), Shift(-LATEST // 2))
    assert read(too_far_together, Row("insert", 1, start=-1, end=5, payload=1))["start"] == [-1]


SHIFT_BY_WAIT = (Shift(LengthColumn("length_0", "wait", -2)),)
"""A shift by the column `wait`, which is at least -2."""


def test_a_length_that_is_null_or_too_small_is_rejected() -> None:
    """Four events at 10 are shifted by their waits, which must be at least -2; then there is punctuation at 30."""
    rows = [Row("insert", id, start=10, end=15, payload=id) for id in range(4)] + [Row("punctuate", start=30)]
    waits = [-2, None, -3, 5, None]
    input_rows = read_rows(task(SHIFT_BY_WAIT, tumbling(10)).input, batch(rows, length_0=waits))
    assert input_rows.rows.column("start").to_pylist() == [10 - 2, 10, 10, 10 + 5]
    codes = input_rows.rows.column("problem").to_pylist()
    reasons = [None if code is None else PROBLEMS[code].reason for code in codes]
    assert reasons == [None, "null length", "length too small", None]
    assert input_rows.progress.watermark == 30 - 2


def test_an_event_without_a_length_is_not_rejected_where_the_filter_leaves_it_out() -> None:
    """Four events at 10 are shifted by their waits, and the filter keeps the first and the last of them."""
    filtered = task(SHIFT_BY_WAIT, tumbling(10), are_revised=False)
    (plain,) = filtered.plan.inputs
    columns = replace(plain.columns, conditions=(NamedColumn("wait > -3", "boolean"),))
    filtered = replace(filtered, plan=replace(filtered.plan, inputs=(replace(plain, columns=columns),)))
    rows = [Row("insert", id, start=10, end=15, payload=id) for id in range(4)] + [Row("punctuate", start=30)]
    waits = [-2, None, -3, 5, None]
    is_kept = pa.array([True, None, False, True, None])
    input_batch = batch(rows, are_revised=False, length_0=waits, kept=is_kept)
    input_rows = read_rows(filtered.input, input_batch)
    assert input_rows.rows.column("start").to_pylist() == [10 - 2, 10 + 5]
    assert input_rows.counts.filtered == 2
    assert input_rows.rows.column("problem").to_pylist() == [None, None]


def test_a_row_with_another_problem_keeps_it_and_its_times() -> None:
    ends_before_its_start = Row("insert", 1, start=9, end=5, payload=1)
    without_start = Row("insert", 2, end=5, payload=1)
    unknown_change = Row("what")
    columns = read((SetDuration(5),), ends_before_its_start, without_start, unknown_change)
    assert None not in columns["problem"]
    assert columns["start"] == [9, None, None]
    assert columns["end"] == [5, 5, None]


def test_revisions_of_ends_that_do_not_count_are_left_out_and_are_never_late() -> None:
    shorter = Row("revise", 1, start=0, end=100, new_end=80)
    shorter_whatever_it_was = Row("revise", 1, start=0, new_end=80)
    retraction = Row("retract", 1, start=0, end=100)
    revisions = (shorter, shorter_whatever_it_was, retraction)
    assert read((SetDuration(5),), *revisions)["change"] == ["retract"]
    assert read((PointsAtStart(),), *revisions)["new_end"] == [0]

    within_a_window = Row("revise", 1, start=0, end=12, new_end=18)
    into_another_window = Row("revise", 1, start=0, end=12, new_end=31)
    assert read((Align(tumbling(10)),), within_a_window, into_another_window)["new_end"] == [40]


def test_a_point_at_an_end_needs_the_end_so_far_to_be_deleted() -> None:
    without_end = Row("retract", 1, start=3)
    with_end = Row("retract", 2, start=3, end=9)
    endless_event = Row("insert", 3, start=3, payload=3)
    columns = read((PointsAtEnd(),), without_end, with_end, endless_event)
    assert columns["start"] == columns["new_end"] == [3, 9]
    assert [code is None for code in columns["problem"]] == [False, True]
    assert read((PointsAtEnd(is_repeated=True),), without_end)["change"] == []


def test_an_event_without_an_end_has_no_point_at_its_end() -> None:
    run = Run(task((PointsAtEnd(),), tumbling(10), are_revised=False))
    run.process(batch([Row("insert", start=3, payload=3)], are_revised=False))
    assert run.counted == {"filtered": 1}


def test_an_end_that_comes_to_be_known_inserts_a_point_and_another_one_moves_it() -> None:
    first_end = Row("revise", 1, start=3, new_end=14, payload=7)
    second_end = Row("revise", 1, start=3, end=14, new_end=25, payload=7)
    columns = read((PointsAtEnd(is_repeated=True),), first_end, second_end)
    assert list(zip(columns["change"], columns["start"], columns["new_end"], strict=True)) == [
        ("insert", 14, None),
        ("retract", 14, 14),
        ("insert", 25, None),
    ]


def test_readings_of_a_clock_are_not_moved_and_watermarks_of_keys_are() -> None:
    input_batch = batch([Row("clock", start=50), Row("punctuate", start=20), Row("insert", 1, 30, 35, None, 1)])
    progress = read_rows(task((Shift(100),), tumbling(10)).input, input_batch).progress
    assert progress == Progress(watermark=120, horizon=progress.horizon, newest=130, clock=50)


@pytest.mark.parametrize(
    ("tick", "moved"), [(-(2**63), -(2**63)), (INFINITY, INFINITY), (LATEST, LATEST), (LATEST - 1, LATEST - 1)]
)
def test_a_watermark_stays_at_the_ends_of_the_axis_and_does_not_get_there(tick: int, moved: int) -> None:
    assert LifetimeChanges((Shift(5),)).watermark(tick) == moved


def test_a_progress_policy_reads_the_events_as_they_come() -> None:
    # The newest start is 10, so rows are complete to 5; an event that starts at 5 starts at 0 when it is aligned.
    aligning_tracker = replace(task((Align(tumbling(10)),), tumbling(10)).input.tracker, policy=bounded_delay(5))
    newest_start = [Observation(None, 10, 1)]
    progress, _ = aligning_tracker.advance(Progress(), (), Progress(newest=10), newest_start)
    assert progress.watermark == 0

    # The same for a silent source, which follows the clock at a distance of 2: it is shifted after that.
    follows_clock = ordered().with_idle(5, lag=2)
    shifting_tracker = replace(
        aligning_tracker, policy=follows_clock, changes=LifetimeChanges((Shift(1_000),)), steps=()
    )
    progress, state = shifting_tracker.advance(Progress(), (), Progress(clock=100), [Observation(None, 7, 1)])
    assert progress.watermark == 7 + 1_000
    progress, _ = shifting_tracker.advance(progress, state, Progress(clock=110), ())
    assert progress.watermark == 110 - 2 + 1_000


FORTY_DAYS = 40 * 24 * HOUR
MONTH_STARTS = [instant(datetime(2024, month, 17, month, tzinfo=UTC)) for month in range(1, 13)]
EACH_MONTH = batch([Row("insert", start, start, start + FORTY_DAYS, None, 1) for start in MONTH_STARTS])
"""An event of forty days in each month."""


def windows_of(kind: WindowKind, start: int) -> list[Window]:
    """Return the windows that an event of forty days overlaps."""
    return list(kind.cut(Stretches(), start, start + FORTY_DAYS))


def test_windows_of_a_calendar_align_tick_by_tick() -> None:
    """Events of forty days last from the start of their first month to the end of their last one."""
    kind = calendar("month", zone="Europe/Berlin")
    table = read_rows(task((Align(kind),), tumbling(HOUR)).input, EACH_MONTH).rows
    overlapped = [windows_of(kind, start) for start in MONTH_STARTS]
    assert table.column("start").to_pylist() == [windows[0].start for windows in overlapped]
    assert table.column("end").to_pylist() == [windows[-1].end for windows in overlapped]


def test_windows_of_a_calendar_that_overlap_are_shared_tick_by_tick() -> None:
    """Windows of three months begin with each month: an event lasts to the start of the next one after its last window.

    That is the end of the last month in which the event is.
    """
    kind = calendar("3 months", "month", zone="Europe/Berlin")
    table = read_rows(task((ShareWindows(kind),), tumbling(HOUR)).input, EACH_MONTH).rows
    overlapped = [windows_of(kind, start) for start in MONTH_STARTS]
    assert all(len(windows) > 3 for windows in overlapped)
    assert table.column("start").to_pylist() == [windows[0].start for windows in overlapped]
    last_months = [windows_of(calendar("month", zone="Europe/Berlin"), start)[-1] for start in MONTH_STARTS]
    assert table.column("end").to_pylist() == [month.end for month in last_months]


def test_a_checkpoint_remembers_the_changes() -> None:
    plan = task((Shift(5),), tumbling(10)).plan
    stored = json.loads(json.dumps(plan_identity(plan)))
    assert not differences_between(stored, plan_identity(plan))

    changed_queries: dict[str, tuple[LifetimeChange, ...]] = {
        "shift(6), align_to(tumbling(10))": (Shift(6), Align(tumbling(10))),
        "none": (),
    }
    for words, changes in changed_queries.items():
        difference, *_ = differences_between(stored, plan_identity(task(changes, tumbling(10)).plan))
        assert difference == Difference("changes of the lifetimes of events", "shift(5)", words)


def test_a_checkpoint_remembers_the_column_of_a_length() -> None:
    by_wait = task((Shift(LengthColumn("length_0", "wait", -5)),), tumbling(10)).plan
    by_two_waits = task((Shift(LengthColumn("length_0", "2 * wait", -5)),), tumbling(10)).plan
    (difference,) = differences_between(plan_identity(by_wait), plan_identity(by_two_waits))
    assert difference.checkpoint == "shift(wait, at least -5)"
    assert difference.query == "shift(2 * wait, at least -5)"


def test_the_explanation_says_how_the_watermark_changes() -> None:
    def explained(*changes: LifetimeChange) -> str:
        return dict(topics_of(task(changes, tumbling(10)).plan))["events"]

    assert explained(Shift(5)) == "shifted by 5 ticks; the watermark is shifted by 5 ticks"
    assert explained(SetDuration(5), ToEdges()) == (
        "each lasts 5 ticks, then each lasts until the next one of its key starts; the watermark stays"
    )
    assert explained(Shorten(3), PointsAtEnd()) == (
        "each ends 3 ticks earlier, but keeps its first tick, then each is a point at its end; "
        "the watermark stays 3 ticks behind, as revisions count that much earlier"
    )
    assert explained(SetDuration(9), Shorten(3)).endswith("; the watermark stays")
    assert explained(Extend(1), Align(tumbling(10))) == (
        "each ends 1 ticks later, then each lasts as long as its windows of tumbling(10); "
        "the watermark stays at the start of the earliest of these that has not ended"
    )
    back = Shift(LengthColumn("length_0", "wait", -5))
    assert explained(back) == "shifted by wait, at least -5 ticks; the watermark is shifted by -5 ticks"
    assert (
        explained(Shift(LengthColumn("length_0", "wait", 0)))
        == "shifted by wait, at least 0 ticks; the watermark stays"
    )
    assert explained(SetDuration(LengthColumn("length_0", "wait", 1))) == (
        "each lasts wait, at least 1 ticks; the watermark stays"
    )
    assert explained(ShareWindows(hopping(12, 5))) == (
        "each lasts from the start of its first window of hopping(12, 5) to that of the next one after its last, so "
        "that events overlap if they share one; "
        "the watermark stays at the start of the earliest of these that has not ended"
    )
