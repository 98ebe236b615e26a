"""Disorder as networks, routers and merged sources make it: a stream of the same meaning in another order of arrival.

The kinds of disorder are those that Li measures in *Window Queries over Data Streams* (2008, sections 6.1.5 and 8.4).
`shuffle` changes the order in any way that the punctuation of a stream allows; here the order comes first, and the
punctuation follows from it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, groupby
from random import Random
from typing import TYPE_CHECKING

from muntin.axis import INFINITY
from muntin.changes import Punctuation
from muntin.errors import StreamError
from muntin.testing.batches import KeyedChange, Step
from muntin.testing.scripts import Script
from muntin_engine.testing.random_streams import arriving, chains

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def band_disorder(script: Script, width: int, seed: int, *, every: int = 1) -> Script:
    """Return a stream whose changes arrive late by up to a width, as packets do that take several ways.

    The changes of an event keep their order. Punctuation and boundaries of the script are dropped; after each change
    comes punctuation as high as the rest of the stream allows, as a source would send it that knows its own past.

    Args:
        script: A legal stream; its changes are taken in order of their sync times, which stands for a clock.
        width: The most by which a change is delayed; 0 puts a stream in order.
        seed: Where the randomness starts.
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
    _check("width", width)
    random = Random(seed)
    arrived = arriving(random, _lives(script), lambda _: random.randint(0, width))
    return _punctuated(script, ([change] for _, change in arrived), every)


def block_disorder(script: Script, length: int, seed: int) -> Script:
    """Return a stream in blocks that come one after the other, each of them in random order.

    So comes the output of a router that empties its table every minute. Punctuation follows each block. A bound on
    disorder serves such a stream badly: it is as long as a block, and most rows do not need it.

    Args:
        script: A legal stream; its changes are taken in order of their sync times.
        length: How many ticks a block covers; block borders are its multiples.
        seed: Where the randomness starts.

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
    _check("length", length, least=1)
    random = Random(seed)
    in_order = arriving(random, _lives(script), lambda _: 0)
    blocks = ([step for _, step in block] for _, block in groupby(in_order, key=lambda arrival: arrival[0] // length))
    return _punctuated(script, (_in_any_order(random, block) for block in blocks), 1)


def source_skew(script: Script, delays: Mapping[Hashable, int], *, every: int = 1) -> Script:
    """Return a stream merged from sources that are each in order, and some of them behind the others.

    Args:
        script: A legal stream; its keys are the sources.
        delays: By how much the changes of a key arrive later than their sync times; 0 for keys that are not named.
        every: The least number of ticks from a punctuation to the next.

    Raises:
        StreamError: The script has illegal steps, or a delay is negative.

    Example:
        >>> script = Script().point("a", 1, key="main").point("b", 2, key="control").point("c", 5, key="main").close()
        >>> [step.change.id for step in source_skew(script, {"control": 10}).changes()]
        ['a', 'c', 'b']
    """
    for delay in delays.values():
        _check("delay", delay)
    arrived = arriving(Random(0), _lives(script), lambda step: delays.get(step.key, 0))
    return _punctuated(script, ([change] for _, change in arrived), every)


def disordered(script: Script, most: int = 20) -> SearchStrategy[Script]:
    """Return streams with the meaning of one, in order or with one of the kinds of disorder.

    A failing test shrinks towards the stream in order.

    Args:
        script: A legal stream.
        most: The widest band, the longest block and the largest delay.
    """
    from hypothesis import strategies as st

    seeds = st.integers(0, 2**16)
    keys = list(dict.fromkeys(step.key for step in script.changes()))
    return st.one_of(
        st.builds(band_disorder, st.just(script), st.integers(0, most), seeds, every=st.integers(1, most)),
        st.builds(block_disorder, st.just(script), st.integers(1, most), seeds),
        st.builds(source_skew, st.just(script), st.fixed_dictionaries({key: st.integers(0, most) for key in keys})),
    )


def _lives(script: Script) -> Iterable[Sequence[KeyedChange]]:
    """Return the changes of each event of a legal stream."""
    if script.illegal():
        raise StreamError("a script with illegal steps has no meaning to keep", illegal=script.illegal())
    return chains(script.changes())


def _in_any_order(random: Random, block: Sequence[KeyedChange]) -> list[KeyedChange]:
    """Return the changes of a block in random order, those of one event in theirs."""
    lives = list(chains(block))
    places = [place for place, life in enumerate(lives) for _ in life]
    random.shuffle(places)
    following = list(map(iter, lives))
    return [next(following[place]) for place in places]


def _punctuated(script: Script, groups: Iterator[list[KeyedChange]], every: int) -> Script:
    """Put punctuation after each group that allows one so much higher than the last."""
    arrived = list(groups)
    least = list(accumulate((min(step.change.sync_time for step in group) for group in reversed(arrived)), min))[::-1]
    ends = [step.change.sync_time + 1 for group in arrived for step in group if step.change.sync_time < INFINITY]
    steps: list[Step] = []
    latest: int | None = None
    for group, allowed in zip(arrived, [*least[1:], max(ends, default=0)], strict=True):
        steps += group
        if allowed < INFINITY and (latest is None or allowed - latest >= every):
            steps.append(Punctuation(allowed))
            latest = allowed
    if script.last_watermark() == INFINITY:
        steps.append(Punctuation(INFINITY))
    return replace(script, steps=tuple(steps))


def _check(name: str, length: int, least: int = 0) -> None:
    if length < least:
        raise StreamError(f"a {name} of {length} ticks makes no disorder; expected {least} or more")
