"""Disorder as networks, routers and merged sources make it: a stream of the same meaning in another order of arrival.

The kinds of disorder are those that Li measures in *Window Queries over Data Streams* (2008, sections 6.1.5 and 8.4).
`shuffle` changes the order in any way that the punctuation of a stream allows; here the order comes first, and the
punctuation follows from it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, groupby
from random import Random
from typing import TYPE_CHECKING

from muntin.axis import INFINITY
from muntin.changes import Punctuation
from muntin.errors import StreamError
from muntin.testing.batches import KeyedChange, Step
from muntin.testing.scripts import Script
from muntin_engine.testing.random_streams import arriving, changes_by_event

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def band_disorder(script: Script, width: int, seed: int, *, every: int = 1) -> Script:
    """Return a stream whose changes arrive late by up to a width, as packets do that take several ways.

    The changes of an event keep their order. Punctuation and boundaries of the script are dropped. After each change
    comes punctuation as high as the rest of the stream allows, as if the source knew which changes are still to come.

    Args:
        script: A legal stream; its changes are taken in order of their sync times, which stands for a clock.
        width: The largest delay of a change in ticks; 0 puts a stream in order.
        seed: The seed of all random choices.
        every: The least number of ticks from a punctuation to the next.

    Raises:
        StreamError: The script has illegal steps, or the width is negative.

    Example:
        >>> script = Script().point("a", 1).point("b", 4).point("c", 9).close()
        >>> print(band_disorder(script, 8, seed=8))
                     1         11
        + 'b'           [)         None
        punctuation  !             1
        + 'a'        [)            None
        punctuation          !     9
        + 'c'                [)    None
        punctuation           !    10
        the stream is closed
    """
    _check_length("width", width)
    random = Random(seed)
    arrived = arriving(random, _lives(script), lambda _: random.randint(0, width))
    groups = [[change] for _, change in arrived]  # each change is a group, so punctuation may follow it
    return _punctuated(script, groups, every)


def block_disorder(script: Script, length: int, seed: int) -> Script:
    """Return a stream in blocks that come one after the other, each of them in random order.

    So comes the output of a router that empties its table every minute. Punctuation follows each block. A bound on
    disorder serves such a stream badly: it has to be as long as a block, although most rows are far less late.

    Args:
        script: A legal stream; its changes are taken in order of their sync times.
        length: The length of a block in ticks; blocks begin at its multiples.
        seed: The seed of all random choices.

    Raises:
        StreamError: The script has illegal steps, or the length is not above zero.

    Example:
        >>> script = Script().point("a", 1).point("b", 4).point("c", 9).point("d", 12).close()
        >>> print(block_disorder(script, 10, seed=2))
                     1         11
        + 'c'                [)       None
        + 'b'           [)            None
        + 'a'        [)               None
        punctuation             !     12
        + 'd'                   [)    None
        punctuation              !    13
        the stream is closed
    """
    _check_length("length", length, least=1)
    random = Random(seed)
    in_order = arriving(random, _lives(script), lambda _: 0)  # without delays each change arrives at its sync time

    def block_number(arrival: tuple[int, KeyedChange]) -> int:
        """Return the number of the block in which a change arrives."""
        time, _ = arrival
        return time // length

    blocks: list[list[KeyedChange]] = []
    for _, block in groupby(in_order, key=block_number):
        blocks.append(_in_any_order(random, [change for _, change in block]))
    return _punctuated(script, blocks, every=1)


def source_skew(script: Script, delays: Mapping[Hashable, int], *, every: int = 1) -> Script:
    """Return a stream merged from sources that are each in order, and some of them behind the others.

    Args:
        script: A legal stream; its keys are the sources.
        delays: The delay of the changes of a key behind their sync times; 0 for keys that are not named.
        every: The least number of ticks from a punctuation to the next.

    Raises:
        StreamError: The script has illegal steps, or a delay is negative.

    Example:
        >>> script = Script().point("a", 1, key="main").point("b", 2, key="control").point("c", 5, key="main").close()
        >>> [step.change.id for step in source_skew(script, {"control": 10}).changes()]
        ['a', 'c', 'b']
    """
    for delay in delays.values():
        _check_length("delay", delay)
    arrived = arriving(Random(0), _lives(script), lambda step: delays.get(step.key, 0))
    groups = [[change] for _, change in arrived]  # each change is a group, so punctuation may follow it
    return _punctuated(script, groups, every)


def disordered(script: Script, most: int = 20) -> SearchStrategy[Script]:
    """Return a strategy for streams of the same meaning, in order or with one of the kinds of disorder.

    A failing test shrinks towards the stream in order.

    Args:
        script: A legal stream.
        most: The widest band, the longest block and the largest delay.
    """
    from hypothesis import strategies as st

    seeds = st.integers(0, 2**16)
    keys = list(dict.fromkeys(step.key for step in script.changes()))
    delays = st.fixed_dictionaries({key: st.integers(0, most) for key in keys})
    return st.one_of(
        st.builds(band_disorder, st.just(script), st.integers(0, most), seeds, every=st.integers(1, most)),
        st.builds(block_disorder, st.just(script), st.integers(1, most), seeds),
        st.builds(source_skew, st.just(script), delays),
    )


def _lives(script: Script) -> Iterable[Sequence[KeyedChange]]:
    """Return the changes of each event of a legal stream."""
    if script.illegal():
        raise StreamError("a script with illegal steps has no meaning to keep", illegal=script.illegal())
    return changes_by_event(script.changes())


def _in_any_order(random: Random, block: Sequence[KeyedChange]) -> list[KeyedChange]:
    """Return the changes of a block in random order, but the changes of one event in their order."""
    # Each event has a turn for each of its changes. The turns are shuffled: at a turn, the event has its next change.
    lives = list(changes_by_event(block))
    turns: list[int] = []
    for event_number, life in enumerate(lives):
        turns += [event_number] * len(life)
    random.shuffle(turns)
    next_changes = [iter(life) for life in lives]
    return [next(next_changes[event_number]) for event_number in turns]


def _punctuated(script: Script, groups: Sequence[list[KeyedChange]], every: int) -> Script:
    """Return a stream with its changes in groups, and after each group punctuation as high as later groups allow.

    Args:
        script: The stream.
        groups: Its changes, as they arrive.
        every: The least number of ticks from a punctuation to the next. There is none after a group if it would lie
            closer to the last one.
    """
    if not groups:
        return script
    least_times: list[int] = []
    for group in groups:
        least_times.append(min(step.change.sync_time for step in group))
    finite_times = [step.change.sync_time for step in script.changes() if step.change.sync_time < INFINITY]
    past_all = max(finite_times) + 1 if finite_times else 0
    # After a group, punctuation may be as high as the least sync time of all later groups: a running minimum, from the
    # end on. After the last group, it is a time past all changes.
    later_times = list(accumulate(reversed(least_times[1:]), min))[::-1]
    steps: list[Step] = []
    latest: int | None = None
    for group, allowed in zip(groups, [*later_times, past_all], strict=True):
        steps += group
        if allowed < INFINITY and (latest is None or allowed - latest >= every):
            steps.append(Punctuation(allowed))
            latest = allowed
    if script.last_watermark() == INFINITY:
        steps.append(Punctuation(INFINITY))
    return replace(script, steps=tuple(steps))


def _check_length(name: str, length: int, *, least: int = 0) -> None:
    """Refuse a length that is too small.

    Raises:
        StreamError: The length is below the least one.
    """
    if length < least:
        raise StreamError(f"a {name} of {length} ticks makes no disorder; expected {least} or more")
