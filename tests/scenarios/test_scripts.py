"""Streams that showed a fault once, or that a definition is about."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from muntin import (
    EARLIEST,
    INFINITY,
    ClipPolicy,
    EarlyEmission,
    EmitPolicy,
    Event,
    JoinKind,
    Refinement,
    TimestampPolicy,
    count_by_start,
    global_windows,
    hopping,
    session,
    snapshot,
    trailing,
    tumbling,
)
from muntin.changes import Insertion, Revision
from muntin.progress import SourceProgress, bounded_delay, bounded_disorder, punctuate_every
from muntin.rows import last
from muntin.testing import Batch, Script
from muntin.triggers import every_count
from muntin.windows.specification import Unwindowed
from muntin_engine.time.changes import LATEST
from tests.engine.time.histories import Row, reference_watermarks
from tests.modules.merged_states import ANY, COLUMNAR, FOLLOWING, OF_ROWS
from tests.modules.progress_policies import Outvoted
from tests.modules.several_inputs import Members
from tests.scenarios.columns import ID_TYPES
from tests.scenarios.hostile import Hostile, HostileBatch, HostileRow
from tests.scenarios.join import Join
from tests.scenarios.kinds import CUSTOM_KINDS
from tests.scenarios.query import Query
from tests.scenarios.reference_input import Arrival, ReferenceInput
from tests.scenarios.running import Mishaps, Run
from tests.scenarios.scenario import Scenario
from tests.scenarios.streams import in_one_order, longest_delay
from tests.scenarios.windows import RANKED, WINDOWS

NO_MISHAPS = Mishaps(disorder=False, cuts=None, crashes=0.0)
"""Streams come as they are written; only restarts are drawn."""

TIME_BOUND = (ClipPolicy.NONE, TimestampPolicy.TIME_BOUND, EmitPolicy.EAGER)
"""The policies of results that start where they become known."""

EVERY_EMISSION = pytest.mark.parametrize("emit", EmitPolicy)
EVERY_SHAPE = pytest.mark.parametrize("shape", ANY)


@EVERY_SHAPE
def test_an_event_may_be_retracted_for_an_equal_one_that_lasts_longer(shape: str) -> None:
    """
         -17  -16        -11
    - b  [----)
    + b  [---------------)
    """
    stream = Script().insert(1, -17, -16, -8, key="b").batch()
    stream = stream.retract(1, key="b").insert(2, -17, -11, -8, key="b")
    Scenario(Query(WINDOWS["reach"], ANY[shape], *TIME_BOUND), stream, NO_MISHAPS).check()


@pytest.mark.parametrize("shape", ["aggregate", "incremental aggregate that removes", "operator"])
def test_the_first_part_of_a_snapshot_is_retracted_with_its_event(shape: str) -> None:
    """
    0    3    6    10
    [---------------)      has one result over all of it
         [----)            cuts it, and is retracted: then there is a new result from 3 on; at last the first event goes
    """
    stream = Script().insert(1, 0, 10, 1).batch().insert(2, 3, 6, 2).batch().retract(2).batch().retract(1).close()
    Scenario(Query(snapshot(), ANY[shape], *TIME_BOUND), stream, NO_MISHAPS).check()


@EVERY_EMISSION
@pytest.mark.parametrize("shape", ["aggregate", "time-sensitive incremental aggregate that removes"])
def test_an_event_between_two_windows_is_not_waited_for(shape: str, emit: EmitPolicy) -> None:
    """Windows open at 0 and 7. The event that starts at 4 is in neither, and ends at 30, or later.

    The window at 7 is closed at 21; it does not hold the output watermark back.
    """
    stream = Script().insert(1, 0, 3).insert(2, 4, 30).insert(3, 5, 6).insert(4, 7, 16)
    stream = stream.punctuate(21).batch().revise(2, 40).punctuate(41)
    Scenario(Query(RANKED["every third start"], ANY[shape], emit=emit), stream, NO_MISHAPS).check()


@EVERY_EMISSION
def test_a_life_goes_on_when_all_that_is_left_of_it_is_settled(emit: EmitPolicy) -> None:
    """The second event is deleted when the first is settled; the others are of the life of the first, by their ranks.

    0   3  5  6 7 8
    !   w  x  ! ! !        w: the watermark of the first batch; x: inserted in the second, deleted in the third
    """
    stream = Script().point(1, 0, 1).punctuate(3).batch().point(2, 5, 2).batch().retract(2).batch()
    stream = stream.point(3, 6, 3).point(4, 7, 4).point(5, 8, 5).close()
    query = Query(RANKED["every third start"], ANY["aggregate"], emit=emit, forget_keys_after=6)
    Scenario(query, stream, NO_MISHAPS).check()


def test_a_trigger_goes_on_where_a_window_is_cut_elsewhere() -> None:
    """
    0   4   8   12                      40 41
    !   !   !   !                       !  !    forgotten after ten silent ticks, so what is live ends there
    """
    emit = EarlyEmission(every_count(2), Refinement.RETRACT)
    query = Query(global_windows(), ANY["aggregate"], emit=emit, lifetimes="points", forget_keys_after=10)
    run = Run(query, query.evaluators["general"], NO_MISHAPS)
    # the tick of a point, the watermark after it, and the end of the window that is emitted, its timing and firing
    steps: list[tuple[int, int | None, list[tuple[int, str, int]]]] = [
        (0, None, []),
        (4, None, [(15, "early", 0)]),
        (8, None, []),
        (12, None, [(23, "early", 1)]),
        (40, 23, [(23, "final", 2)]),
        (41, 51, [(52, "early", 0)]),
    ]
    for tick, watermark, expected in steps:
        script = Script().point(tick, tick, tick)
        if watermark is not None:
            script = script.punctuate(watermark)
        (batch,) = script.batches()
        run.process(Arrival((batch,)))
        assert [(row.window[1], *row.further_columns) for row in run.inserted] == expected, f"at {tick}"


EARLY = EarlyEmission(every_count(1), Refinement.RETRACT)


@pytest.mark.parametrize("emit", [EARLY, EmitPolicy.EAGER])
def test_live_results_stay_when_their_window_passes_to_another_life(emit: EmitPolicy | EarlyEmission) -> None:
    """A key is forgotten after three silent ticks: it has two lives, one, and two again. Windows from 18 on stay.

    0       5            18  20     25  28
    [-------)----------------[------)...:
            )............)
    """
    query = Query(hopping(10, 3), ANY["aggregate"], emit=emit, forget_keys_after=3)
    stream = Script().insert(1, 0, 5, 1).insert(2, 20, 25, 2).batch().revise(1, 18).batch().revise(1, 5)
    run = Run(query, query.evaluators["general"], NO_MISHAPS)
    results_after_batch: list[set[Any]] = []
    for batch in stream.batches():
        run.process(Arrival((batch,)))
        results_after_batch.append({(id, row) for id, row in run._live_by_id.items() if row.window[0] >= 18})
    first, second, third = results_after_batch
    assert len(first) == 3
    assert first == second == third
    Scenario(query, stream.close(), NO_MISHAPS).check()


def test_an_event_that_takes_the_place_of_another_leaves_their_equal_pairs() -> None:
    """
          0         10
    left  [---------)     retracted in the batch that brings an equal one
    right    [---)        pairs with either
    """
    left = Script().insert(1, 0, 10, 4).batch().retract(1).insert(2, 0, 10, 4).batch().close()
    right = Script().insert(1, 3, 6, 1).batch().batch().close()
    query = Join(JoinKind.INNER, ("named", "named"), is_eager=True)
    Scenario(query, (left, right), NO_MISHAPS).check()


def test_equal_parts_that_trade_their_ends_stay() -> None:
    """
       0    5    9
    1  [----)~~~~)    lasts longer from the second batch on
    2  [----~~~~~)    and this one less long
    """
    left = Script().insert(1, 0, 5, 4).insert(2, 0, 9, 4).batch().revise(1, 9).revise(2, 5).batch().close()
    query = Join(JoinKind.LEFT, ("named", "points"), is_eager=True)
    Scenario(query, (left, Script().batch().batch().close()), NO_MISHAPS).check()


def test_a_part_that_comes_to_equal_one_that_goes_takes_its_place() -> None:
    """
       0    5    9
    1  [----)~~~~)    lasts longer from the second batch on
    2  [---------)    is retracted in it
    """
    left = Script().insert(1, 0, 5, 4).insert(2, 0, 9, 4).batch().revise(1, 9).retract(2).batch().close()
    query = Join(JoinKind.LEFT, ("named", "points"), is_eager=True)
    Scenario(query, (left, Script().batch().batch().close()), NO_MISHAPS).check()


def test_a_window_that_a_sample_reaches_stays_when_one_without_an_end_comes() -> None:
    """
           1                        27  29
    a      [------------------------[---[---        the second one is left out by a filter
    """
    query = Query(WINDOWS["reach"], ANY["aggregate"], emit=EmitPolicy.EAGER, lifetimes="samples", is_filtered=True)
    stream = Script().insert(1, 1, INFINITY, 1).insert(2, 27, INFINITY, 6).batch().insert(3, 29, INFINITY, -4)
    Scenario(query, stream, NO_MISHAPS).check()


def test_nothing_is_kept_for_windows_of_a_plan_that_never_come() -> None:
    """The plan ends at 41; events start before and after, and last."""
    query = Query(CUSTOM_KINDS["a plan that ends"], ANY["aggregate"], lifetimes="intervals")
    run = Run(query, query.evaluators["general"], NO_MISHAPS)
    for script in (Script().insert(1, 35, 90).insert(2, 60, 80), Script().punctuate(95)):
        for batch in script.batches():
            run.process(Arrival((batch,)))
    assert run.is_empty


@pytest.mark.parametrize("emit", EmitPolicy)
def test_an_event_that_is_in_no_window_changes_no_window_without_an_end(emit: EmitPolicy) -> None:
    """The third event is in no window: a revision in its own micro-batch leaves it a single tick, and so no member."""
    query = Query(CUSTOM_KINDS["late sessions"], ANY["incremental aggregate that removes"], emit=emit)
    stream = Script().insert(1, 0, INFINITY, 1).batch().insert(2, 3, 6, 10).batch()
    stream = stream.insert(3, 5, 9, 100).revise(3, 6).batch()
    Scenario(query, stream.punctuate(20), NO_MISHAPS).check()


@pytest.mark.parametrize("seed", range(12))
def test_a_script_with_a_progress_policy_has_the_watermarks_that_the_policy_derives(seed: int) -> None:
    stream = in_one_order(Random(seed), Query(WINDOWS["tumbling"], ANY["aggregate"]))
    delay = longest_delay(stream)
    for policy in (bounded_delay(delay), bounded_disorder(3), punctuate_every(span=5, delay=delay)):
        batches = list(replace(stream, allow_illegal=True).with_progress(policy).batches())
        rows_by_batch = [inserted_rows(batch) for batch in batches]
        derived_watermarks = reference_watermarks(policy, [None], rows_by_batch)

        punctuated: list[int] = []
        expected: list[int] = []
        latest = EARLIEST
        for batch, watermark in zip(batches, derived_watermarks, strict=True):
            closes_stream = batch.punctuation is not None and batch.punctuation > LATEST
            if closes_stream:
                continue  # this watermark is not of the policy
            if batch.punctuation is not None:
                punctuated.append(batch.punctuation)
            if watermark > latest:  # one that does not advance is not punctuated
                latest = watermark
                expected.append(watermark)
        assert punctuated == expected


def inserted_rows(batch: Batch) -> list[Row]:
    """Return the insertions of a micro-batch, as a progress policy sees them."""
    rows: list[Row] = []
    for step in batch.changes:
        if isinstance(step.change, Insertion):
            rows.append(Row("insert", step.change.event.start))
    return rows


def test_the_reference_asks_a_policy_once_for_each_micro_batch() -> None:
    """It asked for each earlier one again: a stream of 150 micro-batches took minutes, of which the engine had one."""
    calls = 0

    class CountsCalls(Outvoted):
        def watermark(self, seen: SourceProgress) -> int | None:
            nonlocal calls
            calls += 1
            return super().watermark(seen)

    reference_input = ReferenceInput(Query(WINDOWS["tumbling"], ANY["aggregate"], progress=CountsCalls(3, of=3)))
    for batch in Script().point(1, 1).batch().point(2, 5).batch().point(3, 9).batch().point(4, 12).batches():
        reference_input.add(Arrival((batch,)))
    assert reference_input.progress.watermark == 6
    assert calls == 4


@pytest.mark.parametrize("emit", [EmitPolicy.FINAL, EmitPolicy.EAGER])
@pytest.mark.parametrize("revisions", [[(20, 25), (25, 20)], [(20, 20)], [(16, 16), (20, 25)]], ids=str)
@pytest.mark.parametrize("first_new_end", [10, 12], ids=["retracted", "ended"])
def test_an_event_that_is_over_does_not_come_back_by_revisions_that_undo_each_other(
    first_new_end: int, revisions: list[tuple[int, int]], emit: EmitPolicy
) -> None:
    """
    10   12    15   20
    [----+-----!----)     retracted, or revised to end at 12; then the watermark is at 15

    The revisions that come after that are pairs of an expected and a new end.
    """
    script = Script(allow_illegal=True).insert(1, 10, 20, 4).revise(1, first_new_end).punctuate(15).batch()
    for end, new_end in revisions:
        script = script.add(Revision(1, Event(10, end, 4), new_end))
    query = Query(snapshot(), COLUMNAR["sums"], emit=emit)
    Scenario(query, script.batch().punctuate(40).close(), NO_MISHAPS).check()
    assert len(script.illegal()) == len(revisions)


EVENT = HostileRow("a", id=1, start=10, end=20, payload=4)
SNAPSHOTS = Query(snapshot(), COLUMNAR["sums"])


@pytest.mark.parametrize(
    "ids", [pa.int64(), pa.string(), pa.struct([("station", pa.string()), ("number", pa.int64())])]
)
@pytest.mark.parametrize(
    ("query", "batches", "refused"),
    [
        pytest.param(
            SNAPSHOTS,
            [
                HostileBatch([HostileRow("a", id=1, start=10, end=20, payload=None, new_end=15)], watermark=5),
                HostileBatch([], watermark=6),
                HostileBatch([HostileRow("a", id=1, start=10, end=20, payload=4)], watermark=30),
            ],
            0,
            id="a revision before its event",
        ),
        pytest.param(
            SNAPSHOTS,
            [
                HostileBatch([HostileRow("a", id=1, start=10, end=20, payload=4)], watermark=5),
                HostileBatch([HostileRow("a", id=1, start=10, end=20, payload=3, new_end=10)], watermark=6),
                HostileBatch([HostileRow("a", id=1, start=10, end=20, payload=3)], watermark=7),
            ],
            0,
            id="a retraction of another payload",
        ),
        pytest.param(
            Query(hopping(26, 4, 6), COLUMNAR["sums"]),
            [
                HostileBatch(
                    [
                        HostileRow("a", id=1, start=15, end=16, payload=4),
                        HostileRow("a", id=1, start=15, end=19, payload=None, new_end=20),
                    ],
                    watermark=15,
                ),
                HostileBatch([], watermark=16),
                HostileBatch([], watermark=17),
            ],
            1,
            id="a revision of an end that cannot come",
        ),
    ],
)
def test_a_row_waits_for_the_one_that_it_follows_while_that_may_come(
    query: Query, batches: list[HostileBatch], refused: int, ids: pa.DataType
) -> None:
    """A new process evaluates each micro-batch; `check` returns how many rows are refused."""
    end_of_stream = HostileBatch([], INFINITY)
    hostile = Hostile(replace(query, ids=ids), [*batches, end_of_stream], replace(NO_MISHAPS, restarts=1.0))
    assert hostile.check() == refused


@EVERY_EMISSION
def test_an_input_sees_a_time_however_far_the_others_are(emit: EmitPolicy) -> None:
    """The second input is at 12, and nobody waits for it when the last one closes.

    -16  -12  -8        0         8    12   16
    [----------)[--------)[--------)[--------)     windows
          [--------------------------------------  an event of the third input
    """
    query = Query(tumbling(8), (Members(),), emit=emit, lifetimes="intervals", sources=((),) * 3)
    third = Script().insert(5, -12, INFINITY, -4, key="a").batch()
    streams = (Script().close(), Script().punctuate(12).batch().close(), third.close())
    Scenario(query, streams, NO_MISHAPS).check()


WITH_IDS: dict[str, Query | Join] = {
    "sessions": Query(session(4), ANY["aggregate"]),
    "trailing": Query(trailing(6), ANY["aggregate"]),
    "counts": Query(count_by_start(2), ANY["aggregate"]),
    "keys that are forgotten": Query(tumbling(8), ANY["aggregate"], emit=EmitPolicy.EAGER, forget_keys_after=3),
    "early": Query(snapshot(), ANY["aggregate"], emit=EarlyEmission(every_count(2), Refinement.RETRACT)),
    "rows": Query(last(2), OF_ROWS["aggregate"], lifetimes="retracted", has_order=True),
    "events in order": Query(Unwindowed(), FOLLOWING["test.silence"], lifetimes="retracted", has_order=True),
    "inner join": Join(JoinKind.INNER, ("named", "named")),
    "left join": Join(JoinKind.LEFT, ("named", "named"), is_eager=True),
}
"""Queries of events with ids, whatever evaluates them."""

for window in (tumbling(8), hopping(12, 2, -5), snapshot()):
    for emit in EmitPolicy:
        WITH_IDS[f"{window} {emit}"] = Query(window, COLUMNAR["sums"], emit=emit)


@pytest.mark.cases(6)
@pytest.mark.parametrize("ids", ID_TYPES)
def test_an_id_of_any_type_equals_itself(ids: str) -> None:
    """NaN, -0.0, and empty and null parts included: an id that comes again is refused, in its batch and in a later one.

    A retraction and a new insertion in one batch are one of an event that is there.
    """
    events = [EVENT._replace(id=number) for number in range(4)]
    retractions = [event._replace(new_end=EVENT.start) for event in events]
    new_events = [event._replace(payload=6) for event in events]
    batches = [
        HostileBatch([*events, *events], watermark=5),
        HostileBatch(events, watermark=6),
        HostileBatch([*retractions, *new_events], watermark=7),
        HostileBatch([], INFINITY),
    ]
    for query in WITH_IDS.values():
        hostile = Hostile(replace(query, ids=ID_TYPES[ids]), batches, replace(NO_MISHAPS, restarts=0.5))
        assert hostile.check() == 2 * len(events)
