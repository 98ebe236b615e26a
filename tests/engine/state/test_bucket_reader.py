"""The rows of a checkpoint, read without the query: those that came and are still needed, for each evaluator.

Payloads are `x`; a row of a state is told by its kind, key and lifetime, and of modules by their name and version too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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


def feed_of(window: Any, evaluator: str, *modules: Any, **policies: Any) -> Feed:
    return Feed(query(window, *modules, **{"lifetimes": "points", **policies}), evaluator)


def test_events_and_rows_that_wait_for_others_are_held_until_their_windows_close() -> None:
    feed = feed_of(tumbling(10), "general", Members(), lifetimes="named")
    feed.batch(row(1, 1, 4, 5), row(2, 2, None, 7, "j"), row(3, 12, 15, 8), revision(6, 3, 8, 6))
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
    feed.batch(at(1, 1), at(2, 2), at(12, 5, "j"))
    feed.batch(at(3, 3))
    assert as_text(feed.cells) == [
        "event j [12,13) {'x': 5}",
        *(f"event k [{x},{x + 1}) {{'x': {x}}}" for x in (1, 2, 3)),
        "result j [10,20) (5,)",
        "result k [0,10) (6,)",
        "window j [10,20) None",
        "window k [0,10) test.running_total(x) 2.1.0 3 of 6",
    ]


def test_each_life_of_a_key_that_may_be_forgotten_holds_its_own_events() -> None:
    feed = feed_of(tumbling(10), "general", Members(), forget_keys_after=5)
    feed.batch(at(1, 1), at(3, 3), at(11, 4))
    assert as_text(feed.cells) == [
        f"event k [{start},{start + 1}) {{'x': {x}}}" for start, x in ((1, 1), (11, 4), (3, 3))
    ]


#              0         10
# batch 1       1 2        12 of key j
# batch 2        3 |        13        the watermark passes 6
@pytest.mark.parametrize(
    ("window", "places"),
    [
        (hopping(10, 5), ("slice", "[0,5)", "[10,15)", "[10,15)")),
        (cumulate(20, 10), ("slice", "[0,10)", "[10,20)", "[10,20)")),
        ({"one": tumbling(10), "two": tumbling(20)}, ("slice", "[0,10)", "[10,20)", "[10,20)")),
        (session(3), ("session", "[1,6)", "[13,16)", "[12,15)")),
    ],
    ids=["hopping", "cumulate", "two windows", "session"],
)
def test_partial_states_of_points_are_held_by_slice_or_session(window: Any, places: Sequence[str]) -> None:
    kind, first, second, of_j = places
    states = {}
    for evaluator, module in (("sliced", Deducted()), ("columnar", Average()), ("grouped", Members())):
        feed = feed_of(window, evaluator, module)
        feed.batch(at(1, 1), at(2, 2), at(12, 5, "j"))
        feed.batch(at(3, 3), at(13, 3), watermark=6)
        states[evaluator] = as_text(feed.cells)
    total = "test.deducted_total(x) 2.1.0"
    average = "stats.average(x) 0.1.0"
    assert states["sliced"] == sorted(
        [
            f"{kind} j {of_j} {total} 1 of 5",
            f"{kind} k {first} {total} 1 of 3",  # of the second batch, which waits to be combined with the first
            f"{kind} k {first} {total} 2 of 3",
            f"{kind} k {second} {total} 1 of 3",
        ]
    )
    assert states["columnar"] == [
        f"{kind} j {of_j} {average} 1 of {{'high': 0, 'low': 5}}",
        *sorted(
            [
                f"{kind} k {first} {average} 3 of {{'high': 0, 'low': 6}}",
                f"{kind} k {second} {average} 1 of {{'high': 0, 'low': 3}}",
            ]
        ),
    ]
    rows = [("j", 12, 5), ("k", 1, 1), ("k", 13, 3), ("k", 2, 2), ("k", 3, 3)]
    assert states["grouped"] == [f"event {key} [{start},{start + 1}) {{'x': {x}}}" for key, start, x in rows]


#              0         10        20        30
# batch 1       1--4
#                2-----------14
# batch 2                9---------20        the watermark passes 6, and then 11
@pytest.mark.parametrize("window", [hopping(10, 5), snapshot()], ids=str)
@pytest.mark.parametrize("lifetimes", ["intervals", "named"])
def test_of_events_that_last_those_are_held_that_open_windows_need(window: Any, lifetimes: str) -> None:
    first = [row(1, 1, 4, 5), row(2, 2, 14, 7)]
    second = [row(5, 9, 20, 3)]
    feed = feed_of(window, "columnar", Average(), lifetimes=lifetimes)
    feed.batch(*first, watermark=6)
    feed.batch(*second, watermark=11)
    average = "stats.average(x) 0.1.0 1 of"
    named = ["event k [2,14) #2 {'x': 7}", "event k [9,20) #5 {'x': 3}"]
    parts = [("[2,14)", "[9,20)"), ("[0,15)", "[5,20)")][isinstance(window, type(hopping(10, 5)))]
    kind = "slices" if parts[0] == "[0,15)" else "event"
    summed = [f"{kind} k {part} {average} {{'high': 0, 'low': {x}}}" for part, x in zip(parts, (7, 3), strict=True)]
    assert as_text(feed.cells) == (named if lifetimes == "named" else summed)
    if lifetimes == "intervals":
        feed = feed_of(window, "grouped", Members(), lifetimes=lifetimes)
        feed.batch(*first, watermark=6)
        feed.batch(*second, watermark=11)
        assert as_text(feed.cells) == ["event k [2,14) {'x': 7}", "event k [9,20) {'x': 3}"]


def test_row_windows_hold_rows_that_wait_and_members_or_states_of_each_partition() -> None:
    sums = feed_of(last(2), "in_order", Sliding(), has_order=True)
    sums.batch(at(1, 1), at(2, 2), at(3, 3), at(7, 4), watermark=4)
    assert as_text(sums.cells) == [
        "event k [7,8) {'x': 4, 'order': 4}",
        "member k [2,3) in 0 {'x': 2, 'order': 2}",
        "member k [3,4) in 0 {'x': 3, 'order': 3}",
    ]
    folded = feed_of(batch(3), "in_order", Sliding(), has_order=True)
    folded.batch(at(1, 1), at(2, 2), watermark=4)
    assert as_text(folded.cells) == ["partition k [,) in 0 rows.sliding(x) 1.0.0 2 of 3"]


@pytest.mark.parametrize("evaluator", ["ranked", "sliding"])
def test_windows_of_the_last_rows_hold_rows_that_wait_and_members(evaluator: str) -> None:
    feed = feed_of(last(2).trigger(3), evaluator, Average(), has_order=True)
    feed.batch(at(1, 1), at(2, 2), at(3, 3), at(7, 4), at(8, 9, "j"), watermark=4)
    members = ["member k [2,3) {'x': 2, 'order': 2}", "member k [3,4) {'x': 3, 'order': 3}"]
    assert as_text(feed.cells) == ["event j [8,9) {'x': 9, 'order': 9}", "event k [7,8) {'x': 4, 'order': 4}", *members]
    feed.batch(watermark=9)
    assert as_text(feed.cells) == [
        "member j [8,9) {'x': 9, 'order': 9}",
        "member k [3,4) {'x': 3, 'order': 3}",
        "member k [7,8) {'x': 4, 'order': 4}",
    ]


def test_of_large_keys_with_row_windows_rows_that_came_later_are_in_their_partitions_too() -> None:
    feed = feed_of(last(20).partition("p"), "in_order", Kept(), has_order=True)
    for first in range(0, 100, 10):  # so many that a micro-batch writes what came alone
        feed.batch(*(at(first + tick, first + tick) for tick in range(10)), watermark=first + 10)
    assert len(feed.cells.cells) > 2, "the metadata, the whole state, and what came after it"
    members = sorted((row.partition, row.start) for row in held(feed.cells) if row.kind == "member")
    assert members == sorted(("abc"[start % 3], start) for start in range(40, 100))


def test_a_stream_operator_holds_its_state_and_the_time_at_which_it_wants_to_be_called() -> None:
    feed = feed_of(Unwindowed(), "event_by_event", Silence(5))
    feed.batch(at(1, 1), at(4, 2), at(9, 3, "j"), watermark=5)
    assert as_text(feed.cells) == [
        "event j [9,10) {'x': 3}",
        "key k [,) test.silence(x) 1 {'last': 4}",
        "wake-up k [9,) None",
    ]


def state_of(join: Join, *rows: tuple[int, Row]) -> MemoryCells:
    """Return the state of a join after a micro-batch of rows, each with its side."""
    plan = join.plan(None, buckets=1)
    task = join.task(plan)
    cells = MemoryCells()
    projected = join.projected([{**change, "side": side} for side, change in rows])
    list(run_bucket(task, 0, cells, collect(map_output(task, projected), 2)))
    return cells


def map_output(task: TaskPayload, batch: pa.RecordBatch) -> list[dict[str, Any]]:
    """Return the rows that a map task sends."""
    output: list[dict[str, Any]] = []
    for blob_rows in distribute(task, [batch]):
        output += blob_rows.to_pylist()
    return output


def test_joins_hold_the_events_of_both_inputs() -> None:
    rows = [(0, row(1, 1, 9, 5)), (1, row(2, 3, 20, 7))]
    pairs = state_of(Join(JoinKind.INNER, ("intervals", "intervals")), *rows)
    assert as_text(pairs) == ["event k [1,9) left {'x': 5}", "event k [3,20) right {'x': 7}"]
    eager = state_of(Join(JoinKind.LEFT, ("named", "named"), is_eager=True), *rows)
    assert as_text(eager) == [
        "event k [1,9) left #1 {'x': 5}",
        "event k [3,20) right #2 {'x': 7}",
        "result k [1,3) {'left': 1, 'right': None}",
        "result k [3,9) {'left': 1, 'right': 2}",
    ]


def test_a_held_state_has_the_version_of_its_module_and_its_micro_batch() -> None:
    cells = MemoryCells()
    modules: tuple[Module, ...] = (First(), Second())
    for number, module in enumerate(modules):
        feed = Feed(query(tumbling(10), module, lifetimes="points"), "sliced", cells)
        rows = map_output(feed.task, feed.query.projected([at(number, 1)]))
        list(run_bucket(feed.task, 0, cells, collect(rows, 1), Origin("a query", 0, number)))
    held_states = [(row.version, row.batch, row.value) for row in held(cells)]
    assert held_states == [("1.0", 0, [1]), ("2.0", 1, {"total": 1})]


def test_damaged_cells_and_kinds_of_windows_that_are_not_installed_are_refused() -> None:
    feed = feed_of(tumbling(10), "general", Members())
    feed.batch(at(1, 1))
    entry = next(name for name in feed.cells.cells if name != METADATA)
    whole = feed.cells.cells[entry]
    feed.cells.put(entry, whole[:-1] + b"?")
    with pytest.raises(StateError, match=f"the cell '{entry}' of bucket 7: its"):
        BucketReader(feed.cells, "bucket 7")
    feed.cells.remove(entry)
    with pytest.raises(StateError, match="the metadata lists it, and it is empty"):
        BucketReader(feed.cells)
    with pytest.raises(StateError, match="the cell 'metadata': it is empty"):
        BucketReader(MemoryCells())
    unknown_kind = feed_of(EvenStarts(), "general", Members(), lifetimes="intervals")
    unknown_kind.batch(row(1, 2, 4, 5))
    with pytest.raises(WindowError, match=r"'test.even_starts'"):
        held(unknown_kind.cells)
