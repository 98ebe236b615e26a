"""Random streams are legal and varied; shuffling and splitting keep what they mean."""

from __future__ import annotations

from collections import Counter
from itertools import chain, pairwise, permutations
from typing import Any

import pytest

from muntin import EARLIEST, INFINITY, Event
from muntin.changes import Insertion, Punctuation, Revision
from muntin.errors import StreamError
from muntin.testing import Boundary, KeyedChange, Script
from muntin.testing.batches import Step
from muntin_engine.testing import random_stream, shuffle, smallest_failing, split

SEEDS = range(60)


def changes_per_event(script: Script) -> dict[object, list[KeyedChange]]:
    """Return the changes of each event, in their order; an event is named by its key, its id and its start."""
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
    """Return whether no change lies below an earlier watermark.

    That is computed here without `Script`, which refuses illegal steps itself and is to be checked too.
    """
    watermark = EARLIEST
    for step in script.steps:
        if isinstance(step, Punctuation):
            watermark = max(watermark, step.time)
        elif isinstance(step, KeyedChange) and step.change.sync_time < watermark:
            return False
    return True


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_stream_is_legal_and_the_same_for_the_same_seed(seed: int) -> None:
    script = random_stream(seed, events=20)
    assert is_legal(script)
    assert script == random_stream(seed, events=20)
    assert len(insertions(script)) == 20


def test_random_streams_have_each_kind_of_events_and_changes_five_times_or_more() -> None:
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
        "out of order": sum(change.sync_time > next_change.sync_time for change, next_change in pairwise(changes)),
    }
    rare_kinds = {kind: count for kind, count in counts.items() if count < 5}
    assert rare_kinds == {}


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
    """Punctuation and seams stay, and the changes of an event keep their order, unless they may come early."""
    script = split(random_stream(seed, repeats=0.3 * (seed % 2)), seed)
    shuffled = shuffle(script, seed, early_revisions=early_revisions)
    assert is_legal(shuffled)
    assert shuffled == shuffle(script, seed, early_revisions=early_revisions)
    assert shuffled.history() == script.history()
    assert Counter(map(repr, shuffled.steps)) == Counter(map(repr, script.steps))
    assert other_steps(shuffled) == other_steps(script)
    if not early_revisions:
        assert changes_per_event(shuffled) == changes_per_event(script)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_stream_that_is_split_has_the_same_steps_between_the_seams(seed: int) -> None:
    stream = random_stream(seed, repeats=0.3 * (seed % 2))
    script = split(stream, seed)
    assert [step for step in script.steps if not isinstance(step, Boundary)] == list(stream.steps)
    changes_by_batch = [batch.changes for batch in script.batches()]
    assert list(chain.from_iterable(changes_by_batch)) == list(stream.changes())


def test_an_insertion_and_two_revisions_of_an_event_come_in_all_six_orders() -> None:
    script = Script().insert("a", 1, 9).revise("a", 5).revise("a", 7)
    shuffled_scripts = [shuffle(script, seed, early_revisions=True) for seed in range(200)]
    assert len({shuffled.changes() for shuffled in shuffled_scripts}) == 6
    assert all(shuffled.history() == script.history() for shuffled in shuffled_scripts)


def test_ids_come_again_on_demand_for_other_events_and_for_the_same_event() -> None:
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
    changed_scripts = [script for script in scripts if shuffle(script, 1).changes() != script.changes()]
    assert len(changed_scripts) > len(SEEDS) // 2

    events_that_begin_with_a_revision = 0
    for script in scripts:
        for changes in changes_per_event(shuffle(script, 1, early_revisions=True)).values():
            events_that_begin_with_a_revision += isinstance(changes[0].change, Revision)
    assert events_that_begin_with_a_revision > 20


def test_a_change_moves_across_a_punctuation_only_as_far_as_that_allows() -> None:
    """Before the punctuation at 5 must come a, which is below it; b and c may come before or after it."""
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
    restarts = [batch for batch in batches if batch.restart_before]
    assert len(restarts) > len(SEEDS)


def test_a_stream_may_be_one_batch_or_one_per_step() -> None:
    script = random_stream(3)
    assert len(list(split(script, 1, cuts=0).batches())) == 1
    assert len(list(split(script, 1, cuts=1, restarts=0).batches())) == len(script.steps)


@pytest.mark.parametrize("seed", range(40))
def test_early_revisions_of_an_end_that_comes_twice_are_legal_in_every_order(seed: int) -> None:
    """The event has the end INFINITY twice, so two revisions go on from there: to 5 and to 23.

    Of the ways from one end to the next, only one takes all revisions that have come.
    """
    life = Script().edge("e", 4).revise("e", 5).revise("e", 28).revise("e", INFINITY)
    script = life.punctuate(23).revise("e", 23).revise("e", 40).close()
    shuffled = shuffle(script, seed, early_revisions=True)
    assert script.history() == {None: {("e", 4): Event(4, 40, None)}}
    assert shuffled.history() == script.history()


def test_a_revision_may_wait_for_the_one_before_it_while_that_can_still_come() -> None:
    """The event ends at 30, and a revision expects the end 12: the revision from 30 to 12 may come up to tick 12."""
    early_revision = Revision("e", Event(4, 12, None), 20)
    script = Script().insert("e", 4, 30).add(early_revision)
    assert not script.punctuate(12).illegal()
    with pytest.raises(StreamError, match="expects"):
        script.punctuate(13)


def test_two_revisions_may_wait_for_the_one_before_them_while_that_can_still_come() -> None:
    """They lead from 40 by way of 12 to 50; a revision from 30 to 40 is missing, which may come up to tick 30."""
    script = Script().insert("e", 4, 30)
    script = script.add(Revision("e", Event(4, 40, None), 12)).add(Revision("e", Event(4, 12, None), 50))
    assert not script.punctuate(30).illegal()
    with pytest.raises(StreamError, match="expects"):
        script.punctuate(31)


# The smallest stream that fails.


def ends_at_9(script: Script) -> bool:
    """Fail for a stream in which an event ends at 9 at last."""
    return any(event.end == 9 for event in events_left(script))


def test_revisions_that_a_failure_does_not_need_are_left_out_and_the_last_one_goes_on_from_the_insertion() -> None:
    life = Script().insert("e", 1, 4).revise("e", INFINITY).revise("e", 7).revise("e", 9)
    for seed in range(5):
        smallest = smallest_failing(shuffle(life, seed, early_revisions=True), ends_at_9)
        assert len(smallest.changes()) == 2
        assert smallest.history() == {None: {("e", 1): Event(1, 9, None)}}


def test_events_of_one_id_are_left_out_one_by_one() -> None:
    stream = Script().insert("e", 1, 4).insert("e", 2, 9).insert("e", 3, 5)
    assert smallest_failing(stream, ends_at_9).history() == {None: {("e", 2): Event(2, 9, None)}}
