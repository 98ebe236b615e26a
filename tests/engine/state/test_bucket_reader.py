"""The rows of a checkpoint, read without the query: those that came and are still needed, for each evaluator.

Payloads are `x`. A row is shown as `as_text` has it: its kind, key and lifetime, and for states the module with its
name and version, and the number of events in them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pyarrow as pa
import pytest

from muntin import EmitPolicy, JoinKind, Module, cumulate, hopping, session, snapshot, tumbling
from muntin.errors import WindowError
from muntin.rows import batch, last
from muntin.windows.specification import Unwindowed
from muntin_engine.errors import StateError
from muntin_engine.state.bucket_reader import BucketReader
from muntin_engine.state.cells import METADATA, MemoryCells, Origin
from muntin_engine.tasks.bucket_task import run_bucket
from muntin_engine.tasks.map_task import distribute
from muntin_engine.wire.shuffle import collect
from muntin_engine.wire.task_payload import TaskPayload
from muntin_stats import Average
from tests.engine.state.held import as_text, held
from tests.modules.rows import Kept, Sliding
from tests.modules.schema_versions import First, Second
from tests.modules.stream_operators import Silence
from tests.scenarios.feed import Deducted, Feed, Members, Row, RunningTotal, at, query, revision, row
from tests.scenarios.join import Join
from tests.scenarios.kinds import EvenStarts

AVERAGE = "stats.average(x) 0.1.0"
DEDUCTED_TOTAL = "test.deducted_total(x) 2.1.0"


def feed_of(window: Any, evaluator: str, *modules: Any, **policies: Any) -> Feed:
    """Return a query that an evaluator runs in one bucket; its events are points unless its policies say otherwise."""
    return Feed(query(window, *modules, **{"lifetimes": "points", **policies}), evaluator)


def test_events_and_revisions_that_wait_for_their_event_are_held_until_their_windows_close() -> None:
    feed = feed_of(tumbling(10), "general", Members(), lifetimes="named")
    feed.batch(
        row(1, start=1, end=4, value=5),
        row(2, start=2, end=None, value=7, key="j"),
        row(3, start=12, end=15, value=8),
        revision(6, start=3, end=8, new_end=6),  # before its event
    )
    assert as_text(feed.cells) == [
        "event j [2,) #2 {'x': 7}",
        "event k [1,4) #1 {'x': 5}",
        "event k [12,15) #3 {'x': 8}",
        "waiting k [3,8) #6 {'end': 8, 'new_end': 6}",
    ]
    feed.batch(watermark=11)
    assert as_text(feed.cells) == ["event j [2,) #2 {'x': 7}", "event k [12,15) #3 {'x': 8}"]


def test_windows_that_may_change_hold_the_states_of_modules_and_what_they_emitted() -> None:
    feed = feed_of(tumbling(10), "general", RunningTotal(), emit=EmitPolicy.EAGER)
    feed.batch(at(1, value=1), at(2, value=2), at(12, value=5, key="j"))
    feed.batch(at(3, value=3))
    assert as_text(feed.cells) == [
        "event j [12,13) {'x': 5}",
        "event k [1,2) {'x': 1}",
        "event k [2,3) {'x': 2}",
        "event k [3,4) {'x': 3}",
        "result j [10,20) (5,)",
        "result k [0,10) (6,)",
        "window j [10,20) None",  # one with a single event needs no state
        "window k [0,10) test.running_total(x) 2.1.0 3 of 6",
    ]


def test_each_life_of_a_key_that_may_be_forgotten_holds_its_own_events() -> None:
    feed = feed_of(tumbling(10), "general", Members(), forget_keys_after=5)
    feed.batch(at(1, value=1), at(3, value=3), at(11, value=4))  # another life begins at 11
    assert as_text(feed.cells) == ["event k [1,2) {'x': 1}", "event k [11,12) {'x': 4}", "event k [3,4) {'x': 3}"]


def state_after_two_batches_of_points(window: Any, evaluator: str, module: Module) -> list[str]:
    """Return what is held of these points, as text.

    0         10
     1 2        12 of key j   batch 1
      3 |        13           batch 2; the watermark passes 6
    """
    feed = feed_of(window, evaluator, module)
    feed.batch(at(1, value=1), at(2, value=2), at(12, value=5, key="j"))
    feed.batch(at(3, value=3), at(13, value=3), watermark=6)
    return as_text(feed.cells)


class StatePlaces(NamedTuple):
    """Where the states of the two batches of points are.

    Attributes:
        kind: The kind of the rows.
        early: The slice or session of the points 1, 2 and 3.
        late: That of the point 13.
        of_j: That of the point of key j.
    """

    kind: str
    early: str
    late: str
    of_j: str


WINDOWS_ON_SLICES = pytest.mark.parametrize(
    ("window", "places"),
    [
        (hopping(10, 5), StatePlaces("slice", early="[0,5)", late="[10,15)", of_j="[10,15)")),
        (cumulate(20, 10), StatePlaces("slice", early="[0,10)", late="[10,20)", of_j="[10,20)")),
        (
            {"one": tumbling(10), "two": tumbling(20)},
            StatePlaces("slice", early="[0,10)", late="[10,20)", of_j="[10,20)"),
        ),
        (session(3), StatePlaces("session", early="[1,6)", late="[13,16)", of_j="[12,15)")),
    ],
    ids=["hopping", "cumulate", "two windows", "session"],
)


@WINDOWS_ON_SLICES
def test_states_of_python_are_held_by_slice_or_session_for_each_batch(window: Any, places: StatePlaces) -> None:
    expected = [
        f"{places.kind} j {places.of_j} {DEDUCTED_TOTAL} 1 of 5",
        f"{places.kind} k {places.early} {DEDUCTED_TOTAL} 2 of 3",  # of the first batch: 1 + 2
        f"{places.kind} k {places.early} {DEDUCTED_TOTAL} 1 of 3",  # of the second, not combined with the first yet
        f"{places.kind} k {places.late} {DEDUCTED_TOTAL} 1 of 3",
    ]
    assert state_after_two_batches_of_points(window, "sliced", Deducted()) == sorted(expected)


@WINDOWS_ON_SLICES
def test_components_are_held_by_slice_or_session(window: Any, places: StatePlaces) -> None:
    expected = [
        f"{places.kind} j {places.of_j} {AVERAGE} 1 of {{'high': 0, 'low': 5}}",
        f"{places.kind} k {places.early} {AVERAGE} 3 of {{'high': 0, 'low': 6}}",
        f"{places.kind} k {places.late} {AVERAGE} 1 of {{'high': 0, 'low': 3}}",
    ]
    assert state_after_two_batches_of_points(window, "columnar", Average()) == sorted(expected)


@pytest.mark.parametrize(
    "window",
    [hopping(10, 5), cumulate(20, 10), {"one": tumbling(10), "two": tumbling(20)}, session(3)],
    ids=["hopping", "cumulate", "two windows", "session"],
)
def test_for_a_module_without_a_state_the_events_are_held_whatever_the_slices(window: Any) -> None:
    assert state_after_two_batches_of_points(window, "grouped", Members()) == [
        "event j [12,13) {'x': 5}",
        "event k [1,2) {'x': 1}",
        "event k [13,14) {'x': 3}",
        "event k [2,3) {'x': 2}",
        "event k [3,4) {'x': 3}",
    ]


def state_after_two_batches_of_events_that_last(
    window: Any, evaluator: str, module: Module, *, lifetimes: str
) -> list[str]:
    """Return what is held of these events, as text.

    0         10        20
     1--4                     batch 1; the watermark passes 6
      2-----------14
             9---------20     batch 2; the watermark passes 11
    """
    feed = feed_of(window, evaluator, module, lifetimes=lifetimes)
    feed.batch(row(1, start=1, end=4, value=5), row(2, start=2, end=14, value=7), watermark=6)
    feed.batch(row(5, start=9, end=20, value=3), watermark=11)
    return as_text(feed.cells)


@pytest.mark.parametrize("window", [hopping(10, 5), snapshot()], ids=str)
def test_of_events_with_ids_those_are_held_that_open_windows_need(window: Any) -> None:
    state = state_after_two_batches_of_events_that_last(window, "columnar", Average(), lifetimes="named")
    assert state == ["event k [2,14) #2 {'x': 7}", "event k [9,20) #5 {'x': 3}"]


@pytest.mark.parametrize("window", [hopping(10, 5), snapshot()], ids=str)
def test_of_events_without_ids_those_are_held_that_open_windows_need(window: Any) -> None:
    state = state_after_two_batches_of_events_that_last(window, "grouped", Members(), lifetimes="intervals")
    assert state == ["event k [2,14) {'x': 7}", "event k [9,20) {'x': 3}"]


@pytest.mark.parametrize(
    ("window", "kind", "ranges"),
    [(hopping(10, 5), "slices", ("[0,15)", "[5,20)")), (snapshot(), "event", ("[2,14)", "[9,20)"))],
    ids=["hopping", "snapshot"],
)
def test_components_of_events_that_last_are_held_by_their_range_of_slices_or_their_lifetime(
    window: Any, kind: str, ranges: tuple[str, str]
) -> None:
    state = state_after_two_batches_of_events_that_last(window, "columnar", Average(), lifetimes="intervals")
    second, third = ranges
    assert state == [
        f"{kind} k {second} {AVERAGE} 1 of {{'high': 0, 'low': 7}}",
        f"{kind} k {third} {AVERAGE} 1 of {{'high': 0, 'low': 3}}",
    ]


def test_windows_of_the_last_rows_hold_rows_that_wait_and_the_members_of_each_partition() -> None:
    feed = feed_of(last(2), "in_order", Sliding(), has_order=True)
    feed.batch(at(1, value=1), at(2, value=2), at(3, value=3), at(7, value=4), watermark=4)
    assert as_text(feed.cells) == [
        "event k [7,8) {'x': 4, 'order': 4}",
        "member k [2,3) in 0 {'x': 2, 'order': 2}",
        "member k [3,4) in 0 {'x': 3, 'order': 3}",
    ]


def test_windows_of_batches_of_rows_hold_the_state_of_each_partition() -> None:
    feed = feed_of(batch(3), "in_order", Sliding(), has_order=True)
    feed.batch(at(1, value=1), at(2, value=2), watermark=4)
    assert as_text(feed.cells) == ["partition k [,) in 0 rows.sliding(x) 1.0.0 2 of 3"]


@pytest.mark.parametrize("evaluator", ["ranked", "sliding"])
def test_windows_of_the_last_rows_of_all_keys_hold_rows_until_the_watermark_passes_them_and_then_as_members(
    evaluator: str,
) -> None:
    feed = feed_of(last(2).trigger(3), evaluator, Average(), has_order=True)
    feed.batch(at(1, value=1), at(2, value=2), at(3, value=3), at(7, value=4), at(8, value=9, key="j"), watermark=4)
    assert as_text(feed.cells) == [
        "event j [8,9) {'x': 9, 'order': 9}",
        "event k [7,8) {'x': 4, 'order': 4}",
        "member k [2,3) {'x': 2, 'order': 2}",
        "member k [3,4) {'x': 3, 'order': 3}",
    ]
    feed.batch(watermark=9)
    assert as_text(feed.cells) == [
        "member j [8,9) {'x': 9, 'order': 9}",
        "member k [3,4) {'x': 3, 'order': 3}",
        "member k [7,8) {'x': 4, 'order': 4}",
    ]


def test_of_large_keys_with_row_windows_rows_that_came_later_are_in_their_partitions_too() -> None:
    feed = feed_of(last(20).partition("p"), "in_order", Kept(), has_order=True)
    for first in range(0, 100, 10):  # so many that a micro-batch does not write the whole state of the key
        points = [at(start, value=start) for start in range(first, first + 10)]
        feed.batch(*points, watermark=first + 10)
    assert len(feed.cells.cells) > 2, "the metadata, the whole state, and what came after it"

    members = [(row.partition, row.start) for row in held(feed.cells) if row.kind == "member"]
    last_20_of_each_partition = [("abc"[start % 3], start) for start in range(100 - 3 * 20, 100)]
    assert sorted(members) == sorted(last_20_of_each_partition)


def test_a_stream_operator_holds_its_state_and_the_time_at_which_it_wants_to_be_called() -> None:
    feed = feed_of(Unwindowed(), "event_by_event", Silence(5))
    feed.batch(at(1, value=1), at(4, value=2), at(9, value=3, key="j"), watermark=5)
    assert as_text(feed.cells) == [
        "event j [9,10) {'x': 3}",
        "key k [,) test.silence(x) 1 {'last': 4}",
        "wake-up k [9,) None",
    ]


def state_of(join: Join, *, left: Row, right: Row) -> MemoryCells:
    """Return the state of a join after a micro-batch with a row of each input."""
    task = join.task(join.plan(None, buckets=1))
    cells = MemoryCells()
    projected = join.projected([left | {"side": 0}, right | {"side": 1}])
    list(run_bucket(task, 0, cells, collect(map_output(task, projected), 2)))
    return cells


def map_output(task: TaskPayload, batch: pa.RecordBatch) -> list[dict[str, Any]]:
    """Return the rows that a map task sends."""
    output: list[dict[str, Any]] = []
    for blob_rows in distribute(task, [batch]):
        output += blob_rows.to_pylist()
    return output


LEFT_ROW = row(1, start=1, end=9, value=5)
RIGHT_ROW = row(2, start=3, end=20, value=7)


def test_joins_hold_the_events_of_both_inputs() -> None:
    state = state_of(Join(JoinKind.INNER, ("intervals", "intervals")), left=LEFT_ROW, right=RIGHT_ROW)
    assert as_text(state) == ["event k [1,9) left {'x': 5}", "event k [3,20) right {'x': 7}"]


def test_joins_that_may_retract_results_hold_them_too() -> None:
    state = state_of(Join(JoinKind.LEFT, ("named", "named"), is_eager=True), left=LEFT_ROW, right=RIGHT_ROW)
    assert as_text(state) == [
        "event k [1,9) left #1 {'x': 5}",
        "event k [3,20) right #2 {'x': 7}",
        "result k [1,3) {'left': 1, 'right': None}",
        "result k [3,9) {'left': 1, 'right': 2}",
    ]


def test_a_held_state_has_the_version_of_its_module_and_its_micro_batch() -> None:
    cells = MemoryCells()
    versions: tuple[Module, ...] = (First(), Second())  # of one module
    for number, module in enumerate(versions):
        feed = Feed(query(tumbling(10), module, lifetimes="points"), "sliced", cells)
        rows = map_output(feed.task, feed.query.projected([at(number, value=1)]))
        origin = Origin("a query", bucket=0, batch=number)
        list(run_bucket(feed.task, 0, cells, collect(rows, 1), origin))

    first, second = held(cells)
    assert (first.version, first.batch, first.value) == ("1.0", 0, [1])
    assert (second.version, second.batch, second.value) == ("2.0", 1, {"total": 1})


@pytest.fixture
def cells_of_one_event() -> MemoryCells:
    feed = feed_of(tumbling(10), "general", Members())
    feed.batch(at(1, value=1))
    return feed.cells


def test_a_damaged_cell_is_refused_with_its_name(cells_of_one_event: MemoryCells) -> None:
    (entry,) = cells_of_one_event.cells.keys() - {METADATA}
    data = cells_of_one_event.cells[entry]
    cells_of_one_event.put(entry, data[:-1] + b"?")
    with pytest.raises(StateError, match=f"the cell '{entry}' of bucket 7: its"):
        BucketReader(cells_of_one_event, "bucket 7")


def test_a_lost_cell_is_refused(cells_of_one_event: MemoryCells) -> None:
    (entry,) = cells_of_one_event.cells.keys() - {METADATA}
    cells_of_one_event.remove(entry)
    with pytest.raises(StateError, match="the metadata lists it, and it is empty"):
        BucketReader(cells_of_one_event)


def test_a_bucket_without_metadata_is_refused() -> None:
    with pytest.raises(StateError, match="the cell 'metadata': it is empty"):
        BucketReader(MemoryCells())


def test_a_kind_of_windows_that_is_not_installed_is_refused_by_its_name() -> None:
    feed = feed_of(EvenStarts(), "general", Members(), lifetimes="intervals")
    feed.batch(row(1, start=2, end=4, value=5))
    with pytest.raises(WindowError, match=r"'test.even_starts'"):
        held(feed.cells)
