"""Hypothesis strategies for short streams, whose smallest one is really small."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from muntin import EARLIEST, INFINITY, Event
from muntin.testing import Script

_MOST_MOVES: Final = 7
_KEYS: Final = (None, "b")


class _Kind(StrEnum):
    POINT = "point"
    INTERVAL = "interval"
    PUNCTUATION = "punctuation"
    REVISION = "revision"


_SHARES: Final = {
    "points": (_Kind.POINT, _Kind.POINT, _Kind.PUNCTUATION),
    "intervals": (_Kind.INTERVAL, _Kind.INTERVAL, _Kind.POINT, _Kind.PUNCTUATION),
    "revised": (_Kind.POINT, _Kind.INTERVAL, _Kind.INTERVAL, _Kind.REVISION, _Kind.PUNCTUATION),
}


@dataclass(frozen=True, slots=True)
class _Move:
    """A candidate for the next step of a stream, which may turn out to be illegal.

    Attributes:
        kind: The kind of step.
        key: The key.
        time: The start of an event, or the time of punctuation.
        length: The length of the event.
        payload: The payload of the event.
    """

    kind: _Kind
    key: str | None
    time: int
    length: int
    payload: Any


@cache
def scripts(payloads: SearchStrategy[object], kind: str) -> SearchStrategy[Script]:
    """Return a strategy for legal streams that end, with up to seven steps before the end.

    Args:
        payloads: The strategy for the payloads of events.
        kind: `"points"`; `"intervals"` too, some without an end; or `"revised"`, with revisions and retractions.
    """
    lengths = st.integers(0, 12) if kind == "points" else st.integers(0, 12) | st.just(INFINITY)
    times = st.integers(0, 25)
    moves = st.builds(
        _Move,
        kind=st.sampled_from(_SHARES[kind]),
        key=st.sampled_from(_KEYS),
        time=times,
        length=lengths,
        payload=payloads,
    )
    return st.lists(moves, min_size=1, max_size=_MOST_MOVES).map(_script)


def _script(moves: Sequence[_Move]) -> Script:
    """Return the legal stream that drawn moves make: an event that would be late starts at the last punctuation."""
    script = Script()
    punctuation = EARLIEST
    for id, move in enumerate(moves):
        if move.kind is _Kind.PUNCTUATION:
            punctuation = max(punctuation, move.time)
            script = script.punctuate(punctuation)
        elif move.kind is _Kind.REVISION:
            script = _revised(script, move, punctuation)
        else:
            start = max(move.time, punctuation)
            length = 1 if move.kind is _Kind.POINT else max(1, move.length)
            end = INFINITY if length == INFINITY else start + length
            script = script.insert(f"E{id}", start, end, move.payload, key=move.key)
    return script.close()


def _revised(script: Script, move: _Move, punctuation: int) -> Script:
    """Revise the end of one event, if punctuation still lets the end of any event change."""
    revisable = []
    for key, events in script.history().items():
        for (id, _start), event in events.items():
            if min(event.end, _new_end(event, move)) >= punctuation:
                revisable.append((key, id, event))
    if not revisable:
        return script
    # The time of the move chooses the event, so that a failing test shrinks towards the first event.
    key, id, event = revisable[move.time % len(revisable)]
    return script.revise(id, _new_end(event, move), key=key)


def _new_end(event: Event[object], move: _Move) -> int:
    """Return the end that a move gives to an event; a length of 0 retracts the event."""
    return INFINITY if move.length == INFINITY else event.start + move.length
