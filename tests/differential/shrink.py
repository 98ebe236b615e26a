"""Making a stream that fails as small as it gets."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace

from muntin.testing.batches import KeyedChange, Step
from muntin.testing.scripts import Script


def smallest_failing(stream: Script, fails: Callable[[Script], bool]) -> Script:
    """Return a stream that still fails, with no event and no seam or punctuation that it could do without."""
    current = stream
    while True:
        smaller = next((candidate for candidate in _smaller(current) if fails(candidate)), None)
        if smaller is None:
            return current
        current = smaller


def _smaller(stream: Script) -> Iterator[Script]:
    for name in {_name(step): None for step in stream.steps}:
        yield replace(stream, steps=tuple(step for step in stream.steps if _name(step) != name))
    for event in {_name(step): None for step in stream.changes()}:
        places = [place for place, step in enumerate(stream.steps) if _name(step) == event]
        if len(places) > 1:
            yield _without(stream, places[-1])
    for place, step in enumerate(stream.steps):
        if not isinstance(step, KeyedChange):
            yield _without(stream, place)


def _without(stream: Script, place: int) -> Script:
    return replace(stream, steps=stream.steps[:place] + stream.steps[place + 1 :])


def _name(step: Step) -> Hashable:
    return (step.key, step.change.id) if isinstance(step, KeyedChange) else step
