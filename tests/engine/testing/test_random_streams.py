"""Random streams are legal and varied; shuffling and splitting keep what they mean."""

from __future__ import annotations

from collections import Counter
from itertools import chain, pairwise, permutations
from typing import Any

import pytest

from muntin import INFINITY, Event
from muntin.changes import Insertion, Punctuation, Revision
from muntin.errors import StreamError
from muntin.testing import Boundary, KeyedChange, Script
from muntin.testing.batches import Step
from muntin_engine.testing import random_stream, shuffle, smallest_failing, split

SEEDS = range(60)


def changes_per_event(script: Script) -> dict[object, list[KeyedChange]]:
    changes: dict[object, list[KeyedChange]] = {}
    for step in script.changes():
        changes.setdefault((step.key, step.change.id, step.change.event.start), []).append(step)
    return changes


def events_left(script: Script) -> list[Event[Any]]:
    """Return the events of all keys that are there in the end."""
    return list(chain.from_iterable(table.values() for table in script.history().values()))


def insertions(script: Script) -> list[KeyedChange]:
    return [step for step in script.changes() if isinstance(step.change, Insertion)]


def is_legal(script: Script) -> bool:
    """Say whether no change lies below an earlier watermark; written anew, to check the ledger too."""
    latest = None
    for step in script.steps:
        if isinstance(step, Punctuation):
            latest = step.time if latest is None else max(latest, step.time)
        elif isinstance(step, KeyedChange) and latest is not None and step.change.sync_time < latest:
            return False
    return True


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_stream_is_legal_and_the_same_for_the_same_seed(seed: int) -> None:
    script = random_stream(seed, events=20)
    assert is_legal(script)
    assert script == random_stream(seed, events=20)
    assert len(insertions(script)) == 20


def test_random_streams_have_all_kinds_of_events_and_changes() -> None:
    scripts = [random_stream(seed) for seed in SEEDS]
    changes: list[Any] = []
    for script in scripts:
        changes += [step.change for step in script.changes()]
    inserted = [change.event for change in changes if isinstance(change, Insertion)]
    revised = [change for change in changes if isinstance(change, Revision)]
    final_events = list(chain.from_iterable(map(events_left, scripts)))
    starts = Counter(event.start for event in inserted)
    counts = {
        "points": sum(event.duration == 1 for event in inserted),
        "intervals": sum(1 < event.duration < 1000 for event in inserted),
        "open": sum(event.end == INFINITY for event in inserted),
        "open for ever": sum(event.end == INFINITY for event in final_events),
        "negative": sum(event.start < 0 for event in inserted),
        "deleted": sum(change.is_retraction for change in revised),
        "shortened": sum(change.event.start < change.new_end < change.event.end for change in revised),
        "prolonged": sum(change.event.end < change.new_end < INFINITY for change in revised),
        "reopened": sum(change.event.end < change.new_end == INFINITY for change in revised),
        "unchanged": sum(change.event.end == change.new_end for change in revised),
        "ties": sum(count > 1 for count in starts.values()),
        "punctuated": sum(0 < script.last_watermark() < INFINITY for script in scripts),
        "closed": sum(script.last_watermark() == INFINITY for script in scripts),
        "out of order": sum(a.sync_time > b.sync_time for a, b in pairwise(changes)),
    }
    assert {kind: count for kind, count in counts.items() if count < 5} == {}


def test_a_stream_is_closed_on_demand() -> None:
    assert all(random_stream(seed, closed=True).last_watermark() == INFINITY for seed in SEEDS)
    assert all(random_stream(seed, closed=False).last_watermark() < INFINITY for seed in SEEDS)


def test_a_stream_has_the_keys_and_payloads_that_were_asked_for() -> None:
    script = random_stream(1, keys=[("x", 1)], payload=lambda random: {"price": random.random()})
    assert script.history().keys() == {("x", 1)}
    assert all(step.change.event.payload.keys() == {"price"} for step in script.changes())


def other_steps(script: Script) -> list[Step]:
    """Return the steps that are no changes: punctuation and the seams of micro-batches."""
    return [step for step in script.steps if not isinstance(step, KeyedChange)]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("early_revisions", [False, True])
def test_a_shuffled_stream_is_legal_and_means_the_same(seed: int, early_revisions: bool) -> None:
    """It is cut where the stream was, and the changes of an event keep their order, unless they may come early."""
    stream = random_stream(seed, repeats=0.3 * (seed % 2))
    script = split(stream, seed)
    moved = shuffle(script, seed, early_revisions=early_revisions)
    assert is_legal(moved)
    assert moved == shuffle(script, seed, early_revisions=early_revisions)
    assert moved.history() == script.history()
    assert Counter(map(repr, moved.steps)) == Counter(map(repr, script.steps))
    for cut in (script, moved):
        assert len([step for step in cut.steps if not isinstance(step, Boundary)]) == len(stream.steps)
        assert other_steps(cut) == other_steps(script)
    batches = (batch.changes for batch in script.batches())
    assert list(chain.from_iterable(batches)) == list(stream.changes())
    assert early_revisions or changes_per_event(moved) == changes_per_event(script)


def test_the_revisions_of_an_event_change_places() -> None:
    """Insertions and revisions of one event come in all orders of three, the insertion at the end too."""
    script = Script().insert("a", 1, 9).revise("a", 5).revise("a", 7)
    shuffled = [shuffle(script, seed, early_revisions=True) for seed in range(200)]
    assert len({moved.changes() for moved in shuffled}) == 6
    assert all(moved.history() == script.history() for moved in shuffled)


def test_ids_are_used_again_on_demand() -> None:
    repeated_ids = 0
    repeated_events = 0
    for seed in SEEDS:
        inserted = insertions(random_stream(seed, repeats=0.4))
        ids = Counter((step.key, step.change.id) for step in inserted)
        events = Counter((step.key, step.change.id, step.change.event.start) for step in inserted)
        repeated_ids += ids.total() - len(ids)
        repeated_events += sum(count > 1 for count in events.values())
    assert repeated_ids > 50
    assert repeated_events > 20


def test_shuffling_moves_changes_and_early_revisions_come_before_their_events() -> None:
    scripts = [random_stream(seed) for seed in SEEDS]
    moved = [script for script in scripts if shuffle(script, 1).changes() != script.changes()]
    assert len(moved) > len(SEEDS) // 2

    early_revisions = 0
    for script in scripts:
        for changes in changes_per_event(shuffle(script, 1, early_revisions=True)).values():
            early_revisions += isinstance(changes[0].change, Revision)
    assert early_revisions > 20


def test_a_change_moves_across_a_punctuation_only_as_far_as_that_allows() -> None:
    script = Script().point("a", 1).point("b", 6).punctuate(5).point("c", 7)
    orders = {as_text(shuffle(script, seed)) for seed in range(200)}
    assert {order.replace("|", "") for order in orders} == set(map("".join, permutations("abc")))
    assert all(order.index("a") < order.index("|") for order in orders)
    assert any(order.index("b") > order.index("|") for order in orders)
    assert any(order.index("c") < order.index("|") for order in orders)


def as_text(script: Script) -> str:
    """Return the ids of the changes in their order, with a stroke for punctuation."""
    return "".join(str(step.change.id) if isinstance(step, KeyedChange) else "|" for step in script.steps)


def test_a_script_with_illegal_steps_is_not_shuffled() -> None:
    with pytest.raises(StreamError, match="no legal permutation"):
        shuffle(Script(allow_illegal=True).punctuate(5).point("late", 1), 1)


def test_splitting_makes_batches_of_many_sizes_and_restarts() -> None:
    batches = list(chain.from_iterable(split(random_stream(seed), seed).batches() for seed in SEEDS))
    assert len({len(batch.changes) for batch in batches}) > 5
    assert sum(batch.restart_before for batch in batches) > len(SEEDS)


def test_a_stream_may_be_one_batch_or_one_per_step() -> None:
    script = random_stream(3)
    assert len(list(split(script, 1, cuts=0).batches())) == 1
    assert len(list(split(script, 1, cuts=1, restarts=0).batches())) == len(script.steps)


@pytest.mark.parametrize("seed", range(40))
def test_changes_that_wait_above_the_punctuation_are_legal_whichever_way_leads_there(seed: int) -> None:
    """An event has no end twice, so two revisions lead on from there, and only one way takes all that has come."""
    life = Script().edge("e", 4).revise("e", 5).revise("e", 28).revise("e", INFINITY)
    script = life.punctuate(23).revise("e", 23).revise("e", 40).close()
    shuffled = shuffle(script, seed, early_revisions=True)
    assert shuffled.history() == script.history() == {None: {("e", 4): Event(4, 40, None)}}


def test_a_change_that_waits_is_illegal_once_what_is_missing_lies_below_the_punctuation() -> None:
    inserted = Script().insert("e", 4, 30)
    missing = inserted.add(Revision("e", Event(4, 12, None), 20))
    assert not missing.punctuate(12).illegal()
    with pytest.raises(StreamError, match="expects"):
        missing.punctuate(13)
    ahead = inserted.add(Revision("e", Event(4, 40, None), 12)).add(Revision("e", Event(4, 12, None), 50))
    assert not ahead.punctuate(30).illegal()  # from 40 to 50 by way of 12: nothing below 30 depends on what is missing
    with pytest.raises(StreamError, match="expects"):
        ahead.punctuate(31)


# the smallest stream that fails


def ends_at_9(script: Script) -> bool:
    return any(event.end == 9 for event in events_left(script))


def test_a_life_is_bridged_where_revisions_are_left_out() -> None:
    life = Script().insert("e", 1, 4).revise("e", INFINITY).revise("e", 7).revise("e", 9)
    for seed in range(5):
        small = smallest_failing(shuffle(life, seed, early_revisions=True), ends_at_9)
        assert len(small.changes()) == 2
        assert small.history() == {None: {("e", 1): Event(1, 9, None)}}


def test_events_of_one_id_are_left_out_one_by_one() -> None:
    stream = Script().insert("e", 1, 4).insert("e", 2, 9).insert("e", 3, 5)
    assert smallest_failing(stream, ends_at_9).history() == {None: {("e", 2): Event(2, 9, None)}}
