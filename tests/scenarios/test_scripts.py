"""Streams that showed a fault once, or that a definition is about."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from muntin import (
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
from muntin.changes import Revision
from muntin.progress import SourceProgress, bounded_delay, bounded_disorder, punctuate_every
from muntin.rows import last
from muntin.testing import Script
from muntin.triggers import every_count
from muntin.windows.specification import Unwindowed
from tests.engine.time.histories import Row, punctuations
from tests.modules.merged_states import ANY, COLUMNAR, FOLLOWING, OF_ROWS
from tests.modules.progress_policies import Outvoted
from tests.modules.several_inputs import Members
from tests.scenarios.columns import ID_TYPES
from tests.scenarios.hostile import Hostile, HostileRow
from tests.scenarios.join import Join
from tests.scenarios.kinds import OWN
from tests.scenarios.known import Arrival, Known
from tests.scenarios.query import Query
from tests.scenarios.running import Mishaps, Run
from tests.scenarios.scenario import Scenario
from tests.scenarios.streams import in_one_order, longest_delay
from tests.scenarios.windows import RANKED, WINDOWS

AS_IT_IS = Mishaps(disorder=False, cuts=None, crashes=0.0)
TIME_BOUND = (ClipPolicy.NONE, TimestampPolicy.TIME_BOUND, EmitPolicy.EAGER)
EVERY_EMISSION = pytest.mark.parametrize("emit", EmitPolicy)
EVERY_SHAPE = pytest.mark.parametrize("shape", ANY)


@EVERY_SHAPE
def test_an_event_is_retracted_for_an_alike_one_that_lasts_longer(shape: str) -> None:
    """
         -17  -16        -11
    - b  [----)
    + b  [---------------)
    """
    stream = Script().insert(1, -17, -16, -8, key="b").batch()
    stream = stream.retract(1, key="b").insert(2, -17, -11, -8, key="b")
    Scenario(Query(WINDOWS["reach"], ANY[shape], *TIME_BOUND), stream, AS_IT_IS).check()


@pytest.mark.parametrize("shape", ["aggregate", "incremental aggregate that removes", "operator"])
def test_what_was_said_of_the_first_part_of_a_snapshot_goes_with_its_event(shape: str) -> None:
    """
    0    3    6    10
    [---------------)      said at once for all of it
         [----)            cuts it, and is retracted: the rest is said anew from 3 on; then all of it goes
    """
    stream = Script().insert(1, 0, 10, 1).batch().insert(2, 3, 6, 2).batch().retract(2).batch().retract(1).close()
    Scenario(Query(snapshot(), ANY[shape], *TIME_BOUND), stream, AS_IT_IS).check()


@EVERY_EMISSION
@pytest.mark.parametrize("shape", ["aggregate", "time-sensitive incremental aggregate that removes"])
def test_an_event_between_two_windows_is_not_waited_for(shape: str, emit: EmitPolicy) -> None:
    """Windows open at 0 and 7. The event that starts at 4 is in neither, and ends at 30, or later.

    The window at 7 is closed at 21; it does not hold the output watermark back.
    """
    stream = Script().insert(1, 0, 3).insert(2, 4, 30).insert(3, 5, 6).insert(4, 7, 16)
    stream = stream.punctuate(21).batch().revise(2, 40).punctuate(41)
    Scenario(Query(RANKED["every third start"], ANY[shape], emit=emit), stream, AS_IT_IS).check()


@EVERY_EMISSION
def test_a_life_goes_on_when_all_that_is_left_of_it_is_settled(emit: EmitPolicy) -> None:
    """The second event is deleted when the first is settled; the others are of the life of the first, by their ranks.

    0   3  5  6 7 8
    !   w  x  ! ! !
    """
    stream = Script().point(1, 0, 1).punctuate(3).batch().point(2, 5, 2).batch().retract(2).batch()
    stream = stream.point(3, 6, 3).point(4, 7, 4).point(5, 8, 5).close()
    query = Query(RANKED["every third start"], ANY["aggregate"], emit=emit, forget_keys_after=6)
    Scenario(query, stream, AS_IT_IS).check()


def test_a_trigger_goes_on_where_a_window_is_cut_elsewhere() -> None:
    """
    0   4   8   12                      40 41
    !   !   !   !                       !  !    forgotten after ten silent ticks, so what is live ends there
    """
    emit = EarlyEmission(every_count(2), Refinement.RETRACT)
    query = Query(global_windows(), ANY["aggregate"], emit=emit, lifetimes="points", forget_keys_after=10)
    run = Run(query, query.evaluators["general"], AS_IT_IS)
    ends = list[list[tuple[int, Any]]]()
    for at, watermark in ((0, None), (4, None), (8, None), (12, None), (40, 23), (41, 51)):
        script = Script().point(at, at, at)
        script = script if watermark is None else script.punctuate(watermark)
        for batch in script.batches():
            run.process(Arrival((batch,)))
            ends.append([(row.window[1], row.more) for row in run.inserted])
    assert ends == [[], [(15, ("early", 0))], [], [(23, ("early", 1))], [(23, ("final", 2))], [(52, ("early", 0))]]


EARLY = EarlyEmission(every_count(1), Refinement.RETRACT)


@pytest.mark.parametrize("emit", [EARLY, EmitPolicy.EAGER])
def test_what_is_live_stays_where_its_window_is_another_lifes_now(emit: EmitPolicy | EarlyEmission) -> None:
    """Forgotten after three silent ticks: one life, two, and one again. Nobody sees that of the later windows.

    0       5            18  20     25  28
    [-------)----------------[------)...:
            )............)
    """
    query = Query(hopping(10, 3), ANY["aggregate"], emit=emit, forget_keys_after=3)
    stream = Script().insert(1, 0, 5, 1).insert(2, 20, 25, 2).batch().revise(1, 18).batch().revise(1, 5)
    run = Run(query, query.evaluators["general"], AS_IT_IS)
    live = list[set[Any]]()
    for batch in stream.batches():
        run.process(Arrival((batch,)))
        live.append({(name, row) for name, row in run._live.items() if row.window[0] > 17})
    assert len(live[0]) == 3
    assert live == [live[0]] * 3
    Scenario(query, stream.close(), AS_IT_IS).check()


def test_an_event_that_takes_the_place_of_another_leaves_their_equal_pairs() -> None:
    """
          0         10
    left  [---------)     retracted in the batch that brings an equal one
    right    [---)        pairs with either
    """
    left = Script().insert(1, 0, 10, 4).batch().retract(1).insert(2, 0, 10, 4).batch().close()
    right = Script().insert(1, 3, 6, 1).batch().batch().close()
    query = Join(JoinKind.INNER, ("named", "named"), is_eager=True)
    Scenario(query, (left, right), AS_IT_IS).check()


def test_equal_parts_that_trade_their_ends_stay() -> None:
    """
       0    5    9
    1  [----)~~~~)    lasts longer from the second batch on
    2  [----~~~~~)    and this one less long
    """
    left = Script().insert(1, 0, 5, 4).insert(2, 0, 9, 4).batch().revise(1, 9).revise(2, 5).batch().close()
    query = Join(JoinKind.LEFT, ("named", "points"), is_eager=True)
    Scenario(query, (left, Script().batch().batch().close()), AS_IT_IS).check()


def test_a_part_that_comes_to_equal_one_that_goes_takes_its_place() -> None:
    """
       0    5    9
    1  [----)~~~~)    lasts longer from the second batch on
    2  [---------)    is retracted in it
    """
    left = Script().insert(1, 0, 5, 4).insert(2, 0, 9, 4).batch().revise(1, 9).retract(2).batch().close()
    query = Join(JoinKind.LEFT, ("named", "points"), is_eager=True)
    Scenario(query, (left, Script().batch().batch().close()), AS_IT_IS).check()


def test_a_window_that_a_sample_reaches_stays_when_one_without_an_end_comes() -> None:
    """
           1                        27  29
    a      [------------------------[---[---        the second one is left out by a filter
    """
    query = Query(WINDOWS["reach"], ANY["aggregate"], emit=EmitPolicy.EAGER, lifetimes="samples", is_filtered=True)
    stream = Script().insert(1, 1, INFINITY, 1).insert(2, 27, INFINITY, 6).batch().insert(3, 29, INFINITY, -4)
    Scenario(query, stream, AS_IT_IS).check()


def test_nothing_is_kept_for_windows_of_a_plan_that_never_come() -> None:
    """The plan ends at 41; events start before and after, and last."""
    query = Query(OWN["a plan that ends"], ANY["aggregate"], lifetimes="intervals")
    run = Run(query, query.evaluators["general"], AS_IT_IS)
    for script in (Script().insert(1, 35, 90).insert(2, 60, 80), Script().punctuate(95)):
        for batch in script.batches():
            run.process(Arrival((batch,)))
    assert run.is_empty


@pytest.mark.parametrize("seed", range(12))
def test_a_script_may_be_given_the_watermark_of_a_policy(seed: int) -> None:
    stream = in_one_order(Random(seed), Query(WINDOWS["tumbling"], ANY["aggregate"]))
    delay = longest_delay(stream)
    for policy in (bounded_delay(delay), bounded_disorder(3), punctuate_every(span=5, delay=delay)):
        batches = list(replace(stream, allow_illegal=True).with_progress(policy).batches())
        rows = [
            [
                Row("insert", step.change.event.start)
                for step in batch.changes
                if step.change.sync_time == step.change.event.start and type(step.change).__name__ == "Insertion"
            ]
            for batch in batches
        ]
        closes = [batch.punctuation is not None and batch.punctuation > 2**62 for batch in batches]
        watermarks = punctuations(policy, [None], rows)
        got = [batch.punctuation for batch in batches]
        while_open = [at for at, is_closed in zip(watermarks, closes, strict=True) if not is_closed]
        assert [at for at, is_closed in zip(got, closes, strict=True) if at is not None and not is_closed] == [
            at for place, at in enumerate(while_open) if at > max([-(2**63), *while_open[:place]])
        ]


def test_the_net_asks_a_policy_once_for_each_micro_batch() -> None:
    """It asked for each earlier one again: a stream of 150 micro-batches took minutes, of which the engine had one."""
    asked = list[None]()

    class Asked(Outvoted):
        def watermark(self, seen: SourceProgress) -> int | None:
            asked.append(None)
            return super().watermark(seen)

    known = Known(Query(WINDOWS["tumbling"], ANY["aggregate"], progress=Asked(3, of=3)))
    for batch in Script().point(1, 1).batch().point(2, 5).batch().point(3, 9).batch().point(4, 12).batches():
        known.add(Arrival((batch,)))
    assert (known.progress.watermark, len(asked)) == (6, 4)


@pytest.mark.parametrize("emit", [EmitPolicy.FINAL, EmitPolicy.EAGER])
@pytest.mark.parametrize("ends", [[(20, 25), (25, 20)], [(20, 20)], [(16, 16), (20, 25)]], ids=str)
@pytest.mark.parametrize("left", [10, 12], ids=["retracted", "ended"])
def test_an_event_that_is_over_does_not_come_back_by_revisions_that_undo_each_other(
    left: int, ends: list[tuple[int, int]], emit: EmitPolicy
) -> None:
    """
    10        15   20
    - [--------!---)
    """
    over = Script(allow_illegal=True).insert(1, 10, 20, 4).revise(1, left).punctuate(15).batch()
    for end, new_end in ends:
        over = over.add(Revision(1, Event(10, end, 4), new_end))
    scenario = Scenario(Query(snapshot(), COLUMNAR["sums"], emit=emit), over.batch().punctuate(40).close(), AS_IT_IS)
    scenario.check()
    assert len(over.illegal()) == len(ends)


EVENT = HostileRow("a", 1, 10, 20, 4)
SNAPSHOTS = Query(snapshot(), COLUMNAR["sums"])


@pytest.mark.parametrize(
    "ids", [pa.int64(), pa.string(), pa.struct([("station", pa.string()), ("number", pa.int64())])]
)
@pytest.mark.parametrize(
    ("query", "batches", "refused"),
    [
        (SNAPSHOTS, [([EVENT._replace(payload=None, new_end=15)], 5), ([], 6), ([EVENT], 30)], 0),
        (SNAPSHOTS, [([EVENT], 5), ([EVENT._replace(new_end=10, payload=3)], 6), ([EVENT._replace(payload=3)], 7)], 0),
        (
            Query(hopping(26, 4, 6), COLUMNAR["sums"]),
            [([HostileRow("a", 1, 15, 16, 4), HostileRow("a", 1, 15, 19, None, 20)], 15), ([], 16), ([], 17)],
            1,
        ),
    ],
    ids=["a revision before its event", "a retraction of another payload", "a revision of an end that cannot come"],
)
def test_a_row_waits_for_the_one_that_it_follows_while_that_may_come(
    query: Query, batches: list[Any], refused: int, ids: pa.DataType
) -> None:
    hostile = Hostile(replace(query, ids=ids), [*batches, ([], 2**63 - 1)], replace(AS_IT_IS, restarts=1.0))
    assert hostile.check() == refused


@EVERY_EMISSION
def test_each_input_says_of_a_time_that_it_was_seen_however_far_the_others_are(emit: EmitPolicy) -> None:
    """The second input is at 12, and nobody waits for it when the last one closes.

    -16  -12  -8        0         8    12   16
    [----------)[--------)[--------)[--------)     windows
          [--------------------------------------  an event of the third input
    """
    query = Query(tumbling(8), (Members(),), emit=emit, lifetimes="intervals", sources=((),) * 3)
    third = Script().insert(5, -12, INFINITY, -4, key="a").batch()
    streams = (Script().close(), Script().punctuate(12).batch().close(), third.close())
    Scenario(query, streams, AS_IT_IS).check()


WITH_IDS: dict[str, Query | Join] = {
    **{f"{window} {emit}": Query(window, COLUMNAR["sums"], emit=emit)
       for window in (tumbling(8), hopping(12, 2, -5), snapshot()) for emit in EmitPolicy},
    "sessions": Query(session(4), ANY["aggregate"]),
    "trailing": Query(trailing(6), ANY["aggregate"]),
    "counts": Query(count_by_start(2), ANY["aggregate"]),
    "keys that are forgotten": Query(tumbling(8), ANY["aggregate"], emit=EmitPolicy.EAGER, forget_keys_after=3),
    "early": Query(snapshot(), ANY["aggregate"], emit=EarlyEmission(every_count(2), Refinement.RETRACT)),
    "rows": Query(last(2), OF_ROWS["aggregate"], lifetimes="retracted", has_order=True),
    "events in order": Query(Unwindowed(), FOLLOWING["test.silence"], lifetimes="retracted", has_order=True),
    "inner join": Join(JoinKind.INNER, ("named", "named")),
    "left join": Join(JoinKind.LEFT, ("named", "named"), is_eager=True),
}  # fmt: skip
"""Queries of events with ids, whatever evaluates them."""


@pytest.mark.cases(6)
@pytest.mark.parametrize("ids", ID_TYPES)
def test_an_id_of_any_type_equals_itself(ids: str) -> None:
    """NaN, -0.0, and empty and null parts included: an id that comes again is refused, in its batch and in a later one.

    A retraction and a new insertion in one batch are one of an event that is there.
    """
    events = [EVENT._replace(id=number) for number in range(4)]
    retractions = [event._replace(new_end=EVENT.start) for event in events]
    back = [event._replace(payload=6) for event in events]
    batches = [([*events, *events], 5), (events, 6), ([*retractions, *back], 7), ([], INFINITY)]
    for query in WITH_IDS.values():
        hostile = Hostile(replace(query, ids=ID_TYPES[ids]), batches, replace(AS_IT_IS, restarts=0.5))
        assert hostile.check() == 2 * len(events)
